"""The golden vectors: their format, that they are what their sources give, and that real clients still answer so."""

import json
import re

import jsonschema
import pytest
from support import (BUILD, CACHE, DEBIAN_PYTHON, INTEROP, JAVA, KAFKA_LIB, ROOT, missing, need_command, need_file, run,
                     runs_into_a_closed_pipe)

VECTORS = INTEROP / "vectors"
SOURCES = VECTORS / "sources"
RECORDED = SOURCES / "recorded"
FILES = sorted(f for f in VECTORS.glob("*.json") if f.name != "schema.json")


def load(file):
    return json.loads(file.read_text(encoding="utf-8"))


def key_of(test):
    return bytes((i * 131 + 7) % 256 for i in range(test["generator"]["length"])) if "generator" in test \
        else bytes.fromhex(test["key"])


def all_tests(vectors):
    return [t for g in vectors["testGroups"] for t in g["tests"]]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_file_follows_the_written_format(file):
    vectors = load(file)
    schema = load(VECTORS / "schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(vectors)

    tests = all_tests(vectors)
    assert vectors["hash"] == file.stem
    assert vectors["numberOfTests"] == len(tests)
    assert [t["tcId"] for t in tests] == list(range(1, len(tests) + 1))
    assert {f for t in tests for f in t["flags"]} == set(vectors["notes"])
    assert vectors["suiteVersion"] == run(DEBIAN_PYTHON, VECTORS / "check", "--version").ok().out.split()[1]
    for source in (g["source"] for g in vectors["testGroups"]):
        assert (source["taken"] == "own") == (source["how"] == "run") == ("url" not in source), source
        assert source["licence"] == "Apache-2.0" or source["taken"] == "facts"
    for test in tests:
        for count, partition in test["partitions"].items():
            if test["result"] == "invalid":
                continue
            assert int(test["hashValue"], 16) % int(count) == partition, test["tcId"]


def test_schema_refuses_what_is_not_in_the_format():
    schema = jsonschema.Draft202012Validator(load(VECTORS / "schema.json"))
    for break_it in (lambda v: v.update(format="other"), lambda v: v.update(extra=1), lambda v: v.pop("notes"),
                     lambda v: v.update(suiteVersion="1.0"), lambda v: v["valuesFrom"][0].pop("licence"),
                     lambda v: v["testGroups"][0]["source"].update(licence="see LICENSE"),
                     lambda v: v["testGroups"][0]["source"].pop("taken"),
                     lambda v: v["notes"].update(Basic="a string"),
                     lambda v: v["testGroups"][0]["tests"][0].update(flags=[]),
                     lambda v: v["testGroups"][0]["tests"][0].update(result="perhaps"),
                     lambda v: v["testGroups"][0]["tests"][0].update(key="abc"),
                     lambda v: v["testGroups"][0]["tests"][0].pop("hashValue"),
                     lambda v: v["testGroups"][0]["tests"][0].pop("key"),
                     lambda v: v["testGroups"][0]["tests"][0]["partitions"].update({"0": 0})):
        vectors = load(FILES[0])
        break_it(vectors)
        assert not schema.is_valid(vectors)


def test_regenerating_gives_the_committed_bytes():
    run(DEBIAN_PYTHON, VECTORS / "generate", "--check").ok()
    assert run(DEBIAN_PYTHON, VECTORS / "generate", "--keys").ok().out == (RECORDED / "keys.tsv").read_text("utf-8")


def test_a_value_that_sources_disagree_on_is_refused(suite):
    suite("sources/published.tsv", "kafka-utilstest\tmurmur2\traw\ttext:21\t-973932308",
          "kafka-utilstest\tmurmur2\traw\ttext:21\t-973932309")
    result = suite.generate().ends_with(1)
    assert "kafka-utilstest" in result.err and "disagree" in result.err


@pytest.fixture
def suite(tmp_path):
    """A copy of the suite to change. suite(file, old, new) changes a file; suite.generate(*args) runs its generate."""
    copy = tmp_path / "vectors"
    assert run("cp", "-r", VECTORS, copy).rc == 0

    def change(file, old, new):
        text = (copy / file).read_text("utf-8")
        assert text.count(old) == 1, f"{file}: {text.count(old)} times {old}"
        (copy / file).write_text(text.replace(old, new), "utf-8")

    change.folder = copy
    change.generate = lambda *args: run(DEBIAN_PYTHON, copy / "generate", *args)
    return change


REPORT = "https://github.com/tulios/kafkajs/issues/1154"


@pytest.mark.parametrize("change, part, told", [
    (("sources/edges.tsv", "\ttail of 1 after a whole word\nhex:61626364ff", "\ta tail of one\nhex:61626364ff"), 2,
     "0 answers went or changed and 0 came"),
    (("sources/more-reports.tsv", "10\t4\tinvalid", "10\t3\tinvalid"), 0, "1 answers went or changed and 1 came"),
    (("sources/more-reports.tsv", "\ncrc32\t", f"\nmurmur2\tsomebody\t{REPORT}\ttext:20\t16\t15\tinvalid\tseen\ncrc32\t"),
     1, "0 answers went or changed and 1 came"),
])
def test_a_change_raises_the_version_as_far_as_it_must(suite, change, part, told):
    suite(*change)
    now = [int(n) for n in suite_version().split(".")]
    least = ".".join(map(str, now[:part] + [now[part] + 1] + [0] * (2 - part)))
    too_low = ".".join(map(str, now[:part + 1] + [10 ** 6] * (2 - part)))
    for args in ((), ("--check",)):
        assert f"no longer what version {suite_version()} was" in suite.generate(*args).ends_with(1).err
    said = suite.generate("--release", too_low, "why").ends_with(1).err
    assert told in said and f"the next version is {least} or higher, not {too_low}" in said
    suite.generate("--release", least, "why").ok()
    suite.generate("--check").ok()
    assert load(suite.folder / "crc32.json")["suiteVersion"] == least
    assert "the next version is" in suite.generate("--release", "now", "why").ends_with(1).err


def suite_version():
    return (SOURCES / "versions.tsv").read_text("utf-8").splitlines()[-1].split("\t")[0]


@pytest.mark.parametrize("row, says", [("sarama\tMIT", "what sarama is under"),
                                       ("https://github.com/IBM/sarama/\tMIT", "what https://github.com/IBM/sarama/blob")])
def test_a_source_without_a_licence_is_refused(suite, row, says):
    suite("sources/licences.tsv", f"\n{row}", f"\nnot-{row}")
    assert f"licences.tsv does not say {says}" in suite.generate("--check").ends_with(1).err


def test_kafka_clients_gives_the_recorded_murmur2_values():
    """The generator in Java, run again: the values in murmur2.json are what the real client says today."""
    need_command("java")
    need_file(KAFKA_LIB / "pom.xml", "Apache Kafka")
    said = run("java", "-cp", f"{KAFKA_LIB}/*", JAVA / "GenerateVectors.java", RECORDED / "keys.tsv").ok().out
    assert said == (RECORDED / "murmur2.kafka-clients.tsv").read_text("utf-8")

    rows = {f[0]: f for f in (line.split("\t") for line in said.splitlines() if not line.startswith("#"))}
    keys = [line.split("\t") for line in (RECORDED / "keys.tsv").read_text("utf-8").splitlines()
            if not line.startswith("#")]
    by_key = {}
    for key_id, spec, counts in keys:
        key = key_of({"generator": {"length": int(spec[4:])}} if spec.startswith("gen:") else {"key": spec})
        by_key[key] = (rows[key_id][1], dict(zip(counts.split(","), map(int, rows[key_id][2].split(",")))))
    compared = 0
    for test in all_tests(load(VECTORS / "murmur2.json")):
        raw, partitions = by_key[key_of(test)]
        if test["result"] == "invalid":
            assert all(partitions[n] != p for n, p in test["partitions"].items()), test
        else:
            assert (test["rawHash"], test["partitions"]) == (raw, partitions), test
        compared += len(test["partitions"])
    assert compared > 5000


def test_every_client_still_answers_as_recorded(tmp_path):
    """All packages that gave a value, as pinned, run over all keys: the files that they write are those of sources/."""
    need_command("node")
    need_file(KAFKA_LIB / "pom.xml", "Apache Kafka")
    need_file(CACHE / "record" / "packages" / "installed", "what the vectors were recorded from")
    need_file(CACHE / "record" / "go" / "installed", "what the vectors were recorded from")
    run(VECTORS / "record" / "record", tmp_path, env={"KEYROUTE_BUILD": BUILD}, timeout=900).ok()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in RECORDED.iterdir()) and len(names) > 30
    for name in names:
        assert (tmp_path / name).read_bytes() == (RECORDED / name).read_bytes(), name


@pytest.mark.parametrize("hash_name, symbol", [("crc32", "consistent"), ("murmur2", "murmur2"), ("fnv1a-abs", "fnv1a")])
def test_librdkafkas_own_functions_agree(librdkafka, hash_name, symbol, tmp_path):
    """The three built-in functions, in Debian's librdkafka and in the newest one."""
    run(DEBIAN_PYTHON, VECTORS / "record" / "librdkafka.py", RECORDED / "keys.tsv", tmp_path, env=librdkafka.env).ok()
    def body(path):
        return path.read_text("utf-8").split("\n", 1)[1]
    name = f"{hash_name}.librdkafka.tsv"
    assert body(tmp_path / name) == body(RECORDED / name)
    assert f"rd_kafka_msg_partitioner_{symbol}" in (tmp_path / name).read_text("utf-8").split("\n", 1)[0]


# ---- which vector catches which wrong implementation ---------------------------------------------------------------


def catches(*args, here=VECTORS, build=BUILD):
    return run(DEBIAN_PYTHON, here / "catches", *args, env={"KEYROUTE_BUILD": build})


def listed(result):
    return {int(i) for i in re.findall(r"tcId +(\d+)", result.ok().out)}


def caught_by():
    """{(file, name of the wrong implementation): the tcIds that catch it}, by the table."""
    rows = (line.split("\t") for line in (VECTORS / "catches.tsv").read_text("utf-8").splitlines() if line[0] != "#")
    return {(file, name): {i for span in ids.split(",") if span
                           for i in range(int(span.split("-")[0]), int(span.split("-")[-1]) + 1)}
            for file, _, name, ids in rows}


def test_the_table_of_who_catches_whom_is_what_the_doubles_say_now(tmp_path):
    need_file(BUILD / "test" / "test_doubles", "the program of the planted mistakes, which 'make check' builds,")
    catches("--check").ok()
    copy = tmp_path / "interop-tests" / "vectors"
    copy.parent.mkdir()
    assert run("cp", "-r", VECTORS, copy).rc == 0
    table = copy / "catches.tsv"
    table.write_text(re.sub("(trailing newline chomped\t)39,", r"\1", table.read_text("utf-8")), "utf-8")
    assert "run interop-tests/vectors/catches --write" in catches("--check", here=copy).ends_with(1).out
    catches("--write", here=copy).ok()
    assert table.read_bytes() == (VECTORS / "catches.tsv").read_bytes()


def test_every_vector_catches_somebody_and_everybody_is_caught():
    table = caught_by()
    for file in FILES:
        ids = set().union(*(caught for (name, _), caught in table.items() if name == file.stem))
        assert ids == {t["tcId"] for t in all_tests(load(file))}, file.stem
    own = {double: ids for (file, double), ids in table.items() if file == "murmur2"}
    assert len(own) == 64 + len(FILES) - 1 and all(own.values())


def test_catches_tells_both_ways_and_the_fewest():
    table = {double: ids for (file, double), ids in caught_by().items() if file == "murmur2"}
    assert listed(catches("--double", "newline chomped")) == table["trailing newline chomped"]
    said = catches("--test", 39).ok().out
    assert f"catches {sum(39 in ids for ids in table.values())} of {len(table)}\n" in said
    assert "trailing newline chomped (key)" in said
    few = listed(catches("--fewest"))
    assert len(few) < 10 and all(ids & few for ids in table.values())
    assert re.search(r"^murmur2 +\d+ +76 ", catches().ok().out, re.M)


def test_catches_refuses_what_it_does_not_know():
    assert "there are: crc32," in catches("--hash", "nosuch").ends_with(2).err
    assert "has 'nosuch' in its name" in catches("--double", "nosuch").ends_with(2).err
    assert "has no tcId 9999" in catches("--test", 9999).ends_with(2).err


# ---- the checker for others' CI -----------------------------------------------------------------------------------

RIGHT = """
import sys
def murmur2(b):
    h = 0x9747b28c ^ len(b)
    for i in range(0, len(b) & ~3, 4):
        k = int.from_bytes(b[i:i + 4], 'little') * 0x5bd1e995 & 0xffffffff
        h = (h * 0x5bd1e995 & 0xffffffff) ^ ((k ^ k >> 24) * 0x5bd1e995 & 0xffffffff)
    if len(b) & 3:
        h = (h ^ int.from_bytes(b[len(b) & ~3:], 'little')) * 0x5bd1e995 & 0xffffffff
    h = (h ^ h >> 13) * 0x5bd1e995 & 0xffffffff
    return h ^ h >> 15
for line in sys.stdin:
    n, key = line.rstrip('\\n').split('\\t')
    print((murmur2(bytes.fromhex(key)) & MASK) % int(n))
"""


def check(*args):
    return run(DEBIAN_PYTHON, VECTORS / "check", *args)


def program(tmp_path, text):
    path = tmp_path / "partitioner.py"
    path.write_text(text, "utf-8")
    return DEBIAN_PYTHON, path


def test_check_passes_a_right_partitioner(tmp_path):
    result = check("--", *program(tmp_path, RIGHT.replace("MASK", "0x7fffffff"))).ok()
    assert re.fullmatch(r"murmur2: \d+ passed, 0 failed\n", result.out)


def test_check_names_what_a_wrong_partitioner_does(tmp_path):
    result = check("--max-key", 5002, "--", *program(tmp_path, RIGHT.replace("MASK", "0xffffffff"))).ends_with(1)
    assert "SignBit" in result.out
    assert "these answers are those of murmur2-unsigned" in result.out
    assert "who would be hit" in result.out and "kafkajs 2" in result.out


REAL_CLIENT = """
import sys
from kafka.partitioner.default import DefaultPartitioner
choose = DefaultPartitioner()
for line in sys.stdin:
    n, key = line.rstrip("\\n").split("\\t")
    print(choose(bytes.fromhex(key), range(int(n)), []))
"""


@pytest.fixture
def kafka_python():
    if run(DEBIAN_PYTHON, "-c", "import kafka").rc != 0:
        missing("Debian's python3-kafka is missing")


@pytest.mark.usefixtures("kafka_python")
def test_check_takes_the_answers_of_a_real_client(tmp_path):
    check("--", *program(tmp_path, REAL_CLIENT)).ok()


@pytest.mark.usefixtures("kafka_python")
def test_the_test_suite_that_the_page_shows_passes_and_can_fail(tmp_path):
    shown = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "vectors.md").read_text("utf-8"), re.S).group(1)
    suite_of_somebody = program(tmp_path, shown)
    said = run(*suite_of_somebody, VECTORS / "murmur2.json").ok().out
    assert said == f"{suite_version()} failed: []\n"
    failed = run(*suite_of_somebody, VECTORS / "murmur2-unsigned.json").ends_with(1).out
    assert "@platformatic/kafka" in failed and failed.count("(") > 900


def test_the_page_tells_how_many_are_caught():
    page = (ROOT / "docs" / "vectors.md").read_text("utf-8")
    table = [ids for (file, _), ids in caught_by().items() if file == "murmur2"]
    assert f"together catch all {len(table)} (64, and the {len(FILES) - 1} other functions)" in page
    assert f"prints {['', '', '', '', '', 'five', 'six', 'seven'][len(listed(catches('--fewest')))]} vectors" in page
    shown = re.search(r"\$ interop-tests/vectors/catches --double newline\n(.*?)\n\.\.\.", page, re.S).group(1)
    assert catches("--double", "newline").ok().out.startswith(shown)


@pytest.mark.parametrize("text, said", [
    ("pass", "answered 0 of"), ("raise SystemExit(7)", "ended with 7"), ("print(1)", "answered 1 of"),
    ("import sys\nsys.stdout.write(sys.stdin.readline())", "of")])
def test_check_says_when_the_command_does_not_work(tmp_path, text, said):
    result = check("--", *program(tmp_path, text)).ends_with(2)
    assert said in result.err and result.out == ""


def test_check_waits_no_longer_than_it_was_told(tmp_path):
    """Nor does what the command started go on: it holds our stderr, and run() reads that to its end."""
    sleeper = program(tmp_path, "import os, time\nos.fork()\ntime.sleep(1000)")
    result = check("--timeout", "0.5", "--", *sleeper).ends_with(2)
    assert "did not end within 0.5 s and was stopped" in result.err and "--timeout" in result.err
    for wrong in ("0", "soon", "nan"):
        assert "--timeout" in check("--timeout", wrong, "--", "true").ends_with(2).err
    assert re.search(r"--timeout SECONDS .*\(default:\s+\d+\)", check("--help").ok().out, re.S)


@pytest.mark.parametrize("argv", [
    (VECTORS / "catches",), (VECTORS / "generate", "--keys"), (INTEROP / "kafka/kafka", "tool"),
    (INTEROP / "kafka/kafka", "-h"), (INTEROP / "registry/registry", "-h"), (INTEROP / "chaos/chaos", "-h"),
    (INTEROP / "matrix/matrix", "-h"), (INTEROP / "matrix/matrix", "--list"), (ROOT / "examples/demo/events",),
    (VECTORS / "check", "--max-key", 4, "--", "sh", "-c", "sed 's/.*/0/'")],
    ids=lambda argv: " ".join(map(str, (argv[0].name, *argv[1:2]))))
def test_a_reader_that_has_gone_ends_a_tool_in_silence(argv):
    runs_into_a_closed_pipe(DEBIAN_PYTHON, *argv)


def test_check_lets_a_client_spread_only_where_that_is_acceptable(tmp_path):
    spread_all = program(tmp_path, "import sys\nfor _ in sys.stdin: print('-')")
    said = check("--", *spread_all).ends_with(1).out
    assert "no partition, expected" in said and "every answer is '-', whatever the key\n" in said
    crc = ("import sys, zlib\nfor line in sys.stdin:\n    n, key = line.rstrip('\\n').split('\\t')\n"
           "    print(zlib.crc32(bytes.fromhex(key)) % int(n) if key else '-')")
    check("--hash", "crc32", "--", *program(tmp_path, crc)).ok()
    assert check("--", *program(tmp_path, crc.replace("zlib.crc32(bytes.fromhex(key))", "0"))).ends_with(1).out


def test_check_refuses_what_it_cannot_do():
    assert "COMMAND is missing" in check().ends_with(2).err
    assert "there are: crc32," in check("--hash", "nosuch", "true").ends_with(2).err
    assert "cannot run" in check("/no/such/program").ends_with(2).err
