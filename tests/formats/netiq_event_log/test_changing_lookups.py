"""Increments whose snapshot and `as_of` change from run to run: the vectors, and generated logs.

The answers of a run stay, so the runs differ from a full refresh. The laws test increments with
look-ups that do not change.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from incremental.relations import Relations
from incremental.scenario import Scenario, Step
from incremental.stepping import Stepping
from kit.formats import Vector
from kit.landing import batches
from kit.units import names_text
from kit.warehouse import Warehouse
from simulation import database
from simulation.database import Table

from formats.netiq_event_log import FORMAT, reference, writer
from formats.netiq_event_log.reference import Row
from formats.netiq_event_log.vector_units import STEP, moved_sequence, woven_row
from formats.netiq_event_log.writer import Layout, Style

USR = {"vector": "string", "idu": "int", "fname": "string", "lname": "string"}
PEOPLE = Table("people", {"idu": "int", "fname": "string", "lname": "string"}, ("idu",))


def model(table: str, key: Sequence[str], columns: Mapping[str, str], as_of: str | None) -> str:
    """The body of a model of change events."""
    arguments = f"table='{table}', key={list(key)}, columns={dict(columns)}, as_of={as_of!r}"
    call = f"source('landing', 'log'), {arguments}, snapshot=source('landing', 'snapshot')"
    return f"{{{{ spark_cdc.netiq_event_log({call}) }}}}"


def events_of(name: str, columns: Sequence[str]) -> str:
    """A query of the events of a model, as :func:`told` writes them."""
    arrays = "array_join(cdc_changed_columns, ' '), array_join(cdc_present_columns, ' ')"
    metadata = "cdc_metadata.status, cdc_metadata.record_id"
    return (
        f"select {', '.join(columns)}, cdc_operation, cdc_sequence, {arrays}, {metadata}"
        f" from {{schema}}.{name} order by cdc_sequence"
    )


def told(values: Sequence[Any], event: Row, sequence: str, record_id: int) -> tuple[Any, ...]:
    return (
        *(*values, event["cdc_operation"], sequence, names_text(event["cdc_changed_columns"])),
        *(names_text(event["cdc_present_columns"]), event["cdc_metadata"]["status"], record_id),
    )


# The vectors


def padded(values: Sequence[Any], number: int) -> list[Any]:
    """Values repeated to a length: the last one several times."""
    return [*values, *[values[-1]] * (number - len(values))]


def vector_scenario(vectors: Sequence[Vector]) -> Scenario:
    """Every vector in one log. Vectors with another sequence of `as_of` have a model of their own.

    A vector with fewer runs than others has more runs without new rows: its events stay.
    """
    number_of_runs = max(len(vector["given"]["runs"]) for vector in vectors)
    layout = Layout(record_id="string", event_type="string", event_time="string")
    columns = {"log": layout.relation_columns, "snapshot": dict.fromkeys(USR, "string")}
    relations = Relations(columns, "snapshot")
    groups: list[tuple[str | None, ...]] = []
    logs: list[list[Row]] = [[] for _ in range(number_of_runs)]
    snapshots: list[list[Row]] = [[] for _ in range(number_of_runs)]
    expect: list[list[list[tuple[Any, ...]]]] = []
    for number, vector in enumerate(vectors, start=1):
        given, expected = vector["given"], vector["expect"]
        runs = padded(given["runs"], number_of_runs)
        as_of = tuple(run.get("as_of") for run in runs)
        if as_of not in groups:
            groups.append(as_of)
            expect.append([[] for _ in range(number_of_runs + 1)])
        group = groups.index(as_of)
        for place, run in enumerate(given["runs"]):
            logs[place] += [woven_row(vector, number, row, f"usr_{group}") for row in run["rows"]]
        for place, run in enumerate(runs):
            snapshots[place] += [{"vector": vector["id"], **row} for row in run["snapshot"]]
        results = [*padded(expected["events"], number_of_runs), expected["full_refresh"]]
        for place, events in enumerate(results):
            for event in events:
                row, sequence = event["row"], moved_sequence(event["cdc_sequence"], number)
                present = event["cdc_present_columns"]
                woven = event | {"cdc_present_columns": present and ["vector", *present]}
                values = (vector["id"], int(row["idu"]), row["fname"], row["lname"])
                record_id = event["cdc_metadata"]["record_id"] + STEP * number
                expect[group][place].append(told(values, woven, sequence, record_id))

    def models(place: int) -> dict[str, str]:
        return {
            f"usr_{group}": model(f"usr_{group}", ["vector", "idu"], USR, as_of[place])
            for group, as_of in enumerate(groups)
        }

    def rows(place: int) -> dict[str, Sequence[Any]]:
        return {
            events_of(f"usr_{group}", list(USR)): sorted(
                expect[group][place], key=lambda event: str(event[5])
            )
            for group in range(len(groups))
        }

    steps = [
        Step(
            land=(relations.landing(place, {"log": logs[place], "snapshot": snapshots[place]}),),
            models=models(place),
            rows=rows(place),
        )
        for place in range(number_of_runs)
    ]
    steps.append(Step(full_refresh=True, rows=rows(number_of_runs)))
    return Scenario(
        "vectors",
        models=models(0),
        steps=steps,
        raw=("log", "snapshot"),
        setup=relations.setup,
    )


# Generated logs


def generated(seed: int) -> tuple[list[list[Row]], list[list[Row]], writer.Log]:
    """A log in four batches, the snapshot of each run, and the whole log.

    Each snapshot is the table after some of its transactions. Its rows are sometimes newer than the
    log, and sometimes older.
    """
    rng = random.Random(f"{seed} netiq increments")
    workload = database.generate(PEOPLE, rng, transactions=60, without=writer.NOT_LOGGED)
    style = Style(query_back=0.6, both=0.4, snapshot="typed", odd_keys=0.2, shuffle=False)
    log = writer.write(workload, rng, Layout(), style)
    parts = [[dict(row) for row in part] for part in batches(log.rows, rng, 4)]
    states = writer.held(workload).rows
    snapshots = [
        [dict(row) for row in states[len(states) * (run + 1) // 4 - 1].values()] for run in range(4)
    ]
    return parts, snapshots, log


def generated_scenario(seed: int) -> Scenario:
    """A log with a growing snapshot, as the reference decodes it run by run."""
    parts, snapshots, log = generated(seed)
    relations = Relations({"log": log.columns, "snapshot": PEOPLE.columns}, "snapshot")
    increments = reference.Increments(log.options)
    query = events_of("changes", list(PEOPLE.columns))
    steps = []
    for run, (part, snapshot) in enumerate(zip(parts, snapshots, strict=True)):
        decoded = increments.run(part, snapshot)
        steps.append(
            Step(
                land=(relations.landing(run, {"log": part, "snapshot": snapshot}),),
                rows={query: [written(event) for event in decoded.events]},
            )
        )
    whole = reference.decode(increments.rows, snapshots[-1], log.options)
    steps.append(Step(full_refresh=True, rows={query: [written(event) for event in whole.events]}))
    body = model("people", PEOPLE.key, PEOPLE.columns, None)
    return Scenario(
        "generated",
        models={"changes": body},
        steps=steps,
        raw=("log", "snapshot"),
        setup=relations.setup,
    )


def written(event: Row) -> tuple[Any, ...]:
    values = [event[name] for name in PEOPLE.columns]
    return told(values, event, event["cdc_sequence"], event["cdc_metadata"]["record_id"])


@pytest.fixture(scope="module")
def steps(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Stepping:
    scenarios = (vector_scenario(FORMAT.vectors_of("netiq_increments")), generated_scenario(0))
    return Stepping(warehouse, tmp_path_factory.mktemp("netiq"), "netiq", scenarios).run()


def test_vectors(steps: Stepping) -> None:
    """Each run, and a full refresh, give the expected events of each vector."""
    steps.check("vectors")


def test_a_generated_log(steps: Stepping) -> None:
    """Each run gives the result of the reference."""
    steps.check("generated")


def test_a_generated_log_has_every_case_of_increments() -> None:
    """Answers that stay, new answers, and a full refresh with another result."""
    parts, snapshots, log = generated(0)
    increments = reference.Increments(log.options)
    answers, events = [], []
    for part, snapshot in zip(parts, snapshots, strict=True):
        events = increments.run(part, snapshot).events
        answers.append({answer.rows for answer in increments.memory.answers})
    assert all(answers)
    assert all(before & after for before, after in pairwise(answers))
    assert any(before - after for before, after in pairwise(answers))
    assert events != reference.decode(increments.rows, snapshots[-1], log.options).events
