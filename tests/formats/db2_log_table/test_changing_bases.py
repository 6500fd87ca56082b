"""Increments whose base changes from run to run: the vectors, and generated logs.

The answers of a run stay until their key has a new row, so the runs differ from a full refresh. The
laws test increments with a base that does not change.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from incremental.relations import Relations
from incremental.scenario import Place, Scenario, Step, quarantined
from incremental.stepping import Stepping
from kit.formats import Vector
from kit.landing import batches
from kit.warehouse import Warehouse
from simulation import database

from formats.db2_log_table import FORMAT, every_bad_row, reference, writer
from formats.db2_log_table.reference import Decoded, Increments, Options, Row
from formats.db2_log_table.writer import NOT_LOGGED, PARTS, Layout, Style, shown


def model(options: Options) -> str:
    """The body of a model of change events."""
    arguments = f"key={list(options.key)}, columns={dict(options.columns)}"
    call = f"source('landing', 'log'), {arguments}, base=source('landing', 'base')"
    return f"{{{{ spark_cdc.db2_log_table({call}) }}}}"


def expected(decoded: Decoded, options: Options) -> dict[str, Sequence[Any]]:
    """Queries of the events and the quarantine, and their expected results."""
    names = [f"cast({name} as string)" for name in options.columns]
    told = ["cdc_operation", "cdc_sequence", "cdc_metadata.log_operation"]
    select = f"select {', '.join(names + told)} from {{schema}}.changes order by cdc_sequence"
    reasons = Counter(reason for _, reason in decoded.quarantine)
    return {
        select: [
            (
                *shown(event, list(options.columns)),
                event["cdc_operation"],
                event["cdc_sequence"],
                event["cdc_metadata"]["log_operation"],
            )
            for event in decoded.events
        ],
        "select reason, count(*) from {schema}.quarantine group by reason order by reason": sorted(
            reasons.items()
        ),
    }


def scenario(
    name: str,
    runs: Sequence[tuple[list[Row], list[Row]]],
    options: Options,
    columns: Mapping[str, Mapping[str, str]],
) -> Scenario:
    """Runs, each with the arriving log rows and the base at that time, then a full refresh."""
    increments, relations = Increments(options), Relations(columns, "base")
    steps = [
        Step(
            land=(relations.landing(number, {"log": rows, "base": base}),),
            rows=expected(increments.run(rows, base), options),
        )
        for number, (rows, base) in enumerate(runs)
    ]
    whole = reference.decode(increments.rows, runs[-1][1], options)
    steps.append(Step(full_refresh=True, rows=expected(whole, options)))
    return Scenario(
        name,
        models={"changes": model(options), "quarantine": quarantined()},
        steps=steps,
        raw=("log", "base"),
        setup=relations.setup,
    )


# The vectors

WOVEN = Options(["vector", "id"], dict.fromkeys(("vector", "id", "name"), "string"), ["PK1", "PK2"])


def vector_runs(vectors: Sequence[Vector]) -> list[tuple[list[Row], list[Row]]]:
    """The runs of all vectors in one log, whose key begins with the vector."""
    runs: list[tuple[list[Row], list[Row]]] = [([], []) for _ in vectors[0]["given"]["runs"]]
    for vector in vectors:
        for (log, base), run in zip(runs, vector["given"]["runs"], strict=True):
            log += [
                {
                    "OPERATION": str(row["OPERATION"]),
                    "TIME": row["TIME"],
                    "PK1": vector["id"],
                    "PK2": row["PK01"],
                }
                for row in run["rows"]
            ]
            base += [
                {"vector": vector["id"], "id": row["ID"], "name": row["NAME"]}
                for row in run["base"]
            ]
    return runs


def test_the_woven_vectors_are_the_vectors() -> None:
    """In the reference, except for the sequences, which have another key."""
    vectors = FORMAT.vectors_of("db2_log_increments")
    increments = Increments(WOVEN)
    for number, (log, base) in enumerate(vector_runs(vectors)):
        decoded = increments.run(log, base)
        for vector in vectors:
            own = {
                (one["cdc_operation"], one["cdc_commit_sequence"], one["row"]["NAME"])
                for one in vector["expect"]["events"][number]
            }
            assert own == {
                (one["cdc_operation"], one["cdc_commit_sequence"], one["name"])
                for one in decoded.events
                if one["vector"] == vector["id"]
            }


def vector_scenario() -> Scenario:
    log = dict.fromkeys(("OPERATION", "TIME", "PK1", "PK2"), "string")
    runs = vector_runs(FORMAT.vectors_of("db2_log_increments"))
    return scenario("vectors", runs, WOVEN, {"log": log, "base": WOVEN.columns})


# Generated logs


def generated(seed: int) -> tuple[list[tuple[list[Row], list[Row]]], writer.Log]:
    """A log in four runs, each with its base, a run without log rows, and the whole log.

    Each base is the table after some of its transactions: sometimes older than the log, sometimes
    newer. Some of its rows have bad values, each time other rows.
    """
    rng = random.Random(f"{seed} db2 increments")
    layout = Layout("string", "string", keys_as_text=True, base="text", columns=True)
    workload = database.generate(PARTS, rng, 60, key_space=30, without=NOT_LOGGED)
    style = Style(bad_rows=every_bad_row(layout), shuffle=False)
    log = writer.write(workload, rng, layout, style)
    parts = [*([dict(row) for row in part] for part in batches(log.rows, rng, 4)), []]
    last = len(workload.rows) - 1
    bases = [
        writer.base_of(
            list(workload.rows_at(min(last, last * (run + 1) // 4)).values()), PARTS, layout, rng
        )
        for run in range(5)
    ]
    return list(zip(parts, bases, strict=True)), log


def generated_scenario(seed: int) -> Scenario:
    runs, log = generated(seed)
    columns = {"log": log.columns, "base": log.base_columns}
    return scenario("generated", runs, log.options, columns)


# If no key of the base can be read, it does not say that every row is gone.
_DRIFTED = Options(["id"], {"id": "bigint", "name": "string"}, ["PK01"])
_COLUMNS = {
    "log": {"OPERATION": "string", "TIME": "string", "PK01": "string"},
    "base": {"id": "string", "name": "string"},
}
_LANDING = Relations(_COLUMNS, "base")


def _logged(number: int, *keys: str) -> Callable[[Place], None]:
    """Changes of the rows 1 and 2, and a base that has these keys."""
    log = [
        {"OPERATION": "1", "TIME": f"2024-05-0{number} 10:00:00", "PK01": key} for key in ("1", "2")
    ]
    base = [{"id": key, "name": f"row {key}"} for key in keys]
    return _LANDING.landing(number, {"log": log, "base": base})


_ROWS = "select id, name, cdc_operation from {schema}.changes order by id"
_FIRST = [(1, "row 1", "update"), (2, None, "delete")]
UNREADABLE = Scenario(
    "unreadable",
    models={"changes": model(_DRIFTED)},
    raw=("log", "base"),
    setup=_LANDING.setup,
    steps=(
        Step(land=(_logged(1, "1", "no key"),), rows={_ROWS: _FIRST}),
        Step(
            land=(_logged(2, "1.5", "no key"),),
            fails={"changes": ".base, has a key of these types: id bigint"},
            rows={_ROWS: _FIRST},
        ),
        Step(
            land=(_logged(3),),
            rows={_ROWS: [(1, None, "delete"), (2, None, "delete")]},
        ),
    ),
)


@pytest.fixture(scope="module")
def steps(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Stepping:
    scenarios = (vector_scenario(), generated_scenario(0), UNREADABLE)
    return Stepping(warehouse, tmp_path_factory.mktemp("db2_log"), "db2_log", scenarios).run()


def test_vectors(steps: Stepping) -> None:
    """Each run, and a full refresh, give the expected events of each vector."""
    steps.check("vectors")


def test_a_base_without_readable_keys(steps: Stepping) -> None:
    """The run stops, and no row is deleted. An empty base says that all rows are gone."""
    steps.check("unreadable")


def test_a_generated_log(steps: Stepping) -> None:
    """Each run gives the result of the reference."""
    steps.check("generated")


def test_a_generated_log_has_every_case_of_increments() -> None:
    """Answers that differ from the base and stay, rows that are bad for a time, redeliveries."""
    runs, log = generated(0)
    increments = Increments(log.options)
    answers, whole = [], None
    for rows, base in runs:
        decoded = increments.run(rows, base)
        whole = reference.decode(increments.rows, base, log.options)
        answers.append(dict(decoded.answers))
    assert whole is not None and decoded.events != whole.events
    for before, after in pairwise(answers):
        assert any(before[key] == after[key] for key in before)
    for before, after in pairwise(answers[:-1]):
        assert any(before[key][0] != after[key][0] for key in before)
    is_bad = [{key for key, (_, answer) in one.items() if answer == "bad"} for one in answers]
    assert all(is_bad[:-1]) and is_bad[-2] - is_bad[-1]
