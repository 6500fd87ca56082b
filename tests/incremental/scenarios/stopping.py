"""Models that stop with a message, and dbt's promises for models that do not."""

from __future__ import annotations

from typing import Any

from incremental.scenario import (
    CURRENT,
    RAW_COLUMNS,
    Scenario,
    Step,
    applied,
    config,
    decoded,
    land,
    quarantined,
)

# Spark would store NULL for the empty text, and a run would not find the row again.
_SAID = "is partitioned by the column note, which has '' in it"
_BY_NOTE = config(partition_by=["note"])
_FIRST: dict[str, Any] = {"keyed": [(1, "first")], "current": [(1, "first")]}
EMPTY_TEXT = Scenario(
    "empty_text",
    models={
        "changes": decoded(),
        "current": _BY_NOTE + CURRENT,
        "keyed": _BY_NOTE + applied("current_state", key="note"),
    },
    steps=(
        Step(land=(land("raw", (10, "I", 1, "first", "a", 1)),)),
        Step(
            land=(land("raw", (20, "I", 2, "", "a", 1)),),
            fails={"keyed": _SAID, "current": _SAID},
            rows=_FIRST,
        ),
        Step(
            run=("keyed", "current"),
            full_refresh=True,
            fails={"keyed": _SAID, "current": _SAID},
            rows=_FIRST,
        ),
        Step(
            land=(land("raw", (30, "D", 2, None, "a", 1)),),
            run=("changes", "current"),
            options=("--full-refresh",),
            rows={"current": [(1, "first")]},
        ),
    ),
)

_CURRENT = {
    "description": "The rows that exist.",
    "config": {
        "contract": {"enforced": True},
        "persist_docs": {"relation": True, "columns": True},
        "pre_hook": "create table if not exists {{ this }}_pre as select 1 as one",
        "post_hook": [
            "create table if not exists {{ this }}_post as select * from {{ this }}",
            "analyze table {{ spark_cdc.stored_table(this) }} compute statistics",
        ],
    },
    "columns": [
        {"name": "id", "data_type": "bigint", "description": "The one and only."},
        {"name": "note", "data_type": "string"},
        {"name": "cdc_sequence", "data_type": "string"},
        {"name": "cdc_commit_sequence", "data_type": "string"},
        {"name": "cdc_commit_at", "data_type": "timestamp"},
        {"name": "cdc_operation", "data_type": "string"},
    ],
}
_KEPT: dict[str, Any] = {
    "current_post": [(1, "first")],
    "select one from {schema}.current_pre": [(1,)],
}
PROMISES = Scenario(
    "promises",
    models={
        "changes": decoded(),
        "current": CURRENT,
        "collated": config(file_format="iceberg")
        + decoded(columns="{'id': 'bigint', 'note': 'string collate UTF8_LCASE'}"),
        "untrue": CURRENT.replace("['id']", "['id'], keep_deleted=true"),
        "commented": "-- owner: 'us\n\n/* a /* b */ -- \n; */--\n"
        + decoded()
        + "-- {{ this }}\n/* c */",
        "commented_bad": quarantined("commented") + " -- the end",
        "commented_out": "-- " + decoded(),
        "half_commented": decoded() + "\n/* a /* b */",
        "after_comment": decoded() + "\n-- a\nlimit 1",
        "before_comment": "select * from (\n/* a */" + decoded() + ")",
        "two_calls": f"{decoded()} union all {decoded()}",
        "no_call": "select 1 as one",
        "placed": config(location_root="/lake") + decoded(),
        "brief": config(materialized="ephemeral") + "select * from raw",
        "of_brief": decoded().replace("source('landing', 'raw')", "ref('brief')"),
    },
    properties={
        "changes": {"config": {"partition_by": ["cdc_operation"], "event_time": "cdc_commit_at"}},
        "current": _CURRENT,
        "untrue": {
            "config": {"contract": {"enforced": True}},
            "columns": [{"name": "id", "data_type": "string"}],
        },
        "brief": {"columns": [{"name": n, "data_type": t} for n, t in RAW_COLUMNS.items()]},
    },
    steps=(
        Step(
            land=(land("raw", (1, "I", 1, "first", "a", 1)),),
            run=(
                *("changes", "current", "collated", "untrue"),
                *("two_calls", "no_call", "placed", "of_brief"),
                *("commented", "commented_bad", "commented_out", "half_commented"),
                *("after_comment", "before_comment"),
            ),
            fails={
                "collated": "file_format is iceberg, and the column note has a collation",
                "untrue": "contract",
                "two_calls": "one call of raw_log, of a decoder",
                "commented_out": "one call of raw_log, of a decoder",
                "half_commented": "with only comments before and after it",
                "after_comment": "one call of raw_log, of a decoder",
                "before_comment": "one call of raw_log, of a decoder",
                "no_call": "one call of raw_log, of a decoder",
                "placed": "location_root is /lake, and file_format is parquet",
                "of_brief": "reads the ephemeral model promises__brief",
            },
            rows={**_KEPT, "current": [(1, "first")], "commented": [(1, "first")]},
        ),
        Step(
            land=(land("raw", (2, "I", 2, "second", "a", 1)),),
            run=("changes", "current", "untrue", "commented"),
            fails={"untrue": "contract"},
            rows={
                **_KEPT,
                "current": [(1, "first"), (2, "second")],
                "commented": [(1, "first"), (2, "second")],
            },
            look=lambda place: [row[:3] for row in place.sql("describe extended {schema}.current")],
        ),
        Step(
            run=("current",),
            options=("--sample", "1 day"),
            fails={"current": "--sample leaves out a part of "},
            rows={"current": [(1, "first"), (2, "second")]},
        ),
    ),
)

SCENARIOS = (EMPTY_TEXT, PROMISES)
