"""The page: one file that asks no network for anything."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def page(view: Mapping[str, Any]) -> str:
    """Write the page of a view (`view.view`). Equal views give equal pages."""
    style, program = _part("page.css"), _part("page.js")
    # Only these two texts run or style anything, and no text becomes HTML.
    policy = (
        f"default-src 'none'; script-src '{_hash(program)}'; style-src '{_hash(style)}';"
        " img-src data:; base-uri 'none'; form-action 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    )
    parts = {"policy": policy, "style": style, "program": program, "data": embedded(view)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _part("page.html"))


def embedded(value: Any) -> str:
    """Write a value as JSON that HTML reads as one text: in ASCII, without `<`, `>` and `&`."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _part(name: str) -> str:
    return files("spark_cdc_udfs.health").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
