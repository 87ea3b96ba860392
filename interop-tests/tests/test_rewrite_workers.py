"""rewrite --workers on a real Kafka: the same outcome as with one, however many there were in the run before."""

import signal
import time

import pytest
from confluent_kafka import Producer
from records import await_progress, end_offsets, is_stable, java_partition, read, sequences, stored_progress
from support import unique

PARTITIONS, TARGET_PARTITIONS = 10, 7
SLOW = ("-X", "queue.buffering.max.messages=200", "--transaction-ms", 200)


@pytest.fixture
def target():
    return unique("workers-target")


def fill(bootstrap, topic, count, start=0):
    p = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True})
    for i in range(start, start + count):
        key = b"key-%d" % (i % 3000)
        p.produce(topic, key=key, value=b"%d" % i, partition=java_partition(key, PARTITIONS))
        if i % 5000 == 0:
            p.poll(0)
    assert p.flush(120) == 0


def assert_image(kafka, source, target):
    """Contents, places and each key's order, judged without the tool."""
    before, after = read(kafka.bootstrap, source), read(kafka.bootstrap, target)
    assert sorted(r.value for r in after) == sorted(r.value for r in before)
    assert all(r.partition == java_partition(r.key, TARGET_PARTITIONS) for r in after)
    for key, sequence in sequences(after).items():
        values = [int(value) for _, value, _, _ in sequence]
        assert values == sorted(values), key


def command(kafka, source, target, workers, *args):
    return ("rewrite", source, target, "--partitions", TARGET_PARTITIONS, "-b", kafka.bootstrap, "--execute", "--output", "json",
            "--workers", workers, *args)


def test_many_workers_do_what_one_does(kafka, topic, target, repartition, librdkafka):
    source = topic("workers", partitions=PARTITIONS)
    fill(kafka.bootstrap, source, 40_000)
    done = repartition(*command(kafka, source, target, 4), librdkafka=librdkafka).ok().json()
    assert done["workers"] == 4 and done["result"]["records"] == 40_000 and done["result"]["finished"]
    assert_image(kafka, source, target)
    repartition("verify", source, target, "-b", kafka.bootstrap).ok()

    # Again, with other counts: nothing is new; then just what is.
    before = end_offsets(kafka.bootstrap, target)
    for workers in (3, 1, 256):
        assert repartition(*command(kafka, source, target, workers)).ok().json()["result"]["records"] == 0
        assert end_offsets(kafka.bootstrap, target) == before
    fill(kafka.bootstrap, source, 500, start=40_000)
    assert repartition(*command(kafka, source, target, 1)).ok().json()["result"]["records"] == 500
    assert_image(kafka, source, target)


@pytest.mark.parametrize("after", [2, 1])
def test_fewer_workers_after_a_kill_leave_no_transaction_open(kafka, topic, target, repartition, after):
    """The cluster itself would wait ten minutes for the killed workers whose ids no worker has any more."""
    source = topic("fewer", partitions=PARTITIONS)
    fill(kafka.bootstrap, source, 60_000)
    process = repartition.start(*command(kafka, source, target, 8, *SLOW, "-X", "transaction.timeout.ms=600000"))
    await_progress(kafka.bootstrap, source, f"keyroute.{source}.{target}", 2000, process)
    time.sleep(0.1)
    assert process.poll() is None, "it was done before it could be killed"
    process.kill()
    process.wait()
    assert not is_stable(kafka.bootstrap, target)
    done = repartition(*command(kafka, source, target, after)).ok().json()
    assert done["result"]["resumed"] and 0 < done["result"]["records"] < 60_000
    assert is_stable(kafka.bootstrap, target)
    assert_image(kafka, source, target)


@pytest.mark.parametrize("first, second", [(4, 2), (3, 1), (1, 3)])
def test_of_two_runs_one_is_fenced_whatever_their_workers(kafka, topic, target, repartition, first, second):
    source = topic("twins", partitions=PARTITIONS)
    fill(kafka.bootstrap, source, 60_000)
    slow = (*SLOW, "--throttle-records", 5000)  # so that it is not done before the other one comes
    process = repartition.start(*command(kafka, source, target, first, *slow), stdout=-1, stderr=-1)
    await_progress(kafka.bootstrap, source, f"keyroute.{source}.{target}", 1000, process)
    repartition(*command(kafka, source, target, second, "--take-over")).ok()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 4 and b"another run of this job" in err, err
    assert_image(kafka, source, target)


def test_one_that_slept_does_not_go_on_beside_many(kafka, topic, target, repartition):
    """Its id fences none of theirs, and its look at the progress sees nothing of theirs before they commit: their note tells."""
    source, job = topic("sleeper", partitions=PARTITIONS), unique("sleeper-job")
    fill(kafka.bootstrap, source, 60_000)
    slow = (*SLOW, "--throttle-records", 5000, "--job", job)
    sleeper = repartition.start(*command(kafka, source, target, 1, *slow, "-X", "transaction.timeout.ms=3000",
                                         "-X", "message.timeout.ms=2000"), stdout=-1, stderr=-1)
    await_progress(kafka.bootstrap, source, job, 1000, sleeper)
    sleeper.send_signal(signal.SIGSTOP)
    time.sleep(4)  # so that being fenced may as well mean that its transaction was open for too long
    many = repartition.start(*command(kafka, source, target, 3, *slow, "--take-over"), stdout=-1, stderr=-1)
    await_progress(kafka.bootstrap, target, job, -1, many)  # their note stands beside an offset of the target
    many.kill()
    many.communicate(timeout=60)
    sleeper.send_signal(signal.SIGCONT)
    _, err = sleeper.communicate(timeout=120)
    assert sleeper.returncode == 4 and b"another run of this job" in err, err
    repartition(*command(kafka, source, target, 3, "--job", job, "--take-over")).ok()
    assert_image(kafka, source, target)


def test_a_stop_stops_all(kafka, topic, target, repartition):
    source = topic("stop", partitions=PARTITIONS)
    fill(kafka.bootstrap, source, 60_000)
    process = repartition.start(*command(kafka, source, target, 3, *SLOW), stdout=-1)
    await_progress(kafka.bootstrap, source, f"keyroute.{source}.{target}", 1000, process)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 128 + 15
    assert is_stable(kafka.bootstrap, target)
    assert len(read(kafka.bootstrap, target)) == stored_progress(kafka.bootstrap, source, f"keyroute.{source}.{target}")
    repartition(*command(kafka, source, target, 3)).ok()
    assert_image(kafka, source, target)


def test_workers_do_not_merge(repartition):
    refused = repartition("rewrite", "a", "b", "--partitions", 3, "--workers", 2, "--order", "merge", "-b", "127.0.0.1:1")
    assert "--order merge" in refused.ends_with(2).err
