"""verify on a real Kafka: each kind of damage, planted alone, is found and named, and nothing else is."""

import pytest
from confluent_kafka import Producer
from records import java_partition
from support import unique

SOURCE_PARTITIONS, TARGET_PARTITIONS = 3, 5
WORDS = ("missing", "duplicate", "corrupt", "out-of-order", "mispartitioned", "unexpected")


def contents():
    """(key, value, headers, timestamp), each key in one source partition, in rising order."""
    return [(b"key-%d" % (i % 50), b"value-%d" % i, [("n", b"%d" % i)], 1_700_000_000_000 + i) for i in range(1000)]


def write(bootstrap, topic, records, partitions, wrong=None):
    p = Producer({"bootstrap.servers": bootstrap})
    for key, value, headers, timestamp in records:
        home = java_partition(key, partitions)
        p.produce(topic, key=key, value=value, headers=headers, timestamp=timestamp,
                  partition=(home + 1) % partitions if value == wrong else home)
    assert p.flush(60) == 0


def planted(kind):
    """@returns the target's records with one defect, and the value that shall lie in a wrong partition."""
    records = contents()
    if kind == "missing":
        del records[500]
    elif kind == "duplicate":
        records.append(records[500])
    elif kind == "corrupt":
        key, value, _, timestamp = records[500]
        records[500] = (key, value, [("n", None)], timestamp)
    elif kind == "out-of-order":
        records[500], records[550] = records[550], records[500]  # both of key-0
    elif kind == "unexpected":
        records.append((b"key-7", b"from elsewhere", None, 1_700_000_002_000))
    # The last record of its key, so that it is no matter of order besides.
    return records, records[-1][1] if kind == "mispartitioned" else None


@pytest.mark.parametrize("kind", (None, *WORDS))
def test_planted(kafka, topic, repartition, librdkafka, kind):
    source, target = topic("source", SOURCE_PARTITIONS), topic("target", TARGET_PARTITIONS)
    records, wrong = planted(kind)
    write(kafka.bootstrap, source, contents(), SOURCE_PARTITIONS)
    write(kafka.bootstrap, target, records, TARGET_PARTITIONS, wrong)
    command = ("verify", source, target, "-b", kafka.bootstrap)
    found = repartition(*command, "--output", "json", librdkafka=librdkafka).ends_with(1 if kind else 0).json()
    assert found["differences"] == {word: int(word == kind) for word in WORDS}
    assert found["equal"] == (kind is None) and found["counts_are_exact"] and found["keys_share"] == 1
    assert [example["kind"] for example in found["examples"]] == ([kind] if kind else [])
    assert all("key" not in example for example in found["examples"])
    text = repartition(*command, "--show-keys", librdkafka=librdkafka).ends_with(1 if kind else 0).out
    for word in WORDS:
        assert f"{word:15} {int(word == kind)}\n" in text
    assert ("key key-" in text) == (kind is not None)


def test_bad_input(kafka, topic, repartition):
    source = topic("source")
    assert "does not exist" in repartition("verify", source, unique("none"), "-b", kafka.bootstrap).ends_with(2).err
    assert "no broker named" in repartition("verify", source, unique("none")).ends_with(2).err
    assert "proves nothing about itself" in repartition("verify", source, source).ends_with(2).err
