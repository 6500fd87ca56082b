"""Prints the demo's tables: raw rows, current state and history of the orders, row counts."""

from __future__ import annotations

import os
from typing import Any

from pyhive import hive  # type: ignore[import-untyped]  # it ships no types

SHOWN = [
    (
        "raw rows of the change table (seeds/demo_orders__ct.csv)",
        "select header__change_seq, header__change_oper, header__change_mask, order_id, status,"
        " amount from demo_orders__ct order by header__change_seq, header__change_oper limit 8",
    ),
    (
        "current state (models demo_orders)",
        "select order_id, status, amount, cdc_operation, cdc_commit_at"
        " from demo_orders order by order_id limit 8",
    ),
    (
        "history (model demo_orders__history)",
        "select order_id, status, amount, cdc_valid_from, cdc_valid_to, cdc_operation, cdc_ended_by"
        " from demo_orders__history order by order_id, cdc_valid_from_sequence limit 12",
    ),
    (
        "raw rows that are no events (model demo_orders__quarantine)",
        "select reason, detail from demo_orders__quarantine order by reason",
    ),
]


def as_text(header: list[str], rows: list[tuple[Any, ...]]) -> str:
    """The rows under their header, in columns as wide as their widest value."""
    table = [header, *([("" if value is None else str(value)) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(header))]
    return "\n".join(
        "  "
        + "  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )


def main() -> None:
    """Reads the demo's tables over Thrift, at the address in the dbt profile."""
    connection = hive.connect(
        os.environ.get("SPARK_CDC_HOST", "127.0.0.1"),
        int(os.environ.get("SPARK_CDC_PORT", "10000")),
        username=os.environ.get("SPARK_CDC_USER", "spark_cdc"),
        database=os.environ.get("SPARK_CDC_SCHEMA", "spark_cdc"),
    )
    cursor = connection.cursor()
    for title, query in SHOWN:
        cursor.execute(query)
        header = [column[0].split(".")[-1] for column in cursor.description]
        print(f"\n{title}\n{as_text(header, cursor.fetchall())}")
    cursor.execute("show tables")
    tables = sorted(row[1] for row in cursor.fetchall() if "__cdc_" not in row[1])
    cursor.execute(
        " union all ".join(
            f"select '{table}' as name, count(*) as n from `{table}`" for table in tables
        )
    )
    print(f"\nrow counts\n{as_text(['table', 'rows'], sorted(cursor.fetchall()))}")
    connection.close()


if __name__ == "__main__":
    main()
