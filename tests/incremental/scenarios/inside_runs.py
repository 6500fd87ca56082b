"""Runs that find no new rows, that clean up, and that run after a clock went back."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

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
    sequence,
)

BOTH = {"changes": decoded(), "current": CURRENT}
FIRST_TWO = land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "b", 1))


def look(place: Place) -> dict[str, object]:
    return {
        "made": inside.tables_made(place),
        "there": inside.side_tables(place),
        "stored in": [inside.stored_in(place, model) for model in BOTH],
        "versions": inside.versions(place),
        "locks": inside.locks(place),
    }


OLD = "20260101"
# The view in between has a column of its own.
NOTHING_NEW = Scenario(
    "nothing_new",
    models={
        "changes": decoded(),
        "passed_on": VIEW + "select *, id % 2 as odd from {{ ref('changes') }}",
        "current": applied("current_state", "passed_on"),
    },
    steps=(
        Step(land=(FIRST_TWO,), look=look),
        Step(
            land=(
                f"create table {{schema}}.{inside.left_over('current', 'keys', OLD)}"
                " (id bigint) using parquet",
            ),
            look=look,
        ),
        Step(look=look),
        Step(
            land=(land("raw", (3, "U", 1, "second", "a", 2), (2, "I", 2, "first", "b", 1)),),
            rows={
                "current": [(1, "second"), (2, "first")],
                "select distinct odd from {schema}.current order by odd": [(0,), (1,)],
            },
            look=look,
        ),
    ),
)

# With a type that some selects do not preserve.
PADDED = (
    "(header__change_seq string, header__change_oper string, id bigint, note string, part char(5))"
    " using parquet"
)


def replace_rows(place: int, note: str) -> tuple[str, str]:
    """All raw rows leave, and a good and a bad one land."""
    good = f"('{sequence(place)}', 'I', {place}, '{note}', 'abc')"
    return (
        "truncate table {schema}.raw",
        f"insert into {{schema}}.raw values {good}, ('bad', 'I', 0, '{note}', 'd')",
    )


def raw_table(place: Place) -> str:
    return inside.raw_rows(place, "changes")


SMALL_FILES = Scenario(
    "small_files",
    setup=("drop table {schema}.raw", f"create table {{schema}}.raw {PADDED}"),
    models={"changes": decoded(), "quarantine": quarantined()},
    steps=(
        Step(land=replace_rows(1, "first"), look=raw_table),
        Step(
            land=replace_rows(2, "second"),
            vars={"spark_cdc_internal_additions_before_rewrite": 0},
            rows={"changes": [(1, "first"), (2, "second")]},
            look=raw_table,
        ),
        Step(
            land=replace_rows(1, "in conflict"),
            rows={
                "changes": [(2, "second")],
                "select reason, count(*) from {schema}.quarantine group by 1 order by 1": [
                    ("bad_change_seq", 3),
                    ("sequence_conflict", 2),
                ],
            },
            look=raw_table,
        ),
    ),
)

# The config of the first model replaces an option, and adds another.
ENCODED = Scenario(
    "encoded",
    models={
        "changes": config(options={"Compression": "gzip", "parquet.page.size": "65536"})
        + decoded(),
        "current": CURRENT,
    },
    steps=(
        Step(
            land=(land("raw", (1, "I", 1, "first", "a", 1)),),
            look=lambda place: [inside.encoding(place, model) for model in BOTH],
        ),
    ),
)

BEFORE: set[Path] = set()


def hide_new_files(place: Place) -> int:
    """Make the server list the tables without the files that the run has added."""
    added = set(inside.raw_row_files(place)) - BEFORE
    for file in added:
        file.rename(file.with_name("." + file.name))
    for table in {file.parent.name for file in added}:
        name = f"{{schema}}.{table}"
        place.sql(f"refresh table {name}", f"select * from {name}")
    for file in added:
        file.with_name("." + file.name).rename(file)
    return len({file.parent for file in added})


OTHER_SERVER = Scenario(
    "other_server",
    models=BOTH,
    steps=(
        Step(
            land=(land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "a", 1)),),
        ),
        Step(
            land=(land("raw", (1, "I", 1, "in conflict", "a", 1)),),
            rows={"current": [(2, "first")]},
        ),
        Step(
            land=(
                lambda place: BEFORE.update(inside.raw_row_files(place)),
                land("raw", (2, "I", 2, "in conflict", "a", 1), (3, "I", 3, "third", "a", 1)),
            ),
            run=("changes",),
            rows={"changes": [(3, "third")]},
            look=hide_new_files,
        ),
        Step(
            land=("truncate table {schema}.raw", land("raw", (4, "I", 4, "fourth", "a", 1))),
            rows={
                "changes": [(3, "third"), (4, "fourth")],
                "current": [(3, "third"), (4, "fourth")],
            },
        ),
    ),
)

NOW = datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S%f")
LEFT = [
    inside.left_over("changes", kind, suffix)
    for kind, suffix in (("raw", NOW), ("run", NOW), ("raw", OLD))
]
# Before the first run there are tables as killed runs leave them. In the second run the model is
# built again from all rows that were read, as docs/operations.md describes it.
MADE_AGAIN = Scenario(
    "made_again",
    models={"changes": decoded()},
    steps=(
        Step(
            land=(
                FIRST_TWO,
                *(f"create table {{schema}}.{name} (id int) using parquet" for name in LEFT),
            ),
            look=lambda place: (inside.stored_in(place, "changes"), inside.side_tables(place)),
        ),
        Step(
            land=("truncate table {schema}.raw", inside.forget_fingerprint("changes")),
            rows={"changes": [(1, "first"), (2, "first")]},
            look=lambda place: (inside.stored_in(place, "changes"), inside.side_tables(place)),
        ),
    ),
)

FUTURE = "2999-01-01T00:00:00.000000Z"


def newest(place: Place) -> str:
    return str(place.sql("select max(cdc_batch) from {schema}.changes")[0][0])


def updated(place: int) -> str:
    return land("raw", (place, "U", 1, f"at {place}", "a", 1))


CLOCK = Scenario(
    "clock",
    models=BOTH,
    steps=(
        Step(land=(land("raw", (1, "I", 1, "first", "a", 1)),)),
        Step(
            land=(
                lambda place: inside.ran_at(place, "changes", FUTURE),
                updated(2),
            ),
            rows={"current": [(1, "at 2")]},
            look=newest,
        ),
        Step(land=(updated(3),), rows={"current": [(1, "at 3")]}, look=newest),
        Step(land=(updated(4),), full_refresh=True, rows={"current": [(1, "at 4")]}, look=newest),
    ),
)

# If a batch only retracts an event, its number is in another table.
CLOCK_OF_REPLACED = Scenario(
    "clock_of_retracted",
    models=BOTH,
    steps=(
        Step(land=(land("raw", (1, "I", 1, "first", "a", 1)), updated(3), updated(4))),
        Step(
            land=(land("raw", (4, "U", 1, "in conflict", "a", 1)),),
            run=("changes",),
            look=lambda place: inside.stored_again(
                place, inside.retracted_events("changes"), "3999"
            ),
        ),
        Step(rows={"current": [(1, "at 3")]}),
        Step(land=(updated(5),), rows={"current": [(1, "at 5")]}),
    ),
)

SCENARIOS = (
    *(NOTHING_NEW, SMALL_FILES, ENCODED, OTHER_SERVER, MADE_AGAIN, CLOCK, CLOCK_OF_REPLACED),
)
