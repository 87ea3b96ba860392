"""The records that every client of the matrix is given."""

import functools
import json
import random

from support import INTEROP

COUNTS = (1, 2, 3, 7, 12, 30, 50, 64, 96, 1000)
KEYS_OF_A_FLAG = 5
LONGEST_KEY = 1024
# A key comes twice: a client that spreads would else look like a function that nobody knows.
TIMES, EMPTY_TIMES, NULL_TIMES = 2, 4, 12


def topic(count):
    return f"matrix-{count}"


def key_of(test):
    """The key of a golden vector."""
    if "key" in test:
        return bytes.fromhex(test["key"])
    return bytes((i * 131 + 7) % 256 for i in range(test["generator"]["length"]))


@functools.lru_cache(None)
def keys():
    """From the golden vectors, some for each thing that a vector is there to catch, in each function's file."""
    chosen, full = {}, {}
    for path in sorted((INTEROP / "vectors").glob("*.json"), key=lambda path: path.stem != "murmur2"):
        vectors = json.loads(path.read_text(encoding="utf-8"))
        for test in (test for group in vectors.get("testGroups", ()) for test in group["tests"]):
            key, flags = key_of(test), test["flags"] if path.stem == "murmur2" else \
                [f"{path.stem} {flag}" for flag in test["flags"] if flag == "HashExtreme"]
            wanted = [flag for flag in flags if full.get(flag, 0) < KEYS_OF_A_FLAG]
            if key and len(key) <= LONGEST_KEY and test["result"] == "valid" and wanted and key not in chosen:
                chosen[key] = True
                for flag in wanted:
                    full[flag] = full.get(flag, 0) + 1
    return tuple(chosen)


def is_of_kind(key, kind):
    if kind == "ascii":
        return all(0x20 < byte < 0x7F for byte in key)
    if kind == "utf8":
        try:
            return b"\0" not in key and bool(key.decode("utf-8"))
        except UnicodeDecodeError:
            return False
    return True


@functools.lru_cache(None)
def records(kind):
    """@returns (partition count, key or None) of each line, mixed, but always in the same way."""
    lines = []
    for count in COUNTS:
        mixed = [key for key in keys() if is_of_kind(key, kind)] * TIMES + [b""] * EMPTY_TIMES + [None] * NULL_TIMES
        random.Random(count).shuffle(mixed)
        lines += [(count, key) for key in mixed]
    return tuple(lines)


def text(row):
    """The job as a client reads it: TOPIC, TAB, the key in hexadecimal or - for none."""
    return "".join(f"{topic(count)}\t{'-' if key is None else key.hex()}\n" for count, key in records(row.keys))
