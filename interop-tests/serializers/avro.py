#!/usr/bin/env python3
"""confluent-kafka's AvroSerializer: keys as JSON objects, one a line, become the bytes that it writes for them.

Prints them in hex; with -b it produces them instead, each with the JSON line as its value, and prints their partitions.
It knows nothing of Keyroute: what a plugin does is said with -X, as in any program that passes its configuration on.
"""

import argparse
import json
import sys

import confluent_kafka
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("registry", help="base URL of the Confluent API")
    p.add_argument("topic")
    p.add_argument("schema", type=argparse.FileType(encoding="utf-8"), help="file of the key's Avro schema")
    p.add_argument("-b", "--bootstrap-server", metavar="ADDRESS")
    p.add_argument("-X", dest="properties", action="append", default=[], metavar="NAME=VALUE")
    args = p.parse_args()
    with args.schema as f:
        serialize = AvroSerializer(SchemaRegistryClient({"url": args.registry}), f.read())
    context = SerializationContext(args.topic, MessageField.KEY)
    keys = [(line, serialize(json.loads(line), context)) for line in sys.stdin.read().splitlines()]
    if not args.bootstrap_server:
        for _, key in keys:
            print(key.hex())
        return 0
    producer = confluent_kafka.Producer({"bootstrap.servers": args.bootstrap_server,
                                         **dict(pair.split("=", 1) for pair in args.properties)})
    partitions = {}

    def delivered(number):
        def callback(error, message):
            partitions[number] = error.str() if error else message.partition()
        return callback

    for number, (line, key) in enumerate(keys):
        producer.produce(args.topic, key=key, value=line, on_delivery=delivered(number))
        producer.poll(0)
    producer.flush()
    for number in range(len(keys)):
        print(partitions[number])
    return 0 if all(isinstance(p, int) for p in partitions.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
