"""Asks the real `repartition` what it makes of every policy of sources/policies.jsonl.

usage: policies.py REPARTITION < policies.jsonl > recorded/policies.jsonl
One line a policy: of a valid one its fingerprint, its compiled form and where the keys go (null: the record fails), of
an invalid one which place the refusal names.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def ask(tool, *args, stdin=""):
    return subprocess.run([tool, *map(str, args)], input=stdin, capture_output=True, encoding="utf-8", check=False)


def answer(tool, case, keys, file):
    file.write_text(case["text"] if "text" in case else json.dumps(case["policy"], ensure_ascii=False), encoding="utf-8")
    checked = ask(tool, "policy", "check", file, "--output", "json")
    if checked.returncode:
        error = json.loads(checked.stdout)["error"].replace(f"{file}: ", "")
        return {"refusedAt": case["at"]} if case.get("at", "nowhere") in error else {"refused": error}
    compiled = ask(tool, "policy", "compile", file)
    at = ("--policy", file, "--topic", case["topic"], "--partitions", case["partitions"])
    routed = ask(tool, "route", *at, "--key-format", "hex", stdin="".join(f"{key}\n" for key in keys))
    places = [line.split("\t")[1] for line in routed.stdout.splitlines()]
    shown = json.loads(ask(tool, "policy", "show", file, "--topic", case["topic"], "--partitions", case["partitions"],
                           "--output", "json").stdout)
    return {"fingerprint": shown["fingerprint"], "compiled": json.loads(compiled.stdout),
            "routes": [None if place == "refused" else int(place) for place in places]}


def main():
    first, *cases = map(json.loads, sys.stdin)
    print(json.dumps({"package": "repartition, of this repository"}))
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            print(json.dumps(answer(sys.argv[1], case, first["keys"], Path(folder) / "policy.json"), ensure_ascii=False))


if __name__ == "__main__":
    main()
