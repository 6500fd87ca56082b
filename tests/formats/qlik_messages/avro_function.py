"""The Python function for Avro messages: called as Spark calls it, or by the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
from kit.values import Malformed
from spark_cdc_udfs.qlik.functions import QlikAvroMessages

from formats.qlik_messages import versions
from formats.qlik_messages.versions import Message, Version

Row = dict[str, Any]

COLUMNS = pa.schema(
    [
        ("role", pa.string()),
        ("schema_id", pa.string()),
        ("data_schema", pa.string()),
        ("source_schema", pa.string()),
        ("source_table", pa.string()),
        ("table_version", pa.int64()),
        ("written_at", pa.timestamp("us", "UTC")),
        ("record", pa.struct([("value", pa.binary()), ("offset", pa.int64())])),
        ("first_timestamp", pa.timestamp("us", "UTC")),
        ("bucket", pa.int32()),
    ]
)


def schema_rows(known: Iterable[Version]) -> Iterator[Row]:
    names = ("schema_id", "data_schema", "source_schema", "source_table", "table_version")
    for version in known:
        row = {name: getattr(version, name) for name in names}
        yield row | {"role": "schema", "written_at": version.written_at}


def message_rows(values: Iterable[bytes | None], at: datetime | None = None) -> list[Row]:
    return [
        {
            "role": "message",
            "record": {"value": value, "offset": number},
            "first_timestamp": at,
        }
        for number, value in enumerate(values)
    ]


class Called:
    """A call of the function: batches of rows, in their order."""

    def __init__(self, known: Iterable[Version] = ()) -> None:
        self._function = QlikAvroMessages()
        self.eval(list(schema_rows(known)))

    def eval(self, rows: Sequence[Row]) -> list[Row]:
        batch = pa.RecordBatch.from_pylist(list(rows), schema=COLUMNS)
        found = [row for some in self._function.eval(batch) for row in some.to_pylist()]
        return [row | {"number": row.pop("record")["offset"]} for row in found]


def called(values: Iterable[bytes | None], known: Iterable[Version] = ()) -> list[Row]:
    """The rows of messages in one batch."""
    return Called(known).eval(message_rows(values))


class Opened:
    """Reads Avro messages for the reference, each in a batch of its own."""

    def __init__(self) -> None:
        self._calls: dict[tuple[Version, ...], Called] = {}

    def __call__(self, value: bytes, rows: Sequence[Version], at: datetime | None) -> Message:
        known = tuple(rows)
        if known not in self._calls:
            self._calls[known] = Called(known)
        (found,) = self._calls[known].eval(message_rows([value], at))
        if found["reason"] is not None:
            raise Malformed(found["reason"])
        message = versions.open_message(found["json"].encode())
        assert message.is_metadata == (found["message_type"] == "MD")
        fields = found["field_names"] or []
        return replace(message, namespace=found["namespace"], fields=fields)
