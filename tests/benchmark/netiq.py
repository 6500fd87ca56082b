"""The cost of decoding one table of a NetIQ event log with the rows of twenty.

A statement writes three log rows: an insert three fields, an update three or two, and a delete
follows each fortieth. The copy is `create table as select` of the rows of the table.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thrift_server import SCHEMA, Spark, dbt, free_port, say, server, task_totals

TABLE = "table_07"
LOG = """
with numbered as (
    select
        id as row_number,
        id div 3 as statement,
        id % 3 as field
    from range({rows})
),

keyed as (
    select
        *,
        pmod(xxhash64(statement, 'table'), 20) as table_number,
        pmod(xxhash64(statement), {keys}) as key,
        statement % 40 = 39 and field = 2 as is_delete,
        statement % 4 = 0 as is_insert
    from numbered
)

select
    cast(row_number + 1 as decimal(38, 0)) as record_id,
    if(row_number % 5 = 0, 'S', 'N') as status,
    case when is_delete then 4 when is_insert then 1 when field = 2 then 3 else 2 end as event_type,
    cast(
        timestamp '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, cast(statement as int))
        as timestamp_ntz
    ) as event_time,
    if(row_number % 7 = 0, 'idm', 'app') as perpetrator,
    concat('app.table_', lpad(cast(table_number as string), 2, '0')) as table_name,
    concat('id=', key) as table_key,
    case
        when is_delete then null when field = 0 then 'name' when field = 1 then 'amount'
        when statement % 2 = 0 then 'booked' else 'changed_at'
    end as column_name,
    case when not is_insert and not is_delete and field = 0 then concat('old name ', key) end
        as old_value,
    case
        when is_delete then null
        when field = 0 then concat('name ', statement)
        when field = 1 then cast(cast(statement % 100000 as decimal(12, 2)) / 100 as string)
        when statement % 2 = 0
            then cast(date_add(date '2020-01-01', cast(key % 2000 as int)) as string)
        else cast(
            timestamp '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, cast(key as int)) as string
        )
    end as new_value
from keyed
"""


def measure(rows: int, repeats: int, home: Path) -> list[dict[str, Any]]:
    """Write the log, then copy and decode one of its tables in turn."""
    log, port = home / "netiq", free_port()
    with server(log, port):
        spark = Spark(port)
        say(f"writing {rows:,} rows of an event log")
        spark.create("event_log", LOG.format(rows=rows, keys=max(1, rows // 100)))
        dbt(port, home / "target", "deps")
        dbt(port, home / "target", "run", "--select", "netiq_events")
        model = home / "target" / "compiled" / "benchmark" / "models" / "netiq" / "netiq_events.sql"
        selects = {
            "copy of the table's rows": f"select * from {SCHEMA}.event_log"
            f" where substring_index(table_name, '.', -1) = '{TABLE}'",
            "change events": model.read_text(encoding="utf-8"),
        }
        spans: dict[str, list[tuple[float, float]]] = {name: [] for name in selects}
        for _ in range(repeats):
            for name, select in selects.items():
                spans[name].append(spark.timed("netiq_made", select))
    results = []
    for name, measured in spans.items():
        totals = task_totals(log, measured)
        results.append(
            {
                "step": name,
                "rows": rows,
                "seconds": [round(ended - began, 2) for began, ended in measured],
                "shuffle_bytes": max(total["shuffle_bytes"] for total in totals),
            }
        )
    return results


def as_markdown(results: list[Mapping[str, Any]]) -> list[str]:
    """The figures as a table; empty if nothing was measured."""
    if not results:
        return []
    copy = statistics.median(results[0]["seconds"])
    lines = [
        "",
        f"One of twenty tables in a NetIQ event log of {results[0]['rows']:,} rows:",
        "",
        "| step | seconds | copies | shuffled MiB |",
        "|---|---|---|---|",
    ]
    for result in results:
        seconds = statistics.median(result["seconds"])
        mib = result["shuffle_bytes"] / 1024 / 1024
        lines.append(f"| {result['step']} | {seconds:.1f} | {seconds / copy:.2f} | {mib:,.0f} |")
    return lines
