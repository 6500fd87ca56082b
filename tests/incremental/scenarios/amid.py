"""Writes in the middle of a run on Iceberg and Delta."""

from __future__ import annotations

from typing import Any

from incremental import inside
from incremental.scenario import CURRENT, Place, Scenario, Step, config, decoded, land

FIRST = (land("raw", (10, "I", 1, "first", "a", 1)),)
SECOND = (land("raw", (20, "I", 2, "second", "a", 1)),)
TWO = [(1, "first"), (2, "second")]


def upkeep(table_format: str) -> list[str]:
    if table_format == "delta":
        return ["optimize {schema}.changes"]
    return [
        "call spark_catalog.system.rewrite_data_files(table => '{schema}.changes',"
        " options => map('rewrite-all', 'true'))",
        "call spark_catalog.system.expire_snapshots(table => '{schema}.changes',"
        " older_than => timestamp '2100-01-01 00:00:00')",
    ]


SAID = "was written while this run worked"


def amid(table_format: str) -> Scenario:
    """The last statement of a run whose lock was broken stops a run; maintenance does not.

    On Delta the table's log ends with twenty entries that do not change its rows.
    """
    own, is_delta = config(file_format=table_format), table_format == "delta"
    write = "update {} set note = note where id = 1"
    sets = "alter table {} set tblproperties ('team' = 'us')"
    changes, current = "{schema}.changes", "{schema}.current"

    def then(point: str, *statements: str) -> dict[str, Any]:
        return {"after": point, "statements": statements}

    def raw_rows_written(place: Place) -> dict[str, Any]:
        kept = inside.raw_rows(place, "changes")
        return then(inside.NEW_ROWS_FOUND, write.format(f"{{schema}}.{kept}"))

    def fill_log(place: Place) -> None:
        log = place.sql(f"describe history {changes}")
        since = [row[4] not in ("SET TBLPROPERTIES", "OPTIMIZE") for row in log].index(True)
        place.sql(*[sets.format(changes)] * (19 - since))

    def look(place: Place) -> dict[str, Any]:
        kept = place.rows(inside.raw_rows(place, "changes"))
        return {"locks": inside.locks(place), "kept": kept}

    last = {"changes": then(inside.NEW_ROWS_COPIED, sets.format(changes))} if is_delta else {}
    third = land("raw", (30, "I", 3, "third", "a", 1))
    return Scenario(
        "amid",
        models={"changes": own + decoded(), "current": own + CURRENT},
        steps=(
            Step(land=FIRST),
            Step(
                land=SECOND,
                run=("changes",),
                meanwhile={"changes": then(inside.NEW_ROWS_COPIED, write.format(changes))},
                fails={"changes": SAID},
                look=look,
            ),
            Step(
                run=("changes",),
                meanwhile={"changes": raw_rows_written},
                fails={"changes": SAID},
                look=look,
            ),
            Step(
                meanwhile={
                    "changes": then(inside.NEW_ROWS_COPIED, *upkeep(table_format)),
                    "current": then(inside.KEYS_KNOWN, write.format(current)),
                },
                fails={"current": SAID},
                rows={"changes": TWO},
                look=look,
            ),
            Step(
                land=(third, fill_log) if is_delta else (),
                run=None if is_delta else ("current",),
                meanwhile={**last, "current": then(inside.KEYS_KNOWN, sets.format(current))},
                rows=dict.fromkeys(
                    ("changes", "current"), [*TWO, (3, "third")] if is_delta else TWO
                ),
                look=look,
            ),
        ),
    )
