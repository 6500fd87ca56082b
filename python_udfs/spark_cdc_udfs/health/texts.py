"""Numbers, durations and times as people read them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

NOT_KNOWN = "not known"
UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
# As options are written.
LETTERS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def number(value: int | None) -> str:
    """Write a number with commas."""
    return NOT_KNOWN if value is None else f"{value:,}"


def counted(value: int, name: str) -> str:
    """Write a number and what it counts; the name is in the plural."""
    return f"{value:,} {name}"


def percent(share: float) -> str:
    """Write a share of 1 with two digits."""
    if 0 < share < 0.0001:
        return "<0.01 %"
    hundredths = share * 100
    return f"{hundredths:.0f} %" if hundredths >= 10 else f"{hundredths:.2g} %"


def duration(seconds: int) -> str:
    """Write a duration in its two largest units."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    for place, (unit, size) in enumerate(UNITS):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            text = f"{whole:,} {unit}"
            if unit in ("d", "h"):
                smaller, smaller_size = UNITS[place + 1]
                text += f" {rest // smaller_size} {smaller}" if rest >= smaller_size else ""
            return text
    return "0 s"


def known_duration(seconds: int | None) -> str:
    """Write a duration, or that it is not known."""
    return NOT_KNOWN if seconds is None else duration(seconds)


def time(seconds: int | None) -> str:
    """Write a time in UTC, given as seconds since 1970."""
    if seconds is None:
        return NOT_KNOWN
    try:
        at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)
    except OverflowError:  # Spark knows years that Python does not
        return f"{seconds:,} seconds since 1970"
    return at.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def age(seconds: int | None, now: int) -> str:
    """Write how long before `now` a time is."""
    if seconds is None:
        return NOT_KNOWN
    return f"{duration(now - seconds)} ago" if seconds <= now else f"in {duration(seconds - now)}"


def seconds_of(text: str) -> int:
    """Read a duration such as `90s`, `15m`, `6h` or `2d`. Raises ValueError."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if not found:
        raise ValueError(f"{text} is no duration")
    return int(found[1]) * LETTERS[found[2]]
