"""Writes a workload as the raw rows of a Qlik Replicate change table.

:func:`write` gives the raw rows, and the expected result of a decoder. This is the change events,
and the rows in quarantine with their reasons. :class:`Layout` is the layout of the table, and
:class:`Delivery` the changes to rows during delivery.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from kit.formats import raw_counts
from simulation.database import EPOCH, RowChange, Table, Transaction, Values, Workload, pool
from simulation.oracle import Position, change_event

Row = dict[str, Any]

HEADER_TYPES = {
    "change_seq": "string",
    "change_oper": "string",
    "change_mask": "string",
    "stream_position": "string",
    "operation": "string",
    "transaction_id": "string",
    "timestamp": "timestamp",
    "partition_name": "string",
}
"""The header columns in the order in which they stand in the table. A mask may be binary."""

LETTERS = {"insert": "I", "update": "U", "delete": "D", "before": "B", "truncate": ""}
WORDS = {
    "insert": "INSERT",
    "update": "UPDATE",
    "delete": "DELETE",
    "before": "BEFOREIMAGE",
    "truncate": "TRUNCATE",
}
METADATA = ("stream_position", "timestamp", "partition_name")
"""The header columns that only inform; a row with the least of them in this order is the event."""


@dataclass(frozen=True)
class Layout:
    """How a task writes its change tables.

    ``header``: the selected header columns; ``change_seq`` and one of the two operations must be
    among them, with truncates ``operation``. ``behind``: header columns that landed after the
    table's columns, where no mask counts them. ``mask_form``: ``text`` (hex) or ``binary``.
    ``mask_trimmed``: zero bytes on the insignificant side are left out. ``mask_varied``: each text
    in a different spelling, and masks that nobody reads have any content. ``mask_null_rate``: the
    share of I and U rows whose mask is NULL. ``key_only_deletes``: the share of D rows in which all
    columns except the key are NULL. ``anonymous_rate``: the share of transactions of one change
    without an id. ``unset_timestamp_rate``: the share of changes with the header timestamp
    1970-01-01.
    """

    header: Collection[str] = tuple(HEADER_TYPES)
    behind: Collection[str] = ()
    prefix: str = "header__"
    mask_form: str = "text"
    mask_byte_order: str = "big"
    mask_trimmed: bool = True
    mask_varied: bool = False
    mask_null_rate: float = 0.0
    before_images: bool = True
    key_only_deletes: float = 0.5
    anonymous_rate: float = 0.0
    unset_timestamp_rate: float = 0.1

    def __post_init__(self) -> None:
        unknown = set(self.header) - set(HEADER_TYPES)
        if unknown:
            raise ValueError(f"no such header columns: {sorted(unknown)}; {list(HEADER_TYPES)}")
        if "change_seq" not in self.header or not {"change_oper", "operation"} & set(self.header):
            raise ValueError("a change table needs change_seq, and change_oper or operation")
        if self.mask_form not in ("text", "binary") or self.mask_byte_order not in (
            "big",
            "little",
        ):
            raise ValueError("masks are 'text' or 'binary', and 'big' or 'little'")

    @property
    def header_columns(self) -> list[str]:
        """The selected header columns without prefix, in the order of the table."""
        return [name for name in HEADER_TYPES if name in self.header]

    def columns(self, table: Table) -> dict[str, str]:
        """Names and types of the columns of the change table, in order."""
        header = {self.prefix + name: HEADER_TYPES[name] for name in self.header_columns}
        if "change_mask" in self.header and self.mask_form == "binary":
            header[self.prefix + "change_mask"] = "binary"
        behind = {name: header.pop(name) for name in (self.prefix + name for name in self.behind)}
        return {**header, **table.columns, **behind}


@dataclass(frozen=True)
class Delivery:
    """Changes to the rows during delivery.

    ``interleave``: which neighbouring transactions of one time part mix in change_seq. With
    ``none`` they do not. With ``disjoint`` only transactions without a common key do, as locks
    would have it. With ``any`` change_seq alone does not order the changes of a key; the first to
    begin committed first. ``duplicates``: the share of rows that are delivered once more, half of
    them with other values in what only informs.
    ``shuffle``: the rows arrive in any order. ``bad_rows``: how many malformed cases of each kind
    of :data:`BAD_ROWS` are added; see also :func:`possible_bad_rows`.
    """

    interleave: str = "none"
    duplicates: float = 0.0
    shuffle: bool = False
    bad_rows: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.interleave not in ("none", "disjoint", "any"):
            raise ValueError(f"interleave is none, disjoint or any, not {self.interleave!r}")


@dataclass(frozen=True)
class ChangeTable:
    """The raw rows, and the expected result.

    ``events``: the change events in order (without ``cdc_batch``). ``positions``: the position of
    each written change in the log, for the oracle. ``quarantine``: reason and raw row, once for
    each delivery. ``is_faithful``: the log has everything that the database knows, so its states
    are the expected result. It is false if keys move without before images, or without transaction
    ids. Then only the events give the expected result.
    """

    columns: Mapping[str, str]
    rows: list[Row]
    events: list[Row]
    positions: Mapping[int, Position]
    quarantine: list[tuple[str, Row]]
    is_faithful: bool

    @property
    def raw_counts(self) -> dict[str, int]:
        return raw_counts(len(self.rows), len(self.quarantine))


def write(
    workload: Workload,
    rng: random.Random,
    layout: Layout | None = None,
    delivery: Delivery | None = None,
) -> ChangeTable:
    """The change table of a workload. Updates that change nothing are not written."""
    layout, delivery = layout or Layout(), delivery or Delivery()
    impossible = set(delivery.bad_rows) - possible_bad_rows(layout)
    if impossible:
        raise ValueError(f"no such bad rows in this layout: {sorted(impossible)}")
    writer = _Writer(workload.table, rng, layout)
    writer.write_log(workload, delivery.interleave)
    for kind in chain.from_iterable([kind] * count for kind, count in delivery.bad_rows.items()):
        BAD_ROWS[kind][0](writer)
    delivered = writer.raw
    again = [one for one in delivered if rng.random() < delivery.duplicates]
    delivered = delivered + [_Raw(writer.copied(one.row), one.reason) for one in again]
    if delivery.shuffle:
        rng.shuffle(delivered)
    return ChangeTable(
        columns=layout.columns(workload.table),
        rows=[one.row for one in delivered],
        events=sorted(writer.events, key=lambda e: (e["cdc_commit_sequence"], e["cdc_sequence"])),
        positions=writer.positions,
        quarantine=[(one.reason, one.row) for one in delivered if one.reason is not None],
        is_faithful=writer.is_faithful,
    )


def encode_mask(bits: Iterable[int], width: int, byte_order: str, trimmed: bool) -> bytes:
    """The mask of a table with ``width`` columns, headers included, in which these bits are set.

    ``big``: the last byte holds bits 0 to 7; ``little``: the first byte does. Trimmed of the
    insignificant zero bytes: at the beginning for ``big``, at the end for ``little``.
    """
    number = sum(1 << bit for bit in set(bits))
    length = (max(number.bit_length(), 0 if trimmed else width) + 7) // 8
    return number.to_bytes(length, "little" if byte_order == "little" else "big")


@dataclass
class _Raw:
    """A raw row, and why it belongs in quarantine, if it does."""

    row: Row
    reason: str | None = None


@dataclass(frozen=True)
class _Header:
    """The common facts of the rows of one change: number and time of its change_seq, and so on."""

    time: datetime
    number: int
    transaction_id: str | None
    stream_position: str
    timestamp: datetime

    @property
    def change_seq(self) -> str:
        return f"{self.time:%Y%m%d%H%M%S}{self.time.microsecond // 10_000:02d}{self.number:019d}"


class _Writer:
    def __init__(self, table: Table, rng: random.Random, layout: Layout) -> None:
        self.table = table
        self.rng = rng
        self.layout = layout
        self.columns = list(table.columns)
        self.headers_wide = len(layout.header_columns) - len(layout.behind)
        self.raw: list[_Raw] = []
        self.events: list[Row] = []
        self.positions: dict[int, Position] = {}
        self.headers: list[_Header] = []  # of the changes written, in order
        self.numbers: set[int] = set()  # change numbers taken
        self.images: list[tuple[_Raw, Row]] = []  # the B rows and the events they belong to
        self.orphaned: set[str] = set()  # sequences with a B row that are not an update
        self.is_faithful = True

    # the log

    def write_log(self, workload: Workload, interleave: str) -> None:
        written = [
            (transaction, [change for change in transaction.changes if not change.is_no_op])
            for transaction in workload.transactions
        ]
        written = [(transaction, changes) for transaction, changes in written if changes]
        times = self._times([transaction for transaction, _ in written])
        number = self.rng.choice((1, 10**6, 2**53 - 50, 2**63 - 50))
        ids = {
            transaction.position: self._id(transaction, changes) for transaction, changes in written
        }
        headers: dict[int, list[_Header]] = {transaction.position: [] for transaction, _ in written}
        for transaction in self._log_order(written, times, interleave):
            number += self.rng.choice((2, 3, 7, 1000))  # gaps; 1 stays free for bad rows
            self.numbers.add(number)
            header = _Header(
                times[transaction.position],
                number,
                ids[transaction.position],
                f"{number:016x}:{self.rng.getrandbits(32):08x}",
                self._timestamp(transaction),
            )
            headers[transaction.position].append(header)
            self.headers.append(header)
        for transaction, changes in written:
            self._transaction(transaction, changes, headers[transaction.position])

    def _times(self, transactions: list[Transaction]) -> dict[int, datetime]:
        """The time part of each transaction: hundredths of a second that never go back.

        A transaction id is used again only at another time, or the two could not be told apart.
        """
        times: dict[int, datetime] = {}
        seen: set[tuple[str, datetime]] = set()
        last = EPOCH
        for transaction in transactions:
            at = transaction.committed_at
            at = at.replace(microsecond=at.microsecond // 10_000 * 10_000)
            last = max(last, at)
            while (transaction.id, last) in seen:
                last += timedelta(milliseconds=10)
            seen.add((transaction.id, last))
            times[transaction.position] = last
        return times

    def _id(self, transaction: Transaction, changes: list[RowChange]) -> str | None:
        anonymous = len(changes) == 1 and self.rng.random() < self.layout.anonymous_rate
        return self.rng.choice((None, "")) if anonymous else transaction.id

    def _log_order(
        self,
        written: list[tuple[Transaction, list[RowChange]]],
        times: Mapping[int, datetime],
        interleave: str,
    ) -> list[Transaction]:
        """The transactions in the order of their changes, each once for each of its changes."""
        order: list[Transaction] = []
        remaining = list(written)
        while remaining:
            transaction, changes = remaining.pop(0)
            turns = [transaction] * (len(changes) - 1)
            other, its_changes = remaining[0] if remaining else (transaction, changes)
            same_time = times[other.position] == times[transaction.position]
            meet = interleave == "disjoint" and self._meet(changes, its_changes)
            if remaining and same_time and interleave != "none" and not meet:
                del remaining[0]
                turns += [other] * len(its_changes)
                self.rng.shuffle(turns)
            order += [transaction, *turns]
        return order

    def _meet(self, changes: list[RowChange], others: list[RowChange]) -> bool:
        """Whether two transactions have a key in common; a truncate has all keys."""
        if any(change.row_id is None for change in changes + others):
            return True
        first, second = (
            {self.table.key_of(row) for one in some for row in (one.before, one.after) if row}
            for some in (changes, others)
        )
        return bool(first & second)

    def _timestamp(self, transaction: Transaction) -> datetime:
        """The time of the single change: about the time of the commit, or none yet."""
        if self.rng.random() < self.layout.unset_timestamp_rate:
            return EPOCH
        return transaction.committed_at - timedelta(milliseconds=self.rng.randint(0, 3000))

    def _transaction(
        self, transaction: Transaction, changes: list[RowChange], headers: list[_Header]
    ) -> None:
        known = "transaction_id" in self.layout.header and bool(headers[0].transaction_id)
        if len(changes) > 1 and not known:
            self.is_faithful = False
        commit = min(header.change_seq for header in headers)
        for change, header in zip(changes, headers, strict=True):
            sequence = header.change_seq
            position = Position(sequence, commit if known else sequence, header.time)
            self.positions[change.number] = position
            event = {
                "cdc_source": "qlik_change_table",
                **change_event(self.table, transaction, change, position),
                "cdc_transaction_id": header.transaction_id if known else None,
            }
            self._change(change, header, event)
            self.events.append(event)

    def _change(self, change: RowChange, header: _Header, event: Row) -> None:
        """The one or two raw rows of a change; facts that they lack are removed from the event."""
        operation, rng = change.operation, self.rng
        no_mask = operation in ("insert", "update") and rng.random() < self.layout.mask_null_rate
        values: Values = {} if operation == "truncate" else change.values
        if operation == "delete":
            if rng.random() < self.layout.key_only_deletes:
                values = {name: values[name] for name in self.table.key}
            carried = [name for name in self.columns if values.get(name) is not None]
            event["cdc_present_columns"] = carried if len(carried) < len(self.columns) else None
            event.update({name: values.get(name) for name in self.columns})
        if operation == "insert":
            bits = self.columns
        else:
            bits = list(self.table.key) if operation == "delete" else event["cdc_changed_columns"]
        if no_mask or "change_mask" not in self.layout.header:
            event["cdc_changed_columns"] = None
        row = self.row(operation, header, values, None if no_mask else bits)
        event["cdc_metadata"] = {
            name: row[self.layout.prefix + name] for name in METADATA if name in self.layout.header
        }
        rows = [_Raw(row)]
        if operation == "update":
            if not self.layout.before_images:
                event["cdc_before"] = None
                assert change.before is not None and change.after is not None
                moved = self.table.key_of(change.before) != self.table.key_of(change.after)
                self.is_faithful = self.is_faithful and not moved
            else:
                image = _Raw(self.row("before", header, event["cdc_before"], []))
                self.images.append((image, event))
                rows.insert(rng.randint(0, 1), image)  # the U row is often first
        self.raw += rows

    # rows

    def row(
        self,
        operation: str,
        header: _Header,
        values: Mapping[str, Any],
        mask: Iterable[str] | None = (),
        /,
        **instead: Any,
    ) -> Row:
        """A raw row. ``mask``: the columns with a bit; ``instead``: header columns otherwise."""
        letter: str | None = LETTERS[operation]
        if operation == "truncate":  # the letter of this row is not documented
            letter = self.rng.choice((None, "", "T", "D", "U", "B"))
        content = {
            "change_seq": header.change_seq,
            "change_oper": letter,
            "change_mask": self._mask(operation, mask),
            "stream_position": header.stream_position,
            "operation": WORDS[operation],
            "transaction_id": header.transaction_id,
            "timestamp": header.timestamp,
            "partition_name": f"{header.time:%Y%m%d}T000000_{header.time:%Y%m%d}T235959",
            **instead,
        }
        if operation == "truncate" and "operation" not in self.layout.header:
            raise ValueError("without the header column operation no truncate can be written")
        prefix = self.layout.prefix
        return {
            **{prefix + name: content[name] for name in self.layout.header_columns},
            **{name: values.get(name) for name in self.columns},
        }

    def copied(self, row: Row) -> Row:
        """The row as a restarted task delivers it again; the first one stays the least."""
        there = [name for name in METADATA if name in self.layout.header]
        row = dict(row)
        if not there or self.rng.random() < 0.5:
            return row
        first = self.rng.choice(there)
        for name in there[there.index(first) :]:
            column = self.layout.prefix + name
            if name == "timestamp":
                row[column] += timedelta(hours=1 if name == first else -1)
            elif name == first:
                row[column] += "+"
            else:
                row[column] = ""
        return row

    def _mask(self, operation: str, columns: Iterable[str] | None) -> str | bytes | None:
        if operation in ("before", "truncate", "delete") and self.layout.mask_varied:
            text: list[str | bytes | None] = [None, "", "00", "no mask"]
            binary: list[str | bytes | None] = [None, b"", b"\x00", b"\x01"]
            if operation != "delete" or self.rng.random() < 0.5:
                return self.rng.choice(text if self._is_text else binary)
        if columns is None:
            return None
        bits = [self.headers_wide + self.columns.index(name) for name in columns]
        return self.mask_of(bits)

    def mask_of(self, bits: Iterable[int]) -> str | bytes:
        """The mask with these bits, as the layout has masks."""
        layout = self.layout
        width = self.headers_wide + len(self.columns)
        mask = encode_mask(bits, width, layout.mask_byte_order, layout.mask_trimmed)
        return self._text(mask.hex().upper()) if self._is_text else mask

    @property
    def _is_text(self) -> bool:
        return self.layout.mask_form == "text"

    def _text(self, digits: str) -> str:
        if not self.layout.mask_varied:
            return digits
        if digits.startswith("0") and self.rng.random() < 0.5:
            digits = digits[1:]
        digits = digits.lower() if self.rng.random() < 0.5 else digits
        return self.rng.choice(("{}", "0x{}", "x'{}'", "X'{}'", " {} ")).format(digits)

    # material for bad rows

    def quarantine(self, reason: str, *rows: Row) -> None:
        """Add bad rows anywhere."""
        for row in rows:
            self.raw.insert(self.rng.randint(0, len(self.raw)), _Raw(row, reason))

    def free_header(self) -> _Header:
        """A position in the log without a change, next to a real transaction and with its id.

        It may be before the first change of that transaction, and so must not count as its commit.
        """
        default = _Header(EPOCH, 10, "AB" * 16, "0", EPOCH)
        near = self.rng.choice(self.headers) if self.headers else default
        number = near.number - 1
        while number in self.numbers:
            number += 1
        self.numbers.add(number)
        identifier = self.rng.choice((near.transaction_id, "CD" * 16))
        return _Header(near.time, number, identifier, near.stream_position, near.timestamp)

    def some_values(self) -> Values:
        """A row that the table could have, without nulls."""
        return {name: self.rng.choice(pool(type_)) for name, type_ in self.table.columns.items()}

    def other_values(self, values: Values) -> Values:
        """A row that differs from this one in one column."""
        column = self.rng.choice(self.columns)
        others = [one for one in pool(self.table.columns[column]) if one != values[column]]
        return {**values, column: self.rng.choice(others)}


# -------------------------------------------------------------------------------------- bad rows


def _unknown_operation(writer: _Writer) -> None:
    both = {"change_oper", "operation"} <= set(writer.layout.header)
    letter, word = writer.rng.choice(
        [("X", "UPSERT"), ("i", "insert"), ("u", None), ("", ""), (None, None), (None, "I")]
        if both
        else [("X", "UPSERT"), ("i", "insert"), ("", ""), (None, None), ("INSERT", "I")]
    )
    row = writer.row("insert", writer.free_header(), writer.some_values(), writer.columns)
    _replace(writer, row, change_oper=letter, operation=word)
    writer.quarantine("unknown_operation", row)


def _operation_mismatch(writer: _Writer) -> None:
    operation, word = writer.rng.sample(("insert", "update", "delete"), 2)
    header, values = writer.free_header(), writer.some_values()
    row = writer.row(operation, header, values, writer.table.key, operation=WORDS[word])
    writer.quarantine("operation_mismatch", row)


def _bad_change_seq(writer: _Writer) -> None:
    header, values = writer.free_header(), writer.some_values()
    good = header.change_seq
    bad = writer.rng.choice(
        (
            None,
            "",
            good[:-1],
            good + "0",
            good[:-1] + "x",
            " " + good[1:],
            good[:20] + "\N{ARABIC-INDIC DIGIT FIVE}" + good[21:],
            good[:4] + "13" + good[6:],
            good[:4] + "0230" + good[8:],
            good[:8] + "24" + good[10:],
            good[:10] + "60" + good[12:],
            "2.0240228235958E+34",
        )
    )
    row = writer.row("delete", header, values, writer.table.key, change_seq=bad)
    if writer.rng.random() < 0.5:
        row = writer.row("insert", header, values, writer.columns, change_seq=bad)
    writer.quarantine("bad_change_seq", row)


def _bad_mask(writer: _Writer) -> None:
    """Not hex, or a bit that no data column has."""
    headers, width = writer.headers_wide, writer.headers_wide + len(writer.columns)
    stray = [writer.rng.randrange(headers), width, width + 77, 2000]
    masks: list[str | bytes] = [writer.mask_of([headers, bit]) for bit in stray]
    if writer.layout.mask_form == "text":
        masks += ["0g", "x'12", "12 34", "0x0x12", "A==", "-1"]
    operation = writer.rng.choice(("insert", "update"))
    header, values = writer.free_header(), writer.some_values()
    row = writer.row(operation, header, values, change_mask=writer.rng.choice(masks))
    writer.quarantine("bad_mask", row)


def _bad_mask_with_before_image(writer: _Writer) -> None:
    """The update cannot be used, so its before image is left alone."""
    header, values = writer.free_header(), writer.some_values()
    bad = writer.mask_of([0])
    writer.quarantine("bad_mask", writer.row("update", header, values, change_mask=bad))
    writer.quarantine("orphan_before_image", writer.row("before", header, values))


def _orphan_before_image(writer: _Writer) -> None:
    """A before image without an update, or at the position of another operation."""
    header, values = writer.free_header(), writer.some_values()
    others = [e["cdc_sequence"] for e in writer.events if e["cdc_operation"] != "update"]
    free = [sequence for sequence in others if sequence not in writer.orphaned]
    place = header.change_seq
    if free and writer.rng.random() < 0.3:
        place = writer.rng.choice(free)
        writer.orphaned.add(place)
    row = writer.row("before", header, values, change_seq=place)
    writer.quarantine("orphan_before_image", row)


def _null_key(writer: _Writer) -> None:
    header, values = writer.free_header(), writer.some_values()
    values[writer.rng.choice(writer.table.key)] = None
    operation = writer.rng.choice(("insert", "update", "delete"))
    mask = writer.table.key if operation == "delete" else writer.columns
    writer.quarantine("null_key", writer.row(operation, header, values, mask))


def _sequence_conflict(writer: _Writer) -> None:
    """Two different rows at one position: another operation, or another value."""
    header, values = writer.free_header(), writer.some_values()
    operation = writer.rng.choice(("insert", "update"))
    if writer.rng.random() < 0.5:
        other = writer.row("delete", header, values, writer.table.key)
    else:
        other = writer.row(operation, header, writer.other_values(values), writer.columns)
    row = writer.row(operation, header, values, writer.columns)
    writer.quarantine("sequence_conflict", row, other)


def _before_image_conflict(writer: _Writer) -> None:
    """A second, different before image of an update: both are bad, the update is good without.

    If an update moves its key, its before image would remove the old key, so such updates are not
    used.
    """
    candidates = [
        (image, event)
        for image, event in writer.images
        if event["cdc_before"] is not None and not _moves(writer, event)
    ]
    if not candidates:
        return
    image, event = writer.rng.choice(candidates)
    values = writer.other_values({name: image.row[name] for name in writer.columns})
    other = {**image.row, **values}
    image.reason = "sequence_conflict"
    event["cdc_before"] = None
    writer.quarantine("sequence_conflict", other)


def _moves(writer: _Writer, event: Row) -> bool:
    return writer.table.key_of(event["cdc_before"]) != writer.table.key_of(event)


def _replace(writer: _Writer, row: Row, **header: Any) -> None:
    """Set header columns of a row, if the layout has them."""
    for name, value in header.items():
        if name in writer.layout.header:
            row[writer.layout.prefix + name] = value


BAD_ROWS: dict[str, tuple[Callable[[_Writer], None], tuple[str, ...]]] = {
    "unknown_operation": (_unknown_operation, ()),
    "operation_mismatch": (_operation_mismatch, ("change_oper", "operation")),
    "bad_change_seq": (_bad_change_seq, ()),
    "bad_mask": (_bad_mask, ("change_mask",)),
    "bad_mask_with_before_image": (_bad_mask_with_before_image, ("change_mask",)),
    "orphan_before_image": (_orphan_before_image, ()),
    "null_key": (_null_key, ()),
    "sequence_conflict": (_sequence_conflict, ()),
    "before_image_conflict": (_before_image_conflict, ()),
}
"""Kinds of malformed cases: what strews one in, and the header columns that it needs."""


def possible_bad_rows(layout: Layout) -> set[str]:
    """The kinds of :data:`BAD_ROWS` that this layout can have."""
    kinds = {kind for kind, (_, needs) in BAD_ROWS.items() if set(needs) <= set(layout.header)}
    return kinds if layout.before_images else kinds - {"before_image_conflict"}
