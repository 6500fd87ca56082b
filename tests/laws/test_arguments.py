"""Wrong arguments stop compilation, and the message says what was given, what is accepted, how."""

from __future__ import annotations

import pytest
import yaml
from kit.warehouse import ROOT, Warehouse

Columns = dict[str, str | None]

CHANGE_TABLE: Columns = {"header__change_seq": "string", "header__change_oper": "string"}
EVENTS: Columns = {
    "cdc_operation": "string",
    "cdc_sequence": "string",
    "cdc_commit_sequence": "string",
    "cdc_commit_at": "timestamp",
    "cdc_present_columns": "array<string>",
    "cdc_before": "struct<id:bigint,note:string>",
}
TABLE: Columns = {"id": "bigint", "note": "string"}

# The relations, by name: all declared, none in the warehouse.
RELATIONS: dict[str, Columns] = {
    "ct": CHANGE_TABLE | TABLE,
    "undeclared": {},
    "untyped": CHANGE_TABLE | {"id": None},
    "reserved": CHANGE_TABLE | TABLE | {"CDC_note": "string"},
    "has_map": CHANGE_TABLE | TABLE | {"labels": "map<string,int>"},
    "has_deep_map": CHANGE_TABLE | TABLE | {"labels": "array<map<string,int>>"},
    "has_variant": CHANGE_TABLE | TABLE | {"anything": "variant"},
    "has_deep_variant": CHANGE_TABLE | TABLE | {"anything": "struct<variant: array<variant>>"},
    "has_field_variant": CHANGE_TABLE | TABLE | {"anything": "struct<`a`: variant not null>"},
    "nested": CHANGE_TABLE | {"id": "int", "tags": "array<string>", "o": "struct<a:int, b:int>"},
    "two_alike": CHANGE_TABLE | {"id": "int", "Note": "string", "note": "string"},
    "broken_name": CHANGE_TABLE | {"id": "int", "order\nno": "string"},
    "no_headers": TABLE,
    "no_operation": {"header__change_seq": "string", **TABLE},
    "headers_only": CHANGE_TABLE,
    "chunks": {"capture_id": "string", "chunk_number": "bigint", "payload": "binary"},
    "timed_chunks": {"capture_id": "timestamp", "chunk_number": "bigint", "payload": "binary"},
    "hex_chunks": {"capture_id": "string", "chunk_number": "bigint", "payload": "string"},
    "changes": EVENTS | TABLE,
    "unfinished": {k: v for k, v in EVENTS.items() if k != "cdc_before"} | TABLE,
}

# What is called, and what the message says of it. `ct`, `changes` stand for relations.
DECODER: list[tuple[str, str]] = [
    ("ct, key=['id', 'nr']", "key names the column nr, which is not there"),
    ("ct, key=['header__change_seq']", "key names the column header__change_seq, which is not"),
    ("ct, key=[]", "key is empty"),
    ("ct, key=none", "key is empty"),
    ("ct, key='id'", "key is id"),
    ("ct, key=7", "key is 7"),
    ("ct, key=['id', 'ID']", "key names ID twice"),
    ("undeclared, key=['id']", "neither exists nor has declared columns"),
    ("'erp.orders__ct', key=['id']", "the relation is a text, erp.orders__ct"),
    ("none, key=['id']", "the relation is None"),
    ("untyped, key=['id']", "its YAML declares no data_type for id"),
    ("ct, key=['id'], mask_byte_order='middle'", "mask_byte_order is middle"),
    ("ct, key=['id'], mask_byte_order='BIG'", "mask_byte_order is BIG"),
    ("ct, key=['id'], header_columns=0", "header_columns is 0"),
    ("ct, key=['id'], header_columns='7'", "header_columns is 7"),
    ("ct, key=['id'], header_columns=true", "header_columns is True"),
    ("ct, key=['id'], header_prefix=none", "header_prefix is None"),
    ("ct, key=['id'], header_prefix=''", "header_prefix is '' and header_columns is none"),
    ("ct, key=['id'], header_prefix='hdr_'", "has no column hdr_change_seq"),
    ("no_headers, key=['id']", "has no column header__change_seq"),
    ("no_operation, key=['id']", "none of header__change_oper and header__operation"),
    ("headers_only, key=['id']", "has header columns only"),
    ("reserved, key=['id']", "the column CDC_note begins with cdc_, which is reserved"),
    ("has_map, key=['id']", "the column labels is of type map<string,int>"),
    ("has_deep_map, key=['id']", "the column labels is of type array<map<string,int>>"),
    ("has_variant, key=['id']", "the column anything is of type variant"),
    ("has_deep_variant, key=['id']", "is of type struct<variant: array<variant>>, which has no"),
    ("has_field_variant, key=['id']", "is of type struct<`a`: variant not null>, which has no"),
    ("ct, key=['id'], qlik_sparse_updates='false'", "qlik_sparse_updates is false"),
    ("ct, key=['id'], qlik_sparse_updates=1", "qlik_sparse_updates is 1"),
    ("ct, key=['id'], columns=['id']", "columns is ['id']"),
    ("ct, key=['id'], columns={}", "columns is empty"),
    ("ct, key=['id'], columns={'id': none}", "the type of the column id is None"),
    ("ct, key=['id'], columns={'id': ''}", "the type of the column id is empty"),
    ("ct, key=['id'], columns={'id': 'bigint', 'nr': 'int'}", "columns names the column nr"),
    ("ct, key=['id'], columns={'note': 'string'}", "key names the column id"),
    ("nested, ['id'], {'id': 'int', 'tags': 'array<int>'}", "tags is array<string> and shall be"),
    ("nested, ['id'], {'id': 'int', 'o': 'struct<b: int, a: int>'}", "is struct<a:int, b:int> and"),
    ("two_alike, ['id']", "two columns are named Note, but for their case"),
    ("two_alike, ['id'], {'id': 'int', 'Note': 'string'}", "Note, of which there are two, but for"),
    ("broken_name, ['id'], {'id': 'int'}", 'a line break in the name of the column "order\\nno"'),
]
ACCOUNT = "columns={'id': 'int', 'name': 'string'}"
STREAM: list[tuple[str, str]] = [
    (f"ct, 7, ['id'], {ACCOUNT}", "has no column capture_id"),
    (f"hex_chunks, 7, ['id'], {ACCOUNT}", "has payload of type string"),
    (f"timed_chunks, 7, ['id'], {ACCOUNT}", "has capture_id of type timestamp"),
    (f"undeclared, 7, ['id'], {ACCOUNT}", "neither exists nor has declared columns"),
    (f"chunks, 'accounts', ['id'], {ACCOUNT}", "table_id is accounts"),
    (f"chunks, true, ['id'], {ACCOUNT}", "table_id is True"),
    (f"chunks, 5000000000, ['id'], {ACCOUNT}", "table_id is 5000000000"),
    ("chunks, 7, ['id'], columns={'id': 'int', 'ID': 'int'}", "two columns are named id, but for"),
    (f"chunks, 7, [], {ACCOUNT}", "key is empty"),
    (f"chunks, 7, ['nr'], {ACCOUNT}", "key names the column nr"),
    ("chunks, 7, ['id'], columns=none", "columns is None"),
    ("chunks, 7, ['id'], columns=['id']", "columns is ['id']"),
    ("chunks, 7, ['id'], columns={}", "columns is empty"),
    ("chunks, 7, ['id'], columns={'id': none}", "the type of the column id is None"),
    (f"'erp.chunks', 7, ['id'], {ACCOUNT}", "the relation is a text, erp.chunks"),
    (
        "chunks, 7, ['id'], columns={'id': 'int', 'cdc_x': 'int'}",
        "the column cdc_x begins with cdc_",
    ),
    ("chunks, 7, ['id'], columns={'id': 'int', 'm': 'map<int,int>'}", "is of type map<int,int>"),
    ("chunks, 7, ['id'], columns={'id': 'int', 'a': 'array<int>'}", "a is string and shall be arr"),
    (f"chunks, 7, ['id'], {ACCOUNT}, gbase_encoding=8", "gbase_encoding is 8"),
    (f"chunks, 7, ['id'], {ACCOUNT}, gbase_rtrim_char='yes'", "gbase_rtrim_char is yes"),
    (f"chunks, 7, ['id'], {ACCOUNT}", A_VIEW := "is a view, which cannot call the functions"),
]
APPLIED: list[tuple[str, str]] = [
    ("changes, key=['id', 'nr']", "key names the column nr, which is not there"),
    ("changes, key=['cdc_sequence']", "key names the column cdc_sequence, which is not there"),
    ("changes, key=[]", "key is empty"),
    ("changes, key='id'", "key is id"),
    ("changes, key={'id': 'bigint'}", "key is {'id': 'bigint'}"),
    ("changes, key=['id'], columns='note'", "columns is note"),
    ("changes, key=['id'], columns=misspelt", "columns is not defined"),
    ("changes, key=['id'], columns=['nr']", "columns names the column nr, which is not there"),
    ("undeclared, key=['id']", "neither exists nor has declared columns"),
    ("'erp.changes', key=['id']", "the relation is a text, erp.changes"),
    ("ct, key=['id']", "has no cdc_operation, cdc_sequence"),
    ("unfinished, key=['id']", "has no cdc_before"),
]
CASES: list[tuple[str, str, str]] = [
    *(("qlik_change_table", given, said) for given, said in DECODER),
    *(("gbase_capture", given, said) for given, said in STREAM),
    *(("current_state", given, said) for given, said in APPLIED),
    ("current_state", "changes, key=['id'], keep_deleted='yes'", "keep_deleted is yes"),
    ("current_state", "changes, key=['id'], keep_deleted=1", "keep_deleted is 1"),
    *(("history", given, said) for given, said in APPLIED),
    ("history", "changes, key=['id'], granularity='day'", "granularity is day"),
    ("history", "changes, key=['id'], granularity=none", "granularity is None"),
    *(
        (macro, given, said)
        for macro in ("quarantine", "raw_counts")
        for given, said in (
            ("'qlik', ct, key=['id']", "decoder is qlik"),
            ("none, ct, key=['id']", "decoder is None"),
            ("none, ct, key=['id']", "the name of a decoder: gbase_capture, qlik_change_table\n"),
            ("'qlik_change_table', ct, key=['nr']", "key names the column nr"),
            ("'qlik_change_table', ct, key=['id'], mask_byte_order='x'", "mask_byte_order is x"),
            ("'qlik_change_table', undeclared, key=['id']", "neither exists nor has declared"),
            ("'qlik_change_table', ct, ['id'], mask_order='x'", "there is an argument mask_order"),
            ("'gbase_capture', chunks, 7, ['id'], mask_byte_order='big'", "table_id, key, columns"),
            (f"'gbase_capture', chunks, 7, ['id'], {ACCOUNT}", A_VIEW),
        )
    ),
    ("columns_of", "'erp.orders'", "the relation is a text, erp.orders"),
    ("columns_of", "undeclared", "neither exists nor has declared columns"),
    ("columns_of", "undeclared", "example:  sources: [{name: erp"),
    ("columns_of", "ref('not_built')", "example:  dbt run --select not_built, or models: [{name"),
    ("columns_of", "untyped", "its YAML declares no data_type for id"),
]


@pytest.fixture(scope="module")
def messages(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compile every case, each as a model of one project, and give what dbt says of each."""
    project = tmp_path_factory.mktemp("wrong_arguments")
    models = project / "models"
    models.mkdir()
    (project / "dbt_project.yml").write_text(
        "name: wrong_arguments\nprofile: consumer\n"
        "models: {+materialized: table}\nflags: {send_anonymous_usage_stats: false}\n"
    )
    (project / "packages.yml").write_text(yaml.dump({"packages": [{"local": str(ROOT)}]}))
    tables = [
        {
            "name": name,
            "columns": [
                {"name": column} | ({"data_type": data_type} if data_type else {})
                for column, data_type in columns.items()
            ],
        }
        for name, columns in RELATIONS.items()
    ]
    (models / "sources.yml").write_text(yaml.dump({"sources": [{"name": "erp", "tables": tables}]}))
    for number, (macro, given, said) in enumerate(CASES):
        config = "{{ config(materialized='view') }}\n" if said == A_VIEW else ""
        sets = "".join(
            f"{{%- set {name} = source('erp', '{name}') %}}\n" for name in sorted(RELATIONS)
        )
        call = f"{{{{ spark_cdc.{macro}({given}) }}}}\n"
        (models / f"case_{number}.sql").write_text(config + sets + call)
    (models / "not_built.sql").write_text("select 1 as id")
    profiles = ROOT / "tests" / "consumer"
    env = {"SPARK_CDC_SCHEMA": "wrong_arguments"}
    warehouse.dbt(project, "deps", profiles=profiles, env=env)
    run = warehouse.dbt(
        project, "run", "--exclude", "not_built", profiles=profiles, env=env, check=False
    )
    return {name: result["message"] or "" for name, result in run.results().items()}


@pytest.mark.parametrize(
    ("number", "macro", "given", "said"),
    [pytest.param(number, *case, id=f"{case[0]}({case[1]})") for number, case in enumerate(CASES)],
)
def test_message_teaches(
    messages: dict[str, str], number: int, macro: str, given: str, said: str
) -> None:
    """It is an error of compilation: what was given, what is accepted, an example."""
    message = messages[f"case_{number}"]
    assert message.strip().startswith("Compilation Error"), message
    assert said in message
    assert "\n  accepted: " in message.replace("\n    ", "\n  ")
    assert "\n  example:  " in message.replace("\n    ", "\n  ")
