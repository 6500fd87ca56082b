"""A real browser: the Chromium of the machine, in which a test opens pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

# The same names are in scripts/chromium.
PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
MISSING = "there is no Chromium (Debian, Ubuntu: sudo apt-get install chromium)"
HEIGHT = 900

Scheme = Literal["light", "dark"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser. Without one the test is skipped, but it fails on CI."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None and os.environ.get("CI"):
        pytest.fail(MISSING)
    if program is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@dataclass
class Opened:
    """An open page, with what it asked for and what it reported."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Browser, path: Path, scheme: Scheme, width: int) -> Iterator[Opened]:
    """Open a file. At the end it must not have asked for anything else, nor reported anything."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce"
    )
    try:
        found = Opened(context.new_page())
        found.page.set_default_timeout(5000)
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.on("console", lambda message: found.errors.append(message.text))
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.goto(path.as_uri())
        yield found
        assert found.requests == [path.as_uri()]
        assert found.errors == []
    finally:
        context.close()


# The contrast of each visible text with the colours below it, as WCAG 2 defines it.
CONTRASTS = """() => {
  const parts = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = parts(color).map((one) => one / 255).map(
      (one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if ((parts(color)[3] ?? 1) === 1) return color;
    }
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("svg, script")) continue;
    const two = [light(getComputedStyle(element).color), light(ground(element))].sort();
    found.push([(Math.max(...two) + 0.05) / (Math.min(...two) + 0.05), texts.currentNode.data]);
  }
  return found;
}"""
