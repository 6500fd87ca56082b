"""The unexpected events of a table, counted row by row: what `health` says of the order of keys.

Only keys are counted, by rule 4 of the contract. An event is a dict as in `apply_events`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Event = dict[str, Any]
Key = tuple[Any, ...]

UPDATES, INSERTS, DELETES = (
    "updates_of_unknown_keys",
    "inserts_over_existing_keys",
    "deletes_of_unknown_keys",
)
MOVES = "moves_without_before_image"


def gaps(
    events: Sequence[Event], key: Sequence[str], null_keys: bool = False
) -> dict[str, int | None]:
    """Count the events of each kind."""
    found: Counter[str] = Counter({UPDATES: 0, INSERTS: 0, DELETES: 0})
    rows: Counter[Key] = Counter()  # how many rows are on a key
    commit = None
    for event in sorted(events, key=lambda one: (one["cdc_commit_sequence"], one["cdc_sequence"])):
        if event["cdc_commit_sequence"] != commit:
            commit = event["cdc_commit_sequence"]
            rows = Counter(dict.fromkeys(+rows, 1))
        operation = event["cdc_operation"]
        own = tuple(event[name] for name in key)
        if operation == "truncate":
            rows.clear()
            continue
        left = key_before(event, key, null_keys) if operation == "update" else own
        if operation == "insert":
            found[INSERTS] += rows[own] > 0
            rows[own] += 1
        elif operation == "delete":
            found[DELETES] += rows[own] == 0
            rows[own] = max(rows[own] - 1, 0)
        elif left != own:
            found[UPDATES] += rows[left] == 0
            rows[left] = max(rows[left] - 1, 0)
            rows[own] += 1
        else:
            found[UPDATES] += operation == "update" and rows[own] == 0
            rows[own] = max(rows[own], 1)
    return {**found, MOVES: moves_without_before_image(events, key, null_keys)}


def key_before(event: Event, key: Sequence[str], null_keys: bool) -> Key:
    """Give the key that an update found, as far as it is known."""
    own = tuple(event[name] for name in key)
    before = event["cdc_before"]
    if before is None:
        return own
    old = tuple(before[name] for name in key)
    if null_keys:
        return old
    return tuple(now if was is None else was for was, now in zip(old, own, strict=True))


def moves_without_before_image(
    events: Sequence[Event], key: Sequence[str], null_keys: bool
) -> int | None:
    """Count the updates that changed a column of the key whose old value is not known.

    None: an update tells neither what it changed nor the old key, and no other one is found.
    """
    found, untold = 0, False
    for event in events:
        if event["cdc_operation"] != "update":
            continue
        before = event["cdc_before"]
        unknown = {
            name for name in key if before is None or (before[name] is None and not null_keys)
        }
        changed = event["cdc_changed_columns"]
        if changed is None:
            untold |= bool(unknown)
        else:
            found += bool(unknown & set(changed))
    return None if untold and not found else found
