"""Incremental models: after every run they are what a full refresh over all rows so far makes.

Raw rows of simulated databases are delivered in batches, shuffled and twice, and leave the raw
table once they were read. After each batch the incremental models are compared with tables that
read every row delivered so far.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from formats.gbase_capture import writer as gbase_capture
from formats.qlik_change_table import writer as qlik_change_table
from kit.landing import MODELS, Landing, batches
from kit.warehouse import Warehouse
from simulation import database

from laws.test_workloads import SEED


def run_in_batches(
    warehouse: Warehouse,
    home: Path,
    table: database.Table,
    kinds: Sequence[str],
    deliveries: int,
) -> None:
    """Deliver a generated change table in batches, and compare after each run."""
    landing = Landing(warehouse, home, "increments")
    layout = qlik_change_table.Layout()
    delivery = qlik_change_table.Delivery(
        interleave="any",
        duplicates=0.1,
        bad_rows=dict.fromkeys(qlik_change_table.possible_bad_rows(layout), 2),
    )
    rng = random.Random(f"{SEED} increments {warehouse.table_format}")
    workload = database.generate(table, rng, transactions=80)
    written = qlik_change_table.write(workload, rng, layout, delivery)
    landing.add("raw", table, written.columns, kinds=kinds)
    landing.begin(warehouse.table_format)
    for number, rows in enumerate(batches(written.rows, rng, deliveries)):
        landing.deliver({"raw": rows}, keep=number < deliveries - 1)
        warehouse.dbt(home, "run")
        wrong = landing.differences()
        assert not wrong, f"after batch {number}:\n" + "\n".join(wrong)
        for kind in ("current", "history") if number < deliveries - 1 else ():
            table_name = f"{landing.schema}.raw_{kind}"
            warehouse.sql(*(one.format(table_name) for one in UPKEEP[warehouse.table_format]))


def stream_rows(workload: database.Workload, rng: random.Random) -> list[dict[str, Any]]:
    """Write a workload as the raw rows of a GBase stream."""
    stream = gbase_capture.write(workload, rng, bad_records=2, duplicates=0.05)
    return [row | {"headers": {"reader": "1"}, "landed": 0} for row in stream.rows]


# What the README says to do now and then.
UPKEEP = {
    "parquet": (),
    "iceberg": (
        "call spark_catalog.system.rewrite_data_files("
        "table => '{}', options => map('delete-file-threshold', '1'))",
        "call spark_catalog.system.expire_snapshots("
        "table => '{}', older_than => timestamp '2100-01-01 00:00:00')",
    ),
    "delta": ("optimize {}", "vacuum {}"),
}


def test_runs_equal_a_full_refresh(warehouse: Warehouse, tmp_path: Path) -> None:
    run_in_batches(warehouse, tmp_path, database.ORDERS, tuple(MODELS), deliveries=3)


def test_runs_equal_a_full_refresh_on_a_table_format(lake: Warehouse, tmp_path: Path) -> None:
    kinds = ("changes", "quarantine", "current", "history")
    run_in_batches(lake, tmp_path, database.POSITIONS, kinds, deliveries=2)


def test_streams_equal_a_full_refresh(warehouse: Warehouse, tmp_path: Path) -> None:
    """Transactions lie across runs, ends of chunks wait, old chunks come again, one comes late."""
    landing = Landing(warehouse, tmp_path, "streams")
    rng = random.Random(f"{SEED} streams")
    workload = database.generate(gbase_capture.TABLE, rng, transactions=50)
    stream = stream_rows(workload, rng)
    landing.add_stream("raw", ("changes", "quarantine"), changes="landed")
    landing.begin(warehouse.table_format)
    cuts = sorted(rng.sample(range(10, len(stream)), 3))
    parts = [stream[begin:end] for begin, end in pairwise([0, *cuts, len(stream)])]
    withheld = parts[0][len(parts[0]) // 2]["chunk_number"]
    late = [row for row in parts[0] if row["chunk_number"] == withheld]
    parts[0] = [row for row in parts[0] if row["chunk_number"] != withheld]
    parts[2] += rng.sample(parts[0] + parts[1], 10)
    parts[3] += late
    log = warehouse.home / "dbt" / tmp_path.name / "logs" / "dbt.log"
    landed: dict[tuple[str, int], int] = {}
    for number, rows in enumerate(parts):
        for row in rows:  # what comes again says when it first came
            row["landed"] = landed.setdefault((row["capture_id"], row["chunk_number"]), number)
        landing.deliver({"raw": rows}, keep=number != 3)
        warehouse.dbt(tmp_path, "run")
        wrong = landing.differences()
        assert not wrong, f"after batch {number}:\n" + "\n".join(wrong)
        # Only a chunk that comes late makes a run read the others again.
        assert ("as all_rows" in log.read_text(encoding="utf-8")) == (number == 3)
