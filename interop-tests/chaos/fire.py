"""One job under fire: a source that tells about itself, a job, those who look on, and what must hold at every moment."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from records import JOBS, end_offsets, holders, is_stable, said_of  # noqa: E402  pylint: disable=wrong-import-position
from selftold import Source  # noqa: E402  pylint: disable=wrong-import-position
from support import BUILD, unique  # noqa: E402  pylint: disable=wrong-import-position
from watch import Log, Reader, committed_progress, peak_kb  # noqa: E402  pylint: disable=wrong-import-position

TRANSACTION_CAP_S = 60   # the longest that committed readers of the target may wait for a job that lives or was replaced
OUTAGE_CAP_S = 240       # ... or for brokers that are away, on a machine that is slow to start them
PEAK_CAP_KB = 450_000    # librdkafka 2.0.2 needs large queues (docs/rewrite.md)
CATCH_UP_S = 60


class Broken(AssertionError):
    """Something that must always hold did not."""


class Job:
    """
    rewrite or follow SRC DST, run again and again, or repair and follow within one topic (target None). where: the options for
    the way that it takes, which may lead through a proxy.
    """

    def __init__(self, source, target, target_partitions, where, library_path=None, args=(), command="rewrite"):
        self.command = command
        topics = [source.topic, target] if target else [source.topic]
        self.name = ".".join(["keyroute", *([] if command == "rewrite" else [command]), *topics])
        self.argv = [str(BUILD / "repartition"), command, *topics,
                     *where, "--execute", "--transaction-ms", "150", "--output", "json", *map(str, args)]
        if target:
            self.argv += ["--partitions", str(target_partitions)]
        if command == "rewrite":
            self.argv += ["--order", "merge"]
        self.env = {**os.environ, **({"LD_LIBRARY_PATH": str(library_path)} if library_path else {})}
        self.peak_kb = self.recoveries = self.uncertain = 0
        self.lives, self.ended = [], {}

    def knows(self, option):
        return option in subprocess.run([self.argv[0], self.command, "--help"], capture_output=True, text=True, check=True).stdout

    def start(self, *more):
        process = subprocess.Popen([*self.argv, *map(str, more)], env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lives.append(process)
        return process

    def note_peak(self, process):
        self.peak_kb = max(self.peak_kb, peak_kb(process.pid))

    def end(self, process, signo=None, seconds=120):
        """@returns (exit code, what it said on stderr)."""
        self.note_peak(process)
        if process in self.ended:
            return self.ended[process]
        if signo and process.poll() is None:
            process.send_signal(signo)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Broken(f"it does not end: {process.communicate()[1][-2000:]}") from None
        with contextlib.suppress(ValueError):  # a life that was cut short reports nothing
            result = json.loads(out).get("result") or {}
            self.recoveries += result.get("recoveries", 0)
            self.uncertain += result.get("transactions_uncertain", 0)
        # A plan says on standard output why it is refused.
        self.ended[process] = process.returncode, err + (out if process.returncode == 2 else "")
        return self.ended[process]

    def kill_all(self):
        for process in self.lives:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.communicate()


class Fire:
    """
    What a scenario is made of. Use as a context; done() judges. cluster: of the target, and of the source unless that has a
    source_cluster of its own. bootstrap: another way to the target's cluster
    """

    def __init__(self, cluster, seed, count=20_000, partitions=(4, 7), is_aborting=False, library_path=None, bootstrap=None,
                 job_args=(), records_per_s=4000, source_config=None, target_config=None, may_skip=False, command="rewrite",
                 source_cluster=None):
        source_cluster = source_cluster or cluster
        topic = source_cluster.create(unique("fire"), partitions[0], **(source_config or {}))
        target = cluster.create(unique("image"), partitions[1], **(target_config or {}))
        source = Source(source_cluster.bootstrap, topic, partitions[0], seed, is_aborting=is_aborting).fill(count)
        where = ("-b", bootstrap or cluster.bootstrap)
        if source_cluster is not cluster:
            where = ("-X", f"source.bootstrap.servers={source_cluster.bootstrap}", "-X", f"target.bootstrap.servers={where[1]}")
        job = Job(source, target, partitions[1], where, library_path, ("--throttle-records", records_per_s, *job_args), command)
        self.begin(cluster, seed, source, job, Reader(cluster.bootstrap, target, partitions[1], seed, partitions[0],
                                                      may_skip=may_skip, is_merged=command == "rewrite"))
        self.is_apart = source_cluster is not cluster

    def begin(self, cluster, seed, source, job, reader):
        self.is_apart = False
        self.reader_cap_s = TRANSACTION_CAP_S
        self.cluster, self.seed, self.random = cluster, seed, random.Random(seed)
        self.source, self.job, self.reader, self.target = source, job, reader, reader.topic
        self.source_partitions, self.target_partitions = source.partitions, reader.partitions
        self.log = Log(cluster.bootstrap, reader.topic, reader.partitions)
        self.figures = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.job.kill_all()
        self.reader.stop()
        self.log.stop()

    @property
    def to_copy(self):
        """How many records the job has to write in all."""
        return self.source.count

    def is_to_copy(self, _partition, _offset):
        return True

    def count(self, what, number=1):
        self.figures[what] = self.figures.get(what, 0) + number

    def check(self, holds, text):
        self.check_reader()
        if not holds:
            raise Broken(f"seed {self.seed}: {text}")

    def check_reader(self):
        if self.reader.violations:
            raise Broken(f"seed {self.seed}: " + "\n".join(self.reader.violations))

    # ---- what happens

    def let_live(self, process, low=300, high=3000):
        """Lets the job commit some records, and then live on for a random moment. @returns whether it still lives."""
        seen = self.reader.count
        self.reader.await_count(min(seen + self.random.randrange(low, high), self.to_copy), 90, process)
        time.sleep(self.random.random() * 0.3)
        self.job.note_peak(process)
        self.check_reader()
        return process.poll() is None

    def kill_unless_done(self, process):
        """Lets the job live as above, and kills it, unless it has come to its end by then."""
        if self.let_live(process, 200, 1500):
            self.job.end(process, signal.SIGKILL)
            self.count("SIGKILL of the worker")
        else:
            self.job.end(process)

    def start_living(self, low=300, high=3000):
        """Starts the job and lets it live as above. It gets more to do until it does, however slow those are who look on."""
        while True:
            if self.is_nearly_done():
                self.source.fill(8000)
            process = self.job.start()
            if self.let_live(process, low, high):
                return process
            code, out = self.job.end(process)
            self.check(code == 0, f"it ended with {code}: {out[-2000:]}")

    def go_on(self, process):
        """The job must get on, or be done."""
        seen = self.reader.count
        self.reader.await_count(min(seen + 200, self.to_copy), 90, process)
        if process.poll() is None:
            self.check(self.reader.count > seen or seen == self.to_copy, "it does not go on")
        else:
            code, out = self.job.end(process)
            self.check(code == 0, f"it ended with {code}: {out[-2000:]}")

    def is_nearly_done(self):
        """Too little is left for one more round to mean anything."""
        return self.reader.count + 4000 > self.to_copy

    def progress(self):
        """What is stored, by partition of the source, once no transaction is about to change it; -1: nothing."""
        if not self.is_apart:
            return committed_progress(self.cluster.bootstrap, self.source.topic, self.source_partitions, self.job.name)
        deadline = time.monotonic() + CATCH_UP_S
        while not is_stable(self.cluster.bootstrap, JOBS):
            self.check(time.monotonic() < deadline, "the progress cannot be read")
            time.sleep(0.2)
        stored = said_of(self.cluster.bootstrap, self.job.name)[1]
        return [stored.get((self.source.topic, p), {"next": -1})["next"] for p in range(self.source_partitions)]

    def settle(self):
        """With no job running: what is stored is what can be seen, no record more or less."""
        progress = self.progress()
        wanted = sum(sum(offset < progress[p] for offset in offsets) for p, offsets in enumerate(self.source.expected))
        self.reader.await_count(wanted, CATCH_UP_S)
        self.check(self.reader.count == wanted, f"the progress says {wanted} records, {self.reader.count} can be seen")
        for p, offsets in enumerate(self.reader.seen):
            self.check(all(offset < progress[p] for offset in offsets), f"partition {p}: seen beyond the progress {progress[p]}")
        self.count("progress = visible")
        return wanted

    def run_to_end(self, seconds=300):
        code, out = self.job.end(self.job.start("--throttle-records", 1_000_000), seconds=seconds)
        self.check(code == 0, f"the last run ended with {code}: {out[-3000:]}")
        return out

    def write_nothing_more(self):
        """One more run, which has nothing to do."""
        self.run_to_end()

    def await_members(self, wanted):
        """Until so many members of the job's group hold partitions."""
        deadline = time.monotonic() + CATCH_UP_S
        while (count := holders(self.cluster, self.job.name)) != wanted:
            self.check(time.monotonic() < deadline, f"{count} instances hold partitions, not {wanted}")
            time.sleep(0.1)

    def done(self):
        """The invariants, after the last run."""
        wanted = self.settle()
        self.check(wanted == self.to_copy, f"{self.to_copy - wanted} records were never copied")
        missing = [(p, offset) for p, offsets in enumerate(self.source.expected) for offset in offsets
                   if offset not in self.reader.seen[p] and self.is_to_copy(p, offset)]
        self.check(not missing, f"missing: {missing[:5]} and {len(missing)} in all")
        before = end_offsets(self.cluster.bootstrap, self.target)
        self.write_nothing_more()
        self.check(end_offsets(self.cluster.bootstrap, self.target) == before, "a second run wrote something")
        self.check(self.log.longest_s < self.reader_cap_s, f"committed readers waited {self.log.longest_s:.0f} s")
        self.check(self.job.peak_kb < PEAK_CAP_KB, f"{self.job.peak_kb} KiB of memory")
        self.count("records", self.source.count)
        if self.job.recoveries:
            self.count("producers made anew", self.job.recoveries)
            self.count("uncertain commits", self.job.uncertain)
        self.figures["longest wait of readers, s"] = round(self.log.longest_s, 1)
        self.figures["peak memory, MiB"] = self.job.peak_kb // 1024
        return self.figures
