"""The files: what they contain, that edits are kept, and that tables are followed."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import jinja2
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.pages import README, blocks
from kit.warehouse import ROOT
from spark_cdc_udfs import command, dbt_session, server
from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.generate import call, files, yaml_text
from spark_cdc_udfs.server.stopping import NOT_RUNNING

from generate.fake_lake import FakeLake, Landed, change_table, mask_of, project, run, written

ERP = """
sources:
  - name: erp
    decoder: qlik_change_table
    schema: landing
    tables: "*__ct"
    file_format: iceberg
    raw_watermark: landed_at
"""
ORDERS = {"order_id": "bigint", "status": "string", "amount": "decimal(12,2)"}

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]))
REFUSED = re.compile(r"^\s*$|^cdc_|^header__|\$\{|\{[{%#]|[#%}]\}", re.IGNORECASE)
NAMES = TEXTS.filter(lambda name: not REFUSED.search(name))
TYPES = st.sampled_from(
    ["int", "string", "decimal(38,18)", "array<struct<a:int,b c:string>>", "timestamp_ntz"]
)


@st.composite
def landings(draw: st.DrawFn) -> dict[str, Landed]:
    """Change tables with columns of any names and comments."""
    found = {}
    for name in draw(st.sets(st.sampled_from(["a", "b", "c", "Größe"]), min_size=1)):
        columns = draw(
            st.dictionaries(NAMES, TYPES, min_size=1, max_size=6).filter(
                lambda some: len({one.lower() for one in some}) == len(some)
            )
        )
        key = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, unique=True))
        comments = draw(st.dictionaries(st.sampled_from(sorted(columns)), TEXTS))
        found[f"{name}__ct"] = change_table(columns, key, comments=comments)
    return found


class Recorder:
    """Stands for the package in Jinja: notes the arguments of each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def called(*values: Any, **named: Any) -> str:
            self.calls.append((name, values, named))
            return ""

        return called


def called(text: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Read a model as dbt does, and give the call in it."""
    recorder = Recorder()
    environment = jinja2.Environment()
    names: dict[str, Any] = {"spark_cdc": recorder, "config": lambda **_: ""}
    names |= {"source": lambda *parts: parts, "ref": lambda name: name}
    assert environment.from_string(text).render(names).strip() == ""
    (found,) = recorder.calls
    return found


# Contents


def test_the_files_of_a_table(tmp_path: Path) -> None:
    comments = {"status": "new, paid: {{ or }} gone"}
    landed = change_table(ORDERS, ["order_id"], comments=comments)
    landed.columns = {**landed.columns, "landed_at": "timestamp", "note": "varchar(20)"}
    lake = FakeLake({"orders__ct": landed})
    config = f"{ERP}    landing_columns: landed_at\n"
    assert run(project(tmp_path, config), lake) == 0
    texts = {PurePosixPath(path).name: text for path, text in written(tmp_path).items()}
    assert set(texts) == {
        *("orders.sql", "orders.yml", "orders__changes.sql", "orders__counts.sql"),
        *("orders__history.sql", "orders__log.sql", "orders__quarantine.sql"),
    }
    first, _, body = texts["orders__changes.sql"].partition("\n")
    assert first.startswith("{#- Made by `spark-cdc generate`; a file that was edited is kept.")
    assert texts["orders__log.sql"].partition("\n")[2] == (
        "{{ config(materialized='cdc_incremental', file_format='iceberg',"
        " raw_watermark='landed_at') -}}\n\n"
        "{{ spark_cdc.raw_log(source('erp', 'orders__ct')) }}\n"
    )
    assert body.startswith(
        "{{ config(materialized='cdc_incremental', file_format='iceberg') -}}\n\n"
        "{{ spark_cdc.qlik_change_table(\n    ref('orders__log'),\n    key=['order_id'],\n"
    )
    assert "'note': 'string'" in body and "landed_at" not in body
    assert texts["orders__counts.sql"].partition("\n")[2] == (
        "{{ config(materialized='view') -}}\n\n"
        "{{ spark_cdc.raw_counts(of=ref('orders__changes')) }}\n"
    )
    properties = yaml.safe_load(texts["orders.yml"])
    (source,) = properties["sources"]
    assert (source["name"], source["schema"]) == ("erp", "landing")
    layout = {"columns": {**ORDERS, "note": "string"}, "mask_columns": [*ORDERS, "note"]}
    assert source["tables"][0]["data_tests"] == [
        {"spark_cdc.qlik_mask_byte_order_fits": {"arguments": {**layout, "leave_out": ["note"]}}},
        {"spark_cdc.qlik_delete_bits_are_key": {"arguments": {"key": ["order_id"], **layout}}},
    ]
    models = {model["name"]: model for model in properties["models"]}
    landing = {"landing": "source('erp', 'orders__ct')"}
    assert models["orders__log"]["data_tests"] == [
        {"spark_cdc.raw_log_is_complete": {"arguments": landing}}
    ]
    assert models["orders"]["columns"][:3] == [
        {"name": "order_id", "data_type": "bigint", "description": "The key"},
        {
            "name": "status",
            "data_type": "string",
            "description": "{% raw %}new, paid: {{ or }} gone{% endraw %}",
        },
        {"name": "amount", "data_type": "decimal(12,2)"},
    ]
    # a raw log stores a varchar as a string
    of_log = {one["name"]: one["data_type"] for one in models["orders__log"]["columns"]}
    assert of_log == {**landed.columns, "note": "string", "cdc_batch": "string"}
    assert models["orders__history"]["data_tests"] == [
        {"spark_cdc.history_is_consistent": {"arguments": {"key": ["order_id"]}}},
        "spark_cdc.column_types_are",
    ]
    before = next(c for c in models["orders__changes"]["columns"] if c["name"] == "cdc_before")
    assert before["data_type"] == (
        "struct<order_id: bigint, status: string, amount: decimal(12,2), note: string>"
    )


def test_the_readme_shows_what_is_generated(tmp_path: Path) -> None:
    """From the table that its SQL is tested with."""
    documented = yaml.safe_load((ROOT / "tests" / "package" / "documented.yml").read_text())
    (raw,) = (one for one in documented["sources"][0]["tables"] if one["name"] == "orders__ct")
    columns = {one["name"]: one["data_type"] for one in raw["columns"]}
    of_key, everything = (mask_of(places, headers=5) for places in ([0], range(3)))
    rows = [{"header__change_oper": "D", "header__change_mask": of_key}]
    rows += [{"header__change_oper": "I", "header__change_mask": everything}]
    shown = [block.text for block in blocks(README)]
    (config,) = (text for text in shown if text.startswith("sources:"))
    there = config.replace(documented["sources"][0]["schema"], "landing")
    assert there != config
    assert run(project(tmp_path, there), FakeLake({"orders__ct": Landed(columns, rows)})) == 0
    texts = {path: text.partition("\n")[2] for path, text in written(tmp_path).items()}
    models = [text.partition("\n") for text in shown if text.startswith("-- models/")]
    assert len(models) == 4
    for place, _, text in models:
        assert texts[place.removeprefix("-- ")] == text


def test_a_landing_that_keeps_its_rows_is_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ERP.replace("raw_watermark", "batch") + "    landing_columns: landed_at\n"
    landed = change_table(ORDERS, ["order_id"])
    landed.columns = {**landed.columns, "landed_at": "timestamp"}
    tables = {"orders__ct": landed, "other__ct": change_table(ORDERS, ["order_id"])}
    assert run(project(tmp_path, config), FakeLake(tables)) == 0
    texts = {PurePosixPath(path).name: text for path, text in written(tmp_path).items()}
    assert texts["orders__log.sql"].partition("\n")[2] == (
        "{{ config(materialized='view') -}}\n\n"
        "{{ spark_cdc.raw_log(source('erp', 'orders__ct'), batch='landed_at') }}\n"
    )
    assert "- spark_cdc.raw_log_is_complete\n" in texts["orders.yml"]
    assert "raw_log_is_complete" not in texts["other.yml"]
    assert "cdc_incremental" in texts["other__log.sql"] and "batch" not in texts["other__log.sql"]
    assert "  batch is left out: other__ct has no column landed_at" in capsys.readouterr().out


def test_only_what_was_asked_for_is_built(tmp_path: Path) -> None:
    config = f"{ERP}    build: [current_state]\n    prefix: erp_\n    landing_columns: [amount]\n"
    config += "    table_settings: {lines: {build: [history], arguments: {null_keys: true}}}\n"
    lake = FakeLake(
        {
            name: change_table(ORDERS, ["order_id"], landed="amount")
            for name in ("orders__ct", "lines__ct", "other")
        }
    )
    assert run(project(tmp_path, config), lake) == 0
    texts = written(tmp_path)
    assert set(texts) == {
        *(f"models/erp/erp_orders/erp_orders{end}" for end in (".sql", ".yml")),
        *(f"models/erp/erp_orders/erp_orders{end}.sql" for end in ("__changes", "__log")),
        "models/erp/erp_lines/erp_lines.yml",
        *(
            f"models/erp/erp_lines/erp_lines{end}.sql"
            for end in ("__changes", "__history", "__log")
        ),
    }
    declared = "columns={'order_id': 'bigint', 'status': 'string'}"
    assert declared in " ".join(texts["models/erp/erp_orders/erp_orders__changes.sql"].split())
    of_history = called(texts["models/erp/erp_lines/erp_lines__history.sql"])
    assert of_history[2] == {"key": ["order_id"], "null_keys": True}


@given(landings())
@settings(max_examples=50, deadline=None)
def test_what_is_read_back_is_what_was_written(tables: Mapping[str, Landed]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        assert run(project(folder, ERP), FakeLake(dict(tables))) == 0
        texts = written(folder)
    for landed, table in tables.items():
        name = re.sub("[^a-z0-9_]", "_", landed.removesuffix("__ct").lower())
        own = {n: k for n, k in table.columns.items() if not n.startswith("header__")}
        properties = yaml.safe_load(texts[f"models/erp/{name}/{name}.yml"])
        raw = properties["sources"][0]["tables"][0]["columns"]
        assert {one["name"]: one["data_type"] for one in raw} == dict(table.columns)
        models = {model["name"]: model for model in properties["models"]}
        shown = models[name]["columns"][: len(own)]
        assert {one["name"]: one["data_type"] for one in shown} == own
        for column in shown:
            said = jinja2.Environment().from_string(column.get("description", "")).render()
            assert table.comments.get(column["name"], "") in said
        decoder, values, named = called(texts[f"models/erp/{name}/{name}__changes.sql"])
        assert (decoder, values) == ("qlik_change_table", (f"{name}__log",))
        of_log = called(texts[f"models/erp/{name}/{name}__log.sql"])
        assert of_log == ("raw_log", (("erp", landed),), {})
        key = models[name]["data_tests"][0]["spark_cdc.one_row_per_key"]["arguments"]["key"]
        assert named == {"key": key} and set(key) <= set(own)
        for model in (name, f"{name}__history"):
            assert called(texts[f"models/erp/{name}/{model}.sql"])[2] == {"key": key}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=10,
)


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_values_are_read_back_from_jinja_and_yaml(value: Any) -> None:
    named = {"value": value}
    assert called(call.call("spark_cdc.x", [value], named)) == ("x", (value,), named)
    assert yaml.safe_load(yaml_text.flow(value)) == value


# Edits


@given(landings(), landings(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_twice_changes_nothing_and_edits_are_kept(
    first: dict[str, Landed], then: dict[str, Landed], rng: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, lake = project(Path(place), ERP), FakeLake(first)
        assert run(folder, lake) == 0
        once = written(folder)
        assert run(folder, lake, "--check") == 0 and run(folder, lake) == 0
        assert written(folder) == once
        edited = rng.sample(sorted(once), rng.randint(1, len(once)))
        for path in edited:
            text = (folder / path).read_text(encoding="utf-8")
            at = rng.randint(text.index("\n") + 1, len(text))
            (folder / path).write_text(
                text[:at] + rng.choice("# \nx") + text[at:], encoding="utf-8"
            )
        edits = {path: text for path, text in written(folder).items() if path in edited}
        lake.tables = then
        run(folder, lake)
        after = written(folder)
        assert {path: after[path] for path in edited} == edits
        run(folder, lake)
        assert written(folder) == after
        fresh = project(Path(place) / "fresh", ERP)
        run(fresh, lake)
        assert {**written(fresh), **edits} == after


def test_columns_that_stay_text_stay_undeclared(tmp_path: Path) -> None:
    """An earlier run without types tells none, also when the key changes."""
    folder = project(tmp_path, ERP)
    lake = FakeLake({"a__ct": change_table({"id": "string", "name": "string"}, ["id"])})
    run(folder, lake)
    lake.tables = {"a__ct": change_table({"id": "string", "name": "string"}, ["name"])}
    run(folder, lake)
    once = written(folder)
    assert "columns=" not in once["models/erp/a/a__changes.sql"]
    assert run(folder, lake, "--check") == 0 and written(folder) == once


def test_an_edited_file_is_shown_with_its_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = FakeLake({"orders__ct": change_table(ORDERS, ["order_id"])})
    run(project(tmp_path, ERP), lake)
    model = tmp_path / "models/erp/orders/orders.sql"
    text = model.read_text().replace("key=['order_id']", "key=['order_id'], keep_deleted=true")
    model.write_text(text)
    own = tmp_path / "models/erp/lines/lines.sql"
    own.parent.mkdir()
    own.write_text("select 1 as id")
    lake.tables["lines__ct"] = change_table(ORDERS, ["order_id"])
    capsys.readouterr()
    assert run(tmp_path, lake) == 0
    said = capsys.readouterr().out
    assert "keep models/erp/orders/orders.sql: it was edited." in said
    assert "-{{ spark_cdc.current_state(ref('orders__changes'), key=['order_id'], keep_d" in said
    assert "keep models/erp/lines/lines.sql: it is a file of yours." in said
    assert "-select 1 as id" in said
    assert (model.read_text(), own.read_text()) == (text, "select 1 as id")
    assert run(tmp_path, lake, "--check") == 0
    model.unlink()
    assert run(tmp_path, lake, "--check") == 1
    assert run(tmp_path, lake) == 0
    assert "keep_deleted" not in model.read_text()


def test_a_checkout_with_other_line_endings_has_no_edits(tmp_path: Path) -> None:
    lake = FakeLake({"orders__ct": change_table(ORDERS, ["order_id"])})
    run(project(tmp_path, ERP), lake)
    for path in written(tmp_path):
        text = (tmp_path / path).read_text()
        (tmp_path / path).write_text("\ufeff" + text, encoding="utf-8", newline="\r\n")
    assert run(tmp_path, lake, "--check") == 0
    lake.tables["orders__ct"] = change_table({**ORDERS, "note": "string"}, ["order_id"])
    assert run(tmp_path, lake) == 0
    assert "note: string" in written(tmp_path)["models/erp/orders/orders.yml"]


# Tables that come, go and change


def test_tables_are_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = FakeLake({f"{name}__ct": change_table(ORDERS, ["order_id"]) for name in ("a", "b", "c")})
    run(project(tmp_path, ERP), lake)
    assert run(tmp_path, lake, "--check") == 0
    edited = tmp_path / "models/erp/a/a.yml"
    edited.write_text(edited.read_text() + "# mine\n")
    del lake.tables["a__ct"]
    lake.tables["b__ct"] = change_table({**ORDERS, "note": "string"}, ["order_id"])
    lake.tables["d__ct"] = change_table(ORDERS, ["status"])
    before = written(tmp_path)
    capsys.readouterr()
    assert run(tmp_path, lake, "--dry-run") == 0
    dry = capsys.readouterr().out
    assert run(tmp_path, lake, "--check") == 1
    assert written(tmp_path) == before
    assert dry.rstrip().endswith(
        "3 tables; files: 7 new, 1 changed, 6 removed, 1 kept; nothing was written"
    )
    assert "create models/erp/d: d.sql, d.yml, d__changes.sql" in dry
    assert "remove models/erp/a: a.sql, a__changes.sql" in dry
    assert "update models/erp/b/b.yml\n" in dry and "+      - {name: note" in dry
    assert "keep models/erp/a/a.yml: it was edited; its table is gone" in dry
    assert run(tmp_path, lake) == 0
    after = written(tmp_path)
    assert {PurePosixPath(path).parent.name for path in after} == {"a", "b", "c", "d"}
    assert [path for path in after if "/a/" in path] == ["models/erp/a/a.yml"]
    edited.unlink()
    assert run(tmp_path, lake, "--check") == 0
    del lake.tables["d__ct"]
    assert run(tmp_path, lake) == 0
    assert not (tmp_path / "models/erp/d").exists()


def test_another_folder_and_other_paths_of_models_are_followed(tmp_path: Path) -> None:
    lake = FakeLake({"orders__ct": change_table(ORDERS, ["order_id"])})
    run(project(tmp_path, ERP), lake)
    project(tmp_path, f"{ERP}    to: models/other\n")
    assert run(tmp_path, lake) == 0
    assert {path.split("/")[1] for path in written(tmp_path)} == {"other"}
    (tmp_path / "dbt_project.yml").write_text("name: mine\nmodel-paths: [transform]\n")
    project_text = f"{ERP}    to: transform/erp\n"
    (tmp_path / "spark_cdc.yml").write_text(project_text)
    assert run(tmp_path, lake) == 0
    assert (tmp_path / "transform/erp/orders/orders.sql").exists()


def test_a_table_without_a_key_keeps_its_files(tmp_path: Path) -> None:
    lake = FakeLake({"orders__ct": change_table(ORDERS, ["order_id"])})
    run(project(tmp_path, ERP), lake)
    before = written(tmp_path)
    lake.tables["orders__ct"] = change_table({"other": "int", "more": "int"}, [])
    assert run(tmp_path, lake) == 1
    assert written(tmp_path) == before


@pytest.mark.parametrize(
    ("config", "tables", "said"),
    [
        (ERP, {"orders": Landed({})}, "erp: landing has no table for *__ct"),
        (ERP.replace("landing", "nowhere"), {}, "the schema nowhere cannot be read: [SCHEMA_NOT"),
        (ERP, {"a__ct": change_table(ORDERS, []), "A": Landed({})}, ""),
    ],
)
def test_nothing_is_removed_if_no_table_is_found(
    tmp_path: Path, config: str, tables: dict[str, Landed], said: str
) -> None:
    lake = FakeLake({"orders__ct": change_table(ORDERS, ["order_id"])})
    run(project(tmp_path, ERP), lake)
    before = written(tmp_path)
    project(tmp_path, config)
    if said:
        with pytest.raises(Failure) as failure:
            run(tmp_path, FakeLake(tables))
        assert said in str(failure.value)
        assert written(tmp_path) == before


def test_two_models_of_one_name_are_an_error(tmp_path: Path) -> None:
    lake = FakeLake({name: change_table(ORDERS, ["order_id"]) for name in ("a__ct", "a_cd")})
    config = ERP + ERP.replace("erp", "other").replace("*__ct", "*_cd")[9:]
    with pytest.raises(Failure, match=r"two models are named a__changes: .* prefix: crm_"):
        run(project(tmp_path, config), lake)


# The command


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["generate", "--project-dir", str(tmp_path)]) == 2
    assert "dbt_project.yml cannot be read; run this in a dbt project" in capsys.readouterr().err
    project(tmp_path, "sources: 1")
    assert command.main(["generate", "--project-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("spark-cdc generate: ")


def test_a_session_is_started_as_for_dbt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Spark(FakeLake):
        is_stopped = False

        def sql(self, query: str) -> Spark:
            self.found = self.rows(query)
            return self

        def collect(self) -> list[Any]:
            return self.found

        def stop(self) -> None:
            self.is_stopped = True

    spark = Spark({"orders__ct": change_table(ORDERS, ["order_id"])})
    monkeypatch.setattr(dbt_session, "session_of_environment", lambda: spark)
    project(tmp_path, ERP)
    profile = "mine: {outputs: {default: {type: spark, method: session, host: x, schema: landing}}}"
    (tmp_path / "profiles.yml").write_text(profile)
    options = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    assert command.main(["generate", *options]) == 0
    assert spark.is_stopped and (tmp_path / "models/erp/orders/orders.sql").exists()
    del spark.tables["orders__ct"]
    assert command.main(["generate", *options]) == 2
    assert "landing has no table for *__ct" in capsys.readouterr().err


def test_the_server_has_two_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["status", "--dir", str(tmp_path)]
    assert command.main(["server", *given]) == server.main(given) == NOT_RUNNING
    for main, prog in ((command.main, "spark-cdc server"), (server.main, "spark-cdc-server")):
        with pytest.raises(SystemExit):
            main([*prog.split()[1:], "nothing"])
        assert capsys.readouterr().err.startswith(f"{prog}: ")


def test_a_checksum_is_of_the_rest_of_the_file() -> None:
    text = files.with_header(PurePosixPath("a.sql"), "select 1\n")
    assert files.is_generated(text) and not files.is_edited(text)
    assert files.is_edited(text + " ") and files.is_edited(text.replace("1", "2"))
    assert files.is_edited("select 1\n") and not files.is_generated("select 1\n")
