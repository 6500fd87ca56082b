"""What Qlik Replicate tells of its tables: metadata messages, and `.dfm` files beside landed files.

See docs/formats/qlik_messages.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spark_cdc_udfs.generate.lake import Columns
from spark_cdc_udfs.lake.queries import Lake, QueryFailed, quoted, table_name

# Types of Qlik Replicate and of Spark SQL. DATETIME and NUMERIC depend on more.
TYPES = {
    "DATE": "date",
    "TIME": "string",
    "INT1": "tinyint",
    "INT2": "smallint",
    "INT4": "int",
    "INT8": "bigint",
    "UINT1": "smallint",
    "UINT2": "int",
    "UINT4": "bigint",
    "UINT8": "decimal(20,0)",
    "REAL4": "float",
    "REAL8": "double",
    "BOOLEAN": "boolean",
    "BYTES": "binary",
    "BLOB": "binary",
    **dict.fromkeys(("STRING", "WSTRING", "CLOB", "NCLOB"), "string"),
}
LARGE = ("BLOB", "CLOB", "NCLOB")  # large objects, which have no bit in a change mask
DIGITS = 38  # of a decimal of Spark

# The first bytes of a metadata message in Avro: `atMSG`, and the type `MD`.
AVRO_METADATA = "61744D5347044D44"


@dataclass(frozen=True)
class Told:
    """What Qlik Replicate tells of a table."""

    columns: Mapping[str, str]  # name to Spark SQL type, in table order
    key: tuple[str, ...]
    schema: str = ""
    table: str = ""
    notes: tuple[str, ...] = ()
    large: tuple[str, ...] = ()  # large objects


def spark_type(told: Mapping[str, Any], datetime: str) -> tuple[str, str]:
    """Give the Spark SQL type of a column, and a note if the type is not exact ('' if it is)."""
    name = str(member(told, "type") or "").upper()
    if name == "DATETIME":
        return datetime, ""
    if name != "NUMERIC":
        known = TYPES.get(name)
        return (known, "") if known else ("string", f"type {name or 'missing'} is taken as string")
    precision, scale = (whole(told, one) for one in ("precision", "scale"))
    if 0 < precision <= DIGITS and 0 <= scale <= precision:
        return f"decimal({precision},{scale})", ""
    return "string", f"NUMERIC with precision {precision} and scale {scale} is taken as string"


def member(of: Any, name: str) -> Any:
    """Give a member of a JSON object by its name, else by its name in any case."""
    if not isinstance(of, dict):
        return None
    if name in of:
        return of[name]
    found = [value for key, value in of.items() if str(key).lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def whole(of: Any, name: str) -> int:
    """Give a member that is a whole number; 0 if it is missing. Raises ValueError."""
    value = member(of, name)
    if value is None or value == "":
        return 0
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(f"{name} is {value}")
    return int(value)


def table_of(columns: Sequence[tuple[str, Any]], position: str, datetime: str) -> Told | None:
    """Read the columns of a table, each a name and a JSON object.

    `position` is the member with the position in the key. None: a column cannot be read.
    """
    types, key = {}, {}
    notes, large = [], []
    for name, told in columns:
        try:
            kind, note = spark_type(told, datetime)
            place = whole(told, position)
        except (TypeError, ValueError):
            return None
        types[name] = kind
        if note:
            notes.append(f"{name}: {note}")
        if place > 0:
            key[place] = name
        if str(member(told, "type")).upper() in LARGE:
            large.append(name)
    in_order = tuple(key[place] for place in sorted(key))
    return Told(types, in_order, notes=tuple(notes), large=tuple(large))


# Metadata messages


def metadata_query(schema: str, relation: str, columns: Columns) -> str:
    """Write the query for metadata messages: the hexadecimal digits of each, and its last time."""
    names = {name.lower(): name for name in columns}
    value = quoted(names.get("value", "value"))
    at = f"cast(max({quoted(names['timestamp'])}) as string)" if "timestamp" in names else "''"
    return (
        f"select hex(cast({value} as binary)), {at} from {table_name(schema, relation)}"
        f" where cast({value} as string) like '%\"lineage\"%'"
        f" or substring(cast({value} as binary), 1, 8) = X'{AVRO_METADATA}' group by {value}"
    )


def read_metadata(
    messages: Iterable[tuple[str, str | None]], datetime: str
) -> tuple[dict[str, Told], int]:
    """Read metadata messages, each with its time as text.

    Gives the last version of each table by `schema.table` in lower case, and how many messages
    cannot be read. A table that only has Avro schemas has no columns here.
    """
    found: dict[str, tuple[tuple[str, int], Told]] = {}
    unread = 0
    for digits, at in messages:
        content = metadata_of(bytes.fromhex(digits))
        if content is None:
            continue
        version = version_of(content, at, datetime)
        if version is None:
            unread += 1
            continue
        order, told = version
        name = f"{told.schema}.{told.table}".lower()
        if name not in found or found[name][0] <= order:
            found[name] = order, told
    return {name: told for name, (_, told) in sorted(found.items())}, unread


def version_of(
    content: Mapping[str, Any], at: str | None, datetime: str
) -> tuple[tuple[str, int], Told] | None:
    """Read one version of a table, and its place in their order; None if it cannot be read."""
    lineage = member(content, "lineage")
    schema, table = str(member(lineage, "schema") or ""), member(lineage, "table")
    listed = member(member(content, "tableStructure"), "tableColumns")
    if not isinstance(table, str):
        return None
    if listed is None and member(content, "dataSchema"):
        return ("", 0), Told({}, (), schema, table)
    try:
        ordered = sorted(listed.items(), key=lambda one: whole(one[1], "ordinal"))
        written_at = str(at or member(lineage, "timestamp") or "")
        order = (written_at, whole(lineage, "tableVersion"))
    except (AttributeError, TypeError, ValueError):
        return None
    told = table_of(ordered, "primaryKeyPosition", datetime)
    return None if told is None else (order, replace(told, schema=schema, table=table))


def metadata_of(value: bytes) -> dict[str, Any] | None:
    """Give the metadata in a message: {} if it cannot be read, None if it has none."""
    try:
        text = avro_as_json(value) if value.startswith(b"atMSG") else value.decode("utf-8")
        content = json.loads(text)
        json.dumps(content, ensure_ascii=False).encode()  # no half of a surrogate pair
    except (ValueError, RecursionError):
        return {}
    if member(content, "message") is not None or member(content, "magic") is not None:
        if member(content, "type") != "MD":
            return None
        content = member(content, "message")
    return content if isinstance(content, dict) else {}


def avro_as_json(value: bytes) -> str:
    """Give the JSON message with the content of an Avro message. Raises ValueError."""
    import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

    from spark_cdc_udfs.qlik.messages import Decoder
    from spark_cdc_udfs.qlik.versions import Known

    for batch in Decoder(Known()).decode(pa.array([value], pa.binary()), pa.nulls(1, pa.int64())):
        text: str | None = batch.column("json")[0].as_py()
        if text is not None:
            return text
    raise ValueError("no Avro message with its schema")


# .dfm files


def dfm_of(lake: Lake, schema: str, table: str, data: Iterable[str], datetime: str) -> Told | str:
    """Read the newest `.dfm` file beside the files of a table; a text says why there is none."""
    try:
        described = lake.rows(f"describe table extended {table_name(schema, table)}")
        places = [str(row[1]) for row in described if row[0] == "Location" and row[1]]
        if not places:
            return "the table has no folder with .dfm files"
        files = places[0].rstrip("/") + "/{*,*/*}.dfm"
        rows = lake.rows(
            f"select hex(content), path from binaryFile.{quoted(files)}"
            " order by modificationTime desc, path desc limit 1"
        )
    except QueryFailed as failed:
        if "PATH_NOT_FOUND" not in str(failed):
            return f"its .dfm files cannot be read: {failed}"
        rows = []
    if not rows:
        return "no .dfm file beside its files"
    return read_dfm(bytes.fromhex(rows[0][0]), str(rows[0][1]), data, datetime)


def read_dfm(content: bytes, path: str, data: Iterable[str], datetime: str) -> Told | str:
    """Read the columns `data` of a table from a `.dfm` file; a text says why that cannot be."""
    try:
        listed = member(member(json.loads(content.decode("utf-8-sig")), "dataInfo"), "columns")
        columns = {str(member(one, "name")).lower(): one for one in listed}
    except (ValueError, TypeError, RecursionError):
        return f"{path} has no dataInfo.columns"
    missing = [name for name in data if name.lower() not in columns]
    if missing:
        return f"{path} does not name {', '.join(missing[:3])}"
    told = table_of([(name, columns[name.lower()]) for name in data], "primaryKeyPos", datetime)
    return told or f"{path} has a column that cannot be read"
