"""The SQL that dbt compiles has a good layout, in the demo and in a user's project."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.lint import lint, measured, shapes
from kit.units import write_project
from kit.warehouse import ROOT, DbtRun, Warehouse, link_package

CONSUMER = ROOT / "tests" / "consumer"
# sqlfluff cannot read the type of `cdc_before`, a struct in which a text has a collation.
UNREADABLE = "netiq_collated.sql"
# dbt's own tests, whose layout is not ours.
OF_DBT = ("not_null_", "unique_", "accepted_values_", "relationships_")


def compiled_files(run: DbtRun) -> set[Path]:
    """Find the compiled SQL of one project. No model may lack it."""
    manifest = run.artifact("manifest")
    folder = run.target / "compiled" / manifest["metadata"]["project_name"]
    found = {path for path in folder.rglob("*.sql") if not path.name.startswith(OF_DBT)}
    models = {
        Path(node["path"]).name
        for node in manifest["nodes"].values()
        if node["resource_type"] == "model"
    }
    assert models <= {path.name for path in found}
    return found


@pytest.fixture(scope="module")
def compiled(
    warehouse: Warehouse, built: DbtRun, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """The compiled SQL of three projects: the demo, a user's with unusual names, the unit tests."""
    link_package(CONSUMER)
    units = tmp_path_factory.mktemp("units") / "units"
    write_project(units)
    found = compiled_files(built)
    for project in (CONSUMER, units):
        target = tmp_path_factory.mktemp("compiled")
        env = {"SPARK_CDC_SCHEMA": "consumer_nowhere", "DBT_TARGET_PATH": str(target)}
        without_tests = ["--exclude", "resource_type:test", "resource_type:unit_test"]
        found |= compiled_files(warehouse.dbt(project, "compile", *without_tests, env=env))
    # users write decoders of their own as they like
    return sorted(path for path in found if path.parent.name != "audit" and path.name != UNREADABLE)


def test_compiled_sql_is_laid_out_well(compiled: list[Path]) -> None:
    findings = lint(compiled)
    assert not findings, "\n".join(findings)


# A line with a fault of its own, in any place: `shapes` must not leave it out.
FAULT = "  SELECT"


def test_every_line_of_compiled_sql_is_read(compiled: list[Path]) -> None:
    """A fault anywhere in a file gives a text that other files lack, so sqlfluff reads it."""
    for path in compiled:
        sql = path.read_text(encoding="utf-8")
        known = {text for text, _ in shapes(sql)}
        lines = sql.split("\n")
        # a few lines of each file, its first and last among them
        for number in {*range(0, len(lines), max(1, len(lines) // 5)), len(lines) - 1}:
            seeded = [*lines[:number], lines[number] + FAULT, *lines[number + 1 :]]
            new = [text for text, _ in shapes("\n".join(seeded)) if text not in known]
            assert any(FAULT in text for text in new), f"{path}:{number + 1}"


GOOD = """
with raw as (
    select
        cast(`a` as string) as `a`,
        cast(`b` as string) as `b`,
        cast(`c` as string) as `c`,
        cast(`d` as string) as `d`
    from here.raw
    where `a` in ('a', 'b', 'c', 'd')
),

rows_of_all as (
    select
        1 as number,
        `a`
    from raw
    union all
    select
        2 as number,
        `b`
    from raw
    union all
    select
        3 as number,
        `c`
    from raw
    union all
    select
        4 as number,
        `d`
    from raw
)

select
    number,
    `a`
from (
    select
        number,
        `a`
    from rows_of_all
) as nested
""".strip()

# If one of these replaces good text, sqlfluff finds a fault in that line.
FAULTS = {
    "        cast(`c` as string) as `c`,": "        cast(`c` as STRING) as `c`,",
    "        cast(`d` as string) as `d`": "         cast(`d` as string) as `d`",
    "    where `a` in ('a', 'b', 'c', 'd')": "    where `a` in ('a', 'b','c', 'd')",
    "        3 as number,": "        3 number,",
    "        `d`\n    from raw": "        `d`\n    FROM raw",
    "    from rows_of_all\n": "    from  rows_of_all\n",
    ") as nested": ") nested",
    "),\n\nrows_of_all": "),\nrows_of_all",
}


def test_faults_are_found_where_they_are(tmp_path: Path) -> None:
    """In one call: the good text, and each fault in its own file; lines are the file's own."""
    (tmp_path / "good.sql").write_text(GOOD)
    expected = set()
    for number, (good, bad) in enumerate(FAULTS.items()):
        assert GOOD.count(good) == 1
        (file := tmp_path / f"{number}.sql").write_text(GOOD.replace(good, bad))
        before = GOOD[: GOOD.index(good)].count("\n") + 1
        expected |= {(str(file), before + line) for line in range(good.count("\n") + 1)}
    found = {tuple(finding.split(":")[:2]) for finding in lint(tmp_path.glob("*.sql"))}
    places = {(file, int(line)) for file, line in found}
    assert {file for file, _ in places} == {file for file, _ in expected}
    assert places <= expected


def test_a_shortened_list_in_a_union_is_not_a_fault(tmp_path: Path) -> None:
    columns = [f"    {name}" for name in "abcd"]
    nulls = "    cast(null as int) as a, cast(null as int) as b, cast(null as int) as c, 1 as d"
    nulls = nulls.replace(", ", ",\n    ")
    text = "select\n" + ",\n".join(columns) + f"\nfrom one\nunion all\nselect\n{nulls}\nfrom two"
    (tmp_path / "union.sql").write_text(text.replace("as b", "as a").replace("as c", "as a"))
    found = lint([tmp_path / "union.sql"])
    assert not [finding for finding in found if "AM07" in finding]


def test_files_that_differ_in_names_are_read_once() -> None:
    other = GOOD.replace("`a`", "`another`").replace("here.raw", "there.raw_rows")
    assert [text for text, _ in shapes(other)] == [text for text, _ in shapes(GOOD)]


def test_long_lines_and_blank_ends_are_found() -> None:
    long = "select '" + "a" * 120 + "' as a"
    assert [finding.split(": ")[0] for finding in measured(Path("f"), long)] == ["f:1"]
    assert measured(Path("f"), "select 1 \n") == ["f: ends with blank space"]
    assert measured(Path("f"), GOOD) == []
