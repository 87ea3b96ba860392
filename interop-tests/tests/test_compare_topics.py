"""CompareTopics.java, the judge of copied topics, notices each kind of difference when it is planted alone."""

import json

import pytest
from confluent_kafka import Producer
from records import java_partition

SOURCE_PARTITIONS, TARGET_PARTITIONS = 3, 5
KEYS = 40


def contents():
    """(key, value, headers, timestamp, partition of the source): times run on, most keys live in several partitions."""
    records = []
    for i in range(400):
        key = None if i % 50 == 7 else b"" if i % 50 == 8 else b"key-%d" % (i * 7919 % KEYS)
        value = None if i % 40 == 3 else b"" if i % 40 == 4 else b"value-%d" % i
        records.append((key, value, [("n", b"%d" % i), ("n", None), ("m", b"")], 1_700_000_000_000 + i, i % SOURCE_PARTITIONS))
    return records


def write(bootstrap, topic, records, home=None):
    p = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for key, value, headers, timestamp, partition in records:
        to = home(key, partition) if home else partition
        p.produce(topic, key=key, value=value, headers=headers, timestamp=timestamp, partition=to)
    assert p.flush(60) == 0


def java_home(key, partition):
    return partition % TARGET_PARTITIONS if key is None else java_partition(key, TARGET_PARTITIONS)


def planted(kind):
    """@returns the target's records with one defect."""
    records = contents()
    key, value, headers, timestamp, partition = records[100]
    changed = {
        "value": (key, b"other", headers, timestamp, partition),
        "null-value": (key, None, headers, timestamp, partition),
        "header-order": (key, value, headers[1::-1] + headers[2:], timestamp, partition),
        "header-twice": (key, value, headers + headers[-1:], timestamp, partition),
        "null-header": (key, value, headers[:2] + [("m", None)], timestamp, partition),
        "time": (key, value, headers, timestamp + 1, partition),
    }
    if kind in changed:
        records[100] = changed[kind]
    elif kind == "missing":
        del records[100]
    elif kind == "twice":
        records.append(records[100])
    elif kind == "order":
        records[100], records[140] = records[140], records[100]
        assert records[100][0] == records[140][0]
    return records


KINDS = ("value", "null-value", "header-order", "header-twice", "null-header", "time", "missing", "twice", "order", "place")


def test_each_planted_difference_is_noticed(kafka, topic, java_run):
    source = topic("judged", SOURCE_PARTITIONS)
    write(kafka.bootstrap, source, contents())
    targets = {kind: topic(f"judged-{kind}", TARGET_PARTITIONS) for kind in ("equal", *KINDS)}
    for kind, target in targets.items():
        wrong = planted(kind)[-1] if kind == "place" else None
        write(kafka.bootstrap, target, planted(kind),
              lambda key, partition, wrong=wrong: (java_home(key, partition) + (wrong is not None and key == b"key-1"))
              % TARGET_PARTITIONS)
    done = java_run("CompareTopics.java", "-b", kafka.bootstrap, source, *targets.values()).ends_with(1)
    found = dict(zip(targets, map(json.loads, done.out.splitlines())))
    equal = found.pop("equal")
    assert equal["equal"] and equal["content_equal"] and equal["keys"] == KEYS + 1
    assert equal["source"]["records"] == equal["target"]["records"] == 400
    assert equal["target"]["misplaced"] == 0 and equal["target"]["keyless"] == 8 and equal["target"]["tombstones"] == 10
    assert equal["target"]["headers"] == 1200 and equal["source"]["misplaced"] > 100
    of_key = sum(record[0] == b"key-1" for record in contents())
    for kind, said in found.items():
        assert not said["equal"], kind
        assert said["content_equal"] == (kind in ("order", "place")), kind
        assert said["keys_content_differs"] == int(kind not in ("order", "place")), kind
        assert said["keys_order_differs"] == int(kind == "order"), kind
        assert said["target"]["misplaced"] == (of_key if kind == "place" else 0), kind
        assert said["target"]["records"] == 400 + {"missing": -1, "twice": 1}.get(kind, 0), kind


@pytest.mark.parametrize("args,message", [((), "at least two topics"), (("-b", "x", "a", "b", "--split-keys", "x"), "merge or ignore")])
def test_bad_input(java_run, args, message):
    assert message in java_run("CompareTopics.java", *args).ends_with(2).err
