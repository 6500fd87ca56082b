"""The types of Avro, as a schema names them and a decoder follows them.

Apache Avro, "Specification", version 1.12: "Schema Declaration".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

MOST_DEPTH = 100  # of types in types, and of values in values

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
# uuid is the text that it stands for
LOGICAL = {
    "int": ("date", "time-millis"),
    "long": (
        *("time-micros", "timestamp-millis", "timestamp-micros"),
        *("local-timestamp-millis", "local-timestamp-micros"),
    ),
}


@dataclass(frozen=True)
class Primitive:
    """A type without a name. `logical` is in `LOGICAL`, or `decimal` (then with `scale`), or ""."""

    kind: str
    logical: str = ""
    scale: int = 0


@dataclass(frozen=True)
class Fixed:
    """`size` bytes. `logical` is `decimal`, then with `scale`, or ""."""

    size: int
    logical: str = ""
    scale: int = 0


@dataclass(frozen=True)
class Enum:
    """One of `symbols`, which are JSON texts."""

    symbols: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Array:
    items: Type


@dataclass(frozen=True, eq=False)
class Map:
    values: Type


@dataclass(frozen=True, eq=False)
class Union:
    branches: tuple[Type, ...]


@dataclass(eq=False)
class Record:
    """Named values. A record that can be a part of itself is `recursive`."""

    fields: list[Field] = field(default_factory=list)
    recursive: bool = False
    outermost: Record | None = None  # of the records around it, the last one that it leads back to
    extent: tuple[int, int] | None = None  # known when all of its fields are read


@dataclass(frozen=True, eq=False)
class Field:
    """`json` is the name as JSON text."""

    name: str
    json: str
    type: Type


Type: TypeAlias = Primitive | Fixed | Enum | Array | Map | Union | Record


def extent(type_: Type) -> tuple[int, int]:
    """Bound the JSON text of the smallest values of a type, and how deep it is.

    What is read value by value (arrays, maps, recursive records) has bounds of its own.
    """
    if isinstance(type_, Enum):
        return max((len(one) for one in type_.symbols), default=4), 1
    if isinstance(type_, Union):
        parts = [extent(one) for one in type_.branches]
        size = max((size for size, _ in parts), default=0)
        return 4 + size, 1 + max((depth for _, depth in parts), default=0)
    if isinstance(type_, Record) and not type_.recursive:
        if type_.extent is None:
            parts = [extent(one.type) for one in type_.fields]
            names = sum(len(one.json) + 2 for one in type_.fields)
            depth = max((depth for _, depth in parts), default=0)
            type_.extent = 2 + names + sum(size for size, _ in parts), 1 + depth
        return type_.extent
    return 4, 1
