"""Checks of one test vector against the reference in plain Python, without Spark."""

from __future__ import annotations

from datetime import datetime

from kit.formats import Vector, vector_event
from kit.values import as_text

from formats.db2_log_table import reference
from formats.db2_log_table.reference import Options, Row


def options_of(given: Vector) -> Options:
    """The arguments of a vector."""
    return Options(given["key"], given["columns"], given["key_columns"])


def with_times(event: Vector) -> Vector:
    """An event of a vector with all digits of its times."""
    metadata = event["cdc_metadata"]
    return event | {
        "cdc_commit_at": utc(event["cdc_commit_at"].rstrip("Z")),
        "cdc_metadata": metadata | {"log_time": utc(metadata["log_time"])},
    }


def utc(text: str) -> str:
    return f"{datetime.fromisoformat(full_time(text)):%Y-%m-%dT%H:%M:%S.%fZ}"


def full_time(text: str) -> str:
    """A time with six digits after the point."""
    second, _, fraction = text.partition(".")
    return f"{second}.{fraction:0<6}"


def landed(row: Row, types: dict[str, str]) -> Row:
    """A log row of a vector in its landed types."""
    row = dict(row)
    if types.get("TIME", "string") != "string" and row["TIME"] is not None:
        row["TIME"] = datetime.fromisoformat(full_time(row["TIME"]))
    return row


def events_of(decoded: reference.Decoded, given: Vector) -> list[Vector]:
    """All events, as the vectors would write them with all digits of their times."""
    return [
        vector_event(event, given["columns"], log_time=as_text(event["cdc_metadata"]["log_time"]))
        for event in decoded.events
    ]


def check_log(vector: Vector) -> None:
    """Rows and a base make these events; these rows are no-ops, and these in quarantine."""
    given, expect = vector["given"], vector["expect"]
    rows = [landed(row, given.get("types", {})) for row in given["rows"]]
    decoded = reference.decode(rows, given["base"], options_of(given))
    events = events_of(decoded, given)
    assert events == [with_times(event) for event in expect["events"]]
    assert expect["current"] == [
        event["row"] for event in events if event["cdc_operation"] != "delete"
    ]
    assert decoded.no_ops == expect["no_ops"]
    assert expect["quarantine"] == [
        {"row": place, "reason": reason} for place, reason in decoded.quarantine
    ]


def check_increments(vector: Vector) -> None:
    """Each run has its expected events, and so has a full refresh after the last."""
    given, expect = vector["given"], vector["expect"]
    increments = reference.Increments(options_of(given))
    for run, events in zip(given["runs"], expect["events"], strict=True):
        decoded = increments.run(run["rows"], run["base"])
        assert events_of(decoded, given) == [with_times(event) for event in events]
    whole = reference.decode(increments.rows, given["runs"][-1]["base"], options_of(given))
    assert events_of(whole, given) == [with_times(event) for event in expect["full_refresh"]]


CHECKS = {"db2_log": check_log, "db2_log_increments": check_increments}
