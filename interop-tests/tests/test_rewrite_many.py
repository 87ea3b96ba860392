"""rewrite --topics on a real Kafka: every topic that the pattern takes is a job of its own, and none is begun unless all can."""

import json

import pytest
from confluent_kafka import Producer
from records import await_progress, end_offsets, java_partition, read
from support import unique

COUNTS = {"a": 3, "b": 4, "c": 5}
RECORDS = 200


def fill(bootstrap, topic, partitions, shift=0):
    p = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for i in range(RECORDS):
        key = b"key-%d" % (i % 50)
        p.produce(topic, key=key, value=b"%s-%d" % (topic.encode(), i),
                  partition=(java_partition(key, partitions) + shift) % partitions)
    assert p.flush(60) == 0


@pytest.fixture
def family(kafka):
    """The common beginning of three filled topics, of one that is called like a copy, and of an unlike one."""
    name = unique("many")
    for last, partitions in COUNTS.items():
        fill(kafka.bootstrap, kafka.create(f"{name}.{last}", partitions=partitions), partitions)
    kafka.create(f"{name}.gone.v2")
    kafka.create(f"{name}-other")
    return name


def topics_of(kafka, family):
    listed = kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list").ok()
    return {topic for topic in listed.out.split() if topic.startswith(family)}


def lines(done):
    return [json.loads(line) for line in done.out.splitlines()]


def test_one_job_for_each_topic(kafka, family, repartition):
    run = ("rewrite", "--topics", rf"{family}\..*", "{}.v2", "-b", kafka.bootstrap)
    before = topics_of(kafka, family)
    text = repartition(*run).ok().out
    assert text.startswith(f"3 topics by --topics '{family}\\..*'\n"
                           + "".join(f"  {family}.{x} → {family}.{x}.v2\n" for x in "abc")
                           + f"  {family}.gone.v2 is left out: called like a copy\n\n")
    assert text.count("nothing was written. To copy:") == 3 and text.endswith("the same command with --execute\n")
    assert topics_of(kafka, family) == before

    done = lines(repartition(*run, "--execute", "--output", "json").ok())
    assert [(x["source"]["topic"], x["target"], x["job"]) for x in done] == [
        (f"{family}.{last}", {"topic": f"{family}.{last}.v2", "partitions": cnt}, f"keyroute.{family}.{last}.{family}.{last}.v2")
        for last, cnt in COUNTS.items()]
    assert all(x["executed"] and x["result"]["finished"] and x["result"]["records"] == RECORDS for x in done)
    assert topics_of(kafka, family) == before | {f"{family}.{last}.v2" for last in COUNTS}
    for last, partitions in COUNTS.items():
        copies = read(kafka.bootstrap, f"{family}.{last}.v2")
        assert sorted(r.value for r in copies) == sorted(r.value for r in read(kafka.bootstrap, f"{family}.{last}"))
        assert all(r.partition == java_partition(r.key, partitions) for r in copies)

    ends = [end_offsets(kafka.bootstrap, f"{family}.{last}.v2") for last in COUNTS]
    again = repartition(*run, "--execute").ok()  # the copies are there now, and are not copied in their turn
    assert again.out.count("nothing was new") == 3
    assert [end_offsets(kafka.bootstrap, f"{family}.{last}.v2") for last in COUNTS] == ends
    assert topics_of(kafka, family) == before | {f"{family}.{last}.v2" for last in COUNTS}


def test_one_that_is_refused_holds_all_back(kafka, family, repartition):
    fill(kafka.bootstrap, f"{family}.b", COUNTS["b"], shift=1)  # its keys live in two partitions now
    run = ("rewrite", "--topics", rf"{family}\.[a-c]", "{}.v2", "--partitions", 6, "-b", kafka.bootstrap, "--output", "json")
    before = topics_of(kafka, family)
    plan = repartition(*run).ends_with(2)
    assert [len([f for f in x["findings"] if f["id"] == "split-keys"]) for x in lines(plan)] == [0, 1, 0]
    assert "1 of 3 topics cannot be copied: --execute would begin with none" in plan.err
    done = repartition(*run, "--execute").ends_with(2)
    assert [x["source"]["topic"] for x in lines(done)] == [f"{family}.b"]
    assert "1 of 3 topics cannot be copied: nothing was begun" in done.err
    assert topics_of(kafka, family) == before
    merged = lines(repartition(*run, "--execute", "--order", "merge").ok())
    assert [(x["target"]["partitions"], x["result"]["records"]) for x in merged] == [(6, RECORDS), (6, 2 * RECORDS), (6, RECORDS)]


def test_the_rule_is_the_target_s_else_the_source_s(kafka, family, repartition, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {f"{family}.a.v2": {"hash": "crc32", "partitions": 7},
                                                            f"{family}.a": {"hash": "fnv1a-abs"}, f"{family}.b": {"hash": "fnv1a-abs"}}}))
    run = ("--policy", policy, "-b", kafka.bootstrap, "--output", "json")
    both = lines(repartition("rewrite", "--topics", rf"{family}\.(a|b)", "{}.v2", *run).ok())
    assert [x["target"]["partitions"] for x in both] == [7, COUNTS["b"]]
    assert "crc32" in both[0]["policy"]["rule"] and "fnv1a-abs" in both[1]["policy"]["rule"]
    done = repartition("rewrite", "--topics", rf"{family}\.[abc]", "{}.v2", *run, "--execute").ends_with(2)
    (refused,) = lines(done)
    assert refused["source"]["topic"] == f"{family}.c" and "the policy names neither" in refused["error"]
    assert "nothing was begun" in done.err and f"{family}.a.v2" not in topics_of(kafka, family)


def test_who_stops_one_stops_all_and_the_same_command_goes_on(kafka, family, repartition):
    run = ("rewrite", "--topics", rf"{family}\.[abc]", "{}.v2", "-b", kafka.bootstrap, "--execute", "--output", "json")
    done = repartition(*run, "--throttle-records", 10, "--max-duration", "3s").ok()
    (first,) = lines(done)
    assert first["result"]["stopped_by"] == "max-duration" and first["result"]["records"] < RECORDS
    assert "2 of 3 topics were not begun" in done.err and f"{family}.b.v2" not in topics_of(kafka, family)
    process = repartition.start(*run, "--throttle-records", 10, stdout=-1, stderr=-1)
    await_progress(kafka.bootstrap, f"{family}.a", f"keyroute.{family}.a.{family}.a.v2", first["result"]["records"] + 1, process)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + 15 and b"2 of 3 topics were not begun" in err
    second = json.loads(out)
    assert second["result"]["stopped_by"] == "signal"
    third = lines(repartition(*run).ok())
    assert first["result"]["records"] + second["result"]["records"] + third[0]["result"]["records"] == RECORDS
    for last in COUNTS:
        assert sorted(r.value for r in read(kafka.bootstrap, f"{family}.{last}.v2")) == sorted(
            r.value for r in read(kafka.bootstrap, f"{family}.{last}"))


@pytest.mark.parametrize("args, message", [
    (["--topics", "a.*", "{}.v2", "--job", "j"], "--topics makes a job of each topic"),
    (["--topics", "a.*", "a", "{}.v2"], "with --topics there is one operand"),
    (["--topics", "a.*", "all"], "must have {} in it, once"),
    (["--topics", "a.*", "{} v2"], "makes no names of topics"),
    (["--topics", "(", "{}.v2"], "is no extended regular expression"),
    (["a"], "expected SRC... DST, or --topics REGEX"),
    (["--topics", "no-such-topic-[0-9]+", "{}.v2"], "no topic of this cluster that may be copied is matched"),
    (["--topics", "__.*", "{}.v2"], "no topic of this cluster that may be copied is matched"),
])
def test_what_is_no_pattern(kafka, repartition, args, message):
    assert message in repartition("rewrite", *args, "-b", kafka.bootstrap, "--execute").ends_with(2).err
