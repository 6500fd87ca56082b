"""What the decoders must make of envelopes and metadata messages, in plain Python.

Written to be read against section 4, "Schema versions", and rules 1 to 3 of section 3 of the
format's reference. An Avro value is `avro_unsupported`, unless something is given that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from typing import Any

from kit.formats import raw_counts
from kit.values import BadValue, Malformed

from formats.qlik_messages import names, strict_json
from formats.qlik_messages.strict_json import BLANKS, NoJson, read_value, text_of, unless_bad

Record = Mapping[str, Any]
"""A Kafka record: `value` as bytes or None, and those of the other columns that there are."""

TYPES = {  # of these columns
    "key": "string",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}


@dataclass(frozen=True)
class Message:
    """A message: the inner record, and the envelope if it has one. Of an Avro message also the
    namespace, and the fields of `data`, of the schema that wrote it."""

    is_metadata: bool
    record: Any
    envelope: Mapping[str, Any] | None
    namespace: str | None = None
    fields: Sequence[str] | None = None


def is_frame(value: bytes) -> bool:
    """Rule 2: a registry frame."""
    return len(value) > 5 and value[0] == 0


def is_avro(value: bytes) -> bool:
    """Rule 2: an Avro envelope or a registry frame."""
    return value.startswith(b"atMSG") or is_frame(value)


def open_message(value: bytes) -> Message:
    """Rules 2 and 3."""
    if is_avro(value):
        raise Malformed("avro_unsupported")
    if not value.lstrip(BLANKS.encode()).startswith(b"{"):
        raise Malformed("bad_message")
    try:
        content = strict_json.read_object(value)
        if not names.has(content, "magic", "message"):
            is_metadata = names.has(content, "dataSchema", "tableStructure")
            return Message(is_metadata, content, None)
        if text_of(names.member(content, "magic")) != "atMSG":
            raise Malformed("bad_message")
        kind = text_of(names.member(content, "type"))
        record = names.member(content, "message")
    except (NoJson, names.Ambiguous):
        raise Malformed("bad_message") from None
    if kind not in ("DT", "MD"):
        raise Malformed("unknown_message_type")
    return Message(kind == "MD", record, content)


def headers_of(record: Any) -> Mapping[str, Any]:
    """Rule 5: the headers of the inner record of a data message."""
    if not isinstance(record, dict):
        raise Malformed("bad_message")
    try:
        headers = names.member(record, "headers")
        if not isinstance(headers, dict):
            is_known = names.has(record, "op", "operation")
            raise Malformed("unsupported_layout" if is_known else "bad_message")
    except names.Ambiguous:
        raise Malformed("bad_message") from None
    return headers


# ----------------------------------------------------------------------------------------- versions


@dataclass(frozen=True)
class Column:
    """A column of a version."""

    name: str
    ordinal: int
    type: str | None = None
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    primary_key_position: int | None = None
    nullable: bool | None = None


@dataclass(frozen=True)
class Version:
    """A row of `qlik_schema_versions`."""

    schema_id: str
    source_schema: str | None
    source_table: str | None
    table_version: int | None
    written_at: datetime | None
    server: str | None
    task: str | None
    columns: tuple[Column, ...]
    data_schema: str | None

    @property
    def table(self) -> tuple[str | None, str | None]:
        """Schema and table in lower case, as names of tables match."""
        schema, table = self.source_schema or None, self.source_table or None
        return schema and schema.lower(), table and table.lower()


AvroReader = Callable[[bytes, Sequence[Version], datetime | None], Message]
"""Reads an Avro message; given are the known versions, and the time of its first delivery."""

COLUMN_MEMBERS = {
    "type": ("type", "string"),
    "length": ("length", "bigint"),
    "precision": ("precision", "int"),
    "scale": ("scale", "int"),
    "primary_key_position": ("primaryKeyPosition", "int"),
    "nullable": ("nullable", "boolean"),
}


def read_version(record: Any, timestamp: datetime | None) -> Version:
    """Rules 2 and 3: one metadata message."""
    try:
        return _read_version(record, timestamp)
    except names.Ambiguous:
        raise Malformed("bad_message") from None
    except BadValue:
        raise Malformed("bad_metadata") from None


def _read_version(record: Any, timestamp: datetime | None) -> Version:
    if not isinstance(record, dict):
        raise BadValue
    schema_id = read_value("string", names.member(record, "schemaId"))
    lineage = names.member(record, "lineage")
    structure = names.member(record, "tableStructure")
    data_schema = read_value("string", names.member(record, "dataSchema"))
    lineage = {} if lineage is None else lineage
    if not schema_id or not isinstance(lineage, dict):
        raise BadValue
    if structure is not None:
        columns = _columns_of_structure(structure)
    elif data_schema is not None:
        columns = _columns_of_data_schema(data_schema)
    else:
        raise BadValue
    told_at = unless_bad("timestamp", text_of(names.member(lineage, "timestamp")))
    return Version(
        schema_id,
        read_value("string", names.member(lineage, "schema")),
        read_value("string", names.member(lineage, "table")),
        read_value("bigint", names.member(lineage, "tableVersion")),
        timestamp or told_at,
        read_value("string", names.member(lineage, "server")),
        read_value("string", names.member(lineage, "task")),
        columns,
        data_schema,
    )


def _columns_of_structure(structure: Any) -> tuple[Column, ...]:
    columns = names.member(structure, "tableColumns") if isinstance(structure, dict) else None
    if not isinstance(columns, dict) or not columns:
        raise BadValue
    found = []
    for name, facts in columns.items():
        if not isinstance(facts, dict):
            raise BadValue
        ordinal = read_value("int", names.member(facts, "ordinal"))
        if ordinal is None or ordinal < 1:
            raise BadValue
        more = {
            field_name: read_value(sql_type, names.member(facts, member))
            for field_name, (member, sql_type) in COLUMN_MEMBERS.items()
        }
        found.append(Column(name, ordinal, **more))
    if len({column.ordinal for column in found}) < len(found):
        raise BadValue
    return tuple(sorted(found, key=lambda column: column.ordinal))


def _columns_of_data_schema(text: str) -> tuple[Column, ...]:
    """The fields of the record `data` in an Avro schema; types may be named where they stand."""
    try:
        schema = strict_json.read_object(text.encode())
    except NoJson:
        raise BadValue from None
    records: dict[str, Mapping[str, Any]] = {}
    _collect_records(schema, records)
    data = _record(_field_type(schema, "data"), records)
    fields = data.get("fields")
    if not isinstance(fields, list) or not all(isinstance(one, dict) for one in fields):
        raise BadValue
    return tuple(Column(str(one.get("name")), place) for place, one in enumerate(fields, start=1))


def _collect_records(schema: Any, records: dict[str, Mapping[str, Any]]) -> None:
    parts = schema if isinstance(schema, list) else []
    if isinstance(schema, dict):
        if schema.get("type") == "record" and isinstance(schema.get("name"), str):
            records.setdefault(schema["name"].rpartition(".")[2], schema)
        parts = [schema.get("type"), *(schema.get("fields") or [])]
    for part in parts:
        _collect_records(part, records)


def _field_type(schema: Any, name: str) -> Any:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list) or schema.get("type") != "record":
        raise BadValue
    by_name = {one["name"]: one for one in fields if isinstance(one, dict) and "name" in one}
    found = names.member(by_name, name)
    if found is None:
        raise BadValue
    return found.get("type")


def _record(schema: Any, records: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The record that a type is: itself, the one of a union, or one that is named."""
    if isinstance(schema, list):
        others = [one for one in schema if one != "null"]
        schema = others[0] if len(others) == 1 else None
    if isinstance(schema, str):
        schema = records.get(schema.rpartition(".")[2])
    if isinstance(schema, dict) and isinstance(schema.get("type"), (dict, list)):
        return _record(schema["type"], records)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise BadValue
    return schema


@dataclass
class Versions:
    """The rows, and what became of each metadata record by its place."""

    rows: list[Version] = field(default_factory=list)
    no_ops: list[int] = field(default_factory=list)
    quarantine: list[tuple[int, str]] = field(default_factory=list)

    def raw_counts(self, records: Sequence[Record]) -> dict[str, int]:
        return raw_counts(len(records), len(self.quarantine), len(self.no_ops))


def read_versions(records: Sequence[Record], avro: AvroReader | None = None) -> Versions:
    """The table of schema versions (rules 1 and 4). ``avro``: what reads Avro messages."""
    found = Versions()
    by_content: dict[tuple[Any, ...], Version] = {}
    for place, record in enumerate(records):
        try:
            version = version_of(record, avro)
        except Malformed as error:
            found.quarantine.append((place, error.args[0]))
            continue
        if version is None:
            found.no_ops.append(place)
            continue
        content = astuple(replace(version, written_at=None))
        times = [
            one.written_at
            for one in (version, by_content.get(content, version))
            if one.written_at is not None
        ]
        by_content[content] = replace(version, written_at=min(times, default=None))
    found.rows = list(by_content.values())
    return found


def version_of(record: Record, avro: AvroReader | None = None) -> Version | None:
    """The version that a record tells; None: a tombstone or a data message."""
    value = record["value"]
    if value is None or is_frame(value) or value.startswith(b"atMSG\x04DT"):
        return None
    read = avro if is_avro(value) else None
    message = read(value, [], None) if read else open_message(value)
    if message.is_metadata:
        return read_version(message.record, record.get("timestamp"))
    if message.envelope is None:
        headers_of(message.record)
    return None
