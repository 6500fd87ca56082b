"""The versions of tables that metadata messages tell of, and the table and version of a message.

Section 3, rules 6 and 11 of the format's reference; the rows are those of `qlik_schema_versions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

TableName = tuple[str | None, str | None]
"""Schema and table in lower case. A schema of None is any, a table of None is no table."""

BEFORE_ALL = -(2**63)
NO_VERSION = -1


class Version(NamedTuple):
    """A version of a table. Its time is in microseconds since 1970.

    `columns` has the names by their ordinals, `lower_names` all names in lower case, sorted.
    """

    schema_id: str
    table: TableName
    table_version: int | None
    written_at: int | None
    data_schema: str | None
    columns: Mapping[int, str]
    lower_names: Sequence[str]

    @property
    def order(self) -> tuple[int, int, str]:
        """Versions that were told later have a greater one."""
        at = BEFORE_ALL if self.written_at is None else self.written_at
        number = NO_VERSION if self.table_version is None else self.table_version
        return at, number, self.data_schema or ""


def version_of(row: Mapping[str, Any]) -> Version:
    """Give the version of a row of `qlik_schema_versions`; its time is in microseconds."""
    columns = {one["ordinal"]: one["name"] for one in row.get("columns") or ()}
    return Version(
        row["schema_id"],
        (lower(row.get("source_schema")), lower(row.get("source_table"))),
        row.get("table_version"),
        row.get("written_at"),
        row.get("data_schema"),
        columns,
        sorted(name.lower() for name in columns.values()),
    )


def lower(name: str | None) -> str | None:
    """Names of tables match ignoring case; an empty one is none."""
    return name.lower() if name else None


def is_same(one: TableName, other: TableName) -> bool:
    """Say whether two names are of one table; a name that is not given is any."""
    (schema, table), (schema_too, table_too) = one, other
    is_schema = schema == schema_too or schema is None or schema_too is None
    return is_schema and (table == table_too or table is None or table_too is None)


def of_table(versions: Iterable[Version], table: TableName) -> list[Version]:
    """Give the versions of a table."""
    return [one for one in versions if one.table[1] is not None and is_same(one.table, table)]


def latest(versions: Sequence[Version], at: int | None) -> Version | None:
    """Give the last one told up to a time, else the first; without a time the last.

    `versions` are in their order.
    """
    if at is None or not versions:
        return versions[-1] if versions else None
    before = [one for one in versions if one.order[0] <= at]
    return before[-1] if before else versions[0]


class Known:
    """What is known of the tables of a topic.

    `has_metadata`: whether there can be versions. `tables` are further tables of the topic.
    """

    def __init__(
        self,
        versions: Iterable[Version] = (),
        has_metadata: bool = False,
        tables: Iterable[TableName] = (),
    ) -> None:
        self.has_metadata = has_metadata
        self.versions = sorted(versions, key=lambda one: one.order)
        self.told: Sequence[TableName] = list(dict.fromkeys(one.table for one in self.versions))
        self._by_id: dict[str, list[Version]] = {}
        for version in self.versions:
            self._by_id.setdefault(version.schema_id, []).append(version)
        known = [one for one in self.told if one[1] is not None]
        known += [one for one in tables if not any(is_same(one, there) for there in known)]
        self._names: dict[tuple[str, str], list[TableName]] = {}
        for schema, table in known:
            assert table is not None
            whole = table if schema is None else f"{schema}.{table}"
            names = [("name", table), ("topic", table), ("namespace", whole)]
            if schema is not None:
                names += [("topic", whole), ("end of topic", whole), ("key", f"{schema}\0{table}")]
            for name in dict.fromkeys(names):
                self._names.setdefault(name, []).append((schema, table))
        self._dots = 1 + max((name.count(".") for _, name in self._names), default=0)
        self._longest = max((len(name) for _, name in self._names), default=0)

    def with_id(self, schema_id: str | None) -> Sequence[Version]:
        """Give the versions of an id, in their order."""
        return self._by_id.get(schema_id, ()) if schema_id is not None else ()

    def table_of(
        self,
        named: TableName,
        schema_id: str | None,
        namespace: str | None,
        key: str | None,
        topic: str | None,
    ) -> TableName | None:
        """Give the table of a message (rule 6); None where nothing names one.

        `named` has its members `schema` and `table`. `namespace` is the one of its Avro schema.
        """
        schema, table = lower(named[0]), lower(named[1])
        if table is not None:
            if schema is not None:
                return schema, table
            same: Sequence[TableName] = self._names.get(("name", table), [(None, table)])
            return same[0] if len(same) == 1 else None
        lineages = {one.table for one in self.with_id(schema_id)} - {(None, None)}
        if len(lineages) == 1:
            return lineages.pop()
        for same in (self._of_namespace(namespace), self._of_key(key), self._of_topic(topic)):
            if same:
                return same[0] if len(same) == 1 else None
        return None

    def _of_namespace(self, namespace: str | None) -> Sequence[TableName]:
        return self._ending("namespace", f".{namespace.lower()}") if namespace else ()

    def _of_topic(self, topic: str | None) -> Sequence[TableName]:
        if not topic:
            return ()
        whole = self._names.get(("topic", topic.lower()), ())
        return whole or self._ending("end of topic", topic.lower())

    def _ending(self, use: str, text: str) -> Sequence[TableName]:
        """Give the tables of the longest name that stands after a dot, to the end of a text."""
        found: Sequence[TableName] = ()
        at = len(text)
        for _ in range(self._dots):
            at = text.rfind(".", 0, at)
            if at < 0:
                break
            found = self._names.get((use, text[at + 1 :])) or found
        return found

    def _of_key(self, key: str | None) -> Sequence[TableName]:
        """Give the tables that a key is, with one sign between schema and table."""
        lowered = (key or "").lower()
        if len(lowered) <= self._longest:
            for sign in _SIGN.finditer(lowered):
                name = f"{lowered[: sign.start()]}\0{lowered[sign.end() :]}"
                if ("key", name) in self._names:
                    return self._names["key", name]
        return ()


_SIGN = re.compile(r"[\W_]")  # no letter and no digit
