"""Which messages of a topic with many tables a table needs. See docs/formats/qlik_messages.md."""

from __future__ import annotations

from dataclasses import dataclass

from spark_cdc_udfs.generate.call import Expression, config
from spark_cdc_udfs.generate.lake import Columns
from spark_cdc_udfs.lake.queries import literal

# The column with the table of each message.
COLUMN = "message_table"


@dataclass(frozen=True)
class Route:
    """The messages of a table, by `schema.table` in lower case; also those of no certain table."""

    table: str


def route_of(schema: str, table: str) -> Route:
    """Choose the messages of a table."""
    return Route(".".join(filter(None, (schema, table))).lower())


def is_routed(columns: Columns) -> bool:
    """Say whether a relation has the column already."""
    return COLUMN in map(str.lower, columns)


def without_column(columns: Columns) -> Columns:
    """Give the columns that a table sees. With the column a message could change its meaning."""
    return {name: column for name, column in columns.items() if name.lower() != COLUMN}


def with_column(raw: Expression, versions: Expression) -> str:
    """Write the view that adds the table of each message."""
    return (
        f"{config({'materialized': 'view'})}\n\n"
        "select\n    *,\n    {{ spark_cdc.qlik_message_table(\n"
        f"        {raw.text},\n        versions={versions.text}\n"
        f"    ) | indent(4) }}}} as {COLUMN}\nfrom {{{{ {raw.text} }}}}\n"
    )


def messages_of(log: Expression, route: Route) -> str:
    """Write the view with the messages of a table."""
    return (
        f"{config({'materialized': 'view'})}\n\n"
        f"select * except ({COLUMN})\nfrom {{{{ {log.text} }}}}\n"
        f"where {COLUMN} = {literal(route.table)} or {COLUMN} is null\n"
    )
