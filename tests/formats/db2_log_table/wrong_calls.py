"""Calls of the decoder that stop compilation, and a part of each message."""

from __future__ import annotations

LOG: dict[str, str | None] = {"OPERATION": "int", "TIME": "timestamp", "PK01": "int"}

DECLARED: dict[str, dict[str, str | None]] = {
    "log": LOG,
    "pair_log": LOG | {"PK02": "string"},
    "twice_log": LOG | {"PK1": "int"},
    "dated_log": LOG | {"TIME": "date"},
    "flag_log": LOG | {"OPERATION": "boolean"},
    "timeless_log": {"OPERATION": "int", "PK01": "int"},
    "nameless_log": LOG | {"time": "string"},
    "binary_log": LOG | {"PK01": "binary"},
    "undeclared": {},
    "untyped": LOG | {"TIME": None},
    "orders": {"id": "int", "note": "string", "amount": "decimal(8,2)"},
    "reserved": {"id": "int", "cdc_note": "string"},
    "mapped": {"id": "int", "tags": "map<string,string>"},
    "nested": {"id": "int", "tags": "array<int>"},
}

CALL = "log, key=['id'], base=orders"

WRONG_CALLS: list[tuple[str, str]] = [
    ("log, ['id'], none", "base is None"),
    ("log, ['id'], misspelt", "base is not defined"),
    ("log, ['id'], 'db2.orders'", "the relation is a text, db2.orders"),
    ("log, ['id'], undeclared", "neither exists nor has declared columns"),
    ("undeclared, ['id'], orders", "neither exists nor has declared columns"),
    ("untyped, ['id'], orders", "its YAML declares no data_type for TIME"),
    ("'db2.log', ['id'], orders", "the relation is a text, db2.log"),
    ("log, ['nr'], orders", "key names the column nr"),
    ("log, [], orders", "key is empty"),
    ("log, 'id', orders", "key is id"),
    ("log, ['id', 'note'], orders", "key has 2 columns (id, note), and the relation has 1 key"),
    ("pair_log, ['id'], orders", "key has 1 columns (id), and the relation has 2 key columns"),
    ("twice_log, ['id', 'note'], orders", "PK01 and PK1 have the same number"),
    ("log, ['id'], orders, key_columns=['PK02']", "key_columns names the column PK02"),
    ("pair_log, ['id'], orders, key_columns='PK01'", "key_columns is PK01"),
    ("pair_log, ['id'], orders, key_columns=['PK01', 'PK02']", "key has 1 columns (id)"),
    ("pair_log, ['id', 'note'], orders, key_columns=['PK01', 'pk01']", "names pk01 twice"),
    ("orders, ['id'], orders", "has no column OPERATION; it has id, note, amount"),
    ("timeless_log, ['id'], orders", "has no column TIME"),
    ("nameless_log, ['id'], orders", "has two columns that are named TIME"),
    ("dated_log, ['id'], orders", "TIME is of type date"),
    ("flag_log, ['id'], orders", "OPERATION is of type boolean"),
    ("binary_log, ['id'], orders", "the column PK01 is binary and shall be int"),
    ("log, ['id'], orders, columns=['id']", "columns is ['id']"),
    ("log, ['id'], orders, columns={}", "columns is empty"),
    ("log, ['note'], orders, columns={'id': 'int'}", "key names the column note"),
    (
        "log, ['id'], orders, columns={'id': 'int', 'nr': 'int', 'no': 'int'}",
        "lacks nr, no; it has",
    ),
    ("log, ['id'], orders, columns={'id': none}", "the type of the column id is None"),
    ("log, ['id'], orders, columns={'id': 'number(9)'}", "is number(9), which Spark does not know"),
    (
        "log, ['id'], orders, columns={'id': 'int', 'ID': 'int'}",
        "two columns are named id, in",
    ),
    (
        "log, ['id'], nested, columns={'id': 'int', 'tags': 'string'}",
        "the column tags is array<int>",
    ),
    ("log, ['id'], reserved", "the column cdc_note begins with cdc_"),
    ("log, ['id'], mapped", "is of type map<string,string>"),
    ("log, ['id'], orders, source_timezone='Mars'", "source_timezone is Mars"),
    ("log, ['id'], orders, source_timezone=1", "source_timezone is 1"),
]
