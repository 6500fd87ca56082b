"""The writer: its logs have every phenomenon, and agree with the simulated database."""

from __future__ import annotations

import random

import pytest
from simulation import apply_events, database

from formats import db2_log_table
from formats.db2_log_table import writer
from formats.db2_log_table.reference import Increments, decode
from formats.db2_log_table.writer import BAD_ROWS, NOT_LOGGED, PARTS, Layout, Style, write

TEXT = Layout("string", "string", keys_as_text=True, base="text", columns=True)


def workload(seed: int, table: database.Table = PARTS) -> database.Workload:
    return database.generate(table, random.Random(seed), 40, key_space=30, without=NOT_LOGGED)


@pytest.mark.parametrize("by", ["triggers", "application"])
@pytest.mark.parametrize("seed", range(3))
def test_the_current_state_is_the_table(by: str, seed: int) -> None:
    """With any operations, from triggers or an application: the log has every changed key."""
    made = workload(seed)
    log = write(made, random.Random(seed), TEXT, Style(by=by))
    rows = list(made.rows_at(len(made.rows) - 1).values())
    plain = decode(log.rows, rows, log.options)
    current = apply_events.current_state(
        [event for event in plain.events if event.pop("cdc_metadata")], list(PARTS.key)
    )
    names = list(PARTS.columns)
    assert sorted(map(repr, (writer.shown(row, names) for row in current))) == sorted(
        map(repr, (writer.shown(row, names) for row in rows))
    )


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_row_has_its_reason(kind: str) -> None:
    layout = Layout("string", "string", keys_as_text=True)
    style = Style(duplicates=0, bad_rows={kind: 3})
    log = write(workload(1), random.Random(kind), layout, style)
    assert log.quarantine == ([] if kind == "information" else [kind] * 3)
    assert log.decoded.raw_counts["no_op_rows"] == 3 * (kind == "information")


def test_cases_have_every_phenomenon() -> None:
    cases = {case.name: case for case in db2_log_table.cases(0)}
    reasons = set().union(*(case.quarantine for case in cases.values()))
    assert reasons | {"information"} == set(BAD_ROWS)
    for case in cases.values():
        operations = {event["cdc_operation"] for event in case.events}
        assert operations == {"insert", "update", "delete"}
        keys = [tuple(row[one] for one in case.table.key) for row in case.relations["base"].rows]
        assert len(set(keys)) < len(keys) or "all_types" in case.name  # has several texts for one
    counts = [case.raw_counts for case in cases.values()]
    assert any(one["no_op_rows"] for one in counts) and any(
        one["quarantined_rows"] for one in counts
    )


@pytest.mark.parametrize("seed", range(4))
def test_deliveries_have_every_case_of_increments(seed: int) -> None:
    """Events are replaced or kept; rows are late or repeated; a full refresh is equal."""
    log, parts = db2_log_table.log_in_batches(random.Random(seed))
    increments = Increments(log.options)
    sequences: list[set[str]] = []
    for part in parts:
        decoded = increments.run(part, log.base)
        whole = decode(increments.rows, log.base, log.options)
        assert (decoded.events, decoded.quarantine) == (whole.events, whole.quarantine)
        sequences.append({str(event["cdc_sequence"]) for event in decoded.events})
    assert sequences[1] & sequences[2]
    assert sequences[1] - sequences[2]
    assert "bad_value" in {reason for _, reason in decoded.quarantine}
