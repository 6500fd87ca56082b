"""The GBase stream: framing and transactions against the plain ways, and broken input."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from simulation import database
from spark_cdc_udfs import arrays
from spark_cdc_udfs.gbase import (
    Capture,
    Changes,
    Framer,
    KnownRecords,
    Records,
    RestartPosition,
    SchemaError,
    Transactions,
    changes,
    framing,
    land,
    parse_layout,
)
from spark_cdc_udfs.gbase.capture import refused_spans
from spark_cdc_udfs.gbase.records import PADDING, hashes_of, packed, unpacked
from spark_cdc_udfs.gbase.transactions import Committed

from formats.gbase_capture import writer as gbase_capture
from formats.gbase_capture.reference import (
    Bad,
    Fields,
    Frames,
    Place,
    begin,
    commit,
    discard,
    frame,
    is_header,
    record,
    rollback,
    row,
    schema,
    settle,
    sizes_of,
    truncate,
    value_of,
)
from formats.gbase_capture.test_values import records_of
from formats.gbase_capture.vector_checks import events_of

SCHEMA = schema(7, "id integer, amount decimal(8,2), name varchar(30,0)", 9, 2, 1)


def batches(chunks: Sequence[bytes], sizes: Sequence[int]) -> list[tuple[list[int], list[bytes]]]:
    """Cut chunks, numbered from 0, into batches of these sizes, over and over."""
    cut, at, turn = [], 0, 0
    while at < len(chunks):
        end = at + max(sizes[turn % len(sizes)], 1)
        cut.append((list(range(at, min(end, len(chunks)))), list(chunks[at:end])))
        at, turn = end, turn + 1
    return cut


def framed(chunks: Sequence[bytes], sizes: Sequence[int]) -> Frames:
    """Frame chunks with the package, in the plain form."""
    framer, known = Framer(), KnownRecords()
    results = [framer.feed(*batch) for batch in batches(chunks, sizes)]
    results.append(framer.finish())
    frames = Frames()
    for result in results:
        repeated = known.repeated(result.records)
        frames.records += plain_records(result.records.take(~repeated), chunks)
        frames.repeats += plain_records(result.records.take(repeated), chunks)
        for span in result.spans:
            place = Place(span.chunk, span.offset, span.end_chunk, span.end_offset)
            assert span.size == size_of(place, chunks)
            frames.spans.append((span.reason, place))
    return frames


def plain_records(records: Records, chunks: Sequence[bytes]) -> list[tuple[bytes, Place]]:
    found = []
    for index in range(len(records)):
        raw, offset = records.raw(index), int(records.offset[index])
        chunk, end_chunk = int(records.chunk[index]), int(records.end_chunk[index])
        before = sum(map(len, chunks[chunk:end_chunk]))
        found.append((raw, Place(chunk, offset, end_chunk, offset + len(raw) - before)))
    return found


def size_of(place: Place, chunks: Sequence[bytes]) -> int:
    whole = sum(map(len, chunks[place.chunk : place.end_chunk]))
    return whole - place.offset + place.end_offset


def check_framing(chunks: Sequence[bytes], sizes: Sequence[int]) -> Frames:
    """The package and the plain way agree, and every byte is in exactly one result."""
    found, expected = framed(chunks, sizes), frame(chunks)
    assert found.records == expected.records
    assert found.repeats == expected.repeats
    assert found.spans == expected.spans
    places = [place for _, place in found.records + found.repeats + found.spans]
    places.sort()
    assert sum(size_of(place, chunks) for place in places) == sum(map(len, chunks))
    end = (0, 0)
    for place in places:
        start = (place.chunk, place.offset)
        assert start == end or (end[1] == len(chunks[end[0]]) and start == (end[0] + 1, 0))
        end = (place.end_chunk, place.end_offset)
    return found


# Bytes that cannot form a wrong header: so the chunks cannot be misread.
plain_bytes = st.binary(max_size=60).map(lambda raw: raw.replace(b"\x42", b"\x41"))


@st.composite
def clean_records(draw: st.DrawFn) -> list[bytes]:
    """Draw different records of all numbers, known and unknown, with headers longer than known."""
    numbers = st.sampled_from([1, 2, 3, 40, 41, 42, 43, 62, 119, 202, 5, 999, 67])
    kinds = draw(st.lists(st.tuples(numbers, plain_bytes, plain_bytes), max_size=12))
    raws = []
    for index, (number, more, payload) in enumerate(kinds):
        fields = struct.pack(">Q", index) + bytes(24) + more
        raws.append(record(number, fields, payload))
    return raws


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


cuts = st.lists(st.integers(0, 5000), max_size=30) | st.integers(1, 40).map(
    lambda step: list(range(0, 5000, step))
)
batch_sizes = st.lists(st.integers(1, 9), min_size=1, max_size=4)


@given(clean_records(), cuts, batch_sizes)
@settings(max_examples=80, deadline=None)
def test_any_cut_gives_the_same_records(
    raws: list[bytes], places: list[int], sizes: list[int]
) -> None:
    """However the bytes are cut into chunks, and the chunks into batches."""
    frames = check_framing(cut(b"".join(raws), places), sizes)
    assert [raw for raw, _ in frames.records] == raws
    assert not frames.spans


@given(clean_records(), st.integers(16, 200), batch_sizes)
@settings(max_examples=60, deadline=None)
def test_reused_buffer(raws: list[bytes], length: int, sizes: list[int]) -> None:
    """Reads into one buffer, delivered whole each time: its old bytes are ignored."""
    buffer, chunks = bytearray(length), []
    for raw in raws:
        for start in range(0, len(raw), length):
            piece = raw[start : start + length]
            buffer[: len(piece)] = piece
            chunks.append(bytes(buffer))
            # bytes that happen to continue a record and also begin one count as lost
            assume(not start or not is_header(chunks[-1]))
    frames = check_framing(chunks, sizes)
    assert [raw for raw, _ in frames.records] == raws
    assert {reason for reason, _ in frames.spans} <= {"stale"}


def test_a_read_that_goes_on_and_looks_fresh_is_reported() -> None:
    """Its continuation is reported as lost: the record looks like one that was cut short."""
    raw = record(1, bytes(32))
    buffer = raw[:45]
    again = raw[45:] + buffer[3:]
    assert again == buffer  # the last bytes are equal to the bytes at that place
    frames = check_framing([buffer, again], [1])
    assert not frames.records
    assert [reason for reason, _ in frames.spans] == ["truncated_record"] * 2


header_words = st.sampled_from([0, 1, 2, 16, 24, 28, 36, 40, 66, 66, 66, 200, 65537, 2**24 + 1])
words = st.lists(header_words, max_size=12).map(
    lambda given: struct.pack(f">{len(given)}I", *given)
)
valid = st.sampled_from(
    [
        SCHEMA,
        begin(1, 1),
        commit(9, 1),
        record(201, bytes(8)),
        record(40, bytes(20), b"abc" * 20),
        record(66, bytes(0), b"\0\0\0\x42" * 9),
        record(40, bytes(20), begin(3, 3)),
    ]
)
garbage = st.binary(max_size=40) | words | valid | st.sampled_from([b"\0" * 5, b"\0" * 40])


@given(st.lists(garbage, max_size=12), cuts, st.booleans(), st.integers(16, 90), batch_sizes)
@settings(max_examples=250, deadline=None)
def test_any_bytes(
    parts: list[bytes], places: list[int], is_buffer: bool, length: int, sizes: list[int]
) -> None:
    """For any bytes the package and the plain way agree, and no byte is lost."""
    chunks = cut(b"".join(parts), places)
    if is_buffer:
        buffer, delivered = bytearray(length), []
        for chunk in chunks:
            buffer[: len(chunk)] = chunk
            delivered.append(bytes(buffer) if len(chunk) % 3 else chunk)
        chunks = delivered
    check_framing([chunk for chunk in chunks if chunk], sizes)


@given(clean_records(), cuts, batch_sizes)
@settings(max_examples=40, deadline=None)
def test_chunk_delivered_twice(raws: list[bytes], places: list[int], sizes: list[int]) -> None:
    """The same chunk under the same number counts once, in one batch or in two."""
    chunks = cut(b"".join(raws), places)
    framer, records = Framer(), []
    twice = [(number, chunk) for number, chunk in enumerate(chunks) for _ in range(2)]
    for numbers, _ in batches(twice, sizes):  # type: ignore[arg-type]  # numbers alone are used
        part = [twice[number] for number in numbers]
        result = framer.feed([one for one, _ in part], [chunk for _, chunk in part])
        records += [result.records.raw(index) for index in range(len(result.records))]
        assert not result.spans
    assert records == raws


def test_wrong_use() -> None:
    """Chunks out of order and NULL are the caller's mistakes."""
    framer = Framer()
    framer.feed([5], pa.chunked_array([pa.array([b"x"], pa.large_binary())]))
    assert framer.pending_bytes == 1
    with pytest.raises(ValueError, match="decrease"):
        framer.feed([4], [b"x"])
    with pytest.raises(ValueError, match="NULL"):
        framer.feed([6], [None])
    with pytest.raises(ValueError, match="2 chunk numbers"):
        framer.feed([6, 7], [b"x"])
    assert not len(framer.feed([], []).records)
    assert [span.reason for span in framer.finish().spans] == ["truncated_record"]


# ------------------------------------------------------------------------------------- transactions

KINDS = [1, 1, 1, 2, 2, 3, 40, 40, 41, 42, 42, 43, 43, 62, 62, 119, 201]


def write(step: Fields) -> bytes:
    number, sequence, transaction, table = step
    if number in (40, 41, 42, 43):
        return row(number, sequence, transaction, table, b"")
    if number == 119:
        return truncate(sequence, transaction, table)
    if number == 201:
        return record(201, struct.pack(">Q", sequence))
    writers: dict[int, Any] = {1: begin, 2: commit, 3: rollback, 62: discard}
    return bytes(writers[number](sequence, transaction))


@given(
    st.randoms(use_true_random=False),
    st.integers(0, 60),
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
)
@settings(max_examples=200, deadline=None)
def test_transactions(rng: random.Random, length: int, sizes: list[int]) -> None:
    """Any records, in any batches, give the changes and quarantine of the plain way."""
    fields = [
        Fields(rng.choice(KINDS), rng.randrange(1, 9), rng.randrange(1, 3), rng.randrange(7, 9))
        for _ in range(length)
    ]
    changes, refused = settle(fields)
    transactions = Transactions()
    found: list[tuple[int, ...]] = []
    found_refused: list[tuple[str, int]] = []
    for indices, _ in batches(fields, sizes):  # type: ignore[arg-type]  # numbers alone are used
        records = records_of([write(fields[index]) for index in indices])
        records.offset[:] = indices  # the position of a record is its name here
        committed, refusals = transactions.feed(records)
        found += describe(committed)
        found_refused += [
            (reason, offset) for reason, part in refusals for offset in part.offset.tolist()
        ]
    expected = [
        (
            change.place,
            fields[change.commit].sequence,
            fields[change.place].sequence,
            fields[change.place].transaction,
            fields[change.place].table,
            change.partner,
        )
        for change in changes
    ]
    assert found == expected
    assert sorted(found_refused) == sorted(refused)


def describe(committed: Committed) -> list[tuple[int, ...]]:
    offsets = committed.records.offset
    partners = np.where(committed.partner >= 0, offsets[committed.partner], -1)
    assert (committed.number != 201).all()
    columns = [
        offsets,
        committed.commit_sequence,
        committed.sequence,
        committed.transaction,
        committed.table,
        partners,
    ]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_times_and_user() -> None:
    """A committed record knows its writer, and when its transaction began and ended."""
    transactions = Transactions()
    first = records_of([begin(1, 4, 100, 77), row(40, 2, 4, 7, b""), begin(3, 5, 200, 88)])
    assert not len(transactions.feed(first).committed.records)
    assert transactions.open_transactions == 2
    later = records_of([row(40, 4, 5, 7, b""), commit(5, 5, 300), commit(6, 4, 400)])
    committed = transactions.feed(later).committed
    assert committed.user.tolist() == [88, 77]
    assert committed.began_at.tolist() == [200, 100]
    assert committed.committed_at.tolist() == [300, 400]
    assert transactions.open_transactions == 0


# -------------------------------------------------------------------------------- the whole decoder


def good_row(rng: random.Random, number: int, sequence: int, transaction: int) -> bytes:
    name = bytes(rng.choices(b"abc", k=rng.randrange(4)))
    prefix = bytes([len(name)]) if rng.random() < 0.5 else struct.pack(">H", len(name))
    key = rng.choice([1, 2, 3, -(2**31)] if rng.random() < 0.1 else [1, 2, 3])
    amount = bytes([0xC1, rng.randrange(101), rng.randrange(100), 0, 0])
    payload = struct.pack(">i", key) + amount + prefix + name
    table = 7 if rng.random() < 0.9 else 8
    return row(
        number, sequence, transaction, table, payload, [len(prefix + name)], rng.choice("<>")
    )


def stream(rng: random.Random, length: int) -> list[bytes]:
    """Write a stream of one capture; most of it is as a server would write it."""
    raws = [SCHEMA] if rng.random() < 0.95 else []
    open_: set[int] = set()
    for step in range(length):
        sequence, transaction = 100 * step + 100, rng.randrange(1, 5)
        if transaction not in open_ and rng.random() < 0.95:
            open_.add(transaction)
            raws.append(begin(sequence, transaction))
        choice = rng.random()
        if choice < 0.6:
            number = rng.choice([40, 41, 42, 43])
            raws.append(good_row(rng, number, sequence + 1, transaction))
            if number == 42 and rng.random() < 0.9:
                raws.append(good_row(rng, 43, sequence + 2, transaction))
        elif choice < 0.85:
            open_.discard(transaction)
            end = commit if rng.random() < 0.8 else rollback
            raws.append(end(sequence + 3, transaction))
        elif choice < 0.9:
            raws.append(discard(sequence - rng.randrange(600) + 600, transaction))
        elif choice < 0.95:
            raws.append(truncate(sequence + 4, transaction, rng.choice([7, 8])))
        else:
            other = schema(7, "id integer, name varchar(9)", 4 + rng.randrange(2), 1, 1)
            odd = [record(201, bytes(8)), record(202, bytes(8)), record(77, b"?"), SCHEMA, other]
            raws.append(rng.choice(odd))
    return raws


def damage(rng: random.Random, data: bytes) -> bytes:
    """Change, drop, double or move some of the bytes."""
    changed = bytearray(data)
    for _ in range(rng.randrange(4)):
        at, to = sorted(rng.randrange(len(changed) + 1) for _ in range(2))
        to = min(to, at + rng.choice([1, 4, 40]))
        how = rng.randrange(4)
        if how == 0:
            changed[at:to] = rng.randbytes(to - at)
        elif how == 1:
            del changed[at:to]
        elif how == 2:
            changed[to:to] = changed[at:to]
        else:
            changed[at:at] = struct.pack(">I", rng.choice([0, 66, 2**16, 2**24, 2**31]))
    return bytes(changed)


def plain_capture(chunks: Sequence[bytes]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Decode table 7 the plain way: events and quarantine."""
    frames = frame(chunks)
    refused: list[tuple[Any, ...]] = [
        (reason, place.chunk, place.offset) for reason, place in frames.spans if reason != "stale"
    ]
    layout = None
    kept: list[tuple[Fields, bytes, Place, Any]] = []
    for raw, place in frames.records:
        number, first = struct.unpack(">I", raw[12:16])[0], raw[16:20]
        if number == 200 and first == struct.pack(">i", 7):
            header, size = struct.unpack(">2I", raw[:8])
            counts = struct.unpack(">3i", raw[24:36])
            try:
                layout = parse_layout(raw[header : header + size], *counts)
            except SchemaError as error:
                layout = None
                refused.append((error.reason, place.chunk, place.offset))
        elif number == 202:
            refused.append(("error_record", place.chunk, place.offset))
        elif number not in (1, 2, 3, 40, 41, 42, 43, 62, 119, 200, 201):
            refused.append(("unknown_record_type", place.chunk, place.offset))
        elif number not in (200, 201):
            sequence, transaction = struct.unpack(">Qi", raw[16:28])
            has_table = number >= 40 and number != 62
            table = struct.unpack(">i", raw[28:32])[0] if has_table else 0
            if table == 7 or not has_table:
                fields = Fields(number, sequence, transaction, table)
                kept.append((fields, raw, place, layout))
    changes, refusals = settle([fields for fields, _, _, _ in kept])
    for reason, index in refusals:
        refused.append((reason, kept[index][2].chunk, kept[index][2].offset))
    rows: dict[int, Any] = {}
    for change in changes:
        fields, raw, place, layout = kept[change.place]
        if fields.number == 119:
            continue
        try:
            rows[change.place] = plain_row(raw, layout)
        except Bad as error:
            refused.append((str(error), place.chunk, place.offset))
    events: list[tuple[Any, ...]] = []
    names = {40: "insert", 41: "delete", 43: "update", 119: "truncate"}
    for change in changes:
        fields, _, place, layout = kept[change.place]
        partner = change.partner
        pair = partner in rows and change.place in rows and kept[partner][3] == layout
        if fields.number == 42:
            if change.place in rows and not pair:
                refused.append(("orphan_before_image", place.chunk, place.offset))
            continue
        if fields.number != 119 and change.place not in rows:
            continue
        values = rows.get(change.place)
        before = rows[partner] if pair else values if fields.number == 41 else None
        commit_sequence = kept[change.commit][0].sequence
        sequence = f"{commit_sequence:016X}.{fields.sequence:016X}"
        events.append((sequence, names[fields.number], values, before))
    return events, refused


def plain_row(raw: bytes, layout: Any) -> dict[str, Any]:
    """Decode the columns id, amount and name of a row."""
    if layout is None:
        raise Bad("no_schema")
    header, size = struct.unpack(">2I", raw[:8])
    payload, count = raw[header : header + size], len(layout.variable)
    if header < 36 + 4 * count or (not count and size != layout.fixed_bytes):
        raise Bad("bad_var_sizes")
    sizes = sizes_of(raw[36 : 36 + 4 * count], size - layout.fixed_bytes)
    left = layout.fixed_bytes - sum(column.type.size or 0 for column in layout.fixed)
    columns = [(column, column.type.size or left) for column in layout.fixed]
    columns += zip(layout.variable, sizes, strict=True)
    values, at = dict.fromkeys(["id", "amount", "name"]), 0
    for column, length in columns:
        if column.name in values and column.type.is_known:
            values[column.name] = value_of(column.text, payload[at : at + length])
        at += length
    if values["id"] is None:
        raise Bad("null_key")
    return values


def packaged_capture(
    chunks: Sequence[bytes], sizes: Sequence[int]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Decode table 7 with the package: events and quarantine."""
    capture = Capture("a", 7, ["ID"], ["id", "amount", "name"])
    results = [capture.feed(*batch) for batch in batches(chunks, sizes)]
    results.append(capture.finish())
    events, refused = [], []
    for result in results:
        for batch in result.changes:
            batch.validate(full=True)
            for event in batch.to_pylist():
                before, after = event["cdc_before"], event["row"]
                events.append((event["cdc_sequence"], event["cdc_operation"], after, before))
                changed, present = event["cdc_changed_columns"], event["cdc_present_columns"]
                if event["cdc_operation"] == "update" and before is not None:
                    assert changed == [name for name in after if after[name] != before[name]]
                else:
                    assert changed is None
                assert present is None or (
                    event["cdc_operation"] != "truncate" and len(present) < 3
                )
        refused += [(one.reason, one.chunk, one.offset) for one in result.refused]
    return events, refused


def by_text(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(map(repr, rows))


@given(st.randoms(use_true_random=False), st.integers(1, 60), cuts, batch_sizes, st.booleans())
@settings(max_examples=80, deadline=None)
def test_whole_streams(
    rng: random.Random, length: int, places: list[int], sizes: list[int], is_damaged: bool
) -> None:
    """Good and damaged streams give the events and quarantine of the plain way."""
    data = b"".join(stream(rng, length))
    if is_damaged:
        data = damage(rng, data)
    chunks = [chunk for chunk in cut(data, places) if chunk]
    events, refused = packaged_capture(chunks, sizes)
    expected_events, expected_refused = plain_capture(chunks)
    assert by_text(refused) == by_text(expected_refused)
    assert by_text(events) == by_text(expected_events)


def image(number: int, sequence: int, key: int, amount: int) -> bytes:
    payload = struct.pack(">iBB3xB", key, 0xC1, amount, 0)
    return row(number, sequence, 1, 7, payload, [1])


def test_fault_in_one_image_of_a_pair() -> None:
    """An update survives its bad before image; a good before image needs its after image."""
    raws = [SCHEMA, begin(1, 1), image(42, 2, 1, 100), image(43, 3, 1, 5)]
    raws += [image(42, 4, 2, 7), image(43, 5, 2, 100), image(42, 6, 3, 1), image(43, 7, 3, 2)]
    raws += [image(42, 8, 4, 1), SCHEMA, image(43, 9, 4, 1), commit(10, 1)]
    events, refused = packaged_capture(raws, [20])
    old = {"id": 3, "amount": 1, "name": ""}
    assert [(event[2]["id"], event[3]) for event in events] == [
        (1, None),
        (3, old),
        (4, old | {"id": 4}),
    ]
    assert sorted(refused) == [
        ("bad_value", 2, 0),
        ("bad_value", 5, 0),
        ("orphan_before_image", 4, 0),
    ]


def test_detail_names_column_and_value() -> None:
    """The first of the invalid values, and how many there are; its bytes, cut at 50."""
    raws = [schema(7, "id int, ok boolean, a lvarchar(90), b varchar(9,0)", 6, 2, 2), begin(1, 1)]
    long = struct.pack(">HB", 61, 0) + b"\xff" * 60
    texts = [(b"\0\1\0", b"\5b"), (long, b"\1b"), (b"\0\0\0", b"\5b")]
    for key, (a, b) in enumerate(texts):
        payload = struct.pack(">ibb", key, 0, 2 if key == 2 else 0) + a + b
        raws.append(row(40, 2 + key, 1, 7, payload, [len(a), len(b)]))
    raws.append(commit(9, 1))
    capture = Capture("a", 7, ["ID"], ["ID", "OK", "a", "B"])
    refused = capture.feed(list(range(len(raws))), raws).refused
    assert sorted((one.reason, one.detail) for one in refused) == [
        ("bad_text", f"a: X'003D00{'FF' * 47}...' is no text in utf-8"),
        ("bad_value", "B: X'0562' is no varchar(9,0)"),
        ("bad_value", "OK: X'0002' is no boolean; the first of 3 such values"),
    ]


def test_a_key_that_is_null_is_named() -> None:
    raws = [SCHEMA, begin(1, 1), image(40, 2, -(2**31), 1), commit(3, 1)]
    names = {"ID": "ID, a column of the key, is NULL"}
    names["other"] = "other, a column of the key, is not in what was captured"
    for key, detail in names.items():
        capture = Capture("a", 7, [key], ["ID", "other"])
        refused = capture.feed(list(range(len(raws))), raws).refused
        assert [(one.reason, one.detail) for one in refused] == [("null_key", detail)]


def test_null_is_a_value_of_a_key_that_is_not_checked() -> None:
    """So `gbase_capture` asks for it with null_keys=true."""
    raws = [SCHEMA, begin(1, 1), image(40, 2, -(2**31), 1), commit(3, 1)]
    cases: list[tuple[list[str], int, list[str]]] = [([], 1, []), (["id"], 0, ["null_key"])]
    for key, events, reasons in cases:
        capture = Capture("a", 7, key, ["id", "amount", "name"])
        result = capture.feed(list(range(len(raws))), raws)
        assert sum(batch.num_rows for batch in result.changes) == events
        assert [one.reason for one in result.refused] == reasons


def test_columns_of_an_event() -> None:
    """Other facts about an event, and the position of its record."""
    raws = [SCHEMA, begin(1, 1), image(42, 2, 1, 1), image(43, 3, 1, 2), commit(4, 1)]
    raws.append(begin(5, 1, 2**60) + truncate(6, 1, 7) + commit(7, 1, -(2**60)))
    capture = Capture("a", 7, ["ID"], ["Name", "ID", "Extra"])
    result = capture.feed(list(range(len(raws))), raws)
    update, cut_off = (batch.to_pylist()[0] for batch in result.changes)
    assert update["row"] == {"Name": "", "ID": 1, "Extra": None}
    assert (update["cdc_changed_columns"], update["cdc_present_columns"]) == ([], ["Name", "ID"])
    places = ("chunk", "end_chunk", "before_chunk", "before_end_chunk")
    assert [update[name] for name in places] == [3, 3, 2, 2]
    assert [cut_off[name] for name in places] == [5, 5, None, None]
    metadata = update["cdc_metadata"]
    assert (metadata["capture_id"], metadata["table_id"], metadata["user_id"]) == ("a", 7, 2005)
    assert metadata["began_at"].isoformat() == "2023-11-14T22:13:20+00:00"
    # Times outside the years 1 to 9999 are unknown.
    assert (cut_off["cdc_commit_at"], cut_off["cdc_metadata"]["began_at"]) == (None, None)
    assert (cut_off["row"], cut_off["cdc_operation"]) == (None, "truncate")


# ------------------------------------------------------------------------------------------- bounds

KIB = 1024
SIZE = 256 * KIB


def nested(size: int) -> bytes:
    """Bytes of which every fourth begins a valid header."""
    return b"\0\0\0\x42" * (size // 4)


def short_rows(size: int) -> bytes:
    """Rows too short for the sizes of the columns that their table is said to have."""
    text = "id integer," + ",".join(f"c{number} text" for number in range(2000))
    some = schema(7, text, 4, 1, 2000) + begin(1, 1)
    rows = [row(40, sequence, 1, 7, b"\0\0\0\1") for sequence in range(2, size // 40)]
    return some + b"".join(rows) + commit(2**40, 1)


def wide_rows(size: int) -> bytes:
    """Rows of one committed transaction."""
    rng = random.Random(1)
    rows = [good_row(rng, 40, sequence, 1) for sequence in range(2, 4000)]
    some = SCHEMA + begin(1, 1) + b"".join(rows)
    return some + commit(2**40, 1)


@pytest.mark.parametrize(
    "data",
    [
        nested(SIZE),
        bytes(SIZE),
        b"\x42" * SIZE,
        random.Random(1).randbytes(SIZE),
        record(40, bytes(20))[:4] + struct.pack(">3I", 2**24, 66, 40) + bytes(SIZE),
        record(16, b"") * (SIZE // 16),
        wide_rows(SIZE),
        short_rows(SIZE),
        b"".join(begin(number, number) for number in range(SIZE // 40)),
    ],
    ids=[
        "nested",
        "zeros",
        "scheme",
        "random",
        "lying",
        "shortest",
        "rows",
        "short_rows",
        "begins",
    ],
)
@pytest.mark.parametrize("length", [97, 4096, 2 * SIZE])
def test_memory_is_bounded_by_the_input(data: bytes, length: int) -> None:
    """No input makes the decoder hold more than a small multiple of it."""
    chunks = [data[at : at + length] for at in range(0, len(data), length)]
    payloads = pa.array(chunks, pa.binary())
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    capture = Capture("a", 7, ["id"], ["id", "amount", "name"])
    capture.feed(list(range(len(chunks))), payloads)
    capture.finish()
    peak = tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes() - before
    tracemalloc.stop()
    assert peak < 32 * len(data) + 512 * KIB


# ---------------------------------------------------------------------------- from run to run


def in_runs(
    capture_id: str,
    runs: Sequence[Sequence[Mapping[str, Any]]],
    key: Sequence[str] = gbase_capture.TABLE.key,
    columns: Sequence[str] = tuple(gbase_capture.TYPES),
) -> tuple[Any, Any]:
    """Decode chunks, each run from the state of the one before: sequences, and quarantine."""
    sequences: list[str] = []
    refused: list[tuple[str, int, int]] = []
    state: tuple[bytes, list[Records], bytes] | None = None
    rng = random.Random(capture_id)
    for rows in runs:
        framer = Framer()
        changes = Changes(capture_id, 7, key, columns)
        if state:
            framer.restore(state[0])
            changes.restore(state[1], [state[2]])
        numbers = [row["chunk_number"] for row in rows]
        records, spans = framer.feed(numbers, [row["payload"] for row in rows])
        decoded = changes.feed(records)
        assert not changes.doubtful(records).any()
        parts, known = changes.state()
        rng.shuffle(parts)
        state = (framer.state(), [unpacked(packed(part)[0].as_buffer()) for part in parts], known)
        found = [refused_spans(spans), decoded.refused]
        refused += [(one.reason, one.chunk, one.offset) for some in found for one in some]
        sequences += [one for batch in decoded.changes for one in batch["cdc_sequence"].to_pylist()]
    return sorted(sequences), sorted(refused)


@pytest.mark.parametrize("seed", range(10))
def test_runs_continue_from_the_state(seed: int) -> None:
    """Cut into runs anywhere, a capture gives the same as in one run; also with a reused buffer."""
    rng = random.Random(f"runs {seed}")
    workload = database.generate(gbase_capture.TABLE, rng, transactions=40)
    stream = gbase_capture.write(workload, rng)
    for capture_id in ("s1", "s2"):
        rows = [row for row in stream.rows if row["capture_id"] == capture_id]
        cuts = sorted(rng.sample(range(1, len(rows)), 3))
        runs = [rows[begin:end] for begin, end in pairwise([0, *cuts, len(rows)])]
        assert in_runs(capture_id, runs) == in_runs(capture_id, [rows])


def test_repeat_of_a_forgotten_record() -> None:
    """A record that is repeated a run later, and not from the buffer, is doubtful: no event."""
    first = [SCHEMA, begin(1, 5), row(40, 2, 5, 7, PLAIN_ROW, [1]), commit(3, 5)]
    one = Changes("a", 7, ["id"], ["id", "amount", "name"])
    records = framed_records(b"".join(first))
    one.feed(records)
    left, known = one.state()
    other = Changes("a", 7, ["id"], ["id", "amount", "name"])
    other.restore(left, [known])
    again = framed_records(first[2])
    other.feed(again)
    assert other.doubtful(again).tolist() == [True]


def test_repeat_of_a_record_too_short_for_a_sequence() -> None:
    """Only its own bytes count, not the bytes of the record after it."""
    short = record(300, b"")
    records = framed_records(short + begin(1, 5) + short + commit(3, 5))
    assert KnownRecords().repeated(records).tolist() == [False, False, True, False]


def test_hashes_mean_the_same_in_every_process() -> None:
    assert hashes_of(framed_records(commit(3, 5))).tolist() == [8745992479481705600]


def test_hashes_of_records_that_hardly_differ() -> None:
    """They differ in one bit of the sequence and one of the transaction, for all pairs of bits."""
    sequence, transaction = 0x1E00001018, 5
    near = [
        discard(sequence ^ (1 << one), transaction ^ (1 << other))
        for one in range(64)
        for other in range(31)
    ]
    hashes = hashes_of(framed_records(b"".join(near)))
    assert len(set(hashes.tolist())) == len(near)


def test_savepoints_that_hardly_differ() -> None:
    one, other = (0x1E00001018, 5), (0x1E00001018 ^ 0x80, 5 ^ 0x80)
    raws = [SCHEMA, *(begin(1 + transaction, transaction) for _, transaction in (one, other))]
    raws += [one_row(*one), one_row(*other), discard(*one), discard(*other)]
    raws += [commit(2**40 + transaction, transaction) for _, transaction in (one, other)]
    capture = Capture("a", 7, ["id"], ["id", "amount", "name"])
    decoded = capture.feed([1], [b"".join(raws)])
    assert (decoded.changes, decoded.refused) == ([], [])


def test_another_begin_of_one_sequence() -> None:
    raws = [SCHEMA, begin(1, 5, time=100), one_row(2, 5), begin(1, 5, time=200)]
    raws += [begin(1, 5, time=200), one_row(3, 5), commit(4, 5)]
    decoded = Capture("a", 7, ["id"], ["id"]).feed([1], [b"".join(raws)])
    assert [batch.num_rows for batch in decoded.changes] == [1]
    assert [one.reason for one in decoded.refused] == ["unfinished_transaction"]


def test_a_description_may_be_repeated_in_the_next_run() -> None:
    """It is not a record of the buffer, although the buffer has one like it at that place."""
    turned = schema(7, "amount decimal(8,2), id integer, name varchar(20,0)", 9, 2, 1)
    filler = [row(40, sequence, 1, 8, bytes(164)) for sequence in (1, 2)]
    rows = begin(10, 1) + one_row(11, 1) + commit(12, 1)
    runs = [[filler[0] + SCHEMA, turned], [filler[1] + SCHEMA, rows]]
    numbered = [
        [{"chunk_number": 2 * run + place, "payload": read} for place, read in enumerate(reads)]
        for run, reads in enumerate(runs)
    ]
    found = in_runs("a", numbered, ["id"], ["id", "amount", "name"])
    assert found == in_runs("a", [[*numbered[0], *numbered[1]]], ["id"], ["id", "amount", "name"])
    assert len(found[0]) == 1


@pytest.mark.parametrize("columns", [["id"], ["id", "name"]])
@pytest.mark.parametrize("ends", [commit, discard])
def test_more_in_a_transaction_than_an_arrow_array_holds(
    monkeypatch: pytest.MonkeyPatch, columns: list[str], ends: Callable[[int, int], bytes]
) -> None:
    for module in (arrays, framing):
        monkeypatch.setattr(module, "MOST_BYTES", 2**16)
    monkeypatch.setattr(arrays, "GATHERED_TOGETHER", 2**12)
    monkeypatch.setattr(changes, "DECODED_TOGETHER", 2**14)
    capture = Capture("a", 7, ["id"], columns)
    pair = [image(number, sequence, 1, 5) for sequence, number in ((2, 42), (3, 43))]
    raws = [SCHEMA, begin(1, 1)]
    raws += [
        one[:16] + struct.pack(">Q", place) + one[24:] for place in range(2, 6000) for one in pair
    ]
    raws += [ends(3000, 1), commit(6000, 1)]
    events = 0
    for number in range(0, len(raws), 300):
        decoded = capture.feed([number], [b"".join(raws[number : number + 300])])
        assert not decoded.refused
        events += sum(batch.num_rows for batch in decoded.changes)
    assert events == (5998 if ends is commit else 2998)


@pytest.mark.parametrize("ends", [discard, rollback])
def test_more_taken_back_than_an_arrow_array_holds(
    monkeypatch: pytest.MonkeyPatch, ends: Callable[[int, int], bytes]
) -> None:
    """By a transaction that ends or continues together with a small one."""
    for module in (arrays, framing):
        monkeypatch.setattr(module, "MOST_BYTES", 2**16)
    monkeypatch.setattr(changes, "DECODED_TOGETHER", 2**14)
    capture = Capture("a", 7, ["id"], ["id", "name"])
    raws = [SCHEMA, begin(1, 1), *(one_row(sequence, 1) for sequence in range(2, 3000))]
    raws += [begin(3000, 2), one_row(3001, 2), ends(2, 1), commit(3003, 2)]
    events = 0
    for number in range(0, len(raws), 300):
        decoded = capture.feed([number], [b"".join(raws[number : number + 300])])
        assert not decoded.refused
        events += sum(batch.num_rows for batch in decoded.changes)
    assert events == 1


def test_a_great_transaction_leaves_a_small_one_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were kept together; the large one has ended."""
    great = [SCHEMA, begin(1, 1), *(one_row(sequence, 1) for sequence in range(2, 3000))]
    both = [begin(3000, 2), one_row(3001, 2), discard(2999, 1)]
    one = Changes("a", 7, ["id"], ["id", "name"])
    for raws in (great, both, [commit(3002, 1)]):
        decoded = one.feed(framed_records(b"".join(raws)))
    assert sum(batch.num_rows for batch in decoded.changes) == 2997
    monkeypatch.setattr(arrays, "MOST_BYTES", 2**10)
    parts, known = one.state()
    other = Changes("a", 7, ["id"], ["id", "name"])
    other.restore([unpacked(packed(part)[0].as_buffer()) for part in parts], [known])
    decoded = other.feed(framed_records(commit(3003, 2)))
    assert sum(batch.num_rows for batch in decoded.changes) == 1


def test_hashes_of_many_small_batches_are_sorted_seldom() -> None:
    known = KnownRecords()
    sorted_, sort = 0, np.sort

    def counted(array: Any, **options: Any) -> Any:
        nonlocal sorted_
        sorted_ += len(array)
        return sort(array, **options)

    count = 2_000
    records = framed_records(b"".join(commit(sequence, 5) for sequence in range(count)))
    with mock.patch.object(np, "sort", counted):
        for index in range(count):
            assert not known.repeated(records.take(np.array([index]))).any()
    assert sorted_ < count * 20
    assert known.repeated(records).sum() == count


def one_row(sequence: int, transaction: int) -> bytes:
    return row(40, sequence, transaction, 7, PLAIN_ROW, [1])


def framed_records(raw: bytes) -> Records:
    return Framer().feed([0], [raw]).records


PLAIN_ROW = struct.pack(">i", 1) + b"\0" * 5 + b"\0"


# -------------------------------------------------------------------------------------- landing it


@pytest.mark.parametrize("seed", range(5))
def test_a_session_that_begins_at_the_restart_position_loses_nothing(seed: int) -> None:
    """Two sessions, the second from the position of `land`, give all events."""
    rng = random.Random(f"landing {seed}")
    workload = database.generate(gbase_capture.TABLE, rng, transactions=30)
    stream = gbase_capture.write(workload, rng, bad_records=0)
    log = [row["payload"] for row in stream.rows if row["capture_id"] == "s2"]
    whole = Framer().feed(list(range(len(log))), log).records
    raws = list(dict.fromkeys(whole.raw(index) for index in range(len(whole))))
    rows: list[dict[str, Any]] = []

    def session(capture_id: str, records: Sequence[bytes]) -> int:
        reads = iter([*records, b""])

        class Session:
            def read(self) -> bytes:
                return next(reads)

        return land(Session(), capture_id, rows.append)

    def sequence_of(raw: bytes) -> int:
        return int.from_bytes(raw[16:24], "big")

    begins = raws[:1] + [raw for raw in raws[1:] if raw[12:16] != b"\0\0\0\xc8"]
    position = session("a", begins[: rng.randrange(10, len(begins))])
    again = [place for place, raw in enumerate(begins) if place and sequence_of(raw) == position]
    assert session("b", begins[:1] + begins[again[0] :]) > 0
    found = {
        one
        for capture_id in ("a", "b")
        for one in in_runs(capture_id, [[r for r in rows if r["capture_id"] == capture_id]])[0]
    }
    rows.clear()
    session("c", begins)
    assert found == set(in_runs("c", [rows])[0])


def test_nothing_read_begins_where_the_session_began() -> None:
    class Quiet:
        def read(self) -> bytes:
            return b""

    assert RestartPosition().position == 0
    assert land(Quiet(), "b", print, position=7) == 7


def test_parts_of_a_transaction_keep_their_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first record is a before image; each part has as few records as possible."""
    ids = [struct.pack(">i", number) for number in (1, 2, 3, 4)]
    rows = [row(42, 17, 5, 7, ids[0]), row(43, 18, 5, 7, ids[1]), row(40, 19, 5, 7, ids[2])]
    rows += [row(42, 20, 5, 7, ids[2]), row(43, 21, 5, 7, ids[3])]
    raw = b"".join([schema(7, "id integer", 4, 1, 0), begin(16, 5), *rows, commit(22, 5)])

    def decoded() -> list[Any]:
        capture = Capture("c", 7, ["id"], ["id"])
        return events_of([capture.feed([1], [raw]), capture.finish()])

    whole = decoded()
    assert [(one["cdc_before"], one["row"]) for one in whole] == [
        ({"id": "1"}, {"id": "2"}),
        (None, {"id": "3"}),
        ({"id": "3"}, {"id": "4"}),
    ]
    monkeypatch.setattr(changes, "DECODED_TOGETHER", 1)
    assert decoded() == whole


@pytest.mark.parametrize(
    ("header", "payload", "is_valid"),
    [(2**16, 2**24, True), (2**16 + 1, 2**24, False), (2**16, 2**24 + 1, False)],
)
def test_headers_have_bounds(header: int, payload: int, is_valid: bool) -> None:
    """64 KiB of header, 16 MiB of payload."""
    raw = struct.pack(">4I", header, payload, 66, 40)
    padded = np.frombuffer(raw + bytes(PADDING), np.uint8)
    assert framing.valid_headers(padded, len(raw)).start.tolist() == ([0] if is_valid else [])
