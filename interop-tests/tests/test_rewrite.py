"""rewrite on a real Kafka: nothing changed, nothing lost, nothing doubled, order kept, whatever is killed meanwhile."""

import json
import shlex
import signal
import time

import pytest
from confluent_kafka import Producer
from records import await_progress, end_offsets, is_stable, java_partition, read, sequences, stored_progress
from support import HANG_S, unique

MB = 1 << 20
START_MS = int(time.time() * 1000) - 3_600_000
MERGE = ("--order", "merge")  # fill() writes keys that live in two partitions
SLOW = ("-X", "queue.buffering.max.messages=500", "--transaction-ms", 200)  # so that a job lives for a while


@pytest.fixture
def target():
    return unique("target")


def job_of(source, target):
    return f"keyroute.{source}.{target}"


def producer(bootstrap, **config):
    # Idempotent: a partition of a new topic may answer late, and the records of a retry must not change places.
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True,
                     **{name.replace("_", "."): value for name, value in config.items()}})


def fill(bootstrap, topic, count, keys=2000, partitions=6, start=0):
    """Unique values with rising times; every third key is written by two producers, so it lives in two partitions."""
    p = producer(bootstrap, queue_buffering_max_messages=1000000)
    for i in range(start, start + count):
        key = b"key-%d" % (i % keys)
        home = java_partition(key, partitions)
        if i % 3 == 0 and i // keys % 2:
            home = (home + 1) % partitions
        p.produce(topic, key=key, value=b"%d" % i, partition=home, timestamp=START_MS + i)
        if i % 5000 == 0:
            p.poll(0)
    assert p.flush(120) == 0


def assert_image(source_records, target_records, partitions):
    """By a judge that shares no code with the tool: same contents, each key in its one place, in order of time."""
    assert sorted(map(repr, (r.content for r in source_records))) == sorted(map(repr, (r.content for r in target_records)))
    for record in target_records:
        if record.key is not None:
            assert record.partition == java_partition(record.key, partitions), record
    for key, sequence in sequences(target_records).items():
        if key is not None:
            values = [int(value) for _, value, _, _ in sequence]
            assert values == sorted(values), f"{key} is out of order"


def settings_of(kafka, topic):
    described = kafka.tool("kafka-configs", "--bootstrap-server", kafka.bootstrap, "--describe", "--entity-type", "topics",
                           "--entity-name", topic).ok()
    return sorted(line.split()[0] for line in described.out.splitlines() if line.startswith("  "))


# ---------------------------------------------------------------- byte for byte


def assorted(bootstrap, topic, java_run):
    """Everything that a record can be, in transactions of which some are aborted, the last one too."""
    p = producer(bootstrap, transactional_id=unique("assorted"), message_max_bytes=4 * MB)
    p.init_transactions(30)

    def put(partition, key, value, headers=None, timestamp=0):
        p.produce(topic, key=key, value=value, partition=partition, headers=headers,
                  timestamp=timestamp or 1_700_000_000_000)

    def transaction(is_aborted, *records):
        p.begin_transaction()
        for partition, key, value, *more in records:
            put(partition, key, value, *more)
        p.flush(30)
        (p.abort_transaction if is_aborted else p.commit_transaction)(30)

    transaction(True, *[(i % 3, b"void-%d" % i, b"void") for i in range(50)])
    transaction(False,
                (0, None, None), (0, None, b""), (0, b"", None), (0, b"", b""), (1, b"key", None), (1, b"key", b"value"),
                (1, b"key", b"\x00\xff" * 500), (1, None, b"keyless"), (2, b"\xff\xfe\x00", b"binary"),
                (2, b"k" * 70000, b"long key"),
                (0, b"h", b"v", [("a", b"1"), ("a", b"1"), ("b", None), ("b", b""), ("", b"nameless"), ("a", None)]),
                (1, b"h", None, [("only", None)]),
                (2, b"h2", b"x" * 5000, [("large", b"\x00" * 3000)]),
                (2, b"time", b"one", None, 1), (2, b"time", b"far", None, 4_102_444_800_000))
    transaction(True, *[(i % 3, b"void-%d" % i, b"void" * 1000) for i in range(50)])
    transaction(False, *[(i % 3, b"large-%d" % i, bytes([i]) * (MB + i)) for i in range(6)],
                *[(i % 3, b"medium-%d" % i, bytes([i]) * (1500 + 100 * i)) for i in range(20)])
    # librdkafka cannot be asked for time 0, Java's client can.
    java_run("Produce.java", "--bootstrap-server", bootstrap, "--topic", topic, stdin="zero\tfirst\t0\nzero\tsecond\t0\n").ok()
    transaction(True, *[(i % 3, b"void-%d" % i, b"void") for i in range(50)])


def test_every_byte_goes_over(kafka, topic, target, repartition, librdkafka, java_run):
    source = topic("assorted", partitions=4, retention_ms=-1, max_message_bytes=3 * MB,  # the last one: only Java's choice
                   message_timestamp_after_max_ms=2**63 - 1)
    assorted(kafka.bootstrap, source, java_run)
    done = repartition("rewrite", source, target, "--partitions", 7, "-b", kafka.bootstrap, "--execute", "--output", "json",
                       *MERGE, librdkafka=librdkafka).ok().json()
    ours, theirs = read(kafka.bootstrap, source), read(kafka.bootstrap, target)
    assert len(ours) == 15 + 26 + 2
    assert sorted(map(repr, (r.content for r in ours))) == sorted(map(repr, (r.content for r in theirs)))
    assert [r.content for r in theirs if r.key == b"zero"] == [(b"zero", b"first", (), 0), (b"zero", b"second", (), 0)]
    for record in theirs:
        if record.key is not None:
            assert record.partition == java_partition(record.key, 7)
    for key, sequence in sequences(ours).items():
        if key is not None:
            assert sequences(theirs)[key] == sequence
    result = done["result"]
    assert result["finished"] and result["records"] == len(ours) and result["keyless"] == sum(r.key is None for r in ours)
    assert result["moved"] == sum(r.key is not None and java_partition(r.key, 7) != r.partition for r in ours)
    assert result["misplaced"] == sum(r.key is not None and java_partition(r.key, 4) != r.partition for r in ours)
    assert result["transactions_uncertain"] == result["recoveries"] == 0
    assert settings_of(kafka, target) == settings_of(kafka, source) != []
    repartition("verify", source, target, "-b", kafka.bootstrap, librdkafka=librdkafka).ok()


def test_a_record_that_is_long_until_it_is_compressed(kafka, topic, target, repartition, librdkafka):
    source = topic("packed", partitions=2)  # takes 1 MB, compressed
    p = producer(kafka.bootstrap, **{"message.max.bytes": 50 * MB, "queue.buffering.max.kbytes": 100 * 1024,
                                     "compression.type": "gzip", "batch.size": 1})
    lengths = 10, 12 * MB, 11, 5 * MB, 12
    for i, length in enumerate(lengths):
        p.produce(source, key=b"%d" % i, value=b"v" * length)
    assert p.flush(60) == 0
    run = ("rewrite", source, target, "--partitions", 3, "-b", kafka.bootstrap, "--execute", "--compression", "gzip")
    result = repartition(*run, "--output", "json", librdkafka=librdkafka).ok().json()["result"]
    assert result["finished"] and result["records"] == 5
    found = sorted((r.key, r.value) for r in read(kafka.bootstrap, target))
    assert found == [(b"%d" % i, b"v" * length) for i, length in enumerate(lengths)]


def test_second_run_writes_nothing_third_only_what_is_new(kafka, topic, target, repartition):
    source = topic("again", partitions=6)
    run = ("rewrite", source, target, "--partitions", 9, "-b", kafka.bootstrap, "--execute", *MERGE)
    fill(kafka.bootstrap, source, 3000)
    repartition(*run).ok()
    before = end_offsets(kafka.bootstrap, target)
    again = repartition(*run).ok()
    assert "nothing was new" in again.out
    assert end_offsets(kafka.bootstrap, target) == before  # not even a control record
    fill(kafka.bootstrap, source, 500, start=3000)
    more = repartition(*run, "--output", "json").ok().json()
    assert more["result"]["records"] == 500 and more["result"]["resumed"]
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 9)
    repartition("verify", source, target, "-b", kafka.bootstrap).ok()


def test_plan_writes_nothing(kafka, topic, target, repartition):
    source = topic("plan", partitions=6)
    fill(kafka.bootstrap, source, 2000)
    plan = repartition("rewrite", source, target, "--partitions", 9, "-b", kafka.bootstrap, "--output", "json",
                       *MERGE).ok().json()
    records = read(kafka.bootstrap, source)
    moved = sum(java_partition(r.key, 9) != r.partition for r in records)
    assert plan["plan"]["records_at_most"] == 2000 and not plan["executed"] and plan["result"] is None
    assert plan["plan"]["moved_share"] == pytest.approx(moved / 2000)
    assert plan["plan"]["misplaced_share"] == pytest.approx(sum(java_partition(r.key, 6) != r.partition for r in records) / 2000)
    listed = kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list").ok()
    assert target not in listed.out.split()
    assert stored_progress(kafka.bootstrap, source, job_of(source, target)) == -1
    text = repartition("rewrite", source, target, "--partitions", 9, "-b", kafka.bootstrap, *MERGE).ok().out
    assert "nothing was written" in text and "--execute" in text


def test_a_plan_reads_few_of_many_long_records(kafka, topic, target, repartition):
    """14,000 records are few, but 140 MB much: a plan looks at 64 MiB of them, or at all when told so."""
    source = topic("long", partitions=4)
    p = producer(kafka.bootstrap, compression_type="lz4")
    for i in range(14_000):
        p.produce(source, key=b"key-%d" % i, value=bytes(10_000), partition=i % 4)
        p.poll(0)
    assert p.flush(120) == 0
    run = ("rewrite", source, target, "--partitions", 8, "-b", kafka.bootstrap, *MERGE, "--output", "json")
    plan = repartition(*run).ok().json()["plan"]
    assert plan["records_at_most"] == 14_000 and plan["sampled"] and 3_000 < plan["records_seen"] < 7_500
    exact = repartition(*run, "--exact").ok().json()["plan"]
    assert exact["records_seen"] == 14_000 and not exact["sampled"]
    assert plan["moved_share"] == pytest.approx(exact["moved_share"], abs=0.05)


# ---------------------------------------------------------------- under fire


def test_kill_9_again_and_again(kafka, topic, target, repartition, librdkafka):
    source = topic("kills", partitions=6)
    fill(kafka.bootstrap, source, 300_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    progress = -1
    for _ in range(4):  # each life ends in the middle of a transaction that is open while others were committed
        process = repartition.start(*run, *SLOW, librdkafka=librdkafka)
        progress = await_progress(kafka.bootstrap, source, job_of(source, target), progress + 2000, process)
        time.sleep(0.35)
        assert process.poll() is None, "it was done before it could be killed"
        process.kill()
        process.wait()
    done = repartition(*run, "--output", "json", librdkafka=librdkafka).ok().json()
    assert done["result"]["resumed"] and 0 < done["result"]["records"] < 300_000
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)
    repartition("verify", source, target, "-b", kafka.bootstrap, librdkafka=librdkafka).ok()
    before = end_offsets(kafka.bootstrap, target)
    repartition(*run, librdkafka=librdkafka).ok()
    assert end_offsets(kafka.bootstrap, target) == before


def test_of_two_runs_one_is_fenced(kafka, topic, target, repartition, librdkafka):
    source = topic("twins", partitions=6)
    fill(kafka.bootstrap, source, 200_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    first = repartition.start(*run, *SLOW, librdkafka=librdkafka, stderr=-1)
    await_progress(kafka.bootstrap, source, job_of(source, target), 1000, first)
    repartition(*run, "--take-over", librdkafka=librdkafka).ok()
    _, err = first.communicate(timeout=120)
    assert first.returncode == 4, err
    assert b"fenced" in err and b"another run of this job" in err
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)


def test_a_run_that_slept_finds_itself_replaced(kafka, topic, target, repartition):
    source = topic("zombie", partitions=6)
    fill(kafka.bootstrap, source, 200_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    zombie = repartition.start(*run, *SLOW, stderr=-1)
    await_progress(kafka.bootstrap, source, job_of(source, target), 1000, zombie)
    zombie.send_signal(signal.SIGSTOP)
    try:
        repartition(*run).ok()
        before = read(kafka.bootstrap, target)
    finally:
        zombie.send_signal(signal.SIGCONT)
    _, err = zombie.communicate(timeout=120)
    assert zombie.returncode == 4, err
    assert read(kafka.bootstrap, target) == before
    assert_image(read(kafka.bootstrap, source), before, 10)


def test_a_run_that_slept_too_long_goes_on(kafka, topic, target, repartition):
    """Its transaction timed out meanwhile, in the same words as if it were fenced; but nobody took over."""
    source = topic("sleeper", partitions=6)
    fill(kafka.bootstrap, source, 100_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    sleeper = repartition.start(*run, *SLOW, "--output", "json", stderr=-1)
    await_progress(kafka.bootstrap, source, job_of(source, target), 1000, sleeper)
    sleeper.send_signal(signal.SIGSTOP)
    while is_stable(kafka.bootstrap, target):  # that was between two transactions
        sleeper.send_signal(signal.SIGCONT)
        time.sleep(0.03)
        assert sleeper.poll() is None, "it was done before it could sleep"
        sleeper.send_signal(signal.SIGSTOP)
    while not is_stable(kafka.bootstrap, target):  # until the coordinator has ended its transaction
        time.sleep(0.2)
    sleeper.send_signal(signal.SIGCONT)
    _, err = sleeper.communicate(timeout=120)
    assert sleeper.returncode == 0, err
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_in_order_and_goes_on(kafka, topic, target, repartition, number):
    source = topic("stop", partitions=6)
    fill(kafka.bootstrap, source, 100_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    process = repartition.start(*run, *SLOW, stdout=-1)
    await_progress(kafka.bootstrap, source, job_of(source, target), 1000, process)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"not finished; the progress is kept" in out
    # It committed what it had: nothing is left open that a reader of the target would have to wait for.
    kept = stored_progress(kafka.bootstrap, source, job_of(source, target))
    assert len(read(kafka.bootstrap, target)) == kept
    done = repartition(*run, "--output", "json").ok().json()
    assert done["result"]["records"] == 100_000 - kept
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)


def test_brokers_die_in_the_middle(kafka3, topic, target, repartition, librdkafka):
    source = topic("brokers", partitions=6, cluster=kafka3)
    fill(kafka3.bootstrap, source, 60_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka3.bootstrap, "--execute", "--output", "json", *MERGE)
    process = repartition.start(*run, *SLOW, librdkafka=librdkafka, stdout=-1, stderr=-1)
    progress = await_progress(kafka3.bootstrap, source, job_of(source, target), 1000, process)
    for broker in (1, 2, 3):
        kafka3.kill(broker)
        try:
            time.sleep(1)
        finally:
            kafka3.restart(broker)
        if process.poll() is None:
            progress = max(progress, stored_progress(kafka3.bootstrap, source, job_of(source, target)))
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, (out, err)
    assert_image(read(kafka3.bootstrap, source), read(kafka3.bootstrap, target), 10)
    repartition("verify", source, target, "-b", kafka3.bootstrap, librdkafka=librdkafka).ok()


def test_deleted_source_records_are_told(kafka, topic, target, repartition, tmp_path):
    source = topic("gap", partitions=2)
    run = ("rewrite", source, target, "--partitions", 3, "-b", kafka.bootstrap, "--execute")
    p = producer(kafka.bootstrap)
    for i in range(100):
        p.produce(source, key=b"k%d" % i, value=b"%d" % i, partition=i % 2)
    p.flush(30)
    repartition(*run).ok()
    for i in range(100):
        p.produce(source, key=b"k%d" % i, value=b"%d" % i, partition=i % 2)
    p.flush(30)
    wish = tmp_path / "delete.json"
    wish.write_text('{"partitions": [{"topic": "%s", "partition": 1, "offset": 70}], "version": 1}' % source)
    kafka.tool("kafka-delete-records", "--bootstrap-server", kafka.bootstrap, "--offset-json-file", wish).ok()
    refused = repartition(*run).ends_with(3)
    assert "partition 1" in refused.err and "50 to 69" in refused.err and "deleted" in refused.err
    assert len(read(kafka.bootstrap, target)) == 100


def test_what_an_open_transaction_hides_is_told(kafka, topic, target, repartition):
    source = topic("hidden", partitions=2)
    run = ("rewrite", source, target, "--partitions", 3, "-b", kafka.bootstrap, "--output", "json", *MERGE)
    fill(kafka.bootstrap, source, 100, partitions=2)
    foreign = producer(kafka.bootstrap, transactional_id=unique("foreign"))
    foreign.init_transactions(60)
    foreign.begin_transaction()
    foreign.produce(source, key=b"void", value=b"0", partition=1)
    assert foreign.flush(60) == 0
    stable, (_, end) = len([r for r in read(kafka.bootstrap, source) if r.partition == 1]), end_offsets(kafka.bootstrap, source)
    fill(kafka.bootstrap, source, 60, partitions=2, start=100)
    hidden = end_offsets(kafka.bootstrap, source)[1] - stable
    assert hidden > 1 and end == stable + 1
    text = f"hide {hidden} offsets in 1 partition (partition 1 of \"{source}\" from {stable} on)"
    for more in ((), ("--execute",)):
        done = repartition(*run, *more).ok()
        said, = [f for f in done.json()["findings"] if f["id"] == "open-transaction"]
        assert said["severity"] == "note" and text in said["text"]
    assert done.json()["result"]["hidden"] == hidden and f"{hidden} offsets behind open transactions" in done.err
    assert len(read(kafka.bootstrap, target)) == done.json()["result"]["records"] == 160 - (hidden - 1)
    foreign.abort_transaction(60)
    done = repartition(*run, "--execute").ok().json()
    assert done["result"]["hidden"] == 0 and "open-transaction" not in {f["id"] for f in done["findings"]}
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 3)


# ---------------------------------------------------------------- before anything is written


def plan(repartition, kafka, source, target, *args, partitions=4):
    """@returns the ids of the findings by severity, and the exit code."""
    run = repartition("rewrite", source, target, "--partitions", partitions, "-b", kafka.bootstrap, "--output", "json", *args)
    findings = run.json()["findings"]
    return {kind: {f["id"] for f in findings if f["severity"] == kind} for kind in ("refused", "warning", "note")}, run.rc


def put(kafka, topic, *records):
    p = producer(kafka.bootstrap)
    for partition, key, value, timestamp in records:
        p.produce(topic, key=key, value=value, partition=partition, timestamp=timestamp or int(time.time() * 1000))
    assert p.flush(30) == 0


def test_refuses_what_cannot_be_right(kafka, topic, target, repartition):
    source, b = topic("source", partitions=2), ("-b", kafka.bootstrap)
    put(kafka, source, (0, b"a", b"1", None))
    missing = repartition("rewrite", unique("none"), target, "--partitions", 4, *b, "--execute").ends_with(2)
    assert "does not exist" in missing.err
    assert "both" in repartition("rewrite", source, source, "--partitions", 4, *b).ends_with(2).err
    assert "--partitions" in repartition("rewrite", source, target, *b).ends_with(2).err

    other_count = topic("count", partitions=3)
    assert plan(repartition, kafka, source, other_count, "--execute") == (
        {"refused": {"partition-count"}, "warning": set(), "note": set()}, 2)
    not_empty = topic("full", partitions=4)
    put(kafka, not_empty, (0, b"a", b"1", None))
    assert plan(repartition, kafka, source, not_empty, "--execute")[0]["refused"] == {"not-empty"}
    assert len(read(kafka.bootstrap, not_empty)) == 1
    assert plan(repartition, kafka, source, target, "--replication-factor", 2)[0]["refused"] == {"replication"}
    nonsense = repartition("rewrite", source, target, "--partitions", 4, *b, "--execute", "--config", "no.such=1").ends_with(2)
    assert "no.such" in nonsense.out  # a finding of the plan


def test_refuses_to_change_times(kafka, topic, target, repartition):
    source = topic("stamped", partitions=2, message_timestamp_type="LogAppendTime")
    put(kafka, source, (0, b"a", b"1", None))
    findings, rc = plan(repartition, kafka, source, target, "--execute")
    assert rc == 2 and findings["refused"] == {"timestamp-type"}
    repartition("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--execute", "--config",
                "message.timestamp.type=CreateTime").ok()
    assert [r.content for r in read(kafka.bootstrap, target)] == [r.content for r in read(kafka.bootstrap, source)]
    repartition("verify", source, target, "-b", kafka.bootstrap).ok()


def test_warns_that_old_records_will_not_stay(kafka, topic, target, repartition):
    source = topic("old", partitions=2, retention_ms=3_600_000)
    old = int(time.time() * 1000) - 86_400_000
    put(kafka, source, (0, b"a", b"1", old), (1, b"b", b"2", None))
    findings, rc = plan(repartition, kafka, source, target)
    assert rc == 0 and findings["warning"] == {"retention"}
    assert plan(repartition, kafka, source, target, "--config", "retention.ms=-1")[0]["warning"] == set()
    refused = plan(repartition, kafka, source, target, "--config", "retention.ms=-1", "--config",
                   "message.timestamp.before.max.ms=3600000")[0]["refused"]
    assert refused == {"timestamp-before"}


def test_compacted_topics_take_no_keyless_records(kafka, topic, target, repartition):
    source = topic("keyless", partitions=2)
    put(kafka, source, (0, None, b"1", None), (0, b"a", b"2", None))
    findings, rc = plan(repartition, kafka, source, target, "--config", "cleanup.policy=compact")
    assert rc == 2 and findings["refused"] == {"compacted-keyless"} and "compacted" in findings["note"]


def test_record_that_the_target_does_not_take_is_named(kafka, topic, target, repartition):
    source = topic("large", partitions=1, max_message_bytes=3 * MB)
    p = producer(kafka.bootstrap, message_max_bytes=4 * MB)
    p.produce(source, key=b"small", value=b"x")
    p.produce(source, key=b"large", value=b"x" * 2 * MB)
    p.flush(30)
    stopped = repartition("rewrite", source, target, "--partitions", 2, "-b", kafka.bootstrap, "--execute", "--config",
                          f"max.message.bytes={MB}").ends_with(3)
    assert "partition 0, offset 1" in stopped.err and "raise max.message.bytes of that topic" in stopped.err
    assert read(kafka.bootstrap, target) == []  # the transaction is all or nothing


def test_a_target_that_got_more_partitions_is_no_success(kafka, topic, target, repartition, tmp_path):
    source, hold = topic("wide", partitions=2), tmp_path / "hold"
    fill(kafka.bootstrap, source, 2000, partitions=2)
    run = ("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--execute", *MERGE)
    process = repartition.start(*run, *SLOW, "--throttle-records", 200, "--throttle-flag-file", hold, stderr=-1)
    await_progress(kafka.bootstrap, source, f"keyroute.{source}.{target}", 0, process)
    hold.touch()
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", target, "--partitions", 5).ok()
    hold.unlink()
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 2 and f'"{target}" has 5 partitions now'.encode() in err, err


def test_another_policy_does_not_go_on(kafka, topic, target, repartition):
    source = topic("policy", partitions=2)
    put(kafka, source, (0, b"a", b"1", None))
    run = ("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--execute")
    repartition(*run).ok()
    refused = repartition(*run, "--hash", "crc32").ends_with(2)
    assert "another job has stored its progress" in " ".join(refused.out.split())
    assert plan(repartition, kafka, source, target, "--hash", "crc32")[0]["refused"] == {"other-job"}
    assert plan(repartition, kafka, source, target, "--job", "another")[0]["refused"] == {"not-empty"}


def test_the_same_command_goes_on_whatever_it_created_the_target_with(kafka, topic, target, repartition):
    source = topic("again", partitions=2)
    put(kafka, source, (0, b"a", b"1", None))
    run = ("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--config", "retention.ms=86400000",
           "--replication-factor", 1, "--job", "a job")
    planned = repartition(*run).ok().out.splitlines()[-1]
    assert planned.endswith(f"--job 'a job' -b {kafka.bootstrap} --partitions 4 --replication-factor 1 "
                            "--config retention.ms=86400000 --execute")
    assert f"verify {source} {target} --job 'a job' -b {kafka.bootstrap}\n" in repartition(*run, "--execute").ok().out
    put(kafka, source, (0, b"a", b"2", None))
    repartition(*run, "--execute").ok()
    assert len(read(kafka.bootstrap, target)) == 2
    other = repartition(*run[:7], "--job", "a job", "--config", "retention.ms=5").ends_with(2)
    assert f'"{target}", but that topic exists with retention.ms=86400000' in other.err
    other = repartition(*run[:7], "--job", "a job", "--replication-factor", 2).ends_with(2)
    assert f'"{target}", but that topic exists with 1' in other.err


def test_a_backfill_is_warned_of(kafka, topic, target, repartition):
    source = topic("backfill", partitions=2)
    week = 7 * 24 * 3600 * 1000
    now = int(time.time() * 1000)
    put(kafka, source, (0, b"a", b"1", now - week), (0, b"b", b"1", now), (0, b"a", b"2", now - week), (1, b"a", b"3", now))
    findings = plan(repartition, kafka, source, target, *MERGE)[0]
    assert (findings["warning"], findings["note"]) == ({"split-keys-out-of-time"}, set())
    done = repartition("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--output", "json", "--execute",
                       *MERGE).ok().json()
    assert (done["plan"]["backward_share"], done["plan"]["step_back_ms"]) == (0.25, week)
    assert done["result"]["unordered"] == 1  # a=2, a week older than b=1 before it


# ---------------------------------------------------------------- keys that live in several partitions


def test_split_keys_are_counted_and_refused(kafka, topic, target, repartition):
    """By an independent count; and with little memory the source is read again instead of being guessed at."""
    source = topic("split", partitions=6)
    fill(kafka.bootstrap, source, 60_000, keys=40_000)
    places, records = {}, read(kafka.bootstrap, source)
    for record in records:
        places.setdefault(record.key, set()).add(record.partition)
    split = {key for key, where in places.items() if len(where) > 1}
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", "--output", "json")
    for memory in ("32M", "1M"):
        refused = repartition(*run, "--max-memory", memory).ends_with(2).json()
        finding, = (f for f in refused["findings"] if f["severity"] == "refused")
        assert finding["id"] == "split-keys" and "--order merge" in finding["text"]
        assert (refused["plan"]["keys_seen"], refused["plan"]["split_keys_seen"]) == (len(places), len(split))
        assert refused["plan"]["split_records"] == sum(r.key in split for r in records)
        assert refused["order"] == "refuse" and not refused["executed"]
    assert target not in kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list").ok().out.split()


def test_without_split_keys_nothing_is_refused(kafka, topic, target, repartition):
    source = topic("whole", partitions=6)
    p = producer(kafka.bootstrap)
    for i in range(3000):
        key = b"%d" % (i % 500)
        p.produce(source, key=key, value=b"%d" % i, partition=java_partition(key, 6), timestamp=START_MS - i)  # backwards
    assert p.flush(30) == 0
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", "--output", "json")
    done = repartition(*run).ok().json()
    assert done["result"]["records"] == 3000 and done["plan"]["split_keys_seen"] == 0
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)
    put(kafka, source, (0, b"1", b"x", None), (1, b"1", b"y", None))  # from now on it is split
    assert repartition(*run).ends_with(2).json()["plan"]["split_keys_seen"] == 1
    assert len(read(kafka.bootstrap, target)) == 3000


def test_no_broker_is_told_and_not_waited_for_long(repartition):
    refused = repartition("rewrite", "a", "b", "--partitions", 2, "-b", "127.0.0.1:1", "--timeout-ms", 2000).ends_with(3)
    assert "Connection refused" in refused.err


def test_the_embedded_cluster_is_served_too(sandbox, repartition, kcat):
    bootstrap = sandbox("source:3", "target:5")
    kcat("-b", bootstrap, "-P", "-t", "source", "-K", "\t", stdin="".join(f"key-{i}\t{i}\n" for i in range(1000))).ok()
    missing = repartition("rewrite", "source", "nowhere", "--partitions", 5, "-b", bootstrap, "--execute").ends_with(2)
    assert "does not exist" in missing.err
    assert "nowhere" not in kcat("-b", bootstrap, "-L").ok().out  # looking did not make it
    run = ("rewrite", "source", "target", "--partitions", 5, "-b", bootstrap, "--execute", "--output", "json")
    done = repartition(*run).ok().json()
    assert done["result"]["records"] == 1000
    assert {f["id"] for f in done["findings"]} == {"settings-unknown"}
    repartition("verify", "source", "target", "-b", bootstrap).ok()
    assert "not-empty" in {f["id"] for f in repartition(*run).ends_with(2).json()["findings"]}  # it keeps no progress


# ---------------------------------------------------------------- limits and codecs


def test_a_limit_of_time_is_no_failure(kafka, topic, target, repartition):
    source = topic("time", partitions=6)
    fill(kafka.bootstrap, source, 60_000)
    run = ("rewrite", source, target, "--partitions", 10, "-b", kafka.bootstrap, "--execute", *MERGE)
    stopped = repartition(*run, *SLOW, "--max-duration", "5s", "--throttle-records", 3000, "--output",
                          "json").ok().json()["result"]
    assert stopped["stopped_by"] == "max-duration" and not stopped["finished"]
    assert 0 < stopped["records"] <= 60_000 - stopped["left_at_most"] < 60_000
    assert len(read(kafka.bootstrap, target)) == stopped["records"]
    done = repartition(*run, "--output", "json").ok().json()["result"]
    assert (done["stopped_by"], done["left_at_most"], done["finished"]) == (None, 0, True)
    assert done["records"] == 60_000 - stopped["records"]
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 10)


@pytest.mark.parametrize("wanted", [None, "lz4", "none"])
def test_compression_is_chosen_or_the_topics_own(kafka, topic, target, repartition, wanted):
    source = topic("codec", partitions=1)
    p = producer(kafka.bootstrap)
    for i in range(2000):
        p.produce(source, key=b"k", value=b"the very same text, again and again " * 4, partition=0)
    p.flush(30)
    args = ("--compression", wanted) if wanted else ("--config", "compression.type=zstd")
    done = repartition("rewrite", source, target, "--partitions", 1, "-b", kafka.bootstrap, "--execute", "--output", "json",
                       *args).ok().json()
    assert done["compression"] == (wanted or "zstd")
    logs = json.loads(kafka.tool("kafka-log-dirs", "--bootstrap-server", kafka.bootstrap, "--describe", "--topic-list",
                                 f"{source},{target}").ok().out.splitlines()[-1])
    size = {part["partition"].rsplit("-", 1)[0]: part["size"] for broker in logs["brokers"] for folder in broker["logDirs"]
            for part in folder["partitions"]}
    if wanted == "none":
        assert size[target] > 0.9 * size[source]
    else:
        assert size[target] < 0.3 * size[source]


def test_the_next_command_has_all_that_the_job_needs(kafka, topic, target, repartition):
    source = topic("again", partitions=6)
    fill(kafka.bootstrap, source, 6000)
    wanted = ("--to", 800, "--jobs-topic", "other-jobs", "--compression", "lz4", "--transaction-ms", 200,
              "--throttle-records", 1000, "--max-duration", "2s")
    run = ("rewrite", source, target, "-b", kafka.bootstrap, "--partitions", 5, *MERGE, *wanted)
    plan = repartition(*run).ok().out
    stopped = repartition(*run, "--execute").ok().out
    for out in (plan, stopped):
        command = next(line for line in out.splitlines() if line.startswith("  repartition rewrite "))
        for option in ("--to 800", "--jobs-topic other-jobs", "--compression lz4", "--transaction-ms 200",
                       "--throttle-records 1000", "--max-duration 2000ms", "--execute"):
            assert f" {option}" in command, command
        assert "--max-lag" not in command and "--timeout-ms" not in command
    words = shlex.split(command)
    words[words.index("--throttle-records") + 1] = "1000000"
    done = repartition(*words[1:]).ok().out
    assert "to prove it" in done and len(read(kafka.bootstrap, target)) == sum(
        min(end, 800) for end in end_offsets(kafka.bootstrap, source))
    assert "lies behind" in repartition(*run[:7], "--from", 100, "--to", 50).ends_with(2).err


def test_of_two_runs_that_make_the_target_one_copies(kafka, topic, target, repartition):
    source = topic("pair", partitions=6)
    fill(kafka.bootstrap, source, 6000)
    run = ("rewrite", source, target, "-b", kafka.bootstrap, "--partitions", 5, *MERGE, "--execute")
    pair = [repartition.start(*run, stderr=-1) for _ in range(2)]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in pair]
    assert sorted(code for _, code in ended) in ([0, 0], [0, 4]), ended
    assert_image(read(kafka.bootstrap, source), read(kafka.bootstrap, target), 5)


def test_a_part_of_the_source(kafka, topic, target, repartition):
    source = topic("part", partitions=3)
    p = producer(kafka.bootstrap)
    for i in range(300):
        p.produce(source, key=b"%d" % (i % 3), value=b"%d" % i, partition=i % 3, timestamp=START_MS + i * 1000)
    assert p.flush(30) == 0

    def copied():
        return sorted(int(r.value) for r in read(kafka.bootstrap, target))

    def at(i):
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime((START_MS + i * 1000 - 1) // 1000)) + ".999Z"

    run = ("rewrite", source, target, "--partitions", 4, "-b", kafka.bootstrap, "--execute")
    plan = repartition(*run[:-1], "--from", "0:90,1:80", "--to", 95, "--output", "json").ok().json()["plan"]
    assert plan["records_at_most"] == 5 + 15 + 95
    repartition(*run, "--from", 20, "--to", 40).ok()
    assert copied() == list(range(60, 120))
    repartition("verify", source, target, "-b", kafka.bootstrap).ok()
    # Further on: by time; then to the end. What is before the beginning is another job's.
    repartition(*run, "--to", at(150)).ok()
    first_150 = copied()
    assert first_150[:60] == list(range(60, 120)) and 147 <= len(first_150) + 60 <= 153
    assert "would leave out" in repartition(*run, "--from", 95).ends_with(2).err
    assert "began at offset 20" in repartition(*run, "--from", 10).ends_with(2).err
    assert "beyond the end" in repartition(*run, "--from", 101).ends_with(2).err
    assert "has no partition 3" in repartition(*run, "--from", "3:0").ends_with(2).err
    repartition(*run).ok()
    assert copied() == list(range(60, 300))
    repartition("verify", source, target, "-b", kafka.bootstrap).ok()
