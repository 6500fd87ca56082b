"""The plan of `make check ONLY=…` for a name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import conftest
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import warehouse
from kit.formats import decoders_built

from scripts import check
from scripts.check import Plan, Unknown, resolve

DECODERS = {"gbase_capture", "qlik_change_table"}


@pytest.mark.parametrize("decoder", sorted(DECODERS))
def test_decoder(decoder: str) -> None:
    plan = resolve(decoder)
    assert plan.tests == (f"tests/formats/{decoder}", check.UNIT_TESTS, check.VECTORS)
    assert plan.only == (decoder,)
    assert plan.marks == "unit or macros"
    models = check.names((check.ROOT / "models" / decoder).glob("*.sql"))
    assert models
    assert set(models) <= set(plan.sql)
    assert all(decoder in model for model in plan.sql)
    # a file or folder of its macros means the same
    assert resolve(f"macros/{decoder}/{decoder}.sql") == plan
    assert resolve(f"macros/{decoder}") == plan


def test_every_decoder_has_tests() -> None:
    assert set(check.decoders()) >= DECODERS
    for decoder in check.decoders():
        assert (check.ROOT / "macros" / decoder / f"{decoder}.sql").exists()


def test_model() -> None:
    path = "tests/units/models/apply/history_commit.sql"
    expected = Plan((path,), (check.UNIT_TESTS,), ("history_commit",))
    assert resolve("history_commit") == resolve(path) == expected


def test_model_of_the_demo_is_only_linted() -> None:
    path = "models/gbase_capture/demo_accounts.sql"
    assert resolve("demo_accounts") == resolve(path) == Plan((path,))
    assert "pytest" not in check.commands(Plan((path,)))


def test_test_file_or_folder() -> None:
    file = "tests/package/test_check.py"
    assert resolve(file) == Plan(tests=(file,), marks="not slow", types=True)
    folder = "tests/formats/gbase_capture"
    assert resolve(folder) == Plan(tests=(folder,), marks="not slow")


def test_folders_of_macros_without_unit_tests() -> None:
    assert resolve("incremental").tests == ("tests/incremental",)
    assert resolve("macros/incremental/_storage.sql") == resolve("incremental")
    assert resolve("generic_tests").tests == ("tests/package/test_generic_tests.py",)


def test_every_folder_of_macros_is_known() -> None:
    for folder in (check.ROOT / "macros").iterdir():
        assert resolve(folder.name).tests


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a decoder `a_log`, macros that call each other, and modules that do."""
    macros = {
        "a_log/a_log.sql": "{% macro a_log(relation) %}{% endmacro %}",
        "apply/_rows.sql": "{%- macro _rows() -%}{%- endmacro -%}",
        "apply/current.sql": "{% macro current(x) %}{{ spark_cdc._rows() }}{% endmacro %}",
        "apply/history.sql": "{% macro history(x) %}{% endmacro %}",
    }
    for name, text in macros.items():
        write(tmp_path / "macros" / name, text)
    write(tmp_path / "tests/formats/a_log/test_log.py", "from spark_cdc_udfs import outer")
    for model in ("current", "history"):
        text = f"{{{{ spark_cdc.{model}('x') }}}}"
        write(tmp_path / "tests/units/models/apply" / f"{model}_rows.sql", text)
    package = tmp_path / "python_udfs" / "spark_cdc_udfs"
    write(package / "inner.py", "")
    write(package / "outer.py", "from spark_cdc_udfs.inner import x")
    write(package / "alone.py", "")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    return tmp_path


def test_file_of_macros_means_the_models_that_call_them(project: Path) -> None:
    assert resolve("macros/apply/_rows.sql").only == ("current_rows",)
    assert resolve("macros/apply/history.sql").only == ("history_rows",)
    assert resolve("apply").only == ("current_rows", "history_rows")
    assert resolve("apply").sql == (
        "tests/units/models/apply/current_rows.sql",
        "tests/units/models/apply/history_rows.sql",
    )


def test_module_means_the_tests_that_import_it(project: Path) -> None:
    plan = resolve("python_udfs/spark_cdc_udfs/inner.py")
    tests = ("tests/formats/a_log/test_log.py", check.VECTORS)
    assert plan == Plan((), tests, ("a_log",), marks="unit", types=True)
    assert resolve("python_udfs/spark_cdc_udfs/outer.py") == plan
    with pytest.raises(Unknown, match=r"no test imports python_udfs/spark_cdc_udfs/alone\.py"):
        resolve("python_udfs/spark_cdc_udfs/alone.py")


def test_examples_are_scaled_once_for_all_items_of_a_test() -> None:
    @given(st.integers())
    @settings(max_examples=200)
    def asked(number: int) -> None: ...

    @given(st.integers())
    def silent(number: int) -> None: ...

    conftest.scale_examples([asked, silent, asked, None, asked])
    profile = settings.default
    assert profile is not None
    found = [one._hypothesis_internal_use_settings.max_examples for one in (asked, silent)]  # type: ignore[attr-defined]
    assert found == [2 * profile.max_examples, profile.max_examples]


@pytest.mark.parametrize("only", ["qlik", "macros/none.sql", "README.md", ".", "tests/conftest.py"])
def test_unknown_name_stops_with_what_is_accepted(
    only: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check.main(only) == 2
    said = capsys.readouterr().err
    first = decoders_built()[0]
    assert len(said.splitlines()) == 1
    assert said.startswith(f"ONLY={only} is nothing to check: give a decoder ({first}, ")
    assert "make check ONLY=qlik_change_table" in said


def test_models_that_changed_are_linted() -> None:
    model = "models/gbase_capture/demo_accounts.sql"
    plan = check.of_changes({model, "README.md", "macros/apply/history.sql"})
    assert plan == Plan((model,), ("tests",), types=True)
    assert len(check.of_changes({".sqlfluff"}).sql) == len(check.models())
    assert "sqlfluff" not in check.commands(check.of_changes(set()))


def test_tests_of_a_module_run_in_one_process(tmp_path: Path) -> None:
    """Otherwise each process would have its own server, project and cluster for a module."""
    for name in ("one", "two"):
        test = "import os, pytest\n@pytest.mark.parametrize('n', range(4))\ndef test(n):\n"
        test += f"    open(r'{tmp_path}/{name}.told', 'a').write(os.environ['PYTEST_XDIST_WORKER'])"
        write(tmp_path / f"test_{name}.py", test)
    conftest = (check.ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    write(tmp_path / "conftest.py", conftest)
    (tmp_path / "kit").symlink_to(check.ROOT / "tests" / "kit")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "."]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{check.ROOT / 'tests'}"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    told = {(tmp_path / f"{name}.told").read_text() for name in ("one", "two")}
    assert told == {"gw0" * 4, "gw1" * 4}


def test_limits_reach_pytest() -> None:
    command = check.commands(Plan(tests=("tests/x.py",), only=("a", "b")))["pytest"]
    assert command[-6:] == ["unit or macros", "--only", "a", "--only", "b", "tests/x.py"]


@pytest.mark.parametrize(
    ("script", "seconds", "is_there"),
    [
        ("test -e {asked} && exit 0; touch {asked}; exit 1", 60, True),  # it answers late
        ("exit 1", 0, False),
        ("exit 3", 60, False),
    ],
)
def test_a_server_that_answers_late_is_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, seconds: float, is_there: bool
) -> None:
    status = script.replace("{asked}", str(tmp_path / "asked"))
    monkeypatch.setattr(warehouse, "SERVER", ("sh", "-c", status))
    assert warehouse.answers(tmp_path, seconds) == is_there


def test_results_are_kept_until_the_python_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "SERVERS", tmp_path)
    kept = tmp_path / "parquet" / "kept_results"
    kept.mkdir(parents=True)
    check.stop_outdated_server()
    check.stop_outdated_server()
    assert kept.exists()
    (tmp_path / "code").write_text("other code", encoding="utf-8")
    check.stop_outdated_server()
    assert not kept.exists()
