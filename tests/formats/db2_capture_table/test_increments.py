"""Increments of capture tables: the vectors, and generated tables.

Units of work arrive before or after their changes, full refreshes move, a base changes from run to
run. The laws test a table without times of full refreshes and without base, whose rows leave.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from incremental.relations import Relations
from incremental.scenario import Scenario, Step, quarantined
from incremental.stepping import Stepping
from kit.formats import Vector
from kit.landing import batches
from kit.units import names_text
from kit.values import as_text
from kit.warehouse import Warehouse
from simulation import database

from formats.db2_capture_table import (
    CCD,
    FORMAT,
    KEY_ONLY,
    NARROW,
    reference,
    with_bad_rows,
    writer,
)
from formats.db2_capture_table.reference import Decoded, Increments, Options, Row
from formats.db2_capture_table.vector_units import moved
from formats.db2_capture_table.writer import Capture, Style


@dataclass(frozen=True)
class Tables(Relations):
    """The relations of a model, and the rest of its call."""

    arguments: str
    options: Options

    @property
    def model(self) -> str:
        """The body of a model of change events."""
        given = self.arguments
        for name in self.columns:
            given = given.replace(f"{{{name}}}", f"source('landing', '{name}')")
        return f"{{{{ spark_cdc.db2_capture_table(source('landing', 'capture'), {given}) }}}}"


def expected(decoded: Decoded, options: Options) -> dict[str, Sequence[Any]]:
    """Queries of the events and the quarantine, and their expected results."""
    names = list(options.columns)
    told = [*(f"cast(`{name}` as string)" for name in names), "cdc_operation", "cdc_sequence"]
    told += ["unix_micros(cdc_commit_at)", "cdc_transaction_id"]
    told += ["array_join(cdc_changed_columns, ' ')"]
    told += [f"cast(cdc_before.`{name}` as string)" for name in names]
    select = f"select {', '.join(told)} from {{schema}}.changes order by cdc_sequence"
    reasons = Counter(reason for _, reason in decoded.quarantine)
    return {
        select: [shown(event, names) for event in decoded.events],
        "select reason, count(*) from {schema}.quarantine group by reason order by reason": sorted(
            reasons.items()
        ),
    }


def shown(event: Row, names: Sequence[str]) -> tuple[Any, ...]:
    """An event as the query gives it."""
    at, changed, before = (
        event[f"cdc_{one}"] for one in ("commit_at", "changed_columns", "before")
    )
    return (
        *(as_text(event[name]) for name in names),
        event["cdc_operation"],
        event["cdc_sequence"],
        at and round(at.timestamp() * 1_000_000),
        event["cdc_transaction_id"],
        names_text(changed),
        *(before and as_text(before[name]) for name in names),
    )


Runs = Sequence[Mapping[str, list[Row]]]


def scenario(name: str, tables: Tables, runs: Runs) -> Scenario:
    """Runs, each with the arriving rows and the base at that time, then a full refresh."""
    increments, steps = Increments(tables.options), []
    for number, run in enumerate(runs):
        decoded = increments.run(run["capture"], run.get("unit_of_work", ()), run.get("base", ()))
        steps.append(
            Step(
                land=(tables.landing(number, run),),
                rows=expected(decoded, tables.options),
            )
        )
    whole = reference.decode(
        increments.rows, tables.options, increments.unit_of_work, runs[-1].get("base", ())
    )
    steps.append(Step(full_refresh=True, rows=expected(whole, tables.options)))
    return Scenario(
        name,
        models={"changes": tables.model, "quarantine": quarantined()},
        steps=steps,
        raw=tuple(tables.columns),
        setup=tables.setup,
    )


# The vectors

UNIT_OF_WORK = ("COMMITSEQ", "LOGMARKER", "UOWID", "AUTHID", "APPLY_QUAL")


def vector_scenario(name: str, vectors: Sequence[Vector]) -> Scenario:
    """Vectors of one kind in one capture table, whose key begins with the vector."""
    first = vectors[0]["given"]
    of_rows = dict.fromkeys(
        column for run in first["runs"] for row in run["rows"] for column in row
    )
    columns = {"capture": dict.fromkeys([*of_rows, "VECTOR"], "string")}
    given = {
        "key": str(["VECTOR", *first["key"]]),
        "columns": str({"VECTOR": "string", **first["columns"]}),
        "before_prefix": "none",
    }
    if "key_columns" in first:
        given["key_columns"] = str(["VECTOR", *first["key_columns"]])
    if any("unit_of_work" in one["given"]["runs"][0] for one in vectors):
        columns["unit_of_work"] = dict.fromkeys((f"IBMSNAP_{it}" for it in UNIT_OF_WORK), "string")
        given["unit_of_work"] = "{unit_of_work}"
    if "base" in first["runs"][0]:
        columns["base"] = dict.fromkeys(["VECTOR", *first["columns"]], "string")
        given["base"] = "{base}"
    runs: list[dict[str, list[Row]]] = [{one: [] for one in columns} for _ in range(3)]
    for number, vector in enumerate(vectors, start=1):
        parts = vector["given"]["runs"]
        for place, run in enumerate(runs):
            part = parts[min(place, len(parts) - 1)]
            for relation, its_columns in columns.items():
                told = part.get("rows" if relation == "capture" else relation) or []
                if place >= len(parts) and relation != "base":
                    continue  # nothing is new
                run[relation] += [
                    dict.fromkeys(its_columns)
                    | moved(row, number)
                    | ({"VECTOR": vector["id"]} if "VECTOR" in its_columns else {})
                    for row in told
                ]
    options = reference.options_of(
        columns["capture"],
        ["VECTOR", *first["key"]],
        {"VECTOR": "string", **first["columns"]},
        None,
        ["VECTOR", *first["key_columns"]] if "key_columns" in first else None,
        list(columns["unit_of_work"]) if "unit_of_work" in columns else None,
        columns.get("base"),
    )
    arguments = ", ".join(f"{one}={value}" for one, value in given.items())
    return scenario(name, Tables(columns, "base", arguments, options), runs)


def vector_scenarios() -> list[Scenario]:
    """All vectors, in three capture tables."""
    kinds: dict[str, list[Vector]] = {}
    for vector in FORMAT.vectors_of("db2_capture_increments"):
        given = vector["given"]
        kind = "vectors_of_keys" if "key_columns" in given else "vectors_of_loads"
        if kind == "vectors_of_loads" and "unit_of_work" in given["runs"][0]:
            kind = "vectors"
        kinds.setdefault(kind, []).append(vector)
    assert [len(vectors) for vectors in kinds.values()] == [4, 2, 1]
    return [vector_scenario(name, vectors) for name, vectors in kinds.items()]


# Generated tables

STYLES: dict[str, Style] = {
    "full_refreshes": replace(
        CCD, before=["ID", "NAME"], own=["AUTHID"], is_text=True, shuffle=False
    ),
    "keys": replace(KEY_ONLY, key_columns=["PK01"], shuffle=False),
}


def generated(seed: int, name: str) -> tuple[Capture, list[dict[str, list[Row]]]]:
    """A capture table in four batches, each with the base at that time.

    Each base is the table after some of its transactions. Its rows are sometimes newer than the
    capture table, and sometimes older.
    """
    rng = random.Random(f"{seed} db2 {name}")
    workload = database.generate(NARROW, rng, 40, without=writer.NOT_CAPTURED)
    made = writer.write(workload, rng, with_bad_rows(STYLES[name]))
    rows, uow = batches(made.rows, rng, 4), batches(made.unit_of_work, rng, 4)
    runs = []
    for number in range(4):
        run = {"capture": [dict(row) for row in rows[number]]}
        run["unit_of_work"] = [dict(row) for row in uow[number]]
        if made.base:
            position = len(workload.rows) * (number + 1) // 4 - 1
            run["base"] = writer.base_of(workload, position, rng, "text")
        runs.append(run)
    runs[3]["capture"] = []  # only a unit of work, or another base
    return made, runs


def generated_scenario(name: str) -> Scenario:
    made, runs = generated(SEEDS[name], name)
    columns = {"capture": made.columns, "unit_of_work": made.uow_columns}
    if made.base:
        columns["base"] = made.base_columns
    return scenario(name, Tables(columns, "base", made.arguments, made.options), runs)


SEEDS = {"full_refreshes": 6, "keys": 0}


# Texts as tables declare them: of fixed length, and with a collation

_CD = "insert into {schema}.capture values"
_UOW = "insert into {schema}.unit_of_work values"
_EVENTS = (
    "select cast(name as string), array_join(cdc_changed_columns, ' '), cdc_commit_at,"
    " cdc_metadata.apply_qual from {schema}.changes order by cdc_sequence"
)
_REFUSED = "select get_json_object(raw, '$.NAME'), reason from {schema}.quarantine order by raw"
_MODEL = (
    "{{ spark_cdc.db2_capture_table(source('landing', 'capture'), key=['ID'],"
    " unit_of_work=source('landing', 'unit_of_work')) }}"
)
_FIRST, _SECOND = datetime(2024, 1, 1), datetime(2024, 1, 2)
TEXTS = Scenario(
    "texts",
    models={"changes": _MODEL, "quarantine": quarantined()},
    raw=("capture", "unit_of_work"),
    setup=(
        "drop table {schema}.capture",
        "create table {schema}.capture (IBMSNAP_COMMITSEQ binary, IBMSNAP_INTENTSEQ binary,"
        " IBMSNAP_OPERATION char(1), ID char(4), NAME string collate utf8_lcase) using parquet",
        "drop table {schema}.unit_of_work",
        "create table {schema}.unit_of_work (IBMSNAP_COMMITSEQ string collate utf8_lcase,"
        " IBMSNAP_LOGMARKER timestamp_ntz, IBMSNAP_AUTHID varchar(30),"
        " IBMSNAP_APPLY_QUAL char(4)) using parquet",
    ),
    steps=(
        Step(
            land=(
                f"{_CD} (X'0A', X'01', 'I', 'a', 'x'), (X'0B', X'01', 'D', 'a', 'x'),"
                " (X'0B', X'02', 'I', 'a', 'X'), (X'0C', X'01', 'U', 'a', 'y')",
                f"{_UOW} ('0a', timestamp_ntz '2024-01-01 00:00:00', 'u', 'q')",
            ),
            rows={
                _EVENTS: [
                    ("x", None, _FIRST, "q   "),
                    ("X", "NAME", None, None),
                    ("y", None, None, None),
                ],
                _REFUSED: [],
            },
        ),
        Step(
            land=(
                f"{_CD} (X'0C', X'01', 'U', 'a', 'Y')",
                f"{_UOW} ('0B', timestamp_ntz '2024-01-02 00:00:00', 'u', ' ')",
            ),
            rows={
                _EVENTS: [("x", None, _FIRST, "q   "), ("X", "NAME", _SECOND, "    ")],
                _REFUSED: [("Y", "sequence_conflict"), ("y", "sequence_conflict")],
            },
        ),
    ),
)

SCENARIOS = ("vectors", "vectors_of_keys", "vectors_of_loads", *STYLES, "texts")


@pytest.fixture(scope="module")
def steps(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Stepping:
    scenarios = [*vector_scenarios(), *(generated_scenario(name) for name in STYLES)]
    scenarios.append(TEXTS)
    return Stepping(warehouse, tmp_path_factory.mktemp("db2"), "db2", scenarios).run()


@pytest.mark.parametrize("name", SCENARIOS)
def test_runs(steps: Stepping, name: str) -> None:
    """Each run, and a full refresh, give the result of the reference."""
    steps.check(name)


def test_generated_tables_have_every_case_of_increments() -> None:
    """Late commit times, anchors that move, answers that stay, a full refresh that differs."""
    made, runs = generated(SEEDS["full_refreshes"], "full_refreshes")
    increments = Increments(made.options)
    events = [increments.run(run["capture"], run["unit_of_work"]).events for run in runs]
    for before, after in pairwise(events):
        ids = [
            {one["cdc_sequence"]: one["cdc_transaction_id"] for one in run}
            for run in (before, after)
        ]
        assert any(ids[1].get(sequence, it) != it for sequence, it in ids[0].items())
    loads = [{it["cdc_sequence"] for it in run if it["cdc_operation"] == "load"} for run in events]
    assert any(before - after for before, after in pairwise(loads))
    made, runs = generated(SEEDS["keys"], "keys")
    increments, answers = Increments(made.options), []
    for run in runs:
        decoded = increments.run(run["capture"], run["unit_of_work"], run["base"])
        answers.append({(key, rows) for key, (rows, told) in decoded.answers.items() if told.row})
    assert answers[2] & answers[3]  # with another base
    assert any(before - after for before, after in pairwise(answers))
    whole = reference.decode(
        increments.rows, made.options, increments.unit_of_work, runs[-1]["base"]
    )
    assert whole.events != decoded.events
