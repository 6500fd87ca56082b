"""An Avro schema, from its JSON text to the types that a decoder follows.

Apache Avro, "Specification", version 1.12: "Schema Declaration", "Names", "Logical Types". Names
may have any characters, as Qlik Replicate writes hyphens into them; unknown attributes and logical
types, and logical types that do not fit their type, are ignored, as the specification says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spark_cdc_udfs.qlik.types import (
    LOGICAL,
    MOST_DEPTH,
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Type,
    Union,
    extent,
)

MOST_CHARACTERS = 2**24  # of the text of a schema
MOST_SIZE = 2**22  # of a value of nulls and empty texts, written as JSON
MOST_DIGITS = 2000  # of a decimal
MOST_SCALE = 38  # of a decimal, as of Spark's: a value of no byte has so many digits


class SchemaError(ValueError):
    """A text that is no Avro schema, or one beyond the limits of this module."""


@dataclass(frozen=True)
class Schema:
    """A schema. `namespace` is that of its record; `size` a bound of its literal JSON text.

    `data_fields` are the names of the fields of the record `data`, None without one.
    """

    type: Type
    namespace: str | None
    data_fields: tuple[str, ...] | None
    size: int


def parse_schema(text: str) -> Schema:
    """Read the text of a schema. Raises SchemaError."""
    if len(text) > MOST_CHARACTERS:
        raise SchemaError(f"a schema of {len(text)} characters")
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
        text.encode()
        if "\\u" in text:  # half of a surrogate pair can only be there as an escape
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        raise SchemaError("too deep") from None
    except SchemaError:
        raise
    except ValueError as error:
        raise SchemaError(f"no JSON: {error}") from None
    type_ = _Parser().type_of(content, "", 0)
    size, depth = extent(type_)
    if size > MOST_SIZE or depth > MOST_DEPTH:
        raise SchemaError("a schema with too many types in types")
    namespace = None
    if isinstance(type_, Record):
        namespace = _full_name(content, "").rpartition(".")[0] or None
    return Schema(type_, namespace, _data_fields(type_), size)


def _object(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise SchemaError("two members of one name")
    return found


def _constant(text: str) -> None:
    raise SchemaError(f"{text} is no JSON")


def _data_fields(type_: Type) -> tuple[str, ...] | None:
    """Give the names of the fields of `data`, by its name, else ignoring case."""
    fields = type_.fields if isinstance(type_, Record) else []
    same = [one for one in fields if one.name.lower() == "data"]
    same = [one for one in same if one.name == "data"] or same
    found = same[0].type if len(same) == 1 else None
    if isinstance(found, Union):
        records = [one for one in found.branches if isinstance(one, Record)]
        found = records[0] if len(records) == 1 else None
    return tuple(one.name for one in found.fields) if isinstance(found, Record) else None


def _full_name(node: Mapping[str, Any], namespace: str) -> str:
    """Give the name of a named type with its namespace."""
    while isinstance(node.get("type"), dict) and "name" not in node:
        node = node["type"]
    name = node.get("name")
    if not isinstance(name, str) or not name:
        raise SchemaError(f"a {_shown(node.get('type'))} without a name")
    if "." in name:
        return name
    own = node.get("namespace", namespace)
    if not isinstance(own, str):
        raise SchemaError(f"{_shown(own)} is no namespace")
    return f"{own}.{name}" if own else name


def _shown(value: Any) -> str:
    return repr(value)[:60]


def _json(name: Any, of: str) -> str:
    """Write a name as JSON text."""
    if not isinstance(name, str) or (of == "field" and not name):
        raise SchemaError(f"{_shown(name)} is no name of a {of}")
    written = json.dumps(name, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{_shown(name)} is no name of a {of}") from None
    return written


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class _Parser:
    """Reads types; keeps the named ones, and the records that are not complete yet."""

    def __init__(self) -> None:
        self._named: dict[str, Type] = {}
        self._open: list[Record] = []

    def type_of(self, node: Any, namespace: str, depth: int) -> Type:
        if depth > MOST_DEPTH:
            raise SchemaError("too deep")
        if isinstance(node, str):
            return Primitive(node) if node in PRIMITIVES else self._reference(node, namespace)
        if isinstance(node, list):
            return self._union(node, namespace, depth)
        if not isinstance(node, dict) or "type" not in node:
            raise SchemaError(f"{_shown(node)} is no type")
        kind = node["type"]
        if not isinstance(kind, str):
            return self.type_of(kind, namespace, depth + 1)
        if kind in PRIMITIVES:
            return _primitive(kind, node)
        read = {
            "record": self._record,
            "error": self._record,
            "enum": self._enum,
            "fixed": self._fixed,
            "array": self._array,
            "map": self._map,
        }.get(kind)
        if read is None:
            return self._reference(kind, namespace)
        return read(node, namespace, depth)

    def _reference(self, name: str, namespace: str) -> Type:
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self._named.get(full) or self._named.get(name)
        if found is None:
            raise SchemaError(f"{_shown(name)} is no type")
        if isinstance(found, Record):
            self._leads_to(found)
        return found

    def _leads_to(self, found: Record) -> None:
        """Mark the records that become a part of themselves by this reference."""
        target = found if found in self._open else found.outermost
        if target not in self._open:
            return
        place = self._open.index(target)
        for one in self._open[place:]:
            one.recursive = True
            if one.outermost not in self._open[:place]:
                one.outermost = target

    @contextmanager
    def _reading(self, record: Record) -> Iterator[None]:
        self._open.append(record)
        yield
        self._open.pop()

    def _define(self, node: Mapping[str, Any], namespace: str, type_: Type) -> str:
        """Keep a named type; give the namespace for the types in it."""
        full = _full_name(node, namespace)
        if full in self._named:
            raise SchemaError(f"two types {_shown(full)}")
        self._named[full] = type_
        return full.rpartition(".")[0]

    def _record(self, node: Mapping[str, Any], namespace: str, depth: int) -> Type:
        record = Record()
        namespace = self._define(node, namespace, record)
        fields = node.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"the record {_shown(node['name'])} has no fields")
        names = set()
        with self._reading(record):
            for one in fields:
                if not isinstance(one, dict) or "type" not in one:
                    raise SchemaError(f"{_shown(one)} is no field")
                written = _json(one.get("name"), "field")
                if one["name"] in names:
                    raise SchemaError(f"two fields {written}")
                names.add(one["name"])
                type_ = self.type_of(one["type"], namespace, depth + 1)
                record.fields.append(Field(one["name"], written, type_))
        size, depth = extent(record)
        record.extent = size + sum(_scale_of(one.type) for one in record.fields), depth
        return record

    def _enum(self, node: Mapping[str, Any], namespace: str, _: int) -> Type:
        symbols = node.get("symbols")
        if not isinstance(symbols, list):
            raise SchemaError("an enum without symbols")
        found = Enum(tuple(_json(one, "symbol") for one in symbols))
        if len(set(found.symbols)) < len(symbols):
            raise SchemaError("an enum with two equal symbols")
        self._define(node, namespace, found)
        return found

    def _fixed(self, node: Mapping[str, Any], namespace: str, _: int) -> Type:
        size = _whole(node.get("size"))
        if size is None or not 0 <= size < 2**31:
            raise SchemaError(f"{_shown(node.get('size'))} is no size")
        # log10(2) = 0.30103: the digits that so many bytes can hold
        found = Fixed(size, *_decimal(node, int((8 * size - 1) * 0.30103) if size else 0))
        self._define(node, namespace, found)
        return found

    def _array(self, node: Mapping[str, Any], namespace: str, depth: int) -> Type:
        if "items" not in node:
            raise SchemaError("an array without items")
        return Array(self.type_of(node["items"], namespace, depth + 1))

    def _map(self, node: Mapping[str, Any], namespace: str, depth: int) -> Type:
        if "values" not in node:
            raise SchemaError("a map without values")
        return Map(self.type_of(node["values"], namespace, depth + 1))

    def _union(self, nodes: Sequence[Any], namespace: str, depth: int) -> Type:
        branches = tuple(self.type_of(one, namespace, depth + 1) for one in nodes)
        seen: set[Any] = set()
        for one in branches:
            if isinstance(one, Union):
                raise SchemaError("a union in a union")
            same = one.kind if isinstance(one, Primitive) else type(one)
            if same in seen and isinstance(one, (Primitive, Array, Map)):
                raise SchemaError("a union with a type twice")
            seen.add(same)
        return Union(branches)


def _primitive(kind: str, node: Mapping[str, Any]) -> Primitive:
    if kind == "bytes":
        return Primitive(kind, *_decimal(node, None))
    logical = node.get("logicalType")
    fits = isinstance(logical, str) and logical in LOGICAL.get(kind, ())
    return Primitive(kind, str(logical) if fits else "")


def _decimal(node: Mapping[str, Any], most: int | None) -> tuple[str, int]:
    """Give `logical` and `scale` of bytes, which can hold `most` digits."""
    if node.get("logicalType") != "decimal":
        return "", 0
    precision, scale = _whole(node.get("precision")), _whole(node.get("scale", 0))
    if precision is None or scale is None or not 0 <= scale <= precision or precision < 1:
        return "", 0
    if most is not None and precision > most:
        return "", 0
    if precision > MOST_DIGITS:
        raise SchemaError(f"a decimal of {precision} digits")
    if scale > MOST_SCALE:
        raise SchemaError(f"a decimal with {scale} digits behind the point")
    return "decimal", scale


def _scale_of(type_: Type) -> int:
    """Give the digits behind the point of a decimal, or of the longest one of a union."""
    if isinstance(type_, Union):
        return max(map(_scale_of, type_.branches), default=0)
    return type_.scale if isinstance(type_, (Primitive, Fixed)) else 0
