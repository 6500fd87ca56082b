"""The SQL of README and docs: compiled in a user's project, and resolved by Spark."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from kit.pages import README, Block, blocks, pages_of_docs
from kit.warehouse import ROOT, Warehouse, install_package
from pyhive import hive  # type: ignore[import-untyped]  # it ships no types

DOCUMENTED = ROOT / "tests" / "package" / "documented.yml"
SCHEMA = "documented"
LANDING = "erp_landing"  # as the pages name it

# Blocks to which other blocks refer, by these names.
MODELS = {
    README: ("orders__log", "orders__changes", "orders", "orders__history"),
    ROOT / "docs" / "health.md": ("orders__quarantine", "orders__counts"),
    ROOT / "docs" / "incremental.md": ("orders_log",),
    ROOT / "docs" / "formats" / "qlik_messages.md": ("erp_log", "erp_versions"),
}


def named(block: Block) -> str:
    """Name the model that a block is, by its page and line."""
    return "block_" + re.sub(r"\W+", "_", block.name)


def documented(block: Block) -> str | None:
    """Name the model that a block is, if other blocks refer to it."""
    names = MODELS.get(block.page, ())
    return next(
        (name for name in names if re.match(rf"-- models/(\S*/)?{name}[.]sql\n", block.text)), None
    )


def test_sql_of_the_pages(warehouse: Warehouse, tmp_path: Path) -> None:
    """Every block compiles as a model. Spark resolves each select on empty tables."""
    found = {named(block): block for page in pages_of_docs() for block in blocks(page)}
    found = {name: block for name, block in found.items() if block.tag == "sql"}
    assert len(found) > 20
    (tmp_path / "dbt_project.yml").write_text(
        "name: documented\nprofile: consumer\nmodels: {+materialized: table}\n"
    )
    install_package(tmp_path)
    models = tmp_path / "models"
    models.mkdir()
    (models / "documented.yml").write_text(DOCUMENTED.read_text())
    for name, block in found.items():
        (models / f"{name}.sql").write_text(block.text)
        if model := documented(block):
            (models / f"{model}.sql").write_text(block.text)
    drop_tables(warehouse)
    make_tables(warehouse)
    done = warehouse.dbt(
        tmp_path,
        "compile",
        profiles=ROOT / "tests" / "consumer",
        env={"SPARK_CDC_SCHEMA": SCHEMA},
    )
    compiled = done.target / "compiled" / "documented" / "models"
    declared = {
        model["name"]: [(column["name"], column["data_type"]) for column in model["columns"]]
        for model in yaml.safe_load(DOCUMENTED.read_text())["models"]
    }
    wrong, resolved = [], 0
    for name, block in found.items():
        sql = (compiled / f"{name}.sql").read_text()
        if not re.match(r"(--.*\n|\s)*(select|with)\b", sql):
            continue  # a statement of a table format; empty for other blocks
        try:
            columns = [row[:2] for row in warehouse.sql(f"describe query {sql}")]
            resolved += 1
            model = documented(block)
            if model and columns != declared[model]:
                wrong.append(f"documented.yml, {model}: {columns}")
        except hive.OperationalError as error:
            wrong.append(f"{block.name}: {str(error)[:500]}")
    drop_tables(warehouse)
    assert resolved > 15
    assert not wrong, "\n".join(wrong)


def drop_tables(warehouse: Warehouse) -> None:
    """Drop the relations of `make_tables`, even from an earlier run that failed."""
    for schema in (SCHEMA, LANDING):
        warehouse.sql(f"drop schema if exists {schema} cascade")


def make_tables(warehouse: Warehouse) -> None:
    """Create the tables that the pages read, without rows."""
    read = yaml.safe_load(DOCUMENTED.read_text())
    tables = [(SCHEMA, model) for model in read["models"]]
    tables += [(LANDING, table) for source in read["sources"] for table in source["tables"]]
    statements = [f"create schema {SCHEMA}", f"create schema {LANDING}"]
    for schema, table in tables:
        columns = ", ".join(f"`{one['name']}` {one['data_type']}" for one in table["columns"])
        statements.append(f"create table {schema}.{table['name']} ({columns}) using parquet")
    # a run of the change events makes this view
    view, stored = "orders__changes__cdc_quarantine", f"{SCHEMA}.orders__quarantine"
    statements.append(f"create view {SCHEMA}.{view} as select * from {stored}")
    warehouse.sql(*statements)
