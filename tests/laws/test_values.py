"""The values that formats read from text, and from columns with other types.

The reader in `kit/values.py` is written apart from the macros. Here both read the same odd texts,
as every type, in a session with daylight saving, with ANSI mode and without. docs/values.md has the
grammar.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Collection, Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from kit.lake import write_parquet
from kit.odd_texts import ODD
from kit.values import BASE, FORMS_OF, BadValue, Forms, as_text, clock_of, key_text, rank, read_text
from kit.warehouse import ROOT, Warehouse, install_package

CAPTURE, LOG, NETIQ = "db2_capture_table", "db2_log_table", "netiq_event_log"
ALL: Collection[str] = tuple(FORMS_OF)
DOTS: Collection[str] = (CAPTURE, LOG, NETIQ)
DB2: Collection[str] = (CAPTURE, LOG)
NOT_CAPTURE: Collection[str] = [name for name in FORMS_OF if name != CAPTURE]
NOT_NETIQ: Collection[str] = [name for name in FORMS_OF if name != NETIQ]
NONE: Collection[str] = ()
INF = math.inf


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[arg-type, misc]


# A type, a text, its value, and the formats that read it. Values are equal as texts.
TEXTS: list[tuple[str, str, Any, Collection[str]]] = [
    ("string", " 1.50", " 1.50", ALL),
    ("string", "", "", ALL),
    *(("int", text, -7, ALL) for text in ("-7", " -7 ", "-007")),
    *(("int", text, 5, NOT_CAPTURE) for text in ("5.0", "+5.", "5e0", ".5E1", "500e-2")),
    ("int", "+1e3", 1000, NOT_CAPTURE),
    ("bigint", "9223372036854775807", 2**63 - 1, ALL),
    ("tinyint", "-128", -128, ALL),
    *(
        ("int", text, None, NONE)
        for text in (
            *("1.5", "2147483648", "1e10", "1e999999999999999999999", "", "true", "1 0", "٣"),
            *("\t7", "7\n", "\x7f7", "７", "1d", "0x10", "1_000"),
        )
    ),
    ("tinyint", "128", None, NONE),
    ("smallint", "-32769", None, NONE),
    ("decimal(5,2)", "1.230", "1.23", ALL),
    ("decimal(5,2)", " +12e1", "120.00", ALL),
    ("decimal(5,2)", "-0.0", "0.00", ALL),
    ("decimal(38,18)", "-0.000000000000000001", "-0.000000000000000001", ALL),
    *(("decimal(5,2)", text, None, NONE) for text in ("1.234", "1000", "1e-3", "1,5", "", "１.５")),
    ("decimal(3,1)", "1.25", None, NONE),
    *(("boolean", text, True, ALL) for text in ("1", "true", "T", " Yes ", "y")),
    *(("boolean", text, False, ALL) for text in ("0", "FALSE", "f", "no", "N")),
    *(("boolean", text, True, NOT_CAPTURE) for text in ("1.0", "1.")),
    *(("boolean", text, None, NONE) for text in ("2", "on", "", "0.5", "+1", "01", "-0", "1e0")),
    ("double", "1e308", 1e308, ALL),
    ("double", " 5 ", 5.0, ALL),
    ("double", "-0e-400", -0.0, ALL),
    ("float", "0.1", 0.10000000149011612, ALL),
    *(("double", text, INF, ALL) for text in ("Infinity", "+inf")),
    ("float", "-INF", -INF, ALL),
    ("double", "nan", math.nan, ALL),
    *(
        ("double", text, None, NONE)
        for text in ("one", "", "1d", "1.5d", "0x1p3", "1e400", "1e-400", "1.5f", "Infinit")
    ),
    *(("float", text, None, NONE) for text in ("1e39", "1e-46")),
    ("binary", "00fFCA", b"\x00\xff\xca", NOT_NETIQ),
    *(
        ("binary", text, b"\xca\xfe", [name for name in NOT_NETIQ if name != CAPTURE])
        for text in ("0xCAFE", "X'cafe'")
    ),
    ("binary", "", b"", ALL),
    ("binary", "yv4=", b"\xca\xfe", (NETIQ,)),
    ("binary", " y v\r\n4= ", b"\xca\xfe", (NETIQ,)),
    *(("binary", text, None, NONE) for text in ("0xF", "F", "abc", "yv6=", "yv4", "a_==", "x'C'")),
    ("date", "2024-02-29", date(2024, 2, 29), ALL),
    ("date", " 2024-02-29 00:00:00.000 ", date(2024, 2, 29), ALL),
    ("date", "2024-02-29T00:00:00Z", date(2024, 2, 29), ALL),
    ("date", "2024-02-29-00.00.00", date(2024, 2, 29), DOTS),
    ("date", "2024-02-28-24.00.00", date(2024, 2, 29), DB2),
    *(
        ("date", text, None, NONE)
        for text in (
            *("2022-02-30", "2024-01-01 01:00:00", "0000-01-01", "10000-01-01", "24-01-01"),
            *("2024-02-29-10.00.00", "2024-01-01 00:00:00+01:00", "now", "20240101", ""),
            *("202403", "19800", "2024-3", "2024", "2024-2-29", "002024-02-29", "2024-01-01\n"),
            *("9999-12-31-24.00.00",),
        )
    ),
    ("timestamp", "2024-06-01 10:00:00.1234567", utc(2024, 6, 1, 10, 0, 0, 123456), ALL),
    *(("timestamp", f"2024-06-01T10{end}", utc(2024, 6, 1, 10), ALL) for end in ("", ":00")),
    *(
        ("timestamp", f"2024-06-01 10:00:00{zone}", utc(2024, 6, 1, hour, minute), ALL)
        for zone, hour, minute in (
            *(("UTC", 10, 0), ("+03:00", 7, 0), (" +03", 7, 0), ("-0330", 13, 30)),
            *((" -03:30", 13, 30), ("+00:00", 10, 0), (" Z", 10, 0)),
        )
    ),
    *(
        ("timestamp", f"2024-06-01-{clock}", at, formats)
        for clock, at, formats in (
            ("10.00.00.123456789012", utc(2024, 6, 1, 10, 0, 0, 123456), DOTS),
            ("10.00.00", utc(2024, 6, 1, 10), (LOG, NETIQ)),
            ("24.00.00.000000", utc(2024, 6, 2), DB2),
        )
    ),
    ("timestamp", "2024-12-31 24:00:00", utc(2025, 1, 1), DB2),
    *(
        ("timestamp", text, None, NONE)
        for text in (
            *("now", "10:00:00", "2024-06-01Z", "2024-06-01 10:00:00 CST", "202403"),
            *("2024-06-01 10:00:00 Europe/Paris", "2024-06-01 1:00:00", "2024-06-01 10:00Z"),
            *("2024-06-01 24:00:01", "9999-12-31-24.00.00.000000", "2024-06-01 10:00:00+3"),
        )
    ),
    ("timestamp", "0001-01-01 00:00:00+01:00", None, NONE),
    ("timestamp_ntz", "2024-06-01 10:00:00", datetime(2024, 6, 1, 10), ALL),
    ("timestamp_ntz", "2024-01-01 00:00:00Z", None, NONE),
]


def read(sql_type: str, text: str, forms: Forms) -> Any:
    """The value as text, or `refused`."""
    try:
        return as_text(read_text(sql_type, text, forms))
    except BadValue:
        return "refused"


@pytest.mark.parametrize(("sql_type", "text", "value", "formats"), TEXTS)
def test_texts_of_columns(sql_type: str, text: str, value: Any, formats: Collection[str]) -> None:
    assert {name: read(sql_type, text, forms) for name, forms in FORMS_OF.items()} == {
        name: as_text(value) if name in formats else "refused" for name in FORMS_OF
    }


DOTTED = "2024-05-01-10.00.00"


@pytest.mark.parametrize("forms", [BASE, Forms(has_dots=True)])
def test_times_of_commits(forms: Forms) -> None:
    """A form with dots, those of every column, and times."""
    at = datetime(2024, 5, 1, 10)
    for text in (DOTTED, f" {DOTTED}.0 ", "2024-05-01 10:00", "2024-05-01T12:00:00+02:00"):
        assert clock_of(text, forms) == at
    assert clock_of(f"{DOTTED}.{'1' * 12}", forms) == at + timedelta(microseconds=111111)
    in_zone = (at + timedelta(hours=2)).replace(tzinfo=timezone(timedelta(hours=2)))
    assert clock_of(at, forms) == clock_of(in_zone, forms) == at
    midnight = "2024-05-01-24.00.00"
    if forms.has_midnight:
        assert clock_of(midnight, forms) == datetime(2024, 5, 2)
    for text in (
        *(f"{DOTTED}.{'1' * 13}", f"{DOTTED}.", "2024-5-1-10.00.00", f"{midnight}.1"),
        *("2024-02-30", "20240501100000", "10:00:00", "", "2024-02-30-10.00.00"),
        *(() if forms.has_midnight else (midnight,)),
    ):
        with pytest.raises(BadValue):
            clock_of(text, forms)


def test_keys_as_text_and_the_order_of_rows() -> None:
    key = [datetime(1, 2, 3), utc(2024, 5, 1, 10), b"\x0a", True, Decimal("1.50")]
    texts = ("0001-02-03 00:00:00.000000", "2024-05-01 10:00:00.000000", "0A", "true", "1.50")
    assert key_text(key) == "\x1f".join(texts)
    rows: list[dict[str, Any]] = [{"a": 1, "b": 0}, {"a": 0, "b": 1}, {"a": 0, "b": None}]
    assert sorted([*rows, {"a": None, "b": 9}], key=rank) == [{"a": None, "b": 9}, *rows[::-1]]


# ------------------------------------------------------------------------------- macros and reader

TYPES: tuple[str, ...] = (
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "decimal(5,2)",
    "decimal(38,0)",
    "decimal(38,18)",
)
TYPES += ("decimal(38,38)", "float", "double", "boolean", "binary")
TYPES += ("date", "timestamp", "timestamp_ntz")

# What the decoders call for a text. Some formats share a macro.
CALLS = {
    "spark_cdc._typed('text', 'string', {})": (
        "qlik_change_table",
        "qlik_messages",
        "gbase_capture",
    ),
    "spark_cdc._netiq_value('text', {})": (NETIQ,),
    "spark_cdc._db2_value('text', 'string', {})": (CAPTURE,),
    "spark_cdc._typed('text', 'string', {}, spark_cdc._lookup_forms())": (LOG,),
}


def told(sql_type: str, text: str | None) -> Any:
    """A value that is given as text, in a form that tells values apart; None if there is none."""
    if text is None or text == "refused":
        return None
    if sql_type in ("float", "double"):
        number = float(text)
        if sql_type == "float":
            (number,) = struct.unpack("f", struct.pack("f", number))
        return struct.pack(">d", number)  # also tells NaN and -0.0
    if sql_type == "timestamp":
        return f"{text:0>27}"
    if sql_type == "timestamp_ntz":
        whole, _, fraction = text.replace("T", " ").partition(".")
        return f"{whole:0>19}.{fraction:0<6}"
    return text


def shown(call: str, sql_type: str) -> str:
    """SQL that shows a value, given as Jinja, as `as_text` does."""
    value = f"{{{{ {call} }}}}"
    if sql_type == "timestamp":
        return f"unix_micros({value})"
    if sql_type.startswith("decimal"):
        return f"{{{{ spark_cdc._text_of({call}, '{sql_type}') }}}}"
    return f"hex({value})" if sql_type == "binary" else f"cast({value} as string)"


def instant(micros: int | None) -> str | None:
    """The text of a timestamp."""
    return None if micros is None else as_text(utc(1970, 1, 1) + timedelta(microseconds=micros))


@pytest.fixture
def elsewhere(lake: Warehouse) -> Iterator[Warehouse]:
    """A session in a zone with daylight saving: with ANSI mode, or on Delta without it.

    One process runs all tests of a table format, so no other test sees the settings.
    """
    ansi = str(lake.table_format != "delta").lower()
    settings = {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.ansi.enabled": ansi,
    }
    before = {name: lake.sql(f"set {name}")[0][1] for name in settings}
    lake.sql(*(f"set {name}={value}" for name, value in settings.items()))
    yield lake
    lake.sql(*(f"set {name}={value}" for name, value in before.items()))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    home = tmp_path / "values"
    home.mkdir()
    (home / "dbt_project.yml").write_text("name: read_values\nprofile: consumer\n")
    install_package(home)
    return home


CONSUMER = ROOT / "tests" / "consumer"


def test_the_macros_read_what_the_reader_reads(elsewhere: Warehouse, project: Path) -> None:
    """Every text as every type: the value, or that it has none."""
    rows = [{"place": place, "text": text} for place, text in enumerate(ODD)]
    write_parquet(project / "texts", {"place": "int", "text": "string"}, rows, files=1)
    selects = []
    for call in CALLS:
        columns = ",\n".join(
            f"{shown(call.format(repr(one)), one)} as c{place}" for place, one in enumerate(TYPES)
        )
        selects.append(f"select place, {columns} from parquet.`{project}/texts`")
    compiled = elsewhere.compiled(project, "\n---\n".join(selects), profiles=CONSUMER)
    wrong = []
    for formats, sql in zip(CALLS.values(), compiled.split("\n---\n"), strict=True):
        forms = FORMS_OF[formats[0]]
        assert all(FORMS_OF[name] == forms for name in formats)
        found = elsewhere.sql(sql)
        assert len(found) == len(ODD)
        for place, *values in found:
            for sql_type, value in zip(TYPES, values, strict=True):
                text = instant(value) if sql_type == "timestamp" else value
                expected = read(sql_type, ODD[place], forms)
                if told(sql_type, text) != told(sql_type, expected):
                    wrong.append((formats[0], sql_type, ODD[place], text, expected))
    assert not wrong, f"{len(wrong)} differ: {wrong[:20]}"


# A value, its type there, the type wanted, and the value as text; None if it has none.
TYPED: list[tuple[str, str, str, str | None]] = [
    # half past one comes twice in New York on this day, and half past two never on the other
    ("timestamp'2024-11-03 05:30:00.5Z'", "timestamp", "string", "2024-11-03 05:30:00.500000"),
    ("timestamp'2024-11-03 06:30:00Z'", "timestamp", "timestamp_ntz", "2024-11-03T06:30:00.000000"),
    ("timestamp'1969-12-31 23:59:59.5Z'", "timestamp", "timestamp_ntz",
     "1969-12-31T23:59:59.500000"),
    ("timestamp'2024-11-03 05:30:00Z'", "timestamp", "date", None),
    ("timestamp'2024-11-03 00:00:00Z'", "timestamp", "date", "2024-11-03"),
    ("timestamp'1969-12-31 00:00:00Z'", "timestamp", "date", "1969-12-31"),
    ("timestamp_ntz'2024-03-10 02:30:00'", "timestamp_ntz", "timestamp",
     "2024-03-10T02:30:00.000000Z"),
    ("timestamp_ntz'2024-11-03 01:30:00'", "timestamp_ntz", "timestamp",
     "2024-11-03T01:30:00.000000Z"),
    ("timestamp_ntz'2024-03-10 02:30:00'", "timestamp_ntz", "string", "2024-03-10 02:30:00.000000"),
    ("timestamp_ntz'2024-03-10 00:00:00'", "timestamp_ntz", "date", "2024-03-10"),
    ("timestamp_ntz'2024-03-10 00:00:01'", "timestamp_ntz", "date", None),
    ("date'2024-03-10'", "date", "timestamp", "2024-03-10T00:00:00.000000Z"),
    ("date'2024-03-10'", "date", "timestamp_ntz", "2024-03-10T00:00:00.000000"),
    ("date'0001-01-01'", "date", "timestamp", "0001-01-01T00:00:00.000000Z"),
    ("date'2024-03-10'", "date", "string", "2024-03-10"),
    ("1", "int", "boolean", "true"),
    ("0", "int", "boolean", "false"),
    ("5", "int", "boolean", None),
    ("cast('NaN' as double)", "double", "boolean", None),
    ("1.0BD", "decimal(2,1)", "boolean", "true"),
    ("true", "boolean", "int", "1"),
    ("true", "boolean", "string", "true"),
    ("300", "int", "tinyint", None),
    ("1e18D", "double", "bigint", "1000000000000000000"),
    ("9223372036854775808D", "double", "bigint", None),
    ("1.5D", "double", "int", None),
    ("9.9D", "double", "decimal(5,2)", "9.90"),
    ("9.999D", "double", "decimal(5,2)", None),
    ("1e39D", "double", "float", None),
    ("1e-60D", "double", "float", None),
    ("-0.0D", "double", "float", "-0.0"),
    ("1.2300BD", "decimal(5,4)", "decimal(5,2)", "1.23"),
    ("1.2301BD", "decimal(5,4)", "decimal(5,2)", None),
    ("0.0000001BD", "decimal(7,7)", "string", "0.0000001"),
    ("cast('-12345678901.00000000012' as decimal(38,20))", "decimal(38,20)", "string",
     "-12345678901.00000000012000000000"),
    ("cast('0.12345678901234567890123456789012345678' as decimal(38,38))", "decimal(38,38)",
     "string", "0.12345678901234567890123456789012345678"),
    ("cast(0 as decimal(38,38))", "decimal(38,38)", "string", f"0.{'0' * 38}"),
    ("12.5BD", "decimal(3,1)", "string", "12.5"),
    ("7Y", "tinyint", "string", "7"),
]  # fmt: skip


def test_typed_values_are_of_another_type_or_none(elsewhere: Warehouse, project: Path) -> None:
    columns = ",\n".join(
        shown(f"spark_cdc._typed({json.dumps(value)}, {there!r}, {wanted!r})", wanted)
        for value, there, wanted, _ in TYPED
    )
    (row,) = elsewhere.sql(elsewhere.compiled(project, f"select {columns}", profiles=CONSUMER))
    for (value, there, wanted, expected), found in zip(TYPED, row, strict=True):
        text = instant(found) if wanted == "timestamp" else found
        assert told(wanted, text) == told(wanted, expected), f"{value}, {there} as {wanted}"


# Types of each kind in the table of docs/values.md; `time` is not in every Spark.
KINDS = {
    "text": ("string", "varchar(5)", "char(3)"),
    "boolean": ("boolean",),
    "integer": ("tinyint", "int", "bigint"),
    "decimal": ("decimal(5, 2)", "decimal(38, 10)"),
    "floating": ("float", "double"),
    "date": ("date",),
    "timestamp": ("timestamp",),
    "timestamp_ntz": ("timestamp_ntz",),
    "interval": ("interval day to second", "interval year to month", "interval minute"),
    "binary": ("binary",),
}


def documented() -> dict[str, list[str]]:
    """The table of types in docs/values.md."""
    page = (ROOT / "docs" / "values.md").read_text(encoding="utf-8")
    rows = page.partition("| the column is |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    return {there: wanted.split(", ") if wanted else [] for there, wanted in cells}


def test_the_page_has_the_table_of_types(elsewhere: Warehouse, project: Path) -> None:
    """Each pair of the table compiles, and gives the type that is wanted."""
    table = "{% if execute %}{{ tojson(spark_cdc._casts()) }}{% endif %}"
    casts = json.loads(elsewhere.compiled(project, table, profiles=CONSUMER))
    assert documented() == casts
    pairs = [
        (one, other)
        for there, kinds in casts.items()
        for one in KINDS.get(there, ())
        for other in {one, *(each for kind in kinds for each in KINDS.get(kind, ()))}
    ]
    columns = ",\n".join(
        f"typeof({{{{ spark_cdc._typed('cast(null as {one})', '{one}', '{other}') }}}})"
        f" = typeof(cast(null as {other}))"
        f" {{{{ spark_cdc._check_cast('me', 'c', '{one}', '{other}') }}}}"
        for one, other in pairs
    )
    (row,) = elsewhere.sql(elsewhere.compiled(project, f"select {columns}", profiles=CONSUMER))
    assert [pair for pair, is_wanted in zip(pairs, row, strict=True) if not is_wanted] == []
