"""examples/pure: functions of a few lines that route by a compiled policy as the tool does, or refuse what they do not know."""

import json
import random
import re
from types import SimpleNamespace

import pytest
from broken_policies import MAPS, PARTITIONS, broken_as_text, broken_in_a_field, rule_of
from support import DEBIAN_PYTHON, GO_COMPILER, INTEROP, ROOT, need_command, run
from test_policy_format import RULES, keys

PURE = ROOT / "examples" / "pure"

# Beside those of the page: what only these maps and these names bring.
MORE = {
    "owned-slots": {"partitions": 3, "map": {"kind": "slots", "slots": 5, "owners": [0, 1, 2, 2, 1]}},
    "many-slots": {"partitions": 7, "map": {"kind": "slots", "slots": 7000, "weights": {"0": 5, "1-3": "1.25", "*": 1}}},
    "table-hex": {"partitions": 6, "comment": "é \"\\", "locations": {"0-2": "a", "3-5": "b"}, "map": {
        "kind": "table", "key-format": "hex", "first-bytes": 1, "keys": {"00": [5, 0, 2], "61": 4, "d0": 1},
        "else": {"kind": "range", "bounds": ["c", {"hex": "80"}], "owners": [3, 1, 2]}}},
    "table-text": {"partitions": 6, "map": {"kind": "table", "keys": {"": 1, "ж": 2, "a": 5, "\n\U0001f600": 3}}},
    "table-fields": {"partitions": 64, "map": {"kind": "table", "delimiter": "::", "first": 2, "keys": {"a::b": [60, 61, 62]}}},
}

# What the examples leave out, and must say so instead of routing by something else.
REFUSED = {
    "crc32": "crc32", "fnv1a": "fnv1a-unsigned", "masked": "fnv1a-masked", "absolute": "fnv1a-abs", "owned": "murmur2-unsigned",
    "field": "field", "fields": "field", "tag": "tag", "tags": "tag", "payload": "payload", "known": "payload", "wide": "payload",
    "windowed": "windowed", "time": "windowed", "strict": "windowed", "nested": "field", "table-file": "file",
}


VECTORS = json.loads((INTEROP / "vectors" / "policies" / "policies.json").read_text("utf-8"))

EVERY = 31  # of the broken policies so many are left out between two that are tried: there are thousands of them


@pytest.fixture(scope="module", params=["python", "node", "go", "rust"])
def route(request, tmp_path_factory):
    """route(policy, topic, partitions, stdin=keys) runs the example in one language."""
    language, built = request.param, tmp_path_factory.mktemp(request.param) / "route"
    if language == "python":
        command = [DEBIAN_PYTHON, "-B", PURE / "python" / "route.py"]
    elif language == "node":
        command = [need_command("node"), PURE / "node" / "route.mjs"]
    else:
        command = [built]
        if language == "go":
            compiler = GO_COMPILER if GO_COMPILER.exists() else need_command("go")
            done = run(compiler, "build", "-buildvcs=false", "-o", built, ".", cwd=PURE / "go", env={"GOTOOLCHAIN": "local"})
        else:
            done = run(need_command("rustc"), "-O", "--edition", "2021", "-D", "warnings", "-o", built,
                       PURE / "rust" / "route.rs")
        done.ok()

    def call(policy, topic, partitions, **options):
        return run(*command, policy, env={"KEYROUTE_TOPIC": topic, "KEYROUTE_PARTITIONS": partitions}, **options)

    call.command = command
    call.refusals = lambda files, topic, partitions: refusals(language, call, files, topic, partitions)
    return call


# What load() says of each file that is named on standard input, or nothing. A start of these two for each would take minutes.
LOADERS = {
    "python": (DEBIAN_PYTHON, "-B", "-c", """
import sys
sys.path.insert(0, sys.argv[1])
from keyroute import load
for line in sys.stdin:
    try:
        load(line[:-1], sys.argv[2], int(sys.argv[3]))
        print()
    except ValueError as why:
        print(str(why).replace("\\n", "|"))
"""),
    "node": ("node", "--input-type=module", "-e", """
import { readFileSync } from "node:fs";
const [, folder, topic, partitions] = process.argv;
const { load } = await import(`${folder}/keyroute.mjs`);
for (const file of readFileSync(0, "utf8").split("\\n").slice(0, -1)) {
  try {
    load(file, topic, Number(partitions));
    console.log("");
  } catch (why) {
    console.log(why.message.replaceAll("\\n", "|"));
  }
}
"""),
}


def refusals(language, call, files, topic, partitions):
    """[(file, why it was refused or "")]"""
    if language in LOADERS:
        done = run(*LOADERS[language], PURE / language, topic, partitions, stdin="".join(f"{file}\n" for file in files)).ok()
        return list(zip(files, done.out.splitlines(), strict=True))
    said = []
    for file in files:
        done = call(file, topic, partitions, stdin="6b\n")
        assert done.rc == 0 or (done.rc, done.out, done.err.count("\n")) == (1, "", 1), (file, done)
        said.append((file, done.err.removeprefix(f"{file}: ") if done.rc else ""))
    return said


@pytest.fixture(scope="module")
def asked(repartition):
    """Thousands of keys in hexadecimal: the page's, the golden ones, and such as the maps above tell apart."""
    source = random.Random(11)
    texts = [f"{a}{d}{b}{d}{c}" for d in ("|", "::", ":") for a in ("a", "acme", "globex", "") for b in ("b", "")
             for c in (*"abcdefgh", "", "ж")]
    found = {key.hex() for key in keys()} | {text.encode().hex() for text in (*texts, "ж", "\n\U0001f600")}
    found |= set(repartition("conform", "--print-keys").ok().out.split("\n")[:-1])
    found |= {source.randbytes(source.randrange(24)).hex() for _ in range(2000)}
    assert len(found) > 3000 and "" in found
    return sorted(found)


@pytest.fixture(scope="module")
def policy(repartition, asked, tmp_path_factory):
    """All rules in one compiled policy: its file, what each topic's count is, its fingerprint, and where each key belongs."""
    folder, rules = tmp_path_factory.mktemp("policy"), {**RULES, **MORE}
    (folder / "rows.tsv").write_text("6163\t2\r\n676c\t5,1,0\n78\t4\n")
    (folder / "policy.json").write_text(json.dumps({"keyroute": 1, "topics": rules}))
    file = folder / "compiled.json"
    repartition("policy", "compile", folder / "policy.json", "-o", file).ok()
    compiled = json.loads(file.read_text())["topics"]
    counts = {name: rule.get("partitions", 12) for name, rule in rules.items()}
    right = {}
    for name in rules.keys() - REFUSED.keys():
        out = repartition("route", "--policy", file, "--topic", name, "--partitions", counts[name], "--key-format", "hex",
                          stdin="".join(f"{key}\n" for key in asked)).ok().out
        right[name] = [line.split("\t")[1] for line in out.splitlines()]
        assert len(right[name]) == len(asked)
    return SimpleNamespace(file=file, counts=counts, right=right, compiled=compiled,
                           fingerprints={name: rule["fingerprint"] for name, rule in compiled.items()})


def test_every_key_goes_where_the_tool_says(route, policy, asked):
    kinds = {policy.compiled[name].get("map", {"kind": "modulo"})["kind"] for name in policy.right}
    assert kinds == {"modulo", "slots", "hash-range", "range", "table", "two-level"}
    for name, right in policy.right.items():
        done = route(policy.file, name, policy.counts[name], stdin="".join(f"{key}\n" for key in (*asked, "-"))).ok()
        answers = done.out.splitlines()
        assert answers.pop() == "-"  # a key that is missing stays the client's
        wrong = [(key, answer, want) for key, answer, want in zip(asked, answers, right) if answer != want]
        assert not wrong and len(answers) == len(asked), (name, wrong[:5])
        assert done.err == f"{name}: policy {policy.fingerprints[name]}\n"


def test_conform_agrees(route, policy, repartition):
    for name in ("many-slots", "table-hex"):
        repartition("conform", "--policy", policy.file, "--topic", name, "--", *route.command, policy.file).ok()


def test_what_it_does_not_know_is_refused(route, policy, tmp_path):
    for name, says in REFUSED.items():
        done = route(policy.file, name, policy.counts[name], stdin="61\n").ends_with(1)
        assert says in done.err and done.out == "" and str(policy.file) in done.err, done.err
    damages = [
        (lambda whole: whole.update(keyroute=2), '"keyroute" is'), (lambda whole: whole.update(extra=1), "extra"),
        (lambda whole: whole["topics"]["slots"].update(salt=1), "salt"),
        (lambda whole: whole["topics"]["slots"]["map"].update(weights={"*": 1}), "weights"),
        (lambda whole: whole["topics"]["slots"]["map"].update(fanout=2), "fanout"),
        (lambda whole: whole["topics"]["slots"]["map"].update(kind="spiral"), "spiral"),
    ]
    for damage, says in damages:
        whole = json.loads(policy.file.read_text())
        damage(whole)
        (tmp_path / "damaged.json").write_text(json.dumps(whole))
        done = route(tmp_path / "damaged.json", "slots", 12, stdin="61\n").ends_with(1)
        assert says in done.err and done.out == "", done.err
    done = route(policy.file, "slots", 13, stdin="61\n").ends_with(1)
    assert "13" in done.err and "12" in done.err and done.out == ""
    assert "no rule for" in route(policy.file, "nobody", 12, stdin="61\n").ends_with(1).err


def test_the_policies_of_the_vectors(route, tmp_path):
    """Routed as the vectors say, or refused by the name of what is missing; and the damaged ones refused."""
    file, routed, damaged = tmp_path / "compiled.json", 0, {}
    for test in VECTORS["tests"]:
        if test["result"] == "valid":
            file.write_text(json.dumps(test["compiled"]), "utf-8")
            done = route(file, test["topic"], test["partitions"], stdin="".join(f"{key}\n" for key in VECTORS["keys"]))
            if done.rc == 0:
                assert done.out.split() == [str(partition) for partition in test["routes"]], test["comment"]
                routed += 1
            else:
                assert done.rc == 1 and re.search(r"no (hash|key|field) ", done.err), (test["comment"], done.err)
        elif test["alsoCompiled"]:
            bad = tmp_path / f"{len(damaged)}.json"
            bad.write_text(test["text"] if "text" in test else json.dumps(test["policy"], ensure_ascii=False), "utf-8")
            damaged[bad] = test["comment"]
    assert routed >= 25 and len(damaged) > 90
    assert not [damaged[bad] for bad, why in route.refusals(list(damaged), "t", 3) if not why]


@pytest.fixture(scope="module")
def broken(repartition, tmp_path_factory):
    """[(what is broken, file)]: some of those that the tool refuses by more than their fingerprint, and all that are no JSON."""
    folder, found, fields, texts = tmp_path_factory.mktemp("broken"), [], [], []
    for name in MAPS:
        (folder / "policy.json").write_text(json.dumps({"keyroute": 1, "topics": {"t": rule_of(name)}}))
        good = json.loads(repartition("policy", "compile", folder / "policy.json").ok().out)
        good["comment"], good["topics"]["t"]["locations"] = "ours", {"0-1": "a", "2-3": "b"}
        fields += [(f"{name}: {what}", text.encode()) for what, text in broken_in_a_field(good)]
        texts = list(broken_as_text(json.dumps(good)))
    for number, (what, text) in enumerate(fields[::EVERY] + texts):
        file = folder / f"{number}.json"
        file.write_bytes(text)
        said = repartition("policy", "check", file)
        if said.rc == 2 and "was changed after it was compiled" not in said.err:
            found.append((what, file))
    assert len(found) > 0.8 * number
    return found


def test_whatever_is_broken_is_refused(route, broken):
    said = route.refusals([file for _, file in broken], "t", PARTITIONS)
    assert not [what for (what, _), (_, why) in zip(broken, said, strict=True) if not why]
    what, file = broken[0]  # and as a program
    done = route(file, "t", PARTITIONS, stdin="61\n").ends_with(1)
    assert done.out == "" and done.err.startswith(f"{file}: ") and done.err.count("\n") == 1, (what, done.err)


def test_the_rule_of_a_topic(route, repartition, tmp_path):
    names = ["orders", "orders-*", "orders?", "o*s-eu", "o?????-*", "*.b", "a.?"]
    rules = {name: {"partitions": 12, "map": {"kind": "table", "keys": {"k": number}}} for number, name in enumerate(names)}
    (tmp_path / "policy.json").write_text(json.dumps({"keyroute": 1, "topics": rules}))
    file = tmp_path / "compiled.json"
    repartition("policy", "compile", tmp_path / "policy.json", "-o", file).ok()
    found = set()
    for topic in ("orders", "orders-1", "orders-eu", "orders-x-y", "abcdef-x", "o-s-eu", "oabcde-", "a.b", "a.c", "axb",
                  "ordersx"):
        says = repartition("route", "--policy", file, "--topic", topic, "k")
        done = route(file, topic, 12, stdin="6b\n")
        assert (done.rc == 0) == (says.rc == 0) and done.out == says.out.removeprefix("k\t"), (topic, done.err)
        found.add(done.out)
    assert len(found) == len(names) + 1  # each rule, and none
