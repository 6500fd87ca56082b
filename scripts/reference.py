"""Writes the pages of `docs/` that are made from the project: `make reference`.

`docs/reference.md` has the public macros and generic tests, from the YAML files in their folders.
The tables in `docs/change-event.md` have the descriptions of columns, from `models/docs.md`. The
README has a table of `docs/performance.md`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import yaml

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference.md"
CHANGE_EVENT = ROOT / "docs" / "change-event.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
COLUMNS = ROOT / "models" / "docs.md"

HEAD = """\
# Reference: macros and generic tests

<!-- Made by `make reference` from the YAML files in macros/. Do not edit it here. -->

A wrong argument stops compilation. The message says what was given and what is accepted, with an
example. A misspelt name of an argument is refused by dbt itself, which does not list the others.
"""

DECODERS, QUERIES = "Decoders", "Queries of a format"
# Folders of macros, and the text above their macros; each other folder is of a format, and has a
# decoder, queries or both.
SECTIONS = {
    DECODERS: (
        "Each is a whole `select`: the body of a model. It gives [change events](change-event.md)."
    ),
    QUERIES: (
        "They read the raw rows of a format, and give no change events. Each is a whole `select`,"
        " the body of a model that\nis a view or a table, unless its description says otherwise."
    ),
    "apply": "Each is a whole `select`: the body of a model. They follow the [rules](rules.md).",
    "looking": (
        "They read built tables; see [looking at it](looking.md). Each is a whole `select`, the"
        " body of a model that is a view or\na table, unless its description says otherwise."
    ),
    "change_feed": "A whole `select`: the body of a model.",
    "common": (
        "`raw_log`, `quarantine` and `raw_counts` are whole `select` statements: the bodies of"
        " models."
    ),
    "health": "A whole `select`: the body of a model.",
    "incremental": "",
    "generic_tests": (
        "They take built relations. Each test fails with the rows that are wrong. Compilation stops"
        " if `key` is empty,\nor if `key`, `columns` or `leave_out` is not a list or names a column"
        " that does not exist."
    ),
}
TITLES = {
    "apply": "Current state and history",
    "looking": "Looking at it",
    "change_feed": "Change feed",
    "common": "Raw rows, columns, and parts of decoders",
    "health": "Health",
    "incremental": "Materialization",
    "generic_tests": "Generic tests",
}

FENCE = re.compile(r"```(\w+)\n(.*?)\n```", re.DOTALL)


def public_macros(folder: Path) -> list[dict[str, Any]]:
    """Read the public macros in a folder's YAML, in its order."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("_*.yml")):
        found += (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("macros", [])
    return [macro for macro in found if macro.get("docs", {}).get("show", True)]


def shown_name(macro: dict[str, Any]) -> str:
    """Name a macro as its users do."""
    name = str(macro["name"])
    return re.sub(r"^(test|materialization)_|_spark$", "", name)


def signature(folder: Path, name: str) -> list[tuple[str, str | None]]:
    """Give the arguments of a macro as it is written, each with its default."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sql")))
    found = re.search(rf"\{{%-?\s*(?:macro|test)\s+{name}\((.*?)\)\s*-?%\}}", text, re.DOTALL)
    if not found:
        return []
    arguments = re.split(r",\s*(?![^\[({]*[])}])", found[1].strip())
    pairs = (argument.partition("=") for argument in arguments)
    return [(argument, default if equals else None) for argument, equals, default in pairs]


def gives_events(folder: Path) -> bool:
    """Whether the macro with the name of a folder is a decoder of change events."""
    text = (folder / f"{folder.name}.sql").read_text(encoding="utf-8")
    return "spark_cdc.decode(" in text


def entry(folder: Path, macro: dict[str, Any]) -> Iterator[str]:
    """Write one macro."""
    name = str(macro["name"])
    yield f"### {shown_name(macro)}\n"
    is_test = name.startswith("test_")
    given = signature(folder, name.removeprefix("test_"))
    given = [pair for pair in given if not (is_test and pair[0] == "model")]
    if given and not is_test:
        written = [f"{argument}={default}" if default else argument for argument, default in given]
        if shown_name(macro) in ("quarantine", "raw_counts"):
            written.append("of=none")
        yield f"`spark_cdc.{shown_name(macro)}({', '.join(written)})`\n"
    description = jinja2.Environment().from_string(str(macro["description"])).render()
    description = re.sub(r"`docs/([\w/.]+)`", r"[\1](\1)", description)
    yield FENCE.sub(lambda found: f"```{found[1]}\n{found[2].strip()}\n```", description).strip()
    yield ""
    described = {argument["name"]: argument for argument in macro.get("arguments", [])}
    if given:
        yield "| argument | type | default | meaning |"
        yield "|---|---|---|---|"
        for argument, default in given:
            what = described[argument]
            shown = f"`{default}`" if default else ""
            meaning = " ".join(str(what["description"]).split()).replace("|", "\\|")
            kind = str(what["type"]).replace("|", "\\|")
            yield f"| `{argument}` | {kind} | {shown} | {meaning} |"
        yield ""


def reference() -> str:
    """Write the whole page."""
    macros = ROOT / "macros"
    decoders = [
        folder
        for folder in sorted(macros.iterdir())
        if folder.name not in SECTIONS and (folder / f"{folder.name}.sql").exists()
    ]
    lines = [HEAD]
    for name, told in SECTIONS.items():
        lines.append(f"## {TITLES.get(name, name)}\n")
        lines += [f"{told}\n"] if told else []
        for folder in decoders if name in (DECODERS, QUERIES) else [macros / name]:
            for macro in public_macros(folder):
                is_decoder = macro["name"] == folder.name and gives_events(folder)
                if name not in (DECODERS, QUERIES) or is_decoder == (name == DECODERS):
                    lines += entry(folder, macro)
    return "\n".join(lines).rstrip("\n") + "\n"


def change_event() -> str:
    """Write the page of change events with the descriptions that its tables name."""
    text = COLUMNS.read_text(encoding="utf-8")
    known = dict(re.findall(r"\{% docs (\w+) %\}\n(.*?)\n\{% enddocs %\}", text, re.DOTALL))

    def filled(found: re.Match[str]) -> str:
        head, names, table = found.groups()
        rows = table.splitlines()
        for place, name in enumerate(names.split(), start=2):
            column, kind = rows[place].split(" | ")[:2]
            rows[place] = f"{column} | {kind} | {' '.join(known[name].split())} |"
        return head + "\n".join(rows) + "\n"

    page = CHANGE_EVENT.read_text(encoding="utf-8")
    return re.sub(r"(<!-- columns: ([\w ]+) -->\n)((?:\|.*\n)+)", filled, page)


def readme() -> str:
    """Write the README with the table that it takes from the page of performance."""
    tables = re.findall(r"(?:^\|.*\n)+", PERFORMANCE.read_text(encoding="utf-8"), re.MULTILINE)
    page = README.read_text(encoding="utf-8")
    mark = "<!-- copy of the first table in docs/performance.md -->\n"
    return re.sub(rf"({mark})(?:\|.*\n)*", lambda found: found[1] + tables[0], page)


def pages() -> dict[Path, str]:
    """Give the pages with up-to-date contents."""
    return {REFERENCE: reference(), CHANGE_EVENT: change_event(), README: readme()}


def main() -> int:
    """Write the pages that are out of date."""
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
