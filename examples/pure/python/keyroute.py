"""Routes by a compiled policy with nothing but the standard library. docs/policy-format.md is the contract.

  rule = load("compiled.json", "orders", 12)      # None: the policy leaves this topic to the client
  log(rule.fingerprint)                           # who logs the same one routes alike
  rule.partition(b"customer-42")                  # None for a missing key, which stays the client's

What this file does not know, and a topic of another partition count, is a ValueError: never route by a guess. So is a map that
contradicts itself; of what is wrong in other ways `repartition policy check` tells.
"""
import bisect
import fnmatch
import json
from typing import Callable, NamedTuple

MASK, M = 0xffffffff, 0x5bd1e995


def murmur2(key):
    """Kafka's: 31 bits."""
    h, whole = 0x9747b28c ^ len(key), len(key) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(key[i:i + 4], "little") * M & MASK
        h = (h * M & MASK) ^ ((k ^ k >> 24) * M & MASK)
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * M & MASK
    h = (h ^ h >> 13) * M & MASK
    return (h ^ h >> 15) & 0x7fffffff


class Rule(NamedTuple):
    fingerprint: str
    place: Callable

    def partition(self, key):
        return None if key is None else self.place(key)


def load(path, topic, partitions):
    with open(path, encoding="utf-8") as file:
        policy = json.load(file)
    refuse_others(policy, {"keyroute", "topics"})
    need(policy.get("keyroute") == 1, f'"keyroute" is {policy.get("keyroute")}, known is 1')
    rule = rule_of(policy["topics"], topic)
    if rule is None:
        return None
    refuse_others(rule, {"partitions", "key", "hash", "map", "locations", "fingerprint"})
    if rule.get("partitions", partitions) != partitions:
        raise ValueError(f'"{topic}" has {partitions} partitions, the policy is made for {rule["partitions"]}')
    for name, known in ("hash", "murmur2"), ("key", {"use": "bytes"}):
        if rule.get(name, known) != known:
            raise ValueError(f'no {name} {json.dumps(rule[name])} here')
    return Rule(rule["fingerprint"], placing(rule.get("map", {"kind": "modulo"}), partitions))


def refuse_others(found, known):
    for name in found:
        if name not in known and name != "comment":
            raise ValueError(f'no field "{name}" here')


def rule_of(topics, topic):
    """An exact name, or the pattern with the most characters that are no wildcard."""
    if topic in topics:
        return topics[topic]
    patterns = [name for name in topics if fnmatch.fnmatchcase(topic, name)]
    return topics[min(patterns, key=lambda name: (-sum(c not in "*?" for c in name), name))] if patterns else None


FIELDS = {
    "modulo": set(), "slots": {"slots", "stride", "runs"}, "hash-range": {"bounds", "owners"}, "range": {"bounds", "owners"},
    "table": {"keys", "key-format", "else", "delimiter", "first", "first-bytes"},
    "two-level": {"fanout", "delimiter", "first", "first-bytes"},
}


def placing(plan, n):
    """@returns what gives a key its partition, with all that is costly done already."""
    kind = plan["kind"]
    if kind not in FIELDS:
        raise ValueError(f'no map "{kind}" here')
    refuse_others(plan, FIELDS[kind] | {"kind"})
    if kind == "modulo":
        return lambda key: murmur2(key) % n
    if kind == "slots":
        owners = owned(unpacked(plan["slots"], plan["stride"], plan["runs"]), n)
        return lambda key: owners[murmur2(key) % len(owners)]
    if kind == "hash-range":
        bounds, owners = ranges(plan["bounds"], plan["owners"], n)
        need(all(0 < bound <= 0x7fffffff for bound in bounds), "a bound beyond the hash")
        return lambda key: owners[bisect.bisect_right(bounds, murmur2(key))]
    if kind == "range":
        bounds = [bytes.fromhex(b["hex"]) if isinstance(b, dict) else b.encode() for b in plan["bounds"]]
        bounds, owners = ranges(bounds, plan.get("owners", range(len(bounds) + 1)), n)
        return lambda key: owners[bisect.bisect_right(bounds, key)]
    split = splitting(plan)
    if kind == "two-level":
        need("delimiter" in plan or "first-bytes" in plan, "no way to split a key")
        need(0 < plan["fanout"] <= n, f'no fanout of {plan["fanout"]} among {n}')

        def two_level(key):
            first, rest = split(key)
            return (murmur2(first) % n + murmur2(rest) % plan["fanout"]) % n
        return two_level
    need(plan.get("key-format", "text") in ("text", "hex"), "keys are neither text nor hex")
    decode = bytes.fromhex if plan.get("key-format") == "hex" else str.encode
    pinned = {decode(key): owners if isinstance(owners, list) else [owners] for key, owners in plan["keys"].items()}
    for owners in pinned.values():
        need(owned(owners, n), "a key without a partition")
    others = placing(plan.get("else", {"kind": "modulo"}), n)

    def table(key):
        first, rest = split(key)
        owners = pinned.get(first)
        return owners[murmur2(rest) % len(owners)] if owners else others(key)
    return table


def need(condition, what):
    if not condition:
        raise ValueError(what)


def owned(owners, n):
    for owner in owners:
        need(0 <= owner < n, f"no partition {owner} among {n}")
    return owners


def ranges(bounds, owners, n):
    need(all(a < b for a, b in zip(bounds, bounds[1:])), "bounds that do not rise")
    need(len(owners) == len(bounds) + 1, "not one owner more than bounds")
    return bounds, owned(owners, n)


def unpacked(slots, stride, runs):
    """Slots in the order in which runs tell their owners: 0, stride, 2 stride, ..., 1, 1 + stride, ..."""
    need(stride > 0 and slots % stride == 0, "a stride that does not divide the slots")
    need(sum(length for _, length in runs) == slots and all(length > 0 for _, length in runs), "runs that do not fill the slots")
    owners, order = [0] * slots, (slot for start in range(stride) for slot in range(start, slots, stride))
    for owner, length in runs:
        for _ in range(length):
            owners[next(order)] = owner
    return owners


def splitting(plan):
    """@returns what gives a key's first part and the rest; the delimiter between them belongs to neither."""
    need("delimiter" not in plan or "first-bytes" not in plan, "two ways to split a key")
    need(plan.get("first-bytes", 1) > 0 and plan.get("first", 1) > 0 and plan.get("delimiter") != "", "a first part of nothing")
    if "first-bytes" in plan:
        return lambda key: (key[:plan["first-bytes"]], key[plan["first-bytes"]:])
    if "delimiter" not in plan:
        return lambda key: (key, b"")
    delimiter, fields = plan["delimiter"].encode(), plan.get("first", 1)

    def split(key):
        parts = key.split(delimiter, fields)
        return (key, b"") if len(parts) <= fields else (delimiter.join(parts[:-1]), parts[-1])
    return split
