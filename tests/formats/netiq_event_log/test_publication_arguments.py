"""Calls of the publication macros: correct ones need no tables, wrong ones stop with a message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from kit.warehouse import ROOT, Warehouse, install_package

from formats.netiq_event_log.wrong_calls import DECLARED, USR

CONSUMER = ROOT / "tests" / "consumer"
PUBLICATION, XDS, BACKLOG = "netiq_publication", "netiq_xds", "netiq_backlog"

# A macro, its arguments, the materialization, and a part of the message.
Call = tuple[str, str, str, str]
OF_LOG: list[tuple[str, str]] = [
    ("undeclared{}", "neither exists nor has declared columns"),
    ("'idm.log'{}", "the relation is a text, idm.log"),
    ("dated_log{}", "event_time of type date"),
    ("log{}, layout='3.5.1'", "layout is 3.5.1"),
    ("log{}, as_of='yesterday'", "as_of is yesterday"),
    ("log{}, source_timezone='Mars'", "source_timezone is Mars"),
    ("log{}, driver_user=''", "driver_user is empty"),
    ("log{}, driver_user=7", "driver_user is 7"),
    ("log{}, driver_user=misspelt", "driver_user is not defined"),
    ("log{}, allow_loopback='no'", "allow_loopback is no"),
    ("log{}, allow_loopback=none", "allow_loopback is None"),
]
OF_TABLE: list[tuple[str, str]] = [
    ("log, '', ['idu'], {'idu': 'int'}", "table is empty"),
    ("log, 'usr', ['nr'], {'idu': 'int'}", "key names the column nr"),
    ("log, 'usr', ['idu'], none", "columns is None"),
    (f"log, {USR}, snapshot=usr_ids", "lacks fname"),
    (f"log, {USR}, pending_only='all'", "pending_only is all"),
    (f"log, {USR}, pending_only=1", "pending_only is 1"),
]
OF_DOCUMENTS: list[tuple[str, str]] = [
    (f"log, {USR}, none", "schema is None"),
    (f"log, {USR}, ''", "schema is empty"),
    (f"log, {USR}, misspelt", "schema is not defined"),
    (f"log, {USR}, 'indirect', type5='delete'", "type5 is delete"),
    (f"log, {USR}, 'indirect', type5=none", "type5 is None"),
]
OTHERS = {PUBLICATION: f", {USR}", XDS: f", {USR}, 'indirect'", BACKLOG: ""}
RIGHT = {macro: f"log{others}, driver_user='idm'" for macro, others in OTHERS.items()}

WRONG: list[Call] = [
    *(
        (macro, given.replace("{}", others), "view", said)
        for macro, others in OTHERS.items()
        for given, said in (OF_LOG[-3:] if macro == XDS else OF_LOG)
    ),
    *((PUBLICATION, given, "view", said) for given, said in OF_TABLE),
    *((XDS, given, "table", said) for given, said in OF_DOCUMENTS),
    *(
        (macro, given, materialized, f"is {materialized}, which works on what is new")
        for macro, given in RIGHT.items()
        for materialized in ("cdc_incremental", "incremental")
    ),
]


def write_project(project: Path, calls: Sequence[Call]) -> None:
    """A dbt project whose models are calls; none of their relations is in the warehouse."""
    models = project / "models"
    models.mkdir(parents=True)
    (project / "dbt_project.yml").write_text("name: arguments\nprofile: consumer\n")
    install_package(project)
    tables = [
        {
            "name": name,
            "columns": [
                {"name": column} | ({"data_type": kind} if kind else {})
                for column, kind in columns.items()
            ],
        }
        for name, columns in DECLARED.items()
    ]
    sources = {"sources": [{"name": "idm", "schema": "nowhere", "tables": tables}]}
    (models / "sources.yml").write_text(yaml.safe_dump(sources))
    sets = "".join(f"{{%- set {name} = source('idm', '{name}') %}}\n" for name in DECLARED)
    for number, (macro, given, materialized, _) in enumerate(calls):
        (models / f"call_{number}.sql").write_text(
            f"{{{{ config(materialized='{materialized}') }}}}\n"
            f"{sets}{{{{ spark_cdc.{macro}({given}) }}}}\n"
        )


def test_right_calls_compile_without_tables(tmp_path: Path) -> None:
    """Nobody listens at the port."""
    project = tmp_path / "right"
    write_project(project, [(macro, given, "view", "") for macro, given in RIGHT.items()])
    options = ("--no-introspect", "--no-populate-cache")
    done = Warehouse("127.0.0.1", 1, tmp_path).dbt(project, "compile", *options, profiles=CONSUMER)
    for result in done.results().values():
        assert result["status"] == "success", result["message"]
        assert "`record_id`" in result["compiled_code"]


def test_docs_of_missing_logs(warehouse: Warehouse, tmp_path: Path) -> None:
    """A model that cannot be compiled yet does not stop the documentation."""
    project = tmp_path / "untold"
    calls = [(macro, f"undeclared{others}", "view", "") for macro, others in OTHERS.items()]
    write_project(project, calls)
    done = warehouse.dbt(project, "docs", "generate", profiles=CONSUMER)
    nodes = done.artifact("manifest")["nodes"].values()
    compiled = [node["compiled_code"] for node in nodes if node["resource_type"] == "model"]
    assert len(compiled) == 3
    assert all("-- this compiles once the relation exists" in text for text in compiled)


@pytest.fixture(scope="module")
def messages(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The message of dbt for each wrong call."""
    project = tmp_path_factory.mktemp("arguments") / "wrong"
    write_project(project, WRONG)
    done = warehouse.dbt(project, "run", profiles=CONSUMER, check=False)
    return {name: result["message"] or "" for name, result in done.results().items()}


@pytest.mark.parametrize(
    ("number", "call"),
    [pytest.param(*one, id=f"{one[1][0]}({one[1][1]}), {one[1][2]}") for one in enumerate(WRONG)],
)
def test_message_teaches(messages: dict[str, str], number: int, call: Call) -> None:
    macro, _, _, said = call
    message = messages[f"call_{number}"]
    assert message.strip().startswith("Compilation Error"), message
    assert said in message
    assert f"spark_cdc.{macro}: " in message or "spark_cdc.columns_of: " in message
    flat = message.replace("\n    ", "\n  ")
    assert "\n  accepted: " in flat and "\n  example:  " in flat
