"""Wherever a file is named, "-" is standard input or output, or is refused: no command makes a file of that name."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from support import BUILD, DEBIAN_PYTHON, run

POLICY = json.dumps({"keyroute": 1, "topics": {"orders": {"partitions": 12, "hash": "murmur2"}}})
ALWAYS_0 = (DEBIAN_PYTHON, "-c", "import sys\nfor _ in sys.stdin: print(0)")


@pytest.fixture
def here(repartition, tmp_path):
    """Runs the tool in a folder of its own, and looks for a file named "-" afterwards."""

    def call(*args, **options):
        result = repartition(*args, cwd=tmp_path, **options)
        assert not (tmp_path / "-").exists()
        return result

    return call


def file_options(repartition):
    """(command, option, its help) of every option that takes the name of a file."""
    for command in re.findall(r"^  ([a-z]+)  +\S", repartition("--help").ok().out, re.M):
        rows = re.split(r"^ {2,6}(?=-)", repartition(command, "--help").ok().out.split("\noptions:\n")[1].split("\nexamples:")[0],
                        flags=re.M)
        for row in rows:
            found = re.match(r"(?:-\w, )?--([a-z-]+) (FILE|PATH|CURRENT)\b(.*)", row, re.S)
            if found and (command, found[1]) != ("schema", "field"):  # a path within a schema
                yield command, found[1], " ".join(found[3].split())


def test_every_option_that_names_a_file_says_what_a_dash_is_or_refuses_it(here, repartition):
    options = list(file_options(repartition))
    assert len(options) > 50
    for command, option, text in options:
        if not re.search(r"; - is standard (input|output)$", text):
            said = here(command, f"--{option}", "-").ends_with(2).err
            assert f'--{option}: "-" is standard input or output, and this must be a name' in said, command


def test_policies_go_through_pipes(here):
    compiled = here("policy", "compile", "-", "-o", "-", stdin=POLICY).ok()
    assert json.loads(compiled.out)["topics"]["orders"]["partitions"] == 12 and compiled.err == ""
    assert "orders" in here("policy", "check", "-", stdin=compiled.out).ok().out
    assert "12" in here("policy", "show", "-", stdin=compiled.out).ok().out
    assert here("route", "--policy", "-", "TT0124", stdin=POLICY).ok().out == here("route", "--partitions", 12, "TT0124").ok().out
    assert "/dev/stdin: line 1" in here("policy", "check", "-", stdin="{").ends_with(2).err
    assert "can be read once" in here("policy", "diff", "-", "-", stdin=POLICY).ends_with(2).err
    # The keys are standard input as well, unless they are given.
    assert "can be read once" in here("route", "--policy", "-", stdin=POLICY).ends_with(2).err


def test_rows_and_tables_go_through_pipes(here, tmp_path):
    sent = here("rebalance", "--partitions", 4, "--weights", "-", "--out", "-", stdin="".join(f"key{i}\t1\n" for i in range(40))).ok()
    assert json.loads(sent.out)["keyroute"] == 1 and "fullest" in sent.err
    places = here("route", "--partitions", 12, "--locations", "-", "TT0124", stdin=json.dumps({"0-11": "site-a"})).ok()
    assert places.out.endswith("\tsite-a\n")
    for name, topic in (("a", {"partitions": 12}), ("b", {"partitions": 12, "hash": "crc32"})):
        (tmp_path / name).write_text(json.dumps({"keyroute": 1, "topics": {"orders": topic}}))
    assert "2 keys" in here("policy", "diff", "a", "b", "--keys", "-", stdin="TT0124\nTT0125\n").ends_with(1).out
    assert "/dev/stdin: line 1: expected NAME=VALUE" in here("audit", "orders", "-F", "-", stdin="nonsense\n").ends_with(2).err


@pytest.mark.parametrize("option", ["--junit", "--tap"])
def test_a_report_on_standard_output_stands_there_alone(here, option):
    asked = here("conform", "--partitions", 12, option, "-", "--", *ALWAYS_0).ends_with(1)
    if option == "--junit":
        assert ET.fromstring(asked.out).tag.startswith("testsuite")
    else:
        assert re.match(r"(TAP version|1\.\.)", asked.out)
    assert "verdict" in asked.err and "verdict   " not in asked.out


@pytest.mark.parametrize("address", ["-", "a-link"])
def test_a_sandbox_removes_nothing_but_its_own_file(repartition, tmp_path, address):
    (tmp_path / "-").write_text("somebody's")
    (tmp_path / "a-link").symlink_to("/dev/stdout")
    done = repartition("sandbox", "--for", 1, "--quiet", "--address-file", address, cwd=tmp_path).ok()
    assert re.fullmatch(r"127\.0\.0\.1:\d+\n", done.out.splitlines(keepends=True)[0])
    assert (tmp_path / "-").read_text() == "somebody's" and (tmp_path / "a-link").is_symlink()


def test_standard_output_is_one_file(here):
    said = here("conform", "--partitions", 12, "--junit", "-", "--tap", "-", "--", *ALWAYS_0).ends_with(2).err
    assert "--tap: standard output is another file already" in said


def test_a_disk_that_is_full_is_told():
    done = run("sh", "-c", 'exec "$0" "$@" > /dev/full', BUILD / "repartition", "policy", "compile", "-", "-o", "-", stdin=POLICY)
    assert "No space left" in done.ends_with(2).err
