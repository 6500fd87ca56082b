"""What it costs to decode messages of Qlik Replicate, against a plain `from_json`.

In two steps, as a topic of many tables is decoded: the log of its messages, and the events of a
table; and in one model.

One table of ten columns in its topic. Of ten messages one is of a load, three are inserts, four are
updates with their before image, and two are deletes. A metadata message gives the schema's id. The
other side reads the same text with `from_json`, a fixed schema, and writes it as a table.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from thrift_server import SCHEMA, Spark, dbt, free_port, say, server, task_totals

ID = "0A1B2C3D4E5F60718293A4B5C6D7E8F9"

# The columns of the table, which the models name too: name and type.
PROJECT = Path(__file__).parent / "dbt_project.yml"
COLUMNS: dict[str, str] = yaml.safe_load(PROJECT.read_text())["vars"]["columns_of_messages"]

# The row of a message, as JSON has it; `{n}` is the number of a change.
ROW = """named_struct(
    'ORDER_ID', key,
    'CUSTOMER', concat('customer ', key % 10000),
    'STATUS', if({n} % 3 = 0, 'new', 'paid'),
    'AMOUNT', cast(cast({n} % 100000 as decimal(12, 2)) / 100 as decimal(12, 2)),
    'TAX', cast(cast({n} % 1000 as decimal(12, 2)) / 100 as decimal(12, 2)),
    'WEIGHT', cast({n} % 977 as double) / 7,
    'ORDERED_ON', cast(date_add(date '2020-01-01', cast(key % 2000 as int)) as string),
    'CHANGED_AT', cast(committed_at as string),
    'IS_PAID', {n} % 3 > 0,
    'NOTE', concat('note of the change ', {n})
)"""

HEADERS = """named_struct(
    'operation', operation,
    'changeSequence', if(is_load, '', concat(
        date_format(committed_at, 'yyyyMMddHHmmss'), '00', lpad(cast(id as string), 19, '0')
    )),
    'timestamp', if(is_load, '', cast(committed_at as string)),
    'streamPosition', if(is_load, '', '0000002F:00000158:0001'),
    'transactionId', if(is_load, '', lpad(hex(id div 5), 32, '0')),
    'changeMask', case operation
        when 'INSERT' then '03FF'
        when 'UPDATE' then '03FC'
        when 'DELETE' then '0001'
    end,
    'columnMask', if(is_load, null, '03FF'),
    'transactionEventCounter', id % 5 + 1,
    'transactionLastEvent', id % 5 = 4
)"""

MESSAGES = f"""
with changes as (
    select
        id,
        pmod(xxhash64(id), {{keys}}) as key,
        timestamp '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id div 100) as committed_at,
        id % 10 = 0 as is_load,
        case
            when id % 10 = 0 then 'REFRESH'
            when id % 10 < 4 then 'INSERT'
            when id % 10 < 8 then 'UPDATE'
            else 'DELETE'
        end as operation
    from range({{rows}})
)

select
    to_json(
        named_struct(
            'magic', 'atMSG',
            'type', 'DT',
            'headers', cast(null as string),
            'messageSchemaId', '{ID}',
            'messageSchema', cast(null as string),
            'message', named_struct(
                'data', {ROW.format(n="id")},
                'beforeData', if(operation = 'UPDATE', {ROW.format(n="(id + 1)")}, null),
                'headers', {HEADERS}
            )
        ),
        map('ignoreNullFields', 'false')
    ) as value,
    cast(key as string) as key,
    'erp.changes' as topic,
    cast(key % 4 as int) as partition,
    id as offset,
    committed_at as timestamp
from changes
"""

_ORDINALS = ", ".join(
    f"'{name}', named_struct('ordinal', {place})" for place, name in enumerate(COLUMNS, 1)
)

METADATA = f"""
select
    to_json(named_struct(
        'magic', 'atMSG',
        'type', 'MD',
        'message', named_struct(
            'schemaId', '{ID}',
            'lineage', named_struct('schema', 'APP', 'table', 'ORDERS', 'tableVersion', 1),
            'tableStructure', named_struct('tableColumns', named_struct({_ORDINALS}))
        )
    )) as value,
    timestamp '2023-01-01 00:00:00' as timestamp
"""

_ROW = ", ".join(f"{name}: {type_}" for name, type_ in COLUMNS.items())
_HEADERS = ("operation", "changeSequence", "timestamp", "transactionId", "changeMask", "columnMask")

PLAIN = f"""
select
    parsed.message.headers.*,
    parsed.message.data.*,
    parsed.message.beforeData as before,
    topic,
    partition,
    offset
from (
    select
        *,
        from_json(
            value,
            'magic string, type string, messageSchemaId string, message struct<'
            'data: struct<{_ROW}>, beforeData: struct<{_ROW}>, '
            'headers: struct<{": string, ".join(_HEADERS)}: string>>'
        ) as parsed
    from {SCHEMA}.messages
) as read
"""


def measure(rows: int, repeats: int, home: Path) -> list[dict[str, Any]]:
    """Write the messages, then read them with `from_json` and decode them in turn."""
    log, port = home / "qlik", free_port()
    with server(log, port):
        spark = Spark(port)
        say(f"writing {rows:,} messages")
        spark.create("messages", MESSAGES.format(rows=rows, keys=max(1, rows // 10)))
        spark.create("metadata", METADATA)
        dbt(port, home / "target", "deps")
        dbt(port, home / "target", "run", "--select", "path:models/qlik")
        for model in ("qlik_events", "qlik_events_alone"):
            ((decoded,),) = spark.sql(f"select count(*) from {SCHEMA}.{model}")
            if decoded != rows:
                raise SystemExit(f"{model}: {decoded:,} events of {rows:,} messages")
        models = home / "target" / "compiled" / "benchmark" / "models" / "qlik"
        selects = {
            "copy": f"select * from {SCHEMA}.messages",
            "from_json": PLAIN,
            "log of messages": (models / "qlik_log.sql").read_text(encoding="utf-8"),
            "change events on the log": (models / "qlik_events.sql").read_text(encoding="utf-8"),
            "one model": (models / "qlik_events_alone.sql").read_text(encoding="utf-8"),
        }
        spans: dict[str, list[tuple[float, float]]] = {name: [] for name in selects}
        for _ in range(repeats):
            for name, select in selects.items():
                spans[name].append(spark.timed("qlik_made", select))
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
    plain = statistics.median(results[1]["seconds"])
    lines = [
        "",
        f"{results[0]['rows']:,} messages of Qlik Replicate, ten columns, JSON:",
        "",
        "| step | seconds | of from_json | shuffled MiB |",
        "|---|---|---|---|",
    ]
    for result in results:
        seconds = statistics.median(result["seconds"])
        mib = result["shuffle_bytes"] / 1024 / 1024
        lines.append(f"| {result['step']} | {seconds:.1f} | {seconds / plain:.2f} | {mib:,.0f} |")
    return lines
