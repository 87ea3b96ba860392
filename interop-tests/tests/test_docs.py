"""What the documentation shows is what happens."""

import json
import re

import pytest
from support import ROOT

POLICY_DOC = (ROOT / "docs" / "policy.md").read_text()


def test_policies_of_the_policy_page_are_good(repartition, tmp_path):
    path = tmp_path / "policy.json"
    documents = re.findall(r"```json\n(.*?)```", POLICY_DOC, re.S) + re.findall(r"`(\{\"keyroute\".*?\})`", POLICY_DOC)
    assert len(documents) >= 3
    for name, text in {  # that they name
            "registry.password": "secret\n", "company-ca.pem": "-----BEGIN CERTIFICATE-----\n",
            "order-key.avsc": json.dumps({"type": "record", "name": "Key", "fields": [
                {"name": "customer", "type": {"type": "record", "name": "Customer", "fields": [
                    {"name": "id", "type": "string"}]}}]})}.items():
        (tmp_path / name).write_text(text)
    for document in documents:
        path.write_text(document)
        for topic in json.loads(document)["topics"]:
            name = topic.replace("*", "x")
            pinned = json.loads(document)["topics"][topic].get("partitions", 12)
            repartition("route", "--policy", path, "--topic", name, "--partitions", pinned, "key").ok()


@pytest.mark.parametrize("rule", [
    {"partitions": 30, "map": {"kind": "slots", "weights": {"0-11": 2, "12": "1.5", "*": 1}}},
    {"partitions": 4, "map": {"kind": "hash-range", "bounds": [1, "0x40000000", 2000000000]}},
    {"partitions": 3, "map": {"kind": "range", "bounds": ["g", {"hex": "70ff"}]}},
    {"partitions": 6, "map": {"kind": "table", "keys": {"acme": 3, "globex": [4, 5]}, "delimiter": "|",
                              "else": {"kind": "two-level", "fanout": 2, "delimiter": "|"}}},
    {"partitions": 6, "map": {"kind": "ring", "weights": {"0": 2, "*": 1}, "points": 64}},
    {"key": {"use": "field", "delimiter": "|", "index": 0, "over": "payload"}},
])
def test_forms_that_the_policy_page_tells(repartition, tmp_path, rule):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"keyroute": 1, "topics": {"t": rule}}))
    partitions = rule.get("partitions", 12)
    out = repartition("route", "--policy", path, "--partitions", partitions, "acme|1", "globex|2", "x").ok().out
    assert all(0 <= int(line.split("\t")[1]) < partitions for line in out.splitlines())
    if rule.get("map", {}).get("kind") == "table":
        rows = dict(line.split("\t") for line in out.splitlines())
        assert rows["acme|1"] == "3" and rows["globex|2"] in ("4", "5")


@pytest.mark.parametrize("page", sorted(p.relative_to(ROOT) for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"),
                                                                     *ROOT.glob("examples/*.md")]))
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#][^)]*)\)", text):
        if not target.startswith("http"):
            assert ((ROOT / page).parent / target.split("#")[0]).exists(), target


def test_tests_that_the_survival_page_names_are_there():
    named = re.findall(r"`(test_\w+)(\.py|\.c)::(test_\w+)`", (ROOT / "docs" / "survival.md").read_text())
    assert len(named) > 50
    for module, kind, name in named:
        text = (ROOT / ("interop-tests" if kind == ".py" else "repartition") / ("tests" if kind == ".py" else "test") /
                (module + kind)).read_text()
        assert re.search(rf"^(?:def|static void) {name}\(", text, re.M), f"{module}{kind}::{name}"
