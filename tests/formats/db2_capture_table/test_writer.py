"""The writer: its tables have every phenomenon, and agree with the simulated database."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from simulation import apply_events, database, oracle
from simulation.oracle import Position

from formats import db2_capture_table
from formats.db2_capture_table import CASES, PAIRS, reference, with_bad_rows, writer
from formats.db2_capture_table.reference import Increments
from formats.db2_capture_table.writer import BAD_ROWS, Capture, Style, write

Row = dict[str, Any]
TABLES = (database.ORDERS, database.ODD_NAMES, database.POSITIONS, database.ALL_TYPES)


def single(table: database.Table) -> Style:
    return Style(before=list(table.columns), unit_of_work=0.7)


def of_states(rows: Sequence[Row]) -> list[Row]:
    """Rows of current state or history without operations, which differ for a pair."""
    told = [
        {
            name: value
            for name, value in row.items()
            if name not in ("cdc_operation", "cdc_ended_by")
        }
        for row in rows
    ]
    return sorted(told, key=repr)


def told_by_states(made: Capture, workload: database.Workload) -> tuple[list[Row], list[Row]]:
    """Current state and history of the simulated database, at the positions of its commits."""
    at = {commit: made.commits[commit] for commit in range(len(workload.transactions))}
    positions = {
        change.number: Position("", at[transaction.position], None)
        for transaction in workload.transactions
        for change in transaction.changes
    }
    current = oracle.current_state(workload, positions=positions)
    return current, oracle.history(workload, positions=positions)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("kind", ["single", "pairs", "both"])
def test_a_table_agrees_with_the_states(table: database.Table, kind: str) -> None:
    """Also with shifts, swaps and moves of keys: a transaction ends in the same state."""
    style = {"single": single(table), "pairs": replace(PAIRS, sequence="decimal")}.get(kind)
    style = style or replace(single(table), pairs=0.5)
    for seed in range(3):
        rng = random.Random(seed)
        workload = database.generate(table, rng, 40, without=writer.NOT_CAPTURED)
        made = write(workload, rng, with_bad_rows(style))
        events = [dict(event, cdc_commit_at=None) for event in made.events]
        current, history = told_by_states(made, workload)
        found = apply_events.current_state(events, list(table.key))
        assert of_states([dict(row, cdc_sequence="") for row in found]) == of_states(current)
        assert of_states(apply_events.history(events, list(table.key))) == of_states(history)


def test_a_bad_row_has_its_reason() -> None:
    for kind in BAD_ROWS:
        rng = random.Random(kind)
        workload = database.generate(database.ORDERS, rng, 30, without=writer.NOT_CAPTURED)
        style = replace(PAIRS, duplicates=0, logmarker="string", bad_rows={kind: 3})
        made = write(workload, rng, style)
        assert made.quarantine == [kind] * (6 if kind == "sequence_conflict" else 3)


def test_bad_rows_change_nothing_else() -> None:
    for name, (table, style) in CASES.items():
        made = db2_capture_table.capture(name, table, style)
        bad = {place for place, _ in made.decoded.quarantine}
        good = [row for place, row in enumerate(made.rows) if place not in bad]
        assert len(good) < len(made.rows)
        decoded = reference.decode(good, made.options, made.unit_of_work, made.base)
        assert decoded.events == made.decoded.events


def test_cases_have_every_phenomenon() -> None:
    cases = {name: db2_capture_table.case(0, name) for name in CASES}
    assert set().union(*(case.quarantine for case in cases.values())) == set(BAD_ROWS)
    operations = {
        name: {event["cdc_operation"] for event in case.events} for name, case in cases.items()
    }
    changes = {"insert", "update", "delete"}
    assert operations["cd"] == operations["cd_pairs"] == changes
    assert operations["ccd"] == operations["cd_of_keys"] == {*changes, "load"}
    for name in ("cd", "cd_of_keys"):
        ids = [event["cdc_transaction_id"] for event in cases[name].events]
        assert None in ids and any(ids)
    anchors = {
        event["cdc_commit_sequence"]
        for event in cases["ccd"].events
        if event["cdc_operation"] == "load"
    }
    assert len(anchors) == 4
    null_keys = [row for row in cases["ccd"].relations["raw"].rows if row["Order No"] is None]
    assert {row["IBMSNAP_COMMITSEQ"] == writer.LOAD[0] for row in null_keys} == {True, False}
    # rows that landed twice are one row
    assert all(len(case.events) < case.raw_counts["used_rows"] for case in cases.values())


def test_deliveries_have_every_case_of_increments() -> None:
    """Halves of pairs and units of work arrive apart; increments equal a full refresh."""
    made, parts = db2_capture_table.in_batches(random.Random(0))
    increments = Increments(made.options)
    seen: list[dict[str, Row]] = []
    for part in parts:
        decoded = increments.run(part["raw"], part["unit_of_work"])
        whole = reference.decode(increments.rows, made.options, increments.unit_of_work)
        assert decoded.events == whole.events and decoded.quarantine == whole.quarantine
        seen.append({str(event["cdc_sequence"]): event for event in decoded.events})
    loads = [{one for one, event in it.items() if event["cdc_operation"] == "load"} for it in seen]
    assert loads[0] < loads[1], "no loaded row came late"
    for before, after in pairwise(seen):
        assert any(one not in after for one in before), (
            "no half was taken for a delete or an insert"
        )
        assert any(
            event["cdc_transaction_id"] is None and after[one]["cdc_transaction_id"]
            for one, event in before.items()
            if one in after
        ), "no unit of work came late"
