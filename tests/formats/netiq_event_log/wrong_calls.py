"""Calls of the decoder that stop compilation, and a part of each message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEN = (
    *("record_id", "status", "event_type", "event_time", "perpetrator"),
    *("table_name", "table_key", "column_name", "old_value", "new_value"),
)
LOG: dict[str, str | None] = dict.fromkeys(TEN, "string")

# In the later order, with one of the names, and a number where text has to be.
MOVED: dict[str, str | None] = {f"c{place:02d}": "string" for place in range(1, 11)}
MOVED = {("status" if name == "c03" else name): kind for name, kind in MOVED.items()}
MOVED["c06"] = "int"

DECLARED: dict[str, dict[str, str | None]] = {
    "log": LOG | {"record_id": "bigint", "event_type": "int", "event_time": "timestamp"},
    "text_log": LOG,
    "dated_log": LOG | {"event_time": "date"},
    "timed_log": LOG | {"record_id": "timestamp"},
    "flag_log": LOG | {"event_type": "boolean"},
    "binary_log": LOG | {"new_value": "binary"},
    "number_log": LOG | {"table_key": "bigint"},
    "moved_log": MOVED,
    "undeclared": {},
    "untyped": LOG | {"status": None},
    "usr": {"idu": "int", "fname": "string"},
    "usr_ids": {"idu": "int"},
    "usr_names": {"fname": "string", "lname": "string"},
}

CALL = "log, table='usr', key=['idu'], columns={'idu': 'int', 'fname': 'string'}"

USR = "'usr', ['idu'], {'idu': 'int', 'fname': 'string'}"

WRONG_CALLS: list[tuple[str, str]] = [
    (f"log, {USR}, layout='3.5.1'", "layout is 3.5.1"),
    (f"log, {USR}, layout=['record_id']", "layout is ['record_id']"),
    (f"log, {USR}, layout={dict(zip(TEN, TEN, strict=True)) | {'note': 'x'}}", "names note"),
    (f"dated_log, {USR}", "event_time of type date"),
    (f"timed_log, {USR}", "record_id of type timestamp"),
    (f"flag_log, {USR}", "event_type of type boolean"),
    (f"binary_log, {USR}", "new_value of type binary"),
    (f"number_log, {USR}", "table_key of type bigint"),
    (
        f"log, {USR}, layout='record_id_table_key'",
        "has the columns table_key, status, event_type, event_time, perpetrator, table_name in"
        " other places than the layout record_id_table_key",
    ),
    (f"moved_log, {USR}", "status in other places than the layout record_id_status"),
    (f"moved_log, {USR}, layout='record_id_table_key'", "c06 of type int"),
    (f"undeclared, {USR}", "neither exists nor has declared columns"),
    (f"untyped, {USR}", "its YAML declares no data_type for status"),
    (f"'idm.log', {USR}", "the relation is a text, idm.log"),
    (f"log, {USR}, as_of='yesterday'", "as_of is yesterday"),
    (f"log, {USR}, as_of='10:00:00'", "as_of is 10:00:00"),
    (f"log, {USR}, as_of='2024-02-30 10:00:00'", "as_of is 2024-02-30 10:00:00"),
    (f"log, {USR}, as_of='2024-03-01T10:00:00Z'", "as_of is 2024-03-01T10:00:00Z"),
    (f"log, {USR}, as_of='2024-03-01 10:00:00+01:00'", "as_of is 2024-03-01 10:00:00+01:00"),
    (f"log, {USR}, as_of=''", "as_of is"),
    (f"log, {USR}, as_of=20240301", "as_of is 20240301"),
    (f"log, {USR}, as_of=true", "as_of is True"),
    (f"log, {USR}, snapshot=usr_ids", "lacks fname"),
    (
        "log, 'usr', ['idu'], {'idu': 'int', 'lname': 'string', 'born': 'date'}, snapshot=usr",
        "lacks lname, born",
    ),
    (f"log, {USR}, snapshot=usr_names", "lacks idu"),
    (f"log, {USR}, snapshot=undeclared", "neither exists nor has declared columns"),
    (f"log, {USR}, snapshot='idm.usr'", "the relation is a text, idm.usr"),
    (f"log, {USR}, source_timezone='Mars'", "source_timezone is Mars"),
    (f"log, {USR}, source_timezone=1", "source_timezone is 1"),
    ("log, none, ['idu'], {'idu': 'int'}", "table is None"),
    ("log, '', ['idu'], {'idu': 'int'}", "table is empty"),
    ("log, 'idm.', ['idu'], {'idu': 'int'}", "table is idm."),
    ("log, 7, ['idu'], {'idu': 'int'}", "table is 7"),
    ("log, 'usr', ['nr'], {'idu': 'int'}", "key names the column nr"),
    ("log, 'usr', [], {'idu': 'int'}", "key is empty"),
    ("log, 'usr', 'idu', {'idu': 'int'}", "key is idu"),
    ("log, 'usr', ['idu', 'IDU'], {'idu': 'int'}", "key names IDU twice"),
    ("log, 'usr', ['idu'], none", "columns is None"),
    ("log, 'usr', ['idu'], ['idu']", "columns is ['idu']"),
    ("log, 'usr', ['idu'], {}", "columns is empty"),
    ("log, 'usr', ['idu'], {'idu': none}", "the type of the column idu is None"),
    ("log, 'usr', ['idu'], {'idu': 'int', 'IDU': 'int'}", "two columns are named idu, in"),
    ("log, 'usr', ['idu'], {'idu': 'int', 'cdc_x': 'int'}", "the column cdc_x begins with cdc_"),
    ("log, 'usr', ['idu'], {'idu': 'int', 'm': 'map<int,int>'}", "is of type map<int,int>"),
    ("log, 'usr', ['idu'], {'idu': 'int', 'a': 'array<int>'}", "a is string and shall be array"),
]


def layouts_that_lack() -> None:
    """Add the vectors of layouts that lack columns: the message names each of them."""
    vectors = Path(__file__).with_name("vectors") / "netiq_layout.jsonl"
    for line in vectors.read_text(encoding="utf-8").splitlines():
        vector: dict[str, Any] = json.loads(line)
        given, expect = vector["given"], vector["expect"]
        if "missing" not in expect:
            continue
        DECLARED[vector["id"]] = dict.fromkeys(given["relation_columns"], "string")
        layout = "" if given["layout"] is None else f", layout={given['layout']!r}"
        for place, name in enumerate(expect["missing"]):
            said = f", {name}" if place else f"lacks {name}"
            WRONG_CALLS.append((f"{vector['id']}, {USR}{layout}", said))


layouts_that_lack()
