"""What answers queries, and the names and texts that queries are written with."""

from __future__ import annotations

import re
from typing import Any, Protocol

Row = tuple[Any, ...]


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
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + text.replace("${", "\\u0024{") + "'"  # Spark replaces ${…} in statements


def table_name(schema: str, table: str) -> str:
    """Write the name of a table; a schema may have a catalog before it."""
    parts = [part if part.startswith("`") else quoted(part) for part in schema.split(".")]
    return ".".join([*parts, quoted(table)])


def first_line(error: Exception) -> str:
    """Give the words of an error that a user can act on, in one line."""
    words = str(error)
    told = re.search(r"\[[A-Z_.]+\][^\n]*", words)
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return (told[0] if told else lines[0] if lines else type(error).__name__)[:300]
