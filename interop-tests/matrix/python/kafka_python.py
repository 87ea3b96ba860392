"""kafka-python and its fork: kafka_python.py PARTITIONER|default BOOTSTRAP TAG. The job is on standard input."""
import sys

import kafka
import kafka.partitioner
from job import lines, refused, value

partitioner, bootstrap, tag = sys.argv[1:]
config = {"bootstrap_servers": bootstrap}
if partitioner == "Murmur2Partitioner":
    config["partitioner"] = kafka.partitioner.Murmur2Partitioner([])  # it takes the partitions again with each call
elif partitioner != "default":
    config["partitioner"] = getattr(kafka.partitioner, partitioner)()
producer = kafka.KafkaProducer(**config)
sent = []
for number, topic, key in lines():
    try:
        sent.append(producer.send(topic, value(tag, number), key=key))
    except TypeError as e:  # a key that it cannot hash
        refused(number, e)
producer.flush()
for future in sent:
    future.get(120)
producer.close()
