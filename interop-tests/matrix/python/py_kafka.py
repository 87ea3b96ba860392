"""pykafka: py_kafka.py [sha1|crc32] BOOTSTRAP TAG. With a word, its HashingPartitioner. The job is on standard input."""
import sys
import zlib

import pykafka
from job import lines, refused, value
from pykafka.partitioners import HashingPartitioner

*how, bootstrap, tag = sys.argv[1:]
settings = {"partitioner": {"sha1": HashingPartitioner(), "crc32": HashingPartitioner(zlib.crc32)}[how[0]]} if how else {}
# One record at a time: told to stop, it loses the last of what waits.
client = pykafka.KafkaClient(hosts=bootstrap)
producers = {}
for number, topic, key in lines():
    if topic not in producers:
        producers[topic] = client.topics[topic].get_producer(sync=True, linger_ms=1, **settings)
    try:
        producers[topic].produce(value(tag, number), partition_key=key)
    except ValueError as why:
        refused(number, why)
for producer in producers.values():
    producer.stop()
