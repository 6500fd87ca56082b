"""Text in the database's character set to Arrow strings, whole columns at once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import (
    MOST_BYTES,
    Bools,
    Bytes,
    binary,
    contents,
    offsets_of,
    ragged,
    validity,
)

UTF8 = ("utf-8", "utf8")
# Every 7-bit character, and the characters that change the character set in some encodings.
ASCII = bytes(range(0x80)) + b"\x1b$B!!\x1b(B\x0e!!\x0f~{!!~}+AGE-"
# No byte below 0x30 is a part of a longer character in any encoding that has ASCII in its place.
SEPARATORS = range(0x30)


def check_encoding(encoding: str) -> None:
    """Raise LookupError if Python knows no character set with this name (`gb18030`, `gbk` ...)."""
    " ".encode(encoding)


@functools.cache
def keeps_ascii(encoding: str) -> bool:
    """Say whether ASCII characters have their ASCII bytes, whatever is around them."""
    try:
        return ASCII.decode(encoding) == ASCII.decode("ascii")
    except UnicodeDecodeError:
        return False


def strings(values: Any, valid: Bools, encoding: str) -> tuple[Any, Bools]:
    """Decode a binary array (m,) into a string array, and say which values (m,) are not text.

    Those values, and values that are not `valid`, are null in the result. `encoding` is a name that
    Python knows. Values that are not valid have no bytes, or are text.
    """
    if encoding.lower() in UTF8:
        decoded = _string_array(*contents(values), valid)
        try:
            decoded.validate(full=True)
        except pa.ArrowInvalid:
            return _one_by_one(values, valid, encoding)
    else:
        text = _decode(values, encoding)
        if text is None:
            return _one_by_one(values, valid, encoding)
        decoded = _string_array(*text, valid)
    return decoded, np.zeros(len(values), dtype=np.bool_)


def _string_array(offsets: Any, data: Any, valid: Bools) -> Any:
    buffers = [validity(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _decode(values: Any, encoding: str) -> tuple[Any, Bytes] | None:
    """Decode all values in one step; None if that is not possible.

    They are joined with a character that none contains, so that their ends can be found again.
    """
    offsets, data = contents(values)
    data = data[offsets[0] : offsets[-1]]
    if not keeps_ascii(encoding):
        return None
    if not len(data) or data.max() < 0x80:
        return offsets - offsets[0], data
    free = np.flatnonzero(np.bincount(data, minlength=256)[SEPARATORS.start : SEPARATORS.stop] == 0)
    if not len(free):
        return None
    separator = bytes([free[-1]])
    whole = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    try:
        text = pc.binary_join(whole, separator)[0].as_py().decode(encoding)
    except UnicodeDecodeError:
        return None
    utf8 = np.frombuffer(text.encode(), np.uint8)
    if len(utf8) > MOST_BYTES:
        raise ValueError(f"{len(utf8)} bytes in one column: decode smaller batches")
    ends = np.append(np.flatnonzero(utf8 == separator[0]), len(utf8))
    if len(ends) != len(values):
        return None
    starts = np.append(0, ends[:-1] + 1)
    return contents(ragged(utf8, starts, ends - starts))


def _one_by_one(values: Any, valid: Bools, encoding: str) -> tuple[Any, Bools]:
    """Decode value by value: the way for a batch in which something is wrong."""
    bad = np.zeros(len(values), dtype=np.bool_)
    texts: list[bytes] = []
    for index, value in enumerate(values.to_pylist()):
        try:
            texts.append(value.decode(encoding).encode() if valid[index] else b"")
        except UnicodeError:
            texts.append(b"")
            bad[index] = True
    array = pa.array(texts, pa.binary())
    offsets, data = contents(array)
    return _string_array(offsets, data, valid & ~bad), bad


def picked(characters: Bytes, keep: Bools, valid: Bools) -> Any:
    """Make a string array of the kept ASCII characters of each row; both are (m, width)."""
    keep = keep & valid[:, None]
    offsets = offsets_of(keep.sum(axis=1))
    return _string_array(offsets, characters[keep], valid)


def fixed_width(data: Bytes) -> Any:
    """Make a binary array of the rows of `data` (m, width)."""
    count, width = data.shape
    return binary(offsets_of(np.full(count, width)), np.ascontiguousarray(data))
