"""Tables of plain Python rows as parquet files, with the types that Spark gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

Row = Mapping[str, Any]

_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}


def arrow_type(sql_type: str) -> pa.DataType:
    """The Arrow type of a Spark SQL type; for a struct the types of its fields, in order."""
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", sql_type):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if array := re.fullmatch(r"array<(.*)>", sql_type):
        return pa.list_(arrow_type(array[1]))
    return _TYPES[sql_type]


def write_parquet(
    path: Path, columns: Mapping[str, str | Mapping[str, str]], rows: Sequence[Row], files: int = 2
) -> None:
    """Write ``rows`` as parquet files into the folder ``path``.

    A column's type is a Spark SQL type; for a struct a mapping of its fields to their types.
    """
    schema = pa.schema(
        [
            pa.field(
                name,
                arrow_type(kind)
                if isinstance(kind, str)
                else pa.struct([pa.field(field, arrow_type(of)) for field, of in kind.items()]),
            )
            for name, kind in columns.items()
        ]
    )
    path.mkdir(parents=True)
    for part in range(files):
        table = pa.Table.from_pylist([dict(row) for row in rows[part::files]], schema=schema)
        pq.write_table(table, path / f"part-{part}.parquet")
