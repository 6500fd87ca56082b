"""The expected results of a workload, from the states of the database alone.

Current state, and history at granularity ``commit``, are differences of consecutive states, key by
key. They do not count keys or merge sparse events, since rows have identities here. Only the
operations come from the changes of a transaction. They are the last change that set the row of a
key, and the last that left no row on it.

History at granularity ``event`` comes from :mod:`.apply_events`, with complete events.

Both need the positions at which a source put the changes: its :data:`Positions`. Without them they
use :func:`plain_positions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import apply_events
from .database import Key, RowChange, Table, Transaction, Values, Workload

Row = dict[str, Any]


@dataclass(frozen=True)
class Position:
    """The position of one change in a source's log."""

    sequence: str
    commit_sequence: str
    commit_at: datetime | None


Positions = Mapping[int, Position]
"""Positions by ``RowChange.number``. No-op updates may be missing: sources may not write them."""


def plain_positions(workload: Workload) -> dict[int, Position]:
    """Positions of a source that writes every change, and the time of each commit unchanged."""
    return {
        change.number: Position(
            sequence=f"{change.number:012d}",
            commit_sequence=f"{transaction.changes[0].number:012d}",
            commit_at=transaction.committed_at,
        )
        for transaction in workload.transactions
        for change in transaction.changes
    }


def change_events(workload: Workload, positions: Positions | None = None) -> list[Row]:
    """The complete change events of a workload, for the changes that have a position."""
    positions = plain_positions(workload) if positions is None else positions
    return [
        change_event(workload.table, transaction, change, positions[change.number])
        for transaction in workload.transactions
        for change in transaction.changes
        if change.number in positions
    ]


def change_event(
    table: Table, transaction: Transaction, change: RowChange, position: Position
) -> Row:
    """One change with everything that the database knows about it."""
    before, after = change.before, change.after
    changed = None
    if change.operation == "update":
        assert before is not None and after is not None
        changed = [name for name in table.columns if before[name] != after[name]]
    empty = dict.fromkeys(table.columns)
    return {
        "cdc_operation": change.operation,
        "cdc_sequence": position.sequence,
        "cdc_commit_sequence": position.commit_sequence,
        "cdc_commit_at": position.commit_at,
        "cdc_transaction_id": transaction.id,
        "cdc_changed_columns": changed,
        "cdc_present_columns": None,
        "cdc_before": dict(before) if before and change.operation == "update" else None,
        **(empty if change.operation == "truncate" else change.values),
    }


def current_state(
    workload: Workload,
    keep_deleted: bool = False,
    *,
    positions: Positions | None = None,
    columns: Sequence[str] | None = None,
) -> list[Row]:
    """One row for each key at the end; with ``keep_deleted`` for each key that ever existed."""
    positions = plain_positions(workload) if positions is None else positions
    last = {version.key: version for version in _versions(workload, positions, columns)}
    rows = []
    for _, version in sorted(last.items()):
        deleted = version.ended_by is not None
        event = version.ended_by or version.made_by
        position = positions[event.number]
        row = {
            **version.values,
            "cdc_sequence": position.sequence,
            "cdc_commit_sequence": position.commit_sequence,
            "cdc_commit_at": position.commit_at,
            "cdc_operation": event.operation,
        }
        if keep_deleted:
            row["cdc_is_deleted"] = deleted
        if keep_deleted or not deleted:
            rows.append(row)
    return rows


def history(
    workload: Workload,
    granularity: str = "commit",
    *,
    positions: Positions | None = None,
    columns: Sequence[str] | None = None,
) -> list[Row]:
    """One row for each version of each key, by key and then from old to new."""
    positions = plain_positions(workload) if positions is None else positions
    if granularity == "event":
        _check_transactions(workload, positions)
        events = change_events(workload, positions)
        return apply_events.history(events, workload.table.key, columns, granularity)
    if granularity != "commit":
        raise ValueError(f"granularity is 'commit' or 'event', not {granularity!r}")
    rows = []
    for version in sorted(_versions(workload, positions, columns), key=lambda one: one.key):
        made = positions[version.made_by.number]
        ended = positions[version.ended_by.number] if version.ended_by else None
        rows.append(
            {
                **version.values,
                "cdc_valid_from": made.commit_at,
                "cdc_valid_to": ended.commit_at if ended else None,
                "cdc_valid_from_sequence": made.commit_sequence,
                "cdc_valid_to_sequence": ended.commit_sequence if ended else None,
                "cdc_is_current": ended is None,
                "cdc_operation": version.made_by.operation,
                "cdc_ended_by": version.ended_by.operation if version.ended_by else None,
            }
        )
    return rows


@dataclass
class _Version:
    key: Key
    values: Values
    made_by: RowChange
    ended_by: RowChange | None = None


def _versions(
    workload: Workload, positions: Positions, columns: Sequence[str] | None
) -> list[_Version]:
    """The versions at granularity ``commit``: the difference of each two consecutive states."""
    _check_transactions(workload, positions)
    table = workload.table
    kept = [name for name in table.columns if columns is None or name in (*columns, *table.key)]
    versions: list[_Version] = []
    open_: dict[Key, _Version] = {}
    after: dict[Key, Values] = {}
    for transaction in workload.transactions:
        state = workload.state_at(transaction.position)
        before, after = after, {key: _narrowed(row, kept) for key, row in state.items()}
        different = [
            key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
        ]
        if not different:
            continue
        set_by, emptied_by = _last_changes(workload, transaction, kept)
        for key in different:
            by = set_by[key] if key in after else emptied_by[key]
            if key in before:
                open_.pop(key).ended_by = by
            if key in after:
                open_[key] = _Version(key, after[key], by)
                versions.append(open_[key])
    return versions


def _last_changes(
    workload: Workload, transaction: Transaction, kept: Sequence[str]
) -> tuple[dict[Key, RowChange], dict[Key, RowChange]]:
    """For each key the last change that set its row, and the last that left no row on it.

    If several rows are on one key, its row is the one that arrived or changed last.
    """
    table = workload.table
    standing = dict(workload.rows_at(transaction.position - 1))  # the last to arrive or change last

    def shown(key: Key) -> Values | None:
        rows = [row for row in standing.values() if table.key_of(row) == key]
        return _narrowed(rows[-1], kept) if rows else None

    set_by: dict[Key, RowChange] = {}
    emptied_by: dict[Key, RowChange] = {}
    for change in transaction.changes:
        if change.row_id is None:
            touched = {table.key_of(row) for row in standing.values()}
        else:
            touched = {table.key_of(row) for row in (change.before, change.after) if row}
        showed = {key: shown(key) for key in touched}
        if change.row_id is None:
            standing.clear()
        else:
            standing.pop(change.row_id, None)
            if change.after is not None:
                standing[change.row_id] = change.after
        for key in touched:
            now = shown(key)
            if now is None:
                emptied_by[key] = change
            elif now != showed[key]:
                set_by[key] = change
    return set_by, emptied_by


def _narrowed(row: Values, kept: Sequence[str]) -> Values:
    return {name: row[name] for name in kept}


def _check_transactions(workload: Workload, positions: Positions) -> None:
    """States alone are right only if the log keeps the changes of a transaction together."""
    for transaction in workload.transactions:
        commits = {
            positions[change.number].commit_sequence
            for change in transaction.changes
            if change.number in positions
        }
        if len(commits) > 1:
            raise ValueError(f"the log splits transaction {transaction.position}: {commits}")
