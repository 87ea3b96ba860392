"""From where records lie to what a client does: which of the functions that Keyroute knows puts them there."""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple, Optional

import jobs
from support import BUILD, run

# What a client that hashes a missing key may have taken for it.
TEXTS_OF_NULL = (b"", b"None", b"null", b"nil", b"undefined")

# Behind a function's name: a hash of 0 is taken for 1.
ZERO_AS_ONE = "(0 as 1)"


class Arrival(NamedTuple):
    line: int
    count: int
    partition: int
    key: Optional[bytes]


@dataclass
class Judged:
    """A row and what was seen of it: a name for each of keyed, empty and null."""

    row: object
    cells: dict
    problems: list
    seconds: float

    def json(self):
        row = self.row
        told = {"language": row.language, "client": row.client, "version": row.version, "setting": row.setting,
                "default": row.default, "broker": row.broker, **self.cells, "problems": self.problems,
                "seconds": round(self.seconds, 1)}
        return {**told, "broken": row.broken} if row.broken else told


class Functions:
    """Predictions, all of them made by our own tool: name, partition count, key -> partition."""

    def __init__(self):
        self.program = BUILD / "repartition"
        listed = [json.loads(line) for line in self.route("--list-hashes").splitlines()]
        self.names = [entry["hash"] for entry in listed if entry["of"] == "client"]
        self.stores = [entry["hash"] for entry in listed if entry["of"] != "client"]
        self.more = []
        self.table = {}

    def route(self, *args, stdin=""):
        done = run(self.program, "route", "--output", "json", *args, stdin=stdin)
        if done.rc != 0:
            raise SystemExit(f"matrix: {' '.join(done.argv)}: {done.err}")
        return done.out

    def learn(self, keys, rows):
        """Asks for these keys. Functions of stores only where a row claims one: many take keys of one form alone."""
        claimed = {name for row in rows for name in row.cells().values()}
        stores = [name for name in self.stores if name in {name.partition("(")[0] for name in claimed}]
        self.more = stores + [name + ZERO_AS_ONE for name in stores if name + ZERO_AS_ONE in claimed]
        stdin = "".join(f"{key.hex()}\n" for key in keys)
        for count in jobs.COUNTS:
            asked = ("--partitions", count, "--key-format", "hex")
            for key, line in zip(keys, self.route("--all-hashes", *asked, stdin=stdin).splitlines()):
                for answer in json.loads(line)["functions"]:
                    self.table[answer["hash"], count, key] = answer["partition"]
            for name in stores:
                for key, line in zip(keys, self.route("--hash", name, *asked, stdin=stdin).splitlines()):
                    answer = json.loads(line)
                    self.table[name, count, key] = answer["partition"]
                    self.table[name + ZERO_AS_ONE, count, key] = answer["partition"] if answer["hash_value"] else 1 % count

    def fitting(self, seen):
        """@returns the names of the functions by which all of the (count, key, partition) lie where they do."""
        return [name for name in self.names + self.more
                if all(self.table[name, count, key] == partition for count, key, partition in seen)]

    def strays(self, name, seen):
        """@returns the (count, key, partition) that lie elsewhere than this function says."""
        return [(count, key, partition) for count, key, partition in seen if self.table[name, count, key] != partition]


def routed_by(row, key):
    """The part of an arrived key that its client should have routed by."""
    return key[:len(key) - row.tail] if key and row.tail else key


def keys_to_know(rows, arrived):
    known = {*jobs.keys(), *TEXTS_OF_NULL}
    for row in rows:
        if row.judge == "written":
            known.update(routed_by(row, arrival.key) for arrival in arrived.get(row.tag, []) if arrival.key is not None)
    return sorted(known)


def without_function(seen):
    """What can be said of records that no function explains: spread, always one partition or one hash, or neither."""
    places = defaultdict(set)
    for count, key, partition in seen:
        places[count, key].add(partition)
    if any(len(partitions) > 1 for partitions in places.values()):
        return "spread"  # one key in two partitions: no function of the key
    by_count = defaultdict(set)
    for count, _, partition in seen:
        by_count[count].add(partition)
    if all(len(partitions) == 1 for partitions in by_count.values()):
        every = set.union(*by_count.values())
        if len(every) == 1:
            return f"partition {every.pop()}"
        number = max(by_count[max(by_count)])
        if all(partitions == {number % count} for count, partitions in by_count.items()):
            return f"hash {number}"
        return "spread"  # the key has no say, and what has differs from topic to topic: one batch, one partition
    return "unknown"


def is_by_key(seen, plain):
    """Whether the key says where a record lies, though by no function that is known."""
    if len({key for _, key, _ in seen}) > 1:
        return plain == "unknown"
    return plain == "spread" and len(set(seen)) == len({count for count, _, _ in seen})  # one key, as the empty one is


def judge(row, arrivals, refused, functions):
    """@returns (what was seen: keyed, empty, null -> name; what is wrong)."""
    kinds, problems = defaultdict(list), []
    by_line = defaultdict(list)
    for arrival in arrivals:
        by_line[arrival.line].append(arrival)
    for line, (count, key) in enumerate(jobs.records(row.keys)):
        kind = "null" if key is None else "keyed" if key else "empty"
        kinds[kind].append((line, count, key))
    cells = {}
    for kind, lines in kinds.items():
        cells[kind], problem = cell(row, kind, lines, by_line, refused, functions)
        if problem:
            problems.append(f"{kind}: {problem}")
    return cells, problems


def cell(row, kind, lines, by_line, refused, functions):
    claimed = row.cells()[kind]
    lost = [line for line, _, _ in lines if line not in by_line and line not in refused]
    if lost:
        return "unknown", f"{len(lost)} of {len(lines)} records did not arrive, the first is line {lost[0]}"
    if all(line in refused for line, _, _ in lines):
        return agreed("-" if claimed == "-" else "refused", claimed, refused[lines[0][0]])  # "-": there is no such record
    turned_down = [line for line, _, _ in lines if line in refused]
    if turned_down:
        return "unknown", (f"{len(turned_down)} of {len(lines)} were refused, the first is line {turned_down[0]}: "
                           f"{refused[turned_down[0]]}")
    seen = []
    for line, count, key in lines:
        for arrival in by_line[line]:
            if arrival.count != count:
                return "unknown", f"line {line} was for {jobs.topic(count)} and lies in {jobs.topic(arrival.count)}"
            if kind == "empty" and arrival.key is None:
                return agreed("as-null", claimed, "the empty key arrived as no key")
            if kind != "keyed" and arrival.key != key and row.judge == "sent":
                return agreed("as-other" if arrival.key else "as-empty", claimed, f"{shown(key)} arrived as {shown(arrival.key)}")
            if row.judge == "written" and arrival.key is not None:
                key = routed_by(row, arrival.key)
            elif arrival.key != key:
                return "unknown", f"the key {shown(key)} arrived as {shown(arrival.key)}"
            seen.append((count, key, arrival.partition))
    if kind == "null":
        return null_cell(claimed, seen, functions)
    fitting = functions.fitting(seen)
    plain = without_function(seen)
    if claimed in fitting or claimed == plain or (claimed == "other" and not fitting and is_by_key(seen, plain)):
        return claimed, None
    if fitting and not plain.startswith("partition "):  # where all lie in one, any function of one key may fit
        return fitting[0], differs(claimed, seen, functions) + f"; all lie where {' and '.join(fitting)} would put them"
    if plain == "unknown":
        return plain, differs(claimed, seen, functions) + "; no function that Keyroute knows puts them there"
    return plain, differs(claimed, seen, functions) + f"; that is {plain}"


def null_cell(claimed, seen, functions):
    plain = without_function(seen)
    if claimed == plain:
        texts = [] if claimed != "spread" else TEXTS_OF_NULL
    else:
        texts = TEXTS_OF_NULL
    hashed = []
    for text in texts:
        for name in functions.fitting([(count, text, partition) for count, _, partition in seen]):
            hashed.append(name if not text else f'{name}("{text.decode()}")')
    if claimed in hashed or (claimed == plain and not hashed):
        return claimed, None
    return agreed(hashed[0] if hashed and not plain.startswith("partition ") else plain, claimed, where(seen[-1]))


def agreed(found, claimed, why):
    return found, None if found == claimed else f"claimed is {claimed}, seen is {found}: {why}"


def shown(key):
    if not key:
        return "NULL" if key is None else "''"
    return key.decode("ascii") if jobs.is_of_kind(key, "ascii") else f"0x{key.hex()}"


def where(observed):
    count, key, partition = observed
    return f"key {shown(key)} at {count} partitions lies in {partition}"


def differs(claimed, seen, functions):
    if claimed not in functions.names + functions.more:
        count, key, _ = seen[-1]
        return f"claimed is {claimed}, but {where(seen[-1])}"
    strays = functions.strays(claimed, seen)
    count, key, _ = strays[0]
    return (f"{where(strays[0])}, where {claimed}, which is claimed, says {functions.table[claimed, count, key]} "
            f"({len(strays)} of {len(seen)} records differ)")
