"""Move bytes between numpy and Arrow without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.uint64]

# Arrow's binary arrays count their bytes in 32 bits; so no more is decoded at once.
MOST_BYTES = 2**31 - 1
GATHERED_TOGETHER = 2**24  # bytes, each of which then takes eight more


def windows(data: Bytes, start: Ints, size: int) -> Bytes:
    """Copy `size` bytes of `data` (n,) from each of `start` (m,) and return them as (m, size).

    Every window must be within `data`.
    """
    if size == 0 or not len(start):
        return np.zeros((len(start), size), dtype=np.uint8)
    view = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
    return view[start].view(np.uint8).reshape(len(start), size)


def validity(valid: Bools | None) -> Any:
    """Return the Arrow buffer of a validity bitmap; None if no value is null."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def fixed(type_: Any, values: npt.NDArray[Any], valid: Bools | None = None) -> Any:
    """Make an Arrow array of a type of fixed width from contiguous little-endian `values`."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(type_, len(values), [validity(valid), pa.py_buffer(values)])


def offsets_of(length: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return the Arrow offsets (m + 1,) of values with these lengths in bytes (m,).

    Raises ValueError if together they are longer than an Arrow array can hold.
    """
    offsets = np.zeros(len(length) + 1, dtype=np.int64)
    np.cumsum(length, out=offsets[1:])
    if offsets[-1] > MOST_BYTES:
        raise ValueError(f"{offsets[-1]} bytes in one column: decode smaller batches")
    return offsets.astype(np.int32)


def binary(offsets: npt.NDArray[np.int32], data: Any) -> Any:
    """Make an Arrow array of type binary, without nulls, of offsets (m + 1,) into bytes."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def ragged(data: Bytes, start: Ints, length: Ints) -> Any:
    """Copy `length` bytes of `data` from each of `start`, both (m,), into an Arrow binary array.

    The pieces must be within `data` and must not overlap. Raises ValueError if `data` is longer
    than an Arrow array can hold.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"{len(data)} bytes of records at once, and Arrow holds 2 GiB")
    count = len(start)
    order = None if count < 2 or (np.diff(start) >= 0).all() else np.argsort(start, kind="stable")
    # The pieces and the gaps between them are the values of one array: Arrow takes every other.
    edges = np.empty(2 * count, dtype=np.int32)
    edges[0::2] = start if order is None else start[order]
    edges[1::2] = edges[0::2] + (length if order is None else length[order])
    take = np.arange(0, 2 * count, 2, dtype=np.int32)
    if order is not None:
        take[order] = take.copy()
    if not count:
        return pa.array([], pa.binary())
    return binary(edges, data).take(pa.array(take))


def gathered(data: Bytes, start: Ints, length: Ints, padding: int) -> Bytes:
    """Copy `length` bytes of `data` from each of `start`, both (m,), one after the other.

    They are followed by `padding` zeros. As `ragged`, but for data of any length: data longer than
    an Arrow array can hold is copied in steps, more slowly.
    """
    end = np.cumsum(length)
    whole = np.zeros((int(end[-1]) if len(end) else 0) + padding, dtype=np.uint8)
    if len(data) <= MOST_BYTES:
        offsets, copied = contents(ragged(data, start, length))
        whole[: len(whole) - padding] = copied[: offsets[-1]]
        return whole
    steps = np.unique(np.searchsorted(end, np.arange(0, int(end[-1]), GATHERED_TOGETHER)))
    for first, last in zip(steps, [*steps[1:], len(end)], strict=True):
        begin = int(end[first] - length[first])
        shift = start[first:last] - (end[first:last] - length[first:last])
        places = np.arange(begin, int(end[last - 1])) + np.repeat(shift, length[first:last])
        whole[begin : int(end[last - 1])] = data[places]
    return whole


def serialized(batch: Any) -> Any:
    """Write an Arrow record batch down as an IPC stream, a buffer of Arrow, for `deserialized`."""

    def write(sink: Any) -> None:
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)

    # measured first: a buffer that grows is copied each time
    measured = pa.MockOutputStream()
    write(measured)
    written = pa.allocate_buffer(measured.size())
    write(pa.FixedSizeBufferWriter(written))
    return written


def deserialized(written: Any) -> Any:
    """Give the record batch that `serialized` wrote."""
    return pa.ipc.open_stream(written).read_next_batch()


def contents(array: Any) -> tuple[npt.NDArray[np.int32], Bytes]:
    """Return the offsets (m + 1,) and the bytes of an Arrow binary or string array."""
    buffers = array.buffers()
    end = array.offset + len(array) + 1
    if buffers[1] is None or not len(buffers[1]):
        return np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8)
    offsets = np.frombuffer(buffers[1], np.int32, count=end)[array.offset :]
    data = buffers[2] if buffers[2] is not None else b""
    return offsets, np.frombuffer(data, np.uint8)
