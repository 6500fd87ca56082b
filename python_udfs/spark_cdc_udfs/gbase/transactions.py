"""From records to committed changes: transactions, savepoints, pairs of images.

"Change Data Capture API Programmer's Guide" (Informix, OneDB). The server sends the changes of all
open transactions, interleaved. It also sends changes that it later takes back. A transaction is
known by its id from BEGINTX to COMMTX or RBTX; then the id is used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spark_cdc_udfs.arrays import Bools, Ints, Unsigned
from spark_cdc_udfs.gbase.records import (
    BEGINTX,
    COMMTX,
    DISCARD,
    RBTX,
    ROWS,
    TRUNCATE,
    UPDAFT,
    UPDBEF,
    Records,
    concatenate,
    is_one_of,
    no_records,
)

NO_BEGIN = "no_begin"
UNFINISHED_TRANSACTION = "unfinished_transaction"

CHANGES = (*ROWS, TRUNCATE)
CONTROLS = (BEGINTX, COMMTX, RBTX, DISCARD)


class Committed(NamedTuple):
    """n committed row and TRUNCATE records: by commit, in stream order within it.

    Everything but `records` is an array (n,). Times are seconds since 1970-01-01 UTC.
    """

    records: Records
    number: Ints  # record number
    table: Ints  # table id
    transaction: Ints  # transaction id
    sequence: Unsigned  # of the record
    commit_sequence: Unsigned  # of its COMMTX
    committed_at: Ints
    began_at: Ints
    user: Ints  # id of the user at the operating system, of the BEGINTX
    # For an UPDAFT: the index of its UPDBEF among the n; for an UPDBEF: of its UPDAFT; else -1. The
    # two are consecutive among the records of their table in their transaction.
    partner: Ints

    def parts(self, most: int) -> Iterator[Committed]:
        """Cut it into parts of about `most` bytes of records, no pair of images in two of them."""
        size = np.cumsum(self.records.length)
        if not len(size) or size[-1] <= most:
            taken_back = len(self.records.data) > 2 * most  # its bytes are still there
            yield self._replace(records=self.records.compact()) if taken_back else self
            return
        cuts = np.unique(np.searchsorted(size, np.arange(most, int(size[-1]), most), side="right"))
        cuts = np.append(cuts[(cuts > 0) & (cuts < len(size))], len(size))
        cuts += self.partner[cuts - 1] == cuts
        begin = 0
        for end in np.unique(cuts).tolist():
            which = slice(begin, end)
            arrays = {name: getattr(self, name)[which] for name in self._fields[1:]}
            arrays["partner"] = np.where(arrays["partner"] >= 0, arrays["partner"] - begin, -1)
            records = self.records.take(np.arange(begin, end)).compact()
            yield self._replace(records=records, **arrays)
            begin = end


class Settled(NamedTuple):
    """What one batch of records brought to its end."""

    committed: Committed
    refused: list[tuple[str, Records]]  # reasons, and row and TRUNCATE records, in stream order


class _Range(NamedTuple):
    """Some of the records that are kept."""

    part: int
    start: int
    end: int


class Transactions:
    """Follow the transactions of one capture, batch after batch.

    It keeps copies of the records of open transactions: the records of one batch together, until
    the last of their transactions ends.
    """

    def __init__(self) -> None:
        self._parts: dict[int, Records] = {}  # by transaction id
        self._unused: dict[int, int] = {}  # part -> its transactions that are still open
        self._open: dict[int, list[_Range]] = {}  # transaction id -> its records, BEGINTX first
        self._next_part = 0

    @property
    def open_transactions(self) -> int:
        """Transactions that have not ended. At the end of a capture nothing of them is lost."""
        return len(self._open)

    def open_records(self) -> list[Records]:
        """Give the records of each transaction that has not ended, one batch at a time."""
        return [
            self._parts[one.part].take(np.arange(one.start, one.end)).compact()
            for ranges in self._open.values()
            for one in ranges
        ]

    def feed(self, records: Records) -> Settled:
        """Take the next records, in stream order; also records outside of transactions."""
        number = records.header["number"]
        records = records.take(is_one_of(number, CONTROLS + CHANGES))
        header = records.header
        ended = header["transaction"][is_one_of(header["number"], CONTROLS)]
        waiting = self._take(np.unique(ended).tolist())
        known = np.isin(header["transaction"], list(self._open))
        self._keep(records.take(known))
        batch = _Sorted(concatenate([*waiting, records.take(~known)]))
        self._keep(batch.records.take(batch.open))
        refused = [
            (reason, batch.records.take(which))
            for reason, which in (
                (NO_BEGIN, batch.without_begin),
                (UNFINISHED_TRANSACTION, batch.unfinished),
            )
            if len(which)
        ]
        return Settled(batch.committed(), refused)

    def _keep(self, records: Records) -> None:
        """Keep a copy of records of open transactions."""
        if not len(records):
            return
        transaction = records.header["transaction"].astype(np.int64)
        order = np.argsort(transaction, kind="stable")
        keys, starts = np.unique(transaction[order], return_index=True)
        part, self._next_part = self._next_part, self._next_part + 1
        self._parts[part], self._unused[part] = records.take(order).compact(), len(keys)
        ends = [*starts[1:].tolist(), len(order)]
        for key, start, end in zip(keys.tolist(), starts.tolist(), ends, strict=True):
            self._open.setdefault(key, []).append(_Range(part, start, end))

    def _take(self, transactions: list[int]) -> list[Records]:
        """Give up the stored records of some transactions, in stream order of each."""
        ranges: dict[int, list[_Range]] = {}
        for transaction in transactions:
            for one in self._open.pop(transaction, []):
                ranges.setdefault(one.part, []).append(one)
        taken = []
        for part, some in sorted(ranges.items()):
            which = np.concatenate([np.arange(one.start, one.end) for one in some])
            taken.append(self._parts[part].take(which).compact())
            self._unused[part] -= len(some)
            if not self._unused[part]:
                del self._parts[part], self._unused[part]
        return taken


class _Sorted:
    """A batch by transaction id, in stream order within it, cut into segments.

    A segment begins with each id and with each BEGINTX. If it begins with BEGINTX it is a
    transaction, and ends at its first COMMTX or RBTX. All indices are into `records`.
    """

    def __init__(self, records: Records) -> None:
        self.records = records
        header = records.header
        self.header = {
            name: header[name].astype(header[name].dtype.newbyteorder("="))
            for name in ("number", "table", "transaction", "sequence", "time", "user")
        }
        count = len(records)
        self.order: Ints = np.argsort(self.header["transaction"], kind="stable")
        number = self.header["number"][self.order]
        transaction = self.header["transaction"][self.order]

        begins = self._begins(number, transaction)
        starts = begins.copy()
        starts[:1] = True
        starts[1:] |= transaction[1:] != transaction[:-1]
        self.segment: Ints = np.cumsum(starts) - 1
        first = np.flatnonzero(starts)
        place = np.arange(count)
        is_end = (number == COMMTX) | (number == RBTX)
        end = np.minimum.reduceat(np.where(is_end, place, count), first) if count else first
        after = np.append(first[1:], count)  # beginning of the next segment
        has_begin = begins[first]
        is_last = np.ones(len(first), dtype=np.bool_)
        is_last[:-1] = transaction[first[1:]] != transaction[first[:-1]]
        ended = end < after
        commits = has_begin & ended
        commits[commits] = number[end[commits]] == COMMTX

        of = self.segment
        change = is_one_of(number, CHANGES)
        inside = has_begin[of] & (place < end[of])
        self.without_begin: Ints = np.sort(self.order[change & ~inside])
        kept = change & inside & ~self._discarded(np.flatnonzero(inside & (number == DISCARD)))
        unfinished = (has_begin & ~ended & ~is_last)[of]
        self.unfinished: Ints = np.sort(self.order[kept & unfinished])
        is_open = (has_begin & ~ended & is_last)[of]
        self.open: Ints = np.sort(self.order[is_open & (kept | begins)])

        # By commit in the stream, which is not the order of transaction ids.
        chosen = np.flatnonzero(kept & commits[of])
        commit = self.order[end[of[chosen]]]
        chosen = chosen[np.argsort(commit, kind="stable")]
        self.chosen: Ints = self.order[chosen]
        self.begin_of: Ints = self.order[first[of[chosen]]]
        self.commit_of: Ints = self.order[end[of[chosen]]]

    def _begins(self, number: npt.NDArray[Any], transaction: npt.NDArray[Any]) -> Bools:
        """Say which records begin a transaction: not a repeated BEGINTX of an open one."""
        begins: Bools = number == BEGINTX
        which = np.flatnonzero(begins | (number == COMMTX) | (number == RBTX))
        before, after = which[:-1], which[1:]
        sequence = self.header["sequence"][self.order]
        again = begins[before] & (sequence[before] == sequence[after])
        for field in ("time", "user"):
            values = self.header[field][self.order]
            again &= values[before] == values[after]
        again &= transaction[before] == transaction[after]
        begins[after[again]] = False
        return begins

    def _discarded(self, discards: Ints) -> Bools:
        """Say which records one of these later DISCARDs of their segment takes back.

        That is one whose sequence is not above the record's.
        """
        sequence = self.header["sequence"][self.order]
        if not len(discards):
            return np.zeros(len(sequence), dtype=np.bool_)
        cuts = np.unique(sequence[discards])
        # For each record the lowest later cut, by rank; cuts of later segments never count.
        none = len(cuts)
        rank = np.full(len(sequence), none, dtype=np.int64)
        rank[discards] = cuts.searchsorted(sequence[discards])
        base = self.segment * (none + 1)
        lowest = np.minimum.accumulate((rank + base)[::-1])[::-1] - base
        return (lowest < none) & (cuts[np.minimum(lowest, none - 1)] <= sequence)

    def committed(self) -> Committed:
        """Return the records of committed transactions."""
        header, chosen = self.header, self.chosen
        number, table = header["number"][chosen], header["table"][chosen]
        begin, commit = self.begin_of, self.commit_of
        partner = np.full(len(chosen), -1, dtype=np.int64)
        by_table = np.lexsort((np.arange(len(chosen)), table, commit))
        before, after = by_table[:-1], by_table[1:]
        pair = (number[before] == UPDBEF) & (number[after] == UPDAFT)
        pair &= (table[before] == table[after]) & (commit[before] == commit[after])
        before, after = before[pair], after[pair]
        partner[before], partner[after] = after, before
        return Committed(
            records=self.records.take(chosen) if len(chosen) else no_records(),
            number=number.astype(np.int64),
            table=table.astype(np.int64),
            transaction=header["transaction"][chosen].astype(np.int64),
            sequence=header["sequence"][chosen],
            commit_sequence=header["sequence"][commit],
            committed_at=header["time"][commit],
            began_at=header["time"][begin],
            user=header["user"][begin].astype(np.int64),
            partner=partner,
        )
