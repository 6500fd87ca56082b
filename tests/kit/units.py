"""The dbt project of all unit tests: `tests/units/` and the wrapper models of every format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kit.formats import Format, UnitTest, every_format
from kit.values import as_text
from kit.warehouse import ROOT, install_package

UNITS = ROOT / "tests" / "units"


def literal(value: str | int | None) -> str:
    """Write a value as SQL."""
    if value is None:
        return "cast(null as string)"
    if isinstance(value, int):
        return str(value)
    escaped = (
        value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    )
    return f"'{escaped}'"


def rows_sql(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write rows of SQL expressions as a query."""
    lines = ",\n".join(f"  ({', '.join(row)})" for row in rows)
    return f"select * from values\n{lines}\nas rows ({', '.join(names)})\n"


def json_text(row: Mapping[str, Any] | None) -> str | None:
    """Write a row as Spark does with to_json."""
    return None if row is None else json.dumps(row, separators=(",", ":"), ensure_ascii=False)


def names_text(names: Sequence[str] | None) -> str | None:
    """Write names of columns as the wrapper models do."""
    return None if names is None else " ".join(names)


def event_columns(event: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of an event that most wrapper models give."""
    return {
        "cdc_sequence": event["cdc_sequence"],
        "cdc_operation": event["cdc_operation"],
        "cdc_commit_sequence": event["cdc_commit_sequence"],
        "cdc_commit_at": as_text(event["cdc_commit_at"]),
        "cdc_transaction_id": event["cdc_transaction_id"],
        "changed": names_text(event["cdc_changed_columns"]),
        "present": names_text(event["cdc_present_columns"]),
    }


def vector_units(format_: Format) -> list[UnitTest]:
    """The unit tests of a format's vectors."""
    return [
        unit
        for file, make in format_.vector_units.items()
        for unit in make(format_.vectors_of(file))
    ]


def as_yaml(decoder: str, unit: UnitTest) -> dict[str, Any]:
    """A unit test as dbt's YAML has it."""
    given = [
        {"input": f"source('{decoder}', '{table}')", "format": "sql", "rows": rows}
        for table, rows in unit.given.items()
    ]
    test: dict[str, Any] = {"name": unit.name, "model": unit.model, "given": given}
    if unit.variables:
        test["overrides"] = {"vars": dict(unit.variables)}
    return test | {"expect": {"rows": [dict(row) for row in unit.expect]}}


def write_project(project: Path) -> None:
    """Write the whole project into a folder."""
    project.mkdir(parents=True, exist_ok=True)
    shutil.copy(UNITS / "dbt_project.yml", project)
    shutil.copytree(UNITS / "macros", project / "macros")
    shutil.copytree(UNITS / "models", project / "models")
    shutil.copytree(UNITS / "fixtures", project / "tests" / "fixtures")
    profile = (ROOT / "tests" / "consumer" / "profiles.yml").read_text(encoding="utf-8")
    (project / "profiles.yml").write_text(profile.replace("consumer:", "units:", 1))
    for format_ in every_format():
        models = project / "models" / format_.decoder
        shutil.copytree(format_.folder / "models", models)
        if (format_.folder / "fixtures").exists():
            shutil.copytree(
                format_.folder / "fixtures", project / "tests" / "fixtures" / format_.decoder
            )
        tests = [as_yaml(format_.decoder, unit) for unit in vector_units(format_)]
        text = yaml.safe_dump({"unit_tests": tests}, allow_unicode=True, sort_keys=False)
        (models / "vectors.yml").write_text(text, encoding="utf-8")
    install_package(project)


def unit_models() -> Mapping[str, tuple[str, str]]:
    """Each unit test by its name: its wrapper model, and the folder it belongs to."""
    found = {
        unit.name: (unit.model, format_.decoder)
        for format_ in every_format()
        for unit in vector_units(format_)
    }
    written = [*(UNITS / "models").glob("*/*.yml"), *UNITS.parent.glob("formats/*/models/*.yml")]
    for path in written:
        folder = path.parent.parent.name if path.parent.name == "models" else path.parent.name
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        found |= {one["name"]: (one["model"], folder) for one in content.get("unit_tests", [])}
    return found
