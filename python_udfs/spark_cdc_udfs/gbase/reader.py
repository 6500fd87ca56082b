"""Land the reads of a capture client: number them, and know where the next session begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from spark_cdc_udfs.gbase.framing import Framer
from spark_cdc_udfs.gbase.known import KnownRecords
from spark_cdc_udfs.gbase.records import BEGINTX, COMMTX, ERROR, RBTX, RECORDS, TABSCHEM, is_one_of


class Reader(Protocol):
    """A capture session that is open and active."""

    def read(self) -> bytes:
        """Give the bytes of the next read; no bytes when it is time to stop."""


class RestartPosition:
    """Follow the records of one session, to know where the next one must begin.

    `position` is the beginning of this session: 0, or the result of the last one.
    """

    def __init__(self, position: int = 0) -> None:
        self._framer = Framer()
        self._records = KnownRecords()
        self._next = 0
        self._open: dict[int, int] = {}  # transaction id -> sequence of its BEGINTX
        self._last = position

    @property
    def position(self) -> int:
        """The position to begin at: the oldest open transaction, else the last record.

        If there was no record, it is the beginning of this session.
        """
        return min(self._open.values(), default=self._last)

    def feed(self, payload: bytes) -> None:
        """Take the bytes of the next read."""
        records = self._framer.feed([self._next], [payload]).records
        header = records.take(~self._records.repeated(records)).header
        self._next += 1
        known = is_one_of(
            header["number"], [one for one in RECORDS if one not in (TABSCHEM, ERROR)]
        )
        for number, sequence, transaction in zip(
            header["number"][known].tolist(),
            header["sequence"][known].tolist(),
            header["transaction"][known].tolist(),
            strict=True,
        ):
            if number == BEGINTX:
                self._open.setdefault(transaction, sequence)
            elif number in (COMMTX, RBTX):
                self._open.pop(transaction, None)
            self._last = max(self._last, sequence)


def land(
    reader: Reader,
    capture_id: str,
    write: Callable[[dict[str, Any]], None],
    first: int = 1,
    position: int = 0,
) -> int:
    """Store each read of a session as a row, and return the position to begin the next one at.

    `write` stores a row: `capture_id`, `chunk_number` (from `first` on) and `payload`. An error of
    `write` or of the reader ends the landing. The rows that were stored until then are good, and
    the next session begins at the same `position` as this one, 0 for the first session.
    """
    restart = RestartPosition(position)
    number = first
    while payload := reader.read():
        write({"capture_id": capture_id, "chunk_number": number, "payload": payload})
        restart.feed(payload)
        number += 1
    return restart.position
