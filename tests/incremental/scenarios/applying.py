"""Current state and history: a load superseded by later changes, and truncates."""

from __future__ import annotations

from incremental.scenario import (
    CURRENT,
    HISTORY,
    VIEW,
    Scenario,
    Step,
    applied,
    decoded,
    land,
)

# As in docs/formats/qlik_change_table.md, with other names, and with the key unchanged: it may have
# any character.
_WITH_LOAD = (
    VIEW
    + """select
    cdc_source, cdc_operation, cdc_sequence, cdc_commit_sequence, cdc_commit_at, cdc_transaction_id,
    cdc_changed_columns, cdc_present_columns, cdc_before, cdc_metadata, cdc_batch, id, note
from {{ ref('changes') }}
union all
select
    'qlik_change_table', 'load', concat(repeat('0', 35), '.~', id), repeat('0', 35),
    timestamp'2026-01-01 00:00:00Z', null, null, null, null, null, '', id, note
from {schema}.loaded"""
)
# The changes apply on top of a full load. A run computes only the keys that new changes name. The
# loaded row 8 changes without a new change, so `current` does not show its new value.
FULL_LOAD = Scenario(
    "full_load",
    setup=(
        "create table {schema}.loaded using parquet as select * from values"
        " (1L, 'loaded'), (2L, 'loaded'), (7L, 'loaded'), (8L, 'loaded') as rows (id, note)",
    ),
    models={
        "changes": decoded(),
        "with_load": _WITH_LOAD,
        "current": applied("current_state", "with_load"),
        "history": applied("history", "with_load"),
    },
    steps=(
        Step(
            land=(land("raw", (1, "U", 1, "updated", "a", 1), (2, "I", 3, "first", "a", 1)),),
            rows={
                "current": [
                    (1, "updated"),
                    (2, "loaded"),
                    (3, "first"),
                    (7, "loaded"),
                    (8, "loaded"),
                ]
            },
        ),
        Step(
            land=(
                land("raw", (3, "D", 2, None, "a", 2), (4, "U", 3, "second", "a", 2)),
                land("raw", (5, "U", 7, "loaded", "a", 2)),
                "insert overwrite {schema}.loaded values"
                " (1L, 'loaded'), (2L, 'loaded'), (7L, 'loaded'), (8L, 'other')",
            ),
            rows={
                "current": [(1, "updated"), (3, "second"), (7, "loaded"), (8, "loaded")],
                "select id, note, cdc_operation, cdc_ended_by from {schema}.history"
                " order by id, cdc_valid_from_sequence": [
                    (1, "loaded", "load", "update"),
                    (1, "updated", "update", None),
                    (2, "loaded", "load", "delete"),
                    (3, "first", "insert", "update"),
                    (3, "second", "update", None),
                    (7, "loaded", "load", None),
                    (8, "loaded", "load", None),
                ],
            },
        ),
    ),
)

_KNOWN = "select id, right(cdc_sequence, 2), cdc_operation from {schema}.current"
_VERSIONS = (
    "select id, right(cdc_valid_from_sequence, 2), right(cdc_valid_to_sequence, 2), cdc_ended_by"
    " from {schema}.history order by id"
)
# A version survives a truncate in one case: the transaction of the truncate inserts the row again.
TRUNCATE = Scenario(
    "truncate",
    models={"changes": decoded(), "history": HISTORY, "current": CURRENT},
    steps=(
        Step(land=(land("raw", (10, "I", 1, "same", "a", 1)),)),
        Step(
            land=(land("raw", (20, "T", 0, None, "a", 2), transaction="X"),), rows={"current": []}
        ),
        Step(
            land=(land("raw", (21, "I", 1, "same", "a", 2), transaction="X"),),
            rows={_KNOWN: [(1, "10", "insert")]},
        ),
        # for key 1 only a change that changes no value; for another key a row before the truncate
        Step(
            land=(
                land(
                    "raw",
                    (30, "U", 1, "other", "a", 3),
                    (31, "U", 1, "same", "a", 3),
                    transaction="Y",
                ),
                land("raw", (11, "I", 2, "late", "a", 3)),
            ),
            run=("changes", "history"),
            rows={_VERSIONS: [(1, "10", None, None), (2, "11", "20", "truncate")]},
        ),
    ),
)

# A transaction ends in a later run, and then has changed nothing.
ONE_COMMIT = Scenario(
    "one_commit",
    models={"changes": decoded(), "current": CURRENT},
    steps=(
        Step(
            land=(
                land("raw", (10, "I", 1, "same", "a", 1)),
                land("raw", (20, "U", 1, "other", "a", 1), transaction="X"),
            ),
            rows={_KNOWN: [(1, "20", "update")]},
        ),
        Step(
            land=(land("raw", (21, "U", 1, "same", "a", 2), transaction="X"),),
            rows={_KNOWN: [(1, "10", "insert")]},
        ),
    ),
)

_NULLS = "null_keys=true)"
_KNOWN_KEYS = "select id, note, right(cdc_sequence, 2) from {schema}.current order by id"
_KEPT = "select id, note, cdc_is_deleted from {schema}.kept order by id"
_ENDED = (
    "select id, note, right(cdc_valid_from_sequence, 2), cdc_ended_by from {schema}.history"
    " order by id, cdc_valid_from_sequence"
)
# NULL is a value of the key: rows move to it, leave it and are deleted there. A truncate also has
# the key NULL, but is not an event of this key.
NULL_KEYS = Scenario(
    "null_keys",
    models={
        "changes": decoded().replace("key=['id']", "key=['id'], null_keys=true"),
        "history": HISTORY.replace(") }}", ", " + _NULLS + " }}"),
        "current": CURRENT.replace(") }}", ", " + _NULLS + " }}"),
        "kept": CURRENT.replace(") }}", ", keep_deleted=true, " + _NULLS + " }}"),
    },
    steps=(
        Step(
            land=(land("raw", (10, "I", "null", "a", "a", 1), (11, "I", 2, "b", "a", 1)),),
            rows={"current": [(None, "a"), (2, "b")]},
        ),
        # from NULL to 1, and from 2 to NULL
        Step(
            land=(
                land("raw", (20, "B", "null", "a", "a", 2), (20, "U", 1, "a", "a", 2)),
                land("raw", (30, "B", 2, "b", "a", 2), (30, "U", "null", "b", "a", 2)),
            ),
            rows={
                _KNOWN_KEYS: [(None, "b", "30"), (1, "a", "20")],
                _KEPT: [(None, "b", False), (1, "a", False), (2, "b", True)],
                _ENDED: [
                    (None, "a", "10", "update"),
                    (None, "b", "30", None),
                    (1, "a", "20", None),
                    (2, "b", "11", "update"),
                ],
            },
        ),
        # late: before the last change of the key NULL, and of another key
        Step(
            land=(land("raw", (15, "U", "null", "late", "a", 3), (25, "U", 1, "late", "a", 3)),),
            rows={_KNOWN_KEYS: [(None, "b", "30"), (1, "late", "25")]},
        ),
        Step(
            land=(land("raw", (40, "T", 0, None, "a", 4)), land("raw", (50, "I", 3, "c", "a", 4))),
            rows={_KNOWN_KEYS: [(3, "c", "50")]},
        ),
        Step(
            land=(
                land("raw", (35, "U", 1, "before the truncate", "a", 5)),
                land("raw", (60, "I", "null", "d", "a", 5)),
            ),
            rows={_KNOWN_KEYS: [(None, "d", "60"), (3, "c", "50")]},
        ),
        Step(
            land=(land("raw", (70, "D", "null", None, "a", 6)),),
            rows={
                _KNOWN_KEYS: [(3, "c", "50")],
                _KEPT: [
                    (None, "d", True),
                    (1, "before the truncate", True),
                    (2, "b", True),
                    (3, "c", False),
                ],
                _ENDED: [
                    (None, "a", "10", "update"),
                    (None, "late", "15", "update"),
                    (None, "b", "30", "truncate"),
                    (None, "d", "60", "delete"),
                    (1, "a", "20", "update"),
                    (1, "late", "25", "update"),
                    (1, "before the truncate", "35", "truncate"),
                    (2, "b", "11", "update"),
                    (3, "c", "50", None),
                ],
            },
        ),
    ),
)

# All events of a deleted key and of another one are retracted. The model of one of these tables
# reads a view with keys of its own.
RETRACTED = Scenario(
    "retracted",
    models={
        "changes": decoded(),
        "kept": CURRENT.replace(") }}", ", keep_deleted=true) }}"),
        "other_keys": VIEW + "select * except (id), id + 100 as id from {{ ref('changes') }}",
        "current": applied("current_state", "other_keys"),
    },
    steps=(
        Step(
            land=(
                land("raw", (10, "I", 1, "a", "a", 1), (20, "D", 1, None, "a", 1)),
                land("raw", (30, "I", 2, "b", "a", 1), (40, "I", 3, "c", "a", 1)),
            ),
            rows={
                _KEPT: [(1, "a", True), (2, "b", False), (3, "c", False)],
                "current": [(102, "b"), (103, "c")],
            },
        ),
        Step(
            land=(
                land(
                    "raw", (10, "I", 1, "in conflict", "a", 1), (20, "D", 1, "in conflict", "a", 1)
                ),
                land("raw", (30, "I", 2, "in conflict", "a", 1)),
            ),
            rows={_KEPT: [(3, "c", False)], "current": [(103, "c")]},
        ),
    ),
)

SCENARIOS = (FULL_LOAD, TRUNCATE, ONE_COMMIT, NULL_KEYS, RETRACTED)
