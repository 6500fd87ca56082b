"""The vectors of increments: what is there after each run, and after a full refresh."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from incremental.scenario import CURRENT, Scenario, Step
from incremental.stepping import Stepping
from kit.warehouse import Warehouse

from formats.netiq_event_log import FORMAT

VECTORS = FORMAT.vectors_of("netiq_increments")
LOG = (
    *("record_id", "status", "event_type", "event_time", "perpetrator", "table_name"),
    *("table_key", "column_name", "old_value", "new_value"),
)
FORMS = (
    "'ignoreNullFields', 'false', 'timeZone', 'UTC',"
    " 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'"
)
EVENTS = (
    f"select to_json(struct(* except (cdc_source, cdc_batch, cdc_before)), map({FORMS}))"
    " from {schema}.changes order by cdc_sequence"
)


def insert(table: str, names: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Insert rows of texts."""
    if not rows:
        return []
    values = ", ".join(
        "(" + ", ".join("null" if row[n] is None else json.dumps(str(row[n])) for n in names) + ")"
        for row in rows
    )
    return [f"insert into {{schema}}.{table} values {values}"]


def said(event: Mapping[str, Any], columns: Iterable[str]) -> tuple[str]:
    """An expected event as the query of events gives it."""
    metadata = event["cdc_metadata"]
    fields = {
        **{name: event[name] for name in ("cdc_operation", "cdc_sequence", "cdc_commit_sequence")},
        "cdc_commit_at": event["cdc_commit_at"].replace("T", " ").rstrip("Z"),
        **{
            name: event[name]
            for name in ("cdc_transaction_id", "cdc_changed_columns", "cdc_present_columns")
        },
        "cdc_metadata": metadata | {"event_time": f"{metadata['event_time'][:19]}.000000"},
        **{
            name: int(value) if name == "idu" and value is not None else value
            for name, value in ((name, event["row"][name]) for name in columns)
        },
    }
    return (json.dumps(fields, separators=(",", ":"), ensure_ascii=False),)


def scenario(vector: Mapping[str, Any]) -> Scenario:
    """The runs of a vector as steps; a full refresh is the last."""
    given, expect = vector["given"], vector["expect"]
    columns: dict[str, str] = given["columns"]
    assert columns["idu"] == "int"
    log = ", ".join(f"{name} string" for name in LOG)
    snapshot = ", ".join(f"{name} string" for name in columns)

    def body(run: Mapping[str, Any]) -> str:
        as_of = f", as_of='{run['as_of']}'" if run.get("as_of") else ""
        return (
            f"{{{{ spark_cdc.netiq_event_log(source('landing', 'log'), '{given['table']}',"
            f" {given['key']}, {columns}, source('landing', 'snapshot'){as_of}) }}}}"
        )

    steps = []
    for number, run in enumerate(given["runs"]):
        events = [said(event, columns) for event in expect["events"][number]]
        steps.append(
            Step(
                land=(
                    *insert("log", LOG, run["rows"]),
                    "truncate table {schema}.snapshot",
                    *insert("snapshot", columns, run["snapshot"]),
                ),
                models={"changes": body(run)},
                rows={EVENTS: events, "select * from {schema}.bad": []}
                if "leaves" not in vector["id"]
                else {EVENTS: events},
            )
        )
    refreshed = [said(event, columns) for event in expect["full_refresh"]]
    steps.append(Step(full_refresh=True, rows={EVENTS: refreshed}))
    return Scenario(
        vector["id"],
        raw=("log", "snapshot"),
        setup=(
            "drop table {schema}.log",
            "drop table {schema}.snapshot",
            f"create table {{schema}}.log ({log}) using parquet",
            f"create table {{schema}}.snapshot ({snapshot}) using parquet",
        ),
        models={
            "changes": body(given["runs"][0]),
            "bad": "{{ spark_cdc.quarantine(of=ref('changes')) }}",
            "current": CURRENT.replace("['id']", "['idu']"),
        },
        steps=steps,
    )


@pytest.fixture(scope="module")
def steps(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Stepping:
    scenarios = [scenario(vector) for vector in VECTORS]
    return Stepping(warehouse, tmp_path_factory.mktemp("netiq"), "netiq", scenarios).run()


@pytest.mark.parametrize("name", [vector["id"] for vector in VECTORS])
def test_runs(steps: Stepping, name: str) -> None:
    steps.check(name)
