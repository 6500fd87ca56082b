"""The values of a column, from their bytes to Arrow, whole columns at once.

"GBase 8s data types" and "DECIMAL, DATETIME and INTERVAL storage". Every integer is big-endian.
A column's bytes come as one array (m, size), or for a variable-length type as its places in the
data of the batch. What cannot be a value is null, and said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools, Bytes, Ints, Unsigned, fixed, ragged
from spark_cdc_udfs.gbase.layout import FRACTION, PLACES, Type
from spark_cdc_udfs.gbase.text import fixed_width, picked, strings

EPOCH = 25568  # 1970-01-01 in days since 1899-12-31
FIRST_DATE, LAST_DATE = -719162, 2932896  # 0001-01-01 and 9999-12-31 in days since 1970-01-01
MOST_PAIRS = 18  # pairs of digits of a fixed decimal, both sides of the point: 36 digits
LIMB_PAIRS = 9  # as many as 64 bits hold
BEFORE_FIELD = ("", "-", "-", " ", ":", ":", ".")


class Decoded(NamedTuple):
    """The m values of a column."""

    values: Any  # Arrow array; null also for a bad value
    bad_value: Bools  # (m,) impossible values
    bad_text: Bools  # (m,) text that the character set does not have


def _good(values: Any) -> Decoded:
    nothing = np.zeros(len(values), dtype=np.bool_)
    return Decoded(values, nothing, nothing)


def _checked(values: Any, bad: Bools) -> Decoded:
    return Decoded(values, bad, np.zeros(len(bad), dtype=np.bool_))


def decode_fixed(type_: Type, raw: Bytes, encoding: str) -> Decoded:
    """Decode a column of a fixed type from its bytes, `raw` (m, size).

    `encoding` is for CHAR. Gives int16, int32, int64, float, double, decimal128(38, scale), date32,
    boolean and string. DATETIME, INTERVAL and DECIMAL without scale are strings, as the reference
    writes them. BLOB and CLOB are their locators, binary.
    """
    kind = type_.kind
    if kind in INTEGERS:
        return _integer(kind, raw)
    if kind in FLOATS:
        return _float(kind, raw)
    if kind in PACKED:
        return PACKED[kind](type_, _packed(raw))
    if kind == "int8":
        return _int8(raw)
    if kind == "date":
        return _date(raw)
    if kind == "boolean":
        return _boolean(raw)
    if kind == "char":
        return _char(raw, encoding)
    if kind == "locator":
        return _good(fixed_width(raw))
    raise ValueError(f"{kind} is no fixed type that can be read")


# ---------------------------------------------------------------------------- numbers, dates, truth

INTEGERS = {
    "int16": (">i2", "<i2", pa.int16()),
    "int32": (">i4", "<i4", pa.int32()),
    "int64": (">i8", "<i8", pa.int64()),
}
FLOATS = {
    "float32": (">u4", "<u4", pa.float32()),
    "float64": (">u8", "<u8", pa.float64()),
}


def _numbers(raw: Bytes, stored: str) -> npt.NDArray[Any]:
    return np.ascontiguousarray(raw).view(stored)[:, 0]


def _integer(kind: str, raw: Bytes) -> Decoded:
    stored, native, type_ = INTEGERS[kind]
    values = _numbers(raw, stored).astype(native)
    return _good(fixed(type_, values, values != np.iinfo(values.dtype).min))


def _float(kind: str, raw: Bytes) -> Decoded:
    stored, native, type_ = FLOATS[kind]
    bits = _numbers(raw, stored).astype(native)
    return _good(fixed(type_, bits, bits != np.iinfo(bits.dtype).max))


def _int8(raw: Bytes) -> Decoded:
    sign = _numbers(raw[:, :2], ">i2").astype(np.int64)
    low = _numbers(raw[:, 2:6], ">u4").astype(np.int64)
    high = _numbers(raw[:, 6:], ">u4").astype(np.int64)
    bad = (sign < -1) | (sign > 1) | ((sign != 0) & (high >= 2**31))
    values = sign * ((high & 0x7FFFFFFF) << 32 | low)
    return _checked(fixed(pa.int64(), values, (sign != 0) & ~bad), bad)


def _date(raw: Bytes) -> Decoded:
    stored = _numbers(raw, ">i4").astype(np.int64)
    null = stored == -(2**31)
    days = stored - EPOCH
    bad = ((days < FIRST_DATE) | (days > LAST_DATE)) & ~null
    return _checked(fixed(pa.date32(), days.astype(np.int32), ~null & ~bad), bad)


def _boolean(raw: Bytes) -> Decoded:
    null, value = raw[:, 0], raw[:, 1]
    bad = (null > 1) | ((null == 0) & (value > 1))  # a null has no value to judge
    buffers = [np.packbits((null == 0) & ~bad, bitorder="little")]
    buffers.append(np.packbits(value == 1, bitorder="little"))
    values = pa.Array.from_buffers(pa.bool_(), len(raw), [pa.py_buffer(bits) for bits in buffers])
    return _checked(values, bad)


# ----------------------------------------------------------------------------------- packed numbers


class _Packed(NamedTuple):
    """Numbers of k pairs of digits: 0.d1d2d3… · 100^exponent."""

    digits: Bytes  # (k, m), 0 to 99, beginning just after the point
    exponent: npt.NDArray[np.int8]  # (m,)
    negative: Bools  # (m,); never for zero
    null: Bools  # (m,)
    bad: Bools  # (m,)


def _packed(raw: Bytes) -> _Packed:
    """Take packed numbers apart; `raw` (m, 1 + k)."""
    columns = np.array(raw.T, order="C")  # a copy, always
    head, digits = columns[0], columns[1:]
    some = (digits != 0).any(axis=0)
    null = head == 0
    bad = (null & some) | (digits > 99).any(axis=0)
    negative = (head < 0x80) & ~null & some
    exponent = np.where(head < 0x80, head ^ 0xFF, head) & 0x7F
    exponent = np.where(some, exponent, 65)  # of a zero it says nothing
    if negative.any():
        digits[:, negative] = _complement(digits[:, negative])
    return _Packed(digits, (exponent.astype(np.int16) - 64).astype(np.int8), negative, null, bad)


def _complement(stored: Bytes) -> Bytes:
    """Complement the digits (k, m) of negative numbers: 100 - d for the last one, 99 - d for the
    others.

    The last digit is the last one that is not zero; zeros after it stay.
    """
    digits = np.empty_like(stored)
    behind = np.zeros(stored.shape[1], dtype=np.bool_)
    for place in range(len(stored) - 1, -1, -1):
        here = stored[place]
        digits[place] = np.where(behind, 99 - here, np.where(here != 0, 100 - here, 0))
        behind |= here != 0
    return digits


def _aligned(number: _Packed, top: int, bottom: int) -> tuple[Bytes, Bools]:
    """Bring the digits to the places `top` to `bottom` of a common grid.

    Place 0 is the pair of digits left of the point, negative places are right of it. Returns the
    digits (top - bottom + 1, m), and which numbers (m,) have others than zeros elsewhere.
    """
    count = len(number.exponent)
    grid = np.zeros((top - bottom + 1, count), dtype=np.uint8)
    outside = np.zeros(count, dtype=np.uint8)
    present = np.bincount(number.exponent.astype(np.int64) + 64, minlength=128)
    for exponent in (np.flatnonzero(present) - 64).tolist():
        here = (number.exponent == exponent).view(np.uint8) * np.uint8(0xFF)
        for index, digits in enumerate(number.digits):
            place = exponent - 1 - index
            if bottom <= place <= top:
                grid[top - place] |= digits & here
            else:
                outside |= digits & here
    return grid, outside != 0


def _horner(pairs: Bytes) -> Ints:
    """Put at most nine pairs of digits (k, m) together."""
    total = np.zeros(pairs.shape[1], dtype=np.int64)
    for digits in pairs:
        total *= 100
        total += digits
    return total


def _decimal(type_: Type, number: _Packed) -> Decoded:
    digits, scale = type_.digits, type_.scale or 0
    right = -(-scale // 2)
    grid, outside = _aligned(number, -(-(digits - scale) // 2) - 1, -right)
    if outside.any():  # larger than declared? as far as an Arrow decimal reaches
        grid, outside = _aligned(number, MOST_PAIRS - right - 1, -right)
    bad = number.bad | outside
    low_pairs, unit = grid[-LIMB_PAIRS:], 10 ** (2 * LIMB_PAIRS)
    low = _horner(low_pairs)
    if scale % 2:
        bad |= grid[-1] % 10 != 0
        low //= 10
        unit //= 10
    words = np.empty((len(bad), 2), dtype=np.uint64)
    if len(grid) <= LIMB_PAIRS:
        signed = np.where(number.negative, -low, low)
        words[:, 0] = signed.view(np.uint64)
        words[:, 1] = (signed >> 63).view(np.uint64)
    else:
        _multiply(_horner(grid[:-LIMB_PAIRS]), unit, low, number.negative, words)
    return _checked(fixed(pa.decimal128(38, scale), words, ~number.null & ~bad), bad)


def _multiply(high: Ints, unit: int, low: Ints, negative: Bools, words: Unsigned) -> None:
    """Write high · unit + low, negated for the marked ones, into `words` (m, 2), the low word
    first.

    `high`, `unit` and `low` are below 2^63.
    """
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    top, bottom = high.astype(np.uint64) >> half, high.astype(np.uint64) & mask
    unit_top, unit_bottom = np.uint64(unit >> 32), np.uint64(unit & 0xFFFFFFFF)
    lowest, left, right = bottom * unit_bottom, bottom * unit_top, top * unit_bottom
    middle = (lowest >> half) + (left & mask) + (right & mask)
    product = (lowest & mask) | (middle << half)
    word = product + low.astype(np.uint64)
    upper = top * unit_top + (left >> half) + (right >> half) + (middle >> half)
    upper += word < product
    words[:, 0] = np.where(negative, ~word + np.uint64(1), word)
    words[:, 1] = np.where(negative, ~upper + (word == 0), upper)


def _characters(pairs: Bytes) -> Bytes:
    """Write pairs of digits (k, m) as ASCII (2·k, m)."""
    written = np.empty((2 * len(pairs), pairs.shape[1]), dtype=np.uint8)
    written[0::2] = pairs // 10
    written[1::2] = pairs - written[0::2] * 10
    written += ord("0")
    return written


def _after_first(marks: Bools) -> Bools:
    """Say which positions (m, width) are at or after the first marked one of their row."""
    return np.logical_or.accumulate(marks, axis=1)


def _floating(type_: Type, number: _Packed) -> Decoded:
    """Write a decimal without scale; each exponent gives a width of its own."""
    valid = ~number.null & ~number.bad
    parts, rows = [], []
    present = np.bincount(number.exponent.astype(np.int64) + 64, minlength=128)
    for exponent in (np.flatnonzero(present) - 64).tolist():
        which = np.flatnonzero(number.exponent == exponent)
        digits = number.digits[:, which]
        top, bottom = max(exponent, 1) - 1, min(exponent - len(digits), 0)
        grid = np.zeros((top - bottom + 1, len(which)), dtype=np.uint8)
        first = top - (exponent - 1)
        grid[first : first + len(digits)] = digits
        written = _characters(grid).T
        whole, fraction = written[:, : 2 * top + 2], written[:, 2 * top + 2 :]
        width = whole.shape[1]
        characters = np.empty((len(which), written.shape[1] + 2), dtype=np.uint8)
        keep = np.empty(characters.shape, dtype=np.bool_)
        characters[:, 0], keep[:, 0] = ord("-"), number.negative[which]
        characters[:, 1 : width + 1] = whole
        keep[:, 1 : width + 1] = _after_first(whole != ord("0"))
        keep[:, width] = True
        characters[:, width + 1], characters[:, width + 2 :] = ord("."), fraction
        keep[:, width + 2 :] = _after_first(fraction[:, ::-1] != ord("0"))[:, ::-1]
        keep[:, width + 1] = keep[:, width + 2] if fraction.shape[1] else False
        parts.append(picked(characters, keep, valid[which]))
        rows.append(which)
    if not parts:
        return _good(pa.array([], pa.string()))
    values = pa.concat_arrays(parts)
    if len(parts) > 1:
        values = values.take(pa.array(np.argsort(np.concatenate(rows), kind="stable")))
    return _checked(values, number.bad)


def _time(type_: Type, number: _Packed) -> Decoded:
    """Write a DATETIME or INTERVAL: its fields, and the characters between them."""
    first, last, fraction = type_.first, type_.last, type_.scale or 0
    left, right = -(-type_.digits // 2), -(-fraction // 2)
    top = PLACES[first] + left - 1 if first < FRACTION else -1
    bottom = -right if fraction else PLACES[last]
    grid, outside = _aligned(number, top, bottom)
    bad = number.bad | outside
    interval = type_.kind == "interval"
    if not interval:
        bad |= number.negative
    written = _characters(grid)
    if fraction % 2:
        bad |= written[-1] != ord("0")
        written = written[:-1]

    # The first field as wide as its pairs of digits, or FRACTION alone after its point. No cast
    # reads an interval that begins with the point.
    lines: list[Bytes | str] = ["-"] if interval else []
    if interval and first == FRACTION:
        lines.append("0")
    place = 0
    for field in range(first, last + 1):
        between = BEFORE_FIELD[field]
        if between and (field > first or first == FRACTION):
            lines.append(between)
        width = fraction if field == FRACTION else 2 * left if field == first else 2
        lines.extend(written[place : place + width])
        place += width
    characters = np.empty((len(lines), len(bad)), dtype=np.uint8)
    for index, line in enumerate(lines):
        characters[index] = ord(line) if isinstance(line, str) else line
    rows = np.ascontiguousarray(characters.T)
    valid = ~number.null & ~bad
    if not interval:
        rows[bad] = ord("0")
        return _checked(strings(fixed_width(rows), valid, "ascii")[0], bad)
    keep = np.ones(rows.shape, dtype=np.bool_)
    keep[:, 0] = number.negative
    if first < FRACTION:
        keep[:, 1 : 2 * left] = _after_first(rows[:, 1 : 2 * left] != ord("0"))
    return _checked(picked(rows, keep, valid), bad)


PACKED = {"decimal": _decimal, "floating": _floating, "datetime": _time, "interval": _time}


# --------------------------------------------------------------------------------------------- text


def _char(raw: Bytes, encoding: str) -> Decoded:
    null = raw[:, 0] == 0
    if null.any():
        raw = raw.copy()
        raw[null] = ord(" ")
    values, bad = strings(fixed_width(raw), ~null, encoding)
    return Decoded(values, np.zeros(len(bad), dtype=np.bool_), bad)


def decode_variable(type_: Type, data: Bytes, start: Ints, size: Ints, encoding: str) -> Decoded:
    """Decode a column of type VARCHAR or LVARCHAR, each value its `size` bytes from `start` on.

    Both are (m,) and are within `data`, after which there is at least one byte more. `encoding` is
    for the text. Gives string.
    """
    first = data[start].astype(np.int64)
    both = first << 8 | data[start + 1]
    if type_.kind == "varchar":
        # One byte of length (Informix), or two (newer GBase 8s).
        one = (size >= 1) & (first == size - 1)
        two = (size >= 2) & (both == size - 2) & ~one
        prefix = np.where(one, 1, 2)
        bad = ~one & ~two
        null = ~bad & (size - prefix == 1) & (data[start + prefix] == 0)
    else:
        flag = data[np.where(size >= 3, start + 2, start)]
        bad = (size < 3) | (both != size - 2) | (flag > 1)
        prefix = np.full(len(size), 3)
        null = ~bad & (flag == 1)
    without = bad | null
    start = np.where(without, start, start + prefix)
    length = np.where(without, 0, size - prefix)
    values, bad_text = strings(ragged(data, start, length), ~without, encoding)
    return Decoded(values, bad, bad_text)


# ------------------------------------------------------------------------------------------ as text


def as_text(values: Any) -> Any:
    """Write an Arrow array of decoded values as strings, the way a SQL cast reads them.

    Decimals with all their fraction digits and without an exponent; dates as yyyy-mm-dd; locators
    in hex.
    """
    if pa.types.is_string(values.type):
        return values
    if pa.types.is_binary(values.type):
        hexes = [None if value is None else value.hex() for value in values.to_pylist()]
        return pa.array(hexes, pa.string())
    if pa.types.is_decimal(values.type):
        return _decimal_text(values)
    return pc.cast(values, pa.string())


def unscaled(values: Any) -> Any:
    """Give the digits of an Arrow array of decimal128, without the point."""
    type_ = pa.decimal128(38, 0)
    return pa.Array.from_buffers(type_, len(values), values.buffers(), offset=values.offset)


def _decimal_text(values: Any) -> Any:
    scale = values.type.scale
    written = pc.cast(unscaled(values), pa.string())
    if scale == 0:
        return written
    sign = pc.if_else(pc.starts_with(written, "-"), "-", "")
    digits = pc.utf8_lpad(pc.utf8_ltrim(written, "-"), scale + 1, "0")
    parts = [pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)]
    return pc.binary_join_element_wise(sign, parts[0], pa.scalar("."), parts[1], "")


def differs(before: Any, after: Any) -> Bools:
    """Say where two arrays of one type differ; null equals null, NaN equals NaN."""
    null_before, null_after = before.is_null(), after.is_null()
    same = pc.equal(before, after)
    if pa.types.is_floating(before.type):
        same = pc.or_(same, pc.and_(pc.is_nan(before), pc.is_nan(after)))
    same = pc.if_else(pc.or_(null_before, null_after), pc.and_(null_before, null_after), same)
    different: Bools = pc.invert(same).to_numpy(zero_copy_only=False)
    return different
