"""The records of one capture session to the change events of one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools, Bytes, Ints, Unsigned, fixed
from spark_cdc_udfs.gbase.known import KnownRecords
from spark_cdc_udfs.gbase.layout import Layout, SchemaError, parse_layout
from spark_cdc_udfs.gbase.records import (
    DELETE,
    ERROR,
    INSERT,
    RECORDS,
    ROWS,
    TABSCHEM,
    TRUNCATE,
    UPDAFT,
    UPDBEF,
    Records,
    concatenate,
    is_one_of,
)
from spark_cdc_udfs.gbase.rows import BAD_TEXT, ROW_REASONS, Rows, decode_rows, value_bytes
from spark_cdc_udfs.gbase.text import check_encoding, fixed_width, strings
from spark_cdc_udfs.gbase.transactions import Committed, Transactions
from spark_cdc_udfs.gbase.values import differs

NO_SCHEMA = "no_schema"
NULL_KEY = "null_key"
ORPHAN_BEFORE_IMAGE = "orphan_before_image"
ERROR_RECORD = "error_record"
UNKNOWN_RECORD_TYPE = "unknown_record_type"

REASONS = (*ROW_REASONS, NO_SCHEMA, NULL_KEY, ORPHAN_BEFORE_IMAGE)
OPERATIONS = {INSERT: "insert", UPDAFT: "update", DELETE: "delete", TRUNCATE: "truncate"}
MICROSECONDS = 1_000_000
# Bytes of records: a transaction may be of any size, an Arrow array not, and the text of a number
# can be 64 times as long as its bytes.
DECODED_TOGETHER = 2**25
MOST_DIGITS = 100  # of a value that is shown
FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799  # years 1 to 9999


class Refused(NamedTuple):
    """A record, or bytes outside of records, for the quarantine."""

    reason: str
    detail: str
    chunk: int  # number of the chunk of its beginning
    offset: int  # offset in this chunk
    end_chunk: int  # number of the chunk of its end
    record_number: int | None


class Decoded(NamedTuple):
    """The results of one batch of chunks, or of records.

    `changes` has a batch for each layout of the rows, and one for TRUNCATE, in order of
    `cdc_sequence`. First come the columns of a change event: `cdc_operation`, `cdc_sequence`,
    `cdc_commit_sequence`, `cdc_commit_at`, `cdc_transaction_id`, `cdc_changed_columns`,
    `cdc_present_columns`, `cdc_before`, `cdc_metadata`. Then there are `row`, a struct of the
    table's columns, and `record_number`. The last ones are the positions of row and before image:
    `chunk`, `offset` and `end_chunk`, `before_chunk`, `before_offset` and `before_end_chunk`.
    """

    changes: list[Any]
    refused: list[Refused]


class Changes:
    """Turn the records of one capture session into the change events of one table, in batches.

    `columns` are the table's columns that events carry, in their order. They match the columns of
    the capture whatever their case. `key` are some of them. `encoding` is the character set of the
    database, by a name that Python knows. `rtrim_char` removes the trailing blanks of CHAR. Raises
    LookupError for an unknown character set, and ValueError for a `key` that is not in `columns`.
    """

    def __init__(
        self,
        capture_id: str,
        table_id: int,
        key: Sequence[str],
        columns: Sequence[str],
        encoding: str = "utf-8",
        rtrim_char: bool = False,
    ) -> None:
        check_encoding(encoding)
        self._names = {name.casefold(): name for name in columns}
        if missing := [name for name in key if name.casefold() not in self._names]:
            raise ValueError(f"key columns {missing} are not in columns {list(columns)}")
        self._key = [self._names[name.casefold()] for name in key]
        self._capture_id = capture_id
        self._table_id = table_id
        self._encoding = encoding
        self._rtrim_char = rtrim_char
        self._known = KnownRecords()
        self._transactions = Transactions()
        self._layouts: list[Layout] = []
        self._layout_of_schema: dict[tuple[bytes, int, int, int], int | SchemaError] = {}
        self._layout = -1  # index of the valid one; -1: none
        self._schemas: list[Records] = []  # TABSCHEM records of this table, no two alike in a row

    @property
    def open_transactions(self) -> int:
        """Transactions that have not ended; at the end of a capture nothing of them is lost."""
        return self._transactions.open_transactions

    def feed(self, records: Records) -> Decoded:
        """Take the next records, in stream order, of any tables."""
        records = records.take(~self._known.repeated(records))
        refused = self._refused_records(records)
        settled = self._transactions.feed(self._own(records, refused))
        for reason, some in settled.refused:
            refused += _refused_records(some, reason)
        changes = [
            change
            for part in settled.committed.parts(DECODED_TOGETHER)
            for change in self._changes(part, refused)
        ]
        return Decoded(changes, refused)

    def state(self) -> tuple[list[Records], bytes]:
        """Give the state from which `restore` continues.

        It has records, where each part belongs to one open transaction or describes the table, and
        the known records.
        """
        return [*self._schemas, *self._transactions.open_records()], self._known.state()

    def restore(self, parts: Sequence[Records], known: Iterable[bytes]) -> None:
        """Continue where another one stopped, or several. No record was fed before."""
        for state in known:
            self._known.restore(state)
        records = concatenate(parts)
        records = records.take(np.lexsort((records.offset, records.chunk)))
        self._known.repeated(records)
        self._transactions.feed(self._own(records, []))

    def doubtful(self, records: Records) -> Bools:
        """Say which records may be repeats of earlier ones that are no longer known."""
        return self._known.doubtful(records)

    def _refused_records(self, records: Records) -> list[Refused]:
        number = records.header["number"]
        errors = records.take(number == ERROR)
        codes = [f"error code {code}" for code in errors.header["error_code"].tolist()]
        unknown = records.take(~is_one_of(number, RECORDS))
        return [
            *_refused_records(errors, ERROR_RECORD, codes),
            *_refused_records(unknown, UNKNOWN_RECORD_TYPE),
        ]

    def _own(self, records: Records, refused: list[Refused]) -> Records:
        """Return the records that count for this table, rows with the layout that holds for them.

        Descriptions of the table that cannot be used are added to `refused`.
        """
        header = records.header
        number = header["number"]
        schemas = np.flatnonzero((number == TABSCHEM) & (header["schema_table"] == self._table_id))
        layouts = [self._layout]
        for index in schemas.tolist():
            counts = [
                int(header[name][index])
                for name in ("fixed_bytes", "fixed_columns", "variable_columns")
            ]
            record = records.take(np.array([index]))
            if not self._schemas or self._schemas[-1].raw(0) != record.raw(0):
                self._schemas.append(record.compact())
            layout = self._layout_of(next(record.payloads()), *counts)
            if isinstance(layout, SchemaError):
                refused += _refused_records(record, layout.reason, [layout.detail])
                layout = -1
            layouts.append(layout)
        self._layout = layouts[-1]
        holds = np.array(layouts)[schemas.searchsorted(np.arange(len(records)))]
        tables = is_one_of(number, (*ROWS, TRUNCATE))
        own = ~tables | (header["table"] == self._table_id)
        return replace(records, layout=np.where(tables, holds, -1)).take(own)

    def _layout_of(
        self, payload: bytes, fixed_bytes: int, fixed_columns: int, variable_columns: int
    ) -> int | SchemaError:
        """Return the index of the layout that a TABSCHEM describes, or why it has no layout."""
        known = (payload, fixed_bytes, fixed_columns, variable_columns)
        if known not in self._layout_of_schema:
            try:
                self._layouts.append(parse_layout(*known, self._encoding))
                self._layout_of_schema[known] = len(self._layouts) - 1
            except SchemaError as error:
                self._layout_of_schema[known] = error
        return self._layout_of_schema[known]

    def _changes(self, committed: Committed, refused: list[Refused]) -> list[Any]:
        records = committed.records
        is_row = committed.number != TRUNCATE
        reason = np.zeros(len(records), dtype=np.int64)
        reason[is_row & (records.layout < 0)] = REASONS.index(NO_SCHEMA)
        blamed = np.full(len(records), -1, dtype=np.int64)
        faults = np.zeros(len(records), dtype=np.int64)
        decoded: list[tuple[Layout, Ints, dict[str, Any]]] = []
        for index in np.unique(records.layout[is_row & (records.layout >= 0)]).tolist():
            layout = self._layouts[index]
            which = np.flatnonzero(is_row & (records.layout == index))
            rows = self._rows(layout, records.take(which))
            reason[which], blamed[which], faults[which] = rows.reason, rows.column, rows.faults
            places = [column.name.casefold() for column in layout.columns]
            for part, name in enumerate(self._key):
                null = rows.columns[name].is_null() if name in rows.columns else None
                empty = np.ones(len(which), dtype=bool) if null is None else null.to_numpy(False)
                null_key = which[empty & (reason[which] == 0)]
                reason[null_key] = REASONS.index(NULL_KEY)
                is_there = name in rows.columns
                blamed[null_key] = places.index(name.casefold()) if is_there else -2 - part
            decoded.append((layout, which, rows.columns))

        # A before image that belongs to no event, because its after image is not there or bad.
        partner = committed.partner
        pairs = np.flatnonzero(partner >= 0)
        good = np.zeros(len(records), dtype=np.bool_)
        good[pairs] = (reason[pairs] == 0) & (reason[partner[pairs]] == 0)
        good[pairs] &= records.layout[pairs] == records.layout[partner[pairs]]
        reason[(committed.number == UPDBEF) & (reason == 0) & ~good] = REASONS.index(
            ORPHAN_BEFORE_IMAGE
        )
        before = np.where(good, partner, -1)
        self._refuse(committed, reason, blamed, faults, refused)

        place = np.zeros(len(records), dtype=np.int64)
        changes = []
        for _, which, columns in decoded:
            place[which] = np.arange(len(which))
            number = committed.number[which]
            events = which[(reason[which] == 0) & (number != UPDBEF)]
            if len(events):
                old = np.where(committed.number[events] == DELETE, events, before[events])
                changes.append(self._batch(committed, events, old, place, columns))
        if len(truncates := np.flatnonzero(~is_row)):
            changes.append(
                self._batch(committed, truncates, np.full(len(truncates), -1), place, {})
            )
        return changes

    def _rows(self, layout: Layout, records: Records) -> Rows:
        """Decode the `columns` of rows, with these names in this order."""
        spelled = {
            self._names[column.name.casefold()]: column.name
            for column in layout.columns
            if column.type.is_known and column.name.casefold() in self._names
        }
        rows = decode_rows(layout, records, spelled.values(), self._encoding, self._rtrim_char)
        columns = {
            name: rows.columns[spelled[name]] for name in self._names.values() if name in spelled
        }
        return rows._replace(columns=columns)

    def _refuse(
        self,
        committed: Committed,
        reason: Ints,
        blamed: Ints,
        faults: Ints,
        refused: list[Refused],
    ) -> None:
        bad = np.flatnonzero(reason)
        for code in np.unique(reason[bad]).tolist():
            which = bad[reason[bad] == code]
            records = committed.records.take(which)
            details = [
                self._fault(committed.records.take(np.array([index])), code, column, count)
                for index, column, count in zip(
                    which.tolist(), blamed[which].tolist(), faults[which].tolist(), strict=True
                )
            ]
            refused += _refused_records(records, REASONS[code], details)

    def _fault(self, record: Records, code: int, index: int, count: int) -> str:
        """Say which value of a row is at fault, the first of `count`; '' if none is."""
        if index < -1:
            return f"{self._key[-2 - index]}, a column of the key, is not in what was captured"
        if index < 0:
            return ""
        layout = self._layouts[record.layout[0]]
        column = layout.columns[index]
        if REASONS[code] == NULL_KEY:
            return f"{self._names[column.name.casefold()]}, a column of the key, is NULL"
        digits = value_bytes(layout, record, index).hex().upper()
        value = digits[:MOST_DIGITS] + ("..." if len(digits) > MOST_DIGITS else "")
        type_ = f"text in {self._encoding}" if code == BAD_TEXT else column.text
        more = f"; the first of {count} such values" if count > 1 else ""
        return f"{self._names[column.name.casefold()]}: X'{value}' is no {type_}{more}"

    def _batch(
        self,
        committed: Committed,
        events: Ints,
        before: Ints,
        place: Ints,
        columns: Mapping[str, Any],
    ) -> Any:
        """Make the change events of the committed records `events` (n,).

        `before` (n,) are the records with their before images, -1 for none; `place` gives for a
        record the position of its values in `columns`.
        """
        records = committed.records
        has_before = before >= 0
        no_before = ~has_before
        update = has_before & (before != events)
        rows = {name: _at(values, place[events], None) for name, values in columns.items()}
        old = {name: _at(values, place[before], no_before) for name, values in columns.items()}
        present = list(columns)
        all_present = len(present) == len(self._names) or not present
        sequence, commit = committed.sequence[events], committed.commit_sequence[events]
        began = _timestamps(committed.began_at[events])
        metadata = {
            "capture_id": pa.repeat(self._capture_id, len(events)),
            "table_id": pa.array(committed.table[events], pa.int32()),
            "user_id": pa.array(committed.user[events], pa.int32()),
            "began_at": began,
        }
        truncate = not columns
        batch = {
            "cdc_operation": _choose(committed.number[events], OPERATIONS),
            "cdc_sequence": _sequences(commit, sequence),
            "cdc_commit_sequence": _sequences(commit),
            "cdc_commit_at": _timestamps(committed.committed_at[events]),
            "cdc_transaction_id": pa.array(committed.transaction[events]).cast(pa.string()),
            "cdc_changed_columns": _changed(old, rows, update),
            "cdc_present_columns": pa.nulls(len(events), pa.list_(pa.string()))
            if all_present
            else _lists(np.ones((len(events), len(present)), dtype=bool), present, None),
            "cdc_before": self._struct(old, no_before),
            "cdc_metadata": pa.StructArray.from_arrays(list(metadata.values()), list(metadata)),
            "row": self._struct(rows, np.full(len(events), truncate)),
            "record_number": pa.array(committed.number[events], pa.int32()),
            "chunk": pa.array(records.chunk[events]),
            "offset": pa.array(records.offset[events]),
            "end_chunk": pa.array(records.end_chunk[events]),
            "before_chunk": pa.array(records.chunk[before], mask=~update),
            "before_offset": pa.array(records.offset[before], mask=~update),
            "before_end_chunk": pa.array(records.end_chunk[before], mask=~update),
        }
        return pa.RecordBatch.from_pydict(batch)

    def _struct(self, columns: Mapping[str, Any], null: Bools) -> Any:
        names = list(self._names.values())
        arrays = [columns.get(name, pa.nulls(len(null))) for name in names]
        return pa.StructArray.from_arrays(arrays, names, mask=pa.array(null))


def _refused_records(
    records: Records, reason: str, details: Sequence[str] | None = None
) -> list[Refused]:
    """Put records into quarantine for one reason; `details` has one text for each."""
    fields = zip(
        details or [""] * len(records),
        records.chunk.tolist(),
        records.offset.tolist(),
        records.end_chunk.tolist(),
        records.header["number"].tolist(),
        strict=True,
    )
    return [Refused(reason, *field) for field in fields]


def _choose(number: Ints, texts: Mapping[int, str]) -> Any:
    """Give each number its text."""
    numbers = sorted(texts)
    indices = np.searchsorted(numbers, number).astype(np.int32)
    choice = pa.array([texts[one] for one in numbers])
    return choice.take(pa.array(indices))


_HEX = np.frombuffer(bytes(range(256)).hex().upper().encode(), np.uint16)  # two digits each


def _sequences(*parts: Unsigned) -> Any:
    """Write numbers (n,) as 16 hex digits each, with a point between."""
    columns: list[Bytes] = []
    for part in parts:
        digits = _HEX[part.astype(">u8").view(np.uint8)].view(np.uint8).reshape(len(part), 16)
        columns += [np.full((len(part), 1), ord("."), dtype=np.uint8), digits]
    written = np.concatenate(columns[1:], axis=1)
    return strings(fixed_width(written), np.ones(len(written), dtype=bool), "ascii")[0]


def _at(values: Any, place: Ints, null: Bools | None) -> Any:
    """Take the values at these positions (n,), with null at the marked ones."""
    if null is not None and null.all():
        return pa.nulls(len(place), values.type)
    if null is None and len(place) == len(values):
        return values  # places never repeat and always rise: these are all
    return values.take(pa.array(place, mask=null))


def _timestamps(seconds: Ints) -> Any:
    """Turn seconds since 1970 into timestamps, UTC; null outside the years 1 to 9999."""
    valid = (seconds >= FIRST_SECOND) & (seconds <= LAST_SECOND)
    values = np.where(valid, seconds, 0) * MICROSECONDS
    return fixed(pa.timestamp("us", "UTC"), values, valid)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], update: Bools) -> Any:
    """Name the columns that differ, of each update with a before image."""
    names = list(after)
    different = np.zeros((len(update), len(names)), dtype=np.bool_)
    if update.any():
        for index, name in enumerate(names):
            different[:, index] = differs(before[name], after[name]) & update
    return _lists(different, names, update)


def _lists(chosen: Bools, names: Sequence[str], valid: Bools | None) -> Any:
    """Make a list of names of each row of `chosen` (n, names); null if it is not valid."""
    offsets = np.append(0, np.cumsum(chosen.sum(axis=1))).astype(np.int32)
    values = pa.array(names, pa.string()).take(pa.array(np.nonzero(chosen)[1]))
    mask = None if valid is None else pa.array(~valid)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=mask)
