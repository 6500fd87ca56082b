"""The raw tables of the demo as a landing: generated models equal the models of the demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.warehouse import DbtRun, Warehouse, install_package
from spark_cdc_udfs import command

# The package has models with the names of the demo, so that some names need a prefix.
CONFIG = """
keys: keys.csv
sources:
  - name: erp
    prefix: my_
    decoder: qlik_change_table
    schema: spark_cdc
    tables: "demo_*__ct"
  - name: kafka
    decoder: qlik_messages
    schema: spark_cdc
    relation: demo_erp__messages
    tables: app.*
    exclude: budgets  # its metadata is an Avro schema
    raw_watermark: {column: offset, within: [topic, partition]}
    arguments: {metadata: demo_erp__metadata, before_image: key}
  - name: idm
    decoder: netiq_event_log
    schema: spark_cdc
    relation: demo_identities__log
    tables: [usr, grp]
    landing_columns: [shows]
    table_settings:
      usr:
        key: [idu]
        columns:
          {idu: int, fname: string, lname: string, pwdminlen: int, pwdexptime: timestamp,
           photo: binary}
        arguments: {snapshot: demo_users__snapshot}
  - name: asn
    prefix: my_
    decoder: db2_capture_table
    schema: spark_cdc
    tables: demo_parts__cd
    landing_columns: [shows]
    arguments: {unit_of_work: demo_parts__uow, before_image: key}
    table_settings:
      demo_parts:
        key: [part_no]
        columns: {PART_NO: int, NAME: string, PRICE: "decimal(8,2)"}
  - name: db2
    prefix: my_
    decoder: db2_log_table
    schema: spark_cdc
    tables: demo_articles__log
    landing_columns: [shows]
    arguments: {base: "{table}__base", source_timezone: Europe/Berlin}
    table_settings:
      demo_articles:
        columns: {article: int, language: string, title: string, pages: int, seen_at: timestamp}
  - name: bank
    decoder: gbase_capture
    schema: spark_cdc
    relation: demo_accounts__raw
    table_settings:
      accounts:
        key: [id]
        columns:
          {id: int, owner: string, balance: "decimal(12,2)", opened: date,
           changed_at: timestamp, active: boolean}
        arguments: {table_id: 7, before_image: key}
  - name: files
    decoder: qlik_change_table
    schema: generated_landing
    tables: "*__ct"
"""
KEYS = """table,column,position
demo_articles,article,1
demo_articles,language,2
"""

# A landing of CSV files, with the file in which Qlik Replicate describes them.
HEADER = [f"header__{name}" for name in ("change_seq", "change_oper", "change_mask")]
CHANGES = """header__change_seq,header__change_oper,header__change_mask,id,part,price
20260302080000120000000000000000001,I,38,1,bolt,0.10
20260302080000120000000000000000002,I,38,2,nut,0.05
20260302080100120000000000000000003,U,20,1,bolt,0.12
"""
DFM = {
    "dataInfo": {
        "columns": [
            *({"name": name, "type": "STRING", "primaryKeyPos": 0} for name in HEADER),
            {"name": "id", "type": "INT8", "primaryKeyPos": 1},
            {"name": "part", "type": "WSTRING", "length": 20, "primaryKeyPos": 0},
            {"name": "price", "type": "NUMERIC", "precision": 8, "scale": 2, "primaryKeyPos": 0},
        ]
    }
}

# A generated model, and the model of the demo that has the same rows.
EQUAL = {
    "my_demo_orders": "demo_orders",
    "invoices": "demo_invoices",
    "usr": "demo_users",
    "my_demo_parts": "demo_parts",
    "my_demo_articles": "demo_articles",
    "accounts": "demo_accounts",
}
SAID = (
    "erp.my_demo_orders: order_id, by the masks of 2 deletes",
    "kafka.invoices: INVOICE_ID, by primaryKeyPosition in its metadata",
    "idm.usr: idu, from table_settings",
    "idm.grp: gid, by table_key of 4 rows",
    "asn.my_demo_parts: PART_NO, from table_settings",
    "db2.my_demo_articles: article, language, from keys.csv",
    "bank.accounts: id, from table_settings",
    "files.parts: id, by primaryKeyPos in its .dfm file\n  types are from a .dfm file\n",
)


@pytest.fixture
def project(warehouse: Warehouse, built: DbtRun, tmp_path: Path) -> Path:
    """A project of a user, with a profile of the server."""
    (tmp_path / "dbt_project.yml").write_text("name: mine\nprofile: mine\n")
    (tmp_path / "profiles.yml").write_text(
        "mine: {target: thrift, outputs: {thrift: {type: spark, method: thrift, schema: generated,"
        f" host: {warehouse.host}, port: {warehouse.port}, user: me, threads: 4,"
        " query_retries: 0, poll_interval: 0}}}\n"
    )
    (tmp_path / "spark_cdc.yml").write_text(CONFIG)
    (tmp_path / "keys.csv").write_text(KEYS)
    install_package(tmp_path)
    folder = tmp_path / "landing" / "parts__ct"
    folder.mkdir(parents=True)
    (folder / "LOAD1.csv").write_text(CHANGES)
    (folder / "LOAD1.dfm").write_text(json.dumps(DFM))
    columns = ", ".join(f"{name} string" for name in CHANGES.split("\n")[0].split(","))
    warehouse.sql(
        *(f"drop schema if exists {name} cascade" for name in ("generated", "generated_landing")),
        "create schema generated_landing",
        f"create table generated_landing.parts__ct ({columns}) using csv"
        f" options (header 'true', pathGlobFilter '*.csv') location '{folder}'",
    )
    return tmp_path


def test_generated_models_are_built_and_right(
    warehouse: Warehouse, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All generic tests that were generated pass as well."""
    options = ["generate", "--project-dir", str(project), "--profiles-dir", str(project)]
    code = command.main(options)
    said = capsys.readouterr()
    assert (code, said.err) == (0, ""), said.out
    assert not [line for line in SAID if line not in said.out], said.out
    assert command.main([*options, "--check"]) == 0
    warehouse.dbt(project, "build")
    wrong = {}
    for mine, demo in EQUAL.items():
        for ending in ("", "__history"):
            names = common(warehouse, f"generated.{mine}{ending}", f"spark_cdc.{demo}{ending}")
            assert len(names) > 5, (mine, names)
            select = f"select {', '.join(names)} from"
            difference = warehouse.difference(
                f"{select} generated.{mine}{ending}", f"{select} spark_cdc.{demo}{ending}"
            )
            if difference:
                wrong[mine + ending] = difference
    assert not wrong
    for mine in EQUAL:
        (counts,) = warehouse.sql(f"select * from generated.{mine}__counts")
        assert counts[0] == sum(counts[1:]) > 0
        quarantined = f"select count(*) from generated.{mine}__quarantine"
        assert warehouse.sql(quarantined)[0][0] >= counts[3]
    typed = "select id, part, price, typeof(id), typeof(price) from generated.parts order by id"
    assert [tuple(map(str, row)) for row in warehouse.sql(typed)] == [
        ("1", "bolt", "0.12", "bigint", "decimal(8,2)"),
        ("2", "nut", "0.05", "bigint", "decimal(8,2)"),
    ]
    assert warehouse.sql("select count(*) from generated.grp__changes") == [(3,)]
    warehouse.sql("drop schema generated cascade", "drop schema generated_landing cascade")


def common(warehouse: Warehouse, one: str, other: str) -> list[str]:
    """Name the columns that two tables have, in the order of the first."""
    columns = [
        {
            row[0].lower()
            for row in warehouse.sql(f"describe {table}")
            if row[0][:1] not in ("", "#")
        }
        for table in (one, other)
    ]
    return [f"cast(`{name}` as string) as `{name}`" for name in sorted(columns[0] & columns[1])]
