"""The rows of the matrix: one a client, version and setting, from the rows.json of each language's folder."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

BROKERS = ("4.3.1", "3.9.1")
# Which of the keys a client can be given: any bytes, text only, or nothing but printable ASCII without blanks.
KINDS = ("bytes", "utf8", "ascii")
# What a client may do instead of hashing a key by a function that Keyroute knows. "other": by one that it does not.
WITHOUT_FUNCTION = r"spread|other|partition \d+|hash \d+|manual|refused|as-null|as-empty|as-other|-"


class BadRows(Exception):
    """What the caller reads: which file, which row, what is wrong."""


@dataclass(frozen=True)
class Row:
    """What a client is expected to do with keyed records, with the empty key and without a key."""

    folder: Path
    language: str
    client: str
    version: str
    setting: str
    keyed: str   # a function of `repartition route --hash`, or what WITHOUT_FUNCTION takes
    empty: str   # the same
    null: str    # the same
    run: list = field(default_factory=list, hash=False)
    default: bool = False
    broker: str = BROKERS[0]
    keys: str = "bytes"
    judge: str = "sent"      # or "written": by the key as it arrived, for clients that serialize it in their own way
    tail: int = 0            # bytes that the client puts behind the key and does not route by
    broken: str = ""         # why it cannot be run
    says: str = ""           # what its documentation says, when that differs
    source: str = ""         # where its documentation says so, or where the setting is described

    @property
    def tag(self):
        """What the values of its records start with."""
        return re.sub(r"[^A-Za-z0-9._+-]+", "-", f"{self.language}-{self.client}-{self.version}-{self.setting}").strip("-")

    def cells(self):
        return {"keyed": self.keyed, "empty": self.empty, "null": self.null}

    def __str__(self):
        return f"{self.language}: {self.client} {self.version}, {self.setting}"


def load(folder, functions):
    """@returns every row below the folder. functions: the names that a row may claim. Raises BadRows."""
    rows = []
    for path in sorted(folder.glob("*/rows.json")):
        try:
            listed = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as bad:
            raise BadRows(f"{path}: {bad}") from bad
        for number, told in enumerate(listed, 1):
            try:
                row = Row(folder=path.parent, **told)
            except TypeError as bad:
                raise BadRows(f"{path}: row {number}: {str(bad).replace('Row.__init__() ', '')}") from bad
            wrong = complaint(row, functions)
            if wrong:
                raise BadRows(f"{path}: row {number} ({row}): {wrong}")
            rows.append(row)
    seen = set()
    for row in rows:
        if row.tag in seen:
            raise BadRows(f"{row.folder}/rows.json: two rows are called {row}")
        seen.add(row.tag)
    return rows


def complaint(row, functions):
    for cell, claimed in row.cells().items():
        if claimed.partition("(")[0] not in functions and not re.fullmatch(WITHOUT_FUNCTION, claimed):
            return f"'{cell}': {claimed}: no function of this name; repartition route --list-hashes has them"
    manual = row.keyed == "manual"
    if bool(row.run) == bool(row.broken or manual):
        return "expected either 'run' or, where it cannot be run, 'broken' with the reason (or 'keyed': 'manual')"
    if row.broker not in BROKERS:
        return f"'broker': expected one of {', '.join(BROKERS)}"
    if row.keys not in KINDS:
        return f"'keys': expected one of {', '.join(KINDS)}"
    if row.judge not in ("sent", "written"):
        return "'judge': expected sent or written"
    return None
