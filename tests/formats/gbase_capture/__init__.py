"""GBase 8s change data capture: its interface to the laws."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any

from kit.formats import Blocks, Case, Deliveries, Format, Relation, Row
from simulation import database

from formats.gbase_capture import vector_checks, vector_units, writer

DECODER = "gbase_capture"
ARGUMENTS = f"key={list(writer.TABLE.key)}, table_id=7, columns={dict(writer.TABLE.columns)}"


def cases(seed: int) -> Iterator[Case]:
    """A stream with records of every kind, good and bad, in chunks in any order."""
    rng = random.Random(f"{seed} stream")
    workload = database.generate(writer.TABLE, rng, transactions=60)
    written = writer.write(workload, rng, bad_records=2, duplicates=0.1)
    rng.shuffle(written.rows)
    yield Case(
        name="stream",
        table=writer.TABLE,
        relations={"raw": Relation(writer.RAW_COLUMNS, written.rows)},
        arguments=ARGUMENTS,
        events=written.events,
        quarantine=[reason for reason, _, _ in written.quarantine],
        raw_counts=written.raw_counts,
        workload=written.workload,
        positions=written.positions,
    )


def deliveries(rng: random.Random) -> Deliveries:
    """Transactions span runs; ends of chunks wait; old chunks are repeated, one is late."""
    workload = database.generate(writer.TABLE, rng, transactions=50)
    written = writer.write(workload, rng, bad_records=2, duplicates=0.05)
    # a column that the landing adds may have a type without equality
    columns = writer.RAW_COLUMNS | {"headers": "map<string,string>", "landed": "int"}
    cuts = sorted(rng.sample(range(10, len(written.rows)), 2))
    begins, ends = [0, *cuts], [*cuts, len(written.rows)]
    parts = [written.rows[begin:end] for begin, end in zip(begins, ends, strict=True)]
    withheld = parts[0][len(parts[0]) // 2]["chunk_number"]
    late = [row for row in parts[0] if row["chunk_number"] == withheld]
    parts[0] = [row for row in parts[0] if row["chunk_number"] != withheld]
    parts[1] += rng.sample(parts[0], min(10, len(parts[0])))
    parts[2] += late
    landed: dict[tuple[str, int], int] = {}

    def row_of(row: Row, number: int) -> dict[str, Any]:
        # a repeated row has the time of its first delivery
        first = landed.setdefault((row["capture_id"], row["chunk_number"]), number)
        return {**row, "headers": {"reader": "1"}, "landed": first}

    return Deliveries(
        name="stream",
        table=writer.TABLE,
        columns={"raw": columns},
        arguments=ARGUMENTS,
        batches=[
            {"raw": [row_of(row, number) for row in rows]} for number, rows in enumerate(parts)
        ],
        leaves=(2,),
        watermarks={"changes": "landed"},
    )


def blocks() -> Blocks:
    """Sessions of several logs, each with positions of its own."""

    def rows(number: int) -> list[Row]:
        rng = random.Random(f"blocks {number}")
        workload = database.generate(writer.TABLE, rng, transactions=360)
        written = writer.write(workload, rng, 0, first=(number + 1) << 48)
        return [row | {"capture_id": f"{number:03}{row['capture_id']}"} for row in written.rows]

    sizes = (0, 2**31 - 1, 2**31, 2**32 - 1)
    heads = [
        struct.pack(">4I", size, size, 66, number) for size in sizes for number in (1, 40, 200)
    ]
    return Blocks(
        writer.RAW_COLUMNS,
        ARGUMENTS,
        rows,
        odd={"payload": [*heads, writer.schema_record(), b"\xff" * 300_000, heads[-1] * 10_000]},
        is_stream=True,
    )


ACCOUNT = "columns={'id': 'int', 'name': 'string'}"

DECLARED: dict[str, dict[str, str | None]] = {
    "ct": {"header__change_seq": "string", "id": "bigint"},
    "undeclared": {},
    "chunks": {"capture_id": "string", "chunk_number": "bigint", "payload": "binary"},
    "timed_chunks": {"capture_id": "timestamp", "chunk_number": "bigint", "payload": "binary"},
    "hex_chunks": {"capture_id": "string", "chunk_number": "bigint", "payload": "string"},
}

WRONG_CALLS = [
    (f"ct, 7, ['id'], {ACCOUNT}", "has no column capture_id"),
    (f"hex_chunks, 7, ['id'], {ACCOUNT}", "has payload of type string"),
    (f"timed_chunks, 7, ['id'], {ACCOUNT}", "has capture_id of type timestamp"),
    (f"undeclared, 7, ['id'], {ACCOUNT}", "neither exists nor has declared columns"),
    (f"chunks, 'accounts', ['id'], {ACCOUNT}", "table_id is accounts"),
    (f"chunks, true, ['id'], {ACCOUNT}", "table_id is True"),
    (f"chunks, 5000000000, ['id'], {ACCOUNT}", "table_id is 5000000000"),
    ("chunks, 7, ['id'], columns={'id': 'int', 'ID': 'int'}", "two columns are named id, in"),
    (f"chunks, 7, [], {ACCOUNT}", "key is empty"),
    (f"chunks, 7, ['nr'], {ACCOUNT}", "key names the column nr"),
    ("chunks, 7, ['id'], columns=none", "columns is None"),
    ("chunks, 7, ['id'], columns=['id']", "columns is ['id']"),
    ("chunks, 7, ['id'], columns={}", "columns is empty"),
    ("chunks, 7, ['id'], columns={'id': none}", "the type of the column id is None"),
    ("chunks, 7, ['id'], columns={'id': 'SERIAL'}", "of the column id is SERIAL, which Spark does"),
    ("chunks, 7, ['id'], columns={'id': 'int8'}", "columns={'id': 'bigint'}"),
    (f"'erp.chunks', 7, ['id'], {ACCOUNT}", "the relation is a text, erp.chunks"),
    (
        "chunks, 7, ['id'], columns={'id': 'int', 'cdc_x': 'int'}",
        "the column cdc_x begins with cdc_",
    ),
    ("chunks, 7, ['id'], columns={'id': 'int', 'm': 'map<int,int>'}", "is of type map<int,int>"),
    ("chunks, 7, ['id'], columns={'id': 'int', 'a': 'array<int>'}", "a is string and shall be arr"),
    (f"chunks, 7, ['id'], {ACCOUNT}, gbase_encoding=8", "gbase_encoding is 8"),
    (f"chunks, 7, ['id'], {ACCOUNT}, null_keys=1", "null_keys is 1"),
    (f"chunks, 7, ['id'], {ACCOUNT}, gbase_rtrim_char='yes'", "gbase_rtrim_char is yes"),
]

FORMAT = Format(
    decoder=DECODER,
    cases=cases,
    deliveries=deliveries,
    blocks=blocks,
    declared=DECLARED,
    call=f"chunks, 7, ['id'], {ACCOUNT}",
    wrong_calls=WRONG_CALLS,
    vectors={
        "gbase_values": vector_checks.check_value,
        "gbase_records": vector_checks.check_record,
        "gbase_stream": vector_checks.check_stream,
    },
    vector_units={"gbase_stream": vector_units.stream_units},
)
