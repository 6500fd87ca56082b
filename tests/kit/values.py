"""Values of columns: a text as a Spark SQL type, and a value as text.

The references of the formats read values here. Nothing of the package is used, so the two check
each other. :data:`FORMS_OF` says which texts each format reads.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
BOOLEANS = dict.fromkeys(("t", "true", "y", "yes"), True)
BOOLEANS |= dict.fromkeys(("f", "false", "n", "no"), False)


class Malformed(Exception):
    """A row or value that belongs in quarantine; the argument is the reason."""


class BadValue(Malformed):
    """A value that is not exactly of its type: a cast fails, or changes it."""

    def __init__(self) -> None:
        super().__init__("bad_value")


# -------------------------------------------------------------------------------------------- forms

# at most 900 digits, one of which may be a point
DIGITS = re.compile(r"[+-]?[\d.]{1,900}(e[+-]?\d{1,4})?", re.ASCII | re.IGNORECASE)
NUMBER = re.compile(r"[+-]?(?=\.?\d)\d*(\.\d*)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
NO_NUMBER = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
BIT = re.compile(r"([01])(\.0{0,400})?")
HEX = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})*)")
QUOTED_HEX = re.compile(r"[xX]'((?:[0-9a-fA-F]{2})*)'")

DAY = r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
FRACTION = r"(?:\.(?P<fraction>\d{1,12}))?"
ZONE = r"(?: ?(?P<zone>Z|UTC|(?P<sign>[+-])(?P<hours>\d\d)(?::?(?P<minutes>\d\d))?))?"
# a clock to the hour or the minute has no zone
SHORT = re.compile(rf"{DAY}(?:[ T](?P<hour>\d\d)(?::(?P<minute>\d\d))?)?", re.ASCII)
WHOLE = re.compile(
    rf"{DAY}[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d){FRACTION}{ZONE}", re.ASCII
)
DOTS = re.compile(
    rf"{DAY}-(?P<hour>\d\d)\.(?P<minute>\d\d)\.(?P<second>\d\d){FRACTION}{ZONE}", re.ASCII
)


@dataclass(frozen=True)
class Forms:
    """The texts that a format reads beyond those of all formats.

    ``has_dots``: times with dots, as Db2 writes them. ``has_midnight``: the hour 24 is the end of a
    day. ``is_base64``: binary is base64, else hexadecimal. ``refused``: what it does not read, by
    the kind of the type.
    """

    has_dots: bool = False
    has_midnight: bool = False
    is_base64: bool = False
    refused: Mapping[str, re.Pattern[str]] = field(default_factory=dict)


# The vectors say so of captured columns.
CAPTURED = {
    "integer": re.compile(r".*[.eE].*"),
    "boolean": re.compile(r".*\..*"),
    "binary": re.compile(r"0[xX].*|.*'.*"),
    "timestamp": re.compile(r" *\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d *"),
}
BASE = Forms(has_dots=True, has_midnight=True)
FORMS_OF = {
    "qlik_change_table": Forms(),
    "qlik_messages": Forms(),
    "gbase_capture": Forms(),
    "netiq_event_log": Forms(has_dots=True, is_base64=True),
    "db2_capture_table": Forms(has_dots=True, has_midnight=True, refused=CAPTURED),
    "db2_log_table": BASE,
}


# --------------------------------------------------------------------------------------------- read


def read_text(sql_type: str, text: str, forms: Forms) -> Any:
    """A text as a value of a type. Raises :class:`BadValue`."""
    kind = "integer" if sql_type in INTEGERS else sql_type
    if kind in forms.refused and forms.refused[kind].fullmatch(text):
        raise BadValue
    if sql_type == "string":
        return text
    if sql_type == "binary":
        return bytes_of(text, forms)
    text = text.strip(" ")  # CHAR is padded
    if sql_type == "boolean":
        return truth_of(text)
    if sql_type in ("float", "double"):
        return float_of(sql_type, text)
    if sql_type in INTEGERS or sql_type.startswith("decimal("):
        return read_typed(sql_type, number_of(text))
    at, has_zone = time_of(text, forms)
    if sql_type == "timestamp":
        return at.replace(tzinfo=timezone.utc)
    assert sql_type in ("date", "timestamp_ntz"), sql_type
    if has_zone and not (sql_type == "date" and re.search(r"\d(Z|\+00:?00)$", text)):
        raise BadValue
    if sql_type == "date" and at != datetime(at.year, at.month, at.day):
        raise BadValue
    return at.date() if sql_type == "date" else at


def read_typed(sql_type: str, value: Any) -> Any:
    """A value that is not text as a value of a type. Only numbers are checked and converted."""
    if sql_type in INTEGERS:
        whole, limit = int(fitting(Decimal(value), 60, 0)), 2 ** (INTEGERS[sql_type] - 1)
        if not -limit <= whole < limit:
            raise BadValue
        return whole
    if sql_type.startswith("decimal("):
        precision, scale = map(int, sql_type[len("decimal(") : -1].split(","))
        return fitting(Decimal(value), precision, scale)
    if sql_type == "float":
        return struct.unpack("f", struct.pack("f", value))[0]
    return value


def bytes_of(text: str, forms: Forms) -> bytes:
    """The bytes of hexadecimal digits, or of base64 with white space anywhere in it."""
    if not forms.is_base64:
        found = HEX.fullmatch(text) or QUOTED_HEX.fullmatch(text)
        if not found:
            raise BadValue
        return bytes.fromhex(found[1])
    text = re.sub(r"[ \t\r\n\f]", "", text)
    try:
        value = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        raise BadValue from None
    if base64.b64encode(value).decode() != text:  # an encoder writes no bits after the end
        raise BadValue
    return value


def truth_of(text: str) -> bool:
    if text.lower() in BOOLEANS:
        return BOOLEANS[text.lower()]
    if not (found := BIT.fullmatch(text)):
        raise BadValue
    return found[1] == "1"


def float_of(sql_type: str, text: str) -> float:
    """The nearest value. A number that would be infinite, or 0 though it is not, has none."""
    if NO_NUMBER.fullmatch(text):
        return float(text)
    if not NUMBER.fullmatch(text):
        raise BadValue
    try:
        number: float = read_typed(sql_type, float(text))
    except OverflowError:
        raise BadValue from None
    is_zero = not re.search("[1-9]", text.lower().partition("e")[0])
    if math.isinf(number) or (number == 0) != is_zero:
        raise BadValue
    return number


def number_of(text: str) -> Decimal:
    """A number of decimal digits, exactly."""
    if not DIGITS.fullmatch(text) or not NUMBER.fullmatch(text):
        raise BadValue
    return Decimal(text)


def whole_number(value: Any) -> int:
    """A number, or a text of one, that is an integer of at most 60 digits."""
    return int(fitting(number_of(str(value).strip(" ")), 60, 0))


def fitting(number: Decimal, precision: int, scale: int) -> Decimal:
    """A number with the decimal places of its type; it must not lose a digit."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if not number:
        return Decimal((0, (0,), -scale))
    written = "".join(map(str, digits)).rstrip("0")
    last = exponent + len(digits) - len(written)  # the place of the last digit that is not 0
    if last < -scale or number.adjusted() >= precision - scale:
        raise BadValue
    return Decimal((sign, tuple(map(int, written + "0" * (last + scale))), -scale))


def time_of(text: str, forms: Forms) -> tuple[datetime, bool]:
    """The wall clock of a date and time, in UTC if it names a zone; and whether it does."""
    text = text.strip(" ")
    found = SHORT.fullmatch(text) or WHOLE.fullmatch(text)
    if found is None and forms.has_dots:
        found = DOTS.fullmatch(text)
    if found is None:
        raise BadValue
    part = found.groupdict()
    names = ("year", "month", "day", "hour", "minute", "second")
    year, month, day, hour, minute, second = (int(part.get(name) or 0) for name in names)
    micros = int(f"{part.get('fraction') or ''}000000"[:6])  # digits after microseconds are cut
    zone, later = part.get("zone"), timedelta()
    is_midnight = hour == 24 and "second" in part and not minute and not second
    if is_midnight and forms.has_midnight and not int(part["fraction"] or 0) and not zone:
        hour, later = 0, timedelta(days=1)
    try:
        at = datetime(year, month, day, hour, minute, second, micros) + later
        if sign := part.get("sign"):
            hours, minutes = int(part["hours"]), int(part["minutes"] or 0)
            if hours * 60 + minutes > 18 * 60 or minutes > 59:
                raise BadValue
            shift = timedelta(hours=hours, minutes=minutes)
            at += shift if sign == "-" else -shift
    except (ValueError, OverflowError):
        raise BadValue from None
    return at, zone is not None


def clock_of(value: datetime | str, forms: Forms) -> datetime:
    """The wall clock of a commit as it landed, in UTC if it has a zone."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value
    return time_of(value, forms)[0]


# -------------------------------------------------------------------------------------------- write


def rank(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The order of structs in Spark: NULL is least."""
    return tuple((0,) if value is None else (1, value) for value in row.values())


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


def key_text(key: Iterable[Any]) -> str:
    """The values of a key as one text, which the sequences of Db2's tables have a hash of."""
    return "\x1f".join(
        f"{it.year:04d}{it:-%m-%d %H:%M:%S.%f}" if isinstance(it, datetime) else str(as_text(it))
        for it in key
    )


def texts_of(row: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, str | None]:
    """The values of a row, or of some of its columns, as the vectors write them."""
    return {name: as_text(row[name]) for name in (row if names is None else names)}
