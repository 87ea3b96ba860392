"""repartition conform: right programs pass, and each wrong one is told what it does."""

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support import (BUILD, DEBIAN_PYTHON, HANG_S, KAFKA_LIB, KAFKAJS_MODULES, ROOT, need_command, need_file, run,
                     unique)

# One program with many faults: its first argument picks one.
PROGRAM = '''
import os, sys, zlib
fault, n = sys.argv[1], int(os.environ["KEYROUTE_PARTITIONS"])
def murmur2(data, seed=0x9747b28c, signed=False):
    m, h = 0x5bd1e995, seed ^ len(data)
    for i in range(0, len(data) // 4 * 4, 4):
        k = int.from_bytes(data[i:i + 4], "little") * m & 0xffffffff
        h = (h * m & 0xffffffff) ^ ((k ^ k >> 24) * m & 0xffffffff)
    tail = data[len(data) // 4 * 4:]
    for i in reversed(range(len(tail))):
        h ^= ((tail[i] ^ 0x80) - 0x80 if signed else tail[i]) << 8 * i
    h &= 0xffffffff
    if tail:
        h = h * m & 0xffffffff
    h = (h ^ h >> 13) * m & 0xffffffff
    return h ^ h >> 15
def place(key):
    if fault == "crc32":
        return zlib.crc32(key) % n
    if fault == "sign":
        h = murmur2(key)
        return abs(h - (1 << 32) if h >> 31 else h) % n
    if fault == "negative":
        h = murmur2(key)
        h = h - (1 << 32) if h >> 31 else h
        return -(-h % n) if h < 0 else h % n
    if fault == "unsigned":
        return murmur2(key) % n
    if fault == "signed-bytes":
        return (murmur2(key, signed=True) & 0x7fffffff) % n
    if fault == "utf16":
        try:
            key = key.decode().encode("utf-16-le")
        except UnicodeDecodeError:
            pass
    if fault == "json-quotes":
        key = b'"' + key + b'"'
    if fault == "seed0":
        return murmur2(key, seed=0) % n
    if fault == "hex-text":
        key = key.hex().encode()
    if fault == "line-end":
        key += b"\\n"
    if fault == "latin1":
        key = key.decode("latin-1").encode()
    if fault == "wrong-count":
        return (murmur2(key) & 0x7fffffff) % 30
    if fault == "empty-is-null" and not key:
        return "-"
    if fault == "random":
        return (zlib.crc32(key + b"salt") >> 7) % n
    return (murmur2(key) & 0x7fffffff) % n
for line in sys.stdin:
    print(place(bytes.fromhex(line.strip())))
'''

# Answers that no function of the key gives; each reads the keys as lines and prints one answer a line.
PLAIN_MISTAKES = [
    ("print(0)", "always partition 0, whatever the key"),
    ("print(7)", "always partition 7, whatever the key"),
    ("print('-' if key == '\\n' else 3)", "always partition 3, whatever the key"),
    ("print(12)", "always partition 12, whatever the key, and no such partition exists"),
    ("print(-1)", "answers a negative number for each of "),
    ("print('-')", "spreads every key"),
    ("print(zlib.crc32(bytes.fromhex(key.strip())))", "hashes and not partitions: modulo 12 they are those of crc32"),
    ("print(zlib.crc32(bytes.fromhex(key.strip())) % 12 + 1)", "counts partitions from 1: each answer is that of crc32 plus 1"),
    ("print(hash(key) % 100 + 1)", "answers numbers that are no partition: 0 of "),
    ("print(hash(key) % 24 - 12)", "answers a negative number for "),
    ("print(i % 12)", "round robin: "),
    ("print(11 + i % 5)", "answers numbers that are no partition: "),
    ("print(i // 100 % 12)", "in batches: only 8 of "),
    ("print(random.randrange(12))", "goes not by the key alone: asked again in the reverse order, it answered "),
    ("print(i * i % 11)", "goes not by the key alone: asked again in the reverse order, it answered "),
    ("print(int(hashlib.sha1(key.encode()).hexdigest(), 16) % 12)", "no known function: with none it agrees more often than chance"),
]


@pytest.mark.parametrize("body, says", PLAIN_MISTAKES, ids=[body for body, _ in PLAIN_MISTAKES])
def test_a_plain_mistake_is_named_and_not_the_nearest_function(repartition, body, says):
    rc, found = conform(repartition, "--", sys.executable, "-c", f"""
import hashlib, random, sys, zlib
for i, key in enumerate(sys.stdin):
    {body}""")
    verdict = found["verdict"]
    assert rc == 1 and says in verdict["text"] and verdict["fix"], verdict
    assert (verdict["hash"], verdict["form"], verdict["partitions"]) == (None, None, 12), verdict


def test_one_partition_has_one_answer(repartition):
    ones = repartition("conform", "--partitions", 1, "--", sys.executable, "-c", "import sys\nfor _ in sys.stdin: print(1)")
    assert "always partition 1, whatever the key, and no such partition exists" in ones.ends_with(1).out
    repartition("conform", "--partitions", 1, "--", sys.executable, "-c", "import sys\nfor _ in sys.stdin: print(0)").ok()


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return [sys.executable, tmp_path / "program.py"]


def conform(repartition, *args):
    done = repartition("conform", "--partitions", 12, "--output", "json", *args)
    assert done.rc in (0, 1), done.err
    return done.rc, json.loads(done.out)


def test_a_right_program_conforms(repartition, program):
    rc, found = conform(repartition, "--", *program, "right")
    assert rc == 0 and found["conforms"] and found["failed"] == 0 and found["keys"] > 800
    assert found["vectors"] == json.loads((ROOT / "interop-tests/vectors/murmur2.json").read_text())["suiteVersion"]
    assert found["verdict"]["hash"] == "murmur2" and found["failures"] == []


@pytest.mark.parametrize("fault, hash_name, form, partitions, fix", [
    ("crc32", "crc32", None, 12, "murmur2"),
    ("sign", "murmur2-abs", None, 12, "murmur2"),
    ("unsigned", "murmur2-unsigned", None, 12, "murmur2"),
    ("utf16", "murmur2", "as UTF-16LE", 12, "as UTF-16LE"),
    ("json-quotes", "murmur2", "JSON quotes put on", 12, "quotes"),
    ("seed0", "murmur2-seed0", None, 12, "murmur2"),
    ("hex-text", "murmur2", "the hexadecimal text, which was not decoded", 12, "hexadecimal"),
    ("line-end", "murmur2", "the key with its line end", 12, "line end"),
    ("latin1", "murmur2", "bytes taken for Latin-1 and encoded as UTF-8", 12, "Latin-1"),
    ("wrong-count", "murmur2", None, 30, "it counts 30"),
])
def test_a_wrong_program_is_told_what_it_does(repartition, program, fault, hash_name, form, partitions, fix):
    rc, found = conform(repartition, "--", *program, fault)
    assert rc == 1 and not found["conforms"] and found["failed"] > 0
    verdict = found["verdict"]
    assert (verdict["hash"], verdict["form"], verdict["partitions"]) == (hash_name, form, partitions), verdict
    assert fix in verdict["fix"], verdict
    text = repartition("conform", "--partitions", 12, "--", *program, fault).out
    assert verdict["text"] in text and verdict["fix"] in text


def test_an_empty_key_that_is_taken_for_none(repartition, program):
    rc, found = conform(repartition, "--", *program, "empty-is-null")
    assert rc == 1 and found["failed"] == 1 and found["empty_key_is_null"]
    assert "not a missing key" in found["verdict"]["fix"]


def test_signed_bytes_show_in_the_kind_of_keys_that_fail(repartition, program):
    rc, found = conform(repartition, "--", *program, "signed-bytes")
    assert rc == 1 and found["verdict"]["hash"] == "murmur2"  # for plain keys it is right
    assert "HighByte" in found["verdict"]["fix"] and found["failed_by_flag"]["HighByte"] > 0


def test_negative_answers_are_shown_as_what_they_are(repartition, program):
    rc, found = conform(repartition, "--", *program, "negative")
    assert rc == 1
    out = repartition("conform", "--partitions", 12, "--", *program, "negative").out
    assert "a negative number, expected" in out and "9223372036854775807" not in out + json.dumps(found)


def test_what_is_like_nothing_is_said_to_be_so(repartition, program):
    rc, found = conform(repartition, "--", *program, "random")
    assert rc == 1 and "no known function" in found["verdict"]["text"]


# Mistakes as people make them, with the clients that they use: the key's way through a string, a wrong setting, a wrong count.
KAFKAJS = """
const { createInterface } = require("node:readline");
const { DefaultPartitioner, LegacyPartitioner } = require("kafkajs").Partitioners;
const [how, counted] = [process.argv[2], Number(process.env.KEYROUTE_PARTITIONS) - (process.argv[2] === "one-less" ? 1 : 0)];
const partitionMetadata = Array.from({ length: counted }, (_, partitionId) => ({ partitionId, leader: 0 }));
const choose = how.startsWith("legacy") ? LegacyPartitioner() : DefaultPartitioner();
const utf16 = (key) => Buffer.from(key.toString(), "utf16le");
const made = {
  legacy: (key) => key, "legacy-text": (key) => key.toString(), text: (key) => key.toString(), "one-less": (key) => key,
  json: (key) => JSON.stringify(key.toString()), base64: (key) => key.toString("base64"), hex: (key) => key.toString("hex"),
  utf16le: utf16, utf16be: (key) => utf16(key).swap16(), "empty-is-null": (key) => (key.length ? key : null),
}[how];
createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(choose({ topic: "t", partitionMetadata, message: { key: made(Buffer.from(line, "hex")) } }));
});
"""
KAFKA_PYTHON = """
import json, os, sys
from kafka.partitioner.default import DefaultPartitioner
choose, partitions = DefaultPartitioner(), list(range(int(os.environ["KEYROUTE_PARTITIONS"])))
for line in sys.stdin:
    key = bytes.fromhex(line.strip())
    text = key.decode("utf-8", "replace")
    made = {"json": json.dumps(text).encode(), "latin-1": key.decode("latin-1").encode(),
            "utf-16": b"\\xff\\xfe" + text.encode("utf-16-le"),
            "utf-16-be": b"\\xfe\\xff" + text.encode("utf-16-be")}[sys.argv[1]]
    print(choose(made, partitions, partitions))
"""
TEXT = "the key taken for text, with U+FFFD for what is no UTF-8"


@pytest.fixture
def user_program(tmp_path):
    """user_program("kafkajs" or "kafka-python", mistake) is the command of a program that somebody could have written."""

    def make(client, mistake):
        source = tmp_path / ("user.cjs" if client == "kafkajs" else "user.py")
        source.write_text(KAFKAJS if client == "kafkajs" else KAFKA_PYTHON)
        if client == "kafka-python":
            return [DEBIAN_PYTHON, source, mistake]
        return ["env", f"NODE_PATH={need_file(KAFKAJS_MODULES, 'kafkajs')}", need_command("node"), source, mistake]

    return make


@pytest.mark.parametrize("client, mistake, hash_name, form, partitions, fix", [
    ("kafkajs", "legacy", "kafkajs-legacy", None, 12, "JavaCompatiblePartitioner"),
    ("kafkajs", "legacy-text", "kafkajs-legacy", TEXT, 12, "bytes as they are"),
    ("kafkajs", "text", "murmur2", TEXT, 12, "bytes as they are"),
    ("kafkajs", "json", "murmur2", "the key as JSON text, in quotes", 12, "in quotes"),
    ("kafkajs", "base64", "murmur2", "the key in base64", 12, "base64"),
    ("kafkajs", "hex", "murmur2", "the hexadecimal text, which was not decoded", 12, "hexadecimal"),
    ("kafkajs", "utf16le", "murmur2", "the key's text in UTF-16LE", 12, "UTF-16LE"),
    ("kafkajs", "utf16be", "murmur2", "the key's text in UTF-16BE", 12, "UTF-16BE"),
    ("kafkajs", "one-less", "murmur2", None, 11, "it counts 11"),
    ("kafka-python", "json", "murmur2", "the key as JSON text, in quotes and with escapes for all but ASCII", 12, "escapes"),
    ("kafka-python", "utf-16", "murmur2", "the key's text in UTF-16LE behind a byte order mark", 12, "byte order mark"),
    ("kafka-python", "utf-16-be", "murmur2", "the key's text in UTF-16BE behind a byte order mark", 12, "byte order mark"),
    ("kafka-python", "latin-1", "murmur2", "bytes taken for Latin-1 and encoded as UTF-8", 12, "Latin-1"),
])
def test_what_people_do_with_real_clients(repartition, user_program, client, mistake, hash_name, form, partitions, fix):
    rc, found = conform(repartition, "--", *user_program(client, mistake))
    verdict = found["verdict"]
    assert rc == 1 and (verdict["hash"], verdict["form"], verdict["partitions"]) == (hash_name, form, partitions), verdict
    assert fix in verdict["fix"] and verdict["agree"] == verdict["of"] > 750, verdict


def test_an_empty_key_that_is_spread(repartition, user_program):
    """As kafkajs spreads a key that is missing: by chance, so now and then it is right."""
    for _ in range(20):
        rc, found = conform(repartition, "--", *user_program("kafkajs", "empty-is-null"))
        if rc == 1:
            break
    assert rc == 1 and found["failed"] == 1 and "not a missing key" in found["verdict"]["fix"]


def test_a_policy_of_slots(repartition, program, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {"orders": {"partitions": 12, "map": {"kind": "slots", "weights": {
        "0": 3, "*": 1}}}}}))
    done = repartition("conform", "--policy", policy, "--topic", "orders", "--output", "json", "--", *program, "right")
    found = json.loads(done.out)
    assert done.rc == 1 and found["verdict"]["hash"] == "murmur2" and found["verdict"]["agree"] == found["verdict"]["of"]
    keys = repartition("conform", "--print-keys").ok().out
    right = repartition("route", "--policy", policy, "--topic", "orders", "--key-format", "hex", stdin=keys).ok().out
    (tmp_path / "answers").write_text("".join(line.split("\t")[1] + "\n" for line in right.splitlines()))
    repartition("conform", "--policy", policy, "--topic", "orders", "--", "cat", tmp_path / "answers").ok()


def test_reports_for_build_servers(repartition, program, tmp_path):
    done = repartition("conform", "--partitions", 12, "--junit", tmp_path / "j.xml", "--tap", tmp_path / "t.tap", "--",
                       *program, "crc32")
    assert done.rc == 1
    suite = ET.parse(tmp_path / "j.xml").getroot()[0]
    failed = int(suite.get("failures"))
    assert int(suite.get("tests")) == len(suite.findall("testcase")) and failed == len(suite.findall("testcase/failure")) > 0
    # First of all tests what explains the others: build servers show tests, and little else of a report.
    assert suite.find("testcase").get("name") == "verdict"
    assert suite.find("testcase/failure").get("message").startswith("behaves as crc32 with 12 partitions")
    assert "partitioner=murmur2_random" in suite.find("testcase/failure").text
    tap = (tmp_path / "t.tap").read_text().splitlines()
    assert tap[2:4] == ["not ok 1 - verdict", "  # " + suite.find("testcase/failure").get("message")]
    assert tap[1] == f"1..{suite.get('tests')}" and sum(line.startswith("not ok") for line in tap) == failed


@pytest.mark.parametrize("option", ["--junit", "--tap"])
def test_a_report_that_cannot_be_written(repartition, program, tmp_path, option):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    done = repartition("conform", "--partitions", 12, option, full, "--", *program, "right").ends_with(2)
    assert done.out == "" and f"{full}: cannot write: No space left on device" in done.err
    assert full.is_char_device()
    text = repartition("conform", "--partitions", 12, "--quiet", option, "/dev/stdout", "--", *program, "right").ok().out
    assert "TAP version 13\n" in text or "<testsuite" in text


@pytest.mark.parametrize("kind, code, encoding", [
    ("strings", "line.encode()", "Kafka's own"), ("strings", "json.dumps(line, ensure_ascii=False).encode()", "JSON text, quotes and all"),
    ("strings", "line.encode('utf-16-be')", "UTF-16, big-endian"),
    ("ints", "int(line).to_bytes(4, 'big', signed=True)", "Kafka's own"), ("ints", "line.encode()", "decimal text"),
    ("ints", "int(line).to_bytes(8, 'big', signed=True)", "8 bytes big-endian, a long"),
    ("longs", "int(line).to_bytes(8, 'big', signed=True)", "Kafka's own"),
    ("longs", "int(line).to_bytes(8, 'little', signed=True)", "8 bytes little-endian"),
    ("uuids", "line.encode()", "Kafka's own"), ("uuids", "uuid.UUID(line).bytes", "16 bytes"),
    ("uuids", "uuid.UUID(line).bytes_le", "16 bytes in .NET's order"),
])
def test_serializers(repartition, tmp_path, kind, code, encoding):
    (tmp_path / "serialize.py").write_text(
        "import json, sys, uuid\nfor line in sys.stdin.buffer.read().decode().split('\\n')[:-1]:\n"
        f"    print(({code}).hex())\n")
    done = repartition("conform", "--keys", kind, "--output", "json", "--", sys.executable, tmp_path / "serialize.py")
    found = json.loads(done.out)
    assert found["encoding"] == encoding and found["conforms"] == (encoding == "Kafka's own") and done.rc == (not found["conforms"])


def test_kafka_own_serializers_are_what_we_take_for_them(repartition, tmp_path):
    source = tmp_path / "Serialize.java"
    source.write_text('''
import java.io.*; import java.nio.charset.StandardCharsets; import java.util.*; import org.apache.kafka.common.serialization.*;
public class Serialize {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            byte[] bytes = switch (args[0]) {
                case "ints" -> new IntegerSerializer().serialize("t", Integer.valueOf(line));
                case "longs" -> new LongSerializer().serialize("t", Long.valueOf(line));
                case "uuids" -> new UUIDSerializer().serialize("t", UUID.fromString(line));
                default -> new StringSerializer().serialize("t", line);
            };
            System.out.println(HexFormat.of().formatHex(bytes));
        }
    }
}
''')
    for kind in ("strings", "ints", "longs", "uuids"):
        repartition("conform", "--keys", kind, "--", "java", "-cp", f"{KAFKA_LIB}/*", source, kind).ok()


@pytest.mark.parametrize("command, says", [
    (["./no-such-program"], "cannot run"), (["false"], "ended with 1"), (["true"], "printed nothing"), (["sh", "-c", "echo 1"], "answered 1 of"),
    (["sh", "-c", "kill -9 $$"], "signal 9"), (["sed", "s/.*/what/"], "answer 1 is"),
    (["sleep", "30"], "did not end in time"), (["sh", "-c", "exec >&-; sleep 30"], "did not end in time"),
    (["yes"], "prints more than"),
])
def test_programs_that_do_not_work(repartition, command, says):
    done = repartition("conform", "--partitions", 12, "--timeout-ms", 3000, "--", *command)
    assert done.rc == 2 and says in done.err, done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_program_does_not_outlive_us(tmp_path, number):
    """It runs in a process group of its own, which a terminal's Ctrl-C does not reach."""
    note = tmp_path / "pids"
    command = f"sleep 3000 & echo $$ $! > {note}.tmp; mv {note}.tmp {note}; wait"
    done = subprocess.Popen([BUILD / "repartition", "conform", "--partitions", "12", "--", "sh", "-c", command])
    while not note.exists():
        assert done.poll() is None
        time.sleep(0.05)
    os.kill(done.pid, number)
    assert done.wait(HANG_S) in (-number, 128 + number)
    waits_until = time.monotonic() + HANG_S
    for pid in note.read_text().split():
        state = Path(f"/proc/{pid}/stat")
        while state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z":  # killed, but not yet gone
            assert time.monotonic() < waits_until
            time.sleep(0.05)


@pytest.mark.parametrize("args, says", [
    ([], "nothing to check"), (["--partitions", "3", "-b", "x:1", "--", "cat"], "at once"),
    (["-b", "127.0.0.1:1"], "--topic is missing"), (["--", "cat"], "partitions"),
])
def test_usage(repartition, args, says):
    done = repartition("conform", *args)
    assert done.rc == 2 and says in done.err, done.err


def produce(kafka, topic, keys, partition):
    code = ("import sys\nfrom confluent_kafka import Producer\np = Producer({'bootstrap.servers': sys.argv[1], "
            "'partitioner': sys.argv[3]})\n"
            "for line in sys.stdin:\n    p.produce(sys.argv[2], key=bytes.fromhex(line.strip()), value=b'v'); p.poll(0)\np.flush()\n")
    run(DEBIAN_PYTHON, "-c", code, kafka.bootstrap, topic, partition, stdin=keys).ok()


def test_a_real_producer(repartition, kafka):
    keys = repartition("conform", "--print-keys").ok().out
    good, bad = kafka.create(unique("conform"), 12), kafka.create(unique("conform"), 12)
    produce(kafka, good, keys, "murmur2")
    produce(kafka, bad, keys, "consistent")
    repartition("conform", "-b", kafka.bootstrap, "--topic", good).ok()
    done = repartition("conform", "-b", kafka.bootstrap, "--topic", bad, "--output", "json")
    found = json.loads(done.out)
    assert done.rc == 1 and found["verdict"]["hash"] == "crc32" and found["verdict"]["agree"] == found["verdict"]["of"]
    some = kafka.create(unique("conform"), 12)
    produce(kafka, some, "".join(line + "\n" for line in keys.splitlines() if line), "murmur2")
    done = repartition("conform", "-b", kafka.bootstrap, "--topic", some)
    assert done.rc == 1 and "the key did not arrive" in done.out


def test_nothing_in_common(repartition, sandbox):
    """What all keys share tells nothing."""
    done = repartition("conform", "-b", sandbox("orders:12"), "--topic", "orders")
    assert done.rc == 1 and "verdict   none of the golden keys arrived\n" in done.out and "--print-keys prints" in done.out
    done = repartition("conform", "--partitions", 12, "--", "sed", "s/.*/99/")
    assert done.rc == 1 and "SignBit" not in done.out and "verdict   always partition 99" in done.out


def test_the_golden_keys_are_those_of_the_vectors(repartition):
    keys = repartition("conform", "--print-keys").ok().out.split("\n")[:-1]
    vectors = json.loads((ROOT / "interop-tests/vectors/murmur2.json").read_text())
    wanted = {test["key"] for group in vectors["testGroups"] for test in group["tests"] if "key" in test}
    assert wanted <= set(keys) and len(set(keys)) == len(keys) and "" in keys
