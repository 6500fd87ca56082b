"""Each regular expression of the package takes time in proportion to its text, at any text.

Java's expressions go back and try again, and no task can be cancelled while one does. So one value
must not make n times n steps. The expressions are those of all compiled models of the demo and of
the dbt unit tests. Each is run on texts made for it: a beginning, its own signs many times, and an
end that does not fit.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from kit.units import write_project
from kit.warehouse import PROFILES, ROOT
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.java_gateway import launch_gateway
from spark_cdc_udfs.server.java import find_java

pytestmark = pytest.mark.server

# Patterns that read only what another one has accepted: the parts of a key of NetIQ.
AFTER_ANOTHER = {r"""([^=+"\\,;<>]++)=("[^"\\]*+(?:\\["\\][^"\\]*+)*+"|[^,;'+"=\\<>]*+)"""}
# Expressions that are made of data: the shift of a mask.
NO_CONSTANTS = {"shift"}

FEW = (16, 24, 32, 40)  # signs, at which even steps that double with each sign come to an end
MANY = 2_000
VERY_MANY = 200_000  # for Java's stack
FLOOR = 0.03  # seconds in which anything is well
GROWTH = 9  # between 4, for n steps, and 16, for n times n

# ------------------------------------------------------------------------------------ the patterns

TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|`[^`]*`|"(?:[^"\\]|\\.)*"|--[^\n]*|/\*.*?\*/|\w+|[^\s\w]""", re.DOTALL
)
BETWEEN = ("rlike", "regexp")
FUNCTIONS = {"regexp_like", "regexp_extract", "regexp_extract_all", "regexp_replace", "split"}
FUNCTIONS |= {"regexp_count", "regexp_instr", "regexp_substr"}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}


def text_of(literal: str) -> str:
    """The text of a literal of Spark SQL."""

    def escaped(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else ESCAPES.get(found[2], found[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", escaped, literal[1:-1], flags=re.DOTALL)


def constant(tokens: Sequence[str], at: int) -> tuple[str | None, int]:
    """The text of a constant expression, and the place after it; None for what is no constant."""
    name, parts = tokens[at], []
    if name.startswith("'"):
        return text_of(name), at + 1
    if name == "chr" and tokens[at + 2].isdigit():
        return chr(int(tokens[at + 2])), at + 4
    if name not in ("concat", "replace"):
        return None, at
    at += 1
    while tokens[at] != ")":
        part, at = constant(tokens, at + 1)
        if part is None:
            return None, at
        parts.append(part)
    return ("".join(parts) if name == "concat" else parts[0].replace(parts[1], parts[2])), at + 1


def patterns(sql: str) -> Iterator[tuple[str | None, str]]:
    """The regular expressions of a statement, or None, and the token where the text ended."""
    tokens = [one for one in TOKEN.findall(sql) if not one.startswith(("--", "/*"))]
    for place, token in enumerate(tokens):
        if token in BETWEEN:
            at = place + 1
        elif token in FUNCTIONS and tokens[place + 1] == "(":
            depth, at = 1, place + 2
            while depth > 1 or tokens[at] != ",":
                depth += (tokens[at] in "([") - (tokens[at] in ")]")
                at += 1
            at += 1
        else:
            continue
        found, end = constant(tokens, at)
        yield found, tokens[end]


def compiled(project: Path, profiles: Path, target: Path) -> list[str]:
    """The SQL of all models and tests of a dbt project, compiled without a server."""
    done = subprocess.run(
        [
            *("dbt", "compile", "--no-introspect", "--no-populate-cache"),
            *("--exclude", "resource_type:unit_test"),
            *("--project-dir", str(project), "--profiles-dir", str(profiles)),
            *("--target-path", str(target), "--log-path", str(target / "logs")),
        ],
        env=os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "SPARK_CDC_PORT": "1"},
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    found = (target / "compiled").rglob("*.sql")
    return [path.read_text(encoding="utf-8") for path in sorted(found)]


@pytest.fixture(scope="module")
def in_package(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The patterns of the package; not those that only the wrapper models of tests have."""
    home = tmp_path_factory.mktemp("patterns")
    write_project(home / "units")
    wrappers = (home / "units" / "models").rglob("*.sql")
    of_tests = {
        text_of(literal)
        for path in wrappers
        for literal in TOKEN.findall(path.read_text(encoding="utf-8"))
        if literal.startswith("'")
    }
    projects = (
        (ROOT, PROFILES, home / "demo"),
        (home / "units", home / "units", home / "wrappers"),
    )
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda one: compiled(*one), projects))
    found = {one for texts in done for text in texts for one in patterns(text)}
    assert {end for text, end in found if text is None} == NO_CONSTANTS
    constants = {text for text, _ in found if text is not None}
    assert constants >= AFTER_ANOTHER
    return sorted(constants - of_tests - AFTER_ANOTHER)


# --------------------------------------------------------------------------------------- the texts

BEGINNINGS = ("", "1", "1e", "1.", "x'", '"', "2024-02-29", "2024-02-29 10:20:30.")
SIGNS = ("0", "1", "a", "A", " ", '"', "\\", "'", "x", "ab", '""', "\\\\")
ENDS = ("!", "")


def units(pattern: str) -> list[str]:
    """What is repeated: some signs, and the signs and words of the pattern itself."""
    of_classes = "".join(re.findall(r"\[[^\]]*\]", pattern))
    others = {one for one in pattern if not one.isalnum() or one in of_classes}
    words = re.findall(r"[\w\"':=]{2,}", pattern)
    return list(dict.fromkeys([*SIGNS, *sorted(others), *words[:6]]))


def beginnings(pattern: str) -> list[str]:
    """What a text begins with."""
    words = re.findall(r"[\w\"':={]{2,}", pattern)
    return list(dict.fromkeys([*BEGINNINGS, *words[:2]]))


class Java:
    """Java's expressions, as Spark uses them."""

    def __init__(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JAVA_HOME", str(find_java(os.environ).home))
            self._gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        self._gateway.shutdown()
        self._gateway.proc.stdin.close()
        self._gateway.proc.wait()

    def seconds(self, pattern: Any, text: str) -> float:
        """The time for all matches in a text."""
        begin = perf_counter()
        pattern.matcher(text).results().count()
        return perf_counter() - begin

    def fault(self, pattern: str) -> str | None:
        """A text at which a pattern takes far more than its share of time, or Java's stack ends."""
        compiled_pattern = self._gateway.jvm.java.util.regex.Pattern.compile(pattern)
        for unit in units(pattern):
            for begin in beginnings(pattern):
                for end in ENDS:
                    try:
                        wrong = self._fault(compiled_pattern, begin, unit, end)
                    except Py4JJavaError as error:
                        wrong = str(error.java_exception.getClass().getSimpleName())
                    if wrong:
                        return f"{wrong}: {begin!r}, {unit!r} many times, {end!r}"
        return None

    def _fault(self, pattern: Any, begin: str, unit: str, end: str) -> str | None:
        for count in FEW if not begin else ():
            if self.seconds(pattern, begin + unit * count + end) > FLOOR:
                again = min(self.seconds(pattern, begin + unit * count + end) for _ in range(3))
                if again > FLOOR:
                    return f"{again:.2f} s for {count}"
        few, many = (begin + unit * count + end for count in (MANY, 4 * MANY))
        if self.seconds(pattern, many) > FLOOR:
            before = min(self.seconds(pattern, few) for _ in range(3))
            after = min(self.seconds(pattern, many) for _ in range(2))
            if after > FLOOR and after > GROWTH * before:
                return f"{before:.3f} s for {MANY}, {after:.3f} s for {4 * MANY}"
        if not begin and not end:
            self.seconds(pattern, unit * VERY_MANY)
        return None


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    made = Java()
    yield made
    made.close()


# --------------------------------------------------------------------------------------- the tests


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a|a)*$",
        "(a|aa)+$",
        "^(0|1)*$",
        "[1-9].*[eE]",
        "[.]([0-9]*?)0*[eE]",
        "^ *[^ T]+([ T][ 0:.+-]*Z? *)?$",
    ],
)
def test_bad_patterns_are_found(pattern: str, java: Java) -> None:
    assert java.fault(pattern)


def test_patterns_are_read() -> None:
    sql = r"""select a rlike '^\\d\\z', split(f(b, 'x'), concat('a', 'b')), -- rlike 'no'
        regexp_replace(if(a, "x", 'y'), replace(concat('c ', '\'d'), ' ', '\\s'), '') like 'z',
        regexp_extract(a, b.c, 1), split(a, chr(31))"""
    found = [(r"^\d\z", ","), ("ab", ")"), (r"c\s'd", ","), (None, "b"), ("\x1f", ")")]
    assert list(patterns(sql)) == found


def test_patterns_of_the_package_are_fast(in_package: Sequence[str], java: Java) -> None:
    assert len(in_package) > 40
    found = {pattern: java.fault(pattern) for pattern in in_package}
    assert not {pattern: fault for pattern, fault in found.items() if fault}
