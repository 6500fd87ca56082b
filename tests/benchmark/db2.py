"""What it costs to decode a Db2 CD table in which half of the rows are halves of updates.

Of four rows two are the delete and the insert of an update, one is an insert, and one an update
or a delete by itself. A unit of work has about twelve rows. The copy is `create table as select`.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thrift_server import SCHEMA, Spark, dbt, free_port, say, server, task_totals

CAPTURE = """
with numbered as (
    select
        id,
        id div 12 as unit,
        id % 4 as place
    from range({rows})
),

keyed as (
    select
        *,
        -- both halves of an update have one key
        pmod(xxhash64(id div 2, if(place < 2, 0, place)), {keys}) as key
    from numbered
)

select
    unhex(lpad(hex(1000000 + unit * 100 + 99), 32, '0')) as ibmsnap_commitseq,
    unhex(lpad(hex(1000000 + unit * 100 + id % 12 * 3), 32, '0')) as ibmsnap_intentseq,
    case
        when place = 0 then 'D' when place in (1, 2) then 'I' when id % 8 = 3 then 'U' else 'D'
    end as ibmsnap_operation,
    cast(key as bigint) as order_id,
    concat('customer ', key % 10000) as customer,
    if(id % 3 = 0, 'new', 'paid') as status,
    cast(cast(id % 100000 as decimal(12, 2)) / 100 as decimal(12, 2)) as amount,
    date_add(date '2020-01-01', cast(key % 2000 as int)) as ordered_on,
    timestamp '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, cast(unit as int)) as changed_at,
    concat('note of the change ', id) as note
from keyed
"""


def measure(rows: int, repeats: int, home: Path) -> list[dict[str, Any]]:
    """Write the CD table, then copy it and decode it in turn."""
    log, port = home / "db2", free_port()
    with server(log, port):
        spark = Spark(port)
        say(f"writing {rows:,} rows of a CD table")
        spark.create("capture", CAPTURE.format(rows=rows, keys=max(1, rows // 10)))
        dbt(port, home / "target", "deps")
        dbt(port, home / "target", "run", "--select", "db2_events")
        model = home / "target" / "compiled" / "benchmark" / "models" / "db2" / "db2_events.sql"
        selects = {
            "copy": f"select * from {SCHEMA}.capture",
            "change events": model.read_text(encoding="utf-8"),
        }
        spans: dict[str, list[tuple[float, float]]] = {name: [] for name in selects}
        for _ in range(repeats):
            for name, select in selects.items():
                spans[name].append(spark.timed("db2_made", select))
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
    """The figures as a table; none where nothing was measured yet."""
    if not results:
        return []
    copy = statistics.median(results[0]["seconds"])
    lines = [
        "",
        f"A Db2 CD table of {results[0]['rows']:,} rows, half of them halves of updates:",
        "",
        "| step | seconds | copies | shuffled MiB |",
        "|---|---|---|---|",
    ]
    for result in results:
        seconds = statistics.median(result["seconds"])
        mib = result["shuffle_bytes"] / 1024 / 1024
        lines.append(f"| {result['step']} | {seconds:.1f} | {seconds / copy:.2f} | {mib:,.0f} |")
    return lines
