"""A table that models are written for, and how its key is decided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from spark_cdc_udfs.generate.config import Source
from spark_cdc_udfs.generate.decoders import ENDINGS
from spark_cdc_udfs.generate.earlier import Earlier, earlier_run
from spark_cdc_udfs.generate.known_keys import KnownKeys
from spark_cdc_udfs.generate.lake import Column, Columns, columns_in, tables_in
from spark_cdc_udfs.lake.queries import Lake


@dataclass(frozen=True)
class Landed:
    """A relation in the landing, for `source()`."""

    source: str
    table: str


@dataclass(frozen=True)
class Table:
    """All that the files of a table are written from."""

    source: Source
    name: str  # of its current state
    landed: str  # its relation in the landing
    raw: Columns  # the columns of this relation
    columns: Columns  # the columns of the table
    key: tuple[str, ...]
    arguments: Mapping[str, Any]  # of the decoder, in the order in which they are written
    is_declared: bool = False  # whether the call has `columns`
    metadata: str = ""  # the type of cdc_metadata
    own: Mapping[str, Columns] = field(default_factory=dict)  # relations that only it reads
    shared: Mapping[str, Columns] = field(default_factory=dict)  # that other tables read as well
    without_bit: tuple[str, ...] = ()  # columns that masks leave out
    has_mask: bool = False

    @property
    def folder(self) -> PurePosixPath:
        """The folder of its files, in the project."""
        return self.source.folder / self.name


@dataclass(frozen=True)
class Report:
    """What is said of a table: how its key is known, or why nothing is written for it."""

    source: Source
    name: str
    names: tuple[str, ...]  # by which settings name it
    key: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
    shared: Mapping[str, Columns] = field(default_factory=dict)  # relations it would read


class Problem(Exception):
    """Why nothing can be written for a table."""


@dataclass(frozen=True)
class Evidence:
    """What the landing tells of a key: the columns, how that is known, or what was tried."""

    key: tuple[str, ...] = ()
    how: str = ""
    tried: tuple[str, ...] = ()


@dataclass
class Landing:
    """What is known while the tables of a source are looked for."""

    source: Source
    lake: Lake
    keys: KnownKeys
    project: Path
    notes: list[str] = field(default_factory=list)  # of no single table
    _names: list[str] | None = None
    _columns: dict[str, dict[str, Column]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The tables of the schema."""
        if self._names is None:
            self._names = tables_in(self.lake, self.source.schema)
        return self._names

    def spelled(self, name: str) -> str | None:
        """Spell the name of a table as the lake does; None if it does not exist."""
        return next((there for there in self.names if there.lower() == name.lower()), None)

    def columns(self, table: str) -> dict[str, Column]:
        """Give the columns of a table. Raises QueryFailed."""
        if table not in self._columns:
            self._columns[table] = columns_in(self.lake, self.source.schema, table)
        return self._columns[table]

    def earlier(self, names: Sequence[str]) -> Earlier:
        """Give what the files of an earlier run tell of a table."""
        return earlier_run(self.project / self.source.folder / (self.source.prefix + names[0]))

    def given_key(self, names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Give the key that a CSV file or the settings have, and where it is from."""
        of_csv = self.keys.of(self.source.name, *names)
        if of_csv and self.keys.path:
            return self.keys.path.name, of_csv
        return "table_settings", self.source.of(*names).key

    def key(
        self, names: Sequence[str], columns: Columns, told: Evidence
    ) -> tuple[tuple[str, ...], str, list[str]]:
        """Decide the key of a table: its columns, how it is known, and notes.

        Raises Problem that says what was tried.
        """
        where, given = self.given_key(names)
        if given:
            found = spelled_key(given, columns)
            if found is None:
                there = ", ".join(columns)
                raise Problem(f"{where} gives the key {', '.join(given)}; columns are {there}")
            notes = []
            if told.key and {*map(str.lower, told.key)} != {*map(str.lower, found)}:
                notes.append(f"{told.how} the key would be {', '.join(told.key)}")
            return found, f"from {where}", notes
        if told.key:
            found = spelled_key(told.key, columns)
            if found is not None:
                return found, told.how, []
            told = Evidence(tried=(f"{told.how} it is {', '.join(told.key)}: no such column",))
        found = spelled_key(self.earlier(names).key, columns)
        if found:
            return found, f"from the earlier run ({'; '.join(told.tried)})", []
        tried = [*told.tried, "neither a CSV file nor table_settings give it", "no earlier run"]
        raise Problem(f"the key is not known: {'; '.join(tried)}")


def spelled_key(key: Sequence[str], columns: Iterable[str]) -> tuple[str, ...] | None:
    """Spell the columns of a key as the table does; None if the table does not have them."""
    there = {name.lower(): name for name in columns}
    if any(name.lower() not in there for name in key):
        return None
    return tuple(there[name.lower()] for name in key)


def ending_of(source: Source, *names: str) -> str | None:
    """Give the ending that the models of a table lose; None if no pattern chooses the table.

    A table that has several names is chosen, or left out, by any of them.
    """
    lower = [name.lower() for name in names]

    def fits(pattern: str) -> bool:
        return any(fnmatchcase(name, pattern.lower()) for name in lower)

    if any(fits(pattern) for pattern in source.exclude):
        return None
    fitting = (pattern for pattern in source.tables if fits(pattern))
    return next((one.rpartition("*")[2] if "*" in one else "" for one in fitting), None)


def chosen(source: Source, names: Iterable[str]) -> dict[str, str]:
    """Choose tables by their names; give the ending of each that its models lose."""
    endings = {name: ending_of(source, name) for name in names}
    return {name: ending for name, ending in endings.items() if ending is not None}


LONGEST = 200  # characters of a table's name


def base_name(landed: str, ending: str) -> str:
    """Give the name of a table without its ending, as the name of a dbt model can be."""
    name = landed.lower()
    if ending and len(name) > len(ending):
        name = name[: -len(ending)]
    for usual in ENDINGS:
        if name.endswith(usual) and len(name) > len(usual):
            name = name[: -len(usual)]
            break
    return re.sub(r"[^a-z0-9_]", "_", name)


def check_names(model: str, *names: str) -> None:
    """Raise Problem for a name that dbt or Spark would not take as it is.

    `model` is the name of the models, which have endings: files and relations of that name.
    """
    if len(model) > LONGEST:
        raise Problem(f"its name has {len(model)} characters, and models have at most {LONGEST}")
    for name in (model, *names):
        if "${" in name:
            raise Problem(f"Spark would replace a part of the name {name!r}; rename it in a view")
        if re.search(r"\{[{%#]|[#%}]\}|[\x00-\x1f\x7f\u2028\u2029]", name):
            raise Problem(f"the name {name!r} cannot be written for dbt; rename it in a view")


def check_columns(columns: Columns) -> None:
    """Raise Problem for columns with which a decoder stops."""
    seen: dict[str, str] = {}
    for name, column in columns.items():
        if seen.setdefault(name.lower(), name) != name:
            other = seen[name.lower()]
            raise Problem(f"the columns {other} and {name} differ only in case; rename one")
        unquoted = re.sub("`[^`]*`", "", column.type.lower())
        if re.search(r"\bmap\s*<|\bvariant\b", unquoted):
            raise Problem(
                f"the column {name} is of type {column.type}, which has no equality; cast it in a"
                " view, or name it in landing_columns"
            )
        if name.lower().startswith("cdc_"):
            raise Problem(f"the name of the column {name} begins with cdc_; rename it in a view")
