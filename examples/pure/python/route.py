"""keyroute.py as a program for repartition conform. Usage: route.py COMPILED < KEYS

A key a line, in hexadecimal; -: none.
"""
import os
import sys

from keyroute import load

topic = os.environ["KEYROUTE_TOPIC"]
try:
    rule = load(sys.argv[1], topic, int(os.environ["KEYROUTE_PARTITIONS"]))
except (OSError, ValueError) as why:
    sys.exit(f"{sys.argv[1]}: {why}")
if rule is None:
    sys.exit(f'{sys.argv[1]}: no rule for "{topic}"')
print(f"{topic}: policy {rule.fingerprint}", file=sys.stderr)
for line in sys.stdin:
    answer = rule.partition(None if line == "-\n" else bytes.fromhex(line))
    print("-" if answer is None else answer)
