"""Arbitrary unexpected change events, which no regular database writes.

Updates and deletes of keys that do not exist, and inserts and moves over existing keys. Loads at
any time, truncates inside transactions, sparse events, and before images that know only a part of
the key. Every shape that the contract defines occurs. Excluded shapes do not occur: no null keys,
no value in a column that is not carried, no sequence twice.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from .database import ORDERS, Slot, Table, Values, key_values, random_value, slots

Event = dict[str, Any]

OPERATIONS = {"load": 2, "insert": 8, "update": 10, "move": 6, "delete": 7, "truncate": 1}


def event_columns(table: Table) -> dict[str, str | Mapping[str, str]]:
    """Names and types of the columns of change events, in order; for a struct, of its fields."""
    return {
        "cdc_source": "string",
        "cdc_operation": "string",
        "cdc_sequence": "string",
        "cdc_commit_sequence": "string",
        "cdc_commit_at": "timestamp",
        "cdc_transaction_id": "string",
        "cdc_changed_columns": "array<string>",
        "cdc_present_columns": "array<string>",
        "cdc_before": table.columns,
        **table.columns,
    }


def random_events(
    rng: random.Random,
    table: Table = ORDERS,
    *,
    transactions: int = 10,
    key_space: int = 4,
    sparse: float = 0.5,
    shuffle: bool = True,
) -> list[Event]:
    """Change events of this many transactions; ``sparse``: the share of events that lack columns.

    Commit times do not follow a clock: they come in any order, and some are null.
    """
    keys = slots(table, key_space)
    events: list[Event] = []
    for _ in range(transactions):
        first = len(events)
        commit_at = _commit_at(rng)
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            operation = rng.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
            events.append(_event(rng, table, keys, operation, sparse))
        _commit(rng, events, first, commit_at)
    return _ordered(rng, table, events, shuffle)


def reloaded_events(
    rng: random.Random,
    table: Table = ORDERS,
    *,
    truncates: int,
    transactions: int = 60,
    key_space: int = 60,
    sparse: float = 0.02,
) -> list[Event]:
    """Change events of a table with this many truncates, most of which begin a full load.

    A load has rows as they were, other rows, and misses some. There are also truncates with
    nothing between, and truncates inside a transaction. Most transactions name a key once.
    """
    keys = slots(table, key_space)
    rows: dict[Slot, Values] = {}  # the last row that was written to each key

    def event(operation: str, slot: Slot) -> Event:
        made = _event(rng, table, [slot], operation, sparse)
        if operation == "move":
            made["cdc_before"] = _row(rng, table, rng.choice(keys))
        if slot in rows and rng.random() < 0.6:
            present = made["cdc_present_columns"] or list(table.columns)
            made.update({name: rows[slot][name] for name in present})
        if made["cdc_present_columns"] is None:
            rows[slot] = {name: made[name] for name in table.columns}
        return made

    def some(most: int, operations: Sequence[str]) -> list[Event]:
        return [
            event(rng.choice(operations), rng.choice(keys)) for _ in range(rng.randint(0, most))
        ]

    changes = ("insert", "update", "update", "update", "move", "delete")
    truncate = _event(rng, table, keys, "truncate", sparse)
    kinds = ("load", "within", "load", "again", "load", "alone")
    where: dict[int, list[str]] = {number: [] for number in range(transactions)}
    for number in range(truncates):
        where[rng.randrange(transactions)].append(kinds[number % len(kinds)])
    made: list[list[Event]] = []
    for number in range(transactions):
        for kind in where[number]:
            before = some(3, changes) if kind == "within" else []
            if kind == "again" and made:
                before = made.pop()
            loaded = [] if kind == "alone" else rng.sample(keys, rng.randint(1, len(keys)))
            loads = [event("load", slot) for slot in loaded]
            made.append([*before, dict(truncate), *loads, *some(2, changes)])
        made.append(some(6, changes))
    events: list[Event] = []
    for transaction in made:
        first = len(events)
        events += transaction
        _commit(rng, events, first, _commit_at(rng))
    return _ordered(rng, table, events, shuffle=True)


def _commit_at(rng: random.Random) -> datetime:
    return datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(
        seconds=rng.randint(0, 9), microseconds=rng.choice((0, 10_000, 123_456))
    )


def _commit(rng: random.Random, events: list[Event], first: int, commit_at: datetime) -> None:
    """Give the events from the number ``first`` on their positions in the log."""
    header = {
        "cdc_commit_sequence": f"{first:06d}",
        "cdc_commit_at": None if rng.random() < 0.2 else commit_at,
        "cdc_transaction_id": None if rng.random() < 0.2 else f"t{first % 7}",
    }
    for number, event in enumerate(events[first:], start=first):
        event.update({"cdc_sequence": f"{number:06d}", **header})


def _ordered(rng: random.Random, table: Table, events: list[Event], shuffle: bool) -> list[Event]:
    """The events with their columns in order."""
    order = list(event_columns(table))
    events = [{name: event[name] for name in order} for event in events]
    if shuffle:
        rng.shuffle(events)
    return events


def _event(
    rng: random.Random, table: Table, keys: list[Slot], operation: str, sparse: float
) -> Event:
    """One event without its position in the log."""
    event: Event = {
        "cdc_source": "random",
        "cdc_operation": "update" if operation == "move" else operation,
        "cdc_changed_columns": None,
        "cdc_present_columns": None,
        "cdc_before": None,
        **dict.fromkeys(table.columns),
    }
    if operation == "truncate":
        return event
    values = _row(rng, table, rng.choice(keys))
    if operation in ("update", "move"):
        slot = rng.choice(keys) if operation == "move" else None
        event["cdc_before"] = _before(rng, table, values, slot)
        if rng.random() < 0.5:  # masks do not affect the result, so any columns will do
            event["cdc_changed_columns"] = _some(rng, list(table.columns))
    elif operation == "delete" and rng.random() < 0.3:
        event["cdc_before"] = dict(values)
    if rng.random() < sparse:
        carried = {*table.key, *_some(rng, table.attributes)}
        present = [name for name in table.columns if name in carried]
        event["cdc_present_columns"] = present
        values = {name: values[name] if name in carried else None for name in table.columns}
    return {**event, **values}


def _row(rng: random.Random, table: Table, slot: Slot) -> Values:
    attributes = {name: random_value(table.columns[name], rng) for name in table.attributes}
    values = {**key_values(table, slot), **attributes}
    return {name: values[name] for name in table.columns}


def _before(rng: random.Random, table: Table, values: Values, slot: Slot | None) -> Values | None:
    """The row before: complete, with some nulls, or (if the key is not needed) no row.

    A null key column is unknown, so it is the same as in the row. A move may then change fewer
    columns, or not move at all.
    """
    if slot is None and rng.random() < 0.5:
        return None
    before = _row(rng, table, slot or (0,) * len(table.key))
    if slot is None:
        before.update({name: values[name] for name in table.key})
    blank = rng.choice(([], _some(rng, list(table.columns)), table.attributes))
    return {name: None if name in blank else value for name, value in before.items()}


def _some(rng: random.Random, names: list[str]) -> list[str]:
    """Some of the names in their order; perhaps none or all."""
    return [name for name in names if rng.random() < rng.choice((0.2, 0.8))]
