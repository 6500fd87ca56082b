"""Wrong arguments of the decoder, and what the message says of each; relations to call it with."""

from __future__ import annotations

from formats.qlik_messages.versions import TYPES

RECORDS: dict[str, str | None] = {**TYPES}

DECLARED: dict[str, dict[str, str | None]] = {
    "messages": RECORDS,
    "told": RECORDS,
    "without_value": {name: RECORDS[name] for name in RECORDS if name != "value"},
    "parsed": RECORDS | {"value": "struct<magic:string>"},
    "numbered_times": RECORDS | {"timestamp": "bigint"},
    "text_offsets": RECORDS | {"offset": "string"},
    "undeclared": {},
    "untyped": RECORDS | {"value": None},
}

CALL = (
    "messages, key=['id'], columns={'id': 'int', 'name': 'string'}, table='CUST', schema='APP',"
    " metadata=told"
)

CUST = "['id'], {'id': 'int', 'name': 'string'}"

WRONG_CALLS: list[tuple[str, str]] = [
    (f"messages, {CUST}, table=7", "table is 7"),
    (f"messages, {CUST}, table=''", "table is empty"),
    (f"messages, {CUST}, table=['CUST']", "table is ['CUST']"),
    (f"messages, {CUST}, schema=7", "schema is 7"),
    (f"messages, {CUST}, schema=''", "schema is empty"),
    (f"messages, {CUST}, metadata='erp.metadata'", "the relation is a text, erp.metadata"),
    (f"messages, {CUST}, metadata=undeclared", "neither exists nor has declared columns"),
    (f"messages, {CUST}, metadata=without_value", "has no column value"),
    (f"'erp.messages', {CUST}", "the relation is a text, erp.messages"),
    (f"undeclared, {CUST}", "neither exists nor has declared columns"),
    (f"untyped, {CUST}", "its YAML declares no data_type for value"),
    (f"without_value, {CUST}", "has no column value"),
    (f"parsed, {CUST}", "is struct<magic:string>"),
    (f"numbered_times, {CUST}", "is bigint"),
    (f"text_offsets, {CUST}", "is string"),
    ("messages, ['nr'], {'id': 'int'}", "key names the column nr"),
    ("messages, [], {'id': 'int'}", "key is empty"),
    ("messages, 'id', {'id': 'int'}", "key is id"),
    ("messages, ['id', 'ID'], {'id': 'int'}", "key names ID twice"),
    ("messages, ['id'], none", "columns is None"),
    ("messages, ['id'], ['id']", "columns is ['id']"),
    ("messages, ['id'], {}", "columns is empty"),
    ("messages, ['id'], {'id': none}", "the type of the column id is None"),
    ("messages, ['id'], {'id': 'int', 'ID': 'int'}", "two columns are named id, in di"),
    ("messages, ['id'], {'id': 'int', 'cdc_x': 'int'}", "the column cdc_x begins with cdc_"),
    ("messages, ['id'], {'id': 'int', 'm': 'map<int,int>'}", "is of type map<int,int>"),
    ("messages, ['id'], {'id': 'int', 'a': 'array<int>'}", "a is string and shall be array"),
]

# Of `qlik_messages_log`.
WRONG_LOGS: list[tuple[str, str]] = [
    ("without_value", "has no column value"),
    ("messages, versions=messages", "has no column schema_id"),
    ("messages, tables='APP.CUST'", "tables is APP.CUST"),
    ("messages, tables=['APP.CUST', 'APP.']", "tables has APP."),
    ("messages, tables=[7]", "tables has 7"),
    ("messages, tables=['']", "tables has an empty text"),
]
