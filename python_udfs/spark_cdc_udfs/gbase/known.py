"""Recognise the repeated records of a capture: stale bytes of a reused buffer look like records."""

from __future__ import annotations

import numpy as np

from spark_cdc_udfs.arrays import Bools, Ints
from spark_cdc_udfs.gbase.records import (
    DISCARD,
    ERROR,
    RECORDS,
    REPEATABLE,
    Records,
    hashes_of,
    is_one_of,
)

# Their sequence, if they have one, does not say when they were written.
UNORDERED = (DISCARD, ERROR)
ORDERED = sorted(set(RECORDS) - {*REPEATABLE, *UNORDERED})


class KnownRecords:
    """Say which records are byte for byte equal to an earlier one of their capture.

    The server writes in the order of its log: only a record whose sequence does not rise can be a
    repeat. It keeps 8 bytes for each record so far.
    """

    def __init__(self) -> None:
        self._hashes: list[Ints] = []  # sorted; each more than twice as many as the next
        self._unordered: set[int] = set()  # hashes
        self._highest = np.uint64(0)
        self._forgotten: np.uint64 | None = None

    def repeated(self, records: Records) -> Bools:
        """Say for each record (n,), in stream order, whether an earlier one had the same bytes."""
        hashes = hashes_of(records)
        repeated = np.zeros(len(records), dtype=np.bool_)
        number = records.header["number"]
        ordered = is_one_of(number, ORDERED)
        for index in np.flatnonzero(~ordered & ~is_one_of(number, REPEATABLE)).tolist():
            one = int(hashes[index])
            repeated[index] = one in self._unordered
            self._unordered.add(one)
        which = np.flatnonzero(ordered)
        if not len(which):
            return repeated
        mine = hashes[which]
        suspects = self._not_rising(records, which)
        if suspects.any():
            order = np.argsort(mine, kind="stable")
            sorted_ = mine[order]
            again = np.append(False, sorted_[1:] == sorted_[:-1])
            repeated[which[order[again]]] = True
            for known in self._hashes:
                at = np.minimum(known.searchsorted(mine[suspects]), len(known) - 1)
                repeated[which[suspects]] |= known[at] == mine[suspects]
        parts = self._hashes
        parts.append(np.sort(mine))
        while len(parts) > 1 and len(parts[-2]) <= 2 * len(parts[-1]):
            parts[-2:] = [np.sort(np.concatenate(parts[-2:]), kind="stable")]
        return repeated

    def doubtful(self, records: Records) -> Bools:
        """Say which records that are not repeats may repeat one that `restore` forgot."""
        header = records.header
        doubtful: Bools = is_one_of(header["number"], ORDERED)
        if self._forgotten is None:
            return np.zeros(len(records), dtype=np.bool_)
        doubtful &= header["sequence"].astype(np.uint64) <= self._forgotten
        return doubtful

    def state(self) -> bytes:
        """Write the state by which later records are recognised, for `restore`.

        It has the highest sequence, and the hashes of records without an order.
        """
        unordered = np.array(sorted(self._unordered), dtype=">i8")
        return np.array([self._highest], dtype=">u8").tobytes() + unordered.tobytes()

    def restore(self, state: bytes) -> None:
        """Take over from another one, or several, whose other records are forgotten."""
        highest = np.frombuffer(state, ">u8", 1).astype(np.uint64)[0]
        self._highest = self._forgotten = max(self._highest, highest)
        self._unordered |= set(np.frombuffer(state, ">i8", offset=8).tolist())

    def _not_rising(self, records: Records, which: Ints) -> Bools:
        sequence = records.header["sequence"][which].astype(np.uint64)
        highest = np.maximum.accumulate(np.append(self._highest, sequence))
        self._highest = highest[-1]
        not_rising: Bools = sequence <= highest[:-1]
        return not_rising
