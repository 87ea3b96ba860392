"""Every real client behaves as its row says, and the documents say what was seen."""

import json
import shutil

import pytest
from support import INTEROP, run

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
