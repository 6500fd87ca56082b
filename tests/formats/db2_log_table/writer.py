"""Writes a workload as a log table of keys, as triggers or an application would.

:func:`write` gives the log, the base that answers it, and the expected result. :class:`Layout` says
how the two landed. :class:`Style` says who fills the log, and what happens to the rows on their
way.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from kit.formats import Written
from kit.values import texts_of
from simulation.database import RowChange, Table, Workload

from formats.db2_log_table import reference
from formats.db2_log_table.reference import Options, Row

PARTS = Table(
    "parts",
    {
        "note": "string",
        "part": "string",
        "price": "decimal(12,2)",
        "nr": "smallint",
        "made_on": "date",
        "grade": "tinyint",
    },
    ("nr", "part"),
)

# Statements without row triggers.
NOT_LOGGED = ("truncate", "reload")

LETTERS = "IUD"


@dataclass(frozen=True)
class Layout:
    """How a log and its base landed.

    ``operation``, ``time``: landed types. ``key_columns``: the names of the key columns, in key
    order; ``is_given``: whether they are an argument. ``keys_as_text``: instead of the types of the
    table. ``base``: ``typed`` or ``text``; ``columns``: whether they are an argument.
    """

    operation: str = "int"
    time: str = "timestamp"
    key_columns: Sequence[str] = ("PK01", "PK02")
    is_given: bool = False
    keys_as_text: bool = False
    base: str = "typed"
    columns: bool = False

    def log_columns(self, table: Table) -> dict[str, str]:
        """Names and types of the log's columns; the key is not at the end."""
        types = {
            name: table.columns[one] for name, one in zip(self.key_columns, table.key, strict=True)
        }
        if self.keys_as_text:
            types = dict.fromkeys(types, "string")
        reverse = dict(reversed(types.items()))
        return {**reverse, "loaded_at": "timestamp", "OPERATION": self.operation, "TIME": self.time}

    def base_columns(self, table: Table) -> dict[str, str]:
        """Names and types of the base's columns; only with `columns` it has an unread one."""
        if self.base == "typed" and not self.columns:
            return dict(table.columns)
        types = dict(table.columns)
        if self.base == "text":
            types = dict.fromkeys(types, "string")
        return {"not_read": "string", **dict(reversed(types.items()))}


@dataclass(frozen=True)
class Style:
    """Who fills the log, and what happens to the rows on their way.

    ``by``: ``triggers``, one row for each change in order, or ``application``, which names each
    changed key sometimes, with any operation. ``zone``: the zone of the log's times.
    ``duplicates``: the share of rows that are delivered again. ``bad_rows``: how many rows of each
    kind of :data:`BAD_ROWS`. ``unlanded``: the share of rows that are not in the log yet, or are
    lost.
    """

    by: str = "triggers"
    zone: str = "UTC"
    duplicates: float = 0.1
    bad_rows: Mapping[str, int] = field(default_factory=dict)
    unlanded: float = 0.0
    shuffle: bool = True


@dataclass(frozen=True)
class Log(Written):
    """The landed rows, and their expected result; ``arguments`` are the decoder's."""

    layout: Layout
    table: Table
    rows: list[Row]
    base: list[Row]
    options: Options
    arguments: str
    decoded: reference.Decoded

    @property
    def columns(self) -> dict[str, str]:
        return self.layout.log_columns(self.table)

    @property
    def base_columns(self) -> dict[str, str]:
        return self.layout.base_columns(self.table)


# ------------------------------------------------------------------------------------------- values


def text_of(sql_type: str, value: Any, rng: random.Random) -> str | None:
    """A value as a text that a cast accepts."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return rng.choice((value.hex(), value.hex().upper()))
    if isinstance(value, bool):
        return rng.choice({True: ("1", "true", "T"), False: ("0", "FALSE", "n")}[value])
    if isinstance(value, datetime):
        text = value.strftime(rng.choice(("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f")))
        return text + (rng.choice(("", "Z", "+00:00")) if sql_type == "timestamp" else "")
    if isinstance(value, date):
        return value.isoformat() + rng.choice(("", "", " 00:00:00"))
    if isinstance(value, Decimal):
        return rng.choice(("", " ")) + f"{value:f}"
    more = ("", "", ".0") if isinstance(value, int) else ("", " ")
    return rng.choice(("", " ")) + repr(value) + rng.choice(more)


def time_text(at: datetime, rng: random.Random) -> str:
    """A time in a form of Spark or Db2."""
    forms = [f"{at:%Y-%m-%d %H:%M:%S.%f}789", f"{at:%Y-%m-%d-%H.%M.%S.%f}"]
    forms += [f" {at:%Y-%m-%d-%H.%M.%S.%f}000123 ", f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"]
    if not at.microsecond:
        forms += [f"{at:%Y-%m-%d %H:%M:%S}", f"{at:%Y-%m-%d-%H.%M.%S}"]
    return rng.choice(forms)


# ------------------------------------------------------------------------------------------ the log


def logged(workload: Workload, by: str, rng: random.Random, zone: str) -> list[Row]:
    """The log rows as they are written, with operations as numbers and local times.

    A trigger notes the time of its statement: the same for all its rows, before the commit. A row
    whose key changes is a delete and an insert.
    """
    table = workload.table
    rows = []
    for transaction in workload.transactions:
        at = transaction.committed_at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        for change in transaction.changes:
            if rng.random() < 0.3:
                at -= timedelta(microseconds=rng.choice((1, 1000, 2_000_000)))
            for operation, values in keys_of(change, table):
                if by == "application":
                    operation = rng.choice((0, 1, 2, operation))
                rows.append({"OPERATION": operation, "TIME": at, "key": table.key_of(values)})
    return rows


def keys_of(change: RowChange, table: Table) -> list[tuple[int, Row]]:
    """The keys that a change names, with the operations."""
    before, after = change.before, change.after
    if before and after and table.key_of(before) != table.key_of(after):
        return [(2, before), (0, after)]
    return [({"insert": 0, "update": 1, "delete": 2}[change.operation], change.values)]


def landed(row: Row, table: Table, layout: Layout, rng: random.Random) -> Row:
    """A log row in the types of a layout."""
    operation, at = row["OPERATION"], row["TIME"]
    if layout.operation == "string":
        operation = rng.choice((str(operation), f"{operation}.0", LETTERS[operation] + " "))
    elif layout.operation.startswith("decimal"):
        operation = Decimal(operation)
    if layout.time == "string":
        at = time_text(at, rng)
    elif layout.time == "timestamp":
        at = at.replace(tzinfo=timezone.utc)
    values = zip(layout.key_columns, table.key, row["key"], strict=True)
    key = {
        name: text_of(table.columns[one], value, rng) if layout.keys_as_text else value
        for name, one, value in values
    }
    return {"OPERATION": operation, "TIME": at, "loaded_at": None, **key}


# ----------------------------------------------------------------------------------- malformed rows


def bad(row: Row, kind: str, layout: Layout, table: Table, rng: random.Random) -> Row:
    """A landed row that is malformed in one way, or an information row."""
    row, last = dict(row), layout.key_columns[-1]
    if kind == "unknown_operation":
        texts = ("3", "X", "u", None)
        row["OPERATION"] = rng.choice(texts) if layout.operation == "string" else 3
    elif kind == "null_key":
        row[last] = None
    elif kind == "missing_time":
        row["TIME"] = None
    elif kind == "information":
        row |= dict.fromkeys(("OPERATION", *layout.key_columns))
    elif layout.time == "string" and rng.random() < 0.5:
        row["TIME"] = rng.choice(("soon", "", "2024-02-30-10.00.00", "2024-05-01-24.00.00"))
    else:
        typed = [
            name
            for name, one in zip(layout.key_columns, table.key, strict=True)
            if table.columns[one] != "string"
        ]
        row[rng.choice(typed)] = "12x"
    return row


BAD_ROWS = ("unknown_operation", "null_key", "missing_time", "bad_value", "information")


def possible_bad_rows(layout: Layout) -> list[str]:
    """The kinds that are possible in this layout."""
    is_text = layout.time == "string" and layout.keys_as_text
    return [kind for kind in BAD_ROWS if kind != "bad_value" or is_text]


# ---------------------------------------------------------------------------------------- the base


def base_of(
    rows: Sequence[Mapping[str, Any]], table: Table, layout: Layout, rng: random.Random
) -> list[Row]:
    """The table with rows that should not be there.

    Some keys have two rows, of which the greatest is taken; some rows have no key. In a base of
    text, some rows have a bad value: the second row of a key, or the only one.
    """
    made = [dict(row) for row in rows]
    for row in rng.sample(made, min(len(made), 3)):
        made.append(row | {name: rng.choice(made)[name] for name in table.attributes})
    made += [{**row, table.key[-1]: None} for row in made[:1]]
    if layout.base == "text":
        made = [
            {name: text_of(table.columns[name], value, rng) for name, value in row.items()}
            for row in made
        ]
        typed = [name for name in table.columns if table.columns[name] not in ("string", "binary")]
        for row in rng.sample(made, min(len(made), 4)):
            row[rng.choice([name for name in typed if name not in table.key])] = "12x"
        made += [
            {**row, next(name for name in typed if name in table.key): "12x"} for row in made[:1]
        ]
    rng.shuffle(made)
    names = layout.base_columns(table)
    return [{name: row.get(name, "x") for name in names} for row in made]


# ---------------------------------------------------------------------------------------- all of it


def write(
    workload: Workload,
    rng: random.Random,
    layout: Layout | None = None,
    style: Style | None = None,
) -> Log:
    """The log of a workload without :data:`NOT_LOGGED`, and the table after it."""
    layout, style = layout or Layout(), style or Style()
    table = workload.table
    made = logged(workload, style.by, rng, style.zone)
    rows = [landed(row, table, layout, rng) for row in made if rng.random() >= style.unlanded]
    for kind in chain.from_iterable([kind] * count for kind, count in style.bad_rows.items()):
        rows.insert(rng.randrange(len(rows)), bad(rng.choice(rows), kind, layout, table, rng))
    again = [dict(row) for row in rows if rng.random() < style.duplicates]
    for row in again:
        rows.insert(rng.randrange(len(rows)), row)
    if style.shuffle:
        rng.shuffle(rows)
    base = base_of(list(workload.rows_at(len(workload.rows) - 1).values()), table, layout, rng)
    options = Options(table.key, dict(table.columns), layout.key_columns, style.zone)
    return Log(
        layout,
        table,
        rows,
        base,
        options,
        arguments_of(options, layout),
        reference.decode(rows, base, options),
    )


def arguments_of(options: Options, layout: Layout) -> str:
    """The decoder's arguments after the relation, as Jinja."""
    given = {"key": repr(list(options.key)), "base": "{base}"}
    if layout.is_given:
        given["key_columns"] = repr(list(options.key_columns))
    if layout.columns:
        given["columns"] = repr(dict(options.columns))
    if options.zone != "UTC":
        given["source_timezone"] = repr(options.zone)
    return ", ".join(f"{name}={value}" for name, value in given.items())


def shown(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[str | None, ...]:
    """The values of a row as texts."""
    return tuple(texts_of(row, columns).values())
