"""What a decoder must make of a text search log table, in plain Python.

It is written to be read against the format's reference; the comments cite its rules by number. A
log row is a dict with ``OPERATION``, ``TIME`` and the key columns. A row of the base is a dict of
the table's columns. Values are texts, or already of their types. Nothing here is clever, or fast.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from kit.formats import raw_counts
from kit.values import FORMS_OF, Forms, Malformed, clock_of, key_text, rank, read_text, whole_number

Row = dict[str, Any]
Key = tuple[Any, ...]

OPERATIONS = {"I": 0, "U": 1, "D": 2}


# ------------------------------------------------------------------------------------------- values

FORMS = FORMS_OF["db2_log_table"]
TIME = Forms(has_dots=True)


def read_value(sql_type: str, value: Any) -> Any:
    """A value, mostly a text, as exactly a value of a type (rule 4)."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        assert sql_type != "string", "no column of text lands as numbers"
        value = str(value)
    return read_text(sql_type, value, FORMS) if isinstance(value, str) else value


# ----------------------------------------------------------------------------------------- log rows


@dataclass(frozen=True)
class Options:
    """The arguments of the decoder."""

    key: Sequence[str]
    columns: Mapping[str, str]
    key_columns: Sequence[str] = ("PK01",)
    zone: str = "UTC"


def numbered_columns(relation_columns: Iterable[str]) -> list[str]:
    """The key columns of a log without the argument `key_columns` (rule 1)."""
    found = [name for name in relation_columns if re.fullmatch(r"(?i)pk0*[1-9][0-9]*", name)]
    return sorted(found, key=lambda name: int(name[2:]))


@dataclass(frozen=True)
class LogRow:
    """A row that can be used."""

    operation: int
    time: datetime
    key: Key


def read_operation(value: Any) -> int:
    """Rule 2."""
    if isinstance(value, str):
        value = value.strip(" ")
        if value in OPERATIONS:
            return OPERATIONS[value]
    try:
        number = whole_number(value)
    except Malformed:
        raise Malformed("unknown_operation") from None
    if number not in (0, 1, 2):
        raise Malformed("unknown_operation")
    return number


def read_row(row: Row, options: Options) -> LogRow | None:
    """Read a row on its own, in the order of section 6; None for an information row (rule 3)."""
    key = [row[name] for name in options.key_columns]
    if row["OPERATION"] is None and all(value is None for value in key):
        return None
    if row["OPERATION"] is None:
        raise Malformed("unknown_operation")
    operation = read_operation(row["OPERATION"])
    if None in key:
        raise Malformed("null_key")
    if row["TIME"] is None:
        raise Malformed("missing_time")
    time = clock_of(row["TIME"], TIME)
    return LogRow(operation, time, key_of(key, options))


def key_of(values: Iterable[Any], options: Options) -> Key:
    """The values of a key in their types."""
    types = [options.columns[name] for name in options.key]
    return tuple(read_value(one, value) for one, value in zip(types, values, strict=True))


# --------------------------------------------------------------------------------------------- base

BAD = "bad"
Answer = Row | str | None
"""A row of the base; BAD, where it has only rows with bad values; None, where it has no row."""


class Base:
    """The rows that answer keys (rule 7)."""

    def __init__(self, rows: Iterable[Row], options: Options) -> None:
        self.rows: dict[Key, Answer] = {}
        for row in rows:
            try:
                key = key_of((row[name] for name in options.key), options)
            except Malformed:
                continue
            if None in key:
                continue
            try:
                read = {name: read_value(one, row[name]) for name, one in options.columns.items()}
            except Malformed:
                self.rows.setdefault(key, BAD)
                continue
            kept = self.rows.get(key)
            if not isinstance(kept, dict) or rank(read) > rank(kept):
                self.rows[key] = read


# ------------------------------------------------------------------------------------------- events

Rows = frozenset[tuple[int, datetime]]


@dataclass(frozen=True)
class Decoded:
    """The change events in order, the rows in quarantine (place, reason), and counts.

    ``no_ops``: the places of information rows. ``answers``: the answer of each key, and its rows.
    """

    events: list[Row]
    quarantine: list[tuple[int, str]]
    no_ops: list[int]
    raw_counts: dict[str, int]
    answers: Mapping[Key, tuple[Rows, Answer]]


def decode(
    rows: Sequence[Row],
    base: Iterable[Row],
    options: Options,
    answers: Mapping[Key, tuple[Rows, Answer]] | None = None,
) -> Decoded:
    """Decode every row delivered so far. With ``answers`` from a run it is an increment."""
    reasons: dict[int, str] = {}
    no_ops: list[int] = []
    places: dict[Key, list[int]] = {}
    read: dict[Key, set[tuple[int, datetime]]] = {}  # repeats of one row count once (rule 8)
    for place, raw in enumerate(rows):
        try:
            row = read_row(raw, options)
        except Malformed as error:
            reasons[place] = error.args[0]
            continue
        if row is None:
            no_ops.append(place)
            continue
        places.setdefault(row.key, []).append(place)
        read.setdefault(row.key, set()).add((row.operation, row.time))

    there = Base(base, options)
    answered: dict[Key, tuple[Rows, Answer]] = {}
    events = []
    for key, several in read.items():
        answer = there.rows.get(key)
        # Rule 9. Keys with bad values are asked again: they have no event that keeps an answer.
        if answers and key in answers and answers[key][0] == several and answers[key][1] != BAD:
            answer = answers[key][1]
        answered[key] = (frozenset(several), answer)
        if isinstance(answer, str):
            reasons.update(dict.fromkeys(places[key], "bad_value"))
        else:
            events.append(change_event(key, several, answer, options))
    return Decoded(
        sorted(events, key=lambda event: str(event["cdc_sequence"])),
        sorted(reasons.items()),
        no_ops,
        raw_counts(len(rows), len(reasons), len(no_ops)),
        answered,
    )


def change_event(
    key: Key, rows: Iterable[tuple[int, datetime]], answer: Row | None, options: Options
) -> Row:
    """Rules 5 and 6, and section 4."""
    first, last = min(time for _, time in rows), max(time for _, time in rows)
    begun_with = {operation for operation, time in rows if time == first}
    ended_with = {operation for operation, time in rows if time == last}
    operation = "delete" if answer is None else "insert" if begun_with == {0} else "update"
    digits = f"{last.year:04d}{last:%m%d%H%M%S%f}"
    row = dict.fromkeys(options.columns) if answer is None else answer
    present = [name for name in options.columns if name in options.key]  # in table order
    return {
        "cdc_source": "db2_log_table",
        "cdc_operation": operation,
        "cdc_sequence": f"{digits}.{hashlib.md5(key_text(key).encode()).hexdigest()}",
        "cdc_commit_sequence": digits,
        "cdc_commit_at": last.replace(tzinfo=ZoneInfo(options.zone)).astimezone(timezone.utc),
        "cdc_transaction_id": None,
        "cdc_changed_columns": None,
        "cdc_present_columns": present if answer is None else None,
        "cdc_before": None,
        "cdc_metadata": {
            "log_operation": ended_with.pop() if len(ended_with) == 1 else None,
            "log_time": last.replace(tzinfo=timezone.utc),
        },
        **row,
        **dict(zip(options.key, key, strict=True)),
    }


# --------------------------------------------------------------------------------------- increments


@dataclass
class Increments:
    """An incremental model: the rows delivered so far, and the answers of the runs."""

    options: Options
    rows: list[Row] = field(default_factory=list)
    answers: Mapping[Key, tuple[Rows, Answer]] = field(default_factory=dict)

    def run(self, rows: Sequence[Row], base: Iterable[Row]) -> Decoded:
        """One run, with the new rows and the base at that time."""
        self.rows += rows
        decoded = decode(self.rows, base, self.options, self.answers)
        self.answers = decoded.answers
        return decoded
