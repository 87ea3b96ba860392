"""estimate, rebalance and plan: the published figures again, from files that are made here, and plans for a real topic."""

import json
import random

import pytest
from records import read
from support import BUILD, PYTHON, run, unique

PARTS = 30
PER_DAY, DAYS, ASKED_DAYS, QUERY_DAYS = 400_000, 730, 5, 30
QUERY_RECORDS = PER_DAY * QUERY_DAYS


def shares(exponent=0.9, tripled=False):
    """4,000 groups, the i-th with weight i^-exponent; the largest may have tripled."""
    weights = [i**-exponent for i in range(1, 4001)]
    if tripled:
        weights[0] *= 3
    total = sum(weights)
    return [w / total for w in weights]


@pytest.fixture
def groups(tmp_path):
    def write(name="groups.tsv", **how):
        path = tmp_path / name
        path.write_text("".join(f"g{i:04d}\t{w!r}\n" for i, w in enumerate(shares(**how), 1)))
        return path

    return write


@pytest.fixture
def estimate(repartition):
    """estimate(...) @returns the rows of its JSON by (map, partitions)."""

    def call(*args):
        found = repartition("estimate", *args, "--output", "json").ok().json()
        return {(row.get("map"), row["partitions"]): row for row in found["maps"]}

    return call


@pytest.fixture
def rebalance(repartition):
    return lambda *args: repartition("rebalance", *args, "--output", "json")


# ---- the strategy table -----------------------------------------------------------------------------------------------


def test_a_lookup_table_by_group(estimate, groups):
    rows = estimate("--weights", groups(), "--partitions", "8,16", "--map", "table", "--records", QUERY_RECORDS)
    eight, sixteen = rows["table", 8], rows["table", 16]
    assert round(eight["heaviest_share"], 4) == 0.0741
    assert round(sum(shares()[:8]), 4) == 0.2192
    assert f"{eight['max_over_mean']:.2f}" == "1.00" and eight["scanned_records"] == 1_500_137
    assert f"{sixteen['max_over_mean']:.2f}" == "1.19" and sixteen["scanned_records"] == 889_566
    for row in (eight, sixteen):
        assert row["partitions_touched"] == 1 and row["lookups"] == 1


def test_ranges_of_time(estimate, tmp_path):
    """All that is asked for is young, and so in one partition."""
    last = PER_DAY * DAYS
    asked = tmp_path / "asked.tsv"
    asked.write_text("".join(f"{n}\n" for n in range(last - PER_DAY * ASKED_DAYS, last, 500)))
    for partitions in (8, 16):
        bounds = [{"hex": f"{last * p // partitions:016x}"} for p in range(1, partitions)]
        policy = tmp_path / "range.json"
        policy.write_text(json.dumps({"keyroute": 1, "topics": {"t": {
            "partitions": partitions, "map": {"kind": "range", "bounds": bounds}}}}))
        row = estimate("--weights", asked, "--key-format", "int64", "--policy", policy)[str(policy), partitions]
        assert f"{row['max_over_mean']:.2f}" == f"{partitions}.00" and row["lookups"] == 0


def mixed(n):
    """The hash of the published table."""
    n = (n ^ n >> 16) * 0x21F0AAAD & 0xFFFFFFFF
    n = (n ^ n >> 15) * 0x735A2D97 & 0xFFFFFFFF
    return n ^ n >> 15


def test_a_hash_of_the_number(estimate, tmp_path):
    """Even, but the records of one group are everywhere: each query reads all there is."""
    last = PER_DAY * DAYS
    asked = range(last - PER_DAY * ASKED_DAYS, last)
    assert len(asked) == 2_000_000
    choose = random.Random(1)
    group_of = choose.choices(range(1, 4001), cum_weights=list(_sums(shares())), k=len(asked))
    hashes = [mixed(n) for n in asked]
    for partitions in (8, 16):
        sample = tmp_path / "asked.tsv"
        with sample.open("w", encoding="ascii") as out:
            out.write("key\tgroup\tpartition\n")
            out.writelines(f"{n}\tg{g:04d}\t{h % partitions}\n" for n, g, h in zip(asked, group_of, hashes))
        rows = estimate("--weights", sample, "--partitions", partitions, "--records", QUERY_RECORDS, "--map", "given",
                        "--map", "modulo", "--map", "modulo-by-group")
        assert f"{rows['given', partitions]['max_over_mean']:.2f}" == "1.00"
        assert rows["modulo", partitions]["max_over_mean"] < 1.02  # another good hash, nearly as lucky
        for name in ("given", "modulo"):
            row = rows[name, partitions]
            assert row["partitions_touched"] == partitions
            assert row["scanned_records"] == QUERY_RECORDS and row["lookups"] == 0
        by_group = rows["modulo-by-group", partitions]
        assert by_group["partitions_touched"] == 1 and by_group["max_over_mean"] > 1.2


def _sums(weights):
    total = 0
    for w in weights:
        total += w
        yield total


@pytest.mark.parametrize("exponent,floor", [(0.9, "1.00"), (1.1, "1.29"), (1.3, "2.19")])
def test_the_floor_that_the_largest_group_sets(estimate, groups, exponent, floor):
    row = estimate("--weights", groups(exponent=exponent), "--partitions", 8, "--map", "table")["table", 8]
    assert f"{row['floor']:.2f}" == floor


# ---- rebalancing ------------------------------------------------------------------------------------------------------


def routes(repartition, policy, keys):
    out = repartition("route", "--policy", policy, *keys).ok().out
    return {key: int(p) for key, p in (line.split("\t") for line in out.splitlines())}


def test_a_tripled_group(repartition, rebalance, groups, tmp_path):
    table, next_table = tmp_path / "table.json", tmp_path / "next.json"
    # No move is needed after a placement from nothing.
    first = rebalance("-w", groups(), "-p", 8, "--target", "1.2", "-t", "orders", "-o", table).ok().json()
    assert first["moves"] == 0 and first["placed"] == "anew" and first["target_reached"]

    tripled = groups("tripled.tsv", tripled=True)
    stuck = rebalance("-w", tripled, "--policy", table, "--target", "1.2", "-o", next_table).ends_with(1).json()
    assert round(stuck["heaviest_share"], 4) == 0.1937
    assert round(stuck["max_over_mean_before"], 3) == 1.904 and round(stuck["max_over_mean"], 3) == 1.549
    assert stuck["moves"] == 468 and round(stuck["moved_share"], 4) == 0.0443
    assert not stuck["target_reached"] and stuck["rows"] == 4000 and round(stuck["floor"], 2) == 1.55

    split = rebalance("-w", tripled, "--policy", table, "--target", "1.2", "--split", f"g0001:{PARTS}", "-o",
                      next_table).ok().json()
    assert round(split["max_over_mean"], 3) == 1.181 and split["moves"] == 14
    assert round(split["moved_share"], 4) == 0.0904
    assert split["splits"] == [{"group": "g0001", "parts": PARTS, "partitions_touched": 8}]
    assert split["groups"] == 4000 and split["rows"] == 4029

    # The policy is one, and routes by its rows: parts of the split group, and whole keys of every other.
    repartition("policy", "check", next_table).ok()
    written = json.loads(next_table.read_text())
    assert len(written["topics"]["orders"].pop("fingerprint")) == 16  # compiled, as the file is; the report tells the plan
    assert written == split["policy"]
    was = routes(repartition, table, [f"g{i:04d}" for i in range(1, 4001)])
    now = routes(repartition, next_table, [f"g{i:04d}|x|y" for i in range(2, 4001)])
    parts = routes(repartition, next_table, [f"g0001|{i}|some order" for i in range(PARTS)])
    assert len(set(parts.values())) == 8
    loads = [0.0] * 8
    weights = shares(tripled=True)
    for i in range(2, 4001):
        loads[now[f"g{i:04d}|x|y"]] += weights[i - 1]
    for p in parts.values():
        loads[p] += weights[0] / PARTS
    assert max(loads) * 8 == pytest.approx(split["max_over_mean"], abs=1e-6)
    assert loads == pytest.approx(split["shares"], abs=1e-6)
    moved = [i for i in range(2, 4001) if now[f"g{i:04d}|x|y"] != was[f"g{i:04d}"]]
    moved_parts = [p for p in parts.values() if p != was["g0001"]]
    assert len(moved) + len(moved_parts) == 14


def test_the_next_rebalance_starts_from_the_last_one(repartition, rebalance, groups, tmp_path):
    table, again = tmp_path / "table.json", tmp_path / "again.json"
    rebalance("-w", groups(), "-p", 8, "--target", "1.2", "--split", "g0001:4", "-o", table).ok()
    rows = json.loads(table.read_text())["topics"]["*"]["map"]
    assert rows["first"] == 2 and rows["else"]["first"] == 1 and rows["else"]["else"] == {"kind": "modulo"}
    parts = tmp_path / "parts.tsv"
    weights = shares()
    parts.write_text("".join(f"g0001|{i}\t{weights[0] / 4}\n" for i in range(4)) +
                     "".join(f"g{i:04d}\t{w!r}\n" for i, w in enumerate(weights[1:], 2)))
    done = rebalance("-w", parts, "--policy", table, "--delimiter", "|", "--target", "1.2", "-o", again).ok().json()
    assert done["moves"] == 0 and done["placed"] == "policy"
    fingerprints = [repartition("policy", "check", p, "--output", "json").ok().json()["topics"][0]["fingerprint"]
                    for p in (table, again)]
    assert fingerprints[0] == fingerprints[1]


def test_the_rest_of_the_policy_stays(rebalance, tmp_path):
    base = {"keyroute": 1, "comment": "ours", "topics": {
        "orders": {"comment": "by customer", "partitions": 4, "hash": "crc32", "locations": {"0-3": "here"},
                   "map": {"kind": "ring"}},
        "clicks-*": {"hash": "crc32"}}}
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(base))
    weights = tmp_path / "w.tsv"
    weights.write_text("a\t5\t0\nb\t4\t0\nc\t1\t0\n")
    made = rebalance("-w", weights, "--policy", policy, "-t", "orders", "--target", "2").ok().json()
    want = json.loads(json.dumps(base))
    want["topics"]["orders"]["map"] = {"kind": "table", "keys": {"a": 1, "b": 0, "c": 0}, "else": {"kind": "ring"}}
    assert made["policy"] == want and made["moves"] == 1 and made["placed"] == "file"


def test_a_table_grows(repartition, rebalance, groups, tmp_path):
    """From 8 to 12 partitions: the newcomers get their share, though the largest group alone fills more than one."""
    table, grown = tmp_path / "table.json", tmp_path / "grown.json"
    weights = groups(exponent=1.1)
    rebalance("-w", weights, "-p", 8, "--target", "1.4", "-o", table).ok()
    done = rebalance("-w", weights, "-p", 12, "--fill", "--target", "1.1", "--policy", table, "-o", grown).ends_with(1).json()
    was, now = (routes(repartition, p, [f"g{i:04d}" for i in range(1, 4001)]) for p in (table, grown))
    moved = [key for key in was if now[key] != was[key]]
    assert 0 < len(moved) <= done["moves"] and all(p in map(now.get, moved) for p in range(8, 12))
    assert 4 / 12 - 0.08 < done["moved_share"] < 4 / 12 + 0.15
    assert done["max_over_mean"] == done["floor"]  # the one that no move can help
    others = sorted(done["shares"])[:-1]
    assert others[-1] * 11 / sum(others) < 1.11
    fewer = rebalance("-w", weights, "-p", 6, "--policy", table).ends_with(2)
    assert "is made for 8 partitions, --partitions says 6" in fewer.err


def test_groups_that_are_no_text(repartition, rebalance, tmp_path):
    weights, out = tmp_path / "w.tsv", tmp_path / "out.json"
    weights.write_text("ff00\t3\n00\t2\n\t1\n")
    made = rebalance("-w", weights, "-p", 3, "--key-format", "hex", "--target", "1.5", "-o", out).ok().json()
    assert made["policy"]["topics"]["*"]["map"]["key-format"] == "hex"
    assert repartition("route", "--policy", out, "--key-format", "hex", "ff00", "00").ok().out == "ff00\t0\n00\t1\n"


def test_row_order_makes_no_difference(rebalance, groups, tmp_path):
    path = groups()
    lines = path.read_text().splitlines(keepends=True)
    other = tmp_path / "shuffled.tsv"
    random.Random(2).shuffle(lines)
    other.write_text("".join(lines))
    first, second = (rebalance("-w", p, "-p", 7, "--target", "1.05").ok().json() for p in (path, other))
    assert first["policy"]["topics"]["*"]["map"]["keys"] == second["policy"]["topics"]["*"]["map"]["keys"]


# ---- chance -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each,ratio", [(1, "3.88"), (4, "2.44"), (16, "1.72"), (64, "1.36"), (256, "1.18"), (1024, "1.09"),
                                        (15600, "1.02")])
def test_balls_into_bins(estimate, each, ratio):
    row = estimate("--keys", 64 * each, "--partitions", 64)[None, 64]
    assert f"{row['chance']:.2f}" == ratio
    if each >= 1024:
        assert row["chance_simulated"] == pytest.approx(row["chance"], abs=0.02)
    if each == 15600:
        assert f"{row['chance_simulated']:.2f}" == ratio


def test_real_hashes_are_no_luckier_than_chance(estimate, tmp_path):
    keys = tmp_path / "keys.tsv"
    keys.write_text("".join(f"customer-{i}\n" for i in range(64 * 256)))
    row = estimate("--weights", keys, "--partitions", 64, "--map", "modulo")["modulo", 64]
    assert row["max_over_mean"] == pytest.approx(row["chance_simulated"], abs=0.06)
    assert f"{row['chance']:.2f}" == "1.18"


# ---- growth -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def keys(tmp_path):
    choose = random.Random(3)
    path = tmp_path / "keys.tsv"
    path.write_text("".join(f"key-{choose.getrandbits(64):x}\n" for _ in range(100_000)))
    return path


def test_1024_slots_from_10_to_12_nodes(estimate, keys, tmp_path):
    policy = tmp_path / "slots.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {"t": {"partitions": 10, "map": {
        "kind": "slots", "slots": 1024, "owners": [s % 10 for s in range(1024)]}}}}))
    rows = estimate("--weights", keys, "--policy", policy, "--map", "modulo", "--partitions", 10, "--grow-to", 12)
    slots, modulo = rows[str(policy), 10], rows["modulo", 10]
    assert f"{100 * slots['moved_share_of_hashes']:.1f}" == "16.6"
    assert f"{100 * modulo['moved_share_of_hashes']:.1f}" == "83.3"
    assert slots["moved_share"] == pytest.approx(0.166, abs=0.005) and modulo["moved_share"] == pytest.approx(0.833, abs=0.005)


def test_12_to_16_partitions(estimate, keys):
    rows = estimate("--weights", keys, "--partitions", 12, "--grow-to", 16)
    assert f"{100 * rows['slots', 12]['moved_share_of_hashes']:.0f}" == "25"
    assert f"{100 * rows['modulo', 12]['moved_share_of_hashes']:.0f}" == "75"
    assert rows["slots", 12]["moved_share"] == pytest.approx(0.25, abs=0.006)
    assert rows["modulo", 12]["moved_share"] == pytest.approx(0.75, abs=0.006)
    assert 0.2 < rows["table", 12]["moved_share"] < 0.25  # until no partition has more than 1.05 times the mean


# ---- bad input --------------------------------------------------------------------------------------------------------

BAD = [
    ("rebalance", "a\tx\n", [], "bad.tsv: line 1: expected a weight of 0 or more, such as 12 or 0.5, found \"x\""),
    ("rebalance", "a\t1\nb\t-1\n", [], "bad.tsv: line 2: expected a weight of 0 or more"),
    ("rebalance", "a\tnan\n", [], "bad.tsv: line 1: expected a weight"),
    ("rebalance", "a\t1e999\n", [], "bad.tsv: line 1: expected a weight"),
    ("rebalance", "a\t\n", [], "bad.tsv: line 1: expected a weight"),
    ("rebalance", "a\t1\nb\n", [], "bad.tsv: line 2: expected 2 columns with tabs between, found 1"),
    ("rebalance", "a\t1\t2\t3\n", [], "bad.tsv: line 1: expected a key, its weight and its partition at most, found 4"),
    ("rebalance", "", [], "bad.tsv: expected at least one line with a key and its weight"),
    ("rebalance", "key\tweight\n", [], "bad.tsv: expected at least one line with a key and its weight"),
    ("rebalance", "a\t0\nb\t0\n", [], "bad.tsv: all weights are 0"),
    ("rebalance", "a\t1\t4\n", [], "bad.tsv: line 1: partition 4 does not exist; with 4 partitions the last is 3"),
    ("rebalance", "a\t1\t-1\n", [], "bad.tsv: line 1: expected a partition from 0 to 999999, found \"-1\""),
    ("rebalance", "a\t1\t1\na\t1\t2\n", [], "bad.tsv: line 2: this group has another partition in a line above"),
    ("rebalance", "key\tgroup\na\tb\n", [], "bad.tsv: line 1: expected groups alone, found a column \"key\""),
    ("rebalance", "zz\t1\n", ["--key-format", "hex"], "bad.tsv: line 1: "),
    ("rebalance", "a\t1\n", ["--split", "b:3"], "--split: bad.tsv has no group \"b\""),
    ("rebalance", "a\t1\n", ["--split", "a:1"], "--split: expected a group, a colon and 2 to 100000 parts"),
    ("rebalance", "a\t1\n", ["--split", "a"], "--split: expected a group, a colon"),
    ("rebalance", "a|0\t1\na\t2\n", ["--split", "a:2"], "part 0 of the group is there already"),
    ("rebalance", "a\t1\n", ["--target", "0.9"], "--target: expected a ratio of 1 or more, such as 1.2, got \"0.9\""),
    ("rebalance", "a|b|c|d\t1\n", ["--delimiter", "|"], "a group holds the delimiter \"|\" more than 2 times"),
    ("estimate", "a\t1\n", ["--grow-to", "4"], "--grow-to: expected more than 4 partitions, got 4"),
    ("estimate", "a\t1\n", ["--map", "hash"], "--map: expected one of modulo, "),
    ("estimate", "a\t1\n", ["--map", "two-level"], "map two-level: it needs --delimiter"),
    ("estimate", "a\t1\n", ["--map", "range"], "map range: fewer keys than partitions (4)"),
    ("estimate", "a\t1\n", ["--map", "given"], "map given: not every row has a partition below 4"),
    ("estimate", "a\t1\n", ["--map", "slots-by-group"], "map slots-by-group: the keys have no groups"),
    ("estimate", "a\t1\n", ["--hash", "murmur"], "--hash: no hash \"murmur\""),
    ("estimate", "a\t1\n", ["--policy", "no-such.json"], "no-such.json: cannot read the policy file"),
    ("estimate", "a\tb\n", ["--keys", "3"], "expected a topic, or --weights FILE, or --keys K"),
    ("estimate", "key\tgroup\na\tb\n", ["--delimiter", "|"], "bad.tsv: line 1: a column \"group\" and --delimiter exclude"),
]


@pytest.mark.parametrize("command,text,more,error", BAD)
def test_bad_input_gets_one_line(repartition, tmp_path, command, text, more, error):
    (tmp_path / "bad.tsv").write_text(text)
    out = [] if command == "estimate" else ["--out", "out.json"]
    done = repartition(command, "--weights", "bad.tsv", "--partitions", 4, *more, *out, cwd=tmp_path).ends_with(2)
    assert done.err.startswith(f"repartition {command}: {error}") and done.err.count("\n") == 1
    assert done.out == "" and not (tmp_path / "out.json").exists()


def test_bad_arguments_of_plan(repartition):
    for args, error in [
        (["grow", "t"], "grow: --partitions M is missing"),
        (["weights", "t"], "weights: --weights LIST is missing"),
        (["weights", "t", "--weights", "0-1=2", "-p", "3"], "weights: the number of partitions stays"),
        (["weights", "t", "--weights", "3"], "--weights: expected partitions and their weights such as 0-11=2,*=1, got \"3\""),
        (["weights", "t", "--weights", "0=1,0=2"], "--weights: \"0\" is there twice"),
        (["shrink", "t"], "expected grow or weights, got \"shrink\""),
        (["grow", "t", "-p", "4", "--into", "t"], "--into: expected another topic than \"t\""),
    ]:
        done = repartition("plan", *args, "-b", "127.0.0.1:1").ends_with(2)
        assert done.err == f"repartition plan: {error}\n" or done.err.startswith(f"repartition plan: {error}"), done.err
        assert done.out == ""


# ---- on a real Kafka --------------------------------------------------------------------------------------------------


def write_policy(path, **topics):
    path.write_text(json.dumps({"keyroute": 1, "topics": topics}))
    return path


def produce(python, bootstrap, topic, keys, *properties):
    """A program that knows nothing of Keyroute; the plugin is one of its properties."""
    return run(python, PYTHON / "produce.py", "-b", bootstrap, "-t", topic, f"-Xplugin.library.paths={BUILD}/keyroute.so",
               "-Xlinger.ms=20", *(f"-X{p}" for p in properties), stdin="".join(f"{key}\tv\n" for key in keys)).ok()


def random_keys(seed, count):
    choose = random.Random(seed)
    return [f"{choose.getrandbits(64):016x}" for _ in range(count)]


def test_weights_end_to_end(kafka, topic, repartition, wheel_python, tmp_path):
    """Sites of 6, 6 and 3: each partition gets its due share of a million keys, and each record is where it belongs."""
    t = topic("weighted", partitions=15)
    policy = write_policy(tmp_path / "weighted.json", **{t: {
        "partitions": 15, "locations": {"0-4": "site-a", "5-9": "site-b", "10-14": "site-c"},
        "map": {"kind": "slots", "weights": {"0-4": 6, "5-9": 6, "10-14": 3}}}})
    keys = random_keys(4, 1_000_000)
    produce(wheel_python, kafka.bootstrap, t, keys, f"keyroute.policy={policy}")
    found = repartition("audit", t, "--policy", policy, "-b", kafka.bootstrap, "--output", "json").ok().json()
    assert found["records"] == len(keys) and found["misplaced"] == 0 and found["status"] == "clean"
    records = [row["records"] for row in found["per_partition"]]
    for site, share in enumerate((0.4, 0.4, 0.2)):
        got = sum(records[5 * site:5 * site + 5]) / len(keys)
        # Five standard deviations, and what 15,360 slots cannot split.
        assert got == pytest.approx(share, abs=5 * (share * (1 - share) / len(keys)) ** 0.5 + 5 / 15_360), records
    for p, count in enumerate(records):
        share = 0.08 if p < 10 else 0.04
        assert count / len(keys) == pytest.approx(share, abs=5 * (share * (1 - share) / len(keys)) ** 0.5 + 1 / 15_360)


def test_growth_end_to_end(kafka, topic, repartition, wheel_python, tmp_path):
    """12 partitions become 16: by copy and in place, a quarter of the keys moves, all of it to the newcomers."""
    t = topic("grown", partitions=12)
    target = unique("grown-target")
    reach = ("-b", kafka.bootstrap)
    keys = random_keys(5, 40_000)
    produce(wheel_python, kafka.bootstrap, t, keys, "keyroute.hash=murmur2")

    planned = tmp_path / "planned.json"
    plan = repartition("plan", "grow", t, "--partitions", 16, "--into", target, "--out", planned, "--output", "json",
                       *reach).ok().json()
    assert plan["records"] == plan["keyed"] == len(keys) and plan["misplaced"] == 0
    assert plan["planned"]["moved_share_of_hashes"] == 0.25 and plan["modulo"]["moved_share_of_hashes"] == 0.75
    assert plan["planned"]["moved_share"] == pytest.approx(0.25, abs=0.012)
    assert plan["modulo"]["moved_share"] == pytest.approx(0.75, abs=0.012)
    assert plan["bytes"] == 17 * len(keys) and plan["planned"]["moved_bytes"] == 17 * plan["planned"]["moved_records"]
    assert plan["copy_ms"] == 1000 * plan["records"] // plan["records_per_s"] and plan["rate_is_measured"]
    assert any("rewrite" in step for step in plan["steps"]) and plan["notices"]

    # What `policy compile --from` makes of the same wish is the same table.
    current = write_policy(tmp_path / "current.json", **{t: {"partitions": 12}})
    wish = write_policy(tmp_path / "wish.json", **{t: {"partitions": 16, "map": {"kind": "slots"}}})
    in_place = tmp_path / "in-place.json"
    repartition("policy", "compile", wish, "--from", current, "--out", in_place).ok()
    prints = [{row["fingerprint"] for row in repartition("policy", "check", p, "--output", "json").ok().json()["topics"]}
              for p in (planned, in_place)]
    assert plan["planned"]["fingerprint"] in prints[0] and plan["planned"]["fingerprint"] in prints[1]

    # By copy: exactly the planned records change their partition, and only towards the new ones.
    repartition("rewrite", t, target, "--partitions", 16, "--policy", planned, "--execute", "--quiet", *reach).ok()
    before = {r.key: r.partition for r in read(kafka.bootstrap, t)}
    after = {r.key: r.partition for r in read(kafka.bootstrap, target)}
    moved = [key for key in before if after[key] != before[key]]
    assert len(after) == len(keys) and len(moved) == plan["planned"]["moved_records"]
    assert all(after[key] >= 12 for key in moved)
    repartition("audit", target, "--policy", planned, *reach).ok()

    # In place: what was there stays, so just the moved records are misplaced, and none that come after.
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", t, "--partitions", 16).ok()
    produce(wheel_python, kafka.bootstrap, t, keys, f"keyroute.policy={in_place}")
    found = repartition("audit", t, "--policy", in_place, "--output", "json", *reach).ends_with(1).json()
    assert found["records"] == 2 * len(keys) and found["misplaced"] == len(moved)
    assert all(row["misplaced"] == 0 for row in found["per_partition"][12:])


def test_plan_of_weights(kafka, topic, repartition, wheel_python, tmp_path):
    t = topic("weights", partitions=4)
    produce(wheel_python, kafka.bootstrap, t, random_keys(6, 20_000), "keyroute.hash=murmur2")
    out = tmp_path / "planned.json"
    text = repartition("plan", "weights", t, "--weights", "0-2=1,3=0", "--out", out, "-b", kafka.bootstrap).ok().out
    assert "what readers will notice" in text and "kafka-topics" not in text
    plan = repartition("plan", "weights", t, "--weights", "0-2=1,3=0", "--rate", 1000, "-b", kafka.bootstrap, "--output",
                       "json").ok().json()
    assert plan["planned"]["records_per_partition"][3] == 0  # drained, and nothing else has moved
    assert plan["planned"]["moved_share_of_hashes"] == 0.25 and plan["copy_ms"] == 20_000
    shown = repartition("policy", "show", out, "--topic", t, "--output", "json").ok().json()
    assert shown["shares"][3]["share"] == 0 and shown["fingerprint"] == plan["planned"]["fingerprint"]
    bad = repartition("plan", "weights", t, "--weights", "0-2=1", "--out", tmp_path / "no.json", "-b",
                      kafka.bootstrap).ends_with(2)
    assert bad.err.count("\n") == 1 and "weights" in bad.err and not (tmp_path / "no.json").exists()


def test_a_plan_needs_the_topics_own_count(kafka, topic, repartition, tmp_path):
    t = topic("counted", partitions=3)
    policy = write_policy(tmp_path / "policy.json", **{t: {"partitions": 4}})
    for args, error in [
        (["--partitions", 6, "--policy", policy], f"topic \"{t}\" has 3 partitions, {policy} is made for 4: nothing was planned"),
        (["--partitions", 3], f"--partitions: topic \"{t}\" has 3 already"),
    ]:
        done = repartition("plan", "grow", t, *args, "-b", kafka.bootstrap).ends_with(2)
        assert done.err.startswith(f"repartition plan: {error}") and done.out == ""


def test_estimate_of_a_live_topic(kafka, topic, repartition, wheel_python):
    t = topic("asked", partitions=6)
    keys = [f"tenant-{i % 40}|{i}" for i in range(8000)]
    produce(wheel_python, kafka.bootstrap, t, keys, "keyroute.hash=murmur2")
    found = repartition("estimate", t, "--delimiter", "|", "--fanout", 2, "--grow-to", 8, "-b", kafka.bootstrap, "--output",
                        "json").ok().json()
    rows = {row["map"]: row for row in found["maps"]}
    assert found["keys"] == 8000 and found["groups"] == 40 and not found["is_sample"]
    assert rows["given"]["max_over_mean"] == rows["modulo"]["max_over_mean"]
    touched = {name: row["partitions_touched"] for name, row in rows.items()}
    assert touched["modulo"] == 6 and touched["two-level"] == 2 and touched["modulo-by-group"] == touched["table"] == 1
