"""Avro in tests: writes messages, and reads them plainly, one after the other, with fastavro."""

from __future__ import annotations

import io
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import fastavro
from kit.values import Malformed

from formats.qlik_messages import names
from formats.qlik_messages.message import Members
from formats.qlik_messages.strict_json import Number, read_value
from formats.qlik_messages.versions import Message, Version, is_frame

Schema = dict[str, Any]

ENVELOPE = fastavro.parse_schema(
    {
        "type": "record",
        "name": "MessageEnvelope",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 5}},
            {"name": "type", "type": "string"},
            {"name": "headers", "type": ["null", {"type": "map", "values": "string"}]},
            {"name": "messageSchemaId", "type": ["null", "string"]},
            {"name": "messageSchema", "type": ["null", "string"]},
            {"name": "message", "type": "bytes"},
        ],
    }
)
OPERATIONS = ("INSERT", "UPDATE", "DELETE", "REFRESH")
TYPES: Mapping[str, Any] = {
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}


# -------------------------------------------------------------------------------------------- write


def column_type(sql_type: str | None) -> Any:
    """The Avro type of a column, with logical types; text for a column that nobody declares."""
    if sql_type is not None and sql_type.startswith("decimal("):
        precision, scale = map(int, sql_type[len("decimal(") : -1].split(","))
        decimal = {"logicalType": "decimal", "precision": precision, "scale": scale}
        return {"type": "bytes"} | decimal
    return TYPES.get(sql_type or "", "string")


def or_null(type_: Any) -> list[Any]:
    return ["null", type_]


def data_schema(
    columns: Sequence[str], types: Mapping[str, str], table: tuple[str, str], more: Sequence[str]
) -> Schema:
    """The schema of data messages. ``more``: members and headers that not every task has."""
    fields = [{"name": name, "type": or_null(column_type(types.get(name)))} for name in columns]
    texts = ("changeSequence", "timestamp", "streamPosition", "transactionId")
    operation = {"type": "enum", "name": "operation", "symbols": list(OPERATIONS)}
    headers: Schema = {"operation": operation} | dict.fromkeys(texts, "string")
    headers |= dict.fromkeys(("changeMask", "columnMask"), or_null("bytes"))
    if "externalSchemaId" in more:
        headers["externalSchemaId"] = or_null("string")
    headers |= {"transactionEventCounter": or_null("long")}
    headers |= {"transactionLastEvent": or_null({"type": "boolean"})}
    members: Schema = {
        "data": or_null({"type": "record", "name": "Data", "fields": fields}),
        "beforeData": or_null("Data"),
        "headers": {"type": "record", "name": "Headers", "fields": as_fields(headers)},
    }
    members |= {name: or_null("string") for name in ("schema", "table") if name in more}
    return {
        "type": "record",
        "name": "DataRecord",
        "namespace": ".".join(("com.attunity.queue.msg.erp-to-kafka", *table)),
        "fields": as_fields(members),
    }


def as_fields(types: Mapping[str, Any]) -> list[Schema]:
    return [{"name": name, "type": type_} for name, type_ in types.items()]


def parsed(schema: Schema) -> Any:
    """A schema as fastavro uses it."""
    return fastavro.parse_schema(with_all_digits(schema))


def written(schema: Schema, value: Any) -> bytes:
    return written_with(parsed(schema), value)


def record_of(content: Members, types: Mapping[str, str], columns: Sequence[str]) -> Members:
    """The inner record of a JSON message as Avro values."""

    def image(members: Members | None) -> Members | None:
        if members is None:
            return None
        return {name: read_value(types.get(name, "string"), members.get(name)) for name in columns}

    headers = dict(content["headers"])
    headers["transactionId"] = headers["transactionId"] or ""  # never null in Avro
    for mask in ("changeMask", "columnMask"):
        digits = headers[mask]
        headers[mask] = None if digits is None else bytes.fromhex("0" * (len(digits) % 2) + digits)
    return content | {
        "data": image(content["data"]),
        "beforeData": image(content["beforeData"]),
        "headers": headers,
    }


def envelope(
    message: bytes, kind: str = "DT", schema_id: str | None = None, schema: str | None = None
) -> bytes:
    members = {"magic": b"atMSG", "type": kind, "headers": None, "messageSchemaId": schema_id}
    return written_with(ENVELOPE, members | {"messageSchema": schema, "message": message})


def written_with(writer: Any, value: Any) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, writer, value)
    return file.getvalue()


def frame_id(schema_id: str) -> int:
    """A registry's number of a schema."""
    return zlib.crc32(schema_id.encode())


def frame(message: bytes, number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + message


def metadata_envelope(content: Members) -> bytes:
    """A metadata message in Avro, with its own schema."""
    columns = content["tableStructure"]["tableColumns"]
    facts = {
        "type": "record",
        "name": "Column",
        "fields": as_fields(
            {
                "ordinal": "int",
                "type": "string",
                "length": "long",
                "precision": "int",
                "scale": "int",
                "primaryKeyPosition": "int",
                "nullable": "boolean",
            }
        ),
    }
    types = {name: facts if place == 0 else "Column" for place, name in enumerate(columns)}
    table_columns = {"type": "record", "name": "Columns", "fields": as_fields(types)}
    structure = {
        "type": "record",
        "name": "Structure",
        "fields": as_fields({"tableColumns": table_columns}),
    }
    lineage = dict.fromkeys(("server", "task", "schema", "table"), "string")
    lineage |= {"tableVersion": "long", "timestamp": "string"}
    schema = {
        "type": "record",
        "name": "MetadataRecord",
        "namespace": "com.attunity.queue.msg",
        "fields": as_fields(
            {
                "schemaId": "string",
                "lineage": {"type": "record", "name": "Lineage", "fields": as_fields(lineage)},
                "tableStructure": structure,
                "dataSchema": "string",
            }
        ),
    }
    return envelope(written(schema, content), "MD", content["schemaId"], json.dumps(schema))


# --------------------------------------------------------------------------------------------- read


def read_all(reader: Any, value: bytes) -> Any:
    """A value, behind which nothing may be left over. Raises whatever fastavro raises."""
    file = io.BytesIO(value)
    found = fastavro.schemaless_reader(file, reader, None)
    if file.tell() < len(value):
        raise ValueError("left over")
    return found


def as_json(value: Any) -> Any:
    """A value of fastavro as the strict reader of JSON gives the same content."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Mapping):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds")
    if isinstance(value, time):
        return value.isoformat("microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return Number(repr(value))


def with_all_digits(schema: Any) -> Any:
    """A schema with which fastavro does not round decimals that are longer than they should be."""
    if isinstance(schema, list):
        return [with_all_digits(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: with_all_digits(one) for name, one in schema.items()}
    if found.get("type") == "bytes" and "precision" in found:
        found["precision"] = 1000
    return found


def schema_of(rows: Sequence[Version], schema_id: str | None, at: datetime | None) -> str:
    """Rules 4 and 11: the `dataSchema` of the version with an id."""
    from formats.qlik_messages.reference import latest

    version = latest([row for row in rows if row.schema_id == schema_id], at)
    if not schema_id or version is None or version.data_schema is None:
        raise Malformed("unknown_schema")
    return version.data_schema


class Read(NamedTuple):
    """An Avro message: its envelope, and its record with the schema that wrote it."""

    head: Mapping[str, Any]
    schema: Schema
    record: Any

    @property
    def is_metadata(self) -> bool:
        return bool(self.head["type"] == "MD")


def read(value: bytes, rows: Sequence[Version], at: datetime | None) -> Read:
    """Rules 2 to 4: an Avro message. ``at``: the time of its first delivery."""
    if is_frame(value):
        number = str(int.from_bytes(value[1:5], "big"))
        head: Schema = {"type": "DT", "messageSchemaId": number, "messageSchema": None}
        head["message"] = value[5:]
    else:
        try:
            head = read_all(ENVELOPE, value)
        except Exception:
            raise Malformed("bad_avro") from None
    is_metadata = head["type"] == "MD"
    if head["type"] not in ("DT", "MD"):
        raise Malformed("unknown_message_type")
    text = head["messageSchema"]
    if not text:
        if is_metadata:
            raise Malformed("bad_metadata")
        text = schema_of(rows, head["messageSchemaId"], at)
    try:
        schema = json.loads(text)
        return Read(head, schema, read_all(parsed(schema), head["message"]))
    except Exception:
        raise Malformed("bad_metadata" if is_metadata else "bad_avro") from None


def opened(value: bytes, rows: Sequence[Version], at: datetime | None) -> Message:
    """The same, as the content that a JSON message would have."""
    found = read(value, rows, at)
    head = {"messageSchemaId": found.head["messageSchemaId"]}
    namespace, fields = found.schema.get("namespace"), data_fields(found.schema)
    return Message(found.is_metadata, as_json(found.record), head, namespace, fields)


def data_fields(schema: Schema) -> list[str]:
    """The fields of the record `data`; empty if there is none."""
    try:
        found = names.member({one["name"]: one for one in schema.get("fields", ())}, "data")
    except names.Ambiguous:
        return []
    type_ = found and found["type"]
    if isinstance(type_, list):
        (type_,) = (one for one in type_ if one != "null")
    return [one["name"] for one in type_["fields"]] if type_ else []
