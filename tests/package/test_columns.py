"""A command asks for the columns of a relation once, and again if it changes the relation."""

from __future__ import annotations

from pathlib import Path

from kit.warehouse import ROOT, Warehouse, install_package

NAMES = "select '{{{{ spark_cdc.columns_of({}).keys() | join(' ') }}}}' as names"
MODELS = {
    # it reads the table before this command builds the table again
    "before": NAMES.format("api.Relation.create(schema=target.schema, identifier='wide')"),
    "wide": "-- depends_on: {{ ref('before') }}\n"
    "select 1 as a {{ ', 2 as b' if var('is_wide', false) }}",
    "after": NAMES.format("ref('wide')"),
    "after_too": NAMES.format("ref('wide')"),
}


def test_columns_are_asked_once_unless_the_table_is_built(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    (tmp_path / "dbt_project.yml").write_text(
        "name: asking\nprofile: consumer\nmodels: {+materialized: table, +file_format: parquet}\n"
    )
    install_package(tmp_path)
    (tmp_path / "models").mkdir()
    for name, text in MODELS.items():
        (tmp_path / "models" / f"{name}.sql").write_text(text)
    schema = {"SPARK_CDC_SCHEMA": "asking"}

    def run(*options: str) -> str:
        profiles = ROOT / "tests" / "consumer"
        options = ("run", "--threads", "1", *options)
        warehouse.dbt(tmp_path, *options, profiles=profiles, env=schema)
        log = warehouse.run_folder(tmp_path) / "logs" / "dbt.log"
        text = log.read_text(encoding="utf-8")
        log.unlink()
        return text

    run("--select", "wide")
    log = run("--vars", "{is_wide: true}")
    names = {
        name: warehouse.sql(f"select names from asking.{name}")
        for name in MODELS
        if "w" not in name
    }
    warehouse.sql("drop schema asking cascade")
    assert names == {"before": [("a",)], "after": [("a b",)], "after_too": [("a b",)]}
    # once before the table is built, and once after that
    assert log.count("describe table extended") == 2
    assert log.count("refresh table") == 2
