"""TLS, mutual TLS, SASL and ACLs on a real Kafka: every command gets through, and what is missing is named.

Nothing secret is ever shown: the last test looks for the very secrets in all that was printed and in the broker's data.
"""

import json
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from records import JOBS, end_offsets, java_partition, read, stored_progress
from support import Librdkafka, unique
from test_follow import await_lag_zero


# SCRAM needs librdkafka 2.6.1 since Kafka 3.8.1, so each library logs in by what it can.
LOGINS = [("tls", "old"), ("tls", "new"), ("mtls-alice", "old"), ("mtls-alice", "new"), ("plain-alice", "old"),
          ("sasl-alice", "new")]


def fill(secure_kafka, topic, count=300, partitions=3):
    p = Producer({"bootstrap.servers": secure_kafka.bootstrap, "enable.idempotence": True})
    for i in range(count):
        key = b"key-%d" % (i % 40)
        wrong = i % 40 == 7
        p.produce(topic, key=key, value=b"%d" % i, partition=(java_partition(key, partitions) + wrong) % partitions)
    assert p.flush(60) == 0


@pytest.fixture
def source(secure_kafka):
    topic = secure_kafka.create(unique("source"), 3)
    fill(secure_kafka, topic)
    return topic


@pytest.fixture
def target():
    return unique("target")


def rights(source, target, job=None):
    """What docs/security.md says that each command needs."""
    job = job or f"keyroute.{source}.{target}"
    return [("Read", "topic", source), ("DescribeConfigs", "topic", source), ("Create", "topic", target),
            ("Read", "topic", target), ("Write", "topic", target), ("DescribeConfigs", "topic", target),
            ("Read", "group", job), ("Write", "transactional-id", job), ("Read", "group", f"{job}.lease"),
            *[(operation, "topic", JOBS) for operation in ("Create", "Read", "Write")]]


def in_place_rights(topic, job):
    """The same for a job that stays within one topic."""
    return [(operation, "topic", topic) for operation in ("Read", "Write", "DescribeConfigs")] + [
        ("Read", "group", job), ("Read", "group", f"{job}.lease"), ("Write", "transactional-id", f"{job}*"),
        *[(operation, "topic", JOBS) for operation in ("Create", "Read", "Write")]]


def cutover_rights(group):
    return [("Read", "group", group)]


def read_up_to(secure_kafka, topic, offset):
    """A group that has read so far in each of three partitions. @return its name"""
    group = unique("billing")
    consumer = Consumer({"bootstrap.servers": secure_kafka.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, p, offset) for p in range(3)], asynchronous=False)
    consumer.close()
    return group


def committed(secure_kafka, group, topic):
    """Does the group have an offset in it?"""
    consumer = Consumer({"bootstrap.servers": secure_kafka.bootstrap, "group.id": group})
    found = consumer.committed([TopicPartition(topic, p) for p in range(4)], 30)
    consumer.close()
    return any(p.offset >= 0 for p in found)


def await_records(secure_kafka, topic, count, job):
    """Until a job has written so many, or has ended."""
    while topic not in topics(secure_kafka) or len(read(secure_kafka.bootstrap, topic)) < count:
        assert job.poll() is None, job.stderr.read()
        time.sleep(0.3)


def topics(secure_kafka):
    return Producer({"bootstrap.servers": secure_kafka.bootstrap}).list_topics(timeout=30).topics


# ---------------------------------------------------------------- every command, each way in


@pytest.mark.parametrize("login,library", LOGINS)
def test_every_command_gets_through(secure_kafka, source, target, repartition, login, library, tmp_path):
    secure_kafka.set_rights("alice", rights(source, target))
    client = ("-F", secure_kafka.properties(login))

    def run(*args, rc=0):
        result = repartition(*args, *client, librdkafka=Librdkafka(library))
        return result if rc is None else result.ends_with(rc)

    found = run("audit", source, "--output", "json", rc=1).json()
    assert found["misplaced"] == 8
    run("estimate", source, "--partitions", 4)
    run("plan", "grow", source, "--partitions", 4)
    plan = run("rewrite", source, target, "--partitions", 4, "--output", "json").json()
    assert not plan["executed"] and target not in topics(secure_kafka)
    assert "rights-unknown" not in {f["id"] for f in plan["findings"]} or library == "old"
    done = run("rewrite", source, target, "--partitions", 4, "--execute", "--output", "json").json()
    assert done["result"]["records"] == 300
    again = run("rewrite", source, target, "--partitions", 4, "--output", "json").json()
    # alice lacks Describe on follow's group, which is no more than a note; tls is a super user.
    assert ("follow-unknown" in {f["id"] for f in again["findings"]}) == ("alice" in login)
    run("verify", source, target)
    run("audit", target)
    assert len(read(secure_kafka.bootstrap, target)) == 300
    group = read_up_to(secure_kafka, source, 5)
    secure_kafka.set_rights("alice", rights(source, target) + cutover_rights(group))
    run("cutover", group, source, target, "--execute", "--rollback", tmp_path / "back.json")
    assert committed(secure_kafka, group, target)
    undo = run("cutover", "--undo", tmp_path / "back.json", "--execute", "--output", "json", rc=None)
    if "alice" in login:  # the right to delete has not been given yet
        assert_names(undo, "Delete", f'group "{group}"')
        secure_kafka.set_rights("alice", rights(source, target) + cutover_rights(group) + [("Delete", "group", group)])
        undo = run("cutover", "--undo", tmp_path / "back.json", "--execute")
    assert undo.rc == 0 and not committed(secure_kafka, group, target)


@pytest.mark.parametrize("login,library", LOGINS)
def test_jobs_in_place_and_follow_get_through(secure_kafka, source, target, repartition, login, library):
    client = ("-F", secure_kafka.properties(login))
    follows, mends = f"keyroute.follow.{source}.{target}", f"keyroute.follow.{source}"
    secure_kafka.set_rights("alice", rights(source, target, follows) + in_place_rights(source, f"keyroute.repair.{source}") +
                            in_place_rights(source, mends) + [("Write", "transactional-id", f"{follows}*")])

    def follow(*topics_):
        return repartition.start("follow", *topics_, *client, "--execute", librdkafka=Librdkafka(library),
                                 stderr=subprocess.PIPE)

    job = follow(source, target, "--from", "earliest", "--partitions", 4)
    await_records(secure_kafka, target, 300, job)
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) == 128 + signal.SIGTERM, job.stderr.read()
    job = follow(source)
    await_lag_zero(secure_kafka.bootstrap, source, mends, daemons=SimpleNamespace(running=[job]))
    fill(secure_kafka, source, 40)  # key-7 is one of those that it misplaces
    await_records(secure_kafka, source, 341, job)
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) == 128 + signal.SIGTERM, job.stderr.read()
    plan = repartition("repair", source, *client, "--output", "json", librdkafka=Librdkafka(library))
    assert plan.rc in (0, 1), plan.err
    repartition("repair", source, *client, "--execute", librdkafka=Librdkafka(library)).ok()
    repartition("repair", source, *client, "--execute", librdkafka=Librdkafka(library)).ok()


# ---------------------------------------------------------------- one right missing


def assert_names(result, operation, resource):
    """One line that names the right and how to grant it; never more than that line."""
    assert result.rc == 2, (result.rc, result.err, result.out)
    text = " ".join((result.err + result.out).split())
    assert f"this user lacks {operation} on {resource}" in text, text
    assert f"--operation {operation}" in text
    assert len(result.err.strip().splitlines()) <= 1, result.err


MISSING = [
    ("Read", "topic", "source"), ("DescribeConfigs", "topic", "source"), ("Create", "topic", "target"),
    ("Write", "topic", "target"), ("Read", "group", "job"), ("Read", "group", "lease"), ("Write", "transactional-id", "job"),
    ("Write", "topic", "jobs"),
]


@pytest.mark.parametrize("login,library", [("plain-alice", "old"), ("mtls-alice", "new")])
@pytest.mark.parametrize("missing", MISSING, ids=lambda m: "-".join(m))
def test_rewrite_names_the_right_that_it_lacks(secure_kafka, source, target, repartition, missing, login, library):
    operation, kind, role = missing
    job = f"keyroute.{source}.{target}"
    name = {"source": source, "target": target, "job": job, "lease": f"{job}.lease", "jobs": JOBS}[role]
    secure_kafka.set_rights("alice", [r for r in rights(source, target) if r != (operation, kind, name)])
    run = ("rewrite", source, target, "--partitions", 4, "-F", secure_kafka.properties(login))
    resource = f'{kind.replace("-", " ")} "{name}"'
    plan = repartition(*run, librdkafka=Librdkafka(library))
    # Without effect these cannot be found out: by the library that cannot ask, or for a topic that is not there yet.
    unknowable = kind == "transactional-id" or (operation, role) == ("Write", "target") or (
        library == "old" and role in ("job", "lease", "jobs"))
    if not unknowable:
        # Who may not read is not even told that the topic is there.
        assert_names(plan, "Describe" if operation == "Read" and role == "source" else operation, resource)
    assert target not in topics(secure_kafka)
    done = repartition(*run, "--execute", "--quiet", "--timeout-ms", 20000, librdkafka=Librdkafka(library))
    assert_names(done, "Describe" if operation == "Read" and role == "source" else operation, resource)
    if target in topics(secure_kafka):  # that right cannot be asked for before the topic is there
        assert operation == "Write" and role in ("target", "jobs")
        # What was refused by the topic of jobs alone is there, in a transaction that was aborted.
        assert role == "jobs" or end_offsets(secure_kafka.bootstrap, target) == [0] * 4
        assert read(secure_kafka.bootstrap, target) == []
    assert stored_progress(secure_kafka.bootstrap, source, job) == -1
    # Once it is granted, the same command does it.
    secure_kafka.set_rights("alice", rights(source, target))
    repartition(*run, "--execute", librdkafka=Librdkafka(library)).ok()
    assert len(read(secure_kafka.bootstrap, target)) == 300


LACKING_IN_PLACE = [("Read", "topic", "source"), ("Write", "topic", "source"), ("Read", "group", "job"),
                    ("Write", "transactional-id", "job")]


@pytest.mark.parametrize("command", ["repair", "follow"])
@pytest.mark.parametrize("missing", LACKING_IN_PLACE, ids=lambda m: "-".join(m))
def test_jobs_in_place_name_the_right_that_they_lack(secure_kafka, source, repartition, command, missing):
    operation, kind, role = missing
    job = f"keyroute.{command}.{source}"
    allowed = in_place_rights(source, job)
    if operation == "Write" and role == "source":  # Read would let it see the topic, Write alone does too
        allowed = [r for r in allowed if r[:2] != ("Write", "topic") or r[2] == JOBS]
    else:
        allowed = [r for r in allowed if r[:2] != (operation, kind) or r[2].endswith(".lease") or r[2] == JOBS]
    secure_kafka.set_rights("alice", allowed)
    resource = f'{kind.replace("-", " ")} "{source if role == "source" else job}'
    before = end_offsets(secure_kafka.bootstrap, source)
    run = (command, source, "-F", secure_kafka.properties("plain-alice"), "--execute", "--timeout-ms", 20000)
    # Follow has nothing to write, and so does not need the right, until a misplaced record arrives.
    if (command, missing) == ("follow", ("Write", "topic", "source")):
        job = repartition.start(*run, stderr=subprocess.PIPE)
        while job.poll() is None:
            fill(secure_kafka, source, 40)
            time.sleep(1)
        text = " ".join(job.stderr.read().decode().split())
        assert job.returncode == 2 and f"this user lacks Write on {resource}" in text, text
        return
    result = repartition(*run, timeout=120)
    text = " ".join((result.err + result.out).split())
    assert result.rc == 2 and f"this user lacks {operation} on {resource}" in text, (result.rc, text)
    assert end_offsets(secure_kafka.bootstrap, source) == before


def test_cutover_names_the_right_that_it_lacks(secure_kafka, source, target, repartition, tmp_path):
    client = ("-F", secure_kafka.properties("plain-alice"))
    secure_kafka.set_rights("alice", rights(source, target))
    repartition("rewrite", source, target, "--partitions", 4, "--execute", *client).ok()
    group = read_up_to(secure_kafka, source, 5)
    plan = ("cutover", group, source, target, *client)
    go = (*plan, "--execute", "--rollback", tmp_path / "back.json")
    assert_names(repartition(*plan), "Describe", f'group "{group}"')
    secure_kafka.set_rights("alice", rights(source, target) + [("Describe", "group", group)])
    repartition(*plan).ok()
    assert_names(repartition(*go), "Read", f'group "{group}"')
    assert not committed(secure_kafka, group, target)
    secure_kafka.set_rights("alice", rights(source, target) + cutover_rights(group))
    (tmp_path / "back.json").unlink(missing_ok=True)
    repartition(*go).ok()
    assert committed(secure_kafka, group, target)


def test_rights_on_the_topic_of_jobs_and_the_lease(secure_kafka, source, target, repartition, librdkafka):
    secure_kafka.set_rights("alice", rights(source, target))
    run = ("rewrite", source, target, "--partitions", 4, "-F", secure_kafka.properties("plain-alice"), "--execute",
           "--timeout-ms", 20000, "--quiet")
    repartition(*run, librdkafka=librdkafka).ok()  # the topic is there now, and may be seen
    fill(secure_kafka, source)
    for missing in (("Write", "topic", JOBS), ("Read", "topic", JOBS), ("Read", "group", f"keyroute.{source}.{target}.lease")):
        secure_kafka.set_rights("alice", [("Describe", "topic", JOBS)] + [r for r in rights(source, target) if r != missing])
        assert_names(repartition(*run, librdkafka=librdkafka), missing[0], f'{missing[1]} "{missing[2]}"')
    repartition(*run, "--jobs-topic", "none", librdkafka=librdkafka).ends_with(2)  # the lease is wanted all the same
    secure_kafka.set_rights("alice", rights(source, target))
    repartition(*run, librdkafka=librdkafka).ok()
    assert len(read(secure_kafka.bootstrap, target)) == 600


@pytest.mark.parametrize("operation", ["Write", "Read", "DescribeConfigs"])
def test_a_target_that_exists_tells_its_rights_in_the_plan(secure_kafka, source, repartition, operation):
    target = secure_kafka.create(unique("exists"), 4)
    secure_kafka.set_rights("alice", [("Describe", "topic", target)] + [
        r for r in rights(source, target) if r != (operation, "topic", target)])
    plan = repartition("rewrite", source, target, "--partitions", 4, "-F", secure_kafka.properties("mtls-alice"),
                       librdkafka=Librdkafka("new"))
    assert_names(plan, operation, f'topic "{target}"')


@pytest.mark.parametrize("command", ["audit", "estimate", "verify"])
def test_readers_name_the_right_that_they_lack(secure_kafka, source, repartition, command):
    other = secure_kafka.create(unique("other"), 3)
    args = {"audit": (source,), "estimate": (source, "--partitions", 4), "verify": (source, other)}[command]
    client = ("-F", secure_kafka.properties("plain-alice"))
    base = [("Read", "topic", other), ("Describe", "group", f"keyroute.{source}.{other}")]
    secure_kafka.set_rights("alice", base)
    assert_names(repartition(command, *args, *client), "Describe", f'topic "{source}"')
    secure_kafka.set_rights("alice", base + [("Describe", "topic", source)])
    assert_names(repartition(command, *args, *client), "Read", f'topic "{source}"')


def test_a_watched_group_needs_a_right_of_its_own(secure_kafka, source, target, repartition):
    group = unique("billing")
    consumer = Consumer({"bootstrap.servers": secure_kafka.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(source, 0, 1)], asynchronous=False)
    consumer.close()
    run = ("rewrite", source, target, "--partitions", 4, "--execute", "-F", secure_kafka.properties("plain-alice"),
           "--throttle-control-group", group)
    secure_kafka.set_rights("alice", rights(source, target))
    assert_names(repartition(*run), "Describe", f'group "{group}"')
    assert target not in topics(secure_kafka)
    secure_kafka.set_rights("alice", rights(source, target) + [("Describe", "group", group)])
    repartition(*run).ok()


# ---------------------------------------------------------------- logins and certificates


BAD = {
    "wrong password": ("plain-alice", {"sasl.password": "no-such-password"}, "refuses the login"),
    "unknown user": ("plain-alice", {"sasl.username": "nobody"}, "refuses the login"),
    "untrusted authority": ("tls", {"ssl.ca.location": "other-ca.pem"}, "not signed by an authority that is trusted"),
    "expired certificate": ("expired", {}, "has expired"),
    "wrong host": ("wronghost", {}, "another host name"),
    "no client certificate": ("tls-to-mtls", {}, "wants a certificate of ours"),
    "wrong key password": ("mtls-alice", {"ssl.key.password": "no-such-password"}, "ssl.key.location failed"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_logins_are_told_at_once(secure_kafka, repartition, librdkafka, case):
    login, changes, text = BAD[case]
    if login == "tls-to-mtls":
        login, changes = "tls", {"bootstrap.servers": secure_kafka.property("mtls-alice", "bootstrap.servers")}
    changes = {n: secure_kafka.keys / v if n == "ssl.ca.location" else v for n, v in changes.items()}
    result = repartition("audit", "any", "-F", secure_kafka.properties(login),
                         *[a for n, v in changes.items() for a in ("-X", f"{n}={v}")], librdkafka=librdkafka,
                         timeout=30).ends_with(2)  # the bound is against hanging; it takes about 3 s
    assert text in result.err and len(result.err.splitlines()) == 1, result.err
    assert "no-such-password" not in result.err


def test_old_scram_is_told_apart_from_a_wrong_password(secure_kafka, repartition):
    """librdkafka before 2.6.1 sends a nonce that Kafka 3.8.1 and newer refuse: the password is right all the same."""
    result = repartition("audit", "any", "-F", secure_kafka.properties("sasl-alice"),
                         librdkafka=Librdkafka("old")).ends_with(2)
    assert "2.6.1" in result.err and "even if the password is right" in result.err


# ---------------------------------------------------------------- secrets


def test_no_secret_is_ever_shown(secure_kafka, source, target, repartition):
    secure_kafka.set_rights("alice", rights(source, target))
    password = secure_kafka.property("plain-alice", "sasl.password")
    key_password = secure_kafka.property("mtls-alice", "ssl.key.password")
    key = (secure_kafka.keys / "alice.key").read_text(encoding="ascii")
    secrets = [password, key_password, "dummy-secret-one", "dummy-secret-two"] + [
        line for line in key.splitlines() if len(line) > 20 and "-----" not in line]
    plain = [("bootstrap.servers", secure_kafka.property("plain-alice", "bootstrap.servers")),
             ("security.protocol", "sasl_ssl"), ("sasl.mechanisms", "PLAIN"), ("sasl.username", "alice"),
             ("sasl.password", password), ("ssl.ca.location", secure_kafka.keys / "ca.pem"),
             ("sasl.oauthbearer.config", "dummy-secret-one"), ("sasl.oauthbearer.client.secret", "dummy-secret-two")]
    mutual = [("bootstrap.servers", secure_kafka.property("mtls-alice", "bootstrap.servers")), ("security.protocol", "ssl"),
              ("ssl.ca.location", secure_kafka.keys / "ca.pem"), ("ssl.key.pem", key), ("ssl.key.password", key_password),
              ("ssl.certificate.pem", (secure_kafka.keys / "alice.pem").read_text(encoding="ascii"))]
    outputs = []
    for properties in (plain, mutual):
        given = [a for name, value in properties for a in ("-X", f"{name}={value}")]
        outputs += [repartition(*command, *given, librdkafka=Librdkafka("new")) for command in (
            ("audit", source), ("audit", source, "--output", "json"), ("audit", source, "-X", "debug=conf,security,broker"),
            ("rewrite", source, target, "--partitions", 4), ("rewrite", source, target, "--partitions", 4, "--execute"),
            ("rewrite", source, target, "--partitions", 4, "--output", "json"), ("verify", source, target),
            ("verify", source, target, "--output", "json"), ("plan", "grow", source, "--partitions", 4),
            ("repair", source), ("repair", source, "--output", "json"), ("follow", source),
            ("cutover", "nobody", source, target), ("cutover", "nobody", source, target, "--output", "json"),
            ("audit", "nowhere"), ("audit", source, "-X", "ssl.key.password=dummy-secret-one", "-X", "no.such.property=1"),
            ("audit", source, "-X", "sasl.password:dummy-secret-one"),
            ("audit", source, "-X", "ssl.key.pem=dummy-secret-one"))]
    for result in outputs:
        for secret in secrets:
            assert secret not in result.out + result.err, (result.argv[1:3], result.rc)
    # The commands to run next carry the properties, without what is secret.
    mend = next(line for line in outputs[0].out.splitlines() if "repartition rewrite" in line)
    assert "sasl.username=alice" in outputs[0].out and "sasl.password=..." in outputs[0].out, mend
    # Nor did any reach the cluster: records of jobs, notes of groups, names of clients.
    stored = [f for f in (secure_kafka.data / "1" / "log").rglob("*.log") if f.is_file()]
    assert stored
    for file in stored:
        data = file.read_bytes()
        for secret in secrets:
            assert secret.encode() not in data, file
