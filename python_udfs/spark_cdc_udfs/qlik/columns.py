"""The values of many messages as JSON text, field by field.

All messages have one schema. Each function reads one value of each of the m messages of a cursor;
a union reads the messages of each branch together. Arrays, maps and records that can be a part of
themselves are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Ints, windows
from spark_cdc_udfs.qlik import texts
from spark_cdc_udfs.qlik.cursor import Cursor
from spark_cdc_udfs.qlik.single import BadAvro, Reader
from spark_cdc_udfs.qlik.types import Array, Enum, Fixed, Map, Primitive, Record, Type, Union


class Column(NamedTuple):
    """The JSON text of m values: a string array (m,), or one text that all of them have.

    Or a list of these that follow each other, the first and the last a text: they are joined late,
    and copied once. A null in an array is the JSON null. `is_text`: quotation marks are still to be
    put around each value of an array, null aside.
    """

    values: Any
    is_text: bool = False

    def written(self, count: int) -> Any:
        """Give an array (count,) in which everything is JSON, null aside."""
        if isinstance(self.values, str):
            return pa.repeat(self.values, count)
        if isinstance(self.values, list):
            return texts.joined(self.values)
        return texts.quoted(self.values) if self.is_text else self.values


NULL = Column("null")


def read(type_: Type, cursor: Cursor, path: str) -> Column:
    """Read the next value of each message. `path` names it in errors.

    Messages whose bytes do not fit fail; their text means nothing.
    """
    if isinstance(type_, Primitive):
        return PRIMITIVES[type_.kind](type_, cursor, path)
    if isinstance(type_, Union):
        return _union(type_, cursor, path)
    if isinstance(type_, Record) and not type_.recursive:
        return _record(type_, cursor, path)
    if isinstance(type_, Enum):
        return _enum(type_, cursor, path)
    if isinstance(type_, Fixed):
        start = cursor.skip(type_.size, path)
        return _bytes(type_, cursor, start, np.minimum(cursor.end - start, type_.size), path)
    return _one_by_one(type_, cursor, path)


# --------------------------------------------------------------------------------------- types


def _null(_: Primitive, cursor: Cursor, path: str) -> Column:
    return NULL


def _boolean(_: Primitive, cursor: Cursor, path: str) -> Column:
    start = cursor.skip(1, path)
    byte = cursor.data[start]
    cursor.fail(byte > 1, path, "a boolean that is neither 0 nor 1")
    return Column(pa.array(["false", "true"]).take(pa.array(byte & 1)))


def _number(type_: Primitive, cursor: Cursor, path: str) -> Column:
    numbers = cursor.number(path)
    if type_.kind == "int":
        beyond = numbers.astype(np.int32) != numbers
        if beyond.any():
            cursor.fail(beyond, path, "more than the 32 bits of an int")
            numbers = np.where(beyond, 0, numbers)
    if type_.logical:
        return Column(texts.times(type_.logical, numbers), is_text=True)
    return Column(texts.integers(numbers))


def _float(type_: Primitive, cursor: Cursor, path: str) -> Column:
    size, stored = (4, "<f4") if type_.kind == "float" else (8, "<f8")
    values = windows(cursor.data, cursor.skip(size, path), size).view(stored)[:, 0]
    with np.errstate(invalid="ignore"):  # some of what is no number is said to be invalid
        return Column(texts.doubles(values.astype(np.float64)))


def _string(_: Primitive, cursor: Cursor, path: str) -> Column:
    values, bad = texts.texts(cursor.data, *cursor.piece(path))
    cursor.fail(bad, path, "not UTF-8")
    return Column(texts.escaped(values), is_text=True)


def _of_bytes(type_: Primitive, cursor: Cursor, path: str) -> Column:
    return _bytes(type_, cursor, *cursor.piece(path), path)


def _bytes(
    type_: Primitive | Fixed, cursor: Cursor, start: Ints, length: Ints, path: str
) -> Column:
    if type_.logical != "decimal":
        return Column(texts.hexes(cursor.data, start, length), is_text=True)
    long = length > texts.MOST_DECIMAL_BYTES
    cursor.fail(long, path, f"a decimal of more than {texts.MOST_DECIMAL_BYTES} bytes")
    return Column(texts.decimals(cursor.data, start, length, type_.scale), is_text=True)


PRIMITIVES: Mapping[str, Callable[[Primitive, Cursor, str], Column]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _number,
    "long": _number,
    "float": _float,
    "double": _float,
    "bytes": _of_bytes,
    "string": _string,
}


def _enum(type_: Enum, cursor: Cursor, path: str) -> Column:
    places = cursor.number(path)
    beyond = (places < 0) | (places >= len(type_.symbols))
    if beyond.any():
        cursor.fail(beyond, path, "no such symbol in the enum")
        places = np.where(beyond, 0, places)
    if not type_.symbols:
        return NULL
    return Column(pa.array(type_.symbols, pa.string()).take(pa.array(places)))


def _record(type_: Record, cursor: Cursor, path: str) -> Column:
    parts: list[Any] = []
    text = "{"
    for place, field in enumerate(type_.fields):
        column = read(field.type, cursor, f"{path}.{field.name}" if path else field.name)
        text += f"{',' if place else ''}{field.json}:"
        if isinstance(column.values, str):
            text += column.values
        elif isinstance(column.values, list):
            first, *others, last = column.values
            parts += [text + first, *others]
            text = last
        elif column.is_text and not column.values.null_count:
            parts += [f'{text}"', column.values]
            text = '"'
        else:
            parts += [text, column.written(len(cursor))]
            text = ""
    text += "}"
    return Column([*parts, text] if parts else text)


def _union(type_: Union, cursor: Cursor, path: str) -> Column:
    branches = cursor.number(path)
    count = len(type_.branches)
    beyond = (branches < 0) | (branches >= count)
    if beyond.any():
        cursor.fail(beyond, path, "no such branch in the union")
        branches = np.where(beyond, 0, branches)
        if not count:
            return NULL
    found: list[tuple[Column, Ints]] = []
    for place, branch in enumerate(type_.branches):
        is_it = branches == place
        if is_it.all():
            return read(branch, cursor, path)
        which = np.flatnonzero(is_it)
        if len(which):
            part = cursor.part(which)
            column = read(branch, part, path)
            cursor.at[which] = part.at
            if not (isinstance(column.values, str) and column.values == NULL.values):
                found.append((column, which))
    return merged(found, len(cursor))


def merged(found: Sequence[tuple[Column, Ints]], count: int) -> Column:
    """Put columns of some of the messages together; the others are null.

    `found`: columns with the places of their messages among all, in rising order.
    """
    if not found:
        return NULL
    if len(found) == 1 and len(found[0][1]) == count:
        return found[0][0]
    is_text = len(found) == 1 and found[0][0].is_text
    parts = [column.values if is_text else column.written(len(which)) for column, which in found]
    which = np.concatenate([one for _, one in found])
    places = np.zeros(count, dtype=np.int32)
    places[which] = np.arange(len(which), dtype=np.int32)
    missing = np.ones(count, dtype=np.bool_)
    missing[which] = False
    values = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    return Column(values.take(pa.array(places, mask=missing)), is_text)


def _one_by_one(type_: Array | Map | Record, cursor: Cursor, path: str) -> Column:
    failed = cursor.failures.failed
    after = cursor.at.copy()
    written: list[str | None] = [None] * len(cursor)
    for place, (row, at, end) in enumerate(
        zip(cursor.rows.tolist(), cursor.at.tolist(), cursor.end.tolist(), strict=True)
    ):
        if failed[row]:
            continue
        reader = Reader(cursor.data[at:end].tobytes(), 0, end - at)
        try:
            written[place] = reader.text(type_, path)
            after[place] = at + reader.at
        except BadAvro as error:
            cursor.failures.add(cursor.rows[place : place + 1], str(error))
            after[place] = end
    cursor.at = after
    return Column(pa.array(written, pa.string()))
