"""Replacements for dbt and for the macros when sqlfluff reads models as they are written.

A macro gives a query in parentheses, which can replace a query, a condition and a value. A macro
with a name like `_format_items` gives CTEs, after which the model continues.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from types import SimpleNamespace


class Macros:
    """A package with every macro."""

    def __getitem__(self, name: str) -> Callable[..., str]:
        # Jinja asks for an item if there is no attribute, and forbids names with an underscore
        text = "with items as (select 1 as one)" if name.endswith("_items") else "(select 1 as one)"
        return lambda *arguments, **named: text


def var(name: str, default: object = None) -> object:
    """Give the default, as dbt does if no project sets the variable."""
    return default


spark_cdc = Macros()
consumer = Macros()
project_name = "spark_cdc"
modules = SimpleNamespace(datetime=datetime, re=re)
model: dict[str, dict[str, str]] = {"config": {}}
