"""Formats and the shared machinery do not know each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.formats import decoders_built
from kit.warehouse import ROOT

MACROS = ROOT / "macros"
INTERNALS = MACROS / "common" / "_dbt_internals.sql"
# Products, and the decoders of the package.
FORMATS = {"qlik", "gbase", "informix", "netiq", "db2", "kafka", "avro", *decoders_built()}


def macros_in(folder: Path) -> set[str]:
    """The macros that the files of a folder define."""
    text = "".join(path.read_text() for path in sorted(folder.glob("*.sql")))
    return set(re.findall(r"\{%-? macro (\w+)\(", text))


@pytest.mark.parametrize("decoder", decoders_built())
def test_a_decoder_calls_nothing_of_the_machinery(decoder: str) -> None:
    machinery = {name for name in macros_in(MACROS / "incremental") if name.startswith("_")}
    assert "_store_increment" in machinery
    for path in sorted((MACROS / decoder).glob("*.sql")):
        called = set(re.findall(r"spark_cdc\.(\w+)", path.read_text()))
        assert not called & machinery, path


@pytest.mark.parametrize("folder", ["incremental", "apply"])
def test_the_machinery_names_no_format(folder: str) -> None:
    files = sorted((MACROS / folder).iterdir())
    assert files
    for path in files:
        named = [word for word in FORMATS if word in path.read_text().lower()]
        assert not named, path


@pytest.mark.parametrize(
    "path", sorted({*MACROS.rglob("*.sql")} - {INTERNALS}), ids=lambda path: path.name
)
def test_internals_of_dbt_are_used_in_one_file(path: Path) -> None:
    internals = (
        r"(?<![.\w])render\(|\bcontext[.\[]|\bbuiltins\b|\bget_macro\b|\bspark_cdc_calls\b"
        r"|\bmodel\.(?:update|pop)\b|\bspark_cdc(?:\[|\.(?:get|items|keys)\()"
        r"|\bin spark_cdc\b(?!\.)"
    )
    assert re.search(internals, INTERNALS.read_text(encoding="utf-8"))
    assert not re.findall(internals, path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(MACROS.rglob("*.sql")), ids=lambda path: path.name)
def test_a_file_of_macros_has_one_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 250
