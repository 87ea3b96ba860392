"""pykafka: py_kafka.py BOOTSTRAP TAG. The job is on standard input."""
import sys

import pykafka
from job import lines, value

bootstrap, tag = sys.argv[1:]
# One record at a time: told to stop, it loses the last of what waits.
client = pykafka.KafkaClient(hosts=bootstrap)
producers = {}
for number, topic, key in lines():
    if topic not in producers:
        producers[topic] = client.topics[topic].get_producer(sync=True, linger_ms=1)
    producers[topic].produce(value(tag, number), partition_key=key)
for producer in producers.values():
    producer.stop()
