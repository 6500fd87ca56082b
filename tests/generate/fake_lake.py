"""A lake of Python rows, which answers the queries of `spark-cdc generate` without Spark."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark_cdc_udfs.generate import command, netiq
from spark_cdc_udfs.lake.queries import QueryFailed

Row = tuple[Any, ...]

HEADER = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__change_mask": "string",
    "header__operation": "string",
    "header__transaction_id": "string",
}


@dataclass
class Landed:
    """A table: its columns with types, comments, rows, and `.dfm` files beside its files."""

    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]] = ()
    comments: Mapping[str, str] = field(default_factory=dict)
    dfm: Mapping[str, str] = field(default_factory=dict)
    fails: bool = False  # its rows cannot be read
    partitions: Sequence[str] = ()


@dataclass
class FakeLake:
    """Tables by their names in one schema, `landing`."""

    tables: dict[str, Landed]
    queries: list[str] = field(default_factory=list)
    schema: str = "target"  # of the models

    def rows(self, query: str) -> list[Row]:
        """Answer a query."""
        self.queries.append(query)
        if query == "show tables in `landing`":
            return [("landing", name, False) for name in self.tables]
        if query.startswith("show tables in"):
            raise QueryFailed("[SCHEMA_NOT_FOUND] The schema cannot be found.")
        names = [
            name.replace("``", "`") for name in re.findall(r"`landing`\.`((?:[^`]|``)+)`", query)
        ]
        if found := re.search(r"from binaryFile\.`/landing/(.+)/\{", query):
            files = sorted(self.tables[found[1]].dfm.items(), reverse=True)[:1]
            return [(text.encode().hex(), path) for path, text in files]
        table = self.tables[names[0]]
        if query.startswith("describe table"):
            columns = [(n, kind, table.comments.get(n)) for n, kind in table.columns.items()]
            more = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
            more += [(name, table.columns[name], "") for name in table.partitions]
            more += [("", "", ""), ("# Detailed Table Information", "", "")]
            return [*columns, *more, ("Location", f"/landing/{names[0]}", "")]
        if any(self.tables[name].fails for name in names):
            raise QueryFailed("[FAILED_READ_FILE] A file cannot be read.")
        if "as changes" in query:
            return [row for name in names for row in self._masks(name)]
        if query.startswith("select count(*), count("):
            counted = re.findall(r"count\(`([^`]+)`\)", query)
            inserts = [row for row in table.rows if row["ibmsnap_operation"] == "I"]
            filled = (sum(row[name] is not None for row in inserts) for name in counted)
            return [(len(inserts), *filled)]
        if "lineage" in query:
            return [(str(row["value"]).encode().hex(), row.get("timestamp")) for row in table.rows]
        if "array_join" in query:
            forms = Counter((_table(row), _names(row["table_key"])) for row in table.rows)
            whole: dict[str, set[str]] = {}
            for row in table.rows:
                if "." in row["table_name"]:
                    whole.setdefault(_table(row), set()).add(row["table_name"].lower())
            ends = {name: (min(some), max(some)) for name, some in whole.items()}
            return [(*form, rows, *ends.get(form[0], ())) for form, rows in forms.items()]
        changed = Counter((_table(r), r["column_name"]) for r in table.rows if r["column_name"])
        return [(*pair, rows) for pair, rows in sorted(changed.items())]

    def _masks(self, name: str) -> list[Row]:
        found: Counter[tuple[str, str]] = Counter()
        for row in self.tables[name].rows:
            letter = row.get("header__change_oper")
            if letter in ("I", "D") and row.get("header__change_mask") is not None:
                found[letter, row["header__change_mask"]] += 1
        return [(name, *mask, rows) for mask, rows in found.items()]


def _table(row: Mapping[str, Any]) -> str:
    return str(row["table_name"]).lower().rpartition(".")[2]


def _names(key: str) -> str | None:
    # Python 3.10 has no possessive repetition
    whole, part = (text.replace("*+", "*").replace("++", "+") for text in (netiq.WHOLE, netiq.PART))
    if not re.match(whole.replace("\\z", "\\Z"), key):
        return None
    return "\t".join(found[0].lower() for found in re.findall(part, key))


def mask_of(places: Sequence[int], headers: int = len(HEADER), order: str = "big") -> str:
    """Write the mask of data columns, by their places, as hexadecimal digits."""
    number = sum(1 << (headers + place) for place in places)
    width = max(1, (number.bit_length() + 7) // 8)
    return number.to_bytes(width, "big" if order == "big" else "little").hex().upper()


def change_table(
    columns: Mapping[str, str],
    key: Sequence[str],
    deletes: int = 2,
    order: str = "big",
    comments: Mapping[str, str] | None = None,
    landed: str = "",
) -> Landed:
    """Make a change table with an insert, and deletes whose masks tell the key.

    No mask counts the column `landed`.
    """
    names = [name for name in columns if name != landed]
    everything = mask_of(range(len(names)), order=order)
    of_key = mask_of([names.index(name) for name in key], order=order)
    rows = [{"header__change_oper": "I", "header__change_mask": everything}]
    rows += [{"header__change_oper": "D", "header__change_mask": of_key}] * deletes
    return Landed({**HEADER, **columns}, rows, comments or {})


def dfm(columns: Sequence[Mapping[str, Any]]) -> str:
    """Write a `.dfm` file."""
    return json.dumps({"dataInfo": {"sourceSchema": "APP", "columns": list(columns)}})


def project(folder: Path, text: str, **files: str) -> Path:
    """Make a dbt project with a `spark_cdc.yml`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dbt_project.yml").write_text("name: mine\nprofile: mine\n")
    (folder / "spark_cdc.yml").write_text(text)
    for name, content in files.items():
        (folder / name.replace("_csv", ".csv")).write_text(content)
    return folder


def run(folder: Path, lake: FakeLake, *options: str) -> int:
    """Run `spark-cdc generate` in a project; give the exit status."""
    import argparse

    @contextlib.contextmanager
    def connect(*_: Any) -> Iterator[FakeLake]:
        yield lake

    parser = argparse.ArgumentParser()
    command.add_options(parser)
    return command.run(parser.parse_args(["--project-dir", str(folder), *options]), connect)


def written(folder: Path) -> dict[str, str]:
    """Read the files of the models of a project."""
    files = sorted(path for path in (folder / "models").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}
