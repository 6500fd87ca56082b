"""All that the page shows, as values for JSON: texts to show, and numbers to sort by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from spark_cdc_udfs.health import texts
from spark_cdc_udfs.health.facts import AMOUNTS, GAPS
from spark_cdc_udfs.health.rows import Table
from spark_cdc_udfs.health.severity import (
    STATUSES,
    Limits,
    Severity,
    gaps_of,
    newest_check,
    share_of,
    worst_first,
)


def view(tables: Sequence[Table], limits: Limits, relation: str, now: int) -> dict[str, Any]:
    """Give the whole page; `now` is when it is made, in seconds since 1970."""
    judged = worst_first(tables, limits)
    statuses = Counter(severe.status for _, severe in judged)
    newest = newest_check(tables)
    return {
        "relation": relation,
        "made": texts.time(now),
        "checked": f"{texts.time(newest)} ({texts.age(newest, now)})" if tables else "",
        "rule": limits.rule(),
        "counts": [[one, statuses[one]] for one in STATUSES if statuses[one]],
        "tables": [_table(table, severe, now) for table, severe in judged],
    }


def _table(table: Table, severe: Severity, now: int) -> dict[str, Any]:
    gaps = gaps_of(table)
    return {
        "name": table.name or texts.NOT_KNOWN,
        "source": table.source or texts.NOT_KNOWN,
        "status": severe.status,
        "why": list(severe.why),
        "lag": _lag(table),
        "quarantined": _quarantined(table),
        "gaps": {"value": gaps, "text": texts.number(gaps)},
        "raw": {"value": table.last.raw_rows, "text": texts.number(table.last.raw_rows)},
        "checked": {
            "value": table.last.checked_at,
            "text": texts.age(table.last.checked_at, now),
        },
        "facts": [list(one) for one in _facts(table, now)],
        "reasons": list(_reasons(table)),
        "reasons_known": table.reasons is not None,
        "gap_list": [
            {"name": title, "count": texts.number(count), "means": means}
            for name, (title, means) in GAPS.items()
            if (count := table.counts[name])
        ],
        "gaps_note": _gaps_note(table),
    }


def _gaps_note(table: Table) -> str:
    """Say which gaps are not known, or that there are none."""
    unknown = [title for name, (title, _) in GAPS.items() if table.counts[name] is None]
    if len(unknown) == len(GAPS):
        return "Not known."
    if unknown:
        return f"Not known: {', '.join(unknown)}."
    return "" if gaps_of(table) else "None."


def _lag(table: Table) -> dict[str, Any]:
    values = [run.lag_seconds for run in table.runs]
    shown = {one: texts.duration(one) for one in values if one is not None}
    return {
        "value": values[-1],
        "text": texts.known_duration(values[-1]),
        "note": "",
        "runs": values,
        "label": _label("lag", values, shown),
    }


def _quarantined(table: Table) -> dict[str, Any]:
    values = [run.quarantined_rows for run in table.runs]
    shown = {one: texts.number(one) for one in values if one is not None}
    return {
        "value": values[-1],
        "text": texts.number(values[-1]),
        "note": ", ".join(_notes(table)),
        "runs": values,
        "label": _label("quarantined rows", values, shown),
    }


def _notes(table: Table) -> Iterator[str]:
    """Give the share in quarantine, and how much is new or gone since the run before."""
    share = share_of(table)
    if share:
        yield texts.percent(share)
    before = table.runs[-2].quarantined_rows if len(table.runs) > 1 else None
    last = table.last.quarantined_rows
    if before is not None and last is not None and before != last:
        yield f"{last - before:+,}"


def _label(name: str, values: Sequence[int | None], shown: dict[int, str]) -> str:
    """Say in words what the line of a value shows."""
    runs = "1 run" if len(values) == 1 else f"{len(values)} runs"
    if not shown:
        return f"{name}, {runs}: {texts.NOT_KNOWN}"
    last = texts.NOT_KNOWN if values[-1] is None else shown[values[-1]]
    return f"{name}, {runs}: {shown[min(shown)]} to {shown[max(shown)]}, last {last}"


def _facts(table: Table, now: int) -> Iterator[tuple[str, str]]:
    times = {
        "checked": table.last.checked_at,
        "last commit": table.last_commit_at,
        "last landed": table.last_landed_at,
    }
    for name, at in times.items():
        yield name, texts.time(at) if at is None else f"{texts.time(at)} ({texts.age(at, now)})"
    yield "lag", texts.known_duration(table.last.lag_seconds)
    for name, title in AMOUNTS.items():
        yield title, texts.number(table.counts[name])


def _reasons(table: Table) -> Iterator[dict[str, Any]]:
    """Give the reasons of quarantine, and those that only an example names."""
    counts = table.reasons or {}
    for reason in [*counts, *(one for one in table.examples if one not in counts)]:
        yield {
            "reason": reason or texts.NOT_KNOWN,
            "count": texts.number(counts.get(reason)),
            "examples": [
                {"detail": one.detail or "", "raw": texts.NOT_KNOWN if one.raw is None else one.raw}
                for one in table.examples.get(reason, ())
            ],
        }
