"""What the lake is asked: its tables, their columns, and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.lake.queries import Lake, QueryFailed, quoted, table_name


@dataclass(frozen=True)
class Column:
    """The Spark SQL type of a column, its comment ('' if it has none), and its part in folders."""

    type: str
    comment: str = ""
    is_partition: bool = False


Columns = Mapping[str, Column]


def tables_in(lake: Lake, schema: str) -> list[str]:
    """List the tables and views of a schema, by name. Raises Failure if it cannot be read."""
    there = table_name(schema, "x").rpartition(".")[0]
    try:
        rows = lake.rows(f"show tables in {there}")
    except QueryFailed as error:
        raise Failure(f"the schema {schema} cannot be read: {error}") from error
    # namespace, name, whether it is temporary
    return sorted(str(row[1]) for row in rows if not row[2])


def columns_in(lake: Lake, schema: str, table: str) -> dict[str, Column]:
    """Give the columns of a table in their order.

    Raises QueryFailed if it cannot be read.
    """
    found: dict[str, Column] = {}
    are_partitions = False
    for name, kind, comment, *_ in lake.rows(f"describe table {table_name(schema, table)}"):
        # partition columns follow the others, and are columns above as well
        are_partitions = are_partitions or not name or str(name).startswith("# ")
        if not are_partitions or str(name) in found:
            found[str(name)] = Column(str(kind), str(comment or ""), are_partitions)
    cut = [name for name, column in found.items() if " more fields" in column.type]
    for name in cut:  # a wide struct, which `describe` shortens
        query = f"select any_value(typeof({quoted(name)})) from {table_name(schema, table)}"
        shown = lake.rows(f"{query} where false")
        kind = str(shown[0][0]) if shown and shown[0][0] else found[name].type
        found[name] = Column(kind, found[name].comment)
    return found
