"""Writes messages: envelopes, headers, masks, metadata, JSON with numbers digit by digit."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from formats.qlik_messages.strict_json import Number

Members = dict[str, Any]

QLIK_TYPES = {
    "tinyint": "INT1",
    "smallint": "INT2",
    "int": "INT4",
    "bigint": "INT8",
    "float": "REAL4",
    "double": "REAL8",
    "boolean": "BOOLEAN",
    "string": "WSTRING",
    "binary": "BYTES",
    "date": "DATE",
    "timestamp": "DATETIME",
    "timestamp_ntz": "DATETIME",
}


class Pairs(list[tuple[str, Any]]):
    """An object with members as they stand, of one name too."""


def dump(value: Any) -> str:
    """A value as JSON, without blanks; a :class:`Number` as it is."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, (Mapping, Pairs)):
        members = value.items() if isinstance(value, Mapping) else value
        return "{" + ",".join(f"{dump(name)}:{dump(one)}" for name, one in members) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(dump, value))}]"
    return as_json(value)


as_json = json.JSONEncoder(ensure_ascii=False).encode


def json_value(value: Any, rng: random.Random) -> Any:
    """A value of a column as a task writes it: numbers as numbers, or as text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return rng.choice((value, value, str(value).lower()))
    if isinstance(value, bytes):
        return rng.choice((value.hex(), value.hex().upper()))
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    if isinstance(value, date):
        return value.isoformat()
    text = f"{value:f}" if isinstance(value, Decimal) else repr(value)
    return rng.choice((Number(text), text))


def mask(bits: Iterable[int], columns: int, rng: random.Random) -> str:
    """A mask of a table with so many columns, in one of the spellings that were seen."""
    number = sum(1 << bit for bit in set(bits))
    text = f"{number:0{2 * (columns // 8 + 1)}X}"
    trimmed = f"{number:x}"
    return rng.choice((text, text, text.lower(), trimmed))


def headers(operation: str, sequence: str = "", **more: Any) -> Members:
    """The headers of a data message; those of a load are empty."""
    is_load = operation == "REFRESH"
    return {
        "operation": operation,
        "changeSequence": sequence,
        "timestamp": "" if is_load else "2024-02-29T08:15:01.500",
        "streamPosition": "" if is_load else "00000000.00a1b2c3.00000001.0000.01.0000:12.34.16",
        "transactionId": "",
        "changeMask": None,
        "columnMask": None,
        **more,
    }


def envelope(content: Any, kind: str = "DT", schema_id: str | None = None) -> Members:
    return {
        "magic": "atMSG",
        "type": kind,
        "headers": None,
        "messageSchemaId": schema_id,
        "messageSchema": None,
        "message": content,
    }


def metadata(
    schema_id: str,
    table: tuple[str, str],
    table_version: int,
    columns: Sequence[str],
    types: Mapping[str, str],
    key: Sequence[str],
    at: datetime,
    data_schema: str = "{}",
) -> Members:
    """A metadata message, without its envelope. ``columns``: by ordinal."""
    structure = {}
    for place, name in enumerate(columns, start=1):
        sql_type = types.get(name, "string")
        precision, scale = 0, 0
        if sql_type.startswith("decimal("):
            precision, scale = map(int, sql_type[len("decimal(") : -1].split(","))
        structure[name] = {
            "ordinal": place,
            "type": QLIK_TYPES.get(sql_type, "NUMERIC"),
            "length": 40 if sql_type == "string" else 0,
            "precision": precision,
            "scale": scale,
            "primaryKeyPosition": key.index(name) + 1 if name in key else 0,
            "nullable": name not in key,
        }
    schema, name = table
    return {
        "schemaId": schema_id,
        "lineage": {
            "server": "replicate",
            "task": "erp to kafka",
            "schema": schema,
            "table": name,
            "tableVersion": table_version,
            "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.000",
        },
        "tableStructure": {"tableColumns": structure},
        "dataSchema": data_schema,
    }
