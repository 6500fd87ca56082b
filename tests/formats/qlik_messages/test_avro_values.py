"""Avro values: the columnar decoder against fastavro, for schemas and values of all kinds, and for
messages that were good and are not."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_cdc_udfs.qlik import Cursor, Failures, SchemaError, parse_schema, read
from spark_cdc_udfs.qlik.cursor import PADDING
from spark_cdc_udfs.qlik.single import BadAvro, Reader

from formats.qlik_messages import avro
from formats.qlik_messages.hostile_avro import changed
from formats.qlik_messages.strict_json import exact


def decoded(schema: Any, values: Sequence[bytes]) -> tuple[list[Any], dict[int, str]]:
    """The JSON of values, all at once; None for those that fail, which are told by their place."""
    parsed = parse_schema(json.dumps(schema))
    ends = np.cumsum([0, *map(len, values)])
    data = np.frombuffer(b"".join(values) + bytes(PADDING), np.uint8)
    failures = Failures(len(values))
    cursor = Cursor(data, ends[:-1], ends[1:], np.arange(len(values)), failures)
    column = read(parsed.type, cursor, "value").written(len(values))
    cursor.fail(cursor.at < cursor.end, "", "left over")
    assert len(column) == len(values)
    return [
        None if failures.failed[place] else loaded(text or "null")
        for place, text in enumerate(column.to_pylist())
    ], failures.details


def loaded(text: str) -> Any:
    """JSON with exact numbers; two members of one name do not pass."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        assert len(found) == len(pairs)
        return found

    return json.loads(text, parse_int=Decimal, parse_float=Decimal, object_pairs_hook=members)


# ---------------------------------------------------------------------------- schemas and values

UTC = timezone.utc
NAMES = st.text("abcXYZ_äß\"\\\n-. 'ü\x01", min_size=1, max_size=4)
TEXTS = st.text(max_size=8) | st.text('"\\\n\x00\x1f\x7fa\U0001f600', max_size=80)
TIMES = st.times()
AWARE = st.datetimes(timezones=st.just(UTC))


def logical(type_: str, logical_type: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": logical_type} | more


def millis(value: Any) -> Any:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def whole_numbers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda one: Decimal(f"{one}e-{scale}"))


# A type, and its values; fastavro decides by the value which branch of a union it is, so a union
# has at most one type of each group.
LEAVES: dict[str, list[tuple[Any, st.SearchStrategy[Any]]]] = {
    "null": [("null", st.none())],
    "boolean": [("boolean", st.booleans())],
    "number": [
        ("int", whole_numbers(32)),
        ("long", whole_numbers(64)),
        ({"type": "long", "logicalType": "unknown"}, whole_numbers(64)),
        ("float", st.floats(width=32)),
        ("double", st.floats()),
        ({"type": "double"}, st.floats()),
    ],
    "text": [("string", TEXTS), (logical("string", "date"), TEXTS)],
    "bytes": [("bytes", st.binary(max_size=20)), (logical("bytes", "unknown"), st.binary())],
    "date": [(logical("int", "date"), st.dates())],
    "time": [
        (logical("int", "time-millis"), TIMES.map(millis)),
        (logical("long", "time-micros"), TIMES),
    ],
    "timestamp": [
        (logical("long", "timestamp-millis"), AWARE.map(millis)),
        (logical("long", "timestamp-micros"), AWARE),
    ],
    "local": [
        (logical("long", "local-timestamp-millis"), st.datetimes().map(millis)),
        (logical("long", "local-timestamp-micros"), st.datetimes()),
    ],
    "decimal": [
        (logical("bytes", "decimal", precision=precision, scale=scale), decimals(precision, scale))
        for precision, scale in ((1, 0), (9, 2), (18, 18), (20, 3), (60, 30))
    ],
}


class Schemas:
    """Draws schemas with their values."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.names = 0
        self.named: list[tuple[str, str, Any]] = []  # group, name and values of defined types

    def name(self) -> str:
        self.names += 1
        return f"N{self.names}"

    def any(self, depth: int, groups: Sequence[str] = ()) -> tuple[str, Any, Any]:
        """The group, the type and the values of a type that is of none of some groups."""
        named = [one for one in self.named if one[0] not in groups]
        kinds = [*LEAVES, "enum", "fixed", "fixed decimal"] + ["reference"] * bool(named)
        kinds += ["record", "array", "map"] * bool(depth) + ["union"] * (depth > 0 and not groups)
        kind = self.draw(st.sampled_from([one for one in kinds if one not in groups]))
        if kind in LEAVES:
            return kind, *self.draw(st.sampled_from(LEAVES[kind]))
        if kind == "union":
            return self.union(depth)
        if kind in ("array", "map"):
            _, type_, values = self.any(depth - 1)
            if kind == "array":
                return kind, {"type": "array", "items": type_}, st.lists(values, max_size=3)
            keyed = st.dictionaries(TEXTS, values, max_size=3)
            return kind, {"type": "map", "values": type_}, keyed
        if kind == "reference":
            return tuple(self.draw(st.sampled_from(named)))
        name = self.name()
        type_, values = getattr(self, f"_{kind.replace(' ', '_')}")(name, depth)
        group = "record" if kind == "record" else kind
        self.named.append((group, name, values))
        return group, type_, values

    def union(self, depth: int) -> tuple[str, Any, Any]:
        branches: list[tuple[str, Any, Any]] = []
        for _ in range(self.draw(st.integers(1, 4))):
            taken = {group for group, _, _ in branches}
            # what fastavro cannot tell apart, and what the specification allows once
            alike = [
                {"record", "map"},
                {"text", "enum", "date", "time", "timestamp", "local"},
                {"bytes", "fixed", "fixed decimal", "decimal"},
                {"number", "date", "time", "timestamp", "local"},
            ]
            none = set().union(taken, *(one for one in alike if one & taken))
            branches.append(self.any(depth - 1, [*none, "union"]))
        types = [type_ for _, type_, _ in branches]
        return "union", types, st.one_of(*(values for _, _, values in branches))

    def _record(self, name: str, depth: int) -> tuple[Any, Any]:
        names = self.draw(st.lists(NAMES, max_size=5, unique=True))
        fields = [(one, *self.any(depth - 1)[1:]) for one in names]
        type_ = {"type": "record", "name": name, "fields": [
            {"name": one, "type": type_} for one, type_, _ in fields
        ]}  # fmt: skip
        return type_, st.fixed_dictionaries({one: values for one, _, values in fields})

    def _enum(self, name: str, depth: int) -> tuple[Any, Any]:
        symbols = self.draw(st.lists(st.sampled_from("ABCDE"), min_size=1, unique=True))
        return {"type": "enum", "name": name, "symbols": symbols}, st.sampled_from(symbols)

    def _fixed(self, name: str, depth: int) -> tuple[Any, Any]:
        size = self.draw(st.integers(0, 20))
        values = st.binary(min_size=size, max_size=size)
        return {"type": "fixed", "name": name, "size": size}, values

    def _fixed_decimal(self, name: str, depth: int) -> tuple[Any, Any]:
        size, precision = self.draw(st.sampled_from([(4, 9), (9, 20), (20, 40)]))
        return logical("fixed", "decimal", name=name, size=size, precision=precision, scale=2), (
            decimals(precision, 2)
        )


@st.composite
def schemas_with_values(draw: Any) -> tuple[Any, list[Any]]:
    _, schema, values = Schemas(draw).any(3)
    return schema, draw(st.lists(values, min_size=1, max_size=6))


@settings(max_examples=500, deadline=None)
@given(schemas_with_values())
def test_values_are_those_of_fastavro(drawn: tuple[Any, list[Any]]) -> None:
    schema, values = drawn
    parsed = fastavro.parse_schema(schema)
    encoded = [avro.written_with(parsed, value) for value in values]
    expected = [exact(avro.as_json(avro.read_all(parsed, one))) for one in encoded]
    assert decoded(schema, encoded) == (expected, {})
    type_ = parse_schema(json.dumps(schema)).type
    for one, value in zip(encoded, expected, strict=True):
        reader = Reader(one, 0, len(one))
        assert loaded(reader.text(type_, "value")) == value
        assert reader.at == len(one)
    assert decoded({"type": "array", "items": schema}, [
        avro.written({"type": "array", "items": schema}, values)
    ]) == ([expected], {})  # fmt: skip


# ----------------------------------------------------------------------------------- special values


def zigzag(number: int) -> bytes:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    found = b""
    while rest > 0x7F:
        found += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return found + bytes([rest])


def texts(schema: Any, *values: bytes) -> list[Any]:
    """The JSON text of values, each of which can be read."""
    found, failed = decoded(schema, values)
    assert not failed
    return found


def test_floats_are_the_shortest_text_of_a_double() -> None:
    numbers = [0.1, 1.0, -0.0, 1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.125]
    rng = random.Random(0)
    numbers += [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(500)]
    numbers = [one for one in numbers if one == one]
    found = texts("double", *(struct.pack("<d", one) for one in numbers))
    assert [float(one) for one in found] == numbers
    assert [str(one).replace("-0", "-0.0") for one in found[:3]] == ["0.1", "1", "-0.0"]
    (single,) = texts("float", struct.pack("<f", 0.1))
    assert str(single) == "0.10000000149011612"
    specials = [struct.pack("<d", one) for one in (float("nan"), float("inf"), -float("inf"))]
    assert texts("double", *specials) == ["NaN", "Infinity", "-Infinity"]
    item = {"type": "array", "items": "double"}
    assert texts(item, b"\x06" + b"".join(specials) + b"\0") == [["NaN", "Infinity", "-Infinity"]]


def test_times_beyond_their_range_are_words() -> None:
    day, micros = 86_400, 10**6
    cases: dict[str, dict[int, str]] = {
        "date": {
            -719162: "0001-01-01",
            2932896: "9999-12-31",
            -719163: "-719163 days since 1970-01-01",
            2932897: "2932897 days since 1970-01-01",
        },
        "time-millis": {
            0: "00:00:00.000000",
            day * 1000 - 1: "23:59:59.999000",
            -1: "-1 milliseconds since midnight",
            day * 1000: "86400000 milliseconds since midnight",
        },
        "time-micros": {
            day * micros - 1: "23:59:59.999999",
            day * micros: "86400000000 microseconds since midnight",
        },
        "timestamp-millis": {
            -719162 * day * 1000: "0001-01-01 00:00:00.000000",
            2932897 * day * 1000 - 1: "9999-12-31 23:59:59.999000",
            -719162 * day * 1000 - 1: "-62135596800001 milliseconds since 1970-01-01 00:00:00",
            2**63 - 1: f"{2**63 - 1} milliseconds since 1970-01-01 00:00:00",
        },
        "local-timestamp-micros": {
            -1: "1969-12-31 23:59:59.999999",
            2932897 * day * micros: "253402300800000000 microseconds since 1970-01-01 00:00:00",
            -(2**63): f"{-(2**63)} microseconds since 1970-01-01 00:00:00",
        },
    }
    for name, expected in cases.items():
        schema = logical("int" if name in ("date", "time-millis") else "long", name)
        encoded = [zigzag(one) for one in expected]
        assert texts(schema, *encoded) == list(expected.values())
        together = zigzag(len(encoded)) + b"".join(encoded) + b"\0"
        assert texts({"type": "array", "items": schema}, together) == [list(expected.values())]


def test_decimals_of_any_length() -> None:
    for size in (*range(20), 100, 1024):
        for byte in (b"\x00", b"\x7f", b"\x80", b"\xff"):
            value = (byte + bytes(range(1, 256)) * 5)[:size]
            number = int.from_bytes(value, "big", signed=True)
            schema = logical("bytes", "decimal", precision=50, scale=3)
            sign, digits = "-" * (number < 0), f"{abs(number):04d}"
            written = f"{sign}{digits[:-3]}.{digits[-3:]}"
            assert texts(schema, zigzag(size) + value) == [written]
            item = zigzag(1) + zigzag(size) + value + b"\0"
            assert texts({"type": "array", "items": schema}, item) == [[written]]
    _, failed = decoded(schema, [zigzag(1025) + bytes(1025)])
    assert failed == {0: "value: a decimal of more than 1024 bytes"}


def test_numbers_may_be_longer_than_needed() -> None:
    """Up to ten bytes, and 64 bits."""
    good = {b"\x80" * size + b"\x00": 0 for size in range(10)}
    good |= {b"\x82" + b"\x80" * size + b"\x00": 1 for size in range(9)}
    good |= {b"\xff" * 9 + b"\x01": -(2**63), b"\xfe" + b"\xff" * 8 + b"\x01": 2**63 - 1}
    assert texts("long", *good) == list(good.values())
    bad = [b"\xff" * 9 + b"\x02", b"\xff" * 9 + b"\x03", b"\x80" * 10 + b"\x00", b"\xff" * 30]
    assert list(decoded("long", bad)[1].values()) == ["value: a number of more than 64 bits"] * 4
    assert set(decoded("long", [b"\x80" * size for size in range(9)])[1]) == set(range(9))
    for number, is_int in ((2**31 - 1, True), (2**31, False), (-(2**31) - 1, False)):
        assert (not decoded("int", [zigzag(number)])[1]) == is_int
        assert (not decoded(["null", "int"], [b"\x02" + zigzag(number)])[1]) == is_int


# --------------------------------------------------------------------------------- malformed values

ROW = {
    "type": "record",
    "name": "Row",
    "fields": avro.as_fields(
        {
            "id": ["null", "long"],
            "small": "int",
            "text": ["null", "string"],
            "raw": ["bytes", "null"],
            "fixed": {"type": "fixed", "name": "F", "size": 3},
            "kind": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]},
            "ok": ["null", "boolean"],
            "many": ["null", "string", "double", {"type": "map", "values": ["null", "int"]}],
            "list": {"type": "array", "items": ["string", "null"]},
            "day": ["null", logical("int", "date")],
            "price": ["null", logical("bytes", "decimal", precision=400, scale=2)],
            "tree": ["null", {"type": "record", "name": "Tree", "fields": avro.as_fields(
                {"left": ["null", "Tree"], "right": ["null", "Tree"], "value": "long"}
            )}],
            "last": "float",
        }
    ),
}  # fmt: skip
LEAF = {"left": None, "right": None, "value": 5}


def row(rng: random.Random) -> dict[str, Any]:
    return {
        "id": rng.choice((None, 1, -(2**62))),
        "small": rng.randrange(-200, 200),
        "text": rng.choice((None, "", "Zoë \"'\\", "x" * 70)),
        "raw": rng.choice((None, b"\x00\xff", b"")),
        "fixed": rng.randbytes(3),
        "kind": rng.choice("ABC"),
        "ok": rng.choice((None, True, False)),
        "many": rng.choice((None, "t", 1.5, {}, {"a": 1, "b": None})),
        "list": rng.choice(([], ["a", None, "ü"])),
        "day": rng.choice((None, date(2022, 3, 15))),
        "price": rng.choice((None, Decimal("-1.05"), Decimal(10) ** 20)),
        "tree": rng.choice((None, LEAF, LEAF | {"left": LEAF, "right": LEAF | {"left": LEAF}})),
        "last": 0.5,
    }


NUMBERS = [zigzag(one) for one in (-1, 0, 1, 3, 64, 10**6, 2**31, 2**62, 2**63 - 1, -(2**63))]
NUMBERS += [b"\xff" * 10, b"\x80\x00", b"\x02", b"\x04"]


def mutated(value: bytes, rng: random.Random) -> bytes:
    """One change: a bit, a cut, a number that lies, bytes that are not there or are there twice."""
    at = rng.randrange(len(value))
    end = min(len(value), at + rng.choice((1, 2, 5, 20)))
    return rng.choice(
        (
            *changed(value, at, end, rng),
            value[:at] + rng.choice(NUMBERS) + value[at + 1 :],
            value[:at] + rng.choice(NUMBERS) + value[at:],
            value + value[:at],
            b"\x02" * rng.randrange(300) + value,
        )
    )


def by_fastavro(parsed: Any, value: bytes) -> tuple[bool, Any]:
    """Whether fastavro reads a value, and the value; None if it cannot say it in Python."""
    try:
        return True, exact(avro.as_json(avro.read_all(parsed, value)))
    except OverflowError as error:
        assert "date" in str(error)  # a day beyond the years of Python
        return True, None
    except Exception:
        return False, None


def test_mutated_values() -> None:
    """No exception, nothing that fastavro refuses, and what both read is equal."""
    rng = random.Random("mutated values")
    parsed = fastavro.parse_schema(ROW)
    values = []
    for _ in range(10_000):
        value = mutated(avro.written_with(parsed, row(rng)), rng)
        values.append(mutated(value, rng) if value and rng.random() < 0.2 else value)
    both = 0
    found, failed = decoded(ROW, values)
    for place, value in enumerate(values):
        if place not in failed:
            is_read, expected = by_fastavro(parsed, value)
            assert is_read
            assert expected is None or found[place] == expected
            both += 1
    assert 1000 < both < 9000
    assert len({detail.partition(":")[0] for detail in failed.values()}) > 12
    # each alone, and one by one, fails in the same way
    type_ = parse_schema(json.dumps(ROW)).type
    for place in range(0, 10_000, 20):
        alone, why = decoded(ROW, [values[place]])
        assert alone == [found[place]] and bool(why) == (place in failed)
        reader = Reader(values[place], 0, len(values[place]))
        try:
            reader.text(type_, "value")
            assert (reader.at < len(values[place])) == (place in failed)
        except BadAvro:
            assert place in failed


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("string", zigzag(2**62) + b"abc"),
        ("bytes", zigzag(-1) + b"abc"),
        ("bytes", zigzag(-(2**63))),
        ({"type": "fixed", "name": "F", "size": 2**31 - 1}, b"abc"),
        ({"type": "array", "items": "null"}, zigzag(10**6) + b"\0"),
        ({"type": "array", "items": "null"}, zigzag(2**63 - 1) + b"\0"),
        ({"type": "array", "items": "null"}, zigzag(-(2**63)) + zigzag(0) + b"\0"),
        ({"type": "array", "items": {"type": "record", "name": "R", "fields": []}}, zigzag(2**40)),
        ({"type": "array", "items": {"type": "array", "items": "null"}}, zigzag(2**40) * 9),
        ({"type": "map", "values": "null"}, zigzag(2**62) + zigzag(2**62)),
        ({"type": "map", "values": "null"}, b"\x04\x02a\x02a\x00"),
        ({"type": "array", "items": "int"}, zigzag(-1) + zigzag(2) + b"\x02\x00"),
        ({"type": "array", "items": "int"}, zigzag(-1) + zigzag(-1) + b"\x02\x00"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x01"),
        ({"type": "enum", "name": "E", "symbols": []}, b"\x00"),
        (["null", "int"], b"\x04"),
        (["null", "int"], b"\x01"),
        ([], b"\x00"),
        ("boolean", b"\x02"),
        ("string", b"\x04\xc0\x80"),
        ("string", b"\x06\xed\xa0\x80"),
        ("null", b"\x00"),
        ("int", b""),
        ("double", b"\x00" * 7),
        (["null", {"type": "record", "name": "L", "fields": [
            {"name": "next", "type": ["null", "L"]}]}], b"\x02" * 100_000 + b"\x00"),
        ({"type": "record", "name": "L", "fields": [
            {"name": "a", "type": "L"}, {"name": "b", "type": "L"}]}, b""),
    ],
)  # fmt: skip
def test_what_lies_is_refused_and_costs_nothing(schema: Any, value: bytes) -> None:
    tracemalloc.start()
    found, failed = decoded(schema, [value, value])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [None, None] and set(failed) == {0, 1}
    assert peak < 40 * len(value) + 4 * 2**20


def test_fields_without_bytes_are_not_expanded() -> None:
    """A record of records of nulls: 2^40 values in no byte."""
    inner: Any = "null"
    schemas: list[Any] = []
    for level in range(40):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": inner}]
        schemas.append({"type": "record", "name": f"R{level}", "fields": fields})
        inner = f"R{level}"
    whole = {"type": "record", "name": "All", "fields": [
        {"name": f"f{level}", "type": one} for level, one in enumerate(schemas)
    ]}  # fmt: skip
    with pytest.raises(SchemaError, match="too many types"):
        parse_schema(json.dumps(whole))
    items = {"type": "array", "items": whole}
    assert set(decoded(items, [b"\x02\x00"])[1]) == {0}


def of_decimals(count: int, scale: int) -> dict[str, Any]:
    """A record of so many decimals."""
    number = logical("bytes", "decimal", precision=2000, scale=scale)
    fields = avro.as_fields({f"f{place}": number for place in range(count)})
    return {"type": "record", "name": "R", "fields": fields}


def test_digits_behind_the_point_count() -> None:
    """A decimal of no byte is as long as its scale; more than Spark has is no schema.

    A thousand of 2,000 digits each would make 2 MB of text out of a message of 1 KB.
    """
    schema = of_decimals(1000, 38)
    (written,) = texts(schema, b"\0" * 1000)
    assert str(written["f999"]) == "0." + "0" * 38
    for wrapped in (schema, ["null", schema], {**schema, "fields": avro.as_fields({"r": schema})}):
        wrapped = json.loads(json.dumps(wrapped).replace('"R"', '"S"', 1))
        assert parse_schema(json.dumps(wrapped)).size > len(json.dumps(written)) / 2 > 20_000
    optional = {**schema, "fields": [
        {"name": one["name"], "type": ["null", one["type"]]} for one in schema["fields"]
    ]}  # fmt: skip
    assert parse_schema(json.dumps(optional)).size > 40_000
    for scale in (39, 2000):
        with pytest.raises(SchemaError, match=f"{scale} digits behind the point"):
            parse_schema(json.dumps(of_decimals(1, scale)))


def test_names_of_many_items_do_not_fill_the_memory() -> None:
    """A long message gets no more text than a short one, but for its own bytes."""
    fields = avro.as_fields({"x" * 2**18: "null"})
    items = {"type": "array", "items": {"type": "record", "name": "R", "fields": fields}}
    tracemalloc.start()
    _, failed = decoded(items, [zigzag(2**40) + bytes(2**22)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert failed == {0: "value[]: more values than bytes"}
    assert peak < 100 * 2**20


def test_deep_values() -> None:
    linked = {"type": "record", "name": "L", "fields": avro.as_fields({"n": ["null", "L"]})}
    assert not decoded(linked, [b"\x02" * 40 + b"\x00"])[1]
    assert set(decoded(linked, [b"\x02" * 60 + b"\x00"])[1]) == {0}


# ------------------------------------------------------------------------------------------ schemas


def test_names_that_the_specification_does_not_allow() -> None:
    schema = parse_schema(
        json.dumps(
            {
                "type": "record",
                "name": "Data Record",
                "namespace": "com.a-b.1 2",
                "doc": 7,
                "fields": [
                    {"name": "a-b", "type": [{"type": "null"}, {"type": {"type": "int"}}]},
                    {"name": "DATA", "order": 1, "type": {
                        "type": "record", "name": "D", "fields": [{"name": 'x"', "type": "null"}]}},
                    {"name": "next", "type": ["null", "com.a-b.1 2.Data Record", "D"]},
                ],
            }
        )
    )  # fmt: skip
    assert schema.namespace == "com.a-b.1 2"
    assert schema.data_fields == ('x"',)


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        ("R", None, None),
        ("R", "", None),
        ("R", "a.b", "a.b"),
        ("c.d.R", "a.b", "c.d"),
        ("c.R", None, "c"),
    ],
)
def test_namespace(name: str, namespace: str | None, expected: str | None) -> None:
    schema: dict[str, Any] = {"type": "record", "name": name, "fields": []}
    if namespace is not None:
        schema["namespace"] = namespace
    assert parse_schema(json.dumps(schema)).namespace == expected


def test_names_are_of_their_namespace() -> None:
    """A name without a dot is one of the namespace around it, else one without a namespace."""
    fixed = {"type": "fixed", "name": "F", "size": 1}
    inner = {"type": "record", "name": "b.I", "fields": avro.as_fields({"f": fixed, "g": "F"})}
    outer = {"type": "record", "name": "a.O", "fields": avro.as_fields({"i": inner, "h": "b.F"})}
    assert parse_schema(json.dumps(outer)).type
    outer["fields"] = avro.as_fields({"i": inner, "h": "F"})
    with pytest.raises(SchemaError, match="'F' is no type"):
        parse_schema(json.dumps(outer))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "7",
        "null",
        '"nothing"',
        '"int" x',
        "{'type': 'int'}",
        '{"type": "int", "type": "long"}',
        '{"type": NaN}',
        '{"type": "record", "fields": []}',
        '{"type": "record", "name": "", "fields": []}',
        '{"type": "record", "name": "R"}',
        '{"type": "record", "name": "R", "fields": {}}',
        '{"type": "record", "name": "R", "fields": [{"name": "a"}]}',
        '{"type": "record", "name": "R", "fields": [{"type": "int"}]}',
        '{"type": "record", "name": "R", "fields": ["int"]}',
        '{"type": "record", "name": "R", "namespace": 7, "fields": []}',
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"},'
        ' {"name": "a", "type": "int"}]}',
        '{"type": "record", "name": "R", "fields": [{"name": "\\ud800", "type": "int"}]}',
        '{"type": "record", "name": "R", "namespace": "\\ud800", "fields": []}',
        '{"type": "record", "name": "R", "doc": "\\\\ud83d\\ude00", "fields": []}',
        '{"type": "enum", "name": "E"}',
        '{"type": "enum", "name": "E", "symbols": ["A", "A"]}',
        '{"type": "enum", "name": "E", "symbols": [1]}',
        '{"type": "fixed", "name": "F"}',
        '{"type": "fixed", "name": "F", "size": -1}',
        '{"type": "fixed", "name": "F", "size": true}',
        '{"type": "array"}',
        '{"type": "map"}',
        '["int", ["null"]]',
        '["int", {"type": "int"}]',
        '[{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 1}]',
        '{"type": "bytes", "logicalType": "decimal", "precision": 2001}',
        '{"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 39}',
        '{"type": "fixed", "name": "F", "size": 99, "logicalType": "decimal", "precision": 50,'
        ' "scale": 39}',
        "[" * 150 + '"int"' + "]" * 150,
        "[" * 100_000,
        '{"type":' * 150 + '"int"' + "}" * 150,
        '"\ud800"',
        "9" * 5000,
    ],
)
def test_no_schemas(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_schema(text)


def test_logical_types_that_do_not_fit_are_ignored() -> None:
    schemas = [
        logical("string", "timestamp-micros"),
        logical("int", "timestamp-micros"),
        logical("long", "date"),
        logical("long", "timestamp-nanos"),
        logical("bytes", "decimal"),
        logical("bytes", "decimal", precision=0),
        logical("bytes", "decimal", precision=2, scale=3),
        logical("bytes", "decimal", precision=2, scale=-1),
        logical("bytes", "decimal", precision="2"),
        logical("fixed", "decimal", name="F", size=1, precision=3),
    ]
    for schema in schemas:
        assert getattr(parse_schema(json.dumps(schema)).type, "logical", "") == ""
    for kept in (
        logical("fixed", "decimal", name="F", size=1, precision=2),
        logical("bytes", "decimal", precision=2000),
    ):
        assert getattr(parse_schema(json.dumps(kept)).type, "logical", "") == "decimal"


def test_times_are_those_of_python() -> None:
    """The texts of times read back as the values that were written."""
    moment = datetime(2022, 3, 15, 8, 15, 2, 1, UTC)
    schema = logical("long", "timestamp-micros")
    (found,) = texts(schema, avro.written(schema, moment))
    assert found == "2022-03-15 08:15:02.000001"
    assert texts(logical("int", "time-millis"), zigzag(1)) == [
        time(0, 0, 0, 1000).isoformat("microseconds")
    ]
    assert datetime.fromisoformat(found) == moment.replace(tzinfo=None) + timedelta(0)
