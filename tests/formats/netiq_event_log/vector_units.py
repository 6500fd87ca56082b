"""The dbt unit tests of the vectors: many of them in one log, each in rows of its own.

The vectors share one relation, as the tables of a site share one log. Those that are decoded with
the same arguments are a group, with a table name of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kit import units
from kit.formats import UnitTest, Vector
from kit.units import rows_sql

from formats.netiq_event_log import reference
from formats.netiq_event_log.reference import LAYOUTS
from formats.netiq_event_log.vector_checks import unrolled

TEN = LAYOUTS["record_id_status"]
Row = dict[str, Any]


def literal(value: str | int | None) -> str:
    """Write a value as SQL."""
    return units.literal(value).replace("\r", "\\r")


def log_sql(rows: Sequence[Row], types: Mapping[str, str] | None = None) -> str:
    """Rows of a log as a query; without types all columns are texts."""
    given = [
        [f"cast({literal(row[name])} as {(types or {}).get(name, 'string')})" for name in TEN]
        for row in rows
    ]
    return rows_sql(TEN, given)


def json_text(row: Any) -> str:
    """A row, or a list, as Spark's to_json writes it."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False)


# precedence

STEP = 1000


def moved(record_id: str, number: int) -> str:
    """The id of a vector's row among those of other vectors: the same form, other digits."""
    digits = re.sub(r"\D", "", record_id)
    if len(digits) >= 38:
        return record_id
    return re.sub(r"[1-9]\d*", lambda found: str(int(found[0]) + STEP * number), record_id, count=1)


def moved_sequence(sequence: str, number: int) -> str:
    time, _, digits = sequence.rpartition(".")
    moved_digits = moved(digits.lstrip("0"), number).zfill(38)
    return f"{time}.{moved_digits}" if time else moved_digits


def woven_row(vector: Vector, number: int, row: Row, group: int = 0) -> Row:
    """A row of a vector in the log that all share."""
    name = row["table_name"]
    return row | {
        "record_id": moved(str(row["record_id"]), number),
        "event_type": str(row["event_type"]),
        "table_name": None if name is None else f"{name}_{group}",
        "table_key": f"vector={vector['id']}+{row['table_key']}",
    }


def woven_event(vector: Vector, number: int, event: Vector) -> Row:
    """An event as it comes out of that log."""
    present, metadata = event["cdc_present_columns"], event["cdc_metadata"]
    sequence = moved_sequence(event["cdc_sequence"], number)
    record_id = metadata["record_id"]
    return {
        "vector": vector["id"],
        "kind": "event",
        "refused": None,
        "cdc_sequence": sequence,
        "cdc_operation": event["cdc_operation"],
        "cdc_commit_sequence": moved_sequence(event["cdc_commit_sequence"], number),
        "cdc_commit_at": event["cdc_commit_at"],
        "cdc_transaction_id": event["cdc_transaction_id"],
        "changed": names_text(event["cdc_changed_columns"]),
        "present": names_text(present and ["vector", *present]),
        "has_before": event["cdc_before"] is not None,
        "record_id": record_id and record_id + STEP * number,
        "perpetrator": metadata["perpetrator"],
        "event_time": metadata["event_time"] + "Z",
        "status": metadata["status"],
        "row_values": json_text({"vector": vector["id"], **event["row"]}),
    }


def names_text(names: Sequence[str] | None) -> str | None:
    return None if names is None else " ".join(names)


def other_row(vector: str, kind: str, refused: str | None, values: str | None = None) -> Row:
    """A row that is no event: one in quarantine, the counts of a group, a vector without any."""
    columns = ("cdc_sequence", "cdc_operation", "cdc_commit_sequence", "cdc_commit_at")
    more = ("cdc_transaction_id", "changed", "present", "has_before", "record_id", "perpetrator")
    row = dict.fromkeys((*columns, *more, "event_time", "status"))
    return {"vector": vector, "kind": kind, "refused": refused, **row, "row_values": values}


def precedence_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test events, quarantine and counts of all vectors in one log."""
    groups: list[Row] = []
    of_vector: list[int] = []
    for vector in vectors:
        given = vector["given"]
        group = {
            "table": given["table"],
            "key": ["vector", *given["key"]],
            "columns": {"vector": "string", **given["columns"]},
            "has_snapshot": given["snapshot"] is not None,
            "as_of": given.get("as_of"),
            "zone": given.get("source_timezone", "UTC"),
        }
        if group not in groups:
            groups.append(group)
        of_vector.append(groups.index(group))

    rows: list[Row] = []
    snapshot: list[list[str]] = []
    expect: list[Row] = []
    counts = [dict.fromkeys(("used_rows", "quarantined_rows"), 0) for _ in groups]
    columns = ("idu", "fname", "lname", "qty")
    for number, vector in enumerate(vectors, start=1):
        given, told, place = vector["given"], vector["expect"], of_vector[number - 1]
        woven = [woven_row(vector, number, row, place) for row in given["rows"]]
        rows += woven
        for row in given["snapshot"] or []:
            snapshot.append([literal(vector["id"]), *(literal(row.get(one)) for one in columns)])
        expect += [woven_event(vector, number, event) for event in told["events"]]
        refused = [
            other_row(vector["id"], "quarantine", f"{one['record_id']} {reason}")
            for row, one in zip(given["rows"], woven, strict=True)
            if (reason := told["quarantined"].get(str(row["record_id"])))
        ]
        # what cannot be assigned to a table is in the quarantine of each
        is_of_any = "missing_table_name" in told["quarantined"].values()
        expect += refused * (len(groups) if is_of_any else 1)
        if not told["events"] and not refused:
            expect.append(other_row(vector["id"], "nothing", None))
        counts[place]["used_rows"] += told["raw_counts"]["used_rows"]
        for other, count in enumerate(counts):
            if is_of_any or other == place:
                count["quarantined_rows"] += len(refused)
    for place, count in enumerate(counts):
        all_counts = {
            "raw_rows": len(rows),
            "used_rows": count["used_rows"],
            "no_op_rows": len(rows) - sum(count.values()),
            "quarantined_rows": count["quarantined_rows"],
        }
        groups[place]["table"] += f"_{place}"
        expect.append(other_row(groups[place]["table"], "counts", None, json_text(all_counts)))
    given_tables = {
        "precedence_log": log_sql(rows),
        "precedence_snapshot": rows_sql(["vector", *columns], snapshot),
    }
    variables = {"netiq_groups": groups}
    return [UnitTest("netiq_precedence", "netiq_precedence", given_tables, expect, variables)]


# keys

PART = re.compile(r'([^=+"\\,;<>]+)=("(?:[^"\\]|\\["\\])*"|[^,;\'+"=\\<>]*)')

# Vectors whose names matter: all others are decoded with the names p1, p2 and so on.
NAMED = ("key_upper_case", "key_name_with_blank", "key_view")


def text_sql(text: Any) -> str:
    """A text, or a list of texts with how often each stands there."""
    if not isinstance(text, list):
        return literal(text)
    return f"concat({', '.join(f'repeat({literal(part)}, {times})' for part, times in text)})"


def short(text: str) -> str:
    """A text; of a long one its length and its end."""
    return text if len(text) <= 100 else f"{len(text)} characters, {text[-20:]}"


def key_of_vector(vector: Vector) -> tuple[Any, list[str], dict[str, str], list[str] | None]:
    """The text of a vector, the key it is decoded with, the columns, the values to be found."""
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
        return text, ["p1"], {"p1": "string"}, None  # it is no name of a column
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
            reason = "key_mismatch"  # so it was parsed
        told = None if values is None else json_text([short(value) for value in values])
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
        sql_type = given.get("type", "string")
        column = f"c{types.index(sql_type)}"
        row: Row = {
            "record_id": str(STEP * number),
            "status": "N",
            "event_type": "2",
            "event_time": "2024-03-01 10:00:00",
            "perpetrator": vector["id"],
            "table_name": "t",
            "table_key": "id=1",
            "column_name": column,
            "old_value": None,
            "new_value": given.get("text", "x"),
        }
        is_number = False
        for name in ("record_id", "event_type", "event_time"):
            if name in given:
                is_number = isinstance(given[name], int | float)
                row[name] = given[name] if given[name] is None else str(given[name])
        if "record_id" in told:
            # several vectors read the same number
            row["record_id"] = moved(row["record_id"], number)
        (numbers if is_number else texts).append(row)
        is_event = "reason" not in told
        record_id = moved(told["record_id"], number) if "record_id" in told else row["record_id"]
        value = told.get("value", "x") if is_event else None
        is_moment = sql_type == "timestamp"
        expect.append(
            {
                "vector": vector["id"],
                "reason": told.get("reason"),
                "record_id": record_id if is_event else None,
                "event_time": told.get("event_time", row["event_time"]) + "Z" if is_event else None,
                "changed": column if is_event else None,
                "value": None if is_moment else value,
                "moment": value if is_moment else None,
            }
        )
        if "event_type" in told:
            assert told["event_type"] == "8"  # answered by the snapshot
            expect[-1]["value"] = "asked"
    snapshot = ["1", *("'asked'" if one == "string" else f"cast(null as {one})" for one in types)]
    given_tables = {
        "values_log": log_sql(texts),
        "numbers_log": log_sql(
            numbers, {"record_id": "decimal(10,1)", "event_type": "decimal(10,1)"}
        ),
        "values_snapshot": rows_sql(list(columns), [snapshot]),
    }
    variables = {"netiq_columns": columns}
    return [UnitTest("netiq_values", "netiq_values", given_tables, expect, variables)]
