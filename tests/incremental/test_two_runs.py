"""Two runs of one model at a time, and writes by another run in the middle of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from kit.warehouse import Warehouse

from incremental import inside
from incremental.holding import held
from incremental.scenario import (
    CURRENT,
    Place,
    Plan,
    Scenario,
    Step,
    config,
    decoded,
    land,
    quarantined,
)
from incremental.stepping import Stepping

IDLE = Step(run=())
FIRST = (land("raw", (10, "I", 1, "first", "a", 1)),)
SECOND = (land("raw", (20, "U", 1, "second", "a", 1)),)
THIRD = land("raw", (30, "U", 1, "third", "a", 1))
WAITS = config(pre_hook="{{ hold() }}")

# In step 3 another run of these models waits. It began before this one, and continues afterwards.
CHANGES = Scenario(
    "changes",
    models={"changes": WAITS + decoded()},
    steps=(
        Step(land=FIRST),
        Step(land=SECOND, run=()),
        Step(rows={"changes": [(1, "first"), (1, "second")]}),
        Step(rows={"changes": [(1, "first"), (1, "second"), (1, "third")]}),
    ),
)

# The same of a raw log: no row is in it twice.
READS_LOG = decoded().replace("source('landing', 'raw')", "ref('log')")
RAW_LOG = Scenario(
    "raw_log",
    models={
        "log": WAITS + "{{ spark_cdc.raw_log(source('landing', 'raw')) }}",
        "changes": READS_LOG,
    },
    steps=(
        Step(land=FIRST),
        Step(land=SECOND, run=()),
        Step(rows={"log": [(1, "first"), (1, "second")]}),
        Step(
            rows={
                "log": [(1, "first"), (1, "second"), (1, "third")],
                "changes": [(1, "first"), (1, "second"), (1, "third")],
            }
        ),
    ),
)

# Current state locks its model only if there is something to write.
CURRENT_STATE = Scenario(
    "current_state",
    models={"changes": decoded(), "current": WAITS + CURRENT},
    steps=(
        Step(land=FIRST),
        Step(land=SECOND, run=("changes",)),
        Step(run=("current",), rows={"current": [(1, "second")]}),
        Step(run=(), rows={"current": [(1, "second")]}),
    ),
)

# In step 3 `current` has looked for retracted events, since there is a new event, and waits. Then
# some events are retracted.
REPLACED_MEANWHILE = Scenario(
    "replaced_meanwhile",
    models={"changes": decoded(), "current": CURRENT},
    steps=(
        Step(land=FIRST),
        Step(land=(land("raw", (15, "I", 3, "third", "a", 1)),), run=("changes",)),
        Step(
            land=(
                land("raw", (10, "I", 1, "in conflict", "a", 1), (20, "I", 2, "second", "a", 1)),
            ),
            run=("changes",),
            rows={"changes": [(2, "second"), (3, "third")]},
        ),
        Step(run=(), rows={"current": [(2, "second"), (3, "third")]}),
    ),
)

# In step 3 `changes` has written its retracted events, and waits. The row at 10 gives the update at
# 12 another commit.
READ_AMID = Scenario(
    "read_amid",
    models={"changes": decoded(), "current": CURRENT},
    steps=(
        Step(
            land=(
                land("raw", (1, "I", 1, "first", "a", 1)),
                land("raw", (12, "U", 1, "second", "a", 1), transaction="X"),
            )
        ),
        Step(land=(land("raw", (10, "I", 2, "first", "a", 2), transaction="X"),), run=()),
        Step(run=("current",), rows={"current": [(1, "second")]}),
        Step(run=("current",), rows={"current": [(1, "second"), (2, "first")]}),
    ),
)

ADDED = decoded()


def added_amid(point: str) -> Plan:
    """The last statement of a run without a lock adds the bad row that this run has found."""
    return lambda place: {
        "after": point,
        "statements": [inside.add_rows_found(f"{{schema}}.{inside.raw_rows(place, 'changes')}")],
    }


def rows_read(place: Place) -> int:
    return int(
        place.sql(f"select count(*) from {{schema}}.{inside.raw_rows(place, 'changes')}")[0][0]
    )


def added_twice(name: str, body: str, is_killed: bool, point: str) -> Scenario:
    """Two runs find a bad row; if there was one before, that run was killed."""
    row = land("raw", (20, "?", 2, "bad", "a", 1))
    return Scenario(
        name,
        models={"changes": ADDED, "bad": quarantined()},
        steps=(
            Step(land=FIRST),
            Step(
                land=(row,),
                run=("changes",) if is_killed else (),
                meanwhile={"changes": {"killed": inside.KEEPS_ROWS}},
                fails={"changes": "killed"},
            ),
            Step(
                models={"changes": body},
                meanwhile={"changes": added_amid(point)},
                fails={"changes": "was written while this run worked"},
            ),
            Step(rows={"select count(*) from {schema}.bad": [(1,)]}, look=rows_read),
        ),
    )


SPARSE = ADDED.replace("key=", "qlik_sparse_updates=true, key=")
ADDED_TWICE = (
    added_twice("added_after_kill", ADDED, True, inside.NEW_ROWS_COPIED),
    added_twice("added_late", ADDED, False, inside.DIFFERENCE_KNOWN),
    added_twice("added_to_another_call", SPARSE, True, inside.NEW_ROWS_COPIED),
)


SCENARIOS = (
    *(CHANGES, RAW_LOG, CURRENT_STATE, REPLACED_MEANWHILE, READ_AMID),
    *ADDED_TWICE,
)


HELD = {
    "changes": ("changes", ""),
    "raw_log": ("log", ""),
    "current_state": ("current", ""),
    "replaced_meanwhile": ("current", inside.RETRACTED_ASKED),
    "read_amid": ("changes", inside.RETRACTED_KEPT),
}


@dataclass
class TwoRuns:
    """All steps, and the end of the runs that waited."""

    steps: Stepping
    held: Mapping[str, Any]


@pytest.fixture(scope="module")
def two(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> TwoRuns:
    steps = Stepping(warehouse, tmp_path_factory.mktemp("two"), "two_runs", SCENARIOS)
    steps.step(0)
    steps.step(1)
    with held(steps, HELD) as ended:
        steps.looks["changes"].append(inside.locks(steps.places["changes"]))
        steps.step(2)
        for name in ("changes", "raw_log"):
            # otherwise the run that waits would find nothing to write
            steps.places[name].sql(THIRD)
    steps.step(3)
    for name in HELD:
        steps.looks[name].append(inside.locks(steps.places[name]))
    return TwoRuns(steps, ended)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("changes", "began after this one"),
        # a raw log is locked only if there are new rows
        ("raw_log", "has ended after this one began"),
        ("current_state", "has ended after this one began"),
    ],
)
def test_of_two_runs_at_a_time_the_first_stops(two: TwoRuns, name: str, said: str) -> None:
    *held, ended = two.steps.check(name)
    assert all(held)  # while the run waited, it had the lock
    assert not ended
    assert two.held[name]["status"] == "error"
    assert said in two.held[name]["message"]


@pytest.mark.parametrize("name", ["replaced_meanwhile", "read_amid"])
def test_a_model_may_run_while_the_one_it_reads_does(two: TwoRuns, name: str) -> None:
    """Events that a run retracts are stored before its new events."""
    assert two.held[name]["status"] == "success", two.held[name]["message"]
    assert two.steps.check(name) == [[]]


@pytest.mark.parametrize("name", [one.name for one in ADDED_TWICE])
def test_a_row_that_another_run_adds_is_stored_once(two: TwoRuns, name: str) -> None:
    assert two.steps.check(name) == [2]
