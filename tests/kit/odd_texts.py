"""Odd texts: what people, programs and other databases write where a value is expected."""

from __future__ import annotations


def each(texts: str) -> list[str]:
    """Texts without blanks."""
    return texts.split()


NUMBERS = each("""
    0 5 -7 +5 007 -0 5. 5.0 .5 . -.5 +.5e1 5e0 1e3 1E+3 1e-3 500e-2 12.50e1 5000e-3 1201e-2 1e e5
    1e1e1 1,000 12,5 1.000,5 1_000 0x10 0x1p3 0b1 1.5d 1.5f 1L 1d 5BD １.５ ５ ٣ ² ½ 1e400 1e39
    1e-400 1e-46
    3.5e38 3.4028235e38 1.4e-45 1.7976931348623157e308 1.8e308 4.9e-324 2e-324 0e99999 0e9999
    0e-400 1e99999 -0.0 00000 0.000 NaN nan Infinity -Infinity inf -INF +inf infinit +nan NULL null
    --5 +-5 5- (5) $5 5% 127 128 -128 -129 32767 32768 2147483647 2147483648 -2147483648.0
    9223372036854775807 9223372036854775808 -9223372036854775808.0 9.223372036854775807e18
    9.2233720368547758071e18 1.005 1.0050 1.00500e0 1e-38 1e38 -1E-2 999.99 1000 999.995 1e+0003
    9007199254740993.01 1.00000000000000000000001e0 123456789.123456789 1.e5 e 1e+ 1e5.0 +
""")
NUMBERS += ["9" * 38, "9" * 39, f"0.{'0' * 37}1", f"0.{'0' * 38}1", "1" * 900, "1" * 901]
NUMBERS += [f"{'0' * 399}7", f"{'0' * 400}7", f"{'0' * 899}7", f"{'0' * 900}7", "1..5", "1.2.3"]
NUMBERS += [
    f"1.{'0' * 400}",
    f"1.{'0' * 401}",
    f"1.{'0' * 898}",
    f"1.{'0' * 899}",
    ".0",
    "..",
    "1.e",
]
PADDED = [text for one in ("7", "1.5", "true", "2024-02-29") for text in (
    f" {one}", f"{one}   ", f"\t{one}", f"{one}\n", f"{one}\r\n", f"\x00{one}", f"{one}\x0b",
    f"{one}\x7f", f"{one}\u00a0", f"\u2003{one}", f"\ufeff{one}", f"{one};",
)]  # fmt: skip
WORDS = ["", " ", "true", "TRUE", "tRuE", "t", "F", "yes", "no", "Y", "n", "on", "off", "1.", "01"]
WORDS += ["1.01", "2", "-1", "truee", "ja", "x", "ｔrue", "true1", "true.0", "none"]
BYTES = ["CAFE", "cafe", "0xCAFE", "0XCAFE", "x'CAFE'", "X'ca'", "x'CAFE", "'CAFE'", "CAF", "0xCAF"]
BYTES += [
    "0x",
    "x''",
    "CA FE",
    " CAFE",
    "zz",
    "\\xCAFE",
    "CAFE\n",
    "ＣＡ",
    "yv4=",
    "yv6=",
    "qqo=",
    "QR==",
]
BYTES += [
    "word",
    "hello",
    "QUJD",
    "QUI=",
    "QQ==",
    "QQ=",
    "Q===",
    "====",
    "=",
    "QUJDRA",
    "QUJD RA==",
]
BYTES += ["QUJD\r\nRA==", "QUJ=", "a-_=", "YQ==YQ==", "A", "AA", "AAA", "QUJD\x0b", "é", "AB" * 40]
DAYS = each("""
    2024-02-29 2023-02-29 2024-2-9 2024-02-9 24-02-29 02024-02-29 202403 20240229 2024-060 2024-W09
    2024 2024-02 2024-3 19800 0000-01-01 0000-12-31 0001-01-01 9999-12-31 10000-01-01 20240-1-1
    +2024-02-29 -2024-02-29 2024/02/29 29.02.2024 02/29/2024 now today epoch 2024-02-29T
    ２０２４-02-29 2024‐02‐29 2024-02-29Z 2024-13-01 2024-00-10 2024-04-31 infinity
    10:20:30 2024--1-01
    1970-01-01 1582-10-10 1900-02-29 2024-03-10 2024-11-03
""")
CLOCKS = each("""
    00 00:00 00:00:00 00:00:00.000 00:00:00.0001 10 1 10:20 10:2 10:20:3 10:20:30 24:00:00 24:00
    24:00:00.000 24:00:01 23:59:60 25:00:00 10:60:00 10:20:30. 10:20:30.5 10:20:30,5 10:20.5
    10:20:30.123456789 10:20:30.123456789012 10:20:30.1234567890123 10.20.30 10.20.30.123456
    24.00.00 24.00.00.000000 24.00.00.1 00.00.00 00.00.00.000
    10.20 10.20.30. 1.20.30 02:30:00 01:30:00 10h20
""")
ZONES = ["Z", "z", " Z", "UTC", " UTC", "GMT", "+00", "+00:00", "+0000", " +02:00", "+2", "+02"]
ZONES += ["+0230", "-02:30", "+2:30", "+18:00", "+18:01", "-19:00", "+02:60", "+02:00:00", " PM"]
ZONES += [" CST", "CST", "Europe/Paris", " Europe/Paris", "[UTC]", "−02:00", " +0200", "  +02:00"]
TIMES = [
    f"{day}{between}{clock}"
    for day in ("2024-03-10", "2024-11-03", "9999-12-31", "0000-01-01")
    for between in (" ", "T", "-")
    for clock in CLOCKS
]
TIMES += [f"2024-06-01 10:20:30{fraction}{zone}" for fraction in ("", ".5") for zone in ZONES]
TIMES += [
    f"2024-06-01{clock}{zone}"
    for clock in ("T00:00:00", " 00:00", "-00.00.00", "-10.20.30.5")
    for zone in ZONES
]
TIMES += [f"2024-06-01{between}10:20:30" for between in ("t", "  ", "_", "\u00a0")]
TIMES += [f"0001-01-01 00:00:00{zone}" for zone in ("Z", "+00:00", "+01:00", "-01:00")]
TIMES += [f"9999-12-31 23:30:00{zone}" for zone in ("Z", "+00:00", "+01:00", "-01:00")]

# A pattern that takes n times n steps would need minutes for one of them.
MANY = 50_000
LONG = ["1" * MANY, "1" * MANY + "x", "1e" + "1" * MANY, "0." + "0" * MANY + "1", " " * MANY + "7"]
LONG += ["1" + " " * MANY + "x", "2024-06-01 10:20:30." + "0" * MANY, "A" * (MANY + 1), "t" * MANY]
LONG += ["QUJD" * MANY, "x'" + "0" * MANY, "1." + "0" * MANY + "e", "2024-06-01" + " " * MANY + "T"]

ODD = list(dict.fromkeys([*NUMBERS, *PADDED, *WORDS, *BYTES, *DAYS, *TIMES, *LONG]))
