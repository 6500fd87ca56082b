"""Writes a workload as the rows of an event log, as the triggers of a site would.

:func:`write` gives the log of several tables, a snapshot, and the expected result for one of them.
:class:`Layout` says how the log landed. :class:`Style` says what the triggers write, and what
happens to the rows on their way.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from kit.formats import Written
from simulation.database import RowChange, Table, Transaction, Values, Workload
from simulation.oracle import Position

from formats.netiq_event_log import reference
from formats.netiq_event_log.reference import LAYOUTS, SPECIAL, Options

Row = dict[str, Any]

ACCOUNTS = Table(
    "accounts",
    {
        "branch": "string",
        "fname": "string",
        "balance": "decimal(12,2)",
        "idu": "int",
        "born": "date",
        "seen_at": "timestamp",
    },
    ("idu", "branch"),
)

# What a log without transactions cannot show (two rows on one key for a moment), or any log.
NOT_LOGGED = ("shift", "swap", "replace", "truncate", "reload")

FUTURE = datetime(2999, 12, 31, 23, 59, 59)
UNDECLARED = "not_declared"


@dataclass(frozen=True)
class Layout:
    """How a log landed.

    ``layout``: the decoder's argument. ``columns``: the names of the ten columns as the relation
    has them, by position (a dict has its own). ``record_id``, ``event_type``, ``event_time``:
    landed types. ``more``: columns after the ten.
    """

    layout: str | Mapping[str, str] = "record_id_status"
    columns: Sequence[str] | None = None
    record_id: str = "bigint"
    event_type: str = "int"
    event_time: str = "timestamp"
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """The relation's column of each of the ten."""
        if not isinstance(self.layout, str):
            return dict(self.layout)
        places = LAYOUTS[self.layout]
        return dict(zip(places, self.columns or places, strict=True))

    @property
    def relation_columns(self) -> dict[str, str]:
        """Names and types of the relation's columns, in order; with a dict they are sorted."""
        types = {
            "record_id": self.record_id,
            "event_type": self.event_type,
            "event_time": self.event_time,
        }
        ten = {column: types.get(name, "string") for name, column in self.names.items()}
        if not isinstance(self.layout, str):
            ten = dict(sorted(ten.items()))
        return ten | dict(self.more)


@dataclass(frozen=True)
class Style:
    """What the triggers write, and what happens to the rows on their way.

    ``query_back``: the share of statements without values; ``both``: the share of statements that
    are logged with and without them. ``pending``: the share of rows with the status of new rows.
    ``snapshot``: ``typed``, ``text`` or None. ``as_of``: None, ``now``, or a share of the log's
    time that has passed. ``zone``: the zone of the log's times. ``odd_keys``: the share of keys
    with another spelling. ``duplicates``: the share of rows that are delivered again, with any
    status. ``bad_rows``: how many malformed rows of each kind of :data:`BAD_ROWS`.
    """

    query_back: float = 0.0
    both: float = 0.0
    pending: float | None = None
    snapshot: str | None = None
    as_of: float | str | None = None
    zone: str = "UTC"
    odd_keys: float = 0.1
    duplicates: float = 0.1
    shuffle: bool = True
    bad_rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_faithful(self) -> bool:
        """Whether the log has all values, and no row of the workload waits."""
        return not self.query_back and not self.both and self.as_of in (None, "now")


@dataclass(frozen=True)
class Log(Written):
    """The landed rows, and the expected result for the rows of the table.

    ``read``: the rows as the reference reads them, in the order of ``rows``. ``arguments``: the
    decoder's. ``workload``, ``positions``: for a faithful log, with each change as a transaction.
    """

    layout: Layout
    rows: list[Row]
    read: list[Row]
    snapshot: list[Row] | None
    snapshot_columns: Mapping[str, str]
    options: Options
    arguments: str
    decoded: reference.Decoded
    workload: Workload | None
    positions: Mapping[int, Position]

    @property
    def columns(self) -> dict[str, str]:
        return self.layout.relation_columns


# ------------------------------------------------------------------------------------- the database

SIGNS = ("", "+b=1", '"', "\\", ' ; "<x>" ', "O'Brien", "\n{}", '\\\\"')


def odd_text(text: str | None) -> str | None:
    """A key's text with characters that need quotes; different texts stay different."""
    return text and text + SIGNS[sum(map(ord, text.lower())) % len(SIGNS)]


def held(workload: Workload) -> Workload:
    """The workload as in the log: each change is a transaction, a key move a delete and an insert.

    String columns of the key get characters that need quotes.
    """
    table = workload.table
    texts = [name for name in table.key if table.columns[name] == "string"]

    def row(values: Values | None) -> Values | None:
        return values and values | {name: odd_text(values[name]) for name in texts}

    transactions: list[Transaction] = []
    states: list[Mapping[int, Values]] = []
    state: dict[int, Values] = {}

    def commit(source: Transaction, change: RowChange) -> None:
        assert change.row_id is not None, "a truncate is not logged"
        if change.after is None:
            del state[change.row_id]
        else:
            state[change.row_id] = change.after
        position, number = len(transactions), len(transactions) + 1
        transactions.append(
            replace(source, position=position, changes=(replace(change, number=number),))
        )
        states.append(dict(state))

    for transaction in workload.transactions:
        for change in transaction.changes:
            change = replace(change, before=row(change.before), after=row(change.after))
            before, after = change.before, change.after
            if before and after and table.key_of(before) != table.key_of(after):
                commit(transaction, replace(change, operation="delete", after=None))
                commit(transaction, replace(change, operation="insert", before=None))
            else:
                commit(transaction, change)
    made = Workload(table, tuple(transactions), tuple(states))
    for position in range(len(states)):
        made.state_at(position)  # this shows whether two rows have one key
    return made


# ------------------------------------------------------------------------------------------- values


def text_of(sql_type: str, value: Any, rng: random.Random) -> str | None:
    """A value as a trigger may write it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        text = base64.b64encode(value).decode()
        return text[:3] + rng.choice(("", "\r\n", " ")) + text[3:]
    if isinstance(value, bool):
        return rng.choice(
            {True: ("1", "true", "T", "Yes"), False: ("0", "FALSE", "f", "no")}[value]
        )
    if isinstance(value, datetime):
        return time_text(value, rng, has_zone=sql_type == "timestamp")
    if isinstance(value, date):
        return value.isoformat() + rng.choice(("", "", " 00:00:00.000000000", "-00.00.00.000000"))
    if isinstance(value, Decimal):
        return rng.choice(("", "  ")) + f"{value:f}"
    return rng.choice(("", " ")) + repr(value) + rng.choice(("", "", "  "))


def time_text(at: datetime, rng: random.Random, has_zone: bool = False) -> str:
    """A time in the form of ODBC, Db2 or ISO."""
    forms = [
        f"{at:%Y-%m-%d %H:%M:%S.%f}",
        f"{at:%Y-%m-%d %H:%M:%S.%f}789",
        f"{at:%Y-%m-%d-%H.%M.%S.%f}",
        f"{at:%Y-%m-%d-%H.%M.%S.%f}000123",
    ]
    if has_zone:
        forms += [f"{at:%Y-%m-%dT%H:%M:%S.%f}Z", f" {at:%Y-%m-%d %H:%M:%S.%f}+00:00 "]
    if not at.microsecond:
        forms += [f"{at:%Y-%m-%d %H:%M:%S}", f"{at:%Y-%m-%d-%H.%M.%S}"]
    return rng.choice(forms)


def quoted(text: str, always: bool = False) -> str:
    """A value of a key, in quotes where it needs them."""
    if not always and not set(text) & set(SPECIAL):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def other_case(name: str, rng: random.Random) -> str:
    """A name in another case, if that is the same name."""
    other = rng.choice((name.upper(), name.lower(), name.title()))
    return other if other.lower() == name.lower() else name


# ------------------------------------------------------------------------------------------ the log


class _Writer:
    """The rows of a log before they land; times are naive, numbers are numbers."""

    def __init__(self, table: Table, rng: random.Random, layout: Layout, style: Style) -> None:
        self.table, self.rng, self.layout, self.style = table, rng, layout, style
        largest = {"int": (1,), "bigint": (1, 10**6, 2**53 - 50, 2**63 - 10**6)}
        self.number = rng.choice(largest.get(layout.record_id, (1, 2**63 - 50, 10**38 - 10**6)))
        self.rows: list[Row] = []
        self.clock = datetime(1, 1, 1)
        self.last_time: dict[object, datetime] = {}  # of the last change of a key
        self.last_row: dict[int, int] = {}  # the record_id of the last row of a change

    def row(self, event_type: int, values: Values, at: datetime, **more: Any) -> Row:
        """A row of the log, not yet in it."""
        return {
            "record_id": None,
            "status": self.status(),
            "event_type": event_type,
            "event_time": at,
            "perpetrator": self.rng.choice((None, "idm", "O'Brien", "")),
            "table_name": self.table_name(),
            "table_key": self.key_text(values),
            "column_name": None,
            "old_value": None,
            "new_value": None,
            **more,
        }

    def add(self, rows: Sequence[Row]) -> None:
        """Give ids to the rows of one statement, always with a gap between two statements."""
        for row in rows:
            self.number += self.rng.choice((2, 3, 7, 100))
            row["record_id"] = self.number
            self.rows.append(row)

    def status(self) -> str:
        pending = self.style.pending
        if pending is not None and self.rng.random() < pending:
            return "N"
        return self.rng.choice(("N", "S", "W", "E", "F", "N  "))

    def table_name(self) -> str:
        name = self.table.name
        forms = (name, name, other_case(name, self.rng), f"ERP.{name}", f"a.b.{name} ", f" {name}")
        return self.rng.choice(forms)

    def key_text(self, values: Values, is_odd: bool | None = None) -> str:
        """The key of a row: mostly the same text, sometimes another one."""
        rng = self.rng
        is_odd = rng.random() < self.style.odd_keys if is_odd is None else is_odd
        parts = []
        for name in self.table.key:
            sql_type, same = self.table.columns[name], random.Random(1)
            text = text_of(sql_type, values[name], rng if is_odd else same)
            assert text is not None
            written = name
            if is_odd:
                prefix = rng.choice(("", "pk_", "PK_sv_", "pk_3_", "pk_sv_12_", "pk__ref__"))
                written = prefix + rng.choice((name, other_case(name, rng)))
                written = rng.choice((written, f" {written} "))
            parts.append(f"{written}={quoted(text, is_odd and rng.random() < 0.3)}")
        if is_odd:
            rng.shuffle(parts)
        return "+".join(parts)

    def column(self, name: str) -> str:
        return self.rng.choice((name, name, other_case(name, self.rng), f"{name}  "))

    def field_row(self, event_type: int, name: str, change: RowChange, at: datetime) -> Row:
        """A row of one field of a change."""
        sql_type = self.table.columns[name]
        old = text_of(sql_type, change.before[name], self.rng) if change.before else None
        new = text_of(sql_type, change.values[name], self.rng)
        has_old = event_type == 2 or (event_type == 3 and self.rng.random() < 0.5)
        return self.row(
            event_type,
            change.values,
            at,
            column_name=self.column(name),
            old_value=old if has_old else None,
            new_value=new if event_type in reference.LOGGED else None,
        )

    def change(self, change: RowChange, at: datetime) -> None:
        """The rows of one change; updates that change nothing are not written."""
        if change.is_no_op:
            return
        rng = self.rng
        if self.style.as_of is not None:
            at = max(at, self.clock)  # the times order the rows
        key = self.table.key_of(change.values)
        if self.style.is_faithful and self.last_time.get(key) == at:
            at += timedelta(microseconds=1)  # else two updates could be one event
        self.last_time[key] = self.clock = at
        draw = rng.random()
        is_asked = draw < self.style.query_back
        is_both = is_asked and rng.random() < self.style.both
        logged = self.logged(change, at)
        if not is_asked or change.operation == "delete":
            rows = logged
        else:
            rows = self.asked(change, at) + (logged if is_both else [])
            rng.shuffle(rows)
        text = rows[0]["table_key"]
        if rng.random() < 0.9 or self.style.is_faithful:
            rows = [{**row, "table_key": text} for row in rows]
        self.add(rows)
        self.last_row[change.number] = self.number
        if rng.random() < 0.1:
            self.noise(change, at)

    def logged(self, change: RowChange, at: datetime) -> list[Row]:
        """A change with its values: types 1 to 4."""
        rng, values = self.rng, change.values
        if change.operation == "delete":
            return [self.row(4, values, at)]
        if change.operation == "update":
            before = change.before or {}
            names = [name for name in self.table.columns if before[name] != values[name]]
            rows = [self.field_row(rng.choice((2, 2, 3)), name, change, at) for name in names]
        else:
            names = [
                name
                for name in self.table.columns
                if (rng.random() < 0.2 if name in self.table.key else values[name] is not None)
                or rng.random() < 0.1
            ]
            names = names or self.table.attributes[:1]
            rows = [self.field_row(1, name, change, at) for name in names]
        rng.shuffle(rows)
        if rng.random() < 0.1:
            other = {"column_name": UNDECLARED, "new_value": "?"}
            rows.insert(0, {**rows[0], **other})
        return rows

    def asked(self, change: RowChange, at: datetime) -> list[Row]:
        """A change without its values: types 5 to 8."""
        rng = self.rng
        by_row, by_field = (5, 7) if change.operation == "insert" else (6, 8)
        rows: list[Row] = []
        if rng.random() < 0.6:
            rows.append(self.row(by_row, change.values, at))
        if not rows or rng.random() < 0.3:
            names = [name for name in self.table.attributes if rng.random() < 0.5]
            names = [*(names or self.table.attributes[:1]), *rng.choice(([], [UNDECLARED]))]
            rows += [
                self.row(by_field, change.values, at, column_name=self.column(name))
                for name in names
            ]
        return rows

    def noise(self, change: RowChange, at: datetime) -> None:
        """Rows without influence on others: rows of other tables, and of the far future."""
        other = self.rng.choice(("other", f"{self.table.name}_child", f"{self.table.name}.other"))
        row = self.row(self.rng.choice((4, 5, 6)), change.values, at, table_name=other)
        row |= self.rng.choice(({}, {"status": "?"}, {"table_key": "\\"}, {"event_type": 77}))
        # the table may have the same id
        self.rows.append(row | {"record_id": self.number})
        if self.style.as_of is not None:
            names = self.rng.sample(self.table.attributes, 1)
            self.add([self.field_row(2, name, change, FUTURE) for name in names])
            self.add([self.row(self.rng.choice((4, 5, 6)), change.values, FUTURE)])

    def landed(self, row: Row) -> Row:
        """A row in the types of the relation."""
        row, layout, rng = dict(row), self.layout, self.rng
        for name, sql_type in (("record_id", layout.record_id), ("event_type", layout.event_type)):
            value = row[name]
            if isinstance(value, int):
                if sql_type == "string":
                    row[name] = rng.choice(("{}", "{}", " 00{}", "{}.0", "{} ")).format(value)
                elif sql_type.startswith("decimal"):
                    row[name] = Decimal(value)
        if isinstance(row["event_time"], datetime):
            if layout.event_time == "string":
                row["event_time"] = time_text(row["event_time"], rng)
            elif layout.event_time == "timestamp":
                row["event_time"] = row["event_time"].replace(tzinfo=timezone.utc)
        return row


# ----------------------------------------------------------------------------------- malformed rows


def _bad(writer: _Writer, row: Row, kind: str) -> list[Row]:
    """A row that is malformed in one way."""
    rng, layout = writer.rng, writer.layout
    is_text = {
        name: getattr(layout, name) == "string"
        for name in ("record_id", "event_type", "event_time")
    }
    key, types = row["table_key"], writer.table.columns
    bad_key = [f"{name}=1x" for name in writer.table.key if types[name] not in ("string", "binary")]
    other_key = [f"{name}=" for name in writer.table.key if types[name] in ("string", "binary")]
    wrong: dict[str, Sequence[Row]] = {
        "missing_table_name": [
            {"table_name": None},
            {"table_name": "hr."},
            {"table_name": "", "record_id": None},
        ],
        "bad_record_id": [{"record_id": None}, {"record_id": 0}, {"record_id": -5}],
        "bad_status": [{"status": one} for one in (None, "", "n", "X", "NN", " N")],
        "unknown_operation": [{"event_type": one} for one in (None, 0, 9)],
        "null_event_time": [{"event_time": None}],
        "bad_event_time": [
            {"event_time": one} for one in ("2024-02-30 07:08:09", "now", "07:08:09", "")
        ],
        "malformed_table_key": [
            {"table_key": one} for one in (None, "", key + "+", key + '"', "+" + key, "nr")
        ],
        "key_mismatch": [{"table_key": one} for one in (key + "+nr=1", "nr=1")],
        "missing_column_name": [{"column_name": one} for one in (None, "")],
        "bad_value": [{"new_value": one} for one in ("", "12x", "1,5", "now")],
    }
    if bad_key:
        wrong["bad_value"] = [*wrong["bad_value"], {"table_key": "+".join(bad_key + other_key)}]
    if is_text["record_id"]:
        wrong["bad_record_id"] = [{"record_id": one} for one in ("7x", "7.5", "", "1" + "0" * 38)]
    if is_text["event_type"]:
        wrong["unknown_operation"] = [{"event_type": one} for one in ("I", "1.5", "")]
    if kind == "sequence_conflict":
        return [row, {**row, "old_value": "another"}]
    return [row | rng.choice(wrong[kind])]


BAD_ROWS = (
    *("missing_table_name", "bad_record_id", "bad_status", "unknown_operation", "null_event_time"),
    *("bad_event_time", "malformed_table_key", "key_mismatch", "missing_column_name", "bad_value"),
    "sequence_conflict",
)


def possible_bad_rows(layout: Layout) -> list[str]:
    """The kinds that are possible in this layout."""
    return [kind for kind in BAD_ROWS if kind != "bad_event_time" or layout.event_time == "string"]


# ---------------------------------------------------------------------------------------- all of it


def write(
    workload: Workload,
    rng: random.Random,
    layout: Layout | None = None,
    style: Style | None = None,
) -> Log:
    """The log of a workload without the statements of :data:`NOT_LOGGED`."""
    layout, style = layout or Layout(), style or Style()
    workload, table = held(workload), workload.table
    zone = ZoneInfo(style.zone)
    writer = _Writer(table, rng, layout, style)
    times = []
    for transaction in workload.transactions:
        at = transaction.committed_at.astimezone(zone).replace(tzinfo=None)
        writer.change(transaction.changes[0], at)
        times.append(writer.clock)
    rows = list(writer.rows)
    fields = [
        change
        for transaction in workload.transactions
        for change in transaction.changes
        if change.operation == "update" and not change.is_no_op
    ]
    typed = [name for name in table.attributes if table.columns[name] not in ("string", "binary")]
    for kind in chain.from_iterable([kind] * count for kind, count in style.bad_rows.items()):
        row = writer.field_row(2, rng.choice(typed), rng.choice(fields), rng.choice(times))
        row["record_id"] = rng.choice(writer.rows)["record_id"] + 1
        while any(row["record_id"] == other["record_id"] for other in rows):
            row["record_id"] = rng.choice(writer.rows)["record_id"] + 1
        rows += _bad(writer, row, kind)
    again = [dict(row) for row in rows if rng.random() < style.duplicates]
    for row in again:
        if row["status"] and row["status"].rstrip(" ") in ("N", "S", "W", "E", "F"):
            row["status"] = rng.choice("NSWEF")
    if style.shuffle:
        rows += again
        rng.shuffle(rows)
    else:
        for row in again:
            rows.insert(rng.randrange(len(rows) + 1), row)
    read = [writer.landed(row) for row in rows]
    as_of = style.as_of
    if isinstance(as_of, float):
        as_of = f"{sorted(times)[int(as_of * (len(times) - 1))]:%Y-%m-%d %H:%M:%S.%f}"
    options = Options(table.name, table.key, dict(table.columns), as_of, style.zone)
    snapshot = None if style.snapshot is None else snapshot_of(workload, rng, style.snapshot)
    decoded = reference.decode(read, snapshot, options)
    positions = {}
    for change, last in writer.last_row.items():
        event = decoded.event_of.get(last)
        if event is not None:
            names = ("cdc_sequence", "cdc_commit_sequence", "cdc_commit_at")
            positions[change] = Position(*(event[name] for name in names))
    return Log(
        layout,
        [
            {layout.names[name]: value for name, value in row.items()}
            | dict.fromkeys(layout.more, None)
            for row in read
        ],
        read,
        snapshot,
        snapshot_columns(table, style.snapshot or "typed"),
        options,
        arguments_of(options, layout, snapshot is not None),
        decoded,
        workload if style.is_faithful else None,
        positions if style.is_faithful else {},
    )


def arguments_of(options: Options, layout: Layout, has_snapshot: bool) -> str:
    """The decoder's arguments after the relation, as Jinja."""
    given = {
        "table": repr(options.table),
        "key": repr(list(options.key)),
        "columns": repr(dict(options.columns)),
    }
    if has_snapshot:
        given["snapshot"] = "{snapshot}"
    return ", ".join(
        f"{name}={value}" for name, value in (given | arguments_of_log(options, layout)).items()
    )


def arguments_of_log(options: Options, layout: Layout) -> dict[str, str]:
    """The arguments about the log, which are the same for every table."""
    given = {}
    if layout.layout != "record_id_status":
        given["layout"] = repr(
            layout.layout if isinstance(layout.layout, str) else dict(layout.layout)
        )
    if options.as_of is not None:
        given["as_of"] = repr(options.as_of)
    if options.zone != "UTC":
        given["source_timezone"] = repr(options.zone)
    return given


# ----------------------------------------------------------------------------------------- snapshot


def snapshot_columns(table: Table, form: str) -> dict[str, str]:
    """The snapshot's columns: the table's columns, typed or as text, and one that is not read."""
    types = dict(table.columns) if form == "typed" else dict.fromkeys(table.columns, "string")
    return {"not_read": "string", **dict(reversed(types.items()))}


def snapshot_of(workload: Workload, rng: random.Random, form: str) -> list[Row]:
    """The final table, with rows that should not be there.

    Some keys have two rows, of which the greatest is taken; some rows have no key. A snapshot of
    text has some bad values.
    """
    table = workload.table
    rows = [dict(row) for row in workload.rows_at(len(workload.rows) - 1).values()]
    for row in rng.sample(rows, min(len(rows), 3)):
        others = {name: rng.choice(rows)[name] for name in table.attributes}
        rows.append(row | others)
    empty = dict.fromkeys(table.columns)
    rows.append({**empty, **{name: rows[0][name] for name in table.key[1:]}} if rows else empty)
    if form == "text":
        rows = [
            {name: text_of(table.columns[name], value, rng) for name, value in row.items()}
            for row in rows
        ]
        typed = [name for name in table.attributes if table.columns[name] != "string"]
        for row in rng.sample(rows, min(len(rows), 2)):
            row[rng.choice(typed)] = "12x"
    rng.shuffle(rows)
    return [{"not_read": "x", **row} for row in rows]
