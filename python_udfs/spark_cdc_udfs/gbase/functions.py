"""The functions that Spark SQL calls to decode a GBase stream: three table functions over Arrow
batches.

A capture is cut into segments, here called *stretches*, at fresh chunks, which always begin a
record. So several tasks can find its records (`Stretches`, `FramedRecords`). The records then go by
transaction into shards, here called *buckets*, in which their change events are made
(`ChangeEvents`). On the way many of them are packed into one row. The macro `gbase_capture` of the
dbt project gives the inputs; rows arrive by `partition by` and `order by`.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.gbase.capture import refused_spans
from spark_cdc_udfs.gbase.changes import Changes, Decoded, Refused
from spark_cdc_udfs.gbase.framing import Framed, Framer, begins_record
from spark_cdc_udfs.gbase.records import (
    TABSCHEM,
    TIMEOUT,
    Records,
    concatenate,
    is_one_of,
    packed,
    unpacked,
)
from spark_cdc_udfs.gbase.transactions import CHANGES, CONTROLS
from spark_cdc_udfs.gbase.values import as_text, unscaled

STRETCH_BYTES = 16 * 1024 * 1024
MOST_BUCKETS = 512
DECODED_BYTES = 16 * 1024 * 1024  # of records that are decoded at once
# The texts that the macros read as a timestamp without a zone. Arrow reads more.
TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?)?$"


class Stretches:
    """Cut one capture into stretches.

    The input is its chunks in order: `capture_id` string, `chunk_number` bigint, `byte_count` int
    and `head` binary (its first 16 bytes). Each chunk gets its `stretch`, named by the number of
    its first chunk, and the role `chunk`. Rows with the role `context` are earlier chunks whose
    bytes, from `from_byte` on, were still in the reader's buffer at the beginning of the stretch.
    They have no more bytes than the stretch before. `is_first` and `is_last` mark the first and
    last stretch of the capture. `buckets` is the number of buckets that suits its size.
    """

    TYPE = (
        "capture_id string, stretch bigint, role string, chunk_number bigint, from_byte int,"
        " is_first boolean, is_last boolean, buckets int"
    )

    def __init__(self) -> None:
        self._capture_id: str | None = None
        # chunks, and their context: chunks, and from which byte on
        self._stretches: list[tuple[array[int], dict[int, int]]] = []
        self._buffered: list[tuple[int, int]] = []  # number and size of chunks, sizes falling
        self._bytes = 0
        self._all_bytes = 0
        self._last: int | None = None

    def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take the next chunks."""
        if batch.num_rows:
            self._capture_id = batch.column("capture_id")[0].as_py()
        fresh = begins_record(batch.column("head")).tolist()
        columns = [batch.column(name).to_pylist() for name in ("chunk_number", "byte_count")]
        for number, size, is_fresh in zip(*columns, fresh, strict=True):
            if number != self._last:
                is_enough = self._bytes >= STRETCH_BYTES and self._bytes >= self._buffered[0][1]
                if not self._stretches or (is_fresh and is_enough):
                    ends = [size for _, size in self._buffered[1:]] + [0]
                    numbers = [number for number, _ in self._buffered]
                    context = dict(zip(numbers, ends, strict=False))
                    self._stretches.append((array("q"), context))
                    self._bytes = 0
                self._stretches[-1][0].append(number)
            while self._buffered and self._buffered[-1][1] <= size:
                self._buffered.pop()
            if not self._buffered or self._buffered[-1][0] != number:
                self._buffered.append((number, size))
            self._bytes += size
            self._all_bytes += size
            self._last = number
        yield from ()

    def terminate(self) -> Iterator[pa.RecordBatch]:
        """Give all stretches."""
        buckets = max(1, min(MOST_BUCKETS, self._all_bytes // STRETCH_BYTES))
        last = len(self._stretches) - 1
        for index, (chunks, context) in enumerate(self._stretches):
            count = len(chunks) + len(context)
            yield _batch(
                {
                    "capture_id": pa.repeat(self._capture_id, count),
                    "stretch": pa.repeat(chunks[0], count),
                    "role": pa.array(["context"] * len(context) + ["chunk"] * len(chunks)),
                    "chunk_number": pa.array([*context, *chunks], pa.int64()),
                    "from_byte": pa.array([*context.values(), *[0] * len(chunks)], pa.int32()),
                    "is_first": pa.repeat(index == 0, count),
                    "is_last": pa.repeat(index == last, count),
                    "buckets": pa.repeat(pa.scalar(buckets, pa.int32()), count),
                }
            )


class FramedRecords:
    """Find the records of one stretch that the table `table_id` needs.

    The rows of the input are in this order. First come rows with the state that an earlier run left
    of the capture (role `state` in the first stretch, `buffer` in others), as `payload`. Then come
    earlier chunks (role `context`), from `from_byte` on. Last come the chunks (role `chunk`), with
    `chunk_number` and `payload`. All rows have `capture_id`, `is_last` and `buckets`.

    The result has rows of these kinds. `records` are consecutive records of one bucket, packed in
    `content`; the first is at `chunk` and `chunk_offset`. `lost` are bytes outside of records, with
    `reason` and `detail`. `tail` are such bytes at the end of the capture, which later chunks may
    complete. `framer` is the state at the end, in `content`.

    A transaction is in the bucket of its id modulo `buckets`. A TABSCHEM record of the table is in
    all buckets, and everything else is in the first.
    """

    TYPE = (
        "capture_id string, bucket int, kind string, chunk bigint, chunk_offset bigint,"
        " end_chunk bigint, reason string, detail string, content binary"
    )

    def __init__(self) -> None:
        self._framer = Framer()
        self._capture_id = ""
        self._table_id = 0
        self._is_last = False
        self._buckets = 1

    def eval(self, table_id: pa.Array, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take the next rows."""
        if not batch.num_rows:
            return
        self._table_id = table_id[0].as_py()
        self._capture_id = batch.column("capture_id")[0].as_py()
        self._is_last = batch.column("is_last")[0].as_py()
        self._buckets = batch.column("buckets")[0].as_py()
        for one in _those(batch, "role", ["state", "buffer"]).to_pylist():
            self._framer.restore(one["payload"], buffer_only=one["role"] == "buffer")
        context = _those(batch, "role", ["context"]).select(["from_byte", "payload"])
        self._framer.remember(zip(*(column.to_pylist() for column in context), strict=True))
        chunks = _those(batch, "role", ["chunk"])
        if chunks.num_rows:
            numbers = chunks.column("chunk_number").to_numpy()
            yield from self._rows(self._framer.feed(numbers, chunks.column("payload")))

    def terminate(self) -> Iterator[pa.RecordBatch]:
        """Give what is left at the end."""
        state = self._framer.state()
        yield from self._rows(self._framer.finish(), "tail" if self._is_last else "lost")
        if self._is_last:
            yield self._batch(1, {"kind": pa.array(["framer"]), "content": pa.array([state])})

    def _rows(self, framed: Framed, kind: str = "lost") -> Iterator[pa.RecordBatch]:
        header = framed.records.header
        number = header["number"]
        is_schema = number == TABSCHEM
        is_change = is_one_of(number, CHANGES)
        wanted = ~is_change & ~is_schema & (number != TIMEOUT)
        wanted |= is_change & (header["table"] == self._table_id)
        schemas = np.flatnonzero(is_schema & (header["schema_table"] == self._table_id))
        in_transaction = is_one_of(number, CHANGES + CONTROLS)
        bucket = np.where(in_transaction, header["transaction"] % self._buckets, 0)[wanted]
        by_bucket = np.flatnonzero(wanted)[np.argsort(bucket, kind="stable")]
        ends = np.cumsum(np.bincount(bucket, minlength=self._buckets))
        for one, some in enumerate(np.split(by_bucket, ends[:-1])):
            which = np.sort(np.concatenate([some, schemas])) if len(schemas) else some
            if len(which):
                records = framed.records.take(which)
                columns = {
                    "bucket": pa.array([one], pa.int32()),
                    "kind": pa.array(["records"]),
                    "chunk": pa.array(records.chunk[:1]),
                    "chunk_offset": pa.array(records.offset[:1]),
                    "end_chunk": pa.array(records.end_chunk[-1:]),
                    "content": packed(records),
                }
                yield self._batch(1, columns)
        if lost := refused_spans(framed.spans):
            yield self._batch(len(lost), {"kind": pa.repeat(kind, len(lost)), **_places(lost)})

    def _batch(self, count: int, columns: Mapping[str, Any]) -> pa.RecordBatch:
        own = {
            "capture_id": pa.repeat(self._capture_id, count),
            "bucket": pa.repeat(pa.scalar(0, pa.int32()), count),
        }
        return _complete(RECORDS_SCHEMA, count, own | dict(columns))


class ChangeEvents:
    """Make the change events of one bucket.

    The input is `settings`, JSON (see `_Settings`), and rows in this order: the rows that an
    earlier run left (kinds `known` and `open`), then the rows of `FramedRecords`, by position.

    The result has rows of these kinds. `event` is a change event. `refused` is for the quarantine,
    and so is `tail`, which later chunks may change. The state at the end of the capture is in
    `content`. `open` has packed records of one transaction, with its `transaction_id`, or for all
    buckets a schema of the table; `known` and `framer` have the other parts. `doubtful` marks a
    record that may repeat one that the earlier runs have not left.

    Values are in `after` and `before`: as numbers if their column's family has numbers and all
    values can be (see `_native`), else as text. `integers` and `floats` have one item for each
    column of such a family, in order. `texts` has one item for each column, first the columns of
    the family `text`; the list ends with the last item that is needed.
    """

    VALUES = "struct<integers: array<bigint>, floats: array<double>, texts: array<string>>"
    TYPE = (
        "kind string, capture_id string, chunk bigint, chunk_offset bigint, end_chunk bigint,"
        " record_number int, transaction_id int, reason string, detail string, content binary,"
        " cdc_operation string, cdc_sequence string, cdc_commit_sequence string,"
        " cdc_commit_at timestamp, cdc_transaction_id string, cdc_changed_columns array<string>,"
        " cdc_present_columns array<string>, user_id int, began_at timestamp,"
        f" after {VALUES}, before {VALUES},"
        " before_chunk bigint, before_offset bigint, before_end_chunk bigint"
    )

    def __init__(self) -> None:
        self._settings: _Settings | None = None
        self._changes: Changes | None = None
        self._capture_id = ""
        self._bucket = 0
        self._known: list[bytes] = []
        self._open: list[Records] = []

    def eval(self, settings: pa.Array, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take the next rows."""
        if not batch.num_rows:
            return
        if self._settings is None or self._changes is None:
            self._settings = _Settings(settings[0].as_py())
            self._capture_id = batch.column("capture_id")[0].as_py()
            self._bucket = batch.column("bucket")[0].as_py()
            self._changes = self._settings.changes(self._capture_id)
        self._known += _those(batch, "kind", ["known"]).column("content").to_pylist()
        left = _those(batch, "kind", ["open"]).column("content")
        self._open += [unpacked(one.as_buffer()) for one in left]
        passed = _those(batch, "kind", ["lost", "tail", "framer"])
        if passed.num_rows:
            yield self._passed(passed)
        new = _those(batch, "kind", ["records"]).column("content")
        if len(new):
            self._restore(self._changes)
        for records in _unpacked(new):
            decoded = self._changes.feed(records)
            yield from self._rows(decoded, self._settings)
            if self._changes.doubtful(records).any():
                yield self._batch(1, {"kind": pa.array(["doubtful"])})

    def terminate(self) -> Iterator[pa.RecordBatch]:
        """Give the state at the end of the capture."""
        if self._changes is None:
            return
        self._restore(self._changes)
        parts, known = self._changes.state()
        for records in parts:
            yield self._left(records)
        yield self._batch(1, {"kind": pa.array(["known"]), "content": pa.array([known])})

    def _restore(self, changes: Changes) -> None:
        if self._known:
            changes.restore(self._open, self._known)
            self._known, self._open = [], []

    def _passed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = {name: batch.column(name) for name in (*_PLACES, "content")}
        kind = ["refused" if one == "lost" else one for one in batch.column("kind").to_pylist()]
        return self._batch(batch.num_rows, {"kind": pa.array(kind), **columns})

    def _left(self, records: Records) -> pa.RecordBatch:
        """Give the records of an open transaction, or a schema."""
        header = records.header
        transaction = header["transaction"][:1].astype(np.int32)
        columns = {
            "kind": pa.array(["open"]),
            "transaction_id": pa.array(transaction, mask=header["number"][:1] == TABSCHEM),
            "content": packed(records),
        }
        return self._batch(1, columns)

    def _rows(self, decoded: Decoded, settings: _Settings) -> Iterator[pa.RecordBatch]:
        for batch in decoded.changes:
            count = batch.num_rows
            metadata = batch.column("cdc_metadata")
            columns = {name: batch.column(name) for name in _OF_EVENT}
            columns |= {
                "kind": pa.repeat("event", count),
                "chunk_offset": batch.column("offset"),
                "user_id": metadata.field("user_id"),
                "began_at": metadata.field("began_at"),
                "after": settings.values(batch.column("row")),
                "before": settings.values(batch.column("cdc_before")),
            }
            yield self._batch(count, columns)
        refused = decoded.refused
        if self._bucket:  # the first bucket reports it
            refused = [one for one in refused if one.record_number != TABSCHEM]
        if refused:
            numbers = pa.array([one.record_number for one in refused], pa.int32())
            columns = {"kind": pa.repeat("refused", len(refused)), "record_number": numbers}
            yield self._batch(len(refused), columns | _places(refused))

    def _batch(self, count: int, columns: Mapping[str, Any]) -> pa.RecordBatch:
        own = {"capture_id": pa.repeat(self._capture_id, count)}
        return _complete(CHANGES_SCHEMA, count, own | dict(columns))


class _Settings:
    """The arguments of `gbase_capture`, from JSON.

    `table_id` number; `key` list of names; `columns`, name to family: `integer`, `float`, `date`,
    `timestamp`, `decimal`, a colon and the scale, or `text`; `encoding` text; `rtrim_char` boolean.
    """

    def __init__(self, text: str) -> None:
        self._given: dict[str, Any] = json.loads(text)
        self._families: dict[str, str] = self._given["columns"]

    def changes(self, capture_id: str) -> Changes:
        """Make the decoder of one capture."""
        return Changes(
            capture_id,
            self._given["table_id"],
            self._given["key"],
            list(self._families),
            self._given["encoding"],
            self._given["rtrim_char"],
        )

    def values(self, rows: Any) -> Any:
        """Turn a struct array of decoded values (n,) into lists by family."""
        if rows.null_count == len(rows):
            return pa.nulls(len(rows), CHANGES_SCHEMA["before"])
        count = len(rows)
        integers, floats, texts, others = [], [], [], []
        for name, family in self._families.items():
            values = rows.field(name)
            if family == "text":
                texts.append(as_text(values))
                continue
            native = _native(values, family)
            there = native is not None or values.null_count == count
            others.append(pa.nulls(count, pa.string()) if there else as_text(values))
            if family == "float":
                floats.append(native or pa.nulls(count, pa.float64()))
            else:
                integers.append(native or pa.nulls(count, pa.int64()))
        while others and others[-1].null_count == count:
            others.pop()
        return pa.StructArray.from_arrays(
            [
                _interleaved(integers, count, pa.int64()),
                _interleaved(floats, count, pa.float64()),
                _interleaved([*texts, *others], count, pa.string()),
            ],
            ["integers", "floats", "texts"],
            mask=rows.is_null(),
        )


def _those(batch: pa.RecordBatch, column: str, values: Sequence[str]) -> pa.RecordBatch:
    """Give the rows that have one of these values in a column."""
    is_one = pc.is_in(batch.column(column), value_set=pa.array(values))
    return batch if is_one.true_count == batch.num_rows else batch.filter(is_one)


def _native(values: Any, family: str) -> Any:
    """Turn decoded values (n,) into numbers; None if not all can be.

    Values of `float` become float64, all others int64: days since 1970 for `date`, microseconds
    since 1970 for `timestamp`, digits without the point for `decimal`.
    """
    kind, _, scale = family.partition(":")
    type_ = values.type
    if kind == "float":
        return values.cast(pa.float64()) if pa.types.is_floating(type_) else None
    if kind == "date":
        return values.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(type_) else None
    if kind == "timestamp" and pa.types.is_string(type_):
        is_time = pc.match_substring_regex(values, TIME)
        if pc.any(pc.or_(pc.invert(is_time), pc.starts_with(values, "0000"))).as_py():
            return None
        try:
            return values.cast(pa.timestamp("us")).cast(pa.int64())
        except pa.ArrowInvalid:
            return None
    if kind == "decimal" and pa.types.is_decimal(type_) and type_.scale <= int(scale):
        try:
            return unscaled(values.cast(pa.decimal128(38, int(scale)))).cast(pa.int64())
        except pa.ArrowInvalid:
            return None
    return values.cast(pa.int64()) if kind == "integer" and pa.types.is_integer(type_) else None


def _interleaved(columns: Sequence[Any], count: int, type_: Any) -> Any:
    """Make a list of each row of some columns (count,)."""
    width = len(columns)
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * width)
    if not width:
        return pa.ListArray.from_arrays(offsets, pa.array([], type_))
    order = np.arange(count)[:, None] + count * np.arange(width)
    values = pa.concat_arrays(columns).take(pa.array(order.ravel()))
    return pa.ListArray.from_arrays(offsets, values)


def _unpacked(column: Any) -> Iterator[Records]:
    """Give the records of rows in parts of about DECODED_BYTES."""
    parts: list[Records] = []
    size = 0
    for one in column:
        parts.append(unpacked(one.as_buffer()))
        size += len(parts[-1].data)
        if size >= DECODED_BYTES:
            yield concatenate(parts)
            parts, size = [], 0
    if parts:
        yield concatenate(parts)


_PLACES = ("chunk", "chunk_offset", "end_chunk", "reason", "detail")
_OF_EVENT = (
    *("chunk", "end_chunk", "record_number", "before_chunk", "before_offset", "before_end_chunk"),
    *("cdc_operation", "cdc_sequence", "cdc_commit_sequence", "cdc_commit_at"),
    *("cdc_transaction_id", "cdc_changed_columns", "cdc_present_columns"),
)


def _places(refused: Sequence[Refused]) -> dict[str, Any]:
    return {
        "chunk": pa.array([one.chunk for one in refused], pa.int64()),
        "chunk_offset": pa.array([one.offset for one in refused], pa.int64()),
        "end_chunk": pa.array([one.end_chunk for one in refused], pa.int64()),
        "reason": pa.array([one.reason for one in refused], pa.string()),
        "detail": pa.array([one.detail for one in refused], pa.string()),
    }


def _batch(columns: Mapping[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _complete(schema: Mapping[str, Any], count: int, columns: Mapping[str, Any]) -> pa.RecordBatch:
    """Make a batch of all columns of a schema; a missing column is null."""
    return _batch(
        {name: columns.get(name, pa.nulls(count, type_)) for name, type_ in schema.items()}
    )


_PLAIN = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "array<string>": pa.list_(pa.string()),
    ChangeEvents.VALUES: pa.struct(
        [
            ("integers", pa.list_(pa.int64())),
            ("floats", pa.list_(pa.float64())),
            ("texts", pa.list_(pa.string())),
        ]
    ),
}


def _schema(declared: str) -> dict[str, Any]:
    """Read a declaration of columns as they are declared above."""
    declared = declared.replace(ChangeEvents.VALUES, "values")
    columns = (column.split() for column in declared.split(", "))
    types = _PLAIN | {"values": _PLAIN[ChangeEvents.VALUES]}
    return {name: types[type_] for name, type_ in columns}


RECORDS_SCHEMA = _schema(FramedRecords.TYPE)
CHANGES_SCHEMA = _schema(ChangeEvents.TYPE)
