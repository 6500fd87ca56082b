"""The functions that Spark SQL calls for a GBase stream, without Spark.

A stream that is cut into segments and shards anywhere gives the same as one decoder that reads
everything in order. The functions call a segment a stretch, and a shard a bucket.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from unittest import mock

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import database
from spark_cdc_udfs.gbase import Capture, functions
from spark_cdc_udfs.gbase.values import as_text

from formats.gbase_capture import writer as gbase_capture
from formats.gbase_capture.reference import begin

Chunk = tuple[int, bytes]
Row = dict[str, Any]

COLUMNS = dict.fromkeys(gbase_capture.TYPES, "text") | {"id": "integer", "real": "float"}
SETTINGS = {
    "table_id": 7,
    "key": ["id", "day"],
    "encoding": "utf-8",
    "rtrim_char": False,
    "columns": COLUMNS,
}


def called(function: Any, rows: Sequence[Row], schema: dict[str, Any], *more: Any) -> list[Row]:
    """Call a table function as Spark does: batch after batch, then for the end."""
    instance = function()
    given_: list[Row] = []

    def take(batches: Iterator[pa.RecordBatch]) -> None:
        for batch in batches:
            given_.extend(batch.to_pylist())

    for first in range(0, len(rows), 3):
        part = rows[first : first + 3]
        columns = {
            name: pa.array([row[name] for row in part], type_) for name, type_ in schema.items()
        }
        take(instance.eval(*(pa.array([one]) for one in more), pa.RecordBatch.from_pydict(columns)))
    take(instance.terminate())
    return given_


HEADS = {"capture_id": pa.string(), "chunk_number": pa.int64(), "byte_count": pa.int32()}
HEADS |= {"head": pa.binary()}
HEAD = begin(1, 1)[:16]
CHUNKS = {"capture_id": pa.string(), "role": pa.string(), "chunk_number": pa.int64()}
CHUNKS |= {"payload": pa.binary(), "is_last": pa.bool_(), "buckets": pa.int32()}
CHUNKS |= {"from_byte": pa.int32()}


def by_functions(chunks: Sequence[Chunk]) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Decode chunks with the functions: sequences of the events, and the quarantine."""
    payloads = dict(chunks)
    heads = [
        {"capture_id": "a", "chunk_number": number, "byte_count": len(raw), "head": raw[:16]}
        for number, raw in chunks
    ]
    stretches: dict[int, list[Row]] = defaultdict(list)
    for row in called(functions.Stretches, heads, HEADS):
        payload = payloads[row["chunk_number"]][row["from_byte"] :]
        stretches[row["stretch"]].append(row | {"payload": payload})
    buckets: dict[int, list[Row]] = defaultdict(list)
    for rows in stretches.values():
        rows.sort(key=lambda row: row["chunk_number"])
        for row in called(functions.FramedRecords, rows, CHUNKS, 7):
            buckets[row["bucket"]].append(row)
    sequences, refused = [], []
    settings_ = json.dumps(SETTINGS)
    for rows in buckets.values():
        rows.sort(key=lambda row: (row["chunk"] or -1, row["chunk_offset"] or -1))
        for row in called(functions.ChangeEvents, rows, functions.RECORDS_SCHEMA, settings_):
            assert row["kind"] != "doubtful"
            if row["kind"] == "event":
                sequences.append(row["cdc_sequence"])
            elif row["kind"] in ("refused", "tail"):
                refused.append((row["reason"], row["chunk"], row["chunk_offset"]))
    return sorted(sequences), sorted(refused)


def by_capture(chunks: Sequence[Chunk]) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Decode chunks with one decoder."""
    capture = Capture("a", 7, ["id", "day"], list(COLUMNS))
    results = [capture.feed([n for n, _ in chunks], [raw for _, raw in chunks]), capture.finish()]
    sequences = [
        one
        for result in results
        for batch in result.changes
        for one in batch["cdc_sequence"].to_pylist()
    ]
    refused = [(one.reason, one.chunk, one.offset) for result in results for one in result.refused]
    return sorted(sequences), sorted(refused)


def same(chunks: Sequence[Chunk], stretch_bytes: int) -> None:
    # a shard takes time, even with two records
    with mock.patch.multiple(functions, STRETCH_BYTES=stretch_bytes, MOST_BUCKETS=16):
        assert by_functions(chunks) == by_capture(chunks)


def chunks_of(seed: int, capture_id: str) -> list[Chunk]:
    rng = random.Random(f"functions {seed}")
    workload = database.generate(gbase_capture.TABLE, rng, transactions=15)
    stream = gbase_capture.write(workload, rng)
    rows = [row for row in stream.rows if row["capture_id"] == capture_id]
    return [(row["chunk_number"], row["payload"]) for row in rows]


@pytest.mark.parametrize("stretch_bytes", [1, 1000, 10_000])
@pytest.mark.parametrize("capture_id", ["s1", "s2"])
@pytest.mark.parametrize("seed", range(3))
def test_streams_cut_into_segments(seed: int, capture_id: str, stretch_bytes: int) -> None:
    """Chunks that are cut anywhere, and chunks with the stale bytes of a reused buffer."""
    chunks = chunks_of(seed, capture_id)
    sequences, _ = by_capture(chunks)
    assert sequences
    same(chunks, stretch_bytes)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_broken_streams(data: st.DataObject) -> None:
    """Lost, shortened, spliced or changed chunks: nothing fails, and both ways agree."""
    chunks = chunks_of(data.draw(st.integers(0, 3)), data.draw(st.sampled_from(["s1", "s2"])))
    broken: list[Chunk] = []
    for number, raw in chunks[:30]:
        what = data.draw(st.sampled_from(["keep"] * 6 + ["lose", "cut", "change", "splice"]))
        place = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        if what == "cut":
            raw = raw[:place]
        elif what == "change" and raw:
            raw = raw[:place] + data.draw(st.binary(min_size=1, max_size=4)) + raw[place + 1 :]
        elif what == "splice" and broken:
            raw = broken[-1][1][:place] + raw[place:]
        if what != "lose" and raw:
            broken.append((number, raw))
    same(broken, data.draw(st.sampled_from([1, 300, 100_000])))


@given(st.lists(st.binary(min_size=1, max_size=80), max_size=10))
@settings(max_examples=60, deadline=None)
def test_any_bytes(payloads: list[bytes]) -> None:
    """Nothing fails, whatever the bytes."""
    same(list(enumerate(payloads)), 1)


@given(st.lists(st.integers(16, 3000), min_size=1, max_size=60), st.sampled_from([1, 500, 5000]))
@settings(max_examples=60, deadline=None)
def test_context_is_no_longer_than_its_segment(sizes: list[int], stretch: int) -> None:
    """Chunks of any size, also if each is shorter than the one before."""
    for some in (sizes, sorted(sizes, reverse=True)):
        heads = [
            {"capture_id": "a", "chunk_number": number, "byte_count": size, "head": HEAD}
            for number, size in enumerate(some)
        ]
        with mock.patch.object(functions, "STRETCH_BYTES", stretch):
            rows = called(functions.Stretches, heads, HEADS)
        context = [row for row in rows if row["role"] == "context"]
        brought = sum(some[row["chunk_number"]] - row["from_byte"] for row in context)
        assert brought <= sum(some)


@pytest.mark.parametrize(
    ("values", "family", "numbers"),
    [
        (pa.array([-1, None, 7], pa.int16()), "integer", [-1, None, 7]),
        (pa.array([0.5, None], pa.float32()), "float", [0.5, None]),
        (pa.array([date(1969, 12, 31), None]), "date", [-1, None]),
        (pa.array(["1970-01-01 00:00:01", None]), "timestamp", [1_000_000, None]),
        (pa.array(["1969-12-31 23:59:59.99999"]), "timestamp", [-10]),
        (pa.array(["1970-01-01", "1970-01-01 00:01"]), "timestamp", [0, 60_000_000]),
        (pa.array([Decimal("-1.50"), None]), "decimal:2", [-150, None]),
        (pa.array([Decimal("-1.5")]), "decimal:3", [-1500]),
        (pa.array([Decimal(2**63)], pa.decimal128(38, 0)), "decimal:0", None),
        (pa.array([Decimal("1.25")]), "decimal:1", None),
        (pa.array(["1970-02-30 00:00:00", "1970-01-01"]), "timestamp", None),
        (pa.array(["10:20:30"]), "timestamp", None),
        (pa.array(["7"]), "integer", None),
        (pa.array([7]), "date", None),
    ],
)
def test_values_as_numbers(values: pa.Array, family: str, numbers: list[Any] | None) -> None:
    """Values are numbers as far as possible, for all or none; otherwise text."""
    settings_ = functions._Settings(
        json.dumps({"columns": {"name": "text", "value": family, "last": "decimal:0"}})
    )
    count = len(values)
    rows = pa.StructArray.from_arrays(
        [pa.array(["x"] * count), values, pa.nulls(count)], ["name", "value", "last"]
    )
    given_ = settings_.values(rows).to_pylist()
    lists = "floats" if family == "float" else "integers"
    assert [one[lists][0] for one in given_] == (numbers or [None] * count)
    texts = [["x"] if numbers else ["x", text] for text in as_text(values).to_pylist()]
    assert [one["texts"] for one in given_] == texts


def test_a_bad_schema_is_refused_once() -> None:
    """Also if the records of its capture are in many shards."""
    first, *others = chunks_of(0, "s2")
    wrong = first[1].replace(b"serial", b"bigint", 1)
    same([(first[0], wrong), *others], 1)
    assert [one[0] for one in by_functions([(first[0], wrong)])[1]] == ["bad_schema"]
