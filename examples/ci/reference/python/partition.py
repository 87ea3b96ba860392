"""Where kafka-python puts a key. Debian: python3-kafka; PyPI: kafka-python."""
import os
import sys

from kafka.partitioner.default import DefaultPartitioner

partitions = list(range(int(os.environ["KEYROUTE_PARTITIONS"])))
choose = DefaultPartitioner()
for line in sys.stdin:
    key = bytes.fromhex(line.rstrip("\n"))
    print(choose(key, partitions, partitions))
