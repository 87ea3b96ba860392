"""Other ways to repartition a topic beside `repartition rewrite`: their speed, and what each loses on the way."""
import json
import os
import statistics
import sys
import time

from measure import BENCH, TOP, build, delete, real_kafka, rewrite, run

sys.path.insert(0, os.path.join(TOP, "interop-tests", "tests"))
from records import read  # noqa: E402  pylint: disable=wrong-import-position

RECORDS, ROUNDS, PARTITIONS = 2000000, 2, 16
LIB = os.path.join(TOP, "interop-tests", "kafka", "lib", "*")


def java(mode, heap):
    def copy(bootstrap, source, target, count):
        text, usage = run(["java", f"-Xmx{heap}", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp",
                           LIB, os.path.join(BENCH, "Peers.java"), mode, bootstrap, source, target, str(count)])
        return json.loads(text)["records_per_s"], usage
    return copy


def kcat_pipe(bootstrap, source, target, count):
    """The pipe of kcat's manual, with murmur2 told to the producer; both ends use the same librdkafka as we do."""
    began = time.monotonic()
    _, usage = run(["sh", "-c", 'kcat -q -C -b "$1" -t "$2" -e -o beginning -K "\t" -Z | '
                    'kcat -q -P -b "$1" -t "$3" -K "\t" -Z -X topic.partitioner=murmur2_random', "sh",
                    bootstrap, source, target], "new")
    return count / (time.monotonic() - began), usage


def bare_loop(bootstrap, source, target, _):
    text, usage = run([build("bare_loop"), bootstrap, source, target, str(PARTITIONS)], "new")
    return json.loads(text)["records_per_s"], usage


def ours(bootstrap, source, target, _):
    return rewrite(bootstrap, source, target, PARTITIONS)


# name, how, exactly once by construction
PEERS = (("repartition rewrite", ours, True),
         ("bare C loop", bare_loop, True),
         ("Java consumer and producer", java("plain", "512m"), True),
         ("Kafka Streams to()", java("streams-to", "512m"), True),
         ("Kafka Streams repartition()", java("streams-repartition", "2g"), True),
         ("kcat | kcat", kcat_pipe, False))


def fill_with_edges(bootstrap, topic):
    """Records that a careless copy changes, each key in two partitions by turns, so that only their times tell the order."""
    from confluent_kafka import Producer  # pylint: disable=import-outside-toplevel
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    kinds = ({"value": b"plain"}, {"value": None}, {"value": b""}, {"value": b"one\nline\tor two"},
             {"value": b"h", "headers": [("a", b"1"), ("a", b"2"), ("empty", b"")]})
    count = 0
    for turn in range(20):
        for key in range(200):
            count += 1
            producer.produce(topic, key=b"" if key == 0 else b"key-%d" % key, partition=(key + turn % 2) % 12,
                             timestamp=1700000000000 + count * 100, **kinds[(turn + key) % len(kinds)])
        producer.flush()
    return count


def losses(source, target):
    """What is not as it was, in words."""
    def count(field):
        return sum(1 for record in target if field(record))
    lost = []
    if len(target) != len(source):
        lost.append(f"records ({len(source):,} became {len(target):,})")
    for name, field in (("headers", lambda r: r.headers), ("tombstones", lambda r: r.value is None),
                        ("empty values", lambda r: r.value == b""), ("empty keys", lambda r: r.key == b"")):
        if count(field) != sum(1 for record in source if field(record)):
            lost.append(name)
    times = {record.timestamp for record in source}
    if any(record.timestamp not in times for record in target):
        lost.append("timestamps")
        return lost  # and with them any way to tell the order
    newest, disorder = {}, 0
    for record in target:
        disorder += record.timestamp < newest.get(record.key, 0)
        newest[record.key] = max(record.timestamp, newest.get(record.key, 0))
    if disorder:
        lost.append(f"order of split keys ({disorder:,} of {len(target):,} records)")
    return lost


def bench_peers():
    """Several ways to bring a topic from 12 to 16 partitions, one after the other on one broker and the same data."""
    with real_kafka() as (bootstrap, create):
        create("source", 12)
        run([build("produce_cost"), bootstrap, "source", str(RECORDS)], "new")
        create("edges", 12)
        edge_cnt = fill_with_edges(bootstrap, "edges")
        edges = read(bootstrap, "edges")
        figures = {name: ([], [], []) for name, _, _ in PEERS}
        for turn in range(ROUNDS):
            for number, (name, copy, _) in enumerate(PEERS if turn % 2 else PEERS[::-1]):
                target = f"target-{turn}-{number}"
                create(target, PARTITIONS)
                rate, usage = copy(bootstrap, "source", target, RECORDS)
                for figure, value in zip(figures[name], (rate, (usage.ru_utime + usage.ru_stime) * 1e6 / RECORDS,
                                                         usage.ru_maxrss / 1024)):
                    figure.append(value)
                delete(bootstrap, target)
        print(f"\npeers: {RECORDS:,} records of 100 bytes from 12 to {PARTITIONS} partitions, whole processes with their start\n"
              f"  {'':<28} {'records/s':>10} {'CPU us':>7} {'x ours':>7} {'MiB':>5}  {'exactly once':<12}  loses")
        our_cpu = statistics.median(figures[PEERS[0][0]][1])
        for number, (name, copy, is_exact) in enumerate(PEERS):
            create(f"edges-{number}", PARTITIONS)
            copy(bootstrap, "edges", f"edges-{number}", edge_cnt)
            rate, cpu, memory = (statistics.median(figure) for figure in figures[name])
            lost = ", ".join(losses(edges, read(bootstrap, f"edges-{number}"))) or "nothing"
            print(f"  {name:<28} {rate:>10,.0f} {cpu:>7.2f} {cpu / our_cpu:>7.2f} {memory:>5.0f}  {'yes' if is_exact else 'no':<12}"
                  f"  {lost}", flush=True)
