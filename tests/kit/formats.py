"""The interface between a format's folder and the laws, and the list of all folders.

`tests/formats/<decoder>/` is a Python package whose `__init__.py` has `FORMAT`, a :class:`Format`.
Nothing outside that folder names the format, except the forms of its values in `kit/values.py`. The
laws in `tests/laws/` find it there.
"""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulation.database import Table, Workload
from simulation.oracle import Position

from kit.values import as_text, texts_of
from kit.warehouse import ROOT

Row = dict[str, Any]
Columns = Mapping[str, str | Mapping[str, str]]
Vector = dict[str, Any]

# A table for generic tests: its columns, and its rows as SQL.
TestedTable = tuple[dict[str, str], str]
# A table, a generic test with its arguments, and the first column of the rows that it finds; or a
# part of the message with which compilation stops.
GenericTest = tuple[str, str, dict[str, Any], list[Any] | str]

FOLDER = ROOT / "tests" / "formats"


@dataclass(frozen=True)
class Relation:
    """A relation that a decoder reads.

    ``columns``: names and Spark SQL types; for a struct a mapping of its fields to their types.
    """

    columns: Columns
    rows: Sequence[Row]


@dataclass(frozen=True)
class Case:
    """One simulated source table as raw rows, and the result that a decoder must give.

    ``relations``: ``raw``, and look-ups by any name.
    ``arguments``: the decoder's arguments after the relation, as Jinja. ``{name}`` is replaced by
    the look-up of that name.
    ``events``: the change events by commit and sequence, without ``cdc_batch`` and
    ``cdc_metadata``. ``quarantine``: the reasons, one for each delivery of a bad row.
    ``workload``, ``positions``: given if the raw rows contain everything that the database knows.
    Then the current state follows from the states of the database alone.
    ``counted``: the relations besides ``raw`` whose rows are in ``raw_counts``. ``null_keys``:
    whether NULL is a value of keys. ``generic_tests``: generic tests of the format that pass: the
    ending of the name of a model (``_changes``) or a relation (``__raw``), the test, its arguments.
    ``mixes``: whether transactions of one key are mixed in the sequences.
    """

    name: str
    table: Table
    relations: Mapping[str, Relation]
    arguments: str
    events: Sequence[Row]
    quarantine: Sequence[str]
    raw_counts: dict[str, int]
    workload: Workload | None = None
    positions: Mapping[int, Position] = field(default_factory=dict)
    counted: Collection[str] = ()
    null_keys: bool = False
    generic_tests: Sequence[tuple[str, str, Mapping[str, Any]]] = ()
    mixes: bool = False


class Written:
    """The raw rows of a writer, with ``decoded``: what a reference makes of them.

    ``arguments``: the decoder's, as Jinja. A log that tells everything also has ``workload`` and
    ``positions``; see :class:`Case`.
    """

    decoded: Any
    arguments: Any

    @property
    def events(self) -> list[Row]:
        """The events, without ``cdc_metadata``."""
        return [without_metadata(event) for event in self.decoded.events]

    @property
    def quarantine(self) -> list[str]:
        """The reasons."""
        return [reason for _, reason in self.decoded.quarantine]

    def case(self, name: str, table: Table, relations: Mapping[str, Relation]) -> Case:
        """The rows as a case of the laws."""
        return Case(
            name,
            table,
            relations,
            self.arguments,
            self.events,
            self.quarantine,
            self.decoded.raw_counts,
            getattr(self, "workload", None),
            getattr(self, "positions", {}),
        )


def without_metadata(event: Row) -> Row:
    """An event without ``cdc_metadata``, which no law compares."""
    return {name: value for name, value in event.items() if name != "cdc_metadata"}


def vector_event(event: Row, columns: Collection[str], **metadata: Any) -> Vector:
    """An event as the vectors write it; ``metadata``: what they write in another form."""
    told = {name: value for name, value in event.items() if name.startswith("cdc_")}
    told.pop("cdc_source")
    before = event["cdc_before"]
    return told | {
        "cdc_commit_at": as_text(event["cdc_commit_at"]),
        "cdc_before": before and texts_of(before),
        "cdc_metadata": event["cdc_metadata"] | metadata,
        "row": texts_of(event, columns),
    }


def raw_counts(raw_rows: int, quarantined_rows: int, no_op_rows: int = 0) -> dict[str, int]:
    """The numbers of `raw_counts`."""
    return {
        "raw_rows": raw_rows,
        "used_rows": raw_rows - no_op_rows - quarantined_rows,
        "no_op_rows": no_op_rows,
        "quarantined_rows": quarantined_rows,
    }


@dataclass(frozen=True)
class Deliveries:
    """The raw rows of one source table in the batches in which they land.

    ``batches``: for each delivery the new rows of each relation. ``leaves``: the deliveries before
    which the raw rows that were read leave the raw relation. ``watermarks``: the ``raw_watermark``
    of a kind of model (``changes``, ``quarantine``, ``log``), if it has one. ``inputs``: the
    relations besides ``raw`` that are raw rows too, and no look-ups.

    ``own_log``: for a format with a raw log of its own, the bodies of its models by their endings,
    in their order; the last one is ``log``. In them ``{name}`` means a relation, or a model before.
    The incremental models of the decoder read it with the arguments ``on_log``.
    """

    name: str
    table: Table
    columns: Mapping[str, Mapping[str, str]]
    arguments: str
    batches: Sequence[Mapping[str, Sequence[Row]]]
    leaves: Collection[int] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    inputs: Collection[str] = ()
    own_log: Mapping[str, str] = field(default_factory=dict)
    on_log: str = ""


@dataclass(frozen=True)
class Blocks:
    """Raw rows without end, for the law of a poisoned delivery.

    ``rows(number)``: the good rows of a block, a thousand or more. Rows of two blocks do not matter
    for each other. ``columns``, ``arguments``, ``lookups``: as in :class:`Case`. ``odd``: hostile
    values of the format's own, by column. ``spared``: values that no hostile row has, by column.
    ``is_stream``: whether raw rows are pieces of a stream. Then an entry in quarantine is no raw
    row, and what is bad may depend on the order of arrival.
    """

    columns: Mapping[str, str]
    arguments: str
    rows: Callable[[int], Sequence[Row]]
    lookups: Mapping[str, Relation] = field(default_factory=dict)
    odd: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    spared: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    is_stream: bool = False


@dataclass(frozen=True)
class UnitTest:
    """A dbt unit test of a wrapper model. ``given``: SQL of the rows of each source table."""

    name: str
    model: str
    given: Mapping[str, str]
    expect: Sequence[Row]
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """What the laws need to know of a format.

    ``cases(seed)``: workloads with every phenomenon of the format: whole, shuffled, repeated and
    malformed rows. ``deliveries(rng)``: the same in batches, with late and repeated rows.

    ``blocks``: good rows that the law of a poisoned delivery spoils.

    ``declared``: relations for wrong calls, by name. They have declared columns with types (None:
    undeclared type), and none of them is in the warehouse. ``wrong_calls``: arguments of the
    decoder, in which these names mean the relations, and a part of the message. ``call``:
    arguments that are right. ``wrong_logs``: the same for a raw log of its own.

    ``serves``: other macros with a quarantine whose tests are in this folder.

    ``tested_tables``, ``generic_tests``: the format's own generic tests on small tables.
    ``hints``: what their column ``hint`` says: by table texts, and in how many rows each is.

    ``vectors``: for each file in ``vectors/`` a function that checks one vector without Spark.
    ``vector_units``: for each file in ``vectors/`` a function that makes dbt unit tests of all its
    vectors. Every vector's id is in the expected rows, in a column ``vector``.
    """

    decoder: str
    cases: Callable[[int], Iterator[Case]]
    deliveries: Callable[[random.Random], Deliveries]
    blocks: Callable[[], Blocks]
    declared: Mapping[str, Mapping[str, str | None]]
    call: str
    wrong_calls: Sequence[tuple[str, str]]
    wrong_logs: Sequence[tuple[str, str]] = ()
    serves: Sequence[str] = ()
    tested_tables: Mapping[str, TestedTable] = field(default_factory=dict)
    generic_tests: Sequence[GenericTest] = ()
    hints: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    vectors: Mapping[str, Callable[[Vector], None]] = field(default_factory=dict)
    vector_units: Mapping[str, Callable[[Sequence[Vector]], list[UnitTest]]] = field(
        default_factory=dict
    )

    @property
    def folder(self) -> Path:
        """The folder of the format."""
        return FOLDER / self.decoder

    @property
    def can_narrow_before(self) -> bool:
        """Whether the decoder has the argument `before_image`."""
        macro = FOLDER.parents[1] / "macros" / self.decoder / f"{self.decoder}.sql"
        return "before_image='row'" in macro.read_text(encoding="utf-8")

    def vectors_of(self, file: str) -> list[Vector]:
        """Read a file of vectors."""
        text = (self.folder / "vectors" / f"{file}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line]


def every_format() -> list[Format]:
    """Every folder in `tests/formats`, as its `FORMAT`."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
    return [importlib.import_module(f"formats.{name}").FORMAT for name in names]


def decoders_built() -> list[str]:
    """The decoders of the package: each has a macro with its events."""
    return sorted(
        path.parent.name
        for path in (ROOT / "macros").glob("*/*.sql")
        if f"macro _outcomes_{path.parent.name}(" in path.read_text(encoding="utf-8")
    )
