"""What is done to a job. Each function runs one scenario and @returns its figures; Broken is raised when something fails."""

import json
import mmap
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from fire import OUTAGE_CAP_S, Broken, Fire, Job, unique
from in_place import InPlace
from records import end_offsets
from support import BUILD, run
from watch import committed_progress

HERE = Path(__file__).resolve().parent
SHORT = ("-X", "transaction.timeout.ms=3000", "-X", "message.timeout.ms=2500")
# Brokers that start take all of a small machine; and five tries must be over while they are waited for.
LONGER = ("-X", "transaction.timeout.ms=10000", "-X", "message.timeout.ms=9000", "--timeout-ms", 20000)


def kills(cluster, seed, rounds, signo=signal.SIGKILL, **options):
    """The worker is ended again and again, in the middle of transactions."""
    with Fire(cluster, seed, count=max(20_000, rounds * 2200), **options) as fire:
        for _ in range(rounds):
            process = fire.start_living()
            code, out = fire.job.end(process, signo)
            fire.check(code == (-9 if signo == signal.SIGKILL else 128 + signo), f"it ended with {code}: {out[-2000:]}")
            fire.count(f"{signal.Signals(signo).name} of the worker")
            fire.settle()
        fire.run_to_end()
        return fire.done()


def zombies(cluster, seed, rounds, **options):
    """Stopped, replaced by a twin that goes on, continued: the zombie must see that it is one, and write nothing more."""
    with Fire(cluster, seed, count=4000 + rounds * 9000, **options) as fire:
        for _ in range(rounds):
            zombie = fire.start_living(200, 1500)
            zombie.send_signal(signal.SIGSTOP)
            twin = fire.job.start(*(["--take-over"] if fire.job.knows("--take-over") else []))
            twin_lives = fire.let_live(twin, 200, 1500)
            zombie.send_signal(signal.SIGCONT)
            code, out = fire.job.end(zombie)
            fire.check(code == 4, f"the zombie ended with {code}: {out[-2000:]}")
            fire.count("zombies fenced")
            fire.check(twin_lives or twin.poll() == 0, f"the twin ended with {twin.poll()}")
            fire.job.end(twin, signal.SIGTERM)
            fire.settle()
        fire.run_to_end()
        return fire.done()


def sleepers(cluster, seed, rounds, **options):
    """Stopped until its transaction has timed out, and continued, with nobody else there: it must go on by itself."""
    with Fire(cluster, seed, count=4000 + rounds * 9000, job_args=SHORT, **options) as fire:
        for _ in range(rounds):
            process = fire.start_living()
            process.send_signal(signal.SIGSTOP)
            time.sleep(6)
            process.send_signal(signal.SIGCONT)
            fire.go_on(process)
            fire.count("slept past the timeout")
            fire.job.end(process, signal.SIGTERM)
            fire.settle()
        fire.run_to_end()
        return fire.done()


def twins(cluster, seed, rounds, **options):
    """Two instances of one job started at the same moment: one copies, the other ends with 4, and every record goes once."""
    with Fire(cluster, seed, count=rounds * 2500, **options) as fire:
        for _ in range(rounds):
            pair = [fire.job.start(), fire.job.start()]
            fire.let_live(pair[0], 200, 800)
            deadline = time.monotonic() + 60
            while all(p.poll() is None for p in pair) and time.monotonic() < deadline:
                time.sleep(0.05)
            ended = [p for p in pair if p.poll() is not None]
            fire.check(ended, "both go on")
            codes = sorted(fire.job.end(p, None if p in ended else signal.SIGTERM)[0] for p in pair)
            fire.check(codes in ([4, 143], [0, 4], [0, 0]), f"they ended with {codes}")  # [0, 0]: the first was done
            fire.count("twins", codes != [0, 0])
            fire.settle()
        fire.run_to_end()
        return fire.done()


def brokers(cluster, seed, rounds, is_hard=True, **options):
    """
    One broker after the other is killed (or ended cleanly) and comes back, while one job runs all the time. With two clusters,
    their brokers take turns.
    """
    clusters = [options["source_cluster"], cluster] if options.get("source_cluster") else [cluster]
    all_of_them = [(c, number) for number in (1, 2, 3) for c in clusters if number <= len(c.bootstrap.split(","))]
    with Fire(cluster, seed, count=rounds * 12_000, partitions=(6, 9), records_per_s=1500, **options) as fire:
        process = fire.job.start()
        for turn in range(rounds):
            where, broker = all_of_them[turn % len(all_of_them)]
            fire.let_live(process, 100, 800)
            if is_hard:
                where.kill(broker)
                time.sleep(fire.random.random() * 3)
            where.restart(broker)
            fire.count("brokers killed" if is_hard else "brokers restarted")
            fire.check_reader()
            if process.poll() is not None:
                code, out = fire.job.end(process)
                fire.check(code == 0, f"the job ended with {code}: {out[-2000:]}")
                process = fire.job.start()
        fire.job.end(process, signal.SIGTERM)
        fire.settle()
        fire.run_to_end()
        return fire.done()


def await_leader(cluster, topic, wanted):
    """Until wanted(leader, replicas in sync) of partition 0. @returns (leader, replicas, replicas in sync)."""
    deadline = time.monotonic() + 120
    while True:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        try:
            found = admin.list_topics(topic, timeout=5).topics[topic].partitions[0]
            if wanted(found.leader, found.isrs):
                return found.leader, found.replicas, found.isrs
        except KafkaException:
            pass
        if time.monotonic() > deadline:
            raise Broken(f"partition 0 of {topic} does not get the leader that was wanted")
        time.sleep(0.2)


def unclean_election(cluster, seed, **options):
    """
    A replica that has missed the last records becomes the leader: the source has lost records that were copied, and then gets
    others by their offsets. rewrite and follow end with 3 and leap over nothing; rewrite also among the other records.
    """
    config = {"replication": 2, "unclean_leader_election_enable": "true", "min_insync_replicas": 1}
    # It would have as few replicas as the source, and could not be written without one of them.
    jobs = cluster.create(unique("jobs"), cleanup_policy="compact")
    with Fire(cluster, seed, count=2000, partitions=(1, 3), source_config=config, job_args=("--jobs-topic", jobs),
              **options) as fire:
        topic, lost = fire.source.topic, 500
        followed = cluster.create(f"followed-{topic}", 3)
        follow = Job(fire.source, followed, 3, ("-b", cluster.bootstrap), options.get("library_path"),
                     ("--from", "earliest", "--jobs-topic", jobs), "follow")

        def await_followed(offset):
            deadline = time.monotonic() + 90
            while committed_progress(cluster.bootstrap, topic, 1, follow.name) != [offset]:
                fire.check(instance.poll() is None, f"follow ended with {instance.poll()}")
                fire.check(time.monotonic() < deadline, "follow does not follow")
                time.sleep(0.2)

        instance = follow.start()
        try:
            await_followed(2000)
            leader, replicas, _ = await_leader(cluster, topic, lambda leader, isrs: len(isrs) == 2)
            behind, = set(replicas) - {leader}
            cluster.kill(behind)
            await_leader(cluster, topic, lambda leader, isrs: isrs == [leader])
            fire.source.fill(lost)
            fire.run_to_end()
            fire.settle()
            await_followed(2000 + lost)
            cluster.kill(leader)
            cluster.restart(behind)
            await_leader(cluster, topic, lambda leader, isrs: leader == behind)
            fire.check(end_offsets(cluster.bootstrap, topic) == [2000], "nothing was lost")
            code, out = follow.end(instance)
            fire.check(code == 3 and "partition 0" in out, f"follow ended with {code}: {out[-2000:]}")
            code, out = fire.job.end(fire.job.start())
            fire.check(code == 3 and "partition 0" in out, f"it ended with {code}: {out[-2000:]}")
            producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
            for i in range(2 * lost):
                producer.produce(topic, key=b"another", value=b"%d" % i)
            fire.check(producer.flush(90) == 0, "the new leader does not take records")
            code, out = fire.job.end(fire.job.start())
            fire.check(code in (2, 3), f"among other records it ended with {code}: {out[-2000:]}")
            cluster.restart(leader)
        finally:
            follow.kill_all()
        fire.check(fire.reader.count == 2000 + lost and not fire.reader.violations, "something of the new leader was copied")
        fire.count("unclean elections")
        return fire.figures


def leaders(cluster, seed, rounds, **options):
    """Leaders of source and target move to other brokers while the job runs."""
    with Fire(cluster, seed, count=rounds * 8000, partitions=(3, 3), records_per_s=1500, **options) as fire:
        process = fire.job.start()
        for turn in range(rounds):
            fire.let_live(process, 100, 800)
            order = [(turn + i) % 3 + 1 for i in range(3)]
            plan = cluster.data / "moves.json"
            parts = [{"topic": t, "partition": p, "replicas": order[p:] + order[:p]}
                     for t in (fire.source.topic, fire.target) for p in range(3)]
            plan.write_text(json.dumps({"version": 1, "partitions": parts}), encoding="ascii")
            for tool in (("kafka-reassign-partitions", "--reassignment-json-file", plan, "--execute"),
                         ("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")):
                done = cluster.tool(tool[0], "--bootstrap-server", cluster.bootstrap, *tool[1:])
                fire.check(done.rc == 0, done.err + done.out)
            fire.count("leader moves", 6)
            fire.check(process.poll() is None or process.poll() == 0, f"the job ended with {process.poll()}")
        fire.job.end(process, signal.SIGTERM)
        fire.settle()
        fire.run_to_end()
        return fire.done()


class Daemons(Fire):
    """Three instances of follow, which never end by themselves."""

    def __init__(self, *args, timeouts=SHORT, **options):
        super().__init__(*args, command="follow", job_args=(*timeouts, "--from", "earliest", "-X", "session.timeout.ms=6000"),
                         partitions=(6, 9), records_per_s=1500, **options)
        self.alive = []

    def join(self):
        self.alive.append(self.job.start())

    def leave(self, signo):
        process = self.alive.pop(self.random.randrange(len(self.alive)))
        self.job.note_peak(process)
        code, out = self.job.end(process, signo)
        self.check(code == (-9 if signo == signal.SIGKILL else 128 + signo), f"it ended with {code}: {out[-2000:]}")

    def all_go_on(self):
        """All live, and together they get on."""
        for process in list(self.alive):
            if process.poll() is not None:
                code, out = self.job.end(process)
                self.check(False, f"an instance ended with {code}: {out[-2000:]}")
        seen = self.reader.count
        self.reader.await_count(min(seen + 200, self.source.count), 90)
        self.check(self.reader.count > seen or seen == self.source.count, "they do not get on")

    def write_nothing_more(self):
        self.join()
        self.await_members(1)
        time.sleep(2)  # for what it should not do
        self.leave(signal.SIGTERM)


def daemons(cluster, seed, rounds, **options):
    """Members of a group of three come and go, by kill -9, SIGTERM, and by sleeping until the group has given them up."""
    with Daemons(cluster, seed, count=8000, **options) as fire:
        for _ in range(3):
            fire.join()
        for turn in range(rounds):
            fire.source.fill(3000)
            fire.all_go_on()
            if turn % 3 == 2:
                sleeper = fire.random.choice(fire.alive)
                sleeper.send_signal(signal.SIGSTOP)
                fire.await_members(2)
                sleeper.send_signal(signal.SIGCONT)
                fire.count("daemons that slept past the session")
            else:
                fire.leave(signal.SIGKILL if turn % 3 == 0 else signal.SIGTERM)
                fire.join()
                fire.count("SIGKILL of a daemon" if turn % 3 == 0 else "SIGTERM of a daemon")
            fire.count("rebalances", 2)
        fire.check(fire.reader.await_count(fire.source.count, 120), f"only {fire.reader.count} of {fire.source.count} came")
        while fire.alive:
            fire.leave(signal.SIGTERM)
        return fire.done()


class Clock:
    """A wall clock that can be made to jump, for programs that are started with its env; see clock.c."""

    def __init__(self, folder):
        library, self.file = folder / "clock.so", folder / "clock"
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o", library, HERE / "clock.c", "-ldl"],
                       check=True)
        self.file.write_bytes(bytes(16))
        with open(self.file, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 16)
        self.env = {"LD_PRELOAD": str(library), "JUMPING_CLOCK": str(self.file)}

    def be_wrong_by(self, seconds):
        self.shared[:8] = struct.pack("=q", seconds * 1000)

    @property
    def looks(self):
        return struct.unpack("=q", self.shared[8:])[0]


JUMPS_S = (86_400, -86_400, 7200, -3600, 0)


def clock_jumps(cluster, seed, rounds, **options):
    """The wall clock of a running job jumps forward and back, by up to two days."""
    clock = Clock(cluster.data)
    with Fire(cluster, seed, count=rounds * 3000, **options) as fire:
        fire.job.env |= clock.env
        process = fire.start_living(100, 500)
        for turn in range(rounds):
            if process.poll() is not None or fire.is_nearly_done():
                fire.source.fill(5000)
            if process.poll() is not None:
                process = fire.start_living(100, 500)
            clock.be_wrong_by(JUMPS_S[turn % len(JUMPS_S)])
            fire.go_on(process)
            fire.count("jumps of the clock")
        fire.check(clock.looks > 0, "the job did not look at the clock that jumped")
        fire.job.end(process, signal.SIGTERM)
        fire.settle()
        fire.run_to_end()
        return fire.done()


def clock_jumps_of_daemons(cluster, seed, rounds, **options):
    """The same to two instances of follow at once."""
    clock = Clock(cluster.data)
    with Daemons(cluster, seed, count=2000, **options) as fire:
        fire.job.env |= clock.env
        fire.join()
        fire.join()
        for turn in range(rounds):
            fire.source.fill(1000)
            clock.be_wrong_by(JUMPS_S[turn % len(JUMPS_S)])
            fire.all_go_on()
            fire.count("jumps of the clock")
        fire.check(clock.looks > 0, "nobody looked at the clock that jumped")
        fire.check(fire.reader.await_count(fire.source.count, 120), f"only {fire.reader.count} of {fire.source.count} came")
        while fire.alive:
            fire.leave(signal.SIGTERM)
        return fire.done()


def repairs(cluster, seed, rounds, **options):
    """A repair in place is killed again and again: each stray gets one copy, whatever its killed predecessors have done."""
    with InPlace(cluster, seed, "repair", **options) as fire:
        fire.source.fill(max(12_000, rounds * 4000))
        for _ in range(rounds):
            process = fire.job.start()
            if not fire.let_live(process, 100, 600):
                code, out = fire.job.end(process)
                fire.check(code == 0, f"it ended with {code}: {out[-2000:]}")
                break
            fire.job.end(process, signal.SIGKILL)
            fire.count("SIGKILL of the worker")
            fire.settle()
        fire.run_to_end()
        return fire.done()


class Menders(InPlace):
    """Two instances of follow within one topic."""

    def __init__(self, *args, **options):
        super().__init__(*args, "follow", job_args=(*SHORT, "--from", "earliest", "-X", "session.timeout.ms=6000"), **options)

    def write_nothing_more(self):
        process = self.job.start()
        self.await_members(1)
        time.sleep(2)  # for what it should not do
        self.job.end(process, signal.SIGTERM)


def menders(cluster, seed, rounds, **options):
    """Instances that mend as records arrive are killed in turn: each stray gets one copy."""
    with Menders(cluster, seed, **options) as fire:
        alive = [fire.job.start(), fire.job.start()]
        for turn in range(rounds):
            fire.source.fill(2500)
            fire.check(fire.reader.await_count(fire.to_copy - 300, 120), f"{fire.reader.count} of {fire.to_copy} were copied")
            code, out = fire.job.end(alive.pop(0), signal.SIGKILL if turn % 2 == 0 else signal.SIGTERM)
            fire.check(code in (-9, 128 + signal.SIGTERM), f"it ended with {code}: {out[-2000:]}")
            alive.append(fire.job.start())
            fire.count("instances ended")
        fire.check(fire.reader.await_count(fire.to_copy, 120), f"{fire.reader.count} of {fire.to_copy} were copied")
        for process in alive:
            fire.job.end(process, signal.SIGTERM)
        return fire.done()


def survive(fire, processes):
    """
    Who has ended must have done so with 3, or by an assertion of librdkafka's, which is as good as kill -9; the same command goes
    on. It may be refused until enough replicas are in sync again. @returns who lives now.
    """
    alive = []
    for process in processes:
        if process.poll() is None:
            fire.job.note_peak(process)
            alive.append(process)
            continue
        code, out = fire.job.end(process)
        assertion = re.search(r"(\w+): Assertion", out) if code == -signal.SIGABRT else None
        is_refused = code == 2 and re.search("in sync|no leader", out)
        fire.check(code == 3 or assertion or is_refused, f"it ended with {code}: {out[-2000:]}")
        fire.count(f"aborted by librdkafka in {assertion[1]}" if assertion else f"ended with {code}")
        alive.append(fire.job.start())
    return alive


def get_on(fire, processes):
    """The brokers are back: those who run, and those who take over from whom the outage has ended, must get on. @returns them."""
    before, deadline = list(processes), time.monotonic() + 300
    wanted = min(fire.reader.count + 200, fire.to_copy)
    while fire.reader.count < wanted:
        processes = survive(fire, processes)
        if time.monotonic() > deadline:
            said = [fire.job.end(process, signal.SIGTERM)[1][-2000:] for process in processes]
            fire.check(False, "they do not get on: " + "\n".join(said))
        time.sleep(0.1)
    fire.count("went on by themselves", sum(process in before for process in processes))
    return processes


def outages(cluster, seed, rounds, command="rewrite", down=3, down_s=(0, 4), **options):
    """
    So many of the three brokers are killed at once, while a job runs: all of them, or two, with which nothing can be written and
    nobody elects. They come back in an order, and at moments, that the seed draws.
    """
    if command == "follow":
        made = Daemons(cluster, seed, count=2000, timeouts=LONGER, **options)
    elif command == "repair":
        made = InPlace(cluster, seed, command, job_args=(*LONGER, "--throttle-records", 300), **options)
        made.source.fill(rounds * 6000)
    else:
        made = Fire(cluster, seed, count=rounds * 12_000, partitions=(6, 9), records_per_s=1500, job_args=LONGER, **options)
    with made as fire:
        fire.reader_cap_s = OUTAGE_CAP_S
        processes = [fire.job.start() for _ in range(2 if command == "follow" else 1)]
        for _ in range(rounds):
            if command == "follow":
                fire.source.fill(5000)
            fire.let_live(processes[0], 100, 600)
            victims = fire.random.sample((1, 2, 3), down)
            cluster.kill(*victims)
            fire.count("brokers killed at once", down)
            time.sleep(fire.random.uniform(*down_s))
            fire.random.shuffle(victims)
            cluster.restart(*victims, apart_s=fire.random.choice((0, 2)))
            processes = get_on(fire, processes)
        if command == "follow":
            fire.check(fire.reader.await_count(fire.source.count, 120), f"only {fire.reader.count} of {fire.source.count} came")
        for process in processes:
            code, out = fire.job.end(process, signal.SIGTERM)
            fire.check(code in (0, 128 + signal.SIGTERM), f"it ended with {code}: {out[-2000:]}")
        if command != "follow":
            fire.settle()
            fire.run_to_end()
        return fire.done()


def too_few_in_sync(cluster, seed, rounds, **options):
    """One broker is away and the target wants all three: the job says why it stands still, and goes on when it is back."""
    socket = cluster.data / unique("ctl")
    # It shall not give up meanwhile, for it would be refused to begin again.
    patience = ("-X", "transaction.timeout.ms=120000", "-X", "message.timeout.ms=110000")
    with Fire(cluster, seed, count=rounds * 6000, partitions=(6, 9), records_per_s=1500, target_config={"min_insync_replicas": 3},
              job_args=("--control-socket", socket, *patience), **options) as fire:
        fire.reader_cap_s = OUTAGE_CAP_S

        def await_told(is_wanted):
            deadline = time.monotonic() + 120
            while True:
                fire.check(process.poll() is None, f"it ended with {process.poll()}")
                status = run(BUILD / "repartition", "ctl", socket, "status", "--output", "json").json()
                if status["stalled"] and is_wanted(status):
                    return
                fire.check(time.monotonic() < deadline, f"it says that it stands still for this: {status['stalled']}")
                time.sleep(0.2)

        for turn in range(rounds):
            process = fire.start_living(100, 600)
            broker = turn % 3 + 1
            cluster.kill(broker)
            await_told(lambda status: "min.insync.replicas is 3" in status["stalled"]["why"] and status["state"] == "running")
            cluster.restart(broker)
            get_on(fire, [process])
            fire.count("outages told")
            code, out = fire.job.end(process, signal.SIGTERM)
            fire.check(code in (0, 128 + signal.SIGTERM), f"it ended with {code}: {out[-2000:]}")
            fire.check("stands still: " in out, f"it did not say why: {out[-2000:]}")
        fire.settle()
        fire.run_to_end()
        return fire.done()


class Proxy:
    """proxy.py in front of a cluster that was started with --proxied."""

    def __init__(self, cluster):
        self.ports = json.loads((cluster.data / "keys" / "proxied.json").read_text(encoding="ascii"))
        self.process = subprocess.Popen([sys.executable, HERE / "proxy.py",
                                         *(f"{p['listen']}:{p['broker']}" for p in self.ports)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.events = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def bootstrap(self):
        return ",".join(f"127.0.0.1:{p['listen']}" for p in self.ports)

    def _listen(self):
        for line in self.process.stdout:
            self.events.append(line.strip())

    def set(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def happened(self, mode):
        return self.events.count(mode)

    def stop(self):
        self.process.kill()
        self.process.communicate()


def end_txn(cluster, seed, rounds, mode, **options):
    """The request that ends a transaction is late, lost, or its answer is. mode: delay, drop or mute."""
    proxy = Proxy(cluster)
    try:
        with Fire(cluster, seed, count=rounds * 5000, bootstrap=proxy.bootstrap,
                  job_args=(*SHORT, "-X", "socket.timeout.ms=2000", "--timeout-ms", 30000), **options) as fire:
            process = fire.job.start()
            for _ in range(rounds):
                if not fire.let_live(process, 200, 1000):
                    break
                before = proxy.happened(mode)
                proxy.set(f"{mode} {5 if mode == 'delay' else 1}")
                deadline = time.monotonic() + 60
                while proxy.happened(mode) == before and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                proxy.set("pass") if mode == "delay" else None
                fire.count(f"EndTxn: {mode}", proxy.happened(mode) - before)
                fire.go_on(process)
            proxy.set("pass")
            fire.job.end(process, signal.SIGTERM)
            fire.settle()
            fire.run_to_end()
            return fire.done()
    finally:
        proxy.stop()


def late_end(cluster, seed, rounds, **options):
    """
    The connection is cut while the request that ends a transaction is on its way; the client asks again, succeeds, and goes
    on; then the first request arrives, and would end a later transaction in its middle (KIP-890). The worker is killed at
    that very moment, so that what was ended too early shows.
    """
    proxy = Proxy(cluster)
    try:
        with Fire(cluster, seed, count=rounds * 9000, bootstrap=proxy.bootstrap,
                  job_args=("--transaction-ms", 1500), **options) as fire:
            for _ in range(rounds):
                process = fire.start_living(200, 1000)
                before = proxy.happened("late")
                proxy.set(f"cut {2 + fire.random.random()}")
                deadline = time.monotonic() + 30
                while proxy.happened("late") == before and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.005)
                time.sleep(0.1)
                fire.job.note_peak(process)
                code, out = fire.job.end(process, signal.SIGKILL)
                fire.check(code in (-9, 0), f"it ended with {code}: {out[-2000:]}")
                fire.count("EndTxn that came late", proxy.happened("late") - before)
                fire.settle()
            fire.run_to_end()
            return fire.done()
    finally:
        proxy.stop()


def aborting_source(cluster, seed, rounds, **options):
    """One transaction of the source in three is aborted; while a foreign one is open, nothing behind it is copied."""
    with Fire(cluster, seed, count=12_000, is_aborting=True, **options) as fire:
        foreign = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": f"foreign-{fire.source.topic}",
                            "transaction.timeout.ms": 300_000})
        foreign.init_transactions(60)
        foreign.begin_transaction()
        for p in range(fire.source_partitions):
            foreign.produce(fire.source.topic, value=b"never committed", partition=p)
            fire.source.next_offset[p] += 1
        assert foreign.flush(60) == 0
        below = fire.source.count
        fire.source.fill(6000)  # behind the open one: it counts, but cannot be seen yet
        for _ in range(rounds):
            process = fire.job.start()
            fire.kill_unless_done(process)
            fire.settle()
        fire.run_to_end()
        fire.check(fire.settle() == below, f"not all that lies before the open transaction, or more: {fire.reader.count}")
        foreign.abort_transaction(60)
        fire.run_to_end()
        fire.count("foreign transactions", 1)
        return fire.done()


def growing_source(cluster, seed, rounds, **options):
    """Records keep coming in while the worker is killed again and again."""
    with Fire(cluster, seed, count=10_000, **options) as fire:
        for _ in range(rounds):
            process = fire.job.start()
            fire.source.fill(2000)
            fire.kill_unless_done(process)
            fire.settle()
        fire.run_to_end()
        return fire.done()


def retention(cluster, seed, _rounds, **options):
    """Records are deleted before they could be copied: the run says which, ends with 3, and never skips ahead."""
    with Fire(cluster, seed, count=20_000, **options) as fire:
        process = fire.job.start()
        fire.let_live(process, 500, 1000)
        fire.job.end(process, signal.SIGKILL)
        fire.settle()
        progress = committed_progress(cluster.bootstrap, fire.source.topic, fire.source_partitions, fire.job.name)
        victim = next(p for p in range(fire.source_partitions) if progress[p] + 10 < fire.source.next_offset[p])
        start = max(progress[victim], 0) + 5
        file = cluster.data / "delete.json"
        file.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": fire.source.topic, "partition": victim, "offset": start}]}), encoding="ascii")
        done = cluster.tool("kafka-delete-records", "--bootstrap-server", cluster.bootstrap, "--offset-json-file", file)
        fire.check(done.rc == 0, done.err + done.out)
        code, out = fire.job.end(fire.job.start())
        fire.check(code == 3, f"it ended with {code}: {out[-2000:]}")
        fire.check(f"partition {victim}" in out, f"which records are gone is not said: {out[-2000:]}")
        fire.settle()
        fire.count("gaps told")
        fire.count("records", fire.reader.count)
        return fire.figures


def compaction(cluster, seed, rounds, **options):
    """The source's cleaner runs meanwhile: the latest record of each key arrives, and none twice."""
    config = {"cleanup_policy": "compact", "segment_ms": 500, "min_cleanable_dirty_ratio": "0.01",
              "max_compaction_lag_ms": 1000, "delete_retention_ms": 86_400_000}
    with Fire(cluster, seed, count=20_000, source_config=config, may_skip=True, **options) as fire:
        for _ in range(rounds):
            process = fire.job.start()
            fire.kill_unless_done(process)
            fire.check_reader()
        fire.run_to_end()
        deadline = time.monotonic() + 60
        while fire.reader.versions != dict(fire.source.versions) and time.monotonic() < deadline:
            time.sleep(0.1)
        fire.check(fire.reader.versions == dict(fire.source.versions), "the latest record of a key is missing")
        fire.count("records that the cleaner took", fire.source.count - fire.reader.count)
        fire.count("records", fire.reader.count)
        return fire.figures


def made_again(cluster, seed, _rounds, **options):
    """The source, most of it not read ahead, is deleted and made again: the job ends, says so, and mixes nothing."""
    with Fire(cluster, seed, count=20_000, job_args=("--timeout-ms", 10_000, "--max-memory", "1M"), **options) as fire:
        process = fire.job.start()
        fire.let_live(process, 500, 1000)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.delete_topics([fire.source.topic])[fire.source.topic].result()
        time.sleep(1)
        cluster.create(fire.source.topic, fire.source_partitions)
        code, out = fire.job.end(process)
        fire.check(code in (2, 3), f"it ended with {code}: {out[-2000:]}")
        code, out = fire.job.end(fire.job.start())
        fire.check(code in (2, 3), f"the next run ended with {code}: {out[-2000:]}")
        fire.count("made again, told")
        fire.count("records", fire.reader.count)
        return fire.figures


