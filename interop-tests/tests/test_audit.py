"""audit and explain: what real producers did to a real topic is found, counted and named."""

import base64
import collections
import functools
import itertools
import json
import re
import subprocess

import pytest
from support import INTEROP, JAVA, KAFKA_LIB, PYTHON, run, unique

TRANSIT = INTEROP / "data" / "transit-observed.tsv"
COUNT = 12


@pytest.fixture
def explain(repartition):
    return lambda *args, **options: repartition("explain", *args, **options)


@pytest.fixture
def audit(repartition, kafka):
    """audit(topic..., options...) on the shared cluster."""
    return lambda *args, **options: repartition("audit", "-b", kafka.bootstrap, *args, **options)


@pytest.fixture(scope="session")
def java(kafka, java_run):
    """java(topic, lines, options...) sends by Kafka's Java producer. @returns the partitions, one a line."""
    def send(to, lines, *args):
        done = java_run("Produce.java", "-b", kafka.bootstrap, "-t", to, "--report", *args, stdin="".join(lines)).ok()
        return [int(line.split("\t")[0]) for line in done.out.splitlines()]
    return send


@pytest.fixture(scope="session")
def wheel(kafka, wheel_python):
    """The same by confluent-kafka from PyPI with its defaults."""
    def send(to, lines, *args):
        done = run(wheel_python, PYTHON / "produce.py", "-b", kafka.bootstrap, "-t", to, "--report", *args,
                   stdin="".join(lines)).ok()
        return [int(line.split("\t")[0]) for line in done.out.splitlines()]
    return send


def lines_of(first, end, start_ms=1700000000000):
    return [f"order-{i}\tvalue-{i}\t{start_ms + i}\n" for i in range(first, end)]


# ---- explain: no broker --------------------------------------------------------------------------------------------------


def test_explain_names_the_function_behind_a_file_from_the_field(explain):
    done = explain("--partitions", COUNT, "--observed", TRANSIT, "--output", "json").ends_with(1)
    found = done.json()
    assert found["partitions"] == COUNT and found["records"] == 6645 and found["distinct_keys"] == 1237
    assert [(v["hash"], v["partitions"], v["share"]) for v in found["verdict"]] == [("kafkajs-legacy", COUNT, 1.0)]
    verdict = found["verdict"][0]
    assert verdict["same_as"] == [] and verdict["sure"] == "yes" and 0.999 <= verdict["confidence"] < 1
    assert "kafkajs" in verdict["clients"] and "JavaCompatiblePartitioner" in verdict["fix"]
    assert found["status"] == "explained" and found["unexplained"]["share"] == 0
    by_name = {f["hash"]: f for f in found["functions"]}
    assert by_name["kafkajs-legacy"]["agree"] == 1237
    assert 0.08 < by_name["murmur2"]["share"] < 0.10
    shares = [f["share"] for f in found["functions"]]
    assert shares == sorted(shares, reverse=True) and len(shares) >= 13
    # The judge is Java's rule, and each misplaced record is one that it would have put elsewhere.
    lines = TRANSIT.read_text().splitlines()[1:]
    routed = run(explain("--version").argv[0], "route", "--partitions", COUNT,
                 stdin="".join(line.split("\t")[0] + "\n" for line in lines)).ok().out.splitlines()
    assert found["misplaced"] == sum(a != b for a, b in zip(lines, routed))


def test_explain_tells_people(explain):
    out = explain("--partitions", COUNT, "--observed", TRANSIT).ends_with(1).out
    assert re.search(r"^  kafkajs-legacy +100\.0 % +100\.0 % +yes +kafkajs before 2\.0", out, re.M)
    assert re.search(r"murmur2 8\.\d %", out) and "chance gives 8.3 %" in out
    assert re.search(r"^misplaced   6,0\d\d records \(9[01]\.\d %\)   no key lives in more than one partition$", out, re.M)
    assert "stop it     kafkajs-legacy: kafkajs: createPartitioner" in out
    assert "rewrite" not in out  # there is no topic to rewrite


def test_explain_exit_code_follows_the_judge(explain):
    args = ["--partitions", COUNT, "--observed", TRANSIT]
    assert "misplaced   none" in explain(*args, "--hash", "kafkajs-legacy").ok().out
    explain(*args, "--hash", "crc32").ends_with(1)


def test_explain_reads_pipes_and_key_formats(explain, repartition):
    keys = range(1000, 1200)
    routed = repartition("route", "--hash", "crc32", "--partitions", COUNT, "--key-format", "int64",
                         *keys).ok().out
    for heading, end in (("", "\n"), ("key\tpartition\n", "\n"), ("Key\tPartition\r\n", "\r\n")):
        text = heading + routed.replace("\n", end)
        found = explain("--partitions", COUNT, "--observed", "-", "--key-format", "int64", "--output", "json",
                        stdin=text).ends_with(1).json()
        assert [(v["hash"], v["share"]) for v in found["verdict"]] == [("crc32", 1.0)]
        assert found["records"] == len(keys)
    hexes = "".join(f"{int(line.split()[0]):016x}\t{line.split()[1]}\n" for line in routed.splitlines())
    found = explain("--partitions", COUNT, "--observed", "-", "--key-format", "hex", "--output", "json", "--hash",
                    "crc32", stdin=hexes).ok().json()
    assert found["status"] == "clean"


def test_explain_never_from_one_record(explain, repartition):
    line = repartition("route", "--hash", "crc32", "--partitions", COUNT, "order-1").ok().out
    found = explain("--partitions", COUNT, "--observed", "-", "--output", "json", stdin=line * 500).ends_with(1).json()
    assert found["verdict"] == [] and found["status"] == "undetermined"
    needed = found["sample"]["keys_needed"]
    assert needed >= 5
    text = explain("--partitions", COUNT, "--observed", "-", stdin=line * 500).ends_with(1).out
    assert f"undetermined: 1 distinct key is too few, {needed} more would do" in text
    more = repartition("route", "--hash", "crc32", "--partitions", COUNT, *[f"order-{i}" for i in range(2, 2 + needed)])
    found = explain("--partitions", COUNT, "--observed", "-", "--output", "json", stdin=line + more.out).ends_with(1).json()
    assert [v["hash"] for v in found["verdict"]] == ["crc32"]


def test_explain_takes_mixtures_and_power_of_two_classes(explain, repartition):
    def routed(name, first, end, count=COUNT):
        return repartition("route", "--hash", name, "--partitions", count, *[f"o-{i}" for i in range(first, end)]).ok().out

    text = routed("murmur2", 0, 1800) + routed("fnv1a-abs", 1800, 2000)
    found = explain("--partitions", COUNT, "--observed", "-", "--output", "json", stdin=text).ends_with(1).json()
    assert [v["hash"] for v in found["verdict"]] == ["murmur2", "fnv1a-abs"]
    assert abs(found["verdict"][1]["share"] - 0.1) < 0.01
    assert found["verdict"][1]["misplaced_share"] > 0.99

    text = routed("murmur2-unsigned", 0, 500, 64)
    found = explain("--partitions", 64, "--observed", "-", "--output", "json", stdin=text).ok().json()
    assert found["verdict"][0]["hash"] == "murmur2"  # the judge, in whose class it is
    assert "murmur2-unsigned" in found["verdict"][0]["same_as"] and found["verdict"][0]["same_always"] is True
    text = explain("--partitions", 64, "--observed", "-", stdin=text).ok().out
    assert "murmur2 cannot be told from murmur2-unsigned: with 64 partitions they are the same" in text


@pytest.mark.parametrize("stdin,message", [
    ("a\t1\nb\n", 'standard input: line 2: expected a key, a tab and a partition, found no tab'),
    ("a\t1\n\n", 'standard input: line 2: expected a key, a tab and a partition, found no tab'),
    ("a\t12\n", 'standard input: line 1: partition 12, but with 12 partitions the last is 11'),
    ("a\t-1\n", 'standard input: line 1: expected a partition after the tab, found "-1"'),
    ("a\t1x\n", 'standard input: line 1: expected a partition after the tab, found "1x"'),
    ("a\t\n", 'standard input: line 1: expected a partition after the tab, found ""'),
    ("a\t99999999999999999999999\n", 'standard input: line 1: partition 99999999999999999999999, but with 12'),
    ("a\t" + "9" * 99 + "\n", 'standard input: line 1: expected a partition after the tab, found "999'),
    ("a\tb\t1\n", "a key that holds tabs can be given as hex or base64"),
    ("key\tpartition\nkey\tpartition\n", 'standard input: line 2: expected a partition after the tab, found "partition"'),
    ("key\tpartition\n", "standard input: expected at least one line with a key, a tab and a partition"),
    ("", "standard input: expected at least one line with a key, a tab and a partition"),
])
def test_explain_refuses_a_bad_line(explain, stdin, message):
    done = explain("--partitions", COUNT, "--observed", "-", stdin=stdin).ends_with(2)
    assert done.err.startswith("repartition explain: ") and message in done.err and done.err.count("\n") == 1
    assert done.out == ""


@pytest.mark.parametrize("args,message", [
    ([], "--observed FILE is missing"),
    (["--observed", "/nonexistent", "--partitions", "12"], "/nonexistent: cannot read the observed pairs: No such file"),
    (["--observed", "/", "--partitions", "12"], "/: line 1: cannot read: Is a directory"),
    (["--observed", TRANSIT], "--partitions N is missing"),
    (["--observed", TRANSIT, "--partitions", "11"], "partition 11, but with 11 partitions the last is 10"),
    (["--observed", TRANSIT, "--partitions", "12", "--key-format", "int32"], "line 2: expected a whole number"),
    (["--observed", TRANSIT, "--partitions", "12", "--hash", "md5"], '--hash: no hash "md5"'),
    (["--observed", TRANSIT, "--partitions", "12", "x"], "takes no operands, got 1"),
])
def test_explain_refuses(explain, args, message):
    done = explain(*args).ends_with(2)
    assert message in done.err and done.out == ""


# ---- audit: a real topic and real clients --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed(kafka, java, wheel):
    """A topic into which Java and Python, each by its defaults, wrote the same keys, and Java some more."""
    name = kafka.create(unique("mixed"), COUNT)
    homes = java(name, lines_of(0, 6000))
    placed = wheel(name, lines_of(0, 3000, 1700000100000))
    mixed = collections.namedtuple("Mixed", "topic homes placed")
    return mixed(name, homes, placed)


def test_audit_counts_and_names_both_producers(audit, mixed):
    found = audit(mixed.topic, "--output", "json").ends_with(1).json()
    misplaced = [i for i, (home, at) in enumerate(zip(mixed.homes, mixed.placed)) if home != at]
    assert found["topic"] == mixed.topic and found["complete"] is True and found["status"] == "explained"
    assert found["partitions"] == COUNT and found["records"] == found["keyed"] == 9000
    assert found["misplaced"] == len(misplaced)
    assert found["distinct_keys"] == 6000 and found["distinct_keys_error"] == 0
    assert found["split_keys"] == len(misplaced)
    assert abs(found["misplaced_share"] - len(misplaced) / 9000) < 1e-5
    verdict = {v["hash"]: v for v in found["verdict"]}
    assert verdict.keys() == {"murmur2", "crc32"}
    # Where both agree on a partition, the pair counts for both, in proportion.
    assert abs(verdict["murmur2"]["share"] - 2 / 3) < 0.01 and abs(verdict["crc32"]["share"] - 1 / 3) < 0.01
    assert abs(verdict["crc32"]["records_share"] - 1 / 3) < 0.03
    assert verdict["crc32"]["misplaced_share"] > 0.99 and verdict["crc32"]["partitions"] == COUNT
    assert verdict["crc32"]["first_time"].startswith("2023-11-14T22:15:0")
    assert "murmur2_random" in verdict["crc32"]["fix"] and "Python" in verdict["crc32"]["clients"]
    assert all(v["sure"] == "yes" and v["same_as"] == [] for v in verdict.values())

    rows = found["per_partition"]
    where = collections.Counter(mixed.homes) + collections.Counter(mixed.placed)
    wrong = collections.Counter(mixed.placed[i] for i in misplaced)
    assert [r["partition"] for r in rows] == list(range(COUNT))
    assert [r["records"] for r in rows] == [where[p] for p in range(COUNT)]
    assert [r["misplaced"] for r in rows] == [wrong[p] for p in range(COUNT)]
    assert sum(r["bytes"] for r in rows) == found["bytes"] == sum(
        len(line.split("\t")[0]) + len(line.split("\t")[1]) for line in lines_of(0, 6000) + lines_of(0, 3000))
    for row in rows:
        assert row["first_offset"] == 0 and row["end_offset"] == row["next_offset"] == row["records"]
        # All of Java's records were there before the first one by Python.
        assert row["first_misplaced"]["offset"] >= mixed.homes.count(row["partition"])
        assert row["last_misplaced"]["offset"] <= row["end_offset"] - 1
        assert row["first_misplaced"]["partition"] == row["partition"]
    assert found["first_misplaced"]["time"] == f"2023-11-14T22:15:0{misplaced[0] // 1000}.{misplaced[0] % 1000:03d}Z"
    assert found["first_misplaced"]["partition"] == mixed.placed[misplaced[0]]


def test_audit_tells_people_what_to_type(audit, kafka, mixed, tmp_path):
    properties = tmp_path / "my cluster.properties"
    properties.write_text("client.id=me\n")
    out = audit(mixed.topic, "-F", properties, "-X", "fetch.wait.max.ms=50", "-X", "sasl.password=hush").ends_with(1).out
    assert out.splitlines()[0].startswith(f"{mixed.topic}   12 partitions   9,000 records   6,000 keys   up to 20")
    assert "judged by murmur2, Java's rule (no policy file given)" in out
    assert re.search(r"^misplaced   2,7\d\d records \(30\.\d %\)   2,7\d\d keys live in more than one partition$", out, re.M)
    assert re.search(r"^first one   partition \d+, offset \d+, 2023-11-14T22:15:00Z$", out, re.M)
    assert re.search(r"^  murmur2 +\d\d\.\d % +\d\d\.\d % +yes +2023-11-14T22:13:2\dZ +Java", out, re.M)
    assert re.search(r"^  crc32 +\d\d\.\d % +\d\d\.\d % +yes +2023-11-14T22:15:02Z +librdkafka's default: Python", out, re.M)
    assert "stop it     crc32: partitioner=murmur2_random" in out
    assert (f"mend it     repartition rewrite {mixed.topic} {mixed.topic}.v2 --partitions 12 --order merge -b {kafka.bootstrap} "
            f"-F '{properties}' -X fetch.wait.max.ms=50 -X sasl.password=...  ") in out
    assert "hush" not in out
    assert re.search(rf"then consumers of {mixed.topic} must reprocess from partition 0 offset \d+, 1 offset \d+, ",
                     " ".join(out.split()))
    rows = re.findall(r"^ +(\d+) +([\d,]+) +[\d.]+ kB +([\d,]+) +([\d,]+) +\d+  2023", out, re.M)
    assert [int(r[0]) for r in rows] == list(range(COUNT))


def test_the_command_it_gives_is_one_that_the_tool_knows(audit, repartition, mixed):
    command = audit(mixed.topic, "--output", "json").ends_with(1).json()["mend"]
    program, *args = command.split(" ")
    assert program == "repartition"
    done = repartition(*args)
    assert done.rc in (0, 1), done.err  # a plan; nothing is written without --execute


def test_audit_hides_keys(audit, mixed, topic, java):
    t = topic("heavy", partitions=COUNT)
    java(t, lines_of(0, 200) + [f"alice@example.org\tx\t{1700000000000}\n"] * 100)
    for args in ([], ["--output", "json"]):
        done = audit(t, *args).ok()
        assert "alice" not in done.out + done.err and "order-" not in done.out
        assert base64.b64encode(b"alice@example.org").decode() not in done.out
    shown = audit(t, "--output", "json", "--show-keys").ok().json()["skew"]["heaviest_keys"]
    assert shown[0]["key_text"] == "alice@example.org" and shown[0]["records"] == 100
    assert base64.b64decode(shown[0]["key"]) == b"alice@example.org"
    assert abs(shown[0]["share"] - 1 / 3) < 1e-5
    text = audit(t, "--show-keys").ok().out
    assert re.search(r"^ +33\.3 %  alice@example\.org$", text, re.M)
    assert "no placement gets the fullest below 4.00×" in text


def test_audit_of_a_clean_topic(audit, topic, java):
    t = topic("clean", partitions=COUNT)
    java(t, lines_of(0, 500))
    found = audit(t, "--output", "json").ok().json()
    assert found["misplaced"] == 0 and found["status"] == "clean" and found["first_misplaced"] is None
    assert [v["hash"] for v in found["verdict"]] == ["murmur2"]
    assert "mend" not in found
    out = audit(t).ok().out
    assert "misplaced   none: every key is where it belongs" in out and "what to do" not in out
    # Judged by the other rule, the same topic is not clean.
    assert audit(t, "--hash", "crc32", "--output", "json").ends_with(1).json()["verdict"][0]["hash"] == "murmur2"


def test_audit_tells_no_key_from_empty_key(audit, topic, java, wheel):
    t = topic("keyless", partitions=COUNT)
    java(t, ["\tempty\n"] * 7)
    java(t, ["\tnull\n"] * 5, "--null-keys")
    placed = wheel(t, ["\tspread\n"] * 40, "-X", "sticky.partitioning.linger.ms=0")
    found = audit(t, "--output", "json").ends_with(1).json()
    assert (found["records"], found["keyed"], found["empty_keys"], found["null_keys"]) == (52, 0, 47, 5)
    home = 9  # of the empty key, by Java's rule with 12 partitions
    assert found["misplaced"] == found["misplaced_empty_keys"] == sum(p != home for p in placed)
    assert found["distinct_keys"] == 0 and found["verdict"] == []
    text = audit(t).ends_with(1).out
    assert re.search(r"^empty key   47 records, \d+ misplaced: Java hashes the empty key", text, re.M)
    assert re.search(r"^no key      5 records: any partition is right$", text, re.M)


def test_audit_of_an_empty_topic(audit, topic):
    t = topic("empty", partitions=3)
    found = audit(t, "--output", "json").ok().json()
    assert found["records"] == 0 and found["status"] == "no-keys" and found["complete"] is True
    assert "misplaced   nothing to judge: no record has a key" in audit(t).ok().out


def test_audit_of_a_grown_topic(audit, kafka, topic, java):
    t = topic("grown", partitions=6)
    java(t, lines_of(0, 1500))
    kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", t, "--partitions", COUNT).ok()
    java(t, lines_of(1500, 4000))
    found = audit(t, "--output", "json").ends_with(1).json()
    verdict = {(v["hash"], v["partitions"]): v for v in found["verdict"]}
    assert verdict.keys() == {("murmur2", 12), ("murmur2", 6)}
    assert abs(verdict["murmur2", 6]["share"] - 1500 / 4000) < 0.03
    assert verdict["murmur2", 6]["misplaced_share"] > 0.99
    assert "6 partitions" in verdict["murmur2", 6]["fix"]
    assert "murmur2 of 6 partitions" in audit(t).ends_with(1).out


def test_audit_of_ignored_keys(audit, topic, java):
    t = topic("round-robin", partitions=COUNT)
    java(t, lines_of(0, 400) * 5, "-X", "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner")
    found = audit(t, "--output", "json").ends_with(1).json()
    assert found["verdict"] == [] and found["status"] == "unexplained"
    assert found["unexplained"]["kind"] == "keys-ignored" and found["unexplained"]["share"] == 1
    assert re.search(r"nobody known +100\.0 % +100\.0 % +.*keys ignored", audit(t).ends_with(1).out)


TRANSACTIONS = """
import sys
from confluent_kafka import Producer
address, topic = sys.argv[1:]
def fill(transactional_id, first, end):
    producer = Producer({"bootstrap.servers": address, "transactional.id": transactional_id})
    producer.init_transactions(30)
    producer.begin_transaction()
    for i in range(first, end):
        producer.produce(topic, key=f"order-{i}", value=b"x")
    producer.flush()
    return producer
fill(topic + "-1", 0, 300).commit_transaction(30)
fill(topic + "-2", 300, 700).abort_transaction(30)
fill(topic + "-3", 700, 800).commit_transaction(30)
still_open = fill(topic + "-4", 800, 900)
print("ready", flush=True)
sys.stdin.read()
still_open.abort_transaction(30)
"""


@pytest.mark.parametrize("version", ["old", "new"])
def test_audit_sees_committed_records_only(repartition, kafka, topic, wheel_python, version):
    from support import Librdkafka
    t = topic("transactions", partitions=3)
    producer = subprocess.Popen([wheel_python, "-c", TRANSACTIONS, kafka.bootstrap, t], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
    try:
        assert producer.stdout.readline() == "ready\n"
        found = repartition("audit", t, "-b", kafka.bootstrap, "--output", "json",
                            librdkafka=Librdkafka(version)).ends_with(1).json()
        assert found["records"] == found["distinct_keys"] == 400
        assert found["complete"] is True
        assert [v["hash"] for v in found["verdict"]] == ["crc32"]
        # Aborted records, control records and the open transaction leave gaps, and the ranges end before the latter.
        assert all(r["next_offset"] == r["end_offset"] > r["records"] for r in found["per_partition"])
    finally:
        producer.communicate("")
    assert producer.returncode == 0


def test_audit_of_some_partitions(audit, mixed):
    found = audit(mixed.topic, "--partition", 3, "--partition", 7, "--output", "json").ends_with(1).json()
    counted = [r["partition"] for r in found["per_partition"] if r["records"]]
    assert counted == [3, 7] and found["complete"] is True
    assert [r["skipped"] for r in found["per_partition"]].count(False) == 2
    assert "only 2 of the 12 partitions, as asked for" in audit(mixed.topic, "--partition", 3, "--partition", 7).out


@pytest.fixture
def parts(audit, tmp_path):
    """parts(TOPIC, "0-1", ..., options=()) audits parts of a topic. @returns the files of their reports."""
    def make(name, *lists, options=()):
        files = [tmp_path / f"{name}-{i}.json" for i in range(len(lists))]
        for file, partitions in zip(files, lists):
            file.write_text(audit(name, "--partitions", partitions, "--output", "json", *options).out)
        return files
    return make


@pytest.mark.parametrize("options", ((), ("--sample-keys", "500"), ("--hash", "crc32")))
def test_merged_parts_of_an_audit_are_the_whole(audit, mixed, parts, repartition, options):
    whole = audit(mixed.topic, "--output", "json", *options).ends_with(1).json()
    files = parts(mixed.topic, "7-11", "0,2-4,6", "1,5", options=options)
    many = audit(mixed.topic, "--threads", 3, "--output", "json", *options).ends_with(1).json()
    assert {**many, "as_of": None, "skew": None} == {**whole, "as_of": None, "skew": None}
    judge = options if options[:1] == ("--hash",) else ()
    merged = repartition("merge", *files, "--output", "json", *judge).ends_with(1).json()
    assert merged["as_of"] >= whole["as_of"]
    assert merged.keys() == whole.keys() and merged["verdict"] and merged["mend"].endswith(" ".join(
        ["--partitions 12 --order merge", *judge, "-b", audit("--version").argv[3]]))
    for field in merged.keys() - {"as_of", "skew"}:
        assert merged[field] == whole[field], field
    for field in ("max_over_mean", "max_over_median", "chance"):
        assert merged["skew"][field] == whole["skew"][field]


def test_merged_audit_with_few_keys_is_the_same_throughout(audit, topic, java, wheel, parts, repartition):
    """Every key has a counter of its own then, so that even the heaviest ones' counts are exact."""
    t = topic("few", partitions=COUNT)
    java(t, lines_of(0, 900) + ["order-7\tagain\t1700000000000\n"] * 50)
    wheel(t, lines_of(0, 300, 1700000100000))
    whole = audit(t, "--output", "json", "--show-keys").ends_with(1).json()
    files = parts(t, "0-5", "6-11")
    merged = repartition("merge", *files, "--output", "json", "--show-keys").ends_with(1).json()
    assert {**merged, "as_of": None} == {**whole, "as_of": None}
    assert whole["skew"]["heaviest_keys"][0]["key_text"] == "order-7"
    def without_time(text):
        return re.sub("up to [0-9T:Z-]+", "", text)
    assert without_time(repartition("merge", *files).ends_with(1).out) == without_time(audit(t).ends_with(1).out)

    a, b = files
    assert "is in none of the parts" in repartition("merge", a).ends_with(2).err
    assert "give each once" in repartition("merge", a, b, a).ends_with(2).err
    assert "was judged by another policy" in repartition("merge", a, b, "--hash", "crc32").ends_with(2).err
    report = json.loads(b.read_text())
    for change, message in (({"topic": "other"}, 'is about topic "other"'), ({"partitions": 13}, "of 13 partitions"),
                            ({"part": {**report["part"], "sample_keys": 5}}, "--sample-keys 5, the parts before it with 16384"),
                            ({"part": {**report["part"], "rows": [[0] * 11]}}, "rows: this is not a part"),
                            ({"part": {**report["part"], "rows": [[12] + [0] * 11]}}, "rows: this is not a part"),
                            ({"part": {**report["part"], "keys": [["0" * 16, 3, "AAAA", [[0, 1, 1, 1]]]]}}, "keys: this is not"),
                            ({"part": {**report["part"], "heavy": [[]]}}, "heavy: this is not"),
                            ({"part": {**report["part"], "threshold": 7}}, "keys or threshold"),
                            ({"command": "verify"}, "is a part of verify"), ({"part": 1}, "not the report of a part")):
        b.write_text(json.dumps({**report, **change}))
        done = repartition("merge", a, b).ends_with(2)
        assert message in done.err and done.err.count("\n") == 1 and done.out == ""


def test_audit_by_a_policy(audit, mixed, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {
        mixed.topic: {"partitions": COUNT, "hash": "crc32"}, "pinned-*": {"partitions": 16}}}))
    found = audit(mixed.topic, "--policy", policy, "--output", "json").ends_with(1).json()
    assert found["policy"]["rule"] == "crc32 modulo" and re.fullmatch("[0-9a-f]{16}", found["policy"]["fingerprint"])
    assert found["policy"]["file"] == str(policy)
    verdict = {v["hash"]: v for v in found["verdict"]}
    assert verdict["murmur2"]["misplaced_share"] > 0.99
    assert "keyroute.hash=crc32" in verdict["murmur2"]["fix"]
    text = audit(mixed.topic, "--policy", policy).ends_with(1).out
    assert f"judged by crc32 of {policy}, fingerprint {found['policy']['fingerprint']}" in text
    assert f"--partitions 12 --order merge --policy {policy} -b" in text


def test_audit_refuses(audit, kafka, topic, mixed, tmp_path, repartition):
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {mixed.topic: {"partitions": 16}}}))
    done = audit(mixed.topic, "--policy", policy).ends_with(2)
    assert f'topic "{mixed.topic}" has 12 partitions, {policy} is made for 16' in done.err
    assert done.out == ""
    other = topic("other", partitions=1)
    done = audit(other, "--policy", policy).ends_with(2)
    assert f'{policy}: no rule for topic "{other}"; it has rules for {mixed.topic}' in done.err
    done = audit("no-such-topic").ends_with(2)
    assert done.err == 'repartition audit: topic "no-such-topic" does not exist\n'
    for option, bad in itertools.product(("--partition", "--partitions"), ("12", "-1", "x", "3-", "2-1", "1;2")):
        done = audit(mixed.topic, option, bad).ends_with(2)
        assert re.search(f'{option}: (there are the partitions 0 to 11|expected partitions .*), got "{bad}"', done.err)
    assert "a part of one topic" in audit(mixed.topic, other, "--partitions", "0").ends_with(2).err
    done = audit().ends_with(2)
    assert "expected TOPIC..." in done.err
    done = repartition("audit", mixed.topic).ends_with(2)
    assert "no broker named: give -b HOST:PORT" in done.err
    done = audit(mixed.topic, "-X", "no.such.property=1").ends_with(2)
    assert "no.such.property" in done.err
    # Looking for a topic must not have made it.
    listed = kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list").ok().out
    assert "no-such-topic" not in listed


def test_audit_without_a_broker_is_incomplete(repartition):
    done = repartition("audit", "orders", "-b", "127.0.0.1:1", "--timeout-ms", 2000).ends_with(3)
    assert done.err.startswith("repartition audit: ") and done.err.count("\n") == 1
    assert "127.0.0.1:1" in done.err
    assert done.out == ""


def test_audit_of_several_topics(audit, mixed, topic, java):
    t = topic("clean", partitions=3)
    java(t, lines_of(0, 50))
    done = audit(t, mixed.topic, "--output", "json").ends_with(1)
    assert [json.loads(line)["topic"] for line in done.out.splitlines()] == [t, mixed.topic]
    done = audit(t, "no-such-topic", mixed.topic, "--output", "json").ends_with(2)
    assert [json.loads(line)["topic"] for line in done.out.splitlines()] == [t, mixed.topic]
    assert done.err == 'repartition audit: topic "no-such-topic" does not exist\n'
    assert audit(t, t).ok().out.count("\nmisplaced   none") == 2


def test_audit_estimates_beyond_the_sample(audit, mixed):
    found = audit(mixed.topic, "--sample-keys", 500, "--output", "json").ends_with(1).json()
    exact = audit(mixed.topic, "--output", "json").ends_with(1).json()
    assert found["sample"]["complete"] is False and found["sample"]["keys"] == 500
    assert 0.08 < found["distinct_keys_error"] < 0.09
    assert abs(found["distinct_keys"] - 6000) < 6000 * 2 * found["distinct_keys_error"]
    assert found["misplaced"] == exact["misplaced"]  # counts of records are never estimates
    assert {v["hash"] for v in found["verdict"]} == {"murmur2", "crc32"}
    text = audit(mixed.topic, "--sample-keys", 500).ends_with(1).out
    assert re.search(r"about [\d,]+ keys \(±8\.8 %\)", text) and "from 500 distinct keys, a sample of all" in text
    # The same keys are sampled each time: reports can be compared.
    again = audit(mixed.topic, "--sample-keys", 500, "--output", "json").ends_with(1).json()
    varying = {"as_of": None, "skew": None}  # of thousands of equally light keys, which weighs most is chance
    assert {**again, **varying} == {**found, **varying}


def test_progress_only_where_it_is_wanted(audit, mixed, kafka, repartition):
    assert audit(mixed.topic).ends_with(1).err == ""
    # On a terminal there is a line, and nothing is left of it.
    program = repartition("--version").argv[0]
    done = run("script", "-qec", f"{program} audit {mixed.topic} -b {kafka.bootstrap} > /dev/null", "/dev/null")
    assert done.out == "" or done.out.rstrip("\r\n").endswith("\x1b[K")
