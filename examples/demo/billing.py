#!/usr/bin/python3
"""The billing team's service: kafka-python, an independent client that hashes as Java does. Usage: billing.py ADDRESS TOPIC
< EVENTS"""
import sys

from kafka import KafkaProducer


def main():
    address, topic = sys.argv[1:]
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=20)
    results = []
    for line in sys.stdin:
        team, at_ms, key, value = line.rstrip("\n").split("\t")
        if team == "billing":
            results.append(producer.send(topic, key=key.encode(), value=value.encode(), timestamp_ms=int(at_ms),
                                         headers=[("team", b"billing")]))
    producer.flush(30)
    for result in results:
        result.get(0)  # raises what went wrong
    print(f"{len(results):,}")


main()
