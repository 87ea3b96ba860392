"""confluent-kafka: confluent.py PARTITIONER|default BOOTSTRAP TAG. The job is on standard input."""
import sys

import confluent_kafka
from job import lines, value

partitioner, bootstrap, tag = sys.argv[1:]
config = {"bootstrap.servers": bootstrap}
if partitioner != "default":
    config["partitioner"] = partitioner
producer = confluent_kafka.Producer(config)
failed = []


def delivered(error, _message):
    if error:
        failed.append(error.str())


for number, topic, key in lines():
    producer.produce(topic, value(tag, number), key=key, on_delivery=delivered)
    producer.poll(0)
if producer.flush(120) or failed:
    sys.exit(f"not delivered: {failed[:1]}")
