"""Full loads of a simulated table: the expected events lead to the states of the database."""

from __future__ import annotations

import random

import pytest
from simulation import apply_events, database

from formats.qlik_change_table import loads, writer


@pytest.mark.parametrize("lacks", [[], ["paid", "customer"]])
@pytest.mark.parametrize("seed", range(20))
def test_history_equals_the_database_at_each_load_and_captured_commit(
    seed: int, lacks: list[str]
) -> None:
    """Three loads. Between the second and the third every second transaction is lost.

    If loads lack columns, nothing is lost: a row keeps what the load does not know.
    """
    rng = random.Random(seed)
    table = database.ORDERS
    workload = database.generate(table, rng, transactions=120)
    written = writer.write(workload, rng)
    made = loads.write(workload, written, rng, shape=loads.Shape(lacks=lacks))
    lost, places = loads.lost_between(workload, written, made[1], made[2])
    if lacks:
        lost, places = set(), set()
    events = [event for event in written.events if event["cdc_sequence"] not in lost]
    events += [event for load in made for event in load.events]
    versions = apply_events.history(events, list(table.key))

    def state_at(sequence: str) -> dict[database.Key, database.Values]:
        return {
            table.key_of(row): {name: row[name] for name in table.columns}
            for row in versions
            if row["cdc_valid_from_sequence"] <= sequence
            and (row["cdc_valid_to_sequence"] or "~") > sequence
        }

    compared = 0
    for transaction in workload.transactions:
        sequences = [
            written.positions[change.number].commit_sequence
            for change in transaction.changes
            if change.number in written.positions
        ]
        is_between = made[1].place < transaction.position <= made[2].place
        if sequences and not (places and is_between):
            compared += 1
            assert state_at(sequences[0]) == workload.state_at(transaction.position)
    assert compared > 20
    for load in made:
        twice = [event for event in load.events if event["cdc_operation"] == "load"]
        state = state_at(twice[0]["cdc_commit_sequence"])
        loaded = [name for name in table.columns if name not in lacks]
        assert {key: {name: row[name] for name in loaded} for key, row in state.items()} == {
            table.key_of(event): {name: event[name] for name in loaded} for event in twice
        }
        assert state == workload.state_at(load.place)
