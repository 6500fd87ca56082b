"""A project that is generated from tables of each format compiles without a server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kit.lint import faults, lint
from kit.warehouse import install_package
from spark_cdc_udfs.generate import netiq

from generate.fake_lake import FakeLake, Landed, change_table, project, run, written
from generate.test_keys import metadata

CONFIG = """
sources:
  - {name: erp, decoder: qlik_change_table, schema: landing, tables: "*__ct"}
  - name: kept
    prefix: kept_
    decoder: qlik_change_table
    schema: landing
    tables: "*__ct"
    batch: landed_at
    landing_columns: landed_at
  - name: whole
    prefix: whole_
    decoder: qlik_change_table
    schema: landing
    tables: "*__ct"
    materialized: table
  - name: kafka
    decoder: qlik_messages
    schema: landing
    relation: messages
    raw_watermark: {column: offset, within: [topic, partition]}
    arguments: {metadata: metadata}
  - name: wms
    prefix: wms_
    decoder: qlik_messages
    schema: landing
    relation: metadata
    arguments: {metadata: metadata}
  - name: idm
    decoder: netiq_event_log
    schema: landing
    relation: event_log
    arguments: {snapshot: "{table}"}
  - name: asn
    decoder: db2_capture_table
    schema: landing
    tables: "*_cd"
    arguments: {unit_of_work: uow}
    table_settings: {parts: {key: [id]}}
  - name: db2
    decoder: db2_log_table
    schema: landing
    tables: articles__log
    arguments: {base: "{table}"}
    table_settings: {articles: {key: [article]}}
  - name: bank
    decoder: gbase_capture
    schema: landing
    relation: chunks
    table_settings:
      accounts: {key: [id], columns: {id: int}, arguments: {table_id: 7}}
"""
RECORD = {"key": "binary", "value": "string", "topic": "string", "partition": "int"}
RECORD |= {"offset": "bigint", "timestamp": "timestamp"}
TEXTS = dict.fromkeys(netiq.LAYOUTS["record_id_status"], "string")
CD = {f"ibmsnap_{name}": "binary" for name in ("commitseq", "intentseq")}
UOW = {"ibmsnap_commitseq": "binary", "ibmsnap_logmarker": "timestamp", "ibmsnap_authid": "string"}
LOG = {"operation": "string", "time": "timestamp", "pk01": "string"}
PROFILE = (
    "mine: {target: t, outputs: {t: {type: spark, method: thrift, host: 127.0.0.1, port: 1,"
    " user: me, schema: built}}}\n"
)


def landing() -> FakeLake:
    """A table of each format."""
    orders = change_table({"id": "bigint", "note": "varchar(20)", "odd name": "int"}, ["id"])
    orders.columns = {**orders.columns, "landed_at": "timestamp"}
    told = metadata("CUST", "2024-01-01", ("ID", "INT4", 1), ("NAME", "WSTRING", 0))
    row = {"table_name": "app.usr", "table_key": "idu=1", "column_name": "fname"}
    return FakeLake(
        {
            "orders__ct": orders,
            "messages": Landed(RECORD),
            "metadata": Landed(RECORD, [{"value": told, "timestamp": None}]),
            "event_log": Landed(TEXTS, [row]),
            "usr": Landed({"IDU": "int", "fname": "string"}),
            "parts_cd": Landed(
                {**CD, "ibmsnap_operation": "string", "id": "int", "Xid": "int"},
                [{"ibmsnap_operation": "I", "Xid": None}],
            ),
            "uow": Landed(UOW),
            "articles__log": Landed(LOG),
            "articles": Landed({"article": "int", "title": "string"}),
            "chunks": Landed(
                {"capture_id": "string", "chunk_number": "bigint", "payload": "binary"}
            ),
        }
    )


def test_generated_projects_compile_without_a_server(tmp_path: Path) -> None:
    assert run(project(tmp_path, CONFIG), landing()) == 0
    install_package(tmp_path)
    (tmp_path / "profiles.yml").write_text(PROFILE)
    command = ["dbt", "compile", "--no-introspect", "--no-populate-cache"]
    done = subprocess.run(
        [*command, "--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)],
        env=os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    compiled = tmp_path / "target" / "compiled" / "mine"
    models = [compiled / path for path in written(tmp_path) if path.endswith(".sql")]
    assert len(models) > 50 and all(path.exists() for path in models)
    own = [path for path in models if path.stem.endswith("_log")]
    assert len(own) > 6
    assert lint(own) == []
    assert not [path for path in own if faults(path.read_text(encoding="utf-8"))]
