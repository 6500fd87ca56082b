"""The rows that a run reads: watermarks, files from other processes, views, runs without rows."""

from __future__ import annotations

import shutil

from incremental import inside
from incremental.scenario import (
    CURRENT,
    VIEW,
    Place,
    Scenario,
    Step,
    applied,
    config,
    decoded,
    land,
    quarantined,
)


def _ids(model: str) -> str:
    return f"select id from {{schema}}.{model} order by id"


def _numbers(*ids: int) -> list[tuple[int]]:
    return [(one,) for one in ids]


_FIRST = ((1, "I", 1, "first", "a", 5), (2, "I", 2, "first", "b", 7))
_LATE = (
    (3, "I", 3, "below the watermark of all, not of its part", "a", 6),
    (4, "I", 4, "below", "a", 4),
    (5, "I", 5, "at the last value", "b", 7),
    (6, "I", 6, "without one", "b", None),
    (7, "I", 7, "of a new part", "c", 1),
    (8, "I", 8, "of no part", None, 1),
)
WATERMARK = Scenario(
    "watermark",
    raw=("one", "many", "binary"),
    setup=(
        # not valid text: F0 begins a character of four bytes
        "drop table {schema}.binary",
        "create view {schema}.binary as select *, unhex(hex(landed + 235)) as lsn"
        " from {schema}.one",
    ),
    models={
        "of_one": config(raw_watermark="Landed") + decoded("one"),
        "of_many": config(raw_watermark={"column": "landed", "within": ["part"]}) + decoded("many"),
        "of_binary": config(raw_watermark="lsn") + decoded("binary"),
        "of_unknown": config(raw_watermark="arrived") + decoded("one"),
    },
    steps=(
        Step(
            land=(land("one", *_FIRST), land("many", *_FIRST)),
            fails={"of_unknown": "raw_watermark names the column arrived"},
        ),
        Step(
            land=(land("one", *_LATE), land("many", *_LATE)),
            run=("of_one", "of_many", "of_binary"),
            rows={
                _ids("of_one"): _numbers(1, 2, 5, 6),
                _ids("of_binary"): _numbers(1, 2, 5, 6),
                _ids("of_many"): _numbers(1, 2, 3, 5, 6, 7, 8),
            },
        ),
        Step(
            land=(land("one", (9, "I", 9, "later", "a", 8)),),
            run=("of_binary",),
            rows={_ids("of_binary"): _numbers(1, 2, 5, 6, 9)},
        ),
    ),
)

# A run was killed while it appended raw rows: it has appended the last one, and not one before it.
KILLED = Scenario(
    "killed_amid_raw_rows",
    models={"changes": config(raw_watermark="landed") + decoded()},
    steps=(
        Step(land=(land("raw", (1, "I", 1, "first", "a", 1)),)),
        Step(land=(land("raw", (2, "I", 2, "second", "a", 2), (3, "I", 3, "third", "a", 3)),)),
        Step(land=(lambda place: inside.leave_part_of_raw_rows(place, "changes", "id <> 2"),)),
        # built again from all rows that were read
        Step(
            land=("truncate table {schema}.raw", inside.forget_fingerprint("changes")),
            rows={"changes": [(1, "first"), (2, "second"), (3, "third")]},
        ),
    ),
)


def _copy_files(place: Place) -> None:
    """Spark caches the list of a table's files, and does not notice new ones."""
    for file in (place.folder / "elsewhere").glob("*.parquet"):
        for raw in ("of_changes", "of_view", "of_whole"):
            shutil.copy(file, place.folder / raw)


_BOTH = [(1, "first"), (2, "second")]
FILES_OF_OTHERS = Scenario(
    "files_of_others",
    raw=("of_changes", "of_view", "of_whole", "elsewhere", "seen"),
    setup=(
        "drop table {schema}.seen",
        "create view {schema}.seen as select * from {schema}.of_view",
    ),
    models={
        "changes": decoded("of_changes"),
        "through_view": decoded("seen"),
        "whole": config(materialized="table") + decoded("of_whole"),
    },
    steps=(
        Step(
            land=[
                land(raw, (1, "I", 1, "first", "a", 1))
                for raw in ("of_changes", "of_view", "of_whole")
            ]
        ),
        Step(
            land=(land("elsewhere", (2, "I", 2, "second", "a", 1)), _copy_files),
            rows={"changes": _BOTH, "through_view": _BOTH, "whole": _BOTH},
        ),
    ),
)

# Runs with `--empty` take no rows, and lose none. In the end the view has other SQL, although its
# file is the same. Then all its events count as new.
EMPTY_RUNS = Scenario(
    "empty_runs",
    models={
        "changes": decoded(),
        "passed_on": VIEW
        + "select * from {{ ref('changes') }} where id <> {{ var('without', 0) }}",
        "current": applied("current_state", "passed_on"),
    },
    steps=(
        Step(run=()),
        Step(options=("--empty",), rows={"current": []}),
        Step(
            land=(land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "b", 1)),),
            options=("--empty",),
            rows={"current": []},
        ),
        Step(rows={"current": [(1, "first"), (2, "first")]}),
        Step(vars={"without": 2}, rows={"current": [(1, "first")]}),
    ),
)

_OTHER = ("--defer", "--state", "state", "--target", "other")
_NOTES_THERE = "select id, note from other_{schema}.current"

# The developer's schema has no `changes`; the view there reads the production model.
DEFERRED = Scenario(
    "deferred",
    models={
        "changes": decoded(),
        "passed_on": VIEW + "select * from {{ ref('changes') }}",
        "current": applied("current_state", "passed_on"),
        "narrow": VIEW + "select * except (cdc_batch) from {{ ref('changes') }}",
        "of_narrow": applied("current_state", "narrow"),
    },
    steps=(
        Step(land=(land("raw", (1, "I", 1, "first", "a", 1)),)),
        Step(run=("passed_on", "current"), options=_OTHER, rows={_NOTES_THERE: [(1, "first")]}),
        Step(
            land=(land("raw", (2, "U", 1, "at 2", "a", 1)),),
            run=("changes", "narrow", "of_narrow"),
            rows={"of_narrow": [(1, "at 2")]},
        ),
        Step(run=("passed_on", "current"), options=_OTHER, rows={_NOTES_THERE: [(1, "at 2")]}),
    ),
)

# dbt's list of relations lacks the schema `…_unlisted`.
UNLISTED = Scenario(
    "unlisted",
    models={"changes": decoded()},
    steps=(
        Step(land=(land("raw", (1, "I", 1, "first", "a", 1)),)),
        Step(
            land=("truncate table {schema}.raw", land("raw", (2, "I", 2, "second", "a", 1))),
            rows={"changes": _BOTH},
        ),
    ),
)

# A model that is added later is first built without rows; then its columns change their order.
LATECOMER = Scenario(
    "latecomer",
    models={"changes": decoded(), "late": CURRENT},
    steps=(
        Step(
            land=(land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "a", 1)),),
            run=("changes",),
        ),
        Step(
            land=(land("raw", (2, "I", 2, "in conflict", "a", 1)),),
            run=("changes",),
            rows={"changes": [(1, "first")]},
        ),
        Step(run=("late",), options=("--empty",), rows={"late": []}),
        Step(
            models={"changes": config(partition_by=["cdc_operation"]) + decoded()},
            land=(land("raw", (30, "I", 3, "first", "a", 3)),),
            rows={"late": [(1, "first"), (3, "first")]},
        ),
        Step(
            land=(land("raw", (30, "I", 3, "other", "a", 3)),),
            rows={"late": [(1, "first")], "changes": [(1, "first")]},
        ),
    ),
)

# The decoder reads a view. The model of quarantined rows does not depend on that view itself.
_BAD = "select get_json_object(raw, '$.note') from {schema}.bad order by 1"
QUARANTINE_OF = Scenario(
    "quarantine_of",
    models={
        "seen": VIEW + "select * from {{ source('landing', 'raw') }}",
        "changes": decoded().replace("source('landing', 'raw')", "ref('seen')"),
        "bad": quarantined(),
        "counts": config(materialized="table") + "{{ spark_cdc.raw_counts(of=ref('changes')) }}",
    },
    steps=(
        Step(
            land=(land("raw", (1, "I", 1, "good", "a", 1), (2, "?", 2, "bad", "a", 1)),),
            rows={_BAD: [("bad",)], "select * from {schema}.counts": [(2, 1, 0, 1)]},
        ),
        Step(
            land=(land("raw", (3, "I", 3, "good", "a", 1), (4, "?", 4, "worse", "a", 1)),),
            rows={_BAD: [("bad",), ("worse",)], "select * from {schema}.counts": [(4, 2, 0, 2)]},
        ),
    ),
)

SCENARIOS = (
    QUARANTINE_OF,
    WATERMARK,
    KILLED,
    FILES_OF_OTHERS,
    EMPTY_RUNS,
    DEFERRED,
    UNLISTED,
    LATECOMER,
)
