"""What the lake is asked: its tables, their columns, and rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from spark_cdc_udfs.errors import Failure

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Column:
    """The Spark SQL type of a column, and its comment ('' if it has none)."""

    type: str
    comment: str = ""


Columns = Mapping[str, Column]


class QueryFailed(Exception):
    """The server refused a query; the message is its first line."""


class Lake(Protocol):
    """What answers queries in Spark SQL."""

    @property
    def schema(self) -> str:
        """The schema in which dbt builds models."""

    def rows(self, query: str) -> list[Row]:
        """Run a query and give its rows. Raises QueryFailed."""


def quoted(name: str) -> str:
    """Quote the name of a column, or of one part of a table's name."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Write a text as a literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def table_name(schema: str, table: str) -> str:
    """Write the name of a table; a schema may have a catalog before it."""
    parts = [part if part.startswith("`") else quoted(part) for part in schema.split(".")]
    return ".".join([*parts, quoted(table)])


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
    for name, kind, comment, *_ in lake.rows(f"describe table {table_name(schema, table)}"):
        if not name or str(name).startswith("# "):
            break  # partition columns follow, which are columns above as well
        found[str(name)] = Column(str(kind), str(comment or ""))
    cut = [name for name, column in found.items() if " more fields" in column.type]
    for name in cut:  # a wide struct, which `describe` shortens
        query = f"select any_value(typeof({quoted(name)})) from {table_name(schema, table)}"
        shown = lake.rows(f"{query} where false")
        kind = str(shown[0][0]) if shown and shown[0][0] else found[name].type
        found[name] = Column(kind, found[name].comment)
    return found


def first_line(error: Exception) -> str:
    """Give the words of an error that a user can act on, in one line."""
    words = str(error)
    told = re.search(r"\[[A-Z_.]+\][^\n]*", words)
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return (told[0] if told else lines[0] if lines else type(error).__name__)[:300]
