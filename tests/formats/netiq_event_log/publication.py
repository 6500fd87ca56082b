"""What the driver would publish from an event log, and its XDS documents, in plain Python.

The second part of :mod:`formats.netiq_event_log.reference`; the comments cite the rules of the
format's reference by number. Each question looks at all rows again, so nothing here is fast.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from kit.values import Malformed

from formats.netiq_event_log.reference import (
    LOGGED,
    QUERY_BACK,
    LogRow,
    Options,
    ReadLog,
    Row,
    Snapshot,
    grouped,
    one_of,
    parse_key,
    read_event_time,
    read_row,
    sequence_of,
)


@dataclass(frozen=True)
class Driver:
    """The settings of the driver, and whether the result is for one poll."""

    user: str | None = None
    allow_loopback: bool = False
    pending_only: bool = True


@dataclass(frozen=True)
class Published:
    """The result for a log row (rule 18)."""

    record_id: str
    is_published: bool
    reason: str | None
    suppressed_by: str | None
    cdc_sequence: str | None


def passed_over(row: LogRow, as_of: datetime | None, driver: Driver) -> str | None:
    """Rule 17, rows that wait, and rows that a poll does not read."""
    is_loopback = driver.user is not None and row.perpetrator == driver.user
    if is_loopback and not driver.allow_loopback:
        return "loopback"
    if as_of is not None and row.event_time > as_of:
        return "waiting"
    return "processed" if driver.pending_only and row.status != "N" else None


class Publication:
    """A log as the driver reads it; ``events`` has the rows that it publishes together."""

    def __init__(
        self,
        rows: Sequence[Row],
        snapshot: Iterable[Row] | None,
        options: Options,
        driver: Driver,
    ) -> None:
        self.options, self.driver = options, driver
        self.table = None if snapshot is None else Snapshot(snapshot, options)
        self.rows = sorted(ReadLog(rows, options).rows, key=self.place)
        self.windows = {row.record_id: self.new_window(row) for row in self.rows}
        self.verdicts = {row.record_id: self.verdict(row) for row in self.rows}
        published = [row for row in self.rows if self.verdicts[row.record_id][0] is None]
        self.events = sorted(grouped(published, self.window), key=self.sequence)

    def place(self, row: LogRow) -> Any:
        """The order of rows (rule 8)."""
        return row.record_id if self.options.as_of is None else (row.event_time, row.record_id)

    def sequence(self, event: Sequence[LogRow]) -> str:
        return sequence_of(event, self.options)

    def passed_over(self, row: LogRow) -> str | None:
        return passed_over(row, self.options.as_of_time, self.driver)

    def window(self, row: LogRow) -> Any:
        """The values that all rows of a window share."""
        return self.windows[row.record_id]

    def new_window(self, row: LogRow) -> Any:
        deletes = sum(
            other.event_type == 4 and other.key == row.key and self.passed_over(other) is None
            for other in self.rows
            if self.place(other) < self.place(row)
        )
        return row.table_key, row.event_time, deletes

    def scope(self, row: LogRow) -> list[LogRow]:
        """The active rows among which precedence holds."""
        key, at, deletes = self.window(row)
        found = []
        for other in self.rows:
            its_key, its_time, its_deletes = self.window(other)
            same_time = self.driver.pending_only or its_time == at
            if (
                (other.key, its_key, its_deletes) == (row.key, key, deletes)
                and same_time
                and self.passed_over(other) is None
            ):
                found.append(other)
        return found

    def end_of(self, row: LogRow) -> tuple[bool, LogRow | None]:
        """Rule 10: whether the database row is gone, and the row of the log that shows it."""
        if self.table is not None:
            return row.key not in self.table.rows, None
        told = [
            other
            for other in self.rows
            if other.key == row.key and other.event_type in (1, 4, 5, 6, 7)
        ]
        last = max(told, key=lambda other: other.record_id, default=None)
        is_gone = last is not None and last.event_type == 4
        return is_gone, last if is_gone else None

    def verdict(self, row: LogRow) -> tuple[str | None, LogRow | None]:
        """Why a row is not published, and the row that suppresses it."""
        if (reason := self.passed_over(row)) is not None:
            return reason, None
        if row.event_type == 4:
            return None, None  # rule 13
        is_gone, deleted_by = self.end_of(row)
        if row.event_type in QUERY_BACK and is_gone:
            return "P3", deleted_by
        asking = [] if is_gone else self.scope(row)
        if row.event_type in (*LOGGED, 7, 8):
            for other in asking:
                if other.event_type in (5, 6):
                    return ("P1" if row.event_type in LOGGED else "P2"), other  # rule 11
        if row.event_type in LOGGED:
            for other in asking:
                if other.event_type in (7, 8) and other.column_name == row.column_name:
                    return "P1", other  # rule 12
        return None, None

    def published(self) -> list[Published]:
        """One row for each well-formed row of the table."""
        sequences = {row.record_id: self.sequence(event) for event in self.events for row in event}
        return [
            Published(
                str(row.record_id),
                self.verdicts[row.record_id][0] is None,
                self.verdicts[row.record_id][0],
                None if by is None else str(by.record_id),
                sequences.get(row.record_id),
            )
            for row in self.rows
            for by in [self.verdicts[row.record_id][1]]
        ]


# -------------------------------------------------------------------------------------- documents

# Canonical XML: in text, and in the value of an attribute.
IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
IN_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)


def is_illegal(letter: str) -> bool:
    """Whether XML 1.0 forbids a character."""
    code = ord(letter)
    return (
        (code < 0x20 and letter not in "\t\n\r")
        or 0xD800 <= code <= 0xDFFF
        or code in (0xFFFE, 0xFFFF)
    )


@dataclass(frozen=True)
class Element:
    """An element of XML, with text or other elements in it."""

    name: str
    attributes: Mapping[str, str]
    content: str | Sequence[Element]

    def __str__(self) -> str:
        begin = self.name + "".join(
            f' {name}="{value.translate(IN_ATTRIBUTE)}"' for name, value in self.attributes.items()
        )
        if isinstance(self.content, str):
            content = self.content.translate(IN_TEXT)
        else:
            content = "".join(map(str, self.content))
        is_empty = not content and not isinstance(self.content, str)
        return f"<{begin}/>" if is_empty else f"<{begin}>{content}</{self.name}>"


def text_of(value: Any) -> str | None:
    """A value of the snapshot as text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        fraction = f".{value:%f}" if value.microsecond else ""
        zone = "Z" if value.tzinfo else ""
        return f"{value.year:04}-{value:%m-%dT%H:%M:%S}{fraction}{zone}"
    if isinstance(value, float):
        digits, _, exponent = repr(value).partition("e")
        digits += "" if "." in digits else ".0"
        return digits + (f"E{int(exponent)}" if exponent else "")
    return value.isoformat() if isinstance(value, date) else str(value)


@dataclass(frozen=True)
class Documents:
    """Writes the XDS documents of a publication."""

    publication: Publication
    schema: str
    type5: str = "modify"

    def all(self) -> list[tuple[str, str | None, str | None]]:
        """``cdc_sequence``, ``xds``, ``reason`` for each published event, in order."""
        return [
            (self.publication.sequence(event), *self.document(event))
            for event in self.publication.events
        ]

    def document(self, event: Sequence[LogRow]) -> tuple[str | None, str | None]:
        types = {row.event_type for row in event}
        name = "delete" if 4 in types else "add" if types & {1, 7} else "modify"
        if 5 in types:
            name = self.type5
        attributes = []
        # rows of type 5 and 6 in one event have the same attributes
        for row in event[:1] if types <= {5, 6} else event:
            if self.is_unanswered(row):
                return None, "no_snapshot"
            attributes += self.attributes(row, name == "add")
        if name != "delete" and not attributes:
            return None, "no_attributes"
        table = event[0].spelled[0]
        key = f"{event[0].table_key},table={table},schema={self.schema}"
        content = [Element("association", {}, key), *attributes]
        written = str(Element(name, {"class-name": table}, content))
        if any(map(is_illegal, written)):
            return None, "illegal_character"
        return written, None

    def is_unanswered(self, row: LogRow) -> bool:
        """Whether a query-back row has no value to send."""
        if row.event_type not in QUERY_BACK:
            return False
        answer = self.answer(row)
        return answer is None or (row.event_type in (7, 8) and row.column_name not in answer)

    def answer(self, row: LogRow) -> dict[str, Any] | None:
        """The row of the snapshot, its names in lower case."""
        table = self.publication.table
        if table is None or row.event_type not in QUERY_BACK:
            return None
        return {name.lower(): value for name, value in table.rows[row.key].items()}

    def kind(self, column: str) -> str:
        is_binary = self.publication.options.columns.get(column) == "binary"
        return "octet" if is_binary else "string"

    def attributes(self, row: LogRow, is_add: bool) -> list[Element]:
        """The attributes in a row."""
        options, answer = self.publication.options, self.answer(row) or {}
        column = options.column(row.column_name)
        if row.event_type == 4:
            return []
        if row.event_type in (5, 6):
            named = [
                (name, name, text_of(answer[name.lower()]))
                for name in options.columns
                if name not in options.key
            ]
        elif row.event_type in LOGGED:
            named = [(row.spelled[1], column or "", row.new_value)]
        else:
            named = [(row.spelled[1], column or "", text_of(answer[row.column_name or ""]))]
        found = []
        for name, declared, new in named:
            add = self.value(declared, new)
            if is_add:
                found += [Element("add-attr", {"attr-name": name}, add)] if add else []
                continue
            remove = [Element("remove-all-values", {}, [])]
            if row.event_type == 2:
                old = self.value(declared, row.old_value)
                remove = [Element("remove-value", {}, old)] if old else []
            content = remove + ([Element("add-value", {}, add)] if add else [])
            found += [Element("modify-attr", {"attr-name": name}, content)] if content else []
        return found

    def value(self, column: str, text: str | None) -> list[Element]:
        return [] if text is None else [Element("value", {"type": self.kind(column)}, text)]


# ---------------------------------------------------------------------------------------- backlog

# For table, status, and reason why the driver does not read the rows: their number and times.
Backlog = dict[tuple[str | None, str | None, str | None], list[datetime | None]]


def whole_key(table_key: str) -> Mapping[str, str]:
    """Key columns of any table: a dict that has every name, because each row names its own key."""
    return dict.fromkeys((name for name, _ in parse_key(table_key)), "string")


def backlog(rows: Sequence[Row], as_of: datetime | None, driver: Driver) -> Backlog:
    """The times of all rows of a log, by table, status and reason.

    Each row is read with the names in its own ``table_key`` as the key.
    """
    found: Backlog = {}
    well_formed: dict[tuple[str, int], list[LogRow]] = {}
    for raw in rows:
        table = (raw["table_name"] or "").rpartition(".")[2].strip(" ").lower()
        columns: Mapping[str, str] = {"none": "string"}
        with suppress(Malformed):
            columns = whole_key(raw["table_key"])
        try:
            row = read_row(raw, Options(table, list(columns), columns))
        except Malformed as error:
            status = None if raw["status"] is None else raw["status"].rstrip(" ")
            at = None
            with suppress(Malformed):
                at = read_event_time(raw["event_time"])
            found.setdefault((table or None, status, error.args[0]), []).append(at)
            continue
        if row is not None:
            well_formed.setdefault((table, row.record_id), []).append(row)
    for (table, _), several in well_formed.items():
        if len({row.content for row in several}) > 1:
            for row in several:
                at = row.event_time
                found.setdefault((table, row.status, "sequence_conflict"), []).append(at)
        else:
            row = one_of(several)
            reason = passed_over(row, as_of, driver)
            found.setdefault((table, row.status, reason), []).append(row.event_time)
    return found
