"""Every real client behaves as its row says, and the documents say what was seen."""

import itertools
import json
import shutil
import sys

import pytest
from records import java_partition
from support import INTEROP, run

sys.path.append(str(INTEROP / "matrix"))
import jobs  # noqa: E402  pylint: disable=wrong-import-position
import judge  # noqa: E402  pylint: disable=wrong-import-position
import rows  # noqa: E402  pylint: disable=wrong-import-position

MATRIX = INTEROP / "matrix" / "matrix"
PYTHON_ROWS = INTEROP / "matrix" / "python"
A_RUN_S = 3600


@pytest.mark.timeout(A_RUN_S)
def test_clients_route_as_the_documents_say():
    run(MATRIX, "--check", timeout=A_RUN_S).ok()


@pytest.fixture
def claim(tmp_path):
    """claim({field: value, ...}, ...) makes a folder of rows: Debian's confluent-kafka, but for these fields."""

    def make(*changes):
        folder = tmp_path / "rows" / "python"
        folder.mkdir(parents=True)
        for program in PYTHON_ROWS.glob("*.py"):
            shutil.copy(program, folder)
        usual = {"client": "confluent-kafka", "version": "1.7.0", "language": "Python", "setting": "default",
                 "run": ["/usr/bin/python3", "confluent.py", "default"],
                 "keyed": "crc32", "empty": "spread", "null": "spread"}
        (folder / "rows.json").write_text(json.dumps([
            {name: value for name, value in {**usual, **change}.items() if value is not None} for change in changes]))
        return folder.parent

    return make


def test_a_wrong_claim_is_found_and_told(claim):
    rows = claim({"keyed": "murmur2", "empty": "murmur2", "null": "partition 0"},
                 {"setting": "a wrong one", "run": ["/usr/bin/python3", "confluent.py", "no-such-partitioner"]})
    done = run(MATRIX, "--rows", rows, "--output", "json").ends_with(1)
    row, broken = done.json()["rows"]
    assert (row["keyed"], row["empty"], row["null"]) == ("crc32", "spread", "spread")
    keyed, empty, null = sorted(row["problems"], key=lambda problem: "keyed empty null".find(problem.split(":")[0]))
    assert "where murmur2, which is claimed, says" in keyed and "crc32 would put them" in keyed
    assert "key '' at" in empty and "that is spread" in empty
    assert "claimed is partition 0, seen is spread" in null
    assert "confluent-kafka 1.7.0, default: keyed: key " in done.err
    assert "it ended with 1" in broken["problems"][0] and "no-such-partitioner" in broken["problems"][0]


@pytest.mark.parametrize("fields, told", [
    ({"keyed": "crc33"}, "no function of this name"),
    ({"run": None}, "expected either 'run' or"),
    ({"broker": "2.8"}, "expected one of 4.3.1, 3.9.1"),
    ({"colour": "red"}, "unexpected keyword argument 'colour'"),
])
def test_bad_rows_are_refused(claim, fields, told):
    done = run(MATRIX, "--rows", claim(fields), "--list").ends_with(2)
    assert told in done.err and "row 1" in done.err


def java_string_hash(key):
    """Without its sign."""
    units = key.decode("utf-8").encode("utf-16-be")
    value = 0
    for unit in zip(units[::2], units[1::2]):
        value = 31 * value + 256 * unit[0] + unit[1] & 0x7FFFFFFF
    return value


@pytest.fixture(scope="module")
def functions():
    known = judge.Functions()
    known.learn({*jobs.keys(), *judge.TEXTS_OF_NULL}, [])
    return known


TURNS = itertools.count()
SPREAD = {"keyed": "spread", "empty": "spread", "null": "spread"}


@pytest.mark.parametrize("place, seen", [
    (lambda line, count, key: java_partition(key or b"", count), {"keyed": "murmur2", "empty": "murmur2", "null": "murmur2"}),
    (lambda line, count, key: java_partition(key, count) if key else line % count, {"keyed": "murmur2", "empty": "spread",
                                                                                   "null": "spread"}),
    (lambda line, count, key: java_partition(b"None" if key is None else key, count),
     {"keyed": "murmur2", "empty": "murmur2", "null": 'murmur2("None")'}),
    (lambda line, count, key: line % count, SPREAD),
    (lambda line, count, key: count // 2, SPREAD),  # one batch a topic
    (lambda line, count, key: 0, {"keyed": "partition 0", "empty": "partition 0", "null": "partition 0"}),
    (lambda line, count, key: 5 % count, {"keyed": "hash 5", "empty": "hash 5", "null": "hash 5"}),
    (lambda line, count, key: sum(key or b"") % count, {"keyed": "unknown"}),
])
def test_what_is_seen_has_its_name(functions, place, seen):
    row = rows.Row(INTEROP, "Python", "planted", "1", "none", **dict.fromkeys(SPREAD, "-"))
    arrivals = [judge.Arrival(line, count, place(line, count, key), key)
                for line, (count, key) in enumerate(jobs.records("bytes"))]
    cells, problems = judge.judge(row, arrivals, {}, functions)
    assert {kind: cells[kind] for kind in seen} == seen
    assert len(problems) == 3, "each differs from what is claimed"


@pytest.mark.parametrize("place, is_other", [
    (lambda count, key: sum(key) % count, True), (lambda count, key: java_partition(key, count), False),
    (lambda count, key: 0, False), (lambda count, key: next(TURNS) % count, False)])
def test_another_function_is_one_and_none_that_is_known(functions, place, is_other):
    row = rows.Row(INTEROP, "Python", "planted", "1", "none", "other", "other", "-")
    lines = [(line, count, key) for line, (count, key) in enumerate(jobs.records("bytes")) if key]
    arrivals = {line: [judge.Arrival(line, count, place(count, key), key)] for line, count, key in lines}
    seen, problem = judge.cell(row, "keyed", lines, arrivals, {}, functions)
    assert (seen == "other") == (problem is None) == is_other
    for turns, is_other in ((0, True), (1, False)):  # the empty key has one place in each topic, or several
        empty = [(line, count, key) for line, (count, key) in enumerate(jobs.records("bytes")) if key == b""]
        arrivals = {line: [judge.Arrival(line, count, (count * 7 // 17 + turns * line) % count, b"")] for line, count, _ in empty}
        assert (judge.cell(row, "empty", empty, arrivals, {}, functions)[1] is None) == is_other


def test_a_hash_that_is_never_zero():
    functions = judge.Functions()
    row = rows.Row(INTEROP, "Node", "planted", "1", "none", "java-string-hash-masked(0 as 1)", "hash 1", "-", keys="utf8")
    functions.learn(jobs.keys(), [row])
    lines = list(enumerate(jobs.records("utf8")))

    def arrivals(zero):
        return [judge.Arrival(line, count, (java_string_hash(key) or zero) % count, key) for line, (count, key) in lines if key]

    def keyed(arrived):
        return judge.cell(row, "keyed", [(line, count, key) for line, (count, key) in lines if key],
                          {arrival.line: [arrival] for arrival in arrived}, {}, functions)

    assert keyed(arrivals(1)) == ("java-string-hash-masked(0 as 1)", None)
    assert keyed(arrivals(0))[0] == "java-string-hash-masked"


def test_records_that_are_lost_changed_or_refused_are_no_matter_of_partitions(functions):
    row = rows.Row(INTEROP, "Python", "planted", "1", "none", **SPREAD)
    lines = list(enumerate(jobs.records("bytes")))
    keyed = [line for line, (_, key) in lines if key]
    empty = [line for line, (_, key) in lines if key == b""]
    arrivals = {line: judge.Arrival(line, count, line % count, key) for line, (count, key) in lines}

    def problems(changed, refused=()):
        return judge.judge(row, [changed.get(line, arrival) for line, arrival in arrivals.items()
                                 if changed.get(line, arrival) and line not in refused], dict.fromkeys(refused, "too odd"),
                           functions)

    assert problems({}) == (SPREAD, [])
    assert "1 of" in problems({keyed[3]: None})[1][0] and "did not arrive" in problems({keyed[3]: None})[1][0]
    other = arrivals[keyed[0]]._replace(key=b"other")
    assert "arrived as other" in problems({keyed[0]: other})[1][0]
    cells, told = problems({line: arrivals[line]._replace(key=None) for line in empty})
    assert cells["empty"] == "as-null" and "arrived as no key" in told[0]
    null = [line for line, (_, key) in lines if key is None]
    assert problems({line: arrivals[line]._replace(key=b"") for line in null})[0]["null"] == "as-empty"
    assert problems({line: arrivals[line]._replace(key=b"made up") for line in null})[0]["null"] == "as-other"
    assert problems({}, refused=empty)[0]["empty"] == "refused"
    assert "1 of" in problems({}, refused=empty[:1])[1][0] and "too odd" in problems({}, refused=empty[:1])[1][0]
