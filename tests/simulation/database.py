"""A table of a source database, and seeded workloads of committed transactions on it.

The database identifies rows by ``row_id``: a row stays the same row when its key changes. The state
after a commit is then a plain set of rows, in whatever order the log has the changes of the
transaction. Keys are unique at every commit. While a statement runs, two rows may have the same key
for a moment (``update t set id = id + 1``, swaps, replacements).

If two rows have the same key, a log without row identities does not tell which one a change is
about. The workloads use only cases that the contract decides. Of several rows on one key the first
to arrive leaves first, and only the last to arrive is changed in place.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from math import ceil
from typing import Any

Values = dict[str, Any]
Key = tuple[Any, ...]
Slot = tuple[int, ...]
"""A key by number: one small number for each key column, see :func:`key_values`."""

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Table:
    """Name, columns (name to Spark SQL type, in table order) and key columns of a table."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]

    def key_of(self, values: Values) -> Key:
        return tuple(values[column] for column in self.key)

    @property
    def attributes(self) -> list[str]:
        """The columns that are not in the key."""
        return [column for column in self.columns if column not in self.key]


@dataclass(frozen=True)
class RowChange:
    """One change of one row, or a truncate (no row, no values); ``number`` rises in the log."""

    number: int
    operation: str
    row_id: int | None
    before: Values | None
    after: Values | None

    @property
    def is_no_op(self) -> bool:
        """An update that sets every column to its present value."""
        return self.operation == "update" and self.before == self.after

    @property
    def values(self) -> Values:
        """The row after the change; for a delete the deleted row."""
        values = self.before if self.operation == "delete" else self.after
        assert values is not None, "a truncate has no row"
        return values


@dataclass(frozen=True)
class Transaction:
    """A committed transaction: ``position`` counts commits; the clock may stay or go back."""

    position: int
    id: str
    committed_at: datetime
    changes: tuple[RowChange, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """Committed transactions in the order of their commits, and the rows after each of them."""

    table: Table
    transactions: tuple[Transaction, ...]
    rows: tuple[Mapping[int, Values], ...]

    def rows_at(self, commit: int) -> Mapping[int, Values]:
        """Rows by identity after the commit at this position; at -1 the table is empty."""
        return {} if commit < 0 else self.rows[commit]

    def state_at(self, commit: int) -> dict[Key, Values]:
        """Rows by key after the commit at this position."""
        rows = self.rows_at(commit).values()
        state = {self.table.key_of(values): values for values in rows}
        assert len(state) == len(rows), "keys are unique at commit"
        return state

    @property
    def statements(self) -> Counter[str]:
        """How often each kind of statement occurs."""
        return Counter(kind for transaction in self.transactions for kind in transaction.statements)


# ---------------------------------------------------------------------------------------- values

_POOLS: dict[str, tuple[Any, ...]] = {
    "tinyint": (0, 1, -128, 127),
    "smallint": (0, 1, -32768, 32767),
    "int": (0, 1, -(2**31), 2**31 - 1),
    "bigint": (0, 2**53 + 1, -(2**63), 2**63 - 1),
    "float": (0.0, 1.5, -2.25),
    "double": (0.0, 0.1, -1e300),
    "boolean": (False, True),
    "string": ("", "a", "A", " a ", 'O\'Neil, "q"\n\\', "žluťoučký 漢字"),
    "binary": (b"", b"\x00", b"\xff\x00"),
    "date": (date(1900, 1, 1), date(1970, 1, 1), date(2024, 2, 29)),
    "timestamp": (
        datetime(1970, 1, 1, tzinfo=timezone.utc),
        datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=timezone.utc),
        datetime(2024, 10, 27, 0, 30, tzinfo=timezone.utc),
    ),
    "timestamp_ntz": (datetime(1970, 1, 1), datetime(2024, 3, 31, 2, 30, 0, 1)),
}


def _decimal_type(sql_type: str) -> tuple[int, int] | None:
    """Precision and scale of ``decimal(p,s)``, else None."""
    if not sql_type.startswith("decimal("):
        return None
    precision, scale = sql_type[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


def pool(sql_type: str) -> tuple[Any, ...]:
    """The few values of columns of this type: few, so that values repeat."""
    decimal = _decimal_type(sql_type)
    if decimal is None:
        return _POOLS[sql_type]
    precision, scale = decimal
    largest = int("9" * precision)
    # from the digits: arithmetic would round to the 28 digits of the default context
    return tuple(
        Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
        for number in (0, 1, -largest, largest)
    )


def random_value(sql_type: str, rng: random.Random, null_rate: float = 0.2) -> Any:
    """A value of this type, or None."""
    return None if rng.random() < null_rate else rng.choice(pool(sql_type))


_KEYS: dict[str, Callable[[int], Any]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int),
    **dict.fromkeys(("float", "double"), lambda number: number / 2),
    "boolean": (False, True).__getitem__,
    # neighbours differ only in case or in a trailing blank
    "string": lambda number: ("k{}", "K{}", "k{} ")[number % 3].format(number // 3),
    "binary": lambda number: number.to_bytes(2, "big"),
    "date": lambda number: date(2024, 1, 1) + timedelta(days=number),
    "timestamp": lambda number: (
        datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=number)
    ),
    "timestamp_ntz": lambda number: datetime(2024, 1, 1) + timedelta(microseconds=number),
}
"""The ``number``-th key value of a type: another value for another number."""


def _key_value(sql_type: str, number: int) -> Any:
    decimal = _decimal_type(sql_type)
    if decimal is not None:
        return Decimal((0, tuple(map(int, str(number))), -decimal[1]))
    return _KEYS[sql_type](number)


def key_values(table: Table, slot: Slot) -> Values:
    """The key columns of a key that is given by numbers."""
    numbers = zip(table.key, slot, strict=True)
    return {column: _key_value(table.columns[column], number) for column, number in numbers}


def slots(table: Table, key_space: int) -> list[Slot]:
    """About ``key_space`` keys: every combination of a few numbers for each key column."""
    size = ceil(key_space ** (1 / len(table.key)))
    sizes = [2 if table.columns[column] == "boolean" else size for column in table.key]
    return list(product(*(range(size) for size in sizes)))


# ---------------------------------------------------------------------------------------- tables

ORDERS = Table(
    "orders",
    {
        "order_id": "int",
        "customer": "string",
        "amount": "decimal(18,2)",
        "paid": "boolean",
        "placed_at": "timestamp",
    },
    ("order_id",),
)
POSITIONS = Table(
    "positions",
    {
        "warehouse": "string",
        "quantity": "bigint",
        "shelf": "smallint",
        "day": "date",
        "note": "string",
    },
    ("warehouse", "shelf", "day"),
)
ODD_NAMES = Table(
    "odd names",
    {
        "Order No": "decimal(38,0)",
        "select": "int",
        "Größe": "double",
        "日付": "date",
        "a.b": "string",
        "back`tick": "string",
    },
    ("Order No",),
)
ALL_TYPES = Table(
    "all_types",
    {"id": "binary", "at": "timestamp"}
    | {f"c_{sql_type}": sql_type for sql_type in _POOLS}
    | {"c_decimal": "decimal(5,2)", "c_decimal_wide": "decimal(38,18)"},
    ("id", "at"),
)


def wide_table(columns: int) -> Table:
    """A table with this many columns; the key is the last one."""
    names = {f"c{number:03d}": "int" for number in range(columns - 1)}
    return Table(f"wide_{columns}", {**names, "id": "bigint"}, ("id",))


SAMPLE_TABLES = (ORDERS, POSITIONS, ODD_NAMES, ALL_TYPES, wide_table(2), wide_table(80))


# ------------------------------------------------------------------------------------- workloads


@dataclass(frozen=True)
class _Row:
    slot: Slot
    attributes: Values


@dataclass(frozen=True)
class _Step:
    """One planned change: the row after it, or None for a delete. ``row_id`` None: truncate."""

    row_id: int | None
    row: _Row | None


STATEMENTS: dict[str, float] = {
    "insert": 10,
    "reinsert": 5,
    "update": 10,
    "update_to_null": 2,
    "no_op": 2,
    "several_changes": 4,
    "there_and_back": 2,
    "delete": 5,
    "delete_and_insert": 3,
    "replace": 3,
    "undone_insert": 3,
    "move": 4,
    "move_and_back": 2,
    "shift": 5,
    "swap": 4,
    "truncate": 0.3,
    "reload": 0.3,
}
"""Kinds of statements and their weights. Of a statement with several changes the order is random
where the database leaves it open."""


def generate(
    table: Table,
    rng: random.Random,
    transactions: int = 50,
    key_space: int = 12,
    without: Collection[str] = (),
) -> Workload:
    """A workload on an empty table. ``without``: kinds of :data:`STATEMENTS` to leave out.

    With few keys (``key_space``) several changes often have the same key. Many transactions share
    one commit time, and the clock sometimes goes back. Transaction ids are used again or differ
    only in case.
    """
    unknown = set(without) - set(STATEMENTS)
    if unknown:
        raise ValueError(f"no such statements: {sorted(unknown)}; known: {list(STATEMENTS)}")
    database = _Database(table, rng, key_space)
    weights = {kind: weight for kind, weight in STATEMENTS.items() if kind not in without}
    committed: list[Transaction] = []
    ids: list[str] = []
    states: list[Mapping[int, Values]] = []
    clock = datetime(2024, 2, 28, 23, 59, 58, tzinfo=timezone.utc)
    while len(committed) < transactions:
        clock += _tick(rng)
        statements = database.run(weights)
        changes = database.commit()
        if changes:
            ids.append(_transaction_id(rng, ids))
            committed.append(
                Transaction(len(committed), ids[-1], clock, changes, tuple(statements))
            )
            states.append(dict(database.values))
    return Workload(table, tuple(committed), tuple(states))


def _tick(rng: random.Random) -> timedelta:
    draw = rng.random()
    if draw < 0.5:
        return timedelta(0)
    if draw < 0.95:
        return timedelta(microseconds=rng.choice((1, 4_000, 10_000, 250_000, 3_000_000)))
    return -timedelta(seconds=rng.randint(1, 90))


def _transaction_id(rng: random.Random, used: list[str]) -> str:
    """32 hex digits; now and then an earlier id, or the last one in the other case."""
    draw = rng.random()
    if used and draw < 0.1:
        return rng.choice(used)
    if used and draw < 0.15:
        return used[-1].swapcase()
    return f"{rng.getrandbits(128):032X}"


class _Database:
    """The table while the workload runs: rows by identity, and the rows on each key by arrival."""

    def __init__(self, table: Table, rng: random.Random, key_space: int) -> None:
        self.table = table
        self.rng = rng
        self.slots = slots(table, key_space)
        self.rows: dict[int, _Row] = {}
        self.values: dict[int, Values] = {}
        self.holders: dict[Slot, list[int]] = {}
        self.ended: list[Slot] = []
        self.changes: list[RowChange] = []
        self.changes_so_far = 0
        self.last_row_id = 0
        self.busy: set[Slot] = set()
        planners: list[Callable[[], list[_Step]]] = [
            self._insert,
            self._reinsert,
            self._update,
            self._update_to_null,
            self._no_op,
            self._several_changes,
            self._there_and_back,
            self._delete,
            self._delete_and_insert,
            self._replace,
            self._undone_insert,
            self._move,
            self._move_and_back,
            self._shift,
            self._swap,
            self._truncate,
            self._reload,
        ]
        self.planners = {planner.__name__[1:]: planner for planner in planners}

    # transactions

    def run(self, weights: Mapping[str, float]) -> list[str]:
        """Some batches of statements; the statements of a batch run at the same time."""
        done: list[str] = []
        for _ in range(self.rng.choices((1, 2, 3), (6, 3, 1))[0]):
            self.busy = set()
            plans: list[list[_Step]] = []
            for kind in self._draw(weights):
                steps = self.planners[kind]()
                if steps:
                    plans.append(steps)
                    done.append(kind)
            for step in self._merge(plans):
                self._apply(step)
        return done

    def commit(self) -> tuple[RowChange, ...]:
        """The changes since the last commit."""
        assert all(len(rows) == 1 for rows in self.holders.values()), "a key is held twice"
        changes, self.changes = tuple(self.changes), []
        return changes

    def _draw(self, weights: Mapping[str, float]) -> list[str]:
        """Kinds of statements for a batch. A truncate is alone, since it affects every row."""
        number = self.rng.choices((1, 2, 4), (5, 3, 1))[0]
        kinds = self.rng.choices(list(weights), list(weights.values()), k=number)
        alone = [kind for kind in kinds if kind in ("truncate", "reload")]
        return alone[:1] or kinds

    def _merge(self, plans: list[list[_Step]]) -> list[_Step]:
        """The steps of all plans in one random order that keeps the order within each plan."""
        turns = [number for number, plan in enumerate(plans) for _ in plan]
        self.rng.shuffle(turns)
        remaining = [iter(plan) for plan in plans]
        return [next(remaining[number]) for number in turns]

    def _apply(self, step: _Step) -> None:
        self.changes_so_far += 1
        number = self.changes_so_far
        if step.row_id is None:
            self.ended.extend(self.holders)
            self.rows.clear()
            self.values.clear()
            self.holders.clear()
            self.changes.append(RowChange(number, "truncate", None, None, None))
            return
        old, new = self.rows.pop(step.row_id, None), step.row
        before, after = self.values.pop(step.row_id, None), None
        stays = old is not None and new is not None and old.slot == new.slot
        if old is not None:
            holders = self.holders[old.slot]
            assert holders[-1 if stays else 0] == step.row_id, "not decidable from the log"
            holders.remove(step.row_id)
            if not holders:
                del self.holders[old.slot]
                self.ended.append(old.slot)
        if new is not None:
            after = self._values(new)
            self.rows[step.row_id] = new
            self.values[step.row_id] = after
            self.holders.setdefault(new.slot, []).append(step.row_id)
        operation = "insert" if old is None else "delete" if new is None else "update"
        self.changes.append(RowChange(number, operation, step.row_id, before, after))

    def _values(self, row: _Row) -> Values:
        values = {**key_values(self.table, row.slot), **row.attributes}
        return {column: values[column] for column in self.table.columns}

    # materials for plans: keys and rows that no other plan of the batch uses

    def _free_slot(self, among: list[Slot] | None = None) -> Slot | None:
        among = self.slots if among is None else among
        for _ in range(10 if among else 0):
            slot = self.rng.choice(among)
            if slot not in self.holders and slot not in self.busy:
                self.busy.add(slot)
                return slot
        return None

    def _some_row(self) -> tuple[int, _Row] | None:
        for _ in range(5 if self.rows else 0):
            row_id, row = self.rng.choice(list(self.rows.items()))
            if row.slot not in self.busy:
                self.busy.add(row.slot)
                return row_id, row
        return None

    def _new_row_id(self) -> int:
        self.last_row_id += 1
        return self.last_row_id

    def _new_row(self, slot: Slot) -> _Row:
        types = self.table.columns
        attributes = {name: random_value(types[name], self.rng) for name in self.table.attributes}
        return _Row(slot, attributes)

    def _changed(self, row: _Row, slot: Slot | None = None) -> _Row:
        """The row on another key, with one to three attributes set (maybe to the same values)."""
        names = self.table.attributes
        chosen = self.rng.sample(names, min(len(names), self.rng.randint(1, 3)))
        new = {name: random_value(self.table.columns[name], self.rng) for name in chosen}
        return _Row(row.slot if slot is None else slot, {**row.attributes, **new})

    def _maybe_changed(self, row: _Row, slot: Slot) -> _Row:
        return self._changed(row, slot) if self.rng.random() < 0.3 else _Row(slot, row.attributes)

    # one planner for each kind of statement; its plan is empty if the table has no suitable row or
    # key

    def _insert(self) -> list[_Step]:
        slot = self._free_slot()
        return [] if slot is None else [_Step(self._new_row_id(), self._new_row(slot))]

    def _reinsert(self) -> list[_Step]:
        slot = self._free_slot(self.ended)
        return [] if slot is None else [_Step(self._new_row_id(), self._new_row(slot))]

    def _update(self) -> list[_Step]:
        found = (self._some_row() for _ in range(self.rng.choice((1, 1, 3))))
        return [_Step(one[0], self._changed(one[1])) for one in found if one is not None]

    def _update_to_null(self) -> list[_Step]:
        one = self._some_row()
        if one is None or not self.table.attributes:
            return []
        name = self.rng.choice(self.table.attributes)
        return [_Step(one[0], _Row(one[1].slot, {**one[1].attributes, name: None}))]

    def _no_op(self) -> list[_Step]:
        one = self._some_row()
        return [] if one is None else [_Step(*one)]

    def _several_changes(self) -> list[_Step]:
        one = self._some_row()
        if one is None:
            return []
        row_id, row = one
        steps = []
        for _ in range(self.rng.randint(2, 4)):
            row = self._changed(row)
            steps.append(_Step(row_id, row))
        if self.rng.random() < 0.3:
            steps.append(_Step(row_id, None))
        return steps

    def _there_and_back(self) -> list[_Step]:
        one = self._some_row()
        return [] if one is None else [_Step(one[0], self._changed(one[1])), _Step(*one)]

    def _delete(self) -> list[_Step]:
        found = (self._some_row() for _ in range(self.rng.choice((1, 1, 3))))
        return [_Step(one[0], None) for one in found if one is not None]

    def _delete_and_insert(self) -> list[_Step]:
        one = self._some_row()
        if one is None:
            return []
        row_id, row = one
        again = row if self.rng.random() < 0.5 else self._new_row(row.slot)
        return [_Step(row_id, None), _Step(self._new_row_id(), again)]

    def _replace(self) -> list[_Step]:
        """New rows arrive over the old one; afterwards all except the last are deleted."""
        one = self._some_row()
        if one is None:
            return []
        row_id, row = one
        newcomers = [self._new_row_id() for _ in range(self.rng.choice((1, 1, 2)))]
        steps = []
        for newcomer in newcomers:
            again = row if self.rng.random() < 0.3 else self._new_row(row.slot)
            steps.append(_Step(newcomer, again))
        if self.rng.random() < 0.3:
            steps.append(_Step(newcomers[-1], self._changed(again)))
        return steps + [_Step(leaving, None) for leaving in [row_id, *newcomers[:-1]]]

    def _truncate(self) -> list[_Step]:
        return [_Step(None, None)]

    def _reload(self) -> list[_Step]:
        """Truncate, and insert most rows again, unchanged or changed."""
        steps = [_Step(None, None)]
        for row_id, row in self.rows.items():
            if self.rng.random() < 0.8:
                changed = self.rng.random() < 0.3
                steps.append(_Step(row_id, self._changed(row) if changed else row))
        return steps

    def _undone_insert(self) -> list[_Step]:
        slot = self._free_slot()
        if slot is None:
            return []
        row_id, row = self._new_row_id(), self._new_row(slot)
        steps = [_Step(row_id, row)]
        if self.rng.random() < 0.5:
            row = self._changed(row)
            steps.append(_Step(row_id, row))
        elsewhere = self._free_slot() if self.rng.random() < 0.3 else None
        if elsewhere is not None:
            steps.append(_Step(row_id, _Row(elsewhere, row.attributes)))
        return [*steps, _Step(row_id, None)]

    def _move(self) -> list[_Step]:
        one, slot = self._some_row(), self._free_slot()
        if one is None or slot is None:
            return []
        return [_Step(one[0], self._maybe_changed(one[1], slot))]

    def _move_and_back(self) -> list[_Step]:
        moved = self._move()
        if not moved:
            return []
        row_id = moved[0].row_id
        assert row_id is not None
        row = self.rows[row_id]
        return [*moved, _Step(row_id, self._maybe_changed(row, row.slot))]

    def _shift(self) -> list[_Step]:
        """``set id = id + 1`` (or - 1) for a run of neighbours, in any order of the rows."""
        shiftable = [c for c, name in enumerate(self.table.key) if self._can_shift(name)]
        one = self._some_row()
        if one is None or not shiftable:
            return []
        column, by = self.rng.choice(shiftable), self.rng.choice((1, 1, -1))
        run: list[tuple[int, Slot]] = []
        row_id, slot = one[0], one[1].slot
        while True:
            target = (*slot[:column], slot[column] + by, *slot[column + 1 :])
            if target[column] < 0 or target in self.busy:
                return []
            run.append((row_id, target))
            self.busy.add(target)
            if target not in self.holders:
                break
            row_id, slot = self.holders[target][0], target
        self.rng.shuffle(run)
        return [_Step(row_id, self._maybe_changed(self.rows[row_id], to)) for row_id, to in run]

    def _can_shift(self, column: str) -> bool:
        return self.table.columns[column] != "boolean"

    def _swap(self) -> list[_Step]:
        """Two or three rows change their keys in a circle, in any order of the rows."""
        found = [self._some_row() for _ in range(self.rng.choice((2, 2, 3)))]
        circle = [one for one in found if one is not None]
        if len(circle) < 2:
            return []
        targets = [row.slot for _, row in circle[1:] + circle[:1]]
        steps = [
            _Step(row_id, self._maybe_changed(row, slot))
            for (row_id, row), slot in zip(circle, targets, strict=True)
        ]
        self.rng.shuffle(steps)
        return steps
