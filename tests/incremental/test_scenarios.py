"""Incremental models: the result of each run, on small raw tables written by SQL."""

from __future__ import annotations

import pytest
from kit.warehouse import Warehouse

from incremental.scenarios import (
    applying,
    columns,
    dependencies,
    logs,
    reading,
    reloads,
    stopping,
)
from incremental.stepping import Stepping

SCENARIOS = [
    *reading.SCENARIOS,
    *applying.SCENARIOS,
    *reloads.SCENARIOS,
    *columns.SCENARIOS,
    *dependencies.SCENARIOS,
    *logs.SCENARIOS,
    *stopping.SCENARIOS,
]

# The scenarios of `make test-all`: what they show is also part of others, or seldom happens.
SLOW = (
    *("quarantine_of", "files_of_others", "unlisted", "other_type", "failed_edit", "other_part"),
    *("without_dependencies", "two_inputs", "routed_log", "kept_landing", "log_built_again"),
    *("empty_text", "one_commit", "looked_up", "null_keys", "latecomer", "deferred", "empty_runs"),
    *("half_a_batch", "wrong_clock", "batch_of_another_server", "wider"),
)


@pytest.fixture(scope="module")
def steps(
    request: pytest.FixtureRequest,
    warehouse: Warehouse,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stepping:
    """All steps of the scenarios that pytest has selected."""
    ours = [item for item in request.session.items if item.path == request.path]
    selected = {item.callspec.params["name"] for item in ours}  # type: ignore[attr-defined]
    scenarios = [one for one in SCENARIOS if one.name in selected]
    return Stepping(warehouse, tmp_path_factory.mktemp("scenarios"), "scenarios", scenarios).run()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one.name, marks=[pytest.mark.slow] * (one.name in SLOW), id=one.name)
        for one in SCENARIOS
    ],
)
def test_scenario(steps: Stepping, name: str) -> None:
    looks = steps.check(name)
    if name in ("shared_log", "routed_log", "kept_landing"):
        assert looks == [[]], "a model that reads a raw log keeps raw rows"
    if name == "wrong_clock":
        (log,) = looks
        assert log.count("no new raw rows from at 2024-01-28 00:00:00 on") == 2
        assert log.count("no new raw rows from the last at of each part on") == 1
        assert log.count("no new raw rows after 2024-01-28 00:00:00") == 1
    if name == "with_look_up":
        first, second, third, fourth = looks
        assert first == second != third == fourth, "decoded again for the same look-up"
    if name == "promises":  # dbt writes descriptions into the table
        for described in looks:
            assert ("id", "bigint", "The one and only.") in described
            assert "The rows that exist." in {row[1] for row in described}
