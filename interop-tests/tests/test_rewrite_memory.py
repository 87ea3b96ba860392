"""What rewrite holds in memory on a real Kafka, however long a topic's batches are and however many partitions it has."""

import json
import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from support import most_resident, unique

START_MS = int(time.time() * 1000) - 3_600_000
TOLD = 200_000_000  # docs/rewrite.md: for 1,000 partitions
PARTITIONS, RECORDS = 1000, 120  # of each: 240 MB, and no batch fits into its partition's share of the memory


def fill(bootstrap, topic):
    """Times rise through all partitions alike, so that a merge needs every one of them all the time."""
    p = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1000, "compression.type": "lz4",
                  "queue.buffering.max.messages": PARTITIONS * RECORDS, "queue.buffering.max.kbytes": 1 << 20,
                  "batch.num.messages": RECORDS})
    for partition in range(PARTITIONS):
        for i in range(RECORDS):
            p.produce(topic, key=b"%d-%d" % (partition, i), value=bytes(2000), partition=partition,
                      timestamp=START_MS + i * PARTITIONS + partition)
    assert p.flush(120) == 0


@pytest.fixture
def crowded(kafka):
    """A topic of many partitions and the name of its copy; both are deleted again, as many partitions burden a broker."""
    source, target = kafka.create(unique("crowded"), PARTITIONS), unique("crowded-copy")
    fill(kafka.bootstrap, source)
    yield source, target
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for deleted in admin.delete_topics([source, target], operation_timeout=60).values():
        deleted.result()


def test_a_thousand_partitions_stay_within_what_is_told(kafka, crowded, repartition, librdkafka, tmp_path):
    source, target = crowded
    with open(tmp_path / "report", "w+", encoding="utf-8") as out, open(tmp_path / "errors", "w+", encoding="utf-8") as errors:
        process = repartition.start("rewrite", source, target, "--partitions", PARTITIONS, "-b", kafka.bootstrap, "--order", "merge",
                                    "--execute", "--compression", "lz4", "--output", "json", librdkafka=librdkafka, stdout=out,
                                    stderr=errors)
        resident = most_resident(process)
        out.seek(0)
        errors.seek(0)
        assert process.returncode == 0, errors.read()
        assert json.load(out)["result"]["records"] == PARTITIONS * RECORDS
    assert resident < TOLD
