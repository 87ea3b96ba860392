"""repartition policy: check, compile, show and diff, as people and CI jobs call them."""

import json
import random
import re

import pytest


@pytest.fixture
def policy(repartition):
    return lambda *args, **options: repartition("policy", *args, **options)


@pytest.fixture
def write(tmp_path):
    """write(name, topics) writes a policy file. @returns its path."""

    def write(name, topics):
        path = tmp_path / name
        path.write_text(topics if isinstance(topics, str) else json.dumps({"keyroute": 1, "topics": topics}))
        return path

    return write


def fingerprint(policy, path, topic="orders"):
    topics = policy("check", path, "--output", "json").ok().json()["topics"]
    return next(t["fingerprint"] for t in topics if t["topic"] == topic)


SLOTS = {"partitions": 30, "map": {"kind": "slots", "weights": {"0-11": 2, "12-23": 2, "24-29": 1}}}


# ---- check ------------------------------------------------------------------------------------------------------------


def test_check_prints_a_fingerprint_for_each_topic(policy, write):
    good = write("good.json", {"orders": SLOTS, "clicks-*": {"hash": "crc32"}})
    out = policy("check", good).ok().out
    assert "orders" in out and "30 partitions" in out and "murmur2 slots" in out
    assert "any partitions" in out and "crc32 modulo" in out
    rows = policy("check", good, "--output", "json").ok().json()
    assert rows["valid"] is True and [t["topic"] for t in rows["topics"]] == ["orders", "clicks-*"]
    assert rows["topics"][0]["memory_bytes"] > 30720 and rows["topics"][1]["partitions"] is None


def test_check_tells_of_every_wrong_file_and_still_reads_the_others(policy, write):
    bad = write("bad.json", {"orders": {"partitions": 12, "map": {"kind": "slots", "weights": {"12-11": 1}}}})
    good = write("good.json", {"orders": {}})
    worse = write("worse.json", "{")
    done = policy("check", bad, good, worse).ends_with(2)
    assert str(good) in done.out
    lines = done.err.splitlines()
    assert lines[0] == f'repartition policy: {bad}: topics.orders.map.weights["12-11"]: a range must rise; did you mean "11-12"?'
    assert lines[1].startswith(f"repartition policy: {worse}: line 1") and len(lines) == 2
    rows = [json.loads(line) for line in policy("check", bad, good, "--output", "json").ends_with(2).out.splitlines()]
    assert [row["valid"] for row in rows] == [False, True] and "a range must rise" in rows[0]["error"]


@pytest.mark.parametrize("change", [
    lambda rule: dict(reversed(list(rule.items()))),
    lambda rule: {**rule, "comment": "the same"},
    lambda rule: {**rule, "locations": {"0-29": "here"}},
    lambda rule: {**rule, "map": {"weights": {"*": "2.0", "24-29": 1}, "kind": "slots"}},
    lambda rule: {**rule, "map": {"kind": "slots", "slots": 30720, "weights": {"0-23": 1, "24-29": 0.5}}},
])
def test_the_fingerprint_covers_what_routes_and_nothing_else(policy, write, change):
    a = write("a.json", {"orders": SLOTS})
    b = write("b.json", json.dumps({"topics": {"x": {}, "orders": change(SLOTS)}, "keyroute": 1}, indent=3))
    assert fingerprint(policy, a) == fingerprint(policy, b)


# ---- compile ----------------------------------------------------------------------------------------------------------


def expand(table):
    """The table of owners from its runs, as docs/policy.md tells other languages to read them."""
    slots, stride = table["slots"], table["stride"]
    depth = slots // stride
    owners, i = [None] * slots, 0
    for owner, count in table["runs"]:
        for _ in range(count):
            owners[i % depth * stride + i // depth] = owner
            i += 1
    assert i == slots
    return owners


def test_a_compiled_policy_routes_identically(policy, write, repartition, tmp_path):
    source = write("source.json", {"orders": SLOTS})
    compiled, expanded = tmp_path / "compiled.json", tmp_path / "expanded.json"
    policy("compile", source, "-o", compiled).ok()
    policy("compile", source, "--expand", "-o", expanded).ok()
    assert fingerprint(policy, source) == fingerprint(policy, compiled) == fingerprint(policy, expanded)
    table = json.loads(compiled.read_text())["topics"]["orders"]["map"]
    owners = json.loads(expanded.read_text())["topics"]["orders"]["map"]["owners"]
    assert "weights" not in table and expand(table) == owners
    keys = [f"customer-{n}" for n in range(5000)]
    rows = repartition("route", "--policy", source, "--output", "json", stdin="\n".join(keys)).ok().out.splitlines()
    for row in map(json.loads, rows):
        assert row["partition"] == owners[row["hash_value"] % 30720]
    shares = [sum(1 for p in owners if lo <= p <= hi) / 30720 for lo, hi in ((0, 11), (12, 23), (24, 29))]
    assert shares == pytest.approx([24 / 54, 24 / 54, 6 / 54], abs=12 / 30720)  # a slot a partition
    policy("diff", source, compiled).ok()


def test_growing_moves_a_quarter_and_modulo_three(policy, write, tmp_path):
    now = write("now.json", {"orders": {"partitions": 12}})
    plain = write("plain.json", {"orders": {"partitions": 16}})
    wanted = write("wanted.json", {"orders": {"partitions": 16, "map": {"kind": "slots"}}})
    grown = tmp_path / "grown.json"
    policy("compile", wanted, "--from", now, "-o", grown).ok()
    assert policy("diff", now, grown, "--output", "json").ends_with(1).json()["moved_share"] == 0.25
    diff = policy("diff", now, plain, "--output", "json").ends_with(1).json()
    assert diff["moved_share"] == 0.75 and diff["basis"] == "exact"
    assert diff["from"]["java_share"] == diff["to"]["java_share"] == 1.0
    again = tmp_path / "again.json"
    policy("compile", wanted, "--from", grown, "-o", again).ok()
    policy("diff", grown, again).ok()


def test_ten_to_twelve_nodes_with_1024_slots(policy, write, tmp_path):
    now = write("now.json", {"t": {"partitions": 10, "map": {"kind": "slots", "slots": 1024,
                                                             "owners": [s % 10 for s in range(1024)]}}})
    wanted = write("wanted.json", {"t": {"partitions": 12, "map": {"kind": "slots"}}})
    grown = tmp_path / "grown.json"
    policy("compile", wanted, "--from", now, "-o", grown).ok()
    assert policy("diff", now, grown, "--output", "json").ends_with(1).json()["moved_share"] == pytest.approx(0.166, abs=5e-4)
    ten, twelve = write("10.json", {"t": {"partitions": 10}}), write("12.json", {"t": {"partitions": 12}})
    assert policy("diff", ten, twelve, "--output", "json").ends_with(1).json()["moved_share"] == pytest.approx(0.833, abs=5e-4)


def test_a_wrong_policy_leaves_the_old_file_and_nothing_beside_it(policy, write, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    bad = write("bad.json", {"orders": {"map": {"kind": "slots"}}})
    assert "this map names partitions" in policy("compile", bad, "-o", out).ends_with(2).err
    (tmp_path / "keys.tsv").write_text("acme\t1\n")
    table = write("table.json", {"orders": {"partitions": 4, "map": {"kind": "table", "file": "keys.tsv"}}})
    other = tmp_path / "other"
    other.mkdir()
    error = policy("compile", table, "-o", other / "out.json").ends_with(2).err
    assert "cannot stand there" in error and "keys.tsv" in error
    assert out.read_text() == "old" and not list(other.iterdir())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.json", "keys.tsv", "other", "out.json", "table.json"]


def test_a_pipe_is_written_to_and_not_replaced(policy, write, tmp_path):
    right = write("right.json", {"orders": SLOTS})
    assert policy("compile", right, "-o", "/dev/stdout").ok().out == policy("compile", right).ok().out
    link = tmp_path / "nothing"
    link.symlink_to("/dev/null")
    policy("compile", right, "-o", link).ok()
    assert link.is_char_device()


# ---- show -------------------------------------------------------------------------------------------------------------


def test_show_prints_shares_memory_and_what_is_still_javas(policy, write):
    path = write("p.json", {"orders": {**SLOTS, "locations": {"0-11": "site-a", "12-23": "site-b", "24-29": "site-c"}}})
    shown = policy("show", path, "--output", "json").ok().json()
    by_site = {}
    for row in shown["shares"]:
        by_site[row["location"]] = by_site.get(row["location"], 0) + row["share"]
    assert by_site == pytest.approx({"site-a": 24 / 54, "site-b": 24 / 54, "site-c": 6 / 54}, abs=12 / 30720)
    assert shown["java_share"] == pytest.approx(1 - 6 * (1 / 30 - 1 / 54), abs=1e-4) and shown["basis"] == "exact"
    assert 30720 < shown["memory_bytes"] < 32000
    text = policy("show", path).ok().out
    assert "site-b" in text and "as Java      91.1 %" in text and re.search(r"memory       3\d\.\d kB", text)


def test_show_a_table_of_a_million_keys(policy, write, tmp_path):
    (tmp_path / "keys.tsv").write_text("".join(f"key-{n}\t{n % 12}\n" for n in range(1000000)))
    path = write("p.json", {"orders": {"partitions": 12, "map": {"kind": "table", "file": "keys.tsv"}}})
    shown = policy("show", path, "--output", "json").ok().json()
    assert shown["pinned_keys"] == 1000000 and 16e6 < shown["memory_bytes"] < 27e6


def test_show_one_topic_and_any_count(policy, write):
    path = write("p.json", {"orders": SLOTS, "clicks-*": {}})
    assert "orders" not in policy("show", path, "--topic", "clicks-eu", "--partitions", 3).ok().out
    assert len(policy("show", path, "-t", "clicks-eu", "--partitions", 3, "--output", "json").ok().json()["shares"]) == 3
    assert "any count" in policy("show", path, "--topic", "clicks-eu").ok().out
    assert 'no rule for the topic "x"' in policy("show", path, "--topic", "x").ends_with(2).err
    assert "the policy pins 30" in policy("show", path, "-t", "orders", "--partitions", 3).ends_with(2).err


# ---- diff -------------------------------------------------------------------------------------------------------------


def test_diff_counts_on_given_keys(policy, write, tmp_path, repartition):
    a = write("a.json", {"t": {"partitions": 7, "map": {"kind": "range", "bounds": ["2", "4", "5", "6", "7", "9"]}}})
    b = write("b.json", {"t": {"partitions": 7, "hash": "crc32"}})
    keys = tmp_path / "keys"
    rng = random.Random(5)
    names = [f"{rng.randrange(10**9)}" for _ in range(3000)]
    keys.write_text("\n".join(names))
    got = policy("diff", a, b, "--keys", keys, "--output", "json").ends_with(1).json()

    def route(path):
        out = repartition("route", "--policy", path, stdin="\n".join(names)).ok().out
        return [int(line.split("\t")[1]) for line in out.splitlines()]

    pairs = list(zip(route(a), route(b)))
    assert got["basis"] == "keys" and got["keys"] == 3000
    assert got["moved_share"] == pytest.approx(sum(x != y for x, y in pairs) / 3000, abs=1e-6)
    for flow in got["flows"]:
        assert flow["share"] == pytest.approx(pairs.count((flow["from"], flow["to"])) / 3000, abs=1e-6)
    assert sum(flow["share"] for flow in got["flows"]) == pytest.approx(got["moved_share"], abs=1e-4)
    unknown = policy("diff", a, b, "--output", "json").ends_with(1).json()
    assert unknown["basis"] == "unknown" and unknown["moved_share"] is None


def test_diff_of_topics_that_only_one_names(policy, write):
    a = write("a.json", {"orders": {}, "gone": {}, "logs-*": {}})
    b = write("b.json", {"orders": {}, "new": {}, "logs-eu": {"hash": "crc32"}, "logs-*": {}})
    done = policy("diff", a, b, "--partitions", 8, "--output", "json").ends_with(1)
    rows = {row["topic"]: row for row in map(json.loads, done.out.splitlines())}
    assert rows["orders"]["identical"] and rows["logs-*"]["identical"]
    assert rows["gone"]["to"] is None and rows["new"]["from"] is None
    assert rows["logs-eu"]["from"]["topic"] == "logs-*" and rows["logs-eu"]["basis"] == "sampled"
    assert rows["logs-eu"]["moved_share"] == pytest.approx(7 / 8, abs=0.01)
    policy("diff", a, a).ok()


def test_diff_lists_ranges_and_counts_pins(policy, write):
    a = write("a.json", {"r": {"partitions": 2, "map": {"kind": "range", "bounds": ["m"]}},
                         "p": {"partitions": 2, "map": {"kind": "table", "keys": {"x": 1, "y": 1, "z": 0}}}})
    b = write("b.json", {"r": {"partitions": 2, "map": {"kind": "range", "bounds": ["k"]}},
                         "p": {"partitions": 2, "map": {"kind": "table", "keys": {"x": 1, "y": 0, "n": 0}}}})
    done = policy("diff", a, b, "--output", "json").ends_with(1)
    rows = {row["topic"]: row for row in map(json.loads, done.out.splitlines())}
    assert [(r["start"]["key_text"], r["end"]["key_text"], r["from"], r["to"]) for r in rows["r"]["ranges"]] == [("k", "m", 0, 1)]
    assert rows["p"]["pinned_keys"] == {"same": 1, "changed": 1, "added": 1, "removed": 1}
    assert rows["p"]["moved_share"] == 0.0 and not rows["p"]["identical"]


# ---- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args,want", [
    (["frob", "x"], 'expected check, compile, show or diff, got "frob"'),
    (["check"], "check: expected FILE..., got 0 files"),
    (["compile", "a", "b"], "compile: expected FILE, got 2 files"),
    (["diff", "a"], "diff: expected A B, got 1 file"),
    (["diff", "a", "b", "--from", "c"], "diff takes no --from"),
    (["check", "a", "-o", "b"], "check takes no --out"),
    (["show", "a", "--keys", "k"], "show takes no --keys"),
    (["show", "/nowhere.json"], "/nowhere.json: cannot read the policy file: No such file or directory"),
])
def test_usage(policy, args, want):
    done = policy(*args).ends_with(2)
    assert done.err == f"repartition policy: {want}\n" and not done.out


def test_keys_that_cannot_be_read(policy, write, tmp_path):
    a, b = write("a.json", {"t": {"partitions": 3}}), write("b.json", {"t": {"partitions": 4}})
    assert "cannot read the keys" in policy("diff", a, b, "--keys", tmp_path / "none").ends_with(2).err
    (tmp_path / "k").write_text("00\nzz\n")
    error = policy("diff", a, b, "--keys", tmp_path / "k", "--key-format", "hex").ends_with(2).err
    assert f"{tmp_path / 'k'}: line 2:" in error
    (tmp_path / "k").write_text("")
    assert "there are no keys in it" in policy("diff", a, b, "--keys", tmp_path / "k").ends_with(2).err


# ---- route --first-part -----------------------------------------------------------------------------------------------


def test_route_lists_the_partitions_of_a_first_part(write, repartition):
    path = write("p.json", {"t": {"partitions": 96, "map": {"kind": "two-level", "delimiter": "|", "fanout": 8}}})
    out = repartition("route", "--policy", path, "--first-part", "tenant-7").ok().out
    key, partitions = out.rstrip("\n").split("\t")
    partitions = [int(p) for p in partitions.split(",")]
    assert key == "tenant-7" and len(partitions) == 8
    keys = "\n".join(f"tenant-7|{n}" for n in range(500))
    rows = repartition("route", "--policy", path, stdin=keys).ok().out.splitlines()
    assert {int(row.split("\t")[1]) for row in rows} == set(partitions)
    assert repartition("route", "--policy", path, "--first-part", "tenant-7", "--output", "json").ok().json() == {
        "key": "dGVuYW50LTc=", "key_text": "tenant-7", "partitions": partitions}
    assert repartition("route", "--partitions", 3, "--first-part", "x").ok().out == "x\t0,1,2\n"
    assert "leave --first-part out" in repartition("route", "--partitions", 3, "--all-hashes", "--first-part", "x").ends_with(2).err
