"""The page is one file, and texts of the data are never HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spark_cdc_udfs.health.page import embedded, page
from spark_cdc_udfs.health.rows import OF_THE_LAST_RUN, tables
from spark_cdc_udfs.health.severity import Limits
from spark_cdc_udfs.health.view import view

from health.checked import HOSTILE, HOUR, NOW, FakeLake, Row, checked, three_tables


def viewed(rows: list[Row]) -> dict[str, Any]:
    return view(tables(FakeLake(rows), "t", 60), Limits(), "lake.health", NOW)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.is_open = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.texts.append("")
        self.is_open = True

    def handle_endtag(self, tag: str) -> None:
        self.is_open = False

    def handle_data(self, data: str) -> None:
        if self.is_open:
            self.texts[-1] += data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Give the attributes and the text of each element."""
        pairs = zip(self.found, self.texts, strict=True)
        return [(attributes, text) for (name, attributes), text in pairs if name == tag]


EMPTY = page(viewed([]))

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()) | st.just(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_any_text_comes_back_and_is_no_html(value: Any) -> None:
    text = embedded(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set(text) & set("<>&\u2028\u2029\n")


@given(st.lists(st.text(st.characters()) | st.just(HOSTILE), min_size=4, max_size=4))
def test_any_table_leaves_the_elements_of_the_page_as_they_are(given: list[str]) -> None:
    name, source, reason, raw = given
    rows = checked(
        name,
        (1, 1),
        source=source,
        reasons={reason: 1},
        examples=[{"reason": reason, "detail": raw, "raw": raw}],
    )
    shown = viewed(rows)
    found = Elements(page(shown))
    assert found.found == Elements(EMPTY).found
    ((_, data),) = [one for one in found.of("script") if "type" in one[0]]
    assert json.loads(data) == shown
    assert shown["tables"][0]["reasons"][0]["examples"][0]["raw"] == raw


def test_only_its_own_script_and_style_run() -> None:
    found = Elements(EMPTY)
    (policy,) = [
        attributes["content"] or ""
        for attributes, _ in found.of("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    ((_, style),) = found.of("style")
    ((_, program),) = [one for one in found.of("script") if not one[0]]
    for directive, text in (("style", style), ("script", program)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy and "*" not in policy


def test_the_page_names_nothing_on_a_network() -> None:
    namespace = "http://www.w3.org/2000/svg"
    assert EMPTY.count(namespace) == 1
    assert "//" not in re.sub(r"^ *// .*$", "", EMPTY.replace(namespace, ""), flags=re.MULTILINE)
    for _, attributes in Elements(EMPTY).found:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
        assert not [name for name in attributes if name.startswith("on")]


def test_equal_rows_give_equal_pages() -> None:
    assert page(viewed(three_tables())) == page(viewed(three_tables()))


def test_what_is_shown_of_a_table() -> None:
    rows = checked(
        "orders",
        (None, 4),
        (7200, 2),
        (300, 5),
        raw=1000,
        reasons={"late": 4, "early": 1},
        examples=[
            {"reason": "late", "detail": "a clock", "raw": "{}"},
            {"reason": "other"},
        ],
        events=1_234_567,
        updates_of_unknown_keys=2,
        orphaned_before_images=None,
    )
    (table,) = viewed(rows)["tables"]
    facts = dict(table.pop("facts"))
    assert facts["change events"] == "1,234,567"
    assert facts["checked"] == "2026-05-28T19:26:40Z (1 h ago)"
    assert facts["last commit"] == "2026-05-28T17:26:40Z (3 h ago)"
    assert table == {
        "name": "orders",
        "source": "qlik_change_table",
        "status": "warn",
        "why": ["0.5 % quarantined", "2 updates of unknown keys"],
        "lag": {
            "value": 300,
            "text": "5 min",
            "note": "",
            "runs": [None, 7200, 300],
            "label": "lag, 3 runs: 5 min to 2 h, last 5 min",
        },
        "quarantined": {
            "value": 5,
            "text": "5",
            "note": "0.5 %, +3",
            "runs": [4, 2, 5],
            "label": "quarantined rows, 3 runs: 2 to 5, last 5",
        },
        "gaps": {"value": 2, "text": "2"},
        "raw": {"value": 1000, "text": "1,000"},
        "checked": {"value": NOW - HOUR, "text": "1 h ago"},
        "reasons": [
            {"reason": "late", "count": "4", "examples": [{"detail": "a clock", "raw": "{}"}]},
            {"reason": "early", "count": "1", "examples": []},
            {
                "reason": "other",
                "count": "not known",
                "examples": [{"detail": "", "raw": "not known"}],
            },
        ],
        "reasons_known": True,
        "gap_list": [
            {
                "name": "updates of unknown keys",
                "count": "2",
                "means": "Nothing inserted the row before: its insert was lost, or there is no"
                " full load.",
            }
        ],
        "gaps_note": "Not known: before images without their update.",
    }


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        ({}, "None."),
        ({"deletes_of_unknown_keys": 1}, ""),
        (dict.fromkeys(OF_THE_LAST_RUN), "Not known."),
    ],
)
def test_gaps_are_none_or_not_known(counts: dict[str, Any], note: str) -> None:
    (table,) = viewed(checked("t", (None, None), **counts))["tables"]
    assert table["gaps_note"] == note
    assert table["lag"]["label"] == "lag, 1 run: not known"


def test_a_page_without_rows_says_so() -> None:
    shown = viewed([])
    assert (shown["tables"], shown["counts"], shown["checked"]) == ([], [], "")
