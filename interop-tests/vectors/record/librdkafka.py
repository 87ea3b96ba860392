"""librdkafka's exported partitioner functions and zlib: librdkafka.py KEYS.tsv OUT_DIR [librdkafka.so]"""
import ctypes
import sys
import zlib

from keys import read, write

keys, out = list(read(sys.argv[1])), sys.argv[2]
lib = ctypes.CDLL(sys.argv[3] if len(sys.argv) > 3 else "librdkafka.so.1")
lib.rd_kafka_version_str.restype = ctypes.c_char_p
version = f"librdkafka {lib.rd_kafka_version_str().decode()}"

for file, name in (("crc32", "consistent"), ("murmur2", "murmur2"), ("fnv1a-abs", "fnv1a")):
    call = getattr(lib, f"rd_kafka_msg_partitioner_{name}")
    call.restype = ctypes.c_int32
    call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p]
    write(out, f"{file}.librdkafka", f"{version}: rd_kafka_msg_partitioner_{name}", keys,
          lambda key: None, lambda key, n: call(None, key, len(key), n, None, None))

write(out, "crc32.zlib", "Python's zlib.crc32, unsigned mod N", keys, zlib.crc32, lambda key, n: zlib.crc32(key) % n)
