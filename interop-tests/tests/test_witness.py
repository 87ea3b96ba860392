"""The plugin as a witness in programs that know nothing of it: what lies elsewhere than the policy says is noticed."""

import json
import re
import zlib

import pytest
from support import BUILD, DEBIAN_PYTHON, WHEEL_PYTHON, need_command, need_file, run

COUNT = 12
PLUGIN = BUILD / "keyroute.so"
KEYS = [f"secret-{i}" for i in range(60)]

# The program names each record's partition itself.
BY_PARTITION = """
import confluent_kafka, json, sys
conf, topic, places = json.load(sys.stdin)
producer = confluent_kafka.Producer(conf)
for key, partition in places:
    producer.produce(topic, "v", key, partition)
assert producer.flush(60) == 0
"""

CONSUME = """
import confluent_kafka, json, sys
conf, topic, count = json.load(sys.stdin)
consumer = confluent_kafka.Consumer({**conf, "group.id": "witness", "auto.offset.reset": "earliest"})
consumer.assign([confluent_kafka.TopicPartition(topic, p, 0) for p in range(12)])
for _ in range(count):
    message = consumer.poll(60)
    assert message and not message.error(), message and message.error()
consumer.close()
"""


def by_crc32(key):
    return zlib.crc32(key.encode()) % COUNT


@pytest.fixture(params=["debian", "wheel"])
def python(request):
    """Two librdkafkas: the oldest one, and the newest inside PyPI's wheel."""
    if request.param == "debian":
        return DEBIAN_PYTHON
    return need_file(WHEEL_PYTHON, "the wheel of confluent-kafka")


@pytest.fixture
def orders(topic):
    return topic("orders", partitions=COUNT)


@pytest.fixture
def plugin(kafka, orders, tmp_path):
    """The properties of a client with the plugin, which pins the topic."""
    need_file(PLUGIN, "our own plugin, which 'make' builds,")
    policy = tmp_path / "keyroute.json"
    policy.write_text(json.dumps({"keyroute": 1, "topics": {orders: {"partitions": COUNT}}}))
    return {"bootstrap.servers": kafka.bootstrap, "plugin.library.paths": str(PLUGIN), "keyroute.policy": str(policy)}


@pytest.fixture
def misplaced(repartition):
    """How many of the keys crc32 sends elsewhere than Java does, as the tool says."""
    routed = repartition("route", "--partitions", COUNT, "--output", "json", stdin="".join(k + "\n" for k in KEYS)).ok()
    places = [json.loads(line)["partition"] for line in routed.out.splitlines()]
    assert len(places) == len(KEYS)
    return sum(java != by_crc32(key) for key, java in zip(KEYS, places))


def kcat(topic, properties):
    return run(need_command("kcat"), "-P", "-t", topic, "-K:", *(a for n, v in properties.items() for a in ("-X", f"{n}={v}")),
               stdin="".join(f"{key}:v\n" for key in KEYS)).ok().err


def play(python, program, *given):
    return run(python, "-c", program, stdin=json.dumps(given)).ok().err


def lines(said):
    """What the witness said. Whatever it was: no key may be among it."""
    assert "secret" not in said
    return re.findall(r"KEYROUTE\|.*\| (topic .* elsewhere than the policy says: .*)", said)


def assert_noticed(said, topic, where, misplaced, remedy):
    found = lines(said)
    assert re.match(rf"topic {topic}: records {where} elsewhere than the policy says: 1 so far \(murmur2 modulo, policy "
                    rf"[0-9a-f]{{16}} from keyroute.policy=\S+, {COUNT} partitions\)", found[0])
    assert [re.search(r"says: (\d+ (so far|in all))", line)[1] for line in found] == \
        ["1 so far", "10 so far", f"{misplaced} in all"]
    assert all("they look like crc32 (librdkafka's default: " in line for line in found[1:])
    assert all(remedy in line for line in found)


def test_kcat_without_force_is_noticed(kafka, orders, plugin, misplaced):
    said = kcat(orders, plugin)
    assert_noticed(said, orders, "delivered", misplaced, f"keyroute.topics.force={orders}")
    assert lines(kcat(orders, {**plugin, "keyroute.topics.force": orders})) == []
    assert "KEYROUTE" not in kcat(orders, {**plugin, "keyroute.witness": "off"})


def test_partitions_that_a_program_names_are_noticed(python, orders, plugin, misplaced):
    places = [(key, by_crc32(key)) for key in KEYS]
    said = play(python, BY_PARTITION, {**plugin, "keyroute.topics.force": orders}, orders, places)
    assert_noticed(said, orders, "delivered", misplaced, "This program names partitions itself")


def test_a_consumer_notices_other_programs_records(python, kafka, orders, plugin, misplaced):
    kcat(orders, {"bootstrap.servers": kafka.bootstrap})
    said = play(python, CONSUME, plugin, orders, len(KEYS))
    assert_noticed(said, orders, "consumed from", misplaced, "repartition audit finds which")
    assert "KEYROUTE" not in play(python, CONSUME, {**plugin, "keyroute.witness": "off"}, orders, len(KEYS))


def test_a_clean_topic_is_silent(python, orders, plugin):
    sent = play(python, BY_PARTITION, plugin, orders, [(key, -1) for key in KEYS])
    assert lines(sent) == [] and f"topic {orders}: murmur2 modulo" in sent
    assert "KEYROUTE" not in play(python, CONSUME, plugin, orders, len(KEYS))
