"""repartition jobs on a real Kafka: it tells exactly what was done, who is at it, and what it may not see."""

import signal
import socket
import time

import pytest
from confluent_kafka import Producer
from records import JOBS, await_progress, end_offsets, java_partition, read
from support import HANG_S, Librdkafka, unique
from test_jobs import create_topic, delete_topic
from test_repair import COUNT, START_MS, put, wrong
from test_rewrite import MERGE, SLOW, fill, job_of
from test_secure import assert_names, in_place_rights, rights


@pytest.fixture
def jobs():
    return unique("jobs")


@pytest.fixture
def listed(kafka, jobs, repartition):
    """listed(*args) is what `repartition jobs` tells of the test's own topic of jobs, as a dict."""
    return lambda *args, **more: repartition("jobs", *args, "-b", kafka.bootstrap, "--jobs-topic", jobs, "--output", "json",
                                             **more).ok().json()


def await_state(listed, job, state):
    deadline = time.monotonic() + HANG_S
    while True:
        told = {one["job"]: one for one in listed()["jobs"]}
        if job in told and told[job]["state"] == state:
            return told[job]
        assert time.monotonic() < deadline, told
        time.sleep(0.2)


def await_end(process, code):
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == code, err


def test_no_topic_of_jobs_is_no_error(kafka, jobs, listed, repartition):
    assert listed() == {"command": "jobs", "jobs_topic": jobs, "exists": False, "records": 0,
                        "unreadable": {"records": 0, "first": []}, "jobs": []}
    assert "does not exist" in repartition("jobs", "-b", kafka.bootstrap, "--jobs-topic", jobs).ok().out
    create_topic(kafka, jobs, 1)
    kafka.tool("kafka-configs", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", jobs, "--add-config",
               "cleanup.policy=compact").ok()
    assert listed()["exists"] and listed()["jobs"] == []
    assert "0 jobs" in repartition("jobs", "-b", kafka.bootstrap, "--jobs-topic", jobs).ok().out
    assert jobs in repartition("jobs", "nobody", "-b", kafka.bootstrap, "--jobs-topic", jobs).ends_with(2).err


def test_rewrites_and_follows_are_told(kafka, topic, jobs, listed, repartition):
    source, target, behind = topic("told", partitions=6), unique("target"), unique("behind")
    where = ("-b", kafka.bootstrap, "--jobs-topic", jobs)
    fill(kafka.bootstrap, source, 60_000)
    run = ("rewrite", source, target, "--partitions", 10, *where, "--execute", *MERGE)
    killed = repartition.start(*run, *SLOW)
    await_progress(kafka.bootstrap, source, job_of(source, target), 2000, killed)
    running = await_state(listed, job_of(source, target), "running")
    assert running["running"] and running["runner"] == f"host {socket.gethostname()}, process {killed.pid}"
    killed.kill()
    killed.wait()
    left = await_state(listed, job_of(source, target), "unfinished")
    progress = left["progress"]
    assert left["running"] is False and left["runner"] is None and progress["offsets_left_in_pass"] > 0
    assert progress["offsets_done"] + progress["offsets_left"] == 60_000
    repartition(*run, librdkafka=Librdkafka("new")).ok()  # which knows topics' ids
    follow = repartition.start("follow", source, behind, "--partitions", 4, *where, "--execute", stderr=-1)
    following = await_state(listed, f"keyroute.follow.{source}.{behind}", "running")
    assert following["kind"] == "follow" and following["waypoints"] > 0
    await_progress(kafka.bootstrap, source, f"keyroute.follow.{source}.{behind}", 59_999, follow)
    follow.send_signal(signal.SIGTERM)
    await_end(follow, 128 + signal.SIGTERM)
    stopped, rewrite = listed()["jobs"]  # by name
    assert (stopped["state"], stopped["progress"]["offsets_left"]) == ("stopped", 0)
    assert (rewrite["job"], rewrite["kind"], rewrite["state"]) == (job_of(source, target), "rewrite", "finished")
    assert (rewrite["sources"], rewrite["target"]) == ([source], target)
    assert rewrite["policy"] == repartition("rewrite", source, target, "--partitions", 10, *where, *MERGE, "--output",
                                            "json").ok().json()["policy"]
    assert rewrite["progress"] == {"offsets_done": 60_000, "offsets_left_in_pass": 0, "offsets_left": 0}
    assert rewrite["began_at"] == left["began_at"] < rewrite["last_run"]["at"] <= rewrite["last_commit_at"]
    assert rewrite["last_run"]["by"] != left["last_run"]["by"]
    assert rewrite["checkpoints"] > left["checkpoints"] > 0 and not rewrite["unknown"]
    assert [one["job"] for one in listed("--topic", behind)["jobs"]] == [stopped["job"]]
    assert listed("--topic", "nowhere")["jobs"] == []
    # One of them, with all that is known; then its target is another topic.
    def tell_all():
        return listed(rewrite["job"], librdkafka=Librdkafka("new"))["jobs"][0]

    whole = tell_all()
    assert (whole["sources"][0]["topic"], whole["sources"][0]["now"], whole["target"]["now"]) == (source, "same", "same")
    assert [(r["topic"], r["partition"], r["first"], r["next"]) for r in whole["ranges"]] == [
        (source, p, 0, end) for p, end in enumerate(end_offsets(kafka.bootstrap, source))]
    delete_topic(kafka, target)
    assert tell_all()["target"]["now"] == "gone"
    create_topic(kafka, target, 10)
    assert tell_all()["target"]["now"] == "made-anew"
    text = " ".join(repartition("jobs", rewrite["job"], *where, librdkafka=Librdkafka("new")).ok().out.split())
    assert f"rewrite {source} to {target} (deleted and made again since), 10 partitions" in text and "state finished" in text


def test_damaged_records_are_named_and_hide_nothing(kafka, topic, jobs, listed, repartition):
    source, target = topic("damaged", partitions=2), unique("target")
    fill(kafka.bootstrap, source, 200, partitions=2)
    run = ("rewrite", source, target, "--partitions", 3, "-b", kafka.bootstrap, "--jobs-topic", jobs, "--execute", *MERGE)
    repartition(*run).ok()
    job, before = job_of(source, target), listed()
    assert before["unreadable"]["records"] == 0
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for key, value in ((f"{job}|checkpoint|0.d1", b"{"), ("another", b"no json"), (b"\xff\x1b[2J", b"{}"),
                       (f"{job}|later|1", b"{}"), *[("more", b"x")] * 20):
        producer.produce(jobs, key=key, value=value)
    assert producer.flush(60) == 0
    after = listed()
    assert after["jobs"] == before["jobs"] and after["unreadable"]["records"] == 24
    assert [one["what"] for one in after["unreadable"]["first"][:4]] == [
        "no checkpoint", "no description of a job", "a key that is no name", "of a kind that is not known"]
    text = repartition("jobs", "-b", kafka.bootstrap, "--jobs-topic", jobs).ok().out
    assert "24 records of it could not be read" in text and "\x1b" not in text and "and 16 more" in text


def test_rights_that_are_missing_are_named(secure_kafka, repartition):
    source, target = secure_kafka.create(unique("source"), 3), unique("target")
    fill(secure_kafka.bootstrap, source, 300, partitions=3)
    client, job = ("-F", secure_kafka.properties("plain-alice")), job_of(source, target)
    secure_kafka.set_rights("alice", rights(source, target))
    repartition("rewrite", source, target, "--partitions", 4, *client, "--execute", *MERGE).ok()
    look = ("jobs", job, *client, "--output", "json")
    secure_kafka.set_rights("alice", [])
    assert_names(repartition(*look), "Describe", f'topic "{JOBS}"')
    secure_kafka.set_rights("alice", [("Describe", "topic", JOBS)])
    assert_names(repartition(*look), "Read", f'topic "{JOBS}"')
    secure_kafka.set_rights("alice", [("Read", "topic", JOBS)])
    told, = repartition(*look).ok().json()["jobs"]
    assert (told["kind"], told["state"], told["running"]) == ("rewrite", "unknown", None)
    assert all(any(f'Describe on group "{group}"' in text for text in told["unknown"]) for group in (job, f"{job}.lease"))
    secure_kafka.set_rights("alice", [("Read", "topic", JOBS), ("Describe", "group", job), ("Describe", "group", f"{job}.lease"),
                                      ("Describe", "topic", source), ("Describe", "topic", target)])
    told, = repartition(*look).ok().json()["jobs"]
    assert (told["state"], told["running"], told["unknown"], told["progress"]["offsets_left"]) == ("finished", False, [], 0)


# ---------------------------------------------------------------- in place


def put_mixed(bootstrap, name, keys):
    """One record of each key where another function would put it, and of every third a newer one where it belongs."""
    records = [(wrong(b"key-%d" % i), b"key-%d" % i, b"old-%d" % i, START_MS + i) for i in range(keys)]
    put(bootstrap, name, records + [(None, b"key-%d" % i, b"new", START_MS + keys + i) for i in range(0, keys, 3)])


def test_repairs_are_told_killed_or_not(kafka, topic, jobs, listed, repartition, librdkafka):
    name = topic("mended", partitions=COUNT, **{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1.0"})
    put_mixed(kafka.bootstrap, name, 3000)
    job, run = f"keyroute.repair.{name}", ("repair", name, "-b", kafka.bootstrap, "--jobs-topic", jobs)
    repartition(*run, librdkafka=librdkafka).ends_with(1)
    assert not listed()["exists"]  # a plan makes nothing
    process = repartition.start(*run, "--execute", "--transaction-ms", 50, "--throttle-records", 800, librdkafka=librdkafka)
    running = await_state(listed, job, "running")
    assert (running["kind"], running["sources"], running["target"]) == ("repair", [name], name)
    process.kill()
    process.wait()
    killed = await_state(listed, job, "unfinished")
    copies = [record for record in read(kafka.bootstrap, name) if record.value and record.value.startswith(b"old") and
              record.partition == java_partition(record.key, COUNT)]
    assert 0 < len(copies) < 2000
    assert killed["written"] == {"records": len(copies), "classes": {"safe": len(copies)},
                                 "bytes": sum(len(r.key) + len(r.value) for r in copies)}
    assert (killed["include"], killed["mark"]) == ("safe", False)
    repartition(*run, "--execute", librdkafka=librdkafka).ok()
    told, = listed()["jobs"]
    assert (told["state"], told["running"], told["written"]["classes"]) == ("finished", False, {"safe": 2000})
    assert told["began_at"] == killed["began_at"] and told["last_run"]["by"] != killed["last_run"]["by"]
    assert told["progress"]["offsets_left_in_pass"] == 0
    # A second run has nothing to say; another choice adds to the sum.
    said = end_offsets(kafka.bootstrap, jobs)
    repartition(*run, "--execute", librdkafka=librdkafka).ok()
    assert end_offsets(kafka.bootstrap, jobs) == said and listed()["jobs"] == [told]
    repartition(*run, "--execute", "--include", "stale", "--mark", librdkafka=librdkafka).ok()
    told, = listed()["jobs"]
    assert (told["state"], told["include"], told["mark"]) == ("finished", "safe,stale", True)
    assert told["written"]["classes"] == {"safe": 2000, "stale": 1000}
    # What is cleaned up later goes under the same name, and leaves the rest as it was.
    repartition(*run, "--tombstones", "--execute", librdkafka=librdkafka).ok()
    copies, tombstones = listed("--topic", name)["jobs"]
    assert copies["written"] == told["written"] and copies["include"] == "safe,stale"
    written = sum(record.value is None for record in read(kafka.bootstrap, name))
    assert (tombstones["job"], tombstones["kind"], tombstones["state"]) == (job, "tombstones", "finished")
    assert tombstones["written"]["records"] == written > 0
    whole = listed(job)["jobs"]
    assert [one["kind"] for one in whole] == ["repair", "tombstones"] and len(whole[0]["ranges"]) == COUNT
    text = repartition("jobs", job, "-b", kafka.bootstrap, "--jobs-topic", jobs).ok().out
    assert "safe 2,000, stale 1,000" in text and "copies      safe,stale, with a mark" in text


def test_a_repair_without_a_record(kafka, topic, jobs, listed, repartition):
    name = topic("unrecorded", partitions=COUNT)
    put_mixed(kafka.bootstrap, name, 300)
    run = ("repair", name, "-b", kafka.bootstrap, "--execute")
    repartition(*run, "--jobs-topic", "none").ok()
    repartition(*run, "--include", "stale", "--jobs-topic", jobs).ok()  # which goes on from what is not recorded
    told, = listed()["jobs"]
    assert (told["state"], told["written"]["classes"]) == ("finished", {"stale": 100})
    assert "|" in repartition(*run, "--job", "a|b").ends_with(2).err


def test_a_topic_made_again_begins_a_sum_of_its_own(kafka, topic, jobs, listed, repartition):
    name, new = topic("anew", partitions=COUNT), Librdkafka("new")
    run = ("repair", name, "-b", kafka.bootstrap, "--execute", "--jobs-topic", jobs)
    put_mixed(kafka.bootstrap, name, 300)
    repartition(*run, librdkafka=new).ok()
    before, = listed()["jobs"]
    delete_topic(kafka, name)
    create_topic(kafka, name, COUNT)
    assert [one["target"]["now"] for one in listed(before["job"], librdkafka=new)["jobs"]] == ["made-anew"]
    put_mixed(kafka.bootstrap, name, 30)
    repartition(*run, librdkafka=new).ok()
    told, = listed()["jobs"]
    assert before["written"]["records"] == 200 and told["written"]["records"] == 20 and told["began_at"] > before["began_at"]


@pytest.mark.parametrize("operation", ["Create", "Read", "Write"])
def test_jobs_in_place_name_the_right_on_the_topic_of_jobs(secure_kafka, repartition, librdkafka, operation):
    name, jobs = secure_kafka.create(unique("place"), COUNT), unique("jobs")
    put_mixed(secure_kafka.bootstrap, name, 30)
    run = ("repair", name, "-F", secure_kafka.properties("plain-alice"), "--execute", "--timeout-ms", 20000, "--quiet")
    if operation != "Create":
        secure_kafka.create(jobs, 1, **{"cleanup.policy": "compact"})
        put(secure_kafka.bootstrap, jobs, [(0, b"another", None, START_MS)])  # an empty one needs no reading
    granted = in_place_rights(name, f"keyroute.repair.{name}")
    secure_kafka.set_rights("alice", granted + [("Describe", "topic", jobs)] + [
        (other, "topic", jobs) for other in ("Create", "Read", "Write") if other != operation])
    refused = repartition(*run, "--jobs-topic", jobs, librdkafka=librdkafka)
    assert_names(refused, operation, f'topic "{jobs}"')
    assert "--jobs-topic none" in refused.err and len(read(secure_kafka.bootstrap, name)) == 40
    secure_kafka.set_rights("alice", granted)
    repartition(*run, "--jobs-topic", "none", librdkafka=librdkafka).ok()
    assert len(read(secure_kafka.bootstrap, name)) == 60


def wrong_copies(bootstrap, name):
    """Copies that stand where they belong of what put_mixed() put elsewhere."""
    return [r for r in read(bootstrap, name) if r.value.startswith(b"old") and r.partition == java_partition(r.key, COUNT)]


def test_a_follow_in_place_sums_up_whoever_holds_what(kafka, topic, jobs, listed, repartition, librdkafka):
    name = topic("along", partitions=COUNT)
    job = f"keyroute.follow.{name}"
    run = ("follow", name, "-b", kafka.bootstrap, "--jobs-topic", jobs, "--from", "earliest", "--execute", "--mark",
           "-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=300", "--transaction-ms", 100)

    def await_copies(processes, count):
        deadline = time.monotonic() + HANG_S
        while len(wrong_copies(kafka.bootstrap, name)) < count:
            assert all(process.poll() is None for process in processes) and time.monotonic() < deadline
            time.sleep(0.3)

    put(kafka.bootstrap, name, [(wrong(b"key-%d" % i), b"key-%d" % i, b"old-%d" % i, START_MS + i) for i in range(60)])
    first = repartition.start(*run, librdkafka=librdkafka, stderr=-1)
    await_copies([first], 60)
    told = await_state(listed, job, "running")
    assert (told["kind"], told["sources"], told["target"]) == ("follow-in-place", [name], name)
    assert (told["include"], told["mark"]) == ("safe", True)
    second = repartition.start(*run, librdkafka=librdkafka, stderr=-1)  # takes some of the partitions over
    put(kafka.bootstrap, name, [(wrong(b"more-%d" % i), b"more-%d" % i, b"old-%d" % i, START_MS + i) for i in range(60)])
    await_copies([first, second], 120)
    first.kill()
    first.communicate()
    put(kafka.bootstrap, name, [(wrong(b"last-%d" % i), b"last-%d" % i, b"old-%d" % i, START_MS + i) for i in range(60)])
    await_copies([second], 180)
    second.send_signal(signal.SIGTERM)
    await_end(second, 128 + signal.SIGTERM)
    copies = wrong_copies(kafka.bootstrap, name)
    told = await_state(listed, job, "stopped")
    assert len(copies) == 180 and told["written"] == {
        "records": 180, "classes": {"safe": 180}, "bytes": sum(len(r.key) + len(r.value) for r in copies)}
    assert told["began_at"] <= told["last_run"]["at"] <= told["last_commit_at"] and told["waypoints"] == 0
    said = end_offsets(kafka.bootstrap, jobs)
    third = repartition.start(*run, librdkafka=librdkafka, stderr=-1)  # which finds nothing to do
    await_state(listed, job, "running")
    third.send_signal(signal.SIGTERM)
    await_end(third, 128 + signal.SIGTERM)
    assert end_offsets(kafka.bootstrap, jobs) == said


def test_a_follow_in_place_without_a_record(kafka, topic, jobs, listed, repartition):
    name = topic("alone", partitions=COUNT)
    run = ("follow", name, "-b", kafka.bootstrap, "--from", "earliest", "--execute", "--jobs-topic", "none")
    process = repartition.start(*run, stderr=-1)
    put(kafka.bootstrap, name, [(wrong(b"key"), b"key", b"old", START_MS)])
    deadline = time.monotonic() + HANG_S
    while not wrong_copies(kafka.bootstrap, name):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    await_end(process, 128 + signal.SIGTERM)
    assert not listed()["exists"]
