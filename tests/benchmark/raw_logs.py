"""What it costs to keep raw rows: in each model, once in a raw log, or not at all.

One change table has models of change events, quarantine, current state and history. One event log
has many tables, each with models of change events and quarantine. Both are built, then run with 1 %
of new rows, then without any. The new rows of the event log are of three tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import netiq
import raw_orders
from thrift_server import HERE, SCHEMA, Spark, dbt, free_port, say, server

ROOT = HERE.parents[1]
WAYS = {
    "in each model": None,
    "in a raw log": "{{ config(raw_watermark=%r) }}{{ spark_cdc.raw_log(source('landing', %r)) }}",
    "in the landing": "{{ config(materialized='view') }}"
    "{{ spark_cdc.raw_log(source('landing', %r), batch=%r) }}",
}
ARGUMENTS = (
    "key=['id'], columns={'id': 'int', 'name': 'string', 'amount': 'decimal(12, 2)',"
    " 'booked': 'date', 'changed_at': 'timestamp'}"
)


def log_of(way: str, raw: str, watermark: str) -> str | None:
    """The body of the model of a raw log, if there is one."""
    body = WAYS[way]
    if body is None:
        return None
    return body % ((raw, watermark) if "batch" in body else (watermark, raw))


def orders(way: str) -> dict[str, str]:
    """The models of one change table."""
    log = log_of(way, "raw", "header__change_seq")
    raw = "ref('log')" if log else "source('landing', 'raw')"
    watermark = "" if log else "{{ config(raw_watermark='header__change_seq') }}"
    models = {
        "changes": f"{watermark}{{{{ spark_cdc.qlik_change_table({raw}, key=['order_id']) }}}}",
        "quarantine": f"{watermark}{{{{ spark_cdc.quarantine(of=ref('changes')) }}}}",
        "current": "{{ spark_cdc.current_state(ref('changes'), key=['order_id']) }}",
        "history": "{{ spark_cdc.history(ref('changes'), key=['order_id']) }}",
    }
    return models | ({"log": log} if log else {})


def identities(way: str, tables: int) -> dict[str, str]:
    """The models of many tables in one event log, which is routed once."""
    log = log_of(way, "event_log", "record_id")
    models = {}
    for number in range(tables):
        name = f"table_{number:02d}"
        raw = f"ref('{name}')" if log else "source('landing', 'event_log')"
        watermark = "" if log else "{{ config(raw_watermark='record_id') }}"
        call = f"spark_cdc.netiq_event_log({raw}, table='{name}', {ARGUMENTS})"
        models[f"{name}__changes"] = f"{watermark}{{{{ {call} }}}}"
        quarantine = f"{{{{ spark_cdc.quarantine(of=ref('{name}__changes')) }}}}"
        models[f"{name}__quarantine"] = watermark + quarantine
        models[name] = (
            "{{ config(materialized='view') }}"
            f"select * from {{{{ ref('log') }}}} where table_name = 'app.{name}'"
        )
    if not log:
        return {name: body for name, body in models.items() if "__" in name}
    stored = "{{ config(partition_by=['table_name']) }}" if "watermark" in log else ""
    return models | {"log": stored + log}


def write_project(home: Path, table_format: str, models: Mapping[str, str]) -> None:
    """A dbt project of these models, in the benchmark's schema."""
    (home / "models").mkdir(parents=True)
    texts = {
        "dbt_project.yml": "name: logs\nversion: 0.1.0\nprofile: benchmark\n"
        f"models: {{+materialized: cdc_incremental, +file_format: {table_format}}}\n",
        "packages.yml": f"packages: [{{local: {ROOT}}}]\n",
        "models/sources.yml": f"sources: [{{name: landing, schema: {SCHEMA},"
        " tables: [{name: raw}, {name: event_log}]}]\n",
    }
    for name, text in texts.items():
        (home / name).write_text(text, encoding="utf-8")
    for name, body in models.items():
        (home / "models" / f"{name}.sql").write_text(body + "\n", encoding="utf-8")


def kept_bytes(warehouse: Path, is_log: bool) -> int:
    """The bytes of raw rows beside the landing."""
    folders = [*warehouse.glob("*__cdc_raw_*"), *(warehouse.glob("log*") if is_log else [])]
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return sum(file.stat().st_size for file in files)


def measure_way(
    way: str, what: str, rows: int, tables: int, table_format: str, home: Path
) -> dict[str, Any]:
    """Build the models on an empty server, and run them again with and without new rows."""
    say(f"{table_format}, {what}: raw rows {way}")
    port, project = free_port(), home / "project"
    is_orders = what == "one change table"
    models = orders(way) if is_orders else identities(way, tables)
    write_project(project, table_format, models)
    figure: dict[str, Any] = {"format": table_format, "what": what, "way": way, "seconds": {}}
    figure["models"] = {}

    def run(step: str) -> None:
        spans = dbt(port, home / "target", "run", project=project)
        seconds = {name: round(ended - began, 2) for name, (began, ended) in spans.items()}
        figure["models"][step] = seconds
        figure["seconds"][step] = round(sum(seconds.values()), 1)

    with server(home / "spark", port, table_format):
        spark = Spark(port)
        keys = max(1, rows // 100)
        log = netiq.LOG.replace("'table'), 20)", f"'table'), {tables})")
        spark.create("raw", raw_orders.select(rows if is_orders else 10))
        spark.create("event_log", log.format(rows=10 if is_orders else rows, keys=keys))
        began, ended = spark.timed(
            "copy", f"select * from {SCHEMA}.{'raw' if is_orders else 'event_log'}"
        )
        figure["copy"] = round(ended - began, 2)
        dbt(port, home / "target", "deps", project=project)
        run("first load")
        if is_orders:
            spark.sql(f"insert into {SCHEMA}.raw {raw_orders.select(rows, 0)}")
        else:
            new = log.format(rows=rows // 100, keys=keys).replace(
                "row_number + 1", f"row_number + 1 + {rows}"
            )
            of = "', '".join(f"app.table_{number:02d}" for number in range(3))
            spark.sql(
                f"insert into {SCHEMA}.event_log select * from ({new}) where table_name in ('{of}')"
            )
        run("new rows")
        run("no new rows")
        warehouse = home / "spark" / "server" / "warehouse" / f"{SCHEMA}.db"
        figure["kept"] = kept_bytes(warehouse, "log" in models)
    return figure


def measure(table_format: str, rows: int, tables: int, home: Path) -> list[dict[str, Any]]:
    """Every way to keep the raw rows of one change table, and of an event log of many tables."""
    figures = []
    for what in ("one change table", f"an event log of {tables} tables"):
        for number, way in enumerate(WAYS):
            place = home / f"logs_{table_format}_{what.split()[1]}_{number}"
            figures.append(measure_way(way, what, rows, tables, table_format, place))
    return figures


def as_markdown(figures: list[Mapping[str, Any]]) -> list[str]:
    """The figures as a table; empty if nothing was measured."""
    if not figures:
        return []
    lines = ["", "Raw rows that are kept; seconds of all models together:", ""]
    lines.append("| format | models of | raw rows | first load | new rows | no new rows | MiB |")
    lines.append("|---|---|---|---|---|---|---|")
    for figure in figures:
        seconds = figure["seconds"]
        cells = [figure["format"], figure["what"], figure["way"]]
        cells += [f"{seconds[step]:.0f}" for step in ("first load", "new rows", "no new rows")]
        lines.append(f"| {' | '.join(cells)} | {figure['kept'] / 1024 / 1024:,.0f} |")
    return lines
