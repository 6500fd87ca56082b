"""Plans: how often the log, the base and the model are read, and which data are shuffled."""

from __future__ import annotations

import json
import re

import pytest
from kit.warehouse import ROOT, Warehouse, install_package

SCHEMA = "db2_log_plans"
LOG = "operation int, time timestamp, pk01 bigint"
BASE = "id bigint, note string, amount string"
BUILT = "cdc_operation string, id bigint, note string, amount decimal(12,2)"
ARGUMENTS = (
    "key=['id'], base=base, columns={'id': 'bigint', 'note': 'string', 'amount': 'decimal(12,2)'}"
)
SOURCES = "".join(
    f"{{%- set {name} = source('plans', '{name}') -%}}\n" for name in ("log", "base", "built")
)
INCREMENT = (
    "{%- if execute -%}\n"
    f"{{%- set spec = spark_cdc._spec_db2_log_table(log, {ARGUMENTS}) -%}}\n"
    "{%- set more = dict(decoder='db2_log_table', built=built, new_rows=log, batch='') -%}\n"
    "{{ spark_cdc._select_of_decoder('events', dict(spec, **more)) }}\n"
    "{%- endif -%}\n"
)
MODELS = {
    "whole": f"{SOURCES}{{{{ spark_cdc.db2_log_table(log, {ARGUMENTS}) }}}}\n",
    "increment": f"{SOURCES}{INCREMENT}",
}


@pytest.fixture(scope="module")
def plans(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The plan of each model, before Spark adapts it to empty tables."""
    project = tmp_path_factory.mktemp("db2_log_plans")
    (project / "dbt_project.yml").write_text("name: plans\nprofile: consumer\n")
    install_package(project)
    (project / "models").mkdir()
    for name, body in MODELS.items():
        (project / "models" / f"{name}.sql").write_text(body)
    tables = {"log": LOG, "base": BASE, "built": BUILT}
    source = {"name": "plans", "schema": SCHEMA, "tables": [{"name": name} for name in tables]}
    (project / "models" / "sources.yml").write_text(json.dumps({"sources": [source]}))
    warehouse.sql(
        f"drop schema if exists {SCHEMA} cascade",
        f"create schema {SCHEMA}",
        *(f"create table {SCHEMA}.{name} ({of}) using parquet" for name, of in tables.items()),
    )
    profiles = ROOT / "tests" / "consumer"
    done = warehouse.dbt(project, "compile", profiles=profiles, env={"SPARK_CDC_SCHEMA": SCHEMA})
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}
    found = {}
    for name in MODELS:
        (compiled,) = (done.target / "compiled").rglob(f"models/{name}.sql")
        sets = (f"set {setting}={value}" for setting, value in settings.items())
        ((plan,),) = warehouse.sql(*sets, f"explain {compiled.read_text(encoding='utf-8')}")
        warehouse.sql(*(f"reset {setting}" for setting in settings))
        found[name] = str(plan)
    warehouse.sql(f"drop schema {SCHEMA} cascade")
    return found


def scans(plan: str, table: str) -> int:
    return len(re.findall(rf"FileScan parquet \S*{SCHEMA}\.{table}\[", plan))


def test_the_log_and_the_base_are_shuffled_once(plans: dict[str, str]) -> None:
    """By key, for one join. There is no cross join, and the log is not joined with itself."""
    plan = plans["whole"]
    assert (scans(plan, "log"), scans(plan, "base")) == (1, 1)
    assert len(re.findall(r"[^d]Exchange hashpartitioning\(", plan)) == 2
    for word in ("Cartesian", "NestedLoop", "Broadcast", "Python", "Arrow"):
        assert word not in plan


def test_an_increment_reads_the_base_once(plans: dict[str, str]) -> None:
    """The buckets of its keys are broadcast to the base and to the events of the model."""
    plan = plans["increment"]
    assert (scans(plan, "base"), scans(plan, "built")) == (1, 1)
    assert len(re.findall(r"BroadcastHashJoin \[pmod\(xxhash64\(cdc_key", plan)) == 2
    for word in ("Cartesian", "NestedLoop"):
        assert word not in plan
