"""Rows of a health model, as its query gives them, and a lake that has them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark_cdc_udfs.health import command
from spark_cdc_udfs.health.rows import OF_THE_LAST_RUN

Row = tuple[Any, ...]

NOW = 1_780_000_000  # 2026-05-28T20:26:40Z
HOUR = 3600
DAY = 24 * HOUR
HOSTILE = "</script><img src=x onerror=\"document.title='run'\"><!--\u2028{{data}}\u202e&amp;\x00'"


@dataclass
class FakeLake:
    """A lake that gives the same rows for every query, or fails."""

    found: Sequence[Row] = ()
    error: Exception | None = None
    schema: str = "lake"
    queries: list[str] = field(default_factory=list)

    def rows(self, query: str) -> list[Row]:
        """Answer a query."""
        self.queries.append(query)
        if self.error:
            raise self.error
        return list(self.found)


def checked(
    name: str | None,
    *runs: tuple[int | None, int | None],
    source: str | None = "qlik_change_table",
    at: int | None = NOW - HOUR,
    raw: int | None = 1000,
    reasons: Mapping[str, int] | None = None,
    examples: Sequence[Mapping[str, str]] | None = None,
    **counts: int | None,
) -> list[Row]:
    """Give the rows of a table: lag and quarantined rows of each run, counts of the last run.

    The runs are an hour apart, the last one at `at`. Counts that are not given are 0.
    """
    rows: list[Row] = []
    for before, (lag, quarantined) in zip(range(len(runs) - 1, -1, -1), runs, strict=True):
        time = None if at is None else at - before * HOUR
        known = {**dict.fromkeys(OF_THE_LAST_RUN, 0), **counts}
        last: Row = (
            None if at is None else at - 2 * HOUR,
            None if at is None else at - HOUR,
            None if reasons is None else json.dumps(reasons),
            None if examples is None else json.dumps(examples),
            *(known[one] for one in OF_THE_LAST_RUN),
        )
        of_the_last_run = (None,) * len(last) if before else last
        rows.append((name, source, time, lag, raw, quarantined, *of_the_last_run))
    return rows


def three_tables() -> list[Row]:
    """Give a bad table with hostile texts, one of which nothing is known, and a good one."""
    examples = [
        {"reason": HOSTILE, "detail": HOSTILE, "raw": f"{number} {HOSTILE}"} for number in range(3)
    ]
    examples += [{"reason": "mask_does_not_fit", "raw": '{"order_id":"7"}'}]
    bad = [(HOUR * (one % 7 + one), 3 + one) for one in range(30)]
    return [
        *checked(
            "orders",
            *bad,
            raw=1_234_567,
            reasons={"mask_does_not_fit": 12, HOSTILE: 20, "without_example": 1},
            examples=examples,
            events=1_200_000,
            updates_of_unknown_keys=4,
            orphaned_before_images=None,
        ),
        *checked(
            f"a_table_with_a_very_long_name_of_a_source_{HOSTILE}",
            (None, None),
            source=None,
            raw=None,
            **dict.fromkeys(OF_THE_LAST_RUN),
        ),
        *checked("customers", (60, 0), (None, 0), (300, 0), (45, 0), reasons={}, examples=[]),
    ]


def many_tables(number: int = 300) -> list[Row]:
    """Give tables in all states, with 60 runs each."""
    rows: list[Row] = []
    for one in range(number):
        kind = one % 10
        runs = [
            (
                (one * 37 + run * 911) % (3 * HOUR) + (DAY * 2 if kind == 0 and run > 50 else 0),
                run // 7 if kind == 1 else 0,
            )
            for run in range(60)
        ]
        counts: dict[str, Any] = {"inserts_over_existing_keys": one} if kind == 2 else {}
        rows += checked(f"erp_table_{one:03}", *runs, raw=one * 997 + 100, reasons={}, **counts)
    return rows


def run(project: Path, lake: FakeLake, *options: str) -> int:
    """Run `spark-cdc health` in a project; give the exit status."""
    import argparse

    @contextlib.contextmanager
    def connect(*_: Any) -> Iterator[FakeLake]:
        yield lake

    parser = argparse.ArgumentParser()
    command.add_options(parser)
    arguments = parser.parse_args(["--project-dir", str(project), *options])
    return command.run(arguments, connect, lambda: NOW)
