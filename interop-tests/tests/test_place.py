"""Placing partitions: what is printed can be used, by a policy and by Kafka's own tool, and nothing bad is half-written."""

import json
import re

import pytest
from support import BUILD, ROOT, need_command, run, unique

PAGE = (ROOT / "docs" / "capacity.md").read_text()
SITES = "site-a=6,site-b=6,site-c=3"
THIRTY = {"0-11": "site-a", "12-23": "site-b", "24-29": "site-c"}


@pytest.fixture
def place(repartition):
    return lambda *args, **options: repartition("place", *args, **options)


def partitions_of(locations):
    """{"0-1": "a"} as ["a", "a"]."""
    found = {}
    for key, name in locations.items():
        first, _, last = key.partition("-")
        for p in range(int(first), int(last or first) + 1):
            assert p not in found
            found[p] = name
    assert sorted(found) == list(range(len(found)))
    return [found[p] for p in range(len(found))]


def moved(before, after):
    return sum(a != b for a, b in zip(partitions_of(before), partitions_of(after)))


# ---- locations ------------------------------------------------------------------------------------------------------


def test_locations_as_the_issue_says(place):
    done = place("--partitions", 30, "--capacity", SITES).ok()
    assert done.out == '{"0-11":"site-a","12-23":"site-b","24-29":"site-c"}\n'
    assert [line.split() for line in done.err.splitlines()[:4]] == [
        ["location", "capacity", "partitions", "share", "due"],
        ["site-a", "6", "12", "40.0", "%", "40.0", "%"],
        ["site-b", "6", "12", "40.0", "%", "40.0", "%"],
        ["site-c", "3", "6", "20.0", "%", "20.0", "%"]]
    assert place("--partitions", 30, "--capacity", "site-c=3,site-b=6", "--capacity", "site-a=6", "-q").ok().out == done.out
    assert place("--partitions", 30, "--capacity", SITES, "--quiet").ok().err == ""
    report = place("--partitions", 30, "--capacity", SITES, "--output", "json").ok().json()
    assert report["locations"] == THIRTY and report["spread"] == 1 and "moves" not in report


def test_the_page_shows_what_is_printed(place):
    shown = re.search(r"```\n\$ repartition place (--partitions .*)\n(.*)\n```", PAGE)
    done = place(*shown[1].split()).ok()
    assert done.out == shown[2] + "\n"
    assert f"```\n{done.err}```" in PAGE


def test_the_pages_program_picks_locations(place, tmp_path):
    need_command("cc")
    source, program, policy = tmp_path / "pool.c", tmp_path / "pool", tmp_path / "policy.json"
    source.write_text(re.search(r"```c\n(.*?)```", PAGE, re.S)[1])
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "partitioner" / "include", "-o", program, source,
        BUILD / "libkeyroute.a", "-ljansson", "-lz", "-ldl").ok()
    policy.write_text(json.dumps({"keyroute": 1, "topics": {"orders": {
        "partitions": 30, "hash": "crc32",
        "locations": json.loads(place("--partitions", 30, "--capacity", SITES, "-q").ok().out)}}}))
    assert run(program, policy, "orders", "240717C6P0LS-483553", "example-record-id").ok().out == \
        "240717C6P0LS-483553\tsite-b\nexample-record-id\tsite-b\n"


def test_the_fewest_partitions_move(place, tmp_path):
    now = tmp_path / "now.json"
    now.write_text(json.dumps(THIRTY))
    done = place("--partitions", 30, "--capacity", "site-a=1,site-b=1,site-c=1", "--current", now).ok()
    assert moved(THIRTY, json.loads(done.out)) == 4
    assert "moves   4 of 30 partitions (13.3 %); these shares cannot be had with fewer" in done.err
    assert place("--partitions", 30, "--capacity", SITES, "--current", now).ok().out == json.dumps(
        THIRTY, separators=(",", ":")) + "\n"
    # Growth: the new partitions are placed, and only as many of the old ones move as the shares need.
    report = place("--partitions", 45, "--capacity", SITES, "--current", now, "--output", "json").ok().json()
    assert report["moves"] == 0 and report["unplaced_before"] == 15
    assert [row["partitions"] for row in report["shares"]] == [18, 18, 9]
    # A site is emptied, and says so when it is forgotten.
    emptied = place("--partitions", 30, "--capacity", "site-a=1,site-b=1,site-c=0", "--current", now).ok()
    assert moved(THIRTY, json.loads(emptied.out)) == 6 and "site-c" not in emptied.out
    forgotten = place("--partitions", 30, "--capacity", "site-a=1,site-b=1", "--current", now).ends_with(2)
    assert 'partition 24 is at "site-c", which --capacity does not name; "site-c=0" empties it' in forgotten.err


def test_what_is_printed_is_a_policys_locations(place, repartition, tmp_path):
    policy = tmp_path / "policy.json"
    locations = json.loads(place("--partitions", 30, "--capacity", SITES, "-q").ok().out)
    policy.write_text(json.dumps({"keyroute": 1, "topics": {
        "orders": {"partitions": 30, "hash": "crc32", "locations": locations}, "other": {}}}))
    assert repartition("route", "--policy", policy, "--topic", "orders", "240717C6P0LS-483553").ok().out == \
        "240717C6P0LS-483553\t17\tsite-b\n"
    # And such a policy is a --current, which also knows how many partitions there are.
    current = ["--current", policy, "--topic", "orders"]
    assert place(*current, "--capacity", SITES, "-q").ok().out == json.dumps(locations, separators=(",", ":")) + "\n"
    assert "it has several rules; choose one by --topic" in place(*current[:2], "--capacity", SITES).ends_with(2).err
    assert "--partitions says 31" in place(*current, "--partitions", 31, "--capacity", SITES).ends_with(2).err
    # A file of its own is taken by route as well.
    alone = tmp_path / "locations.json"
    alone.write_text(json.dumps(locations))
    assert repartition("route", "--hash", "crc32", "--partitions", 30, "--locations", alone, "example-record-id").ok().out == \
        "example-record-id\t15\tsite-b\n"


def test_measured_weights(place, repartition, sandbox, tmp_path):
    """An audit of a topic with one heavy key: its partition alone is a site's share."""
    bootstrap = sandbox("orders:6")
    keys = tmp_path / "keys.tsv"
    keys.write_text("".join(f"k{i}\n" for i in range(600)))
    route = repartition("route", "--partitions", 6, "--keys", keys).ok().out.splitlines()
    heavy = int(repartition("route", "--partitions", 6, "heavy").ok().out.split("\t")[1])
    weights = [sum(line.endswith(f"\t{p}") for line in route) + 600 * (p == heavy) for p in range(6)]
    file = tmp_path / "weights.tsv"
    file.write_text("# partition\tweight\n" + "".join(f"{p}\t{w}\n" for p, w in enumerate(weights)))
    report = place("--partitions", 6, "--capacity", "x=1,y=1", "--load", file, "--output", "json").ok().json()
    assert report["weighed_by"] == "weight"
    assert sorted(row["weight"] for row in report["shares"]) == sorted(
        [sum(w for p, w in enumerate(weights) if partitions_of(report["locations"])[p] == site) for site in "xy"])
    with_heavy = partitions_of(report["locations"])[heavy]
    alone = [row for row in report["shares"] if row["location"] == with_heavy][0]
    assert alone["share"] - alone["due_share"] < min(
        w for p, w in enumerate(weights) if partitions_of(report["locations"])[p] == with_heavy) / sum(weights)
    # An audit's own JSON: the topic is empty here, so everything weighs nothing and partitions count alike.
    audit = tmp_path / "audit.json"
    audit.write_text(repartition("audit", "orders", "-b", bootstrap, "--output", "json").ok().out)
    empty = place("--partitions", 6, "--capacity", "x=1,y=1", "--load", audit, "--output", "json").ok().json()
    assert empty["weighed_by"] == "bytes" and empty["locations"] == {"0-2": "x", "3-5": "y"}
    told = json.loads(audit.read_text())
    for row, weight in zip(told["per_partition"], weights):
        row["bytes"] = weight
    audit.write_text(json.dumps(told))
    again = place("--partitions", 6, "--capacity", "x=1,y=1", "--load", audit, "--output", "json").ok().json()
    assert again["locations"] == report["locations"]


# ---- brokers, from files -----------------------------------------------------------------------------------------------


def assignment(replicas, topic="orders"):
    return {"version": 1, "partitions": [{"topic": topic, "partition": p, "replicas": list(r),
                                          "log_dirs": ["any"] * len(r)} for p, r in enumerate(replicas)]}


def lists(document):
    return {(row["topic"], row["partition"]): row["replicas"] for row in document["partitions"]}


@pytest.fixture
def now(tmp_path):
    """Twelve partitions on brokers 1 and 2; broker 3 is new."""
    path = tmp_path / "now.json"
    path.write_text(json.dumps(assignment([(1 + p % 2, 2 - p % 2) for p in range(12)])))
    return path


CRUISE_CONTROL = {"brokerCapacities": [
    {"brokerId": "-1", "capacity": {"DISK": "100000", "CPU": {"num.cores": "16"}, "NW_IN": "10000", "NW_OUT": "20000"},
     "doc": "every other broker"},
    {"brokerId": "3", "capacity": {"DISK": {"/disk-1": "100000", "/disk-2": "100000.0"}, "CPU": "100", "NW_IN": 10000,
                                   "NW_OUT": 10000}}]}


def counts(report, what):
    return {row["broker"]: row[what] for row in report["brokers"]}


def test_capacities_from_either_source(place, now, tmp_path):
    file = tmp_path / "capacity.json"
    file.write_text(json.dumps(CRUISE_CONTROL))
    by_option = place("--assignment", now, "--capacity", "1=1,2=1.0,3=2", "--output", "json").ok().json()
    by_disk = place("--assignment", now, "--capacity-file", file, "--output", "json").ok().json()
    assert counts(by_option, "replicas") == counts(by_disk, "replicas") == {1: 6, 2: 6, 3: 12}
    assert counts(by_option, "leaders") == {1: 3, 2: 3, 3: 6}
    assert by_option["moves"]["replicas"] == by_option["moves"]["replicas_least"] == 12
    assert by_option["reassignment"] == by_disk["reassignment"]
    by_net = place("--assignment", now, "--capacity-file", file, "--resource", "nw-out", "--output", "json").ok().json()
    assert counts(by_net, "replicas_due") == {1: 9.6, 2: 9.6, 3: 4.8}
    assert counts(by_net, "replicas") in ({1: 10, 2: 9, 3: 5}, {1: 9, 2: 10, 3: 5})
    drained = place("--assignment", now, "--capacity-file", file, "--capacity", "2=0", "--output", "json").ok().json()
    assert counts(drained, "replicas") == {1: 12, 2: 0, 3: 12}
    equal = place("--assignment", now, "--capacity", "1=1,2=1,3=1", "--output", "json").ok().json()
    assert counts(equal, "replicas") == {1: 8, 2: 8, 3: 8}


def test_files_for_kafkas_tool(place, now, tmp_path):
    out = tmp_path / "plan.json"
    args = ["--assignment", now, "--capacity", "1=1,2=1,3=1", "--out", out]
    text = place(*args).ok().out
    assert "moves     8 of 24 replicas (33.3 %); these shares cannot be had with fewer" in text
    assert "8 → 8" not in text and "12 → 8" in text and "0 → 8" in text
    plan, back = json.loads(out.read_text()), json.loads((tmp_path / "plan.json.rollback.json").read_text())
    before = lists(json.loads(now.read_text()))
    assert lists(back) == {key: before[key] for key in lists(plan)}
    for row in plan["partitions"]:
        assert row["log_dirs"] == ["any"] * len(row["replicas"]) and len(set(row["replicas"])) == 2
        assert row["replicas"] != before[row["topic"], row["partition"]]
    after = {**before, **lists(plan)}
    assert [sum(b in r for r in after.values()) for b in (1, 2, 3)] == [8, 8, 8]
    assert [sum(b == r[0] for r in after.values()) for b in (1, 2, 3)] == [4, 4, 4]
    # An earlier plan's way back is never written over.
    again = place(*args).ends_with(2)
    assert "plan.json.rollback.json: it exists already" in again.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["now.json", "plan.json", "plan.json.rollback.json"]
    # A plan that is carried out leaves nothing to do, and then nothing is written.
    now.write_text(json.dumps(assignment([after["orders", p] for p in range(12)])))
    done = place("--assignment", now, "--capacity", "1=1,2=1,3=1", "--out", tmp_path / "next.json").ok()
    assert "nothing is to be changed, and no file was written" in done.out
    assert not (tmp_path / "next.json").exists()


def test_the_output_of_generate_as_it_is(place, now, tmp_path):
    raw = tmp_path / "generate.txt"
    raw.write_text("Current partition replica assignment\n" + now.read_text() +
                   "\n\nProposed partition reassignment configuration\n" + json.dumps(assignment([(3, 2)])) + "\n")
    args = ["--capacity", "1=1,2=1,3=1", "--output", "json"]
    assert place("--assignment", raw, *args).ok().json() == place("--assignment", now, *args).ok().json()


def test_the_light_ones_move(place, tmp_path):
    """Of all plans with the fewest moves, the one that copies least; sizes as Kafka's log-dirs tool tells them."""
    now, sizes = tmp_path / "now.json", tmp_path / "sizes.txt"
    now.write_text(json.dumps(assignment([(1,)] * 6)))
    sizes.write_text("Querying brokers for log directories information\nReceived log directory information\n" + json.dumps(
        {"version": 1, "brokers": [{"broker": 1, "logDirs": [{"logDir": "/d", "error": None, "partitions": [
            {"partition": f"orders-{p}", "size": 1000 * (p + 1), "offsetLag": 0, "isFuture": False} for p in range(6)] +
            [{"partition": "others-0", "size": 5, "offsetLag": 0, "isFuture": False}]}]}]}) + "\n")
    report = place("orders", "--assignment", now, "--capacity", "1=1,2=1", "--load", sizes, "--output", "json").ok().json()
    assert report["weighed_by"] == "bytes"
    assert set(lists(report["reassignment"])) == {("orders", 0), ("orders", 1), ("orders", 2)}
    assert report["moves"]["weight"] == 6000
    lines = tmp_path / "sizes.tsv"
    lines.write_text("".join(f"orders\t{p}\t{6 - p}\n" for p in range(6)))
    report = place("--assignment", now, "--capacity", "1=1,2=1", "--load", lines, "--output", "json").ok().json()
    assert set(lists(report["reassignment"])) == {("orders", 3), ("orders", 4), ("orders", 5)}


def test_racks(place, now):
    report = place("--assignment", now, "--capacity", "1=2,2=2,3=1", "--racks", "1=a,2=a,3=b", "--output", "json").ok().json()
    assert report["crowded_partitions_before"] == 12 and report["crowded_partitions"] == 0
    assert counts(report, "replicas") == {1: 6, 2: 6, 3: 12}
    assert all(3 in r for r in lists(report["reassignment"]).values())


# ---- bad input ---------------------------------------------------------------------------------------------------------


def entry(**change):
    return {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2], **change}]}


def capacity(value, broker="1"):
    return {"brokerCapacities": [{"brokerId": broker, "capacity": {"DISK": value}}]}


BAD_ASSIGNMENTS = [
    ('{"version": 1,\n "partitions": [}', "FILE: line 2, column 17: "),
    ("", "FILE: line 1, column 0: "),
    ("[]", "FILE: line 1: expected an object: {...}"),
    ({"version": 2, "partitions": []}, "FILE: version: expected 1, as kafka-reassign-partitions writes it"),
    ({"version": 1}, "FILE: partitions: expected a list such as "),
    ({"version": 1, "partitions": []}, "FILE: partitions: expected a list such as "),
    (entry(topic=""), "FILE: partitions[0].topic: expected the name of a topic"),
    (entry(partition=-1), "FILE: partitions[0].partition: expected a whole number from 0 to 999999"),
    (entry(partition="0"), "FILE: partitions[0].partition: expected a whole number from 0 to 999999"),
    (entry(replicas=[]), "FILE: partitions[0].replicas: expected a list of brokers such as [1, 2, 3]"),
    (entry(replicas=[1, "2"]), "FILE: partitions[0].replicas[1]: expected a broker's number"),
    (entry(replicas=[2, 2]), "FILE: partitions[0].replicas: broker 2 is there twice"),
    ({"version": 1, "partitions": entry()["partitions"] * 2},
     'FILE: partitions: partition 0 of topic "orders" is there twice'),
    ('{"version": 1, "partitions": [], "partitions": []}', "FILE: line 1, column 45: duplicate object key"),
]

BAD_CAPACITIES = [
    ({}, "FILE: brokerCapacities: expected a list of brokers, as in Cruise Control's capacity.json"),
    (capacity("12x"), 'FILE: brokerCapacities[0].capacity.DISK: expected a number from 0 to 1000000000, such as "500000", '
                      "or such a number by log directory"),
    (capacity(-1), "FILE: brokerCapacities[0].capacity.DISK: expected a number"),
    (capacity(None), "FILE: brokerCapacities[0].capacity.DISK: expected a number"),
    (capacity({}), "FILE: brokerCapacities[0].capacity.DISK: expected a number"),
    (capacity({"/d": "x"}), 'FILE: brokerCapacities[0].capacity.DISK["/d"]: expected a number'),
    (capacity("1", "one"), 'FILE: brokerCapacities[0].brokerId: expected a broker\'s number such as "0", or "-1" for every '
                           "other one"),
    ({"brokerCapacities": [{"brokerId": "1"}]}, "FILE: brokerCapacities[0].capacity: expected an object such as"),
    ({"brokerCapacities": [{"brokerId": "1", "capacity": {"CPU": "100"}}]},
     'FILE: brokerCapacities[0].capacity: "DISK" is missing'),
    ({"brokerCapacities": capacity("1")["brokerCapacities"] * 2}, "FILE: brokerCapacities[1]: broker 1 is there twice"),
    (capacity("1"), "broker 2 has no capacity: FILE does not name it; 0 empties a broker"),
    (capacity("0", "-1"), "every capacity is 0: no broker is left"),
    ("{", "FILE: line 1, column 1: "),
]

BAD_LOADS = [
    ("0\t1\n1\t2 \n", 'FILE: line 2: expected a weight, a whole number from 0 to 1000000000000000, got "2 "'),
    ("0\t-1\n", 'FILE: line 1: expected a weight, a whole number from 0 to 1000000000000000, got "-1"'),
    ("x\t1\n", 'FILE: line 1: expected a partition from 0 to 999999, got "x"'),
    ("0 1\n", "FILE: line 1: expected PARTITION and WEIGHT, or TOPIC, PARTITION and WEIGHT, with tabs between"),
    ("t\t0\t1\t2\n", "FILE: line 1: expected PARTITION and WEIGHT, or TOPIC, PARTITION and WEIGHT, with tabs between"),
    ("\t0\t1\n", "FILE: line 1: the topic is empty"),
    ("0\t1\n0\t1\n", "FILE: partition 0 has two weights"),
    ("# nothing\n", "FILE: it names no partition"),
    ("", "FILE: it names no partition"),
    ({"per_partition": []}, "FILE: per_partition: expected a list, as in what repartition audit --output json prints"),
    ({"per_partition": [{"partition": 0, "records": -1}]},
     "FILE: per_partition[0].records: expected a whole number from 0 to 1000000000000000"),
    ({"per_partition": [{"partition": "0", "bytes": 1}]},
     "FILE: per_partition[0].partition: expected a whole number from 0 to 999999"),
    ({"per_partition": [{"partition": 0, "bytes": 1, "skipped": True}]},
     "FILE: per_partition[0].skipped: partition 0 was not read; audit the whole topic"),
    ({"brokers": [{"logDirs": None}]}, "FILE: brokers[0].logDirs: expected a list, as kafka-log-dirs --describe prints it"),
    ({"brokers": [{"logDirs": [{"partitions": [{"partition": "orders", "size": 1}]}]}]},
     'FILE: brokers[0].logDirs[0].partitions[0].partition: expected a topic and a number, such as "orders-0"'),
    ({"brokers": [{"logDirs": [{"partitions": [{"partition": "orders-0", "size": "1"}]}]}]},
     "FILE: brokers[0].logDirs[0].partitions[0].size: expected a whole number"),
]


def written(tmp_path, content):
    path = tmp_path / "bad"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def refused(done, path, message, tmp_path):
    assert done.ends_with(2).err.startswith("repartition place: " + message.replace("FILE", str(path)))
    assert done.err.count("\n") == 1 and done.out == ""
    assert not [p for p in tmp_path.iterdir() if "out" in p.name], "a partial output file"


@pytest.mark.parametrize("content,message", BAD_ASSIGNMENTS)
def test_bad_assignments(place, tmp_path, content, message):
    path = written(tmp_path, content)
    refused(place("--assignment", path, "--capacity", "1=1,2=1", "--out", tmp_path / "out.json"), path, message, tmp_path)


@pytest.mark.parametrize("content,message", BAD_CAPACITIES)
def test_bad_capacity_files(place, now, tmp_path, content, message):
    path = written(tmp_path, content)
    refused(place("--assignment", now, "--capacity-file", path, "--out", tmp_path / "out.json"), path, message, tmp_path)


@pytest.mark.parametrize("content,message", BAD_LOADS)
def test_bad_loads(place, now, tmp_path, content, message):
    path = written(tmp_path, content)
    refused(place("--assignment", now, "--load", path, "--out", tmp_path / "out.json"), path, message, tmp_path)
    refused(place("--partitions", 12, "--capacity", "a=1,b=1", "--load", path), path, message, tmp_path)


@pytest.mark.parametrize("content,message", [
    ('{"0-11": "a", "12-11": "b"}', 'FILE: ["12-11"]: a range must rise; did you mean "11-12"?'),
    ('{"0-12": "a"}', 'FILE: ["0-12"]: partition 12 does not exist; the highest is 11'),
    ('{"0-5": "a", "5": "b"}', 'FILE: partition 5 has two locations, "a" and "b"'),
    ('{"0": "elsewhere"}', 'FILE: partition 0 is at "elsewhere", which --capacity does not name; "elsewhere=0" empties it'),
    ('{"keyroute": 1, "topics": {}, "x": 1}', "FILE: "),
    ("{", "FILE: line 1, column 1: "),
])
def test_bad_current_files(place, tmp_path, content, message):
    path = written(tmp_path, content)
    refused(place("--partitions", 12, "--capacity", "a=1,b=1", "--current", path), path, message, tmp_path)


@pytest.mark.parametrize("args,message", [
    ([], "expected --partitions N (locations), or TOPIC... -b HOST:PORT (brokers); --help shows both"),
    (["--partitions", 12], "--capacity is missing: the locations, such as --capacity site-a=6,site-b=6,site-c=3"),
    (["--partitions", 12, "--capacity", "a"], '--capacity: expected pairs such as site-a=6,site-b=1.5, got "a"'),
    (["--partitions", 12, "--capacity", "a=1,,b=1"], '--capacity: expected pairs such as site-a=6,site-b=1.5, got ""'),
    (["--partitions", 12, "--capacity", "a=1,a=2"], '--capacity: "a" is there twice'),
    (["--partitions", 12, "--capacity", "a\udcff=1,b=2"], '--capacity: "a\udcff" is no UTF-8'),
    (["--partitions", 12, "--capacity", "a=-1"],
     '--capacity: "a": expected a number from 0 to 1000000 with at most six decimals, got "-1"'),
    (["--partitions", 12, "--capacity", "a=0,b=0.000"], "--capacity: every capacity is 0: no location is left"),
    (["--partitions", 12, "--capacity", "a=1", "orders"],
     "--partitions places partitions at locations, a topic replicas on brokers; use one of them"),
    (["--partitions", 12, "--capacity", "a=1", "--out", "x"],
     "--partitions places partitions at locations, --out replicas on brokers; use one of them"),
    (["--partitions", 12, "--capacity", "a=1", "--topic", "t"], "--topic chooses a rule of the policy that --current names"),
    (["--partitions", 12, "--capacity", "a=1", "--load", "x", "--load", "y"], "--load: one file tells the weights"),
    (["orders"], 'where is topic "orders"? Name its cluster by -b HOST:PORT, or a file by --assignment'),
    (["-b", "127.0.0.1:1"], "expected the topics whose replicas are to be placed"),
    (["--assignment", "NOW", "-b", "127.0.0.1:1"], "--assignment stands for a cluster; leave --bootstrap-server out"),
    (["--assignment", "/nonexistent"], "/nonexistent: cannot read the assignment file: No such file or directory"),
    (["--assignment", "/"], "/: expected one assignment file of at most 64 MiB, found a directory"),
    (["--assignment", "NOW", "clicks"], 'NOW: partitions: there is no topic "clicks"'),
    (["--assignment", "NOW", "orders", "orders"], 'topic "orders" is named twice'),
    (["--assignment", "NOW", "--capacity", "site-a=1"], '--capacity: expected a broker\'s number, got "site-a"'),
    (["--assignment", "NOW", "--capacity", "1=1"], "broker 2 has no capacity: --capacity does not name it; 0 empties a broker"),
    (["--assignment", "NOW", "--capacity", "1=1,2=0"],
     'partition 0 of topic "orders" has 2 replicas, and there are 1 brokers with capacity to put them on'),
    (["--assignment", "NOW", "--racks", "1=a"],
     "broker 1 has a rack and broker 2 has none: give the racks of all by --racks, or --ignore-racks"),
    (["--assignment", "NOW", "--racks", "1=\udcff"], '--racks: "\udcff" is no UTF-8'),
    (["--assignment", "NOW", "--racks", "x=a"], '--racks: expected a broker\'s number, got "x"'),
    (["--assignment", "NOW", "--racks", "1=a,2=b", "--ignore-racks"], "--racks and --ignore-racks exclude each other"),
])
def test_place_refuses(place, now, tmp_path, args, message):
    done = place(*[str(now) if arg == "NOW" else arg for arg in args])
    refused(done, now, message.replace("NOW", str(now)), tmp_path)


def test_a_plan_that_cannot_be_written_leaves_nothing(place, now, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    done = place("--assignment", now, "--capacity", "1=1,2=1,3=1", "--out", tmp_path / "none" / "plan.json").ends_with(2)
    assert "plan.json.rollback.json: cannot write: No such file or directory" in done.err
    # The plan's own name is taken: the way back, which was written first, goes again.
    done = place("--assignment", now, "--capacity", "1=1,2=1,3=1", "--out", folder).ends_with(2)
    assert f"{folder}: it exists already" in done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "now.json"] and not list(folder.iterdir())


# ---- a real cluster ---------------------------------------------------------------------------------------------------


def described(cluster, topic, leaders=False):
    """What Kafka itself says it holds: {partition: replicas}, or {partition: the broker that leads}."""
    found = {}
    for line in cluster.tool("kafka-topics", "--bootstrap-server", cluster.bootstrap, "--describe", "--topic",
                             topic).ok().out.splitlines():
        fields = dict(field.split(": ", 1) for field in line.split("\t") if ": " in field)
        if "Partition" in fields:
            replicas = [int(b) for b in fields["Replicas"].split(",")]
            found[int(fields["Partition"])] = int(fields["Leader"]) if leaders else replicas
    return found


def carry_out(cluster, file, partitions):
    """Kafka's own tool executes the file, then verifies it until nothing is under way."""
    args = ["--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", file]
    done = cluster.tool("kafka-reassign-partitions", *args, "--execute").ok()
    assert "Successfully started partition reassignment" in done.out
    for _ in range(60):
        told = cluster.tool("kafka-reassign-partitions", *args, "--verify").ok().out
        if told.count("is completed.") + told.count("is complete.") == partitions:
            return
        assert "in progress" in told, told
    pytest.fail(f"the reassignment does not end:\n{told}")


def test_kafkas_own_tool_carries_out_the_plan_and_the_way_back(place, kafka3, kcat, repartition, tmp_path):
    topic = kafka3.create(unique("placed"), partitions=12, replication=2)
    records = 6000
    kcat("-b", kafka3.bootstrap, "-P", "-t", topic, "-K", ":", "-X", "partitioner=murmur2_random", "-X", "acks=all",
         stdin="".join(f"key-{i}:{'x' * 100}\n" for i in range(records))).ok()
    before = described(kafka3, topic)
    out, back = tmp_path / "plan.json", tmp_path / "plan.json.rollback.json"
    args = [topic, "-b", kafka3.bootstrap, "--capacity", "1=2,2=1,3=1"]

    # By default what moves is weighed by the cluster's own count of records.
    report = place(*args, "--output", "json").ok().json()
    assert report["weighed_by"] == "records" and sum(counts(report, "weight_before").values()) == 2 * records
    assert {(topic, p): r for p, r in before.items()} | lists(report["rollback"]) == {
        (topic, p): r for p, r in before.items()}
    assert not out.exists()

    # With the sizes on disk, as Kafka's tool tells them.
    sizes = tmp_path / "sizes.txt"
    sizes.write_text(kafka3.tool("kafka-log-dirs", "--bootstrap-server", kafka3.bootstrap, "--describe", "--topic-list",
                                 topic).ok().out)
    text = place(*args, "--load", sizes, "--out", out).ok().out
    assert "these shares cannot be had with fewer" in text and str(back) in text
    plan = json.loads(out.read_text())
    assert lists(json.loads(back.read_text())) == {key: before[key[1]] for key in lists(plan)}

    carry_out(kafka3, out, len(plan["partitions"]))
    after = described(kafka3, topic)
    assert after == before | {p: r for (_, p), r in lists(plan).items()}
    assert [sum(b in r for r in after.values()) for b in (1, 2, 3)] == [12, 6, 6]
    assert [sum(b == r[0] for r in after.values()) for b in (1, 2, 3)] == [6, 3, 3]
    kafka3.tool("kafka-leader-election", "--bootstrap-server", kafka3.bootstrap, "--election-type", "preferred",
                "--path-to-json-file", out).ok()
    assert described(kafka3, topic, leaders=True) == {p: r[0] for p, r in after.items()}
    again = place(*args, "--output", "json").ok().json()
    assert again["moves"] == {"replicas": 0, "replicas_least": 0, "leaders": 0, "partitions": 0, "weight": 0}
    assert repartition("audit", topic, "-b", kafka3.bootstrap, "--output", "json").ok().json()["records"] == records

    carry_out(kafka3, back, len(plan["partitions"]))
    assert described(kafka3, topic) == before
    assert repartition("audit", topic, "-b", kafka3.bootstrap, "--output", "json").ok().json()["records"] == records


def test_the_tools_own_view_is_an_assignment(place, kafka3, tmp_path):
    """--generate's output, as it is, stands for the cluster."""
    topic = kafka3.create(unique("generated"), partitions=6, replication=2)
    wanted = tmp_path / "topics.json"
    wanted.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    told = tmp_path / "generate.txt"
    told.write_text(kafka3.tool("kafka-reassign-partitions", "--bootstrap-server", kafka3.bootstrap, "--generate",
                                "--topics-to-move-json-file", wanted, "--broker-list", "1,2,3").ok().out)
    args = ["--capacity", "1=3,2=2,3=1", "--output", "json"]
    offline, live = place("--assignment", told, *args).ok().json(), place(topic, "-b", kafka3.bootstrap, *args).ok().json()
    assert counts(offline, "replicas") == counts(live, "replicas")
    assert counts(offline, "replicas_before") == counts(live, "replicas_before")
    assert offline["moves"]["replicas"] == live["moves"]["replicas"]


def test_live_clusters_are_asked_and_understood(place, kafka3, librdkafka):
    def ask(topic, *args):
        return place(topic, "-b", kafka3.bootstrap, *args, librdkafka=librdkafka)

    topic = kafka3.create(unique("asked"), partitions=3, replication=3)
    assert 'there is no topic "no-such-topic"' in ask("no-such-topic").ends_with(2).err
    assert "--capacity: there is no broker 9 in the cluster" in ask(topic, "--capacity", "1=1,2=1,3=1,9=1").ends_with(2).err
    assert "broker 3 has no capacity" in ask(topic, "--capacity", "1=1,2=1").ends_with(2).err
    assert "3 replicas, and there are 2 brokers" in ask(topic, "--capacity", "1=1,2=1,3=0").ends_with(2).err
    assert ask(topic, "--output", "json").ok().json()["moves"]["replicas"] == 0


def test_racks_of_a_live_cluster(place, start_kafka):
    """All brokers share their settings here, so they stand in one rack, which is no rack to spread over."""
    cluster = start_kafka(brokers=2, broker_rack="north")
    topic = cluster.create(unique("racked"), partitions=4, replication=1)
    report = place(topic, "-b", cluster.bootstrap, "--output", "json").ok().json()
    assert [row["rack"] for row in report["brokers"]] == ["north", "north"]
    ignored = place(topic, "-b", cluster.bootstrap, "--ignore-racks", "--output", "json").ok().json()
    assert [row["rack"] for row in ignored["brokers"]] == [None, None]
    given = place(topic, "-b", cluster.bootstrap, "--racks", "1=x,2=y", "--output", "json").ok().json()
    assert [row["rack"] for row in given["brokers"]] == ["x", "y"]


def test_no_broker_answers(place):
    done = place("orders", "-b", "127.0.0.1:1", "--timeout-ms", 1000).ends_with(3)
    assert done.err.startswith("repartition place: cannot ask the cluster for its topics")


def test_the_sandbox_can_be_asked(place, sandbox):
    """Its brokers have no settings to ask for, so racks are left out."""
    report = place("orders", "-b", sandbox("orders:12"), "--ignore-racks", "--output", "json").ok().json()
    assert report["partitions"] == 12
