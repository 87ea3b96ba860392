#!/usr/bin/python3
"""The shop team's service: confluent-kafka, that is librdkafka. Usage: shop.py ADDRESS TOPIC [PROPERTY=VALUE...] < EVENTS"""
import sys

from confluent_kafka import Producer


def main():
    address, topic, *properties = sys.argv[1:]
    config = {"bootstrap.servers": address, "linger.ms": 20}
    config.update(p.split("=", 1) for p in properties)
    failed = []
    producer = Producer(config, on_delivery=lambda err, _: err and failed.append(err))
    count = 0
    for line in sys.stdin:
        team, at_ms, key, value = line.rstrip("\n").split("\t")
        if team == "shop":
            producer.produce(topic, value, key, timestamp=int(at_ms), headers=[("team", b"shop")])
            producer.poll(0)
            count += 1
    if producer.flush(30) or failed:
        sys.exit(f"shop: not everything was written: {failed[:1]}")
    print(f"{count:,}")


main()
