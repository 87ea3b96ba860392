#!/usr/bin/env python3
"""confluent-kafka's producer, fed from lines of KEY TAB VALUE [TAB TIMESTAMP_MS].

The bytes of key and value are sent as they are in the file. interop-tests/java/Produce.java takes the same lines.
It knows nothing of Keyroute: what a plugin does to it is said with -X, as in any program that passes its configuration on.
"""

import argparse
import sys

import confluent_kafka

USAGE_ERROR = 2


def fail(text, code):
    print(f"produce.py: {text}", file=sys.stderr)
    sys.exit(code)


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-b", "--bootstrap-server", required=True, metavar="ADDRESS")
    p.add_argument("-t", "--topic", required=True)
    p.add_argument("--null-keys", action="store_true", help="an empty key field is no key (else: the empty key)")
    p.add_argument("--null-values", action="store_true",
                   help="an empty value field is no value, a tombstone (else: the empty value)")
    p.add_argument("--hex-keys", action="store_true", help="the key field is hexadecimal")
    p.add_argument("--report", action="store_true",
                   help="print PARTITION TAB OFFSET of each record, in the order of the lines")
    p.add_argument("-X", dest="properties", action="append", default=[], metavar="NAME=VALUE",
                   help="a librdkafka property; repeatable")
    p.add_argument("file", nargs="?", default="-", help="standard input when absent or -")
    args = p.parse_args()
    for pair in args.properties:
        if "=" not in pair:
            fail(f"-X {pair}: expected NAME=VALUE", USAGE_ERROR)
    return args


def parse_record(args, line, number):
    fields = line.rstrip(b"\n").split(b"\t", 2)
    if len(fields) < 2:
        fail(f"line {number}: expected KEY TAB VALUE", USAGE_ERROR)
    key, value = fields[0], fields[1]
    more = {}
    try:
        if len(fields) == 3:
            more["timestamp"] = int(fields[2])
        if args.hex_keys:
            key = bytes.fromhex(key.decode("ascii"))
    except ValueError as e:
        fail(f"line {number}: {e}", USAGE_ERROR)
    return {"key": None if args.null_keys and not key else key,
            "value": None if args.null_values and not value else value, **more}


class Deliveries:
    """Where each record went. Reports come per partition, so they are brought back into the order of the lines."""

    def __init__(self):
        self.first_error = None
        self.done = 0
        self.places = {}

    def callback(self, number, report):
        def delivered(error, message):
            self.done += 1
            if error and not self.first_error:
                self.first_error = f"line {number}: {error.str()}"
            elif report and not error:
                self.places[number] = (message.partition(), message.offset())
        return delivered


def main():
    args = parse_args()
    try:
        producer = confluent_kafka.Producer({"bootstrap.servers": args.bootstrap_server,
                                             **dict(pair.split("=", 1) for pair in args.properties)})
    except confluent_kafka.KafkaException as e:
        fail(e.args[0].str(), USAGE_ERROR)
    deliveries = Deliveries()
    number = 0
    try:
        source = sys.stdin.buffer if args.file == "-" else open(args.file, "rb")
    except OSError as e:
        fail(f"{args.file}: {e.strerror}", USAGE_ERROR)
    for number, line in enumerate(source, 1):
        record = parse_record(args, line, number)
        while True:
            try:
                producer.produce(args.topic, on_delivery=deliveries.callback(number, args.report), **record)
                break
            except BufferError:  # the queue is full: let some be delivered
                producer.poll(1)
            except confluent_kafka.KafkaException as e:
                fail(f"line {number}: {e.args[0].str()}", 1)
        producer.poll(0)
    producer.flush()
    for line in sorted(deliveries.places):
        print("{}\t{}".format(*deliveries.places[line]))
    if deliveries.first_error or deliveries.done != number:
        fail(f"a record was not delivered: {deliveries.first_error or 'no report for it'}", 1)
    print(f"produced {number} records", file=sys.stderr)


if __name__ == "__main__":
    main()
