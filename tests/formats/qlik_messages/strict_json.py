"""Reads JSON as the format's reference asks for: strictly, and numbers as they are written.

A member is read as a value of a column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from kit.values import FORMS_OF, BadValue, read_text

BLANKS = " \t\n\r"


class NoJson(Exception):
    """Bytes that are no JSON object, or one that no reader may guess at."""


class Number(str):
    """A JSON number: its text, digit by digit."""


def _number(text: str) -> Number:
    return Number(text)


def _object(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise NoJson("two members of one name")
    return found


def _constant(text: str) -> None:
    raise NoJson(f"{text} is no JSON")


def has_lone_surrogate(value: Any) -> bool:
    r"""Whether a text in a JSON value is none, such as "\ud800", which no UTF-8 can write."""
    if isinstance(value, dict):
        return any(map(has_lone_surrogate, value)) or any(map(has_lone_surrogate, value.values()))
    if isinstance(value, list):
        return any(map(has_lone_surrogate, value))
    return isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value)


def read_object(value: bytes) -> dict[str, Any]:
    """The members of a JSON object, with blanks around it and nothing else."""
    try:
        text = value.decode("utf-8")
        found = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_constant,
        )
    except (ValueError, RecursionError) as error:
        raise NoJson(str(error)) from None
    # what is half a surrogate pair can stand there escaped only
    if not isinstance(found, dict) or ("\\u" in text and has_lone_surrogate(found)):
        raise NoJson("no object of texts")
    return found


def text_of(value: Any) -> str | None:
    """A text, a number or a boolean as text. An object or an array has none."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str) else None


def exact(value: Any) -> Any:
    """JSON content whose numbers are equal in any form."""
    if isinstance(value, dict):
        return {name: exact(one) for name, one in value.items()}
    if isinstance(value, list):
        return [exact(one) for one in value]
    return Decimal(value) if isinstance(value, Number) else value


def read_value(sql_type: str, value: Any) -> Any:
    """A JSON value as a value of a type (rule 14). An object or an array is bad."""
    if value is None:
        return None
    text = text_of(value)
    if text is None:
        raise BadValue
    return read_text(sql_type, text, FORMS_OF["qlik_messages"])


def unless_bad(sql_type: str, value: Any) -> Any:
    """The same, and None for an empty text and for a bad value."""
    try:
        return None if value in (None, "") else read_value(sql_type, value)
    except BadValue:
        return None
