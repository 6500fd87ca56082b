"""Checks of one test vector: real captures, and statements of the documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from spark_cdc_udfs.gbase import (
    Capture,
    Decoded,
    Framer,
    as_text,
    decode_rows,
    parse_layout,
    parse_type,
)
from spark_cdc_udfs.gbase.records import RECORDS, Records
from spark_cdc_udfs.gbase.rows import size_array
from spark_cdc_udfs.gbase.values import Decoded as Values
from spark_cdc_udfs.gbase.values import decode_fixed, decode_variable

Vector = dict[str, Any]


def decode_value(type_text: str, raw: bytes) -> Values:
    """Decode one value, as a column of one."""
    type_ = parse_type(type_text)
    if type_.size is None:
        data = np.frombuffer(b"\0" + raw + b"\0", np.uint8)
        size = np.array([len(raw)])
        return decode_variable(type_, data, np.array([1]), size, "utf-8")
    assert type_.size == len(raw)
    return decode_fixed(type_, np.frombuffer(raw, np.uint8).reshape(1, -1), "utf-8")


def check_value(vector: Vector) -> None:
    """The value is the vector's, or there is an error as the vector expects."""
    given, expect = vector["given"], vector["expect"]
    values, bad_value, bad_text = decode_value(given["type"], bytes.fromhex(given["hex"]))
    error = "bad_value" if bad_value[0] else "bad_text" if bad_text[0] else None
    assert error == expect.get("error")
    assert as_text(values).to_pylist() == [expect.get("value")]


def first_record(raw: bytes) -> tuple[Records, int]:
    """Frame one read; give its record and the number of bytes after it."""
    framer = Framer()
    # The earlier contents of such a reader's buffer are not in the vector, so they are not checked
    # here.
    records = framer.feed([1], [raw]).records
    assert len(records) == 1
    return records, len(raw) - int(records.length[0])


COLUMNS = {
    111: (b"c1 integer, c2 varchar(20,0)\0", 4, 1, 1),
    9: (b"id integer, a varchar(40,0), b lvarchar(100)\0", 4, 1, 2),
}


def check_record(vector: Vector) -> None:
    """The fields of one record are the vector's."""
    given, expect = vector["given"], vector["expect"]
    if "chunks" in given:
        check_stream(vector)
        return
    records, behind = first_record(bytes.fromhex(given["hex"]))
    header = records.header[0]
    number = int(header["number"])
    name, _ = RECORDS[number]
    found: Vector = {
        "record": name,
        "record_number": number,
        "header_size": int(records.header_size[0]),
        "payload_size": int(records.payload_size[0]),
        "record_length": int(records.length[0]),
        "stale_bytes": behind,
    }
    fields = {
        "sequence": "sequence",
        "transaction_id": "transaction",
        "table_id": "schema_table" if name == "TABSCHEM" else "table",
        "time": "time",
        "user_id": "user",
        "error_code": "error_code",
        "fixed_bytes": "fixed_bytes",
        "fixed_columns": "fixed_columns",
        "variable_columns": "variable_columns",
    }
    found |= {key: int(header[field]) for key, field in fields.items() if key in expect}
    if name == "TABSCHEM":
        payload = next(records.payloads())
        fixed_bytes, fixed, variable = (
            int(header[key]) for key in ("fixed_bytes", "fixed_columns", "variable_columns")
        )
        columns = parse_layout(payload, fixed_bytes, fixed, variable).columns
        found["text"] = payload[:-1].decode()
        found["columns"] = [{"name": column.name, "type": column.text} for column in columns]
    elif expect.get("values"):
        layout = parse_layout(*COLUMNS[expect["table_id"]])
        rows = decode_rows(layout, records)
        assert rows.reason.tolist() == [0]
        found["values"] = {key: as_text(value)[0].as_py() for key, value in rows.columns.items()}
        found["variable_sizes"] = size_array(layout, records)[0][0].tolist()
    elif "variable_sizes" in expect:
        found["variable_sizes"] = [] if expect["header_size"] == 36 else None
    # The other facts of the vector are the same in another form.
    other = {"sequence_hex", "sequence_text", "time_utc", "flags", "session_dead"}
    other |= {"variable_size_order"}
    assert found == {key: value for key, value in expect.items() if key not in other}


def decode_stream(given: Vector, batch: int | None = None) -> list[Decoded]:
    """Decode the chunks of a vector, capture by capture, `batch` chunks at once."""
    rows = sorted(given["chunks"], key=lambda row: (row["capture_id"], row["chunk_number"]))
    results = []
    for capture_id in dict.fromkeys(row["capture_id"] for row in rows):
        capture = Capture(capture_id, given["table_id"], given["key"], list(given["columns"]))
        mine = [row for row in rows if row["capture_id"] == capture_id]
        for begin in range(0, len(mine), batch or len(mine)):
            part = mine[begin : begin + (batch or len(mine))]
            numbers = [row["chunk_number"] for row in part]
            payloads = [bytes.fromhex(row["payload"]) for row in part]
            results.append(capture.feed(numbers, payloads))
        results.append(capture.finish())
    return results


def text_of(row: Any) -> list[dict[str, str | None] | None]:
    """Write the rows of a struct array as text."""
    names = [field.name for field in row.type]
    columns = [as_text(row.field(name)).to_pylist() for name in names]
    nulls = row.is_null().to_pylist()
    values = zip(*columns, strict=True)
    return [
        None if null else dict(zip(names, value, strict=True))
        for null, value in zip(nulls, values, strict=True)
    ]


def events_of(results: list[Decoded]) -> list[Vector]:
    """Give the change events as the vectors write them, each once, in order."""
    events: dict[str, Vector] = {}
    for result in results:
        for batch in result.changes:
            plain = [name for name in batch.schema.names if name.startswith("cdc_")]
            rows = batch.select(plain).to_pylist()
            before, after = text_of(batch["cdc_before"]), text_of(batch["row"])
            for index, event in enumerate(rows):
                event["cdc_commit_at"] = event["cdc_commit_at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                event["cdc_before"], event["row"] = before[index], after[index]
                del event["cdc_metadata"]
                events.setdefault(event["cdc_sequence"], event)
    return [events[sequence] for sequence in sorted(events)]


def check_stream(vector: Vector) -> None:
    """Decode a stream in one batch and chunk by chunk; both results are the vector's."""
    given, expect = vector["given"], vector["expect"]
    for batch in (None, 1, 2):
        results = decode_stream(given, batch)
        assert events_of(results) == expect["events"]
        refused = [(one.chunk, one.reason) for result in results for one in result.refused]
        expected = [(one["chunk_number"], one["reason"]) for one in expect["quarantine"]]
        assert sorted(refused) == sorted(expected)
