"""Columns of GBase rows: the decoder of whole columns against the plain one, type by type."""

from __future__ import annotations

import math
import struct
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_cdc_udfs.gbase import Capture, SchemaError, decode_rows, parse_layout, parse_type
from spark_cdc_udfs.gbase.records import PADDING, Records
from spark_cdc_udfs.gbase.rows import ROW_REASONS
from spark_cdc_udfs.gbase.values import as_text, decode_fixed, differs

from formats.gbase_capture.reference import Bad, record, sizes_of, value_of

FIXED = ["smallint", "integer", "serial", "bigint", "bigserial", "int8", "serial8"]
FIXED += ["smallfloat", "real", "float", "date", "boolean"]
FIXED += ["double precision", "char(1)", "char(7)", "nchar(4)"]
FIXED += [
    "decimal(6,2)",
    "decimal(5,2)",
    "decimal(7,3)",
    "decimal(1,0)",
    "decimal(3,3)",
    "decimal(18,4)",
    "decimal(19,5)",
    "decimal(32,10)",
    "decimal(32,0)",
    "decimal(32,32)",
    "decimal(32,31)",
    "money(16,2)",
    "decimal(1)",
    "decimal(10)",
    "decimal(16)",
    "decimal(32)",
]
FIXED += [
    "datetime year to fraction(5)",
    "datetime year to second",
    "datetime year to day",
    "datetime year to year",
    "datetime month to day",
    "datetime day to hour",
    "datetime hour to minute",
    "datetime hour to fraction(3)",
    "datetime second to second",
    "datetime fraction to fraction(3)",
    "interval year(4) to month",
    "interval year to year",
    "interval month(3) to month",
    "interval day(3) to second",
    "interval day(9) to fraction(5)",
    "interval hour(5) to minute",
    "interval hour to second",
    "interval minute(1) to second",
    "interval second(2) to fraction(5)",
    "interval fraction to fraction(2)",
]
VARIABLE = ["varchar(20,0)", "nvarchar(255)", "lvarchar(2000)"]
ENCODINGS = ["utf-8", "gb18030", "gbk", "latin-1", "big5", "cp037", "utf-16-le", "iso2022_jp"]


def raw_values(type_text: str, encoding: str) -> st.SearchStrategy[bytes]:
    """Draw the bytes of values: good ones, almost good ones and any."""
    type_ = parse_type(type_text)
    size = type_.size
    texts = st.text(max_size=12).map(lambda text: text.encode(encoding, "ignore"))
    texts |= st.binary(max_size=8) | st.sampled_from([b"", b"\0", b"a\0", b"\0a"])
    if size is None:
        one = texts.map(lambda text: bytes([len(text)]) + text)
        two = texts.map(lambda text: struct.pack(">H", len(text)) + text)
        flagged = st.tuples(texts, st.sampled_from([0, 0, 0, 1, 2])).map(
            lambda given: struct.pack(">HB", len(given[0]) + 1, given[1]) + given[0]
        )
        return st.binary(max_size=5) | (flagged if type_.kind == "lvarchar" else one | two)
    any_ = st.binary(min_size=size, max_size=size)
    if type_.kind in ("decimal", "floating", "datetime", "interval"):
        near = st.integers(0xC0 - 3, 0xC0 + 9) | st.integers(0x3F - 9, 0x3F + 3)
        head = near | near | st.sampled_from([0, 0x80, 0x7F, 1, 0xFF])
        digit = st.integers(0, 99) | st.sampled_from([0, 99])
        digits = st.lists(digit, min_size=size - 1, max_size=size - 1).map(bytes)
        # Now and then a number that is too large.
        digits |= digits.map(lambda some: some[:-1] + b"\x64")
        return st.builds(lambda first, some: bytes([first]) + some, head, digits) | any_
    if type_.kind == "char":
        return any_ | texts.map(lambda text: text[:size].ljust(size))
    if type_.kind == "boolean":
        return st.binary(min_size=2, max_size=2) | st.tuples(
            st.integers(0, 2), st.integers(0, 2)
        ).map(bytes)
    if type_.kind == "int8":
        signs = st.sampled_from([-1, 0, 1, 2])
        words = st.integers(0, 2**32 - 1)
        return st.tuples(signs, words, words).map(lambda given: struct.pack(">hII", *given))
    if type_.kind == "date":
        return any_ | st.integers(-800000, 3000000).map(lambda days: struct.pack(">i", days))
    return any_ | st.sampled_from([b"\x80", b"\xff"]).map(
        lambda first: first + (b"\0" if first == b"\x80" else b"\xff") * (size - 1)
    )


def records_of(raws: list[bytes]) -> Records:
    """Put records together, as the framer would."""
    data = np.frombuffer(b"".join(raws) + bytes(PADDING), np.uint8)
    lengths = np.array([len(raw) for raw in raws], dtype=np.int64)
    head = [struct.unpack(">2I", raw[:8]) for raw in raws]
    zeros = np.zeros(len(raws), dtype=np.int64)
    return Records(
        data=data,
        start=np.cumsum(lengths) - lengths,
        header_size=np.array([one for one, _ in head], dtype=np.int64),
        payload_size=np.array([one for _, one in head], dtype=np.int64),
        chunk=zeros,
        offset=zeros,
        end_chunk=zeros,
        layout=zeros,
    )


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack(">d", one) == struct.pack(">d", other) or (
            math.isnan(one) and math.isnan(other)
        )
    return type(one) is type(other) and bool(one == other)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[str], str, list[tuple[list[bytes], str]]]:
    """Draw types of fixed and variable columns, a character set, and rows: values and order."""
    fixed = draw(st.lists(st.sampled_from(FIXED), max_size=3))
    variable = draw(st.lists(st.sampled_from(VARIABLE), min_size=not fixed, max_size=2))
    encoding = draw(st.sampled_from(ENCODINGS))
    values = st.tuples(*[raw_values(text, encoding) for text in fixed + variable]).map(list)
    rows = st.lists(st.tuples(values, st.sampled_from("><")), min_size=1, max_size=12)
    return fixed, variable, encoding, draw(rows)


@given(tables(), st.data())
@settings(max_examples=120, deadline=None)
def test_columns_are_decoded_as_values_are(
    table: tuple[list[str], list[str], str, list[tuple[list[bytes], str]]], data: st.DataObject
) -> None:
    """Any rows, of any types and order, give the values and faults that the plain decoder finds."""
    fixed, variable, encoding, rows = table
    check_rows(fixed, variable, encoding, rows, data)


@pytest.mark.parametrize("type_text", FIXED + VARIABLE)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_each_type(type_text: str, data: st.DataObject) -> None:
    """A table of one column, for every type."""
    encoding = data.draw(st.sampled_from(ENCODINGS))
    values = raw_values(type_text, encoding).map(lambda raw: [raw])
    rows = data.draw(st.lists(st.tuples(values, st.sampled_from("><")), min_size=1, max_size=30))
    is_fixed = parse_type(type_text).size is not None
    check_rows([type_text] * is_fixed, [type_text] * (not is_fixed), encoding, rows, data)


def days(to: date) -> int:
    """Days since the day from which dates are counted."""
    return (to - date(1899, 12, 31)).days


@pytest.mark.parametrize(
    ("type_text", "raw", "value"),
    [
        ("int8", struct.pack(">hII", 1, 2**32 - 1, 2**31 - 1), 2**63 - 1),
        ("int8", struct.pack(">hII", -1, 2**32 - 1, 2**31 - 1), 1 - 2**63),
        ("int8", struct.pack(">hII", 1, 0, 2**31), None),
        ("int8", struct.pack(">hII", -1, 0, 2**31), None),
        ("date", struct.pack(">i", days(date.max)), date.max),
        ("date", struct.pack(">i", days(date.max) + 1), None),
        ("date", struct.pack(">i", days(date.min)), date.min),
        ("date", struct.pack(">i", days(date.min) - 1), None),
    ],
)
def test_the_first_and_the_last_value(type_text: str, raw: bytes, value: Any) -> None:
    """The first value beyond them is bad."""
    bytes_of_one = np.frombuffer(raw, np.uint8).reshape(1, -1)
    decoded = decode_fixed(parse_type(type_text), bytes_of_one, "utf-8")
    assert decoded.bad_value.tolist() == [value is None]
    assert value is None or decoded.values.to_pylist() == [value]


def check_rows(
    fixed: list[str],
    variable: list[str],
    encoding: str,
    rows: list[tuple[list[bytes], str]],
    data: st.DataObject,
) -> None:
    types = fixed + variable
    text = ", ".join(f"c{index} {type_text}" for index, type_text in enumerate(types)).encode()
    fixed_bytes = sum(parse_type(type_text).size or 0 for type_text in fixed)
    layout = parse_layout(text + b"\0", fixed_bytes, len(fixed), len(variable))
    raws: list[bytes] = []
    expected: list[tuple[str, list[Any]]] = []
    for values, byte_order in rows:
        sizes = [len(value) for value in values[len(fixed) :]]
        lie = data.draw(st.sampled_from([0] * 9 + [1]))
        array = struct.pack(f"{byte_order}{len(sizes)}I", *sizes)
        raws.append(record(40, bytes(20) + array, b"".join(values) + bytes(lie)))
        try:
            left = len(b"".join(values)) + lie - fixed_bytes
            ends = np.cumsum([0, *sizes_of(array, left)])
            rest = b"".join(values[len(fixed) :])
            cut = [rest[start:end] for start, end in pairwise(ends)]
            if lie and not variable:
                raise Bad("bad_var_sizes")
        except Bad as error:
            expected.append((str(error), [None] * len(types)))
            continue
        reasons: list[str] = []
        row: list[Any] = []
        for type_text, raw in zip(types, values[: len(fixed)] + cut, strict=True):
            try:
                row.append(value_of(type_text, raw, encoding))
            except Bad as error:
                row.append(None)
                reasons.append(str(error))
        expected.append((reasons[0], [None] * len(types)) if reasons else ("", row))
    order = data.draw(st.permutations(range(len(raws))))
    records = records_of(raws).take(np.array(order))
    decoded = decode_rows(layout, records, encoding=encoding)
    columns = [values.to_pylist() for values in decoded.columns.values()]
    for place, index in enumerate(order):
        reason, row = expected[index]
        assert ROW_REASONS[decoded.reason[place]] == reason
        found = [column[place] for column in columns]
        assert all(map(same, found, row)), (types, raws[index].hex(), found, row)


def test_values_as_text() -> None:
    """Decimals are written in full, however small."""
    layout = parse_layout(b"d decimal(12,10), e decimal(4,0)\0", 7 + 3, 2, 0)
    raws = [bytes.fromhex(text) for text in ("bd010000000000c20c22", "3f6300000000003d5741")]
    rows = decode_rows(layout, records_of([record(40, bytes(20), raw) for raw in raws]))
    texts = [as_text(values).to_pylist() for values in rows.columns.values()]
    assert texts == [["0.0000000100", "-0.0100000000"], ["1234", "-1235"]]


def test_only_requested_columns_are_read() -> None:
    """A bad value in a column that is not requested is ignored; CHAR is trimmed on request."""
    layout = parse_layout(b"a boolean, b char(4), p blob\0", 82, 3, 0)
    records = records_of([record(40, bytes(20), b"\2\2ab  " + bytes(range(76)))])
    rows = decode_rows(layout, records, ["b"], rtrim_char=True)
    assert rows.reason.tolist() == [0]
    assert {name: values.to_pylist() for name, values in rows.columns.items()} == {"b": ["ab"]}
    rows = decode_rows(layout, records)
    assert (rows.reason.tolist(), rows.column.tolist()) == ([ROW_REASONS.index("bad_value")], [0])
    assert list(rows.columns) == ["a", "b"]
    rows = decode_rows(layout, records, ["p"])
    assert rows.columns["p"].to_pylist() == [bytes(range(76))]


def test_header_too_short_for_its_sizes() -> None:
    """A size array that is longer than the rest of the row."""
    text = ", ".join(f"c{index} varchar(9)" for index in range(1000))
    layout = parse_layout(text.encode(), 0, 0, 1000)
    rows = decode_rows(layout, records_of([record(40, bytes(20))]))
    assert rows.reason.tolist() == [ROW_REASONS.index("bad_var_sizes")]
    assert rows.columns["c999"].to_pylist() == [None]


@pytest.mark.parametrize("head", [0x7F, 0x80])
def test_decimals_of_the_smallest_exponent(head: int) -> None:
    """The first byte says the sign: 0x80 is positive, 0x7F is negative."""
    stored = bytes([head, 5, *bytes(8)])
    layout = parse_layout(b"d decimal(16)\0", 10, 1, 0)
    rows = decode_rows(layout, records_of([record(40, bytes(20), stored)]))
    assert rows.reason.tolist() == [0]
    (value,) = rows.columns["d"].to_pylist()
    assert value == value_of("decimal(16)", stored)
    assert value.startswith("-") == (head == 0x7F)


def test_wide_decimals() -> None:
    """Numbers at the edges of the two halves of an Arrow decimal."""
    layout = parse_layout(b"d decimal(32,0)\0", 17, 1, 0)
    numbers = [0, 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 7 * 2**64, 10**18, 10**32 - 1]
    numbers += [-number for number in numbers]
    raws = []
    for number in numbers:
        pairs = bytes.fromhex("".join(f"{int(two):02x}" for two in pairs_of(abs(number))))
        stored = b"\xd0" + pairs
        if number < 0:
            last = len(pairs.rstrip(b"\0"))
            turned = [99 - pair for pair in pairs[:last]]
            turned[-1] += 1
            stored = b"\x2f" + bytes(turned).ljust(16, b"\0")
        raws.append(record(40, bytes(20), stored))
    rows = decode_rows(layout, records_of(raws))
    assert [int(value) for value in rows.columns["d"].to_pylist()] == numbers


def pairs_of(number: int) -> list[str]:
    text = str(number).zfill(32)
    return [text[at : at + 2] for at in range(0, 32, 2)]


@pytest.mark.parametrize(
    ("text", "fixed_bytes", "fixed", "variable", "reason"),
    [
        ("a integer", 5, 1, 0, "bad_schema"),
        ("a integer", 4, 2, 0, "bad_schema"),
        ("a integer", 4, 0, 1, "bad_schema"),
        ("a integer, b varchar(9)", 4, 2, 0, "bad_schema"),
        ("a varchar(9), b integer", 4, 1, 1, "bad_schema"),
        ("a integer", 4, -1, 2, "bad_schema"),
        ("a", 4, 1, 0, "bad_schema"),
        ("", 0, 0, 0, "bad_schema"),
        ("a integer, A integer", 8, 2, 0, "bad_schema"),
        ("a integer, x raw(6)", 4, 2, 0, "bad_schema"),
        ("a integer, x raw(6)", 3, 2, 0, "bad_schema"),
        ("x raw(6), y clob2", 30, 2, 0, "unsupported_type"),
        ("\xff", 4, 1, 0, "bad_schema"),
        ("a integer," * 70000, 4, 1, 0, "bad_schema"),
    ],
)
def test_schema_that_does_not_add_up(
    text: str, fixed_bytes: int, fixed: int, variable: int, reason: str
) -> None:
    """An invalid description is rejected, and the type at fault is named."""
    with pytest.raises(SchemaError) as caught:
        parse_layout(text.encode("latin-1") + b"\0", fixed_bytes, fixed, variable)
    assert caught.value.reason == reason
    if reason == "unsupported_type":
        assert "x raw(6)" in caught.value.detail


def test_layout() -> None:
    """Commas in parentheses or in a delimited name do not cut; the name loses its quotes.

    One unknown fixed column takes the bytes that the others leave.
    """
    payload = (
        b'a decimal(10,2),x raw(6) , c  DATETIME YEAR TO\tDAY,"q, (""r" money, v bson,w lvarchar\0'
    )
    layout = parse_layout(payload, 6 + 9 + 5 + 9, 4, 2)
    assert [column.name for column in layout.columns] == ["a", "x", "c", 'q, ("r', "v", "w"]
    assert layout.offsets == (0, 6, 15, 20)
    known = [column.type.is_known for column in layout.columns]
    assert known == [True, False, True, True, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "decimal(33,2)",
        "decimal(4,5)",
        "decimal(0)",
        "char(0)",
        f"char({'9' * 5000})",
        "integer(4,2)",
        "text",
        "byte",
        "set(integer not null)",
        "timestamp with time zone",
        "interval year to day",
        "interval day to year",
        "datetime second to minute",
        "datetime year to fraction(6)",
        "datetime year to second(3)",
        "interval day(0) to hour",
        "",
        "(4)",
    ],
)
def test_unknown_type(text: str) -> None:
    """Undocumented types are not guessed."""
    assert parse_type(text).kind == "unknown"


def test_unknown_character_set() -> None:
    """A character set that Python does not know is named before anything is decoded."""
    for name in ("no-such", "hex"):
        with pytest.raises(LookupError, match=name):
            Capture("a", 1, ["a"], ["a"], encoding=name)
    with pytest.raises(ValueError, match="key"):
        Capture("a", 1, ["b"], ["a"])


def test_null_safe_difference() -> None:
    """Null equals null and NaN equals NaN, and they equal nothing else."""
    layout = parse_layout(b"f float, g float\0", 16, 2, 0)
    null, nan, one = b"\xff" * 8, struct.pack(">d", math.nan), struct.pack(">d", 1.0)
    cases = [(null, null), (nan, nan), (one, one), (null, one), (one, null), (nan, one)]
    rows = decode_rows(layout, records_of([record(40, bytes(20), a + b) for a, b in cases]))
    different = differs(rows.columns["f"], rows.columns["g"])
    assert different.tolist() == [False, False, False, True, True, True]
