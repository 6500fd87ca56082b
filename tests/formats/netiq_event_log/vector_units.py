"""The dbt unit tests of the vectors: many of them in one log, each in rows of its own.

A query with the decoder takes seconds before it begins. So vectors share a table: the key of each
begins with its id, its record ids are moved, and all have the same columns. The expected result of
such a log comes from the reference, which is checked with every vector on its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from kit.formats import UnitTest, Vector
from kit.units import event_columns, json_text, literal, rows_sql
from kit.values import as_text, texts_of

from formats.netiq_event_log import reference
from formats.netiq_event_log.publication import Documents, Driver, Publication
from formats.netiq_event_log.reference import LAYOUTS, Options
from formats.netiq_event_log.vector_checks import unrolled

TEN = LAYOUTS["record_id_status"]
Row = dict[str, Any]


def log_sql(rows: Sequence[Row], types: Mapping[str, str] | None = None) -> str:
    """Rows of a log as a query; without types all columns are texts."""
    given = [
        [f"cast({literal(row[name])} as {(types or {}).get(name, 'string')})" for name in TEN]
        for row in rows
    ]
    return rows_sql(TEN, given)


# precedence

STEP = 1000
COLUMNS = {"vector": "string", "idu": "int", "fname": "string", "lname": "string", "qty": "int"}

# Vectors with `as_of` are moved in time, so that all can use the same one.
AS_OF, ZONE = datetime(2024, 7, 1, 10), "Europe/Berlin"
TIME = "%Y-%m-%d %H:%M:%S"


def moved(record_id: str, number: int) -> str:
    """The id of a vector's row among other vectors: the same form with other digits."""
    if len(re.sub(r"\D", "", record_id)) >= 38:
        return record_id
    return re.sub(r"[1-9]\d*", lambda found: str(int(found[0]) + STEP * number), record_id, count=1)


def moved_sequence(sequence: str, number: int) -> str:
    """The sequence of the event of such a row."""
    time, point, digits = sequence.rpartition(".")
    return time + point + moved(digits.lstrip("0"), number).zfill(38)


def woven_row(vector: Vector, number: int, row: Row, table: str) -> Row:
    """A row of a vector in the shared log."""
    given, name = vector["given"], row["table_name"]
    if name is not None:
        front, own = name[: -len(given["table"])], name[-len(given["table"]) :]
        if own.lower() == given["table"]:
            name = front + (table.upper() if own.isupper() else table)
        else:
            name = f"other_than_{table}"
    at = row["event_time"]
    if given.get("as_of") is not None and at is not None:
        later = AS_OF - datetime.strptime(given["as_of"], TIME)
        at = (datetime.strptime(at, TIME) + later).strftime(TIME)
    perpetrator = row["perpetrator"]
    if given.get("driver_user") is None or given.get("allow_loopback"):
        perpetrator = "nobody" if perpetrator == "idm" else perpetrator
    return row | {
        "perpetrator": perpetrator,
        "record_id": moved(str(row["record_id"]), number),
        "event_type": str(row["event_type"]),
        "event_time": at,
        "table_name": name,
        "table_key": f"vector={vector['id']}+{row['table_key']}",
    }


def precedence_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test events, quarantine and publication: with and without a snapshot, by time or by id.

    The user of the driver is always `idm`. A vector without loopback has no row of this user.
    """
    groups: dict[tuple[bool, bool], list[Vector]] = {}
    for vector in vectors:
        given = vector["given"]
        group = (given["snapshot"] is not None, given.get("as_of") is not None)
        groups.setdefault(group, []).append(vector)
    return [
        unit
        for (has_snapshot, has_as_of), members in groups.items()
        for unit in precedence_unit(members, has_snapshot, has_as_of)
    ]


def precedence_unit(
    vectors: Sequence[Vector], has_snapshot: bool, has_as_of: bool
) -> list[UnitTest]:
    """Test decoder and publication with the rows of some vectors in one table."""
    rows: list[Row] = []
    snapshot: list[Row] = []
    for number, vector in enumerate(vectors, start=1):
        given = vector["given"]
        rows += [woven_row(vector, number, row, "usr") for row in given["rows"]]
        snapshot += [
            dict.fromkeys(COLUMNS) | {"vector": vector["id"]} | row
            for row in given["snapshot"] or []
        ]
    as_of, zone = (AS_OF.strftime(TIME), ZONE) if has_as_of else (None, "UTC")
    options = Options("usr", ["vector", "idu"], COLUMNS, as_of, zone)
    decoded = reference.decode(rows, snapshot if has_snapshot else None, options)
    expect = [event_row(event) for event in decoded.events]
    for place, reason in decoded.quarantine:
        found = re.match(r"vector=(\w+)", rows[place]["table_key"])
        assert found
        refused = f"{rows[place]['record_id']} {reason}"
        expect.append(other_row(found[1], "quarantine", refused))
    there = {row["vector"] for row in expect}
    expect += [
        other_row(vector["id"], "nothing", None) for vector in vectors if vector["id"] not in there
    ]
    name = "netiq_precedence" + "_without_snapshot" * (not has_snapshot) + "_as_of" * has_as_of
    empty = [dict.fromkeys(COLUMNS)]
    given_tables = {
        "precedence_log": log_sql(rows),
        "precedence_snapshot": rows_sql(
            list(COLUMNS), [[literal(row[one]) for one in COLUMNS] for row in snapshot or empty]
        ),
    }
    variables = {"netiq_has_snapshot": has_snapshot, "netiq_as_of": as_of, "netiq_zone": zone}
    decoded_unit = UnitTest(name, "netiq_precedence", given_tables, expect, variables)

    name = name.replace("netiq_precedence", "netiq_publication")
    published = published_rows(rows, snapshot if has_snapshot else None, options)
    return [decoded_unit, UnitTest(name, "netiq_publication", given_tables, published, variables)]


def published_rows(
    rows: Sequence[Row], snapshot: Sequence[Row] | None, options: Options
) -> list[Row]:
    """The publication of the rows of some vectors, in a poll and for the whole log."""
    vector_of = {
        str(int(row["record_id"])): str(row["table_key"]).partition("=")[2].partition("+")[0]
        for row in rows
        if re.fullmatch(r" *\d+ *", row["record_id"] or "")
    }
    found: list[Row] = []
    for is_pending in (False, True):
        driver = Driver("idm", pending_only=is_pending)
        found += [
            {"vector": vector_of[row.record_id], "is_pending": is_pending} | asdict(row)
            for row in Publication(rows, snapshot, options, driver).published()
        ]
    return found


def event_row(event: Row) -> Row:
    """An event as the wrapper model gives it."""
    metadata = event["cdc_metadata"]
    return {
        "vector": event["vector"],
        "kind": "event",
        "refused": None,
        **event_columns(event),
        "has_before": event["cdc_before"] is not None,
        "record_id": metadata["record_id"],
        "perpetrator": metadata["perpetrator"],
        "event_time": as_text(metadata["event_time"]),
        "status": metadata["status"],
        "row_values": json_text(texts_of(event, COLUMNS)),
    }


def other_row(vector: str, kind: str, refused: str | None) -> Row:
    """A row without an event: a row in quarantine, or a vector without a result."""
    columns = ("cdc_sequence", "cdc_operation", "cdc_commit_sequence", "cdc_commit_at")
    more = ("cdc_transaction_id", "changed", "present", "has_before", "record_id", "perpetrator")
    row = dict.fromkeys((*columns, *more, "event_time", "status", "row_values"))
    return {"vector": vector, "kind": kind, "refused": refused, **row}


# documents

XDS_COLUMNS = {"vector": "string", "idu": "string"}
SHOWN = str.maketrans({"\\": "⧵", "\t": "⇥", "\n": "⏎"})


def key_value(given: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The values of a key as one."""
    return "".join(str(row[name]) for name in given["key"])


def xds_row(vector: Vector, number: int, row: Row) -> Row:
    """A row of a vector in the shared log: its key is one column, a text."""
    given = vector["given"]
    name, key = row["table_name"], row["table_key"]
    if len(given["key"]) == 1:
        _, point, value = key.partition("=")
        key = "idu" + point + value
    else:
        parts = dict(reference.parse_key(key))
        key = f"idu={key_value(given, parts)}"
    if not name.lower().endswith("usr"):
        name = "usr"
    return row | {
        "record_id": moved(str(row["record_id"]), number),
        "event_type": str(row["event_type"]),
        "table_name": name,
        "table_key": f"vector={vector['id']}+{key}",
    }


def group_of_documents(given: Mapping[str, Any]) -> str:
    """Vectors that can share a table: they have the same snapshot columns and settings."""
    if "as_of" in given or not given.get("pending_only", True):
        return "as_of"
    if len(given["columns"]) == len(given["key"]):
        return "key_only"
    if "type5" in given or "snapshot_types" in given:
        return "typed"
    return "documents" if given["snapshot"] is not None else "without_snapshot"


def xds_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the documents of events."""
    groups: dict[str, list[Vector]] = {}
    for vector in vectors:
        groups.setdefault(group_of_documents(vector["given"]), []).append(vector)
    return [xds_unit(name, members) for name, members in groups.items()]


def xds_unit(group: str, vectors: Sequence[Vector]) -> UnitTest:
    """Test the documents of some vectors in one table."""
    rows: list[Row] = []
    columns, types = dict(XDS_COLUMNS), dict(XDS_COLUMNS)
    snapshot: list[Row] = []
    for number, vector in enumerate(vectors, start=1):
        given = vector["given"]
        rows += [xds_row(vector, number, row) for row in given["rows"]]
        columns |= {name: one for name, one in given["columns"].items() if name not in given["key"]}
        for row in given["snapshot"] or []:
            own = {name: text for name, text in row.items() if name not in given["key"]}
            types |= dict.fromkeys(own, "string")
            snapshot.append({"vector": vector["id"], "idu": key_value(given, row)} | own)
    types |= dict.fromkeys(columns, "string")
    for vector in vectors:
        typed = vector["given"].get("snapshot_types", {})
        types |= {name: one for name, one in typed.items() if name not in vector["given"]["key"]}
    snapshot = [dict.fromkeys(types) | row for row in snapshot or [{"vector": "none"}]]
    has_snapshot = group in ("documents", "typed", "key_only")
    as_of = "2024-03-01 12:00:00" if group == "as_of" else None
    pending_only, type5 = group != "as_of", "add" if group == "typed" else "modify"

    options = Options("usr", ["vector", "idu"], columns, as_of)
    read = [
        {name: reference.read_value(types[name], text) for name, text in row.items()}
        for row in snapshot
    ]
    driver = Driver("idm", pending_only=pending_only)
    publication = Publication(rows, read if has_snapshot else None, options, driver)
    number_of = {number: vector["id"] for number, vector in enumerate(vectors, start=1)}
    expect = [
        {
            "vector": number_of[int(sequence[-38:]) // STEP],
            "cdc_sequence": sequence,
            "xds": xds and xds.translate(SHOWN),
            "reason": reason,
        }
        for sequence, xds, reason in Documents(publication, "indirect", type5).all()
    ]
    values = [[typed_literal(types[name], text) for name, text in row.items()] for row in snapshot]
    given_tables = {"xds_log": log_sql(rows), "xds_snapshot": rows_sql(list(types), values)}
    variables = {
        "netiq_columns": columns,
        "netiq_has_snapshot": has_snapshot,
        "netiq_as_of": as_of,
        "netiq_pending_only": pending_only,
        "netiq_type5": type5,
    }
    return UnitTest(f"netiq_xds_{group}", "netiq_xds", given_tables, expect, variables)


def typed_literal(sql_type: str, text: str | None) -> str:
    """A value of a typed snapshot as SQL."""
    if sql_type == "binary":
        return f"unbase64({literal(text)})"
    return f"cast({literal(text)} as {sql_type})"


# keys

PART = re.compile(r'([^=+"\\,;<>]+)=("(?:[^"\\]|\\["\\])*"|[^,;\'+"=\\<>]*)')

# Vectors in which names matter: all others are decoded with the names p1, p2 and so on.
NAMED = ("key_upper_case", "key_name_with_blank", "key_view")


def text_sql(text: Any) -> str:
    """A text, or a list of texts with their numbers of repetitions."""
    if not isinstance(text, list):
        return literal(text)
    return f"concat({', '.join(f'repeat({literal(part)}, {times})' for part, times in text)})"


def shown(text: str) -> str:
    """A text as the wrapper model shows it: of a long text only the end.

    dbt writes no backslash and no line break unchanged, so other characters replace them.
    """
    text = text if len(text) <= 100 else f"{len(text)} characters, {text[-20:]}"
    return text.replace("\\", "⧵").replace("\n", "⏎")


def key_of_vector(vector: Vector) -> tuple[Any, list[str], dict[str, str], list[str] | None]:
    """The text of a vector, the key for decoding, the columns, the expected values."""
    given, expect = vector["given"], vector["expect"]
    text = given["table_key"]
    if "key" in given:
        columns = given.get("columns") or dict.fromkeys(given["key"], "string")
        values = [expect["key"][name] for name in given["key"]] if "key" in expect else None
        return text, given["key"], columns, values
    if "parts" not in expect:
        return text, ["p1"], {"p1": "string"}, None
    values = [unrolled(part["value"]) for part in expect["parts"]]
    names = [unrolled(part["name"]) for part in expect["parts"]]
    if max(map(len, names)) > 100:
        return text, ["p1"], {"p1": "string"}, None  # it is not the name of a column
    if vector["id"] in NAMED:
        names = [name.lower() for name in names]
        return text, names, dict.fromkeys(names, "string"), values
    if isinstance(text, list):
        text = [[part.replace("p=", "p1=").replace("+q=", "+p2="), n] for part, n in text]
    else:
        place = iter(range(1, len(names) + 1))
        text = PART.sub(lambda found: f"p{next(place)}={found[2]}", text)
    names = [f"p{place}" for place in range(1, len(names) + 1)]
    assert [value for _, value in reference.parse_key(unrolled(text))] == values, vector["id"]
    return text, names, dict.fromkeys(names, "string"), values


def key_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the keys of deletes, and why a key is refused."""
    groups: list[Row] = []
    rows, expect = [], []
    for number, vector in enumerate(vectors, start=1):
        text, key, columns, values = key_of_vector(vector)
        group: Row = {"key": key, "columns": columns}
        if group not in groups:
            groups.append(group)
        table = f"keys_{groups.index(group)}"
        row = dict.fromkeys(TEN) | {"status": "N", "event_time": "2024-03-01 10:00:00"}
        row |= {"record_id": str(number), "event_type": "4", "table_name": table}
        row |= {"perpetrator": vector["id"]}
        sql = {name: literal(value) for name, value in row.items()} | {"table_key": text_sql(text)}
        rows.append([sql[name] for name in TEN])
        reason = vector["expect"].get("reason")
        if values is None and reason is None:
            reason = "key_mismatch"  # because it was parsed
        told = None if values is None else " | ".join(map(shown, values))
        expect.append({"vector": vector["id"], "reason": reason, "key_values": told})
    given = {"keys_log": rows_sql(TEN, rows)}
    return [UnitTest("netiq_table_key", "netiq_table_key", given, expect, {"netiq_keys": groups})]


# values


def value_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test values of each type, and columns of the log as they landed: texts, and numbers."""
    types = list(dict.fromkeys(v["given"]["type"] for v in vectors if "type" in v["given"]))
    columns = {"id": "int"} | {f"c{place}": name for place, name in enumerate(types)}
    texts: list[Row] = []
    numbers: list[Row] = []
    expect: list[Row] = []
    for number, vector in enumerate(vectors, start=1):
        given, told = vector["given"], vector["expect"]
        is_value = "type" in given
        sql_type = given.get("type", "string")
        row: Row = {
            "record_id": str(STEP * number),
            "status": "N",
            "event_type": "2",
            "event_time": "2024-03-01 10:00:00",
            "perpetrator": vector["id"],
            "table_name": "typed" if is_value else "landed",
            "table_key": f"id={number}",
            "column_name": f"c{types.index(sql_type)}",
            "old_value": None,
            "new_value": given.get("text", "x"),
        }
        is_number = False
        for name in ("record_id", "event_type", "event_time"):
            if name in given:
                is_number = isinstance(given[name], (int, float))
                row[name] = given[name] if given[name] is None else str(given[name])
        (numbers if is_number else texts).append(row)
        is_moment = sql_type == "timestamp"
        read = told.get("value") if is_value else next(iter(told.values()))
        if is_value:
            landed = None
        elif "event_time" in told:
            landed = f"2 {row['record_id']} {told['event_time']}"
        else:
            landed = f"{told.get('event_type', '2')} {told.get('record_id', row['record_id'])}"
            landed += " 2024-03-01 10:00:00.000000"
        is_read = "reason" not in told
        expect.append(
            {
                "vector": vector["id"],
                "reason": told.get("reason"),
                "as_read": read if is_value and is_read and not is_moment else None,
                "moment": read if is_value and is_read and is_moment else None,
                "landed": landed if is_read else None,
            }
        )
    given_tables = {
        "values_log": log_sql(texts),
        "numbers_log": log_sql(
            numbers, {"record_id": "decimal(10,1)", "event_type": "decimal(10,1)"}
        ),
    }
    variables = {"netiq_columns": columns}
    return [UnitTest("netiq_values", "netiq_values", given_tables, expect, variables)]
