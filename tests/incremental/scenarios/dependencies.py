"""Dependencies of decoders between raw rows; the decoders are in macros/decoders.sql."""

from __future__ import annotations

from incremental import inside
from incremental.scenario import CURRENT, VIEW, Scenario, Step, config, land, quarantined

_EVENTS = "select id, note from {schema}.changes order by id"
_REFUSED = (
    "select cast(get_json_object(raw, '$.id') as int), reason from {schema}.bad order by 1, 2"
)
# The events that the last run of the model wrote.
_WRITTEN = (
    "select id from {schema}.changes"
    " where cdc_batch = (select max(cdc_batch) from {schema}.changes) order by id"
)


def _base(**notes: str) -> str:
    """Write a look-up again: the notes of ids."""
    values = ", ".join(f"({key[1:]}, '{note}')" for key, note in notes.items())
    return f"insert overwrite {{schema}}.base select * from values {values} as base (id, note)"


def _answered(part: str = "a", base: str = "base") -> str:
    return (
        f"{{{{ steps.answered(source('landing', 'raw'), '{part}', source('landing', '{base}'),"
        " as_of=var('looked_up_as_of', 5)) }}"
    )


_BASE = (
    "drop table {schema}.base",
    "create table {schema}.base (id bigint, note string) using parquet",
)
LOOKED_UP = Scenario(
    "looked_up",
    raw=("raw", "base", "other"),
    setup=(
        *_BASE,
        "drop table {schema}.other",
        "create view {schema}.other as select id, upper(note) as note from {schema}.base",
    ),
    models={
        "changes": _answered(),
        "bad": quarantined(),
        "current": CURRENT,
    },
    steps=(
        Step(
            land=(
                _base(_1="one"),
                land(
                    "raw",
                    (1, "U", 1, None, "a", 1),
                    (2, "U", 2, None, "a", 1),
                    (3, "U", 3, None, "a", 9),
                    (4, "U", 4, None, "b", 1),
                ),
            ),
            rows={_EVENTS: [(1, "one")], _REFUSED: [(2, "unanswered"), (3, "waiting")]},
        ),
        # a new row of a look-up affects only the key that waited for it
        Step(
            land=(_base(_1="another", _2="two"),),
            rows={
                _EVENTS: [(1, "one"), (2, "two")],
                _REFUSED: [(3, "waiting")],
                _WRITTEN: [(2,)],
                "current": [(1, "one"), (2, "two")],
            },
        ),
        # an unchanged look-up affects no key
        Step(rows={_EVENTS: [(1, "one"), (2, "two")], _WRITTEN: [(2,)]}),
        # another value of as_of
        Step(
            vars={"looked_up_as_of": 9},
            land=(_base(_1="another", _2="two", _3="three"),),
            rows={
                _EVENTS: [(1, "one"), (2, "two"), (3, "three")],
                _REFUSED: [],
                _WRITTEN: [(3,)],
            },
        ),
        # with a new row of a key the look-up is asked again
        Step(
            vars={"looked_up_as_of": 9},
            land=(land("raw", (10, "U", 1, None, "a", 1)),),
            rows={
                "current": [(1, "another"), (2, "two"), (3, "three")],
                _EVENTS: [(1, "another"), (2, "two"), (3, "three")],
                _WRITTEN: [(1,)],
            },
        ),
        # another relation
        Step(
            vars={"looked_up_as_of": 9},
            models={"changes": _answered(base="other")},
            rows={
                "current": [(1, "ANOTHER"), (2, "TWO"), (3, "THREE")],
                _WRITTEN: [(1,), (2,), (3,)],
            },
        ),
        # as_of goes back: the key that waited for it does not wait again
        Step(
            land=(land("raw", (20, "U", 3, None, "a", 9)),),
            rows={
                "current": [(1, "ANOTHER"), (2, "TWO"), (3, "THREE")],
                _REFUSED: [],
                _WRITTEN: [(3,)],
            },
        ),
    ),
)

_NOTES = {f"_{key}": f"note {key}" for key in range(1, 8)}
_NOTED = {key: (key, f"note {key}") for key in range(1, 8)}
CONFLICTS = Scenario(
    "conflicts",
    raw=("raw", "base"),
    setup=_BASE,
    models={
        "changes": _answered(),
        "bad": quarantined(),
        "current": CURRENT,
    },
    steps=(
        Step(
            land=(
                _base(**_NOTES),
                land("raw", (1, "U", 1, None, "a", 1), (2, "U", 3, None, "a", 1)),
                land("raw", (3, "U", 2, None, "a", 1), transaction="x"),
                land("raw", (4, "U", 6, None, "a", 1), (5, "U", 7, None, "a", 1), transaction="y"),
            ),
            rows={
                _EVENTS: [_NOTED[1], _NOTED[2], _NOTED[3]],
                _REFUSED: [(6, "conflict"), (7, "conflict")],
            },
        ),
        # id 5 conflicts with id 2; the row of id 7 still keeps the first row of id 6 in quarantine
        Step(
            land=(
                land("raw", (6, "U", 5, None, "a", 1), transaction="x"),
                land("raw", (7, "U", 6, None, "a", 1)),
            ),
            rows={
                _EVENTS: [_NOTED[1], _NOTED[3], _NOTED[6]],
                _REFUSED: [(2, "conflict"), (5, "conflict"), (6, "conflict"), (7, "conflict")],
                "current": [_NOTED[1], _NOTED[3], _NOTED[6]],
                _WRITTEN: [(6,)],
            },
        ),
        # a row without a group, in quarantine because of an identity that others share
        Step(
            land=("insert into {schema}.raw (part, header__transaction_id) values ('a', 'z')",),
            rows={
                _EVENTS: [_NOTED[1], _NOTED[3], _NOTED[6]],
                "select reason from {schema}.bad where raw like '%\"z\"%'": [("no_id",)],
            },
        ),
        # after this row everything is decoded
        Step(
            land=(land("raw", (8, "*", 1, None, "a", 1)),),
            rows={
                _EVENTS: [(key, f"note {key}*") for key in (1, 3, 6)],
                "current": [(key, f"note {key}*") for key in (1, 3, 6)],
                _WRITTEN: [(1,), (3,), (6,)],
            },
        ),
    ),
)

# The rows of another part were never stored, and are below the watermark.
OTHER_PART = Scenario(
    "other_part",
    raw=("raw", "base"),
    setup=_BASE,
    models={"changes": config(raw_watermark="landed") + _answered()},
    steps=(
        Step(
            land=(
                _base(**_NOTES),
                land("raw", (1, "U", 1, None, "a", 2), (2, "U", 2, None, "b", 1)),
            ),
            rows={_EVENTS: [_NOTED[1]]},
        ),
        Step(models={"changes": config(raw_watermark="landed") + _answered("b")}),
        Step(
            land=(land("raw", (3, "U", 3, None, "b", 2), (4, "U", 4, None, "a", 2)),),
            rows={_EVENTS: [_NOTED[2], _NOTED[3]]},
        ),
    ),
)

_NUMBERED = "{{ steps.numbered(source('landing', 'raw')) }}"
_OPERATIONS = "select id, note, cdc_operation from {schema}.changes order by 1, cdc_sequence"
WITHOUT_DEPENDENCIES = Scenario(
    "without_dependencies",
    raw=("raw", "base"),
    setup=_BASE,
    models={
        "changes": _NUMBERED,
        "bad": quarantined(),
        "passed_on": VIEW + "select * from {{ ref('changes') }}",
        "current": CURRENT.replace("changes", "passed_on"),
        "asked": "{{ steps.numbered(source('landing', 'raw'), source('landing', 'base')) }}",
    },
    steps=(
        Step(
            land=(
                _base(_2="asked"),
                land("raw", (5, "U", 1, "later", "a", 1), (6, "?", 1, None, "a", 1)),
            ),
            rows={_OPERATIONS: [(1, "later", "insert")], _REFUSED: [(1, "bad_operation")]},
        ),
        # a row before others changes their events
        Step(
            land=(land("raw", (2, "U", 1, "first", "a", 1), (3, "U", 2, "other", "a", 1)),),
            rows={
                _OPERATIONS: [
                    (1, "first", "insert"),
                    (1, "later", "update"),
                    (2, "other", "insert"),
                ],
                "select detail from {schema}.bad": [("row 3",)],
                "current": [(1, "later"), (2, "other")],
                "asked": [(1, "first"), (1, "later"), (2, "asked")],
            },
        ),
        Step(
            land=(_base(_1="all", _2="asked"),),
            rows={_WRITTEN: [(1,), (1,), (2,)], "asked": [(1, "all"), (1, "all"), (2, "asked")]},
        ),
    ),
)


def _noted(by: str = "id") -> str:
    """Give the body of a model that watermarks its raw relation, and reads another one."""
    call = f"steps.noted(source('landing', 'rows'), source('landing', 'notes'), by='{by}')"
    return f"{config(raw_watermark='landed')}{{{{ {call} }}}}"


def _note(key: int, note: str) -> str:
    return f"insert into {{schema}}.notes (more, id, note) values (now(), {key}, '{note}')"


_AS_VIEW = (
    "create or replace view {schema}.rows as select * except (landed), landed from {schema}.raw"
)
# A raw relation and another one, whose rows arrive and leave by themselves.
TWO_INPUTS = Scenario(
    "two_inputs",
    raw=("raw", "rows", "notes"),
    setup=(
        "drop table {schema}.notes",
        "create table {schema}.notes (more timestamp, id bigint, note string) using parquet",
        "drop table {schema}.rows",
        _AS_VIEW,
    ),
    models={
        "changes": _noted(),
        "bad": quarantined(),
        "current": CURRENT,
    },
    steps=(
        Step(
            land=(
                land("raw", (1, "U", 1, None, "a", 5), (2, "U", 2, None, "a", 5)),
                land("raw", (3, "?", 1, None, "a", 5)),
                _note(2, "two"),
            ),
            rows={_EVENTS: [(1, None), (2, "two")], _REFUSED: [(1, "bad_operation")]},
        ),
        # after its row; before its row; the watermark is of the other relation
        Step(
            land=(_note(1, "one"), _note(3, "three"), _note(1, "a")),
            rows={
                _EVENTS: [(1, "one"), (2, "two")],
                _REFUSED: [(1, "bad_operation")],
                _WRITTEN: [(1,)],
                "current": [(1, "one"), (2, "two")],
            },
        ),
        # nothing is new
        Step(rows={_EVENTS: [(1, "one"), (2, "two")], _WRITTEN: [(1,)]}),
        # rows that were read leave, of both
        Step(
            land=(
                "truncate table {schema}.raw",
                "truncate table {schema}.notes",
                land("raw", (4, "U", 3, None, "a", 6), (5, "?", 3, None, "a", 6)),
            ),
            rows={
                _EVENTS: [(1, "one"), (2, "two"), (3, "three")],
                _REFUSED: [(1, "bad_operation"), (3, "bad_operation")],
                _WRITTEN: [(3,)],
            },
        ),
        # other groups: what was read is kept in them
        Step(
            models={"changes": _noted("key")},
            land=(_note(2, "zwei"),),
            rows={_EVENTS: [(1, "one"), (2, "zwei"), (3, "three")]},
        ),
        # a raw column that is wider
        Step(
            land=(_AS_VIEW.replace(", landed from", ", cast(landed as bigint) as landed from"),),
            rows={_EVENTS: [(1, "one"), (2, "zwei"), (3, "three")]},
        ),
        Step(
            land=(_note(3, "x"), land("raw", (6, "U", 2, None, "a", 7))),
            rows={
                _EVENTS: [(1, "one"), (2, "zwei"), (2, "zwei"), (3, "x")],
                "current": [(1, "one"), (2, "zwei"), (3, "x")],
            },
        ),
        Step(
            full_refresh=True,
            rows={_EVENTS: [(2, "zwei"), (3, "x")], _REFUSED: [(3, "bad_operation")]},
        ),
    ),
)


def _twice(note: str) -> str:
    """Write a look-up again: the note of id 2, in two rows."""
    return f"insert overwrite {{schema}}.base select 2L, '{note}' from range(2)"


# Without dependencies every row is decoded again if a look-up has other rows, and otherwise none.
# Two equal rows that are replaced by two others are other rows, too.
WITH_LOOK_UP = Scenario(
    "with_look_up",
    raw=("raw", "base"),
    setup=_BASE,
    models={
        "changes": "{{ steps.described(source('landing', 'raw'), source('landing', 'base')) }}",
        "bad": quarantined(),
    },
    steps=(
        Step(
            land=(
                _base(_1="one"),
                land("raw", (1, "U", 1, None, "a", 1), (2, "U", 2, None, "a", 1)),
            ),
            rows={_EVENTS: [(1, "one")], _REFUSED: [(2, "no_note")]},
            look=inside.files_of_quarantine,
        ),
        Step(rows={_EVENTS: [(1, "one")]}, look=inside.files_of_quarantine),
        Step(
            land=(_twice("two"),),
            rows={_EVENTS: [(2, "two")], _REFUSED: [(1, "no_note")]},
        ),
        Step(
            land=(_twice("second"),),
            rows={_EVENTS: [(2, "second")], _REFUSED: [(1, "no_note")]},
            look=inside.files_of_quarantine,
        ),
        Step(rows={_EVENTS: [(2, "second")]}, look=inside.files_of_quarantine),
    ),
)

SCENARIOS = (LOOKED_UP, WITH_LOOK_UP, CONFLICTS, OTHER_PART, WITHOUT_DEPENDENCIES, TWO_INPUTS)
