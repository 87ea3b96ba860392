"""docs/policy-format.md is complete: its own code, taken from the page and run, routes every key as the tool does."""

import json
import random
import re

import pytest
from support import ROOT

CODE = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "policy-format.md").read_text(), re.S))
FRAME = "00" + "00000007"
GUID = "01" + "0a0b0c0d0e0f4a0b8c0d0e0f0a0b0c0d"

RULES = {
    "modulo": {},
    "crc32": {"hash": "crc32"},
    "fnv1a": {"partitions": 7, "hash": "fnv1a-unsigned", "map": {"kind": "slots", "slots": 700}},
    "masked": {"hash": "fnv1a-masked"},
    "absolute": {"partitions": 6, "hash": "fnv1a-abs", "map": {"kind": "hash-range"}},
    "slots": {"partitions": 12, "map": {"kind": "slots", "weights": {"0-2": 3, "11": "0.5", "*": 1}}},
    "hash-range": {"partitions": 4, "map": {"kind": "hash-range", "bounds": [1, "0x40000000", 2000000000]}},
    "owned": {"partitions": 4, "hash": "murmur2-unsigned",
              "map": {"kind": "hash-range", "bounds": ["0x40000000", "0xc0000000"], "owners": [3, 0, 1]}},
    "range": {"partitions": 3, "map": {"kind": "range", "bounds": ["g", {"hex": "70ff"}]}},
    "range-owned": {"partitions": 9, "map": {"kind": "range", "bounds": ["a", "ab", "b"], "owners": [8, 1, 8, 0]}},
    "ring": {"partitions": 6, "map": {"kind": "ring", "weights": {"0": 2, "*": 1}, "points": 64}},
    "table": {"partitions": 6, "map": {"kind": "table", "keys": {"acme": 3, "globex": [4, 5]}, "delimiter": "|",
                                       "else": {"kind": "two-level", "fanout": 2, "delimiter": "|"}}},
    "table-file": {"partitions": 6, "map": {"kind": "table", "file": "rows.tsv", "key-format": "hex", "first-bytes": 2}},
    "two-level": {"partitions": 30, "map": {"kind": "two-level", "fanout": 4, "delimiter": "::", "first": 2}},
    "first-bytes": {"partitions": 30, "map": {"kind": "two-level", "fanout": 4, "first-bytes": 3}},
    "field": {"key": {"use": "field", "delimiter": "|", "index": -1}},
    "fields": {"key": {"use": "field", "delimiter": "|", "index": [0, 2], "missing": "reject"}},
    "tag": {"key": {"use": "tag"}},
    "tags": {"key": {"use": "tag", "open": "<", "close": ">"}},
    "payload": {"key": {"use": "payload"}},
    "known": {"key": {"use": "payload", "known-ids": [7]}},
    "wide": {"key": {"use": "payload", "id-bytes": 8}},
    "windowed": {"key": {"use": "windowed", "form": "time", "over": "payload"}},
    "time": {"key": {"use": "windowed"}},
    "strict": {"key": {"use": "windowed", "form": "session", "missing": "reject"}},
    "nested": {"key": {"use": "field", "delimiter": "|", "index": 1, "over": {"use": "tag", "over": "payload"}}},
}


def keys():
    source = random.Random(7)
    texts = ["", "a", "ab", "abc", "acme", "acme|1", "globex", "globex|2", "globex|", "|", "||", "a|b|c", "a::b::c", "a::b",
             "{user}.x", "{}x", "{{x}}", "<<a>b", "<>", "x<a>", "ж|é|日", "p\xff"]
    found = [text.encode() for text in texts]
    for size in (1, 2, 3, 4, 5, 8, 9, 12, 16, 17, 24, 100):
        found += [source.randbytes(size) for _ in range(40)]
    body = [source.randbytes(size) for size in (0, 1, 8, 20)]
    found += [bytes.fromhex(frame) + tail for frame in (FRAME, "0000000000", "0080000000", "007fffffff", "0000000008", GUID,
                                                        GUID.replace("4a", "0a"), GUID.replace("8c", "0c")) for tail in body]
    found += [b"%s|%d" % (name, i) for name in (b"acme", b"globex", b"x") for i in range(50)]
    return sorted(set(found))


@pytest.fixture(scope="module")
def page():
    names = {}
    exec(compile(CODE, "docs/policy-format.md", "exec"), names)  # pylint: disable=exec-used
    return names


@pytest.mark.parametrize("name", RULES)
def test_the_code_of_the_page_routes_as_the_tool_does(page, repartition, tmp_path, name, monkeypatch):
    (tmp_path / "policy.json").write_text(json.dumps({"keyroute": 1, "topics": {"t": RULES[name]}}))
    (tmp_path / "rows.tsv").write_text("6163\t2\r\n676c\t5,1,0\n78\t4\n")
    repartition("policy", "compile", tmp_path / "policy.json", "-o", tmp_path / "compiled.json").ok()
    rule = json.loads((tmp_path / "compiled.json").read_text())["topics"]["t"]
    count = rule.get("partitions", 12)
    expected = repartition("route", "--policy", tmp_path / "compiled.json", "--topic", "t", "--partitions", count,
                           "--key-format", "hex", stdin="".join(key.hex() + "\n" for key in keys())).out.splitlines()
    monkeypatch.chdir(tmp_path)
    assert len(expected) == len(keys())
    for key, line in zip(keys(), expected):
        try:
            answer = str(page["partition"](rule, key, count))
        except page["Reject"]:
            answer = "refused"
        assert answer == line.split("\t")[1], key
    with pytest.raises(page["Reject"]):
        page["partition"]({**rule, "partitions": count}, b"x", count + 1)


def test_the_rule_of_a_topic(page, repartition, tmp_path):
    names = ["orders", "orders-*", "orders-?", "*", "o*s-eu", "o?????-*"]
    policy = {"keyroute": 1, "topics": {name: {"partitions": 100 + i} for i, name in enumerate(names)}}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    for topic in ("orders", "orders-1", "orders-eu", "orders-x-y", "others", "abcdef-x", "a", "o-s-eu"):
        rule = page["rule_of"](policy, topic)
        answer = repartition("route", "--policy", tmp_path / "policy.json", "--topic", topic, "--output", "json", "k").ok()
        assert json.loads(answer.out)["partition"] == page["partition"](rule, b"k", rule["partitions"])


def test_a_compiled_rule_tells_its_fingerprint_and_is_refused_once_it_is_wrong(repartition, tmp_path):
    (tmp_path / "policy.json").write_text(json.dumps({"keyroute": 1, "topics": {"t": RULES["slots"]}}))
    repartition("policy", "compile", tmp_path / "policy.json", "-o", tmp_path / "compiled.json").ok()
    compiled = json.loads((tmp_path / "compiled.json").read_text())
    checked = repartition("policy", "check", "--output", "json", tmp_path / "policy.json").ok().out
    assert compiled["topics"]["t"]["fingerprint"] == json.loads(checked)["topics"][0]["fingerprint"]
    compiled["topics"]["t"]["partitions"] = 13
    (tmp_path / "compiled.json").write_text(json.dumps(compiled))
    repartition("policy", "check", tmp_path / "compiled.json").ends_with(2)
    assert "was changed after it was compiled" in repartition("policy", "check", tmp_path / "compiled.json").err
