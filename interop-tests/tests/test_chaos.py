"""The short form of interop-tests/chaos: jobs under fire on a real Kafka. `make chaos N=...` is the long one.

In all at least 30 kills of the worker, 13 of brokers, 5 zombies and 10 rebalances; each scenario raises what it finds broken,
with its seed.
"""

import signal
import sys

import pytest
from support import INTEROP, Librdkafka

sys.path.insert(0, str(INTEROP / "chaos"))
import copier  # noqa: E402  pylint: disable=wrong-import-position
import scenarios  # noqa: E402  pylint: disable=wrong-import-position

OLD, NEW = "old", "new"
QUICK = {"log_cleaner_backoff_ms": 500}


@pytest.fixture(scope="module")
def cluster(start_kafka):
    return start_kafka(kind=("--proxied",), **QUICK)


@pytest.fixture(scope="module")
def cluster3(start_kafka):
    return start_kafka(brokers=3, **QUICK)


def library(name):
    return {"library_path": Librdkafka(name).env["LD_LIBRARY_PATH"]}


@pytest.mark.parametrize("name", [OLD, NEW])
def test_kill_9_of_the_worker(cluster, name):
    assert scenarios.kills(cluster, 101, 12, **library(name))["SIGKILL of the worker"] == 12


def test_sigterm_of_the_worker(cluster):
    scenarios.kills(cluster, 102, 3, signo=signal.SIGTERM)


@pytest.mark.parametrize("name,rounds", [(OLD, 3), (NEW, 2)])
def test_zombies(cluster, name, rounds):
    assert scenarios.zombies(cluster, 103, rounds, **library(name))["zombies fenced"] == rounds


def test_asleep_past_the_timeout(cluster):
    scenarios.sleepers(cluster, 104, 2)


def test_two_at_once(cluster):
    scenarios.twins(cluster, 105, 3)


@pytest.mark.parametrize("mode", ["delay", "drop", "mute"])
@pytest.mark.parametrize("name", [OLD, NEW])
def test_end_of_a_transaction_goes_astray(cluster, mode, name):
    assert scenarios.end_txn(cluster, 106, 2, mode, **library(name))[f"EndTxn: {mode}"] >= 1


@pytest.mark.parametrize("name", [OLD, NEW])
def test_a_late_end_does_not_meet_a_later_transaction(cluster, name):
    assert scenarios.late_end(cluster, 115, 4, **library(name))["EndTxn that came late"] >= 2


def test_a_source_that_aborts_and_one_transaction_that_stays_open(cluster):
    scenarios.aborting_source(cluster, 107, 3)


def test_a_source_that_grows(cluster):
    scenarios.growing_source(cluster, 108, 3)


def test_records_are_deleted_before_they_are_copied(cluster):
    scenarios.retention(cluster, 109, 1)


def test_the_cleaner_runs_meanwhile(cluster):
    scenarios.compaction(cluster, 110, 2)


def test_a_topic_is_deleted_and_made_again(cluster):
    scenarios.made_again(cluster, 111, 1)


@pytest.mark.parametrize("cell", [c for c in copier.CELLS if c[1] == "job"], ids="-".join)
def test_copier_matrix(cluster, cell):
    """The cells that bounce the job, with fewer records; brokers are bounced in the long form."""
    copier.cell(cluster, 112, *cell, records=30_000)


def test_three_daemons(cluster):
    assert scenarios.daemons(cluster, 116, 6)["rebalances"] >= 10


def test_a_repair_in_place_is_killed(cluster):
    assert scenarios.repairs(cluster, 117, 5)["SIGKILL of the worker"] >= 3


def test_menders_are_killed(cluster):
    scenarios.menders(cluster, 118, 4)


@pytest.mark.parametrize("name", [OLD, NEW])
def test_the_clock_jumps(cluster, name):
    assert scenarios.clock_jumps(cluster, 119, 5, **library(name))["jumps of the clock"] == 5


def test_the_clock_of_daemons_jumps(cluster):
    scenarios.clock_jumps_of_daemons(cluster, 120, 5)


def test_brokers_are_killed(cluster3):
    assert scenarios.brokers(cluster3, 113, 6)["brokers killed"] == 6


@pytest.mark.parametrize("command,name", [("rewrite", OLD), ("follow", NEW)])
def test_all_brokers_are_killed_at_once(cluster3, command, name):
    assert scenarios.outages(cluster3, 124, 1, command, **library(name))["brokers killed at once"] == 3


def test_too_few_in_sync_are_told(cluster3):
    assert scenarios.too_few_in_sync(cluster3, 125, 1)["outages told"] == 1


def test_an_unclean_election_loses_records(cluster3):
    scenarios.unclean_election(cluster3, 123)


def test_leaders_move(cluster3):
    scenarios.leaders(cluster3, 114, 1)


# ---------------------------------------------------------------- from one cluster into another


@pytest.mark.parametrize("name", [OLD, NEW])
def test_kill_9_between_two_clusters(cluster, cluster3, name):
    assert scenarios.kills(cluster, 119, 3, source_cluster=cluster3, **library(name))["SIGKILL of the worker"] == 3


@pytest.mark.parametrize("mode", ["delay", "drop"])
def test_end_of_a_transaction_between_two_clusters_goes_astray(cluster, cluster3, mode):
    assert scenarios.end_txn(cluster, 120, 1, mode, source_cluster=cluster3)[f"EndTxn: {mode}"] >= 1


def test_brokers_of_two_clusters_are_killed(cluster, cluster3):
    assert scenarios.brokers(cluster3, 121, 2, source_cluster=cluster)["brokers killed"] == 2
