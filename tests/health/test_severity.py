"""Which table is worst, and why."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spark_cdc_udfs.health.rows import OF_THE_LAST_RUN, Table, tables
from spark_cdc_udfs.health.severity import Limits, severity, worst_first

from health.checked import DAY, HOUR, NOW, FakeLake, checked

LIMITS = Limits()


def table(name: str, lag: int | None, quarantined: int | None, **given: Any) -> Table:
    (made,) = tables(FakeLake(checked(name, (lag, quarantined), **given)), "t", 9)
    return made


NOTHING = dict.fromkeys(OF_THE_LAST_RUN)
UNKNOWN = "events_with_unknown_columns"


@pytest.mark.parametrize(
    ("given", "status", "why"),
    [
        ({"lag": 6 * HOUR, "quarantined": 0}, "ok", ()),
        ({"lag": 6 * HOUR + 1, "quarantined": 0}, "warn", ("lag 6 h",)),
        ({"lag": DAY, "quarantined": 0}, "warn", ("lag 1 d",)),
        ({"lag": DAY + HOUR, "quarantined": 0}, "bad", ("lag 1 d 1 h",)),
        ({"lag": -5, "quarantined": 0}, "ok", ()),
        ({"lag": 0, "quarantined": 1}, "warn", ("0.1 % quarantined",)),
        ({"lag": 0, "quarantined": 10}, "warn", ("1 % quarantined",)),
        ({"lag": 0, "quarantined": 11}, "bad", ("1.1 % quarantined",)),
        ({"lag": 0, "quarantined": 3, "raw": None}, "warn", ("3 quarantined",)),
        ({"lag": 0, "quarantined": 3, "raw": 0}, "warn", ("3 quarantined",)),
        (
            {"lag": 0, "quarantined": 0, "deletes_of_unknown_keys": 1_000},
            "warn",
            ("1,000 deletes of unknown keys",),
        ),
        (
            {"lag": 2 * DAY, "quarantined": 1, "moves_without_before_image": 2},
            "bad",
            ("lag 2 d", "0.1 % quarantined", "2 key moves without a before image"),
        ),
        ({"lag": 0, "quarantined": 0, "waiting_rows": 5, "open_transactions": 1}, "ok", ()),
        ({"lag": 0, "quarantined": 0, "events_in_future": 5}, "ok", ()),
        (
            {"lag": 0, "quarantined": 0, "unread_rows": 2},
            "warn",
            ("2 raw rows that no run reads",),
        ),
        ({"lag": None, "quarantined": None, **NOTHING}, "not known", ()),
        ({"lag": None, "quarantined": None, **NOTHING, UNKNOWN: 0}, "not known", ()),
        (
            {"lag": None, "quarantined": None, **NOTHING, UNKNOWN: 1},
            "warn",
            ("1 events with unknown columns",),
        ),
        ({"lag": None, "quarantined": None, "raw": None}, "ok", ()),
        ({"lag": 0, "quarantined": None, **NOTHING}, "ok", ()),
    ],
)
def test_status_and_its_causes(given: dict[str, Any], status: str, why: tuple[str, ...]) -> None:
    found = severity(table("t", **given), LIMITS, NOW)
    assert (found.status, found.why) == (status, why)


def test_limits_decide() -> None:
    late = table("t", 100, 5)
    assert severity(late, Limits(lag_warn=99, quarantined_warn=0.005), NOW).why == ("lag 1 min",)
    assert severity(late, Limits(lag_warn=99, lag_bad=99), NOW).status == "bad"
    assert severity(late, Limits(quarantined_bad=0.004), NOW).status == "bad"


@pytest.mark.parametrize(
    ("at", "status", "why"),
    [
        (NOW - DAY, "bad", ("lag 9 d",)),
        (NOW - DAY - 1, "old", ("checked 1 d before the others",)),
        (None, "old", ("not checked",)),
    ],
)
def test_tables_that_are_not_checked_any_more_are_old(
    at: int | None, status: str, why: tuple[str, ...]
) -> None:
    found = severity(table("t", 9 * DAY, 0, at=at), LIMITS, NOW)
    assert (found.status, found.why) == (status, why)


def test_the_worst_comes_first() -> None:
    ordered = [
        table("much in quarantine", 0, 500),
        table("some in quarantine", 9 * DAY, 20),
        table("late", 2 * DAY, 0),
        table("gaps", 0, 0, deletes_of_unknown_keys=3),
        table("fewer gaps", HOUR, 0, deletes_of_unknown_keys=2),
        table("nothing known", None, None, **NOTHING),
        table("ok, later", HOUR, 0),
        table("ok a", 60, 0),
        table("ok b", 60, 0),
        table("gone", 9 * DAY, 900, at=NOW - 2 * DAY),
    ]
    mixed = random.Random(3).sample(ordered, len(ordered))
    assert mixed != ordered
    assert [one.name for one, _ in worst_first(mixed, LIMITS)] == [one.name for one in ordered]


counts = st.none() | st.integers(0, 3)


@given(
    st.lists(st.tuples(counts, counts, counts, counts), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_does_not_matter(
    rows: list[tuple[int | None, ...]], rng: random.Random
) -> None:
    made = [
        table(
            str(place),
            None if lag is None else lag * 10 * HOUR,
            quarantined,
            raw=raw,
            updates_of_unknown_keys=gaps,
        )
        for place, (lag, quarantined, raw, gaps) in enumerate(rows)
    ]
    mixed = rng.sample(made, len(made))
    assert worst_first(mixed, LIMITS) == worst_first(made, LIMITS)
