"""The command line is a contract: people put it into CI and runbooks. Exit codes, outputs and complaints, word for word."""

import base64
import json
import re
import signal
import socket
import subprocess
import time

import pytest
from support import BUILD, HANG_S, ROOT, need_command, run

KEY_FORMATS = [
    ("text", "TT0124", b"TT0124"),
    ("hex", "545430313234", b"TT0124"),
    ("base64", "VFQwMTI0", b"TT0124"),
    ("int32", "-2", bytes.fromhex("fffffffe")),
    ("int64", "42", bytes.fromhex("000000000000002a")),
    ("uuid", "354afe16-939a-4ea8-8e17-8bb0840b6886", bytes.fromhex("354afe16939a4ea88e178bb0840b6886")),
]


@pytest.fixture
def route(repartition):
    return lambda *args, **options: repartition("route", *args, **options)


@pytest.fixture
def policy(tmp_path):
    """policy(topics) writes a policy file. @returns its path."""

    def write(topics):
        path = tmp_path / "policy.json"
        path.write_text(json.dumps({"keyroute": 1, "topics": topics}))
        return path

    return write


def commands(repartition):
    text = repartition("--help").ok().out
    return re.findall(r"^  ([a-z]+)  +\S", text, re.M)


# ---- route ------------------------------------------------------------------------------------------------------------


def test_route_as_the_readme_says(route):
    assert route("--hash", "murmur2", "--partitions", 15, "TT0124").ok().out == "TT0124\t10\n"
    assert route("--hash=crc32", "--partitions=15", "TT0124").ok().out == "TT0124\t9\n"
    assert route("TT0124", "--partitions", 15, "").ok().out == "TT0124\t10\n\t6\n"


@pytest.mark.parametrize("name,text,key", KEY_FORMATS)
def test_key_formats_from_operands_and_lines(route, name, text, key):
    plain = route("--partitions", 1000, "--key-format", "hex", key.hex()).ok().out.split("\t")[1]
    want = f"{text}\t{plain}"
    assert route("--partitions", 1000, "--key-format", name, "--", text).ok().out == want
    assert route("--partitions", 1000, "--key-format", name, stdin=text).ok().out == want  # no newline at the end
    assert route("--partitions", 1000, "--key-format", name, stdin=f"{text}\n{text}\n").ok().out == want * 2


def test_a_text_line_loses_its_newline_and_nothing_else(route):
    lines = [b"a", b" a ", b"a\r", b"nul\0inside", b"", b"tab\tinside", b"\xff\xfe"]
    done = subprocess.run([BUILD / "repartition", "route", "--partitions", "1000", "--output", "json"],
                          input=b"\n".join(lines) + b"\n", capture_output=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [base64.b64decode(row["key"]) for row in rows] == lines
    assert [row.get("key_text") for row in rows] == ["a", " a ", None, None, "", None, None]
    for line, row in zip(lines, rows):
        alone = route("--partitions", 1000, "--key-format", "hex", "--output", "json", line.hex()).ok().json()
        assert alone == row


@pytest.mark.parametrize("name", ["hex", "base64"])
def test_an_empty_line_is_the_empty_key(route, name):
    assert route("--partitions", 12, "--key-format", name, stdin="\n").ok().out == "\t9\n"
    assert route("--partitions", 12, "--key-format", name, stdin="\r\n").ok().out.endswith("\t9\n")


def test_no_lines_give_no_results(route):
    assert route("--partitions", 12, stdin="").ok().out == ""


def test_json_is_one_object_a_line(route):
    rows = [json.loads(line) for line in route("--partitions", 15, "--output", "json", "TT0124", "b").ok().out.splitlines()]
    assert rows[0] == {"key": "VFQwMTI0", "key_text": "TT0124", "hash": "murmur2", "hash_value": 705154870,
                       "partition": 10, "location": None}
    assert len(rows) == 2


def test_keys_from_a_file(route, tmp_path):
    keys = tmp_path / "keys.txt"
    keys.write_text("100:48069\norder-42\n")
    assert route("--partitions", 12, "--keys", keys).ok().out == "100:48069\t9\norder-42\t0\n"
    assert route("--partitions", 15, "--keys", "-", stdin="TT0124\n").ok().out == "TT0124\t10\n"
    done = route("--partitions", 15, "--keys", keys, "TT0124").ends_with(2)
    assert "keys come from operands or from --keys, not from both" in done.err
    done = route("--partitions", 15, "--keys", tmp_path / "none").ends_with(2)
    assert "cannot read the keys: No such file" in done.err


def test_locations(route, tmp_path, policy):
    file = tmp_path / "locations.json"
    file.write_text('{"0-11": "site-a", "12-23": "site-b"}')
    keys = ["example-record-id", "240717C6P0LS-483553"]
    crc32 = ["--hash", "crc32", "--partitions", 30]
    assert route(*crc32, "--locations", file, *keys).ok().out == \
        "example-record-id\t15\tsite-b\n240717C6P0LS-483553\t17\tsite-b\n"
    file.write_text('{"15": "here"}')
    done = route(*crc32, "--locations", file, "--output", "json", *keys).ok()
    assert [json.loads(line)["location"] for line in done.out.splitlines()] == ["here", None]
    path = policy({"t": {"hash": "crc32", "partitions": 30, "locations": {"12-17": "of-the-policy"}}})
    assert route("--policy", path, keys[0]).ok().out == "example-record-id\t15\tof-the-policy\n"
    assert route("--policy", path, "--locations", file, *keys).ok().out == \
        "example-record-id\t15\there\n240717C6P0LS-483553\t17\n"


def test_policy_rules(route, policy):
    path = policy({"orders": {"partitions": 15}, "clicks-*": {"hash": "crc32"}})
    assert route("--policy", path, "--topic", "orders", "TT0124").ok().out == "TT0124\t10\n"
    assert route("--policy", path, "--topic", "orders", "--partitions", 15, "TT0124").ok().out == "TT0124\t10\n"
    assert route("--policy", path, "-t", "clicks-eu", "--partitions", 15, "TT0124").ok().out == "TT0124\t9\n"


def test_a_key_that_the_policy_refuses(route, policy):
    path = policy({"t": {"partitions": 12, "key": {"use": "field", "delimiter": "|", "index": 1, "missing": "reject"}}})
    done = route("--policy", path, "a|b", "whole").ends_with(1)
    assert done.out.splitlines()[1] == "whole\trefused"
    assert done.err == "repartition route: 1 keys are refused by the policy\n"
    done = route("--policy", path, "--quiet", "--output", "json", "whole").ends_with(1)
    assert done.json()["partition"] is None and done.json()["refused"]
    assert done.err == ""


def test_all_hashes(route):
    text = route("--partitions", 15, "--all-hashes", "TT0124").ok().out
    rows = route("--partitions", 15, "--all-hashes", "--output", "json", "TT0124").ok().json()
    by_name = {row["hash"]: row["partition"] for row in rows["functions"]}
    assert by_name["murmur2"] == 10 and by_name["crc32"] == 9 and by_name["kafkajs-legacy"] == 1
    for name, partition in by_name.items():
        assert re.search(rf"^  {name} +\d+ +{partition} ", text, re.M), name
        assert route("--partitions", 15, "--hash", name, "TT0124").ok().out == f"TT0124\t{partition}\n"
    assert all(len(line) <= 80 for line in text.splitlines())


def test_list_hashes(route):
    rows = [json.loads(line) for line in route("--list-hashes", "--output", "json").ok().out.splitlines()]
    clients = {row["hash"]: row for row in rows if row["of"] == "client"}
    assert {"murmur2", "crc32", "crc32-signed-abs", "fnv1a-abs", "fnv1a-masked", "fnv1a-unsigned", "murmur2-unsigned",
            "murmur2-abs", "murmur2-seed0", "kafkajs-legacy", "java-string-hash", "java-bytes-hash",
            "kafka-python-old"} <= clients.keys()
    assert clients["crc32"]["empty_key"] == "spread" and clients["murmur2"]["empty_key"] == "hashed"
    text = route("--list-hashes").ok().out
    assert all(f"\n{row['hash']}\n" in text for row in rows)
    assert all(len(line) <= 80 for line in text.splitlines())


POLICY = {"orders": {"partitions": 12}, "clicks-*": {}}


@pytest.mark.parametrize("args,message", [
    (["x"], "--partitions N is missing"),
    (["--partitions", "0", "x"], '--partitions: expected a whole number from 1 to 1000000, got "0"'),
    (["--partitions", "12", "--hash", "crc-32", "x"], '--hash: no hash "crc-32"; did you mean "crc32"?'),
    (["--partitions", "12", "--hash", "crc32", "--all-hashes", "x"], "--all-hashes compares the functions; leave --hash out"),
    (["--partitions", "12", "--key-format", "hex", "00", "0g"], 'key 2: expected an even number of hex digits, found "0g"'),
    (["--partitions", "12", "--key-format", "int32", "-5"], 'operands that begin with "-" stand after "--"'),
    (["--partitions", "12", "--key-format", "binary", "x"], "--key-format: expected one of text, hex, base64"),
    (["--partitions", "12", "--locations", "/nonexistent", "x"], "/nonexistent: cannot read the location file"),
    (["--policy", "/nonexistent", "x"], "/nonexistent: cannot read the policy file: No such file or directory"),
    (["--policy", "POLICY", "--hash", "crc32", "x"], "--policy and --hash exclude each other"),
    (["--policy", "POLICY", "x"], "it has several rules; choose one by --topic: orders, clicks-*"),
    (["--policy", "POLICY", "--topic", "payments", "x"], 'no rule for topic "payments"; it has rules for orders, clicks-*'),
    (["--policy", "POLICY", "--topic", "clicks-eu", "x"], "--partitions N is missing: the policy does not pin the number"),
    (["--policy", "POLICY", "--topic", "orders", "--partitions", "16", "x"],
     'topic "orders" is made for 12 partitions, --partitions says 16'),
    (["--partitoins", "12", "x"], "unknown option --partitoins; did you mean --partitions?"),
])
def test_route_refuses(route, policy, args, message):
    path = str(policy(POLICY))
    done = route(*[path if arg == "POLICY" else arg for arg in args]).ends_with(2)
    assert message in done.err
    assert done.err.startswith("repartition route: ")
    assert "\t" not in done.out or args[:4] == ["--partitions", "12", "--key-format", "hex"]


def test_a_bad_line_is_named(route, tmp_path):
    done = route("--partitions", 12, "--key-format", "int64", stdin="1\n2\nthree\n4\n").ends_with(2)
    assert done.err == ("repartition route: standard input: line 3: expected a whole number from -9223372036854775808 "
                        'to 9223372036854775807, found "three"\n')
    keys = tmp_path / "keys.txt"
    keys.write_text("zz\n")
    assert f"{keys}: line 1: expected" in route("--partitions", 12, "--key-format", "hex", "--keys", keys).ends_with(2).err


def test_many_lines_stream_through(route):
    lines = "".join(f"customer-{i}\n" for i in range(200_000))
    out = route("--partitions", 12, stdin=lines).ok().out
    assert out.count("\n") == 200_000
    assert [row.split("\t")[0] for row in out.splitlines()] == lines.splitlines()


def test_a_reader_that_has_seen_enough_is_no_news(route):
    line = route("--partitions", 12, "key").ok().out
    done = subprocess.run(["bash", "-c", f"yes key | '{BUILD}/repartition' route --partitions 12 | head -n 1; "
                                         "echo ${PIPESTATUS[1]} >&2"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == line
    assert done.stderr == "141\n"  # killed by SIGPIPE, silently
    done = subprocess.run(["bash", "-c", f"trap '' PIPE; yes key 2>/dev/null | '{BUILD}/repartition' route --partitions 12 | "
                                         "head -n 1; echo ${PIPESTATUS[1]} >&2"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (line, "3\n")


def test_a_full_disk_is_no_clean_result(route):
    done = run("bash", "-c", f"'{BUILD}/repartition' route --partitions 12 key > /dev/full").ends_with(3)
    assert done.err == "repartition: cannot write the results to standard output\n"


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("hash_name", ["murmur2", "crc32"])
def test_a_report_that_was_lost_says_nothing_about_differences(route, tmp_path, hash_name, output):
    pairs = tmp_path / "pairs"
    pairs.write_text(route("--partitions", 12, "--hash", hash_name, stdin="".join(f"{i}\n" for i in range(2000))).ok().out)
    done = run("bash", "-c", f"'{BUILD}/repartition' explain --partitions 12 --observed {pairs} --output {output} > /dev/full")
    assert done.ends_with(3).err == "repartition: cannot write the results to standard output\n"


def test_what_a_file_holds_does_not_drive_the_terminal(repartition):
    done = repartition("explain", "--partitions", 12, "--observed", "-", stdin=b"k\t\x1b[31mred\x7f\n").ends_with(2)
    assert done.err.endswith('found "\\x1b[31mred\\x7f"\n')


def test_a_partition_ends_with_its_line(repartition):
    assert "line 1: expected a partition" in repartition("explain", "--partitions", 12, "--observed", "-",
                                                         stdin=b"k\t3\0x\n").ends_with(2).err


def test_advice_is_given_or_not_announced(repartition):
    done = repartition("explain", "--partitions", 12, "--observed", "-", stdin="k\t3\n").ends_with(1)
    assert "undetermined" in done.out and "what to do" not in done.out


# ---- help, man page, completion ------------------------------------------------------------------------------------------


def test_general_help_and_version(repartition):
    assert repartition().ends_with(2).err.startswith("usage: repartition COMMAND")
    for word in ("--help", "-h", "help"):
        assert repartition(word).ok().out.startswith("usage: repartition COMMAND")
    for word in ("--version", "-V"):
        assert re.match(r"repartition \d+\.\d+\.\d+ \(librdkafka ", repartition(word).ok().out)
    assert 'no command "rout"; did you mean "route"?' in repartition("rout").ends_with(2).err
    assert 'no command "nonsense"\n' in repartition("help", "nonsense").ends_with(2).err
    done = repartition("--output", "json", "route").ends_with(2)
    assert done.err.startswith('repartition: the command comes first, then its options; got "--output"\n')
    assert {"route", "sandbox"} <= set(commands(repartition))


def test_every_command_helps(repartition):
    for command in commands(repartition):
        done = repartition(command, "--help").ok()
        assert done.err == ""
        assert done.out.startswith(f"usage: repartition {command} [OPTION...]")
        assert done.out == repartition("help", command).ok().out
        assert max(len(line) for line in done.out.split("\nexamples:\n")[0].splitlines()) <= 80
        for option in ("--output", "--quiet", "--help", "--version"):
            assert option in done.out, f"{command} {option}"
        assert repartition(command, "--version").ok().out == repartition("--version").ok().out
        assert "unknown option --frobnicate" in repartition(command, "--frobnicate").ends_with(2).err


def test_man_page(repartition, tmp_path):
    page = tmp_path / "repartition.1"
    page.write_text(repartition("--man").ok().out)
    need_command("mandoc")
    lint = run("mandoc", "-T", "lint", "-W", "warning", page)
    assert (lint.rc, lint.out) == (0, "")
    shown = run("mandoc", "-T", "utf8", "-O", "width=500", page).ok().out
    shown = re.sub(".\b", "", shown)
    for command in commands(repartition):
        section = shown.split(f"   repartition {command}\n")[1].split("   repartition ")[0]
        options = re.findall(r"^ {2,6}(?:-., )?(--[a-z-]+)", repartition(command, "--help").ok().out, re.M)
        assert len(options) >= 5
        for option in options:
            assert re.search(rf"^ +(-., )?{option}( |$)", section, re.M), f"{command} {option}"
    assert (BUILD / "repartition.1").read_text() == page.read_text()


def test_bash_completion():
    def complete(*words):
        script = (f"source '{BUILD}/repartition.bash'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _repartition; "
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return run("bash", "-c", script, "-", *words, cwd=ROOT).ok().out.split()

    assert {"route", "sandbox", "help"} <= set(complete("repartition", ""))
    assert complete("repartition", "route", "--key-f") == ["--key-format"]
    assert complete("repartition", "route", "--key-format", "")[:3] == ["text", "hex", "base64"]
    assert complete("repartition", "route", "--policy", "READ") == ["README.md"]
    assert complete("repartition", "route", "READ") == ["README.md"]


# ---- sandbox -------------------------------------------------------------------------------------------------------------


def wait_for(path, process):
    for _ in range(600):
        if path.exists():
            return path.read_text().strip()
        assert process.poll() is None, "it ended"
        time.sleep(0.05)
    pytest.fail(f"{path} did not appear")


def test_sandbox_serves_clients(repartition, kcat, tmp_path):
    address_file = tmp_path / "address"
    process = repartition.start("sandbox", "--topic", "orders:12", "-t", "orders.v2:3", "--brokers", 2, "--address-file",
                                address_file, "--for", 300, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        address = wait_for(address_file, process)
        assert process.stdout.readline().decode().strip() == address
        assert re.fullmatch(r"127\.0\.0\.1:\d+,127\.0\.0\.1:\d+", address)
        topics = {t["topic"]: len(t["partitions"]) for t in kcat("-L", "-J", "-b", address).ok().json()["topics"]}
        assert topics == {"orders": 12, "orders.v2": 3}
        kcat("-P", "-b", address, "-t", "orders", "-K", "|", stdin="TT0124|hello\n").ok()
        kcat("-P", "-b", address, "-t", "new", "-K", "|", "-X", "topic.partitioner=murmur2", stdin="a|1\nb|2\n").ok()
        read = kcat("-C", "-b", address, "-t", "orders", "-e", "-q", "-f", "%k %s\\n").ok()
        assert read.out == "TT0124 hello\n"
        topics = {t["topic"]: len(t["partitions"]) for t in kcat("-L", "-J", "-b", address).ok().json()["topics"]}
        assert topics["new"] == 4
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert not address_file.exists()
        hints = process.stderr.read().decode()
        assert "5 MiB a partition" in hints and f"-b {address} -t orders" in hints
    finally:
        process.kill()
        process.wait()


def test_sandbox_ends_by_itself_and_can_be_quiet(repartition):
    done = repartition("sandbox", "--for", 1, "--quiet", "--output", "json").ok()
    assert re.fullmatch(r"127\.0\.0\.1:\d+", done.json()["bootstrap"])
    assert done.err == ""


@pytest.mark.parametrize("args,message", [
    (["--topic", "orders"], '--topic: expected NAME:PARTITIONS such as orders:12, got "orders"'),
    (["--topic", ":12"], "--topic: expected NAME:PARTITIONS"),
    (["--topic", "or ders:12"], "--topic: expected NAME:PARTITIONS"),
    (["--topic", "orders:0"], '--topic: expected 1 to 10000 partitions, got "orders:0"'),
    (["--topic", "orders:12x"], "--topic: expected 1 to 10000 partitions"),
    (["--topic", "orders:99999999999999999999"], "--topic: expected 1 to 10000 partitions"),
    (["--topic", "a:1", "--topic", "a:2"], 'cannot make topic "a"'),
    (["--brokers", "21"], "--brokers: expected a whole number from 1 to 20"),
    (["--address-file", "/nonexistent/file"], "/nonexistent/file: cannot write a file beside it: No such file or directory"),
    (["operand"], "takes no operands, got 1"),
])
def test_sandbox_refuses(repartition, args, message):
    done = repartition("sandbox", "--for", 5, *args).ends_with(2)
    assert message in done.err
    assert done.out == ""


# ---- commands that talk to a cluster -------------------------------------------------------------------------------------

BROKERLESS = [("audit", "orders"), ("rewrite", "orders", "orders.v2", "--partitions", "12"), ("verify", "orders", "orders.v2")]


@pytest.mark.parametrize("command", BROKERLESS, ids=lambda c: c[0])
def test_how_a_cluster_is_named(repartition, tmp_path, command):
    done = repartition(*command).ends_with(2)
    assert done.err == (f"repartition {command[0]}: no broker named: give -b HOST:PORT, or bootstrap.servers in -F or -X\n")
    assert "no broker named" in repartition(*command, "-X", "bootstrap.servers=").ends_with(2).err
    assert "--bootstrap-server: expected HOST:PORT[,...], got an empty argument" in repartition(*command, "-b", "").ends_with(2).err
    done = repartition(*command, "-F", tmp_path / "none").ends_with(2)
    assert f"{tmp_path}/none: cannot read the configuration file: No such file" in done.err
    config = tmp_path / "client.properties"
    config.write_text("# ours\nbootstrap.servers=127.0.0.1:1\nnonsense\n")
    assert f"{config}: line 3: expected NAME=VALUE" in repartition(*command, "-F", config).ends_with(2).err
    assert "-X a: expected NAME=VALUE" in repartition(*command, "-X", "a").ends_with(2).err
    done = repartition(*command, "-b", "127.0.0.1:1", "-X", "no.such.thing=1").ends_with(2)
    assert 'No such configuration property: "no.such.thing"' in done.err
    assert "--policy and --hash exclude" in repartition(*command, "-b", "x", "--policy", "p", "--hash", "crc32").ends_with(2).err


@pytest.mark.parametrize("command", BROKERLESS, ids=lambda c: c[0])
@pytest.mark.parametrize("pair, why", [
    ("transactional.id=mine", "--job NAME"), ("source.transactional.id=mine", "--job NAME"),
    ("enable.idempotence=false", "each record once"), ("acks=1", "needs all"), ("target.isolation.level=read_uncommitted", "choose"),
    ("enable.auto.commit=true", "transactions themselves"),
])
def test_what_would_not_be_heeded_is_refused(repartition, command, pair, why):
    done = repartition(*command, "-b", "127.0.0.1:1", "-X", pair).ends_with(2)
    assert f"-X {pair.partition('=')[0].rpartition('source.')[2].rpartition('target.')[2]} is not yours to set: " in done.err
    assert why in done.err


def test_what_is_so_anyway_may_be_said_and_a_file_may_be_shared(repartition, tmp_path):
    config = tmp_path / "client.properties"
    config.write_text("bootstrap.servers=127.0.0.1:1\nacks=1\nenable.auto.commit=true\ntransactional.id=theirs\n")
    done = repartition("audit", "orders", "-F", config, "-X", "enable.idempotence=true", "--timeout-ms", "1000").ends_with(3)
    assert "yours to set" not in done.err


def test_one_complaint_for_all_topics(repartition):
    assert repartition("audit", "a", "b").ends_with(2).err.count("no broker named") == 1


@pytest.mark.parametrize("command", [
    "audit NAME", "audit orders NAME", "conform -t NAME", "cutover group NAME orders", "cutover group a+NAME orders",
    "cutover group orders NAME", "cutover group --reprocess NAME", "estimate NAME", "estimate -w x -t NAME",
    "explain --observed x -t NAME", "follow NAME", "follow NAME orders", "follow orders NAME", "place NAME", "place --topic NAME",
    "plan grow NAME --partitions 12", "plan grow orders --partitions 12 --into NAME", "policy show x -t NAME", "repair NAME",
    "rewrite NAME orders --partitions 12", "rewrite orders NAME --partitions 12", "rewrite a NAME b --partitions 12",
    "rewrite a b --partitions 12 --jobs-topic NAME", "route -t NAME", "schema show x -t NAME", "verify NAME orders",
    "verify orders NAME", "verify a b --jobs-topic NAME"])
def test_a_name_that_no_topic_can_have(repartition, command):
    """Said before a broker is asked: that such a topic does not exist would be true, and no help."""
    where = ("-b", "127.0.0.1:1") if command.startswith(("cutover", "rewrite")) else ()
    for name, why in (("", "it is empty"), ("..", "it would be a folder's"), ("a b", 'it holds " "'), ("né", 'it holds "é"'),
                      ("x" * 250, "it is 250 letters long")):
        done = repartition(*(word.replace("NAME", name) for word in command.split()), *where).ends_with(2)
        assert f'"{name}" cannot be a topic\'s name: {why}; Kafka\'s names are 1 to 249 of' in done.err, name


@pytest.mark.parametrize("command, why", [
    ("rewrite orders __consumer_offsets --partitions 50", "is Kafka's own topic"), ("repair __consumer_offsets", "is Kafka's own"),
    ("follow __transaction_state", "is Kafka's own"), ("follow orders __share_group_state --partitions 50", "is Kafka's own"),
    ("rewrite orders keyroute-jobs --partitions 1", "is the topic of jobs"),
    ("rewrite orders mine --partitions 1 --jobs-topic mine", "is the topic of jobs"),
    ("follow orders keyroute-jobs --partitions 1", "is the topic of jobs"), ("follow keyroute-jobs orders", "more to follow")])
def test_what_jobs_may_not_write(repartition, command, why):
    """Said before a broker is asked: it would refuse some of them as if a right were missing, and take the others."""
    done = repartition(*command.split(), "-b", "127.0.0.1:1").ends_with(2)
    assert why in done.err and "administrator" not in done.err


def test_a_topic_does_not_prove_itself(repartition):
    done = repartition("verify", "orders", "orders", "-b", "127.0.0.1:1").ends_with(2)
    assert 'source and target are both "orders"' in done.err


def test_commands_to_copy_reach_the_same_cluster_and_job(repartition, sandbox):
    address = sandbox("orders:3", "orders.v2:3")
    plan = repartition("rewrite", "orders", "orders.v2", "--partitions", 3, "--hash", "crc32", "--job", "my job", "-b", address,
                       "-X", "client.rack=a", "-X", "ssl.key.password=hush").ok()
    assert plan.out.endswith(f"  repartition rewrite orders orders.v2 --hash crc32 --job 'my job' -b {address} -X client.rack=a "
                             "-X ssl.key.password=... --partitions 3 --execute\n")


def test_no_cluster_there_is_broker_trouble(repartition):
    running = [repartition.start(*command, "-b", "127.0.0.1:1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for command in BROKERLESS]  # each gives the brokers some time: all at once
    for process in running:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (3, b"")
        assert b"127.0.0.1:1" in err


@pytest.mark.parametrize("command", BROKERLESS, ids=lambda c: c[0])
def test_a_topic_that_does_not_exist(repartition, sandbox, command):
    address = sandbox("other:3")
    assert 'topic "orders" does not exist' in repartition(*command, "-b", address).ends_with(2).err
    assert "orders" not in run("kcat", "-L", "-b", address).ok().out, "asking created it"


@pytest.fixture
def silent_broker():
    """The address of a broker that takes connections and never answers; with a function that waits for the first one."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        listener.settimeout(HANG_S)
        yield f"127.0.0.1:{listener.getsockname()[1]}", lambda: listener.accept()[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda s: s.name)
@pytest.mark.parametrize("command", BROKERLESS, ids=lambda c: c[0])
def test_a_signal_ends_the_wait_for_a_silent_broker(repartition, silent_broker, command, number):
    address, first_connection = silent_broker
    process = repartition.start(*command, "--timeout-ms", 3600000, "-b", address, stdout=subprocess.PIPE)
    connection = first_connection()
    process.send_signal(number)
    out, _ = process.communicate(timeout=HANG_S)  # an hour, if the signal only waited for its turn
    assert process.returncode in (128 + number, -number)
    assert out == b""
    connection.close()


def test_a_signal_ends_a_rewrite_whose_broker_fell_silent(repartition, kcat, tmp_path):
    address_file = tmp_path / "address"
    sandbox = repartition.start("sandbox", "--quiet", "--topic", "a:12", "--topic", "b:12", "--address-file", address_file)
    try:
        address = wait_for(address_file, sandbox)
        kcat("-P", "-b", address, "-t", "a", "-K", "|", stdin="".join(f"{i}|{i}\n" for i in range(100_000))).ok()
        process = repartition.start("rewrite", "a", "b", "-p", 12, "-b", address, "--execute", "--timeout-ms", 3600000,
                                    "-X", "transaction.timeout.ms=3600000", "-X", "message.timeout.ms=3600000",
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stderr.readline()  # how it reads: the copying begins
        sandbox.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=HANG_S)
        assert process.returncode == 128 + signal.SIGTERM
        assert out == b""
        assert b"the same command takes it up again" in err
    finally:
        sandbox.kill()
        sandbox.wait()


def test_find_mend_and_prove(repartition, sandbox, kcat):
    address = sandbox("orders:12", "orders.v2:12")
    lines = "".join(f"customer-{i}|{i}\n" for i in range(3000))
    kcat("-P", "-b", address, "-t", "orders", "-K", "|", stdin=lines).ok()  # CRC-32, librdkafka's default

    done = repartition("audit", "orders", "-b", address, "--output", "json").ends_with(1)
    audit = done.json()
    assert done.err == ""  # no progress line where nobody watches
    assert (audit["partitions"], audit["records"]) == (12, 3000)
    keys = "".join(f"customer-{i}\n" for i in range(3000))
    crc32, murmur2 = (repartition("route", "--hash", name, "--partitions", 12, stdin=keys).ok().out.splitlines()
                      for name in ("crc32", "murmur2"))
    assert audit["misplaced"] == sum(ours != javas for ours, javas in zip(crc32, murmur2))
    assert [cause["hash"] for cause in audit["verdict"]] == ["crc32"]
    assert {"agree", "share", "partitions"} <= audit["functions"][0].keys()
    repartition("audit", "orders", "-b", address, "--hash", "crc32").ok()

    plan = ["rewrite", "orders", "orders.v2", "--partitions", 12, "-b", address]
    assert repartition(*plan, "--output", "json").ok().json()
    assert "nothing was written" in repartition(*plan).ok().out
    assert kcat("-C", "-b", address, "-t", "orders.v2", "-e", "-q").ok().out == ""
    repartition(*plan, "--execute", "--quiet").ok()
    repartition("audit", "orders.v2", "-b", address).ok()
    repartition("verify", "orders", "orders.v2", "-b", address).ok()

    kcat("-P", "-b", address, "-t", "orders.v2", "-K", "|", stdin="customer-1|changed\n").ok()
    repartition("verify", "orders", "orders.v2", "-b", address).ends_with(1)
