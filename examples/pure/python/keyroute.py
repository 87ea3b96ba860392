"""Routes by a compiled policy with nothing but the standard library. docs/policy-format.md is the contract.

  rule = load("compiled.json", "orders", 12)      # None: the policy leaves this topic to the client
  log(rule.fingerprint)                           # who logs the same one routes alike
  rule.partition(b"customer-42")                  # None for a missing key, which stays the client's

What this file does not know, a topic of another partition count, and whatever else is wrong with the file is a ValueError: never
route by a guess. Only a change that leaves the policy good is for `repartition policy check`, which has the fingerprint.
"""
import bisect
import fnmatch
import json
import re
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
    with open(path, "rb") as file:
        policy = parse(file.read())
    fields(policy, {"keyroute", "topics"}, ())
    need(policy["keyroute"] == 1 and type(policy["keyroute"]) is int, f'"keyroute" is {policy["keyroute"]}, known is 1')
    need(isinstance(policy["topics"], dict) and policy["topics"], "no topics")
    for name, rule in policy["topics"].items():
        need(re.fullmatch(r"(?!\.\.?$)[\w.*?-]{1,249}", name, re.ASCII), f"no name of a topic: {name}")
        typed(rule, dict)
    rule = rule_of(policy["topics"], topic)
    if rule is None:
        return None
    fields(rule, {"fingerprint"}, {"partitions", "key", "hash", "map", "locations"})
    pinned = whole(rule.get("partitions", partitions), 1, 1000000)
    need(pinned == partitions, f'"{topic}" has {partitions} partitions, the policy is made for {pinned}')
    for name, known in ("hash", "murmur2"), ("key", {"use": "bytes"}):
        need(rule.get(name, known) == known, f"no {name} {json.dumps(rule.get(name))} here")
    for name, place in typed(rule.get("locations", {}), dict).items():
        need(re.fullmatch(r"\d+(-\d+)?", name, re.ASCII) and re.fullmatch("[^\t\r\n]+", typed(place, str)), "no location")
    need(re.fullmatch("[0-9a-f]{16}", typed(rule["fingerprint"], str)), "no fingerprint: repartition policy compile writes one")
    plan = rule.get("map", {"kind": "modulo"})
    place = placing(plan, partitions)
    need("partitions" in rule or plan["kind"] == "modulo", '"partitions" is missing: the map names partitions')
    return Rule(rule["fingerprint"], place)


def parse(text):
    """JSON that says everything once, and no numbers but whole ones, which is all that a compiled policy has."""
    def refuse(what):
        raise ValueError(f"no whole number: {what}")

    def once(pairs):
        found = {}
        for name, value in pairs:
            need(typed(name, str) not in found, f'"{name}" stands there twice')
            found[name] = value
        return found
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=once, parse_float=refuse, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deep") from None


def need(condition, what):
    if not condition:
        raise ValueError(what)


def typed(found, kind):
    known = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}
    need(type(found) is kind, f"expected {known[kind]}, found {json.dumps(found)[:60]}")
    if kind is str:
        need("\0" not in found and not re.search("[\ud800-\udfff]", found), "a text with a NUL or half a letter")
    return found


def whole(found, low, high=0x7fffffff):
    need(low <= typed(found, int) <= high, f"expected a whole number, {low} to {high}, found {found}")
    return found


def fields(found, needed, others):
    for name in typed(found, dict):
        need(name in needed or name in others or name == "comment", f'no field "{name}" here')
    for name in needed:
        need(name in found, f'"{name}" is missing')
    typed(found.get("comment", ""), str)


def rule_of(topics, topic):
    """An exact name, or the pattern with the most characters that are no wildcard."""
    if topic in topics:
        return topics[topic]
    patterns = [name for name in topics if fnmatch.fnmatchcase(topic, name)]
    return topics[min(patterns, key=lambda name: (-sum(c not in "*?" for c in name), name))] if patterns else None


# Of each map: the fields that must stand there, and those that may.
FIELDS = {
    "modulo": (set(), set()), "slots": ({"slots", "stride", "runs"}, set()), "hash-range": ({"bounds", "owners"}, set()),
    "range": ({"bounds"}, {"owners"}), "table": ({"keys"}, {"key-format", "else", "delimiter", "first", "first-bytes"}),
    "two-level": ({"fanout"}, {"delimiter", "first", "first-bytes"}),
}


def placing(plan, n, depth=1):
    """@returns what gives a key its partition, with all that is costly done already."""
    kind = typed(typed(plan, dict).get("kind"), str)
    need(kind in FIELDS, f'no map "{kind}" here')
    fields(plan, FIELDS[kind][0] | {"kind"}, FIELDS[kind][1])
    need(depth <= 4, "maps more than 4 deep")
    if kind == "modulo":
        return lambda key: murmur2(key) % n
    if kind == "slots":
        owners = unpacked(whole(plan["slots"], 1, 1 << 24), plan["stride"], plan["runs"], n)
        return lambda key: owners[murmur2(key) % len(owners)]
    if kind == "hash-range":
        bounds = [whole(bound, 1) for bound in typed(plan["bounds"], list)]
        owners = range_owners(bounds, plan["owners"], n)
        return lambda key: owners[bisect.bisect_right(bounds, murmur2(key))]
    if kind == "range":
        bounds = [octets(bound) for bound in typed(plan["bounds"], list)]
        owners = range_owners(bounds, plan.get("owners", list(range(n))), n)
        return lambda key: owners[bisect.bisect_right(bounds, key)]
    split = splitting(plan)
    if kind == "two-level":
        need(split, "no way to split a key")
        fanout = whole(plan["fanout"], 1, n)

        def two_level(key):
            first, rest = split(key)
            return (murmur2(first) % n + murmur2(rest) % fanout) % n
        return two_level
    pinned = rows(plan, split, n)
    others = placing(plan.get("else", {"kind": "modulo"}), n, depth + 1)

    def table(key):
        first, rest = split(key) if split else (key, b"")
        owners = pinned.get(first)
        return owners[murmur2(rest) % len(owners)] if owners else others(key)
    return table


def rows(plan, split, n):
    """The pinned keys of a table, each with its partitions."""
    form, pinned = plan.get("key-format", "text"), {}
    need(form in ("text", "hex"), "keys are neither text nor hex")
    for name, found in typed(plan["keys"], dict).items():
        key = of_hex(name) if form == "hex" else name.encode()
        owners = [whole(owner, 0, n - 1) for owner in (found if isinstance(found, list) else [found])]
        need(owners and len(set(owners)) == len(owners), f'"{name}" has no partition, or one twice')
        need(split or not isinstance(found, list), f'no way to split the keys of "{name}" among its partitions')
        need(not split or split(key) == (key, b""), f'"{name}" is no first part: it would be split')
        need(key not in pinned, f'"{name}" stands there twice')
        pinned[key] = owners
    return pinned


def range_owners(bounds, owners, n):
    need(all(a < b for a, b in zip(bounds, bounds[1:])), "bounds that do not rise")
    need(len(typed(owners, list)) == len(bounds) + 1, "not one owner more than bounds")
    return [whole(owner, 0, n - 1) for owner in owners]


def octets(bound):
    """A bound of a range: "text" or {"hex": "00ff"}."""
    if isinstance(bound, dict):
        fields(bound, {"hex"}, ())
    found = of_hex(bound["hex"]) if isinstance(bound, dict) else typed(bound, str).encode()
    need(0 < len(found) < 32768, "a bound of nothing, or too long")
    return found


def of_hex(text):
    need(re.fullmatch("([0-9a-fA-F]{2})*", typed(text, str)), f"no hexadecimal: {text}")
    return bytes.fromhex(text)


def unpacked(slots, stride, runs, n):
    """Slots in the order in which runs tell their owners: 0, stride, 2 stride, ..., 1, 1 + stride, ..."""
    need(slots % whole(stride, 1, slots) == 0, "a stride that does not divide the slots")
    for run in typed(runs, list):
        need(len(typed(run, list)) == 2, "a run that is not an owner and a length")
        whole(run[0], 0, n - 1)
        whole(run[1], 1, slots)
    need(sum(length for _, length in runs) == slots, "runs that do not fill the slots")
    owners, order = [0] * slots, (slot for start in range(stride) for slot in range(start, slots, stride))
    for owner, length in runs:
        for _ in range(length):
            owners[next(order)] = owner
    return owners


def splitting(plan):
    """@returns what gives a key's first part and the rest; the delimiter between them belongs to neither. None: nothing does."""
    if "first-bytes" in plan:
        size = whole(plan["first-bytes"], 1, 32767)
        need("delimiter" not in plan and "first" not in plan, "two ways to split a key")
        return lambda key: (key[:size], key[size:])
    need("delimiter" in plan or "first" not in plan, '"first" counts what a delimiter splits, and there is none')
    if "delimiter" not in plan:
        return None
    delimiter, count = typed(plan["delimiter"], str).encode(), whole(plan.get("first", 1), 1, 100)
    need(0 < len(delimiter) <= 16, "a delimiter of nothing, or too long")

    def split(key):
        parts = key.split(delimiter, count)
        return (key, b"") if len(parts) <= count else (delimiter.join(parts[:-1]), parts[-1])
    return split
