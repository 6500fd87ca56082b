"""The texts that the references of the formats read: what all of them do, and where they differ."""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from kit.values import FORMS_OF, BadValue, Forms, as_text, clock_of, key_text, rank, read_text

CAPTURE, LOG, NETIQ, QLIK = FORMS_OF
ALL: Collection[str] = tuple(FORMS_OF)
DB2: Collection[str] = (CAPTURE, LOG)
NOT_QLIK: Collection[str] = (CAPTURE, LOG, NETIQ)
NONE: Collection[str] = ()
INF = math.inf


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[arg-type, misc]


# A type, a text, its value, and the formats that read it. Values are equal as texts.
TEXTS: list[tuple[str, str, Any, Collection[str]]] = [
    ("string", " 1.50", " 1.50", ALL),
    ("string", "", "", ALL),
    *(("int", text, -7, ALL) for text in ("-7", " -7 ", "\t-007\x7f")),
    *(("int", text, 5, (LOG, QLIK)) for text in ("5.0", "+5.", "5e0", ".5E1", "500e-2")),
    ("int", "+1e3", 1000, (LOG, QLIK)),
    ("bigint", "9223372036854775807", 2**63 - 1, ALL),
    ("tinyint", "-128", -128, ALL),
    *(
        ("int", text, None, NONE)
        for text in ("1.5", "2147483648", "1e10", "1e999999999999999999999", "", "true", "1 0")
    ),
    ("tinyint", "128", None, NONE),
    ("smallint", "-32769", None, NONE),
    ("int", "٣", None, NONE),
    ("decimal(5,2)", "1.230", "1.23", ALL),
    ("decimal(5,2)", " +12e1", "120.00", ALL),
    ("decimal(5,2)", "-0.0", "0.00", ALL),
    ("decimal(38,18)", "-0.000000000000000001", "-0.000000000000000001", ALL),
    *(("decimal(5,2)", text, None, NONE) for text in ("1.234", "1000", "1e-3", "1,5", "")),
    ("decimal(3,1)", "1.25", None, NONE),
    *(("boolean", text, True, ALL) for text in ("1", "true", "T", " Yes ", "y")),
    *(("boolean", text, False, ALL) for text in ("0", "FALSE", "f", "no", "N")),
    *(("boolean", text, True, (QLIK,)) for text in ("1.0", "+1", "1e0", "01")),
    ("boolean", "-0", False, (QLIK,)),
    *(("boolean", text, None, NONE) for text in ("2", "on", "", "0.5")),
    ("double", "1e308", 1e308, ALL),
    ("double", "1e-400", 0.0, ALL),
    ("double", " 5 ", 5.0, ALL),
    ("float", "0.1", 0.10000000149011612, ALL),
    *(("double", text, INF, (QLIK,)) for text in ("Infinity", "+inf")),
    ("float", "-INF", -INF, (QLIK,)),
    ("double", "nan", math.nan, (QLIK,)),
    ("double", "1e400", INF, NOT_QLIK),
    ("float", "1e39", INF, NOT_QLIK),
    *(("double", text, None, NONE) for text in ("one", "", "1d", "0x1")),
    ("binary", "00fFCA", b"\x00\xff\xca", (*DB2, QLIK)),
    ("binary", "", b"", ALL),
    ("binary", "yv6=", b"\xca\xfe", (NETIQ,)),
    ("binary", "0xFF", b"\xd3\x11\x45", (NETIQ,)),
    ("binary", " y v\r\n6= ", b"\xca\xfe", (NETIQ,)),
    *(("binary", text, None, NONE) for text in ("0xF", "F", "abc", "x'CAFE'", "yv6", "a_==")),
    *(("date", text, date(2024, 2, 29), ALL) for text in ("2024-02-29", " 2024-2-29 ")),
    *(("date", text, date(2024, 2, 1), ALL) for text in ("2024-02", "2024-2-1T0:00:00.0")),
    ("date", "2024", date(2024, 1, 1), ALL),
    *(("date", f"2024-02-29 00:00:00{zone}", date(2024, 2, 29), (QLIK,)) for zone in ("Z", "+0")),
    ("date", "2024-02-29 02:00:00+02:00", date(2024, 2, 29), (QLIK,)),
    ("date", "2024-02-29-00.00.00", date(2024, 2, 29), (NETIQ,)),
    ("date", "002024-02-29", date(2024, 2, 29), (LOG, NETIQ)),
    *(
        ("date", text, None, NONE)
        for text in (
            *("2022-02-30", "2024-01-01 01:00:00", "0000-01-01", "10000-01-01", "24-01-01"),
            *("2024-02-29-10.00.00", "2024-01-01 00:00:00+01:00", "now", "20240101", ""),
        )
    ),
    ("timestamp", "2024-06-01 10:00:00.1234567", utc(2024, 6, 1, 10, 0, 0, 123456), ALL),
    *(("timestamp", f"2024-06-01T10:0{zone}", utc(2024, 6, 1, 10), ALL) for zone in ("", "Z")),
    *(
        ("timestamp", f"2024-06-01 10:00:00{zone}", utc(2024, 6, 1, hour, minute), ALL)
        for zone, hour, minute in (
            *(("UTC", 10, 0), ("+03:00", 7, 0), (" +3", 7, 0), ("-0330", 13, 30)),
            *((" -3:30", 13, 30), ("+00:00", 10, 0)),
        )
    ),
    ("timestamp", "2024-06-01 10:00:00 +03", utc(2024, 6, 1, 7), NOT_QLIK),
    ("timestamp", "2024-06-01-10.00.00.123456789012", utc(2024, 6, 1, 10, 0, 0, 123456), (NETIQ,)),
    *(
        ("timestamp", text, None, NONE)
        for text in ("now", "10:00:00", "2024-06-01 24:00:00", "2024-06-01 10", "2024-06-01Z")
    ),
    ("timestamp", "0001-01-01 00:00:00+01:00", None, NONE),
    ("timestamp_ntz", "2024-06-01 10:00:00", datetime(2024, 6, 1, 10), ALL),
    ("timestamp_ntz", "2024-01-01 00:00:00Z", None, NONE),
]


def read(sql_type: str, text: str, forms: Forms) -> str | None:
    """The value as text."""
    try:
        return as_text(read_text(sql_type, text, forms))
    except BadValue:
        return "refused"


@pytest.mark.parametrize(("sql_type", "text", "value", "formats"), TEXTS)
def test_texts_of_columns(sql_type: str, text: str, value: Any, formats: Collection[str]) -> None:
    assert {name: read(sql_type, text, forms) for name, forms in FORMS_OF.items()} == {
        name: as_text(value) if name in formats else "refused" for name in FORMS_OF
    }


DB2_TIME = "2024-05-01-10.00.00"


@pytest.mark.parametrize("name", NOT_QLIK)
def test_times_of_commits(name: str) -> None:
    """Db2's form, those of a column, and times."""
    forms, at = FORMS_OF[name], datetime(2024, 5, 1, 10)
    for text in (DB2_TIME, f" {DB2_TIME}.0 ", "2024-05-01 10:00", "2024-05-01T12:00:00+02:00"):
        assert clock_of(text, forms) == at
    assert clock_of(f"{DB2_TIME}.{'1' * 12}", forms) == at + timedelta(microseconds=111111)
    in_zone = (at + timedelta(hours=2)).replace(tzinfo=timezone(timedelta(hours=2)))
    assert clock_of(at, forms) == clock_of(in_zone, forms) == at
    for text in (
        *("2024-05-01-24.00.00", f"{DB2_TIME}.{'1' * 13}", f"{DB2_TIME}.", "2024-5-1-10.00.00"),
        *("2024-02-30", "20240501100000", "10:00:00", "", "2024-02-30-10.00.00"),
    ):
        with pytest.raises(BadValue):
            clock_of(text, forms)


def test_keys_as_text_and_the_order_of_rows() -> None:
    key = [datetime(1, 2, 3), utc(2024, 5, 1, 10), b"\x0a", True, Decimal("1.50")]
    texts = ("0001-02-03 00:00:00.000000", "2024-05-01 10:00:00.000000", "0A", "true", "1.50")
    assert key_text(key) == "\x1f".join(texts)
    rows: list[dict[str, Any]] = [{"a": 1, "b": 0}, {"a": 0, "b": 1}, {"a": 0, "b": None}]
    assert sorted([*rows, {"a": None, "b": 9}], key=rank) == [{"a": None, "b": 9}, *rows[::-1]]
