"""The dbt unit tests of the vectors: the decoder and its quarantine over whole streams."""

from __future__ import annotations

from collections.abc import Sequence

from kit.formats import UnitTest, Vector
from kit.units import json_text, literal, names_text, rows_sql

# The facts of an event that vectors have.
COLUMNS = (
    *("cdc_sequence", "cdc_operation", "cdc_commit_sequence", "commit_at", "cdc_transaction_id"),
    *("changed", "present", "before_image", "after_image"),
)

# Streams that are decoded together, since their tables have the same columns.
Group = tuple[dict[str, str], list[Vector]]


def groups_of(vectors: Sequence[Vector]) -> list[Group]:
    """Part the vectors into groups."""
    groups: list[Group] = []
    for vector in vectors:
        given = vector["given"]
        assert (given["table_id"], given["key"]) == (7, ["id"]), vector["id"]
        for columns, members in groups:
            if columns == given["columns"]:
                members.append(vector)
                break
        else:
            groups.append((given["columns"], [vector]))
    return groups


def stream_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the decoder with every stream at once: events, and quarantine."""
    groups = groups_of(vectors)
    rows, expect = [], []
    for number, (_, members) in enumerate(groups):
        for vector in members:
            rows += [
                [
                    literal(number),
                    literal(f"{vector['id']}/{chunk['capture_id']}"),
                    f"{chunk['chunk_number']}L",
                    f"X'{chunk['payload']}'",
                ]
                for chunk in vector["given"]["chunks"]
            ]
            expect += [event_of(vector["id"], event) for event in vector["expect"]["events"]]
            expect += [refused(vector["id"], one) for one in vector["expect"]["quarantine"]]
    names = ["stream_group", "capture_id", "chunk_number", "payload"]
    given = {"gbase_chunks": rows_sql(names, rows)}
    variables = {"gbase_groups": [columns for columns, _ in groups]}
    return [UnitTest("gbase_stream", "gbase_stream", given, expect, variables)]


def refused(vector: str, one: Vector) -> Vector:
    """Write an expected entry of the quarantine."""
    said = f"{one['capture_id']} {one['chunk_number']} {one['reason']}"
    return {"vector": vector, "refused": said} | dict.fromkeys(COLUMNS)


def event_of(vector: str, event: Vector) -> Vector:
    """Write an expected event."""
    return {
        "vector": vector,
        "refused": None,
        "cdc_sequence": event["cdc_sequence"],
        "cdc_operation": event["cdc_operation"],
        "cdc_commit_sequence": event["cdc_commit_sequence"],
        "commit_at": event["cdc_commit_at"],
        "cdc_transaction_id": event["cdc_transaction_id"],
        "changed": names_text(event["cdc_changed_columns"]),
        "present": names_text(event["cdc_present_columns"]),
        "before_image": json_text(event["cdc_before"]),
        "after_image": json_text(event["row"]),
    }
