"""The policy vectors: their format, and that the tool, the page's own code and the Java partitioner take them as they say."""

import json

import jsonschema
import pytest
from support import BUILD, DEBIAN_PYTHON, INTEROP, JAVA, need_file, run
from test_java_partitioner import jar, java  # pylint: disable=unused-import
from test_policy_format import page  # pylint: disable=unused-import

VECTORS = INTEROP / "vectors"
FILE = json.loads((VECTORS / "policies" / "policies.json").read_text("utf-8"))
VALID = [test for test in FILE["tests"] if test["result"] == "valid"]
INVALID = [test for test in FILE["tests"] if test["result"] == "invalid"]


def text_of(test):
    return test["text"] if "text" in test else json.dumps(test["policy"], ensure_ascii=False)


def test_the_file_follows_the_written_format():
    schema = json.loads((VECTORS / "policies" / "schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(FILE)
    assert FILE["numberOfTests"] == len(FILE["tests"]) and len(VALID) > 50 and len(INVALID) > 100
    assert [test["tcId"] for test in FILE["tests"]] == list(range(1, len(FILE["tests"]) + 1))
    assert {flag for test in FILE["tests"] for flag in test["flags"]} == set(FILE["notes"])
    assert all(len(test["routes"]) == len(FILE["keys"]) for test in VALID)
    for name in ("fingerprint", "routes", "compiled", "topic"):
        broken = json.loads(json.dumps(FILE))
        broken["tests"][0].pop(name)
        assert not jsonschema.Draft202012Validator(schema).is_valid(broken)


def test_the_tool_still_answers_so():
    recorded = (VECTORS / "sources" / "recorded" / "policies.jsonl").read_text("utf-8")
    asked = (VECTORS / "sources" / "policies.jsonl").read_text("utf-8")
    program = need_file(BUILD / "repartition", "our own tool, which 'make' builds,")
    said = run(DEBIAN_PYTHON, VECTORS / "record" / "policies.py", program, stdin=asked).ok().out
    assert said == recorded


def test_policies_that_route_alike_have_one_fingerprint():
    earlier = set()
    for test in VALID:
        assert "SameAs" not in test["flags"] or test["fingerprint"] in earlier, test["comment"]
        earlier.add(test["fingerprint"])


def test_the_code_of_the_page_routes_them_alike(page):  # pylint: disable=redefined-outer-name
    compared = 0
    for test in VALID:
        rule = page["rule_of"](test["compiled"], test["topic"])
        if rule.get("hash", "murmur2") not in page["HASHES"] or "KeyJson" in test["flags"]:
            continue
        for key, partition in zip(FILE["keys"], test["routes"]):
            try:
                answer = page["partition"](rule, bytes.fromhex(key), test["partitions"])
            except page["Reject"]:
                answer = None
            assert answer == partition, (test["comment"], key)
            compared += 1
    assert compared > 1300


@pytest.fixture(scope="module")
def java_answers(jar, tmp_path_factory):  # pylint: disable=redefined-outer-name
    """{tcId: what the Java partitioner says, a line for each key}; of an invalid policy for one key."""
    folder, asked, owners = tmp_path_factory.mktemp("policies"), [], []
    for test in FILE["tests"]:
        file = folder / f"{test['tcId']}.json"
        if test["result"] == "valid":
            file.write_text(json.dumps(test["compiled"]), "utf-8")
            asked += [f"{file}\t{test['topic']}\t{test['partitions']}\t{key}" for key in FILE["keys"]]
        elif test["alsoCompiled"]:
            file.write_text(text_of(test), "utf-8")
            asked.append(f"{file}\tt\t3\t6b")
        owners += [test["tcId"]] * (len(asked) - len(owners))
    said = java(JAVA / "RoutePolicy.java", jar=jar, stdin="\n".join(asked) + "\n").ok().out.splitlines()
    assert len(said) == len(asked)
    answers = {}
    for tc_id, line in zip(owners, said):
        answers.setdefault(tc_id, []).append(line)
    return answers


def test_the_java_partitioner_routes_them_alike_or_says_what_it_lacks(java_answers):
    lacking = set()
    for test in VALID:
        said = java_answers[test["tcId"]]
        if "the Java partitioner has no" in said[0]:
            lacking.add(test["comment"])
        else:
            assert said == ["refused" if place is None else str(place) for place in test["routes"]], test["comment"]
    assert lacking == {f"the function {name}" for name in ("murmur2-abs", "murmur2-seed0", "crc32-signed-abs", "kafkajs-legacy",
                                                           "java-string-hash")} | {"a field of a JSON key",
                                                                                   "a preset of another store"}


def test_the_java_partitioner_refuses_what_is_damaged(java_answers):
    damaged = [test for test in INVALID if test["alsoCompiled"]]
    assert len(damaged) > 90
    for test in damaged:
        assert java_answers[test["tcId"]][0].startswith("keyroute: "), (test["comment"], java_answers[test["tcId"]])
