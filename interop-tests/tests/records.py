"""Records as an independent reader sees them, and Java's partitioner written down once more, to judge our tool by."""

import ctypes
import json
import time
from collections import defaultdict
from typing import NamedTuple, Optional

JOBS = "keyroute-jobs"


class Record(NamedTuple):
    partition: int
    offset: int
    timestamp: int  # -1: none
    key: Optional[bytes]
    value: Optional[bytes]
    headers: tuple

    @property
    def content(self):
        return self.key, self.value, self.headers, self.timestamp


def java_partition(key, partitions):
    """org.apache.kafka.common.utils.Utils.murmur2, toPositive, modulo."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    for i in range(0, len(key) // 4 * 4, 4):
        k = int.from_bytes(key[i:i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    tail = key[len(key) // 4 * 4:]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return ((h ^ h >> 15) & 0x7FFFFFFF) % partitions


def headers_of(message):
    """A message's headers. Debian's confluent_kafka 1.7.0 gives a header without a value a None that it does not own: after
    enough of them the interpreter aborts at its end. So what it owes is paid here; the wheel of 2.16 owes nothing.
    """
    import confluent_kafka  # pylint: disable=import-outside-toplevel
    headers = tuple(message.headers() or ())
    if confluent_kafka.version()[0].startswith("1."):
        for _ in [name for name, value in headers if value is None]:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    return headers


def watermarks(consumer, topic, partition):
    """First offset and end. The broker answers before it leads the partitions of a topic that was made a moment ago."""
    from confluent_kafka import KafkaError, KafkaException, TopicPartition  # pylint: disable=import-outside-toplevel
    while True:
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, partition), 60)
        except KafkaException as e:
            if e.args[0].code() not in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE):
                raise
            time.sleep(0.05)


def read(bootstrap, topic):
    """Everything that a read_committed reader sees, by partition and offset."""
    from confluent_kafka import Consumer, TopicPartition  # pylint: disable=import-outside-toplevel
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "judge", "isolation.level": "read_committed",
                         "enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error",
                         "fetch.wait.max.ms": 10})  # an end shows only in an answer without records, which waits that long
    try:
        partitions = list(consumer.list_topics(topic, 30).topics[topic].partitions)
        starts = [watermarks(consumer, topic, p)[0] for p in partitions]
        consumer.assign([TopicPartition(topic, p, start) for p, start in zip(partitions, starts)])
        found, ended = [], set()
        while len(ended) < len(partitions):
            for message in consumer.consume(10000, 0.05):
                if message.error():
                    ended.add(message.partition())
                    assert message.error().name() == "_PARTITION_EOF", message.error()
                    continue
                kind, timestamp = message.timestamp()
                found.append(Record(message.partition(), message.offset(), timestamp if kind else -1, message.key(),
                                    message.value(), headers_of(message)))
    finally:
        consumer.close()
    return sorted(found, key=lambda record: record[:2])


def sequences(records):
    """Key to the list of its records' contents, in the order of partition and offset."""
    out = defaultdict(list)
    for record in records:
        out[record.key].append(record.content)
    return dict(out)


def end_offsets(bootstrap, topic):
    """Ends of the logs themselves: records of open and aborted transactions count, and the marks that end them."""
    from confluent_kafka import Consumer  # pylint: disable=import-outside-toplevel
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "judge", "isolation.level": "read_uncommitted"})
    try:
        return [watermarks(consumer, topic, p)[1] for p in sorted(consumer.list_topics(topic, 30).topics[topic].partitions)]
    finally:
        consumer.close()


def is_stable(bootstrap, topic):
    """Whether a committed reader gets to the end of every log: no transaction is open."""
    from confluent_kafka import Consumer, TopicPartition  # pylint: disable=import-outside-toplevel
    ends = end_offsets(bootstrap, topic)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "judge", "isolation.level": "read_committed"})
    try:
        return all(consumer.get_watermark_offsets(TopicPartition(topic, p), 30)[1] == end for p, end in enumerate(ends))
    finally:
        consumer.close()


def stored_progress(bootstrap, topic, job):
    """Sum of the offsets that a job has stored, -1 for none."""
    from confluent_kafka import Consumer, TopicPartition  # pylint: disable=import-outside-toplevel
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": job})
    try:
        partitions = consumer.list_topics(topic, 30).topics[topic].partitions
        offsets = [p.offset for p in consumer.committed([TopicPartition(topic, p) for p in partitions], 30)]
        return sum(offset for offset in offsets if offset >= 0) if any(offset >= 0 for offset in offsets) else -1
    finally:
        consumer.close()


def holders(kafka, job):
    """How many members of the job's group have partitions: an assignment without topics has ten bytes."""
    from confluent_kafka.admin import AdminClient  # pylint: disable=import-outside-toplevel
    found = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_groups(job, 30)
    return sum(len(member.assignment) > 10 for group in found for member in group.members)


def await_progress(bootstrap, topic, job, beyond, process, seconds=60):
    """Waits until the running process has committed more than that. @returns the progress."""
    deadline = time.monotonic() + seconds
    while True:
        progress = stored_progress(bootstrap, topic, job)
        if progress > beyond:
            return progress
        assert process.poll() is None, f"it ended with {process.returncode} at {progress}, before {beyond} was passed"
        assert time.monotonic() < deadline, f"no progress beyond {beyond} in {seconds} s"
        time.sleep(0.1)


def said_of(bootstrap, job, jobs=JOBS):
    """@returns the descriptor, the positions of two clusters, and the checkpoints in order, as they were written."""
    descriptor, positions, checkpoints = None, {}, []
    for record in read(bootstrap, jobs):
        name, *rest = record.key.decode().split("|")
        if name != job:
            continue
        value = json.loads(record.value)
        if not rest:
            descriptor = value
        elif rest[0] == "progress":
            positions[rest[1], int(rest[2])] = value
        else:
            checkpoints.append(value)
    return descriptor, positions, checkpoints
