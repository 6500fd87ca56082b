"""Columns that are added, removed or change their type, and edits that fail."""

from __future__ import annotations

from incremental.scenario import (
    CURRENT,
    HISTORY,
    Scenario,
    Step,
    columns_of,
    config,
    decoded,
    land,
    quarantined,
    sequence,
)

_ALL = "{{ spark_cdc.qlik_change_table(source('landing', 'raw'), key=['id']) }}"
# Spark does not describe all of so many fields
_WIDE = f"struct<{', '.join(f'f{number}: int' for number in range(30))}>"
_MADE_AGAIN = {
    **{"part": "varchar(30)", "wide": _WIDE},
    **{"extra": "date", "code": "char(2)", "tags": "array<int>"},
}
_TYPED = _MADE_AGAIN | {"amount": "decimal(12,2)"}


def _make_again(raw: str, **types: str) -> tuple[str, str]:
    columns = columns_of(**types)
    return (
        f"drop table {{schema}}.{raw} purge",  # otherwise Iceberg's catalog leaves the files
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

# A longer varchar is accepted, as in the scenario above, and so are wider types, as in the one
# below.
OTHER_TYPE = Scenario(
    "other_type",
    setup=_make_again("raw", **_TYPED),
    models={"changes": decoded()},
    steps=(
        Step(),
        *(
            Step(
                land=_make_again("raw", **_TYPED | {column: after}),
                fails={"changes": f"the column {column} of type {before}, which is now {after}"},
            )
            for column, before, after in (
                ("code", "char(2)", "char(3)"),
                ("landed", "int", "float"),
                ("amount", "decimal(12,2)", "decimal(14,1)"),
                ("extra", "date", "timestamp"),
                ("tags", "array<int>", "array<float>"),
            )
        ),
        Step(land=_make_again("raw"), fails={"changes": "have the column wide, which"}),
    ),
)

_NARROW = {
    **{"small": "tinyint", "amount": "decimal(12,2)", "ratio": "float", "number": "int"},
    **{"tags": "array<int>", "deep": "struct<a: smallint, b: array<decimal(3,1)>>"},
    "wide": _WIDE.replace("f29: int", "f29: float"),
}
_WIDER = {
    **{
        "small": "smallint",
        "amount": "decimal(14,4)",
        "ratio": "double",
        "number": "decimal(14,2)",
    },
    **{"tags": "array<bigint>", "deep": "struct<a: int, b: array<decimal(5,2)>>"},
    **{"landed": "bigint", "wide": _WIDE.replace("f29: int", "f29: double"), "more": "char(3)"},
}
_WIDEST = _WIDER | {
    **{"small": "double", "amount": "decimal(38,6)", "number": "decimal(20,2)"},
    **{"landed": "decimal(19,0)", "tags": "array<decimal(20,1)>"},
}


def _narrow_row(place: int, oper: str, small: int) -> str:
    wide = ", ".join(f"'f{number}', {number}" for number in range(29))
    return (
        f"select '{sequence(place)}', '{oper}', null, null, {place}, 'narrow', 'a', {place},"
        f" {small}Y, 12.50BD, 0.1F, 7, array(1, null), named_struct('a', 1S, 'b', array(1.5BD)),"
        f" named_struct({wide}, 'f29', 0.1F)"
    )


def _wide_row(place: int) -> str:
    return (
        f"select '{sequence(place)}', 'I', null, null, {place}, 'wide', 'a', {2**40 + place}, 300S,"
        " 1234567890.1234BD, 0.1D, 1.25BD, array(5000000000), named_struct('a', 70000, 'b',"
        " array(123.45BD)), null, 'abc'"
    )


def _insert(raw: str, *selects: str) -> str:
    return f"insert into {{schema}}.{raw} {' union all '.join(selects)}"


_SAME = (
    "select * from (select * except (cdc_batch) from {schema}.changes except all select * except"
    " (cdc_batch) from {schema}.whole)"
)
_OLD = (_narrow_row(10, "I", 5), _narrow_row(20, "?", -5), _narrow_row(20, "?", -5))
_SIZES = (
    "select typeof(small), typeof(amount), typeof(number), typeof(landed), typeof(tags),"
    " cast(max(amount) as string), max(landed) > 2147483647 from {schema}.current group by all"
)


def _bad(number: int) -> dict[str, list[tuple[int]]]:
    """The number of quarantined rows of each model; a repeated row is recognised as a wider row."""
    count = "select count(*) from {schema}."
    return {f"{count}{model}": [(number,)] for model in ("bad", "bad_since")}


def wider(table_format: str = "parquet") -> Scenario:
    """Columns become wider, while rows that were read stay, leave and are delivered again."""
    own = config(file_format=table_format)
    # in a metastore in memory, which only tests have, a partitioned Delta table fails if it is
    # created with other types for the second time
    histories = ("history",) if table_format != "delta" else ()
    rerun = ("changes", "since", "current", *histories)
    return Scenario(
        "wider",
        setup=_make_again("raw", **_NARROW),
        models={
            "changes": own + _ALL,
            "since": config(file_format=table_format, raw_watermark="landed") + _ALL,
            "bad": quarantined(),
            "bad_since": quarantined("since"),
            "current": own + CURRENT,
            **dict.fromkeys(histories, own + HISTORY),
            "whole": config(materialized="table", file_format=table_format) + _ALL,
        },
        steps=(
            Step(land=(_insert("raw", *_OLD),), rows={**_bad(2), _SAME: []}),
            # the raw relation has the rows that were read with the wider types, and one row is late
            Step(
                land=(
                    *_make_again("raw", **_WIDER),
                    "insert into {schema}.raw select *, null from ("
                    + " union all ".join([*_OLD, _narrow_row(20, "?", -5)])
                    + ")",
                    _insert("raw", _wide_row(30)),
                ),
                rows={**_bad(3), _SAME: [], "current": [(10, "narrow"), (30, "wide")]},
            ),
            # wider types without new rows; rows that a run has read may have left
            Step(
                land=(
                    *_make_again("raw", **_WIDEST),
                    "insert into {schema}.raw select *, null from ("
                    + " union all ".join(_OLD[1:])
                    + ")",
                ),
                run=rerun,
                rows={
                    **_bad(3),
                    "current": [(10, "narrow"), (30, "wide")],
                    **{name: [(10, "narrow"), (30, "wide")] for name in histories},
                    _SIZES: [
                        (
                            *("double", "decimal(38,6)", "decimal(20,2)", "decimal(19,0)"),
                            *("array<decimal(20,1)>", "1234567890.123400", True),
                        )
                    ],
                },
            ),
            Step(run=rerun, rows=_bad(3)),
            Step(
                land=_make_again("raw", **_WIDEST | {"landed": "bigint"}),
                run=("changes", "bad", "current"),
                fails={
                    "changes": "the column landed of type decimal(19,0), which is now bigint",
                    "bad": "the column landed of type decimal(19,0), which is now bigint",
                },
                rows={"current": [(10, "narrow"), (30, "wide")]},
            ),
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

SCENARIOS = (NEW_COLUMN, OTHER_TYPE, wider(), FAILED_EDIT)
