"""The cost of reading Avro messages of Qlik Replicate: on one core, without Spark.

The messages are envelopes with the id of their schema: ten columns, a before image in three of
four, nine headers. The function that Spark calls is given batches of 10,000 rows and gives JSON
text. It is compared with a loop in Python: the envelope read by hand, then fastavro with a parsed
schema, which gives a dict and no JSON. Two tasks: with logical data types, and without.
"""

from __future__ import annotations

import io
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

ROWS = 10_000  # of a batch
WARM_UP = 1  # runs that are not counted
SCHEMA_ID = "0123456789ABCDEF0123456789ABCDEF"
FUNCTION, ONE_BY_ONE = "this function, batches of 10,000", "fastavro, one at a time"

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
COLUMNS: Mapping[str, Any] = {
    "id": "int",
    "account": "long",
    "kind": "int",
    "amount": DECIMAL,
    "booked": {"type": "int", "logicalType": "date"},
    "changed_at": {"type": "long", "logicalType": "timestamp-micros"},
    "rate": "double",
    "active": "boolean",
    "owner": "string",
    "note": "string",
}
HEADERS: Mapping[str, Any] = {
    "operation": {
        "type": "enum",
        "name": "operation",
        "symbols": ["INSERT", "UPDATE", "DELETE", "REFRESH"],
    },
    "changeSequence": "string",
    "timestamp": "string",
    "streamPosition": "string",
    "transactionId": "string",
    "changeMask": ["null", "bytes"],
    "columnMask": ["null", "bytes"],
    "transactionEventCounter": ["null", "long"],
    "transactionLastEvent": ["null", "boolean"],
}


def schema(is_logical: bool) -> dict[str, Any]:
    """The schema of the messages."""

    def fields(types: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"name": name, "type": type_} for name, type_ in types.items()]

    columns = {
        name: ["null", type_ if is_logical or isinstance(type_, str) else "string"]
        for name, type_ in COLUMNS.items()
    }
    members = {
        "data": {"type": "record", "name": "Data", "fields": fields(columns)},
        "beforeData": ["null", "Data"],
        "headers": {"type": "record", "name": "Headers", "fields": fields(HEADERS)},
    }
    namespace = "com.attunity.queue.msg.task.APP.CUST"
    named = {"type": "record", "name": "DataRecord", "namespace": namespace}
    return named | {"fields": fields(members)}


def records(count: int, is_logical: bool) -> Iterator[dict[str, Any]]:
    """The messages as fastavro writes them."""
    rng = random.Random(1)
    at = datetime(2022, 3, 15, 8, 15, 2, tzinfo=timezone.utc)
    for number in range(count):
        row: dict[str, Any] = {
            "id": number,
            "account": number * 7_919_000_000,
            "kind": number % 100,
            "amount": Decimal(rng.randrange(10**9)) / 100,
            "booked": date(2022, 3, 15) + timedelta(number % 365),
            "changed_at": at + timedelta(milliseconds=number),
            "rate": rng.random(),
            "active": number % 2 == 0,
            "owner": "Ada Lovelace" if number % 10 else None,
            "note": "paid by bank transfer",
        }
        if not is_logical:
            row |= {name: str(row[name]) for name in ("amount", "booked", "changed_at")}
        yield {
            "data": row,
            "beforeData": row | {"note": "open"} if number % 4 else None,
            "headers": {
                "operation": "UPDATE" if number % 4 else "INSERT",
                "changeSequence": f"2022031508150200{number:019d}",
                "timestamp": "2022-03-15T08:15:01.500",
                "streamPosition": "00000000.00a1b2c3.00000001.0000.01.0000:12.34.16",
                "transactionId": f"{number // 3:032X}",
                "changeMask": b"\x02\x00",
                "columnMask": b"\x03\xff",
                "transactionEventCounter": number % 3 + 1,
                "transactionLastEvent": number % 3 == 2,
            },
        }


def messages(count: int, is_logical: bool) -> list[bytes]:
    """The values of the Kafka records."""
    parsed = fastavro.parse_schema(schema(is_logical))
    head = b"atMSG\x04DT\x00\x02\x40" + SCHEMA_ID.encode() + b"\x00"
    found = []
    for record in records(count, is_logical):
        file, length = io.BytesIO(), io.BytesIO()
        fastavro.schemaless_writer(file, parsed, record)
        fastavro.schemaless_writer(length, "long", file.tell())
        found.append(head + length.getvalue() + file.getvalue())
    return found


def varint(value: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = value[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number >> 1 ^ -(number & 1), at
        shift += 7


def text(value: bytes, at: int) -> tuple[str, int]:
    length, at = varint(value, at)
    return value[at : at + length].decode(), at + length


def decode_one(value: bytes, parsed: Mapping[str, Any]) -> dict[str, Any]:
    """Read one message the plain way."""
    kind, at = text(value, 5)
    _, at = varint(value, at)
    is_there, at = varint(value, at)
    schema_id, at = text(value, at) if is_there else (None, at)
    _, at = varint(value, at)
    length, at = varint(value, at)
    inner = io.BytesIO(value[at : at + length])
    message = fastavro.schemaless_reader(inner, parsed[schema_id or ""], None)
    return {
        "magic": "atMSG",
        "type": kind,
        "headers": None,
        "messageSchemaId": schema_id,
        "message": message,
    }


def steps(values: Sequence[bytes], is_logical: bool) -> dict[str, Callable[[], Any]]:
    """Give the measured steps over messages in memory."""
    from spark_cdc_udfs.qlik.functions import spark_cdc_qlik_message
    from spark_cdc_udfs.qlik.schema import parse_schema

    count = len(values)
    text_of_schema = json.dumps(schema(is_logical))
    names = parse_schema(text_of_schema).data_fields or ()
    columns = [{"name": name, "ordinal": place} for place, name in enumerate(names, 1)]
    version: dict[str, Any] = {"schema_id": SCHEMA_ID, "data_schema": text_of_schema}
    version["columns"] = columns
    version |= {"source_schema": "APP", "source_table": "CUST", "table_version": 1}
    whole = [
        pa.array(values, pa.binary()),
        pa.nulls(count, pa.binary()),
        pa.repeat(pa.scalar(b"erp.changes"), count),
        pa.repeat(pa.scalar(0, pa.int64()), count),
        pa.repeat("{}", count),
        pa.repeat(json.dumps([version]), count),
    ]

    def function() -> int:
        batches = (
            tuple(one.slice(first, ROWS) for one in whole) for first in range(0, count, ROWS)
        )
        read = 0
        for batch in spark_cdc_qlik_message(batches):
            assert batch.field("reason").null_count == len(batch)
            read += len(batch)
        return read

    parsed = {SCHEMA_ID: fastavro.parse_schema(json.loads(text_of_schema))}

    def one_by_one() -> int:
        return sum(1 for value in values if decode_one(value, parsed))

    return {FUNCTION: function, ONE_BY_ONE: one_by_one}


def measure(count: int, repeats: int) -> list[dict[str, Any]]:
    """Measure in this process: the time of its one core, whatever else the machine does."""
    results = []
    for is_logical in (True, False):
        measured: dict[str, list[float]] = {}
        all_steps = steps(messages(count, is_logical), is_logical)
        for _ in range(WARM_UP + repeats):
            for name, step in all_steps.items():
                began = time.process_time()
                read = step()
                measured.setdefault(name, []).append(time.process_time() - began)
                assert read == count
        results += [
            {
                "step": name,
                "logical": is_logical,
                "messages": count,
                "seconds": [round(one, 3) for one in seconds[WARM_UP:]],
            }
            for name, seconds in measured.items()
        ]
    return results


def as_markdown(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The figures as a table; empty if nothing was measured."""
    if not results:
        return []
    medians = {(one["logical"], one["step"]): statistics.median(one["seconds"]) for one in results}
    lines = [
        "",
        f"{results[0]['messages']:,} Avro messages of Qlik Replicate, ten columns, one core:",
        "",
        "| columns | step | seconds | times as fast as fastavro, one at a time |",
        "|---|---|---|---|",
    ]
    for (is_logical, step), seconds in medians.items():
        ratio = medians[is_logical, ONE_BY_ONE] / seconds
        types = "logical types" if is_logical else "times and decimals as text"
        lines.append(f"| {types} | {step} | {seconds:.2f} | {ratio:.1f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(as_markdown(measure(int(sys.argv[1]), int(sys.argv[2])))))
