"""sqlfluff over the SQL that dbt has compiled: repeated parts are read once.

The rule is this. A subquery whose lines are indented as one block is a text of its own; the text
around it has `select * from here` in its place. In each text the names in backticks, the literals
and the relations after `from` and `join` are numbered, so that their spelling does not count. Of
three or more equal parts in a row (columns of a list, lines, branches of a union) two remain. Texts
that are then equal are read once. A fault in one of them makes it different from the others, so it
is read.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from kit.warehouse import ROOT

# Python's search for cycles takes half of the time, and sqlfluff leaves few cycles. Its own
# `--processes` would switch the search on again.
SQLFLUFF = (
    *(sys.executable, "-c"),
    "import gc; gc.disable(); from sqlfluff.cli.commands import cli; cli()",
    *("lint", "--config", ".sqlfluff", "--format", "json", "--nofail"),
)
# As in .sqlfluff. All lines are measured only here, because the texts have other names.
LONGEST_LINE = 120

# AM07, the same number of columns in each branch of a union: lists are shortened here, and Spark
# checks it.
NOT_OF_SHAPES = ("AM07",)

# The number of a line in its file, and the line.
Line = tuple[int, str]
Item = TypeVar("Item")

# The parts that are numbered: a name, a text, a number, a relation.
NUMBERED = re.compile(
    r"`(?:[^`\n]|``)*`|'(?:[^'\\\n]|\\.|'')*'|\b\d[\w.]*|(?<=\bfrom )\w+\.\w+|(?<=\bjoin )\w+\.\w+"
)
# Replaces a numbered part while texts are compared: one character each.
FIRST_PLACE = 0xF0000
PLACE = re.compile("[\U000f0000-\U0010ffff]")

LONGEST_LIST_ITEM = 4  # parts between commas
LONGEST_BRANCH = 300  # lines


def lint(paths: Iterable[Path]) -> list[str]:
    """Say what is wrong with the layout of compiled SQL, line by line."""
    texts: dict[str, tuple[Path, list[int]]] = {}
    findings = []
    for path in paths:
        sql = path.read_text(encoding="utf-8")
        findings += measured(path, sql)
        for text, numbers in shapes(sql):
            texts.setdefault(text, (path, numbers))
    with tempfile.TemporaryDirectory() as folder:
        # in the order of their size, so that both halves take equally long
        ordered = sorted(texts, key=len)
        files = [Path(folder, f"{number}.sql") for number in range(len(ordered))]
        for file, text in zip(files, ordered, strict=True):
            file.write_text(text, encoding="utf-8")
        with ThreadPoolExecutor() as pool:
            read = pool.map(sqlfluff, filter(None, [files[0::2], files[1::2]]))
            found = [one for part in read for one in part]
    for file_name, line, said in found:
        path, numbers = texts[ordered[int(Path(file_name).stem)]]
        findings.append(f"{path}:{numbers[min(line, len(numbers)) - 1]}: {said}")
    return findings


def sqlfluff(files: Sequence[Path]) -> list[tuple[str, int, str]]:
    """Give what sqlfluff finds: file, line, words."""
    done = subprocess.run(
        [*SQLFLUFF, *map(str, files)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [
        (file["filepath"], one["start_line_no"], f"{one['code']} {one['description']}")
        for file in json.loads(done.stdout)
        for one in file["violations"]
        if one["code"] not in NOT_OF_SHAPES
    ]


def measured(path: Path, sql: str) -> list[str]:
    """Say which lines of a file are too long, and whether blank space is at its end."""
    # the end of a file is not checked, since dbt leaves no newline there
    found = [f"{path}: ends with blank space"] if sql != sql.rstrip() else []
    for number, line in enumerate(sql.splitlines(), start=1):
        # the type of a struct cannot be broken into lines
        if len(re.sub(r"<.*>", "", line)) > LONGEST_LINE:
            found.append(f"{path}:{number}: the line is longer than {LONGEST_LINE} characters")
    return found


def shapes(sql: str) -> list[tuple[str, list[int]]]:
    """Give the texts of compiled SQL that are read, and the line of the file of each of theirs."""
    return [shape(part) for part in subqueries(list(enumerate(sql.splitlines(), start=1)))]


def subqueries(lines: Sequence[Line]) -> list[list[Line]]:
    """Take the subqueries out of a query: the innermost first, the query itself last."""
    found: list[list[Line]] = []
    rest: list[Line] = []
    end = 0
    for place, (number, line) in enumerate(lines):
        if place < end:
            continue
        rest.append((number, line))
        margin = " " * (len(line) - len(line.lstrip()))
        inner = margin + " " * 4
        end = place + 1
        while end < len(lines) and (not lines[end][1] or lines[end][1].startswith(inner)):
            end += 1
        body = [(number, line.removeprefix(inner)) for number, line in lines[place + 1 : end]]
        is_block = (
            line.endswith("(")
            and len(body) > 0
            and re.match(r"(select|with)\b", body[0][1])
            and body[-1][1]
            and end < len(lines)
            and lines[end][1].startswith(f"{margin})")
        )
        if is_block:
            found += subqueries(body)
            rest += [(number, f"{inner}select *"), (number, f"{inner}from here")]
        else:
            end = place + 1
    return [*found, rest]


def shape(lines: Sequence[Line]) -> tuple[str, list[int]]:
    """Shorten a text and number its names; with it, the number of each line in its file."""
    given: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        given.append(match[0])
        return chr(FIRST_PLACE + len(given) - 1)

    def at(place: re.Match[str]) -> str:
        return given[ord(place[0]) - FIRST_PLACE]

    def kind_of(text: str) -> str:
        return PLACE.sub(lambda place: kind(at(place)), text)

    aside = NUMBERED.sub(put_aside, "\n".join(line for _, line in lines))
    short = []
    for (number, _), line in zip(lines, aside.split("\n"), strict=True):
        parts = line.split(", ")
        parts = without_repeats(parts, [kind_of(part) for part in parts], LONGEST_LIST_ITEM)
        short.append((number, ", ".join(parts)))
    short = without_repeats(short, [kind_of(line) for _, line in short], LONGEST_BRANCH)
    numbers: dict[str, int] = {}

    def name(place: re.Match[str]) -> str:
        number = numbers.setdefault(at(place), len(numbers) + 1)
        return kind(at(place)).replace("1", str(number))

    return (
        "\n".join(PLACE.sub(name, line) for _, line in short),
        [number for number, _ in short],
    )


def kind(text: str) -> str:
    """Give the first of the names that are written in the place of such a text."""
    if text[0] in "`'":
        return f"{text[0]}n1{text[0]}"
    return "1" if text[0].isdigit() else "here.n1"


def without_repeats(items: Sequence[Item], kinds: Sequence[Hashable], longest: int) -> list[Item]:
    """Of three or more sequences of one kind that follow each other, leave two."""
    left: list[Item] = []
    place = 0
    while place < len(items):
        for length in range(1, min(longest, (len(items) - place) // 3) + 1):
            if kinds[place + length] != kinds[place]:
                continue
            wanted, times = kinds[place : place + length], 1
            while kinds[place + times * length : place + (times + 1) * length] == wanted:
                times += 1
            if times > 2:
                left += items[place : place + 2 * length]
                place += times * length
                break
        else:
            left.append(items[place])
            place += 1
    return left
