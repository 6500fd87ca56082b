"""Envelopes and registry frames: where the messages in them are, and what reads them.

Section 2 of the format's reference, "Envelope" and "Avro, byte by byte". The vendor's help, "The
Replicate envelope", has its schema; the map `headers` has texts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools, Bytes, Ints, windows
from spark_cdc_udfs.qlik import texts
from spark_cdc_udfs.qlik.columns import Column, merged, read
from spark_cdc_udfs.qlik.cursor import Cursor, Failures
from spark_cdc_udfs.qlik.schema import parse_schema

MAGIC = np.frombuffer(b"atMSG", np.uint8)
HEAD = 5  # bytes of the magic, and of a frame before its record
HEADERS = parse_schema('["null", {"type": "map", "values": "string"}]').type
DATA, METADATA = "DT", "MD"


class Opened(NamedTuple):
    """The m values of a batch. `kind`, `schema_id` and `schema` are string arrays (m,).

    `kind` is the type of the message, null if it has none. `headers` are those of the envelope.
    `start` and `end` (m,) are the places of the inner record. `is_avro` (m,) says whether the value
    is an envelope or a frame at all. Envelopes that cannot be read are in the failures.
    """

    kind: Any
    headers: Column
    schema_id: Any
    schema: Any
    start: Ints
    end: Ints
    is_avro: Bools


def opened(data: Bytes, start: Ints, end: Ints, failures: Failures) -> Opened:
    """Open the values at some places (m,) of the data, which PADDING follows."""
    count = len(start)
    head = windows(data, start, HEAD)
    is_envelope = (end - start >= HEAD) & (head == MAGIC).all(axis=1)
    is_frame = (end - start > HEAD) & (head[:, 0] == 0)
    envelopes, frames = np.flatnonzero(is_envelope), np.flatnonzero(is_frame)

    cursor = Cursor(data, start[envelopes] + HEAD, end[envelopes], envelopes, failures)
    kind, bad = texts.texts(data, *cursor.piece("type"))
    cursor.fail(bad, "type", "not UTF-8")
    unread = failures.failed[envelopes]
    if unread.any():
        kind = pc.if_else(pa.array(unread), pa.scalar(None, pa.string()), kind)
    kind_of = [(Column(kind), envelopes)]
    headers = [(read(HEADERS, cursor, "headers"), envelopes)] if len(envelopes) else []
    ids = [(_optional(cursor, "messageSchemaId"), envelopes)]
    schema = [(_optional(cursor, "messageSchema"), envelopes)]
    inner, length = cursor.piece("message")
    cursor.fail(cursor.at < cursor.end, "", "bytes are left over after the envelope")
    start, end = start + HEAD, end.copy()
    start[envelopes], end[envelopes] = inner, inner + length

    if len(frames):
        kind_of.append((Column(pa.repeat(DATA, len(frames))), frames))
        numbers = np.ascontiguousarray(head[frames, 1:]).view(">u4")[:, 0].astype(np.int64)
        ids.append((Column(texts.integers(numbers)), frames))
    return Opened(
        _strings(kind_of, count),
        merged(headers, count),
        _strings(ids, count),
        _strings(schema, count),
        start,
        end,
        is_envelope | is_frame,
    )


def _strings(parts: list[tuple[Column, Ints]], count: int) -> Any:
    values = merged([(Column(one.values), which) for one, which in parts], count).values
    return pa.nulls(count, pa.string()) if isinstance(values, str) else values


def _optional(cursor: Cursor, path: str) -> Column:
    """Read a text or null from each message; null for an empty text, too."""
    branches = cursor.number(path)
    cursor.fail((branches < 0) | (branches > 1), path, "no such branch in the union")
    which = np.flatnonzero(branches == 1)
    part = cursor.part(which)
    start, length = part.piece(path)
    values, bad = texts.texts(cursor.data, start, length)
    part.fail(bad, path, "not UTF-8")
    cursor.at[which] = part.at
    some = np.flatnonzero(length > 0)
    if len(some) < len(which):
        values, which = values.take(pa.array(some)), which[some]
    found = merged([(Column(values), which)], len(cursor)).values
    return Column(pa.nulls(len(cursor), pa.string()) if isinstance(found, str) else found)
