"""How bad a table is, and why. The rule is told in docs/health-page.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spark_cdc_udfs.health.facts import GAPS
from spark_cdc_udfs.health.rows import Table
from spark_cdc_udfs.health.texts import counted, duration, percent

BAD, WARN, UNKNOWN, OK, OLD = "bad", "warn", "not known", "ok", "old"
# The worst first.
STATUSES = (BAD, WARN, UNKNOWN, OK, OLD)
# A table that was checked so long before the others does not belong to the model any more.
OLD_SECONDS = 86400
ANY = "any raw row in quarantine"
# Every table has this count: 0 of it does not make the gaps known.
ALWAYS_COUNTED = "events_with_unknown_columns"


@dataclass(frozen=True)
class Limits:
    """From where on a table is bad or worth a warning: seconds, and shares of 1."""

    lag_warn: int = 6 * 3600
    lag_bad: int = 24 * 3600
    quarantined_warn: float = 0.0
    quarantined_bad: float = 0.01

    def rule(self) -> list[str]:
        """Say the rule in words."""
        bad, warn = (
            f"more than {percent(share)} of the raw rows in quarantine" if share else ANY
            for share in (self.quarantined_bad, self.quarantined_warn)
        )
        return [
            f"bad: a lag of more than {duration(self.lag_bad)}, or {bad}",
            f"warn: a lag of more than {duration(self.lag_warn)}, {warn}, or any gap",
            "not known: neither lag, nor quarantine, nor gaps are known",
            "old: last checked more than a day before the others",
        ]


@dataclass(frozen=True)
class Severity:
    """The status of a table, and each cause of it."""

    status: str
    why: tuple[str, ...]


def share_of(table: Table) -> float | None:
    """Give the share of the raw rows that are in quarantine; None if it is not known."""
    quarantined, raw = table.last.quarantined_rows, table.last.raw_rows
    if quarantined == 0:
        return 0.0
    return None if quarantined is None or not raw else quarantined / raw


def gaps_of(table: Table) -> int | None:
    """Add up the gaps; None if none of them is known."""
    known = {name: count for name in GAPS if (count := table.counts[name]) is not None}
    total = sum(known.values())
    return total if total or known.keys() - {ALWAYS_COUNTED} else None


def newest_check(tables: Sequence[Table]) -> int | None:
    """Give the time of the last check of any table."""
    return max((at for one in tables if (at := one.last.checked_at) is not None), default=None)


def severity(table: Table, limits: Limits, newest: int | None) -> Severity:
    """Decide the status of a table; `newest` is when any table was last checked."""
    checked = table.last.checked_at
    if newest is not None and (checked is None or newest - checked > OLD_SECONDS):
        before = "not checked" if checked is None else f"checked {duration(newest - checked)}"
        return Severity(OLD, (f"{before} before the others" if checked else before,))
    causes = list(_causes(table, limits))
    if causes:
        worst = min((status for status, _ in causes), key=STATUSES.index)
        return Severity(worst, tuple(why for _, why in causes))
    known = (table.last.lag_seconds, table.last.quarantined_rows, gaps_of(table))
    return Severity(UNKNOWN if known == (None, None, None) else OK, ())


def _causes(table: Table, limits: Limits) -> Iterator[tuple[str, str]]:
    lag, quarantined = table.last.lag_seconds, table.last.quarantined_rows
    share = share_of(table)
    if lag is not None and lag > limits.lag_warn:
        yield BAD if lag > limits.lag_bad else WARN, f"lag {duration(lag)}"
    if quarantined and share is None:
        yield WARN, counted(quarantined, "quarantined")
    elif share is not None and share > limits.quarantined_warn:
        yield BAD if share > limits.quarantined_bad else WARN, f"{percent(share)} quarantined"
    for name, (title, _) in GAPS.items():
        if count := table.counts[name]:
            yield WARN, counted(count, title)


def worst_first(tables: Sequence[Table], limits: Limits) -> list[tuple[Table, Severity]]:
    """Order tables: by status, share in quarantine, gaps, lag, and name."""
    newest = newest_check(tables)
    judged = [(table, severity(table, limits, newest)) for table in tables]

    def place(one: tuple[Table, Severity]) -> tuple[int, float, int, int, str]:
        table, severe = one
        return (
            STATUSES.index(severe.status),
            -(share_of(table) or 0.0),
            -(gaps_of(table) or 0),
            -(table.last.lag_seconds or 0),
            table.name or "",
        )

    return sorted(judged, key=place)
