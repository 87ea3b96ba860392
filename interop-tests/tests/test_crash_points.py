"""A rewrite dies at every place where its state changes, and is taken up again: each time the outcome is the same.

The places are compiled into a build of its own (repartition/src/crash.h); other builds do not have them.
"""

import collections
import os
import signal
import subprocess
import time

import pytest
from confluent_kafka import Producer
from records import end_offsets, java_partition, read, sequences
from support import ROOT, environment, run, unique

BUILD = ROOT / "build-crash"
PARTITIONS, TARGET_PARTITIONS, RECORDS = 4, 6, 1200
AT_ONCE = 12
# Those that a run comes by which nothing happens to. ("look" is for trouble, "abort" and "hold" are for other jobs.)
PLACES = {f"{what}, {when}" for when in ("before", "after")
          for what in ("recover", "bounds", "read", "take", "begin", "append", "commit", "create target", "init transactions",
                       "send offsets", "end transaction")} | {"append, between"}
OF_A_COMMIT = [f"{what}, {when}" for what in ("append", "commit", "send offsets", "end transaction") for when in ("before", "after")]
OF_NEW_STARTS = ("recover, before", "init transactions, before", "init transactions, after", "recover, after", "bounds, after",
                 "read, after", "begin, after")


@pytest.fixture(scope="module")
def program():
    run("make", "-j2", f"BUILD={BUILD.name}", "CPPFLAGS=-DRP_CRASH_POINTS", f"{BUILD.name}/repartition", cwd=ROOT).ok()
    return BUILD / "repartition"


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

    def __init__(self, program, kafka, sources, *deaths):
        self.program, self.kafka, self.sources, self.deaths = program, kafka, sources, deaths
        self.target = unique("crash-target")
        self.process = None

    def start(self, **env):
        # Small transactions: each place is come by often.
        command = [self.program, "rewrite", *self.sources, self.target, "--partitions", TARGET_PARTITIONS, "-b",
                   self.kafka.bootstrap, "--execute", "--quiet", "--transaction-ms", 20, "-X", "linger.ms=0",
                   "-X", "queue.buffering.max.messages=50"]
        self.process = subprocess.Popen([str(arg) for arg in command], env=environment(env), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def ended(self):
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out + err


def all_at_once(lives, **env):
    """Starts them, some at a time. @returns how each ended."""
    ended = []
    for first in range(0, len(lives), AT_ONCE):
        group = lives[first:first + AT_ONCE]
        for life in group:
            life.start(**{name: value(life) for name, value in env.items()})
        ended += [life.ended() for life in group]
    return ended


def test_whatever_it_dies_of(kafka, program, source, tmp_path):
    undisturbed = Life(program, kafka, [source])
    undisturbed.start(KR_CRASH_LIST=str(tmp_path / "places"))
    assert undisturbed.ended()[0] == 0
    hits = collections.Counter((tmp_path / "places").read_text().splitlines())
    assert set(hits) == PLACES

    lives = [Life(program, kafka, [source], f"{place}:{hits[place] // 3 + 1}") for place in sorted(PLACES)]
    lives += [Life(program, kafka, [source], "end transaction, before:3", f"{place}:1") for place in OF_NEW_STARTS]
    live(kafka, lives)


def test_whatever_it_dies_of_with_two_sources(kafka, program, source, other):
    """Where what is stored is of two topics; all other places do not know of them."""
    live(kafka, [Life(program, kafka, [source, other], f"{place}:3") for place in OF_A_COMMIT])


def live(kafka, lives):
    """Each to its deaths, then to its end: the outcome is that of an undisturbed one, and stays."""
    for which in range(2):
        dying = [life for life in lives if len(life.deaths) > which]
        for life, (rc, text) in zip(dying, all_at_once(dying, KR_CRASH_AT=lambda life, n=which: life.deaths[n])):
            assert rc == -signal.SIGKILL, (life.deaths, rc, text)

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


def test_other_builds_cannot_be_made_to_die(kafka, source, repartition):
    done = repartition("rewrite", source, unique("crash-not"), "--partitions", TARGET_PARTITIONS, "-b", kafka.bootstrap,
                       "--execute", env={"KR_CRASH_AT": "commit, before:1", "KR_CRASH_LIST": os.devnull})
    assert done.ok().rc == 0
