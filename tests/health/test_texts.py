"""Numbers, durations and times as people read them."""

from __future__ import annotations

import pytest
from spark_cdc_udfs.errors import printable
from spark_cdc_udfs.health import texts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (119, "1 min"),
        (3600, "1 h"),
        (3659, "1 h"),
        (3660, "1 h 1 min"),
        (86399, "23 h 59 min"),
        (86400, "1 d"),
        (90000, "1 d 1 h"),
        (123_456_789, "1,428 d 21 h"),
        (-90, "-1 min"),
    ],
)
def test_durations(seconds: int, text: str) -> None:
    assert texts.duration(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.00001, "<0.01 %"),
        (0.0001, "0.01 %"),
        (0.00123, "0.12 %"),
        (0.0123, "1.2 %"),
        (0.0999, "10 %"),
        (0.123, "12 %"),
        (1.0, "100 %"),
    ],
)
def test_shares(share: float, text: str) -> None:
    assert texts.percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "not known"),
        (0, "1970-01-01T00:00:00Z"),
        (1_780_000_000, "2026-05-28T20:26:40Z"),
        (-62_135_596_800, "0001-01-01T00:00:00Z"),
        (253_402_300_800, "253,402,300,800 seconds since 1970"),
    ],
)
def test_times(seconds: int | None, text: str) -> None:
    assert texts.time(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "not known"), (40, "1 min ago"), (100, "0 s ago"), (160, "in 1 min")],
)
def test_ages(seconds: int | None, text: str) -> None:
    assert texts.age(seconds, 100) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("6h", 21600), ("2d", 172800), ("0s", 0)]
)
def test_durations_of_options(text: str, seconds: int) -> None:
    assert texts.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "6", "h", "-1h", "1.5h", "1 h", "6H", "1w", "٣h", "1h\n"])
def test_other_words_are_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        texts.seconds_of(text)


def test_a_terminal_gets_no_control_characters() -> None:
    assert printable("é\x1b[2J\n\u202e\ud800") == "é\\x1b[2J\\n\\u202e\\ud800"
