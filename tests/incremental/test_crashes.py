"""Runs that are killed: after the next run the tables are what a full refresh makes.

`SPARK_CDC_KILLS` says how often (2 by default), `SPARK_CDC_KILLS_FORMAT` on which table format;
`make soak` asks for many. dbt or the server gets SIGKILL at a random moment of a run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formats.gbase_capture import writer as gbase_capture
from formats.qlik_change_table import writer as qlik_change_table
from kit.landing import Landing, Row, batches
from kit.warehouse import BIN, INTERPRETED, conf, running, start_server
from laws.test_increments import stream_rows
from laws.test_workloads import SEED
from simulation import database

KILLS = int(os.environ.get("SPARK_CDC_KILLS", "2"))
FORMAT = os.environ.get("SPARK_CDC_KILLS_FORMAT", "parquet")


def in_order(rows: list[dict[str, Any]], number: int) -> list[list[dict[str, Any]]]:
    """Cut rows into parts of about one size."""
    return [
        rows[part * len(rows) // number : (part + 1) * len(rows) // number]
        for part in range(number)
    ]


def test_killed_runs(tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} crashes")
    with running(tmp_path, *conf(INTERPRETED), table_format=FORMAT) as warehouse:
        landing = Landing(warehouse, tmp_path, "crashes")
        delivery = qlik_change_table.Delivery(interleave="any", duplicates=0.1)
        workload = database.generate(database.ORDERS, rng, transactions=25 * KILLS)
        written = qlik_change_table.write(workload, rng, qlik_change_table.Layout(), delivery)
        kinds = ("changes", "current", "history")
        landing.add("orders", database.ORDERS, written.columns, kinds=kinds)
        landing.add_stream("stream", ("changes",))
        workload = database.generate(gbase_capture.TABLE, rng, transactions=15 * KILLS)
        cut: dict[str, Sequence[Sequence[Row]]] = {
            "orders": batches(written.rows, rng, KILLS),
            "stream": in_order(stream_rows(workload, rng), KILLS),
        }
        landing.begin(FORMAT)
        incremental = ["run", "--exclude", "*_whole"]
        took = 40.0  # the first run, on a server that has just begun
        interrupted = 0
        for number in range(KILLS):
            landing.deliver({name: parts[number] for name, parts in cut.items()}, keep=True)
            log = (tmp_path / "killed.log").open("w")
            run = subprocess.Popen(
                [BIN / "dbt", *incremental],
                cwd=tmp_path,
                env=os.environ | {"DBT_PROFILES_DIR": str(tmp_path)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            time.sleep(rng.uniform(0.15, 1) * took)
            interrupted += run.poll() is None
            if number % 2:
                run.kill()
                run.wait()
            else:
                state = json.loads((tmp_path / "server" / "server.json").read_text())
                os.killpg(state["pid"], signal.SIGKILL)
                run.kill()
                run.wait()
                start_server(tmp_path, warehouse.port, *conf(INTERPRETED), "--format", FORMAT)
            began = time.monotonic()
            warehouse.dbt(tmp_path, *incremental)
            took = time.monotonic() - began
            warehouse.dbt(tmp_path, "run", "--select", "*_whole")
            wrong = landing.differences()
            assert not wrong, f"after kill {number}:\n" + "\n".join(wrong)
        print(f"{KILLS} kills, {interrupted} of them in a run; the tables were right each time")
        assert interrupted
