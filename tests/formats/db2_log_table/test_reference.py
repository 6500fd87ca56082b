"""The reference itself: cases that no vector has, and laws of every log."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.db2_log_table import reference
from formats.db2_log_table.reference import Increments, Options, Row, decode

OPTIONS = Options(["id"], {"id": "int", "name": "string", "amount": "decimal(8,2)"})
TIMES = [f"2024-05-01 10:00:0{second}" for second in range(3)]
BASE: list[Row] = [
    {"id": "1", "name": "a", "amount": "1.5"},
    {"id": "2", "name": "b", "amount": "none"},
    {"id": "4", "name": "z", "amount": None},
]


def row(key: Any, operation: Any = 1, time: Any = TIMES[0]) -> Row:
    return {"OPERATION": operation, "TIME": time, "PK01": key}


def events(decoded: reference.Decoded) -> list[tuple[Any, ...]]:
    names = ("cdc_operation", "cdc_commit_sequence", "id", "name")
    return [tuple(event[name] for name in names) for event in decoded.events]


def some_rows(rng: random.Random) -> list[Row]:
    return [
        row(
            rng.choice(("1", " 1", "2", "3", "x", None)),
            rng.choice((0, "0", "I", 1, 2, "D", 9, None)),
            rng.choice((*TIMES, TIMES[0].replace(" ", "-").replace(":", "."), None, "soon")),
        )
        for _ in range(12)
    ]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_order_and_repeats_of_deliveries_do_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    rows = some_rows(rng)
    once = decode(rows, BASE, OPTIONS)
    again = rows + rng.sample(rows, 4)
    rng.shuffle(again)
    twice = decode(again, rng.sample(BASE, 3), OPTIONS)
    assert twice.events == once.events
    assert sum(twice.raw_counts.values()) == 2 * 16
    assert {reason for _, reason in twice.quarantine} == {reason for _, reason in once.quarantine}


@given(seed=st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_runs_with_one_base_equal_a_full_refresh(seed: int) -> None:
    rng = random.Random(seed)
    increments = Increments(OPTIONS)
    for _ in range(3):
        decoded = increments.run(some_rows(rng), BASE)
        whole = decode(increments.rows, BASE, OPTIONS)
        assert (decoded.events, decoded.quarantine) == (whole.events, whole.quarantine)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_a_bad_row_changes_nothing_else(seed: int) -> None:
    rows = some_rows(random.Random(seed))
    decoded = decode(rows, BASE, OPTIONS)
    bad = {place for place, _ in decoded.quarantine}
    good = [one for place, one in enumerate(rows) if place not in bad]
    assert decode(good, BASE, OPTIONS).events == decoded.events


def test_keys_with_bad_values_are_asked_again() -> None:
    """They have no event that keeps an answer. A key with a good answer keeps it."""
    increments = Increments(OPTIONS)
    good: list[Row] = [{"id": "2", "name": "c", "amount": "2"}]
    assert increments.run([row("2")], BASE).quarantine == [(0, "bad_value")]
    mended = increments.run([], BASE + good)
    assert mended.quarantine == [] and ("update", "20240501100000000000", 2, "c") in events(mended)
    assert increments.run([row(" 2")], BASE).quarantine == []
    asked = increments.run([row("2", time=TIMES[1])], BASE)
    assert [reason for _, reason in asked.quarantine] == ["bad_value"] * 3
    assert [event[0] for event in events(increments.run([], []))] == ["delete"]


def test_key_columns_are_in_the_order_of_their_numbers() -> None:
    names = ["pk10", "PK002", "PK1", "PK", "PK0", "PKX1", "APK3"]
    assert reference.numbered_columns(names) == ["PK1", "PK002", "pk10"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"OPERATION": "i", "PK01": None}, "unknown_operation"),
        ({"OPERATION": 1.5, "TIME": None}, "unknown_operation"),
        ({"OPERATION": "", "PK01": None, "TIME": None}, "unknown_operation"),
        ({"PK01": None, "TIME": None}, "null_key"),
        ({"PK01": "x", "TIME": None}, "missing_time"),
        ({"PK01": "1.5"}, "bad_value"),
        ({"TIME": "10:00:00"}, "bad_value"),
        ({"PK01": "2"}, "bad_value"),
    ],
)
def test_the_first_reason_counts(changed: Row, reason: str) -> None:
    decoded = decode([row("1") | changed], BASE, OPTIONS)
    assert decoded.quarantine == [(0, reason)]
