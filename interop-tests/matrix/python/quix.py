"""Quix Streams: quix.py PARTITIONER|default BOOTSTRAP TAG. The job is on standard input."""
import sys

from job import lines, value
from quixstreams import Application

partitioner, bootstrap, tag = sys.argv[1:]
extra = {} if partitioner == "default" else {"partitioner": partitioner}
application = Application(broker_address=bootstrap, producer_extra_config=extra, loglevel="ERROR")
failed = []
with application.get_producer() as producer:
    for number, topic, key in lines():
        producer.produce(topic, value(tag, number), key=key, on_delivery=lambda error, _: error and failed.append(error))
if failed:
    sys.exit(f"not delivered: {failed[0]}")
