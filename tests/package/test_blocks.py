"""The SQL of README and docs: compiled in a project of a user's, and resolved by Spark."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from kit.pages import Block, blocks, pages_of_docs
from kit.warehouse import ROOT, Warehouse, install_package
from pyhive import hive  # type: ignore[import-untyped]  # it ships no types

DOCUMENTED = ROOT / "tests" / "package" / "documented.yml"
SCHEMA = "documented"

# What the pages refer to: the blocks of the README with these names.
MODELS = ("orders__changes", "orders", "orders__history")


def named(block: Block) -> str:
    """Name the model that a block is, by its page and line."""
    return "block_" + re.sub(r"\W+", "_", block.name)


def test_sql_of_the_pages(warehouse: Warehouse, tmp_path: Path) -> None:
    """Every block compiles as a model. Spark resolves each select, of tables without rows."""
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
        for model in MODELS:
            if block.text.startswith(f"-- models/{model}.sql\n") and block.page.name == "README.md":
                (models / f"{model}.sql").write_text(block.text)
    make_tables(warehouse)
    done = warehouse.dbt(
        tmp_path,
        "compile",
        profiles=ROOT / "tests" / "consumer",
        env={"SPARK_CDC_SCHEMA": SCHEMA},
    )
    compiled = done.target / "compiled" / "documented" / "models"
    wrong = []
    for name, block in found.items():
        sql = (compiled / f"{name}.sql").read_text()
        if not re.match(r"(--.*\n|\s)*(select|with)\b", sql):
            continue  # a statement of a table format, or none
        try:
            assert warehouse.sql(f"describe query {sql}")
        except hive.OperationalError as error:
            wrong.append(f"{block.name}: {str(error)[:500]}")
    for schema in (SCHEMA, "erp_landing"):
        warehouse.sql(f"drop schema {schema} cascade")
    assert not wrong, "\n".join(wrong)


def make_tables(warehouse: Warehouse) -> None:
    """Make the tables that the pages read, without rows."""
    read = yaml.safe_load(DOCUMENTED.read_text())
    tables = [(SCHEMA, model) for model in read["models"]]
    tables += [("erp_landing", table) for source in read["sources"] for table in source["tables"]]
    statements = [f"create schema {SCHEMA}", "create schema erp_landing"]
    for schema, table in tables:
        columns = ", ".join(f"`{one['name']}` {one['data_type']}" for one in table["columns"])
        statements.append(f"create table {schema}.{table['name']} ({columns}) using parquet")
    warehouse.sql(*statements)
