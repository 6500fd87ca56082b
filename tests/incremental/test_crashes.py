"""Killed runs: after the next run the tables are equal to a full refresh.

`make test` kills the server in one statement, and dbt before another. `make test-all` and `make
soak` also kill at random moments. `SPARK_CDC_KILLS` says how often, and `SPARK_CDC_KILLS_FORMAT` on
which table format.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from formats.qlik_change_table import writer as qlik_change_table
from kit.formats import Deliveries, every_format
from kit.landing import Landing, Row, batches
from kit.warehouse import BIN, INTERPRETED, Warehouse, conf, running, start_server
from laws.test_workloads import SEED
from simulation import database
from spark_cdc_udfs.server.directory import Home, wait_for

from incremental import inside

KILLS = int(os.environ.get("SPARK_CDC_KILLS", "10"))
FORMAT = os.environ.get("SPARK_CDC_KILLS_FORMAT", "parquet")
INCREMENTAL = ("run", "--exclude", "*_whole")
KINDS = ("changes", "current", "history")
# The raw logs that formats read in turns, but for those with one of their own.
LOGS: tuple[dict[str, str], ...] = ({}, {"changes": "stored"}, {"changes": "view"})

# The table `held` is created before the statement STATEMENT of the model MODEL (a name from the
# materialization). Then the statement runs, and the run stops after it. With HELD it stops before
# the statement.
HOLD = """
{% macro statement(name=none, fetch_result=false, auto_begin=true, language='sql') %}
  {% set sql = caller() %}
  {% set is_held = execute and model is defined and model.name == env_var('MODEL', '?')
    and name == env_var('STATEMENT', '?') %}
  {% if is_held %}{% do dbt.run_query('create table ' ~ schema ~ '.held (id int)') %}{% endif %}
  {% if not is_held or env_var('HELD', '') == 'after' %}
    {% call dbt.statement(name, fetch_result, auto_begin, language) %}{{ sql }}{% endcall %}
  {% endif %}
  {% if is_held %}
    {% do dbt.run_query("select reflect('java.lang.Thread', 'sleep', 60000L)") %}
  {% endif %}
{% endmacro %}
"""


@contextmanager
def begun(home: Path, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the incremental models with dbt in a process that can be killed."""
    with (home / "killed.log").open("w") as log:
        run = subprocess.Popen(
            [BIN / "dbt", *INCREMENTAL],
            cwd=home,
            env=os.environ | {"DBT_PROFILES_DIR": str(home)} | env,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield run
        finally:
            run.kill()
            run.wait()


def kill_server(warehouse: Warehouse) -> None:
    """Kill the driver and all processes that it started, and start a server again."""
    killed = Home(warehouse.home / "server").read()
    assert killed is not None
    os.killpg(killed.pid, signal.SIGKILL)
    options = [*conf(INTERPRETED), "--format", warehouse.table_format]
    start_server(warehouse.home, warehouse.port, *options)


def check(landing: Landing, what: str) -> None:
    """Build the missing models, and compare."""
    landing.warehouse.dbt(landing.home, "run")
    wrong = landing.differences()
    assert not wrong, f"after {what}:\n" + "\n".join(wrong)


def landed(warehouse: Warehouse, home: Path, schema: str) -> tuple[Landing, list[list[Row]]]:
    """A change table with its raw log and its models, and what lands in it one after the other."""
    rng = random.Random(f"{SEED} killed")
    landing = Landing(warehouse, home, schema)
    delivery = qlik_change_table.Delivery(interleave="any", duplicates=0.1)
    workload = database.generate(database.ORDERS, rng, transactions=40)
    written = qlik_change_table.write(workload, rng, qlik_change_table.Layout(), delivery)
    landing.add(
        "orders",
        database.ORDERS,
        written.columns,
        "qlik_change_table",
        kinds=("changes", "current", "quarantine"),
        logs={"changes": "stored"},
    )
    landing.begin("parquet")
    (home / "macros").mkdir()
    (home / "macros" / "hold.sql").write_text(HOLD)
    return landing, batches(written.rows, rng, 3)


@contextmanager
def held(landing: Landing, model: str, statement: str, when: str) -> Iterator[None]:
    """Run until dbt is held before or after a statement of a model, and kill it at the end."""
    landing.warehouse.sql(f"drop table if exists {landing.schema}.held")
    with begun(landing.home, MODEL=model, STATEMENT=statement, HELD=when) as run:
        there = f"show tables in {landing.schema} like 'held'"
        found = wait_for(lambda: run.poll() is not None or bool(landing.warehouse.sql(there)), 120)
        assert found and run.poll() is None, (landing.home / "killed.log").read_text()
        yield


@pytest.mark.server
def test_a_server_killed_in_a_statement(tmp_path: Path) -> None:
    """The server dies while it writes the first change events."""
    with running(tmp_path, *conf(INTERPRETED)) as warehouse:
        landing, (first, *_) = landed(warehouse, tmp_path, "crashes")
        landing.deliver({"orders": first})
        with held(landing, "orders_changes", "main", "after"):
            kill_server(warehouse)
        check(landing, "a kill of the server")


def test_dbt_killed_in_a_statement(warehouse: Warehouse, tmp_path: Path) -> None:
    """Dbt dies before it publishes new events, and amid the rows of a raw log."""
    landing, (first, second, third) = landed(warehouse, tmp_path, "killed")
    landing.deliver({"orders": first})
    warehouse.dbt(tmp_path, *INCREMENTAL)

    landing.deliver({"orders": second})
    with held(landing, "orders_changes", "view", "before"):
        pass
    left_over = inside.show_locks(landing.schema, "orders_changes")
    assert warehouse.sql(left_over)
    check(landing, "a kill of dbt")
    assert not warehouse.sql(left_over)

    landing.deliver({"orders": third})
    with held(landing, "orders_stored", "main", "after"):
        pass
    check(landing, "a kill of dbt in a raw log")


def in_order(rows: Sequence[Row], number: int) -> list[Sequence[Row]]:
    """Cut rows into parts of about the same size."""
    return [
        rows[part * len(rows) // number : (part + 1) * len(rows) // number]
        for part in range(number)
    ]


def parts_of(given: Deliveries, number: int) -> list[dict[str, list[Row]]]:
    """Cut batches into `number` parts; with a look-up each batch lands as a whole.

    A look-up answers a row by what has arrived, and answers stay. So with other batches than the
    format's own, a run may rightly differ from a full refresh.
    """
    parts: list[dict[str, list[Row]]] = [
        {name: [] for name in given.columns} for _ in range(number)
    ]
    has_look_up = not set(given.columns) <= {"raw", *given.inputs}
    turns = len(given.batches)
    for turn, batch in enumerate(given.batches):
        first = turn * number // turns
        of_batch = max(1, (turn + 1) * number // turns - first)
        for name, rows in batch.items():
            for place, part in enumerate(in_order(rows, 1 if has_look_up else of_batch)):
                parts[first + place][name] += part
    return parts


@pytest.mark.slow
@pytest.mark.server
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Every format; its deliveries are cut into as many parts as there are kills."""
    rng = random.Random(f"{SEED} crashes")
    with running(tmp_path, *conf(INTERPRETED), table_format=FORMAT) as warehouse:
        landing = Landing(warehouse, tmp_path, "crashes")
        cut: dict[str, list[dict[str, list[Row]]]] = {}
        for turn, one in enumerate(every_format()):
            given = one.deliveries(rng)
            more = {name: columns for name, columns in given.columns.items() if name != "raw"}
            landing.add(
                one.decoder,
                given.table,
                given.columns["raw"],
                one.decoder,
                given.arguments,
                kinds=KINDS,
                watermarks=given.watermarks,
                more=more,
                logs={} if given.own_log else LOGS[turn % 3],
                inputs=given.inputs,
                own_log=given.own_log,
                on_log=given.on_log,
            )
            cut[one.decoder] = parts_of(given, KILLS)
        landing.begin(FORMAT)
        took = 40.0  # the first run, on a server that has just started
        interrupted = 0
        for number in range(KILLS):
            landing.deliver(
                {
                    decoder if name == "raw" else f"{decoder}__{name}": rows
                    for decoder, parts in cut.items()
                    for name, rows in parts[number].items()
                }
            )
            with begun(tmp_path) as run:
                time.sleep(rng.uniform(0.15, 1) * took)
                interrupted += run.poll() is None
                if number % 2 == 0:
                    kill_server(warehouse)
            began = time.monotonic()
            warehouse.dbt(tmp_path, *INCREMENTAL)
            took = time.monotonic() - began
            warehouse.dbt(tmp_path, "run", "--select", "*_whole")
            wrong = landing.differences()
            assert not wrong, f"after kill {number}:\n" + "\n".join(wrong)
        print(f"{KILLS} kills, {interrupted} of them in a run; the tables were right each time")
        assert interrupted
