"""The package in a user's project: compiled on an empty warehouse, tested, run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.lint import faults
from kit.warehouse import ROOT, Warehouse, install_package

CONSUMER = ROOT / "tests" / "consumer"
OWN = ["--select", "path:models/own"]

ORDERS = """
    ('20220315081502000000000000000000001', 'I', 'E0', 'A', 1, 'new', 9.90),
    ('20220315081503000000000000000000002', 'B', null, 'B', 1, 'new', 9.90),
    ('20220315081503000000000000000000002', 'U', '40', 'B', 1, 'paid', 9.90),
    ('20220315081503000000000000000000003', 'I', 'E0', 'B', 2, 'new', 1.00),
    ('20220315081504000000000000000000004', 'D', '20', 'C', 2, null, null)
"""
ODD = """
    ('20220315081502000000000000000000001', 'I', '03E0', 'A', 1, 'a', 'A', 1, 1.5),
    ('20220315081503000000000000000000002', 'U', '0100', 'B', 1, 'a', 'A', 2, 1.5)
"""


@pytest.fixture(scope="module")
def consumer(warehouse: Warehouse) -> Path:
    """Install the package in the consumer project."""
    warehouse.dbt(CONSUMER, "deps")
    return CONSUMER


@pytest.fixture
def sources(warehouse: Warehouse, consumer: Path) -> Iterator[str]:
    """Create the user's source tables, without rows, and give the schema for the models."""
    headers = (
        "header__change_seq string, header__change_oper string, header__change_mask string,"
        " header__transaction_id string, header__timestamp timestamp"
    )
    warehouse.sql(
        "create schema if not exists consumer_built_erp",
        f"create table consumer_built_erp.orders__ct ({headers}, order_id bigint, status string,"
        " amount decimal(10, 2)) using parquet",
        f"create table consumer_built_erp.Odd__ct ({headers}, `Order No` bigint, `select` string,"
        " `UPPER` string, `数量` int, `größe` double) using parquet",
        "create table consumer_built_erp.`2022` (header__change_seq string,"
        " header__change_oper string, header__change_mask string, id bigint, `#qty` int,"
        " note struct<variant: string, map: int>) using parquet",
        "create table consumer_built_erp.audit (position string, action string, id bigint,"
        " note string) using parquet",
    )
    yield "consumer_built"
    warehouse.sql(
        "drop schema if exists consumer_built cascade", "drop schema consumer_built_erp cascade"
    )


def show(warehouse: Warehouse, consumer: Path, select: str) -> dict[str, str | None]:
    """Run a query of one row, which may call macros, and give that row."""
    shown = warehouse.dbt(consumer, "--quiet", "show", "--inline", select, "--output", "json")
    row: dict[str, str | None] = json.loads(shown.output[shown.output.index("{") :])["show"][0]
    return row


# Some two thousand events on keys that occur twice in a transaction, in all combinations.
EVENTS = """
create table consumer_ways.changes using parquet as
with picked as (
    select
        id, id div 6 as commit, pmod(hash(id div 6, id % 3), 800) as key,
        pmod(hash(id, 'a'), 2) as a, pmod(hash(id, 'operation'), 16) as kind
    from range(2400)
)
select
    case
        when kind < 3 then 'insert' when kind < 5 then 'delete' when kind = 5 then 'load'
        else 'update'
    end as cdc_operation,
    lpad(id, 5, '0') as cdc_sequence,
    lpad(commit, 5, '0') as cdc_commit_sequence,
    timestamp_seconds(commit) as cdc_commit_at,
    if(kind = 6, array('ID'), cast(null as array<string>)) as cdc_present_columns,
    if(kind = 7, named_struct('id', pmod(key + 1, 800), 'a', a), null) as cdc_before,
    key as id,
    a
from picked"""
# Truncates of an empty table have no effect, but nine of them make each key a complex one.
TRUNCATED = """
create view consumer_ways.truncated as select * from consumer_ways.changes union all
select 'truncate', string(id), '', timestamp_seconds(0), null, null, null, null from range(9)"""


def test_plain_and_complex_keys_have_the_same_result(warehouse: Warehouse, consumer: Path) -> None:
    warehouse.sql("create schema consumer_ways", EVENTS, TRUNCATED)
    ways = [
        f"api.Relation.create(schema='consumer_ways', identifier='{name}')"
        for name in ("changes", "truncated")
    ]
    columns = [
        "(select count(distinct cdc_key_hash) from ({{ spark_cdc._effects(there, table) }}"
        " {{ spark_cdc._complex_transactions(table, 'effects', 'false') }})) as complex_keys"
    ]
    for number, call in enumerate(
        ("history({}, ['id'])", "history({}, ['id'], granularity='event')")
    ):
        plain, long = (f"(select * from ({{{{ spark_cdc.{call.format(way)} }}}}))" for way in ways)
        columns.append(
            f"(select count(*) from (({plain} except all {long}) union all"
            f" ({long} except all {plain}))) as differ_{number}"
        )
    table = f"{{% set there = {ways[0]} %}}"
    table += "{% set table = spark_cdc._changed_table('history', there, ['id'], none) %}"
    select = f"{{% if execute %}}{table} select {', '.join(columns)} {{% endif %}}"
    row = show(warehouse, consumer, select)
    assert 100 < int(row.pop("complex_keys") or 0) < 500
    assert set(map(str, row.values())) == {"0"}


def test_nested_types_have_several_spellings(warehouse: Warehouse, consumer: Path) -> None:
    spelled = {
        "array<bigint>": "array<long>",
        "array<decimal(10,2)>": "ARRAY<dec(10, 2)>",
        "array<decimal(10,0)>": "array<numeric>",
        "struct<a:int,b c:string>": "struct<a integer, `b c`: varchar(5)>",
        "array<timestamp>": "array<timestamp_ltz>",
    }
    checks = "".join(
        f"{{{{ spark_cdc._check_cast('test', 'c', '{there}', '{declared}') }}}}"
        for there, declared in spelled.items()
    )
    assert show(warehouse, consumer, f"{checks} select 'fine' as said") == {"said": "fine"}


def test_structs_are_quarantined_verbatim(
    warehouse: Warehouse, consumer: Path, sources: str
) -> None:
    """A column with the name of its relation, and one with more fields than Spark describes."""
    fields = ", ".join(f"f{number}: int" for number in range(30))
    values = ", ".join(f"'f{number}', {number}" for number in range(30))
    warehouse.sql(
        "create table consumer_built_erp.doc (header__change_seq string, header__change_oper"
        " string, id int, doc struct<body: binary>, body string,"
        f" wide struct<{fields}, page: binary>) using parquet",
        "insert into consumer_built_erp.doc select 'bad', 'I', 1, named_struct('body', X'AB'),"
        f" 'other', named_struct({values}, 'page', X'CD')",
    )
    relation = "api.Relation.create(schema='consumer_built_erp', identifier='doc')"
    row = show(
        warehouse,
        consumer,
        "select get_json_object(raw, '$.doc.body') as doc, get_json_object(raw, '$.wide.page') as"
        " page from ("
        f"{{{{ spark_cdc.quarantine('qlik_change_table', {relation}, key=['id']) }}}}) as rows",
    )
    assert row == {"doc": "AB", "page": "CD"}


# A user's own models


def test_only_the_macros_are_installed(warehouse: Warehouse, consumer: Path) -> None:
    """Models, seeds and tests of the package's own demo do not exist for the consumer."""
    listed = warehouse.dbt(consumer, "ls", "--output", "name", "--quiet").output.split()
    assert {"orders__changes", "odd__history"} <= set(listed)
    paths = warehouse.dbt(consumer, "ls", "--output", "selector", "--quiet").output.split()
    strangers = [path for path in paths if path.startswith("spark_cdc.")]
    assert not strangers


def test_compiles_without_a_connection(warehouse: Warehouse, consumer: Path) -> None:
    """YAML declares all columns; no server listens at the port."""
    options = ["--no-introspect", "--no-populate-cache"]
    done = warehouse.dbt(consumer, "compile", *options, *OWN, env={"SPARK_CDC_PORT": "1"})
    compiled = done.target / "compiled" / "consumer" / "models" / "own"
    for model in ("orders__changes", "orders"):
        assert "`order_id`" in (compiled / f"{model}.sql").read_text(), model


def test_without_a_connection_columns_have_to_be_declared(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: asked\nprofile: consumer\n")
    install_package(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "one.sql").write_text("select 1 as id")
    call = "{{ spark_cdc.current_state(ref('one'), key=['id']) }}"
    (tmp_path / "models" / "two.sql").write_text(call)
    done = warehouse.dbt(
        tmp_path,
        *("compile", "--no-introspect", "--no-populate-cache"),
        profiles=CONSUMER,
        env={"SPARK_CDC_PORT": "1"},
        check=False,
    )
    said = "is not queried for its columns (--no-introspect), and its YAML declares no columns"
    assert done.code != 0 and said in done.output


# Views over views of a decoder, and over its table. The warehouse is not asked for any model.
VIEWS = {
    "changes": "view",
    "over": "view",
    "stored": "table",
    "current": "view",
    "history_of_view": "view",
    "history_as_table": "table",
    "history_of_stored": "view",
}
VIEW_BODIES = {
    "changes": "{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['id']) }}",
    "over": "select * from {{ ref('changes') }}",
    "stored": "select * from {{ ref('changes') }}",
    "current": "{{ spark_cdc.current_state(ref('changes'), key=['id']) }}",
    "history_of_view": "{{ spark_cdc.history(ref('over'), key=['id']) }}",
    "history_as_table": "{{ spark_cdc.history(ref('over'), key=['id']) }}",
    "history_of_stored": "{{ spark_cdc.history(ref('stored'), key=['id']) }}",
}


def test_views_over_the_view_of_a_decoder_are_warned_of(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    raw = {"header__change_seq": "string", "header__change_oper": "string", "id": "int"}
    events = {
        **dict.fromkeys(("cdc_operation", "cdc_sequence", "cdc_commit_sequence"), "string"),
        **{"cdc_commit_at": "timestamp", "cdc_present_columns": "array<string>"},
        **{"cdc_before": "struct<id: int>", "id": "int"},
    }
    columns = [
        [{"name": name, "data_type": kind} for name, kind in types.items()]
        for types in (raw, events)
    ]
    tables = [{"name": "orders__ct", "columns": columns[0]}]
    texts = {
        "dbt_project.yml": json.dumps({"name": "views", "profile": "consumer"}),
        "models/models.yml": json.dumps(
            {
                "sources": [{"name": "erp", "tables": tables}],
                "models": [
                    {"name": name, "columns": columns[1], "config": {"materialized": kind}}
                    for name, kind in VIEWS.items()
                ],
            }
        ),
    } | {f"models/{name}.sql": body for name, body in VIEW_BODIES.items()}
    (tmp_path / "models").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    install_package(tmp_path)
    options = ("--no-introspect", "--no-populate-cache")
    done = warehouse.dbt(tmp_path, "compile", *options, profiles=CONSUMER)
    warned = re.findall(
        r"spark_cdc[.]\w+: (\w+) is a view that reads only views, down to the decoder in (\w+):",
        done.output,
    )
    assert sorted(warned) == [("current", "changes"), ("history_of_view", "changes")]


# Generic tests of the package, on models that were never built.
NEVER_BUILT = """
sources: [{name: erp, schema: nowhere, tables: [{name: orders__ct, data_tests: [
  spark_cdc.qlik_mask_byte_order_fits, spark_cdc.qlik_delete_bits_are_key: {arguments: {key: [id]}}
]}]}]
models:
  - {name: there, columns: [{name: id, description: The one.}]}
  - name: changes
    data_tests: [spark_cdc.is_change_events, spark_cdc.sequences_are_well_formed,
      spark_cdc.mask_names_changed_columns, spark_cdc.column_types_are]
  - name: current
    columns: [{name: id, description: Not typed.}]
    data_tests: [spark_cdc.current_equals_history: {arguments: {history: ref('versions')}},
      spark_cdc.one_row_per_key: {arguments: {key: [id]}, config: {where: id > 0}}]
  - {name: versions, data_tests: [spark_cdc.history_is_consistent: {arguments: {key: [id]}}]}
  - {name: counts, data_tests: [spark_cdc.raw_rows_are_accounted_for]}
"""
NEVER_BUILT_MODELS = {
    "there": "select 1 as id",
    "changes": "spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['id'])",
    "stream": "spark_cdc.gbase_capture(source('erp', 'orders__ct'), 7, ['id'], {'id': 'int'})",
    "refused": "spark_cdc.quarantine(of=ref('changes'))",
    "refused_too": "spark_cdc.quarantine('qlik_change_table', source('erp', 'orders__ct'), ['id'])",
    "counts": "spark_cdc.raw_counts(of=ref('changes'))",
    "current": "spark_cdc.current_state(ref('changes'), key=['id'])",
    "versions": "spark_cdc.history(ref('changes'), key=['id'])",
}


def test_docs_are_generated_without_built_tables(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text(
        "name: never_built\nprofile: consumer\nmodels: {+materialized: table}\n"
    )
    install_package(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "models.yml").write_text(NEVER_BUILT)
    for name, body in NEVER_BUILT_MODELS.items():
        text = f"{{{{ {body} }}}}" if body.startswith("spark_cdc") else body
        (tmp_path / "models" / f"{name}.sql").write_text(text)
    settings: dict[str, Any] = {
        "profiles": CONSUMER,
        "env": {"SPARK_CDC_SCHEMA": "never_built"},
    }
    warehouse.dbt(tmp_path, "run", "--select", "there", **settings)
    done = warehouse.dbt(tmp_path, "docs", "generate", **settings)
    assert set(done.artifact("catalog")["nodes"]) == {"model.never_built.there"}
    tests = "test_type:generic"
    warehouse.dbt(tmp_path, "compile", "--select", tests, **settings)
    # running them says what is wrong
    done = warehouse.dbt(tmp_path, "test", "--select", tests, check=False, **settings)
    assert done.code != 0 and "neither exists nor has declared columns" in done.output
    done = warehouse.dbt(tmp_path, "compile", "--select", "current", check=False, **settings)
    assert done.code != 0 and "its YAML declares no data_type" not in done.output
    assert "neither exists nor has declared columns" in done.output
    warehouse.sql("drop schema never_built cascade")


def test_compiles_before_any_table_exists(warehouse: Warehouse, consumer: Path) -> None:
    """Names and types come from the YAML where the warehouse is empty."""
    nowhere = {"SPARK_CDC_SCHEMA": "consumer_nowhere"}
    run = warehouse.dbt(consumer, "--warn-error", "compile", *OWN, env=nowhere)
    compiled = run.target / "compiled" / "consumer" / "models" / "own"
    for model in CONSUMER.glob("models/own/*.sql"):
        sql = (compiled / model.name).read_text(encoding="utf-8")
        assert "select" in sql and not faults(sql), model
    odd = (compiled / "odd__changes.sql").read_text(encoding="utf-8")
    for name in ("Order No", "select", "UPPER", "数量", "größe"):
        assert f"cdc_row.`{name}` as `{name}`" in odd


def test_runs_empty_then_full(warehouse: Warehouse, consumer: Path, sources: str) -> None:
    """`--empty` makes every table, with its types and no row; a run adds the rows; views too."""
    env = {"SPARK_CDC_SCHEMA": sources}
    warehouse.sql(
        "insert into consumer_built_erp.orders__ct select seq, oper, mask, tx, null, id, status,"
        f" amount from values {ORDERS} as rows (seq, oper, mask, tx, id, status, amount)",
        "insert into consumer_built_erp.Odd__ct select seq, oper, mask, tx, null, a, b, c, d, e"
        f" from values {ODD} as rows (seq, oper, mask, tx, a, b, c, d, e)",
        "insert into consumer_built_erp.`2022` values"
        " ('20220315081502000000000000000000001', 'I', '38', 1, 2, struct('x', 3)),"
        " ('20220315081503000000000000000000002', 'U', '20', 1, 2, struct('y', 3)),"
        " ('20220315081504000000000000000000003', 'D', '08', 1, null, null)",
    )
    strict = (consumer, "--warn-error")
    warehouse.dbt(*strict, "run", "--empty", *OWN, env=env)
    for model in CONSUMER.glob("models/own/*.sql"):
        assert warehouse.sql(f"select count(*) from {sources}.{model.stem}") == [(0,)]
    names = [row[:2] for row in warehouse.sql(f"describe table {sources}.odd")][:5]
    expected = [("Order No", "bigint"), ("select", "string"), ("UPPER", "string")]
    assert names == [*expected, ("数量", "int"), ("größe", "double")]

    warehouse.dbt(*strict, "run", *OWN, env=env)
    assert warehouse.sql(
        f"select order_id, status, cast(amount as string), cdc_operation from {sources}.orders"
    ) == [(1, "paid", "9.90", "update")]
    assert warehouse.sql(
        "select order_id, status, cdc_operation, cdc_ended_by, cdc_is_current"
        f" from {sources}.orders__history order by order_id, cdc_valid_from_sequence"
    ) == [
        (1, "new", "insert", "update", False),
        (1, "paid", "update", None, True),
        (2, "new", "insert", "delete", False),
    ]
    assert warehouse.sql(
        f"select `Order No`, `select`, `UPPER`, `数量`, `größe` from {sources}.odd__history"
        " order by cdc_valid_from_sequence"
    ) == [(1, "a", "A", 1, 1.5), (1, "a", "A", 2, 1.5)]
    assert warehouse.sql(
        f"select cdc_changed_columns from {sources}.odd__changes order by cdc_sequence"
    ) == [
        (None,),
        ('["数量"]',),
    ]
    assert warehouse.sql(
        f"select cdc_operation, id, `#qty`, note.variant from {sources}.stock__changes"
        " order by cdc_sequence"
    ) == [("insert", 1, 2, "x"), ("update", 1, 2, "y"), ("delete", 1, None, None)]

    warehouse.dbt(*strict, "docs", "generate", *OWN, env=env)
    tested = warehouse.dbt(*strict, "test", *OWN, "--exclude", "test_type:unit", env=env)
    assert [result["status"] for result in tested.results().values()] == ["pass", "pass"]
    tables = contents(warehouse, sources)
    views = ["--select", *tables, "--vars", "{materialized: view}"]
    warehouse.dbt(consumer, "run", *views, env=env)
    assert contents(warehouse, sources) == tables


def test_a_decoder_of_another_package(warehouse: Warehouse, consumer: Path, sources: str) -> None:
    """An incremental model is right without dependencies; an invalid sequence stops the run."""
    env = {"SPARK_CDC_SCHEMA": sources}
    audit = ("run", "--select", "path:models/audit")
    table = "insert into consumer_built_erp.audit values "
    warehouse.sql(table + "('5', 'insert', 1, 'a'), ('5', 'insert', 1, 'a'), ('6', 'drop', 2, 'b')")
    warehouse.dbt(consumer, *audit, env=env)
    assert warehouse.sql(f"select * from {sources}.audit__counts") == [(3, 2, 0, 1)]
    warehouse.sql(table + "('7', 'update', 1, 'c'), ('4', 'insert', 2, 'd'), ('8', 'what', 3, 'e')")
    warehouse.dbt(consumer, *audit, env=env)
    assert warehouse.sql(f"select * from {sources}.audit__counts") == [(6, 4, 0, 2)]
    assert warehouse.sql(f"select id, note from {sources}.audit order by id") == [
        (1, "c"),
        (2, "d"),
    ]
    assert warehouse.sql(
        "select cdc_sequence, cdc_source, cdc_commit_sequence, id, note"
        f" from {sources}.audit__changes order by cdc_sequence"
    ) == [
        ("4", "audit_log", "4", 2, "d"),
        ("5", "audit_log", "5", 1, "a"),
        ("7", "audit_log", "7", 1, "c"),
    ]
    assert warehouse.sql(f"select detail, raw from {sources}.audit__bad order by raw") == [
        ("action is drop", '{"position":"6","action":"drop","id":2,"note":"b"}'),
        ("action is what", '{"position":"8","action":"what","id":3,"note":"e"}'),
    ]
    tested = warehouse.dbt(consumer, "test", *audit[1:], env=env)
    assert [result["status"] for result in tested.results().values()] == ["pass"]
    # an event without a key stops the model that would lose it
    warehouse.sql(table + "('9', 'insert', null, 'f')")
    stopped = warehouse.dbt(consumer, *audit, env=env, check=False)
    said = stopped.results()["audit"]["message"]
    assert "a change event is broken: the key column id is NULL in " in said
    assert "cdc_operation = insert, cdc_sequence = 9, cdc_commit_sequence = 9," in said
    warehouse.sql(table + "('9~', 'insert', 4, 'f')")
    stopped = warehouse.dbt(consumer, *audit, env=env, check=False)
    assert (
        "the decoder consumer.audit_log made the cdc_sequence 9~; it has to make printable ASCII"
        in stopped.results()["audit__changes"]["message"]
    )


def test_the_example_is_the_built_decoder() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert (CONSUMER / "macros" / "audit_log.sql").read_text() in text


def test_a_transaction_too_large_for_one_task(
    warehouse: Warehouse, consumer: Path, sources: str
) -> None:
    """All changes have one commit, and each update its before image."""
    warehouse.sql(
        "insert into consumer_built_erp.orders__ct select"
        " concat('2022031508150200', lpad(cast(id div 2 as string), 19, '0')),"
        " if(id % 2 = 0, 'B', 'U'), if(id % 2 = 0, null, '40'), 'A', null, id div 2,"
        " if(id % 2 = 0, 'old', 'new'), null from range(12)"
    )
    smaller = ("--vars", "{spark_cdc_internal_rows_of_one_task: 10}")
    env = {"SPARK_CDC_SCHEMA": sources}
    warehouse.dbt(consumer, "run", "--select", "orders__changes", *smaller, env=env)
    assert warehouse.sql(
        "select count(*), min(cdc_commit_sequence) = max(cdc_commit_sequence),"
        " min(cdc_commit_sequence) = min(cdc_sequence),"
        " count_if(status = 'new' and cdc_before.order_id = order_id and cdc_before.status = 'old')"
        f" from {sources}.orders__changes"
    ) == [(6, True, True, 6)]


def contents(warehouse: Warehouse, schema: str) -> dict[str, list[str]]:
    """Read the tables of some of the user's models, without the run that built them."""
    columns = {
        "orders__changes": "* except (cdc_batch)",
        "orders": "*",
        "odd__changes": "* except (cdc_batch)",
    }
    return {
        model: sorted(map(str, warehouse.sql(f"select {names} from {schema}.{model}")))
        for model, names in columns.items()
    }
