"""The servers of the tests, as fixtures, and which tests run in one process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kit.warehouse import (
    PROFILES,
    ROOT,
    DbtRun,
    Warehouse,
    locked,
    shared_server,
    stop_shared_servers,
)

# `make check` names a folder whose servers stay up.
KEPT_SERVERS = os.environ.get("SPARK_CDC_TEST_SERVERS")


def servers_of(base: Path) -> Path:
    """The folder of the servers that all processes of a test run share."""
    return Path(KEPT_SERVERS) if KEPT_SERVERS else base / "servers"


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of temporary files that all processes of a test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The server of parquet tables."""
    return shared_server(servers_of(shared_folder(tmp_path_factory)), "parquet")


@pytest.fixture(scope="session", params=["iceberg", "delta"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The server of each table format. One process has all tests of it."""
    return shared_server(servers_of(shared_folder(tmp_path_factory)), request.param)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ and not KEPT_SERVERS:
        factory: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        stop_shared_servers(servers_of(factory.getbasetemp()))


@pytest.fixture(scope="session")
def built(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> DbtRun:
    """`dbt build` of the demo over Thrift on parquet, once for all processes."""
    output = shared_folder(tmp_path_factory) / "demo.output"
    with locked(output.with_suffix(".lock")):
        if not output.exists():
            output.write_text(warehouse.dbt(ROOT, "build", profiles=PROFILES).output)
    return DbtRun(0, output.read_text(), warehouse.run_folder(ROOT) / "target")


# The groups that take longest begin first.
LONGEST_FIRST = (
    *("delta", "iceberg", "test_runs", "test_demo", "test_cluster"),
    *("test_scenarios", "test_two_runs", "test_inside"),
)


def group_of(item: pytest.Item) -> str:
    """Name the tests that run in one process: those of a table format, or of a module."""
    fixtures = getattr(getattr(item, "callspec", None), "params", {})
    return str(fixtures.get("lake") or item.path.stem)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
        fixtures = set(getattr(item, "fixturenames", ()))
        if not fixtures & {"warehouse", "lake"} and not item.get_closest_marker("server"):
            item.add_marker(pytest.mark.unit)
    order = {group: place for place, group in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(group_of(item), len(order)))
