"""Current state and history of a table that is loaded again: generated changes, some of them late.

All truncates are in the first run. So the later runs compute some keys only, and find truncates
before, between and after the new changes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from simulation import apply_events

from incremental.scenario import HISTORY, Row, Scenario, Step, applied, decoded, land

TRANSACTIONS = 40
RELOADS = (9, 17, 18, 31)
KEYS = range(1, 13)
OPERATIONS = {"I": "insert", "U": "update", "D": "delete", "T": "truncate"}

# In each query the last three digits of a sequence are the position.
_VERSIONS = (
    "select id, note, right(cdc_valid_from_sequence, 3), right(cdc_valid_to_sequence, 3),"
    " cdc_operation, cdc_ended_by from {schema}.%s order by id, cdc_valid_from_sequence"
)
_KEPT = (
    "select id, note, right(cdc_sequence, 3), cdc_operation, cdc_is_deleted from {schema}.kept"
    " order by id"
)


def transaction(rng: random.Random, number: int) -> list[Row]:
    """The raw rows of a transaction: a truncate and the rows of a load, or changes of some keys."""
    rows: list[tuple[str, int, str | None]] = []
    if number in RELOADS:
        loaded = sorted(rng.sample(KEYS, rng.choice((0, 6, 9))))
        rows = [("T", 0, None), *(("I", key, rng.choice("aab")) for key in loaded)]
    else:
        for key in rng.sample(KEYS, rng.choice((1, 2, 3))):
            operation = rng.choice("IUUD")
            rows.append((operation, key, None if operation == "D" else rng.choice("aab")))
    return [
        (10 * number + place, operation, key, note, "a", None)
        for place, (operation, key, note) in enumerate(rows)
    ]


def delivered(rng: random.Random) -> list[dict[int, list[Row]]]:
    """Three batches of raw rows by transaction. A fifth of all rows comes late."""
    batches: list[dict[int, list[Row]]] = [{}, {}, {}]
    for number in range(TRANSACTIONS):
        for row in transaction(rng, number):
            is_late = row[1] != "T" and (rng.random() < 0.2 or number > 35)
            batch = rng.choice((1, 2)) if is_late else 0
            batches[batch].setdefault(number, []).append(row)
    # a key that is deleted and inserted in one transaction
    batches[2][TRANSACTIONS] = [(400, "D", 1, None, "a", None), (401, "I", 1, "b", "a", None)]
    return batches


def events_of(batches: Sequence[dict[int, list[Row]]]) -> list[dict[str, Any]]:
    """The change events of these batches, with positions as sequences."""
    rows: dict[int, list[Row]] = {}
    for batch in batches:
        for number, some in batch.items():
            rows.setdefault(number, []).extend(some)
    return [
        {
            "cdc_operation": OPERATIONS[operation],
            "cdc_sequence": f"{place:03d}",
            "cdc_commit_sequence": f"{min(row[0] for row in some):03d}",
            "cdc_commit_at": None,
            "cdc_present_columns": None,
            "cdc_before": None,
            "id": None if operation == "T" else key,
            "note": note,
        }
        for some in rows.values()
        for place, operation, key, note, _, _ in some
    ]


def expected(events: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The rows of the queries."""
    rows: dict[str, list[Any]] = {}
    for model, granularity in (("history", "commit"), ("events", "event")):
        rows[_VERSIONS % model] = [
            (
                *(one["id"], one["note"]),
                *(one["cdc_valid_from_sequence"], one["cdc_valid_to_sequence"]),
                *(one["cdc_operation"], one["cdc_ended_by"]),
            )
            for one in apply_events.history(events, ["id"], granularity=granularity)
        ]
    rows[_KEPT] = [
        (one["id"], one["note"], one["cdc_sequence"], one["cdc_operation"], one["cdc_is_deleted"])
        for one in apply_events.current_state(events, ["id"], keep_deleted=True)
    ]
    return rows


def steps() -> list[Step]:
    """A step for each batch."""
    batches = delivered(random.Random(3))
    made = []
    for number, batch in enumerate(batches, start=1):
        lands = [land("raw", *rows, transaction=f"t{one}") for one, rows in batch.items()]
        # one statement instead of thirty
        values = [one.partition(" values ")[2] for one in lands[1:]]
        made.append(
            Step(
                land=(", ".join([lands[0], *values]),),
                rows=expected(events_of(batches[:number])),
            )
        )
    return made


SCENARIOS = (
    Scenario(
        "reloads",
        models={
            "changes": decoded(),
            "history": HISTORY,
            "events": HISTORY.replace(") }}", ", granularity='event') }}"),
            "kept": applied("current_state").replace(") }}", ", keep_deleted=true) }}"),
        },
        steps=steps(),
    ),
)
