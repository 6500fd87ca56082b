"""The page in a real browser: light and dark, narrow and wide, with 3 and with 300 tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect
from spark_cdc_udfs.health.page import page as written
from spark_cdc_udfs.health.rows import tables
from spark_cdc_udfs.health.severity import Limits
from spark_cdc_udfs.health.view import view

from health.browser import CONTRASTS, Scheme, chromium, opened
from health.checked import HOSTILE, NOW, FakeLake, Row, many_tables, three_tables

NARROW, WIDE = 360, 1600


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The pages, by their number of tables."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    rows: dict[int, list[Row]] = {0: [], 3: three_tables(), 300: many_tables()}
    for number, some in rows.items():
        shown = view(tables(FakeLake(some), "t", 60), Limits(), "lake.health", NOW)
        made[number] = folder / f"{number}.html"
        made[number].write_text(written(shown), encoding="utf-8")
    return made


@pytest.fixture
def three(browser: Browser, pages: dict[int, Path]) -> Iterator[Page]:
    with opened(browser, pages[3], "light", WIDE) as found:
        yield found.page


@pytest.fixture
def many(browser: Browser, pages: dict[int, Path]) -> Iterator[Page]:
    with opened(browser, pages[300], "light", WIDE) as found:
        yield found.page


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return wide


@pytest.mark.parametrize("number", [3, 300])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_it_looks_right(
    browser: Browser, pages: dict[int, Path], number: int, scheme: Scheme, width: int
) -> None:
    """Nothing is cut, all texts can be read, and each table has its two lines."""
    with opened(browser, pages[number], scheme, width) as found:
        page = found.page
        assert page.title() == "Health of change data"
        page.locator("tr.row").first.click()
        expect(page.locator("tr.details")).to_be_visible()
        assert overflow(page) <= 0
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 4 * number
        assert [one for one in contrasts if one[0] < 4.5] == []
        expect(page.locator("tr.row")).to_have_count(number)
        expect(page.get_by_role("img")).to_have_count(2 * number)
        headings = page.get_by_role("columnheader")
        expect(headings).to_have_count(4 if width == NARROW else 8)
        # A value never covers its neighbour.
        row = page.locator("tr.row").first
        lag, quarantined = (
            row.locator(".lag").bounding_box(),
            row.locator(".quarantined").bounding_box(),
        )
        assert lag and quarantined and lag["x"] + lag["width"] <= quarantined["x"] + 1


def test_a_click_shows_reasons_with_raw_rows(three: Page) -> None:
    row = three.locator("tr.row").first
    button = row.get_by_role("button")
    expect(button).to_have_attribute("aria-expanded", "false")
    row.locator(".lag .value").click()
    expect(button).to_have_attribute("aria-expanded", "true")
    details = three.locator(f"#{button.get_attribute('aria-controls')}")
    expect(details).to_be_visible()
    reasons = details.locator(".reasons > li")
    assert reasons.locator(".count").all_text_contents() == ["20", "12", "1"]
    # HTML has no NUL; a text node keeps it.
    assert reasons.first.locator("pre").all_text_contents() == [f"{n} {HOSTILE}" for n in range(3)]
    expect(reasons.nth(1).locator("pre")).to_have_text('{"order_id":"7"}')
    expect(reasons.nth(2)).to_contain_text("No example.")
    expect(details.locator(".gaps > li").first).to_contain_text("updates of unknown keys 4")
    expect(details).to_contain_text("Not known: before images without their update.")
    row.locator(".lag .value").click()
    expect(details).to_be_hidden()
    expect(button).to_have_attribute("aria-expanded", "false")


def test_texts_of_the_data_run_nothing(three: Page) -> None:
    for button in three.locator("tr.row button").all():
        button.click()
    assert three.locator("img").count() == 0
    assert three.locator("script").count() == 2
    assert three.title() == "Health of change data"
    name = three.locator("tr.row button").nth(1)
    assert name.text_content() == f"a_table_with_a_very_long_name_of_a_source_{HOSTILE}"


def test_the_policy_of_the_page_is_in_force(browser: Browser, pages: dict[int, Path]) -> None:
    with opened(browser, pages[3], "light", WIDE) as found:
        with pytest.raises(Error, match="TrustedHTML"):
            found.page.evaluate("document.body.innerHTML = '<b>text</b>'")
        assert found.page.locator("h1").count() == 1
        asked = "fetch('http://127.0.0.1:9/').then(() => 'answered', (error) => error.message)"
        assert found.page.evaluate(asked) == "Failed to fetch"
        assert [one for one in found.errors if "connect-src" in one or "default-src" in one]
        found.requests[1:] = []
        found.errors.clear()


def test_keys_are_enough(three: Page) -> None:
    three.locator("#filter").focus()
    for _ in range(9):
        three.keyboard.press("Tab")
    button = three.locator("tr.row button").first
    expect(button).to_be_focused()
    three.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(three.locator("tr.details")).to_be_visible()
    three.keyboard.press("Tab")
    expect(three.locator("pre").first).to_be_focused()
    three.keyboard.press("Shift+Tab")
    three.keyboard.press("Space")
    expect(three.locator("tr.details")).to_be_hidden()
    three.locator("#filter").focus()
    three.keyboard.press("Tab")
    three.keyboard.press("Tab")
    three.keyboard.press("Enter")
    expect(three.get_by_role("columnheader", name="Table")).to_have_attribute(
        "aria-sort", "ascending"
    )


def names(page: Page) -> list[str]:
    """The names of the tables that are shown, from top to bottom."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('tr.row:not([hidden]) .name')].map((one) => one.textContent)"
    )
    return found


def test_headings_sort(three: Page) -> None:
    """What is not known comes last in both directions; open details stay with their table."""
    long = f"a_table_with_a_very_long_name_of_a_source_{HOSTILE}"
    three.locator("tr.row button").last.click()
    assert names(three) == ["orders", long, "customers"]
    lag = three.get_by_role("columnheader", name="Lag")
    for direction, expected in (
        ("descending", ["orders", "customers", long]),
        ("ascending", ["customers", "orders", long]),
    ):
        lag.get_by_role("button").click()
        assert names(three) == expected
        expect(lag).to_have_attribute("aria-sort", direction)
        expect(three.locator("th[aria-sort]")).to_have_count(1)
        before = three.locator("tr.details").evaluate(
            "(one) => one.previousElementSibling.innerText"
        )
        assert "customers" in before
    three.get_by_role("columnheader", name="Table").get_by_role("button").click()
    assert names(three) == [long, "customers", "orders"]
    three.get_by_role("columnheader", name="Worst").get_by_role("button").click()
    assert names(three) == ["orders", long, "customers"]


def test_each_heading_sorts_by_its_column(many: Page) -> None:
    for heading in ("Quarantined", "Gaps", "Raw rows"):
        many.get_by_role("columnheader", name=heading).get_by_role("button").click()
        place = many.locator("thead th").all_text_contents().index(heading)
        cells = many.evaluate(
            "(place) => [...document.querySelectorAll('tr.row')].map("
            "(row) => Number(row.cells[place].firstChild.textContent.replaceAll(',', '')))",
            place,
        )
        assert cells == sorted(cells, reverse=True)
        assert cells[0] > cells[-1]


def test_a_filter_finds_names_and_statuses(many: Page) -> None:
    shown = many.locator("#shown")
    expect(shown).to_have_text("300 of 300 tables")
    many.locator("tr.row button").first.click()
    many.get_by_label("Filter").fill("WARN 29")
    expect(shown).to_have_text("2 of 300 tables")
    assert sorted(names(many)) == ["erp_table_291", "erp_table_292"]
    expect(many.locator("tr.details")).to_be_hidden()
    many.get_by_label("Filter").fill("no such table")
    expect(shown).to_have_text("0 of 300 tables")
    many.get_by_label("Filter").fill("")
    expect(shown).to_have_text("300 of 300 tables")
    expect(many.locator("tr.details")).to_be_visible()


def test_statuses_are_counted(many: Page) -> None:
    assert many.locator("#counts li").all_text_contents() == ["30 bad", "60 warn", "210 ok"]


def test_a_line_is_drawn_from_its_values(three: Page) -> None:
    """Four runs of which the second is not known: a point, then a line to the last value."""
    line = three.locator("tr.row").last.locator(".lag svg")
    expect(line).to_have_attribute("aria-label", "lag, 4 runs: 45 s to 5 min, last 45 s")
    ground, path, dot = (one.get_attribute("d") for one in line.locator("path").all())
    assert ground == "M0 25.0H120"
    assert path == "M3.0 20.6h0M79.0 3.0h0L117.0 21.7"
    assert dot == "M117.0 21.7h0"


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_a_page_without_tables_says_so(
    browser: Browser, pages: dict[int, Path], width: int
) -> None:
    with opened(browser, pages[0], "dark", width) as found:
        expect(found.page.get_by_text("No table was checked yet.")).to_be_visible()
        expect(found.page.locator("#tables")).to_be_hidden()
        expect(found.page.locator("#search")).to_be_hidden()
        assert overflow(found.page) <= 0
