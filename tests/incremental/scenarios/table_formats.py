"""Scenarios on Iceberg and Delta."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from incremental import inside
from incremental.scenario import (
    CURRENT,
    HISTORY,
    Place,
    Scenario,
    Step,
    config,
    decoded,
    land,
    quarantined,
)
from incremental.scenarios.amid import FIRST, SECOND, TWO, amid
from incremental.scenarios.columns import wider


def empty_text(table_format: str) -> Scenario:
    """Delta stores NULL for an empty text in a partition; a run stops, also after that."""
    said = {} if table_format == "iceberg" else {"changes": "which has '' in it"}
    by_note = config(file_format=table_format, partition_by=["note"])
    return Scenario(
        "empty_text",
        models={"changes": by_note + decoded().replace("['id']", "['note']")},
        steps=(Step(land=(land("raw", (10, "I", 1, "", "a", 1)),), fails=said), Step(fails=said)),
    )


def small_integers() -> Scenario:
    """A new column is added next to them; Iceberg has no integer smaller than int."""
    columns = "{'id': 'smallint', 'part': 'tinyint'"
    own = config(file_format="iceberg")
    return Scenario(
        "small_integers",
        setup=("alter table {schema}.raw add columns (small smallint)",),
        models={"changes": own + decoded(columns=columns + "}"), "current": own + CURRENT},
        steps=(
            Step(land=(land("raw", (10, "I", 1, "first", "1", 1)),)),
            Step(
                models={"changes": own + decoded(columns=columns + ", 'note': 'string'}")},
                land=(
                    "alter table {schema}.raw add columns (extra tinyint)",
                    land("raw", (20, "I", 2, "second", "2", 1)),
                ),
                rows={
                    "select id, part, note from {schema}.current order by id": [
                        (1, 1, "first"),
                        (2, 2, "second"),
                    ]
                },
            ),
        ),
    )


def _rows_read(place: Place) -> int:
    return int(
        place.sql(f"select count(*) from {{schema}}.{inside.raw_rows(place, 'changes')}")[0][0]
    )


def bad_row_with(tags: str) -> str:
    return (
        "insert into {schema}.raw select '20260101000000' || lpad('3', 21, '0'), '?', null, null,"
        f" 3, 'bad', 'a', 1, {tags}, timestamp'2026-01-01 00:00:00Z'"
    )


# An additional column does not change old rows. Rows that differ in a null within an array are two
# rows, although Spark's hashes ignore it. A quarantined row is recognised in each time zone. The
# server has its own zone; in the last step the session has another one.
MORE_COLUMNS = Scenario(
    "more_columns",
    models={"changes": decoded(), "bad": quarantined()},
    steps=(
        Step(land=(*FIRST, land("raw", (20, "?", 2, "bad", "a", 1)))),
        Step(
            land=(
                "alter table {schema}.raw add columns (tags array<string>, at timestamp)",
                bad_row_with("array()"),
            ),
            rows={"select count(*) from {schema}.bad": [(2,)]},
            look=_rows_read,
        ),
        Step(run=()),
        Step(
            land=("truncate table {schema}.raw", bad_row_with("array(null)")),
            session={"spark.sql.session.timeZone": "Europe/Paris"},
            rows={"select count(*) from {schema}.bad": [(3,)]},
            look=_rows_read,
        ),
    ),
)


class Unread:
    """Files that are missing in a later run: of change events, raw rows, and closed versions."""

    def __init__(self, root: str) -> None:
        self.root, self.parts = root, list[Path]()

    def note(self, place: Place) -> int:
        own = place.folder
        self.parts = [
            part
            for folder in (Path(self.root, "changes"), *inside.folders_of_raw_rows(own, "changes"))
            for part in folder.glob("**/*.parquet")
            if "_delta_log" not in part.parts
        ]
        closed = files_of(place, "history", "not cdc_is_current")
        self.parts += [Path(unquote(urlsplit(name).path)) for (name,) in closed]
        return len(closed)

    def hide(self, _: Place) -> None:
        for part in self.parts:
            part.rename(part.with_suffix(".gone"))

    def show(self, place: Place) -> dict[str, Any]:
        for part in self.parts:
            part.with_suffix(".gone").rename(part)
        rows = {model: place.rows(model) for model in ("changes", "history")}
        return {"rows": rows, "hidden": len(self.parts), **files_now(place)}


def files_of(place: Place, model: str, where: str = "true") -> list[tuple[str]]:
    """Name the files from which rows are read; on Delta the folder does not tell."""
    rows = f"{{schema}}.{model} where {where} order by 1"
    return place.sql(f"select distinct input_file_name() from {rows}")


def files_now(place: Place) -> dict[str, Any]:
    return {"files": files_of(place, "changes"), "marked": inside.with_deletion_vectors(place)}


def unread(table_format: str, root: str) -> Scenario:
    """In the last of three runs the files of the first are missing; it does not need them."""
    own = config(file_format=table_format, raw_watermark="landed", location_root=root)
    files = Unread(root)
    return Scenario(
        "unread",
        models={"changes": own + decoded(), "history": own + HISTORY},
        steps=(
            Step(
                land=(land("raw", (10, "I", 1, "first", "a", 1), (20, "U", 1, "second", "a", 1)),),
                look=files.note,
            ),
            Step(land=(land("raw", (30, "U", 1, "third", "a", 2)),)),
            Step(
                land=(
                    files.hide,
                    land("raw", (40, "U", 1, "fourth", "a", 3), (50, "I", 2, "first", "a", 3)),
                ),
                look=files.show,
            ),
            Step(
                land=(land("raw", (20, "U", 1, "another", "a", 4)),),
                run=("changes",),
                rows={
                    "changes": [(1, "first"), (1, "fourth"), (1, "third"), (2, "first")],
                },
                look=files_now,
            ),
        ),
    )


def other_key(table_format: str, root: str) -> Scenario:
    """The column that was the key is missing."""
    own = config(file_format=table_format, raw_watermark="landed", location_root=root)
    other = decoded(columns="{'note': 'string'}").replace("['id']", "['note']")
    return Scenario(
        "other_key",
        models={"changes": own + decoded()},
        steps=(
            Step(land=FIRST),
            Step(models={"changes": own + other}, full_refresh=True),
            Step(
                land=(land("raw", (60, "I", 2, "fifth", "a", 5)),),
                rows={
                    "select note from {schema}.changes order by cdc_sequence": [
                        ("first",),
                        ("fifth",),
                    ]
                },
            ),
        ),
    )


def moves(table_format: str) -> Scenario:
    """From parquet to another format and back. Spark made the view without Iceberg's catalog."""
    is_iceberg = table_format == "iceberg"
    remade = [partial(inside.make_view_again, model="changes")] * is_iceberg
    rows = {"changes": [*TWO, (3, "third")] if is_iceberg else TWO}

    def look(place: Place) -> str:
        return inside.file_format(place, "changes")

    return Scenario(
        "moves",
        models={"changes": decoded()},
        steps=(
            Step(land=(*FIRST, *SECOND)),
            Step(
                land=(*remade, land("raw", (30, "I", 3, "third", "a", 1))) if is_iceberg else (),
                run=None if is_iceberg else (),
                rows=rows,
            ),
            Step(
                land=remade,
                models={"changes": config(file_format=table_format) + decoded()},
                fails={"changes": f"is stored as parquet, and file_format is {table_format}"},
                rows=rows,
            ),
            Step(full_refresh=True, rows=rows, look=look),
            Step(
                models={"changes": config(file_format="parquet") + decoded()},
                full_refresh=True,
                rows=rows,
                look=look,
            ),
        ),
    )


def scenarios(table_format: str, root: str) -> list[Scenario]:
    return [
        *(empty_text(table_format), unread(table_format, root + "/unread")),
        *(other_key(table_format, root + "/other_key"), moves(table_format), amid(table_format)),
        *([small_integers()] if table_format == "iceberg" else []),
        MORE_COLUMNS,
        wider(table_format),
    ]
