"""The cluster script itself: what every other test of this folder stands on."""

import os
import shutil

from support import KAFKA, run


def test_kcat_produces_and_consumes(kafka, kcat, topic, librdkafka):
    t = topic("kcat", partitions=3)
    kcat("-b", kafka.bootstrap, "-P", "-t", t, "-K", "\t", stdin="a\t1\nb\t2\nc\t3\n", librdkafka=librdkafka).ok()
    got = kcat("-b", kafka.bootstrap, "-C", "-t", t, "-e", "-q", "-f", "%k=%s\n", librdkafka=librdkafka).ok()
    assert sorted(got.out.split()) == ["a=1", "b=2", "c=3"]


def test_topics_are_never_made_by_a_misspelling(kafka, kcat):
    refused = kcat("-b", kafka.bootstrap, "-P", "-t", "no-such-topic", "-X", "message.timeout.ms=3000", stdin="x\n")
    assert refused.rc != 0
    listed = kcat("-b", kafka.bootstrap, "-L", "-t", "no-such-topic").ok()
    assert "Unknown topic or partition" in listed.out


def test_start_is_idempotent(kafka):
    again = run(KAFKA, "start", "--data", kafka.data).ok()
    assert again.out == kafka.bootstrap + "\n"


def test_settings_reach_the_topic(kafka, topic):
    t = topic("settings", partitions=2, cleanup_policy="compact")
    described = kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--describe", "--topic", t).ok()
    assert "PartitionCount: 2" in described.out and "cleanup.policy=compact" in described.out


def test_a_broker_is_killed_and_comes_back_with_its_data(kafka3, kcat, topic):
    t = topic("killed", partitions=3, cluster=kafka3)
    acks = ("-X", "acks=all", "-K", "\t")
    kcat("-b", kafka3.bootstrap, "-P", "-t", t, *acks, stdin="a\tbefore\n").ok()
    kafka3.kill(2)
    try:
        assert run(KAFKA, "status", "--data", kafka3.data).ends_with(1).out.count("running") == 2
        kcat("-b", kafka3.bootstrap, "-P", "-t", t, *acks, stdin="a\twithout\n").ok()
    finally:
        kafka3.restart(2)
    assert run(KAFKA, "status", "--data", kafka3.data).ok().out.count("running") == 3
    # Asked alone, so that it is the one that answers.
    second = kafka3.bootstrap.split(",")[1]
    got = kcat("-b", second, "-C", "-t", t, "-e", "-q", "-f", "%k=%s\n").ok()
    assert got.out.split() == ["a=before", "a=without"]


def test_a_process_that_is_not_ours_is_not_killed(kafka, tmp_path):
    """A stale pid file may name anything: here it names this very pytest."""
    stale = tmp_path / "stale"
    (stale / "1").mkdir(parents=True)
    shutil.copyfile(kafka.data / "cluster.json", stale / "cluster.json")
    (stale / "1" / "pid").write_text(f"{os.getpid()}\n", encoding="ascii")
    refused = run(KAFKA, "kill", "1", "--data", stale).ends_with(1)
    assert refused.err == "kafka: broker 1 does not run\n"
    run(KAFKA, "stop", "--data", stale).ok()


def test_errors_say_what_to_do(tmp_path):
    none = run(KAFKA, "create", "x", "--data", tmp_path / "none").ends_with(1)
    assert "'kafka start' makes one" in none.err
    tool = run(KAFKA, "tool", "no-such-tool").ends_with(1)
    assert "'kafka tool' lists the names" in tool.err
