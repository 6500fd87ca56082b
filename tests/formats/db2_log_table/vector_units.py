"""The dbt unit tests of the vectors: all of them in one log, each in rows of its own.

A query with the decoder takes seconds before it begins. So vectors share a table. Its key begins
with the vector's id, and has a column for each key column of a vector. The expected result of such
a log comes from the reference, which is checked with every vector on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kit import units
from kit.formats import UnitTest, Vector
from kit.units import json_text, rows_sql
from kit.values import as_text, texts_of

from formats.db2_log_table import reference
from formats.db2_log_table.reference import Options, Row
from formats.db2_log_table.vector_checks import landed

# The columns of the shared key: a vector's name and type to the shared name, and to a value
# for the rows of other vectors.
KEY = {
    ("vector", "string"): ("vector", ""),
    ("ID", "string"): ("text_id", ""),
    ("ID", "int"): ("int_id", "0"),
    ("ID", "decimal(8,2)"): ("decimal_id", "0.00"),
    ("AT", "timestamp"): ("at", "2000-01-01 00:00:00"),
    ("LOCAL", "timestamp_ntz"): ("local", "2000-01-01 00:00:00"),
    ("RAW", "binary"): ("raw", "FF"),
    ("OK", "boolean"): ("ok", "true"),
    ("DAY", "date"): ("day", "2000-01-01"),
    ("AMOUNT", "decimal(10,2)"): ("price", "0.00"),
    ("N", "bigint"): ("number", "0"),
    ("CODE", "string"): ("code", ""),
}
VALUES = {"NAME": "string", "N": "int", "AMOUNT": "decimal(12,2)"}
COLUMNS = {name: sql_type for (_, sql_type), (name, _) in KEY.items()} | VALUES
OPTIONS = Options(
    [name for name, _ in KEY.values()], COLUMNS, [f"PK{number:02}" for number, _ in enumerate(KEY)]
)
LOG = ("place", "OPERATION", "TIME", *OPTIONS.key_columns)


def woven_key(vector: Vector, values: Mapping[str, Any]) -> Row:
    """The shared key of a row as a dict of its columns, from the key of a vector."""
    given = vector["given"]
    key = {name: default for name, default in KEY.values()} | {"vector": vector["id"]}
    for name in given["key"]:
        key[KEY[name, given["columns"][name]][0]] = values[name]
    return key


def woven_log(vector: Vector) -> list[Row]:
    """The log rows of a vector; an information row has no key."""
    given = vector["given"]
    rows = []
    for place, row in enumerate(given["rows"]):
        values = dict(zip(given["key"], (row[one] for one in given["key_columns"]), strict=True))
        key = list(woven_key(vector, values).values())
        if row["OPERATION"] is None and not any(values.values()):
            key = [None] * len(key)
        rows.append(
            {"place": f"{vector['id']} {place}", "OPERATION": row["OPERATION"], "TIME": row["TIME"]}
            | dict(zip(OPTIONS.key_columns, key, strict=True))
        )
    return rows


def woven_base(vector: Vector) -> list[Row]:
    """The rows of a vector's base."""
    given = vector["given"]
    return [
        woven_key(vector, row)
        | {name: None if name in given["key"] else row.get(name) for name in VALUES}
        for row in given["base"]
    ]


def log_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test events and quarantine, in a log for each type of TIME."""
    logs: dict[str, list[Row]] = {"string": [], "timestamp": [], "timestamp_ntz": []}
    read: list[Row] = []
    for vector in vectors:
        types = vector["given"].get("types", {})
        rows = woven_log(vector)
        logs[types.get("TIME", "string")] += rows
        read += [landed(row, types) for row in rows]
    base = [row for vector in vectors for row in woven_base(vector)]
    decoded = reference.decode(read, base, OPTIONS)
    expect = [event_row(event) for event in decoded.events]
    expect += [
        other_row(f"{read[place]['place']} {reason}") for place, reason in decoded.quarantine
    ]
    for vector in vectors:
        check_woven(vector, decoded)
    there = {row["vector"] for row in expect}
    expect += [other_row(vector["id"]) for vector in vectors if vector["id"] not in there]
    nothing = [{"place": vector["id"]} for vector in vectors if vector["id"] not in there]
    given = {
        f"log_{name}": rows_sql(LOG, [log_sql(row, name) for row in rows])
        for name, rows in logs.items()
    }
    given["base"] = rows_sql(
        list(COLUMNS), [[units.literal(row[n]) for n in COLUMNS] for row in base]
    )
    given["without_rows"] = rows_sql(["place"], [[units.literal(row["place"])] for row in nothing])
    return [UnitTest("db2_log", "db2_log", given, expect)]


def log_sql(row: Row, time_type: str) -> list[str]:
    """A log row as SQL; OPERATION is text in one log, else a number."""
    sql = {name: units.literal(row[name]) for name in LOG}
    if time_type != "string":
        text = f"{row['TIME']}{'Z' if time_type == 'timestamp' else ''}"
        sql["TIME"] = f"{time_type} '{text}'"
    elif row["OPERATION"] is not None:
        sql["OPERATION"] = units.literal(str(row["OPERATION"]))
    return list(sql.values())


def check_woven(vector: Vector, decoded: reference.Decoded) -> None:
    """A vector has the same events in the shared log, except for the key in the sequence."""
    names = ("cdc_operation", "cdc_commit_sequence")
    own = [tuple(event[name] for name in names) for event in vector["expect"]["events"]]
    woven = [
        tuple(event[name] for name in names)
        for event in decoded.events
        if event["vector"] == vector["id"]
    ]
    assert sorted(woven) == sorted(own), vector["id"]


def event_row(event: Row) -> Row:
    """An event as the wrapper model gives it."""
    metadata = event["cdc_metadata"]
    return {
        "vector": event["vector"],
        "refused": None,
        "cdc_sequence": event["cdc_sequence"],
        "cdc_operation": event["cdc_operation"],
        "cdc_commit_sequence": event["cdc_commit_sequence"],
        "cdc_commit_at": as_text(event["cdc_commit_at"]),
        "present": " ".join(event["cdc_present_columns"] or []) or None,
        "nothing_else": True,
        "log_operation": metadata["log_operation"],
        "log_time": as_text(metadata["log_time"]),
        "row_values": json_text(texts_of(event, COLUMNS)),
    }


def other_row(refused: str) -> Row:
    """A row without an event: a row in quarantine, or a vector without a result."""
    columns = ("cdc_sequence", "cdc_operation", "cdc_commit_sequence", "cdc_commit_at", "present")
    more = ("nothing_else", "log_operation", "log_time", "row_values")
    vector, _, reason = refused.partition(" ")
    return {"vector": vector, "refused": reason or None, **dict.fromkeys((*columns, *more))}
