"""The feeds of the demo, read by Debezium's own transformation, give the rows of current state."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from kit.debezium import unwrapped
from kit.warehouse import PROFILES, ROOT, Warehouse

# For each table its columns as Kafka Connect has them, in SQL: the session is in UTC.
TIME = """date_format({}, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")"""
TABLES: Mapping[str, Mapping[str, str]] = {
    "demo_parts": {"PART_NO": "PART_NO", "NAME": "NAME", "PRICE": "PRICE"},
    "demo_users": {
        "idu": "idu",
        "fname": "fname",
        "lname": "lname",
        "pwdminlen": "pwdminlen",
        "pwdexptime": TIME.format("pwdexptime"),
        "photo": "base64(photo)",
    },
    "demo_accounts": {
        "id": "id",
        "owner": "owner",
        "balance": "balance",
        "opened": "datediff(opened, date '1970-01-01')",
        "changed_at": TIME.format("changed_at"),
        "active": "active",
    },
}
KEYS = {"demo_parts": "PART_NO", "demo_users": "idu", "demo_accounts": "id"}
ORDER = "cdc_commit_sequence, cdc_sequence, cdc_step"
Row = dict[str, Any]


def applied(records: list[Any], sent: list[Any], key: str) -> dict[Any, Row]:
    """Keep the last row of each key. A value that is not available stays as it was.

    Debezium drops a truncate, which was sent without a key.
    """
    rows: dict[Any, Row] = {}
    for record, (sent_key, _) in zip(records, sent, strict=True):
        if record is None:
            if sent_key is None:
                rows.clear()
            continue
        place = record[0][key]
        if record[1] is None:
            rows.pop(place, None)
            continue
        row: Row = {name: value for name, value in record[1].items() if name[:2] != "__"}
        for name in record[1]["__source_unavailable_columns"] or []:
            row[name] = rows.get(place, {}).get(name)
        rows[place] = row
    return rows


def current(warehouse: Warehouse, table: str) -> dict[Any, Row]:
    """The rows of current state, as a reader of Kafka Connect's JSON has them."""
    columns = TABLES[table]
    found = {}
    for values in warehouse.sql(f"select {', '.join(columns.values())} from spark_cdc.{table}"):
        row = {
            name: Decimal(str(value)) if isinstance(value, float) else value
            for name, value in zip(columns, values, strict=True)
        }
        found[row[KEYS[table]]] = row
    return found


def feed(warehouse: Warehouse, table: str) -> str:
    """Write the SQL of the feed of a table of the demo, for a topic with keys."""
    call = (
        f"spark_cdc.change_feed(ref('{table}__changes'), key=['{KEYS[table]}'],"
        f" source={{'name': 'demo', 'table': '{table}'}}, schema=true, keyed=true)"
    )
    return warehouse.compiled(ROOT, f"{{{{ {call} }}}}", profiles=PROFILES)


@pytest.mark.usefixtures("built")
def test_debezium_unwraps_the_feeds_to_current_state(warehouse: Warehouse, tmp_path: Path) -> None:
    feeds = {
        table: warehouse.sql(f"select key, value from ({feed(warehouse, table)}) order by {ORDER}")
        for table in TABLES
    }
    records = unwrapped(tmp_path, [row for sent in feeds.values() for row in sent])
    begin = 0
    for table, sent in feeds.items():
        rows = applied(records[begin : begin + len(sent)], sent, KEYS[table])
        begin += len(sent)
        assert rows == current(warehouse, table), table
        assert len(rows) > 1
        assert None in (value for _, value in sent), "no key is gone"
