"""A job dies at every place where its state changes, and is taken up again: each time the outcome is the same.

The places are compiled into a program of its own (repartition/src/crash.h); the tool itself does not have them.
"""

import collections
import copy
import os
import signal
import subprocess
import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from records import end_offsets, holders, java_partition, read, sequences
from support import ROOT, environment, run, unique
from test_follow import START_MS, assert_mended, await_lag_zero, job_of, place_job, wrong_partition
from test_repair import COUNT, assert_copied, is_own_tombstone, origin_of, put, recount, wrong

PARTITIONS, TARGET_PARTITIONS, RECORDS = 4, 6, 1200
AT_ONCE = 16


def around(*names):
    return {f"{name}, {when}" for name in names for when in ("before", "after")}


# Those that a run comes by which nothing happens to. ("look" and "abort" are for trouble; "hold" is met by chance.)
OF_ALL = {"append, between"} | around("recover", "read", "take", "begin", "append", "commit", "init transactions", "send offsets",
                                      "end transaction")
PLACES = OF_ALL | around("bounds", "create target")
OF_A_REPAIR = OF_ALL | around("bounds", "take over", "write", "finish") | {"write, between", "judge, after", "pass, after"}
OF_FOLLOW = OF_ALL | around("leave", "look", "create target") | {"judge, before"}
OF_A_COMMIT = [f"{what}, {when}" for what in ("append", "commit", "send offsets", "end transaction") for when in ("before", "after")]
OF_NEW_REPAIRS = ("take over, before", "take over, after", "judge, after", "recover, after", "write, after", "pass, after",
                  "finish, before", "finish, after")
OF_NEW_STARTS = ("recover, before", "init transactions, before", "init transactions, after", "recover, after", "bounds, after",
                 "read, after", "begin, after")


@pytest.fixture(scope="module")
def program():
    run("make", "-j2", "BUILD=build", "build/repartition-crash", cwd=ROOT).ok()
    return ROOT / "build" / "repartition-crash"


def make_source(kafka, keys):
    """Rising times, aborted transactions in between and at the end, values that are copied and such that are not."""
    topic = kafka.create(unique("crash"), PARTITIONS)
    p = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, "linger.ms": 5})
    p.init_transactions(30)
    start_ms = int(time.time() * 1000) - 3_600_000
    for first in range(0, RECORDS + 1, 200):
        p.begin_transaction()
        for i in range(first, min(first + 200, RECORDS)):
            key = keys + b"-%d" % (i % 150)
            p.produce(topic, key=key, value=b"%d" % i + b"." * (3000 if i % 50 == 0 else 0), timestamp=start_ms + i,
                      partition=java_partition(key, PARTITIONS), headers=[("n", b"%d" % i)])
        p.commit_transaction(30)
        p.begin_transaction()
        for partition in range(PARTITIONS):
            p.produce(topic, key=b"void", value=b"void", partition=partition)
        p.flush(30)
        p.abort_transaction(30)
    return topic


@pytest.fixture(scope="module")
def source(kafka):
    return make_source(kafka, b"key")


@pytest.fixture(scope="module")
def other(kafka):
    """A second one, with other keys."""
    return make_source(kafka, b"other")


class Life:
    """A job of its own, from its first death to its end."""

    def __init__(self, program, kafka, args, *deaths):
        # Small transactions: each place is come by often.
        self.command = [program, *args, "-b", kafka.bootstrap, "--execute", "--quiet", "--transaction-ms", 20,
                        "-X", "linger.ms=0", "-X", "queue.buffering.max.messages=50"]
        self.kafka, self.deaths, self.process = kafka, deaths, None

    def start(self, *more, **env):
        self.process = subprocess.Popen([str(arg) for arg in (*self.command, *more)], env=environment(env),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ended(self):
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, (out + err).decode()


class Rewrite(Life):
    def __init__(self, program, kafka, sources, *deaths):
        self.sources, self.target = sources, unique("crash-target")
        super().__init__(program, kafka, ["rewrite", *sources, self.target, "--partitions", TARGET_PARTITIONS], *deaths)


def all_at_once(lives, *args, **env):
    """Starts them, some at a time. @returns how each ended."""
    ended = []
    for first in range(0, len(lives), AT_ONCE):
        group = lives[first:first + AT_ONCE]
        for life in group:
            life.start(*args, **{name: value(life) for name, value in env.items()})
        ended += [life.ended() for life in group]
    return ended


def let_die(lives, *args):
    """Each of its deaths, one after the other."""
    for which in range(max(len(life.deaths) for life in lives)):
        dying = [life for life in lives if len(life.deaths) > which]
        for life, (rc, text) in zip(dying, all_at_once(dying, *args, KR_CRASH_AT=lambda life, n=which: life.deaths[n])):
            assert rc == -signal.SIGKILL, (life.deaths, rc, text)


def hits_of(life, tmp_path, *args, rc=0):
    """How often an undisturbed life comes by each place."""
    life.start(*args, KR_CRASH_LIST=str(tmp_path / "places"))
    ended = life.ended()
    assert ended[0] == rc, ended
    hits = collections.Counter((tmp_path / "places").read_text().splitlines())
    (tmp_path / "places").unlink()
    return hits


def test_whatever_it_dies_of(kafka, program, source, tmp_path):
    hits = hits_of(Rewrite(program, kafka, [source]), tmp_path)
    assert set(hits) == PLACES

    lives = [Rewrite(program, kafka, [source], f"{place}:{hits[place] // 3 + 1}") for place in sorted(PLACES)]
    lives += [Rewrite(program, kafka, [source], "end transaction, before:3", f"{place}:1") for place in OF_NEW_STARTS]
    live(kafka, lives)


def test_whatever_it_dies_of_with_two_sources(kafka, program, source, other):
    """Where what is stored is of two topics; all other places do not know of them."""
    live(kafka, [Rewrite(program, kafka, [source, other], f"{place}:3") for place in OF_A_COMMIT])


def live(kafka, lives):
    """Each to its deaths, then to its end: the outcome is that of an undisturbed one, and stays."""
    let_die(lives)
    want = sorted(map(repr, (r.content for source in lives[0].sources for r in read(kafka.bootstrap, source))))
    assert len(want) == RECORDS * len(lives[0].sources)
    for life, (rc, text) in zip(lives, all_at_once(lives)):
        assert rc == 0, (life.deaths, text)
        records = read(kafka.bootstrap, life.target)
        assert sorted(map(repr, (r.content for r in records))) == want, life.deaths
        assert all(r.partition == java_partition(r.key, TARGET_PARTITIONS) for r in records), life.deaths
        for sequence in sequences(records).values():
            numbers = [int(value.rstrip(b".")) for _, value, _, _ in sequence]
            assert numbers == sorted(numbers), life.deaths
    before = [end_offsets(kafka.bootstrap, life.target) for life in lives]
    assert all(rc == 0 for rc, _ in all_at_once(lives))
    assert [end_offsets(kafka.bootstrap, life.target) for life in lives] == before


# ---------------------------------------------------------------- within a topic


def create_all(kafka, name, count, **config):
    """So many topics at once, each of COUNT partitions."""
    names = [unique(name) for _ in range(count)]
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    config = {setting.replace("_", "."): value for setting, value in config.items()}
    for made in admin.create_topics([NewTopic(topic, COUNT, 1, config=config) for topic in names]).values():
        made.result(60)
    return names


def to_repair():
    """As put() takes them: keys whose records are all misplaced, older than right ones, split, and right."""
    records = []
    for i in range(60):
        key = b"moved-%d" % i
        records += [(wrong(key), key, b"old", START_MS + i), (wrong(key), key, b"new", START_MS + 100 + i, [("n", b"%d" % i)])]
    for i in range(15):
        key, split = b"stale-%d" % i, b"split-%d" % i
        records += [(wrong(key), key, b"old", START_MS + i), (None, key, b"right", START_MS + 200),
                    (wrong(split, 1), split, b"a", START_MS + i), (wrong(split, 2), split, b"b", START_MS + 300),
                    (None, b"right-%d" % i, b"right", START_MS + i)]
    return records


class Repair(Life):
    def __init__(self, program, kafka, topic, *deaths):
        # As much as in a second may go at once: less than there is to copy, or on a slow machine all is one transaction.
        super().__init__(program, kafka, ["repair", topic, "--throttle-records", 40], *deaths)
        self.topic = topic


@pytest.mark.parametrize("places", [OF_A_REPAIR, set(OF_A_COMMIT)], ids=["with marks, then tombstones", "without marks"])
def test_a_repair_whatever_it_dies_of(kafka, program, places, tmp_path):
    is_marked = places == OF_A_REPAIR
    # Some die twice: on their way to take up what they left open.
    plan = [[place] for place in sorted(places)] + [["end transaction, before", place] for place in OF_NEW_REPAIRS if is_marked]
    topics = create_all(kafka, "crash-repair", 1 + len(plan), cleanup_policy="compact")
    for topic in topics:
        put(kafka.bootstrap, topic, to_repair())
    before = read(kafka.bootstrap, topics[0])
    classes = recount(before, topics[0])
    undisturbed = Repair(program, kafka, topics.pop())
    lives = [Repair(program, kafka, topic) for topic in topics]

    def go_through(*args):
        hits = hits_of(undisturbed, tmp_path, *args)
        assert set(hits) - around("hold") == OF_A_REPAIR
        for life, (first, *second) in zip(lives, plan):
            life.deaths = [f"{first}:{min(hits[first] // 4 + 1, 3)}", *(f"{place}:1" for place in second)]
        let_die(lives, *args)
        for _ in range(2):  # the second time, nothing is written
            ends = [end_offsets(kafka.bootstrap, life.topic) for life in lives]
            for life, (rc, text) in zip(lives, all_at_once(lives, *args)):
                assert rc == 0, (life.deaths, text)
        assert [end_offsets(kafka.bootstrap, life.topic) for life in lives] == ends

    go_through(*["--mark"] * is_marked)
    for life in lives:
        after = read(kafka.bootstrap, life.topic)
        assert len(assert_copied(before, after, life.topic, classes, {"safe"})) == 120, life.deaths
        assert sum(origin_of(record, life.topic) is not None for record in after) == 120 * is_marked, life.deaths
    if not is_marked:
        return
    go_through("--tombstones")
    covered = {(key, wrong(key)) for _, key, *_ in to_repair() if key.startswith((b"moved", b"stale"))}
    for life in lives:
        after = read(kafka.bootstrap, life.topic)
        tombstones = [(record.key, record.partition) for record in after if is_own_tombstone(record)]
        assert len(tombstones) == len(covered) and set(tombstones) == covered, life.deaths
        assert_copied(before, [record for record in after if not is_own_tombstone(record)], life.topic, classes, {"safe"})


# ---------------------------------------------------------------- follow


class Follow(Life):
    """Its sessions and transactions are short: whoever comes next waits for their end."""

    def __init__(self, program, kafka, source, target, *deaths):
        to = (target, "--partitions", TARGET_PARTITIONS) if target else ()
        short = ("-X", "session.timeout.ms=2000", "-X", "heartbeat.interval.ms=200", "-X", "transaction.timeout.ms=2500",
                 "-X", "message.timeout.ms=2000", "-X", "fetch.message.max.bytes=500")
        args = ["follow", source, *to, "--from", "earliest", "--throttle-records", 500, *short]
        super().__init__(program, kafka, args, *deaths)
        self.source, self.target = source, target
        self.job = job_of(source, target) if target else place_job(source)
        self.death = ""

    def start(self, *more, **env):
        super().start(*more, **env)
        self.death = env.get("KR_CRASH_AT", "")

    @property
    def running(self):
        return [self.process]

    def ended(self):
        if not self.death or self.death.startswith("leave"):
            await_lag_zero(self.kafka.bootstrap, self.source, self.job, daemons=self)
            self.process.send_signal(signal.SIGTERM)
        return super().ended()


def fill_followed(kafka, topics):
    p = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5, "batch.num.messages": 20, "enable.idempotence": True})
    for topic in topics:
        for i in range(400):
            key = b"key-%d" % (i % 30)
            p.produce(topic, key=key, value=b"%d" % i, timestamp=START_MS + i, headers=[("n", b"%d" % i)],
                      partition=(java_partition if i % 30 % 3 == 0 else wrong_partition)(key, COUNT))
    assert p.flush(60) == 0


def assert_followed(lives):
    for life, (rc, text) in zip(lives, all_at_once(lives)):
        assert rc == 128 + signal.SIGTERM, (life.deaths, text)
    for life in lives:
        found = read(life.kafka.bootstrap, life.target or life.source)
        if not life.target:
            misplaced, right = assert_mended(found, COUNT)
            assert (len(misplaced), len(right)) == (400 - 134, 400), life.deaths
            continue
        assert sorted(map(repr, (r.content for r in found))) == sorted(
            map(repr, (r.content for r in read(life.kafka.bootstrap, life.source)))), life.deaths
        assert all(r.partition == java_partition(r.key, TARGET_PARTITIONS) for r in found), life.deaths
        for sequence in sequences(found).values():
            numbers = [int(value) for _, value, _, _ in sequence]
            assert numbers == sorted(numbers), life.deaths


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "into another topic"])
def test_follow_whatever_it_dies_of(kafka, program, tmp_path, in_place):
    places = sorted(OF_FOLLOW)
    again = [place for place in OF_NEW_STARTS if place in places]
    sources = create_all(kafka, "crash-follow", len(places) + len(again) + 3 if in_place else 1)
    fill_followed(kafka, sources)

    def follow(*deaths):
        between = (sources.pop(), None) if in_place else (sources[0], unique("followed"))
        return Follow(program, kafka, *between, *deaths)

    hits = hits_of(follow(), tmp_path, rc=128 + signal.SIGTERM)
    assert set(places) <= set(hits) <= set(places) | around("hold", "abort", "release")  # a slow machine may lose a session
    # Not at once, where that is sure to come again: how many transactions there are, and starts anew, is a matter of speed.
    lives = [follow(f"{place}:{2 if hits[place] >= 12 else 1}") for place in places]
    lives += [follow("end transaction, before:2", f"{place}:1") for place in again]
    let_die(lives)
    # While they give partitions back to somebody who has come.
    leaving = [follow(f"{place}:1") for place in sorted(around("release"))]
    for life in leaving:
        life.start(KR_CRASH_AT=life.deaths[0])
    heirs = [copy.copy(life) for life in leaving]
    for life, heir in zip(leaving, heirs):
        while not holders(kafka, life.job) and life.process.poll() is None:
            time.sleep(0.05)
        heir.start()
    for life in leaving:
        assert life.ended()[0] == -signal.SIGKILL, life.deaths
    for heir in heirs:
        assert heir.ended()[0] == 128 + signal.SIGTERM, heir.deaths
    assert_followed(lives + leaving)


# ---------------------------------------------------------------- elsewhere


def test_the_tool_itself_cannot_be_made_to_die(kafka, source, repartition):
    done = repartition("rewrite", source, unique("crash-not"), "--partitions", TARGET_PARTITIONS, "-b", kafka.bootstrap,
                       "--execute", env={"KR_CRASH_AT": "commit, before:1", "KR_CRASH_LIST": os.devnull})
    assert done.ok().rc == 0
