"""The rows of one table, from their records to Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools, Ints, windows
from spark_cdc_udfs.gbase.layout import Layout
from spark_cdc_udfs.gbase.records import SIZES_AT, Records
from spark_cdc_udfs.gbase.values import Decoded, decode_fixed, decode_variable

# Why a row cannot be read, by the codes in `Rows.reason`; 0 if it can.
ROW_REASONS = ("", "bad_var_sizes", "bad_value", "bad_text")
BAD_VAR_SIZES, BAD_VALUE, BAD_TEXT = 1, 2, 3


class Rows(NamedTuple):
    """m rows: columns by name, and the faults of bad rows."""

    columns: dict[str, Any]  # Arrow arrays (m,), null throughout for rows that cannot be read
    reason: npt.NDArray[np.int8]  # (m,), index into `ROW_REASONS`
    column: Ints  # (m,), index into `Layout.columns` of the first bad value; -1 for none
    faults: Ints  # (m,), how many values are to blame


def size_array(layout: Layout, records: Records) -> tuple[Ints, Bools]:
    """Read the size arrays of rows (n,): bytes of each variable column (m, v) of the m that fit.

    Also returns which rows fit (n,). In the right byte order the sizes and the fixed columns add up
    to the payload. In both orders they do only if a size is 64 KiB or more, which is impossible;
    then it is big-endian.
    """
    count = len(layout.variable)
    left = records.payload_size - layout.fixed_bytes
    there = records.header_size >= SIZES_AT + 4 * count
    if count == 0:
        fits = there & (left == 0)
        return np.zeros((int(fits.sum()), 0), dtype=np.int64), fits
    raw = windows(records.data, records.start[there] + SIZES_AT, 4 * count)
    big, little = raw.view(">u4").astype(np.int64), raw.view("<u4").astype(np.int64)
    fits_big, fits_little = big.sum(axis=1) == left[there], little.sum(axis=1) == left[there]
    fit = fits_big | fits_little
    fits = np.zeros(len(records), dtype=np.bool_)
    fits[there] = fit
    return np.where(fits_big[:, None], big, little)[fit], fits


def decode_rows(
    layout: Layout,
    records: Records,
    names: Iterable[str] | None = None,
    encoding: str = "utf-8",
    rtrim_char: bool = False,
) -> Rows:
    """Decode rows with the layout `layout`.

    `names` are the columns to decode, as the layout spells them; without it all readable columns
    are decoded. Types of Arrow are as in `decode_fixed` and `decode_variable`. `encoding` is the
    character set of the database, by a name that Python knows; `rtrim_char` removes the trailing
    blanks of CHAR. Only decoded columns are checked. If a row has several faults, the first in the
    order of the payload counts.
    """
    wanted = None if names is None else set(names)
    sizes, fits = size_array(layout, records)
    reason = np.where(fits, 0, BAD_VAR_SIZES).astype(np.int8)
    blamed = np.full(len(records), -1, dtype=np.int64)
    faults = np.zeros(len(records), dtype=np.int64)
    good = np.flatnonzero(fits)
    payload = (records.start + records.header_size)[good]
    columns: dict[str, Any] = {}

    def add(index: int, decoded: Decoded) -> None:
        for code, bad in ((BAD_VALUE, decoded.bad_value), (BAD_TEXT, decoded.bad_text)):
            if bad.any():
                rows = good[bad]
                faults[rows] += 1
                rows = rows[reason[rows] == 0]
                reason[rows], blamed[rows] = code, index
        columns[layout.columns[index].name] = decoded.values

    def is_wanted(index: int) -> bool:
        column = layout.columns[index]
        return column.type.is_known if wanted is None else column.name in wanted

    fixed = windows(records.data, payload, layout.fixed_bytes)
    for index, (column, offset) in enumerate(zip(layout.fixed, layout.offsets, strict=True)):
        if is_wanted(index):
            raw = fixed[:, offset : offset + (column.type.size or 0)]
            decoded = decode_fixed(column.type, raw, encoding)
            if rtrim_char and column.type.kind == "char":
                decoded = decoded._replace(values=pc.utf8_rtrim(decoded.values, " "))
            add(index, decoded)
    start = payload + layout.fixed_bytes
    for place, column in enumerate(layout.variable):
        index = len(layout.fixed) + place
        if is_wanted(index):
            add(
                index,
                decode_variable(column.type, records.data, start, sizes[:, place], encoding),
            )
        start = start + sizes[:, place]

    if (reason != 0).any():
        columns = {name: _without(values, good, reason) for name, values in columns.items()}
    return Rows(columns, reason, blamed, faults)


def value_bytes(layout: Layout, record: Records, index: int) -> bytes:
    """Give the bytes of one column of one row, `record`, whose sizes fit."""
    payload = next(record.payloads())
    if index < len(layout.fixed):
        start = layout.offsets[index]
        return payload[start : start + (layout.fixed[index].type.size or 0)]
    place = index - len(layout.fixed)
    sizes = size_array(layout, record)[0][0]
    start = layout.fixed_bytes + int(sizes[:place].sum())
    return payload[start : start + int(sizes[place])]


def _without(values: Any, good: Ints, reason: npt.NDArray[np.int8]) -> Any:
    """Spread the values of the rows `good` over all rows, with nulls for rows with a reason."""
    place = np.zeros(len(reason), dtype=np.int64)
    place[good] = np.arange(len(good))
    return values.take(pa.array(place, mask=reason != 0))
