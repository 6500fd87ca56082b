"""The simulation is right: its two descriptions agree, and each rule has its example.

Sections of the contract are cited as "rule n" (of its section 3).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import apply_events, oracle
from simulation.database import (
    ORDERS,
    POSITIONS,
    SAMPLE_TABLES,
    STATEMENTS,
    Table,
    Workload,
    generate,
)
from simulation.random_events import event_columns, random_events, reloaded_events

Row = dict[str, Any]

seeds = st.integers(0, 2**32)
tables = st.sampled_from(SAMPLE_TABLES)


@st.composite
def workloads(draw: st.DrawFn, without: Sequence[str] = ()) -> Workload:
    table, rng = draw(tables), random.Random(draw(seeds))
    return generate(table, rng, draw(st.integers(1, 20)), draw(st.integers(2, 9)), without)


@st.composite
def narrowings(draw: st.DrawFn, table: Table) -> list[str] | None:
    return draw(st.none() | st.lists(st.sampled_from(list(table.columns)), max_size=3, unique=True))


# ------------------------------------------------------------------------------------ the database


def test_every_kind_of_statement_occurs() -> None:
    workload = generate(ORDERS, random.Random(1), transactions=400)
    assert set(workload.statements) == set(STATEMENTS)
    assert len({transaction.id for transaction in workload.transactions}) < 400
    times = [transaction.committed_at for transaction in workload.transactions]
    assert max(Counter(times).values()) > 2
    assert times != sorted(times)


def test_statements_can_be_left_out() -> None:
    workload = generate(ORDERS, random.Random(1), 100, without=("truncate", "move", "shift"))
    assert not {"truncate", "move", "shift"} & set(workload.statements)
    with pytest.raises(ValueError, match="no such statements"):
        generate(ORDERS, random.Random(1), without=("trunkate",))


def test_a_key_is_held_twice_for_a_moment_only() -> None:
    workload = generate(POSITIONS, random.Random(2), transactions=200)
    held_twice = 0
    for transaction in workload.transactions:
        rows = dict(workload.rows_at(transaction.position - 1))
        for change in transaction.changes:
            if change.row_id is None:
                rows.clear()
            else:
                assert rows.pop(change.row_id, None) == change.before
                if change.after is not None:
                    rows[change.row_id] = change.after
            keys = Counter(POSITIONS.key_of(values) for values in rows.values())
            held_twice += max(keys.values(), default=0) > 1
        assert rows == workload.rows_at(transaction.position)
        assert len(workload.state_at(transaction.position)) == len(rows)
    assert held_twice > 20


@pytest.mark.parametrize("table", SAMPLE_TABLES, ids=lambda table: table.name)
def test_seeds_repeat(table: Table) -> None:
    one, other = (generate(table, random.Random(7), 20) for _ in range(2))
    assert one == other


# ---------------------------------------------------------------------- states against interpreter


@given(data=st.data(), workload=workloads())
@settings(max_examples=300, deadline=None)
def test_states_and_interpreter_agree(data: st.DataObject, workload: Workload) -> None:
    key = workload.table.key
    columns = data.draw(narrowings(workload.table))
    events = oracle.change_events(workload)
    for keep_deleted in (False, True):
        assert oracle.current_state(
            workload, keep_deleted, columns=columns
        ) == apply_events.current_state(events, key, columns, keep_deleted)
    assert oracle.history(workload, columns=columns) == apply_events.history(events, key, columns)


@given(workload=workloads())
@settings(max_examples=50, deadline=None)
def test_current_state_is_the_last_state(workload: Workload) -> None:
    table = workload.table
    current = oracle.current_state(workload)
    state = workload.state_at(len(workload.transactions) - 1)
    assert {table.key_of(row): {name: row[name] for name in table.columns} for row in current} == (
        state
    )


# ------------------------------------------------------------------------- the interpreter by rule


def events_of(*transactions: Sequence[Row]) -> list[Row]:
    """Events from a short form: ``{"op": …, "id": …, "v": …, "w": …, "present": …, "was": …}``."""
    events = []
    for commit, transaction in enumerate(transactions, start=1):
        for number, short in enumerate(transaction):
            events.append(
                {
                    "cdc_operation": short["op"],
                    "cdc_sequence": f"{commit}.{number}",
                    "cdc_commit_sequence": f"{commit}.0",
                    "cdc_commit_at": datetime(2024, 1, commit, tzinfo=timezone.utc),
                    "cdc_present_columns": short.get("present"),
                    "cdc_before": {"id": short["was"], "v": 99, "w": 99}
                    if "was" in short
                    else None,
                    "id": short.get("id"),
                    "v": short.get("v"),
                    "w": short.get("w"),
                }
            )
    return events


def insert(id_: int, v: Any = None, w: Any = None, **more: Any) -> Row:
    return {"op": "insert", "id": id_, "v": v, "w": w, **more}


def update(id_: int, v: Any = None, w: Any = None, **more: Any) -> Row:
    return {**insert(id_, v, w, **more), "op": "update"}


def load(id_: int, v: Any = None, w: Any = None, **more: Any) -> Row:
    return {**insert(id_, v, w, **more), "op": "load"}


def delete(id_: int) -> Row:
    return {"op": "delete", "id": id_}


TRUNCATE: Row = {"op": "truncate"}


def current(*transactions: Sequence[Row], columns: Sequence[str] | None = None) -> Any:
    """``{id: (v, w, operation, sequence)}``."""
    rows = apply_events.current_state(events_of(*transactions), ["id"], columns)
    return {
        row["id"]: (row.get("v"), row.get("w"), row["cdc_operation"], row["cdc_sequence"])
        for row in rows
    }


def versions(
    *transactions: Sequence[Row], granularity: str = "event", columns: Sequence[str] | None = None
) -> list[tuple[Any, ...]]:
    """``(id, v, from, to, operation, ended by)`` of each version."""
    rows = apply_events.history(events_of(*transactions), ["id"], columns, granularity)
    fields = ("cdc_valid_from_sequence", "cdc_valid_to_sequence", "cdc_operation", "cdc_ended_by")
    return [(row["id"], row.get("v"), *(row[name] for name in fields)) for row in rows]


def test_rule_1_order_is_by_commit_then_sequence() -> None:
    events = events_of([insert(1, 1)], [update(1, 2)], [update(1, 3)])
    events[2]["cdc_commit_at"] = datetime(1970, 1, 1, tzinfo=timezone.utc)
    (row,) = apply_events.current_state(events[::-1], ["id"])
    assert row["v"] == 3
    with pytest.raises(ValueError, match="not unique"):
        apply_events.current_state(events + events, ["id"])


def test_rule_3_a_move_ends_one_key_and_begins_another() -> None:
    assert versions([insert(1, 7)], [update(2, 7, was=1)], granularity="commit") == [
        (1, 7, "1.0", "2.0", "insert", "update"),
        (2, 7, "2.0", None, "update", None),
    ]
    # a null in the before image is unknown, and only the before image of an update can move a row
    assert current([insert(1, 7)], [update(2, 8, was=None)]).keys() == {1, 2}
    assert current([insert(1, 7)], [insert(2, 8, was=1), load(3, 9, was=1)]).keys() == {1, 2, 3}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_rule_4_a_shift_keeps_every_row(order: tuple[int, ...]) -> None:
    shift = [update(number + 2, number, was=number + 1) for number in order]
    rows = current([insert(1, 0), insert(2, 1), insert(3, 2)], shift)
    assert {key: values[0] for key, values in rows.items()} == {2: 0, 3: 1, 4: 2}


def test_rule_4_counts() -> None:
    # over an existing key, deleted in the same transaction: the key is left
    assert current([insert(1, 1)], [insert(1, 2), delete(1)])[1][0] == 2
    # but an existing key counts 1 only when the next transaction begins
    assert current([insert(1, 1)], [insert(1, 2)], [delete(1)]) == {}
    # never below 0
    assert current([delete(1), delete(1), insert(1, 1)])[1][0] == 1
    # an update or a load makes it at least 1, and not more
    assert current([update(1, 1), load(1, 2), delete(1)]) == {}
    assert current([insert(1, 1)], [insert(1, 2), TRUNCATE, insert(1, 3), delete(1)]) == {}


def test_rule_5_unexpected_operations() -> None:
    assert versions([update(1, 1)], [delete(2)], [insert(1, 2)]) == [
        (1, 1, "1.0", "3.0", "update", "insert"),
        (1, 2, "3.0", None, "insert", None),
    ]


def test_rule_6_truncate_ends_open_versions() -> None:
    assert versions([insert(1, 1), TRUNCATE, insert(2, 2)], [TRUNCATE]) == [
        (1, 1, "1.0", "1.1", "insert", "truncate"),
        (2, 2, "1.2", "2.0", "insert", "truncate"),
    ]
    assert versions([insert(1, 1), TRUNCATE], [insert(2, 2)], granularity="commit") == [
        (2, 2, "2.0", None, "insert", None)
    ]


def test_rule_7_loads_supersede_earlier_commits() -> None:
    rows = current([insert(1, 1), insert(2, 2)], [load(1, 5, present=["id", "v"])], [update(1, 6)])
    assert rows == {1: (6, None, "update", "3.0"), 2: (2, None, "insert", "1.1")}


def test_rule_9_no_change_no_version() -> None:
    assert current([insert(1, 1)], [update(1, 1)], [update(1, 2), update(1, 1)])[1][3] == "1.0"
    assert current([insert(1, 1)], [delete(1), insert(1, 1)])[1][3] == "1.0"
    assert len(versions([insert(1, 1)], [delete(1), insert(1, 1)])) == 2
    assert current([insert(1, 1), update(1, 1)])[1][2:] == ("insert", "1.0")
    assert len(versions([insert(1, None)], [insert(1, 5, present=["id"])])) == 1
    nan = float("nan")
    assert len(versions([insert(1, nan)], [update(1, -nan)])) == 1
    # only the columns of the result are compared
    steps = [insert(1, 1, 1)], [update(1, 1, 2)], [update(1, 2, 2)]
    assert len(versions(*steps, columns=["w"])) == 2
    assert current(*steps, columns=[])[1] == (None, None, "insert", "1.0")


def test_rule_10_missing_columns_of_an_insert() -> None:
    sparse = insert(1, 5, present=["ID", "V"])
    assert current([insert(1, 1, 1)], [sparse])[1][:2] == (5, 1)
    assert current([insert(1, 1, 1)], [delete(1), sparse])[1][:2] == (5, None)
    assert current([insert(1, 1, 1)], [insert(1, 2, 2), delete(1), sparse])[1][:2] == (5, 2)
    # an update does not take values from a deleted row either
    assert (
        current([insert(1, 1, 1)], [delete(1)], [update(1, 5, present=["id", "v"])])[1][1] is None
    )


def test_rule_11_two_rows_on_one_key() -> None:
    setup = [insert(1, 1), insert(2, 2)]
    shift = [update(2, 1, was=1), update(3, 2, was=2)]
    assert versions(setup, shift) == [
        (1, 1, "1.0", "2.0", "insert", "update"),
        (2, 2, "1.1", "2.0", "insert", "update"),
        (2, 1, "2.0", None, "update", None),
        (3, 2, "2.1", None, "update", None),
    ]
    assert versions([insert(1, 1)], [insert(1, 2), delete(1)])[-1][3] is None


def test_rule_12_deleted_keys_are_kept_with_their_last_version() -> None:
    events = events_of(
        [insert(1, 1), insert(2, 2), insert(3, 3)],
        [update(1, 9), delete(1)],
        [update(4, 2, was=2)],
        [insert(5, 5), delete(5), delete(6)],
        [TRUNCATE, insert(7, 7)],
    )
    rows = apply_events.current_state(events, ["id"], keep_deleted=True)
    fields = ("id", "v", "cdc_operation", "cdc_sequence", "cdc_is_deleted")
    assert [tuple(row[name] for name in fields) for row in rows] == [
        (1, 1, "delete", "2.1", True),
        (2, 2, "update", "3.0", True),
        (3, 3, "truncate", "5.0", True),
        (4, 2, "truncate", "5.0", True),
        (7, 7, "insert", "5.1", False),
    ]


def test_rule_13_missing_columns_of_a_move() -> None:
    move = update(2, 5, was=1, present=["id", "v"])
    assert current([insert(1, 1, 1)], [move])[2][:2] == (5, None)
    assert current([insert(1, 1, 1), insert(2, 2, 2)], [move])[2][:2] == (5, None)


def test_rule_14_times_are_attributes() -> None:
    events = events_of([insert(1, 1)], [update(1, 2)])
    for event in events:
        event["cdc_commit_at"] = None
    first, second = apply_events.history(events, ["id"])
    assert first["cdc_valid_to"] is None and not first["cdc_is_current"]
    assert second["cdc_valid_from"] is None and second["cdc_is_current"]


def test_the_end_of_a_version_at_granularity_commit() -> None:
    def ended_by(*changes: Row) -> Any:
        return versions([insert(1, 1)], changes, granularity="commit")[0][5]

    assert ended_by(delete(1), insert(1, 2)) == "insert"
    assert ended_by(delete(1), insert(1, 2), update(1, 3)) == "update"
    assert ended_by(update(1, 2), delete(1), delete(1)) == "delete"
    assert ended_by(update(2, 1, was=1), insert(1, 5), TRUNCATE) == "truncate"
    assert ended_by(delete(1), insert(1, 5), update(2, 5, was=1)) == "update"


# ------------------------------------------------------------------------------------- odd events


@given(table=tables, seed=seeds, transactions=st.integers(1, 12), granularity=st.booleans())
@settings(max_examples=150, deadline=None)
def test_unexpected_events_make_sound_tables(
    table: Table, seed: int, transactions: int, granularity: bool
) -> None:
    events = random_events(random.Random(seed), table, transactions=transactions)
    name = "event" if granularity else "commit"
    rows = apply_events.history(events, table.key, granularity=name)
    by_key = defaultdict(list)
    for row in rows:
        by_key[table.key_of(row)].append(row)
    for of_key in by_key.values():
        ends = [row["cdc_valid_to_sequence"] for row in of_key]
        assert None not in ends[:-1]
        for row, following in pairwise(of_key):
            assert row["cdc_valid_to_sequence"] <= following["cdc_valid_from_sequence"]
        for row in of_key:
            if row["cdc_valid_to_sequence"] is not None:
                assert row["cdc_valid_from_sequence"] < row["cdc_valid_to_sequence"]
            assert row["cdc_is_current"] == (row["cdc_ended_by"] is None)

    def values(rows: list[Row]) -> list[Row]:
        return [{column: row[column] for column in table.columns} for row in rows]

    current = apply_events.current_state(events, table.key)
    assert values(current) == values([row for row in rows if row["cdc_is_current"]])
    events.reverse()
    assert rows == apply_events.history(events, table.key, granularity=name)


def test_unexpected_events_are_typed() -> None:
    events = random_events(random.Random(3), POSITIONS, transactions=300)
    assert {event["cdc_operation"] for event in events} == (
        {"load", "insert", "update", "delete", "truncate"}
    )
    assert all(list(event) == list(event_columns(POSITIONS)) for event in events)
    for event in events:
        present = event["cdc_present_columns"]
        if present is not None:
            assert set(POSITIONS.key) <= set(present)
            assert all(event[n] is None for n in POSITIONS.columns if n not in present)


@pytest.mark.parametrize("truncates", [1, 8, 9])
def test_a_table_is_loaded_again_and_again(truncates: int) -> None:
    """Rows survive the truncate of a load, are changed by it, or end with it."""
    events = reloaded_events(random.Random(5), POSITIONS, truncates=truncates)
    truncating = [one for one in events if one["cdc_operation"] == "truncate"]
    assert len(truncating) == truncates
    commits = {one["cdc_commit_sequence"] for one in truncating}
    rows = apply_events.history(events, POSITIONS.key)
    survived = [
        row
        for row in rows
        for commit in commits
        if row["cdc_valid_from_sequence"] < commit < (row["cdc_valid_to_sequence"] or "9")
    ]
    ended_by = Counter(
        row["cdc_ended_by"] for row in rows if row["cdc_valid_to_sequence"] in commits
    )
    assert len(survived) > 3
    assert min(ended_by["truncate"], ended_by["load"]) > 3
    # a truncate after other events of its transaction
    assert truncates == 1 or {one["cdc_sequence"] for one in truncating} - commits
