#!/usr/bin/env python3
"""A Python producer whose records are routed by the policy: two lines of configuration, nothing else.

  produce.py BOOTSTRAP TOPIC POLICY < LINES        a line: KEY, a tab, VALUE; or VALUE alone, without a key

KEYROUTE_PLUGIN names the plugin where it is not installed for the loader to find: pkg-config --variable=plugin keyroute
"""
import os
import sys

from confluent_kafka import Producer


def main():
    bootstrap, topic, policy = sys.argv[1:]
    failed = []
    producer = Producer({
        "bootstrap.servers": bootstrap,
        "plugin.library.paths": os.environ.get("KEYROUTE_PLUGIN", "keyroute"),
        "keyroute.policy": policy,
    }, on_delivery=lambda err, message: err and failed.append(err))
    for line in sys.stdin.buffer:
        key, tab, value = line.rstrip(b"\n").partition(b"\t")
        producer.produce(topic, value if tab else key, key if tab else None)
        producer.poll(0)
    undelivered = producer.flush(30)
    if failed or undelivered:
        sys.exit(f"produce: {len(failed) + undelivered} records were not delivered: {failed[:1]}")


main()
