"""Pages of Markdown: their code blocks, sentences, links and anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
OF_PYTHON = ROOT / "python_udfs" / "README.md"


def pages_of_docs() -> list[Path]:
    """Find the README and all pages in `docs/`."""
    return [README, *sorted((ROOT / "docs").rglob("*.md"))]


def all_pages() -> list[Path]:
    """Find every page that people read in the repository."""
    return [*pages_of_docs(), CONTRIBUTING, OF_PYTHON]


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    tag: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def upkeep(*begins: str) -> tuple[str, ...]:
    """Give the statements of docs/operations.md with this beginning; `{}` replaces the table."""
    page = ROOT / "docs" / "operations.md"
    found = [block.text.strip() for block in blocks(page) if block.text.startswith(begins)]
    assert len(found) >= len(begins)
    some_day = r"timestamp '2026[^']*'"
    return tuple(
        re.sub(some_day, "timestamp '2100-01-01 00:00:00'", text.replace("lake.orders", "{}"))
        for text in found
    )


FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> Iterator[Block]:
    """Give the fenced blocks of a page, without the indentation of the fence."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        indent, tag, body = found.groups()
        lines = [line.removeprefix(indent) for line in body.splitlines(keepends=True)]
        yield Block(page, text.count("\n", 0, found.start()) + 1, tag, "".join(lines))


def commands(page: Path) -> list[str]:
    """Give the commands of the shell blocks of a page. One on several lines is a single one."""
    text = "".join(block.text for block in blocks(page) if block.tag == "sh")
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return list(filter(None, (re.sub(r"(^|\s+)#( .*)?$", "", line) for line in lines)))


def prose(page: Path) -> str:
    """Give a page without fenced blocks and comments."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def sentences(page: Path) -> Iterator[str]:
    """Give the sentences of a page. Tables have none; inline code is one word."""
    text = re.sub(r"`[^`]*`", "Code", prose(page))
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        content = line.strip()
        is_item = re.match(r"([-*]|\d+\.) ", content)
        if not content or is_item or content.startswith(("|", "#")):
            yield from _split(" ".join(paragraph))
            paragraph = []
        if content.startswith("#"):
            yield content.lstrip("# ")
        elif content and not content.startswith("|"):
            paragraph.append(content[is_item.end() :] if is_item else content)


def comments(file: Path) -> Iterator[str]:
    """Give the comments of a file of SQL and Jinja, with their paragraphs."""
    found = r"\{#-?(.*?)-?#\}|^ *(-- [^\n]*(?:\n *-- [^\n]*)*)"
    for jinja, sql in re.findall(found, file.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        yield jinja or re.sub(r"(?m)^ *-- ", "", sql)


def sentences_of_comments(file: Path) -> Iterator[str]:
    """Give the sentences of the comments; a line of a list, indented by six, begins another."""
    for comment in comments(file):
        text = re.sub(r"`[^`]*`", "Code", comment)
        for paragraph in re.split(r"\n\s*\n|\n {6,}(?=\S+ )", text):
            yield from _split(" ".join(paragraph.split()))


def _split(paragraph: str) -> Iterator[str]:
    yield from filter(None, re.split(r"(?<=[.!?])[)*_]* +(?=[^a-z])", paragraph))


def words(sentence: str) -> int:
    """Count the words of a sentence."""
    return len(re.findall(r"\w[\w'.,/-]*", sentence))


LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """Give the targets of the links of a page that lead into the repository."""
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    return [target for target in LINK.findall(text) if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Give the anchors of the headings of a page, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE):
        plain = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 1
        unique = anchor
        while unique in found:
            unique = f"{anchor}-{number}"
            number += 1
        found.add(unique)
    return found
