"""Checks of one test vector against the reference in plain Python, without Spark."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from formats.netiq_event_log import reference
from formats.netiq_event_log.reference import Decoded, Malformed, Missing, Options, Row, as_text

Vector = dict[str, Any]


def unrolled(text: Any) -> Any:
    """A text; a list of texts and numbers stands for each text so many times."""
    return "".join(part * times for part, times in text) if isinstance(text, list) else text


def check_layout(vector: Vector) -> None:
    """A layout says which column is which, or which are missing."""
    given = vector["given"]
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
    """A text is this value of its type; a log column is read so."""
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
    said = {name: value for name, value in event.items() if name not in (*columns, "cdc_source")}
    metadata = dict(said["cdc_metadata"])
    at = metadata["event_time"]
    metadata["event_time"] = f"{at:%Y-%m-%d %H:%M:%S}" + (f".{at:%f}" if at.microsecond else "")
    return said | {
        "cdc_commit_at": as_text(said["cdc_commit_at"]),
        "cdc_metadata": metadata,
        "row": {name: as_text(event[name]) for name in columns},
    }


def events_of(decoded: Decoded, given: Vector) -> list[Vector]:
    """All events as the vectors write them."""
    return [event_of(event, given["columns"]) for event in decoded.events]


def check_precedence(vector: Vector) -> None:
    """Rows make these events; what is in quarantine, and the counts, are these."""
    given, expect = vector["given"], vector["expect"]
    decoded = reference.decode(given["rows"], given["snapshot"], options_of(given))
    assert events_of(decoded, given) == expect["events"]
    quarantined = {
        str(given["rows"][place]["record_id"]): reason for place, reason in decoded.quarantine
    }
    assert quarantined == expect["quarantined"]
    assert decoded.raw_counts == expect["raw_counts"]


def check_increments(vector: Vector) -> None:
    """Each run has these events, and a full refresh after the last has those."""
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
}
