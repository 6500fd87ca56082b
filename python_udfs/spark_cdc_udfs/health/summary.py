"""The lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from spark_cdc_udfs.errors import printable
from spark_cdc_udfs.health.rows import Table
from spark_cdc_udfs.health.severity import OK, STATUSES, Limits, newest_check, worst_first
from spark_cdc_udfs.health.texts import NOT_KNOWN, age, time

TABLES = 20


def headline(tables: Sequence[Table], limits: Limits, relation: str, now: int) -> str:
    """Say in one line how many tables have each status."""
    relation = printable(relation)
    if not tables:
        return f"{relation} has no rows yet"
    statuses = Counter(severe.status for _, severe in worst_first(tables, limits))
    counts = ", ".join(f"{statuses[one]} {one}" for one in STATUSES if statuses[one])
    newest = newest_check(tables)
    return f"{relation}: {counts}; checked {time(newest)} ({age(newest, now)})"


def lines(tables: Sequence[Table], limits: Limits) -> Iterator[str]:
    """Say what is wrong with the worst tables."""
    wrong = [one for one in worst_first(tables, limits) if one[1].status != OK]
    shown = wrong[:TABLES]
    names = [printable(table.name or NOT_KNOWN) for table, _ in shown]
    width = max(map(len, names), default=0)
    for name, (_, severe) in zip(names, shown, strict=True):
        yield f"{severe.status:9}  {name:{width}}  {', '.join(severe.why)}".rstrip()
    if len(wrong) > TABLES:
        yield f"and {len(wrong) - TABLES} more; --html FILE shows all"
