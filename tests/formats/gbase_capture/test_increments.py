"""Incremental models of a stream: the state from which a run continues, and retracted events."""

from __future__ import annotations

import struct

import pytest
from incremental import inside
from incremental.scenario import VIEW, Scenario, Step, applied, quarantined
from incremental.stepping import Stepping
from kit.warehouse import Warehouse

from formats.gbase_capture import reference as gbase

RAW = (
    "create table {schema}.chunks (capture_id string, chunk_number int, payload binary)"
    " using parquet"
)
SESSIONS = 2  # the number of sessions whose state is kept


def stream(columns: str) -> str:
    """The body of a model of change events."""
    arguments = f"source('landing', 'chunks'), table_id=7, key=['id'], columns={columns}"
    return f"{{{{ spark_cdc.gbase_capture({arguments}) }}}}"


def land(*chunks: tuple[int | str, int, bytes]) -> str:
    rows = ", ".join(
        f"('{capture}', {number}, X'{payload.hex()}')" for capture, number, payload in chunks
    )
    return f"insert into {{schema}}.chunks values {rows}"


def row(number: int, capture: int, place: int, id_: int) -> bytes:
    return gbase.row(number, 1000 * capture + place, 5, 7, struct.pack(">i", id_))


def begun(capture: int) -> bytes:
    """A transaction that inserts a row whose id is the number of the session."""
    parts = (gbase.schema(7, "id integer", 4, 1, 0), gbase.begin(1000 * capture + 1, 5))
    return b"".join((*parts, row(40, capture, 2, capture)))


def committed(capture: int) -> bytes:
    return gbase.commit(1000 * capture + 9, 5)


EVENTS = "select id, cdc_before.id from {schema}.changes order by cdc_sequence"
BAD = "select * from {schema}.bad"
CHANGES = stream("{'id': 'int'}")
UPDATE = row(42, 1, 3, 1)

# The second run is killed; it has read a chunk without its beginning.
KILLED = Scenario(
    "killed",
    raw=("chunks",),
    setup=("drop table {schema}.chunks", RAW),
    models={"changes": CHANGES, "bad": quarantined()},
    steps=(
        Step(land=(land((1, 1, begun(1))),), rows={EVENTS: []}),
        Step(
            land=(land((1, 2, UPDATE[:20]), (1, 4, row(43, 1, 4, 201) + committed(1))),),
            meanwhile={"changes": {"killed": inside.KEEPS_ROWS}},
            fails={"changes": "killed"},
        ),
        Step(land=(land((1, 3, UPDATE[20:])),), rows={EVENTS: [(1, None), (201, 1)], BAD: []}),
    ),
)

# The state is kept for few sessions: the sessions of the run, and those whose ids sort last.
PUSHED_OUT = Scenario(
    "pushed_out",
    raw=("chunks",),
    setup=("drop table {schema}.chunks", RAW),
    models={"changes": CHANGES},
    steps=(
        Step(land=(land(*((capture, 1, begun(capture)) for capture in (1, 2, 3))),)),
        Step(land=(land((0, 1, begun(0))),), rows={EVENTS: []}),
        Step(land=(land((3, 2, gbase.begin(200_000, 6))),), rows={EVENTS: []}),
        Step(
            land=(land((2, 2, committed(2)), (0, 2, committed(0))),),
            rows={EVENTS: [(0, None), (2, None)]},
        ),
    ),
)


def told(text: str, payload: bytes) -> bytes:
    """A transaction in a session whose table has the columns in `text`."""
    return b"".join(
        (
            gbase.schema(7, text, len(payload), text.count(",") + 1, 0),
            gbase.begin(16, 5),
            gbase.row(40, 17, 5, 7, payload),
            gbase.commit(18, 5),
        )
    )


EUROPEAN = ("changes", "current", "regions")

# A second session gives the same transaction with fewer columns. Its id sorts first, so it counts.
# The key stays the same, and the view no longer has the event.
TOLD_OTHERWISE = Scenario(
    "told_otherwise",
    raw=("chunks",),
    setup=("drop table {schema}.chunks", RAW),
    models={
        "changes": stream("{'id': 'int', 'region': 'string'}"),
        "european": VIEW + "select * from {{ ref('changes') }} where region = 'EU'",
        "current": applied("current_state", "european"),
        # the event without a region has NULL in this key
        "regions": applied("current_state", key="region").replace(") }}", ", null_keys=true) }}"),
    },
    steps=[
        Step(
            land=(land((capture, 1, chunk)),),
            rows={
                f"select id from {{schema}}.{model} where region = 'EU'": found
                for model in EUROPEAN
            },
        )
        for capture, chunk, found in (
            ("b", told("id integer, region char(2)", struct.pack(">i", 1) + b"EU"), [(1,)]),
            ("a", told("id integer", struct.pack(">i", 1)), []),
        )
    ],
)

SCENARIOS = (KILLED, PUSHED_OUT, TOLD_OTHERWISE)


@pytest.fixture(scope="module")
def steps(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Stepping:
    few = {"spark_cdc_internal_captures_in_state": SESSIONS}
    return Stepping(warehouse, tmp_path_factory.mktemp("gbase"), "gbase", SCENARIOS, few).run()


@pytest.mark.parametrize("name", ["killed", "pushed_out"])
def test_a_stream_never_continues_from_a_wrong_state(steps: Stepping, name: str) -> None:
    steps.check(name)


def test_a_retracted_event_leaves_a_view(steps: Stepping) -> None:
    steps.check("told_otherwise")
