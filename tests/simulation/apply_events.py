"""The reference interpreter: from change events to current state and history, row by row.

It is meant to be read next to section 3 of the contract; the comments cite its rules by number. An
event is a dict with ``cdc_operation``, ``cdc_sequence``, ``cdc_commit_sequence``,
``cdc_commit_at``, ``cdc_present_columns``, ``cdc_before`` and the columns of the table. Nothing
else of it is read. The order of the list does not matter. Sequences must be unique: by rule 2 the
decoder makes one event of one change. Keys must not be null. With ``null_keys`` null is a value of
keys, also in a before image.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

Row = dict[str, Any]
Event = dict[str, Any]
Key = tuple[Any, ...]


@dataclass
class Version:
    """One version of one key: its values in the result, and the events that began and ended it."""

    key: Key
    values: Row
    made_by: Event
    ended_by: Event | None = None


def current_state(
    events: Sequence[Event],
    key: Sequence[str],
    columns: Sequence[str] | None = None,
    keep_deleted: bool = False,
    null_keys: bool = False,
) -> list[Row]:
    """One row for each existing key, by key; ``keep_deleted``: for each key with a version."""
    replay = _replay(events, key, columns, null_keys)
    last = {version.key: version for version in replay.commit_versions}
    rows = []
    for version in sorted(last.values(), key=_by_key):
        event = version.ended_by or version.made_by  # rule 12: the end of a deleted key
        row = dict(version.values)
        for name in ("cdc_sequence", "cdc_commit_sequence", "cdc_commit_at", "cdc_operation"):
            row[name] = event[name]
        if keep_deleted:
            row["cdc_is_deleted"] = version.ended_by is not None
        if keep_deleted or version.ended_by is None:
            rows.append(row)
    return rows


def history(
    events: Sequence[Event],
    key: Sequence[str],
    columns: Sequence[str] | None = None,
    granularity: str = "commit",
    null_keys: bool = False,
) -> list[Row]:
    """One row for each version of each key, by key and then from old to new."""
    replay = _replay(events, key, columns, null_keys)
    if granularity == "commit":
        versions, sequence = replay.commit_versions, "cdc_commit_sequence"
    elif granularity == "event":
        versions, sequence = replay.event_versions, "cdc_sequence"
    else:
        raise ValueError(f"granularity is 'commit' or 'event', not {granularity!r}")
    rows = []
    for version in sorted(versions, key=_by_key):  # stable: old to new
        made, ended = version.made_by, version.ended_by
        rows.append(
            {
                **version.values,
                "cdc_valid_from": made["cdc_commit_at"],  # rule 14: null if the event has none
                "cdc_valid_to": ended["cdc_commit_at"] if ended else None,
                "cdc_valid_from_sequence": made[sequence],
                "cdc_valid_to_sequence": ended[sequence] if ended else None,
                "cdc_is_current": ended is None,
                "cdc_operation": made["cdc_operation"],
                "cdc_ended_by": ended["cdc_operation"] if ended else None,
            }
        )
    return rows


def _by_key(version: Version) -> tuple[tuple[bool, Any], ...]:
    """By key, null first."""
    return tuple((value is not None, value) for value in version.key)


def _replay(
    events: Sequence[Event], key: Sequence[str], columns: Sequence[str] | None, null_keys: bool
) -> _Replay:
    if len({event["cdc_sequence"] for event in events}) != len(events):
        raise ValueError("cdc_sequence is not unique")
    replay = _Replay(events, key, columns, null_keys)
    # Rule 1. Text compares by code point, which is bytewise for UTF-8.
    ordered = sorted(events, key=lambda e: (e["cdc_commit_sequence"], e["cdc_sequence"]))
    for _, transaction in groupby(ordered, key=lambda event: event["cdc_commit_sequence"]):
        replay.transaction(transaction)
    return replay


class _Replay:
    """The table while the events are applied, and the versions seen so far, oldest first."""

    def __init__(
        self,
        events: Sequence[Event],
        key: Sequence[str],
        columns: Sequence[str] | None,
        null_keys: bool,
    ) -> None:
        names = [name for name in (events[0] if events else {}) if not name.startswith("cdc_")]
        self.columns = names
        self.key = tuple(key)
        self.null_keys = null_keys
        self.result = [n for n in names if columns is None or n in columns or n in key]
        self.rows: dict[Key, Row] = {}  # every key that exists, with all columns
        self.event_versions: list[Version] = []
        self.commit_versions: list[Version] = []
        self.open_event: dict[Key, Version] = {}
        self.open_commit: dict[Key, Version] = {}
        self._begin_transaction()

    def _begin_transaction(self) -> None:
        self.count: dict[Key, int] = {}  # keys counted in this transaction
        self.was: dict[Key, Row | None] = {}  # the rows of affected keys before this transaction
        self.set_by: dict[Key, Event] = {}  # the last event that set the row of the key
        self.emptied_by: dict[Key, Event] = {}  # the last event after which the key did not exist
        self.ended: dict[Key, Row] = {}  # the rows that ended in this transaction

    def transaction(self, events: Iterable[Event]) -> None:
        self._begin_transaction()
        for event in events:
            self._event(event)
        for key, was in self.was.items():
            now = self._shown(key)
            # Rule 9, granularity commit: unchanged, also if other transactions never saw the key.
            if _same(was, now):
                continue
            # If the key still exists, the event that began its next version ends this one.
            by = self.emptied_by[key] if now is None else self.set_by[key]
            _turn(self.commit_versions, self.open_commit, key, now, by)

    def _event(self, event: Event) -> None:
        operation = event["cdc_operation"]
        if operation == "truncate":  # rule 6
            for key in list(self.rows):
                self._end(key, event)
            return
        key = tuple(event[name] for name in self.key)
        # Rules 3 and 13: only the key of cdc_before is read. A null in it is unknown, unless null
        # is a value of keys.
        before = event["cdc_before"] or {}
        is_known = self.null_keys and event["cdc_before"] is not None
        old = tuple(
            own if before.get(name) is None and not is_known else before[name]
            for name, own in zip(self.key, key, strict=True)
        )
        if operation == "insert":
            # Rule 10: over an existing key, columns that the event does not carry keep their value.
            self._arrive(key, event, under=self.rows.get(key, {}))
        elif operation == "delete":
            self._depart(key, event)
        elif operation == "update" and old != key:
            self._depart(old, event)  # rule 3
            self._arrive(key, event, under={})  # rule 13: missing columns are null
        elif operation in ("update", "load"):  # rules 5 and 7
            self._stay(key, event)
        else:
            raise ValueError(f"unknown cdc_operation {operation!r}")

    # Rule 4: keys are counted. Only the last row to arrive or to be updated needs values.

    def _counted(self, key: Key) -> int:
        """The count so far: at the beginning of the transaction 1 for an existing key, else 0."""
        return self.count.get(key, 1 if key in self.rows else 0)

    def _arrive(self, key: Key, event: Event, under: Row) -> None:
        self._set(key, event, under, count=self._counted(key) + 1)

    def _stay(self, key: Key, event: Event) -> None:
        under = self.rows.get(key, {})
        # Rule 7: the truncate of a load does not take away what the load does not know.
        if event["cdc_operation"] == "load" and key not in self.rows and self.was.get(key):
            under = self.ended[key]
        self._set(key, event, under, count=max(self._counted(key), 1))

    def _depart(self, key: Key, event: Event) -> None:
        counted = self._counted(key)
        if counted > 1:
            self.count[key] = counted - 1  # rule 11: a later row stays, no version ends
        elif counted == 1:
            self._end(key, event)
        # Rule 5: a key that does not exist has no version to end, and does not count below 0.

    def _set(self, key: Key, event: Event, under: Row, count: int) -> None:
        """The key exists with the values of the event; missing ones come from ``under``."""
        shown = self._remember(key)
        present = event["cdc_present_columns"]
        carried = None if present is None else {name.lower() for name in present}
        self.rows[key] = {
            name: event[name]
            if carried is None or name.lower() in carried or name in self.key
            else under.get(name)
            for name in self.columns
        }
        self.count[key] = count
        now = self._shown(key)
        # Rule 9: an event that changes no value makes no version and did not set the value. Rule
        # 11: otherwise the existing version ends, even if its row only leaves later.
        if not _same(shown, now):
            self.set_by[key] = event
            _turn(self.event_versions, self.open_event, key, now, event)

    def _end(self, key: Key, event: Event) -> None:
        self._remember(key)
        self.count[key] = 0
        self.ended[key] = self.rows.pop(key)
        self.emptied_by[key] = event
        _turn(self.event_versions, self.open_event, key, None, event)

    def _remember(self, key: Key) -> Row | None:
        """The present row of the key; the first look also stores it as the row before."""
        shown = self._shown(key)
        self.was.setdefault(key, shown)
        return shown

    def _shown(self, key: Key) -> Row | None:
        """The key's row with the columns of the result; None if it does not exist."""
        row = self.rows.get(key)
        return None if row is None else {name: row[name] for name in self.result}


def _turn(
    versions: list[Version], open_: dict[Key, Version], key: Key, values: Row | None, by: Event
) -> None:
    """End the key's open version, if any; begin one with these values, if any."""
    if key in open_:
        open_.pop(key).ended_by = by
    if values is not None:
        open_[key] = Version(key, values, by)
        versions.append(open_[key])


def _same(one: Any, other: Any) -> bool:
    """Null-safe equality as in SQL's ``<=>``: NaN equals NaN, also inside of rows and arrays."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
