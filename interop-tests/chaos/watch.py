"""Who looks on while a job is under fire: a reader of committed records that judges each at once, and samples of the log."""

import sys
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from records import java_partition  # noqa: E402  pylint: disable=wrong-import-position
from selftold import BASE_MS, VOID, headers_of, read_value  # noqa: E402  pylint: disable=wrong-import-position


def consumer(bootstrap, isolation="read_committed", **more):
    return Consumer({"bootstrap.servers": bootstrap, "group.id": "chaos-watch", "isolation.level": isolation,
                     "enable.auto.commit": False, "auto.offset.reset": "error", "fetch.wait.max.ms": 50,
                     "topic.metadata.refresh.interval.ms": 2000, "reconnect.backoff.max.ms": 500, "log_level": 0,
                     **{n.replace("_", "."): v for n, v in more.items()}})


class Reader(threading.Thread):
    """Reads the target as it grows. Whatever must never be seen lands in `violations` the moment that it is seen."""

    def __init__(self, bootstrap, topic, partitions, seed, source_partitions, place=java_partition, may_skip=False, is_merged=True):
        super().__init__(daemon=True)
        self.bootstrap, self.topic, self.partitions, self.seed, self.place = bootstrap, topic, partitions, seed, place
        self.seen = [{} for _ in range(source_partitions)]  # offset in the source -> place in the target
        self.versions = {}  # key (and its partition in the source, unless partitions are merged) -> highest version seen
        self.may_skip, self.is_merged = may_skip, is_merged
        self.violations, self.count, self.is_over = [], 0, False
        self.start()

    def violate(self, text, message):
        if len(self.violations) < 20:
            self.violations.append(f"{text}: target partition {message.partition()}, offset {message.offset()}, key "
                                   f"{message.key()}, value {message.value()[:80] if message.value() else None}")

    def judge(self, message):
        key, value = message.key(), message.value()
        told = read_value(self.seed, key or b"", value or b"")
        if not told:
            return self.violate("a record that nobody wrote, or damaged", message)
        if told.version == VOID:
            return self.violate("a record of an aborted transaction", message)
        if told.offset in self.seen[told.partition]:
            return self.violate(f"a record seen twice (first at {self.seen[told.partition][told.offset]})", message)
        self.seen[told.partition][told.offset] = (message.partition(), message.offset())
        if message.partition() != self.place(key, self.partitions):
            self.violate("in the wrong partition", message)
        if message.timestamp()[1] != BASE_MS + told.index or (message.headers() or None) != headers_of(told.version):
            self.violate("headers or time have changed", message)
        line = key if self.is_merged else (key, told.partition)
        before = self.versions.get(line, 0)
        if told.version <= before or (told.version != before + 1 and self.is_merged and not self.may_skip):
            self.violate(f"out of order: version {told.version} after {before}", message)
        self.versions[line] = max(before, told.version)
        self.count += 1
        return None

    def run(self):
        c = consumer(self.bootstrap)
        c.assign([TopicPartition(self.topic, p, 0) for p in range(self.partitions)])
        while not self.is_over:
            for message in c.consume(1000, 0.1):
                if not message.error():
                    self.judge(message)
        c.close()

    def await_count(self, count, seconds, process=None):
        """Until so many were seen (True), the process has ended or time is up (False)."""
        deadline = time.monotonic() + seconds
        while self.count < count:
            if time.monotonic() > deadline or (process and process.poll() is not None):
                return self.count >= count
            time.sleep(0.02)
        return True

    def stop(self):
        self.is_over = True
        self.join(30)


class Log(threading.Thread):
    """Samples how far the target's last stable offsets lie behind, to find transactions that stay open too long."""

    def __init__(self, bootstrap, topic, partitions):
        super().__init__(daemon=True)
        self.bootstrap, self.topic, self.partitions = bootstrap, topic, partitions
        self.longest_s, self.is_over = 0.0, False
        self.start()

    def run(self):
        stable, ends = consumer(self.bootstrap), consumer(self.bootstrap, "read_uncommitted")
        stuck = {}
        while not self.is_over:
            for p in range(self.partitions):
                at = TopicPartition(self.topic, p)
                try:
                    end, lso = ends.get_watermark_offsets(at, 2)[1], stable.get_watermark_offsets(at, 2)[1]
                except Exception:  # a broker that is away: pylint: disable=broad-except
                    stuck.pop(p, None)
                    continue
                now = time.monotonic()
                if lso >= end:
                    stuck.pop(p, None)
                elif p not in stuck or stuck[p][0] != lso:
                    stuck[p] = (lso, now)
                else:
                    self.longest_s = max(self.longest_s, now - stuck[p][1])
            time.sleep(0.3)
        stable.close()
        ends.close()

    def stop(self):
        self.is_over = True
        self.join(30)


def committed_progress(bootstrap, topic, partitions, group):
    """What the group has stored, by partition, once no transaction is about to change it; -1: nothing."""
    c = consumer(bootstrap, group_id=group)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                found = c.committed([TopicPartition(topic, p) for p in range(partitions)], 10)
                if not any(f.error for f in found):
                    return [f.offset if f.offset >= 0 else -1 for f in found]
            except Exception:  # pylint: disable=broad-except
                pass
            assert time.monotonic() < deadline, f"the progress of {group} cannot be read"
            time.sleep(0.2)
    finally:
        c.close()


def peak_kb(pid):
    """The most memory that a living process has held, in KiB; 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
