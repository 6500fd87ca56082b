"""`spark_cdc.yml` and the CSV with keys: what is accepted, and what the errors say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.pages import blocks
from kit.warehouse import ROOT
from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.generate.config import read_config
from spark_cdc_udfs.generate.decoders import DECODERS
from spark_cdc_udfs.generate.known_keys import KnownKeys

ERP = "sources:\n  - {name: erp, decoder: qlik_change_table, schema: landing"
PAGE = ROOT / "docs" / "generate.md"


def test_the_examples_of_the_page_are_accepted(tmp_path: Path) -> None:
    """There is one for each decoder."""
    path = tmp_path / "spark_cdc.yml"
    shown = set()
    for block in blocks(PAGE):
        if block.tag == "yaml":
            path.write_text(block.text)
            shown |= {source.decoder for source in read_config(path).sources}
    assert shown == set(DECODERS)


def test_every_decoder_of_the_package_is_known() -> None:
    found = {path.parent.name for path in (ROOT / "docs" / "formats").glob("*.md")}
    decoders = {path.stem for path in (ROOT / "docs" / "formats").glob("*.md")}
    assert found and set(DECODERS) == decoders


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: None is no mapping"),
        ("sources: []", "line 1: sources is no list of sources; for example: sources: [{name: erp"),
        ("sources: [", "line 1 is no YAML"),
        (f"{ERP}, colour: red}}", "line 2: colour is not known; known are name, decoder, schema"),
        (f"{ERP}}}\nsource: 1", "line 3: source is not known; known are keys, sources"),
        ("sources:\n  - name: erp\n    schema: x", "line 2: a source has no decoder; for example"),
        ("sources:\n- name: a\n  name: b", "line 3: name is given twice"),
        (
            f"{ERP}}}\n  - {{name: erp, decoder: qlik_change_table, schema: other}}",
            "line 3: two sources are named erp",
        ),
        (
            "sources:\n- {name: a, schema: b, decoder: qlik}",
            "line 2: decoder is qlik; accepted are qlik_change_table, qlik_messages",
        ),
        (f"{ERP}, relation: x}}", "line 2: qlik_change_table takes no relation"),
        (
            "sources:\n- {name: a, schema: b, decoder: netiq_event_log}",
            "line 2: netiq_event_log has to name the relation with the rows of all tables",
        ),
        (f"{ERP}, to: ../other}}", "line 2: ../other is not in the project"),
        (
            f"{ERP},\n     build: [currant]}}",
            "line 3: currant cannot be built; accepted are current",
        ),
        (f"{ERP}, tables: 7}}", "line 2: tables is no list of texts"),
        (f"{ERP}, file_format: orc}}", "line 2: file_format is orc; accepted are parquet"),
        (f"{ERP}, arguments: {{key: [a]}}}}", "line 2: key is no such argument: qlik_change_table"),
        (f"{ERP}, arguments: {{header_columns: '7'}}}}", "header_columns is '7', and no number"),
        (f"{ERP}, prefix: a-b}}", "line 2: a-b has other characters than letters"),
        (
            "sources:\n- {name: a, schema: b, decoder: qlik_messages, relation: c}",
            "line 2: qlik_messages needs the relation with the metadata messages; for example: arg",
        ),
        (f"{ERP}, arguments: {{full_load: 7}}}}", "line 2: full_load is no name of a table"),
        (f"{ERP}, table_settings: {{a: {{keys: [b]}}}}}}", "line 2: keys is not known; known are"),
        (f"{ERP}, table_settings: {{a: {{columns: {{b: 7}}}}}}}}", "the type of b is no text"),
    ],
)
def test_errors_name_the_place_and_an_example(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "spark_cdc.yml"
    path.write_text(text)
    with pytest.raises(Failure) as failure:
        read_config(path)
    assert str(failure.value).startswith(f"{path}, ")
    assert said in str(failure.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="cannot be read: No such file"):
        read_config(tmp_path / "spark_cdc.yml")


def test_keys_of_a_csv_file_have_the_order_of_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "keys.csv"
    path.write_text(
        "table,column,position\nLines,line_no,2\nlines,order_id,1\n\nerp.orders,id,1\norders,no,1\n"
    )
    keys = KnownKeys(path)
    assert keys.of("erp", "lines", "lines__ct") == ("order_id", "line_no")
    assert keys.of("crm", "orders", "orders__ct") == ("no",)
    assert keys.unused() == ["erp.orders"]
    assert keys.of("erp", "orders", "orders__ct") == ("id",)
    assert keys.of("erp", "other") == ()
    assert KnownKeys(None).of("erp", "orders") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("table,column\n", "line 1: the header is not table,column,position"),
        ("table,column,position\na,b\n", "line 2: a,b is no table, column and position"),
        ("table,column,position\na,b,x\n", "line 2: a,b,x is no table"),
        ("table,column,position\na,b,1\na,c,1\n", "line 3: a has position 1 twice"),
        ("table,column,position\na,b,1\na,c,3\n", "the positions of a are 1, 3, and not 1 to 2"),
    ],
)
def test_errors_of_a_csv_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys.csv"
    path.write_text(text)
    with pytest.raises(Failure, match=re.escape(said)):
        KnownKeys(path)
