"""The servers of the tests, as fixtures, and which tests run in one process."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hypothesis
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

# `make check` names a folder here; its server of parquet tables keeps running.
KEPT_SERVERS = os.environ.get("SPARK_CDC_TEST_SERVERS")

# The percentage of a test's examples that are tried: `--hypothesis-profile check`. An example has
# no deadline: other processes use the machine at the same time.
for profile, percentage in {"check": 10, "test": 40, "all": 300}.items():
    hypothesis.settings.register_profile(profile, max_examples=percentage, deadline=None)


def servers_of(base: Path, table_format: str) -> Path:
    """The folder of the servers that all processes of a test run share."""
    return Path(KEPT_SERVERS) if KEPT_SERVERS and table_format == "parquet" else base / "servers"


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of temporary files that all processes of a test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The server of parquet tables; if it was already running, it is emptied first."""
    base = shared_folder(tmp_path_factory)
    with locked(base / "warehouse.lock"):
        found = shared_server(servers_of(base, "parquet"), "parquet")
        if KEPT_SERVERS and not (base / "emptied").exists():
            found.empty()
            (base / "emptied").touch()
    return found


@pytest.fixture(scope="session", params=["iceberg", "delta"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The server of each table format. One process runs all tests of a format."""
    return shared_server(servers_of(shared_folder(tmp_path_factory), request.param), request.param)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only",
        action="append",
        default=[],
        help="run dbt unit tests of this decoder, folder, model or name alone (repeatable)",
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        factory: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        stop_shared_servers(factory.getbasetemp() / "servers")


@pytest.fixture(scope="session")
def built(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> DbtRun:
    """`dbt build` of the demo over Thrift on parquet, once for all processes. A warning fails."""
    output = shared_folder(tmp_path_factory) / "demo.output"
    with locked(output.with_suffix(".lock")):
        if not output.exists():
            run = warehouse.dbt(ROOT, "--warn-error", "build", profiles=PROFILES)
            output.write_text(run.output)
    return DbtRun(0, output.read_text(), warehouse.run_folder(ROOT) / "target")


# The groups that take longest are started first.
LONGEST_FIRST = (
    *("delta", "iceberg", "laws/test_workloads", "laws/test_increments", "package/test_demo"),
    *("incremental/test_scenarios", "laws/test_poison", "server/test_cluster"),
    "incremental/test_crashes",
    *("generate/test_build", "incremental/test_two_runs", "incremental/test_inside"),
    *("laws/test_units", "package/test_consumer", "db2_capture_table/test_increments"),
    *("gbase_capture/test_increments", "gbase_capture/test_stream", "package/test_commands"),
)

# They read the demo, which one process builds.
SAME_GROUP = {"package/test_lint": "package/test_demo"}


def group_of(item: pytest.Item) -> str:
    """Name the tests that run in one process: the tests of a table format, or of a module."""
    fixtures = getattr(getattr(item, "callspec", None), "params", {})
    module = f"{item.path.parent.name}/{item.path.stem}"
    return str(fixtures.get("lake") or SAME_GROUP.get(module, module))


def scale_examples(tests: Iterable[Any]) -> None:
    """Try the part of each test's examples that the profile sets; a test may come repeatedly."""
    name = "_hypothesis_internal_use_settings"
    profile = hypothesis.settings.default
    assert profile is not None
    for test in {id(test): test for test in tests}.values():
        asked = getattr(test, name, profile)
        if asked is not profile:  # the test says how many
            number = math.ceil(asked.max_examples * profile.max_examples / 100)
            setattr(test, name, hypothesis.settings(asked, max_examples=number))


# This is needed before xdist reads the groups, and before pytest reads the markers.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # the items of a parametrised test share its function
    scale_examples(getattr(item, "obj", None) for item in items)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
        fixtures = set(getattr(item, "fixturenames", ()))
        if not fixtures & {"warehouse", "lake"} and not item.get_closest_marker("server"):
            item.add_marker(pytest.mark.unit)
    order = {group: place for place, group in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(group_of(item), len(order)))
