"""The producers that the other tests use: that both send the bytes of the file, and each chooses as it is known to."""

import collections
import functools
import zlib

import pytest
from support import DEBIAN_PYTHON, PYTHON, run

KEYS = [f"order-{i}" for i in range(200)]
LINES = "".join(f"{key}\tvalue-{i}\t{1700000000000 + i}\n" for i, key in enumerate(KEYS))
COUNT = 12


@pytest.fixture(params=["java", "debian", "wheel"])
def produce(request, kafka):
    """produce(topic, *options, stdin=...) with the real Java client, Debian's confluent-kafka, and PyPI's."""
    if request.param == "java":
        java_run = request.getfixturevalue("java_run")
        start = functools.partial(java_run, "Produce.java")
    else:
        python = DEBIAN_PYTHON if request.param == "debian" else request.getfixturevalue("wheel_python")
        start = functools.partial(run, python, PYTHON / "produce.py")

    def produce(to, *args, **options):
        return start("-b", kafka.bootstrap, "-t", to, *args, **options)

    produce.client = request.param
    return produce


def read(kcat, kafka, topic):
    """@returns {(partition, offset): (key, value, timestamp)}; key and value None where there is none."""
    got = kcat("-b", kafka.bootstrap, "-C", "-t", topic, "-e", "-q", "-f", "%p\t%o\t%K\t%S\t%k\t%s\t%T\n").ok()
    records = {}
    for line in got.out.splitlines():
        partition, offset, key_len, value_len, key, value, timestamp = line.split("\t")
        records[int(partition), int(offset)] = (None if key_len == "-1" else key, None if value_len == "-1" else value,
                                                int(timestamp))
    return records


def test_record_for_record(produce, kafka, kcat, topic, repartition):
    t = topic("bytes", partitions=COUNT)
    reported = produce(t, "--report", stdin=LINES).ok().out.splitlines()
    records = read(kcat, kafka, t)
    assert len(reported) == len(records) == len(KEYS)
    for i, (line, key) in enumerate(zip(reported, KEYS)):
        partition, offset = map(int, line.split("\t"))
        assert records[partition, offset] == (key, f"value-{i}", 1700000000000 + i)
        if produce.client != "java":
            assert partition == zlib.crc32(key.encode()) % COUNT, "librdkafka's default is consistent_random, CRC-32"
    if produce.client == "java":
        # Two of Kafka's published murmur2 values; the golden vectors have the rest.
        assert [line.split("\t")[0] for line in produce(t, "--report", stdin="21\tx\nfoobar\tx\n").ok().out.splitlines()] \
            == [str(java_partition(-973932308)), str(java_partition(-790332482))]


def java_partition(murmur2):
    return (murmur2 & 0x7FFFFFFF) % COUNT


def test_empty_is_not_none(produce, kafka, kcat, topic):
    t = topic("empty")
    produce(t, stdin="\tno key text\nempty value\t\n").ok()
    produce(t, "--null-keys", "--null-values", stdin="\tno key\ntombstone\t\n").ok()
    assert [r[:2] for _, r in sorted(read(kcat, kafka, t).items())] == [
        ("", "no key text"), ("empty value", ""), (None, "no key"), ("tombstone", None)]


def test_keys_of_any_bytes(produce, kafka, kcat, topic):
    t = topic("hex")
    produce(t, "--hex-keys", stdin="00ff0a09\tx\n").ok()
    got = kcat("-b", kafka.bootstrap, "-C", "-t", t, "-e", "-q", "-f", "%K %k").ok()
    assert got.out.encode("utf-8", "surrogateescape") == b"4 \x00\xff\n\t"


def test_null_keys_are_spread(produce, kafka, kcat, topic):
    t = topic("null", partitions=2)
    # One record a batch, or the sticky partitioner may keep all of them in one partition.
    produce(t, "--null-keys", "-X", "batch.size=1", "-X", "linger.ms=0", stdin="\tx\n" * 400).ok()
    used = collections.Counter(partition for partition, _ in read(kcat, kafka, t))
    assert set(used) == {0, 1}


def test_errors(produce, kafka, topic):
    t = topic("bad")
    assert "line 2: expected KEY TAB VALUE" in produce(t, stdin="a\tb\nc\n").ends_with(2).err
    assert "line 1:" in produce(t, "--hex-keys", stdin="0x\tb\n").ends_with(2).err
    produce(t, "-X", "nonsense", stdin="").ends_with(2)
    timeout = ("-X", "delivery.timeout.ms=3000", "-X", "request.timeout.ms=1000", "-X", "linger.ms=0",
               *(("-X", "max.block.ms=3000") if produce.client == "java" else ()))
    assert "not delivered" in produce("no-such-topic", *timeout, stdin="a\tb\n").ends_with(1).err
