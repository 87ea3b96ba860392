"""Fixtures for tests against real parts. What a test does not ask for is not started.

scripts/test runs the files in several processes (pytest-xdist, --dist loadfile): a file's tests stay together and in order,
and what a session shares is each process's own. So no two files may use the same port, name in /tmp or file of the tree.
"""

import collections
import faulthandler
import functools
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import (BUILD, DEBIAN_PYTHON, JAVA, KAFKA, KAFKA_LIB, REGISTRY_LIB, WHEEL_PYTHON, Kafka, Librdkafka,
                     Registry, SecureKafka, environment, missing, need_command, need_file, run, unique)


# What takes longest begins first, so that no process is still at it alone when all others are done.
LONGEST = ("test_chaos", "test_crash_points", "test_rewrite", "test_follow", "test_repair", "test_secure", "test_cutover",
           "test_place", "test_example_hosts", "test_ci_kit", "test_java_partitioner")
# Far beyond what pytest-timeout allows. It cannot end a test that hangs outside Python; this can.
DEAD_S = 900


def kafka_starter(request, tmp_path_factory):
    """start_kafka(brokers=1, broker_setting=value, ...) starts one more real cluster, for tests that need their own."""
    started = []

    def start(brokers=1, **config):
        need_command("java")
        need_file(KAFKA_LIB / "pom.xml", "Apache Kafka")
        if run(DEBIAN_PYTHON, "-c", "import confluent_kafka").rc != 0:
            missing("Debian's python3-confluent-kafka is missing")
        started.append(Kafka(tmp_path_factory.mktemp("kafka"), brokers, **config))
        return started[-1]

    yield start
    for cluster in started:
        cluster.stop(keep_logs=request.session.testsfailed > 0)


start_kafka = pytest.fixture(scope="module")(kafka_starter)
start_shared_kafka = pytest.fixture(scope="session")(kafka_starter)


@pytest.fixture(scope="session")
def kafka(start_shared_kafka):
    """One broker, shared by all tests: leave it running, and use topics of your own."""
    return start_shared_kafka()


@pytest.fixture(scope="session")
def kafka3(start_shared_kafka):
    """Three brokers, replication 3, min.insync.replicas 2. Who kills one brings it back."""
    return start_shared_kafka(brokers=3)


@pytest.fixture(scope="session")
def secure_kafka(tmp_path_factory):
    """One broker with TLS, mutual TLS, SASL and ACLs. Users alice and bob have no rights until a test gives them some."""
    need_command("java")
    need_file(KAFKA_LIB / "pom.xml", "Apache Kafka")
    started = SecureKafka(tmp_path_factory.mktemp("secure-kafka"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def registry(tmp_path_factory):
    """A schema registry, shared by all tests: use subjects of your own."""
    need_command("java")
    need_file(REGISTRY_LIB / "pom.xml", "Apicurio Registry")
    started = Registry(tmp_path_factory.mktemp("registry"))
    yield started
    started.stop()


@pytest.fixture
def topic(request):
    """topic(name="t", partitions=1, cluster=kafka, topic_setting=value, ...) makes a topic of a new name. @returns it."""

    def make(name="t", partitions=1, cluster=None, **config):
        return (cluster or request.getfixturevalue("kafka")).create(unique(name), partitions, **config)

    return make


@pytest.fixture(params=["old", "new"])
def librdkafka(request):
    """Makes a test run twice, with Debian's librdkafka (2.0.2) and with the wheel's (the newest)."""
    return Librdkafka(request.param)


@pytest.fixture(scope="session")
def repartition():
    """repartition(*args, librdkafka=None, stdin=None, env=None) runs our tool to its end. @returns its Result.

    repartition.start(*args, ...) returns a running subprocess.Popen instead, for tests that interrupt it.
    """
    program = need_file(BUILD / "repartition", "our own tool, which 'make' builds,")
    started = []

    def full_env(librdkafka, env):
        return {**(librdkafka.env if librdkafka else {}), **(env or {})}

    def call(*args, librdkafka=None, env=None, **options):
        return run(program, *args, env=full_env(librdkafka, env), **options)

    def start(*args, librdkafka=None, env=None, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
              stderr=subprocess.DEVNULL):
        started.append(subprocess.Popen([str(a) for a in (program, *args)], env=environment(full_env(librdkafka, env)),
                                        stdin=stdin, stdout=stdout, stderr=stderr))
        return started[-1]

    call.start = start
    yield call
    for process in started:  # what a test that failed has left
        if process.poll() is None:
            process.kill()


@pytest.fixture
def sandbox(repartition, tmp_path):
    """sandbox("orders:12", ...) starts our embedded Kafka with these topics. @returns its address."""
    started = []

    def start(*topics):
        file = tmp_path / f"sandbox-{len(started)}"
        started.append(repartition.start("sandbox", "--quiet", "--for", 900, "--address-file", file,
                                         *[a for topic in topics for a in ("--topic", topic)]))
        while not file.exists():
            assert started[-1].poll() is None, "the sandbox ended"
            time.sleep(0.02)
        return file.read_text().strip()

    yield start
    for process in started:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def java_run(tmp_path_factory):
    """java_run("Produce.java", *args, stdin=None) runs a source file of interop-tests/java with Kafka's jars."""
    classes = tmp_path_factory.mktemp("java")
    need_command("java")
    need_file(KAFKA_LIB / "pom.xml", "Apache Kafka")

    @functools.lru_cache(maxsize=None)
    def compiled(source):  # once: `java SOURCE` does it each time, which takes longer than most of what is run
        run("javac", "-cp", f"{KAFKA_LIB}/*", "-d", classes, JAVA / source).ok()
        return Path(source).stem

    def call(source, *args, **options):
        return run("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                   "-cp", f"{classes}:{KAFKA_LIB}/*", compiled(source), *args, **options)

    return call


@pytest.fixture(scope="session")
def wheel_python():
    """The Python whose confluent_kafka is PyPI's wheel, with a librdkafka of its own."""
    return need_file(WHEEL_PYTHON, "the wheel of confluent-kafka")


@pytest.fixture(scope="session")
def kcat():
    """kcat(*args, librdkafka=None, stdin=None, env=None) runs kcat to its end. @returns its Result."""
    program = need_command("kcat")

    def call(*args, librdkafka=None, env=None, **options):
        return run(program, *args, env={**(librdkafka.env if librdkafka else {}), **(env or {})}, **options)

    return call


def file_of(nodeid):
    return nodeid.partition("::")[0].rpartition("/")[2]


class Files:
    """What each file took; with several processes, whose dots say no file, also a line whenever one is done."""

    def __init__(self, config):
        self.config, self.left = config, collections.Counter()
        self.seconds, self.failed = collections.Counter(), collections.Counter()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.left = self.left or collections.Counter(map(file_of, ids))

    def pytest_runtest_logreport(self, report):
        file = file_of(report.nodeid)
        if report.failed and self.left:  # at once, the whole at the end
            self.config.get_terminal_writer().line(f"\n  FAIL  {report.nodeid}: {str(report.longrepr).rpartition(chr(10))[2]}")
        self.seconds[file] += report.duration
        self.failed[file] += report.failed
        if report.when == "teardown" and self.left[file]:
            self.left[file] -= 1
            if not self.left[file]:
                self.config.get_terminal_writer().line(
                    f"\n  {'FAIL' if self.failed[file] else 'ok  '} {self.seconds[file]:5.0f} s  {file}")

    def pytest_terminal_summary(self, terminalreporter):
        """One line in the form of the other suites, which scripts/test adds up."""
        count = {kind: len(reports) for kind, reports in terminalreporter.stats.items()}
        failed = count.get("failed", 0) + count.get("error", 0)
        longest = ", ".join(f"{file} {seconds:.0f} s" for file, seconds in self.seconds.most_common(8))
        if longest:
            terminalreporter.write_line(f"longest: {longest}")
        terminalreporter.write_line(
            f"interop: {count.get('passed', 0)} passed, {failed} failed, {count.get('skipped', 0)} skipped")


def pytest_configure(config):
    config.pluginmanager.register(Files(config))
    config.real_stderr = os.dup(2)  # during a test, 2 is pytest's own file
    # Under nohup, or behind a shell's &, signals are ignored, and so they would be by what the tests start and signal.
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def pytest_collection_modifyitems(items):
    place = {f"{name}.py": i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    faulthandler.dump_traceback_later(DEAD_S, exit=True, file=item.config.real_stderr)
    yield
    faulthandler.cancel_dump_traceback_later()


def pytest_report_header():
    return f"build: {BUILD}, cluster script: {KAFKA}"
