"""Strict JSON: numbers as they are written, no name twice, nothing after the object.

RFC 8259. Python's own reader takes no half of a surrogate pair for an error, and two members of one
name for the last of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

MOST_LEVELS = 500  # of values in values

_SIGN = re.compile(r'\\.|["\[\]{}]', re.DOTALL)
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class NoJson(ValueError):
    """A text that is no JSON object, or one beyond the limits of this module."""


class Ambiguous(ValueError):
    """Several members have a name in other capitals, and none has it exactly."""


def read_object(text: str) -> dict[str, Any]:
    """Read the members of an object. A number is its text. Raises NoJson."""
    if text.count("{") + text.count("[") > MOST_LEVELS and _levels(text) > MOST_LEVELS:
        raise NoJson(f"more than {MOST_LEVELS} levels")
    try:
        found = _DECODER.decode(text)
        if _HALF.search(text):
            for one in _texts(found):
                one.encode()
    except (ValueError, RecursionError) as error:
        raise NoJson(str(error)) from None
    if not isinstance(found, dict):
        raise NoJson("no object")
    return found


def _levels(text: str) -> int:
    """Count the values in values."""
    deepest = depth = 0
    is_text = False
    for sign in _SIGN.finditer(text):
        one = sign[0]
        if one == '"':
            is_text = not is_text
        elif not is_text and one in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif not is_text and one in "]}":
            depth -= 1
    return deepest


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise NoJson("two members of one name")
    return found


def _constant(text: str) -> None:
    raise NoJson(f"{text} is no JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=_constant
)


def _texts(value: Any) -> Iterable[str]:
    """Give all texts and names in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def text_of(value: Any) -> str | None:
    """Give a text, a number or a boolean as text. Null, an object and an array have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return None


class Members:
    """The members of objects by names: exactly, else ignoring case.

    Messages have few shapes: the names in an object, in their order. So what each name finds is
    kept for a shape, within a bound.
    """

    KEPT_CHARACTERS = 2**20

    def __init__(self, *names: str) -> None:
        self._wanted = {name.lower(): name for name in names}
        self._shapes: dict[tuple[str, ...], Mapping[str, str | None]] = {}
        self._room = self.KEPT_CHARACTERS

    def of(self, found: Mapping[str, Any]) -> Mapping[str, str | None]:
        """Give the name that an object has for each wanted name; None if that is not certain."""
        shape = tuple(found)
        there = self._shapes.get(shape)
        if there is None:
            there = self._found(shape)
            self._room -= sum(map(len, shape))
            if self._room < 0:
                self._shapes, self._room = {}, self.KEPT_CHARACTERS
            else:
                self._shapes[shape] = there
        return there

    def _found(self, shape: tuple[str, ...]) -> dict[str, str | None]:
        there: dict[str, str | None] = {}
        for name in shape:
            wanted = self._wanted.get(name.lower())
            if wanted is not None and there.get(wanted) != wanted:
                there[wanted] = None if wanted in there and name != wanted else name
        return there

    def get(self, found: Mapping[str, Any], name: str) -> Any:
        """Give the value of a member, None without one. Raises Ambiguous."""
        return member(found, self.of(found), name)


def member(found: Mapping[str, Any], names: Mapping[str, str | None], name: str) -> Any:
    """Give the value of a member, by what `Members.of` says. Raises Ambiguous."""
    if name not in names:
        return None
    there = names[name]
    if there is None:
        raise Ambiguous(name)
    return found[there]
