"""The generic tests: the rows over which they pass, and the rows that they find."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from kit.formats import GenericTest, every_format
from kit.warehouse import ROOT, Warehouse, install_package

from package import snapshot_tests

HISTORY = {
    "problem": "bigint",
    "next_valid_from_sequence": "string",
    "cdc_valid_from_sequence": "string",
    "cdc_valid_to_sequence": "string",
    "cdc_is_current": "boolean",
    "cdc_ended_by": "string",
}

EVENT = {
    "cdc_operation": "string",
    "cdc_sequence": "string",
    "cdc_commit_sequence": "string",
    "cdc_source": "string",
    "cdc_commit_at": "timestamp",
    "cdc_transaction_id": "string",
    "cdc_changed_columns": "array<string>",
    "cdc_present_columns": "array<string>",
    "cdc_before": "struct<id: bigint>",
    "cdc_metadata": "struct<place: string>",
    "cdc_batch": "string",
    "id": "bigint",
}
REST = "'a', null, null, null, null, null, null, '', 1"

# The tables, by name: their columns, and the rows as SQL.
TABLES: dict[str, tuple[dict[str, str], str]] = {
    "lengths": (
        {
            "#no": "int",
            "code": "varchar(5)",
            "pad": "char(3)",
            "note": "string",
            "pair": "struct<a: varchar(3), b: char(2)>",
            "comma": "struct<`a,b`: int>",
            "wide": f"struct<a: varchar(5), {', '.join(f'f{place}: int' for place in range(30))}>",
        },
        "",
    ),
    "other_lengths": (
        {
            "code": "varchar(300)",
            "pad": "char(4)",
            "note": "varchar(5)",
            "more": "string",
            "kind": "char(5)",
            "pair": "struct<a: varchar(9), b: char(2)>",
            "swapped": "struct<a: string, b: varchar(5)>",
        },
        "",
    ),
    "problems": ({"problem": "bigint"}, "(1), (2)"),
    "keyed": (
        {"a": "int", "b": "string"},
        "(1, 'x'), (1, 'y'), (2, 'x'), (2, 'x'), (null, 'x')",
    ),
    "events": (EVENT, f"('insert', 's1', 's1', {REST}), ('delete', 's2', 's1', {REST})"),
    "no_events": (
        EVENT,
        f"('upsert', 's1', 's1', {REST}), ('insert', 's2', 's3', {REST}),"
        f" ('load', 's~4', 's', {REST}), ('insert', 's5', 's5', {REST}),"
        f" ('insert', 's5', 's5', {REST}), ('insert', 's6', null, {REST}),"
        f" ('insert', 's7', 's7', {REST[:-1]}null), ('truncate', 's8', 's8', {REST[:-1]}null)",
    ),
    # change events whose before images have the key alone
    "narrow": (
        {
            "cdc_sequence": "string",
            "cdc_commit_sequence": "string",
            "cdc_commit_at": "timestamp",
            "cdc_operation": "string",
            "cdc_changed_columns": "array<string>",
            "cdc_present_columns": "array<string>",
            "cdc_before": "struct<id: bigint>",
            "id": "bigint",
            "note": "string",
        },
        "('s1', 's1', null, 'update', array('note'), null, struct(1), 1, 'a'),"
        " ('s2', 's2', null, 'update', array('ID', 'note'), null, struct(1), 2, 'a'),"
        " ('s3', 's3', null, 'update', array('note'), null, struct(2), 3, 'a'),"
        " ('s4', 's4', null, 'load', null, null, null, 4, 'a'),"
        " ('s5', 's5', timestamp '2026-01-01', 'update', array('id'), null, struct(3), 4, 'b'),"
        " ('s6', 's6', null, 'load', null, null, null, 5, 'a'),"
        " ('s7', 's7', timestamp '2026-01-01', 'update', array('note'), null, struct(5), 5, 'b')",
    ),
    "half_events": ({"cdc_operation": "string", "cdc_before": "int"}, ""),
    "health": (
        {
            "table_name": "string",
            "checked_at": "timestamp",
            "lag_seconds": "bigint",
            "quarantined_rows": "bigint",
            "raw_rows": "bigint",
        },
        # a bad row of an earlier run; limits are reached; nothing is known
        "('earlier', timestamp '2026-01-01 00:00:00', 99, 9, 9),"
        " ('late', timestamp '2026-01-02 00:00:00', 11, 1, 10),"
        " ('bad', timestamp '2026-01-02 00:00:00', 10, 2, 10),"
        " ('unknown', timestamp '2026-01-02 00:00:00', null, null, null),"
        " ('empty', timestamp '2026-01-02 00:00:00', null, 0, 0)",
    ),
    "problems__history": (
        HISTORY,
        "(1, '', '1', null, true, null), (3, '', '1', '2', true, null),"
        " (4, '', '1', '2', false, 'delete')",
    ),
}
# The YAML of a table's columns, if it differs from the table.
DECLARED = {
    "lengths": TABLES["lengths"][0]
    | {
        "code": "VARCHAR( 5 )",
        "pad": "character(3)",
        "pair": "struct<a varchar(3), b character( 2 )>",
    },
    "other_lengths": {
        "code": "varchar(5)",
        "pad": "char(3)",
        "note": "string",
        "more": "varchar(5)",
        "kind": "varchar(5)",
        "pair": "struct<a: varchar(3), b: char(2)>",
        "swapped": "struct<a: varchar(5), b: string>",
    },
}

SHAPE = [
    *(f"it has no {name}" for name in ("cdc_source", "cdc_sequence", "cdc_commit_sequence")),
    *(f"it has no {name}" for name in ("cdc_commit_at", "cdc_transaction_id")),
    *(f"it has no {name}" for name in ("cdc_changed_columns", "cdc_present_columns")),
    *("cdc_before is int, not struct", "it has no cdc_metadata", "it has no cdc_batch"),
]
BROKEN = ["s1", "s2", "s5", "s6", "s~4"]
OTHERS = ["code", "kind", "more", "note", "pad", "pair", "swapped"]
# A table, a test with its arguments (and config), and the first column of the rows that it finds;
# or a part of the message with which compilation stops.
CASES: list[GenericTest] = [
    ("lengths", "column_types_are", {}, []),
    ("lengths", "column_types_are", {"config": {"where": "note is not null"}}, []),
    ("other_lengths", "column_types_are", {}, OTHERS),
    (
        "problems",
        "current_equals_history",
        {"history": "source('erp', 'problems__history')"},
        ["in the current state only", "in the history only"],
    ),
    ("problems__history", "history_is_consistent", {"key": ["problem"]}, [3]),
    ("keyed", "one_row_per_key", {"key": ["A", "b"]}, [2, None]),
    ("keyed", "one_row_per_key", {"key": ["A", "b"], "null_keys": True}, [2]),
    ("keyed", "one_row_per_key", {"key": ["b"], "config": {"where": "a = 1"}}, []),
    ("events", "is_change_events", {}, []),
    ("no_events", "is_change_events", {}, BROKEN),
    ("no_events", "is_change_events", {"key": ["ID"], "null_keys": True}, BROKEN),
    ("no_events", "is_change_events", {"key": ["ID"]}, sorted([*BROKEN, "s7"])),
    ("no_events", "is_change_events", {"key": ["nr"]}, "key names the column nr"),
    ("half_events", "is_change_events", {}, sorted(SHAPE)),
    ("narrow", "mask_names_changed_columns", {}, ["s3"]),
    ("narrow", "full_load_is_static", {"key": ["id"], "minutes": 0}, [4]),
    (
        "health",
        "health_is_good",
        {"at_most": {"lag_seconds": 10, "quarantined_share": 0.1}},
        ["bad", "late"],
    ),
    ("health", "health_is_good", {"at_most": {"lag_seconds": 11}}, []),
    (
        "health",
        "health_is_good",
        {"at_most": {"quarantined_rows": 0}, "config": {"where": "table_name <> 'bad'"}},
        ["late"],
    ),
]


TABLES |= snapshot_tests.TABLES
CASES += snapshot_tests.CASES
for _format in every_format():
    TABLES |= _format.tested_tables
    CASES += _format.generic_tests


@pytest.fixture(scope="module")
def results(
    warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """Run every case, each as a test of a source of one project, and give dbt's result for each."""
    project = tmp_path_factory.mktemp("generic_tests")
    (project / "models").mkdir()
    (project / "dbt_project.yml").write_text(
        "name: generic_tests\nprofile: consumer\nflags: {send_anonymous_usage_stats: false}\n"
    )
    install_package(project)
    warehouse.sql("create schema generic_tests")
    tables = []
    for table, (columns, rows) in TABLES.items():
        spelled = ", ".join(f"`{name}` {data_type}" for name, data_type in columns.items())
        warehouse.sql(f"create table generic_tests.{table} ({spelled}) using parquet")
        if rows:
            warehouse.sql(f"insert into generic_tests.{table} values {rows}")
        tests = [
            {
                f"spark_cdc.{test}": {
                    "name": f"case_{number}",
                    "arguments": {k: v for k, v in arguments.items() if k != "config"},
                    "config": arguments.get("config", {}),
                }
            }
            for number, (tested, test, arguments, _) in enumerate(CASES)
            if tested == table
        ]
        declared = [
            {"name": name, "data_type": data_type}
            for name, data_type in DECLARED.get(table, columns).items()
        ]
        tables.append({"name": table, "columns": declared, "data_tests": tests})
    sources = [{"name": "erp", "schema": "generic_tests", "tables": tables}]
    (project / "models" / "sources.yml").write_text(yaml.dump({"sources": sources}))
    profiles = ROOT / "tests" / "consumer"
    run = warehouse.dbt(project, "test", profiles=profiles, check=False)
    found = run.artifact("run_results")["results"]
    return {result["unique_id"].split(".")[2]: result for result in found}


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=[f"{case[1]}: {case[0]}" for case in CASES]
)
def test_finds(warehouse: Warehouse, results: dict[str, dict[str, Any]], number: int) -> None:
    """The test finds the wrong rows, and no others."""
    result, expected = results[f"case_{number}"], CASES[number][3]
    if isinstance(expected, str):
        assert result["status"] == "error" and expected in result["message"]
        return
    assert result["status"] in ("pass", "fail"), result["message"]
    found = warehouse.sql(result["compiled_code"])
    assert sorted({row[0] for row in found}, key=str) == expected


def code_of(results: dict[str, dict[str, Any]], number: int) -> str:
    """The query of a case."""
    return str(results[f"case_{number}"]["compiled_code"])


def test_rows_have_a_name_for_each_value(
    warehouse: Warehouse, results: dict[str, dict[str, Any]]
) -> None:
    """A column of the table may be called `problem`."""
    code = {CASES[int(name[5:])][1]: result["compiled_code"] for name, result in results.items()}
    rows = warehouse.sql(f"select cdc_problem, problem from ({code['current_equals_history']})")
    assert sorted(rows) == [("in the current state only", 2), ("in the history only", 3)]
    assert warehouse.sql(f"select problem, cdc_problem from ({code['history_is_consistent']})") == [
        (3, "cdc_is_current and cdc_valid_to_sequence differ")
    ]


def test_differences_from_a_snapshot(
    warehouse: Warehouse, results: dict[str, dict[str, Any]]
) -> None:
    """One row for each."""
    for (table, copy), expected in snapshot_tests.DIFFERENCES.items():
        number = next(
            number
            for number, case in enumerate(CASES)
            if case[0] == table and copy in str(case[2].get("snapshot"))
        )
        found = warehouse.sql(code_of(results, number))
        assert sorted(found, key=str) == expected


def test_files_without_the_moment_are_skipped(
    warehouse: Warehouse, results: dict[str, dict[str, Any]]
) -> None:
    """Columns are compared with a constant, also if the moment is an expression."""
    number = next(
        number
        for number, case in enumerate(CASES)
        if case[0] == "snapshot_history" and str(case[2].get("at")).startswith("(")
    )
    ((plan,),) = warehouse.sql(f"explain {code_of(results, number)}")
    pushed = "Or(IsNull(cdc_valid_from),LessThanOrEqual(cdc_valid_from,2024-05-01T11:00:00Z))"
    assert f"PushedFilters: [{pushed}" in plan


def test_a_number_above_its_limit_is_told(
    warehouse: Warehouse, results: dict[str, dict[str, Any]]
) -> None:
    number = next(number for number, case in enumerate(CASES) if case[1] == "health_is_good")
    code = code_of(results, number)
    rows = warehouse.sql(f"select table_name, column_name, value, threshold from ({code})")
    assert sorted(rows) == [
        ("bad", "quarantined_share", 0.2, 0.1),
        ("late", "lag_seconds", 11.0, 10.0),
    ]


@pytest.mark.parametrize(
    ("table", "named"),
    [
        pytest.param(table, named, id=f"{format_.decoder}-{table}")
        for format_ in every_format()
        for table, named in format_.hints.items()
    ],
)
def test_hints_name_the_possible_errors(
    warehouse: Warehouse, results: dict[str, dict[str, Any]], table: str, named: dict[str, int]
) -> None:
    number = next(number for number, case in enumerate(CASES) if case[0] == table)
    hints = [row[0] for row in warehouse.sql(f"select hint from ({code_of(results, number)})")]
    assert {text: sum(text in hint for hint in hints) for text in named} == named
    assert all(any(text in hint for text in named) for hint in hints)
