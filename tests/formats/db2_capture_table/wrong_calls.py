"""Calls of the decoder that stop compilation, and a part of each message."""

from __future__ import annotations

THREE: dict[str, str | None] = {
    "IBMSNAP_COMMITSEQ": "binary",
    "IBMSNAP_INTENTSEQ": "binary",
    "IBMSNAP_OPERATION": "string",
}
ITEMS: dict[str, str | None] = {"ID": "int", "NAME": "string"}
CD: dict[str, str | None] = THREE | ITEMS | {"XID": "int", "XNAME": "string"}

# Without COMMITSEQ, before version 8.
OLD: dict[str, str | None] = {
    "IBMSNAP_UOWID": "binary",
    "IBMSNAP_INTENTSEQ": "binary",
    "IBMSNAP_OPERATION": "string",
    "ID": "int",
}

DECLARED: dict[str, dict[str, str | None]] = {
    "cd": CD,
    # columns of the table, or before columns
    "unclear": THREE | ITEMS | {"xid": "int"},
    "unclear_too": CD | {"XXNAME": "string"},
    "of_two": THREE | {"REF": "int", "XREF": "int"},
    "keys": THREE | {"PK01": "int", "pk2": "string"},
    "no_keys": THREE | {"NAME": "string"},
    "both": THREE | {"ID": "int", "PK01": "int"},
    "rows": {"ID": "int", "NAME": "string"},
    "old": OLD,
    "dated": CD | {"IBMSNAP_LOGMARKER": "date"},
    "floating": CD | {"IBMSNAP_COMMITSEQ": "double"},
    "numbered": CD | {"IBMSNAP_OPERATION": "int"},
    "twice": CD | {"ibmsnap_operation": "string"},
    "uow": {"IBMSNAP_COMMITSEQ": "string", "IBMSNAP_LOGMARKER": "timestamp"},
    "uow_without": {"IBMSNAP_LOGMARKER": "timestamp"},
    "uow_of_numbers": {"IBMSNAP_COMMITSEQ": "string", "IBMSNAP_AUTHID": "int"},
    "nested": CD | {"NAME": "array<string>"},
    "mapped": CD | {"NAME": "map<string,string>"},
    "reserved": CD | {"cdc_x": "int"},
    "undeclared": {},
    "untyped": CD | {"NAME": None},
}

CALL = "cd, key=['ID'], unit_of_work=uow"

WRONG_CALLS: list[tuple[str, str]] = [
    ("rows, ['ID']", "lacks IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ, IBMSNAP_OPERATION"),
    ("old, ['ID']", "lacks IBMSNAP_COMMITSEQ; it has IBMSNAP_UOWID"),
    ("dated, ['ID']", "IBMSNAP_LOGMARKER of"),
    ("dated, ['ID']", "is of type date"),
    ("floating, ['ID']", "is of type double"),
    ("numbered, ['ID']", "is of type int"),
    ("twice, ['ID']", "has IBMSNAP_OPERATION and ibmsnap_operation"),
    ("cd, ['ID'], unit_of_work=uow_without", "lacks IBMSNAP_COMMITSEQ"),
    ("cd, ['ID'], unit_of_work=uow_of_numbers", "IBMSNAP_AUTHID of"),
    ("cd, ['ID'], unit_of_work='db2.uow'", "the relation is a text, db2.uow"),
    ("undeclared, ['ID']", "neither exists nor has declared columns"),
    ("untyped, ['ID']", "its YAML declares no data_type for NAME"),
    ("'db2.cd', ['ID']", "the relation is a text, db2.cd"),
    ("cd, none", "key is empty"),
    ("cd, []", "key is empty"),
    ("cd, 'ID'", "key is ID"),
    ("cd, ['ID', 'id']", "key names id twice"),
    ("cd, ['NR']", "key names the column NR"),
    ("cd, ['XNAME']", "key names the column XNAME"),
    ("cd, ['NR'], columns={'NR': 'int'}", "key names the column NR"),
    ("keys, ['ID'], columns={'ID': 'int'}", "key has 1 columns (ID), and the relation has 2"),
    ("keys, ['ID'], key_columns=['PK01', 'PK2']", "key has 1 columns (ID), and the relation has 2"),
    ("keys, ['ID'], key_columns=['PK03']", "key_columns names the column PK03"),
    ("keys, ['ID'], key_columns='PK01'", "key_columns is PK01"),
    ("no_keys, ['ID']", "key names the column ID"),
    ("both, ['ID'], key_columns=['PK01']", "two columns are named ID"),
    ("cd, ['ID'], columns={'ID': 'int', 'CITY': 'string'}", "columns names CITY"),
    ("cd, ['ID'], columns=['ID']", "columns is ['ID']"),
    ("cd, ['ID'], columns={}", "columns is empty"),
    ("cd, ['ID'], columns={'ID': none}", "the type of the column ID is None"),
    ("cd, ['ID'], columns={'ID': 'NUMBER(10)'}", "NUMBER(10), which Spark does not know"),
    ("cd, ['NAME'], columns={'NAME': 'string'}, before_prefix=1", "before_prefix is 1"),
    ("unclear, ['ID']", "has xid: before columns with the prefix X, or columns of the table?"),
    ("unclear, ['ID'], columns={'ID': 'int', 'NAME': 'string'}", "has xid: before columns"),
    ("unclear_too, ['ID']", "has XID, XNAME, XXNAME: before columns"),
    ("cd, ['ID'], columns={'ID': 'int', 'NAME': 'string', 'XNAME': 'string'}", "has XID: before"),
    ("of_two, ['REF']", "has XREF: before columns"),
    ("cd, ['ID'], source_timezone='Mars'", "source_timezone is Mars"),
    ("cd, ['ID'], base=no_keys", "key names the column ID"),
    ("cd, ['ID'], {'ID': 'int', 'CITY': 'string'}, base=rows", "lacks CITY"),
    ("cd, ['ID'], base=undeclared", "neither exists nor has declared columns"),
    (
        "nested, ['ID'], {'ID': 'int', 'NAME': 'string'}",
        "NAME is array<string> and shall be string",
    ),
    ("mapped, ['ID']", "is of type map<string,string>"),
    ("reserved, ['ID']", "the column cdc_x begins with cdc_"),
]
