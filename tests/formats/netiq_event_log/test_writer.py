"""The writer: its logs have every phenomenon, and agree with the simulated database."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from kit.formats import Case
from simulation import apply_events, database, oracle

from formats import netiq_event_log
from formats.netiq_event_log import reference, writer
from formats.netiq_event_log.reference import Increments, Row, decode
from formats.netiq_event_log.writer import ACCOUNTS, BAD_ROWS, Layout, Style, write

TEXT = netiq_event_log.TEXT
TABLES = (ACCOUNTS, database.ORDERS, database.ODD_NAMES, database.POSITIONS, database.ALL_TYPES)


def workload(table: database.Table, seed: int, transactions: int = 40) -> database.Workload:
    return database.generate(table, random.Random(seed), transactions, without=writer.NOT_LOGGED)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("as_of", [None, "now"])
@pytest.mark.parametrize("layout", [Layout(), TEXT], ids=["native", "text"])
def test_a_log_with_values_says_all(
    table: database.Table, as_of: str | None, layout: Layout
) -> None:
    for seed in range(3):
        style = Style(as_of=as_of, bad_rows=netiq_event_log.every_bad_row(layout))
        log = write(workload(table, seed), random.Random(seed), layout, style)
        assert log.workload is not None
        assert apply_events.current_state(log.events, list(table.key)) == (
            oracle.current_state(log.workload, positions=log.positions)
        )


def test_a_bad_row_has_its_reason() -> None:
    for kind in BAD_ROWS:
        style = Style(duplicates=0, bad_rows={kind: 3})
        log = write(workload(ACCOUNTS, 1), random.Random(kind), TEXT, style)
        number = 6 if kind == "sequence_conflict" else 3
        assert log.quarantine == [kind] * number


def test_bad_rows_change_nothing_else() -> None:
    """The other rows have the same events."""
    log = write(
        workload(ACCOUNTS, 2),
        random.Random(2),
        TEXT,
        Style(query_back=0.5, both=0.5, snapshot="typed", bad_rows=dict.fromkeys(BAD_ROWS, 3)),
    )
    bad = {place for place, _ in log.decoded.quarantine}
    good = [row for place, row in enumerate(log.read) if place not in bad]
    assert len(good) < len(log.read)
    assert decode(good, log.snapshot, log.options).events == log.decoded.events


def test_cases_have_every_phenomenon() -> None:
    cases = {case.name: case for case in netiq_event_log.cases(0)}
    reasons = set().union(*(case.quarantine for case in cases.values()))
    assert reasons == {*BAD_ROWS, "no_snapshot"}
    for case in cases.values():
        operations = {event["cdc_operation"] for event in case.events}
        assert operations == {"insert", "update", "delete"}
        assert all(case.raw_counts[name] > 0 for name in ("used_rows", "no_op_rows"))
    assert [case.name for case in cases.values() if case.workload is not None] == [
        *("event_log", "event_log_of_all_types")
    ]
    for name in ("event_log_with_snapshot", "event_log_as_of"):
        asked = Counter(
            str(row[names_of(cases[name])["event_type"]]).strip(" 0.")
            for row in (cases[name].relations["raw"].rows)
        )
        assert {str(number) for number in range(1, 9)} <= set(asked)
        snapshot = [row for row in cases[name].relations["snapshot"].rows]
        keys = [tuple(row[one] for one in cases[name].table.key) for row in snapshot]
        assert len(set(keys)) < len(keys)


def names_of(case: Case) -> dict[str, str]:
    """The relation's column of each of the ten."""
    layout = TEXT if "c01" in case.relations["raw"].columns else Layout()
    return layout.names


def in_two(parts: Sequence[list[Row]]) -> list[list[Row]]:
    """All batches except the first in one, as on Iceberg and Delta."""
    first, *others = parts
    return [first, [row for part in others for row in part]]


@pytest.mark.parametrize("seed", range(8))
def test_deliveries_equal_a_full_refresh(seed: int) -> None:
    """After every batch the increments equal a full refresh, in the reference."""
    log, parts = netiq_event_log.log_in_batches(random.Random(seed))
    assert {str(row["event_type"]) for part in parts for row in part} >= set("12345678")
    for batches in (parts, in_two(parts)):
        increments = Increments(log.options)
        for batch in batches:
            decoded = increments.run(batch, log.snapshot)
            whole = decode(increments.rows, log.snapshot, log.options)
            assert decoded.events == whole.events
            assert decoded.quarantine == whole.quarantine
    assert {event["cdc_operation"] for event in decoded.events} == {"insert", "update", "delete"}
    assert increments.memory.answers


def test_deliveries_have_every_case_of_increments() -> None:
    """Ids are late, statuses change, windows get new answers, rows wait."""
    log, parts = netiq_event_log.log_in_batches(random.Random(0))
    ids = [[row["record_id"] for row in part if row["record_id"]] for part in parts]
    assert min(ids[2]) < max(ids[0])
    statuses: dict[int, set[str]] = {}
    for part in parts:
        for row in part:
            if row["record_id"]:
                statuses.setdefault(row["record_id"], set()).add(str(row["status"]).strip())
    assert any(len(of_row) > 1 for of_row in statuses.values())
    increments = Increments(log.options)
    increments.run(parts[0], log.snapshot)
    before = {answer.rows for answer in increments.memory.answers}
    increments.run(parts[1], log.snapshot)
    after = {answer.rows for answer in increments.memory.answers}
    assert before - after, "no window that was answered has changed"
    assert before & after, "none has stayed"
    as_of = log.options.as_of_time
    assert as_of is not None
    waiting = [
        row
        for row in log.read
        if row["event_time"] not in (None, "", "now", "07:08:09", "2024-02-30 07:08:09")
        and reference.read_event_time(row["event_time"]) > as_of
    ]
    assert len(waiting) > 10
