"""The decoder of Avro messages, called as the Python function does it, or by the reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
from kit.values import Malformed
from spark_cdc_udfs.qlik.messages import Decoder
from spark_cdc_udfs.qlik.versions import Known, version_of

from formats.qlik_messages import versions
from formats.qlik_messages.versions import Message, Version

Row = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def version_row(version: Version) -> Row:
    """A version as the function takes it: its time in microseconds."""
    at = version.written_at
    columns = [{"name": one.name, "ordinal": one.ordinal} for one in version.columns]
    micros = None if at is None else (at - EPOCH) // timedelta(microseconds=1)
    return asdict(version) | {"written_at": micros, "columns": columns}


class Called:
    """A decoder of Avro messages that knows some versions: batches of them, in their order."""

    def __init__(self, known: Iterable[Version] = ()) -> None:
        self._decoder = Decoder(Known(map(version_of, map(version_row, known)), True))

    def eval(self, values: Sequence[bytes | None], at: datetime | None = None) -> list[Row]:
        micros = None if at is None else (at - EPOCH) // timedelta(microseconds=1)
        times = pa.array([micros] * len(values), pa.int64())
        batches = self._decoder.decode(pa.array(values, pa.binary()), times)
        found = [row for some in batches for row in some.to_pylist()]
        return [row | {"number": number} for number, row in enumerate(found)]


def called(values: Iterable[bytes | None], known: Iterable[Version] = ()) -> list[Row]:
    """The rows of messages in one batch."""
    return Called(known).eval(list(values))


class Opened:
    """Reads Avro messages for the reference, each in a batch of its own."""

    def __init__(self) -> None:
        self._calls: dict[tuple[Version, ...], Called] = {}

    def __call__(self, value: bytes, rows: Sequence[Version], at: datetime | None) -> Message:
        known = tuple(rows)
        if known not in self._calls:
            self._calls[known] = Called(known)
        (found,) = self._calls[known].eval([value], at)
        if found["reason"] is not None:
            raise Malformed(found["reason"])
        message = versions.open_message(found["json"].encode())
        assert message.is_metadata == (found["message_type"] == "MD")
        fields = found["field_names"] or []
        return replace(message, namespace=found["namespace"], fields=fields)
