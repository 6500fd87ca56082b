"""The records of the capture stream: their numbers, headers and fields.

"Change Data Capture API Programmer's Guide" (Informix, OneDB), chapter on the format of records.
All integers are big-endian, without padding; only the size array of a row may be little-endian.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import (
    Bools,
    Bytes,
    Ints,
    Unsigned,
    binary,
    contents,
    deserialized,
    gathered,
    ragged,
    serialized,
    windows,
)

BEGINTX, COMMTX, RBTX = 1, 2, 3
INSERT, DELETE, UPDBEF, UPDAFT = 40, 41, 42, 43
DISCARD, TRUNCATE = 62, 119
TABSCHEM, TIMEOUT, ERROR = 200, 201, 202

# Record number -> its name and the bytes of its header, at least; v size entries not counted.
RECORDS = {
    BEGINTX: ("BEGINTX", 40),
    COMMTX: ("COMMTX", 36),
    RBTX: ("RBTX", 28),
    INSERT: ("INSERT", 36),
    DELETE: ("DELETE", 36),
    UPDBEF: ("UPDBEF", 36),
    UPDAFT: ("UPDAFT", 36),
    DISCARD: ("DISCARD", 28),
    TRUNCATE: ("TRUNCATE", 32),
    TABSCHEM: ("TABSCHEM", 36),
    TIMEOUT: ("TIMEOUT", 24),
    ERROR: ("ERROR", 24),
}
ROWS = (INSERT, DELETE, UPDBEF, UPDAFT)

SCHEME = 66
COMMON = 16  # bytes that every header begins with
LAST_NUMBER = 999
LONGEST_HEADER = 65536
LONGEST_PAYLOAD = 16 * 1024 * 1024
HASHED_TOGETHER = 512  # bytes of each record
SIZES_AT = 36  # offset of the size array in the header of a row

SHORTEST_HEADER = np.full(LAST_NUMBER + 1, COMMON, dtype=np.int64)
for _number, (_, _shortest) in RECORDS.items():
    SHORTEST_HEADER[_number] = _shortest


# The server may say these again.
REPEATABLE = (TABSCHEM, TIMEOUT)


def is_one_of(number: npt.NDArray[Any], numbers: Iterable[int]) -> Bools:
    """Say which record numbers (n,), all valid, are among some."""
    chosen = np.zeros(LAST_NUMBER + 1, dtype=np.bool_)
    chosen[list(numbers)] = True
    found: Bools = chosen[number.astype(np.int32)]
    return found


# Name, type and offset. In a record that has no such field other bytes are read: ask the number.
_FIELDS = [
    ("number", ">i4", 12),
    ("sequence", ">u8", 16),
    ("transaction", ">i4", 24),
    ("table", ">i4", 28),
    ("time", ">i8", 28),
    ("user", ">i4", 36),
    ("schema_table", ">i4", 16),
    ("fixed_bytes", ">i4", 24),
    ("fixed_columns", ">i4", 28),
    ("variable_columns", ">i4", 32),
    ("error_code", ">i4", 20),
]
_HEADER = np.dtype(
    {
        "names": [name for name, _, _ in _FIELDS],
        "formats": [stored for _, stored, _ in _FIELDS],
        "offsets": [offset for _, _, offset in _FIELDS],
        "itemsize": 40,
    }
)
# A window on a header may reach beyond the shortest header: so many bytes follow all data.
PADDING = _HEADER.itemsize


@dataclass(frozen=True)
class Records:
    """n records of one capture, in stream order, as arrays of one element each.

    `data` (uint8) holds their bytes and at least `PADDING` bytes more; everything else is (n,).
    """

    data: Bytes
    start: Ints  # beginning of the header in `data`
    header_size: Ints  # bytes before the payload
    payload_size: Ints  # bytes
    chunk: Ints  # number of the chunk in which it begins ...
    offset: Ints  # ... and where in it
    end_chunk: Ints  # number of the chunk in which it ends
    layout: Ints  # which description of its table holds for it; -1 while that is not looked up

    def __len__(self) -> int:
        return len(self.start)

    @property
    def length(self) -> Ints:
        """Bytes of each whole record."""
        return self.header_size + self.payload_size

    @cached_property
    def header(self) -> npt.NDArray[Any]:
        """The fields of the headers: a structured array (n,), fields big-endian."""
        return windows(self.data, self.start, PADDING).view(_HEADER)[:, 0]

    def take(self, which: Ints | Bools) -> Records:
        """Return some of the records, by index or by mask, over the same data."""
        if which.dtype == np.bool_ and which.all():
            return self
        arrays = {name: getattr(self, name)[which] for name in _ARRAYS}
        return replace(self, **arrays)

    def compact(self) -> Records:
        """Return the same records over a copy of their own bytes alone."""
        data = gathered(self.data, self.start, self.length, PADDING)
        return replace(self, data=data, start=np.cumsum(self.length) - self.length)

    def raw(self, index: int) -> bytes:
        """Return the bytes of one record."""
        start = self.start[index]
        return self.data[start : start + self.length[index]].tobytes()

    def payloads(self) -> Iterator[bytes]:
        """Give the payload of each record."""
        for start, size in zip(self.start + self.header_size, self.payload_size, strict=True):
            yield self.data[start : start + size].tobytes()


def packed(records: Records) -> Any:
    """Write records down, without their layouts, for `unpacked`: one value of an Arrow array."""
    columns = {
        "record": ragged(records.data, records.start, records.length),
        "chunk": pa.array(records.chunk),
        "offset": pa.array(records.offset),
        "end_chunk": pa.array(records.end_chunk),
    }
    written = serialized(pa.RecordBatch.from_pydict(columns))
    return binary(np.array([0, written.size], dtype=np.int32), written)


def unpacked(written: Any) -> Records:
    """Give the records that `packed` wrote, from a buffer of Arrow."""
    batch = deserialized(written)
    offsets, data = contents(batch.column("record"))
    padded = np.zeros(int(offsets[-1]) + PADDING, dtype=np.uint8)
    padded[:-PADDING] = data[: int(offsets[-1])]
    start = offsets[:-1].astype(np.int64)
    sizes = windows(padded, start, 8).view(">u4").astype(np.int64)
    return Records(
        data=padded,
        start=start,
        header_size=sizes[:, 0],
        payload_size=sizes[:, 1],
        chunk=batch.column("chunk").to_numpy(),
        offset=batch.column("offset").to_numpy(),
        end_chunk=batch.column("end_chunk").to_numpy(),
        layout=np.full(len(start), -1, dtype=np.int64),
    )


def hashes_of(records: Records) -> Ints:
    """Hash the bytes of each record (n,) to 64 bits, the same in every process."""
    start, length = records.start, records.length
    hashes = length.astype(np.uint64)
    # Eight bytes of all records at a time; the last eight of a record end where it ends.
    which, mixed = np.arange(len(records)), hashes
    for at in range(0, HASHED_TOGETHER, 8):
        words = windows(records.data, start + np.minimum(at, length - 8), 8).view("<u8")[:, 0]
        mixed = _mixed(mixed ^ words)
        go_on = length > at + 8
        if not go_on.all():
            hashes[which] = mixed
            which, mixed = which[go_on], mixed[go_on]
            start, length = start[go_on], length[go_on]
    hashes[which] = mixed
    for index in which.tolist():
        hashes[index] ^= np.uint64(zlib.crc32(records.raw(index)))
    return hashes.view(np.int64)


def _mixed(numbers: Unsigned) -> Unsigned:
    """Let every bit of each number (n,) decide about all, as the last steps of SplitMix64 do."""
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    numbers *= np.uint64(0x94D049BB133111EB)
    numbers ^= numbers >> np.uint64(31)
    return numbers


_ARRAYS = tuple(field.name for field in fields(Records) if field.name != "data")


def no_records() -> Records:
    """Return no record at all."""
    nothing = np.zeros(0, dtype=np.int64)
    return Records(np.zeros(PADDING, dtype=np.uint8), *[nothing] * len(_ARRAYS))


def concatenate(parts: Sequence[Records]) -> Records:
    """Put records together, in the order of the parts; the bytes of several parts are copied."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return no_records()
    bases = np.cumsum([0] + [len(part.data) for part in parts[:-1]])
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    arrays["start"] += np.repeat(bases, [len(part) for part in parts])
    return Records(np.concatenate([part.data for part in parts]), **arrays)
