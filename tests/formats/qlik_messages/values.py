"""Values of messages: from JSON to the type of a column, and as the vectors write them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

from formats.qlik_messages.strict_json import text_of

BLANKS = "".join(map(chr, (*range(33), 127)))  # what a cast of Spark passes over

TIME = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
    r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?(Z|UTC| ?[+-]\d{1,2}(?::?\d{2})?)?)?",
    re.ASCII,
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
NO_NUMBERS = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
BOOLEANS = dict.fromkeys(("t", "true", "y", "yes"), True) | dict.fromkeys(
    ("f", "false", "n", "no"), False
)


class BadValue(Exception):
    """A value that is none of its type."""


def time_of(text: str) -> tuple[datetime, bool]:
    """A date and time: its wall clock (in UTC, if it names a zone), and whether it does."""
    found = TIME.fullmatch(text.strip(BLANKS))
    if not found:
        raise BadValue(text)
    *parts, fraction, zone = found.groups()
    year, month, day, hour, minute, second = (None if part is None else int(part) for part in parts)
    micros = int(f"{fraction or ''}000000"[:6])  # digits beyond microseconds are cut
    try:
        at = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, micros)
        if zone is not None and zone not in ("Z", "UTC"):
            hours, minutes = re.findall(r"\d\d?", zone.strip(" +-"))[:2] + ["0"][: len(zone) < 4]
            at -= (-1 if "-" in zone else 1) * timedelta(hours=int(hours), minutes=int(minutes))
    except (ValueError, OverflowError):
        raise BadValue(text) from None
    return at, zone is not None


def number_of(text: str) -> Decimal:
    """A number, exactly."""
    text = text.strip(BLANKS)
    if not NUMBER.fullmatch(text):
        raise BadValue(text)
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent that no number has
        raise BadValue(text) from None


def fitting(number: Decimal, precision: int, scale: int) -> Decimal:
    """A number with as many places as its type has; it must not lose a digit."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if not number:
        return Decimal((0, (0,), -scale))
    if number.adjusted() >= precision - scale:
        raise BadValue(str(number))
    written = "".join(map(str, digits)).rstrip("0")
    last = exponent + len(digits) - len(written)  # the place of the last digit that is not 0
    if last < -scale:
        raise BadValue(str(number))
    whole = written + "0" * (last + scale)
    return Decimal((sign, tuple(map(int, whole)), -scale))


def integer(text: str, bits: int) -> int:
    whole = int(fitting(number_of(text), 60, 0))
    if not -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1):
        raise BadValue(text)
    return whole


def floating(text: str, is_single: bool) -> float:
    """The nearest value; a number that is beyond all of them is none."""
    text = text.strip(BLANKS)
    if NO_NUMBERS.fullmatch(text):
        return float(text)
    if not NUMBER.fullmatch(text):
        raise BadValue(text)
    number = float(text)
    try:
        number = struct.unpack("f", struct.pack("f", number))[0] if is_single else number
    except OverflowError:
        raise BadValue(text) from None
    if number in (float("inf"), float("-inf")):
        raise BadValue(text)
    return number


def read_text(sql_type: str, text: str) -> Any:
    """A text, or a number or boolean as text, as a value of a type (rule 14)."""
    if sql_type == "string":
        return text
    if sql_type == "binary":
        if not re.fullmatch(r"([0-9a-fA-F]{2})*", text):
            raise BadValue(text)
        return bytes.fromhex(text)
    if sql_type in INTEGERS:
        return integer(text, INTEGERS[sql_type])
    if sql_type.startswith("decimal("):
        precision, scale = map(int, sql_type[len("decimal(") : -1].split(","))
        return fitting(number_of(text), precision, scale)
    if sql_type == "boolean":
        word = text.strip(BLANKS).lower()
        if word in BOOLEANS:
            return BOOLEANS[word]
        number = integer(text, 64)
        if number not in (0, 1):
            raise BadValue(text)
        return bool(number)
    if sql_type in ("float", "double"):
        return floating(text, sql_type == "float")
    at, has_zone = time_of(text)
    if sql_type == "date":
        if at != datetime(at.year, at.month, at.day):
            raise BadValue(text)
        return at.date()
    if sql_type == "timestamp_ntz":
        if has_zone:
            raise BadValue(text)
        return at
    assert sql_type == "timestamp", sql_type
    return at.replace(tzinfo=timezone.utc)


def read_value(sql_type: str, value: Any) -> Any:
    """A JSON value as a value of a type. An object or an array is none of any."""
    if value is None:
        return None
    text = text_of(value)
    if text is None:
        raise BadValue(value)
    return read_text(sql_type, text)


def unless_bad(sql_type: str, value: Any) -> Any:
    """The same, and None for an empty text and for what is none of its type."""
    try:
        return None if value in (None, "") else read_value(sql_type, value)
    except BadValue:
        return None


def as_text(value: Any) -> str | None:
    """A value as the vectors write it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%f") + ("Z" if value.tzinfo else "")
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def texts_of(values: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: as_text(value) for name, value in values.items()}
