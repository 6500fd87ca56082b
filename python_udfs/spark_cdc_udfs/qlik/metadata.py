"""The version of a table that a metadata message describes.

Section 4, "Schema versions", of the format's reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from spark_cdc_udfs.qlik.schema import SchemaError, parse_schema
from spark_cdc_udfs.qlik.strict import Members, text_of

LINEAGE = {
    "schema": "string",
    "table": "string",
    "tableVersion": "bigint",
    "server": "string",
    "task": "string",
}
COLUMN = {
    "ordinal": "int",
    "type": "string",
    "length": "bigint",
    "precision": "int",
    "scale": "int",
    "primaryKeyPosition": "int",
    "nullable": "boolean",
}
BITS = {"int": 31, "bigint": 63}

_RECORDS = Members("schemaId", "lineage", "tableStructure", "dataSchema")
_LINEAGES = Members(*LINEAGE, "timestamp")
_STRUCTURES = Members("tableColumns")
_COLUMNS = Members(*COLUMN)

_INTEGER = re.compile(r" *([+-]?[0-9]{1,400})(?:\.0{0,400})? *\Z")
_NUMBER = re.compile(r" *([+-]?[0-9.]{1,900}(?:[eE][+-]?[0-9]{1,4})?) *\Z")
_BOOLEAN = re.compile(
    r" *(?:(true|t|yes|y|1(?:\.0{0,400})?)|false|f|no|n|0(?:\.0{0,400})?) *\Z", re.I
)


class BadMetadata(ValueError):
    """A metadata message that describes no version."""


def read_version(record: Any) -> dict[str, Any]:
    """Read the inner record of a metadata message.

    Gives the columns of `qlik_schema_versions`, with `told_at`, the text of the lineage's
    timestamp, for `written_at`. Raises BadMetadata, and Ambiguous.
    """
    if not isinstance(record, dict):
        raise BadMetadata("the message is no object")
    schema_id = text_of(_RECORDS.get(record, "schemaId"))
    if not schema_id:
        raise BadMetadata("schemaId is missing or no text")
    lineage = _RECORDS.get(record, "lineage")
    if lineage is not None and not isinstance(lineage, dict):
        raise BadMetadata("lineage is no object")
    lineage = lineage or {}
    told = {name: _read(lineage, _LINEAGES, name, of) for name, of in LINEAGE.items()}
    structure, schema = (_RECORDS.get(record, name) for name in ("tableStructure", "dataSchema"))
    data_schema = text_of(schema)
    if schema is not None and data_schema is None:
        raise BadMetadata("dataSchema is no text")
    if structure is None and data_schema is None:
        raise BadMetadata("there is no tableStructure and no dataSchema")
    return {
        "schema_id": schema_id,
        "source_schema": told["schema"],
        "source_table": told["table"],
        "table_version": told["tableVersion"],
        "told_at": text_of(_LINEAGES.get(lineage, "timestamp")),
        "server": told["server"],
        "task": told["task"],
        "columns": _columns_of_schema(data_schema or "")
        if structure is None
        else _columns_of_structure(structure),
        "data_schema": data_schema,
    }


def _read(found: Mapping[str, Any], members: Members, name: str, type_: str) -> Any:
    """Read a member that may be missing, as a value of its type."""
    value = members.get(found, name)
    if value is None:
        return None
    text = text_of(value)
    read = None if text is None else text if type_ == "string" else _value(text, type_)
    if read is None:
        raise BadMetadata(f"{name}: '{'an object' if text is None else text[:100]}' is no {type_}")
    return read


def _value(text: str, type_: str) -> int | bool | None:
    """Read a text as the values page says; None if it is no such value."""
    if type_ == "boolean":
        found = _BOOLEAN.match(text)
        return None if found is None else found[1] is not None
    if match := _INTEGER.match(text):
        number = int(match[1])
    elif match := _NUMBER.match(text):
        try:
            value = Decimal(match[1], Context(prec=1000, Emax=10**6, Emin=-(10**6)))
        except InvalidOperation:
            return None
        if value.adjusted() > 38 or value != value.to_integral_value():
            return None
        number = int(value)
    else:
        return None
    return number if -(1 << BITS[type_]) <= number < 1 << BITS[type_] else None


def _columns_of_structure(structure: Any) -> list[dict[str, Any]]:
    columns = _STRUCTURES.get(structure, "tableColumns") if isinstance(structure, dict) else None
    columns = columns if isinstance(columns, dict) else {}
    if not columns or not all(isinstance(one, dict) for one in columns.values()):
        raise BadMetadata("tableStructure has no tableColumns, or no object in them")
    found = [_column(name, facts) for name, facts in columns.items()]
    ordinals = {one["ordinal"] for one in found}
    if len(ordinals) < len(found) or any(one is None or one < 1 for one in ordinals):
        raise BadMetadata("an ordinal is missing, is no whole number from 1 on, or is there twice")
    return sorted(found, key=lambda one: one["ordinal"])


def _column(name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    read = {}
    for member, type_ in COLUMN.items():
        try:
            read[member] = _read(facts, _COLUMNS, member, type_)
        except BadMetadata as error:
            raise BadMetadata(f"{name[:100]}: {error}") from None
    read["primary_key_position"] = read.pop("primaryKeyPosition")
    return {"name": name, **read}


def _columns_of_schema(text: str) -> list[dict[str, Any]]:
    """Give the fields of the record `data` in an Avro schema, without types."""
    try:
        names = parse_schema(text).data_fields
    except SchemaError as error:
        raise BadMetadata(f"dataSchema: {error}") from None
    if names is None:
        raise BadMetadata("dataSchema has no record data")
    facts = dict.fromkeys((*COLUMN, "primary_key_position"))
    del facts["primaryKeyPosition"]
    return [{"name": name, **facts, "ordinal": place} for place, name in enumerate(names, start=1)]
