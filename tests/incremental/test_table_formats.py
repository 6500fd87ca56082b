"""Incremental models on Iceberg and Delta: what each format does in its own way.

Some of it is not to be seen in rows: which files a run reads, and which it writes again. As in
`test_inside.py` the names of what is inside come from `inside.py`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from kit.warehouse import Warehouse

from incremental import inside
from incremental.stepping import (
    CURRENT,
    HISTORY,
    Place,
    Plan,
    Scenario,
    Step,
    Stepping,
    config,
    decoded,
    land,
)

FIRST = (land("raw", (10, "I", 1, "first", "a", 1)),)
SECOND = (land("raw", (20, "I", 2, "second", "a", 1)),)
TWO = [(1, "first"), (2, "second")]


def empty_text(table_format: str) -> Scenario:
    """Delta stores NULL for it in a partition; also once it has, a run stops."""
    said = {} if table_format == "iceberg" else {"changes": "which has '' in it"}
    by_note = config(file_format=table_format, partition_by=["note"])
    return Scenario(
        "empty_text",
        models={"changes": by_note + decoded().replace("['id']", "['note']")},
        steps=(Step(land=(land("raw", (10, "I", 1, "", "a", 1)),), fails=said), Step(fails=said)),
    )


def small_integers(table_format: str) -> Scenario:
    """A new column comes in beside them; Iceberg has no smaller integer than int."""
    columns = "{'id': 'smallint', 'part': 'tinyint'"
    own = config(file_format=table_format)
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


class Unread:
    """Files that a later run finds gone: of change events, raw rows, and closed versions."""

    def __init__(self, root: str) -> None:
        self.root, self.parts = root, list[Path]()

    def note(self, place: Place) -> int:
        own = place.folder
        self.parts = [
            part
            for folder in (Path(self.root, "changes"), *own.glob("changes__cdc_raw_*"))
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
    """Name the files that rows are read from; folders do not say what is in Delta's."""
    rows = f"{{schema}}.{model} where {where} order by 1"
    return place.sql(f"select distinct input_file_name() from {rows}")


def files_now(place: Place) -> dict[str, Any]:
    return {"files": files_of(place, "changes"), "marked": inside.with_deletion_vectors(place)}


def unread(table_format: str, root: str) -> Scenario:
    """Of three runs the last one finds the files of the first gone, where it can do without."""
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
    """The column that was the key is gone."""
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


def moves_to(table_format: str) -> Scenario:
    """From parquet. On Iceberg's server the view is one that Spark made without its catalog."""
    remade = [partial(inside.make_view_again, model="changes")] * (table_format == "iceberg")
    there = config(file_format=table_format) + decoded()
    return Scenario(
        "moves_to",
        models={"changes": decoded()},
        steps=(
            Step(land=(*FIRST, *SECOND)),
            Step(
                land=(*remade, land("raw", (30, "I", 3, "third", "a", 1))),
                rows={"changes": [*TWO, (3, "third")]},
            ),
            Step(
                land=remade,
                models={"changes": there},
                fails={"changes": "--full-refresh"},
                rows={"changes": [*TWO, (3, "third")]},
            ),
            Step(
                full_refresh=True,
                rows={"changes": [*TWO, (3, "third")]},
                look=lambda place: inside.file_format(place, "changes"),
            ),
        ),
    )


def moves_back(table_format: str) -> Scenario:
    return Scenario(
        "moves_back",
        models={"changes": config(file_format=table_format) + decoded()},
        steps=(
            Step(land=(*FIRST, *SECOND)),
            Step(
                models={"changes": config(file_format="parquet") + decoded()},
                fails={"changes": f"is stored as {table_format}, and file_format is parquet"},
                rows={"changes": TWO},
            ),
            Step(
                full_refresh=True,
                rows={"changes": TWO},
                look=lambda place: inside.file_format(place, "changes"),
            ),
        ),
    )


SAID = "was written while this run worked"


def amid(name: str, table_format: str, fails: str = "", **plans: Plan) -> Scenario:
    """Something is written amid the second run; a run that stops is repeated."""
    own = config(file_format=table_format)
    models = {"changes": own + decoded()}
    if "current" in plans:
        models["current"] = own + CURRENT
    return Scenario(
        name,
        models=models,
        steps=(
            Step(land=FIRST),
            Step(
                land=SECOND,
                meanwhile=plans,
                fails={fails: SAID} if fails else {},
                look=inside.claims,
            ),
            Step(
                run=None if fails else (),
                rows=dict.fromkeys(models, TWO),
                look=lambda place: place.rows(inside.raw_rows(place, "changes")),
            ),
        ),
    )


def upkeep(table_format: str) -> list[str]:
    if table_format == "delta":
        return ["optimize {schema}.changes"]
    return [
        "call spark_catalog.system.rewrite_data_files(table => '{schema}.changes',"
        " options => map('rewrite-all', 'true'))",
        "call spark_catalog.system.expire_snapshots(table => '{schema}.changes',"
        " older_than => timestamp '2100-01-01 00:00:00')",
    ]


def scenarios_amid(table_format: str) -> list[Scenario]:
    """The last statement of a run that was overtaken stops a run; upkeep of a table does not."""
    write = "update {} set note = note where id = 1"

    def then(point: str, *statements: str) -> dict[str, Any]:
        return {"after": point, "statements": statements}

    def raw_rows_written(place: Place) -> dict[str, Any]:
        kept = inside.raw_rows(place, "changes")
        return then(inside.NEW_ROWS_FOUND, write.format(f"{{schema}}.{kept}"))

    changes, current = "{schema}.changes", "{schema}.current"
    return [
        amid(
            "amid_changes",
            table_format,
            fails="changes",
            changes=then(inside.NEW_ROWS_COPIED, write.format(changes)),
        ),
        amid("amid_raw_rows", table_format, fails="changes", changes=raw_rows_written),
        amid(
            "amid_current",
            table_format,
            fails="current",
            current=then(inside.KEYS_KNOWN, write.format(current)),
        ),
        amid(
            "upkeep",
            table_format,
            changes=then(inside.NEW_ROWS_COPIED, *upkeep(table_format)),
            current=then(
                inside.KEYS_KNOWN, f"alter table {current} set tblproperties ('team' = 'us')"
            ),
        ),
    ]


def long_upkeep() -> Scenario:
    """Delta: there are twenty entries in the table's log since its rows were last changed."""
    sets = "alter table {schema}.changes set tblproperties ('team' = 'them')"

    def fill_log(place: Place) -> None:
        log = place.sql("describe history {schema}.changes")
        since = [row[4] not in ("SET TBLPROPERTIES", "OPTIMIZE") for row in log].index(True)
        place.sql(*[sets] * (19 - since))

    return Scenario(
        "long_upkeep",
        models={"changes": config(file_format="delta") + decoded()},
        steps=(
            Step(land=FIRST),
            Step(
                land=(*SECOND, fill_log),
                meanwhile={"changes": {"after": inside.NEW_ROWS_COPIED, "statements": [sets]}},
                rows={"changes": TWO},
            ),
        ),
    )


def scenarios(table_format: str, root: str) -> list[Scenario]:
    return [
        *(empty_text(table_format), unread(table_format, root + "/unread")),
        *(other_key(table_format, root + "/other_key"), small_integers(table_format)),
        *(moves_to(table_format), moves_back(table_format), *scenarios_amid(table_format)),
        *([long_upkeep()] if table_format == "delta" else []),
    ]


@pytest.fixture(scope="module")
def steps(lake: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Stepping:
    home = tmp_path_factory.mktemp(lake.table_format)
    tables = scenarios(lake.table_format, f"{home}/lake")
    # one at a time: a setting of one scenario holds for all clients
    return Stepping(lake, home, "formats", tables, at_a_time=1).run()


SEEN_IN_ROWS = ("empty_text", "other_key", "small_integers", "long_upkeep")


@pytest.mark.parametrize("name", SEEN_IN_ROWS)
def test_scenario(steps: Stepping, lake: Warehouse, name: str) -> None:
    if name == "long_upkeep" and lake.table_format == "iceberg":
        pytest.skip("Iceberg keeps no such log")
    steps.check(name)


def test_what_a_run_need_not_know_is_not_read(steps: Stepping, lake: Warehouse) -> None:
    closed, without, _ = steps.check("unread")
    expected = [(1, note) for note in ("first", "fourth", "second", "third")] + [(2, "first")]
    assert without["rows"] == {"changes": expected, "history": expected}
    assert closed
    assert without["hidden"] >= 3


def test_what_goes_is_marked_and_its_file_stays(steps: Stepping, lake: Warehouse) -> None:
    """Where that can be, Delta lists all files of a table for each plan: only where it is used."""
    _, before, after = steps.check("unread")
    is_delta = lake.table_format == "delta"
    assert after["files"] == before["files"]
    assert before["marked"] == (["history"] if is_delta else [])
    assert after["marked"] == (["changes", "history"] if is_delta else [])


def test_a_model_moves_to_a_table_format_and_back(steps: Stepping, lake: Warehouse) -> None:
    assert steps.check("moves_to") == [lake.table_format]
    assert steps.check("moves_back") == ["parquet"]


@pytest.mark.parametrize("name", ["amid_changes", "amid_raw_rows", "amid_current", "upkeep"])
def test_only_a_write_amid_a_run_stops_it(steps: Stepping, name: str) -> None:
    assert steps.check(name) == [[], TWO]
