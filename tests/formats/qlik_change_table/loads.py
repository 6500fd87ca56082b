"""Full loads of a simulated table, and the events that a decoder must give of them.

A load reads the table as it is just before the time of a transaction. Its rows have the columns of
the table, perhaps without some, ``loaded_by``, which is no column of the table, and ``load_time``.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from kit.values import as_text
from simulation.database import Table, Workload

from formats.qlik_change_table.writer import ChangeTable

Row = dict[str, Any]


@dataclass(frozen=True)
class Load:
    """One load. ``place``: the position of the last transaction that it contains.

    ``rows``: as they land. ``events``: in any order. ``quarantine``: the reason for each bad row.
    """

    place: int
    rows: list[Row]
    events: list[Row]
    quarantine: list[str]


@dataclass(frozen=True)
class Shape:
    """How loaded rows land.

    ``as_text``: columns that land as text. ``lacks``: columns that they do not have. ``nulls``: the
    value of a key column that is NULL in the source; with one, NULL is a value of keys.
    """

    as_text: Collection[str] = ()
    lacks: Collection[str] = ()
    nulls: Mapping[str, Any] = field(default_factory=dict)

    def columns(self, table: Table) -> dict[str, str]:
        """Names and types of the columns of loaded rows."""
        types = {n: "string" if n in self.as_text else kind for n, kind in table.columns.items()}
        types = {name: kind for name, kind in types.items() if name not in self.lacks}
        return {"loaded_by": "string", **types, "load_time": "string"}

    def nulled(self, row: Row) -> Row:
        """A row, an event or a before image with NULL in its key."""
        return {n: None if value == self.nulls.get(n, ...) else value for n, value in row.items()}


def moments(workload: Workload, written: ChangeTable) -> list[tuple[int, str]]:
    """The moments for a full load: there are rows, and the next change is in a later instant.

    Each is a position of the history, with the 16 digits of the next change.
    """
    times = {
        transaction.position: min(
            written.positions[change.number].sequence[:16]
            for change in transaction.changes
            if change.number in written.positions
        )
        for transaction in workload.transactions
        if any(change.number in written.positions for change in transaction.changes)
    }
    places = sorted(times)
    return [
        (before, times[after])
        for before, after in pairwise(places)
        if times[before] < times[after] and workload.rows_at(before)
    ]


def with_moments(
    make: Callable[[], tuple[Workload, ChangeTable]], number: int = 3
) -> tuple[Workload, ChangeTable]:
    """Make change tables until one has enough moments; some databases are nearly always empty."""
    while True:
        workload, written = make()
        if len(moments(workload, written)) >= number:
            return workload, written


def write(
    workload: Workload,
    written: ChangeTable,
    rng: random.Random,
    number: int = 3,
    shape: Shape | None = None,
) -> list[Load]:
    """Full loads at ``number`` moments of the history.

    Each load has a row twice with different values, and a row of each kind in quarantine.
    """
    chosen = sorted(rng.sample(moments(workload, written), number))
    return [_load(workload, place, digits, rng, shape or Shape()) for place, digits in chosen]


def _load(workload: Workload, place: int, digits: str, rng: random.Random, shape: Shape) -> Load:
    table = workload.table
    at = datetime.strptime(f"{digits}0000+0000", "%Y%m%d%H%M%S%f%z")
    at += timedelta(microseconds=rng.choice((0, 9_999)))
    time = f"{at:%Y-%m-%d %H:%M:%S.%f}"
    good = [shape.nulled(row) for row in workload.rows_at(place).values()]
    good.append({**rng.choice(good), table.attributes[-1]: None})
    some = rng.choice(good)
    bad = [
        ("bad_load_time", some, "yesterday"),
        ("bad_load_time", some, None),
    ]
    if not shape.nulls:
        bad.append(("null_key", {**some, table.key[0]: None}, time))
    bad += [("bad_value", {**some, name: "1x"}, time) for name in list(shape.as_text)[:1]]
    delivered = [(row, time) for row in good] + [(row, its_time) for _, row, its_time in bad]
    rows = [
        {
            "loaded_by": rng.choice(("task", None)),
            **{
                name: str(value) if name in shape.as_text and value is not None else value
                for name, value in row.items()
                if name not in shape.lacks
            },
            "load_time": its_time,
        }
        for row, its_time in delivered
    ]
    rng.shuffle(rows)
    events = events_of(table, good, at, digits, shape)
    return Load(place, rows, events, [reason for reason, _, _ in bad])


def key_text(table: Table, row: Row) -> str:
    """The key as text: different keys have different texts."""
    texts = []
    for name in table.key:
        text = as_text(row[name])
        if isinstance(row[name], datetime):
            text = f"{row[name]:%Y-%m-%d %H:%M:%S.%f}"
        elif isinstance(row[name], str):
            text = row[name].replace("\x1e", "\x1e0").replace("\x1f", "\x1e1")
        texts.append("\x1eN" if text is None else text)
    return "\x1f".join(texts)


def events_of(
    table: Table, rows: Sequence[Row], at: datetime | None, digits: str, shape: Shape
) -> list[Row]:
    """The truncate of a load, and a load event for the greatest row of each key."""
    commit = digits + "0" * 19
    common: Row = {
        "cdc_source": "qlik_change_table",
        "cdc_commit_sequence": commit,
        "cdc_commit_at": at,
        "cdc_transaction_id": None,
        "cdc_changed_columns": None,
        "cdc_present_columns": None,
        "cdc_before": None,
    }
    empty: Mapping[str, Any] = dict.fromkeys(table.columns)
    events = [{**common, "cdc_operation": "truncate", "cdc_sequence": f"{commit}.", **empty}]
    loaded = [name for name in table.columns if name not in shape.lacks]
    if shape.lacks:
        common["cdc_present_columns"] = loaded
    by_key: dict[str, list[Row]] = {}
    for row in rows:
        digest = hashlib.md5(key_text(table, row).encode()).hexdigest()
        by_key.setdefault(digest, []).append(row)
    for digest, of_key in by_key.items():
        # NULL is less than every value
        row = max(of_key, key=lambda one: [(one[c] is not None, one[c]) for c in loaded])
        values = {name: row[name] if name in loaded else None for name in table.columns}
        sequence = f"{commit}.{digest}"
        events.append({**common, "cdc_operation": "load", "cdc_sequence": sequence, **values})
    return events


def lost_between(
    workload: Workload, written: ChangeTable, first: Load, second: Load
) -> tuple[set[str], set[int]]:
    """Sequences of the changes of every second transaction between two loads, and their places."""
    places = set(range(first.place + 1, second.place + 1, 2))
    changes = [
        change.number
        for transaction in workload.transactions
        if transaction.position in places
        for change in transaction.changes
    ]
    return (
        {written.positions[number].sequence for number in changes if number in written.positions},
        places,
    )
