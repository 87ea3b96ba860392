"""The pages of docs/runbooks do what they say: their own commands, in their order, on a real Kafka."""

import os
import re

import pytest
from support import BUILD, DEBIAN_PYTHON, ROOT, run, unique

PAGES = ROOT / "docs" / "runbooks"


def steps(page):
    """Commands, each with the exit code that the page promises, and the walks between them, in the order of the page."""
    text = (PAGES / page).read_text()
    for block, walk in re.findall(r"^```sh\n(.*?)^```|<!-- walk: (.*?) -->", text, re.S | re.M):
        if walk:
            yield walk, None
        for line in block.splitlines():
            if line.strip():
                promised = re.search(r"# exits with (\d)", line)
                yield line.split("  #")[0].split("    #")[0], int(promised.group(1)) if promised else 0


def test_pages_have_steps():
    for page in sorted(PAGES.glob("*.md")):
        if page.name != "README.md":
            assert any(code is not None for _, code in steps(page.name)), page
            assert f"({page.name})" in (PAGES / "README.md").read_text()


class Walk:
    """One page, its names replaced by ones of this test."""

    def __init__(self, kafka, folder, other=None, partitions=12, **config):
        self.kafka, self.folder, self.other = kafka, folder, other
        self.orders, self.group = kafka.create(unique("orders"), partitions, **config), unique("billing")
        self.sent = 0

    def names(self, text):
        text = re.sub(r"\borders\b", self.orders, text).replace("localhost:9092", self.kafka.bootstrap)
        text = re.sub(r"\bbilling\b", self.group, text)
        return text.replace("other:9092", self.other.bootstrap) if self.other else text

    def produce_as_java(self, java_run, count=1500):
        self._produce(count, lambda lines: java_run("Produce.java", "-b", self.kafka.bootstrap, "-t", self.orders, stdin=lines))

    def produce_as_python(self, count=1500, partitioner="consistent_random"):
        code = ("import sys\nfrom confluent_kafka import Producer\n"
                "p = Producer({'bootstrap.servers': sys.argv[1], 'enable.idempotence': True, 'partitioner': sys.argv[3]})\n"
                "for line in sys.stdin:\n    k, v, t = line.rstrip('\\n').split('\\t')\n"
                "    p.produce(sys.argv[2], key=k, value=v, timestamp=int(t)); p.poll(0)\np.flush()\n")
        self._produce(count, lambda lines: run(DEBIAN_PYTHON, "-c", code, self.kafka.bootstrap, self.orders, partitioner,
                                               stdin=lines))

    def _produce(self, count, send):
        send("".join(f"customer-{i % 300}\t{i}\t{1790000000000 + i * 1000}\n" for i in range(self.sent, self.sent + count))).ok()
        self.sent += count

    def consume(self, topic, most, bootstrap=None):
        """As the group: reads so many records, some of every partition, commits, leaves. @returns their values."""
        code = ("import sys\nfrom confluent_kafka import Consumer\n"
                "c = Consumer({'bootstrap.servers': sys.argv[1], 'group.id': sys.argv[2], 'auto.offset.reset': 'earliest', "
                "'isolation.level': 'read_committed', 'enable.auto.commit': False, 'enable.partition.eof': True})\n"
                "ended, seen, touched = set(), [], set()\n"
                "c.subscribe([sys.argv[3]])\n"
                "parts = len(c.list_topics(sys.argv[3], 30).topics[sys.argv[3]].partitions)\n"
                "while len(ended) < parts and (len(seen) < int(sys.argv[4]) or len(touched) < parts):\n"
                "    m = c.poll(1)\n    if m is None: continue\n"
                "    if m.error(): ended.add(m.partition()); continue\n"
                "    seen.append(m.value().decode()); touched.add(m.partition())\n"
                "c.commit(asynchronous=False)\nc.close()\nprint('\\n'.join(seen))\n")
        return run(DEBIAN_PYTHON, "-c", code, bootstrap or self.kafka.bootstrap, self.group, topic, most).ok().out.split()

    def take(self, page, **walks):
        env = {"PATH": f"{BUILD}:{os.environ['PATH']}"}
        for step, code in steps(page):
            if code is None:
                walks.get(step.replace(" ", "_"), lambda: None)()
                continue
            command = self.names(step)
            done = run("sh", "-c", command, cwd=self.folder, env=env)
            assert done.rc == code, f"{page}: {command}\nended with {done.rc}, not {code}\n{done.out}\n{done.err}"


def test_mixed_clients(kafka, java_run, tmp_path):
    walk = Walk(kafka, tmp_path)
    walk.produce_as_java(java_run)
    walk.produce_as_python()
    before = walk.consume(walk.orders, 700)
    walk.take("mixed-clients.md", stop_producers=lambda: walk.produce_as_python(partitioner="murmur2_random", count=300))
    after = walk.consume(walk.names("orders.v2"), 10**9)
    assert {int(value) for value in before + after} == set(range(walk.sent))
    walk.take("undo.md")
    again = walk.consume(walk.orders, 10**9)
    assert {int(value) for value in before + again} == set(range(walk.sent))


@pytest.mark.parametrize("page, partitions", [("grow.md", 12), ("shrink.md", 12)])
def test_another_count(kafka, java_run, tmp_path, page, partitions):
    walk = Walk(kafka, tmp_path, partitions=partitions)
    walk.produce_as_java(java_run)
    before = walk.consume(walk.orders, 500)
    walk.take(page, stop_producers=lambda: walk.produce_as_java(java_run, 300))
    after = walk.consume(walk.names("orders.v2"), 10**9)
    assert {int(value) for value in before + after} == set(range(walk.sent))


def test_another_cluster(kafka, start_kafka, java_run, tmp_path):
    other = start_kafka()
    walk = Walk(kafka, tmp_path, other)
    walk.produce_as_java(java_run)
    before = walk.consume(walk.orders, 500)
    walk.take("other-cluster.md", stop_producers=lambda: walk.produce_as_java(java_run, 300))
    after = walk.consume(walk.orders, 10**9, other.bootstrap)
    assert {int(value) for value in before + after} == set(range(walk.sent))
    other.stop()


def test_compacted(kafka, java_run, tmp_path):
    walk = Walk(kafka, tmp_path, **{"cleanup.policy": "compact"})
    walk.produce_as_java(java_run)
    walk.produce_as_python()
    walk.take("compacted.md")
