"""More vectors with Avro, in Python: what the shared files of vectors do not have."""

from __future__ import annotations

import json
from typing import Any

from kit.formats import Vector

from formats.qlik_messages import avro
from formats.qlik_messages.avro import Schema, as_fields, or_null
from formats.qlik_messages.message import Members, headers
from formats.qlik_messages.reference import Row

SEQUENCE = "20220315081502000000000000000000101"
ROW = as_fields({"ID": or_null("int"), "NAME": or_null("string")})
TEXTS = ("operation", "changeSequence", "timestamp", "streamPosition", "transactionId")
MASKS = ("changeMask", "columnMask")


def record(name: str, fields: list[Schema]) -> Schema:
    return {"type": "record", "name": name, "fields": fields}


def value(schema: Schema, content: Any, **more: Any) -> bytes:
    """A message that brings its schema."""
    return avro.envelope(avro.written(schema, content), schema=json.dumps(schema), **more)


def change(operation: str = "UPDATE", **more: Any) -> Members:
    return {one: each for one, each in headers(operation, SEQUENCE).items() if one in TEXTS} | more


def row_value(fields: list[Schema], row: Any, place: int, operation: str = "UPDATE") -> bytes:
    """A change of a row with such fields, with a sequence of its own."""
    members = {
        "data": or_null(record("Data", fields)),
        "beforeData": or_null("Data"),
        "headers": record("Headers", as_fields(dict.fromkeys(TEXTS, "string"))),
    }
    sequence = f"{int(SEQUENCE) + place}"
    content = {
        "data": row,
        "beforeData": None,
        "headers": change(operation, changeSequence=sequence),
    }
    return value(record("DataRecord", as_fields(members)), content)


def without_headers(**members: Any) -> bytes:
    """A record that has some texts instead of its headers."""
    fields = {"data": or_null(record("Data", ROW))} | dict.fromkeys(members, "string")
    schema = record("DataRecord", as_fields(fields))
    return value(schema, {"data": {"ID": 1, "NAME": "Ada"}, **members})


def headers_alone() -> bytes:
    parts = record("Headers", as_fields(dict.fromkeys(TEXTS, "string")))
    return value(record("DataRecord", as_fields({"headers": parts})), {"headers": change()})


def named_alike() -> bytes:
    """Members that differ in capitals alone, and none is named as it should be."""
    images = {"Data": or_null(record("One", ROW)), "DATA": or_null("One")}
    parts = record("Headers", as_fields(dict.fromkeys(TEXTS, "string")))
    schema = record("DataRecord", as_fields({**images, "headers": parts}))
    return value(schema, {"Data": {"ID": 1, "NAME": None}, "DATA": None, "headers": change()})


def odd_records() -> Vector:
    """A vector: records that can be read with their schemas, and are no messages or no rows."""
    arrays = [*ROW, {"name": "PAID", "type": {"type": "array", "items": "int"}}]
    maps = [*ROW, {"name": "PAID", "type": {"type": "map", "values": "int"}}]
    row = {"ID": 1, "NAME": None}
    refused = [
        ("bad_message", without_headers()),
        ("unsupported_layout", without_headers(op="U")),
        ("unsupported_layout", without_headers(operation="UPDATE")),
        ("unsupported_layout", headers_alone()),
        ("bad_message", named_alike()),
        ("bad_message", value(record("DataRecord", []), {})),
        ("bad_message", value({"type": "array", "items": "int"}, [1])),
        ("missing_data", row_value(ROW, None, 1)),
        ("unknown_operation", row_value(ROW, row, 2, "UPSERT")),
        ("null_key", row_value(ROW, {"ID": None, "NAME": "Ada"}, 3)),
        ("bad_value", row_value(arrays, row | {"PAID": [7]}, 4)),
        ("bad_value", row_value(maps, row | {"PAID": {"a": 7}}, 5)),
        (
            "unknown_message_type",
            value(record("DataRecord", ROW), {"ID": 1, "NAME": None}, kind=""),
        ),
        ("bad_metadata", value(record("DataRecord", ROW), {"ID": 1, "NAME": None}, kind="MD")),
        ("unknown_schema", avro.frame(b"\0\0", 18)),
        ("unknown_schema", avro.envelope(b"\0\0", schema_id="S1")),
    ]
    good = row_value(ROW, {"ID": 1, "NAME": "Ada"}, 6)
    event: Row = {"cdc_operation": "update", "cdc_sequence": f"{int(SEQUENCE) + 6}"}
    event |= {"cdc_present_columns": ["ID", "NAME"]}  # PAID is not there
    given = {"key": ["ID"], "columns": {"ID": "int", "NAME": "string", "PAID": "date"}}
    return {
        "id": "avro_odd_records",
        "given": given | {"messages": messages([good, *(one for _, one in refused)])},
        "expect": {
            "events": [event | {"row": {"ID": "1", "NAME": "Ada", "PAID": None}}],
            "no_ops": [],
            "quarantine": [
                {"message": place, "reason": reason}
                for place, (reason, _) in enumerate(refused, start=1)
            ],
        },
    }


def messages(values: list[bytes]) -> list[Vector]:
    return [
        {"value_hex": one.hex(), "topic": "t", "partition": 0, "offset": place}
        for place, one in enumerate(values)
    ]


def little_endian_masks() -> Vector:
    """A vector: an update whose masks of ten columns are little-endian."""
    columns = {"ID": "int"} | {f"C{bit}": "string" for bit in range(1, 10)}
    fields = as_fields(dict.fromkeys(columns, or_null("string")) | {"ID": "int"})
    parts = dict.fromkeys(TEXTS, "string") | dict.fromkeys(MASKS, "bytes")
    members = {"data": record("Data", fields), "headers": record("Headers", as_fields(parts))}
    # bit 8, and bits 0 to 9; in the other order bit 15 would be outside
    masks: Members = {"changeMask": b"\x00\x01", "columnMask": b"\xff\x03"}
    row: Members = {"ID": 1} | {name: name.lower() for name in columns if name != "ID"}
    schema = record("DataRecord", as_fields(members)) | {"namespace": "task.APP.CUST"}
    given: Vector = {"key": ["ID"], "columns": columns, "table": "CUST", "schema": "APP"}
    given |= {"messages": messages([value(schema, {"data": row, "headers": change(**masks)})])}
    event: Row = {
        "cdc_sequence": SEQUENCE,
        "cdc_changed_columns": ["C8"],
        "cdc_present_columns": None,
    }
    return {
        "id": "avro_masks_little_endian",
        "given": given | {"avro_mask_byte_order": "little"},
        "expect": {"events": [event], "no_ops": [], "quarantine": []},
    }


AVRO_VECTORS = (odd_records(), little_endian_masks())
