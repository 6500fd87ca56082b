"""A batch of Avro messages, and what becomes of each.

Section 3, rules 2 to 4, and section 4, "Schema versions", of the format's reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools, Bytes, Ints, contents
from spark_cdc_udfs.qlik import texts
from spark_cdc_udfs.qlik.columns import Column, merged, read
from spark_cdc_udfs.qlik.cursor import PADDING, Cursor, Failures
from spark_cdc_udfs.qlik.envelope import DATA, METADATA, Opened, opened
from spark_cdc_udfs.qlik.schema import Schema, SchemaError

BAD_MESSAGE = "bad_message"
UNKNOWN_MESSAGE_TYPE = "unknown_message_type"
BAD_METADATA = "bad_metadata"
UNKNOWN_SCHEMA = "unknown_schema"
BAD_AVRO = "bad_avro"

SCHEMA = pa.schema(
    [
        ("json", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("message_type", pa.string()),
        ("message_id", pa.string()),
        ("namespace", pa.string()),
        ("field_names", pa.list_(pa.string())),
    ]
)


class Batch:
    """Values, and what becomes of each: `reasons` (m,), and details."""

    def __init__(self, values: Any) -> None:
        offsets, data = contents(values)
        offsets = offsets.astype(np.int64)
        self._data: Bytes = np.append(
            data[offsets[0] : offsets[-1]], np.zeros(PADDING, dtype=np.uint8)
        )
        self._failures = Failures(len(values))
        start, end = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
        self.opened: Opened = opened(self._data, start, end, self._failures)
        self.reasons: npt.NDArray[Any] = np.full(len(values), None, dtype=object)
        self._details: dict[int, str] = self._failures.details
        self._texts: list[tuple[Column, Ints]] = []
        self._schemas: list[tuple[Schema, Ints]] = []
        self.reasons[self._failures.failed] = BAD_AVRO
        self._is_value: Bools = values.is_valid().to_numpy(False)
        self.wanted: Bools = self._is_value & ~self._failures.failed
        kind = self.opened.kind
        self.is_metadata: Bools = _is(kind, METADATA)

    def refuse(self, which: npt.NDArray[Any], reason: str, detail: str) -> None:
        """Put messages, marked or by their places, into quarantine."""
        rows = np.flatnonzero(which) if which.dtype == np.bool_ else which
        self.reasons[rows] = reason
        self.wanted[rows] = False
        self._details.update(dict.fromkeys(rows.tolist(), detail))

    def refuse_others(self) -> None:
        """Refuse what is no Avro message, and types that nobody knows."""
        others = self._is_value & ~self.opened.is_avro
        self.refuse(others, BAD_MESSAGE, "neither an Avro envelope nor a registry frame")
        unknown = self.wanted & ~self.is_metadata & ~_is(self.opened.kind, DATA)
        for kind, rows in groups(self.opened.kind, unknown):
            self.refuse(rows, UNKNOWN_MESSAGE_TYPE, f"the type {kind[:40]}")

    def column(self, schema: Schema, rows: Ints, failures: Failures) -> Column:
        """Read messages with a schema; give their JSON text."""
        start, end = self.opened.start[rows], self.opened.end[rows]
        cursor = Cursor(self._data, start, end, rows, failures)
        column = read(schema.type, cursor, "")
        cursor.fail(cursor.at < cursor.end, "", "bytes are left over after the record")
        return column

    def read(self, schema: Schema | SchemaError, rows: Ints) -> None:
        """Read messages with their schema."""
        if isinstance(schema, SchemaError):
            self._failures.add(rows, f"no Avro schema: {schema}")
        else:
            self._texts.append((self.column(schema, rows, self._failures), rows))
            self._schemas.append((schema, rows))
        failed = rows[self._failures.failed[rows]]
        self.reasons[failed] = np.where(self.is_metadata[failed], BAD_METADATA, BAD_AVRO)

    def result(self) -> pa.RecordBatch:
        """Give the batch of SCHEMA."""
        count = len(self.reasons)
        one = self.opened
        ids = texts.quoted(texts.escaped(one.schema_id))
        message = merged(self._texts, count)
        content = message.values if isinstance(message.values, list) else [message.written(count)]
        head = ['{"magic":"atMSG","type":"', one.kind, '","headers":', one.headers.written(count)]
        written = texts.joined([*head, ',"messageSchemaId":', ids, ',"message":', *content, "}"])
        good = self.wanted & ~self._failures.failed
        if not good.all():
            written = pc.if_else(pa.array(good), written, pa.scalar(None, pa.string()))
        details = [self._details.get(row) for row in range(count)] if self._details else None
        columns = {
            "json": written,
            "reason": pa.array(self.reasons, pa.string()),
            "detail": pa.nulls(count, pa.string()) if details is None else pa.array(details),
            "message_type": one.kind,
            "message_id": one.schema_id,
            **self._of_schemas(count),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)

    def _of_schemas(self, count: int) -> dict[str, Any]:
        """Give the columns `namespace` and `field_names`."""
        places = np.full(count, len(self._schemas), dtype=np.int32)
        for place, (_, rows) in enumerate(self._schemas):
            places[rows] = place
        taken = pa.array(places)
        namespaces = [schema.namespace for schema, _ in self._schemas]
        names = [schema.data_fields for schema, _ in self._schemas]
        return {
            "namespace": pa.array([*namespaces, None], pa.string()).take(taken),
            "field_names": pa.array([*names, None], pa.list_(pa.string())).take(taken),
        }


def _is(values: Any, text: str) -> Bools:
    found: Bools = pc.fill_null(pc.equal(values, text), False).to_numpy(zero_copy_only=False)
    return found


def groups(values: Any, wanted: Bools) -> Iterator[tuple[str, Ints]]:
    """Give each text of an array (m,) with its places among those that are wanted."""
    rows = np.flatnonzero(wanted)
    if not len(rows):
        return
    encoded = values.take(pa.array(rows)).dictionary_encode()
    codes = encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    for text, some in zip(encoded.dictionary, np.split(rows[order], ends[:-1]), strict=True):
        yield text.as_py(), some
