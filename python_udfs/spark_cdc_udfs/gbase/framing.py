"""Restore the records of a capture from the chunks that a reader got.

A chunk has several records, or a part of one, or a record and then bytes that earlier reads left in
the reader's buffer. The bytes alone tell which.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import (
    MOST_BYTES,
    Bools,
    Bytes,
    Ints,
    contents,
    deserialized,
    serialized,
    windows,
)
from spark_cdc_udfs.gbase.records import (
    COMMON,
    LAST_NUMBER,
    LONGEST_HEADER,
    LONGEST_PAYLOAD,
    PADDING,
    REPEATABLE,
    SCHEME,
    SHORTEST_HEADER,
    Records,
    is_one_of,
    no_records,
)

HEAD = 24  # bytes by which most records differ: all that headers have, and the sequence
STALE = "stale"  # with this reason alone nothing is lost
BAD_HEADER = "bad_header"
TRUNCATED_RECORD = "truncated_record"


class Span(NamedTuple):
    """Bytes of one or more chunks that do not belong to a record.

    They reach from `offset` in chunk `chunk` to before `end_offset` in chunk `end_chunk`.
    """

    reason: str
    chunk: int
    offset: int
    end_chunk: int
    end_offset: int
    size: int


class Framed(NamedTuple):
    """The results of one batch of chunks, in stream order."""

    records: Records
    spans: list[Span]


class _Waiting(NamedTuple):
    """The end of a chunk, and k - 1 whole chunks, that wait for the following bytes."""

    data: Bytes
    start: Ints  # (k,), beginning of each chunk's bytes in `data`
    chunk: Ints  # (k,), their numbers
    offset: Ints  # (k,), beginning of the bytes in the chunk


NOTHING_WAITING = _Waiting(np.zeros(0, dtype=np.uint8), *[np.zeros(0, dtype=np.int64)] * 3)


class _Headers(NamedTuple):
    """The k positions in the data of a batch with a valid header, in order."""

    start: Ints
    header_size: Ints
    payload_size: Ints
    number: Ints

    @property
    def end(self) -> Ints:
        """Where the record ends."""
        return self.start + self.header_size + self.payload_size


def valid_headers(data: Bytes, size: int) -> _Headers:
    """Find all valid headers in the first `size` bytes of `data` (uint8, `PADDING` bytes more).

    A valid header has 16 bytes with the packet scheme 66 and a record number from 1 to 999. The
    header is not shorter than this record's header and not longer than 64 KiB. The payload is not
    longer than 16 MiB.
    """
    count = max(size - COMMON + 1, 0)
    scheme = data[11 : 11 + count] == SCHEME
    for place in (8, 9, 10, 12, 13):
        scheme &= data[place : place + count] == 0
    start = np.flatnonzero(scheme)
    del scheme
    words = windows(data, start, COMMON).view(">u4")
    number, header, payload = words[:, 3], words[:, 0], words[:, 1]
    valid = (number >= 1) & (number <= LAST_NUMBER)
    valid &= (header <= LONGEST_HEADER) & (payload <= LONGEST_PAYLOAD)
    valid &= header >= SHORTEST_HEADER[np.minimum(number, LAST_NUMBER)]
    picked = words[valid].astype(np.int64)
    return _Headers(start[valid], picked[:, 0], picked[:, 1], picked[:, 3])


def begins_record(heads: Any) -> Bools:
    """Say of the first 16 bytes of chunks (n,), an Arrow binary array, which are a valid header."""
    offsets, data = contents(heads)
    start = offsets[:-1].astype(np.int64)
    whole = np.diff(offsets[: len(heads) + 1]) >= COMMON
    padded = np.concatenate([data[: int(offsets[-1])], np.zeros(PADDING, dtype=np.uint8)])
    apart = windows(padded, start[whole], COMMON).ravel()
    headers = valid_headers(np.append(apart, np.zeros(PADDING, dtype=np.uint8)), len(apart))
    begins = np.zeros(len(heads), dtype=np.bool_)
    at = headers.start[headers.start % COMMON == 0] // COMMON
    begins[np.flatnonzero(whole)[at]] = True
    return begins


class Framer:
    """Frame one capture session, chunk after chunk.

    Two things are kept from one batch to the next: an incomplete record at the end, and a copy of
    the reader's buffer (as long as the longest chunk). Once the buffer is known (`remember`), it
    can begin at any fresh chunk, which always begins a record. It can also continue where another
    one stopped (`restore`). Then it leaves out records of that one that the buffer repeats.
    """

    def __init__(self) -> None:
        self._waiting = NOTHING_WAITING
        self._pending_is_stale = False
        self._lost = False  # after lost bytes: only a fresh chunk is a beginning
        self._buffer = bytearray()
        # Records in the buffer, by their beginning; and the ones that another framer has left.
        self._in_buffer: dict[int, bytes] = {}
        self._left: dict[int, bytes] = {}
        self._last_number: int | None = None
        self._last_payloads: set[bytes] = set()

    @property
    def pending_bytes(self) -> int:
        """Bytes of an incomplete record that waits for the next chunk."""
        return len(self._waiting.data)

    def feed(self, numbers: Sequence[int] | Ints, payloads: Any) -> Framed:
        """Frame the next chunks.

        `numbers` (m,) are their chunk numbers, which never decrease, also from call to call.
        `payloads` (m,) are their bytes: an Arrow binary array (also a chunked or a large one) or a
        sequence of bytes. A chunk that is repeated with the same number counts once. A record that
        spans many chunks is copied in each call until it is complete: give many chunks at once,
        some MiB. Raises ValueError for a number that decreases, for NULL and for 2 GiB at once.
        """
        number = np.asarray(numbers, dtype=np.int64)
        if isinstance(payloads, pa.ChunkedArray):
            payloads = payloads.combine_chunks()
        chunks = payloads if isinstance(payloads, pa.Array) else pa.array(payloads, pa.binary())
        if (size := chunks.nbytes + self.pending_bytes + PADDING) > MOST_BYTES:
            raise ValueError(f"{size} bytes at once: feed smaller batches")
        chunks = chunks.cast(pa.binary())
        if len(number) != len(chunks):
            raise ValueError(f"{len(number)} chunk numbers for {len(chunks)} chunks")
        if chunks.null_count:
            raise ValueError("a chunk without bytes: NULL is no payload")
        news = self._without_repeats(number, chunks)
        if not news.all():
            number, chunks = number[news], chunks.filter(pa.array(news))
        return self._frame(number, chunks)

    def finish(self) -> Framed:
        """End the capture: bytes that still wait for more are stale or lost."""
        spans = []
        waiting = self._waiting
        if size := len(waiting.data):
            reason = STALE if self._pending_is_stale else _reason(size, waiting.data[:COMMON])
            end = int(waiting.offset[-1]) + size - int(waiting.start[-1])
            first, last = int(waiting.chunk[0]), int(waiting.chunk[-1])
            spans.append(Span(reason, first, int(waiting.offset[0]), last, end, size))
        self._waiting = NOTHING_WAITING
        return Framed(no_records(), spans)

    def remember(self, ends: Iterable[tuple[int, bytes]]) -> None:
        """Read earlier chunks into the buffer, in their order; their records are not given.

        Of each chunk only the bytes after the end of the next one are needed, with the offset of
        the first.
        """
        for begin, payload in ends:
            self._buffer.extend(bytes(max(begin - len(self._buffer), 0)))
            self._buffer[begin : begin + len(payload)] = payload

    def state(self) -> bytes:
        """Write the state for `restore`."""
        waiting = self._waiting
        buffer = bytes(self._buffer)
        records = {
            begin: len(raw) for begin, raw in self._in_buffer.items() if _holds(buffer, begin, raw)
        }
        kept = {
            "data": pa.array([waiting.data.tobytes()], pa.binary()),
            **{
                name: pa.array([getattr(waiting, name).tolist()], pa.list_(pa.int64()))
                for name in ("start", "chunk", "offset")
            },
            "pending_is_stale": pa.array([self._pending_is_stale]),
            "lost": pa.array([self._lost]),
            "buffer": pa.array([buffer], pa.binary()),
            "records": pa.array([list(records)], pa.list_(pa.int64())),
            "sizes": pa.array([list(records.values())], pa.list_(pa.int64())),
        }
        written: bytes = serialized(pa.RecordBatch.from_pydict(kept)).to_pybytes()
        return written

    def restore(self, state: bytes, buffer_only: bool = False) -> None:
        """Take over the state of another one; `buffer_only`: to begin at a later fresh chunk."""
        kept = deserialized(state).to_pylist()[0]
        self._buffer = bytearray(kept["buffer"])
        places = zip(kept["records"], kept["sizes"], strict=True)
        self._left = {begin: kept["buffer"][begin : begin + size] for begin, size in places}
        self._in_buffer = dict(self._left)
        if buffer_only:
            return
        waiting = [np.array(kept[name], dtype=np.int64) for name in ("start", "chunk", "offset")]
        self._waiting = _Waiting(np.frombuffer(kept["data"], np.uint8), *waiting)
        self._pending_is_stale, self._lost = kept["pending_is_stale"], kept["lost"]

    def _without_repeats(self, number: Ints, chunks: Any) -> Bools:
        """Say which chunks (m,) are new: not empty, and not equal to one with the same number."""
        before = np.concatenate([[number[0] if len(number) else 0], number[:-1]])
        if self._last_number is not None and len(number):
            before[0] = self._last_number
        if (number < before).any():
            raise ValueError("chunk numbers must not decrease")
        offsets, _ = contents(chunks)
        news: Bools = np.diff(offsets[: len(number) + 1]) > 0
        same = number == before
        same[:1] &= self._last_number is not None
        # Chunks that share their number with a neighbour; few, unless all are delivered twice.
        shared = same | np.concatenate([same[1:], [True]]) if len(number) else same
        for index in np.flatnonzero(shared).tolist():
            if not same[index]:
                self._last_payloads = set()
            payload = chunks[index].as_py()
            if payload in self._last_payloads:
                news[index] = False
            self._last_payloads.add(payload)
        if len(number):
            self._last_number = int(number[-1])
        return news

    def _frame(self, numbers: Ints, chunks: Any) -> Framed:
        batch = _Batch(self._waiting, numbers, chunks)
        walk = _Walk(batch, self._buffer, self._pending_is_stale, self._lost)
        walk.run()
        self._lost = walk.lost
        self._waiting = batch.waiting_from(walk.pending)
        self._pending_is_stale = walk.pending_is_stale
        walk.fill_buffer(len(batch.start))
        which = walk.accepted()
        self._note(batch, which)
        return Framed(batch.records(which[~self._is_left(batch, which)]), walk.spans)

    def _is_left(self, batch: _Batch, which: Ints) -> Bools:
        """Say which of the headers `which` begin a record that `restore` left in the buffer.

        Records that the server may repeat are not among them.
        """
        is_left = np.zeros(len(which), dtype=np.bool_)
        begin, start, end = self._places(batch, which)
        suspects = np.isin(begin, list(self._left))
        suspects &= ~is_one_of(batch.headers.number[which], REPEATABLE)
        for index in np.flatnonzero(suspects).tolist():
            raw = batch.data[start[index] : end[index]].tobytes()
            is_left[index] = self._left[int(begin[index])] == raw
        return is_left

    def _places(self, batch: _Batch, which: Ints) -> tuple[Ints, Ints, Ints]:
        """Give the positions of records in the buffer (-1: not in one read), and their bytes."""
        start, end = batch.headers.start[which], batch.headers.end[which]
        chunk = batch.start.searchsorted(start, side="right") - 1
        begin = batch.offset[chunk] + start - batch.start[chunk]
        return np.where(end <= batch.end[chunk], begin, -1), start, end

    def _note(self, batch: _Batch, which: Ints) -> None:
        """Store the records in the buffer, of this batch and of those before."""
        buffer = bytes(self._buffer)
        padded = np.frombuffer(buffer + bytes(PADDING), np.uint8)
        begin, start, end = self._places(batch, which)
        there = (begin >= 0) & (begin + end - start <= len(buffer))
        heads = [windows(padded, begin[there], HEAD), windows(batch.data, start[there], HEAD)]
        there[there] = (heads[0] == heads[1]).all(axis=1)
        records = {
            begin: raw for begin, raw in self._in_buffer.items() if _holds(buffer, begin, raw)
        }
        for index in np.flatnonzero(there).tolist():
            raw = batch.data[start[index] : end[index]].tobytes()
            if _holds(buffer, int(begin[index]), raw):
                records[int(begin[index])] = raw
        self._in_buffer = records


def _holds(buffer: bytes, begin: int, raw: bytes) -> bool:
    return buffer[begin : begin + len(raw)] == raw


def _reason(size: int, head: Bytes) -> str:
    """Name the loss of `size` bytes that begin with `head` (their first 16, or all)."""
    if size < COMMON:
        return TRUNCATED_RECORD
    padded = np.concatenate([head, np.zeros(PADDING, dtype=np.uint8)])
    return TRUNCATED_RECORD if len(valid_headers(padded, COMMON).start) else BAD_HEADER


class _Batch:
    """The bytes of a batch in one piece, with the bytes that waited, and its chunks."""

    def __init__(self, waiting: _Waiting, numbers: Ints, chunks: Any) -> None:
        offsets, payload = contents(chunks)
        before = len(waiting.data)
        ends = before + offsets[1:].astype(np.int64) - int(offsets[0])
        self.waiting = len(waiting.start)  # chunks that the last batch had
        # For each chunk: its number, the position of its bytes in the data, and their position in
        # the chunk.
        self.number: Ints = np.concatenate([waiting.chunk, numbers])
        self.end: Ints = np.concatenate([waiting.start[1:], [before] * (before > 0), ends])
        self.end = self.end.astype(np.int64)
        self.start: Ints = np.concatenate([np.zeros(1, dtype=np.int64), self.end[:-1]])
        self.start = self.start[: len(self.end)]
        self.offset: Ints = np.concatenate([waiting.offset, np.zeros(len(numbers), dtype=np.int64)])
        self.size = int(self.end[-1]) if len(self.end) else 0
        padding = np.zeros(PADDING, dtype=np.uint8)
        payload = payload[offsets[0] : offsets[-1]]
        self.data: Bytes = np.concatenate([waiting.data, payload, padding])

        self.headers = valid_headers(self.data, self.size)
        at = self.headers.start.searchsorted(self.start)
        there = at < len(self.headers.start)
        there[there] = self.headers.start[at[there]] == self.start[there]
        # For each chunk: the header that begins it (-1: none), and whether its 16 common bytes are
        # all in the chunk.
        self.first_header: Ints = np.where(there, at, -1)
        self.fresh: Bools = there & (self.end - self.start >= COMMON)
        self.fresh[: self.waiting] = False

    def records(self, which: Ints) -> Records:
        """Return the records with these headers."""
        start = self.headers.start[which]
        chunk = self.start.searchsorted(start, side="right") - 1
        return Records(
            data=self.data,
            start=start,
            header_size=self.headers.header_size[which],
            payload_size=self.headers.payload_size[which],
            chunk=self.number[chunk],
            offset=self.offset[chunk] + start - self.start[chunk],
            end_chunk=self.number[self.end.searchsorted(self.headers.end[which])],
            layout=np.full(len(start), -1, dtype=np.int64),
        )

    def waiting_from(self, start: int) -> _Waiting:
        """Return the bytes that wait for the next batch: all from `start` on."""
        if start == self.size:
            return NOTHING_WAITING
        first = int(self.end.searchsorted(start, side="right"))
        begin = np.maximum(self.start[first:], start)
        offset = self.offset[first:] + begin - self.start[first:]
        data = self.data[start : self.size].copy()
        return _Waiting(data, begin - start, self.number[first:], offset)


class _Walk:
    """Go through a batch from record to record.

    A run of consecutive records is one step, found for all records at once. Python takes a step at
    the end of a run: at a tail, and at bytes inside a payload that look like a header.
    """

    def __init__(
        self, batch: _Batch, buffer: bytearray, pending_is_stale: bool, lost: bool
    ) -> None:
        self.batch = batch
        self.buffer = buffer
        self.buffered = batch.waiting  # chunks that are in the buffer already
        self.lost = lost
        self.waiting_is_stale = pending_is_stale
        self.pending = batch.size
        self.pending_is_stale = False
        self.spans: list[Span] = []
        # Python's own numbers: a step looks at one chunk at a time.
        self.start: list[int] = batch.start.tolist()
        self.ends: list[int] = batch.end.tolist()
        self.fresh: list[bool] = batch.fresh.tolist()
        self.first_header: list[int] = batch.first_header.tolist()
        self._bytes = batch.data.tobytes()
        self._runs: list[tuple[int, int]] = []

        headers, end = batch.headers, batch.headers.end
        barriers = batch.start[batch.fresh]
        ahead = barriers.searchsorted(headers.start, side="right")
        limit = np.append(barriers, batch.size)[ahead]
        self.complete: Bools = end <= limit
        count = len(end)
        self.next: Ints = headers.start.searchsorted(end)
        beyond = self.next >= count
        self.next[beyond] = -1
        self.next[~beyond & (headers.start[self.next] != end)] = -1
        goes_on = self.complete & (self.next == np.arange(1, count + 1))
        stops = np.flatnonzero(~goes_on)
        self.run_end: Ints = stops[stops.searchsorted(np.arange(count))]
        self.end = end

    def accepted(self) -> Ints:
        """Return the indices of the headers that begin a complete record."""
        edges = np.zeros(len(self.end) + 1, dtype=np.int64)
        runs = np.array(self._runs, dtype=np.int64).reshape(-1, 2)
        np.add.at(edges, runs[:, 0], 1)
        np.add.at(edges, runs[:, 1], -1)
        return np.flatnonzero(np.cumsum(edges))

    def run(self) -> None:
        batch = self.batch
        chunk = 0
        position = 0
        header = self.first_header[0] if self.start else -1
        if self.lost:
            chunk = self._skip(0)
            position, header = self._at(chunk)
        while position < batch.size:
            if header >= 0:
                last = self.run_end.item(header)
                complete = self.complete.item(last)
                if last + complete > header:
                    self._runs.append((header, last + complete))
                if complete:
                    position, header = self.end.item(last), self.next.item(last)
                    continue
                position, header = batch.headers.start.item(last), last
            chunk = bisect_right(self.start, position) - 1
            after = self._continued(chunk, position, header >= 0)
            if after is None:
                self._wait(chunk, position)
                return
            if after == chunk + 1 and self._is_stale(chunk, position):
                self._add(STALE, chunk, position, after)
            else:
                self._lose(chunk, position, after)
                after = self._skip(after)
            position, header = self._at(after)

    def _at(self, chunk: int) -> tuple[int, int]:
        """Return the beginning of a chunk, and the header there (-1: none)."""
        if chunk == len(self.start):
            return self.batch.size, -1
        return self.start[chunk], self.first_header[chunk]

    def _continued(self, chunk: int, position: int, has_header: bool) -> int | None:
        """Return the first chunk that does not continue the tail at `position` of `chunk`.

        Returns None if more chunks are needed to tell.
        """
        after = chunk + 1
        while True:
            if not has_header and self.ends[after - 1] - position >= COMMON:
                # A chunk that completes the tail to 16 bytes that are not a header does not
                # continue it.
                return max(after - 1, chunk + 1)
            if after == len(self.start):
                return None
            if self.fresh[after]:
                return after
            after += 1

    def _wait(self, chunk: int, position: int) -> None:
        self.pending = position
        alone = chunk + 1 == len(self.start)
        self.pending_is_stale = alone and self._is_stale(chunk, position)

    def _skip(self, chunk: int) -> int:
        """Give up all chunks from `chunk` to before the next fresh one, which is returned."""
        while chunk < len(self.start) and not self.fresh[chunk]:
            self._lose(chunk, self.start[chunk], chunk + 1)
            chunk += 1
        self.lost = chunk == len(self.start)
        return chunk

    def _lose(self, chunk: int, position: int, after: int) -> None:
        end = self.ends[after - 1]
        head = self.batch.data[position : min(position + COMMON, end)]
        self._add(_reason(end - position, head), chunk, position, after)

    def _add(self, reason: str, chunk: int, position: int, after: int) -> None:
        batch, last = self.batch, after - 1
        end = self.ends[last]
        self.spans.append(
            Span(
                reason,
                int(batch.number[chunk]),
                int(batch.offset[chunk]) + position - self.start[chunk],
                int(batch.number[last]),
                int(batch.offset[last]) + end - self.start[last],
                end - position,
            )
        )

    def _is_stale(self, chunk: int, position: int) -> bool:
        """Say whether the tail of a chunk equals the earlier bytes of the reader's buffer there."""
        if chunk < self.batch.waiting:
            return self.waiting_is_stale
        begin, size = position - self.start[chunk], self.ends[chunk] - position
        if begin == 0:
            return False
        before = chunk - 1
        if before >= self.batch.waiting and self.ends[before] - self.start[before] >= begin + size:
            # The last read was as long, as it is if every read fills the whole buffer.
            held_from = self.start[before] + begin
            held = self._bytes[held_from : held_from + size]
        else:
            self.fill_buffer(chunk)
            held = bytes(self.buffer[begin : begin + size]).ljust(size, b"\0")
        return self._bytes[position : position + size] == held

    def fill_buffer(self, before: int) -> None:
        """Read all chunks before this one into the buffer."""
        length = (self.batch.end - self.batch.start)[self.buffered : before]
        # What a later chunk covers need not be read.
        covered = np.maximum.accumulate(np.append(length, 0)[::-1])[::-1][1:]
        for chunk in (np.flatnonzero(length > covered) + self.buffered).tolist():
            start, end = self.start[chunk], self.ends[chunk]
            self.buffer[: end - start] = self._bytes[start:end]
        self.buffered = max(self.buffered, before)
