"""The GBase stream decoded in the plain way: one byte, row and record after the other.

It was written from the format's reference and is independent of the package, so the two check each
other. Nothing here is fast.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

SHORTEST = {1: 40, 2: 36, 3: 28, 62: 28, 119: 32, 200: 36, 201: 24, 202: 24}
SHORTEST |= dict.fromkeys((40, 41, 42, 43), 36)


class Bad(Exception):
    """Bytes that are not a valid value; the argument is the reason."""


# ------------------------------------------------------------------------------------------ writing


def record(number: int, fields: bytes, payload: bytes = b"") -> bytes:
    """Write a record whose header continues with `fields`."""
    return struct.pack(">4I", 16 + len(fields), len(payload), 66, number) + fields + payload


def begin(sequence: int, transaction: int, time: int = 1700000000, user: int = 2005) -> bytes:
    return record(1, struct.pack(">Qiqi", sequence, transaction, time, user))


def commit(sequence: int, transaction: int, time: int = 1700000001) -> bytes:
    return record(2, struct.pack(">Qiq", sequence, transaction, time))


def rollback(sequence: int, transaction: int) -> bytes:
    return record(3, struct.pack(">Qi", sequence, transaction))


def discard(sequence: int, transaction: int) -> bytes:
    return record(62, struct.pack(">Qi", sequence, transaction))


def truncate(sequence: int, transaction: int, table: int) -> bytes:
    return record(119, struct.pack(">Qii", sequence, transaction, table))


def row(
    number: int,
    sequence: int,
    transaction: int,
    table: int,
    payload: bytes,
    sizes: Sequence[int] = (),
    order: str = "<",
) -> bytes:
    array = struct.pack(f"{order}{len(sizes)}I", *sizes)
    return record(number, struct.pack(">Qiii", sequence, transaction, table, 0) + array, payload)


def schema(table: int, text: str, fixed_bytes: int, fixed: int, variable: int) -> bytes:
    fields = struct.pack(">5i", table, 0, fixed_bytes, fixed, variable)
    return record(200, fields, text.encode() + b"\0")


# ------------------------------------------------------------------------------------------ framing


class Place(NamedTuple):
    """Bytes from `offset` in chunk `chunk` to before `end_offset` in chunk `end_chunk`."""

    chunk: int
    offset: int
    end_chunk: int
    end_offset: int


@dataclass
class Frames:
    """The contents of a list of chunks."""

    records: list[tuple[bytes, Place]] = field(default_factory=list)
    repeats: list[tuple[bytes, Place]] = field(default_factory=list)
    spans: list[tuple[str, Place]] = field(default_factory=list)


def is_header(head: bytes) -> bool:
    if len(head) < 16:
        return False
    header, payload, scheme, number = struct.unpack(">4I", head[:16])
    sizes_fit: bool = SHORTEST.get(number, 16) <= header <= 65536 and payload <= 16 * 1024 * 1024
    return sizes_fit and scheme == 66 and 1 <= number <= 999


def record_size(head: bytes) -> int:
    return sum(struct.unpack(">2I", head[:8]))


def frame(chunks: Sequence[bytes]) -> Frames:
    """Frame the chunks 0, 1, ... of a capture, none of them empty."""
    frames = Frames()
    fresh = [is_header(chunk) for chunk in chunks]
    held = bytearray()  # the reader's buffer before the current chunk
    seen: set[bytes] = set()
    index, offset = 0, 0  # a record boundary
    ended_here = False  # a record ended in chunk `index`
    while index < len(chunks):
        rest = chunks[index][offset:]
        if not rest:
            held[: len(chunks[index])] = chunks[index]
            index, offset, ended_here = index + 1, 0, False
            continue
        # Join chunks until a record is complete or no further chunk continues this one.
        joined, last = rest, index
        while not (is_header(joined) and len(joined) >= record_size(joined)):
            nothing = last + 1 == len(chunks) or fresh[last + 1]
            longer = b"" if nothing else joined + chunks[last + 1]
            if nothing or (len(longer) >= 16 and not is_header(longer)):
                break
            joined, last = longer, last + 1
        if is_header(joined) and len(joined) >= record_size(joined):
            size = record_size(joined)
            end = len(chunks[last]) - (len(joined) - size)
            raw, place = joined[:size], Place(index, offset, last, end)
            if raw in seen and struct.unpack(">I", raw[12:16])[0] not in (200, 201):
                frames.repeats.append((raw, place))
            else:
                frames.records.append((raw, place))
            seen.add(raw)
            for passed in range(index, last):
                held[: len(chunks[passed])] = chunks[passed]
            index, offset, ended_here = last, end, True
            continue
        place = Place(index, offset, last, len(chunks[last]))
        was = bytes(held[offset : len(chunks[index])]).ljust(len(rest), b"\0")
        stale = last == index and ended_here and rest == was
        for passed in range(index, last + 1):
            held[: len(chunks[passed])] = chunks[passed]
        index, offset, ended_here = last + 1, 0, False
        if stale:
            frames.spans.append(("stale", place))
            continue
        short = is_header(joined) or len(joined) < 16
        frames.spans.append(("truncated_record" if short else "bad_header", place))
        while index < len(chunks) and not fresh[index]:
            chunk = chunks[index]
            reason = "truncated_record" if len(chunk) < 16 else "bad_header"
            frames.spans.append((reason, Place(index, 0, index, len(chunk))))
            held[: len(chunk)] = chunk
            index += 1
    return frames


# ------------------------------------------------------------------------------------------- values

FIELDS = ["year", "month", "day", "hour", "minute", "second", "fraction"]
INTEGERS = {"smallint": ">h", "integer": ">i", "serial": ">i", "bigint": ">q", "bigserial": ">q"}
FLOATS = {"smallfloat": ">f", "real": ">f", "float": ">d", "double precision": ">d"}


def number_of(raw: bytes) -> Fraction | None:
    """Give the value of a packed number."""
    head, digits = raw[0], list(raw[1:])
    if head == 0:
        if any(digits):
            raise Bad("bad_value")
        return None
    if max(digits, default=0) > 99:
        raise Bad("bad_value")
    negative = head < 0x80
    if negative:
        head ^= 0xFF
        last = max((place for place, digit in enumerate(digits) if digit), default=-1)
        digits = [
            99 - digit if place < last else 100 - digit if place == last else 0
            for place, digit in enumerate(digits)
        ]
    exponent = (head & 0x7F) - 64
    value = sum(
        (digit * Fraction(100) ** (exponent - 1 - place) for place, digit in enumerate(digits)),
        Fraction(0),
    )
    return -value if negative else value


def exact(value: Fraction) -> int:
    if value.denominator != 1:
        raise Bad("bad_value")
    return value.numerator


def plain(value: Fraction) -> str:
    """Write a number with a finite number of digits, if there are not too many."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    unscaled = (value * 10**digits).numerator
    sign, text = "-" if unscaled < 0 else "", str(abs(unscaled)).zfill(digits + 1)
    return sign + text[: len(text) - digits] + ("." + text[-digits:] if digits else "")


def time_text(match: re.Match[str], raw: bytes) -> str | None:
    """Write a DATETIME or INTERVAL."""
    value = number_of(raw)
    if value is None:
        return None
    interval, first, last = match["kind"] == "interval", match["first"], match["last"]
    fraction = int(match["fraction"] or 3) if last == "fraction" else 0
    digits = int(match["digits"] or (4 if first == "year" else 2))
    if value < 0 and not interval:
        raise Bad("bad_value")
    size = abs(value)
    whole = size.numerator // size.denominator
    part = exact((size - whole) * 10**fraction)
    numbers: dict[str, int] = {}
    for name in ("second", "minute", "hour", "day", "month", "year"):
        if name == first:
            numbers[name], whole = whole, 0
        else:
            whole, numbers[name] = divmod(whole, 100)
    wanted = FIELDS[FIELDS.index(first) : FIELDS.index(last) + 1]
    if whole or any(number for name, number in numbers.items() if name not in wanted):
        raise Bad("bad_value")
    text = ""
    for name in wanted:
        if name == "fraction":
            text += "0" * (name == first and interval) + "." + str(part).zfill(fraction)
            continue
        between = {"month": "-", "day": "-", "hour": " ", "minute": ":", "second": ":"}
        if name == first:
            pairs = (digits + 1) // 2
            if numbers[name] >= 100**pairs:
                raise Bad("bad_value")
            width = 1 if interval else 2 * pairs
        else:
            text, width = text + between[name], 2
        text += str(numbers[name]).zfill(width)
    return ("-" if value < 0 else "") + text


TIME = re.compile(
    r"(?P<kind>datetime|interval) (?P<first>\w+)(\((?P<digits>\d)\))?"
    r" to (?P<last>[a-z]+)(\((?P<fraction>\d)\))?"
)


def text_of(raw: bytes, encoding: str) -> str:
    try:
        text = raw.decode(encoding)
        text.encode()
    except UnicodeError:
        raise Bad("bad_text") from None
    return text


def value_of(type_text: str, raw: bytes, encoding: str = "utf-8") -> Any:
    """Give the value of a column, as Python has it; raises Bad."""
    name = type_text.partition("(")[0]
    arguments = [int(text) for text in re.findall(r"\d+", type_text)]
    if match := TIME.fullmatch(type_text):
        return time_text(match, raw)
    if name in INTEGERS:
        (integer,) = struct.unpack(INTEGERS[name], raw)
        return None if raw == b"\x80" + bytes(len(raw) - 1) else integer
    if name in FLOATS:
        return None if set(raw) == {255} else struct.unpack(FLOATS[name], raw)[0]
    if name in ("int8", "serial8"):
        sign, low, high = struct.unpack(">hII", raw)
        if sign not in (-1, 0, 1) or (sign and high >= 2**31):
            raise Bad("bad_value")
        return sign * (high << 32 | low) if sign else None
    if name in ("decimal", "money") and (len(arguments) > 1 or name == "money"):
        scale = arguments[1] if len(arguments) > 1 else 2
        value = number_of(raw)
        if value is None:
            return None
        unscaled = exact(value * 10**scale)
        if abs(value) >= 100 ** (18 - (scale + 1) // 2):  # the precision of an Arrow decimal
            raise Bad("bad_value")
        return Decimal(f"{unscaled}e-{scale}")
    if name == "decimal":
        value = number_of(raw)
        return None if value is None else plain(value)
    if name == "date":
        (days,) = struct.unpack(">i", raw)
        try:
            return None if days == -(2**31) else date(1899, 12, 31) + timedelta(days)
        except OverflowError:
            raise Bad("bad_value") from None
    if name == "boolean":
        if raw[0] > 1 or (raw[0] == 0 and raw[1] > 1):
            raise Bad("bad_value")
        return None if raw[0] else bool(raw[1])
    if name in ("char", "nchar"):
        return None if raw[0] == 0 else text_of(raw, encoding)
    if name in ("varchar", "nvarchar"):
        if raw and raw[0] == len(raw) - 1:
            text = raw[1:]
        elif len(raw) > 1 and raw[0] << 8 | raw[1] == len(raw) - 2:
            text = raw[2:]
        else:
            raise Bad("bad_value")
        return None if text == b"\0" else text_of(text, encoding)
    assert name == "lvarchar"
    if len(raw) < 3 or raw[0] << 8 | raw[1] != len(raw) - 2 or raw[2] > 1:
        raise Bad("bad_value")
    return None if raw[2] else text_of(raw[3:], encoding)


def sizes_of(array: bytes, left: int) -> list[int]:
    """Read a size array whose sizes add up to `left` bytes; raises Bad."""
    count = len(array) // 4
    fitting = [
        sizes
        for order in "><"
        if sum(sizes := list(struct.unpack(f"{order}{count}I", array))) == left
    ]
    if not fitting:
        raise Bad("bad_var_sizes")
    return fitting[0]


# ------------------------------------------------------------------------------------- transactions


class Fields(NamedTuple):
    """The fields of a record that make up transactions."""

    number: int
    sequence: int
    transaction: int
    table: int


class Change(NamedTuple):
    """The indices of a committed record, its BEGINTX, COMMTX and partner (-1: none)."""

    place: int
    begin: int
    commit: int
    partner: int


def settle(
    records: Sequence[Fields],
) -> tuple[list[Change], list[tuple[str, int]]]:
    """Follow the transactions; give changes by commit, and why records are in quarantine."""
    open_: dict[int, tuple[int, list[int]]] = {}
    changes: list[Change] = []
    refused: list[tuple[str, int]] = []
    for index, (number, sequence, transaction, _) in enumerate(records):
        if number == 1:
            beginning, rows = open_.get(transaction, (-1, []))
            if beginning >= 0 and records[beginning].sequence == sequence:
                continue  # the same record again does not begin a second transaction
            refused += [("unfinished_transaction", one) for one in rows]
            open_[transaction] = (index, [])
        elif number in (2, 3):
            beginning, rows = open_.pop(transaction, (-1, []))
            if number == 2 and beginning >= 0:
                changes += pairs(records, rows, beginning, index)
        elif number == 62 and transaction in open_:
            rows = open_[transaction][1]
            rows[:] = [one for one in rows if records[one].sequence < sequence]
        elif number in (40, 41, 42, 43, 119):
            if transaction in open_:
                open_[transaction][1].append(index)
            else:
                refused.append(("no_begin", index))
    return changes, refused


def pairs(
    records: Sequence[Fields], rows: Iterable[int], beginning: int, end: int
) -> Iterable[Change]:
    """Find the partner of each before and after image of one transaction."""
    rows = list(rows)
    partner = dict.fromkeys(rows, -1)
    last: dict[int, int] = {}
    for one in rows:
        before = last.get(records[one].table, -1)
        if records[one].number == 43 and before >= 0 and records[before].number == 42:
            partner[one], partner[before] = before, one
        last[records[one].table] = one
    return [Change(one, beginning, end, partner[one]) for one in rows]
