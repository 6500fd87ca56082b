"""Raw logs: rows that are kept once, or not at all, and the models that read them."""

from __future__ import annotations

from incremental import inside
from incremental.scenario import (
    CURRENT,
    RAW_COLUMNS,
    VIEW,
    Place,
    Scenario,
    Step,
    config,
    decoded,
    land,
    quarantined,
)

LOG = "{{ spark_cdc.raw_log(source('landing', 'raw')) }}"
BATCHES = VIEW + "{{ spark_cdc.raw_log(source('landing', 'raw'), batch='landed') }}"
READ = "source('landing', 'raw')"
FIRST = ((10, "I", 1, "first", "a", 1), (11, "?", 9, "bad", "b", 1))
SECOND = (20, "I", 2, "second", "b", 2)
BAD = "select count(*) from {schema}.bad"
KEPT = "select id, cdc_batch = max(cdc_batch) over () from {schema}.log order by id, cdc_batch"


def on(log: str, body: str) -> str:
    """The body of a model that reads a raw log, or a view over it."""
    return body.replace(READ, f"ref('{log}')")


CHANGES = on("log", decoded())
MODELS = {"log": LOG, "changes": CHANGES, "bad": quarantined(), "current": CURRENT}

# Rows leave the landing after the raw log has them. Columns come, and become wider.
SHARED = Scenario(
    "shared_log",
    models=MODELS,
    steps=(
        Step(
            land=(land("raw", *FIRST),),
            rows={"current": [(1, "first")], BAD: [(1,)], KEPT: [(1, True), (9, True)]},
            look=inside.copies_of_raw_rows,
        ),
        Step(
            land=(
                "truncate table {schema}.raw",
                land("raw", SECOND, SECOND),
                "alter table {schema}.raw add columns (more int)",
            ),
            rows={
                "current": [(1, "first"), (2, "second")],
                KEPT: [(1, False), (2, True), (2, True), (9, False)],
            },
        ),
        Step(
            land=(
                "create table {schema}.wider using parquet as"
                " select * except (more, landed), cast(landed as bigint) as landed, 3L as more"
                " from {schema}.raw where false",
                "drop table {schema}.raw",
                "alter table {schema}.wider rename to {schema}.raw",
                land("raw", (30, "U", 1, "third", "a", 3)),
            ),
            rows={
                "current": [(1, "third"), (2, "second")],
                "select more is null, typeof(more), typeof(landed) from {schema}.log limit 1": [
                    (True, "bigint", "bigint")
                ],
            },
        ),
        # `--empty` forgets nothing
        Step(options=("--empty",), rows={"current": [(1, "third"), (2, "second")]}),
        # a second copy of a row that the log has is a second delivery
        Step(
            land=(land("raw", (30, "U", 1, "third", "a", 3)),),
            run=("log",),
            rows={"select count(*) from {schema}.log where id = 1": [(3,)]},
        ),
        Step(rows={"current": [(1, "third"), (2, "second")]}),
        # built again, it has what the landing has now, and so have the models on it
        Step(run=("log",), full_refresh=True),
        Step(rows={"current": [(1, "third")], BAD: [(0,)]}),
    ),
)

# The columns of a partition stay where the relation has them: some decoders read by position.
AS_LANDED = {"show columns in {schema}.log": [(name,) for name in (*RAW_COLUMNS, "cdc_batch")]}

# One log, routed by a partition; the views filter by it. A view with other SQL is another relation.
PART = VIEW + "select * from {{ ref('log') }} where part = '%s'"
ROUTED = Scenario(
    "routed_log",
    models={
        "log": config(partition_by=["part"], raw_watermark="landed") + LOG,
        "of_a": PART % "a",
        "of_b": PART % "b",
        "changes": on("of_a", decoded()),
        "others": on("of_b", decoded()),
    },
    steps=(
        Step(
            land=(land("raw", FIRST[0]),),
            rows={"changes": [(1, "first")], "others": [], **AS_LANDED},
        ),
        Step(
            land=(land("raw", SECOND),),
            rows={
                "changes": [(1, "first")],
                "others": [(2, "second")],
                **AS_LANDED,
            },
            look=inside.copies_of_raw_rows,
        ),
        Step(
            models={"of_a": VIEW + "select * from {{ ref('log') }}"},
            rows={"changes": [(1, "first"), (2, "second")], "others": [(2, "second")]},
        ),
    ),
)

# The landing keeps its rows: no row is copied. The last batch may still grow, and rows without a
# batch may come.
KEPT_LANDING = Scenario(
    "kept_landing",
    models={"log": BATCHES, "changes": CHANGES, "bad": quarantined()},
    steps=(
        Step(rows={"changes": []}),
        Step(land=(land("raw", *FIRST),), rows={"changes": [(1, "first")], BAD: [(1,)]}),
        Step(
            land=(land("raw", (20, "I", 2, "of the same batch", "a", 1), FIRST[1]),),
            rows={"changes": [(1, "first"), (2, "of the same batch")], BAD: [(2,)]},
        ),
        Step(
            land=(land("raw", (30, "I", 3, "without one", "a", None)),),
            rows={"changes": [(1, "first"), (2, "of the same batch"), (3, "without one")]},
        ),
        Step(
            land=(land("raw", (40, "I", 4, "later", "a", 2)),),
            rows={"select id from {schema}.changes order by id": [(1,), (2,), (3,), (4,)]},
            look=inside.copies_of_raw_rows,
        ),
    ),
)


def _leave_half(place: Place) -> None:
    inside.leave_half_a_batch(place, "log", "id = 2")


# The other half is below the watermark of the first.
HALF = Scenario(
    "half_a_batch",
    models=MODELS | {"log": config(raw_watermark="landed") + LOG},
    steps=(
        Step(land=(land("raw", *FIRST),)),
        Step(
            land=(land("raw", SECOND, (21, "I", 3, "other half", "a", 1)), _leave_half),
            run=("changes", "current"),
            rows={"current": [(1, "first")]},
        ),
        Step(
            rows={
                "current": [(1, "first"), (2, "second"), (3, "other half")],
                "select id from {schema}.log order by id": [(1,), (2,), (3,), (9,)],
            }
        ),
        Step(
            land=(land("raw", (40, "I", 4, "after it", "a", 2)),),
            rows={"select max(id) from {schema}.current": [(4,)]},
        ),
    ),
)

# A row with a time in the future does not become the last value, so that later rows are read. In a
# log that is a view it waits. A row below the last value is not read.
TIMED = "source('landing', 'timed')"
IDS = "select id from {schema}.%s order by id"
WRONG_CLOCK = Scenario(
    "wrong_clock",
    raw=("raw", "timed"),
    setup=(
        "drop table {schema}.timed",
        "create view {schema}.timed as select *, timestamp'2024-01-01 00:00:00Z'"
        " + make_dt_interval(landed * landed * landed) as at from {schema}.raw",
    ),
    models={
        "log": config(raw_watermark="at") + LOG.replace(READ, TIMED),
        "log_of_parts": config(raw_watermark={"column": "at", "within": ["part"]})
        + LOG.replace(READ, TIMED),
        "of_copy": config(raw_watermark="at") + decoded("timed"),
        "batches": VIEW + LOG.replace(f"{READ}", f"{TIMED}, batch='at'"),
        "of_view": on("batches", decoded()),
    },
    steps=(
        Step(
            land=(land("raw", (10, "I", 1, "first", "a", 1), (20, "I", 2, "ahead", "a", 99)),),
            rows={IDS % "log": [(1,), (2,)], IDS % "of_view": [(1,)]},
        ),
        Step(
            land=(land("raw", (30, "I", 3, "after it", "a", 3)),),
            rows={
                **{IDS % log: [(1,), (2,), (3,)] for log in ("log", "log_of_parts", "of_copy")},
                IDS % "of_view": [(1,), (3,)],
            },
        ),
        Step(
            land=(land("raw", (40, "I", 4, "below the last", "a", 2)),),
            rows={
                **{IDS % log: [(1,), (2,), (3,)] for log in ("log", "log_of_parts", "of_copy")},
                IDS % "of_view": [(1,), (3,)],
            },
            look=lambda place: place.log,
        ),
    ),
)

# The log is built again while a run reads it: its rows have other batches then.
BUILT_AGAIN = Scenario(
    "log_built_again",
    models={"log": LOG, "changes": CHANGES},
    steps=(
        Step(land=(land("raw", FIRST[0]),)),
        Step(land=(land("raw", SECOND),), run=("log",)),
        Step(
            run=("changes",),
            meanwhile={
                "changes": {
                    "after": inside.NEW_ROWS_COPIED,
                    "statements": [inside.build_again("log")],
                }
            },
            fails={"changes": "was built again while this run of"},
            rows={"changes": [(1, "first")]},
        ),
        Step(rows={"changes": [(1, "first"), (2, "second")]}),
    ),
)


# Another server has run both models, and Spark here still has an older list of the log's files.
# With another call the model reads all rows up to the last batch again.
def _forget_second_batch(place: Place) -> None:
    table = inside.stored_in(place, "log")
    files = place.sql(f"select distinct _metadata.file_name from {{schema}}.{table} where id = 2")
    paths = [place.folder / table / name for (name,) in files]
    hidden = [path.rename(path.with_name(f"_{path.name}")) for path in paths]
    place.sql(f"refresh table {{schema}}.{table}", f"select * from {{schema}}.{table}")
    for path, now in zip(paths, hidden, strict=True):
        now.rename(path)


OF_ANOTHER_SERVER = Scenario(
    "batch_of_another_server",
    models={"log": LOG, "changes": CHANGES},
    steps=(
        Step(land=(land("raw", FIRST[0]),)),
        Step(land=(land("raw", SECOND),)),
        Step(
            land=(_forget_second_batch,),
            models={"changes": CHANGES.replace("'note': 'string'", "'note': 'varchar(20)'")},
            run=("changes",),
            rows={"changes": [(1, "first"), (2, "second")]},
        ),
    ),
)


WRONG = Scenario(
    "wrong_logs",
    models={
        "log": LOG,
        "a_table": config(materialized="table") + LOG,
        "a_view": VIEW + LOG,
        "kept": LOG.replace(") }}", ", batch='landed') }}"),
        "unknown": BATCHES.replace("landed'", "arrived'"),
        "number": BATCHES.replace("'landed'", "1"),
        "changes": decoded(),
        "read": CHANGES,
    },
    steps=(
        Step(
            land=(land("raw", *FIRST),),
            fails={
                "a_table": "is a table, and it has no batch",
                "a_view": "is a view, and it has no batch",
                "kept": "is a cdc_incremental, and batch is landed",
                "unknown": "batch names the column arrived",
                "number": "batch is 1",
            },
        ),
        Step(
            models={"changes": CHANGES, "read": decoded()},
            run=("log", "changes", "read"),
            fails={
                "changes": "has raw rows of its own, and now reads a raw log",
                "read": "has read a raw log, and now reads another relation",
            },
            rows={"changes": [(1, "first")], "read": [(1, "first")]},
        ),
        Step(
            run=("log", "changes", "read"),
            full_refresh=True,
            rows={"changes": [(1, "first")], "read": [(1, "first")]},
        ),
        Step(run=("log", "changes", "read"), rows={"changes": [(1, "first")]}),
    ),
)

SCENARIOS = (
    *(SHARED, ROUTED, KEPT_LANDING, WRONG_CLOCK, HALF),
    *(BUILT_AGAIN, OF_ANOTHER_SERVER, WRONG),
)
