"""The plugin in programs that know nothing of Keyroute: by properties alone they send each key where Java does."""

import json
import os
import re
import subprocess

import pytest
from records import watermarks
from support import (BUILD, CACHE, DEBIAN_PYTHON, INTEROP, PYTHON, ROOT, WHEEL_PYTHON, Librdkafka, environment,
                     need_command, need_file, run, unique)

COUNT = 12
PLUGIN = BUILD / "keyroute.so"
HOSTS = INTEROP / "hosts"
DEBIAN_LIBRDKAFKA = "/usr/lib/x86_64-linux-gnu/librdkafka.so.1"

# Text, tails of every length with high bytes, NUL inside, the empty key, and one of 64 KiB.
TEXT_KEYS = [f"order-{i}".encode() for i in range(100)] + ["été".encode(), "客户-42".encode(), b"a", b"TT0124"]
KEYS = TEXT_KEYS + [bytes(range(0xF0, 0xF0 + n)) for n in range(1, 13)] + \
    [b"", b"\0", b"a\0b", bytes(8), b"\x80\0\0\0", b"\xff" * 9, b"k" * 65536]


def compile_host(folder, name, *flags):
    need_command("cc")
    need_file("/usr/include/librdkafka/rdkafka.h", "librdkafka's header")
    program = folder / name
    run("cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-o", program,
        HOSTS / f"{name}.c", *flags).ok()
    return program


@pytest.fixture(scope="session")
def c_program(tmp_path_factory):
    return compile_host(tmp_path_factory.mktemp("hosts"), "c_host", "-lrdkafka")


class Host:
    """One program that produces. Its properties are given as a list of NAME=VALUE, in their order."""

    keys = KEYS
    needs_force = False  # it gives topics a configuration of their own
    fails_with = 2

    def __init__(self, kafka, env=None):
        self.bootstrap = kafka.bootstrap
        self.env = env or {}

    def produce(self, topic, keys, properties, env=None):
        raise NotImplementedError


class CHost(Host):
    def __init__(self, kafka, program, librdkafka):
        super().__init__(kafka, librdkafka.env)
        self.program = program

    def produce(self, topic, keys, properties, env=None):
        return run(self.program, topic, f"bootstrap.servers={self.bootstrap}", *properties,
                   env={**self.env, **(env or {})}, stdin="".join(key.hex() + "\n" for key in keys))


class PythonHost(Host):
    def __init__(self, kafka, python):
        super().__init__(kafka)
        self.python = python

    def produce(self, topic, keys, properties, env=None):
        return run(self.python, PYTHON / "produce.py", "-b", self.bootstrap, "-t", topic, "--hex-keys",
                   *(f"-X{p}" for p in properties), env=env, stdin="".join(f"{key.hex()}\tv\n" for key in keys))


class Kcat(Host):
    keys = TEXT_KEYS
    needs_force = True
    fails_with = 1

    def produce(self, topic, keys, properties, env=None):
        return run(need_command("kcat"), "-P", "-b", self.bootstrap, "-t", topic, "-K", "\t",
                   *(a for p in properties for a in ("-X", p)), env=env, stdin=b"".join(key + b"\tv\n" for key in keys))


@pytest.fixture(params=["c-old", "c-new", "kcat", "python-debian", "python-wheel"])
def host(request, kafka):
    need_file(PLUGIN, "our own plugin, which 'make' builds,")
    kind, _, version = request.param.partition("-")
    if kind == "c":
        return CHost(kafka, request.getfixturevalue("c_program"), Librdkafka(version))
    if kind == "kcat":
        return Kcat(kafka)
    if version == "debian":
        return PythonHost(kafka, DEBIAN_PYTHON)
    return PythonHost(kafka, need_file(WHEEL_PYTHON, "the wheel of confluent-kafka"))


def force(host, topic):
    return [f"keyroute.topics.force={topic}"] if host.needs_force else []


def read_back(kafka, topic):
    """@returns {key: [partition of each record with that key]}, from the broker and not from what a producer says."""
    import confluent_kafka  # Debian's, which runs these tests

    consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "reader",
                                         "enable.auto.commit": False})
    places, open_partitions = {}, {}
    for p in range(len(consumer.list_topics(topic).topics[topic].partitions)):
        low, high = watermarks(consumer, topic, p)
        if high > low:
            open_partitions[p] = high
    consumer.assign([confluent_kafka.TopicPartition(topic, p, 0) for p in open_partitions])
    while open_partitions:
        message = consumer.poll(60)
        assert message and not message.error(), message and message.error()
        places.setdefault(message.key(), []).append(message.partition())
        if message.offset() + 1 >= open_partitions[message.partition()]:
            del open_partitions[message.partition()]
    consumer.close()
    return places


@pytest.fixture(scope="session")
def java(java_run, kafka):
    """{key: partition}, as the real Java client has put all KEYS into a topic of COUNT partitions."""
    t = kafka.create(unique("by-java"), COUNT)
    java_run("Produce.java", "-b", kafka.bootstrap, "-t", t, "--hex-keys",
             stdin="".join(f"{key.hex()}\tv\n" for key in KEYS)).ok()
    places = read_back(kafka, t)
    assert set(places) == set(KEYS)
    return {key: partitions[0] for key, partitions in places.items()}


@pytest.fixture
def orders(topic):
    """A topic like the one that Java wrote, and empty."""
    return topic("orders", partitions=COUNT)


def write_policy(folder, text):
    path = folder / "keyroute.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def loader_path(host):
    """What an administrator does who names the plugin only: its folder goes where the loader looks."""
    others = host.env.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{BUILD}:{others}" if others else BUILD}


def test_every_host_routes_as_java(host, kafka, java, orders, tmp_path):
    policy = write_policy(tmp_path, {"keyroute": 1, "topics": {orders: {"partitions": COUNT}}})
    by_path = [f"plugin.library.paths={PLUGIN}", f"keyroute.policy={policy}", *force(host, orders)]
    by_name = ["plugin.library.paths=keyroute", "keyroute.hash=murmur2", *force(host, orders)]
    by_environment = [f"plugin.library.paths={PLUGIN}", *force(host, orders)]

    said = host.produce(orders, host.keys, by_path).ok().err
    assert said.count(f"topic {orders}: murmur2 modulo, policy ") == 1
    assert f"from keyroute.policy={policy}, {COUNT} partitions" in said
    host.produce(orders, host.keys, by_name, env=loader_path(host)).ok()
    host.produce(orders, host.keys, by_environment, env={"KEYROUTE_POLICY": policy}).ok()
    assert read_back(kafka, orders) == {key: [java[key]] * 3 for key in host.keys}


def elsewhere_than(java, places):
    return sum(partitions != [java[key]] for key, partitions in places.items())


def test_without_the_plugin_they_do_not(host, kafka, java, orders):
    host.produce(orders, TEXT_KEYS, []).ok()
    assert elsewhere_than(java, read_back(kafka, orders)) > len(TEXT_KEYS) // 2, "else the tests above prove nothing"


def test_own_topic_conf_bypasses_the_plugin(kafka, java, orders):
    """kcat -P without the force option, as docs/plugin.md warns."""
    done = Kcat(kafka).produce(orders, TEXT_KEYS, [f"plugin.library.paths={PLUGIN}", "keyroute.hash=murmur2"]).ok()
    assert "KEYROUTE" not in done.err
    assert elsewhere_than(java, read_back(kafka, orders)) > len(TEXT_KEYS) // 2


@pytest.mark.parametrize("properties, says", [
    (["keyroute.hash=murmr2"], 'keyroute.hash: no hash "murmr2"; did you mean "murmur2"?'),
    (["keyroute.policy=/nowhere/p.json"], "keyroute.policy: /nowhere/p.json: cannot read the policy file"),
    (["keyroute.polcy=x"], 'no property "keyroute.polcy"; did you mean "keyroute.policy"?'),
], ids=["hash", "policy", "misspelt"])
def test_wrong_settings_fail_the_client(host, properties, says):
    done = host.produce("never", [b"a"], [f"plugin.library.paths={PLUGIN}", *properties]).ends_with(host.fails_with)
    assert says in done.err


@pytest.mark.parametrize("host", ["c-old", "c-new", "python-debian", "python-wheel"], indirect=True)
@pytest.mark.parametrize("properties, says", [
    (["keyroute.hash=murmur2", "partitioner=fnv1a_random"], ""),
    (["partitioner=fnv1a_random", "keyroute.hash=murmur2"], "keyroute.hash: "),
], ids=["after", "before"])
def test_a_partitioner_that_contradicts_fails_the_client(host, properties, says):
    """Not in kcat, which keeps it for the topic configuration of its own, where no plugin sees it."""
    done = host.produce("never", [b"a"], [f"plugin.library.paths={PLUGIN}", *properties]).ends_with(host.fails_with)
    assert says + 'partitioner=fnv1a_random contradicts the policy\'s rule for topic "*" (murmur2 modulo)' in done.err


def test_a_broken_policy_fails_the_client(host, tmp_path):
    policy = write_policy(tmp_path, {"keyroute": 1, "topics": {"orders": {"partitions": "12"}}})
    says = f"{policy}: topics.orders.partitions: expected a whole number"
    for properties, env, name in [([f"keyroute.policy={policy}"], {}, "keyroute.policy"),
                                  ([], {"KEYROUTE_POLICY": policy}, "KEYROUTE_POLICY")]:
        done = host.produce("never", [b"a"], [f"plugin.library.paths={PLUGIN}", *properties], env=env)
        assert f"{name}: {says}" in done.ends_with(host.fails_with).err


def test_no_policy_refuses_every_record(host, kafka, orders):
    done = host.produce(orders, [b"a"], [f"plugin.library.paths={PLUGIN}", *force(host, orders)])
    assert "all records of this producer are refused: no policy is set" in done.err
    assert read_back(kafka, orders) == {}


@pytest.mark.parametrize("name", ["test_plugin", "test_plugin_settings", "test_plugin_threads", "test_plugin_watched"])
def test_the_unit_tests_hold_with_the_newest_librdkafka_too(name):
    """`make check` runs them with the system's one, the oldest."""
    program = need_file(BUILD / "test" / name, "a unit test, which 'make check' builds,")
    newest = Librdkafka("new").env
    assert str(newest["LD_LIBRARY_PATH"]) in run("ldd", program, env=newest).ok().out
    run(program, env={**newest, "KEYROUTE_BUILD": BUILD}, cwd=ROOT).ok()


def test_a_failing_client_is_cleaned_up(c_program, kafka):
    """Before 2.13 librdkafka frees interceptors twice here, whoever added them; its text comes out all the same."""
    properties = [f"plugin.library.paths={PLUGIN}", "keyroute.hash=murmur2", "security.protocol=sasl_plaintext",
                  "sasl.mechanisms=NO-SUCH-MECHANISM"]
    done = CHost(kafka, c_program, Librdkafka("new")).produce("never", [], properties).ends_with(3)
    assert "NO-SUCH-MECHANISM" in done.err
    done = CHost(kafka, c_program, Librdkafka("old")).produce("never", [], properties)
    assert "NO-SUCH-MECHANISM" in done.err and done.rc != 0


class Conversation:
    """A C host that is kept running, and sent one key after the other."""

    def __init__(self, host, topic, properties, log):
        self.log = log
        with open(log, "w") as stderr:
            self.process = subprocess.Popen(
                [str(a) for a in (host.program, topic, f"bootstrap.servers={host.bootstrap}", *properties)],
                env=environment(host.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)

    def send(self, key):
        self.process.stdin.write(key + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        return self.log.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def test_a_topic_that_grows_is_refused_and_not_misplaced(c_program, librdkafka, kafka, java, orders, tmp_path):
    policy = write_policy(tmp_path, {"keyroute": 1, "topics": {orders: {"partitions": COUNT}}})
    properties = [f"plugin.library.paths={PLUGIN}", f"keyroute.policy={policy}",
                  "topic.metadata.refresh.interval.ms=200"]
    first = TEXT_KEYS[0]
    sent = 0

    def grow_to(count):
        kafka.tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--alter", "--topic", orders,
                   "--partitions", count).ok()

    with Conversation(CHost(kafka, c_program, librdkafka), orders, properties, tmp_path / "log") as talk:
        for key in TEXT_KEYS:
            assert talk.send(key.hex()) == str(java[key])
        grow_to(16)
        # Until the client has heard of it, records go where they went; from then on, nowhere.
        while (answer := talk.send(first.hex())) != "_UNKNOWN_PARTITION":
            assert answer == str(java[first])
            sent += 1
        for key in TEXT_KEYS:
            assert talk.send(key.hex()) == "_UNKNOWN_PARTITION"
        # A record without a key has no place to miss.
        assert int(talk.send("-")) in range(16)
        grow_to(20)
        while f"topic {orders} has 20 partitions" not in talk.log.read_text():
            assert talk.send(first.hex()) == "_UNKNOWN_PARTITION"
        said = talk.end()
    assert said.count(f"topic {orders} has 16 partitions, the policy (keyroute.policy={policy}) was made for 12: "
                      "records are refused, not misplaced;") == 1
    assert said.count(f"topic {orders} has 20 partitions") == 1
    assert "records were refused in all" in said
    places = read_back(kafka, orders)
    places.pop(None)
    assert places == {key: [java[key]] * (1 + sent if key == first else 1) for key in TEXT_KEYS}


# What librdkafka.a needs, by the names of the files: Debian's development packages for these are not installed.
STATIC = ["-l:librdkafka.a", "-l:libssl.so.3", "-l:libcrypto.so.3", "-l:libsasl2.so.2", "-l:libz.so.1",
          "-l:libzstd.so.1", "-l:liblz4.so.1", "-lm", "-lpthread"]


@pytest.mark.parametrize("flags", [["-pie"], ["-no-pie"], ["-rdynamic", "-s"]],
                         ids=["pie", "no-pie", "exported-stripped"])
def test_a_statically_linked_librdkafka(kafka, java, orders, tmp_path, flags):
    """As in Go and Rust programs: the symbols are in the executable's own table, or among its exports."""
    host = CHost(kafka, compile_host(tmp_path, "c_host", *flags, *STATIC), Librdkafka("old"))
    exported = run("nm", "-D", "--defined-only", host.program).out
    assert ("rd_kafka_conf_set" in exported) == ("-rdynamic" in flags)
    host.produce(orders, TEXT_KEYS, [f"plugin.library.paths={PLUGIN}", "keyroute.hash=murmur2"]).ok()
    assert read_back(kafka, orders) == {key: [java[key]] for key in TEXT_KEYS}


def test_a_stripped_static_librdkafka_is_told_so(kafka, tmp_path):
    """Beside it a shared one is loaded, whose functions must not be taken for the missing ones."""
    program = compile_host(tmp_path, "c_host", "-s", *STATIC)
    host = CHost(kafka, program, Librdkafka("old"))
    for env in ({}, {"LD_PRELOAD": DEBIAN_LIBRDKAFKA}):
        done = host.produce("never", [b"a"], [f"plugin.library.paths={PLUGIN}"], env=env).ends_with(2)
        assert f" in {program}, which holds the librdkafka that loads the plugin: it is linked in without" in done.err


def test_two_copies_of_librdkafka_in_one_process(kafka, java, orders, tmp_path):
    program = compile_host(tmp_path, "two_copies", "-ldl")
    newest = need_file(CACHE / "librdkafka-new" / "librdkafka.so.1", "the newest librdkafka")
    done = run(program, DEBIAN_LIBRDKAFKA, "murmur2", os.path.realpath(newest), "fnv1a-abs", kafka.bootstrap, orders,
               PLUGIN, *(key.decode() for key in TEXT_KEYS)).ok()
    pairs = [tuple(map(int, line.split("\t"))) for line in done.out.splitlines()]
    assert [first for first, _ in pairs] == [java[key] for key in TEXT_KEYS]
    assert [second for _, second in pairs] == [fnv1a_abs(key) % COUNT for key in TEXT_KEYS]
    versions = set(re.findall(r"bound to librdkafka ([^,]+),", done.err))
    assert len(versions) == 2 and "2.0.2" in versions


def fnv1a_abs(key):
    value = 0x811C9DC5
    for byte in key:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return min(value, (1 << 32) - value)
