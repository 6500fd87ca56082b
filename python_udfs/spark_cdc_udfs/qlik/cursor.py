"""The places of many messages in their bytes, and what all of them are read with at once.

Apache Avro, "Specification": "Binary Encoding". Numbers are zigzag varints, the lowest seven bits
first; floats are little-endian.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spark_cdc_udfs.arrays import Bools, Bytes, Ints, Unsigned, windows

PADDING = 16  # zeros that must follow the bytes of the messages
CUT_OFF = "the bytes end"

CONTINUES = np.uint64(0x8080808080808080)
SEVEN_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
# byte 7 - i is i + 1: multiplied by 2^(8 i), the highest byte is the length of a varint
LENGTHS = np.uint64(0x0102030405060708)
ONE = np.uint64(1)


class Failures:
    """Which messages of a batch cannot be read, and why: what was found first."""

    def __init__(self, count: int) -> None:
        self.failed: Bools = np.zeros(count, dtype=np.bool_)
        self.details: dict[int, str] = {}

    def add(self, rows: Ints, detail: str) -> None:
        """Note messages, by their number in the batch, that have not failed yet."""
        new = rows[~self.failed[rows]]
        if len(new):
            self.failed[new] = True
            self.details.update(dict.fromkeys(new.tolist(), detail))


@dataclass
class Cursor:
    """Where reading stands in each of m messages.

    `data` (n,) has the bytes of all messages and PADDING. `at` and `end` (m,) are the next byte and
    the end of each, `rows` (m,) its number in the batch. A message that fails stands at its end
    from then on: it fails again wherever a byte is read, and what is read for it means nothing.
    """

    data: Bytes
    at: Ints
    end: Ints
    rows: Ints
    failures: Failures

    def __len__(self) -> int:
        return len(self.at)

    def part(self, which: npt.NDArray[Any]) -> Cursor:
        """Give a cursor of some of the messages."""
        return Cursor(self.data, self.at[which], self.end[which], self.rows[which], self.failures)

    def fail(self, bad: Bools, path: str, what: str) -> None:
        """Let the marked messages (m,) fail."""
        if bad.any():
            self.failures.add(self.rows[bad], f"{path}: {what}" if path else what)
            self.at = np.where(bad, self.end, self.at)

    def skip(self, size: int, path: str) -> Ints:
        """Pass over so many bytes; give where they begin (m,), for failed messages their end."""
        self.fail(self.end - self.at < size, path, CUT_OFF)
        start = self.at
        self.at = np.minimum(start + size, self.end)
        return start

    def number(self, path: str) -> Ints:
        """Read a number of at most 64 bits from each message (m,)."""
        first = self.data[self.at]
        if not (first & 0x80).any():
            after = self.at + 1
            numbers = ((first >> 1) ^ -(first & 1)).view(np.int8).astype(np.int64)
        else:
            unsigned, size, bad = _varints(self.data, self.at)
            self.fail(bad, path, "a number of more than 64 bits")
            after = self.at + size
            numbers = (unsigned >> ONE).view(np.int64) ^ -(unsigned & ONE).view(np.int64)
        beyond = after > self.end
        self.at = after
        self.fail(beyond, path, CUT_OFF)
        return numbers

    def piece(self, path: str) -> tuple[Ints, Ints]:
        """Read a length and pass over so many bytes; give where they begin, and it; both (m,)."""
        length = self.number(path)
        bad = (length < 0) | (length > self.end - self.at)
        if bad.any():
            self.fail(bad, path, "a length beyond the end")
            length = np.where(bad, 0, length)
        start = self.at
        self.at = start + length
        return start, length


def _varints(data: Bytes, at: Ints) -> tuple[Unsigned, Ints, Bools]:
    """Read the varints at some places (m,): their values, sizes, and which have over 64 bits."""
    word = windows(data, at, 8).view("<u8")[:, 0]
    stops = ~word & CONTINUES
    lowest = stops & (~stops + ONE)
    word &= lowest ^ (lowest - ONE)  # all bits if there is no stop
    word &= SEVEN_BITS
    for shift, low in ((1, 0x007F007F007F007F), (2, 0x00003FFF00003FFF), (4, 0x0FFFFFFF)):
        kept = np.uint64(low)
        word = (word & kept) | ((word & ~kept) >> np.uint64(shift))
    size = ((lowest >> np.uint64(7)) * LENGTHS >> np.uint64(56)).view(np.int64)
    bad = np.zeros(len(at), dtype=np.bool_)
    longer = np.flatnonzero(stops == 0)
    if len(longer):
        ninth = data[at[longer] + 8].astype(np.uint64)
        tenth = np.where(ninth >= 0x80, data[at[longer] + 9], 0).astype(np.uint64)
        word[longer] |= (ninth & np.uint64(0x7F)) << np.uint64(56) | tenth << np.uint64(63)
        size[longer] = np.where(ninth >= 0x80, 10, 9)
        bad[longer] = tenth > 1
    return word, size, bad
