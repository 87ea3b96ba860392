"""Records that tell about themselves, so that any reader can judge any of them alone.

A value holds the run's seed, the partition and offset of the source that it was written to, its time, its key's version
(1, 2, 3, ... in order of time), and a checksum over all of that and the key. Headers follow from the version. What an
aborted transaction wrote says so: whoever sees it has seen what is not there.
"""

import random
import zlib
from collections import defaultdict
from typing import NamedTuple

from confluent_kafka import Producer

BASE_MS = 1_700_000_000_000
VOID = 0  # the version of records in transactions that are aborted


class Told(NamedTuple):
    partition: int
    offset: int
    index: int
    version: int


def checksum(key, fields):
    return zlib.crc32(b"%d %d %d %d %d " % fields, zlib.crc32(key))


def write_value(seed, told, key, size=0):
    fields = (seed, *told)
    return b"%d %d %d %d %d %08x " % (*fields, checksum(key, fields)) + b"." * size


def read_value(seed, key, value):
    """@returns what the record tells, or None for one that nobody of this run wrote, or that was damaged."""
    try:
        *fields, crc = value.split(b" ")[:6]
        fields = tuple(int(f) for f in fields)
        if fields[0] != seed or int(crc, 16) != checksum(key, fields) or value.strip(b".").count(b" ") != 6:
            return None
    except (ValueError, IndexError):
        return None
    return Told(*fields[1:])


def headers_of(version):
    # No null value: confluent-kafka 1.7.0 takes one reference to None too few for each, and Python dies of it in the end.
    return [("version", b"%d" % version), ("twice", b"a"), ("twice", b"")] if version % 5 == 0 else None


class Source:
    """Fills a topic and knows what a committed reader must find in it. One writer a topic, so that offsets can be told."""

    def __init__(self, bootstrap, topic, partitions, seed, keys=500, size=60, is_aborting=False, home=None,
                 has_split_keys=True):
        self.bootstrap, self.topic, self.partitions, self.seed = bootstrap, topic, partitions, seed
        self.random = random.Random(seed)
        self.keys, self.size, self.is_aborting = keys, size, is_aborting
        self.home = home or (lambda key: zlib.crc32(key) % partitions)
        self.has_split_keys = has_split_keys
        self.next_offset = [0] * partitions
        self.versions = defaultdict(int)
        self.index = 0
        self.expected = [[] for _ in range(partitions)]  # offsets of the records that count, rising
        self.failed = 0
        config = {"bootstrap.servers": bootstrap, "linger.ms": 10, "enable.idempotence": True,
                  "queue.buffering.max.messages": 1000000, "message.timeout.ms": 120000}
        if is_aborting:
            config |= {"transactional.id": f"source-{topic}", "transaction.timeout.ms": 120000}
        self.producer = Producer(config)
        if is_aborting:
            self.producer.init_transactions(60)

    def _delivered(self, error, _message):
        self.failed += error is not None

    def _put(self, is_void):
        key = b"key-%d" % self.random.randrange(self.keys)
        partition = self.home(key)
        # One key in four lives in two partitions.
        if self.has_split_keys and zlib.crc32(key) % 4 == 0 and self.random.random() < 0.3:
            partition = (partition + 1) % self.partitions
        version = VOID
        if not is_void:
            self.versions[key] += 1
            version = self.versions[key]
        told = Told(partition, self.next_offset[partition], self.index, version)
        self.producer.produce(self.topic, key=key, value=write_value(self.seed, told, key, self.random.randrange(self.size)),
                              partition=partition, timestamp=BASE_MS + self.index, headers=headers_of(version),
                              on_delivery=self._delivered)
        self.next_offset[partition] += 1
        self.index += 1
        return told

    def fill(self, count):
        """Writes so many records that count, and, when this source aborts, half as many that do not."""
        left = count
        while left:
            batch = min(left, self.random.randrange(50, 400))
            is_void = self.is_aborting and self.random.random() < 1 / 3
            if self.is_aborting:
                self.producer.begin_transaction()
            told = [self._put(is_void) for _ in range(batch)]
            self.producer.poll(0)
            if self.is_aborting:
                assert self.producer.flush(120) == 0
                (self.producer.abort_transaction if is_void else self.producer.commit_transaction)(60)
                for partition in {t.partition for t in told}:
                    self.next_offset[partition] += 1  # the record that ends the transaction there
            if not is_void:
                for t in told:
                    self.expected[t.partition].append(t.offset)
                left -= batch
        assert self.producer.flush(120) == 0 and not self.failed
        return self

    @property
    def count(self):
        return sum(len(offsets) for offsets in self.expected)
