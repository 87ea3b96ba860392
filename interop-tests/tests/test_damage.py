"""A log that rots: bits of a broker's segment are turned on disk, and every command has to say where, and copy none of it.

The broker is left running: it sends what its files hold, and does not look at the contents of batches.
"""

import functools
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer
from records import read
from support import HANG_S, Librdkafka, unique

PARTITIONS, VICTIM, BATCHES, IN_BATCH, DAMAGED = 2, 1, 6, 50, 3
# Byte of a batch, the bit that is turned, and what is said. Only what lies behind the checksum is covered by it.
PLACES = {
    "a record": (100, 1, "failed CRC32C check"),
    "the length": (8, 0x40, "gave nothing for 2 s"),
    "the first offset": (7, 1, "the leader's log is damaged"),
    "the first offset, beyond the end": (1, 1, "the leader's log is damaged"),
}


def fill(kafka, topic):
    """Batches of the same number of records, so that it is known where each begins."""
    for number in range(BATCHES):
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 60000, "enable.idempotence": True})
        for i in range(PARTITIONS * IN_BATCH):
            producer.produce(topic, key=b"%d" % i, value=b"%d" % number, partition=i % PARTITIONS)
        assert producer.flush(60) == 0


def turn(kafka, topic, place):
    """Turns the bit in its batch, or back."""
    segment, = kafka.data.glob(f"*/log/{topic}-{VICTIM}/*.log")
    byte, bit, _ = PLACES[place]
    with open(segment, "r+b") as log:
        at = 0
        for _ in range(DAMAGED):
            log.seek(at + 8)
            at += 12 + struct.unpack(">i", log.read(4))[0]
        log.seek(at + byte)
        value = log.read(1)[0]
        log.seek(at + byte)
        log.write(bytes([value ^ bit]))


def run_all(repartition, librdkafka, bootstrap, commands):
    """At the same time. @returns what each said."""
    started = [repartition.start(*args, "-b", bootstrap, "--timeout-ms", 2000, librdkafka=librdkafka, stderr=subprocess.PIPE)
               for args in commands]
    said = [process.communicate(timeout=HANG_S)[1].decode() for process in started]
    assert [process.returncode for process in started] == [3] * len(commands), said
    return said


@pytest.mark.parametrize("place", PLACES)
def test_a_damaged_batch_is_told_and_not_copied(kafka, topic, repartition, place):
    source, whole = topic("rot", partitions=PARTITIONS), unique("whole")
    fill(kafka, source)
    repartition("rewrite", source, whole, "--partitions", 3, "-b", kafka.bootstrap, "--execute", "--order", "merge").ok()
    turn(kafka, source, place)
    # Its records' own bytes are well where only the offset has moved: they may be copied, those behind them may not.
    due = DAMAGED * IN_BATCH
    seen_to = due + IN_BATCH if place == "the first offset" else due
    targets = []
    for name in ("old", "new"):
        copy, followed = unique("copy"), unique("followed")
        rewrite = ("rewrite", source, copy, "--partitions", 3, "--execute", "--order", "merge")
        said = run_all(repartition, Librdkafka(name), kafka.bootstrap, [
            ("audit", source), rewrite, ("verify", source, whole), ("repair", source, "--execute"),
            ("follow", source, followed, "--partitions", 3, "--execute", "--from", "earliest")])
        for text in said:
            assert f'partition {VICTIM} of topic "{source}"' in text and PLACES[place][2] in text, text
            assert f"at offset {due} " in text.replace(":", " ") or seen_to > due, text
        targets += [copy, followed]
    turn(kafka, source, place)  # as on another replica, which is whole
    with ThreadPoolExecutor() as pool:
        good, *copies = pool.map(functools.partial(read, kafka.bootstrap), [source, *targets])
    may_be = {r.content for r in good if r.partition != VICTIM or r.offset < seen_to}
    for copied in ([r.content for r in found] for found in copies):
        assert set(copied) <= may_be and len(copied) == len(set(copied))
    if seen_to > due:
        return
    repartition(*rewrite, "-b", kafka.bootstrap).ok()
    repartition("verify", source, copy, "-b", kafka.bootstrap).ok()
