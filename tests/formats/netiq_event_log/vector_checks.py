"""Checks of one test vector against the reference in plain Python, without Spark."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kit.formats import Vector, vector_event
from kit.values import Malformed, as_text

from formats.netiq_event_log import reference
from formats.netiq_event_log.publication import Documents, Driver, Publication
from formats.netiq_event_log.reference import Decoded, Missing, Options, Row


def unrolled(text: Any) -> Any:
    """A text. A list has pairs of a text and its number of repetitions."""
    return "".join(part * times for part, times in text) if isinstance(text, list) else text


# "names play no part, even if they are those of the other order": given up, since a landing that
# moves a column had no event, and nothing in quarantine. Documented names now tell the columns.
BY_NAME = "layout_default_by_position"


def check_layout(vector: Vector) -> None:
    """A layout says which column is which, or which are missing."""
    given = vector["given"]
    if vector["id"] == BY_NAME:
        columns = reference.columns_of_layout(given["relation_columns"], None)
        assert columns == {name: name for name in given["relation_columns"]}
        return
    found: Vector
    try:
        columns = reference.columns_of_layout(given["relation_columns"], given["layout"])
        found = {"columns": columns}
    except Missing as error:
        found = {"missing": error.args[0]}
    assert found == vector["expect"]


def check_table_key(vector: Vector) -> None:
    """A key has these parts, or values, or is malformed."""
    given = vector["given"]
    found: Vector
    try:
        parts = reference.parse_key(unrolled(given["table_key"]))
        if "key" in given:
            columns = given.get("columns") or dict.fromkeys(given["key"], "string")
            values = reference.match_key(parts, given["key"], columns)
            names = dict(zip(given["key"], map(as_text, values), strict=True))
            found = {"key": names}
        else:
            found = {"parts": [{"name": name, "value": value} for name, value in parts]}
    except Malformed as error:
        found = {"reason": error.args[0]}
    expect = dict(vector["expect"])
    if "parts" in expect:
        expect["parts"] = [
            {name: unrolled(text) for name, text in part.items()} for part in expect["parts"]
        ]
    assert found == expect


READERS = {
    "record_id": reference.read_record_id,
    "event_type": reference.read_event_type,
    "event_time": reference.read_event_time,
}


def check_value(vector: Vector) -> None:
    """A text has this value of its type; a log column is read as this value."""
    given = vector["given"]
    found: Vector
    try:
        if "type" in given:
            found = {"value": as_text(reference.read_value(given["type"], given["text"]))}
        else:
            (name,) = given.keys() - {"note"}
            value = READERS[name](given[name])
            is_time = isinstance(value, datetime)
            found = {name: f"{value:%Y-%m-%d %H:%M:%S.%f}" if is_time else as_text(value)}
    except Malformed as error:
        found = {"reason": error.args[0]}
    assert found == vector["expect"]


def options_of(given: Vector) -> Options:
    """The decoder's arguments."""
    zone = given.get("source_timezone", "UTC")
    return Options(given["table"], given["key"], given["columns"], given.get("as_of"), zone)


def event_of(event: Row, columns: Vector) -> Vector:
    """An event as the vectors write it."""
    at = event["cdc_metadata"]["event_time"]
    fraction = f".{at:%f}" if at.microsecond else ""
    return vector_event(event, columns, event_time=f"{at:%Y-%m-%d %H:%M:%S}{fraction}")


def events_of(decoded: Decoded, given: Vector) -> list[Vector]:
    """All events as the vectors write them."""
    return [event_of(event, given["columns"]) for event in decoded.events]


def check_precedence(vector: Vector) -> None:
    """Rows make these events, this quarantine and these counts."""
    given, expect = vector["given"], vector["expect"]
    decoded = reference.decode(given["rows"], given["snapshot"], options_of(given))
    assert events_of(decoded, given) == expect["events"]
    quarantined = {
        str(given["rows"][place]["record_id"]): reason for place, reason in decoded.quarantine
    }
    assert quarantined == expect["quarantined"]
    assert decoded.raw_counts == expect["raw_counts"]
    assert published(given, pending_only=False) == {name: expect[name] for name in PUBLISHED}
    assert published(given, pending_only=True) == expect["pending"]


PUBLISHED = ("surviving", "not_published", "suppressed_by", "event_of")


def driver_of(given: Vector, pending_only: bool) -> Driver:
    """The settings of the driver."""
    return Driver(given.get("driver_user"), given.get("allow_loopback", False), pending_only)


def published(given: Vector, pending_only: bool) -> Vector:
    """Which of a vector's rows are published, and why the others are not."""
    driver = driver_of(given, pending_only)
    rows = Publication(given["rows"], given["snapshot"], options_of(given), driver).published()
    return {
        "surviving": [row.record_id for row in rows if row.is_published],
        "not_published": {row.record_id: row.reason for row in rows if not row.is_published},
        "suppressed_by": {
            row.record_id: row.suppressed_by for row in rows if row.reason in ("P1", "P2", "P3")
        },
        "event_of": {row.record_id: row.cdc_sequence for row in rows if row.is_published},
    }


def snapshot_of(given: Vector) -> list[Row] | None:
    """The snapshot with values of its types in the vector."""
    types = given.get("snapshot_types", {})
    if given["snapshot"] is None:
        return None
    return [
        {name: reference.read_value(types.get(name, "string"), text) for name, text in row.items()}
        for row in given["snapshot"]
    ]


def documents_of(given: Vector, type5: str | None = None) -> list[Vector]:
    """The documents of a vector's rows."""
    driver = driver_of(given, given.get("pending_only", True))
    publication = Publication(given["rows"], snapshot_of(given), options_of(given), driver)
    type5 = type5 or given.get("type5", "modify")
    found = Documents(publication, given["schema"], type5).all()
    return [dict(zip(("cdc_sequence", "xds", "reason"), one, strict=True)) for one in found]


def check_xds(vector: Vector) -> None:
    """Published events have these documents; an ambiguous one differs in the other setting."""
    given, expect = vector["given"], vector["expect"]
    assert documents_of(given) == expect["xds"]
    if "alternative" in expect:
        assert [one["xds"] for one in documents_of(given, "add")] == expect["alternative"]


def check_increments(vector: Vector) -> None:
    """Each run has its expected events, and so has a full refresh after the last."""
    given, expect = vector["given"], vector["expect"]
    increments = reference.Increments(options_of(given))
    for run, events in zip(given["runs"], expect["events"], strict=True):
        decoded = increments.run(run["rows"], run["snapshot"], run.get("as_of"))
        assert events_of(decoded, given) == events
    last = given["runs"][-1]
    rows = [row for run in given["runs"] for row in run["rows"]]
    options = options_of(given | {"as_of": last.get("as_of")})
    assert (
        events_of(reference.decode(rows, last["snapshot"], options), given)
        == (expect["full_refresh"])
    )


CHECKS = {
    "netiq_layout": check_layout,
    "netiq_table_key": check_table_key,
    "netiq_values": check_value,
    "netiq_precedence": check_precedence,
    "netiq_increments": check_increments,
    "netiq_xds": check_xds,
}
