"""A cluster that forgets transactional ids and producers within seconds, instead of a week, while jobs have nothing to write."""

import json
import signal
import subprocess
import time

import pytest
from confluent_kafka import Producer
from records import await_progress, java_partition, read
from support import HANG_S, unique

COUNT, PARTITIONS, NEW_PARTITIONS = 4000, 4, 7


@pytest.fixture(scope="module")
def forgetful(start_kafka):
    return start_kafka(transactional_id_expiration_ms=1500, producer_id_expiration_ms=1000,
                       transaction_remove_expired_transaction_cleanup_interval_ms=300, producer_id_expiration_check_interval_ms=300)


def fill(kafka, topic, first, count):
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 20})
    for i in range(first, first + count):
        key = b"%d" % (i % 500)
        producer.produce(topic, key=key, value=b"%d" % i, partition=java_partition(key, PARTITIONS))
    assert producer.flush(60) == 0


def await_forgotten(kafka, jobs):
    """Until the cluster knows no transactional id of these jobs."""
    deadline = time.monotonic() + 60
    while True:
        known = kafka.tool("kafka-transactions", "--bootstrap-server", kafka.bootstrap, "list").ok().out
        if not any(job in known for job in jobs):
            return
        assert time.monotonic() < deadline, known


def assert_image(kafka, topic, count):
    found = [(r.key, int(r.value)) for r in read(kafka.bootstrap, topic)]
    assert sorted(value for _, value in found) == list(range(count))
    for key in {key for key, _ in found}:
        values = [value for k, value in found if k == key]
        assert values == sorted(values)


def test_forgotten_while_it_had_nothing_to_write(forgetful, topic, repartition, librdkafka, tmp_path):
    source, copy, followed = topic("forgotten", PARTITIONS, forgetful), unique("copy"), unique("followed")
    fill(forgetful, source, 0, COUNT)
    to = ("-b", forgetful.bootstrap, "--partitions", NEW_PARTITIONS, "--execute", "--output", "json", "--transaction-ms", 100)
    flag = tmp_path / "wait"
    pipes = {"librdkafka": librdkafka, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    rewrite = repartition.start("rewrite", source, copy, *to, "--throttle-records", 1000, "--throttle-flag-file", flag, **pipes)
    follow = repartition.start("follow", source, followed, *to, "--from", "earliest", **pipes)
    jobs = [f"keyroute.{source}.{copy}", f"keyroute.follow.{source}.{followed}"]
    await_progress(forgetful.bootstrap, source, jobs[0], 500, rewrite)
    flag.touch()
    await_progress(forgetful.bootstrap, source, jobs[1], COUNT - 1, follow)
    await_forgotten(forgetful, jobs)
    flag.unlink()
    fill(forgetful, source, COUNT, 100)
    out, err = rewrite.communicate(timeout=HANG_S)
    assert rewrite.returncode == 0, err
    assert json.loads(out)["result"]["recoveries"] >= 1
    await_progress(forgetful.bootstrap, source, jobs[1], COUNT + 99, follow)
    follow.send_signal(signal.SIGTERM)
    out, err = follow.communicate(timeout=HANG_S)
    assert follow.returncode == 128 + signal.SIGTERM, err
    assert json.loads(out)["result"]["recoveries"] >= 1
    assert_image(forgetful, copy, COUNT)
    assert_image(forgetful, followed, COUNT + 100)
