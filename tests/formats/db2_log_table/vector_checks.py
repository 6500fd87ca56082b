"""Checks of one test vector against the reference in plain Python, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from kit.values import texts_of

from formats.db2_log_table import reference
from formats.db2_log_table.reference import Options, Row

Vector = dict[str, Any]


def options_of(given: Vector) -> Options:
    """The arguments of a vector."""
    return Options(given["key"], given["columns"], given["key_columns"])


def event_of(event: Row, columns: Sequence[str]) -> Vector:
    """An event as the vectors write it, except for times, where they omit zeros."""
    told = {name: value for name, value in event.items() if name.startswith("cdc_")}
    told.pop("cdc_source")
    return told | {"row": texts_of(event, columns)}


def with_times(event: Vector) -> Vector:
    """An event of a vector with its times as times."""
    metadata = event["cdc_metadata"]
    return event | {
        "cdc_commit_at": utc(event["cdc_commit_at"].rstrip("Z")),
        "cdc_metadata": metadata | {"log_time": utc(metadata["log_time"])},
    }


def utc(text: str) -> datetime:
    return datetime.fromisoformat(full_time(text)).replace(tzinfo=timezone.utc)


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
    return [event_of(event, list(given["columns"])) for event in decoded.events]


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
