"""What full loads cost: current state and history of tables that were loaded again and again.

    python tests/benchmark/reloads.py --keys 200000

Each table has five rounds of changes, each of which changes every key. In some tables some rounds
are full loads: a truncate, and the rows that there are then. The times are relative to the table
without a full load.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generated import write_project
from thrift_server import Spark, dbt, free_port, say, server

ROUNDS = 5
LOADS: dict[str, Sequence[int]] = {"0": [], "1": [2], "3": [1, 2, 4]}
MODELS = {
    "current": "spark_cdc.current_state(source('s', 'events_{loads}'), key=['order_id'])",
    "history": "spark_cdc.history(source('s', 'events_{loads}'), key=['order_id'])",
}


def change_events(keys: int, loads: Sequence[int]) -> str:
    """The select of a table's change events; the rounds `loads` are full loads."""
    load = ", ".join(map(str, loads)) or "-1"
    zeros = "repeat('0', 21)"
    select = f"""
    with changes as (
        select id, id % {keys} as k, cast(id div {keys} as int) as r
        from range({keys * ROUNDS})
    ),
    chosen as (
        select *, r in ({load}) as is_load, pmod(hash(k, r), 100) as chance from changes
    ),
    given as (
        select *,
            case
                when is_load then 'load' when r = 0 then 'insert' when chance < 2 then 'delete'
                else 'update'
            end as operation,
            -- a load finds nine rows of ten as they were
            if(is_load and chance >= 10, r - 1, r) as version,
            concat('2026031508150', r, lpad(if(is_load, 0, k div 20), 21, '0')) as commit
        from chosen
        where not (is_load and chance < 1)
    )
    select 'b' as cdc_source, operation as cdc_operation,
        concat(commit, '.', lpad(id, 12, '0')) as cdc_sequence, commit as cdc_commit_sequence,
        timestamp_seconds(1600000000 + r) as cdc_commit_at, 't' as cdc_transaction_id,
        cast(null as array<string>) as cdc_changed_columns,
        cast(null as array<string>) as cdc_present_columns,
        case when operation = 'update' then named_struct(
            'order_id', cast(k as int), 'customer', concat('customer ', k % 1000, ' ', r - 1),
            'amount', cast(k as decimal(18,2)), 'paid', true, 'placed_at', timestamp_seconds(k)
        ) end as cdc_before,
        named_struct('round', r) as cdc_metadata, 'one' as cdc_batch,
        cast(k as int) as order_id, concat('customer ', k % 1000, ' ', version) as customer,
        cast(k as decimal(18,2)) as amount, true as paid, timestamp_seconds(k) as placed_at
    from given"""
    for r in loads:
        commit = f"concat('2026031508150{r}', {zeros})"
        select += f"""
    union all select 'b', 'truncate', concat({commit}, '.'), {commit},
        timestamp_seconds(1600000000 + {r}), {", ".join(["null"] * 4)},
        named_struct('round', {r}), 'one', {", ".join(["null"] * 5)}"""
    return select


def measure(keys: int, repeats: int, home: Path) -> list[dict[str, Any]]:
    """Build the models of each table in turn, and give the medians."""
    port, project = free_port(), home / "project"
    write_project(project, port, "parquet")
    (project / "models").mkdir()
    (project / "models" / "sources.yml").write_text(
        "sources: [{name: s, schema: benchmark, tables: ["
        + ", ".join(f"{{name: events_{loads}}}" for loads in LOADS)
        + "]}]\n"
    )
    for loads in LOADS:
        for name, call in MODELS.items():
            config = "{{ config(materialized='table', file_format='parquet') }}\n"
            body = f"{config}{{{{ {call.format(loads=loads)} }}}}\n"
            (project / "models" / f"{name}_{loads}.sql").write_text(body)
    profiles = (project / "profiles.yml").read_text()
    (project / "profiles.yml").write_text(profiles.replace("threads: 4", "threads: 1"))
    found: dict[str, list[float]] = {}
    with server(home / "spark", port):
        spark = Spark(port)
        for loads, rounds in LOADS.items():
            spark.create(f"events_{loads}", change_events(keys, rounds))
        dbt(port, home / "target", "deps", project=project, profiles=project)
        for repeat in range(repeats + 1):  # the first is not counted: Java is not warm
            say(f"{repeat}/{repeats}")
            spans = dbt(port, home / "target", "run", project=project, profiles=project)
            for name, (began, ended) in spans.items():
                if repeat:
                    found.setdefault(name, []).append(ended - began)
    return [
        {
            "model": name,
            "loads": int(loads),
            "relative": round(
                statistics.median(found[f"{name}_{loads}"]) / statistics.median(found[f"{name}_0"]),
                2,
            ),
        }
        for name in MODELS
        for loads in LOADS
    ]


def as_markdown(figures: list[dict[str, Any]]) -> list[str]:
    """The figures as a table; empty if nothing was measured."""
    if not figures:
        return []
    lines = ["", "Tables loaded again:", "", "| model | full loads | time |", "|---|---|---|"]
    lines += [f"| {one['model']} | {one['loads']} | {one['relative']:.2f} |" for one in figures]
    return lines


def main() -> None:
    """Measure by itself, without the rest of the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--keys", type=int, default=200_000, help="keys of each table (200000)")
    parser.add_argument("--repeats", type=int, default=3, help="times each model is built (3)")
    parser.add_argument("--out", type=Path, default=Path("target/reloads"))
    given = parser.parse_args()
    home = given.out.absolute()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    print("\n".join(as_markdown(measure(given.keys, given.repeats, home))))


if __name__ == "__main__":
    main()
