"""Avro messages to the JSON messages of the same content, in batches.

Section 3, rules 2 to 4 and 11, and section 4, "Schema versions", of the format's reference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools, Ints, contents
from spark_cdc_udfs.qlik.batch import BAD_METADATA, UNKNOWN_SCHEMA, Batch, groups
from spark_cdc_udfs.qlik.cursor import Failures
from spark_cdc_udfs.qlik.schema import Schema, SchemaError, parse_schema
from spark_cdc_udfs.qlik.versions import Known, TableName, Version, is_same, latest, lower

BYTES_TOGETHER = 2**23  # of values that are decoded at once
TEXT_TOGETHER = 2**27  # of the names in their JSON text
KEPT_CHARACTERS = 2**25  # of the texts of parsed schemas


class Schemas:
    """Parsed schemas by their texts: each is parsed once, while there is room."""

    def __init__(self) -> None:
        self._parsed: dict[str, Schema | SchemaError] = {}
        self._characters = 0

    def parsed(self, text: str) -> Schema | SchemaError:
        """Give the schema of a text, or what is wrong with it."""
        if text not in self._parsed:
            if self._characters > KEPT_CHARACTERS:
                self._parsed, self._characters = {}, 0
            self._characters += len(text)
            try:
                self._parsed[text] = parse_schema(text)
            except SchemaError as error:
                self._parsed[text] = error
        return self._parsed[text]


class Decoder:
    """Decodes batches of messages. `known` has the versions of their schemas."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._schemas = Schemas()

    def decode(self, values: Any, timestamps: Any) -> Iterator[pa.RecordBatch]:
        """Decode a binary array (m,); `timestamps` (m,) are of the first deliveries.

        Gives batches of SCHEMA with m rows in all, in their order.
        """
        sizes = np.diff(contents(values)[0].astype(np.int64))
        parts = np.cumsum(sizes) // BYTES_TOGETHER
        ends = [*(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(values)]
        for first, end in zip([0, *ends], ends, strict=False):
            if first < end:
                some = values.slice(first, end - first), timestamps.slice(first, end - first)
                yield from self._decode(*some)

    def _decode(self, values: Any, timestamps: Any) -> Iterator[pa.RecordBatch]:
        batch = Batch(values)
        batch.refuse_others()
        written_by = self._written_by(batch, timestamps)
        schemas = [(self._schemas.parsed(text), rows) for text, rows in written_by]
        size = sum(one.size * len(rows) for one, rows in schemas if isinstance(one, Schema))
        if size > TEXT_TOGETHER and len(values) > 1:
            half = len(values) // 2
            yield from self._decode(values.slice(0, half), timestamps.slice(0, half))
            yield from self._decode(values.slice(half), timestamps.slice(half))
            return
        for schema, rows in schemas:
            batch.read(schema, rows)
        yield batch.result()

    def _written_by(self, batch: Batch, timestamps: Any) -> list[tuple[str, Ints]]:
        """Give the schemas that wrote the messages, each with its messages."""
        found: dict[str, list[Ints]] = {}
        own = batch.opened.schema
        for text, rows in groups(own, batch.wanted & own.is_valid().to_numpy(False)):
            found.setdefault(text, []).append(rows)
        rest = batch.wanted & own.is_null().to_numpy(False)
        batch.refuse(rest & batch.is_metadata, BAD_METADATA, "no messageSchema")
        for text, rows in self._by_version(batch, rest & ~batch.is_metadata, timestamps):
            found.setdefault(text, []).append(rows)
        return [(text, np.sort(np.concatenate(parts))) for text, parts in found.items()]

    def _by_version(self, batch: Batch, rest: Bools, timestamps: Any) -> Iterator[tuple[str, Ints]]:
        """Find the schemas of data messages that do not bring their own."""
        ids = batch.opened.schema_id
        without = rest & ids.is_null().to_numpy(False)
        batch.refuse(without, UNKNOWN_SCHEMA, "neither a schema nor the id of one")
        for schema_id, rows in groups(ids, rest & ~without):
            versions = self._known.with_id(schema_id)
            if not versions:
                batch.refuse(rows, UNKNOWN_SCHEMA, f"no schema with the id {schema_id[:80]}")
            for text, some in self._chosen(batch, versions, rows, timestamps):
                if text is None:
                    detail = f"no dataSchema in the version with the id {schema_id[:80]}"
                    batch.refuse(some, UNKNOWN_SCHEMA, detail)
                else:
                    yield text, some

    def _chosen(
        self, batch: Batch, versions: Sequence[Version], rows: Ints, timestamps: Any
    ) -> Iterator[tuple[str | None, Ints]]:
        """Choose a version of one id for each message (rule 11).

        Of versions of several tables, those of the message's table count. Its members `schema` and
        `table` name it, else the namespace; so the message is read with the schema of each.
        """
        if len({one.data_schema for one in versions}) <= 1:
            yield from ((one.data_schema, rows) for one in versions[:1])
            return
        tables = dict.fromkeys(one.table for one in versions if one.table[1] is not None)
        for table in tables:
            own = [one for one in versions if is_same(one.table, table)]
            if len(tables) == 1:
                versions = own
                continue
            for text, some in _latest(own, rows, timestamps):
                there = some[self._is_of(batch, text, some, table)]
                rows = np.setdiff1d(rows, there)
                if len(there):
                    yield text, there
        yield from _latest(versions, rows, timestamps)

    def _is_of(self, batch: Batch, text: str | None, rows: Ints, table: TableName) -> Bools:
        """Say which messages can be read with a schema, and then name this table."""
        parsed = self._schemas.parsed(text) if text is not None else None
        if not isinstance(parsed, Schema):
            return np.zeros(len(rows), dtype=np.bool_)
        failures = Failures(len(batch.reasons))
        written = batch.column(parsed, rows, failures).written(len(rows)).to_pylist()
        end = ".".join(name for name in ("", *table) if name is not None)
        ends = f".{lower(parsed.namespace)}".endswith(end)
        names = [_named(one) for one in written]
        is_it = [ends if name[1] is None else is_same(name, table) for name in names]
        return np.array(is_it, dtype=np.bool_) & ~failures.failed[rows]


def _latest(
    versions: Sequence[Version], rows: Ints, timestamps: Any
) -> Iterable[tuple[str | None, Ints]]:
    """Choose the version of each message by its time; give the schemas with their messages."""
    found: dict[str | None, list[int]] = {}
    for row, at in zip(rows.tolist(), timestamps.take(pa.array(rows)).to_pylist(), strict=True):
        version = latest(versions, at)
        found.setdefault(version and version.data_schema, []).append(row)
    return [(text, np.array(some, dtype=np.int64)) for text, some in found.items()]


def _named(written: str | None) -> TableName:
    """Give the members `schema` and `table` of a message, in lower case."""
    content = json.loads(written) if written else None
    if not isinstance(content, dict):
        return None, None
    found = {name.lower(): one for name, one in content.items()} | content
    return tuple(  # type: ignore[return-value]
        lower(one if isinstance(one, str) else None)
        for one in (found.get("schema"), found.get("table"))
    )
