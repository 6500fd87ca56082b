"""The server's caches of a table do not depend on how a reader spells its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.warehouse import Warehouse

# Changes of a table or a view, and the rows after them. Each is in a schema of its own: Iceberg
# does not forget at once the tables that `drop schema` drops.
CHANGES: dict[str, tuple[str, list[int] | None]] = {
    "insert": ("insert into {table} values (2)", [1, 2]),
    "columns": ("alter table {table} rename column v to w", [1]),
    "truncate": ("truncate table {table}", []),
    "drop": ("drop table {table}", None),
    "view": ("create or replace view {table} as select 3 as v", [3]),
}


def values(warehouse: Warehouse, name: str) -> list[int] | None:
    """The rows of a table as a reader sees them; None if the table does not exist."""
    try:
        return sorted(row[0] for row in warehouse.sql(f"select * from {name}"))
    except Exception as error:
        if "TABLE_OR_VIEW_NOT_FOUND" in str(error):
            return None
        raise


def seen(warehouse: Warehouse, table: str) -> list[list[int] | None]:
    """The rows that readers see who spell the name in different ways."""
    return [values(warehouse, name) for name in (table, table.upper(), table.title())]


def seen_after(warehouse: Warehouse, change: str) -> list[list[int] | None]:
    """The rows that readers see who saw the table before it changed."""
    table = f"caches_{change}.one"
    kind = "view" if change == "view" else "table"
    using = f"using {warehouse.table_format}" if kind == "table" else ""
    warehouse.sql(
        f"create schema caches_{change}", f"create {kind} {table} {using} as select 1 as v"
    )
    assert seen(warehouse, table) == [[1]] * 3
    warehouse.sql(CHANGES[change][0].format(table=table))
    now = seen(warehouse, table)
    warehouse.sql(f"drop schema caches_{change} cascade")
    return now


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_format_forgets_all_spellings(lake: Warehouse, change: str) -> None:
    assert seen_after(lake, change) == [CHANGES[change][1]] * 3


# columns of parquet tables cannot be renamed
@pytest.mark.parametrize("change", [name for name in CHANGES if name != "columns"])
def test_parquet_forgets_all_spellings(warehouse: Warehouse, change: str) -> None:
    assert seen_after(warehouse, change) == [CHANGES[change][1]] * 3


def test_files_that_others_land_are_seen_in_all_spellings(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    """Another process lands the files; the macros make Spark list them again."""
    place = f"(v int) using parquet location '{tmp_path / 'landed'}'"
    warehouse.sql(
        "create schema caches_landed",
        f"create table caches_landed.one {place}",
        "insert into caches_landed.one values (1)",
    )
    assert seen(warehouse, "caches_landed.one") == [[1]] * 3
    warehouse.sql(
        f"create table caches_landed.other {place}",
        "insert into caches_landed.other values (2)",
        "refresh table caches_landed.one",
    )
    now = seen(warehouse, "caches_landed.one")
    warehouse.sql("drop schema caches_landed cascade")
    assert now == [[1, 2]] * 3
