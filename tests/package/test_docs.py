"""README, CONTRIBUTING and docs: links, length, sentences, generated parts, code blocks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from kit.formats import every_format
from kit.pages import (
    README,
    Block,
    all_pages,
    anchors,
    blocks,
    links,
    prose,
    sentences,
    sentences_of_comments,
    words,
)
from kit.warehouse import ROOT

from scripts import reference

# Each heading of a page in docs/formats, in this order.
HEADINGS = ["What lands", "How it is read", "Quarantine codes", "Limits", "How to get it"]
# The kinds of blocks. A `text` is a fragment; a `jinja` is built in another test.
TAGS = {"sql", "yaml", "sh", "python", "mermaid", "text", "jinja"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def all_blocks(tag: str) -> list[Block]:
    return [block for page in all_pages() for block in blocks(page) if block.tag == tag]


# The pages


def test_the_readme_is_one_sitting() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 250


@pytest.mark.parametrize("path", list(reference.pages()), ids=name_of)
def test_generated_parts_are_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == reference.pages()[path], "run `make reference`"


def test_every_public_macro_is_in_the_reference() -> None:
    headings = re.findall(r"^### (\w+)$", reference.REFERENCE.read_text(), re.MULTILINE)
    assert len(headings) == len(set(headings))
    defined = set()
    for path in ROOT.glob("macros/**/*.sql"):
        text = path.read_text(encoding="utf-8")
        defined |= set(re.findall(r"\{%-? *(?:macro|test|materialization) ([a-z]\w*)", text))
    assert set(headings) == {name for name in defined if not name.startswith("spark__")}
    text = README.read_text(encoding="utf-8")
    assert not [name for name in headings if f"`{name}`" not in text and f"`{name}'" not in text]


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            wrong.append(target)
    assert not wrong


def test_every_page_is_linked() -> None:
    reached = {README}
    waiting = [README]
    while waiting:
        page = waiting.pop()
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
        new = {path for path in targets if path.suffix == ".md" and path not in reached}
        reached |= new
        waiting += new
    assert not set(all_pages()) - reached


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_sentences_are_short(page: Path) -> None:
    long = [sentence for sentence in sentences(page) if words(sentence) > 30]
    assert not long


def test_sentences_of_comments_are_short() -> None:
    files = ROOT.glob("macros/**/*.sql")
    found = [(file.name, each) for file in files for each in sentences_of_comments(file)]
    assert len(found) > 500
    assert not [(name, each) for name, each in found if words(each) > 30]


def test_words_of_place_are_not_used_for_logic() -> None:
    """Nor are the other expressions that make a reader stumble."""
    wrong = r"\b(anew|behind|beside|lies|stands(?! for)|that of|those which|amid|(is|are) none)\b"
    files = ROOT.glob("macros/**/*.sql")
    found = [(file.name, each) for file in files for each in sentences_of_comments(file)]
    assert not [(name, each) for name, each in found if re.search(wrong, each)]


def test_sentences_of_comments_are_found(tmp_path: Path) -> None:
    file = tmp_path / "macro.sql"
    file.write_text(
        "{#- One\n    sentence. Two `x. Y`.\n\n    A list:\n      a  item\n      b  other -#}\n"
        "select 1  -- not this\n    -- of three\n    -- lines. End\nfrom x\n"
    )
    assert list(sentences_of_comments(file)) == [
        *("One sentence.", "Two Code.", "A list:", "a item", "b other"),
        *("of three lines.", "End"),
    ]


def test_sentences_are_found(tmp_path: Path) -> None:
    """Wrapped lines are one sentence; an item of a list begins another; tables have none."""
    page = tmp_path / "page.md"
    page.write_text(
        "# A head\n\nOne [link](a.md)\ngoes on. Two `x. Y` (of it). e.g. this.\n\n"
        "- an item\n  of two lines\n- another\n\n| a | b |\n|---|---|\n\n```sh\nmake it. Now\n```\n"
    )
    assert list(sentences(page)) == [
        *("A head", "One link goes on.", "Two Code (of it). e.g. this."),
        *("an item of two lines", "another"),
    ]
    assert words("It isn't `code`, is it? 5,000 rows") == 7


@pytest.mark.parametrize("decoder", [one.decoder for one in every_format()])
def test_each_decoder_has_a_page(decoder: str) -> None:
    page = ROOT / "docs" / "formats" / f"{decoder}.md"
    assert re.findall(r"^## (.*)$", prose(page), re.MULTILINE) == HEADINGS
    assert f"(docs/formats/{decoder}.md)" in README.read_text()


def test_every_property_and_side_table_is_documented() -> None:
    text = (ROOT / "docs" / "incremental.md").read_text()
    macros = "".join(path.read_text() for path in (ROOT / "macros" / "incremental").rglob("*.sql"))
    properties = set(re.findall(r"'(spark_cdc\.[a-z_]+)'", macros))
    tables = set(re.findall(r"_side_table\('([a-z]+)_?'", macros))
    assert len(properties) > 10 and len(tables) > 10
    missing = [name for name in sorted(properties) if f"`{name}`" not in text]
    missing += [name for name in sorted(tables) if f"`<model>__cdc_{name}" not in text]
    assert not missing


# Code blocks


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_blocks_say_what_they_are(page: Path) -> None:
    assert {block.tag for block in blocks(page)} <= TAGS
    assert page.read_text(encoding="utf-8").count("```") == 2 * len(list(blocks(page)))


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=lambda block: block.name)
def test_yaml(block: Block) -> None:
    """It can be parsed, and the tests of the package that it names exist."""
    assert isinstance(yaml.safe_load(block.text), dict)
    tests = set(re.findall(r"\bspark_cdc\.(\w+)", block.text))
    files = {path.stem for path in (ROOT / "macros" / "generic_tests").glob("*.sql")}
    assert tests <= files


@pytest.mark.parametrize("block", all_blocks("python"), ids=lambda block: block.name)
def test_python(block: Block) -> None:
    """It can be parsed, and the names that it imports from the package exist."""
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom):
            module = __import__(str(node.module), fromlist=["x"])
            assert all(hasattr(module, alias.name) for alias in node.names)
