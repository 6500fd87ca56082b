"""The layout of a table's rows in their payload, from a TABSCHEM record.

"Change Data Capture API Programmer's Guide" (Informix, OneDB), CDC_REC_TABSCHEM; sizes and forms of
types from "GBase 8s data types" and "DECIMAL, DATETIME and INTERVAL storage".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

BAD_SCHEMA = "bad_schema"
UNSUPPORTED_TYPE = "unsupported_type"

# Kind of value -> its names in a column list, for types whose arguments do not matter.
SIMPLE = {
    "int16": ("smallint",),
    "int32": ("integer", "int", "serial"),
    "int64": ("bigint", "bigserial"),
    "int8": ("int8", "serial8"),
    "float32": ("smallfloat", "real"),
    "float64": ("float", "double precision"),
    "date": ("date",),
    "boolean": ("boolean",),
    "locator": ("blob", "clob"),
    "lvarchar": ("lvarchar",),
}
CHAR = ("char", "character", "nchar")
VARCHAR = ("varchar", "nvarchar", "character varying")
DECIMAL = ("decimal", "dec", "numeric")
MONEY = ("money",)

SIZES = {
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "int8": 10,
    "float32": 4,
    "float64": 8,
    "date": 4,
    "boolean": 2,
    "locator": 76,
}
KINDS = {name: kind for kind, names in SIMPLE.items() for name in names}
VARIABLE = ("varchar", "lvarchar")

FIELDS = ("year", "month", "day", "hour", "minute", "second", "fraction")
FRACTION = FIELDS.index("fraction")
# A packed time is a number whose integer part ends at SECOND. For each field: the position of its
# last two digits, counted in pairs of digits to the left of the point.
PLACES = (5, 4, 3, 2, 1, 0)
MOST_DIGITS = 32
MOST_COLUMNS = 32767

_TYPE = re.compile(r"([a-z][a-z0-9_ ]*?)\s*(?:\(\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\))?")
# A name, delimited or not, and a type.
_COLUMN = re.compile(r'("(?:[^"]|"")*"|[^"\s]\S*)\s+(.+)', re.DOTALL)
_FIELD = rf"({'|'.join(FIELDS)})\s*(?:\(\s*(\d)\s*\))?"
_TIME = re.compile(rf"(datetime|interval)\s+{_FIELD}\s+to\s+{_FIELD}")


class SchemaError(Exception):
    """A TABSCHEM by which no row can be read: the reason's code, and the fault."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class Type:
    """How one type is stored.

    `size` is in bytes; None for a variable-length type, and for an unknown one (`kind` unknown).
    For a decimal there are `digits` and `scale` (`scale` None: floating). For a DATETIME or
    INTERVAL `first` and `last` are fields (indices into `FIELDS`). Then `digits` is for the first
    field, and `scale` for FRACTION.
    """

    kind: str
    size: int | None = None
    digits: int = 0
    scale: int | None = None
    first: int = 0
    last: int = 0

    @property
    def is_known(self) -> bool:
        """Whether its values can be read; the values of BLOB and CLOB are not in the row."""
        return self.kind not in ("unknown", "locator")


UNKNOWN = Type("unknown")


@dataclass(frozen=True)
class Column:
    """A column: its name and type as the server spells them, and how its values are stored."""

    name: str
    text: str
    type: Type


@dataclass(frozen=True)
class Layout:
    """How the payload of a row is cut: `fixed` columns one after the other, then `variable` ones.

    `fixed_bytes` is the sum of the sizes of the fixed columns.
    """

    fixed: tuple[Column, ...]
    variable: tuple[Column, ...]
    fixed_bytes: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, in the order of the payload."""
        return self.fixed + self.variable

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The beginning of each fixed column in the payload; an unknown one has the rest."""
        known = sum(column.type.size or 0 for column in self.fixed)
        offsets, offset = [], 0
        for column in self.fixed:
            offsets.append(offset)
            size = column.type.size
            offset += self.fixed_bytes - known if size is None else size
        return tuple(offsets)


def parse_type(text: str) -> Type:
    """Return how a type in the form of CREATE TABLE is stored; `UNKNOWN` if not known."""
    text = " ".join(text.lower().split())
    if match := _TIME.fullmatch(text):
        return _time(*match.groups())
    match = _TYPE.fullmatch(text)
    if match is None:
        return UNKNOWN
    name, *arguments = match.groups()
    first, second = (None if argument is None else int(argument) for argument in arguments)
    if name in KINDS and second is None:
        return Type(KINDS[name], SIZES.get(KINDS[name]))
    if name in CHAR and second is None and first != 0:
        return Type("char", first or 1)
    if name in VARCHAR:
        return Type("varchar")
    if name in DECIMAL:
        return _decimal(16 if first is None else first, second)
    if name in MONEY:
        return _decimal(16 if first is None else first, 2 if second is None else second)
    return UNKNOWN


def _decimal(digits: int, scale: int | None) -> Type:
    if not 1 <= digits <= MOST_DIGITS or (scale or 0) > digits:
        return UNKNOWN
    if scale is None:
        return Type("floating", (digits + 4) // 2, digits)
    return Type("decimal", -(-(digits - scale) // 2) + -(-scale // 2) + 1, digits, scale)


def _time(
    kind: str, first: str, first_digits: str | None, last: str, last_digits: str | None
) -> Type:
    begin, end = FIELDS.index(first), FIELDS.index(last)
    fraction = 0
    if last == "fraction":
        fraction = int(last_digits or 3)
    elif last_digits is not None:
        return UNKNOWN
    if begin > end or fraction > 5 or (last == "fraction" and not fraction):
        return UNKNOWN
    if kind == "datetime" and first_digits is not None:
        return UNKNOWN
    if kind == "interval" and begin <= 1 < end:  # months have no fixed number of days
        return UNKNOWN
    digits = 4 if first == "year" else 2
    if first == "fraction":
        digits = 0
    elif kind == "interval" and first_digits is not None:
        digits = int(first_digits)
    width = digits + 2 * (min(end, FRACTION - 1) - begin) if begin < FRACTION else 0
    if begin < FRACTION and digits == 0:
        return UNKNOWN
    return Type(kind, -(-width // 2) + -(-fraction // 2) + 1, digits, fraction, begin, end)


def split_columns(text: str) -> list[str]:
    """Cut a column list at the commas that are in no parentheses and in no delimited name."""
    parts, depth, begin, is_delimited = [], 0, 0, False
    for place, character in enumerate(text):
        is_delimited ^= character == '"'
        depth += (character == "(" and not is_delimited) - (character == ")" and not is_delimited)
        if character == "," and depth == 0 and not is_delimited:
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]


def parse_layout(
    payload: bytes,
    fixed_bytes: int,
    fixed_columns: int,
    variable_columns: int,
    encoding: str = "utf-8",
) -> Layout:
    """Read a TABSCHEM: its payload (the column list) and the three numbers of its header.

    Raises SchemaError: `bad_schema` if counts or sizes do not add up, `unsupported_type` if the
    sizes of more than one fixed column are unknown. A single unknown column has the size that the
    others leave of `fixed_bytes`. It cannot be read, and neither can BLOB, CLOB and variable
    columns of unknown types. All other columns can.
    """
    if payload.count(b",") > 2 * MOST_COLUMNS:  # one between columns, at most one in each
        raise SchemaError(BAD_SCHEMA, f"more than {MOST_COLUMNS} columns")
    try:
        text = payload.rstrip(b"\0").decode(encoding)
    except UnicodeDecodeError:
        raise SchemaError(BAD_SCHEMA, f"the column list is not in {encoding}") from None
    columns = [_column(entry) for entry in split_columns(text)]
    if min(fixed_columns, variable_columns) < 0 or len(columns) != fixed_columns + variable_columns:
        raise SchemaError(
            BAD_SCHEMA,
            f"{fixed_columns} fixed and {variable_columns} variable columns announced,"
            f" {len(columns)} listed",
        )
    if twice := _twice(column.name.casefold() for column in columns):
        raise SchemaError(BAD_SCHEMA, f"two columns {twice}")
    fixed, variable = tuple(columns[:fixed_columns]), tuple(columns[fixed_columns:])
    for column in fixed:
        if column.type.kind in VARIABLE:
            raise SchemaError(BAD_SCHEMA, f"{column.name} {column.text} is no fixed column")
    for column in variable:
        if column.type.size is not None and column.type.kind != "locator":
            raise SchemaError(BAD_SCHEMA, f"{column.name} {column.text} is no variable column")
    unknown = [column for column in fixed if column.type.size is None]
    if len(unknown) > 1:
        names = ", ".join(f"{column.name} {column.text}" for column in unknown)
        raise SchemaError(UNSUPPORTED_TYPE, f"sizes not known: {names}")
    left = fixed_bytes - sum(column.type.size or 0 for column in fixed)
    if left < 0 or (left > 0) != bool(unknown):
        raise SchemaError(BAD_SCHEMA, f"{fixed_bytes} bytes announced, {left} more than listed")
    return Layout(fixed, variable, fixed_bytes)


def _column(entry: str) -> Column:
    match = _COLUMN.fullmatch(entry.strip())
    if match is None:
        raise SchemaError(BAD_SCHEMA, f"no type in {entry.strip()!r}")
    name, text = match.groups()
    if name.startswith('"'):
        name = name[1:-1].replace('""', '"')
    return Column(name, text, parse_type(text))


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
