"""Writes a workload as the capture stream of GBase 8s: the reads of one or two capture sessions.

:func:`write` gives the chunks, and the expected result of a decoder. Transactions are interleaved,
and their ids are used again. Some are rolled back or discard a part of themselves. Records of other
tables are in between. The second session begins as after a restart: at the oldest transaction that
was open at the end of the first.
"""

from __future__ import annotations

import random
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from simulation.database import Table, Transaction, Values, Workload, random_value
from simulation.oracle import Position, change_event

from formats.gbase_capture import reference as gbase

Row = dict[str, Any]

TABLE_ID, OTHER_TABLE = 7, 8
RAW_COLUMNS = {"capture_id": "string", "chunk_number": "bigint", "payload": "binary"}

# ------------------------------------------------------------------------------------------- values


def packed(value: Decimal, size: int) -> bytes:
    """Write a number in base 100 into this many bytes."""
    if not value:
        return b"\x80" + bytes(size - 1)
    whole, _, part = f"{abs(value):f}".partition(".")
    whole = "0" * (len(whole) % 2) + whole
    text = whole + part + "0" * (len(part) % 2)
    digits = [int(text[place : place + 2]) for place in range(0, len(text), 2)]
    exponent = len(whole) // 2
    while not digits[0]:
        digits, exponent = digits[1:], exponent - 1
    digits = (digits + [0] * size)[: size - 1]
    head = 0x80 | (exponent + 64)
    if value < 0:
        head ^= 0xFF
        last = max(place for place, digit in enumerate(digits) if digit)
        digits = [99 - digit for digit in digits[:last]] + [100 - digits[last]] + digits[last + 1 :]
    return bytes([head, *digits])


def _int8(value: int) -> bytes:
    return struct.pack(">hII", -1 if value < 0 else 1, abs(value) & 0xFFFFFFFF, abs(value) >> 32)


def _moment(value: datetime) -> bytes:
    return packed(Decimal(value.strftime("%Y%m%d%H%M%S.%f")), 11)


def _days(text: str) -> bytes:
    """Write INTERVAL DAY(3) TO SECOND."""
    return packed(Decimal(re.sub("[ :]", "", text)), 6)


def _held_days(value: str) -> str:
    """Make an interval of any text; an interval stays unchanged."""
    if re.fullmatch(r"-?\d+ \d\d:\d\d:\d\d", value):
        return value
    number = zlib.crc32(value.encode())
    seconds = number % (1000 * 86400)
    sign = "-" if seconds and number % 2 else ""
    minutes, hours = seconds // 60, seconds // 3600
    return f"{sign}{hours // 24} {hours % 24:02}:{minutes % 60:02}:{seconds % 60:02}"


def _months(text: str) -> bytes:
    """Write INTERVAL YEAR TO MONTH."""
    years, months = text.removeprefix("-").split("-")
    sign = "-" * text.startswith("-")
    return packed(Decimal(f"{sign}{years}{months}00000000"), 4)


def _held_months(value: str) -> str:
    if re.fullmatch(r"-?\d+-\d\d", value):
        return value
    number = zlib.crc32(value.encode())
    months = number % (10000 * 12)
    sign = "-" if months and number % 3 == 0 else ""
    return f"{sign}{months // 12}-{months % 12:02}"


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Type:
    """A type of GBase: bytes of a value and of NULL, and its value for a value of Spark."""

    text: str
    encode: Callable[[Any], bytes]
    null: bytes
    held: Callable[[Any], Any] = _same
    is_variable: bool = False


def _integer(text: str, code: str) -> Type:
    least = -(2 ** (8 * struct.calcsize(code) - 1))  # NULL
    return Type(
        text,
        lambda value: struct.pack(f">{code}", value),
        struct.pack(f">{code}", least),
        lambda value: max(value, least + 1),
    )


TYPES = {
    "small": ("smallint", _integer("smallint", "h")),
    "id": ("int", _integer("serial", "i")),
    "big": ("bigint", _integer("bigint", "q")),
    "eight": ("bigint", Type("int8", _int8, bytes(10), lambda value: max(value, 1 - 2**63))),
    "real": ("float", Type("smallfloat", lambda value: struct.pack(">f", value), b"\xff" * 4)),
    "float": ("double", Type("float", lambda value: struct.pack(">d", value), b"\xff" * 8)),
    "price": ("decimal(12,3)", Type("decimal(12,3)", lambda value: packed(value, 8), bytes(8))),
    "sum": ("decimal(16,2)", Type("money", lambda value: packed(value, 9), bytes(9))),
    "any": ("decimal(5,2)", Type("decimal(10)", lambda value: packed(value, 7), bytes(7))),
    "at": (
        "timestamp",
        Type(
            "datetime year to fraction(5)",
            _moment,
            bytes(11),
            lambda value: value.replace(microsecond=value.microsecond // 10 * 10),
        ),
    ),
    "day": (
        "date",
        Type(
            "date",
            lambda value: struct.pack(">i", (value - date(1899, 12, 31)).days),
            b"\x80\0\0\0",
        ),
    ),
    "month_day": (
        "date",
        Type(
            "datetime year to day",
            lambda value: packed(Decimal(value.strftime("%Y%m%d000000")), 5),
            bytes(5),
        ),
    ),
    "wait": ("string", Type("interval day(3) to second", _days, bytes(6), _held_days)),
    "term": ("string", Type("interval year to month", _months, bytes(4), _held_months)),
    "yes": ("boolean", Type("boolean", lambda value: bytes([0, value]), b"\1\0")),
    "code": (
        "string",
        Type(
            "char(32)",
            lambda value: value.encode().ljust(32),
            bytes(32),
            lambda value: value.encode().ljust(32).decode(),
        ),
    ),
    "name": (
        "string",
        Type(
            "varchar(60,0)",
            lambda value: struct.pack(">H", len(value.encode())) + value.encode(),
            b"\0\1\0",
            is_variable=True,
        ),
    ),
    "größe": (
        "string",
        Type(
            "nvarchar(60)",
            lambda value: bytes([len(value.encode())]) + value.encode(),
            b"\1\0",
            is_variable=True,
        ),
    ),
    "text": (
        "string",
        Type(
            "lvarchar(200)",
            lambda value: struct.pack(">HB", len(value.encode()) + 1, 0) + value.encode(),
            b"\0\1\1",
            is_variable=True,
        ),
    ),
}
"""Each column of the table: its type in Spark SQL and in GBase; fixed ones first."""

LOCATORS = {"picture": "blob", "essay": "clob"}
"""Columns before those, of which a row has a locator, which is no part of an event."""
LOCATOR = b"\1locator" + b"\xa5" * 68

TABLE = Table("gbase", {name: spark for name, (spark, _) in TYPES.items()}, ("id", "day"))


def held_row(values: Values) -> Values:
    """A row as the database can store it: some values differ."""
    return {
        name: None if value is None else TYPES[name][1].held(value)
        for name, value in values.items()
    }


def held(workload: Workload) -> Workload:
    """The workload as the database can store it; commits are at whole seconds."""

    def row(values: Values | None) -> Values | None:
        return values and held_row(values)

    transactions = tuple(
        replace(
            one,
            committed_at=one.committed_at.replace(microsecond=0),
            changes=tuple(
                replace(change, before=row(change.before), after=row(change.after))
                for change in one.changes
            ),
        )
        for one in workload.transactions
    )
    rows = tuple(
        {key: held_row(values) for key, values in state.items()} for state in workload.rows
    )
    return replace(workload, transactions=transactions, rows=rows)


def encode(values: Values) -> tuple[bytes, list[int]]:
    """Write a row: its payload, and the sizes of its variable columns."""
    parts, sizes = [LOCATOR] * len(LOCATORS), []
    for name, (_, type_) in TYPES.items():
        raw = type_.null if values[name] is None else type_.encode(values[name])
        parts.append(raw)
        if type_.is_variable:
            sizes.append(len(raw))
    return b"".join(parts), sizes


def schema_record() -> bytes:
    """Write the TABSCHEM record of the table."""
    fixed = [type_ for _, type_ in TYPES.values() if not type_.is_variable]
    types = LOCATORS | {name: type_.text for name, (_, type_) in TYPES.items()}
    text = ", ".join(f"{name} {type_}" for name, type_ in types.items())
    size = sum(len(type_.null) for type_ in fixed) + len(LOCATORS) * len(LOCATOR)
    count = len(LOCATORS) + len(fixed)
    return gbase.schema(TABLE_ID, text, size, count, len(types) - count)


# ---------------------------------------------------------------------------------------------- log


@dataclass(eq=False)
class _Record:
    """A record in the log. ``begin`` is where its transaction began in the log (-1: irrelevant)."""

    raw: bytes
    begin: int = -1
    reason: str | None = None
    is_used: bool = False
    is_own: bool = False  # a row, or truncate, of the table


@dataclass(frozen=True)
class Stream:
    """The chunks, and the expected result; as in ``qlik_change_table.ChangeTable``."""

    rows: list[Row]
    events: list[Row]
    positions: Mapping[int, Position]
    quarantine: list[tuple[str, str, int]]
    raw_counts: dict[str, int]
    workload: Workload


BAD_RECORDS = (
    *("orphan_before_image", "no_begin", "bad_value", "bad_var_sizes", "null_key"),
    *("unknown_record_type", "error_record"),
)


@dataclass
class _Log:
    """Writes transactions into the log of the server."""

    rng: random.Random
    table: Table
    records: list[_Record] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    positions: dict[int, Position] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    sequence: int = (30 << 32) + 0x1000

    def next(self) -> int:
        self.sequence += self.rng.choice((1, 0x50, 0x1800, 1 << 32))
        return self.sequence

    def add(self, raw: bytes, **more: Any) -> None:
        self.records.append(_Record(raw, **more))

    def row(self, number: int, transaction: int, values: Values, begin: int, **more: Any) -> int:
        payload, sizes = encode(values)
        sequence = self.next()
        raw = gbase.row(number, sequence, transaction, TABLE_ID, payload, sizes)
        self.add(raw, begin=begin, is_own=True, **more)
        return sequence

    def random_row(self) -> Values:
        values = {name: random_value(spark, self.rng, 0.1) for name, (spark, _) in TYPES.items()}
        return held_row(values | {"id": self.rng.randrange(100), "day": date(2024, 1, 1)})

    def begin(self) -> tuple[int, int]:
        """Begin a transaction: its id, and its position."""
        transaction = self.rng.choice([one for one in range(50, 60) if one not in self.taken])
        self.taken.add(transaction)
        self.add(gbase.begin(self.next(), transaction))
        self.records[-1].begin = len(self.records) - 1
        return transaction, len(self.records) - 1

    def transaction(self, one: Transaction, bad: list[str]) -> Iterator[None]:
        """Write a transaction step by step; before its commit it waits once more."""
        transaction, begin = self.begin()
        yield
        written = []
        for change in one.changes:
            self.noise(transaction, begin)
            if change.operation == "truncate":
                sequence = self.next()
                raw = gbase.truncate(sequence, transaction, TABLE_ID)
                self.add(raw, begin=begin, is_own=True, is_used=True)
            elif change.operation == "update":
                assert change.before is not None
                self.row(42, transaction, change.before, begin, is_used=True)
                self.between(transaction)
                sequence = self.row(43, transaction, change.values, begin, is_used=True)
            else:
                number = {"insert": 40, "delete": 41}[change.operation]
                sequence = self.row(number, transaction, change.values, begin, is_used=True)
            written.append((change, sequence))
            if bad and self.rng.random() < 0.3:
                self.bad(bad.pop(), transaction, begin)
            yield
        yield
        commit = self.next()
        self.add(gbase.commit(commit, transaction, int(one.committed_at.timestamp())))
        self.taken.discard(transaction)
        for change, sequence in written:
            position = Position(
                f"{commit:016X}.{sequence:016X}", f"{commit:016X}", one.committed_at
            )
            self.positions[change.number] = position
            event = change_event(self.table, one, change, position)
            event |= {"cdc_source": "gbase_capture", "cdc_transaction_id": str(transaction)}
            if change.operation == "delete":
                event["cdc_before"] = dict(change.values)
            self.events.append(event)

    def rolled_back(self) -> Iterator[None]:
        """Write a transaction without effect."""
        transaction, begin = self.begin()
        for _ in range(self.rng.randrange(3)):
            yield
            self.row(40, transaction, self.random_row(), begin)
        yield
        self.add(gbase.rollback(self.next(), transaction))
        self.taken.discard(transaction)

    def between(self, transaction: int) -> None:
        """Records that may be between a before image and its update: other tables, and timeouts."""
        if self.rng.random() < 0.1:
            self.add(gbase.row(40, self.next(), transaction, OTHER_TABLE, b"\0\0\0\1"))
        if self.rng.random() < 0.1:
            self.add(gbase.record(201, struct.pack(">Q", self.sequence)))

    def noise(self, transaction: int, begin: int) -> None:
        self.between(transaction)
        if self.rng.random() < 0.1:
            first = self.row(40, transaction, self.random_row(), begin)
            self.row(41, transaction, self.random_row(), begin)
            self.add(gbase.discard(first, transaction))

    def bad(self, kind: str, transaction: int, begin: int) -> None:
        values = self.random_row()
        if kind == "orphan_before_image":
            self.row(42, transaction, values, begin, reason=kind)
        elif kind == "no_begin":
            self.row(40, 999, values, len(self.records), reason=kind)
        elif kind == "null_key":
            self.row(40, transaction, values | {"id": None}, begin, reason=kind)
        elif kind == "unknown_record_type":
            self.add(gbase.record(300, struct.pack(">Q", self.next()), b"?"), reason=kind)
        elif kind == "error_record":
            self.add(gbase.record(202, struct.pack(">ii", 0, -self.next() % 1000)), reason=kind)
        else:
            payload, sizes = encode(values)
            if kind == "bad_value":
                before = list(TYPES)[: list(TYPES).index("yes")]
                at = len(LOCATORS) * len(LOCATOR)
                at += sum(len(TYPES[name][1].null) for name in before)
                payload = payload[:at] + b"\7" + payload[at + 1 :]
            else:
                sizes = [sizes[0] + 1, *sizes[1:]]
            raw = gbase.row(40, self.next(), transaction, TABLE_ID, payload, sizes)
            self.add(raw, begin=begin, is_own=True, reason=kind)

    def write(self, workload: Workload, bad: list[str]) -> None:
        """Write all transactions, up to three at a time; they commit in their order."""
        waiting = list(workload.transactions)
        active: list[tuple[Iterator[None], int]] = []
        others: list[Iterator[None]] = []
        steps: dict[int, int] = {}
        while waiting or active:
            if waiting and len(active) < 3 and self.rng.random() < 0.4:
                one = waiting.pop(0)
                active.append((self.transaction(one, bad), len(one.changes) + 1))
                steps[id(active[-1][0])] = 0
            if not others and self.rng.random() < 0.1:
                others.append(self.rolled_back())
            others = [one for one in others if self.rng.random() > 0.5 or _goes_on(one)]
            if active:
                place = self.rng.randrange(len(active))
                one_, last = active[place]
                if place == 0 or steps[id(one_)] <= last:
                    steps[id(one_)] += 1
                    if not _goes_on(one_):
                        active.pop(place)
        for other in others:
            while _goes_on(other):
                pass


def _goes_on(steps: Iterator[None]) -> bool:
    return next(steps, steps) is None


# ------------------------------------------------------------------------------------------ reading


def _read(
    records: list[_Record], rng: random.Random, stale: bool
) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Read records chunk by chunk: the chunks, and in which chunks each record begins and ends.

    With `stale` a chunk has whole records and then the old bytes of the buffer; else it ends
    anywhere.
    """
    chunks: list[bytes] = []
    places: list[tuple[int, int]] = []
    if stale:
        buffer = bytearray()
        at = 0
        while at < len(records):
            some = records[at : at + rng.choice((1, 1, 1, 2, 5))]
            at += len(some)
            read = b"".join(one.raw for one in some)
            places += [(len(chunks), len(chunks))] * len(some)
            buffer[: len(read)] = read
            known = {one.raw for one in records[:at]}
            left = bytes(buffer[len(read) :])
            # half of one header and half of another may form a third, which nobody can tell
            while gbase.is_header(left[:16]) and left[: gbase.record_size(left)] in known:
                left = left[gbase.record_size(left) :]
            chunks.append(read if gbase.is_header(left[:16]) else bytes(buffer))
        return chunks, places
    stream = b"".join(one.raw for one in records)
    ends: list[int] = []
    while not ends or ends[-1] < len(stream):
        size = rng.choice((1, 7, 40, 300, 1000, 5000))
        ends.append(min((ends[-1] if ends else 0) + size, len(stream)))
    chunks = [stream[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    begin = 0
    for one in records:
        last = begin + len(one.raw) - 1
        places.append((_chunk_of(begin, ends), _chunk_of(last, ends)))
        begin += len(one.raw)
    return chunks, places


def _chunk_of(place: int, ends: list[int]) -> int:
    return next(index for index, end in enumerate(ends) if place < end)


def write(
    workload: Workload,
    rng: random.Random,
    bad_records: int = 1,
    duplicates: float = 0.0,
    first: int = _Log.sequence,
) -> Stream:
    """The stream of a workload on :data:`TABLE`; ``bad_records`` of each kind.

    ``first``: where the log begins.
    """
    workload = held(workload)
    log = _Log(rng, workload.table, sequence=first)
    bad = list(BAD_RECORDS) * bad_records
    rng.shuffle(bad)
    log.write(workload, bad)
    cut = len(log.records) * 2 // 3
    ended: set[int] = set()  # transactions that ended before the cut, by their beginning
    open_: dict[int, int] = {}
    for index, one in enumerate(log.records[:cut]):
        number, transaction = struct.unpack_from(">I", one.raw, 12)[0], one.raw[24:28]
        key = int.from_bytes(transaction, "big")
        if number == 1:
            open_[key] = index
        elif number in (2, 3):
            ended.add(open_.pop(key))
    restart = min([cut, *open_.values()])
    captures = {"s1": (0, cut), "s2": (restart, len(log.records))}

    rows: list[Row] = []
    quarantine: list[tuple[str, str, int]] = []
    counts = {"used_rows": 0, "no_op_rows": 0, "quarantined_rows": 0}
    for number, (capture_id, (begin, end)) in enumerate(captures.items()):
        records = [_Record(schema_record()), *log.records[begin:end]]
        chunks, places = _read(records, rng, stale=bool(number))
        state = ["no_op_rows"] * len(chunks)
        for one, (first, last) in zip(records, places, strict=True):
            reason = one.reason
            if one.is_own and one.begin < begin:
                reason = "no_begin"
            is_open = one.is_own and one.begin in open_.values() and not number
            if reason and not (is_open and reason != "no_begin"):
                quarantine.append((reason, capture_id, 10 * first))
                state[first : last + 1] = ["quarantined_rows"] * (last + 1 - first)
            elif one.is_used and not is_open:
                for chunk in range(first, last + 1):
                    if state[chunk] == "no_op_rows":
                        state[chunk] = "used_rows"
        for index, payload in enumerate(chunks):
            row = {"capture_id": capture_id, "chunk_number": 10 * index, "payload": payload}
            times = 2 if rng.random() < duplicates else 1
            rows += [row] * times
            counts[state[index]] += times
            if times == 2:
                again = [one for one in quarantine if one[1:] == (capture_id, 10 * index)]
                quarantine += again
    return Stream(
        rows=rows,
        events=sorted(log.events, key=lambda e: (e["cdc_commit_sequence"], e["cdc_sequence"])),
        positions=log.positions,
        quarantine=quarantine,
        raw_counts={"raw_rows": len(rows), **counts},
        workload=workload,
    )
