"""Checks of one test vector against the reference in plain Python, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from kit.formats import Vector, vector_event
from kit.values import Malformed, as_text

from formats.qlik_messages import avro, avro_function, reference, versions
from formats.qlik_messages.reference import Decoded, Options, Row
from formats.qlik_messages.versions import AvroReader, Version

WITH_AVRO = ("avro", "frame")


def is_json(vector: Vector) -> bool:
    """Whether the vector has no Avro in it."""
    return not any(part in vector["id"] for part in WITH_AVRO)


def record_of(given: Mapping[str, Any]) -> Row:
    """A Kafka record of a vector."""
    record = {name: value for name, value in given.items() if name != "value_hex"}
    value = given.get("value")
    record["value"] = bytes.fromhex(given["value_hex"]) if "value_hex" in given else value
    if isinstance(value, str):
        record["value"] = value.encode()
    if given.get("timestamp") is not None:
        record["timestamp"] = datetime.fromisoformat(given["timestamp"].replace("Z", "+00:00"))
    return record


def records_of(given: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [record_of(one) for one in given]


def metadata_of(given: Vector) -> list[Row] | None:
    """The records of `metadata`, which may be the messages themselves."""
    metadata = given.get("metadata")
    return records_of(given["messages"] if metadata == "messages" else metadata or []) or (
        None if metadata is None else []
    )


def options_of(given: Vector) -> Options:
    """The decoder's arguments."""
    named = given.get("table"), given.get("schema"), given.get("avro_mask_byte_order", "big")
    return Options(given["key"], given["columns"], *named)


def decoded_of(given: Vector, avro: AvroReader | None = None) -> Decoded:
    records, metadata = records_of(given["messages"]), metadata_of(given)
    return reference.decode(records, metadata, options_of(given), avro)


def event_of(event: Row, columns: Vector) -> Vector:
    """An event as the vectors write it."""
    return vector_event(event, columns, timestamp=as_text(event["cdc_metadata"]["timestamp"]))


def readers(vector: Vector) -> list[AvroReader | None]:
    """What reads the Avro messages of a vector: fastavro, and the Python function."""
    return [None] if is_json(vector) else [avro.opened, avro_function.Opened()]


def check_messages(vector: Vector) -> None:
    """Messages make these events; what is no change and what is in quarantine are these."""
    for reader in readers(vector):
        check_messages_with(vector, reader)


def check_messages_with(vector: Vector, avro: AvroReader | None) -> None:
    given, expect = vector["given"], vector["expect"]
    decoded = decoded_of(given, avro)
    by_sequence = {event["cdc_sequence"]: event for event in decoded.events}
    assert sorted(by_sequence) == sorted(event["cdc_sequence"] for event in expect["events"])
    for event in expect["events"]:
        found = event_of(by_sequence[event["cdc_sequence"]], given["columns"])
        assert {name: found[name] for name in event} == event
    assert sorted(decoded.no_ops) == sorted(expect["no_ops"])
    assert decoded.quarantine == quarantine_of(expect)


def quarantine_of(expect: Vector) -> list[tuple[int, str]]:
    return sorted((one["message"], one["reason"]) for one in expect["quarantine"])


def version_of(version: Version) -> Vector:
    """A version as the vectors write it."""
    found = asdict(version)
    return found | {"written_at": as_text(version.written_at), "columns": list(found["columns"])}


def check_versions(vector: Vector) -> None:
    """Metadata records tell these versions."""
    for reader in readers(vector):
        check_versions_with(vector, reader)


def check_versions_with(vector: Vector, avro: AvroReader | None) -> None:
    expect = vector["expect"]
    found = versions.read_versions(records_of(vector["given"]["metadata"]), avro)
    rows = [version_of(row) for row in found.rows]
    assert sorted(rows, key=str) == sorted(expect["rows"], key=str)
    assert sorted(found.no_ops) == sorted(expect["no_ops"])
    assert sorted(found.quarantine) == quarantine_of(expect)


def positions_of(vector: Vector) -> list[int] | None:
    """The bits of a mask of change tables, whose header columns count here as any other column."""
    positions = vector["expect"]["positions"]
    first = vector["given"]["header_columns"]
    return None if positions is None else [first + place for place in positions]


def width_of(vector: Vector) -> int:
    """How many columns the bits stand for."""
    given = vector["given"]
    return int(given["header_columns"] + given["data_columns"])


def check_mask(vector: Vector) -> None:
    """A mask stands for these columns, or is bad. The file has what `big` masks there are: those in
    binary form as their digits, and none that is bad for the bit of a header column."""
    expect = vector["expect"]
    try:
        bits = reference.bits_of(vector["given"]["mask"])
        if bits is not None and not bits <= set(range(width_of(vector))):
            raise Malformed("bad_mask")
    except Malformed as error:
        assert {"reason": error.args[0]} == expect
    else:
        assert (None if bits is None else sorted(bits)) == positions_of(vector)


CHECKS = {
    "qlik_messages": check_messages,
    "qlik_schema_versions": check_versions,
    "qlik_change_mask": check_mask,
}
