"""`spark-cdc health`: the table that it reads, its lines, its file, its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from spark_cdc_udfs.command import main
from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.lake.queries import QueryFailed

from health.checked import DAY, FakeLake, checked, many_tables, run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a dbt project."""
    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)
    return tmp_path


def node(name: str, *macros: str, **given: Any) -> dict[str, Any]:
    """A model in a manifest."""
    found = {"resource_type": "model", "name": name, "schema": "lake", "alias": name}
    return {**found, "database": None, "depends_on": {"macros": list(macros)}, **given}


HEALTH = "macro.spark_cdc.health"
OTHER = (node("orders", "macro.spark_cdc.history"), {"resource_type": "seed", "name": "health"})


def dbt_has_read(project: Path, *nodes: dict[str, Any], folder: str = "target") -> None:
    """Write a manifest."""
    (project / folder).mkdir()
    found = {str(place): one for place, one in enumerate(nodes)}
    (project / folder / "manifest.json").write_text(json.dumps({"nodes": found}))


# The table


@pytest.mark.parametrize(
    ("nodes", "options", "relation"),
    [
        ([*OTHER, node("mine", HEALTH)], [], "`lake`.`mine`"),
        ([node("mine", HEALTH, schema="a b", alias="x`y")], [], "`a b`.`x``y`"),
        ([node("mine", HEALTH, database="cat")], [], "`cat`.`lake`.`mine`"),
        ([node("a", HEALTH), node("b", HEALTH)], ["--model", "b"], "`lake`.`b`"),
        ([node("a", HEALTH), node("view_of_a")], ["--model", "view_of_a"], "`lake`.`view_of_a`"),
    ],
)
def test_the_model_is_found(
    project: Path, nodes: list[dict[str, Any]], options: list[str], relation: str
) -> None:
    dbt_has_read(project, *nodes)
    lake = FakeLake(schema="other")
    assert run(project, lake, *options) == 0
    (query,) = lake.queries
    assert f"from {relation}\n" in query


@pytest.mark.parametrize(
    ("nodes", "options", "said"),
    [
        (OTHER, [], r"no model in .*manifest.json calls spark_cdc.health; write one"),
        (
            [node("b", HEALTH), node("a", HEALTH)],
            [],
            "several models call spark_cdc.health: a, b; name one with --model",
        ),
        (
            [node("a", HEALTH)],
            ["--model", "b"],
            r"no model b in .*manifest.json; models that call spark_cdc.health: a",
        ),
        (OTHER, ["--model", "b"], "call spark_cdc.health: none"),
    ],
)
def test_a_model_that_is_not_found(
    project: Path, nodes: list[dict[str, Any]], options: list[str], said: str
) -> None:
    dbt_has_read(project, *nodes)
    with pytest.raises(Failure, match=said):
        run(project, FakeLake(), *options)


@pytest.mark.parametrize(("options", "name"), [([], "health"), (["--model", "mine"], "mine")])
def test_before_dbt_has_read_the_project_the_schema_is_of_the_profile(
    project: Path, options: list[str], name: str
) -> None:
    lake = FakeLake(schema="of_profile")
    assert run(project, lake, *options) == 0
    assert f"from `of_profile`.`{name}`\n" in lake.queries[0]


def test_dbt_may_write_to_another_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_TARGET_PATH", "elsewhere")
    dbt_has_read(project, node("mine", HEALTH), folder="elsewhere")
    lake = FakeLake()
    run(project, lake)
    assert "`lake`.`mine`" in lake.queries[0]


def test_a_manifest_that_is_none(project: Path) -> None:
    (project / "target").mkdir()
    (project / "target" / "manifest.json").write_text("{")
    with pytest.raises(Failure, match=r"manifest.json cannot be read; `dbt parse` writes it again"):
        run(project, FakeLake())


# The lines


def test_the_lines_begin_with_the_worst(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        *checked("fine", (1, 0)),
        *checked("late\x1b[2J", (2 * DAY, 0)),
        *checked("orders", (60, 1), deletes_of_unknown_keys=2),
    ]
    assert run(project, FakeLake(rows)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "lake.health: 1 bad, 1 warn, 1 ok; checked 2026-05-28T19:26:40Z (1 h ago)",
        "bad        late\\x1b[2J  lag 2 d",
        "warn       orders       0.1 % quarantined, 2 deletes of unknown keys",
    ]


def test_twenty_tables_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, FakeLake(many_tables()))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 22
    assert lines[0].startswith("lake.health: 30 bad, 60 warn, 210 ok;")
    assert lines[-1] == "and 70 more; --html FILE shows all"


def test_a_model_without_rows(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, FakeLake())
    assert capsys.readouterr().out == "lake.health has no rows yet\n"


def test_limits_are_options(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = checked("t", (100, 20))
    options = [
        "--lag-warn",
        "1m",
        "--lag-bad",
        "90s",
        "--quarantined-warn",
        "2%",
        "--quarantined-bad",
        "2.5",
    ]
    run(project, FakeLake(rows), *options)
    assert capsys.readouterr().out.splitlines()[1:] == ["bad        t  lag 1 min"]


def test_the_number_of_runs_is_an_option(project: Path) -> None:
    lake = FakeLake()
    run(project, lake, "--runs", "7")
    run(project, lake)
    assert ["cdc_run <= 7\n" in lake.queries[0], "cdc_run <= 60\n" in lake.queries[1]] == [True] * 2


@pytest.mark.parametrize(
    "at", ["2026-03-02T12:00:00Z", "2026-03-02T12:00", "2026-03-02T13:00+01:00"]
)
def test_ages_are_relative_to_a_time(
    project: Path, at: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in UTC if it names no zone. The row was checked two minutes before."""
    noon = 1772452800
    run(project, FakeLake([("t", "s", noon - 120, 60, *checked("t", (60, 0))[0][4:])]), "--at", at)
    assert "checked 2026-03-02T11:58:00Z (2 min ago)" in capsys.readouterr().out


# The file


def test_the_page_is_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "health.html"
    path.write_text("of yesterday")
    assert run(project, FakeLake(many_tables(3)), "--html", str(path)) == 0
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "erp_table_002" in path.read_text(encoding="utf-8")
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("lake.health: 1 bad")
    assert said[1:] == [f"written: {path}"]
    assert [one.name for one in project.iterdir()] == ["health.html"]


def test_a_file_that_cannot_be_written(project: Path) -> None:
    with pytest.raises(Failure, match=r"health.html cannot be written: No such file or directory"):
        run(project, FakeLake(), "--html", str(project / "nowhere" / "health.html"))
    for folder in (str(project), "", "/"):
        with pytest.raises(Failure, match=r"is a folder; for example: --html health.html"):
            run(project, FakeLake(), "--html", folder)
    assert list(project.iterdir()) == []


# Errors


def test_a_table_that_cannot_be_read(project: Path) -> None:
    lake = FakeLake(error=QueryFailed("[TABLE_OR_VIEW_NOT_FOUND] The table cannot be found."))
    with pytest.raises(Failure, match=r"`lake`.`health` cannot be read: \[TABLE_OR_VIEW_NOT_FOUND"):
        run(project, lake)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--lag-warn 2d", "--lag-warn is above --lag-bad; for example"),
        ("--quarantined-warn 2", "--quarantined-warn is above --quarantined-bad; for example"),
    ],
)
def test_limits_that_contradict_each_other(project: Path, options: str, said: str) -> None:
    with pytest.raises(Failure, match=said):
        run(project, FakeLake(), *options.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--lag-bad 6", "6 is no duration; for example: 90s, 15m, 6h, 2d"),
        ("--quarantined-bad much", "much is no percentage; for example: 0.5"),
        ("--quarantined-bad nan", "nan is no percentage; for example: 0.5"),
        ("--quarantined-bad 101", "101 is no percentage; for example: 0.5"),
        ("--at noon", "noon is no time; for example: 2026-03-02T12:00:00Z"),
        ("--runs 0", "0 is no number from 1 to 1000"),
        ("--nothing", "unrecognized arguments: --nothing"),
    ],
)
def test_wrong_options(options: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["health", *options.split()])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_a_folder_without_a_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--project-dir", str(project), "--profiles-dir", str(project)]
    assert main(["health", *options]) == 2
    said = capsys.readouterr().err
    assert said.startswith("spark-cdc health: no profile from")
    assert said.count("\n") == 1
