"""What a job leaves in the topic of jobs, who may run it, two clusters, and topics that are not what they were."""

import signal
import socket
import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from records import await_progress, end_offsets, read, said_of, stored_progress
from support import HANG_S, Librdkafka, unique
from test_rewrite import MERGE, SLOW, assert_image, fill, job_of



@pytest.fixture
def target():
    return unique("target")


def replay(checkpoints):
    """Positions and ends after each checkpoint, put together by another hand than the tool's."""
    source, target, seq = {}, {}, None
    for checkpoint in checkpoints:
        if checkpoint["full"]:
            source, target = {}, {}
        else:
            assert seq is not None and checkpoint["seq"] == seq + 1
        seq = checkpoint["seq"]
        for state, pairs in ((source, checkpoint["source"]), (target, checkpoint["target"])):
            for index, number in zip(pairs[::2], pairs[1::2]):
                state[index] = number + (state.get(index, 0) if not checkpoint["full"] else 0)
        yield dict(source), dict(target)


def assert_checkpoints(source_records, target_records, checkpoints):
    """Of each: what lies before its ends comes from before its positions, and, exactly, the other way round."""
    home = {r.value: (r.partition, r.offset) for r in source_records}
    for positions, ends in replay(checkpoints):
        before_ends = {r.value for r in target_records if r.offset < ends.get(r.partition, 0)}
        before_positions = {value for value, (p, o) in home.items() if o < positions.get(p, 0)}
        assert before_ends == before_positions


def delete_topic(kafka, name):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})  # must outlive the answer
    admin.delete_topics([name])[name].result(30)


def create_topic(kafka, name, partitions):
    deadline = time.monotonic() + 60
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    while True:
        try:
            admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
            return
        except Exception:  # pylint: disable=broad-except
            assert time.monotonic() < deadline
            time.sleep(0.2)


# ---------------------------------------------------------------- what is written


def test_jobs_that_begin_at_once_make_one_topic_of_jobs(kafka, topic, repartition):
    source, jobs = topic("first", partitions=2), unique("jobs")
    fill(kafka.bootstrap, source, 100, partitions=2)
    started = []
    for _ in range(6):  # one looks while another makes it
        started.append(repartition.start("rewrite", source, unique("target"), "--partitions", 3, "-b", kafka.bootstrap,
                                         "--execute", "--jobs-topic", jobs, *MERGE, stdout=-1, stderr=-1))
        time.sleep(0.06)
    for process in started:
        out, err = process.communicate(timeout=HANG_S)
        assert process.returncode == 0, (out, err)


def test_plan_makes_no_topic_and_a_run_describes_itself(kafka, topic, target, repartition):
    source, jobs = topic("told", partitions=6), unique("jobs")
    fill(kafka.bootstrap, source, 3000)
    run = ("rewrite", source, target, "--partitions", 9, "-b", kafka.bootstrap, "--jobs-topic", jobs, *MERGE)
    repartition(*run).ok()
    assert jobs not in kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list").ok().out.split()
    repartition(*run, "--execute", *MERGE).ok()
    described = kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--describe", "--topic", jobs).ok().out
    assert "segment.bytes=16777216" in described  # what is not compacted yet is read by every run
    assert "PartitionCount: 1" in described and "cleanup.policy=compact" in described
    descriptor, positions, checkpoints = said_of(kafka.bootstrap, job_of(source, target), jobs)
    assert (descriptor["kind"], descriptor["source"]["topic"], descriptor["target"]["topic"]) == ("rewrite", source, target)
    assert descriptor["source"]["partitions"] == 6 and descriptor["target"]["partitions"] == 9
    assert positions == {}  # one cluster: the group's offsets say it
    last, ends = list(replay(checkpoints))[-1]
    assert list(last.values()) == end_offsets(kafka.bootstrap, source)
    assert all(ends[r.partition] > r.offset for r in read(kafka.bootstrap, target))
    fill(kafka.bootstrap, source, 500, start=3000)
    repartition(*run, "--execute", *MERGE).ok()
    _, _, more = said_of(kafka.bootstrap, job_of(source, target), jobs)
    assert [c["full"] for c in more].count(True) == 2 and len({c["seq"] for c in more}) == len(more)
    assert_checkpoints(read(kafka.bootstrap, source), read(kafka.bootstrap, target), more)


def test_checkpoints_are_true_whatever_is_killed(kafka, topic, target, repartition, librdkafka):
    source, jobs = topic("checked", partitions=6), unique("jobs")
    fill(kafka.bootstrap, source, 60_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", "--jobs-topic", jobs, *MERGE)
    progress = -1
    for _ in range(2):
        process = repartition.start(*run, *SLOW, librdkafka=librdkafka)
        progress = await_progress(kafka.bootstrap, source, job_of(source, target), progress + 2000, process)
        process.kill()
        process.wait()
    repartition(*run, librdkafka=librdkafka).ok()
    source_records, target_records = read(kafka.bootstrap, source), read(kafka.bootstrap, target)
    assert_image(source_records, target_records, 10)
    _, _, checkpoints = said_of(kafka.bootstrap, job_of(source, target), jobs)
    assert [c["full"] for c in checkpoints].count(True) >= 3
    assert_checkpoints(source_records, target_records, checkpoints)


def test_without_a_topic_of_jobs(kafka, topic, target, repartition):
    source = topic("none", partitions=2)
    fill(kafka.bootstrap, source, 200, partitions=2)
    repartition("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--execute", "--jobs-topic", "none",
                *MERGE).ok()
    assert len(read(kafka.bootstrap, target)) == 200
    other = topic("notjobs", partitions=3)
    refused = repartition("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--jobs-topic", other).ends_with(2)
    assert "no topic of jobs" in refused.err
    assert "|" in repartition("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--job", "a|b").ends_with(2).err


# ---------------------------------------------------------------- who may run it


def test_second_run_stands_back_and_names_the_first(kafka, topic, target, repartition, librdkafka):
    source = topic("lease", partitions=6)
    fill(kafka.bootstrap, source, 150_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    first = repartition.start(*run, *SLOW, librdkafka=librdkafka, stderr=-1)
    await_progress(kafka.bootstrap, source, job_of(source, target), 1000, first)
    refused = repartition(*run, librdkafka=librdkafka).ends_with(4)
    assert f"host {socket.gethostname()}, process {first.pid}" in refused.err and "--take-over" in refused.err
    _, err = first.communicate(timeout=240)
    assert first.returncode == 0, err  # it was not disturbed
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)
    assert "nothing was new" in repartition(*run, librdkafka=librdkafka).ok().out  # and gave the job back


def test_killed_run_is_followed_at_once_and_a_stopped_one_after_a_session(kafka, topic, target, repartition, librdkafka):
    source = topic("heir", partitions=6)
    fill(kafka.bootstrap, source, 150_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    killed = repartition.start(*run, *SLOW, librdkafka=librdkafka)
    progress = await_progress(kafka.bootstrap, source, job_of(source, target), 1000, killed)
    killed.kill()
    killed.wait()
    stopped = repartition.start(*run, *SLOW, librdkafka=librdkafka, stderr=-1)
    await_progress(kafka.bootstrap, source, job_of(source, target), progress, stopped)
    stopped.send_signal(signal.SIGSTOP)
    try:
        heir = repartition(*run, librdkafka=librdkafka).ok()
        assert f"held last by host {socket.gethostname()}, process {stopped.pid}" in heir.err
        before = end_offsets(kafka.bootstrap, target)
    finally:
        stopped.send_signal(signal.SIGCONT)
    _, err = stopped.communicate(timeout=120)
    assert stopped.returncode == 4, err
    assert b"held last" not in err  # the killed one was known to be dead
    assert end_offsets(kafka.bootstrap, target) == before
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)


@pytest.mark.parametrize("command", ["rewrite", "follow"])
def test_a_job_whose_topic_is_deleted_ends(kafka, topic, target, repartition, librdkafka, command):
    source = topic("deleted", partitions=6)
    fill(kafka.bootstrap, source, 120_000)
    more, job = {"rewrite": (MERGE, job_of(source, target)),
                 "follow": (("--from", "earliest"), f"keyroute.follow.{source}.{target}")}[command]
    process = repartition.start(command, source, target, "--partitions", 10, *more, "-b", kafka.bootstrap, "--execute", "--timeout-ms", 5000, "--transaction-ms", 200,
                                "--throttle-records", 2000, librdkafka=librdkafka, stderr=-1)
    await_progress(kafka.bootstrap, source, job, 0, process)
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--delete", "--topic", source).ok()
    _, err = process.communicate(timeout=120)
    assert process.returncode in (2, 3), err
    assert err.strip()


# ---------------------------------------------------------------- two clusters


def test_into_another_cluster(kafka, start_kafka, topic, repartition, tmp_path):
    other = start_kafka()
    source = topic("far", partitions=6)
    fill(kafka.bootstrap, source, 120_000)
    sides = tmp_path / "sides.properties"
    sides.write_text(f"source.bootstrap.servers={kafka.bootstrap}\n")
    where = ("-F", sides, "-X", f"target.bootstrap.servers={other.bootstrap}")
    run = ("rewrite", source, source, "--partitions", 10, *where, "--execute", *MERGE)  # by the same name, too
    refused = repartition(*run, "--jobs-topic", "none").ends_with(2)
    assert "two clusters" in refused.err
    process = repartition.start(*run, *SLOW, "--throttle-records", 20_000)  # or a fast machine is done by then
    deadline = time.monotonic() + 60
    while sum(end_offsets(other.bootstrap, source)) < 20_000:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
    process.kill()
    process.wait()
    done = repartition(*run, "--output", "json", librdkafka=Librdkafka("new")).ok().json()
    assert done["result"]["resumed"] and 0 < done["result"]["records"] < 120_000
    source_records, target_records = read(kafka.bootstrap, source), read(other.bootstrap, source)
    assert_image(source_records, target_records, 10)
    descriptor, positions, checkpoints = said_of(other.bootstrap, job_of(source, source))
    assert sum(value["next"] for value in positions.values()) == 120_000
    assert descriptor["source"]["cluster"] != descriptor["target"]["cluster"]
    assert_checkpoints(source_records, target_records, checkpoints)
    assert stored_progress(kafka.bootstrap, source, job_of(source, source)) == -1
    repartition("verify", source, source, *where).ok()
    assert "nothing was new" in repartition(*run).ok().out
    # The progress outlives the source's topic here; another one of that name is known by its id, or by its records.
    before = end_offsets(other.bootstrap, source)
    delete_topic(kafka, source)
    create_topic(kafka, source, 6)
    fill(kafka.bootstrap, source, 150_000, start=1_000_000)
    assert "was deleted and made again" in repartition(*run, librdkafka=Librdkafka("new")).ends_with(2).err
    assert "another record" in repartition(*run, librdkafka=Librdkafka("old")).ends_with(3).err
    assert end_offsets(other.bootstrap, source) == before


# ---------------------------------------------------------------- topics that are not what they were


def test_source_made_again_between_runs(kafka, topic, target, repartition):
    """Kafka deletes a group's offsets with the topic: the job finds no progress, and a target that it must not touch."""
    source = topic("again", partitions=2)
    fill(kafka.bootstrap, source, 4000, partitions=2)
    run = ("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--execute", *MERGE)
    repartition(*run).ok()
    before = end_offsets(kafka.bootstrap, target)
    delete_topic(kafka, source)
    create_topic(kafka, source, 2)
    fill(kafka.bootstrap, source, 9000, partitions=2, start=10_000)
    assert "holds records that this job did not write" in " ".join(repartition(*run).ends_with(2).out.split())
    assert end_offsets(kafka.bootstrap, target) == before


@pytest.mark.parametrize("side", ["source", "target"])
def test_topic_made_again_while_it_is_copied(kafka, topic, target, repartition, side):
    source, new = topic("midrun", partitions=6), Librdkafka("new")
    fill(kafka.bootstrap, source, 150_000)
    run = ("rewrite", source, target, "--partitions", 6, "-b", kafka.bootstrap, "--execute", *MERGE)
    process = repartition.start(*run, *SLOW, librdkafka=new, stderr=-1)
    progress = await_progress(kafka.bootstrap, source, job_of(source, target), 1000, process)
    assert progress > 0
    name = source if side == "source" else target
    process.send_signal(signal.SIGSTOP)  # only so that what it meets is certain to be the other topic
    try:
        delete_topic(kafka, name)
        create_topic(kafka, name, 6)
        if side == "source":
            fill(kafka.bootstrap, source, 150_000, start=1_000_000)
    finally:
        process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=120)
    assert process.returncode in (2, 3), err
    assert b"made again" in err or b"deleted" in err or b"made anew" in err, err
    values = [int(r.value) for r in read(kafka.bootstrap, target)]
    assert all(value < 1_000_000 for value in values) if side == "source" else values == []
