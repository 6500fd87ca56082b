"""Wrong arguments stop compilation; the message has what was given and accepted, and an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
import yaml
from kit.formats import Format, decoders_built, every_format
from kit.warehouse import ROOT, Warehouse, install_package

from laws.wrong_moments import LOOKED_AT

Columns = Mapping[str, str | None]

EVENTS: Columns = {
    "cdc_source": "string",
    "cdc_operation": "string",
    "cdc_sequence": "string",
    "cdc_commit_sequence": "string",
    "cdc_commit_at": "timestamp",
    "cdc_transaction_id": "string",
    "cdc_present_columns": "array<string>",
    "cdc_before": "struct<id:bigint,note:string>",
    "cdc_batch": "string",
}
TABLE: Columns = {"id": "bigint", "note": "string"}

# The relations, by name: all are declared, none is in the warehouse. Each format adds its own.
FULL_EVENTS: Columns = {**EVENTS, "cdc_source": "string", "cdc_changed_columns": "array<string>"}
DECLARED: dict[str, Columns] = {
    "undeclared": {},
    "untyped": {"id": None},
    "foreign": {"id": "number(9)"},
    "no_events": TABLE,
    "changes": {**EVENTS, **TABLE},
    "all_changes": {**FULL_EVENTS, **TABLE},
    "unfinished": {k: v for k, v in EVENTS.items() if k != "cdc_before"} | dict(TABLE),
    "versions": {
        **TABLE,
        **dict.fromkeys(("cdc_valid_from", "cdc_valid_to"), "timestamp"),
        **dict.fromkeys(("cdc_valid_from_sequence", "cdc_valid_to_sequence"), "string"),
        "cdc_is_current": "boolean",
    },
    "no_batch": {k: v for k, v in EVENTS.items() if k != "cdc_batch"} | dict(TABLE),
    "timed": {**EVENTS, **TABLE, "lasts": "array<interval day to second>"},
    "other_types": {**EVENTS, **TABLE, "cdc_commit_at": "date", "cdc_present_columns": "string"},
}


@dataclass(frozen=True)
class WrongCall:
    """A call of a macro in a model, and a part of its message."""

    macro: str
    given: str
    said: str
    declared: Mapping[str, Columns]
    materialized: str = "table"


APPLIED: list[tuple[str, str]] = [
    ("changes, key=['id', 'nr']", "key names the column nr, which does not exist"),
    ("changes, key=['cdc_sequence']", "key names the column cdc_sequence, which does not exist"),
    ("changes, key=[]", "key is empty"),
    ("changes, key='id'", "key is id"),
    ("changes, key={'id': 'bigint'}", "key is {'id': 'bigint'}"),
    ("changes, key=['id'], columns='note'", "columns is note"),
    ("changes, key=['id'], columns=misspelt", "columns is not defined"),
    ("changes, key=['id'], columns=['nr']", "columns names the column nr, which does not exist"),
    ("undeclared, key=['id']", "neither exists nor has declared columns"),
    ("'erp.changes', key=['id']", "the relation is a text, erp.changes"),
    ("no_events, key=['id']", "it has no cdc_operation; it has no cdc_sequence"),
    ("unfinished, key=['id']", "it has no cdc_before"),
    ("other_types, key=['id']", "cdc_commit_at is date, not timestamp; cdc_present_columns is str"),
]
FEEDS: list[tuple[str, str]] = [
    *((given, said) for given, said in APPLIED if "columns" not in given),
    ("no_batch, key=['id']", "it has no cdc_batch"),
    ("changes, key=['id'], schema='yes'", "schema is yes"),
    ("changes, key=['id'], schema=none", "schema is None"),
    ("changes, key=['id'], keyed='id'", "keyed is id"),
    ("changes, key=['id'], null_keys='id'", "null_keys is id"),
    ("changes, key=['id'], source='erp'", "source is erp"),
    ("changes, key=['id'], source={'my table': 'orders'}", "source has the field my table"),
    ("changes, key=['id'], source={'ts_ms': 5}", "the field ts_ms, which the change event itself"),
    ("changes, key=['id'], source={'TS_ms': 5}", "the field TS_ms, which the change event itself"),
    ("changes, key=['id'], source={'Table': 'o'}", "the field Table, another spelling of table"),
    ("changes, key=['id'], source={'lsn': 1.5}", "the field lsn of source is 1.5"),
    ("changes, key=['id'], source={'lsn': 2 ** 63}", "the field lsn of source is 9223372036854775"),
    ("changes, key=['id'], source={'lsn': {'sql': 'id'}}", "lsn of source is {'sql': 'id'}"),
    (
        "changes, key=['id'], source={'lsn': {'sql': 'id', 'type': 'number'}}",
        "the type of the field lsn of source is number",
    ),
    (
        "changes, key=['id'], source={'lsn': {'sql': 'id', 'type': 'map<int, int>'}}",
        "the field lsn of source is of type map<int, int>, which has no form in Kafka Connect",
    ),
    (
        "timed, key=['id'], schema=true",
        "the column lasts is of type array<interval day to second>, which has no form in Kafka",
    ),
    ("timed, key=['id'], schema='payload'", "which has no form in Kafka Connect"),
]
# A spec, and decoders in the compiled project.
SPEC = "{'relation': changes, 'raw_columns': {'id': 'int'}, 'key': ['id'], 'columns': {'id': 'int'}"
DECODED: list[tuple[str, str]] = [
    (f"'wrong_arguments.none', {SPEC}}}", "package wrong_arguments has no macro _outcomes_none"),
    (f"'nowhere.none', {SPEC}}}", "decoder is nowhere.none, and the package nowhere has no"),
    (f"'a.b.c', {SPEC}}}", "decoder is a.b.c"),
    ("'wrong_arguments.tilde', 'id'", "wrong_arguments.tilde is not valid: it is not a dict: id"),
    (
        "'wrong_arguments.tilde', {'relation': 'changes'}",
        "relation is not a relation from source() or",
    ),
    ("'wrong_arguments.tilde', {'relation': changes}", "raw_columns is missing, a dict of name"),
    ("'wrong_arguments.tilde', {'relation': changes}", "key is missing, a list of names"),
    (
        f"'wrong_arguments.tilde', {SPEC}, 'base': changes}}",
        "base is the relation erp.changes; rela",
    ),
    (f"'wrong_arguments.tilde', {SPEC}, 'of': [1, [api]]}}", "is not valid: of[1][0]"),
    (f"'wrong_arguments.tilde', {SPEC}, 'of': {{1: 'x'}}}}", "a name in of is not text: 1"),
    (f"'wrong_arguments.tilde', {SPEC}, 'as_of': 5}}", "as_of is not text: 5"),
    (f"'wrong_arguments.tilde', {SPEC}, 'lookups': [changes]}}", "lookups is not a dict of name"),
    (
        f"'wrong_arguments.tilde', {SPEC}, 'lookups': {{'base': 'b'}}}}",
        "lookups.base is not a relation",
    ),
    (
        f"'wrong_arguments.tilde', dict({SPEC}}}, columns={{'id': 'text'}})",
        "columns.id has the type text",
    ),
    (f"'wrong_arguments.tilde', {SPEC}}}", "wrong_arguments.tilde makes its cdc_sequence with ~"),
    (f"'wrong_arguments.silent', {SPEC}}}", "wrong_arguments.silent gives no cdc_sequence"),
]
MACROS = """
{% macro _outcomes_tilde(spec) %}
{{ spark_cdc.select_events(
    spec, {'cdc_operation': "'load'", 'cdc_sequence': "concat(id, '~')"}, 'rows'
) }}
{% endmacro %}
{% macro _outcomes_silent(spec) %}
{{ spark_cdc.select_events(spec, {'cdc_operation': "'load'"}, 'rows') }}
{% endmacro %}
"""
HEALTH: list[tuple[str, str]] = [
    ("{}", "tables is empty"),
    ("misspelt", "tables is not defined"),
    ("all_changes", "tables is erp.all_changes"),
    ("[{'changes': all_changes}]", "a table has no name: {'changes': "),
    ("[all_changes]", "a table has no name: {'changes': "),
    (
        "[{'name': 'a', 'changes': all_changes}, {'name': 'a', 'changes': all_changes}]",
        "two tables are named a\n",
    ),
    ("{'a': {'key': ['id']}}", "changes of the table a is missing"),
    ("{'a': 'erp.changes'}", "changes of the table a is erp.changes"),
    ("{'a': {'changes': all_changes, 'counts': 'c'}}", "counts of the table a is c"),
    ("{'a': {'changes': all_changes, 'history': all_changes}}", "the table a has history"),
    ("{'a': {'changes': all_changes, 'name': 'b'}}", "the table a has name"),
    ("{'a': changes}", "erp.changes, changes of the table a, does not have change events"),
    ("{'a': undeclared}", "neither exists nor has declared columns"),
    ("{'a': {'changes': all_changes, 'key': ['nr']}}", "key names the column nr, which does not"),
    ("{'a': {'changes': all_changes, 'key': 'id'}}", "key is id"),
    (
        "{'a': {'changes': all_changes, 'key': ['id'], 'null_keys': 'id'}}",
        "null_keys is id",
    ),
    (
        "{'a': {'changes': all_changes, 'quarantine': all_changes}}",
        "all_changes, quarantine of the table a, has no reason, detail, raw",
    ),
    (
        "{'a': {'changes': all_changes, 'counts': no_events}}",
        "no_events, counts of the table a, has no raw_rows, used_rows",
    ),
    ("{'a': all_changes}, at='yesterday'", "at is yesterday"),
    ("{'a': all_changes}, at='2026-02-30'", "at is 2026-02-30"),
    ("{'a': all_changes}, at=5", "at is 5"),
]
OTHERS: list[tuple[str, str, str]] = [
    *LOOKED_AT,
    *(("health", given, said) for given, said in HEALTH),
    *(("current_state", given, said) for given, said in APPLIED),
    ("current_state", "changes, key=['id'], keep_deleted='yes'", "keep_deleted is yes"),
    ("current_state", "changes, key=['id'], keep_deleted=1", "keep_deleted is 1"),
    ("current_state", "changes, key=['id'], null_keys='id'", "null_keys is id"),
    ("history", "changes, key=['id'], null_keys=none", "null_keys is None"),
    *(("history", given, said) for given, said in APPLIED),
    *(("change_feed", given, said) for given, said in FEEDS),
    ("history", "changes, key=['id'], granularity='day'", "granularity is day"),
    ("history", "changes, key=['id'], granularity=none", "granularity is None"),
    ("columns_of", "'erp.orders'", "the relation is a text, erp.orders"),
    ("columns_of", "undeclared", "neither exists nor has declared columns"),
    ("columns_of", "undeclared", "example:  sources: [{name: erp"),
    ("columns_of", "ref('not_built')", "example:  dbt run --select not_built, or models: [{name"),
    *(("decode", given, said) for given, said in DECODED),
    ("columns_of", "untyped", "its YAML declares no data_type for id"),
    (
        "columns_of",
        "foreign",
        "that its YAML declares for id is number(9), which Spark does not know",
    ),
    ("columns_of", "foreign", 'columns: [{name: id, data_type: "decimal(9, 0)"}]'),
    *(
        (macro, given, said)
        for macro in ("quarantine", "raw_counts")
        for given, said in (
            ("'no_decoder', changes, key=['id']", "decoder is no_decoder"),
            ("none, changes, key=['id']", "decoder is None"),
            ("of=changes", "changes, whose body is not one call of a decoder"),
            ("of=ref('not_built')", "not_built, whose body is not one call of a decoder"),
            ("of=ref('not_built'), key=['id']", "it has the argument of and others"),
            (
                "none, changes, key=['id']",
                f"the name of a decoder: {', '.join(decoders_built())}\n",
            ),
        )
    ),
]


def wrong_calls_of(format_: Format) -> Iterator[WrongCall]:
    """Wrong calls of a decoder, and of `quarantine` and `raw_counts` with its arguments."""
    relations = format_.declared
    for given, said in format_.wrong_calls:
        yield WrongCall(format_.decoder, given, said, relations)
    if format_.can_narrow_before:
        given = f"{format_.call}, before_image='keys'"
        yield WrongCall(format_.decoder, given, "before_image is keys", relations)
    first, said = format_.wrong_calls[0]
    for macro in ("quarantine", "raw_counts"):
        decoder = f"'{format_.decoder}', "
        yield WrongCall(macro, decoder + first, said, relations)
        unknown = f"{decoder}{format_.call}, no_argument='x'"
        yield WrongCall(macro, unknown, "there is an argument no_argument", relations)


# With these materializations no macro's result can be stored.
INCREMENTAL = "is incremental, which adds the rows of each run to the rows of earlier runs"
MATERIALIZED: dict[str, str] = {
    "incremental": INCREMENTAL,
    "incremental', incremental_strategy='append": INCREMENTAL,
    "incremental', unique_key='cdc_sequence', incremental_strategy='merge": INCREMENTAL,
    "incremental', incremental_strategy='microbatch', event_time='cdc_commit_at', batch_size='day',"
    " begin='2026-01-01": INCREMENTAL,
    "ephemeral": "is ephemeral: it has no relation that other models could read",
    "snapshot": "is a snapshot, which sees at most one change of each key in a run",
}


def wrongly_materialized(format_: Format) -> Iterator[WrongCall]:
    """Right calls of every macro whose result can be stored, in models with a wrong
    materialization.
    """
    for materialized, said in MATERIALIZED.items():
        relations = format_.declared
        yield WrongCall(format_.decoder, format_.call, said, relations, materialized)
        quarantined = f"'{format_.decoder}', {format_.call}"
        yield WrongCall("quarantine", quarantined, said, relations, materialized)
    stored = "is cdc_incremental: the runs of the model of change events store its quarantine"
    yield WrongCall("quarantine", quarantined, stored, relations, "cdc_incremental")


CASES = [
    *(WrongCall(macro, given, said, DECLARED) for macro, given, said in OTHERS),
    *(
        WrongCall(macro, "changes, key=['id']", said, DECLARED, materialized)
        for macro in ("current_state", "history")
        for materialized, said in MATERIALIZED.items()
    ),
    *(
        WrongCall("change_feed", "changes, key=['id']", said, DECLARED, materialized)
        for materialized, said in (
            ("incremental", "is incremental, and nothing tells the rows that are new"),
            ("cdc_incremental", "is cdc_incremental, and nothing tells the rows that are new"),
        )
    ),
    *(
        WrongCall("health", "{'a': all_changes}", said, DECLARED, materialized)
        for materialized, said in (
            ("view", "is view, which does not keep what each run found"),
            ("ephemeral", "is ephemeral, which does not keep"),
            ("snapshot", "is snapshot, which does not keep"),
            ("cdc_incremental', file_format='parquet", "is cdc_incremental, which does not keep"),
        )
    ),
    *(wrong for format_ in every_format() for wrong in wrongly_materialized(format_)),
    WrongCall("columns_of", "ref('brief')", "is the ephemeral model brief, which has", DECLARED),
    WrongCall("current_state", "ref('brief'), key=['id']", "example:  {{ config(mat", DECLARED),
    *(wrong for format_ in every_format() for wrong in wrong_calls_of(format_)),
    *(
        WrongCall(f"{format_.decoder}_log", given, said, format_.declared, "cdc_incremental")
        for format_ in every_format()
        for given, said in format_.wrong_logs
    ),
    *(
        WrongCall(f"{format_.decoder}_log", "messages", "and it has no batch", format_.declared)
        for format_ in every_format()
        if format_.wrong_logs
    ),
]


def declared(source: str, relations: Mapping[str, Columns]) -> dict[str, object]:
    """A source of dbt with the declared columns of its relations."""
    tables = [
        {
            "name": name,
            "columns": [
                {"name": column} | ({"data_type": data_type} if data_type else {})
                for column, data_type in columns.items()
            ],
        }
        for name, columns in relations.items()
    ]
    return {"name": source, "tables": tables}


@pytest.fixture(scope="module")
def messages(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compile every case, each as a model of one project, and give dbt's message for each."""
    project = tmp_path_factory.mktemp("wrong_arguments")
    models = project / "models"
    models.mkdir()
    (project / "dbt_project.yml").write_text(
        "name: wrong_arguments\nprofile: consumer\n"
        "models: {+materialized: table}\nflags: {send_anonymous_usage_stats: false}\n"
    )
    install_package(project)
    (project / "macros").mkdir()
    (project / "macros" / "decoders.sql").write_text(MACROS)
    sources = {format_.decoder: format_.declared for format_ in every_format()} | {"erp": DECLARED}
    (models / "sources.yml").write_text(
        yaml.dump({"sources": [declared(name, tables) for name, tables in sources.items()]})
    )
    names = {id(tables): name for name, tables in sources.items()}
    for number, case in enumerate(CASES):
        config = f"{{{{ config(materialized='{case.materialized}') }}}}\n"
        source = names[id(case.declared)]
        sets = "".join(
            f"{{%- set {name} = source('{source}', '{name}') %}}\n"
            for name in sorted(case.declared)
        )
        call = f"{{{{ spark_cdc.{case.macro}({case.given}) }}}}\n"
        body = sets + call
        if case.materialized == "snapshot":
            strategy = "unique_key='id', strategy='check', check_cols='all'"
            block = f"{{% snapshot case_{number} %}}\n{{{{ config({strategy}) }}}}\n"
            (project / "snapshots").mkdir(exist_ok=True)
            (project / "snapshots" / f"case_{number}.sql").write_text(
                f"{block}{body}{{% endsnapshot %}}\n"
            )
        else:
            (models / f"case_{number}.sql").write_text(config + body)
        if case.materialized == "ephemeral":  # is compiled in the model that reads it
            (models / f"of_{number}.sql").write_text(
                f"select * from {{{{ ref('case_{number}') }}}}"
            )
    (models / "not_built.sql").write_text("select 1 as id")
    (models / "brief.sql").write_text("{{ config(materialized='ephemeral') }}select 1 as id")
    profiles = ROOT / "tests" / "consumer"
    env = {"SPARK_CDC_SCHEMA": "wrong_arguments"}
    run = warehouse.dbt(
        project, "build", "--exclude", "not_built", profiles=profiles, env=env, check=False
    )
    messages = {name: result["message"] or "" for name, result in run.results().items()}
    # these models are compiled in another model, or once for each batch, so dbt reports no message
    # for them
    for number, case in enumerate(CASES):
        name = f"case_{number}"
        if case.materialized == "ephemeral":
            _, begin, rest = run.output.partition(f"Compilation Error in model {name} (")
            messages[name] = begin + rest.partition("called by model")[0]
        elif "microbatch" in case.materialized:
            _, there, rest = run.output.partition(f" {name} is incremental")
            messages[name] = f"Compilation Error {there}{rest.partition('called by model')[0]}"
    return messages


@pytest.mark.parametrize(
    ("number", "case"),
    [
        pytest.param(number, case, id=f"{case.macro}({case.given}), {case.materialized}")
        for number, case in enumerate(CASES)
    ],
)
def test_message_teaches(messages: dict[str, str], number: int, case: WrongCall) -> None:
    """The error is from compilation: what was given, what is accepted, an example."""
    message = messages[f"case_{number}"]
    assert message.strip().startswith("Compilation Error"), message
    assert case.said in message
    assert "\n  accepted: " in message.replace("\n    ", "\n  ")
    assert "\n  example:  " in message.replace("\n    ", "\n  ")
