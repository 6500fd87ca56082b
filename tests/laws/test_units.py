"""The dbt unit tests of the macros: the rules of the apply macros, and of every format."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.units import unit_models, write_project
from kit.warehouse import Warehouse

pytestmark = pytest.mark.macros

MODELS = unit_models()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        only: Sequence[str] = metafunc.config.getoption("--only")
        chosen = [
            name
            for name, (model, folder) in sorted(MODELS.items())
            if not only or {name, model, folder} & set(only)
        ]
        metafunc.parametrize("name", chosen)


@pytest.fixture(scope="module")
def results(
    warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, dict[str, Any]]:
    """Run the unit tests of this session, two at a time; see `tests/units/macros`."""
    project = tmp_path_factory.mktemp("units") / "units"
    write_project(project)
    kept = kept_results(warehouse)
    names = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.function is test_unit_test
    }
    warehouse.sql(
        "drop schema if exists units cascade",
        "create schema units",
    )
    done = warehouse.dbt(
        project,
        *("test", "--threads", "2", "--select", *(f"test_name:{name}" for name in sorted(names))),
        env={"SPARK_CDC_SCHEMA": "units", "SPARK_CDC_KEPT_RESULTS": str(kept)},
        check=False,
    )
    return done.results()


def kept_results(warehouse: Warehouse) -> Path:
    """Tell the server of the results that earlier runs kept, and give a folder for new ones.

    Of each test the newest result is kept. A run that was killed leaves one without `_SUCCESS`.
    """
    base = warehouse.home / "kept_results"
    whole = sorted(base.glob("*/*/_SUCCESS"), key=lambda path: path.stat().st_mtime)
    newest = {path.parent.name.rpartition("__")[0]: path.parent for path in whole}
    warehouse.sql(
        "drop schema if exists kept_results cascade",
        "create schema kept_results",
        *(
            f"create table kept_results.`{result.name}` using parquet location '{result}'"
            for result in newest.values()
        ),
    )
    for result in {path.parent for path in whole} - set(newest.values()):
        shutil.rmtree(result)
    return base / uuid.uuid4().hex


def test_unit_test(results: dict[str, dict[str, Any]], name: str) -> None:
    """The unit test passes."""
    assert name in results, f"dbt has not run {name}: {sorted(results)}"
    assert results[name]["status"] == "pass", results[name]["message"]


def test_every_model_has_a_unit_test(tmp_path: Path) -> None:
    write_project(tmp_path / "units")
    models = {path.stem for path in (tmp_path / "units" / "models").rglob("*.sql")}
    assert models == {model for model, _ in MODELS.values()}
