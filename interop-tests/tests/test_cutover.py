"""Consumer groups moved to a rewritten topic: nothing is skipped, and what is seen twice is what was said."""

import json
import subprocess
import threading
import time
from collections import Counter

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from records import await_progress, end_offsets, holders, java_partition, read
from support import HANG_S, unique
from test_follow import SMALL, Writer, await_lag_zero, daemons, job_of  # noqa: F401  daemons is a fixture
from test_jobs import delete_topic
from test_rewrite import MERGE, SLOW, fill
from test_rewrite_workers import PARTITIONS as WORKERS_PARTITIONS
from test_rewrite_workers import command as workers_command
from test_rewrite_workers import fill as fill_by_java

RECORDS = 20_000


@pytest.fixture
def target():
    return unique("target")


def commit(bootstrap, group, topic, offsets):
    """Stores offsets for a group without members, as one that has stopped leaves them. offsets: by partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, p, o) for p, o in offsets.items()], asynchronous=False)
    consumer.close()


def committed(bootstrap, group, topic, partitions):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    offsets = [p.offset for p in consumer.committed([TopicPartition(topic, p) for p in range(partitions)], 30)]
    consumer.close()
    return [o if o >= 0 else None for o in offsets]


def rewrite(repartition, kafka, source, target, partitions=10):
    """In many transactions, however fast the machine is: each leaves a checkpoint."""
    return repartition("rewrite", source, target, "--partitions", partitions, "-b", kafka.bootstrap, "--execute", *MERGE, *SLOW,
                       "--throttle-records", RECORDS // 3)


def assert_exact(result, group, source_records, target_records):
    """Judged by hand: nothing that the group has not read lies before its new offsets, and the doubles are those told."""
    row = next(g for g in result["groups"] if g["group"] == group)
    stood, starts = row["source_offsets"], row["target_offsets"]
    home = {r.value: (r.partition, r.offset) for r in source_records}
    doubles = 0
    for record in target_records:
        partition, offset = home[record.value]
        was_read = stood[partition] is not None and offset < stood[partition]
        if record.offset < starts[record.partition]:
            assert was_read, "it would be skipped"
        else:
            doubles += was_read
    assert row["exact"] and row["again"] == doubles
    assert row["unread"] == sum(stood[p] is None or o >= stood[p] for p, o in home.values())
    return row


def test_waits_for_another_jobs_transaction_and_says_so(kafka, topic, target, repartition):
    source, group, jobs = topic("waits", partitions=2), unique("group"), unique("jobs")
    fill(kafka.bootstrap, source, 200, partitions=2)
    commit(kafka.bootstrap, group, source, {0: 0, 1: 0})
    repartition("rewrite", source, target, "--partitions", 3, "-b", kafka.bootstrap, "--execute", "--jobs-topic", jobs,
                *MERGE).ok()
    other = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": unique("other")})
    other.init_transactions(60)
    other.begin_transaction()
    other.produce(jobs, key=b"another job", value=b"{}")
    assert other.flush(60) == 0
    run = ("cutover", group, source, target, "-b", kafka.bootstrap, "--jobs-topic", jobs, "--timeout-ms")
    assert "a transaction is open at offset" in repartition(*run, 2000).ends_with(3).err
    process = repartition.start(*run, 120_000, stderr=subprocess.PIPE)
    told = process.stderr.readline().decode()
    assert "waits for a transaction that is open at offset" in told and f'topic "{jobs}"' in told
    other.commit_transaction(60)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, err


# ---------------------------------------------------------------- a real consumer


def test_a_java_consumer_is_stopped_moved_and_goes_on(kafka, topic, target, repartition, java_run, tmp_path):
    source, group, back = topic("moved", partitions=6), unique("group"), tmp_path / "back.json"
    fill(kafka.bootstrap, source, RECORDS)
    commit(kafka.bootstrap, group, source, {p: 0 for p in range(6)})
    consume = ("Consume.java", "--bootstrap-server", kafka.bootstrap, "--group", group)
    before = java_run(*consume, "--topic", source, "--at-most", 7000,
                      "-X", "max.partition.fetch.bytes=3000").ok().out.splitlines()
    assert 7000 <= len(before) < RECORDS
    rewrite(repartition, kafka, source, target).ok()
    run = ("cutover", group, source, target, "-b", kafka.bootstrap, "--output", "json")
    dry = repartition(*run).ok().json()
    assert not dry["executed"] and committed(kafka.bootstrap, group, target, 10) == [None] * 10
    row = assert_exact(dry, group, read(kafka.bootstrap, source), read(kafka.bootstrap, target))
    assert row["unread"] == RECORDS - len(before)
    assert "--rollback" in repartition(*run, "--execute").ends_with(2).err
    done = repartition(*run, "--execute", "--rollback", back).ok().json()
    assert done["executed"] and committed(kafka.bootstrap, group, target, 10) == row["target_offsets"]
    repartition(*run, "--execute", "--rollback", back).ok()  # twice by mistake, while nothing was read: no harm
    after = java_run(*consume, "--topic", target).ok().out.splitlines()
    first = Counter(line.split("\t")[2] for line in before)
    second = Counter(line.split("\t")[2] for line in after)
    assert set(first) | set(second) == {str(i) for i in range(RECORDS)}
    assert max(first.values()) == max(second.values()) == 1
    assert len(set(first) & set(second)) == row["again"]
    # And back: the way back is that of the first run, whatever was done since.
    stored = json.loads(back.read_text())
    assert stored["groups"] == [{"group": group, "source_offsets": row["source_offsets"], "target_offsets": [None] * 10}]
    moved = committed(kafka.bootstrap, group, target, 10)
    late = repartition(*run, "--execute", "--rollback", back).ends_with(2).json()  # it would read all of target again
    assert f"it has read {len(after)} records of \"{target}\" beyond these" in late["groups"][0]["refused"]
    assert committed(kafka.bootstrap, group, target, 10) == moved and json.loads(back.read_text()) == stored
    undo = ("cutover", "--undo", back, "-b", kafka.bootstrap)
    assert "nothing was written" in repartition(*undo).ok().out
    assert committed(kafka.bootstrap, group, target, 10) != [None] * 10
    repartition(*undo, "--execute").ok()
    assert committed(kafka.bootstrap, group, target, 10) == [None] * 10
    assert committed(kafka.bootstrap, group, source, 6) == row["source_offsets"]


def test_groups_that_stand_anywhere(kafka, topic, target, repartition):
    """Several at once: at the beginning, unevenly in the middle, at the end; and the job was killed in between."""
    source = topic("anywhere", partitions=6)
    fill(kafka.bootstrap, source, RECORDS)
    ends = {p: sum(1 for r in read(kafka.bootstrap, source) if r.partition == p) for p in range(6)}
    groups = {unique("begin"): {p: 0 for p in ends}, unique("end"): dict(ends),
              unique("uneven"): {p: end * (p + 1) // 7 for p, end in ends.items()},
              unique("even"): {p: end // 2 for p, end in ends.items()}}
    for group, offsets in groups.items():
        commit(kafka.bootstrap, group, source, offsets)
    rewrite(repartition, kafka, source, target).ok()
    result = repartition("cutover", *groups, source, target, "-b", kafka.bootstrap, "--output", "json").ok().json()
    source_records, target_records = read(kafka.bootstrap, source), read(kafka.bootstrap, target)
    rows = {g: assert_exact(result, g, source_records, target_records) for g in groups}
    begin, end, _, even = rows.values()
    assert begin["again"] == 0 and begin["unread"] == RECORDS
    assert end["again"] == 0 and end["unread"] == 0
    assert even["again"] < RECORDS // 4  # a transaction's worth or so, not the whole half
    text = " ".join(repartition("cutover", *groups, source, target, "-b", kafka.bootstrap).ok().out.split())
    assert "verified: 20,000" in text.replace("20000", "20,000") and "nothing was written" in text


def test_groups_that_stand_anywhere_behind_workers_that_went_on_after_a_kill(kafka, topic, target, repartition):
    """A worker that finds the others' progress stored must say nothing of their partitions: it does not see where they write."""
    source = topic("workers", partitions=WORKERS_PARTITIONS)
    fill_by_java(kafka.bootstrap, source, RECORDS)
    ends = Counter(r.partition for r in read(kafka.bootstrap, source))
    groups = {unique(f"group{i}"): {p: end * (1 + (p + i) % 4) // 5 for p, end in ends.items()} for i in range(4)}
    for group, offsets in groups.items():
        commit(kafka.bootstrap, group, source, offsets)
    run = workers_command(kafka, source, target, 3, *SLOW, "--throttle-records", RECORDS // 4)
    process = repartition.start(*run)
    await_progress(kafka.bootstrap, source, f"keyroute.{source}.{target}", RECORDS // 20, process)
    assert process.poll() is None, "it was done before it could be killed"
    process.kill()
    process.wait()
    assert repartition(*run).ok().json()["result"]["resumed"]
    result = repartition("cutover", *groups, source, target, "-b", kafka.bootstrap, "--output", "json").ok().json()
    source_records, target_records = read(kafka.bootstrap, source), read(kafka.bootstrap, target)
    for group in groups:
        assert_exact(result, group, source_records, target_records)


# ---------------------------------------------------------------- behind a follow


def await_holders(kafka, job, count, seconds=90):
    deadline = time.monotonic() + seconds
    while holders(kafka, job) != count:
        assert time.monotonic() < deadline, f"not {count} members with partitions after {seconds} s"
        time.sleep(0.2)


@pytest.mark.parametrize("begins", ["rewrite", "earliest"])
def test_a_java_consumer_moves_while_three_instances_copy(kafka, topic, target, daemons, repartition, java_run, tmp_path, begins):
    """By what a rewrite and the instances of a follow have left, of which one was killed and one came later."""
    source, group, back = topic("live", partitions=6), unique("group"), tmp_path / "back.json"
    writer, job = Writer(kafka.bootstrap, source, 6).write(3000), job_of(source, target)
    commit(kafka.bootstrap, group, source, {p: 0 for p in range(6)})
    kafka.create(target, 10)
    if begins == "rewrite":
        rewrite(repartition, kafka, source, target).ok()
    follow = daemons(source, target, "-b", kafka.bootstrap, "--from", begins, *SMALL)
    running = [follow.start() for _ in range(3)]
    await_holders(kafka, job, 3)
    for round_ in range(8):
        writer.write(2000)
        if round_ == 3:
            follow.kill(running[0])
        if round_ == 5:
            await_holders(kafka, job, 2)
            follow.start()
            await_holders(kafka, job, 3)
        await_lag_zero(kafka.bootstrap, source, job, daemons=follow)
        time.sleep(1)  # what was copied within a second is told apart no further
    consume = ("Consume.java", "--bootstrap-server", kafka.bootstrap, "--group", group)
    before = java_run(*consume, "--topic", source, "--at-most", 10_000, "-X",
                      "max.partition.fetch.bytes=3000").ok().out.splitlines()
    assert 10_000 <= len(before) < writer.written
    run = ("cutover", group, source, target, "-b", kafka.bootstrap, "--output", "json")
    row = assert_exact(repartition(*run).ok().json(), group, read(kafka.bootstrap, source), read(kafka.bootstrap, target))
    assert row["again"] < 6000 and row["from_beginning_partitions"] == 0  # of 10,000: some rounds, not all
    done = repartition(*run, "--execute", "--rollback", back).ok().json()
    assert done["executed"] and committed(kafka.bootstrap, group, target, 10) == row["target_offsets"]
    writer.write(2000)  # consumers have moved, producers have not
    await_lag_zero(kafka.bootstrap, source, job, daemons=follow)
    after = java_run(*consume, "--topic", target).ok().out.splitlines()
    first, second = (Counter(line.split("\t")[2] for line in lines) for lines in (before, after))
    assert set(first) | set(second) == {str(i) for i in range(writer.written)}
    assert max(first.values()) == max(second.values()) == 1
    assert len(set(first) & set(second)) == row["again"]
    follow.end_all()
    verified = repartition("verify", source, target, "-b", kafka.bootstrap, "--output", "json").ok().json()
    assert verified["equal"] and verified["target"]["records"] == writer.written


def test_groups_move_while_producers_write_and_instances_commit(kafka, topic, target, daemons, repartition, java_run, tmp_path):
    """There is no moment at which nothing is open; what is on its way is told from what is missing."""
    source, group = topic("busy", partitions=6), unique("group")
    writer, job = Writer(kafka.bootstrap, source, 6).write(5000), job_of(source, target)
    commit(kafka.bootstrap, group, source, {p: 0 for p in range(6)})
    kafka.create(target, 10)
    follow = daemons(source, target, "-b", kafka.bootstrap, "--transaction-ms", 1000)
    for _ in range(3):
        follow.start()
    await_holders(kafka, job, 3)
    await_lag_zero(kafka.bootstrap, source, job, daemons=follow)
    consume = ("Consume.java", "--bootstrap-server", kafka.bootstrap, "--group", group)
    before = java_run(*consume, "--topic", source, "--at-most", 3000, "-X", "max.partition.fetch.bytes=3000").ok().out
    is_over = threading.Event()

    def write():
        while not is_over.is_set():
            writer.write(20)
            time.sleep(0.02)

    producer = threading.Thread(target=write)
    producer.start()
    try:
        verify = ("verify", source, target, "-b", kafka.bootstrap, "--output", "json")
        verified = [repartition(*verify).ok().json() for _ in range(3)]
        done = repartition("cutover", group, source, target, "-b", kafka.bootstrap, "--output", "json", "--execute", "--rollback",
                           tmp_path / "back.json").ok().json()
    finally:
        is_over.set()
        producer.join()
    assert any(report["in_flight"] for report in verified)
    await_lag_zero(kafka.bootstrap, source, job, daemons=follow)
    after = java_run(*consume, "--topic", target).ok().out
    follow.end_all()
    first, second = ({line.split("\t")[2] for line in text.splitlines()} for text in (before, after))
    assert first | second == {str(i) for i in range(writer.written)}
    assert len(first & second) <= done["groups"][0]["again"]
    repartition("verify", source, target, "-b", kafka.bootstrap).ok()


def test_what_is_known_without_a_topic_of_jobs(kafka, topic, target, daemons, repartition):
    """How things are now, and where copying began."""
    source, job = topic("bare", partitions=4), unique("job")
    writer = Writer(kafka.bootstrap, source, 4).write(400)
    kafka.create(target, 3)
    follow = daemons(source, target, "-b", kafka.bootstrap, "--from", "latest", "--job", job, "--jobs-topic", "none")
    follow.start()
    await_lag_zero(kafka.bootstrap, source, job, daemons=follow)
    middle = {p: end for p, end in enumerate(end_offsets(kafka.bootstrap, source))}
    writer.write(400)
    await_lag_zero(kafka.bootstrap, source, job, daemons=follow)
    follow.end_all()
    groups = {unique("all"): dict(enumerate(end_offsets(kafka.bootstrap, source))), unique("some"): middle}
    before = unique("before")
    for group, offsets in {**groups, before: {p: end - 1 for p, end in middle.items()}}.items():
        commit(kafka.bootstrap, group, source, offsets)
    run = ("cutover", "--job", job, "-b", kafka.bootstrap, "--output", "json")
    result = repartition(*run, *groups, source, target).ok().json()
    source_records, target_records = read(kafka.bootstrap, source), read(kafka.bootstrap, target)
    assert len(target_records) == 400
    source_records = [r for r in source_records if r.offset >= middle[r.partition]]  # the others were never copied
    rows = [assert_exact(result, group, source_records, target_records) for group in groups]
    assert [row["from_beginning_partitions"] for row in rows] == [0, 4] and rows[0]["again"] == rows[1]["again"] == 0
    refused = repartition(*run, before, source, target).ends_with(2).json()["groups"][0]["refused"]
    assert "but copying began at" in refused and f'is not in "{target}"' in refused


# ---------------------------------------------------------------- what is refused


def test_refuses_what_would_lose_records(kafka, topic, target, repartition, tmp_path):
    source = topic("refused", partitions=4)
    fill(kafka.bootstrap, source, 4000, partitions=4)
    b = ("-b", kafka.bootstrap)
    none, partial, fine, active = unique("none"), unique("partial"), unique("fine"), unique("active")
    assert "has copied nothing" in repartition("cutover", none, source, topic("empty", partitions=4), *b).ends_with(2).err
    repartition("rewrite", source, target, "--partitions", 4, *b, "--execute", *MERGE).ok()
    commit(kafka.bootstrap, partial, source, {0: 10, 2: 20})
    commit(kafka.bootstrap, fine, source, {p: 5 for p in range(4)})

    def refusal(group, *args):
        done = repartition("cutover", group, source, target, *b, "--output", "json", *args).ends_with(2).json()
        assert done["groups"][0]["target_offsets"] is None and not done["executed"]
        return done["groups"][0]["refused"]

    assert "has no offsets" in refusal(none)
    assert "no offset in 2 partitions" in refusal(partial) and "--missing earliest" in refusal(partial)
    allowed = repartition("cutover", partial, source, target, *b, "--missing", "earliest", "--output", "json").ok().json()
    assert allowed["groups"][0]["assumed_unread_partitions"] == 2
    assert_exact(allowed, partial, read(kafka.bootstrap, source), read(kafka.bootstrap, target))

    member = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": active, "client.id": "busy one"})
    member.subscribe([source])
    for _ in range(100):
        member.poll(0.1)
        if member.assignment():
            break
    text = refusal(active, "--execute", "--rollback", tmp_path / "none.json")
    member.close()
    assert "active" in text and "busy one" in text
    assert not (tmp_path / "none.json").exists()

    fill(kafka.bootstrap, source, 400, partitions=4, start=4000)  # read further than was copied
    ahead = unique("ahead")
    commit(kafka.bootstrap, ahead, source, {p: 1050 for p in range(4)})
    assert "run rewrite again" in refusal(ahead)
    done = repartition("cutover", fine, source, target, *b, "--output", "json").ok().json()
    assert done["not_copied_at_most"] == 400


def test_nothing_moves_while_topics_differ(kafka, topic, target, repartition, tmp_path):
    source, group = topic("differ", partitions=4), unique("group")
    fill(kafka.bootstrap, source, 2000, partitions=4)
    commit(kafka.bootstrap, group, source, {p: 5 for p in range(4)})
    repartition("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--execute", *MERGE).ok()
    run = ("cutover", group, source, target, "-b", kafka.bootstrap)
    report = tmp_path / "verify.json"
    report.write_text(repartition("verify", source, target, "-b", kafka.bootstrap, "--output", "json").ok().out)
    taken = repartition(*run, "--verified", report, "--output", "json").ok().json()
    assert taken["verified"] and taken == {**repartition(*run, "--output", "json").ok().json(), "verdict": taken["verdict"]}
    for path in (tmp_path, tmp_path / "none" / "back.json"):
        broken = repartition(*run, "--execute", "--rollback", path).ends_with(2)
        assert str(path) in broken.err and "To store these" not in broken.out and "an error ended it before" in broken.out
    fill(kafka.bootstrap, target, 10, partitions=4, start=10_000)  # somebody else writes there
    refused = repartition(*run, "--execute", "--rollback", tmp_path / "back.json").ends_with(1)
    assert "not find the topics equal" in refused.out and not (tmp_path / "back.json").exists()
    assert "other ends" in repartition(*run, "--verified", report).ends_with(2).err
    assert committed(kafka.bootstrap, group, target, 4) == [None] * 4


def test_all_groups_go_back_or_none(kafka, topic, target, repartition, tmp_path):
    source, groups, back = topic("back", partitions=4), [unique("calm"), unique("busy")], tmp_path / "back.json"
    fill(kafka.bootstrap, source, 400, partitions=4)
    for group in groups:
        commit(kafka.bootstrap, group, source, {p: 5 for p in range(4)})
    b = ("-b", kafka.bootstrap)
    repartition("rewrite", source, target, "--partitions", 4, *b, "--execute", *MERGE).ok()
    repartition("cutover", *groups, source, target, *b, "--execute", "--rollback", back).ok()
    moved = committed(kafka.bootstrap, groups[0], target, 4)
    assert None not in moved

    member = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": groups[1]})
    member.subscribe([target])
    while not member.assignment():
        member.poll(0.1)
    refused = repartition("cutover", "--undo", back, *b, "--execute").ends_with(2)
    member.close()
    assert f'"{groups[1]}" is active' in refused.err and committed(kafka.bootstrap, groups[0], target, 4) == moved

    delete_topic(kafka, source)  # there is nothing to go back to
    for args in ((), ("--execute",)):
        gone = repartition("cutover", "--undo", back, *b, *args).ends_with(2)
        assert f'topic "{source}" does not exist' in gone.err and not gone.out
    assert committed(kafka.bootstrap, groups[0], target, 4) == moved


def test_usage(repartition, tmp_path):
    assert "GROUP... SRC DST" in repartition("cutover", "g", "a", "-b", "127.0.0.1:1").ends_with(2).err
    assert "both" in repartition("cutover", "g", "a", "a", "-b", "127.0.0.1:1").ends_with(2).err
    assert "--undo" in repartition("cutover", "g", "a", "b", "--undo", "x", "-b", "127.0.0.1:1").ends_with(2).err
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert "is not what" in repartition("cutover", "--undo", other, "-b", "127.0.0.1:1").ends_with(2).err


# ---------------------------------------------------------------- after a repair in place


def test_reprocess_begins_before_the_first_misplaced_record(kafka, topic, repartition, tmp_path):
    source, group, fresh, back = topic("again", partitions=6), unique("group"), unique("fresh"), tmp_path / "back.json"
    fill(kafka.bootstrap, source, 6000, keys=500)
    records = read(kafka.bootstrap, source)
    misplaced = [r for r in records if java_partition(r.key, 6) != r.partition]
    expected = []
    for p in range(6):
        wrong_here = [r.offset for r in misplaced if r.partition == p]
        missed = [r.timestamp for r in misplaced if java_partition(r.key, 6) == p]
        since = [r.offset for r in records if r.partition == p and missed and r.timestamp >= min(missed)]
        expected.append(min(wrong_here + since[:1], default=None))
    assert None not in expected
    commit(kafka.bootstrap, group, source, {p: 700 for p in range(6)})
    commit(kafka.bootstrap, fresh, source, {p: 0 for p in range(6)})
    run = ("cutover", "--reprocess", group, fresh, source, "-b", kafka.bootstrap)
    found = repartition(*run, "--output", "json").ok().json()
    assert found["misplaced"] == len(misplaced) and found["reprocess_from"] == expected
    assert found["groups"][0]["offsets"] == expected and found["groups"][1]["offsets"] == [None] * 6
    assert found["groups"][0]["again_at_most"] == sum(700 - e for e in expected)
    assert "read again from" in repartition(*run).ok().out
    repartition(*run, "--execute", "--rollback", back).ok()
    assert committed(kafka.bootstrap, group, source, 6) == expected
    assert committed(kafka.bootstrap, fresh, source, 6) == [0] * 6
    repartition("cutover", "--undo", back, "-b", kafka.bootstrap, "--execute").ok()
    assert committed(kafka.bootstrap, group, source, 6) == [700] * 6
