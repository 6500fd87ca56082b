"""The rows of a health model: the query for them, and the tables that they tell of."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from spark_cdc_udfs.health.facts import COUNTS
from spark_cdc_udfs.lake.queries import Lake, Row

EXAMPLES_OF_A_REASON = 3
# So many examples are read of a table.
EXAMPLES = 200
# Longer texts are cut.
CHARACTERS = {"reason": 200, "detail": 500, "raw": 1500}


@dataclass(frozen=True)
class Run:
    """What one run found; None is not known. Times are in seconds since 1970."""

    checked_at: int | None
    lag_seconds: int | None
    raw_rows: int | None
    quarantined_rows: int | None


@dataclass(frozen=True)
class Example:
    """A raw row in quarantine."""

    detail: str | None
    raw: str | None


@dataclass(frozen=True)
class Table:
    """A table as its last run found it, and its runs, the oldest first."""

    name: str | None
    source: str | None
    runs: tuple[Run, ...]
    last_commit_at: int | None
    last_landed_at: int | None
    counts: Mapping[str, int | None]  # by the names of `facts`
    reasons: Mapping[str, int | None] | None  # of quarantine, the most frequent first
    examples: Mapping[str, tuple[Example, ...]]  # by reason

    @property
    def last(self) -> Run:
        """The last run."""
        return self.runs[-1]


OF_EVERY_RUN = ("checked_at", "lag_seconds", "raw_rows", "quarantined_rows")
OF_THE_LAST_RUN = tuple(name for name in COUNTS if name not in OF_EVERY_RUN)


def query(relation: str, runs: int) -> str:
    """Write the query for the last runs of each table, the oldest first.

    Times are numbers, and maps and arrays are JSON, so that every connection gives the same values.
    """
    cut = ", ".join(
        f"'{name}', left(example.{name}, {length + 1})" for name, length in CHARACTERS.items()
    )
    examples = f"transform(slice(examples, 1, {EXAMPLES}), example -> named_struct({cut}))"
    of_the_last_run = [
        "unix_seconds(last_commit_at)",
        "unix_seconds(last_landed_at)",
        "to_json(quarantined_by_reason)",
        f"to_json({examples})",
        *OF_THE_LAST_RUN,
    ]
    lines = [
        "with numbered_runs as (",
        "    select",
        "        *,",
        "        row_number() over (",
        "            partition by table_name order by checked_at desc nulls last",
        "        ) as cdc_run",
        f"    from {relation}",
        ")",
        "select",
        "    table_name,",
        "    cdc_source,",
        "    unix_seconds(checked_at),",
        "    lag_seconds,",
        "    raw_rows,",
        "    quarantined_rows,",
        ",\n".join(f"    case when cdc_run = 1 then {one} end" for one in of_the_last_run),
        "from numbered_runs",
        f"where cdc_run <= {runs}",
        "order by table_name, cdc_run desc",
    ]
    return "\n".join(lines)


def tables(lake: Lake, relation: str, runs: int) -> list[Table]:
    """Read the tables of a health model, with at most so many runs of each. Raises QueryFailed."""
    rows = lake.rows(query(relation, runs))
    return [_table(list(some)) for _, some in groupby(rows, key=lambda row: row[0])]


def _table(rows: list[Row]) -> Table:
    name, source, *_ = last = rows[-1]
    first = 2 + len(OF_EVERY_RUN)
    committed, landed, reasons, examples, *counts = last[first:]
    runs = tuple(Run(*row[2:first]) for row in rows)
    known: dict[str, int | None] = dict(zip(OF_THE_LAST_RUN, counts, strict=True))
    known |= {"raw_rows": runs[-1].raw_rows, "quarantined_rows": runs[-1].quarantined_rows}
    return Table(
        name,
        source,
        runs,
        committed,
        landed,
        known,
        _most_frequent_first(reasons),
        _by_reason(json.loads(examples) if examples else []),
    )


def _most_frequent_first(reasons: str | None) -> Mapping[str, int | None] | None:
    if reasons is None:
        return None
    found: dict[str, int | None] = json.loads(reasons)
    return dict(sorted(found.items(), key=lambda one: (-(one[1] or 0), one[0])))


def _by_reason(examples: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Example, ...]]:
    """Give the first examples of each reason. Spark leaves a field out if it is null."""
    found: dict[str, list[Example]] = defaultdict(list)
    for one in examples:
        reason, detail, raw = _cut(one)
        some = found[reason or ""]
        if len(some) < EXAMPLES_OF_A_REASON:
            some.append(Example(detail, raw))
    return {reason: tuple(some) for reason, some in found.items()}


def _cut(example: Mapping[str, Any]) -> Iterator[str | None]:
    for name, length in CHARACTERS.items():
        text = example.get(name)
        yield text if text is None or len(text) <= length else f"{text[:length]}…"
