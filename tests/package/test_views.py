"""A view whose text the metastore cannot keep stops at once; where it can, it is made."""

from __future__ import annotations

from pathlib import Path

from kit.warehouse import ROOT, Warehouse, install_package

CONSUMER = ROOT / "tests" / "consumer"
LOG = (
    *("record_id", "status", "event_type", "event_time", "perpetrator"),
    *("table_name", "table_key", "column_name", "old_value", "new_value"),
)
COLUMNS = {"idu": "int"} | {f"column_{number}": "string" for number in range(80)}
CALL = (
    "spark_cdc.netiq_xds(source('views', 'log'), table='usr', key=['idu'],"
    f" columns={COLUMNS}, schema='s', snapshot=source('views', 'usr'))"
)


def test_a_view_is_not_too_long_for_the_metastore(lake: Warehouse, tmp_path: Path) -> None:
    """The server of Iceberg has the embedded metastore, the one of Delta has none."""
    (tmp_path / "dbt_project.yml").write_text("name: views\nprofile: consumer\n")
    install_package(tmp_path)
    (tmp_path / "models").mkdir()
    for name in ("view", "table"):
        config = f"{{{{ config(materialized='{name}', file_format='parquet') }}}}\n"
        (tmp_path / "models" / f"as_{name}.sql").write_text(f"{config}{{{{ {CALL} }}}}\n")
    (tmp_path / "models" / "views.yml").write_text(
        "sources: [{name: views, tables: [{name: log}, {name: usr}]}]\n"
    )
    lake.sql(
        "drop schema if exists views cascade",
        "create schema views",
        f"create table views.log ({', '.join(f'{one} string' for one in LOG)}) using parquet",
        f"create table views.usr ({', '.join(f'{n} {k}' for n, k in COLUMNS.items())})"
        " using parquet",
    )
    run = lake.dbt(
        tmp_path, "run", profiles=CONSUMER, env={"SPARK_CDC_SCHEMA": "views"}, check=False
    )
    found = run.results()
    lake.sql("drop schema views cascade")
    assert found["as_table"]["status"] == "success", found["as_table"]["message"]
    message = found["as_view"]["message"]
    if lake.table_format == "iceberg":
        assert "spark_cdc.netiq_xds: as_view is a view with a text of" in message
        assert "characters; the metastore of this server (Derby) keeps 32700 of a view" in message
        assert len(message.splitlines()) < 12
    else:
        assert found["as_view"]["status"] == "success", message
