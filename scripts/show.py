"""The last screen of `make demo`: what was built of each format, and what to try next."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyhive import hive  # type: ignore[import-untyped]  # it ships no types

# The decoder of each table, by its model of change events.
TABLES = {
    path.stem.removesuffix("__changes"): path.parent.name
    for path in sorted(Path(__file__).parents[1].glob("models/*/*__changes.sql"))
}
PARTS = ("__changes", "", "__history", "__quarantine")
HEADER = ("table", "decoder", "raw rows", "events", "rows", "versions", "in quarantine")

# Each query, and what it shows.
QUERIES = {
    "select order_id, status, amount from {{ ref('demo_orders') }}": "the orders that exist",
    "select * from {{ ref('demo_orders__as_of') }}": "the orders of half past eight",
    "select status, cdc_valid_from, cdc_valid_to, cdc_ended_by"
    " from {{ ref('demo_orders__history') }} where order_id = 1": "the versions of an order",
    "select reason, detail from {{ ref('demo_invoices__quarantine') }}": "messages that are wrong",
    "select xds from {{ ref('demo_users__xds') }}": "what Identity Manager would send",
}


def counts(cursor: Any) -> Iterator[tuple[str, ...]]:
    """Count the rows of each table, in one query."""
    selects = [
        f"select {number}, raw_rows, "
        + ", ".join(f"(select count(*) from `{table}{part}`)" for part in PARTS)
        + f" from `{table}__counts`"
        for number, table in enumerate(TABLES)
    ]
    cursor.execute(" union all ".join(selects))
    found = {number: counted for number, *counted in cursor.fetchall()}
    for number, (table, decoder) in enumerate(TABLES.items()):
        yield (table, decoder, *map("{:,}".format, found[number]))


def as_text(lines: Sequence[Sequence[str]]) -> str:
    """Write lines in columns as wide as their widest value, numbers at the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            value.rjust(width) if value[0].isdigit() else value.ljust(width)
            for value, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def main() -> None:
    """Read the demo's tables over Thrift, at the address in the dbt profile."""
    connection = hive.connect(
        os.environ.get("SPARK_CDC_HOST", "127.0.0.1"),
        int(os.environ.get("SPARK_CDC_PORT", "10000")),
        username=os.environ.get("SPARK_CDC_USER", "spark_cdc"),
        auth="CUSTOM",
        password=os.environ.get("DBT_ENV_SECRET_SPARK_CDC_TOKEN", "-"),
        database=os.environ.get("SPARK_CDC_SCHEMA", "spark_cdc"),
    )
    print(as_text([HEADER, *counts(connection.cursor())]))
    connection.close()
    print("\nThe server keeps running. Five queries to try:\n")
    print(". .venv/bin/activate")
    print('eval "$(spark-cdc-server env)"')
    print("export DBT_PROFILES_DIR=$PWD/profiles")
    for query, shown in QUERIES.items():
        print(f"\n# {shown}")
        print(f'dbt show --quiet --limit 20 --inline "{query}"')
    print("\nPages:\n")
    print("target/health.html    which tables need a look, the worst first: open it in a browser")
    print("make docs             every table and column, and the lineage, on http://127.0.0.1:8080")
    print("make clean            stops the server and removes everything")


if __name__ == "__main__":
    main()
