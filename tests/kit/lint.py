"""The layout of SQL: sqlfluff over a few files, and what a look at each line shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kit.warehouse import ROOT

# Python's search for cycles takes half of the time, and sqlfluff leaves few cycles. Its own
# `--processes` would switch the search on again.
SQLFLUFF = (
    *(sys.executable, "-c"),
    "import gc; gc.disable(); from sqlfluff.cli.commands import cli; cli()",
    *("lint", "--config", ".sqlfluff", "--format", "json", "--nofail"),
)
LONGEST_LINE = 130  # of compiled SQL
# Words that are neither data nor a part of a message, as INSERT and NULL are.
CAPITALS = re.compile(
    r"\b(SELECT|FROM|WHERE|JOIN|ON|GROUP|ORDER|BY|UNION|ALL|DISTINCT|AS|WITH|CASE|WHEN|THEN|ELSE"
    r"|AND|OR|NOT|IS|IN|CREATE|INTO|VALUES|LIMIT)\b"
)


def lint(paths: Iterable[Path]) -> list[str]:
    """Say what sqlfluff finds in files, two of which it reads at a time."""
    ordered = sorted(paths, key=lambda path: path.stat().st_size)
    with ThreadPoolExecutor() as pool:
        found = pool.map(_sqlfluff, filter(None, [ordered[-1:], ordered[:-1]]))
        return [one for part in found for one in part]


def _sqlfluff(paths: Iterable[Path]) -> list[str]:
    done = subprocess.run(
        [*SQLFLUFF, *map(str, paths)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [
        f"{file['filepath']}:{one['start_line_no']}: {one['code']} {one['description']}"
        for file in json.loads(done.stdout)
        for one in file["violations"]
        # `faults` measures lines
        if one["code"] != "LT05"
    ]


def faults(sql: str, longest: int = LONGEST_LINE) -> list[str]:
    """Say which lines are too long, end with blank space, or have keywords in capitals."""
    found = ["the end is blank space"] if sql != sql.rstrip() else []
    # comments of Jinja are prose
    code = re.sub(r"\{#.*?#\}", lambda prose: "\n" * prose[0].count("\n"), sql, flags=re.DOTALL)
    for number, (line, words) in enumerate(zip(sql.split("\n"), code.split("\n"), strict=True), 1):
        # neither a literal nor the type of a struct can be broken into lines
        if len(re.sub(r"<.*>|'(?:[^'\\]|\\.)*'", "", line)) > longest:
            found.append(f"{number}: longer than {longest} characters")
        if line != line.rstrip() or "\t" in line:
            found.append(f"{number}: a tab, or blank space at the end")
        if capitals := CAPITALS.search(words):
            found.append(f"{number}: the keyword {capitals[0]} in capitals")
    return found
