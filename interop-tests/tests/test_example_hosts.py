"""Each program and daemon of examples/ that hosts the plugin, by the configuration that is shown there and nothing else, on
a real Kafka under three policies: Java's rule, slots by weight, and one that rejects some keys."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from records import end_offsets, java_partition, read
from support import (BUILD, CACHE, DEBIAN_PYTHON, HANG_S, INTEROP, NODE_MODULES, ROOT, WHEEL_PYTHON, Librdkafka,
                     environment, need_command, need_file, run)

sys.path.append(str(INTEROP / "kafka"))
from ports import free_ports  # noqa: E402  pylint: disable=wrong-import-position

EXAMPLES = ROOT / "examples"
DAEMONS = CACHE / "daemons"
PLUGIN = BUILD / "keyroute.so"
COUNT = 12
KEYS = [f"customer-{i}" for i in range(60)]
REFUSED = "nobody"  # has no second part
UNKEYED = "a value without a key"
POLICIES = {
    "murmur2": {"partitions": COUNT, "hash": "murmur2"},
    "weighted": {"partitions": COUNT, "map": {"kind": "slots", "weights": {"0-3": 0, "4": 3, "*": 1}}},
    "rejecting": {"partitions": COUNT, "key": {"use": "field", "delimiter": "-", "index": 1, "missing": "reject"}},
}
REJECTS = "records are refused: the policy rejects keys of this form"


@pytest.fixture
def orders(topic):
    return topic("orders", partitions=COUNT)


@pytest.fixture(params=POLICIES)
def policy(request, tmp_path):
    """A file with the policy of that name for every topic orders*."""
    need_file(PLUGIN, "our own plugin, which 'make' builds,")
    return write_policy(tmp_path, request.param)


def write_policy(folder, name):
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"keyroute": 1, "topics": {"orders*": POLICIES[name]}}))
    return path


def check_places(records, policy, repartition, keys):
    """Each key once, in the partition that the policy names, by the records that the broker has."""
    routed = repartition("route", "--policy", policy, "--topic", "orders", *keys).ok().out
    wanted = {key: int(partition) for key, partition in (line.split("\t") for line in routed.splitlines())}
    assert sorted((r.key.decode(), r.partition) for r in records if r.key is not None) == sorted(wanted.items())
    javas = {key: java_partition(key.encode(), COUNT) for key in keys}
    if policy.stem == "murmur2":
        assert wanted == javas
    else:
        assert wanted != javas
    if policy.stem == "weighted":
        assert min(wanted.values()) == 4


def arrived(kafka, *topics):
    return sum(sum(end_offsets(kafka.bootstrap, t)) for t in topics)


class Running:
    """A host that was started here and goes on, with what an example shows. What it says goes to a file."""

    def __init__(self, folder, argv, env=None, stdin=subprocess.DEVNULL):
        self.log = folder / "said"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([str(a) for a in argv], cwd=folder, env=environment(env), stdin=stdin,
                                            stdout=log, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def said(self):
        return self.log.read_text("utf-8", "replace")

    def librdkafka(self):
        """The file of the one that it has loaded."""
        maps = Path(f"/proc/{self.process.pid}/maps").read_text().split()
        return {word for word in maps if word.startswith("/") and "/librdkafka" in word}

    def wait_until(self, condition):
        deadline = time.monotonic() + HANG_S
        while not condition():
            self.check_running(deadline)

    def check_running(self, deadline):
        assert self.process.poll() is None, f"it ended with {self.process.returncode}\n{self.said()}"
        assert time.monotonic() < deadline, f"it never came\n{self.said()}"
        time.sleep(0.05)

    def connect(self, family, address):
        """A connection to its socket, once it listens."""
        deadline = time.monotonic() + HANG_S
        while True:
            connection = socket.socket(family)
            try:
                connection.connect(address)
                return connection
            except OSError:
                connection.close()
                self.check_running(deadline)

    def stop(self):
        """As a service manager does it. @returns all that it has said."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(HANG_S) == 0, self.said()
        return self.said()


def compiled(compiler, source, *flags):
    """A session's program from the example of that name."""
    @pytest.fixture(scope="session")
    def program(tmp_path_factory):
        need_command(compiler)
        path = tmp_path_factory.mktemp("example") / "program"
        run(compiler, "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", path, EXAMPLES / source, *flags).ok()
        return [path]
    return program


c_program = compiled("cc", "c/configured.c", "-lrdkafka")
cpp_program = compiled("c++", "cpp/produce.cpp", "-lrdkafka++", "-lrdkafka")


@pytest.fixture(scope="session")
def kcat_program():
    need_command("kcat")
    return [EXAMPLES / "kcat/produce"]


@pytest.fixture(scope="session")
def python_debian():
    return [DEBIAN_PYTHON, EXAMPLES / "python/produce.py"]


@pytest.fixture(scope="session")
def python_wheel():
    return [need_file(WHEEL_PYTHON, "the wheel of confluent-kafka"), EXAMPLES / "python/produce.py"]


def on_node(program, modules, client):
    """The command line of a Node program whose packages stand in that folder; its client's addon was built there."""
    need_command("node")
    need_file(modules / client, f"{client}, built,")
    return ["env", f"NODE_PATH={modules}", f"KAFKA_CLIENT={client}", "node", EXAMPLES / "node" / program]


@pytest.fixture(scope="session")
def node_confluent():
    return on_node("produce.js", NODE_MODULES, "@confluentinc/kafka-javascript")


@pytest.fixture(scope="session")
def node_confluent_promises():
    return on_node("promises.js", NODE_MODULES, "@confluentinc/kafka-javascript")


@pytest.fixture(scope="session")
def node_rdkafka():
    return on_node("produce.js", CACHE / "hosts-node/node_modules", "node-rdkafka")


@pytest.fixture(scope="session")
def go_static():
    return [need_file(CACHE / "hosts-go/produce", "the example in Go, linked,")]


@pytest.fixture(scope="session")
def rust_static():
    return [need_file(CACHE / "hosts-rust/produce", "the example in Rust, linked,")]


# Where a host finds its librdkafka in the system, it is run with the oldest and with the newest one.
PROGRAMS = [("c_program", "old"), ("c_program", "new"), ("cpp_program", "old"), ("cpp_program", "new"),
            ("kcat_program", "old"), ("kcat_program", "new"), ("python_debian", "old"), ("python_wheel", None),
            ("node_confluent", None), ("node_confluent_promises", None), ("node_rdkafka", "old"), ("node_rdkafka", "new"),
            ("go_static", None), ("rust_static", None)]


@pytest.mark.parametrize("program, librdkafka, policy", [
    (program, librdkafka, policy) for program, librdkafka in PROGRAMS for policy in POLICIES
    if (program, policy) != ("kcat_program", "rejecting")], indirect=["policy"])
def test_programs(program, librdkafka, policy, request, kafka, orders, repartition):
    env = Librdkafka(librdkafka).env if librdkafka else {}
    rejecting = policy.stem == "rejecting"
    keyed = "".join(f"{key}\thello {key}\n" for key in KEYS)
    lines = f"{REFUSED}\tfirst\n{keyed}{UNKEYED}\n{REFUSED}\tlast\n" if rejecting else f"{keyed}{UNKEYED}\n"

    if program == "rust_static":  # whose properties have no order
        where, env = [], {"KEYROUTE_POLICY": policy}
    else:
        where = [policy]
    done = run(*request.getfixturevalue(program), kafka.bootstrap, orders, *where, stdin=lines,
               env={"KEYROUTE_PLUGIN": PLUGIN, **env}).ends_with(1 if rejecting else 0)

    assert f"topic {orders}: " in done.err and f"{COUNT} partitions" in done.err
    assert (REJECTS in done.err) == rejecting
    assert ("Unknown partition" in done.err) == rejecting, "the host itself tells of it, too"
    records = read(kafka.bootstrap, orders)
    assert [r.value.decode() for r in records if r.key is None] == [UNKEYED]
    assert all(r.value.decode() == f"hello {r.key.decode()}" for r in records if r.key is not None)
    check_places(records, policy, repartition, KEYS)


@pytest.mark.parametrize("librdkafka", ["old", "new"], indirect=True)
def test_kcat_stops_at_a_refused_record(kcat_program, librdkafka, kafka, orders, repartition, tmp_path):
    """As its example says: what it had not sent by then is lost."""
    need_file(PLUGIN, "our own plugin, which 'make' builds,")
    policy = write_policy(tmp_path, "rejecting")
    # It reads 1,024 bytes at a time, and waits for them.
    line = "{}\t" + "v" * 1024 + "\n"
    with Running(tmp_path, [*kcat_program, kafka.bootstrap, orders, policy], {"KEYROUTE_PLUGIN": PLUGIN, **librdkafka.env},
                 stdin=subprocess.PIPE) as kcat:
        for key in [*KEYS, "customer-60"]:
            kcat.process.stdin.write(line.format(key).encode())
        kcat.process.stdin.flush()
        kcat.wait_until(lambda: arrived(kafka, orders) >= len(KEYS))
        kcat.process.stdin.write((line.format(REFUSED) + line.format("customer-61")).encode())
        kcat.process.stdin.close()
        assert kcat.process.wait(HANG_S) == 1
    assert REJECTS in kcat.said() and "Failed to produce message" in kcat.said()
    records = read(kafka.bootstrap, orders)
    assert "customer-61" not in [r.key.decode() for r in records]
    check_places([r for r in records if r.key != b"customer-60"], policy, repartition, KEYS)


@pytest.mark.parametrize("program, policy_argument", [("go_static", ["policy"]), ("rust_static", [])])
def test_a_stripped_program_is_told_so_once(program, policy_argument, request, tmp_path):
    """Before it has looked for a broker."""
    linked = request.getfixturevalue(program)[0]
    stripped = tmp_path / "stripped"
    need_file(PLUGIN, "our own plugin, which 'make' builds,")
    run("strip", "-o", stripped, linked).ok()
    done = run(stripped, "127.0.0.1:1", "orders", *policy_argument, env={"KEYROUTE_PLUGIN": PLUGIN}).ends_with(2)
    remedies = re.findall("cannot find rd_kafka_conf_set in (.*?), which holds the librdkafka that loads the plugin: it is "
                          "linked in without its symbols; do not strip the program, or link it with -rdynamic, or use the "
                          "shared librdkafka", done.err)
    assert remedies == [str(stripped)]


def daemon_file(name):
    return need_file(DAEMONS / name, "a Debian package of a daemon")


def configured(example, folder, changes):
    """A copy of an example's file where only the places are changed. @returns its path."""
    text = (EXAMPLES / example).read_text()
    for shown, real in changes.items():
        assert shown in text, f"{example} shows no {shown}"
        text = text.replace(shown, str(real))
    path = folder / "configuration"
    path.write_text(text)
    return path


def library_path(*folders):
    """What changes in the environment for a daemon that finds libraries there."""
    return {"LD_LIBRARY_PATH": ":".join(str(folder) for folder in folders if folder) or None}


def places(address, policy):
    return {"localhost:9092": address, "/usr/local/lib/keyroute.so": PLUGIN, "/etc/keyroute.json": policy}


class Logger(Running):
    """A daemon that takes lines of syslog by TCP."""

    example = None  # its configuration

    def __init__(self, folder, address, topic, policy, changes=None, libraries=None):
        self.port = free_ports(1)[0]
        changes = {**places(address, policy), "10514": self.port, '"orders"': f'"{topic}"', **(changes or {})}
        path = configured(self.example, folder, changes)
        path.write_text(path.read_text().replace("force=orders", f"force={topic}"))
        super().__init__(folder, self.command(folder, path), library_path(libraries, *self.libraries()))

    def command(self, folder, configuration):
        raise NotImplementedError

    def libraries(self):
        return []

    def send(self, keys):
        with self.connect(socket.AF_INET, ("127.0.0.1", self.port)) as connection:
            for key in keys:
                connection.sendall(f"<13>Nov 30 08:00:00 host {key}: hello {key}\n".encode())


class Rsyslog(Logger):
    example = "rsyslog/rsyslog.conf"

    def command(self, folder, configuration):
        return [daemon_file("usr/sbin/rsyslogd"), "-n", "-C", "-f", configuration, "-i", folder / "pid",
                "-M", DAEMONS / "usr/lib/x86_64-linux-gnu/rsyslog"]


class SyslogNg(Logger):
    example = "syslog-ng/syslog-ng.conf"

    def command(self, folder, configuration):
        return [daemon_file("usr/sbin/syslog-ng"), "--foreground", "--stderr", "--no-caps", "--cfgfile", configuration,
                "--module-path", DAEMONS / "usr/lib/syslog-ng/3.38", "--persist-file", folder / "persist",
                "--pidfile", folder / "pid", "--control", folder / "control"]

    def libraries(self):
        return [DAEMONS / "usr/lib/syslog-ng"]


# Debian's librdkafka is theirs; the newest one in its place is tried with one policy.
LIBRDKAFKA = {"old": os.path.realpath("/usr/lib/x86_64-linux-gnu/librdkafka.so.1"),
              "new": os.path.realpath(CACHE / "librdkafka-new/librdkafka.so.1")}
DAEMON_RUNS = [("old", "murmur2"), ("old", "weighted"), ("old", "rejecting"), ("new", "weighted")]


@pytest.mark.parametrize("librdkafka, policy", DAEMON_RUNS, indirect=True)
@pytest.mark.parametrize("host", [Rsyslog, SyslogNg])
def test_syslog_daemons(host, librdkafka, policy, kafka, orders, repartition, tmp_path):
    with host(tmp_path, kafka.bootstrap, orders, policy, libraries=librdkafka.env["LD_LIBRARY_PATH"]) as daemon:
        daemon.send(KEYS[:30])
        daemon.wait_until(lambda: arrived(kafka, orders) == 30)
        assert daemon.librdkafka() == {LIBRDKAFKA[librdkafka.name]}
        if policy.stem == "rejecting" and host is Rsyslog:
            daemon.send([REFUSED])
        daemon.send(KEYS[30:])
        daemon.wait_until(lambda: arrived(kafka, orders) == len(KEYS))
        if policy.stem == "rejecting" and host is SyslogNg:
            # The example says so: it tries this record again and again, and nothing behind it is sent.
            daemon.send([REFUSED, "customer-60"])
            daemon.wait_until(lambda: daemon.said().count("trying again") >= 2)
        said = daemon.stop()
    assert f"topic {orders}: " in said and f"{COUNT} partitions" in said
    assert (REJECTS in said) == (policy.stem == "rejecting")
    assert ("Local: Unknown partition" in said) == (policy.stem == "rejecting"), "the daemon tells of it, too"
    records = read(kafka.bootstrap, orders)
    assert all(r.value.decode().strip() == f"hello {r.key.decode()}" for r in records)
    check_places(records, policy, repartition, KEYS)


def test_syslog_ng_has_a_partitioner_of_its_own(kafka, orders, tmp_path):
    """Without the example's line about it any policy but Java's is refused when the daemon starts."""
    changes = {'"partitioner" => "consistent_random"\n': ""}
    with SyslogNg(tmp_path, kafka.bootstrap, orders, write_policy(tmp_path, "weighted"), changes) as daemon:
        daemon.process.wait(HANG_S)
        assert "partitioner=murmur2_random contradicts the policy\\'s rule for topic" in daemon.said()


def test_rsyslog_that_resubmits_tries_a_refused_record_without_end(kafka, orders, tmp_path):
    """As its example says."""
    changes = {"closeTimeout=": 'resubmitOnFailure="on" closeTimeout='}
    with Rsyslog(tmp_path, kafka.bootstrap, orders, write_policy(tmp_path, "rejecting"), changes) as daemon:
        daemon.send(KEYS)
        daemon.wait_until(lambda: arrived(kafka, orders) == len(KEYS))
        daemon.send([REFUSED, *(f"later-{i}" for i in range(20))])
        daemon.wait_until(lambda: daemon.said().count(f"Unknown partition - KEY '{REFUSED}'") >= 3)


@pytest.mark.parametrize("without, remedy", [
    ([',\n                  "keyroute.topics.force=orders"', 'partitions.auto="on"'], "This program bypasses the plugin: "),
    (['partitions.auto="on"'], "This program names partitions itself: "),
], ids=["both", "auto"])
def test_rsyslog_without_a_line_of_the_example_is_noticed(without, remedy, kafka, orders, tmp_path):
    changes = dict.fromkeys(without, "")
    with Rsyslog(tmp_path, kafka.bootstrap, orders, write_policy(tmp_path, "murmur2"), changes) as daemon:
        daemon.send(KEYS)
        daemon.wait_until(lambda: arrived(kafka, orders) == len(KEYS) and remedy in daemon.said())
        daemon.stop()


class Collectd(Running):
    """Its topics have one key each; the example's block is written once for each of them."""

    def __init__(self, folder, address, policy, keys, force=True, libraries=None):
        socket_file = folder / "s"
        changes = {**places(address, policy), "/run/collectd.sock": socket_file,
                   'force" "orders"': f'force" "{",".join(keys)}"'}
        if not force:
            del changes['force" "orders"']
            changes['  Property "keyroute.topics.force" "orders"\n'] = ""
        path = configured("collectd/collectd.conf", folder, changes)
        block = re.compile(r"  <Topic .*</Topic>\n", re.S)
        shown = block.search(path.read_text())[0]
        blocks = "".join(shown.replace("orders", topic).replace("customer-1", key) for topic, key in keys.items())
        path.write_text(f'BaseDir "{folder}"\nPluginDir "{DAEMONS}/usr/lib/collectd"\n'
                        f'TypesDB "{DAEMONS}/usr/share/collectd/types.db"\n' + block.sub(blocks, path.read_text()))
        super().__init__(folder, [daemon_file("usr/sbin/collectd"), "-f", "-C", path, "-P", folder / "pid"],
                         library_path(libraries))
        self.socket_file = str(socket_file)

    def put(self, count):
        with self.connect(socket.AF_UNIX, self.socket_file) as connection, connection.makefile("rw") as talk:
            for i in range(count):
                talk.write(f'PUTVAL "host-{i}/test/gauge" interval=10 N:{i}\n')
                talk.flush()
                assert talk.readline().startswith("0 Success")


@pytest.fixture
def topics(topic):
    """{topic: key}, three topics of collectd's."""
    return {topic("orders", partitions=COUNT): key for key in ("customer-1", "customer-2", "customer-6")}


@pytest.mark.parametrize("librdkafka, policy", DAEMON_RUNS, indirect=True)
def test_collectd(librdkafka, policy, kafka, topics, topic, repartition, tmp_path):
    keys = {**topics, topic("orders", partitions=COUNT): REFUSED} if policy.stem == "rejecting" else topics
    with Collectd(tmp_path, kafka.bootstrap, policy, keys, libraries=librdkafka.env["LD_LIBRARY_PATH"]) as daemon:
        daemon.put(5)
        daemon.wait_until(lambda: arrived(kafka, *keys) == 5 * len(topics))
        assert daemon.librdkafka() == {LIBRDKAFKA[librdkafka.name]}
        if policy.stem == "rejecting":
            daemon.wait_until(lambda: REJECTS in daemon.said())
        said = daemon.stop()
    assert (REJECTS in said) == (policy.stem == "rejecting")
    records = [r for t in keys for r in read(kafka.bootstrap, t)]
    one_each = {r.key: r for r in records}
    assert len({(r.key, r.partition) for r in records}) == len(one_each) == len(topics)
    check_places(one_each.values(), policy, repartition, list(topics.values()))


def test_collectd_without_force_is_noticed(kafka, topics, tmp_path):
    policy = write_policy(tmp_path, "murmur2")
    with Collectd(tmp_path, kafka.bootstrap, policy, topics, force=False) as daemon:
        daemon.put(5)
        daemon.wait_until(lambda: arrived(kafka, *topics) == 5 * len(topics)
                          and "This program bypasses the plugin: " in daemon.said())
        daemon.stop()
