"""Writes a workload as the rows of a capture table, as Capture and Apply would.

:func:`write` gives the rows of one table, its unit of work, its base, and the expected result.
:class:`Style` has the registration, and how the rows landed.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from kit.formats import Written
from simulation.database import RowChange, Table, Workload

from formats.db2_capture_table import reference
from formats.db2_capture_table.reference import Options

Row = dict[str, Any]

# Statements that capture tables do not have.
NOT_CAPTURED = ("truncate", "reload")

LOAD = (1, 0)


@dataclass(frozen=True)
class Style:
    """What the registration says, and what happens to the rows on their way.

    ``pairs``: the share of updates that are a delete and an insert; ``shared``: the share of these
    that have one position, which lands in any order. ``before``: the columns that
    have a before column, all or none of them; ``prefix``: the prefix of their names.
    ``key_columns``: the relation's names of the key. ``is_text``: whether all columns landed as
    text. ``sequence``: ``binary``, ``text`` or ``decimal``. ``logmarker``: its type in the
    relation, or None. ``own``: what else a row has about its commit. ``unit_of_work``: the share of
    commits that have a row there, or None; ``joined``: its columns. ``loads``: the number of full
    refreshes. ``missing``: the share of rows that these do not name. ``copies``: of a condensed
    table, the number of its copies. ``base``: ``typed``, ``text`` or None. ``zone``: the zone of
    LOGMARKER. ``duplicates``: the share of rows that land twice. ``bad_rows``: how many malformed
    rows of each kind of :data:`BAD_ROWS`.

    A full refresh cannot lack columns: its rows have the columns of the relation, where NULL is a
    value. Keys have no NULL: such a row is ``null_key``, also in a full refresh.
    """

    pairs: float = 0.0
    shared: float = 0.0
    before: Sequence[str] | None = None
    prefix: str | None = "X"
    key_columns: Sequence[str] | None = None
    is_text: bool = False
    sequence: str = "binary"
    logmarker: str | None = None
    own: Sequence[str] = ()
    unit_of_work: float | None = None
    joined: Sequence[str] = ("LOGMARKER", "UOWID", "AUTHID", "APPLY_QUAL")
    loads: int = 0
    missing: float = 0.0
    copies: int = 0
    base: str | None = None
    zone: str = "UTC"
    duplicates: float = 0.1
    shuffle: bool = True
    bad_rows: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Capture(Written):
    """The landed rows, and their expected result.

    ``commits``: the canonical COMMITSEQ of each transaction by its position.
    """

    table: Table
    columns: dict[str, str]
    rows: list[Row]
    uow_columns: dict[str, str]
    unit_of_work: list[Row]
    base_columns: dict[str, str]
    base: list[Row]
    options: Options
    arguments: str
    decoded: reference.Decoded
    commits: Mapping[int, str]


# ------------------------------------------------------------------------------------------- values


def text_of(value: Any, rng: random.Random) -> str | None:
    """A value as text that Spark casts to it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return rng.choice((value.hex(), value.hex().upper()))
    if isinstance(value, bool):
        return rng.choice(("1", "true", "T") if value else ("0", "FALSE", "no"))
    if isinstance(value, datetime):
        text = f"{value:%Y-%m-%d %H:%M:%S.%f}"
        return text + rng.choice(("", "Z", "+00:00")) if value.tzinfo else text
    if isinstance(value, date):
        return value.isoformat() + rng.choice(("", "", " 00:00:00"))
    if isinstance(value, Decimal):
        return rng.choice(("", " ")) + f"{value:f}"
    return rng.choice(("", " ")) + repr(value)


def time_text(at: datetime, rng: random.Random) -> str:
    """A LOGMARKER as text, in a form of Db2 or Spark: one time has different texts."""
    forms = [
        f"{at:%Y-%m-%d-%H.%M.%S.%f}",
        f" {at:%Y-%m-%d-%H.%M.%S.%f}000123",
        f"{at:%Y-%m-%d %H:%M:%S.%f}",
        f"{at:%Y-%m-%dT%H:%M:%S.%f}Z",
        f"{at + timedelta(hours=2):%Y-%m-%d %H:%M:%S.%f}+02:00 ",
    ]
    if not at.microsecond:
        forms += [f"{at:%Y-%m-%d-%H.%M.%S}", f"{at:%Y-%m-%d %H:%M:%S}"]
    return rng.choice(forms)


def landed_time(at: datetime | None, sql_type: str, rng: random.Random) -> Any:
    if at is None or sql_type == "timestamp_ntz":
        return at
    return at.replace(tzinfo=timezone.utc) if sql_type == "timestamp" else time_text(at, rng)


def landed_sequence(number: int, form: str, rng: random.Random) -> Any:
    """A sequence in a form, of 10 or of 16 bytes."""
    if form == "decimal":
        return Decimal(number)
    width = 16 if number >= 2**80 else rng.choice((10, 16))
    value = number.to_bytes(width, "big")
    if form == "binary":
        return value
    digits = value.hex()
    return rng.choice(
        (
            *(digits, digits.upper(), f"0x{digits}", f"x'{digits.upper()}'", f" {digits} "),
            f"{digits[:8]}:{digits[8:16]}:{digits[16:]}",
            base64.b64encode(value).decode(),
        )
    )


SEQUENCE_TYPES = {"binary": "binary", "text": "string", "decimal": "decimal(31,0)"}


# ------------------------------------------------------------------------------------- the relation


class _Writer:
    """The rows of a capture table: sequences are numbers and values are values until they land."""

    def __init__(self, workload: Workload, rng: random.Random, style: Style) -> None:
        self.workload, self.table, self.rng, self.style = workload, workload.table, rng, style
        key = dict(zip(self.table.key, style.key_columns or self.table.key, strict=True))
        only_key = style.key_columns is not None
        self.sources = {
            name: key.get(name, name)
            for name in self.table.columns
            if name in self.table.key or not only_key
        }
        prefix = style.prefix or ""
        self.befores = {name: prefix + self.sources[name] for name in style.before or ()}
        self.rows: list[Row] = []
        self.number = rng.choice((16, 2**40, 2**72, 2**80 - 500))
        if style.sequence == "decimal":
            self.number = rng.choice((16, 10**18, 10**30))
        self.commits: dict[int, int] = {}

    def row(
        self,
        commit: int,
        intent: int,
        operation: str,
        at: datetime,
        values: Row,
        before: Row | None,
    ) -> Row:
        """A row before it lands; ``at`` is the local time of the commit."""
        return {
            "COMMITSEQ": commit,
            "INTENTSEQ": intent,
            "OPERATION": operation,
            "LOGMARKER": at,
            "UOWID": commit,
            "AUTHID": self.rng.choice(("APP1", "APP2 ", None)),
            "APPLY_QUAL": self.rng.choice((" " * 18, "Q1".ljust(18))),
            "values": values,
            "before": before,
        }

    def local(self, at: datetime) -> datetime:
        return at.astimezone(ZoneInfo(self.style.zone)).replace(tzinfo=None)

    def transaction(self, position: int) -> None:
        """The rows of a unit of work, with gaps between them."""
        rng, transaction = self.rng, self.workload.transactions[position]
        self.number += rng.choice((1, 3, 70, 300))
        commit = self.commits[position] = self.number
        intent = max(1, commit - rng.choice((1, 100, 5000)))
        at = self.local(transaction.committed_at)
        for change in transaction.changes:
            is_shared = self.style.shared and rng.random() < self.style.shared
            for place, (operation, values, before) in enumerate(self.changes(change)):
                if not place or not is_shared:
                    intent += rng.choice((2, 2, 5, 90))
                self.rows.append(self.row(commit, intent, operation, at, values, before))

    def changes(self, change: RowChange) -> list[tuple[str, Row, Row | None]]:
        """The rows of a change."""
        if change.operation == "insert":
            return [("I", change.values, None)]
        if change.operation == "delete":
            return [("D", change.values, change.values)]
        before = change.before
        assert before is not None
        if self.rng.random() < self.style.pairs:
            return [("D", before, before), ("I", change.values, None)]
        return [("U", change.values, before)]

    def load(self, position: int, at: datetime) -> None:
        """A full refresh with rows after a transaction."""
        for values in self.workload.rows_at(position).values():
            if self.rng.random() >= self.style.missing:
                self.rows.append(self.row(*LOAD, "I", at, values, None))

    def condensed(self, copies: int) -> list[Row]:
        """Whole copies of the condensed table: the last row of each key up to then."""
        ends = [len(self.rows) * (copy + 1) // copies for copy in range(copies)]
        made: list[Row] = []
        for end in ends:
            last: dict[Any, Row] = {}
            for row in self.rows[:end]:
                last[self.table.key_of(row["values"])] = row
            made += last.values()
        return made

    def landed(self, row: Row) -> Row:
        """A row as it landed."""
        style, rng = self.style, self.rng
        found: Row = {
            f"IBMSNAP_{name}": row[name]
            if not isinstance(row[name], int)
            else landed_sequence(row[name], style.sequence, rng)
            for name in ("COMMITSEQ", "INTENTSEQ")
        }
        found["IBMSNAP_OPERATION"] = row["OPERATION"]
        if style.logmarker is not None:
            at = row["LOGMARKER"]
            found["IBMSNAP_LOGMARKER"] = (
                at if isinstance(at, str) else landed_time(at, style.logmarker, rng)
            )
        for name in style.own:
            value = row[name]
            found[f"IBMSNAP_{name}"] = f"{value:020x}" if name == "UOWID" else value
        for name, source in self.sources.items():
            value = row["values"][name]
            found[source] = text_of(value, rng) if style.is_text else value
        for name, source in self.befores.items():
            value = row["before"] and row["before"][name]
            found[source] = text_of(value, rng) if style.is_text else value
            if style.is_text and row["OPERATION"] != "U" and rng.random() < 0.3:
                found[source] = "n/a"  # not read
        return found | {"LANDED_AT": rng.randrange(9)}

    @property
    def columns(self) -> dict[str, str]:
        """The relation's columns and their types."""
        style = self.style
        types = {
            "IBMSNAP_COMMITSEQ": SEQUENCE_TYPES[style.sequence],
            "IBMSNAP_INTENTSEQ": SEQUENCE_TYPES[style.sequence],
            "IBMSNAP_OPERATION": "string",
        }
        if style.logmarker is not None:
            types["IBMSNAP_LOGMARKER"] = style.logmarker
        types |= {f"IBMSNAP_{name}": "string" for name in style.own}
        for names in (self.sources, self.befores):
            for name, source in names.items():
                types[source] = "string" if style.is_text else self.table.columns[name]
        return types | {"LANDED_AT": "int"}

    # the unit of work

    def unit_of_work(self, share: float) -> list[Row]:
        """One or two rows for some commits, and rows of commits without changes."""
        rng, rows = self.rng, []
        for position, commit in self.commits.items():
            at = self.local(self.workload.transactions[position].committed_at)
            if rng.random() < share:
                rows.append(self.of_commit(commit, at))
                if rng.random() < 0.2:
                    rows.append(self.of_commit(commit, at + timedelta(seconds=rng.choice((0, 1)))))
        rows.append(self.of_commit(self.number + 1000, datetime(2024, 1, 1)))
        rows.append(rows[0] | {"IBMSNAP_COMMITSEQ": "no sequence"})
        if "LOGMARKER" in self.style.joined:
            rows.append(rows[-1] | self.of_commit(max(self.commits.values()), datetime(2024, 1, 1)))
            rows[-1]["IBMSNAP_LOGMARKER"] = "later"
        return rows

    def of_commit(self, commit: int, at: datetime) -> Row:
        rng = self.rng
        form = "decimal" if self.style.sequence == "decimal" else "text"
        told = {
            "LOGMARKER": time_text(at, rng),
            "UOWID": (commit * 7 % 2**80).to_bytes(10, "big"),
            "AUTHID": rng.choice(("APP1", "APP2 ", None)),
            "APPLY_QUAL": rng.choice((" " * 18, "Q1".ljust(18))),
        }
        sequence = landed_sequence(commit, form, rng)
        found: Row = {
            "IBMSNAP_COMMITSEQ": str(sequence).rjust(32, "0") if form == "decimal" else sequence
        }
        return found | {f"IBMSNAP_{name}": told[name] for name in self.style.joined}


UOW_TYPES = {
    "LOGMARKER": "string",
    "UOWID": "binary",
    "AUTHID": "string",
    "APPLY_QUAL": "string",
}

# ----------------------------------------------------------------------------------- malformed rows

BAD_ROWS = ("bad_sequence", "unknown_operation", "null_key", "bad_value", "sequence_conflict")


def _bad(writer: _Writer, kind: str, good: Sequence[Row]) -> list[Row]:
    """A row that is malformed in one way, among good ones; or two rows in conflict."""
    rng, style, table = writer.rng, writer.style, writer.table
    changes = [row for row in good if row["COMMITSEQ"] != LOAD[0]]
    row = dict(rng.choice(changes if kind == "sequence_conflict" else good))
    taken = {(row["COMMITSEQ"], row["INTENTSEQ"]) for row in writer.rows} - {LOAD}
    while (row["COMMITSEQ"], row["INTENTSEQ"]) in taken:
        row["INTENTSEQ"] += 1
    unusable: dict[str, Sequence[Any]] = {
        "binary": (None, b"", bytes(17)),
        "text": (None, "", "123", "0" * 34, "G0", "x'00A1", "\ufffd\ufffd", "A==", "x'00"),
        "decimal": (None, Decimal(-5)),
    }
    if kind == "bad_sequence":
        name = rng.choice(("COMMITSEQ", "INTENTSEQ"))
        return [row | {name: rng.choice(unusable[style.sequence])}]
    if kind == "unknown_operation":
        return [row | {"OPERATION": rng.choice((None, "", "Z", "u"))}]
    if kind == "null_key":
        return [row | {"values": row["values"] | {rng.choice(table.key): None}}]
    if kind == "bad_value":
        wrong: list[Row] = []
        if style.logmarker == "string":
            wrong += [{"LOGMARKER": one} for one in ("", "soon", "2024-13-01-00.00.00", "08:15:02")]
        typed = [name for name in writer.sources if table.columns[name] not in ("string", "binary")]
        if style.is_text and typed:
            name = rng.choice(typed)
            wrong += [{"values": row["values"] | {name: one}} for one in ("", "12x", "1,5", "now")]
            if name in writer.befores:
                row = row | {"OPERATION": "U", "before": row["before"] or row["values"]}
                wrong.append({"before": row["before"] | {name: "12x"}})
        return [row | rng.choice(wrong)]
    other = row["values"] | {name: None for name in table.attributes if name in writer.sources}
    assert kind == "sequence_conflict", kind
    twin = row | {"values": other, "OPERATION": {"I": "U", "D": "U", "U": "I"}[row["OPERATION"]]}
    if twin["OPERATION"] == "U":
        twin["before"] = other
    return [row, twin]


def possible_bad_rows(style: Style) -> list[str]:
    """The kinds that are possible in this style."""
    has_bad_values = style.is_text or style.logmarker == "string"
    return [kind for kind in BAD_ROWS if kind != "bad_value" or has_bad_values]


# ---------------------------------------------------------------------------------------- all of it


def write(workload: Workload, rng: random.Random, style: Style) -> Capture:
    """The capture table of a workload without the statements of :data:`NOT_CAPTURED`."""
    table, writer = workload.table, _Writer(workload, rng, style)
    last = len(workload.transactions)
    at_load = {last * number // (style.loads + 1) for number in range(1, style.loads + 1)}
    for position in range(last):
        if position in at_load:
            before = workload.transactions[position].committed_at - timedelta(milliseconds=1)
            writer.load(position - 1, writer.local(before))
        writer.transaction(position)
    if style.loads > 2:
        end = max(transaction.committed_at for transaction in workload.transactions)
        writer.load(last - 1, writer.local(end) + timedelta(hours=2))
    rows = writer.condensed(style.copies) if style.copies else list(writer.rows)
    good = list(writer.rows)
    for kind in chain.from_iterable([kind] * count for kind, count in style.bad_rows.items()):
        bad = _bad(writer, kind, good)
        writer.rows += bad  # so that no other row takes the position
        for row in bad:
            rows.insert(rng.randrange(len(rows) + 1), row)
    rows += [row for row in rows if rng.random() < style.duplicates]
    if style.shuffle:
        rng.shuffle(rows)
    landed = [writer.landed(row) for row in rows]
    base_columns = dict(table.columns)
    base: list[Row] = []
    if style.base is not None:
        base_columns = (
            dict.fromkeys(base_columns, "string") if style.base == "text" else base_columns
        )
        base = base_of(workload, len(workload.rows) - 1, rng, style.base)
    uow: list[Row] = []
    uow_columns: dict[str, str] = {}
    if style.unit_of_work is not None:
        uow = writer.unit_of_work(style.unit_of_work)
        uow_columns = {"IBMSNAP_COMMITSEQ": "string"}
        uow_columns |= {f"IBMSNAP_{name}": UOW_TYPES[name] for name in style.joined}
    options = reference.options_of(
        writer.columns,
        table.key,
        dict(table.columns) if style.base or not style.key_columns else key_types(table),
        style.prefix,
        style.key_columns,
        list(uow_columns) if style.unit_of_work is not None else None,
        base_columns if style.base else None,
        style.zone,
    )
    decoded = reference.decode(landed, options, uow, base)
    return Capture(
        table,
        writer.columns,
        landed,
        uow_columns,
        uow,
        base_columns,
        base,
        options,
        arguments_of(table, options, style),
        decoded,
        {
            position: reference.canonical(
                Decimal(number) if style.sequence == "decimal" else f"{number:032x}"
            )
            for position, number in writer.commits.items()
        },
    )


def key_types(table: Table) -> dict[str, str]:
    """The key columns alone."""
    return {name: kind for name, kind in table.columns.items() if name in table.key}


def arguments_of(table: Table, options: Options, style: Style) -> str:
    """The decoder's arguments after the relation, as Jinja."""
    given = {"key": repr(list(table.key)), "columns": repr(dict(options.columns))}
    if style.prefix != "X":
        given["before_prefix"] = "none" if style.prefix is None else repr(style.prefix)
    if style.unit_of_work is not None:
        given["unit_of_work"] = "{unit_of_work}"
    if style.base is not None:
        given["base"] = "{base}"
    if style.zone != "UTC":
        given["source_timezone"] = repr(style.zone)
    return ", ".join(f"{name}={value}" for name, value in given.items())


# --------------------------------------------------------------------------------------------- base


def base_of(workload: Workload, position: int, rng: random.Random, form: str) -> list[Row]:
    """The table after a transaction, with rows that should not be there.

    Some keys have two rows, of which the greatest is taken; some rows have no key. A base of text
    has some bad values.
    """
    table = workload.table
    rows = [dict(row) for row in workload.rows_at(position).values()]
    for row in rng.sample(rows, min(len(rows), 3)):
        rows.append(row | {name: rng.choice(rows)[name] for name in table.attributes})
    rows.append({**dict.fromkeys(table.columns), **{name: rows[0][name] for name in table.key[1:]}})
    if form == "text":
        rows = [{name: text_of(value, rng) for name, value in row.items()} for row in rows]
        typed = [
            name for name in table.attributes if table.columns[name] not in ("string", "binary")
        ]
        for row in rng.sample(rows, min(len(rows), 3)):
            row[rng.choice(typed)] = "12x"
    rng.shuffle(rows)
    return rows
