"""A job beside others: throttled, paused, steered, stopped, and what it tells of itself, on a real Kafka."""

import json
import os
import signal
import socket
import time
import urllib.request

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families
from records import end_offsets, java_partition, read, stored_progress
from support import unique

RECORDS = 6000
SLOWLY = ("--throttle-records", "500")  # twelve seconds, if nobody steers it
WAIT_S = 60


def fill(kafka, topic, count, partitions, size=20):
    p = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 20, "enable.idempotence": True})
    for i in range(count):
        key = b"key-%d" % (i % 500)
        p.produce(topic, key=key, value=b"%d" % i + b"." * size, partition=java_partition(key, partitions))
    assert p.flush(60) == 0


def await_that(condition, process=None):
    """Polls until the condition is true. @returns its value."""
    deadline = time.monotonic() + WAIT_S
    while True:
        value = condition()
        if value:
            return value
        assert process is None or process.poll() is None, f"it ended with {process.returncode} meanwhile"
        assert time.monotonic() < deadline, "that never came"
        time.sleep(0.05)


def copied(status):
    return status["counters"].get("records_copied", 0)  # there are none before the job has begun to copy


class Job:
    """A rewrite with a control socket and a status file."""

    def __init__(self, kafka, repartition, source, target, folder):
        self.kafka, self.repartition, self.source, self.target = kafka, repartition, source, target
        self.socket, self.status_file, self.metrics_file = folder / "s", folder / "status.json", folder / "job.prom"
        self.process = None

    @property
    def name(self):
        return f"keyroute.{self.source}.{self.target}"

    def command(self, *args):
        return ("rewrite", self.source, self.target, "--partitions", 5, "-b", self.kafka.bootstrap, "--execute",
                "--control-socket", self.socket, "--status-file", self.status_file, "--metrics-file", self.metrics_file,
                *args)

    def start(self, *args, **options):
        self.process = self.repartition.start(*self.command(*args), **options)
        await_that(self.listens, self.process)
        return self

    def listens(self):
        asked = self.repartition("ctl", self.socket, "status", "--output", "json")
        return asked.rc == 0 and asked.json()["pid"] == self.process.pid

    def ctl(self, *args):
        return self.repartition("ctl", self.socket, *args, "--output", "json").ok().json()

    def await_status(self, condition):
        """@returns the first status for which it is true."""
        def look():
            status = self.ctl("status")
            return status if condition(status) else None
        return await_that(look, self.process)

    def kept(self):
        return json.loads(self.status_file.read_text())

    def progress(self):
        return max(0, stored_progress(self.kafka.bootstrap, self.source, self.name))

    def ends_with(self, rc):
        assert self.process.wait(WAIT_S) == rc

    def assert_image(self):
        ours, theirs = (sorted(repr(r.content) for r in read(self.kafka.bootstrap, t)) for t in (self.source, self.target))
        assert ours == theirs

    def finish(self):
        self.repartition(*self.command()).ok()
        self.assert_image()


@pytest.fixture
def job(kafka, topic, repartition, tmp_path):
    source = topic("busy", partitions=4)
    fill(kafka, source, RECORDS, 4)
    made = Job(kafka, repartition, source, unique("spared"), tmp_path)
    yield made
    if made.process and made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def test_pause_resume_and_new_limits(job, kafka, repartition):
    job.start(*SLOWLY)
    job.await_status(lambda s: copied(s) > 0)
    assert job.ctl("pause")["state"] == "paused"
    # A paused job holds nobody up: nothing is open, and what was copied can be read.
    before = job.progress()
    assert 0 < before < RECORDS
    assert len(read(kafka.bootstrap, job.target)) == before
    status = job.ctl("status")
    assert status["progress"]["uncommitted"] == 0 and status["counters"]["records_copied"] == before
    assert status["throttle"]["reason"] == "paused" and "resume" in status["throttle"]["why"]
    assert await_that(lambda: job.kept()["state"] == "paused")
    ends = end_offsets(kafka.bootstrap, job.target)

    limits = job.ctl("set", "throttle-records=none", "throttle-bytes=100M", "transaction-ms=200")["limits"]
    assert limits == {"throttle_records": None, "throttle_bytes": 100_000_000, "max_lag": None, "transaction_ms": 200}
    assert end_offsets(kafka.bootstrap, job.target) == ends and job.progress() == before
    text = repartition("ctl", job.socket, "status").ok().out
    assert "paused: waits for resume" in text and "100.0 MB/s" in text and job.source in text
    assert job.ctl("resume")["state"] in ("running", "throttled")
    job.ends_with(0)
    job.assert_image()
    ended = job.kept()
    assert ended["state"] == "finished" and ended["exit_code"] == 0 and ended["throttle"]["held_ms"]["paused"] > 0
    assert ended["result"]["result"]["records"] == RECORDS == ended["counters"]["records_copied"]
    assert not job.socket.exists()


def test_ctl_says_what_is_wrong(job, repartition, tmp_path):
    nobody = repartition("ctl", tmp_path / "none", "status").ends_with(3)
    assert "nothing listens" in nobody.err and "--control-socket" in nobody.err
    (tmp_path / "file").write_text("no socket")
    assert "is no socket" in repartition("ctl", tmp_path / "file", "status").ends_with(2).err
    assert "is no socket" in repartition(*job.command("--control-socket", tmp_path / "file")).ends_with(2).err
    assert (tmp_path / "file").read_text() == "no socket"
    job.start(*SLOWLY)
    assert job.socket.stat().st_mode & 0o777 == 0o600
    assert "there are status, pause" in repartition("ctl", job.socket, "dance").ends_with(2).err
    assert "throttle-bytes" in repartition("ctl", job.socket, "set", "throttle-bytes=fast").ends_with(2).err
    assert "no group" in repartition("ctl", job.socket, "set", "max-lag=5").ends_with(2).err
    # Whatever else comes in through the socket, the job goes on.
    for junk in (b"", b"\0\0\n", b"\xff" * 5000, b"set throttle-bytes=" + b"9" * 400 + b"\n", b"{}\n[]\n"):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(job.socket))
            try:
                peer.sendall(junk)
            except BrokenPipeError:
                pass
    other = Job(job.kafka, repartition, job.source, unique("other"), tmp_path)
    assert "another process listens" in repartition(*other.command()).ends_with(2).err
    job.ctl("set", "throttle-records=none")
    job.ends_with(0)
    job.assert_image()


def test_a_rate_is_kept(job, kafka, topic, repartition):
    """By the job's own account: no more bytes than the rate allows for the time that it took, and one second's burst."""
    job.source = topic("wide", partitions=4)
    fill(kafka, job.source, 3000, 4, size=1000)
    done = repartition(*job.command("--throttle", "2M", "--output", "json")).ok().json()["result"]
    status = job.kept()
    batch = 512 * 1100
    assert done["bytes"] == status["counters"]["bytes_copied"] > 3_000_000
    assert done["bytes"] <= 2_000_000 * (status["elapsed_ms"] + 1000) / 1000 + batch
    assert status["throttle"]["held_ms"]["bytes"] > 0
    job.assert_image()


def test_flag_files(job, kafka, tmp_path):
    mine, everyones = tmp_path / "mine", tmp_path / "everyones"
    everyones.touch()
    job.start("--throttle-flag-file", mine, "--throttle-flag-file", everyones)
    status = job.await_status(lambda s: s["throttle"]["reason"] == "flag-file")
    assert str(everyones) in status["throttle"]["why"] and status["state"] == "throttled"
    assert sum(end_offsets(kafka.bootstrap, job.target)) == 0  # it is heeded before the first record
    job.ctl("set", "throttle-records=500")
    everyones.unlink()
    job.await_status(lambda s: copied(s) > 0)
    mine.touch()
    status = job.await_status(lambda s: s["throttle"]["reason"] == "flag-file" and s["progress"]["uncommitted"] == 0)
    assert len(read(kafka.bootstrap, job.target)) == status["counters"]["records_copied"] == job.progress()
    mine.unlink()
    job.ctl("set", "throttle-records=none")
    job.ends_with(0)
    job.assert_image()


def commit(kafka, group, topic, lag, count, partitions=2):
    """Leaves the group with that lag, over all partitions."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    try:
        offsets = [TopicPartition(topic, p, count // partitions) for p in range(partitions)]
        offsets[0].offset -= lag
        consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()


def test_lag_of_another_group(job, kafka, topic, repartition):
    group, theirs = unique("billing"), topic("invoices", partitions=2)
    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    for i in range(4000):
        p.produce(theirs, b"x", partition=i % 2)
    assert p.flush(60) == 0
    watch = ("--throttle-control-group", group, "--max-lag", "1K")
    both = repartition(*job.command("--metrics-file", job.status_file)).ends_with(2)  # each would write over the other
    assert "--status-file and --metrics-file" in both.err and not job.status_file.exists()
    refused = repartition(*job.command(*watch)).ends_with(2)
    assert group in refused.err and "no committed offsets" in refused.err
    listed = kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list").ok()
    assert job.target not in listed.out.split()  # nothing was written, not even a topic

    commit(kafka, group, theirs, 1500, 4000)
    job.start(*watch, "--throttle-control-group", f"{group}:{theirs}")
    status = job.await_status(lambda s: s["throttle"]["reason"] == "lag")
    assert status["throttle"]["why"] == f"throttled: group {group} lags 1,500 > 1,000"
    assert [(g["group"], g["topic"], g["lag"]) for g in status["throttle"]["control_groups"]] == [
        (group, None, 1500), (group, theirs, 1500)]
    assert sum(end_offsets(kafka.bootstrap, job.target)) == 0
    commit(kafka, group, theirs, 900, 4000)  # better, but it must be well below before the job adds to it again
    status = job.await_status(lambda s: s["throttle"]["control_groups"][0]["lag"] == 900)
    job.await_status(lambda s: "lags 900 > 750" in (s["throttle"]["why"] or ""))
    commit(kafka, group, theirs, 700, 4000)
    job.ends_with(0)
    job.assert_image()
    assert job.kept()["throttle"]["held_ms"]["lag"] > 0
    repartition(*job.command("--throttle-control-group", f"{group}:no.such.topic")).ends_with(2)


def test_new_max_lag_takes_effect(job, kafka, topic):
    group, theirs = unique("billing"), topic("invoices", partitions=2)
    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    for i in range(400):
        p.produce(theirs, b"x", partition=i % 2)
    assert p.flush(60) == 0
    commit(kafka, group, theirs, 200, 400)
    job.start("--throttle-control-group", group, "--max-lag", 100)
    job.await_status(lambda s: s["throttle"]["reason"] == "lag")
    job.ctl("set", "max-lag=200")
    job.ends_with(0)
    job.assert_image()


def test_panic_file_stops_and_the_same_command_goes_on(job, kafka, repartition, tmp_path):
    panic = tmp_path / "panic"
    with_panic = ("--panic-flag-file", panic)
    job.start(*SLOWLY, *with_panic, stderr=-1)
    job.await_status(lambda s: copied(s) > 0)
    panic.touch()
    _, err = job.process.communicate(timeout=WAIT_S)
    assert job.process.returncode == 3
    assert str(panic).encode() in err and b"takes it up again" in err
    stopped = job.kept()
    assert stopped["state"] == "stopped" and stopped["exit_code"] == 3
    assert len(read(kafka.bootstrap, job.target)) == job.progress() == stopped["counters"]["records_copied"] < RECORDS
    assert str(panic) in repartition(*job.command(*with_panic)).ends_with(2).err
    panic.unlink()
    job.finish()


def test_stop_by_ctl_and_by_signal(job):
    job.start(*SLOWLY)
    job.await_status(lambda s: copied(s) > 0)
    assert job.ctl("stop")["state"] == "stopping"
    job.ends_with(3)
    assert job.kept()["state"] == "stopped"
    job.start(*SLOWLY)
    job.process.send_signal(signal.SIGTERM)
    job.ends_with(128 + signal.SIGTERM)
    assert job.kept()["state"] == "stopped" and job.kept()["exit_code"] == 143
    job.finish()


def test_what_kill_9_leaves_is_taken_over(job):
    job.start(*SLOWLY)
    await_that(lambda: copied(job.kept()) > 0, job.process)
    job.process.kill()
    job.process.wait()
    left = job.kept()
    assert left["state"] in ("running", "throttled") and left["pid"] == job.process.pid and left["exit_code"] is None
    assert left["host"] == os.uname().nodename and left["job"] == job.name
    assert job.socket.exists()
    job.repartition("ctl", job.socket, "status").ends_with(3)
    job.start(*SLOWLY)
    status = job.ctl("status")  # the same path listens again
    assert status["pid"] == job.process.pid == job.kept()["pid"]
    job.ctl("set", "throttle-records=none")
    job.ends_with(0)
    job.assert_image()
    assert job.kept()["state"] == "finished"


def families(text):
    found = {family.name: family for family in text_string_to_metric_families(text)}
    for name, family in found.items():
        assert name.startswith("keyroute_") and family.documentation and family.type in ("counter", "gauge"), name
        assert text.count(f"# TYPE {family.samples[0].name} ") == 1, f"{name}: one family, one heading"
    return found


def value(family, **labels):
    samples = [s.value for s in family.samples if labels.items() <= s.labels.items()]
    assert len(samples) == 1, (family, labels)
    return samples[0]


def test_metrics_are_prometheus(job):
    job.start(*SLOWLY, "--metrics-listen", 0, stderr=-1)
    line = job.process.stderr.readline().decode()  # the port that was chosen
    url = f"http://127.0.0.1:{line.split()[-1]}"
    job.await_status(lambda s: copied(s) > 0)
    job.ctl("pause")
    await_that(lambda: value(families(job.metrics_file.read_text())["keyroute_state"], state="paused") == 1, job.process)
    now, status = families(job.metrics_file.read_text()), job.ctl("status")
    with urllib.request.urlopen(f"{url}/metrics", timeout=WAIT_S) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        scraped = families(answer.read().decode())
    assert scraped.keys() == now.keys()
    assert value(scraped["keyroute_records_copied"]) == value(now["keyroute_records_copied"])
    with urllib.request.urlopen(f"{url}/status", timeout=WAIT_S) as answer:
        assert json.load(answer)["counters"] == status["counters"]
    assert value(now["keyroute_records_copied"], job=job.name) == status["counters"]["records_copied"]
    assert value(now["keyroute_progress_ratio"]) == pytest.approx(status["progress"]["share"], abs=1e-3)
    assert value(now["keyroute_throttle_limit_records_per_second"]) == 500
    job.ctl("set", "throttle-records=none")
    job.ctl("resume")
    job.ends_with(0)
    now = families(job.metrics_file.read_text())
    assert value(now["keyroute_records_copied"]) == RECORDS
    assert value(now["keyroute_state"], state="finished") == 1 and sum(s.value for s in now["keyroute_state"].samples) == 1
    assert value(now["keyroute_transactions"], outcome="committed") == job.kept()["counters"]["transactions_committed"]
    assert value(now["keyroute_throttled_seconds"], reason="paused") > 0
    assert value(now["keyroute_progress_ratio"]) == 1 and value(now["keyroute_source_lag_records"]) == 0
    assert now["keyroute_build_info"].samples[0].labels["version"]
