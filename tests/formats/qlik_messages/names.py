"""Members by name: exactly, else ignoring case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Ambiguous(Exception):
    """Several names match ignoring case, and none exactly."""


def match(name: str, names: Iterable[str]) -> str | None:
    """The one of the names that is meant."""
    same = [one for one in names if one.lower() == name.lower()]
    if name in same:
        return name
    if len(same) > 1:
        raise Ambiguous(name)
    return same[0] if same else None


def member(record: Mapping[str, Any], name: str) -> Any:
    """The value of a member; None if there is none, too."""
    found = match(name, record)
    return None if found is None else record[found]


def has(record: Mapping[str, Any], *names: str) -> bool:
    return any(match(name, record) is not None for name in names)
