"""Checks of one test vector against the reference in plain Python, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from kit.formats import Vector, vector_event
from kit.values import Malformed, as_text, texts_of
from simulation import apply_events

from formats.db2_capture_table import reference
from formats.db2_capture_table.reference import Decoded, Options, Row


def sequence_value(given: Vector) -> Any:
    """A sequence in the form in which it landed."""
    value, form = given["value"], given["form"]
    if form == "binary":
        return bytes.fromhex(value)
    return Decimal(value) if form == "decimal" else value


def check_sequence(vector: Vector) -> None:
    """A sequence has this canonical form, or this reason; two are in this order."""
    given = vector["given"]
    found: Vector
    if "a" in given:
        first, second = (reference.canonical(sequence_value(given[one])) for one in "ab")
        found = {"order": "a<b" if first < second else "a>=b"}
    else:
        try:
            found = {"canonical": reference.canonical(sequence_value(given))}
        except Malformed as error:
            found = {"reason": error.args[0]}
    assert found == vector["expect"]


def names_in(rows: Sequence[Row]) -> list[str]:
    """All columns of some rows."""
    return list(dict.fromkeys(name for row in rows for name in row))


def typed(rows: Sequence[Row], types: Mapping[str, str]) -> list[Row]:
    """Rows with columns of the types that the vector names; all other columns are texts."""
    kinds = {"timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz"}
    return [
        {
            name: reference.read_value(kinds[types[name]], value) if name in types else value
            for name, value in row.items()
        }
        for row in rows
    ]


def options_of(given: Vector) -> Options:
    """The decoder's arguments. For increments, the columns of all runs."""
    runs = given.get("runs", [given])
    rows = [row for run in runs for row in run["rows"]]
    uow = [row for run in runs for row in run.get("unit_of_work") or []]
    has_uow = any("unit_of_work" in run for run in runs)
    has_base = any("base" in run for run in runs)
    return reference.options_of(
        dict.fromkeys(names_in(rows), "string"),
        given["key"],
        given["columns"],
        given["before_prefix"],
        given.get("key_columns"),
        names_in(uow) if has_uow else None,
        given["columns"] if has_base else None,
    )


def event_of(event: Row, columns: Mapping[str, str]) -> Vector:
    """An event as the vectors write it."""
    at = event["cdc_metadata"]["logmarker"]
    return vector_event(event, columns, logmarker=at and f"{at:%Y-%m-%d %H:%M:%S.%f}")


def expected(events: Sequence[Vector]) -> list[Vector]:
    """Events of a vector, with all digits of their times."""
    full = []
    for event in events:
        at = event["cdc_metadata"]["logmarker"]
        at = at and f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M:%S.%f}"
        full.append(event | {"cdc_metadata": event["cdc_metadata"] | {"logmarker": at}})
    return full


def events_of(decoded: Decoded, given: Vector) -> list[Vector]:
    """All events as the vectors write them."""
    return [event_of(event, given["columns"]) for event in decoded.events]


def check_applied(events: Sequence[Row], given: Vector, expect: Vector) -> None:
    """Current state and history are as in the vector."""
    key, columns = given["key"], given["columns"]

    def in_order(rows: Sequence[Any]) -> list[Any]:
        return sorted(rows, key=repr)

    if "current" in expect:
        current = [texts_of(row, columns) for row in apply_events.current_state(events, key)]
        assert in_order(current) == in_order(expect["current"])
    for granularity in ("commit", "event"):
        versions = expect.get(f"history_{granularity}")
        if versions is None:
            continue
        found = [
            {
                "row": texts_of(row, columns),
                "valid_from_sequence": row["cdc_valid_from_sequence"],
                "valid_to_sequence": row["cdc_valid_to_sequence"],
                "valid_from": as_text(row["cdc_valid_from"]),
                "valid_to": as_text(row["cdc_valid_to"]),
            }
            for row in apply_events.history(events, key, granularity=granularity)
        ]
        asked = [{name: row[name] for name in versions[0]} for row in found] if versions else found
        assert in_order(asked) == in_order(versions)


def check_capture(vector: Vector) -> None:
    """Rows make these events, this state and history; these rows are in quarantine."""
    given, expect = vector["given"], vector["expect"]
    rows = typed(given["rows"], given.get("types", {}))
    options = options_of(given)
    uow, base = given.get("unit_of_work") or [], given.get("base") or []
    decoded = reference.decode(rows, options, uow, base)
    assert events_of(decoded, given) == expected(expect["events"])
    assert [{"row": place, "reason": reason} for place, reason in decoded.quarantine] == (
        expect["quarantine"]
    )
    check_applied(decoded.events, given, expect)


def check_increments(vector: Vector) -> None:
    """Each run has its expected events, and so has a full refresh after the last."""
    given, expect = vector["given"], vector["expect"]
    increments = reference.Increments(options_of(given))
    for run, events, current in zip(
        given["runs"], expect["events"], expect["current"], strict=True
    ):
        decoded = increments.run(run["rows"], run.get("unit_of_work") or [], run.get("base") or [])
        assert events_of(decoded, given) == expected(events)
        check_applied(decoded.events, given, {"current": current})
    check_applied(decoded.events, given, {"history_commit": expect.get("history_commit")})
    whole = reference.decode(
        increments.rows,
        increments.options,
        increments.unit_of_work,
        given["runs"][-1].get("base") or [],
    )
    assert events_of(whole, given) == expected(expect["full_refresh"])


CHECKS = {
    "db2_sequence": check_sequence,
    "db2_capture": check_capture,
    "db2_capture_increments": check_increments,
}
