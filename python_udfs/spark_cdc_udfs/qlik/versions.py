"""Which version of a table's schema wrote a message.

Section 3, rule 11 of the format's reference; the rows are those of `qlik_schema_versions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

BEFORE_ALL = -(2**63)
NO_VERSION = -1

COLUMNS = ("schema_id", "data_schema", "source_schema", "source_table", "table_version")


class Version(NamedTuple):
    """A version with its `dataSchema`; times in microseconds since 1970."""

    data_schema: str | None
    schema: str | None  # of the lineage, in lower case
    table: str | None
    table_version: int | None
    written_at: int | None

    @property
    def order(self) -> tuple[int, int, str]:
        """Versions that were told later have a greater one."""
        at = BEFORE_ALL if self.written_at is None else self.written_at
        number = NO_VERSION if self.table_version is None else self.table_version
        return at, number, self.data_schema or ""

    def is_of(self, schema: str | None, table: str | None) -> bool:
        """Say whether it is of a table; a schema that is not known is any."""
        return self.table == table and (None in (schema, self.schema) or self.schema == schema)


class Versions:
    """The versions of all schema ids."""

    def __init__(self) -> None:
        self._by_id: dict[str, dict[Version, None]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows with `written_at` and the COLUMNS."""
        at = batch.column("written_at").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        columns = [batch.column(name).to_pylist() for name in COLUMNS]
        for schema_id, data_schema, schema, table, number, written_at in zip(
            *columns, at.to_pylist(), strict=True
        ):
            version = Version(data_schema, lower(schema), lower(table), number, written_at)
            self._by_id.setdefault(schema_id, {})[version] = None

    def with_id(self, schema_id: str) -> list[Version]:
        """Give the versions of an id, in their order."""
        return sorted(self._by_id.get(schema_id, ()), key=lambda one: one.order)


def lower(name: str | None) -> str | None:
    """Names of tables match ignoring case; an empty one is none."""
    return name.lower() if name else None


def tables_of(versions: Iterable[Version]) -> list[tuple[str | None, str]]:
    """Give the tables that versions name."""
    named = {(one.schema, one.table): None for one in versions if one.table is not None}
    return [(schema, table) for schema, table in named if table is not None]


def latest(versions: Sequence[Version], at: int | None) -> Version:
    """Give the last one told up to a time, else the first; without a time the last.

    `versions` has at least one, and is in its order.
    """
    if at is None:
        return versions[-1]
    before = [one for one in versions if one.order[0] <= at]
    return before[-1] if before else versions[0]
