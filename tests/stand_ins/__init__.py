"""What sqlfluff takes for dbt and for the macros when it reads models as they are written.

A macro gives a query in parentheses: that can stand for a query, a condition and a value.
"""

from __future__ import annotations

from collections.abc import Callable


class Macros:
    """A package with every macro."""

    def __getitem__(self, name: str) -> Callable[..., str]:
        # Jinja asks for an item where there is no attribute, and forbids those with an underscore
        return lambda *arguments, **named: "(select 1 as one)"


def var(name: str, default: object = None) -> object:
    """Give the default, as dbt does where no project sets the variable."""
    return default


spark_cdc = Macros()
project_name = "spark_cdc"
