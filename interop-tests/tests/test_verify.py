"""verify on a real Kafka: each kind of damage, planted alone, is found and named, and nothing else is."""

import json
import signal
import time

import pytest
from confluent_kafka import Producer
from records import java_partition
from support import Librdkafka, await_handler, most_resident, unique

SOURCE_PARTITIONS, TARGET_PARTITIONS = 3, 5
WORDS = ("missing", "duplicate", "corrupt", "out-of-order", "mispartitioned", "unexpected")


def contents():
    """(key, value, headers, timestamp), each key in one source partition, in rising order."""
    return [(b"key-%d" % (i % 50), b"value-%d" % i, [("n", b"%d" % i)], 1_700_000_000_000 + i) for i in range(1000)]


def write(bootstrap, topic, records, partitions, wrong=None):
    p = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
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


@pytest.fixture(scope="module")
def copied(kafka):
    """A topic with every key in one partition, and a true copy of it."""
    source, target = (kafka.create(unique(name), count) for name, count in
                      (("unsplit", SOURCE_PARTITIONS), ("unsplit-copy", TARGET_PARTITIONS)))
    write(kafka.bootstrap, source, contents(), SOURCE_PARTITIONS)
    write(kafka.bootstrap, target, contents(), TARGET_PARTITIONS)
    return source, target


def test_threads(kafka, repartition, copied, librdkafka):
    command = ("verify", *copied, "-b", kafka.bootstrap, "--output", "json")
    one = repartition(*command, librdkafka=librdkafka).ok().json()
    many = repartition(*command, "--threads", 3, librdkafka=librdkafka).ok().json()
    assert many["by_partition"] and not one["by_partition"]
    for side in ("source", "target"):
        assert one[side] == many[side]
    assert [r["end_offset"] for r in one["source"]["ranges"]] and one["keys_compared"] == many["keys_compared"] == 50


def test_compacted_topics_by_the_latest_record(kafka, topic, repartition):
    source, target = topic("states", SOURCE_PARTITIONS, cleanup_policy="compact"), topic("states-copy", TARGET_PARTITIONS)
    records = contents()
    gone = [(b"key-1", None, None, 1_700_000_003_000)]
    write(kafka.bootstrap, source, records + gone, SOURCE_PARTITIONS)
    latest = {record[0]: record for record in records}
    del latest[b"key-1"]  # as the cleaner leaves it in the end
    write(kafka.bootstrap, target, latest.values(), TARGET_PARTITIONS)
    command = ("verify", source, target, "-b", kafka.bootstrap)
    found = repartition(*command, "--output", "json").ok().json()
    assert found["mode"] == "latest" and found["mode_reason"] == f"cleanup.policy of {source} is compact"
    assert found["source"]["live_keys"] == found["target"]["live_keys"] == 49
    assert f"latest record of each key: cleanup.policy of {source} is compact" in repartition(*command).ok().out
    repartition(*command, "--mode", "all").ends_with(1)
    write(kafka.bootstrap, target, [(b"key-2", b"older", None, 1)], TARGET_PARTITIONS)
    found = repartition(*command, "--output", "json").ends_with(1).json()
    assert found["differences"] == {word: int(word == "corrupt") for word in WORDS} and found["keys_differing"] == 1


def test_memory_is_bounded_and_exact(kafka, topic, repartition, tmp_path):
    """150,000 keys, of which 1 MiB holds a fifth; one pair of records is exchanged."""
    source, target = topic("keys", 1), topic("keys-copy", 1)
    keys = [b"%d" % (i % 150_000) for i in range(150_600)]
    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 50,
                  "queue.buffering.max.messages": 1_000_000})
    for i, key in enumerate(keys):
        p.produce(source, key=key, value=b"%d" % i, timestamp=1000)
        swapped = {500: 150_500, 150_500: 500}.get(i, i)
        p.produce(target, key=key, value=b"%d" % swapped, timestamp=1000)
    assert p.flush(120) == 0

    def run_with(memory):
        """@returns the report and the most memory that the process had resident."""
        with open(tmp_path / "report", "w+", encoding="utf-8") as out:
            process = repartition.start("verify", source, target, "-b", kafka.bootstrap, "--output", "json", "--max-memory",
                                        memory, librdkafka=Librdkafka("new"), stdout=out)
            resident = most_resident(process)
            assert process.returncode == 1
            out.seek(0)
            return json.load(out), resident

    small, small_resident = run_with("1Mi")
    assert small["differences"] == {word: int(word == "out-of-order") for word in WORDS}
    assert small["keys_compared"] == 150_000 and small["keys_share"] == 1
    assert small["memory"]["readings"] > 3 and small["memory"]["peak_bytes"] <= 1 << 20
    large, large_resident = run_with("64MB")
    assert large["differences"] == small["differences"] and large["memory"]["readings"] == 1
    assert 24 * 150_000 < large["memory"]["peak_bytes"] <= 0.15 * large["memory"]["bytes_per_million_keys"] * 1.1
    # Besides: of each side an answer of 1 MiB at hand and one on its way, eight times as large in librdkafka's form of it.
    assert small_resident < 100_000_000 and large_resident < 100_000_000 + 64_000_000


@pytest.fixture
def parts(kafka, repartition, tmp_path):
    """parts(SRC, DST, "0-1", ...) verifies parts of two topics. @returns the files of their reports."""
    def make(source, target, *lists):
        for i, partitions in enumerate(lists):
            done = repartition("verify", source, target, "-b", kafka.bootstrap, "--partitions", partitions, "--output", "json",
                               "--threads", i + 1)
            (tmp_path / f"part-{i}.json").write_text(done.out)
            assert done.rc in (0, 1) and done.json()["equal"] is None
        return [tmp_path / f"part-{i}.json" for i in range(len(lists))]
    return make


def test_merged_parts_are_the_whole(kafka, topic, repartition, copied, parts):
    whole = repartition("verify", *copied, "-b", kafka.bootstrap, "--output", "json").ok().json()
    a, b, c = parts(*copied, "0,3", "1-2", "4")
    merged = repartition("merge", a, b, c, "--output", "json").ok().json()
    assert merged["equal"] and merged["content_equal"] and merged["order"] == "equal" and merged["split_pieces"] == 0
    for side in ("source", "target"):
        assert all(whole[side][field] == merged[side][field] for field in merged[side])
    assert merged["policy"] == whole["policy"]
    assert "equal: the same records" in repartition("merge", c, b, a).ok().out
    assert "is in none of the parts" in repartition("merge", a, b).ends_with(2).err
    assert "give each once" in repartition("merge", a, b, c, b).ends_with(2).err
    report = json.loads(b.read_text())
    for change, message in (({"policy": {"rule": "x", "fingerprint": "other"}}, "was judged by the policy other"),
                            ({"source": {**report["source"], "topic": "other"}}, 'is about topic "other"'),
                            ({"job": "other"}, 'goes by the progress of job "other"'),
                            ({"part": {}}, "this is not a part as verify"),
                            ({"part": None}, "this is not the report of a part"),
                            ({"target": {**report["target"], "ranges": [{"first_offset": 0, "end_offset": 1}] * 5}},
                             "begun at different moments")):
        b.write_text(json.dumps({**report, **change}))
        done = repartition("merge", a, b, c).ends_with(2)
        assert message in done.err and done.err.count("\n") == 1 and done.out == ""

    other = topic("unsplit-other", TARGET_PARTITIONS)
    records, _ = planted("out-of-order")
    write(kafka.bootstrap, other, records, TARGET_PARTITIONS)
    merged = repartition("merge", *parts(copied[0], other, "0-2", "3-4"), "--output", "json").ends_with(1).json()
    assert merged["content_equal"] and not merged["equal"] and merged["order"] == "different"


def test_merged_parts_leave_split_keys_open(kafka, topic, repartition, parts):
    source, target = topic("split", SOURCE_PARTITIONS), topic("split-copy", TARGET_PARTITIONS)
    records = contents()
    write(kafka.bootstrap, source, records, SOURCE_PARTITIONS, wrong=records[100][1])
    write(kafka.bootstrap, target, records, TARGET_PARTITIONS)
    files = parts(source, target, "0-1", "2-4")
    merged = repartition("merge", *files, "--output", "json").ends_with(3).json()
    assert merged["equal"] is None and merged["content_equal"] and merged["split_pieces"] == 1
    assert "their order can be seen by a verify of the whole alone" in repartition("merge", *files).ends_with(3).out
    repartition("verify", source, target, "-b", kafka.bootstrap).ok()


def test_interrupted_and_taken_up(kafka, repartition, copied, tmp_path, librdkafka):
    state = tmp_path / "state"
    command = ("verify", *copied, "-b", kafka.bootstrap, "--output", "json", "--state", state)
    running = repartition.start(*command, librdkafka=librdkafka)
    await_handler(running, signal.SIGTERM)
    running.send_signal(signal.SIGTERM)  # long before it has read anything, so it stops after the first records
    assert running.wait(60) == 128 + signal.SIGTERM and state.exists()
    wrong = repartition(*command, "--mode", "latest", librdkafka=librdkafka).ends_with(2)
    assert "is of another comparison" in wrong.err
    resumed = repartition(*command, librdkafka=librdkafka).ok().json()
    assert resumed["resumed"] and not state.exists()
    whole = repartition(*command, librdkafka=librdkafka).ok().json()
    assert not whole["resumed"]
    for found in (resumed, whole):
        del found["resumed"], found["memory"]
    assert resumed == whole


def test_bad_input(kafka, topic, repartition):
    source = topic("source")
    assert "does not exist" in repartition("verify", source, unique("none"), "-b", kafka.bootstrap).ends_with(2).err
    assert "no broker named" in repartition("verify", source, unique("none")).ends_with(2).err
    assert "proves nothing about itself" in repartition("verify", source, source).ends_with(2).err
    for partitions, message in (("1-", "expected partitions such as"), ("x", "expected partitions such as"),
                                ("2-1", "expected partitions such as"), ("0,7", "there are the partitions 0 to"),
                                ("0-99999999999", "expected partitions such as")):
        assert message in repartition("verify", source, topic("other"), "-b", kafka.bootstrap, "--partitions",
                                      partitions).ends_with(2).err
    assert "does not add up" in repartition("verify", source, "x", "--partitions", "0", "--mode", "latest").ends_with(2).err
    assert "cannot read" in repartition("merge", "/nonexistent").ends_with(2).err
