"""Values of columns: a text as a Spark SQL type, and a value as text.

The references of the formats read values here. Nothing of the package is used, so the two check
each other. :data:`FORMS_OF` says which texts each format reads.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

BLANKS = "".join(map(chr, (*range(33), 127)))  # characters that a cast of Spark ignores

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

DIGITS = re.compile(r"[+-]?\d+", re.ASCII)
BIT = re.compile(r"[01]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
NO_NUMBER = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
HEX = re.compile(r"([0-9a-fA-F]{2})*")
BASE64 = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")

DAY = r"(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?"
OFFSET = r" ?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?"
# two digits of three are hours; two digits alone have no blank before the sign
OTHER_OFFSET = (
    r"(?! .\d\d\Z) ?(?P<sign>[+-])(?P<hours>\d{1,2})"
    r"(?::?(?P<minutes>(?<=:)\d\d|(?<=\d\d)\d{1,2}))?"
)


def cast_time(year: str, offset: str = OFFSET) -> re.Pattern[str]:
    """A date, or a date and time, as Spark casts it."""
    zone = rf"(?P<zone>Z|UTC|{offset})?"
    return re.compile(rf"(?P<year>{year}){DAY}(?:[ T]{CLOCK}{zone})?", re.ASCII)


DB2_TIME = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"
    r"-(?P<hour>[01]\d|2[0-3])\.(?P<minute>\d{2})\.(?P<second>\d{2})(?:\.(?P<fraction>\d{1,12}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Forms:
    """The texts that a format reads, where formats differ.

    ``times``: dates and times. ``has_zoned_dates``: a date may be midnight in a zone. ``integers``,
    ``booleans``: their numbers. ``has_infinity``: a float may be NaN or infinity in words, and then
    no number is so large that it is infinity. ``is_base64``: binary is base64, else hexadecimal.
    Rules of the formats ask for base64, for Db2's times, and for numbers as integers; other
    differences grew.
    """

    times: Sequence[re.Pattern[str]]
    has_zoned_dates: bool = False
    integers: re.Pattern[str] = DIGITS
    booleans: re.Pattern[str] = BIT
    has_infinity: bool = False
    is_base64: bool = False


FORMS_OF = {
    "db2_capture_table": Forms([cast_time(r"\d{4}")]),
    "db2_log_table": Forms([cast_time(r"\d{4,6}")], integers=NUMBER),
    "netiq_event_log": Forms([DB2_TIME, cast_time(r"\d{4,6}")], is_base64=True),
    "qlik_messages": Forms(
        [cast_time(r"\d{4}", OTHER_OFFSET)],
        has_zoned_dates=True,
        integers=NUMBER,
        booleans=NUMBER,
        has_infinity=True,
    ),
}


# --------------------------------------------------------------------------------------------- read


def read_text(sql_type: str, text: str, forms: Forms) -> Any:
    """A text as a value of a type. Raises :class:`BadValue`."""
    if sql_type == "string":
        return text
    if sql_type == "binary":
        return bytes_of(text, forms)
    text = text.strip(BLANKS)
    if sql_type == "boolean":
        return truth_of(text, forms)
    if sql_type in ("float", "double"):
        return float_of(sql_type, text, forms)
    if sql_type in INTEGERS and not forms.integers.fullmatch(text):
        raise BadValue
    if sql_type in INTEGERS or sql_type.startswith("decimal("):
        return read_typed(sql_type, number_of(text))
    at, has_zone = time_of(text, forms.times)
    if sql_type == "timestamp":
        return at.replace(tzinfo=timezone.utc)
    assert sql_type in ("date", "timestamp_ntz"), sql_type
    if has_zone and not (sql_type == "date" and forms.has_zoned_dates):
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
    if forms.is_base64:
        text = re.sub(r"\s", "", text)
    if not (BASE64 if forms.is_base64 else HEX).fullmatch(text):
        raise BadValue
    return base64.b64decode(text) if forms.is_base64 else bytes.fromhex(text)


def truth_of(text: str, forms: Forms) -> bool:
    if text.lower() in BOOLEANS:
        return BOOLEANS[text.lower()]
    if not forms.booleans.fullmatch(text) or (number := number_of(text)) not in (0, 1):
        raise BadValue
    return bool(number)


def float_of(sql_type: str, text: str, forms: Forms) -> float:
    """The nearest value."""
    if forms.has_infinity and NO_NUMBER.fullmatch(text):
        return float(text)
    if not NUMBER.fullmatch(text):
        raise BadValue
    number: float = read_typed(sql_type, float(text))
    if forms.has_infinity and math.isinf(number):
        raise BadValue
    return number


def number_of(text: str) -> Decimal:
    """A number of decimal digits, exactly."""
    if not NUMBER.fullmatch(text):
        raise BadValue
    try:
        return Decimal(text)
    except InvalidOperation:  # its exponent is too large
        raise BadValue from None


def whole_number(value: Any) -> int:
    """A number, or a text of one, that is an integer of at most 60 digits."""
    return int(fitting(number_of(str(value).strip(BLANKS)), 60, 0))


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


def time_of(text: str, times: Iterable[re.Pattern[str]]) -> tuple[datetime, bool]:
    """The wall clock of a date and time, in UTC if it names a zone; and whether it does."""
    text = text.strip(BLANKS)
    found = next((match for one in times if (match := one.fullmatch(text))), None)
    if found is None:
        raise BadValue
    part = found.groupdict()
    names = ("year", "month", "day", "hour", "minute", "second")
    year, month, day, hour, minute, second = (int(part[name] or 0) for name in names)
    micros = int(f"{part['fraction'] or ''}000000"[:6])  # digits after microseconds are cut
    try:
        at = datetime(year, month or 1, day or 1, hour, minute, second, micros)
        if sign := part.get("sign"):
            minutes = int(part["hours"]) * 60 + int(part["minutes"] or 0)
            at -= timedelta(minutes=-minutes if sign == "-" else minutes)
    except (ValueError, OverflowError):
        raise BadValue from None
    return at, part.get("zone") is not None


def clock_of(value: datetime | str, forms: Forms) -> datetime:
    """The wall clock of a commit as it landed, in UTC if it has a zone. Db2 also writes its own."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value
    return time_of(value, (DB2_TIME, *forms.times))[0]


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
