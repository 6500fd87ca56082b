"""Names that would make dbt stop, or replace a table of the landing; folders outside a project."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark_cdc_udfs.errors import Failure

from generate.fake_lake import FakeLake, Landed, change_table, project, run, written

ORDERS = {"order_id": "bigint", "status": "string"}
ERP = """
sources:
  - name: erp
    decoder: qlik_change_table
    schema: landing
    tables: "*"
"""


def lake(*tables: str) -> FakeLake:
    return FakeLake({name: change_table(ORDERS, ["order_id"]) for name in tables})


def test_a_model_never_replaces_a_table_of_the_landing(tmp_path: Path) -> None:
    there = lake("orders__ct", "ORDERS")
    there.schema = "Landing"
    config = f"{ERP}    exclude: orders\n"
    with pytest.raises(Failure, match="the model orders would replace the table ORDERS of the la"):
        run(project(tmp_path, config), there)
    assert not (tmp_path / "models").exists()
    assert run(project(tmp_path, f"{config}    prefix: my_\n"), there) == 0


def test_models_whose_names_differ_only_in_case_are_an_error(tmp_path: Path) -> None:
    config = ERP.replace('"*"', "orders__ct") + "    prefix: A\n" + ERP.replace("erp", "b")[9:]
    config = config.replace('"*"', "aorders__ct")
    with pytest.raises(Failure, match=r"two models are named aorders__changes: .*Aorders__changes"):
        run(project(tmp_path, config), lake("orders__ct", "aorders__ct"))


@pytest.mark.parametrize("name", ["mine.sql", "mine.py"])
def test_a_model_of_the_project_with_the_same_name_is_an_error(tmp_path: Path, name: str) -> None:
    own = project(tmp_path, ERP) / "models" / "own" / name.replace("mine", "Orders")
    own.parent.mkdir(parents=True)
    own.write_text("select 1")
    with pytest.raises(Failure, match=r"two models are named Orders: models/own/Orders\..* prefix"):
        run(tmp_path, lake("orders__ct"))
    assert list(written(tmp_path)) == [f"models/own/{own.name}"]


def test_a_file_that_was_moved_and_edited_is_an_error(tmp_path: Path) -> None:
    run(project(tmp_path, ERP), lake("orders__ct"))
    moved = tmp_path / "models" / "orders.sql"
    (tmp_path / "models/erp/orders/orders.sql").rename(moved)
    moved.write_text(moved.read_text() + "-- mine\n")
    with pytest.raises(Failure, match="two models are named orders"):
        run(tmp_path, lake("orders__ct"))


def test_a_model_of_the_demo_with_the_same_name_is_an_error(tmp_path: Path) -> None:
    """dbt reads the YAML of the disabled demo, and finds two descriptions of one model."""
    demo = project(tmp_path, ERP) / "dbt_packages/spark_cdc/models/x/demo_orders.sql"
    demo.parent.mkdir(parents=True)
    demo.write_text("select 1")
    with pytest.raises(
        Failure, match=r"demo_orders\.sql has the name of a model in the demo of spa"
    ):
        run(tmp_path, lake("demo_orders__ct"))


@pytest.mark.parametrize("to", ["transform/erp", "model", "link/erp"])
def test_files_are_only_written_where_dbt_looks_for_models(tmp_path: Path, to: str) -> None:
    folder = project(tmp_path / "mine", f"{ERP}    to: {to}\n")
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(Failure, match=r"is not in the model-paths of dbt_project\.yml, models; f"):
        run(folder, lake("orders__ct"))


def test_files_of_another_project_are_not_removed(tmp_path: Path) -> None:
    other = project(tmp_path / "other", ERP)
    run(other, lake("orders__ct"))
    before = written(other)
    mine = project(tmp_path / "mine", ERP)
    absolute = tmp_path / "other" / "models"
    (mine / "dbt_project.yml").write_text(
        f"name: mine\nmodel-paths: [models, ../other/models, {absolute}]\n"
    )
    assert run(mine, lake("lines__ct")) == 0
    assert written(other) == before


@pytest.mark.parametrize("column", ["{{ env_var('HOME') }}", "{% x %}", "a\nb", "{# x"])
def test_names_that_dbt_would_render_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str
) -> None:
    there = lake("orders__ct")
    there.tables["odd__ct"] = change_table({**ORDERS, column: "int"}, ["order_id"])
    assert run(project(tmp_path, ERP), there) == 1
    assert "erp.odd: not written: the name " in capsys.readouterr().out
    assert {path.split("/")[2] for path in written(tmp_path)} == {"orders"}


@pytest.mark.parametrize("name", ["x" * 300, "${env:HOME}"])
def test_a_name_that_cannot_be_a_model_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(project(tmp_path, ERP), lake("orders__ct", f"{name}__ct")) == 1
    assert ": not written: " in capsys.readouterr().out
    assert {path.split("/")[2] for path in written(tmp_path)} == {"orders"}


@pytest.mark.parametrize("other", ["ORDERS-1__ct", "orders_1__history"])
def test_tables_that_would_have_one_model_do_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    """Their files stay as they are: names can be data."""
    assert run(project(tmp_path, ERP), lake("orders_1__ct")) == 0
    before = written(tmp_path)
    assert run(tmp_path, lake("orders_1__ct", other, "lines__ct")) == 1
    said = capsys.readouterr().out
    assert said.count("would both have the model orders_1") == 2
    after = written(tmp_path)
    assert {path: after[path] for path in before} == before
    assert {path.split("/")[2] for path in after} == {"lines", "orders_1"}


def test_names_cannot_control_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project(tmp_path, ERP), lake("orders__ct", "a\x1b[2Jb__ct")) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said and "\\x1b[2Jb__ct" in said


def test_names_of_models_have_letters_that_spark_accepts(tmp_path: Path) -> None:
    assert run(project(tmp_path, ERP), lake("Größe__ct")) == 0
    assert {path.split("/")[2] for path in written(tmp_path)} == {"gr__e"}


def test_columns_that_differ_only_in_case_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = FakeLake({"orders__ct": change_table({"id": "int", "ID": "int"}, ["id"])})
    assert run(project(tmp_path, ERP), there) == 1
    assert "the columns id and ID differ only in case; rename one" in capsys.readouterr().out


def test_settings_of_a_table_that_does_not_exist_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = f"{ERP}    table_settings: {{ordrs: {{key: [id]}}, Orders__CT: {{build: history}}}}\n"
    there = lake("orders__ct")
    there.tables["other"] = Landed({})
    assert run(project(tmp_path, config.replace('"*"', '"*__ct"')), there) == 0
    said = capsys.readouterr().out
    assert "erp: table_settings names ordrs: no such table" in said
    assert "Orders__CT" not in said


def test_columns_that_settings_leave_out_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (
        "    table_settings: {orders: {columns: {id: int}}}\n    landing_columns: [landed_at]\n"
    )
    columns = {"id": "string", "status": "string", "Amount": "string", "landed_at": "string"}
    there = FakeLake({"orders__ct": change_table(columns, ["id"], landed="landed_at")})
    assert run(project(tmp_path, ERP + settings), there) == 0
    said = capsys.readouterr().out
    assert "not in columns of table_settings, so left out: status, Amount" in said
