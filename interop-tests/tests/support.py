"""What the tests of this folder share: where things are, running programs, real clusters."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KEYROUTE_BUILD", "build")
INTEROP = ROOT / "interop-tests"
CACHE = INTEROP / ".cache"
KAFKA = INTEROP / "kafka" / "kafka"
KAFKA_LIB = INTEROP / "kafka" / "lib"
REGISTRY = INTEROP / "registry" / "registry"
REGISTRY_LIB = CACHE / "registry"
SERIALIZERS = INTEROP / "serializers"
NODE_MODULES = CACHE / "serializers" / "node_modules"
KAFKAJS_MODULES = CACHE / "ci-kit" / "kafkajs" / "node_modules"
GO_AVRO = CACHE / "go" / "avro"
GO_FLEET = CACHE / "fleet" / "fleet"
GO_COMPILER = CACHE / "go" / "compiler" / "go" / "bin" / "go"  # where the system's is too old
RUST_AVRO = CACHE / "rust" / "avro"
JAVA = INTEROP / "java"
PYTHON = INTEROP / "python"
DEBIAN_PYTHON = "/usr/bin/python3"
WHEEL_PYTHON = CACHE / "venv" / "bin" / "python"
HANG_S = 300  # a program that takes longer is stuck


def missing(what):
    """A part that is not there: never overlooked in CI, and said aloud elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}; in CI a missing part is a failure", pytrace=False)
    pytest.skip(f"{what}; scripts/install-deps test installs it")


def need_file(path, what):
    if not Path(path).exists():
        missing(f"{what} is missing ({path})")
    return path


def need_command(name):
    found = shutil.which(name)
    if not found:
        missing(f"the command '{name}' is missing")
    return found


@dataclass
class Result:
    """How a program ended. Its output is text; surrogate escapes keep bytes that are no UTF-8."""

    argv: list
    rc: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    def ok(self):
        """@returns itself when the program ended with 0; else fails the test with all that it said."""
        return self.ends_with(0)

    def ends_with(self, rc):
        if self.rc != rc:
            pytest.fail(f"{' '.join(self.argv)}\nended with {self.rc}, not {rc}\n--- stdout\n{self.out[-8000:]}\n"
                        f"--- stderr\n{self.err[-8000:]}", pytrace=False)
        return self


def run(*argv, env=None, stdin=None, cwd=None, timeout=HANG_S):
    """Runs a program to its end. stdin: text or bytes; env: what to change, None removes a variable."""
    argv = [str(a) for a in argv]
    if isinstance(stdin, str):
        stdin = stdin.encode("utf-8", "surrogateescape")
    done = subprocess.run(argv, env=environment(env), input=stdin if stdin is not None else b"", cwd=cwd,
                          capture_output=True, timeout=timeout, check=False)
    return Result(argv, done.returncode, done.stdout.decode("utf-8", "surrogateescape"),
                  done.stderr.decode("utf-8", "surrogateescape"))


def runs_into_a_closed_pipe(*argv):
    """Runs a program whose reader has gone. It must end as a shell expects of it, by SIGPIPE, and say nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                              timeout=HANG_S, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def await_handler(process, number):
    """Until the process has a handler for that signal: before, it would die of it."""
    while True:
        caught = re.search(r"SigCgt:\s+([0-9a-f]+)", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"))
        if caught and int(caught[1], 16) >> (number - 1) & 1:
            return
        assert process.poll() is None, f"it ended with {process.returncode}"
        time.sleep(0.01)


def environment(changes):
    env = dict(os.environ)
    for name, value in (changes or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


class Librdkafka:
    """One of the librdkafka versions that our programs, and any other dynamically linked host, can be run against."""

    def __init__(self, name):
        self.name = name
        if name == "new":
            folder = CACHE / "librdkafka-new"
            need_file(folder / "librdkafka.so.1", "the newest librdkafka")
            self.env = {"LD_LIBRARY_PATH": folder}
        else:
            self.env = {"LD_LIBRARY_PATH": None}

    def __repr__(self):
        return f"librdkafka-{self.name}"


class Registry:
    """A real schema registry of its own, empty. Ended when pytest ends, whatever way that is."""

    def __init__(self, data):
        self.data = Path(data)
        started = run(REGISTRY, "start", "--data", self.data, "--until-exit-of", os.getpid())
        if started.rc != 0:
            pytest.fail(f"registry start: {started.err}", pytrace=False)
        self.url = started.out.strip()

    def stop(self):
        run(REGISTRY, "stop", "--data", self.data, "--delete")


class Kafka:
    """A real cluster of its own. Ended, and its data deleted, when pytest ends, whatever way that is."""

    def __init__(self, data, brokers=1, kind=(), **config):
        self.data = Path(data)
        settings = [a for name, value in config.items() for a in ("--config", f"{name.replace('_', '.')}={value}")]
        started = self._control("start", "--brokers", brokers, "--until-exit-of", os.getpid(), *kind, *settings)
        self.bootstrap = started.out.strip()
        assert "\n" not in self.bootstrap, "start prints one line, the address"

    def _control(self, command, *args):
        done = run(KAFKA, command, "--data", self.data, *args)
        if done.rc != 0:
            pytest.fail(f"kafka {command}: {done.err}", pytrace=False)
        return done

    def create(self, topic, partitions=1, replication=-1, **config):
        settings = [a for name, value in config.items() for a in ("--config", f"{name.replace('_', '.')}={value}")]
        self._control("create", topic, "--partitions", partitions, "--replication", replication, *settings)
        return topic

    def kill(self, *brokers):
        """SIGKILL, as a crash would be, to all of them at once."""
        self._control("kill", *brokers)

    def restart(self, *brokers, apart_s=0):
        """Starts them, in this order and so long apart, and waits until all are ready."""
        self._control("restart", *brokers, "--apart", apart_s)

    def tool(self, name, *args, **options):
        """One of Kafka's own commands, such as 'kafka-topics'. @returns its Result."""
        return run(KAFKA, "tool", name, *args, **options)

    def stop(self, keep_logs=False):
        if keep_logs:
            for log in self.data.glob("*/server.log"):
                kept = BUILD / "test" / "log"
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(log, kept / f"{self.data.name}-broker-{log.parent.name}.log")
        self._control("stop", "--delete")


class SecureKafka(Kafka):
    """One with an authorizer and listeners for TLS, mutual TLS and SASL; its own address is for set-up and may do all."""

    def __init__(self, data):
        super().__init__(data, kind=("--secure",))
        self.keys = self.data / "keys"

    def properties(self, login):
        """The file of librdkafka's properties for a login: 'tls', 'mtls-alice', 'sasl-alice', 'plain-alice', ..."""
        return self.keys / f"{login}.properties"

    def property(self, login, name):
        for line in self.properties(login).read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name}="):
                return line.partition("=")[2]
        raise KeyError(name)

    def set_rights(self, user, rights):
        """The user may do exactly this afterwards. rights: (operation, kind of resource, name or 'prefix*'), ..."""
        run(need_file(WHEEL_PYTHON, "the wheel of confluent-kafka"), PYTHON / "acls.py", self.bootstrap, user,
            stdin=json.dumps(list(rights))).ok()


def most_resident(process):
    """Waits for its end. @returns the most bytes that it ever had resident, as it told within its last moment."""
    resident = 0
    while process.poll() is None:
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"))
        resident = max(resident, int(peak[1]) * 1024 if peak else 0)
        time.sleep(0.02)
    assert resident
    return resident


def unique(name):
    """A topic or group name that no other test uses."""
    return f"{name}-{uuid.uuid4().hex[:8]}"
