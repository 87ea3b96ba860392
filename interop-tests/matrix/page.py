"""What a run writes: the tables of docs/compatibility.md and of README.md, and the one on the terminal."""

import difflib
from collections import defaultdict

from support import ROOT

FULL = ROOT / "docs" / "compatibility.md"
SHORT = ROOT / "README.md"
BEGIN = "<!-- begin: written by make interop, from what the clients did -->"
END = "<!-- end: written by make interop -->"
NAMES = {"murmur2": "same as Java", "as-null": "becomes no key", "as-empty": "becomes an empty key",
         "as-other": "becomes another key", "other": "another function", "manual": "the caller's choice"}


def cell(seen, kind="keyed"):
    if seen in NAMES and (seen, kind) != ("murmur2", "null"):  # Java itself spreads what has no key
        return NAMES[seen]
    if " " in seen or seen in ("spread", "refused", "unknown", "-"):
        return seen
    return f"hashed, `{seen}`" if kind == "null" else f"`{seen}`"


def text(results):
    """A line a row, for the terminal."""
    lines = [f"{result.row}\tkeyed {name(result, 'keyed')}\tempty {name(result, 'empty')}\tnull {name(result, 'null')}"
             + (f"\tbroken: {result.row.broken}" if result.row.broken else "") for result in results]
    return "\n".join(lines)


def name(result, kind):
    return result.cells.get(kind, "unknown")


def by_version(row):
    return [int(part) if part.isdigit() else -1 for part in row.version.replace("-", ".").split(".")]


def ordered(results):
    """By language; a client's newest version first, and in it the default setting."""
    return sorted(results, key=lambda result: (result.row.language, result.row.client.lower(),
                                               [-part for part in by_version(result.row)], not result.row.default))


def full(results):
    languages = defaultdict(list)
    for result in ordered(results):
        languages[result.row.language].append(result)
    ran = [result.row for result in results if result.row.run]
    packages = {(row.language, row.client, row.version) for row in ran}
    brokers = sorted({row.broker for row in ran}, reverse=True)
    lines = [f"{len(ran)} settings of {len(packages)} packages in {len(languages)} languages, each run against Apache Kafka "
             f"{' or '.join(brokers)}.", ""]
    for language, rows in languages.items():
        lines += [f"### {language}", "", "| client | version | setting | keyed | empty key | NULL key |",
                  "|---|---|---|---|---|---|"]
        for result in rows:
            row = result.row
            setting = f"**{row.setting}**" if row.default else row.setting
            if row.broken:
                cells = [f"not run: {row.broken}", "", ""]
            else:
                cells = [cell(name(result, kind), kind) for kind in ("keyed", "empty", "null")]
            lines.append("| " + " | ".join([row.client, row.version, setting, *cells]) + " |")
        lines.append("")
    differing = [result for result in ordered(results) if result.row.says]
    if differing:
        lines += ["### Where documentation says otherwise", ""]
        for result in differing:
            row = result.row
            said = f"[{row.says}]({row.source})" if row.source.startswith("http") else row.says
            seen = ", ".join(f"{title} {cell(name(result, kind), kind)}"
                             for kind, title in (("keyed", "keyed"), ("empty", "empty key"), ("null", "NULL key")))
            lines += [f"- **{row.client} {row.version}, {row.setting}**: it says: {said}. Seen: {seen}.",
                      f"  `interop-tests/matrix/matrix --row '{row.client} {row.version}, {row.setting}'`"]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def short_version(row):
    return row.version.partition(" (")[0]


def short(results):
    groups, old = defaultdict(dict), set()
    for result in ordered(results):
        row = result.row
        if row.default and row.run:
            # The newest version stands for its client; an older one is named where it does something else.
            clients = groups[name(result, "keyed")]
            if (row.language, row.client) not in old:
                clients[row.client, row.language] = short_version(row)
            elif (row.client, row.language) not in clients:
                clients[row.client, row.language] = short_version(row)
            old.add((row.language, row.client))
    lines = ["| where a record with a key goes, by default | clients |", "|---|---|"]
    for function in sorted(groups, key=lambda function: (function != "murmur2", -len(groups[function]), function)):
        clients = defaultdict(list)
        for (client, language), version in groups[function].items():
            clients[language].append(f"{client} {version}")
        told = "; ".join(f"{language}: {', '.join(names)}" for language, names in clients.items())
        lines.append(f"| {cell(function)} | {told} |")
    return "\n".join(lines) + "\n"


def pages(results):
    """@returns (page, its text as it stands, its text with the tables of these results), ..."""
    for path, table in ((FULL, full(results)), (SHORT, short(results))):
        before = path.read_text(encoding="utf-8")
        head, begin, rest = before.partition(BEGIN + "\n")
        _, end, tail = rest.partition(END + "\n")
        if not begin or not end:
            raise SystemExit(f"matrix: {path} lacks the lines '{BEGIN}' and '{END}'")
        yield path, before, head + begin + "\n" + table + "\n" + end + tail


def write(results):
    for path, before, after in pages(results):
        if before != after:
            path.write_text(after, encoding="utf-8")


def differences(results):
    """@returns a text for each page that does not say what was seen."""
    told = []
    for path, before, after in pages(results):
        if before != after:
            diff = "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), "as committed", "as seen", "", 0))
            told.append(f"{path.relative_to(ROOT)} does not say what was seen; make interop writes it:\n{diff}")
    return told
