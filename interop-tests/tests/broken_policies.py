"""Compiled policies that are broken, made of good ones by one change each: in the JSON's text, in a field, or in what fields
say together. `repartition policy check` judges which of them are broken by more than their fingerprint."""

import copy
import json

# One rule for each map, with all the fields that a compiled policy can have; each is of the topic "t" with 4 partitions.
MAPS = {
    "modulo": {"kind": "modulo"},
    "slots": {"kind": "slots", "slots": 8, "stride": 4, "runs": [[0, 3], [1, 2], [2, 1], [3, 2]]},
    "hash-range": {"kind": "hash-range", "bounds": [1000, 2000000000], "owners": [3, 0, 2]},
    "range": {"kind": "range", "bounds": ["g", {"hex": "80"}], "owners": [3, 1, 2]},
    "table": {"kind": "table", "key-format": "hex", "first-bytes": 1, "keys": {"00": [3, 0, 2], "61": 1},
              "else": {"kind": "modulo"}},
    "fields": {"kind": "table", "delimiter": "::", "first": 2, "keys": {"a::b": [0, 1]}},
    "two-level": {"kind": "two-level", "fanout": 2, "delimiter": "|", "first": 1},
}
PARTITIONS = 4

# In place of whatever a field holds. A text stands for itself: what json.dumps() cannot write.
ODD_VALUES = [None, True, False, 0, 1, -1, 2.5, 5, "", "x", [], {}, [[]], [None], ["x"], {"x": 1},
              "\x001e400", "\x001.0", "\x001e2", 2147483648, 4294967297, 9007199254740993, 2 ** 64, "\x00-0", "\x0003", "\x00+3", "\x00NaN", "\x00Infinity"]


def rule_of(name):
    return {"partitions": PARTITIONS, "key": {"use": "bytes"}, "hash": "murmur2", "map": copy.deepcopy(MAPS[name])}


def written(value):
    """As JSON; a text that begins with a NUL stands for itself. An object may be a list of pairs, to say a name twice."""
    if isinstance(value, str) and value.startswith("\0"):
        return value[1:]
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(name)}:{written(item)}" for name, item in value) + "}"
    if isinstance(value, dict):
        return written(Pairs(value.items()))
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


class Pairs(list):
    """An object's members in order."""


def places(value, path=()):
    """Every place in the document."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def changed(document, path, change):
    """A copy in which change(holder, key) was made at that place. A document of no path is held by a list of one."""
    whole = [copy.deepcopy(document)]
    holder, path = whole, (0, *path)
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return whole[0] if whole else None


def said_twice(holder, key):
    holder[key] = Pairs([*holder[key].items(), list(holder[key].items())[0]])


def broken_in_a_field(document):
    """(what was changed, text), one change each."""
    for path in places(document):
        where = "/".join(map(str, path)) or "the whole"
        at = document
        for key in path:
            at = at[key]
        for value in ODD_VALUES:
            if value != at or isinstance(value, bool) != isinstance(at, bool):
                yield f"{where} is {written(value)}", written(changed(document, path, lambda h, k, v=value: h.__setitem__(k, v)))
        if isinstance(at, dict):
            if at:
                yield f"{where}: a name twice", written(changed(document, path, said_twice))
            yield f"{where}: another field", written(changed(document, path, lambda h, k: h[k].update(salt=1)))
        if isinstance(at, list) and at:
            yield f"{where}: one more", written(changed(document, path, lambda h, k: h[k].append(h[k][-1])))
            yield f"{where}: upside down", written(changed(document, path, lambda h, k: h[k].reverse()))
        if path:
            yield f"{where} is missing", written(changed(document, path, lambda h, k: h.pop(k)))
            if isinstance(path[-1], str):
                yield f"{where} in capitals", written(changed(document, path, lambda h, k: h.update({k.upper(): h.pop(k)})))


def broken_as_text(text):
    """(what was changed, bytes)."""
    for share in (0, 0.1, 0.5, 0.9):
        yield f"cut after {share} of it", text[:int(len(text) * share)].encode()
    yield "cut before its last brace", text.rstrip()[:-1].encode()
    yield "more behind it", text.encode() + b"x"
    yield "another one behind it", text.encode() * 2
    yield "a comma too many", text.replace("}", ",}", 1).encode()
    yield "a comma too few", text.replace(",", " ", 1).encode()
    yield "quotes of another kind", text.replace('"', "'").encode()
    yield "a comment of JavaScript", b"// ours\n" + text.encode()
    yield "a byte order mark", "\ufeff".encode() + text.encode()
    yield "UTF-16", text.encode("utf-16")
    yield "a name that is no UTF-8", text.encode().replace(b'"comment"', b'"comm\xff"')
    yield "a text that is no UTF-8", text.encode().replace(b"ours", b"o\xe9rs")
    yield "half a surrogate pair", text.replace("ours", "\\ud83d").encode()
    yield "a NUL in a text", text.replace("ours", "\\u0000").encode()
    yield "a control character in a text", text.replace("ours", "a\x01b").encode()
    yield "a line end in a text", text.replace("ours", "a\nb").encode()
    yield "no such escape", text.replace("ours", "\\x41").encode()
    yield "an escape that is cut", text.replace("ours", "\\u00").encode()
    yield "nested deeper than anybody needs", text.replace('"ours"', "[" * 100000 + "]" * 100000).encode()
    yield "nothing", b""
    yield "blanks", b" \n"
