"""The part of the benchmark on incremental models: a full refresh, then runs on 1 % of new rows.

They are compared with SQL written by hand for the current state alone, on Iceberg and Delta. It
takes the latest row of each key among the new rows, and merges it into the table.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import by_hand
import raw_orders
from thrift_server import METRICS, SCHEMA, Span, Spark, dbt, free_port, say, server, task_totals

CHANGES, CURRENT, HISTORY = "orders__changes", "orders", "orders__history"
MODELS = (CHANGES, CURRENT, HISTORY)


def measure(table_format: str, rows: int, repeats: int, home: Path) -> dict[str, Any]:
    """Build everything once, then run on `repeats` parts of new rows, and give the figures."""
    port = free_port()
    target = home / f"target_{table_format}"
    select = ("--select", "incremental", "--vars", f"{{table_format: {table_format}}}")
    spans: dict[str, list[Span]] = {}

    def note(step: str, began: float, ended: float) -> None:
        spans.setdefault(step, []).append((began, ended))
        say(f"{table_format}: {step}: {ended - began:.1f} s")

    def run(step: str, *options: str) -> None:
        for model, span in dbt(port, target, "run", *select, *options).items():
            note(f"{model}, {step}", *span)

    def timed(step: str, do: Callable[[], object]) -> None:
        began = time.time()
        do()
        note(step, began, time.time())

    with server(home / table_format, port, table_format):
        spark = Spark(port)
        say(f"{table_format}: writing about {rows:,} raw rows")
        spark.create("raw", raw_orders.select(rows))
        dbt(port, target, "deps")
        for _ in range(repeats):
            timed("copy", partial(spark.create, "copy", f"select * from {SCHEMA}.raw"))
        run("full refresh")
        by_merge = table_format != "parquet"
        if by_merge:
            columns = f"select {by_hand.NAMES} from {SCHEMA}.raw limit 0"
            spark.sql(f"create table {SCHEMA}.merged using {table_format} as {columns}")
            load = by_hand.merge(f"{SCHEMA}.merged", "true")
            timed("latest row and merge, first load", partial(spark.sql, load))
        for part in range(repeats):
            ((last,),) = spark.sql(f"select max(header__change_seq) from {SCHEMA}.raw")
            spark.sql(f"insert into {SCHEMA}.raw {raw_orders.select(rows, part)}")
            run("1 % of new rows")
            if by_merge:
                new = by_hand.merge(f"{SCHEMA}.merged", f"header__change_seq > '{last}'")
                timed("latest row and merge, 1 %", partial(spark.sql, new))
        check(spark, by_merge, lambda: run("full refresh", "--full-refresh"))
        ((raw_rows,),) = spark.sql(f"select count(*) from {SCHEMA}.raw")
    steps = []
    for step, some in spans.items():
        totals = task_totals(home / table_format, some)
        steps.append(
            {
                "step": step,
                "seconds": [round(ended - began, 2) for began, ended in some],
                **{key: statistics.median(total[key] for total in totals) for key in METRICS},
            }
        )
    return {"format": table_format, "raw_rows": raw_rows, "steps": steps}


def check(spark: Spark, by_merge: bool, refresh: Any) -> None:
    """Stop if the tables after the runs on new rows differ from a full refresh."""
    columns = {CHANGES: "* except (cdc_batch)", CURRENT: "*", HISTORY: "*"}
    for model in MODELS:
        spark.create(f"{model}_kept", f"select {columns[model]} from {SCHEMA}.{model}")
    refresh()
    pairs = [
        (f"select {columns[model]} from {SCHEMA}.{model}", f"select * from {SCHEMA}.{model}_kept")
        for model in MODELS
    ]
    if by_merge:
        names = by_hand.NAMES
        pairs.append(
            (f"select {names} from {SCHEMA}.orders", f"select {names} from {SCHEMA}.merged")
        )
    for one, other in pairs:
        if wrong := spark.differences(one, other):
            raise SystemExit(f"{one} and {other} differ in {wrong} rows: nothing is compared")


def as_markdown(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """The figures as the lines of tables, for each format: steps in copies of the raw table."""
    lines = []
    mib = 1024 * 1024
    for figure in figures:
        took = {step["step"]: statistics.median(step["seconds"]) for step in figure["steps"]}
        lines += ["", f"Incremental models on {figure['format']}; rows and MiB are written:", ""]
        lines.append("| step | raw copies | seconds | rows | MiB | shuffled MiB | spilled MiB |")
        lines.append("|---|---|---|---|---|---|---|")
        for step in figure["steps"]:
            seconds = took[step["step"]]
            cells = [
                step["step"],
                f"{seconds / took['copy']:.2f}",
                f"{seconds:.1f}",
                f"{step['written_rows']:,.0f}",
                *(f"{step[key] / mib:,.0f}" for key in METRICS if key.endswith("bytes")),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines
