"""Formats, table formats and the shared machinery do not know each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.formats import decoders_built
from kit.warehouse import ROOT

MACROS = ROOT / "macros"
STORAGE = MACROS / "incremental" / "storage"
TABLE_FORMATS = ("parquet", "iceberg", "delta")
INTERNALS = MACROS / "common" / "_dbt_internals.sql"
# Products, and the decoders of the package.
FORMATS = {"qlik", "gbase", "informix", "netiq", "db2", "kafka", "avro", *decoders_built()}


def macros_in(folder: Path) -> set[str]:
    """The macros that the files of a folder define."""
    text = "".join(path.read_text() for path in sorted(folder.rglob("*.sql")))
    return set(re.findall(r"\{%-? macro (\w+)\(", text))


def macros_of_format(table_format: str) -> list[tuple[str, str]]:
    """The macros that every table format has, with their arguments."""
    text = (STORAGE / f"{table_format}.sql").read_text()
    return re.findall(rf"\{{%-? macro _{table_format}_(\w+)\((.*?)\)", text)


@pytest.mark.parametrize("decoder", decoders_built())
def test_a_decoder_calls_nothing_of_the_machinery(decoder: str) -> None:
    machinery = {name for name in macros_in(MACROS / "incremental") if name.startswith("_")}
    assert "_store_increment" in machinery
    for path in sorted((MACROS / decoder).glob("*.sql")):
        called = set(re.findall(r"spark_cdc\.(\w+)", path.read_text()))
        assert not called & machinery, path


# Files of shared folders that name a format, and the reason.
NAMING = {
    "macros/common/_macros.yml": "the examples of quarantine and raw_counts",
    "macros/health/health.sql": "it finds the decoder of a row only in cdc_source, a value",
    "macros/generic_tests/_generic_tests.yml": "it documents the tests of one format",
    "macros/generic_tests/qlik_delete_bits_are_key.sql": "a test of one format",
    "macros/generic_tests/qlik_mask_byte_order_fits.sql": "a test of one format",
    "scripts/check.py": "an example of a name",
    "tests/kit/values.py": "the table of the texts that each format reads",
    "tests/laws/held_tests.py": "the generic tests of one format",
    "tests/laws/test_values.py": "formats that read a text differently",
    "tests/laws/test_zones.py": "raw columns with types, in every decoder",
}
# `change_feed` writes for Kafka.
PRODUCTS = FORMATS - {"kafka", "avro"}


def test_shared_files_name_no_format() -> None:
    """A format is known in its own folders; other parts of `tests/` are about a part of it."""
    of_formats = {*decoders_built(), "qlik_schema_versions"}
    folders = [path for path in MACROS.iterdir() if path.name not in of_formats]
    folders += [ROOT / "tests" / name for name in ("kit", "laws", "simulation")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    files += [path for path in (ROOT / "scripts").iterdir() if path.is_file()]
    naming = set()
    for path in files:
        if path.suffix == ".pyc":
            continue
        within = path.relative_to(ROOT)
        words = FORMATS if within.parts[1] in ("incremental", "apply") else PRODUCTS
        text = path.read_text(encoding="utf-8").lower()
        if any(re.search(rf"\b_?{word}", text) for word in words):
            naming.add(str(within))
    assert naming == NAMING.keys()


@pytest.mark.parametrize("table_format", TABLE_FORMATS)
def test_every_table_format_has_the_same_macros(table_format: str) -> None:
    expected = macros_of_format("parquet")
    assert ("facts", "") in expected
    assert macros_of_format(table_format) == expected
    head = (STORAGE / "formats.sql").read_text().split("-#}")[0]
    assert [name for name, _ in expected] == re.findall(r"^      (\w+)\(", head, re.MULTILINE)


def test_every_table_format_has_the_same_facts() -> None:
    facts = [
        re.findall(r"'(\w+)': ", (STORAGE / f"{name}.sql").read_text().split("endmacro")[0])
        for name in TABLE_FORMATS
    ]
    assert "kind" in facts[0]
    assert facts == [facts[0]] * len(TABLE_FORMATS)


@pytest.mark.parametrize(
    "path", sorted({*MACROS.rglob("*.sql")} - {*STORAGE.iterdir()}), ids=lambda path: path.name
)
def test_only_its_own_file_names_a_table_format(path: Path) -> None:
    """The tables of one run are parquet, whatever the model is; messages may name formats."""
    text = path.read_text(encoding="utf-8").replace("using parquet", "")
    text = re.sub(r"spark_cdc\._stop\(.*?\) \}\}", "", text, flags=re.DOTALL)
    names = "|".join(TABLE_FORMATS)
    assert not re.findall(rf"\b_?(?:{names})(?:_\w+)?\b", text.lower())


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
