"""Columns that come, go or change their type, and edits that fail."""

from __future__ import annotations

from incremental.scenario import CURRENT, Scenario, Step, columns_of, decoded, land, sequence

_ALL = "{{ spark_cdc.qlik_change_table(source('landing', 'raw'), key=['id']) }}"
# of so many fields Spark does not describe all
_WIDE = f"struct<{', '.join(f'f{number}: int' for number in range(30))}>"
_MADE_AGAIN = {
    **{"part": "varchar(30)", "wide": _WIDE},
    **{"extra": "date", "code": "char(2)", "tags": "array<int>"},
}


def _make_again(raw: str, **types: str) -> tuple[str, str]:
    columns = columns_of(**types)
    return (
        f"drop table {{schema}}.{raw}",
        f"create table {{schema}}.{raw} ({columns}) using parquet",
    )


NEW_COLUMN = Scenario(
    "new_column",
    setup=(f"alter table {{schema}}.raw add columns (wide {_WIDE})",),
    models={"changes": _ALL, "current": CURRENT},
    steps=(
        Step(land=(land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "b", 1)),)),
        Step(
            land=(
                *_make_again("raw", **_MADE_AGAIN),
                f"insert into {{schema}}.raw select '{sequence(30)}', 'U', null, null, 2, 'second',"
                " 'more than nine letters', 2, null, date'2026-01-01', 'c', array(1)",
            ),
            rows={
                "select id, part, cast(extra as string), code from {schema}.current order by id": [
                    (1, "a", None, None),
                    (2, "more than nine letters", "2026-01-01", "c "),
                ]
            },
        ),
        Step(
            models={"changes": decoded().replace("bigint", "string")},
            fails={
                "changes": "has the column id of type bigint, which is now string; and part, which"
            },
        ),
        Step(options=("--full-refresh",), rows={"current": [("2", "second")]}),
    ),
)

# A longer varchar is fine, as in the scenario above; these types are others.
OTHER_TYPE = Scenario(
    "other_type",
    setup=_make_again("raw", **_MADE_AGAIN),
    models={"changes": decoded()},
    steps=(
        Step(),
        *(
            Step(
                land=_make_again("raw", **_MADE_AGAIN | {column: after}),
                fails={"changes": f"the column {column} of type {before}, which is now {after}"},
            )
            for column, before, after in (
                ("code", "char(2)", "char(3)"),
                ("landed", "int", "bigint"),
                ("tags", "array<int>", "array<bigint>"),
            )
        ),
        Step(land=_make_again("raw"), fails={"changes": "have the column wide, which"}),
    ),
)

_TWO = [(1, "first"), (2, "second")]
FAILED_EDIT = Scenario(
    "failed_edit",
    models={"changes": decoded()},
    steps=(
        Step(land=(land("raw", (1, "I", 1, "first", "a", 1)),)),
        Step(
            land=(land("raw", (2, "I", 2, "second", "a", 1)),),
            models={"changes": decoded().replace("'string'}", "'string', 'part': 'string'}")},
            properties={
                "changes": {
                    "config": {"contract": {"enforced": True}},
                    "columns": [{"name": "id", "data_type": "string"}],
                }
            },
            fails={"changes": "contract"},
        ),
        Step(models={"changes": decoded()}, properties={"changes": {}}, rows={"changes": _TWO}),
        # columns in another order, and an update whose before image the model knows
        Step(
            models={"changes": decoded(columns="{'note': 'string', 'id': 'bigint'}")},
            land=(land("raw", (3, "U", 2, "third", "a", 2), (3, "B", 2, "second", "a", 2)),),
            rows={"changes": [*_TWO, (2, "third")]},
        ),
    ),
)

SCENARIOS = (NEW_COLUMN, OTHER_TYPE, FAILED_EDIT)
