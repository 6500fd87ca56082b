"""One capture session to the change events of one table: all of this package, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_cdc_udfs.arrays import Ints
from spark_cdc_udfs.gbase.changes import Changes, Decoded, Refused
from spark_cdc_udfs.gbase.framing import STALE, Framed, Framer, Span


class Capture:
    """Decode one table of one capture session, batch after batch.

    For the arguments and errors see `Changes`.
    """

    def __init__(
        self,
        capture_id: str,
        table_id: int,
        key: Sequence[str],
        columns: Sequence[str],
        encoding: str = "utf-8",
        rtrim_char: bool = False,
    ) -> None:
        self._framer = Framer()
        self._changes = Changes(capture_id, table_id, key, columns, encoding, rtrim_char)

    @property
    def open_transactions(self) -> int:
        """Transactions that have not ended; at the end of a capture nothing of them is lost."""
        return self._changes.open_transactions

    def feed(self, numbers: Sequence[int] | Ints, payloads: Any) -> Decoded:
        """Decode the next chunks; see `Framer.feed` for the arguments and errors."""
        return self._decode(self._framer.feed(numbers, payloads))

    def finish(self) -> Decoded:
        """End the capture: report what is still incomplete."""
        return self._decode(self._framer.finish())

    def _decode(self, framed: Framed) -> Decoded:
        changes, refused = self._changes.feed(framed.records)
        return Decoded(changes, [*refused_spans(framed.spans), *refused])


def refused_spans(spans: Sequence[Span]) -> list[Refused]:
    """Say for the quarantine which bytes are lost."""
    return [
        Refused(span.reason, f"{span.size} bytes", span.chunk, span.offset, span.end_chunk, None)
        for span in spans
        if span.reason != STALE
    ]
