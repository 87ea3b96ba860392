"""kafka-python 2.0.2 and 0.9.4: kafka_python.py KEYS.tsv OUT_DIR SITE_OF_2.0.2 HASHED_PY_OF_0.9.4"""
import sys
import types

from keys import read, write

keys, out = list(read(sys.argv[1])), sys.argv[2]

# Its one module is enough; importing the package would need a vendored six that newer Pythons no longer load.
source = open(f"{sys.argv[3]}/kafka/partitioner/default.py", encoding="utf-8").read()
new = types.ModuleType("default")
exec(compile("\n".join(l for l in source.splitlines() if "import" not in l or "random" in l).replace("six.PY2", "False"),
             "default.py", "exec"), new.__dict__)
choose = new.DefaultPartitioner()
write(out, "murmur2.kafka-python", "kafka-python 2.0.2: DefaultPartitioner; raw: its murmur2", keys, new.murmur2,
      lambda key, n: choose(key, range(n), []))

# 0.9.4 is Python 2: there `/` is whole division, and str(key) of a str is its bytes.
source = open(sys.argv[4], encoding="utf-8").read()
for before, after in (("from .base import Partitioner", "Partitioner = object"), ("length4 = length / 4", "length4 = length // 4"),
                      ("data = bytearray(str(key))", "data = bytearray(key)")):
    if source.count(before) < 1:
        raise SystemExit(f"{sys.argv[4]}: no {before!r}")
    source = source.replace(before, after)
old = types.ModuleType("hashed")
exec(compile(source, "hashed.py", "exec"), old.__dict__)
old_choose = old.Murmur2Partitioner()
write(out, "kafka-python-old.kafka-python-0.9", "kafka-python 0.9.4: Murmur2Partitioner; raw: its murmur2", keys, old.murmur2,
      lambda key, n: old_choose.partition(key, range(n)))
