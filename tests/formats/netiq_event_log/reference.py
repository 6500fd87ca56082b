"""What a decoder must make of an event log table, in plain Python.

It is written to be read against the format's reference; the comments cite its rules by number.
A log row is a dict of the ten names of :data:`LAYOUTS`. Nothing here is clever, or fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

from kit.formats import raw_counts
from kit.values import FORMS_OF, Malformed, clock_of, rank, read_text, time_of, whole_number

Row = dict[str, Any]

LAYOUTS = {
    "record_id_status": (
        *("record_id", "status", "event_type", "event_time", "perpetrator"),
        *("table_name", "table_key", "column_name", "old_value", "new_value"),
    ),
    "record_id_table_key": (
        *("record_id", "table_key", "status", "event_type", "event_time"),
        *("perpetrator", "table_name", "column_name", "old_value", "new_value"),
    ),
}

KINDS = {1: "add", 7: "add", 2: "modify", 3: "modify", 8: "modify", 4: "delete", 5: "row", 6: "row"}
LOGGED = (1, 2, 3)
QUERY_BACK = (5, 6, 7, 8)
FIELDS = (1, 2, 3, 7, 8)


class Missing(Exception):
    """Columns that a relation lacks; the argument is their list."""


# ------------------------------------------------------------------------------------------- layout


def columns_of_layout(
    relation_columns: Sequence[str], layout: str | Mapping[str, str] | None
) -> dict[str, str]:
    """Tell which column of the relation is which of the ten.

    Documented names tell it, else the places of a layout.
    """
    if layout is None and {*LAYOUTS["record_id_status"]} <= {*map(str.lower, relation_columns)}:
        layout = {name: name for name in LAYOUTS["record_id_status"]}
    if layout is None or isinstance(layout, str):
        names = LAYOUTS[layout or "record_id_status"]
        if len(relation_columns) < len(names):
            raise Missing(list(names[len(relation_columns) :]))
        return dict(zip(names, relation_columns, strict=False))
    given = {name.lower(): column.lower() for name, column in layout.items()}
    there = {column.lower(): column for column in relation_columns}
    missing = [name for name in LAYOUTS["record_id_status"] if given.get(name) not in there]
    if missing:
        raise Missing(missing)
    return {name: there[given[name]] for name in LAYOUTS["record_id_status"]}


# ------------------------------------------------------------------------------------------- values

FORMS = FORMS_OF["netiq_event_log"]


def read_value(sql_type: str, text: str | None) -> Any:
    """Read a logged text as a value of a type (rule 15)."""
    return None if text is None else read_text(sql_type, text, FORMS)


# --------------------------------------------------------------------------------------------- keys

SPECIAL = ",;'+\"=\\<>"


def parse_key(text: str | None) -> list[tuple[str, str]]:
    """Parse a table_key, character by character (rules 1 and 2)."""
    if not text:
        raise Malformed("malformed_table_key")
    parts, place = [], 0
    while True:
        begin = place
        while place < len(text) and text[place] not in '=+"\\,;<>':
            place += 1
        name = text[begin:place]
        if not name or text[place : place + 1] != "=":
            raise Malformed("malformed_table_key")
        place += 1
        if text[place : place + 1] == '"':
            value, place = quoted(text, place + 1)
        else:
            begin = place
            while place < len(text) and text[place] not in SPECIAL:
                place += 1
            value = text[begin:place]
        parts.append((name, value))
        if place == len(text):
            break
        if text[place] != "+":
            raise Malformed("malformed_table_key")
        place += 1
    if len({name.lower() for name, _ in parts}) < len(parts):
        raise Malformed("malformed_table_key")
    return parts


def quoted(text: str, place: int) -> tuple[str, int]:
    """Read from after a double quote to the next one: the value, and the position after it."""
    found: list[str] = []
    while place < len(text):
        letter = text[place]
        if letter == '"':
            return "".join(found), place + 1
        if letter == "\\":
            place += 1
            if text[place : place + 1] not in ('"', "\\"):
                break
            letter = text[place]
        found.append(letter)
        place += 1
    raise Malformed("malformed_table_key")


def without_view_prefix(name: str) -> Iterator[str]:
    """Every name that can follow the prefix of a view's column (rule 3)."""
    if not name.startswith("pk_"):
        return
    rests = [name[3:]]
    for optional in (r"sv_", r"\d+_", r"_.+?__"):
        for rest in list(rests):
            rests += [rest[end:] for end in ends(optional, rest)]
    yield from rests


def ends(pattern: str, text: str) -> list[int]:
    """Where a match of the pattern at the beginning of the text may end."""
    return [end for end in range(len(text)) if re.fullmatch(pattern, text[:end])]


def match_key(
    parts: Sequence[tuple[str, str]], key: Sequence[str], columns: Mapping[str, str]
) -> tuple[Any, ...]:
    """The values of the key columns, as their types (rule 3)."""
    wanted = {name.lower().strip(" "): name for name in key}
    found: dict[str, str] = {}
    for name, value in parts:
        name = name.lower().strip(" ")
        names = [one for one in (name, *without_view_prefix(name)) if one in wanted]
        if not names or wanted[names[0]] in found:
            raise Malformed("key_mismatch")
        found[wanted[names[0]]] = value
    if len(found) < len(key):
        raise Malformed("key_mismatch")
    return tuple(read_value(columns[name], found[name]) for name in key)


# ----------------------------------------------------------------------------------------- log rows


@dataclass(frozen=True)
class Options:
    """The arguments of the decoder; ``now`` is the time of the run, for ``as_of='now'``."""

    table: str
    key: Sequence[str]
    columns: Mapping[str, str]
    as_of: str | None = None
    zone: str = "UTC"
    now: datetime = datetime(2100, 1, 1, tzinfo=timezone.utc)

    @property
    def as_of_time(self) -> datetime | None:
        """The wall clock up to which rows are read."""
        if self.as_of is None:
            return None
        if self.as_of == "now":
            return self.now.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        at, has_zone = time_of(self.as_of, FORMS)
        if has_zone:
            raise ValueError(f"as_of is {self.as_of}")
        return at

    def column(self, name: str | None) -> str | None:
        """A column as `columns` spells it."""
        names = {one.lower(): one for one in self.columns}
        return names.get((name or "").strip(" ").lower())


@dataclass(frozen=True)
class LogRow:
    """A log row as it is read. ``column_name`` in lower case; ``key``: the values of the key.

    ``spelled``: the names of table and column, without the schema, as they are spelled.
    """

    record_id: int
    status: str
    event_type: int
    event_time: datetime
    perpetrator: str | None
    table_key: str
    column_name: str | None
    old_value: str | None
    new_value: str | None
    key: tuple[Any, ...]
    spelled: tuple[str, str]

    @property
    def content(self) -> tuple[Any, ...]:
        """The values in which rows of one record_id must agree: all except the status."""
        return (
            *(self.event_type, self.event_time, self.perpetrator, self.table_key),
            *(self.column_name, self.old_value, self.new_value),
        )


def is_of_table(table_name: str, table: str) -> bool:
    """Tell whether a row belongs to the table (rule 4)."""
    return table_name.rpartition(".")[2].strip(" ").lower() == table.strip(" ").lower()


def read_event_time(value: Any) -> datetime:
    """The wall clock of an event."""
    if value is None:
        raise Malformed("null_event_time")
    try:
        return clock_of(value, FORMS)
    except Malformed:
        raise Malformed("bad_event_time") from None


def read_record_id(value: Any) -> int:
    try:
        number = whole_number(value)
    except Malformed:
        raise Malformed("bad_record_id") from None
    if not 1 <= number < 10**38:
        raise Malformed("bad_record_id")
    return number


def read_event_type(value: Any) -> int:
    try:
        number = whole_number(value)
    except Malformed:
        raise Malformed("unknown_operation") from None
    if number not in KINDS:
        raise Malformed("unknown_operation")
    return number


def read_row(row: Row, options: Options) -> LogRow | None:
    """Read a log row on its own, in the order of section 6; None for a row of another table."""
    table_name = row["table_name"]
    if not (table_name or "").rpartition(".")[2].strip(" "):
        raise Malformed("missing_table_name")
    if not is_of_table(table_name, options.table):
        return None
    record_id = read_record_id(row["record_id"])
    status = (row["status"] or "").rstrip(" ")
    if status not in ("N", "S", "W", "E", "F"):
        raise Malformed("bad_status")
    event_type = read_event_type(row["event_type"])
    event_time = read_event_time(row["event_time"])
    parts = parse_key(row["table_key"])
    bad_key = False
    try:
        key = match_key(parts, options.key, options.columns)
    except Malformed as error:
        if error.args[0] != "bad_value":
            raise
        bad_key = True  # this reason comes later in the order
    column_name = (row["column_name"] or "").strip(" ").lower() or None
    if event_type in FIELDS and column_name is None:
        raise Malformed("missing_column_name")
    if bad_key:
        raise Malformed("bad_value")
    column = options.column(column_name)
    if event_type in LOGGED and column is not None:
        read_value(options.columns[column], row["new_value"])
    return LogRow(
        record_id,
        status,
        event_type,
        event_time,
        row["perpetrator"],
        row["table_key"],
        column_name,
        row["old_value"],
        row["new_value"],
        key,
        (table_name.rpartition(".")[2].strip(" "), (row["column_name"] or "").strip(" ")),
    )


# ----------------------------------------------------------------------------------------- snapshot


class Snapshot:
    """The rows that answer query-back rows, by key."""

    def __init__(self, rows: Iterable[Row], options: Options) -> None:
        self.options = options
        self.rows: dict[tuple[Any, ...], Row] = {}
        for row in rows:
            try:
                key = tuple(self.value(row, name) for name in options.key)
            except Malformed:
                continue
            if None in key:
                continue
            kept = self.rows.setdefault(key, row)
            if self.rank(row) > self.rank(kept):
                self.rows[key] = row

    def rank(self, row: Row) -> tuple[Any, ...]:
        """The order of structs in Spark, with the columns of the snapshot: NULL is least."""
        return rank({name: row[name] for name in self.options.columns})

    def value(self, row: Row, name: str) -> Any:
        """A value of a row; text is read like text in the log."""
        value = row[name]
        return read_value(self.options.columns[name], value) if isinstance(value, str) else value

    def answer(self, row: LogRow) -> Row:
        """The values for a query-back row; empty if it names no column of the table."""
        names = list(self.options.columns)
        if row.event_type in (7, 8):
            column = self.options.column(row.column_name)
            names = [] if column is None else [column]
        return {name: self.value(self.rows[row.key], name) for name in names}


# ------------------------------------------------------------------------------------------- events


@dataclass(frozen=True)
class Event:
    """Rows that make one event (rule 14), and the values that it carries."""

    rows: Sequence[LogRow]
    values: Row

    @property
    def types(self) -> set[int]:
        return {row.event_type for row in self.rows}


@dataclass(frozen=True)
class Answer:
    """A window that a run has answered: its active rows, and the values of the remaining rows.

    Events are built again from the values: rows of other windows in between divide them, as in a
    full refresh.
    """

    rows: frozenset[int]
    values: Mapping[int, Row]


@dataclass(frozen=True)
class Memory:
    """What one run passes to the next: answered windows, and the rows that it has read."""

    answers: Sequence[Answer] = ()
    taken_up: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Decoded:
    """The change events in order, the rows in quarantine (place, reason), counts, and memory.

    ``event_of``: the event of each record_id, if it has one.
    """

    events: list[Row]
    quarantine: list[tuple[int, str]]
    raw_counts: dict[str, int]
    event_of: Mapping[int, Row]
    memory: Memory


class ReadLog:
    """The rows of the table, one for each record_id, and why others are in quarantine.

    ``places``: the places of the deliveries of a record_id. ``reasons``: by the place of a
    delivery.
    """

    def __init__(self, rows: Sequence[Row], options: Options) -> None:
        self.rows: list[LogRow] = []
        self.places: dict[int, list[int]] = {}
        self.reasons: dict[int, str] = {}
        read: dict[int, list[LogRow]] = {}
        for place, raw in enumerate(rows):
            try:
                row = read_row(raw, options)
            except Malformed as error:
                self.reasons[place] = error.args[0]
                continue
            if row is not None:
                self.places.setdefault(row.record_id, []).append(place)
                read.setdefault(row.record_id, []).append(row)

        # Rule 5.
        for record_id, several in read.items():
            if len({row.content for row in several}) > 1:
                self.refuse(record_id, "sequence_conflict")
            else:
                self.rows.append(one_of(several))

    def refuse(self, record_id: int, reason: str) -> None:
        """Put all deliveries of a row in quarantine."""
        self.reasons.update(dict.fromkeys(self.places[record_id], reason))


def one_of(several: Sequence[LogRow]) -> LogRow:
    """Combine rows of one record_id that agree. Of several spellings the least counts."""
    last = max(several, key=lambda row: (row.status != "N", row.status))
    return replace(last, spelled=min(row.spelled for row in several))


def decode(
    rows: Sequence[Row],
    snapshot: Iterable[Row] | None,
    options: Options,
    memory: Memory | None = None,
) -> Decoded:
    """Decode every row that was delivered so far. With a memory it is an increment."""
    memory = memory or Memory()
    log = ReadLog(rows, options)
    merged, places, reasons, refuse = log.rows, log.places, log.reasons, log.refuse

    # Rule 8.
    as_of = options.as_of_time
    if as_of is None:
        ordered = sorted(merged, key=lambda row: row.record_id)
    else:
        ordered = sorted(merged, key=lambda row: (row.event_time, row.record_id))
        ordered = [
            row for row in ordered if row.event_time <= as_of or row.record_id in memory.taken_up
        ]
    taken_up = frozenset(row.record_id for row in ordered)

    # Rule 9.
    if snapshot is None:
        for row in ordered:
            if row.event_type in QUERY_BACK:
                refuse(row.record_id, "no_snapshot")
        ordered = [row for row in ordered if row.event_type not in QUERY_BACK]

    table = Snapshot(snapshot or (), options)
    deciding = _Deciding(ordered, table, options, memory)
    for row in deciding.bad:
        refuse(row.record_id, "bad_value")
    events = [event for event in deciding.events if is_event(event, options)]
    made = [(event, change_event(event, options)) for event in events]
    event_of = {row.record_id: change for event, change in made for row in event.rows}
    used_rows = sum(len(places[record_id]) for record_id in event_of)
    return Decoded(
        sorted((change for _, change in made), key=lambda change: str(change["cdc_sequence"])),
        sorted(reasons.items()),
        raw_counts(len(rows), len(reasons), len(rows) - used_rows - len(reasons)),
        event_of,
        Memory(deciding.answers, taken_up),
    )


class _Deciding:
    """Decides about the rows that do not wait and are not malformed."""

    def __init__(
        self, ordered: Sequence[LogRow], table: Snapshot, options: Options, memory: Memory
    ) -> None:
        self.table, self.options = table, options
        self.bad: list[LogRow] = []
        self.events: list[Event] = []
        self.answers: list[Answer] = []
        self.place = {row.record_id: place for place, row in enumerate(ordered)}
        self.deletes: dict[tuple[Any, ...], list[int]] = {}
        for place, row in enumerate(ordered):
            if row.event_type == 4:
                self.deletes.setdefault(row.key, []).append(place)

        windows: dict[Any, list[LogRow]] = {}
        for row in ordered:
            windows.setdefault(self.window_of(row), []).append(row)
        # For each remaining row, the values that it carries.
        values: dict[int, Row] = {}
        candidates = {row: answer for answer in memory.answers for row in answer.rows}
        for window in windows.values():
            answer = self.kept_answer(window, candidates) or self.decide(window)
            values |= answer.values
            self.bad += [row for row in window if row.record_id not in answer.rows]
            taken = [row for row in window if row.event_type in QUERY_BACK]
            if any(answer.values.get(row.record_id) for row in taken):
                self.answers.append(answer)
        self.group([row for row in ordered if row.record_id in values], values)

    def window_of(self, row: LogRow) -> Any:
        """The values that all rows of a window share; a delete is a window of its own."""
        if row.event_type == 4:
            return row.record_id
        before = sum(place < self.place[row.record_id] for place in self.deletes.get(row.key, ()))
        return row.table_key, row.event_time, before

    def kept_answer(
        self, window: Sequence[LogRow], candidates: Mapping[int, Answer]
    ) -> Answer | None:
        """The answer that the window has and keeps (rule 10, "Increments")."""
        there = {row.record_id for row in window}
        for row in window:
            answer = candidates.get(row.record_id)
            if answer is None or not answer.rows <= there:
                continue
            if all(self.is_bad(row) for row in window if row.record_id not in answer.rows):
                return answer
        return None

    def is_gone(self, row: LogRow) -> bool:
        """Rule 10, for state and history."""
        deletes = self.deletes.get(row.key, ())
        is_overtaken = any(place > self.place[row.record_id] for place in deletes)
        return row.key not in self.table.rows or is_overtaken

    def is_bad(self, row: LogRow) -> bool:
        """Whether a row would use a bad value of the snapshot."""
        if row.event_type not in QUERY_BACK or self.is_gone(row):
            return False
        try:
            self.table.answer(row)
        except Malformed:
            return True
        return False

    def decide(self, window: Sequence[LogRow]) -> Answer:
        """The rows of a window that remain (rules 10 to 13), with their values."""
        active = [row for row in window if not self.is_bad(row)]
        rows = [row for row in active if row.event_type not in QUERY_BACK or not self.is_gone(row)]
        if any(row.event_type in (5, 6) for row in rows):
            rows = [row for row in rows if row.event_type in (5, 6)]
        else:
            asked = {row.column_name for row in rows if row.event_type in (7, 8)}
            rows = [
                row for row in rows if row.event_type not in LOGGED or row.column_name not in asked
            ]
        return Answer(
            frozenset(row.record_id for row in active),
            {row.record_id: self.values_of(row) for row in rows},
        )

    def values_of(self, row: LogRow) -> Row:
        """The values that a row carries (rule 15)."""
        column = self.options.column(row.column_name)
        if row.event_type in LOGGED and column is not None:
            return {column: read_value(self.options.columns[column], row.new_value)}
        return self.table.answer(row) if row.event_type in QUERY_BACK else {}

    def group(self, rows: Sequence[LogRow], values: Mapping[int, Row]) -> None:
        """Group the remaining rows into events, key by key (rule 14)."""
        for event in grouped(rows, self.window_of):
            carried: Row = {}
            for row in event:
                carried |= values[row.record_id]
            self.events.append(Event(event, carried))


def grouped(
    rows: Iterable[LogRow], window_of: Callable[[LogRow], Any]
) -> Iterator[Sequence[LogRow]]:
    """Give the rows of each event (rule 14)."""
    by_key: dict[tuple[Any, ...], list[LogRow]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    for of_key in by_key.values():
        together: list[list[LogRow]] = []
        for row in of_key:
            if together and continues(together[-1], row, window_of):
                together[-1].append(row)
            else:
                together.append([row])
        yield from together


def continues(event: Sequence[LogRow], row: LogRow, window_of: Callable[[LogRow], Any]) -> bool:
    """Tell whether a row belongs to the same event as the row before it."""
    last = event[-1]
    return (
        row.event_type != 4
        and window_of(row) == window_of(last)
        and KINDS[row.event_type] == KINDS[last.event_type]
        and (
            row.event_type in (5, 6)
            or row.column_name not in {other.column_name for other in event}
        )
    )


def is_event(event: Event, options: Options) -> bool:
    """Rule 16: an update without a column of the table is a documented no-op."""
    return bool(event.values) or operation_of(event) != "update"


def operation_of(event: Event) -> str:
    if event.types & {1, 5, 7}:
        return "insert"
    return "delete" if 4 in event.types else "update"


def sequence_of(rows: Sequence[LogRow], options: Options) -> str:
    """The sequence of the event that these rows make."""
    first = min(rows, key=lambda row: row.record_id)
    if options.as_of is None:
        return f"{first.record_id:038d}"
    return f"{first.event_time:%Y%m%d%H%M%S%f}.{first.record_id:038d}".zfill(59)


def change_event(event: Event, options: Options) -> Row:
    """Section 4."""
    last = event.rows[-1]
    sequence = sequence_of(event.rows, options)
    names = list(options.columns)
    changed = None
    if operation_of(event) == "update" and 6 not in event.types:
        changed = [name for name in names if name in event.values]
    present: list[str] | None = [
        name for name in names if name in event.values or name in options.key
    ]
    if present == names or event.types & {5, 6}:
        present = None
    local = last.event_time.replace(tzinfo=ZoneInfo(options.zone))
    key = dict(zip(options.key, last.key, strict=True))
    return {
        "cdc_source": "netiq_event_log",
        "cdc_operation": operation_of(event),
        "cdc_sequence": sequence,
        "cdc_commit_sequence": sequence,
        "cdc_commit_at": local.astimezone(timezone.utc),
        "cdc_transaction_id": None,
        "cdc_changed_columns": changed,
        "cdc_present_columns": present,
        "cdc_before": None,
        "cdc_metadata": {
            "record_id": last.record_id if last.record_id < 2**63 else None,
            "perpetrator": last.perpetrator,
            "event_time": last.event_time.replace(tzinfo=timezone.utc),
            "status": last.status,
        },
        **{name: key.get(name, event.values.get(name)) for name in names},
    }


# --------------------------------------------------------------------------------------- increments


@dataclass
class Increments:
    """An incremental model: the rows delivered so far, and what earlier runs remember."""

    options: Options
    rows: list[Row] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)

    def run(
        self, rows: Sequence[Row], snapshot: Iterable[Row] | None, as_of: str | None = None
    ) -> Decoded:
        """One run, with the new rows and the snapshot at that time."""
        self.rows += rows
        one = self.options
        options = Options(one.table, one.key, one.columns, as_of or one.as_of, one.zone, one.now)
        decoded = decode(self.rows, snapshot, options, self.memory)
        self.memory = decoded.memory
        return decoded
