"""The feeds of the demo, read by Debezium's own transformation, give the rows of current state."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from kit.debezium import unwrapped
from kit.warehouse import Warehouse

# For each table its columns as Kafka Connect has them, in SQL: the session is in UTC.
TIME = """date_format({}, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")"""
TABLES: Mapping[str, Mapping[str, str]] = {
    "demo_order_lines": {
        "order_id": "order_id",
        "line_no": "line_no",
        "product": "product",
        "quantity": "quantity",
        "price": "price",
    },
    "demo_shipments": {
        "SHIPMENT_ID": "SHIPMENT_ID",
        "CARRIER_ID": "CARRIER_ID",
        "STATUS": "STATUS",
        "WEIGHT": "WEIGHT",
        "SHIPPED_ON": "datediff(SHIPPED_ON, date '1970-01-01')",
        "SCANNED_AT": TIME.format("SCANNED_AT"),
        "EXPRESS": "EXPRESS",
        "LABEL": "base64(LABEL)",
        "VOLUME": "VOLUME",
    },
}
KEYS = {"demo_order_lines": ("order_id", "line_no"), "demo_shipments": ("SHIPMENT_ID",)}
ORDER = "cdc_commit_sequence, cdc_sequence, cdc_step"
Row = dict[str, Any]


def applied(records: list[Any], key: tuple[str, ...]) -> dict[tuple[Any, ...], Row]:
    """Keep the last row of each key. A value that is not available stays as it was."""
    rows: dict[tuple[Any, ...], Row] = {}
    for record in records:
        if record is None:
            continue
        place = tuple(record[0][name] for name in key)
        if record[1] is None:
            rows.pop(place, None)
            continue
        row: Row = {name: value for name, value in record[1].items() if name[:2] != "__"}
        for name in record[1]["__source_unavailable_columns"] or []:
            row[name] = rows.get(place, {}).get(name)
        rows[place] = row
    return rows


def current(warehouse: Warehouse, table: str) -> dict[tuple[Any, ...], Row]:
    """The rows of current state, as a reader of Kafka Connect's JSON has them."""
    columns = TABLES[table]
    found = {}
    for values in warehouse.sql(f"select {', '.join(columns.values())} from spark_cdc.{table}"):
        row = {
            name: Decimal(str(value)) if isinstance(value, float) else value
            for name, value in zip(columns, values, strict=True)
        }
        found[tuple(row[name] for name in KEYS[table])] = row
    return found


@pytest.mark.usefixtures("built")
def test_debezium_unwraps_the_feeds_to_current_state(warehouse: Warehouse, tmp_path: Path) -> None:
    feeds = {
        table: warehouse.sql(f"select key, value from spark_cdc.{table}__feed order by {ORDER}")
        for table in TABLES
    }
    records = unwrapped(tmp_path, [row for feed in feeds.values() for row in feed])
    begin = 0
    for table, feed in feeds.items():
        rows = applied(records[begin : begin + len(feed)], KEYS[table])
        begin += len(feed)
        assert rows == current(warehouse, table), table
        assert len(rows) > 2
        assert None in (value for _, value in feed), "no key is gone"
