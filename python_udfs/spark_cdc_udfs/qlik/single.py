"""One value at a time, as JSON text: arrays, maps, and records that can be a part of themselves.

The texts are those of `texts`; floats are written with the digits that Python writes.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator

import numpy as np

from spark_cdc_udfs.qlik import texts
from spark_cdc_udfs.qlik.cursor import CUT_OFF
from spark_cdc_udfs.qlik.types import (
    MOST_DEPTH,
    Array,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Type,
    Union,
)

# The JSON text may have so many characters for each byte, and some more. Of a long value it may
# have fewer: most of it is the value's own texts, of which a byte is at most six characters.
CHARACTERS_PER_BYTE = 64
CHARACTERS = 2**12
CHARACTERS_PER_BYTE_OF_LONG = 8
CHARACTERS_OF_LONG = 2**24

FLOATS = {"float": "<f", "double": "<d"}


class BadAvro(Exception):
    """Bytes that do not fit their type."""


class Reader:
    """Reads values of `data`, from `at` up to `end`. What does not fit raises BadAvro."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data, self.at, self._end = data, at, end
        self._room = min(
            CHARACTERS + CHARACTERS_PER_BYTE * (end - at),
            CHARACTERS_OF_LONG + CHARACTERS_PER_BYTE_OF_LONG * (end - at),
        )

    def text(self, type_: Type, path: str, depth: int = 0) -> str:
        """Read a value. `path` names it in errors."""
        if depth > MOST_DEPTH:
            raise BadAvro(f"{path}: too deep")
        if isinstance(type_, Record):
            members = []
            for one in type_.fields:
                name = self._counted(f"{one.json}:", path)
                members.append(name + self.text(one.type, f"{path}.{one.name}", depth + 1))
            return self._counted("{", path) + ",".join(members) + "}"
        if isinstance(type_, Union):
            branch = self._number(path)
            if not 0 <= branch < len(type_.branches):
                raise BadAvro(f"{path}: no branch {branch} in the union")
            return self.text(type_.branches[branch], path, depth + 1)
        if isinstance(type_, Array):
            items = [self.text(type_.items, f"{path}[]", depth + 1) for _ in self._items(path)]
            return self._counted("[", path) + ",".join(items) + "]"
        if isinstance(type_, Map):
            return self._counted("{", path) + ",".join(self._pairs(type_, path, depth)) + "}"
        return self._counted(self._leaf(type_, path), path)

    def _counted(self, written: str, path: str) -> str:
        """Refuse text that is far longer than its bytes: nulls have none, and names are long."""
        self._room -= len(written)
        if self._room < 0:
            raise BadAvro(f"{path}: more values than bytes")
        return written

    def _items(self, path: str) -> Iterator[None]:
        """Go through the items of an array or a map, which are in blocks."""
        while count := self._number(path):
            end = None
            if count < 0:
                size = self._number(path)
                if not 0 <= size <= self._end - self.at:
                    raise BadAvro(f"{path}: a length beyond the end")
                count, end = -count, self.at + size
            for _ in range(count):
                yield
            if end is not None and self.at != end:
                raise BadAvro(f"{path}: a block that is not as long as it says")

    def _pairs(self, type_: Map, path: str, depth: int) -> list[str]:
        found: dict[str, str] = {}
        for _ in self._items(path):
            name = self._counted(self._string(path), path)
            if name in found:
                raise BadAvro(f"{path}: the key {name[:40]} twice")
            found[name] = self.text(type_.values, f"{path}[]", depth + 1)
        return [f"{name}:{written}" for name, written in found.items()]

    def _leaf(self, type_: Type, path: str) -> str:
        if isinstance(type_, Fixed):
            return self._bytes(type_, self._skip(type_.size, path), path)
        if isinstance(type_, Enum):
            place = self._number(path)
            if not 0 <= place < len(type_.symbols):
                raise BadAvro(f"{path}: no symbol {place} in the enum")
            return type_.symbols[place]
        assert isinstance(type_, Primitive)
        kind = type_.kind
        if kind == "null":
            return "null"
        if kind == "string":
            return self._string(path)
        if kind == "bytes":
            return self._bytes(type_, self._skip(self._number(path), path), path)
        if kind == "boolean":
            (byte,) = self._skip(1, path)
            if byte > 1:
                raise BadAvro(f"{path}: {byte} is no boolean")
            return ("false", "true")[byte]
        if kind in FLOATS:
            form = FLOATS[kind]
            return _double(struct.unpack(form, self._skip(struct.calcsize(form), path))[0])
        number = self._number(path)
        if kind == "int" and not -(2**31) <= number < 2**31:
            raise BadAvro(f"{path}: {number} is no int")
        return f'"{_time(type_.logical, number)}"' if type_.logical else str(number)

    def _string(self, path: str) -> str:
        try:
            text = self._skip(self._number(path), path).decode()
        except UnicodeDecodeError:
            raise BadAvro(f"{path}: not UTF-8") from None
        return json.dumps(text, ensure_ascii=False)

    def _bytes(self, type_: Primitive | Fixed, value: bytes, path: str) -> str:
        if type_.logical != "decimal":
            return f'"{value.hex().upper()}"'
        if len(value) > texts.MOST_DECIMAL_BYTES:
            raise BadAvro(f"{path}: a decimal of {len(value)} bytes")
        number = int.from_bytes(value, "big", signed=True)
        digits = str(abs(number)).rjust(type_.scale + 1, "0")
        if type_.scale:
            digits = f"{digits[: -type_.scale]}.{digits[-type_.scale :]}"
        return f'"{"-" if number < 0 else ""}{digits}"'

    def _skip(self, size: int, path: str) -> bytes:
        if not 0 <= size <= self._end - self.at:
            raise BadAvro(f"{path}: {CUT_OFF if size > 0 else 'a negative length'}")
        self.at += size
        return self._data[self.at - size : self.at]

    def _number(self, path: str) -> int:
        number = shift = 0
        while True:
            (byte,) = self._skip(1, path)
            number |= (byte & 0x7F) << shift
            if shift == 63 and byte > 1:
                raise BadAvro(f"{path}: a number of more than 64 bits")
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
            shift += 7


def _double(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _time(logical: str, number: int) -> str:
    """As `texts.times`, of one number."""
    written: str = texts.times(logical, np.array([number], dtype=np.int64))[0].as_py()
    return written
