"""The dbt unit tests of the macros: the rules of the apply macros, and of every format."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
    """Run the unit tests of this session in a warehouse without tables.

    Unit tests of one model share a temporary view, so they run one after the other. Two processes
    run different models at a time.
    """
    project = tmp_path_factory.mktemp("units") / "units"
    write_project(project)
    names = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.function is test_unit_test
    }
    models = sorted({MODELS[name][0] for name in names})

    def run(some: Sequence[str]) -> dict[str, dict[str, Any]]:
        if not some:
            return {}
        chosen = [name for name in sorted(names) if MODELS[name][0] in some]
        done = warehouse.dbt(
            project,
            *("test", "--threads", "1", "--select", *(f"test_name:{name}" for name in chosen)),
            env={
                "SPARK_CDC_SCHEMA": "units",
                "DBT_TARGET_PATH": str(project / f"target_{some[0]}"),
                "DBT_LOG_PATH": str(project / f"logs_{some[0]}"),
            },
            check=False,
        )
        return done.results()

    with ThreadPoolExecutor() as pool:
        first, second = pool.map(run, (models[0::2], models[1::2]))
    return first | second


def test_unit_test(results: dict[str, dict[str, Any]], name: str) -> None:
    """The unit test passes."""
    assert name in results, f"dbt has not run {name}: {sorted(results)}"
    assert results[name]["status"] == "pass", results[name]["message"]


def test_every_model_has_a_unit_test(tmp_path: Path) -> None:
    write_project(tmp_path / "units")
    models = {path.stem for path in (tmp_path / "units" / "models").rglob("*.sql")}
    assert models == {model for model, _ in MODELS.values()}
