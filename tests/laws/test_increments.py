"""Incremental models: after every run they equal a full refresh over all rows so far.

Every format delivers raw rows of a simulated database in batches. Rows are shuffled, repeated and
late, and leave the raw relation after they were read. Every incremental model is compared with a
table that reads every row delivered so far. This is done after each batch except the first, which
is a full refresh; on Iceberg and Delta after the last one. These two have one decoder each, and all
in `make test-all`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from kit.formats import Deliveries, every_format
from kit.landing import MODELS, Landing
from kit.pages import upkeep
from kit.warehouse import Warehouse

from laws.test_workloads import SEED

# Current state and history do not depend on a format. So only the format with the narrowest table
# has every kind of model; the others have the models of their decoders. `current` reads the
# increments of its upstream.
KINDS = {
    "parquet": (tuple(MODELS), ("changes", "quarantine", "current")),
    "iceberg": (("changes", "quarantine", "current", "history"), ("changes", "quarantine")),
    "delta": (("changes", "quarantine", "current", "history"), ("changes", "quarantine")),
}

# Decoders take turns: change events read a raw log that keeps its rows, a view over a landing that
# keeps them, or they keep raw rows themselves.
LOGS = ("stored", "view", None)

# The regular maintenance of docs/operations.md.
UPKEEP = {"parquet": (), "iceberg": upkeep("call"), "delta": upkeep("optimize", "vacuum")}


def every_delivery(table_format: str) -> dict[str, Deliveries]:
    """The deliveries of each format, by its name; on Iceberg and Delta in two batches."""
    deliveries = {
        one.decoder: one.deliveries(random.Random(f"{SEED} {one.decoder} {table_format}"))
        for one in every_format()
    }
    if table_format == "parquet":
        return deliveries
    return {decoder: in_two(one) for decoder, one in deliveries.items()}


def in_two(deliveries: Deliveries) -> Deliveries:
    """The same with all batches except the first in one."""
    first, *others = deliveries.batches
    rest = {name: [row for batch in others for row in batch[name]] for name in first}
    return replace(deliveries, batches=[first, rest], leaves=(1,))


def narrowest_of(deliveries: Mapping[str, Deliveries]) -> str:
    """The decoder with the narrowest table, which has models of every kind."""
    return min(deliveries, key=lambda decoder: len(deliveries[decoder].table.columns))


def run_in_batches(warehouse: Warehouse, home: Path, is_one: bool = False) -> None:
    """Deliver batch by batch, all formats in one run, and compare after each."""
    landing = Landing(warehouse, home, "increments")
    deliveries = every_delivery(warehouse.table_format)
    narrowest = narrowest_of(deliveries)
    if is_one:
        deliveries = {narrowest: deliveries[narrowest]}
    for turn, (decoder, one) in enumerate(deliveries.items()):
        # with Iceberg's catalog a view has its columns in small letters, and so has quarantine then
        log = LOGS[(turn - list(KINDS).index(warehouse.table_format)) % len(LOGS)]
        landing.add(
            decoder,
            one.table,
            one.columns["raw"],
            decoder,
            one.arguments,
            kinds=KINDS[warehouse.table_format][decoder != narrowest],
            watermarks=one.watermarks,
            more={name: columns for name, columns in one.columns.items() if name != "raw"},
            logs={"changes": log} if log and not one.own_log else {},
            inputs=one.inputs,
            now=decoder == narrowest,
            own_log=one.own_log,
            on_log=one.on_log,
        )
    landing.begin(warehouse.table_format)
    last = max(len(one.batches) for one in deliveries.values()) - 1
    for number in range(last + 1):
        rows, leaving = {}, []
        for decoder, one in deliveries.items():
            batch = one.batches[number] if number < len(one.batches) else {}
            for name in one.columns:
                table = decoder if name == "raw" else f"{decoder}__{name}"
                rows[table] = batch.get(name, [])
                leaving += [table] if number in one.leaves else []
        landing.deliver(rows, leaving)
        # on Iceberg and Delta the tables built from every row are only built at the end
        is_compared = number == last or (warehouse.table_format == "parquet" and number > 0)
        warehouse.dbt(home, "run", *(() if is_compared else ("--exclude", "*_whole")))
        wrong = landing.differences() if is_compared else []
        assert not wrong, f"after batch {number}:\n" + "\n".join(wrong)
        for kind in ("current", "history"):
            built = f"{landing.schema}.{narrowest}_{kind}"
            warehouse.sql(*(one.format(built) for one in UPKEEP[warehouse.table_format]))


def test_runs_equal_a_full_refresh(warehouse: Warehouse, tmp_path: Path) -> None:
    run_in_batches(warehouse, tmp_path)


def test_runs_equal_a_full_refresh_on_a_table_format(lake: Warehouse, tmp_path: Path) -> None:
    run_in_batches(lake, tmp_path, is_one=True)


@pytest.mark.slow
def test_runs_of_all_decoders_equal_a_full_refresh(lake: Warehouse, tmp_path: Path) -> None:
    run_in_batches(lake, tmp_path)


@pytest.mark.parametrize("table_format", ["parquet", "iceberg", "delta"])
def test_deliveries_have_batches_and_rows_that_leave(table_format: str) -> None:
    """Several batches, all with rows, and rows that leave after they were read."""
    for decoder, one in every_delivery(table_format).items():
        assert len(one.batches) >= (3 if table_format == "parquet" else 2), decoder
        assert all(batch["raw"] for batch in one.batches), decoder
        assert one.leaves, decoder
