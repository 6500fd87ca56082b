"""Many generated tables: the seconds of `spark-cdc generate`, of dbt, and the memory of dbt.

    python tests/benchmark/generated.py --tables 300

makes raw change tables of 10 to 60 columns, generates their models, builds them, and runs them
again when nothing is new. Then it builds `health` of all tables.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thrift_server import HERE, Spark, free_port, say, server

ROOT = HERE.parents[1]
LANDING = "generated_landing"
THREADS = 4
HEALTH = """{{ config(materialized='incremental', incremental_strategy='append') }}
{%- set tables = {} -%}
{%- for number in range(TABLES) -%}
    {%- set name = 't%03d' | format(number) -%}
    {%- do tables.update({name: {
        'changes': ref(name ~ '__changes'), 'key': ['c00'],
        'quarantine': ref(name ~ '__quarantine'),
        'counts': ref(name ~ '__counts')
    }}) -%}
{%- endfor -%}
{{ spark_cdc.health(tables) }}
"""

HEADER = {
    "header__change_seq": "concat('20260302080000', lpad(cast(id as string), 21, '0'))",
    "header__change_oper": "if(id < {rows}, 'I', 'D')",
    "header__change_mask": "if(id < {rows}, '{all}', '{key}')",
    "header__transaction_id": "hex(id)",
    "header__timestamp": "timestamp '2026-03-02 08:00:00'",
}
# The types of the columns of a table, in turn, and their values.
TYPES = (
    ("bigint", "id % {rows}"),
    ("string", "concat('text ', id % 7)"),
    ("decimal(12,2)", "id / 4"),
    ("timestamp", "timestamp_seconds(id)"),
    ("int", "id"),
    ("date", "date_from_unix_date(int(id))"),
    ("double", "id / 3"),
    ("boolean", "id % 2 = 0"),
)


def raw_table(number: int, rows: int) -> str:
    """The select of a change table: inserts of all keys, and deletes of a tenth of them."""
    width = 10 + number * 7 % 51
    bits = {"all": (2**width - 1) << len(HEADER), "key": 1 << len(HEADER)}
    digits = {
        name: f"{value:0{(width + len(HEADER) + 7) // 8 * 2}X}" for name, value in bits.items()
    }
    columns = [f"{text.format(rows=rows, **digits)} as {name}" for name, text in HEADER.items()]
    for place in range(width):
        kind, text = TYPES[place % len(TYPES)]
        columns.append(f"cast({text.format(rows=rows)} as {kind}) as c{place:02d}")
    return f"select {', '.join(columns)} from range({rows + max(1, rows // 10)})"


def write_project(home: Path, port: int, table_format: str) -> None:
    """A dbt project without models."""
    home.mkdir(parents=True)
    texts = {
        "dbt_project.yml": "name: mine\nprofile: mine\n",
        "packages.yml": f"packages: [{{local: {ROOT}}}]\n",
        "profiles.yml": "mine: {target: server, outputs: {server: {type: spark, method: thrift,"
        f" host: 127.0.0.1, port: {port}, user: me, schema: generated, threads: {THREADS},"
        " query_retries: 0, poll_interval: 0}}}\n",
        "spark_cdc.yml": f"sources: [{{name: erp, decoder: qlik_change_table, schema: {LANDING},"
        f" file_format: {table_format}}}]\n",
    }
    for name, text in texts.items():
        (home / name).write_text(text, encoding="utf-8")


def timed(home: Path, *command: str) -> tuple[float, float]:
    """Run a command in a project; give its seconds, and the MiB that it took at most."""
    env = os.environ | {"DBT_PROFILES_DIR": str(home), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    say(" ".join(command))
    began = time.monotonic()
    with open(home / "log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=home, env=env, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}; see {home / 'log'}")
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return round(time.monotonic() - began, 1), round(usage.ru_maxrss / unit)


def measure(tables: int, rows: int, table_format: str, home: Path) -> dict[str, Any]:
    """Generate, parse, build, and run again, on an empty server."""
    port, project = free_port(), home / "project"
    write_project(project, port, table_format)
    figure: dict[str, Any] = {"tables": tables, "format": table_format, "seconds": {}, "MiB": {}}
    generate = (sys.executable, "-m", "spark_cdc_udfs.command", "generate")
    steps = {
        "generate": generate,
        "generate again": (*generate, "--check"),
        "dbt deps": ("dbt", "--quiet", "deps"),
        "dbt parse": ("dbt", "--quiet", "parse", "--no-partial-parse"),
        "first load": ("dbt", "--quiet", "run"),
        # this run still compares what it reads with what the first load read
        "second run": ("dbt", "--quiet", "run"),
        "nothing new": ("dbt", "--quiet", "run"),
        "health": ("dbt", "--quiet", "run", "--select", "health"),
        "health again": ("dbt", "--quiet", "run", "--select", "health"),
    }
    with server(home / "spark", port, table_format):
        spark = Spark(port)
        say(f"{tables} change tables of {rows} rows, {table_format}")
        spark.sql(f"create schema {LANDING}")
        for number in range(tables):
            create = f"create table {LANDING}.t{number:03d}__ct using parquet as"
            spark.sql(f"{create} {raw_table(number, rows)}")
        for step, command in steps.items():
            if step == "health":
                text = HEALTH.replace("TABLES", str(tables))
                (project / "models" / "health.sql").write_text(text, encoding="utf-8")
            figure["seconds"][step], figure["MiB"][step] = timed(project, *command)
            say(f"{step}: {figure['seconds'][step]:.0f} s, {figure['MiB'][step]} MiB")
            if step == "nothing new":
                (models,) = (project / "target").glob("run_results.json")
                figure["models"] = len(json.loads(models.read_text(encoding="utf-8"))["results"])
    return figure


def as_markdown(figures: list[Mapping[str, Any]]) -> list[str]:
    """The figures as a table; empty if nothing was measured."""
    if not figures:
        return []
    lines = ["", "Generated tables:", "", "| tables | format | models | step | s | MiB |"]
    lines.append("|---|---|---|---|---|---|")
    for figure in figures:
        first = [str(figure[name]) for name in ("tables", "format", "models")]
        for step, seconds in figure["seconds"].items():
            cells = [*first, step, f"{seconds:.0f}", f"{figure['MiB'][step]:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Measure by itself, without the rest of the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--tables", type=int, default=300, help="change tables (300)")
    parser.add_argument("--rows", type=int, default=100, help="inserts of each (100)")
    parser.add_argument("--format", default="parquet", help="of the models (parquet)")
    parser.add_argument("--out", type=Path, default=Path("target/generated"))
    given = parser.parse_args()
    home = given.out.absolute()
    shutil.rmtree(home, ignore_errors=True)
    figure = measure(given.tables, given.rows, given.format, home)
    print("\n".join(as_markdown([figure])))


if __name__ == "__main__":
    main()
