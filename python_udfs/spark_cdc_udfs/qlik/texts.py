"""The values of a column as JSON text, whole columns at once.

Section 3, rule 14 of the format's reference says what the texts become. Each function gives a
string array (m,) without nulls; those for texts leave out the quotation marks around them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools, Bytes, Ints, binary, contents, offsets_of, ragged, windows

HEX = np.frombuffer(b"".join(b"%02X" % one for one in range(256)), np.uint16)
MOST_DECIMAL_BYTES = 1024
DAY = 86_400 * 10**6  # microseconds
FIRST_DAY, LAST_DAY = -719162, 2932896  # 0001-01-01 and 9999-12-31 in days since 1970-01-01

# Logical type: microseconds, or days, of its unit, and what the number is if it is no such time.
DATES = {"date": "days since 1970-01-01"}
TIMES = {
    "time-millis": (1000, "milliseconds since midnight"),
    "time-micros": (1, "microseconds since midnight"),
}
TIMESTAMPS = {
    "timestamp-millis": (1000, "milliseconds since 1970-01-01 00:00:00"),
    "timestamp-micros": (1, "microseconds since 1970-01-01 00:00:00"),
    "local-timestamp-millis": (1000, "milliseconds since 1970-01-01 00:00:00"),
    "local-timestamp-micros": (1, "microseconds since 1970-01-01 00:00:00"),
}


def as_strings(values: Any) -> Any:
    """Read a binary array without nulls, which must be UTF-8, as a string array."""
    return pa.Array.from_buffers(pa.string(), len(values), values.buffers(), offset=values.offset)


def texts(data: Bytes, start: Ints, length: Ints) -> tuple[Any, Bools]:
    """Read UTF-8 at some places (m,) of the data; also say which of them is none."""
    values = ragged(data, start, length)
    bad = np.zeros(len(start), dtype=np.bool_)
    try:
        as_strings(values).validate(full=True)
    except pa.ArrowInvalid:
        found = values.to_pylist()
        for place, value in enumerate(found):
            try:
                value.decode()
            except UnicodeDecodeError:
                bad[place], found[place] = True, b""
        values = pa.array(found, pa.binary())
    return as_strings(values), bad


def escaped(values: Any) -> Any:
    """Escape what cannot stand in a JSON text."""
    offsets, data = contents(values)
    data = data[offsets[0] : offsets[-1]]
    found = [0x5C] if (data == 0x5C).any() else []  # the backslash first: it escapes the others
    found += [0x22] if (data == 0x22).any() else []
    if (data < 0x20).any():
        found += np.flatnonzero(np.bincount(data, minlength=0x20)[:0x20]).tolist()
    for code in found:
        written = json.dumps(chr(code))[1:-1]
        values = pc.replace_substring(values, pattern=chr(code), replacement=written)
    return values


def quoted(values: Any) -> Any:
    """Put quotation marks around texts; a null stays null."""
    return pc.binary_join_element_wise('"', values, '"', "")


def joined(parts: Sequence[Any]) -> Any:
    """Join string arrays (m,), at least one, and texts. A null is written as the JSON null."""
    return pc.binary_join_element_wise(*parts, "", null_handling="replace", null_replacement="null")


def hexes(data: Bytes, start: Ints, length: Ints) -> Any:
    """Write the bytes at some places (m,) of the data as hex digits."""
    _, pieces = contents(ragged(data, start, length))
    return as_strings(binary(offsets_of(2 * length), HEX[pieces[: int(length.sum())]]))


def integers(values: Ints) -> Any:
    return pa.array(values).cast(pa.string())


def doubles(values: Any) -> Any:
    """Write numbers with as many digits as tell them from all other doubles.

    What is no number becomes a text: `"NaN"`, `"Infinity"`, `"-Infinity"`.
    """
    written = pa.array(values).cast(pa.string())
    if np.isfinite(values).all():
        return written
    for is_one, text in (
        (np.isnan(values), '"NaN"'),
        (values == np.inf, '"Infinity"'),
        (values == -np.inf, '"-Infinity"'),
    ):
        written = pc.if_else(pa.array(is_one), text, written)
    return written


def _times(numbers: Ints, good: Bools, type_: Any, step: int, instead: str) -> Any:
    """Write times: numbers of so many steps; those that are none in words that no cast reads."""
    steps = np.where(good, numbers, 0) * step
    if type_ == pa.date32():
        steps = steps.astype(np.int32)
    written = pa.array(steps).cast(type_).cast(pa.string())
    if not good.all():
        words = pc.binary_join_element_wise(integers(numbers), instead, " ")
        written = pc.if_else(pa.array(good), written, words)
    return written


def times(logical: str, numbers: Ints) -> Any:
    """Write dates, times and timestamps of a logical type.

    A number that is no time of a day, or no time in the years 1 to 9999, is written in words that
    no cast reads as a time or a number: `2932897 days since 1970-01-01`.
    """
    if logical in DATES:
        good = (numbers >= FIRST_DAY) & (numbers <= LAST_DAY)
        return _times(numbers, good, pa.date32(), 1, DATES[logical])
    if logical in TIMES:
        step, words = TIMES[logical]
        good = (numbers >= 0) & (numbers < DAY // step)
        return _times(numbers, good, pa.time64("us"), step, words)
    step, words = TIMESTAMPS[logical]
    good = (numbers >= FIRST_DAY * DAY // step) & (numbers < (LAST_DAY + 1) * DAY // step)
    return _times(numbers, good, pa.timestamp("us"), step, words)


def decimals(data: Bytes, start: Ints, length: Ints, scale: int) -> Any:
    """Write big-endian numbers in two's complement, with so many digits behind the point.

    At most MOST_DECIMAL_BYTES are read of each.
    """
    short = length <= 8
    at = np.where(short, start, 0)
    size = np.where(short, length, 0)
    # shifted to the left end, then back: the highest bit of the number is its sign
    high = windows(data, at, 8).view(">u8")[:, 0].astype(np.uint64).view(np.int64)
    values = np.where(size > 0, high >> np.minimum(64 - 8 * size, 63), 0)
    digits = integers(values)
    if not short.all():
        written = digits.to_pylist()
        for place in np.flatnonzero(~short).tolist():
            one = data[start[place] : start[place] + min(length[place], MOST_DECIMAL_BYTES)]
            written[place] = str(int.from_bytes(one.tobytes(), "big", signed=True))
        digits = pa.array(written, pa.string())
    return with_point(digits, scale)


def with_point(digits: Any, scale: int) -> Any:
    """Put the point into whole numbers."""
    if not scale:
        return digits
    sign = pc.if_else(pc.starts_with(digits, "-"), "-", "")
    padded = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    whole, rest = (
        pc.utf8_slice_codeunits(padded, 0, -scale),
        pc.utf8_slice_codeunits(padded, -scale),
    )
    return pc.binary_join_element_wise(sign, whole, ".", rest, "")
