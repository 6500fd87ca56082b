"""The SQL that dbt compiles has a good layout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.formats import every_format
from kit.lint import faults, lint
from kit.warehouse import ROOT, DbtRun

# The models of one table, and the change events of each other decoder. sqlfluff takes four seconds
# for a thousand lines, so it reads no others.
EXAMPLES = re.compile(
    "demo_orders(__.*)?|demo__health|demo_users__publication"
    "|demo_(accounts|articles|invoices|parts|users)__changes"
)
# dbt's own tests, whose layout is not ours.
OF_DBT = ("not_null_", "unique_", "accepted_values_", "relationships_")
LONGEST_LINE_OF_A_MACRO = 200


@pytest.fixture(scope="module")
def compiled(built: DbtRun) -> list[Path]:
    """The compiled SQL of the demo. No model lacks it."""
    manifest = built.artifact("manifest")
    found = sorted((built.target / "compiled" / "spark_cdc").rglob("*.sql"))
    models = {
        Path(node["path"]).stem
        for node in manifest["nodes"].values()
        if node["resource_type"] == "model"
    }
    assert models <= {path.stem for path in found}
    return [path for path in found if not path.name.startswith(OF_DBT)]


def test_examples_of_compiled_sql_are_laid_out_well(compiled: list[Path]) -> None:
    examples = [path for path in compiled if EXAMPLES.fullmatch(path.stem)]
    assert {path.parent.name for path in examples} >= {one.decoder for one in every_format()}
    findings = lint(examples)
    assert not findings, "\n".join(findings)


def test_lines_of_compiled_sql(compiled: list[Path]) -> None:
    found = {path.name: faults(path.read_text(encoding="utf-8")) for path in compiled}
    assert not {name: wrong for name, wrong in found.items() if wrong}


def test_lines_of_macros() -> None:
    """Most SQL that a run sends to Spark is in no compiled model."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "macros").rglob("*.sql")}
    found = {
        path.name: faults(text.removesuffix("\n"), LONGEST_LINE_OF_A_MACRO)
        for path, text in texts.items()
    }
    assert found and not {name: wrong for name, wrong in found.items() if wrong}


@pytest.mark.parametrize("line", ["from a ", "from\ta", "{# a #} FROM a", "x" * 131])
def test_faults_of_lines_are_found(line: str) -> None:
    assert [fault[:3] for fault in faults(f"{{# FROM\n#}}\n{line}\nwhere b")] == ["3: "]


def test_lines_without_faults() -> None:
    assert faults(f"{{# a\nFROM #}}\nselect 'INSERT' as ORDER_ID<{'x' * 130}>") == []
    assert faults("select 1\n") != []
