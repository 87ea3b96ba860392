"""rewrite and verify of several sources on a real Kafka: one topic of two, exactly once, each source partition's order kept."""

import json
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from records import await_progress, end_offsets, java_partition, read, sequences
from support import run as run_program
from support import unique
from test_cutover import committed

COUNTS = {"eu": 3, "us": 5}
TARGET_PARTITIONS = 4
SLOW = ("-X", "queue.buffering.max.messages=200", "--transaction-ms", 200)
NOW = int(time.time() * 1000) - 10_000_000


def fill(bootstrap, topic, partitions, count, start=0, keys="own"):
    """Values name where they come from: topic, partition, number in it. Every tenth has no key."""
    numbers = [start * 1_000_000] * partitions
    p = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True})
    for i in range(start, start + count):
        key = None if i % 10 == 9 else b"%s-%d" % (topic.encode() if keys == "own" else b"key", i % 500)
        partition = i % partitions if key is None else java_partition(key, partitions)
        p.produce(topic, key=key, value=b"%s %d %d" % (topic.encode(), partition, numbers[partition]), partition=partition,
                  timestamp=NOW + 2 * i, headers=[("from", topic.encode()), ("from", None)])
        numbers[partition] += 1
        if i % 5000 == 0:
            p.poll(0)
    assert p.flush(120) == 0


@pytest.fixture
def two(kafka):
    """Two sources of different partition counts, still empty, and the name of a target."""
    name = unique("sources")
    return [kafka.create(f"{name}.{last}", partitions=cnt) for last, cnt in COUNTS.items()], f"{name}.all"


def commit(bootstrap, group, stands):
    """Stores offsets for a group without members. stands: (topic, partition, offset), ..."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(*stand) for stand in stands], asynchronous=False)
    consumer.close()


def command(kafka, sources, target, *args):
    return ("rewrite", *sources, target, "--partitions", TARGET_PARTITIONS, "-b", kafka.bootstrap, "--output", "json", *args)


def job_of(sources, target):
    return f"keyroute.{'+'.join(sorted(sources))}.{target}"


def assert_image(kafka, sources, target):
    """Every record once, in its place, and the order of each source partition kept in each partition of the target."""
    before = [r for source in sources for r in read(kafka.bootstrap, source)]
    after = read(kafka.bootstrap, target)
    assert sorted(map(repr, (r.content for r in after))) == sorted(map(repr, (r.content for r in before)))
    last = {}
    for r in after:
        topic, partition, number = r.value.split()
        home = int(partition) % TARGET_PARTITIONS if r.key is None else java_partition(r.key, TARGET_PARTITIONS)
        assert r.partition == home, r
        assert int(number) > last.get((r.partition, topic, partition), -1), r
        last[r.partition, topic, partition] = int(number)
    return after


def test_two_become_one(kafka, two, repartition, librdkafka, tmp_path):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 3000)
    text = repartition("rewrite", *reversed(sources), target, "--partitions", TARGET_PARTITIONS, "-b", kafka.bootstrap).ok().out
    assert f"{'+'.join(sources)} → {target}   8 → 4 partitions" in text
    assert f"repartition rewrite {' '.join(sources)} {target} -b" in text
    done = repartition(*command(kafka, sources, target, "--execute"), librdkafka=librdkafka).ok().json()
    assert done["sources"] == [{"topic": source, "partitions": COUNTS[source[-2:]]} for source in sources]
    assert done["job"] == job_of(sources, target) and done["result"]["records"] == 6000 and done["result"]["keyless"] == 600
    assert_image(kafka, sources, target)

    # In the other order they are the same job, and nothing is new; then just what is.
    ends = end_offsets(kafka.bootstrap, target)
    assert repartition(*command(kafka, reversed(sources), target, "--execute")).ok().json()["result"]["records"] == 0
    assert end_offsets(kafka.bootstrap, target) == ends
    fill(kafka.bootstrap, sources[1], 5, 100, start=3000)
    assert repartition(*command(kafka, sources, target, "--execute")).ok().json()["result"]["records"] == 100
    after = assert_image(kafka, sources, target)

    report = repartition("verify", *sources, target, "-b", kafka.bootstrap, "--output", "json").ok().json()
    assert report["equal"] and report["source"]["records"] == len(after) == 6100
    assert [(r["topic"], r["partition"]) for r in report["source"]["ranges"]] == [
        (source, p) for source in sources for p in range(COUNTS[source[-2:]])]
    repartition("verify", *sources, target, "-b", kafka.bootstrap, "--threads", 3, "--state", tmp_path / "state").ok()


def test_killed_and_taken_up(kafka, two, repartition):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 30_000)
    run = command(kafka, sources, target, "--execute")
    beyond = 0
    for _ in range(3):
        process = repartition.start(*run, *SLOW)
        beyond = await_progress(kafka.bootstrap, sources[0], job_of(sources, target), beyond, process)
        process.kill()
        process.wait()
    done = repartition(*run).ok().json()
    assert done["result"]["resumed"] and 0 < done["result"]["records"] < 60_000
    assert_image(kafka, sources, target)
    assert repartition(*run).ok().json()["result"]["records"] == 0
    repartition("verify", *sources, target, "-b", kafka.bootstrap).ok()


def test_keys_of_both_are_merged_by_time_or_refused(kafka, two, repartition):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 2000, keys="common")
    refused = repartition(*command(kafka, sources, target, "--execute")).ends_with(2).json()
    (finding,) = [f for f in refused["findings"] if f["severity"] == "refused"]
    assert finding["id"] == "split-keys" and "more than one partition or topic of" in finding["text"]
    assert refused["plan"]["split_keys_seen"] == 450
    done = repartition(*command(kafka, sources, target, "--execute", "--order", "merge")).ok().json()
    assert done["result"]["records"] == 4000 and done["result"]["unordered"] == 0
    for key, sequence in sequences(assert_image(kafka, sources, target)).items():
        times = [timestamp for _, _, _, timestamp in sequence]
        assert key is None or times == sorted(times), key
    repartition("verify", *sources, target, "-b", kafka.bootstrap).ok()


def test_workers_share_the_partitions_of_all(kafka, two, repartition):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 20_000)
    run = command(kafka, sources, target, "--execute")
    process = repartition.start(*run, "--workers", 3, *SLOW)
    await_progress(kafka.bootstrap, sources[0], job_of(sources, target), 500, process)
    process.kill()
    process.wait()
    done = repartition(*run, "--workers", 2).ok().json()
    assert done["result"]["resumed"] and 0 < done["result"]["records"] < 40_000
    assert_image(kafka, sources, target)


def test_a_stretch_of_all(kafka, two, repartition):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 2000)
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime((NOW + 2000) // 1000 + 1)) + "Z"
    left_out = sum(2 * i < ((NOW + 2000) // 1000 + 1) * 1000 - NOW for i in range(2000))
    assert 1000 <= left_out < 2000
    run = command(kafka, sources, target, "--execute", "--from", since)
    assert repartition(*run).ok().json()["result"]["records"] == 2 * (2000 - left_out)
    assert repartition(*run).ok().json()["result"]["records"] == 0
    repartition("verify", *sources, target, "-b", kafka.bootstrap).ok()


def test_what_is_missing_is_named_by_its_topic(kafka, two, repartition):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 100)
    repartition(*command(kafka, sources, target, "--execute")).ok()
    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    p.produce(sources[1], key=b"late", value=b"late", partition=4)
    assert p.flush(60) == 0
    end = end_offsets(kafka.bootstrap, sources[1])[4]
    run = ("verify", *sources, target, "-b", kafka.bootstrap, "--job", unique("none"))  # no progress: compared to the ends
    report = repartition(*run, "--output", "json").ends_with(1).json()
    assert report["differences"]["missing"] == 1
    assert [x["source"] for x in report["examples"]] == [{"topic": sources[1], "partition": 4, "offset": end - 1}]
    assert f"{sources[1]} partition 4 offset {end - 1}" in repartition(*run).ends_with(1).out


def test_a_source_made_again_is_noticed(kafka, two, repartition, librdkafka):
    """Its offsets are gone with it, those of the other source are not."""
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 200)
    run = command(kafka, sources, target, "--execute")
    repartition(*run).ok()
    ends = end_offsets(kafka.bootstrap, target)
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--delete", "--topic", sources[0]).ok()
    kafka.create(sources[0], partitions=COUNTS["eu"])
    fill(kafka.bootstrap, sources[0], COUNTS["eu"], 20)
    done = repartition(*run, librdkafka=librdkafka)
    assert (done.rc, "deleted and made again since" in done.err) in ((2, True), (3, True)), done
    assert sources[0] in done.err and end_offsets(kafka.bootstrap, target) == ends


def test_a_source_that_grows_moves_no_other(kafka, two, repartition):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 1000)
    run = command(kafka, sources, target, "--execute")
    repartition(*run).ok()
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", sources[0], "--partitions", 4).ok()
    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    for i in range(50):
        p.produce(sources[0], key=b"late-%d" % i, value=b"%s 3 %d" % (sources[0].encode(), i), partition=3)
    assert p.flush(60) == 0
    assert repartition(*run).ok().json()["result"]["records"] == 50
    assert_image(kafka, sources, target)
    repartition("verify", *sources, target, "-b", kafka.bootstrap).ok()


def test_what_sources_differ_in_must_be_said(kafka, repartition):
    name = unique("unlike")
    sources = [kafka.create(f"{name}.a", partitions=2, segment_bytes=2000000), kafka.create(f"{name}.b", partitions=2)]
    for source in sources:
        fill(kafka.bootstrap, source, 2, 20)
    run = command(kafka, sources, f"{name}.all", "--execute")
    assert "--config segment.bytes=..." in repartition(*run).ends_with(2).err
    assert repartition(*run, "--config", "segment.bytes=3000000").ok().json()["result"]["records"] == 40


@pytest.mark.parametrize("args, message", [
    (["a", "a", "b"], 'source "a" is named twice'),
    (["a", "b", "a"], 'source and target are both "a"'),
    (["a", "b", "c", "--jobs-topic", "none"], "several sources need a topic of jobs"),
    (["a", "b", "c", "--from", "0:5"], "offsets by partition go with one source"),
])
def test_what_is_refused(kafka, repartition, args, message):
    name = unique("refused")
    for last in "ab":
        kafka.create(f"{name}.{last}")
    args = [f"{name}.{arg}" if len(arg) == 1 else arg for arg in args]
    message = message.replace('"a"', f'"{name}.a"')
    assert message in repartition("rewrite", *args, "--partitions", 2, "-b", kafka.bootstrap, "--execute").ends_with(2).err


def test_into_another_cluster(kafka, kafka3, two, repartition):
    sources, target = two
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 500)
    run = ("rewrite", *sources, sources[0], "--partitions", TARGET_PARTITIONS, "--replication-factor", 3, "--execute", "--output",
           "json",
           "-X", f"source.bootstrap.servers={kafka.bootstrap}", "-X", f"target.bootstrap.servers={kafka3.bootstrap}")
    assert repartition(*run).ok().json()["result"]["records"] == 1000
    fill(kafka.bootstrap, sources[1], 5, 50, start=500)
    assert repartition(*run).ok().json()["result"]["records"] == 50
    before = [r.content for source in sources for r in read(kafka.bootstrap, source)]
    after = read(kafka3.bootstrap, sources[0])
    assert sorted(map(repr, (r.content for r in after))) == sorted(map(repr, before)) and target


STORE = """
import json, sys
from confluent_kafka import Consumer, TopicPartition
bootstrap, group, topic, *marks = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
consumer.commit(offsets=[TopicPartition(topic, p, *json.loads(mark)) for p, mark in enumerate(marks)], asynchronous=False)
consumer.close()
"""


def test_a_job_from_before_there_were_several_goes_on(kafka, two, repartition, wheel_python):
    """All that the earlier program had stored of a job of one source, in its own words: offsets, description, checkpoint."""
    (source, _), target = two
    fill(kafka.bootstrap, source, COUNTS["eu"], 300)
    kafka.create(target, partitions=TARGET_PARTITIONS)
    jobs = kafka.create(unique("jobs"), cleanup_policy="compact")
    job, run = job_of([source], target), command(kafka, [source], target, "--jobs-topic", jobs)
    fingerprint = repartition(*run).ok().json()["policy"]["fingerprint"]
    identity = f"rewrite {source} to {target}, {TARGET_PARTITIONS} partitions, policy {fingerprint}"
    records = read(kafka.bootstrap, source)
    pass_ends = [sum(r.partition == p for r in records) for p in range(COUNTS["eu"])]
    marks = [10, 0, pass_ends[2]]  # killed within its first pass: one partition begun, one not, one done

    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    for r in records:
        if r.offset < marks[r.partition]:
            home = r.partition % TARGET_PARTITIONS if r.key is None else java_partition(r.key, TARGET_PARTITIONS)
            p.produce(target, key=r.key, value=r.value, headers=list(r.headers), timestamp=r.timestamp, partition=home)
    assert p.flush(60) == 0
    ends = end_offsets(kafka.bootstrap, target)
    for key, value in {
        job: {"keyroute": 1, "kind": "rewrite", "job": identity, "policy": fingerprint,
              "source": {"topic": source, "id": "", "cluster": "", "partitions": COUNTS["eu"]},
              "target": {"topic": target, "id": "", "cluster": "", "partitions": TARGET_PARTITIONS},
              "by": "host h, process 1", "version": "0.1.0", "since_ms": 77},
        f"{job}|checkpoint|0.0": {"keyroute": 1, "epoch": 77, "seq": 0, "full": True,
                                  "source": [x for pair in enumerate(marks) for x in pair],
                                  "target": [x for pair in enumerate(ends) for x in pair], "anchors": []},
    }.items():
        p.produce(jobs, key=key, value=json.dumps(value, separators=(",", ":")))
    assert p.flush(60) == 0
    notes = [json.dumps({"keyroute": 1, "job": identity, "by": "host h, process 1", "first": 0, "passes": [end], "forgotten": 0})
             for end in pass_ends]
    run_program(wheel_python, "-c", STORE, kafka.bootstrap, job, source,
                *[json.dumps([mark, note]) for mark, note in zip(marks, notes)]).ok()

    done = repartition(*run, "--execute").ok().json()
    assert done["result"]["resumed"] and done["result"]["records"] == 300 - sum(marks)
    assert_image(kafka, [source], target)
    assert repartition(*run, "--execute").ok().json()["result"]["records"] == 0
    repartition("verify", source, target, "-b", kafka.bootstrap, "--jobs-topic", jobs).ok()


def test_a_group_is_moved_so_that_it_skips_nothing(kafka, two, repartition, tmp_path):
    """It stands somewhere in both sources; what it has not read lies at or past its new offsets, and it can go back."""
    sources, target = two
    back, group, both = tmp_path / "back.json", unique("group"), "+".join(reversed(sources))
    for source in sources:
        fill(kafka.bootstrap, source, COUNTS[source[-2:]], 4000)
    run = command(kafka, sources, target, "--execute", *SLOW, "--throttle-records", 3000)
    repartition(*run).ok()
    records = {source: read(kafka.bootstrap, source) for source in sources}
    stands = [(source, p, sum(r.partition == p for r in records[source]) * (p + 1) // 7)
              for source in sources for p in range(COUNTS[source[-2:]])]
    commit(kafka.bootstrap, group, stands[:-1])
    cut = ("cutover", group, both, target, "-b", kafka.bootstrap, "--output", "json")
    refused = repartition(*cut).ends_with(2).json()["groups"][0]["refused"]
    assert f"no offset in 1 partition of \"{'+'.join(sources)}\"" in refused and f"the first is 4 of {sources[1]}" in refused
    commit(kafka.bootstrap, group, stands)

    done = repartition(*cut, "--execute", "--rollback", back).ok().json()
    assert [(s["topic"], s["partitions"]) for s in done["sources"]] == [(source, COUNTS[source[-2:]]) for source in sources]
    (row,) = done["groups"]
    assert row["source_offsets"] == [offset for _, _, offset in stands] and 0 < max(row["target_offsets"])
    copies = read(kafka.bootstrap, target)
    ahead = {r.value for r in copies if r.offset >= row["target_offsets"][r.partition]}
    stood = {(source, p): offset for source, p, offset in stands}
    unread = {r.value for source in sources for r in records[source] if r.offset >= stood[source, r.partition]}
    assert unread <= ahead and row["exact"] and (row["unread"], row["again"]) == (len(unread), len(ahead - unread))
    assert committed(kafka.bootstrap, group, target, TARGET_PARTITIONS) == row["target_offsets"]

    report = repartition("verify", *sources, target, "-b", kafka.bootstrap, "--output", "json").ok().out
    (tmp_path / "report.json").write_text(report)
    again = repartition(*cut, "--verified", tmp_path / "report.json").ok().json()
    assert "verified, as" in again["verdict"] and again["groups"][0]["target_offsets"] == row["target_offsets"]

    kafka.tool("kafka-consumer-groups", "--bootstrap-server", kafka.bootstrap, "--delete-offsets", "--group", group,
               "--topic", sources[1]).ok()
    undone = repartition("cutover", "--undo", back, "-b", kafka.bootstrap, "--execute", "--output", "json").ok().json()
    assert undone["groups"][0]["source_restored"] == COUNTS["us"]
    assert committed(kafka.bootstrap, group, target, TARGET_PARTITIONS) == [None] * TARGET_PARTITIONS
    assert committed(kafka.bootstrap, group, sources[1], COUNTS["us"]) == row["source_offsets"][COUNTS["eu"]:]
