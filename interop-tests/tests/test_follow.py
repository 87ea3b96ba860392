"""follow on a real Kafka: any number of instances, killed, stopped, joining and leaving; every record once, in order."""

import json
import re
import signal
import subprocess
import time
from collections import defaultdict

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from records import end_offsets, holders, java_partition, read, stored_progress
from support import HANG_S, ROOT, Librdkafka, await_handler, unique

START_MS = int(time.time() * 1000) - 600_000
QUICK = ("-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=300", "-X", "topic.metadata.refresh.interval.ms=1000")
SMALL = ("--transaction-ms", 100)


@pytest.fixture
def target():
    return unique("followed")


class Writer:
    """Numbered records, key by key; knows what it wrote."""

    def __init__(self, bootstrap, topic, partitions, keys=500, place=java_partition):
        self.p = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True,
                           "queue.buffering.max.messages": 1000000})
        self.topic, self.partitions, self.keys, self.place, self.written = topic, partitions, keys, place, 0

    def write(self, count):
        for i in range(self.written, self.written + count):
            key = b"key-%d" % (i % self.keys)
            self.p.produce(self.topic, key=key, value=b"%d" % i, partition=self.place(key, self.partitions),
                           timestamp=START_MS + i)
            if i % 2000 == 0:
                self.p.poll(0)
        self.written += count
        assert self.p.flush(60) == 0
        return self

    def assert_followed(self, bootstrap, target, partitions):
        """Every record once, each key in its place and in order."""
        found = read(bootstrap, target)
        numbers = sorted(int(r.value) for r in found)
        assert len(numbers) == len(set(numbers)), f"doubles: {[n for n in set(numbers) if numbers.count(n) > 1][:5]}"
        assert numbers == list(range(self.written))
        sequences = defaultdict(list)
        for record in found:
            assert record.partition == java_partition(record.key, partitions)
            assert record.timestamp == START_MS + int(record.value)
            sequences[record.key].append(int(record.value))
        for key, sequence in sequences.items():
            assert sequence == sorted(sequence), f"{key} is out of order"


class Daemons:
    """Instances of one follow job."""

    def __init__(self, repartition, *args, librdkafka=None):
        self.repartition, self.args, self.librdkafka, self.running = repartition, args, librdkafka, []

    def start(self, *more):
        process = self.repartition.start("follow", *self.args, *more, "--execute", "--output", "json", *QUICK,
                                         librdkafka=self.librdkafka, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.running.append(process)
        return process

    def kill(self, process):
        process.kill()
        process.communicate()
        self.running.remove(process)

    def end(self, process, sig=signal.SIGTERM):
        """In order. @returns its result."""
        process.send_signal(sig)
        out, err = process.communicate(timeout=60)
        self.running.remove(process)
        assert process.returncode == 128 + sig and out, err.decode()
        return json.loads(out)["result"]

    def end_all(self):
        return [self.end(process) for process in list(self.running)]


@pytest.fixture
def daemons(repartition):
    made = []

    def make(*args, **options):
        made.append(Daemons(repartition, *args, **options))
        return made[-1]

    yield make
    for group in made:
        for process in group.running:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.communicate()


def await_lag_zero(bootstrap, topic, job, seconds=90, daemons=None):
    """Until the group has stored the very ends of the topic's partitions, control records and all."""
    deadline = time.monotonic() + seconds
    while True:
        ends, stored = sum(end_offsets(bootstrap, topic)), stored_progress(bootstrap, topic, job)
        if stored >= ends:
            assert stored == ends
            return
        for process in daemons.running if daemons else []:
            if process.poll() is not None:
                pytest.fail(f"ended with {process.returncode}: {process.communicate()[1].decode()}")
        assert time.monotonic() < deadline, f"{ends - stored} records behind after {seconds} s"
        time.sleep(0.2)


def members(kafka, job):
    """The group's members, as the cluster lists them."""
    found = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_groups(job, 30)
    return [member.id for group in found for member in group.members]


def job_of(source, target):
    return f"keyroute.follow.{source}.{target}"


# ---------------------------------------------------------------- one instance


def test_follows_what_is_there_and_what_comes(kafka, topic, target, daemons, librdkafka):
    source = topic("live", partitions=6)
    writer = Writer(kafka.bootstrap, source, 6).write(5000)
    group = daemons(source, target, "--partitions", 10, "-b", kafka.bootstrap, librdkafka=librdkafka)
    first = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    writer.write(5000)
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    result = group.end(first)
    assert result["records"] == 10000 and result["refused"] == 0 and result["lag"] == 0
    assert members(kafka, job_of(source, target)) == []  # it left: nobody has to wait for its session
    writer.write(3000)  # and goes on where it stopped
    second = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    assert group.end(second)["records"] == 3000
    writer.assert_followed(kafka.bootstrap, target, 10)


def test_records_deleted_before_they_were_followed_are_told(kafka, topic, target, daemons, tmp_path):
    source = topic("gone", partitions=2)
    writer = Writer(kafka.bootstrap, source, 2).write(1000)
    group = daemons(source, target, "--partitions", 3, "-b", kafka.bootstrap, "--from", "earliest")
    first = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    group.end(first)
    kept, copied = end_offsets(kafka.bootstrap, source)[1], read(kafka.bootstrap, target)
    writer.write(1000)
    wish = tmp_path / "delete.json"
    wish.write_text(json.dumps({"version": 1, "partitions": [{"topic": source, "partition": 1, "offset": kept + 20}]}))
    kafka.tool("kafka-delete-records", "--bootstrap-server", kafka.bootstrap, "--offset-json-file", wish).ok()
    for _ in range(2):  # nor does the next one leap ahead
        process = group.start()
        _, err = process.communicate(timeout=HANG_S)
        group.running.remove(process)
        assert process.returncode == 3, err
        assert f'partition 1 of topic "{source}": offsets {kept} to {kept + 19} were deleted' in err.decode()
    found = read(kafka.bootstrap, target)
    assert {r.value for r in copied} <= {r.value for r in found} and len({r.value for r in found}) == len(found)
    assert not [r for r in found if r.key is not None and java_partition(r.key, 2) == 1 and int(r.value) >= 1000]


def test_transactions_in_the_source_end_with_no_lag(kafka, topic, target, daemons):
    """Aborted records are not followed, and control records at the very end do not look like lag."""
    source = topic("transactions", partitions=3)
    p = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": unique("writer")})
    p.init_transactions(30)
    for round_ in range(9):
        p.begin_transaction()
        for i in range(60):
            p.produce(source, key=b"k%d" % i, value=b"%d" % (60 * (round_ // 3) + i), partition=i % 3)
        p.flush(30)
        (p.commit_transaction if round_ % 3 == 1 else p.abort_transaction)(30)
    group = daemons(source, target, "--partitions", 4, "-b", kafka.bootstrap)
    first = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    assert group.end(first)["records"] == 180
    assert sorted(int(r.value) for r in read(kafka.bootstrap, target)) == list(range(180))


def test_sigterm_ends_a_full_stream_at_once(kafka, topic, target, daemons):
    source = topic("stop", partitions=6)
    writer = Writer(kafka.bootstrap, source, 6).write(200_000)
    group = daemons(source, target, "--partitions", 5, "-b", kafka.bootstrap)
    done = 0
    while done < 200_000:
        process = group.start("-X", "queue.buffering.max.messages=500", *SMALL)
        deadline = time.monotonic() + 60
        while stored_progress(kafka.bootstrap, source, job_of(source, target)) <= done and time.monotonic() < deadline:
            time.sleep(0.05)
        group.end(process)
        assert members(kafka, job_of(source, target)) == []
        before, done = done, stored_progress(kafka.bootstrap, source, job_of(source, target))
        assert done > before
        if before:
            process = group.start()
            await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
            group.end(process)
            break
    writer.assert_followed(kafka.bootstrap, target, 5)


def test_sigterm_while_it_joins(kafka, topic, target, daemons, librdkafka):
    """At whatever moment: with a leader that has not answered yet, a member has joined and has no assignment."""
    source = topic("joining", partitions=2)
    kafka.create(target, 2)
    group = daemons(source, target, "-b", kafka.bootstrap, "--quiet", librdkafka=librdkafka)
    stays = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    for tenths in range(1, 9):
        process = group.start()
        await_handler(process, signal.SIGTERM)
        time.sleep(tenths / 10)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        group.running.remove(process)
        assert process.returncode == 143, err.decode()
    group.end(stays)


# ---------------------------------------------------------------- several


class Reader:
    """A committed reader of the target that runs all the while and must never see a record twice."""

    def __init__(self, bootstrap, topic, partitions):
        self.c = Consumer({"bootstrap.servers": bootstrap, "group.id": unique("reader"), "auto.offset.reset": "earliest",
                           "isolation.level": "read_committed", "enable.auto.commit": False})
        self.c.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        self.seen = set()

    def look(self, seconds=0.2):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for message in self.c.consume(5000, 0.05):
                assert not message.error(), message.error()
                assert message.value() not in self.seen, f"record {message.value()} is there twice"
                self.seen.add(message.value())
        return len(self.seen)

    def await_all(self, count, seconds=90):
        deadline = time.monotonic() + seconds
        while self.look() < count:
            assert time.monotonic() < deadline, f"only {len(self.seen)} of {count} records"
        self.c.close()


def test_three_instances_one_killed(kafka, topic, target, daemons, repartition):
    """Must show: no loss, no double, lag back to zero."""
    source = topic("three", partitions=12)
    kafka.create(target, 7)
    writer = Writer(kafka.bootstrap, source, 12).write(1000)
    group = daemons(source, target, "-b", kafka.bootstrap, *SMALL)
    running = [group.start() for _ in range(3)]
    reader = Reader(kafka.bootstrap, target, 7)
    job = job_of(source, target)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    while holders(kafka, job) < 3:
        reader.look()
    for round_ in range(12):
        writer.write(3000)
        reader.look()
        if round_ == 4:
            group.kill(running[0])
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    results = group.end_all()
    reader.await_all(writer.written)
    writer.assert_followed(kafka.bootstrap, target, 7)
    assert all(result["records"] > 0 for result in results)
    assert members(kafka, job) == []


@pytest.mark.parametrize("past_transaction", [False, True], ids=["past the session", "past the transaction's timeout, too"])
def test_a_zombie_shows_nothing_after_its_partitions_were_given_away(kafka, topic, target, daemons, past_transaction):
    source = topic("zombie", partitions=6)
    kafka.create(target, 4)
    writer = Writer(kafka.bootstrap, source, 6).write(1000)
    group = daemons(source, target, "-b", kafka.bootstrap, "--transaction-ms", 2000)
    zombie, other = group.start("-X", "queue.buffering.max.messages=100"), group.start()
    reader, job = Reader(kafka.bootstrap, target, 4), job_of(source, target)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    while holders(kafka, job) < 2:
        reader.look()
    writer.write(60_000)
    reader.look(0.3)
    zombie.send_signal(signal.SIGSTOP)
    writer.write(5000)
    while len(members(kafka, job)) > 1 or holders(kafka, job) < 1:
        reader.look()
    while past_transaction and reader.look() < writer.written:  # its open transaction holds readers up until it is over
        pass
    zombie.send_signal(signal.SIGCONT)
    writer.write(5000)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    reader.await_all(writer.written)
    assert zombie.poll() is None and other.poll() is None  # it joined again
    while holders(kafka, job) < 2:
        time.sleep(0.1)
    writer.write(500)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)  # and reads again
    reader2 = Reader(kafka.bootstrap, target, 4)
    reader2.await_all(writer.written)
    lost = group.end(zombie)["partitions_lost"]
    assert lost == 3
    group.end(other)
    writer.assert_followed(kafka.bootstrap, target, 4)


def test_members_come_and_go_every_second(kafka, topic, target, daemons):
    source = topic("churn", partitions=8)
    kafka.create(target, 5)
    writer = Writer(kafka.bootstrap, source, 8).write(1000)
    group = daemons(source, target, "-b", kafka.bootstrap, *SMALL)
    stays = group.start()
    reader, job = Reader(kafka.bootstrap, target, 5), job_of(source, target)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    rebalances = 0
    for round_ in range(10):
        comes = group.start()
        writer.write(1500)
        reader.look(1)
        while holders(kafka, job) < 2:
            reader.look(0.1)
        if round_ % 5 == 3:
            group.kill(comes)  # its partitions wait for the session to end
        else:
            rebalances += group.end(comes)["rebalances"]
        writer.write(500)
        reader.look(0.3)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    assert group.end(stays)["rebalances"] + rebalances >= 10
    reader.await_all(writer.written)
    writer.assert_followed(kafka.bootstrap, target, 5)


def test_a_killed_instance_comes_back_under_its_name(kafka, topic, target, daemons):
    """With a name its own open transaction is ended by the new start, and a twin is fenced with exit code 4."""
    source = topic("named", partitions=4)
    kafka.create(target, 3)
    writer = Writer(kafka.bootstrap, source, 4).write(20_000)
    group = daemons(source, target, "-b", kafka.bootstrap, "--instance", "a", *SMALL)
    job, progress = job_of(source, target), -1
    for _ in range(3):
        process = group.start("-X", "queue.buffering.max.messages=100")
        deadline = time.monotonic() + 60
        while stored_progress(kafka.bootstrap, source, job) <= progress and time.monotonic() < deadline:
            time.sleep(0.05)
        progress = stored_progress(kafka.bootstrap, source, job)
        group.kill(process)
    first = group.start()
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    twin = group.start()
    while True:
        writer.write(100)
        try:
            first.wait(0.5)
            break
        except subprocess.TimeoutExpired:
            pass
    assert first.returncode == 4, first.communicate()
    group.running.remove(first)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    group.end(twin)
    writer.assert_followed(kafka.bootstrap, target, 3)


# ---------------------------------------------------------------- topics that change, and what is refused


def test_partitions_that_the_source_gets_are_followed(kafka, topic, target, daemons):
    source = topic("grows", partitions=3)
    kafka.create(target, 4)
    writer = Writer(kafka.bootstrap, source, 3).write(3000)
    group = daemons(source, target, "-b", kafka.bootstrap, "--from", "earliest")
    process, job = group.start(), job_of(source, target)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", source, "--partitions", 5).ok()
    grown = Writer(kafka.bootstrap, source, 5)
    grown.written = writer.written
    grown.write(3000)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    group.end(process)
    found = read(kafka.bootstrap, target)
    assert sorted(int(r.value) for r in found) == list(range(6000))


def test_a_target_that_changes_ends_the_job(kafka, topic, target, daemons):
    source = topic("fixed", partitions=3)
    kafka.create(target, 4)
    Writer(kafka.bootstrap, source, 3).write(300)
    group = daemons(source, target, "-b", kafka.bootstrap)
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", target, "--partitions", 6).ok()
    _, err = process.communicate(timeout=60)
    group.running.remove(process)
    assert process.returncode == 2
    assert f'topic "{target}" has 6 partitions now, this job places keys by 4' in err.decode()
    assert members(kafka, job_of(source, target)) == []
    process = group.start()  # nor does it begin again
    _, err = process.communicate(timeout=60)
    group.running.remove(process)
    assert process.returncode == 2 and "another job" in err.decode()


def test_refused_keys_stop_or_are_counted(kafka, topic, target, daemons, tmp_path):
    source = topic("refused", partitions=2)
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {source: {
        "key": {"use": "field", "delimiter": ":", "index": 1, "missing": "reject"}}}}))
    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    for i in range(100):
        p.produce(source, key=b"a:%d" % i if i != 60 else b"no field", value=b"%d" % i, partition=0)
    assert p.flush(30) == 0
    group = daemons(source, target, "--partitions", 3, "-b", kafka.bootstrap, "--policy", policy)
    process = group.start()
    _, err = process.communicate(timeout=60)
    group.running.remove(process)
    assert process.returncode == 3
    assert "partition 0, offset 60" in err.decode()
    assert len(read(kafka.bootstrap, target)) <= 60  # what it had open is void, and does not count as somebody's records
    process = group.start("--on-refused", "skip")
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    result = group.end(process)
    assert result["refused"] == 1 and result["records"] == 99
    assert len(read(kafka.bootstrap, target)) == 99


# ---------------------------------------------------------------- where it begins


def test_goes_on_where_a_rewrite_ended(kafka, topic, target, daemons, repartition):
    source = topic("after", partitions=4)
    writer = Writer(kafka.bootstrap, source, 4).write(2000)
    repartition("rewrite", source, target, "--partitions", 6, "-b", kafka.bootstrap, "--execute").ok()
    writer.write(500)
    plain = repartition("follow", source, target, "-b", kafka.bootstrap).ends_with(2)
    assert "holds records that this job did not write" in plain.err and "--from rewrite" in plain.err
    plan = repartition("follow", source, target, "-b", kafka.bootstrap, "--from", "rewrite", "--output", "json").ok().json()
    assert plan["plan"]["from"] == "rewrite" and plan["plan"]["new_job"] and not plan["executed"]
    group = daemons(source, target, "-b", kafka.bootstrap, "--from", "rewrite")
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    assert group.end(process)["records"] == 500
    writer.assert_followed(kafka.bootstrap, target, 6)


def test_a_rewrite_does_not_go_on_behind_follow(kafka, topic, target, daemons, repartition):
    """It would copy again what follow has copied, since its own progress stays where follow began."""
    source = topic("behind", partitions=4)
    writer = Writer(kafka.bootstrap, source, 4).write(400)
    rewrite = ("rewrite", source, target, "--partitions", 6, "-b", kafka.bootstrap, "--output", "json")
    repartition(*rewrite, "--execute").ok()
    writer.write(100)
    assert repartition(*rewrite).ok().json()["findings"] == []  # until then it may
    group = daemons(source, target, "-b", kafka.bootstrap, "--from", "rewrite")
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    for more in ((), ("--execute",)):  # while follow runs
        refused = repartition(*rewrite, *more).ends_with(2).json()
        assert [f["id"] for f in refused["findings"] if f["severity"] == "refused"] == ["followed"]
        assert job_of(source, target) in refused["findings"][0]["text"] and not refused["executed"]
    group.end(process)
    repartition(*rewrite, "--execute").ends_with(2)
    writer.assert_followed(kafka.bootstrap, target, 6)
    elsewhere = unique("elsewhere")
    repartition("rewrite", source, elsewhere, "--partitions", 6, "-b", kafka.bootstrap, "--execute").ok()
    writer.assert_followed(kafka.bootstrap, elsewhere, 6)


def test_begins_at_a_time_or_at_the_end(kafka, topic, daemons):
    source = topic("times", partitions=1)
    writer = Writer(kafka.bootstrap, source, 1).write(1000)
    for place, first in ((START_MS + 300, 300), ("latest", 1000), ("earliest", 0)):
        target, job = unique("from"), unique("job")
        group = daemons(source, target, "--partitions", 2, "-b", kafka.bootstrap, "--from", place, "--job", job)
        process = group.start()
        await_lag_zero(kafka.bootstrap, source, job, daemons=group)
        group.end(process)
        assert sorted(int(r.value) for r in read(kafka.bootstrap, target)) == list(range(first, 1000))


# ---------------------------------------------------------------- in place


def wrong_partition(key, partitions):
    return (java_partition(key, partitions) + 1 + key[-1] % (partitions - 1)) % partitions


def place_job(source):
    return f"keyroute.follow.{source}"


def split(records, partitions):
    """Misplaced records, and those in their right partition."""
    wrong = [r for r in records if r.partition != java_partition(r.key, partitions)]
    return wrong, [r for r in records if r.partition == java_partition(r.key, partitions)]


def assert_mended(records, partitions):
    """Each misplaced record has one copy in the right partition, byte for byte; a key's copies keep their order."""
    wrong, right = split(records, partitions)
    contents, copies = [r.content for r in wrong], [r.content for r in right]
    for content in set(contents):
        assert copies.count(content) == contents.count(content), content
    by_key = defaultdict(list)
    for record in wrong:
        by_key[record.key, record.partition].append(record.content)
    for (key, _), sequence in by_key.items():
        found = [r.content for r in right if r.key == key and r.content in sequence]
        assert found == sequence, f"{key} is out of order"
    return wrong, right


def test_in_place_mends_what_arrives(kafka, topic, daemons, repartition, librdkafka):
    source = topic("place", partitions=5)
    Writer(kafka.bootstrap, source, 5, place=wrong_partition).write(300)  # before: that is for repair
    plan = repartition("follow", source, "-b", kafka.bootstrap).ok()
    assert "begins      latest" in plan.out and f"repartition repair {source}" in plan.out
    group = daemons(source, "-b", kafka.bootstrap, librdkafka=librdkafka)
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, place_job(source), daemons=group)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5, "enable.idempotence": True})
    now = int(time.time() * 1000)
    for i in range(3000):  # keys of the one are not keys of the other; bursts share their millisecond
        key = b"wrong-%d" % (i % 40) if i % 3 else b"right-%d" % (i % 40)
        place = wrong_partition if i % 3 else java_partition
        producer.produce(source, key=key, value=b"%d" % i if i % 10 else None, partition=place(key, 5),
                         headers=[("n", b"%d" % i), ("n", None)], timestamp=now + i // 50)
    for i in range(30):
        producer.produce(source, value=b"keyless", partition=i % 5)
    assert producer.flush(60) == 0
    await_lag_zero(kafka.bootstrap, source, place_job(source), daemons=group)
    result = group.end(process)
    assert result["misplaced"] == {"safe": 2000, "stale": 0, "unknown": 0, "copied": 0}
    assert result["records"] == 2000 and result["right"] >= 1000 + 30
    after = [r for r in read(kafka.bootstrap, source) if r.key and not r.key.startswith(b"key-")]
    wrong, right = assert_mended(after, 5)
    assert len(wrong) == 2000 and len(right) == 3000
    process = group.start()  # its own copies are where they belong
    while not holders(kafka, place_job(source)):
        time.sleep(0.1)
    await_lag_zero(kafka.bootstrap, source, place_job(source), daemons=group)
    assert group.end(process)["records"] == 0


def test_in_place_leaves_what_newer_records_have_overtaken(kafka, topic, daemons):
    source, now = topic("overtaken", partitions=4), int(time.time() * 1000)
    group = daemons(source, "-b", kafka.bootstrap, "--from", "earliest", "--mark")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5, "enable.idempotence": True})

    def put(key, value, place, timestamp):
        producer.produce(source, key=key, value=value, partition=place(key, 4), timestamp=timestamp)

    put(b"a", b"newer", java_partition, now + 10)
    put(b"a", b"older", wrong_partition, now)                 # stale
    put(b"b", b"same time", java_partition, now)
    put(b"b", b"as old", wrong_partition, now)                # stale
    put(b"c", b"older", java_partition, now - 10)
    put(b"c", b"newer", wrong_partition, now)                 # safe
    put(b"d", b"alone", wrong_partition, now)                 # safe
    put(b"e", b"equal", java_partition, now)
    put(b"e", b"equal", wrong_partition, now)                 # copied
    put(b"f", b"twin", wrong_partition, now)                  # safe, twice
    put(b"f", b"twin", wrong_partition, now)
    assert producer.flush(30) == 0
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, place_job(source), daemons=group)
    first = group.end(process)
    assert first["misplaced"] == {"safe": 4, "stale": 2, "unknown": 0, "copied": 1}
    found = read(kafka.bootstrap, source)
    copies = [r for r in found if r.headers]
    assert sorted((r.key, r.value) for r in copies) == [(b"c", b"newer"), (b"d", b"alone"), (b"f", b"twin"), (b"f", b"twin")]
    for copy in copies:
        (name, origin), = copy.headers
        assert name == "keyroute.origin"
        topic_, partition, offset = origin.decode().rsplit("/", 2)
        original, = [r for r in found if (r.partition, r.offset) == (int(partition), int(offset))]
        assert topic_ == source and original.content[:2] == copy.content[:2] and original.timestamp == copy.timestamp
    again = daemons(source, "-b", kafka.bootstrap, "--from", "earliest", "--job", unique("again"), "--include", "stale")
    process = again.start()  # another job sees what was copied by its marks
    await_lag_zero(kafka.bootstrap, source, again.args[again.args.index("--job") + 1], daemons=again)
    second = again.end(process)
    assert second["misplaced"] == {"safe": 0, "stale": 2, "unknown": 0, "copied": 5} and second["records"] == 2


def test_in_place_under_fire(kafka, topic, daemons):
    source = topic("fire", partitions=6)
    group = daemons(source, "-b", kafka.bootstrap)
    running = [group.start() for _ in range(3)]
    job = place_job(source)
    while holders(kafka, job) < 3:
        time.sleep(0.1)
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    producer, written = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5, "enable.idempotence": True}), 0
    for round_ in range(15):
        for i in range(written, written + 1000):
            key = b"k%d" % (i % 97)
            place = wrong_partition if i % 97 % 2 else java_partition
            producer.produce(source, key=key, value=b"%d" % i, partition=place(key, 6), timestamp=START_MS + i)
        written += 1000
        assert producer.flush(60) == 0
        if round_ in (4, 9):
            group.kill(running[round_ // 5])
            running.append(group.start())
    await_lag_zero(kafka.bootstrap, source, job, daemons=group)
    group.end_all()
    wrong, right = assert_mended(read(kafka.bootstrap, source), 6)
    assert len(wrong) == sum(i % 97 % 2 for i in range(written)) and len(right) == written


def judged_beside_an_open_transaction(kafka, source, daemons, misplaced, opened):
    """Values of one key: misplaced ones, and those that an open transaction has written where the key belongs, each a millisecond
    after the one before. @returns the transaction's producer, the job's instances, and one that has had the time to judge."""
    right = java_partition(b"k1", 3)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    other = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": unique("other")})
    other.init_transactions(60)
    other.begin_transaction()
    for by, partition, values in ((producer, (right + 1) % 3, misplaced), (other, right, opened)):
        for value, later_ms in values.items():
            by.produce(source, key=b"k1", value=value, partition=partition, timestamp=START_MS + later_ms)
    assert producer.flush(60) == 0 and other.flush(60) == 0
    group = daemons(source, "-b", kafka.bootstrap, "--from", "earliest")
    process = group.start()
    while not members(kafka, place_job(source)):
        time.sleep(0.1)
    time.sleep(3)  # long enough to have judged them, were it not to wait
    return other, group, process


def values_at_home(kafka, source):
    return [r.value for r in read(kafka.bootstrap, source) if r.partition == java_partition(b"k1", 3)]


def test_in_place_waits_for_copies_that_a_fenced_member_left_open(kafka, topic, daemons):
    """They look newer than what is to be copied again, and are aborted in the end."""
    source, values = topic("left-open", partitions=3), {b"%d" % i: i for i in range(5)}
    fenced, group, process = judged_beside_an_open_transaction(kafka, source, daemons, values, values)
    fenced.abort_transaction(60)
    await_lag_zero(kafka.bootstrap, source, place_job(source), daemons=group)
    group.end(process)
    assert values_at_home(kafka, source) == [b"%d" % i for i in range(5)]


def test_in_place_stops_at_once_while_it_waits_for_an_open_transaction(kafka, topic, daemons):
    source = topic("held-up", partitions=3)
    other, group, process = judged_beside_an_open_transaction(kafka, source, daemons, {b"old": 0}, {b"new": 1})
    assert stored_progress(kafka.bootstrap, source, place_job(source)) < 1
    group.end(process)
    other.commit_transaction(60)
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, place_job(source), daemons=group)
    group.end(process)
    assert values_at_home(kafka, source) == [b"new"]


def test_in_place_stops_when_the_topic_grows(kafka, topic, daemons):
    source = topic("outgrown", partitions=3)
    writer = Writer(kafka.bootstrap, source, 3).write(500)
    group = daemons(source, "-b", kafka.bootstrap, "--from", "earliest")
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, place_job(source), daemons=group)
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", source, "--partitions", 5).ok()
    grown = Writer(kafka.bootstrap, source, 5)
    grown.write(500)
    _, err = process.communicate(timeout=60)
    group.running.remove(process)
    assert process.returncode == 2 and "has 5 partitions now, this job places keys by 3" in err.decode()
    assert len(read(kafka.bootstrap, source)) == writer.written + grown.written  # nothing was moved by the old count


@pytest.mark.parametrize("which", ["source", "target", "in place"])
def test_a_topic_made_again_is_not_gone_on_with(kafka, topic, target, daemons, which):
    source = topic("again", partitions=3)
    Writer(kafka.bootstrap, source, 3, place=lambda key, n: (java_partition(key, n) + 1) % n).write(6000)
    two = () if which == "in place" else (target,)
    group = daemons(source, *two, *(("--partitions", 5) if two else ()), "-b", kafka.bootstrap, "--from", "earliest",
                    "--transaction-ms", 2000, "--throttle-records", 300, "--timeout-ms", 20_000, librdkafka=Librdkafka("new"))
    process = group.start()
    again, before = (target, 0) if which == "target" else (source, 0 if two else 6000)
    image = target if two else source
    while image not in Producer({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=30).topics or len(
            read(kafka.bootstrap, image)) <= before:
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)
    partitions = 5 if which == "target" else 3
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--delete", "--topic", again).ok()
    time.sleep(1)
    kafka.create(again, partitions)
    _, err = process.communicate(timeout=120)
    group.running.remove(process)
    assert process.returncode in (2, 3), err
    assert read(kafka.bootstrap, again) == []


# ---------------------------------------------------------------- without a cluster


def test_a_target_made_again_between_two_runs_is_noticed(kafka, topic, target, daemons):
    source, partitions = topic("between", partitions=2), ("--partitions", 3)
    Writer(kafka.bootstrap, source, 2).write(200)
    group = daemons(source, target, *partitions, "-b", kafka.bootstrap, librdkafka=Librdkafka("new"))
    process = group.start()
    await_lag_zero(kafka.bootstrap, source, job_of(source, target), daemons=group)
    group.end(process)
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--delete", "--topic", target).ok()
    while kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list").ok().out.split().count(target):
        time.sleep(0.5)
    kafka.create(target, 3)
    process = group.start()
    _, err = process.communicate(timeout=60)
    group.running.remove(process)
    assert process.returncode == 2 and "was deleted and made again since this job began" in " ".join(err.decode().split())
    assert read(kafka.bootstrap, target) == []


def test_the_service_file_speaks_of_options_that_there_are(repartition):
    unit = (ROOT / "examples" / "follow" / "keyroute-follow@.service").read_text()
    command = re.search(r"^ExecStart=((?:.*\\\n)*.*)", unit, re.M).group(1).replace("\\\n", " ").split()
    assert command[:2] == ["/usr/local/bin/repartition", "follow"]
    help_ = repartition("follow", "--help").ok().out
    used = [word for word in command + re.findall(r"^#     OPTIONS=(.*)", unit, re.M)[0].split() if word.startswith("--")]
    assert len(used) >= 8
    for option in used:
        assert re.search(rf"{option}\b", help_), option
    assert "RestartPreventExitStatus=2 4" in unit and "SuccessExitStatus=143" in unit


@pytest.mark.parametrize("args, says", [
    (("a", "a"), "name it once"), (("a", "b", "--mark"), "--mark is for following in place"),
    (("a", "b", "--include", "stale"), "--include is for following in place"),
    (("a", "--partitions", 3), "in place there is none"), (("a", "--include", "split"), "expected stale, unknown"),
    (("a", "--from", "rewrite"), "expected earliest"), (("a", "b", "--from", "yesterday"), "expected earliest"),
    (("a", "b/c"), "cannot be a topic's name"), (("a", "b"), "no broker named")])
def test_bad_arguments(repartition, args, says):
    done = repartition("follow", *args)
    assert done.rc == 2 and says in done.err.replace("\n", " ") and not done.out
