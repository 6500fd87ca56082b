"""Db2 capture tables: their interface to the laws."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kit.formats import Blocks, Case, Deliveries, Format, Relation
from kit.landing import batches
from simulation import database

from formats.db2_capture_table import vector_checks, vector_units, writer
from formats.db2_capture_table.writer import Capture, Style, possible_bad_rows
from formats.db2_capture_table.wrong_calls import CALL, DECLARED, WRONG_CALLS

DECODER = "db2_capture_table"

NARROW = database.Table("items", {"ID": "int", "NAME": "string", "PRICE": "decimal(8,2)"}, ("ID",))

# A CD table whose updates are one row with all before columns, joined to its unit of work.
CD = Style(before=list(database.ORDERS.columns), unit_of_work=0.7)
# A CD table whose updates are a delete and an insert; all columns landed as text.
PAIRS = Style(pairs=1.0, shared=0.4, prefix=None, is_text=True, sequence="text")
# A complete CCD table with several full refreshes and a few before columns.
CCD = Style(
    pairs=0.5,
    before=["Order No", "a.b"],
    prefix="OLD_",
    sequence="decimal",
    logmarker="string",
    own=("UOWID", "AUTHID"),
    unit_of_work=0.7,
    joined=("UOWID", "APPLY_QUAL"),
    loads=3,
    missing=0.2,
    zone="Europe/Berlin",
)
# Copies of a condensed CCD table, which began with a full refresh.
CONDENSED = Style(
    prefix="", sequence="text", logmarker="timestamp", loads=1, copies=3, own=("APPLY_QUAL",)
)
# A typical CD table with a copy of the source as load rows, for increments.
CHANGES = Style(
    pairs=0.6,
    shared=0.3,
    before=list(NARROW.columns),
    is_text=True,
    unit_of_work=0.7,
    loads=1,
    missing=0.2,
)
# A CD table for text search: the key alone.
KEY_ONLY = Style(
    pairs=0.5,
    key_columns=["PK01", "PK02", "PK03"],
    prefix=None,
    logmarker="timestamp_ntz",
    unit_of_work=0.7,
    joined=("UOWID", "AUTHID"),
    loads=2,
    base="text",
)

CASES: dict[str, tuple[database.Table, Style]] = {
    "ccd": (database.ODD_NAMES, CCD),
    "cd": (database.ORDERS, CD),
    "cd_pairs": (database.POSITIONS, PAIRS),
    "ccd_condensed": (database.ALL_TYPES, CONDENSED),
    "cd_of_keys": (database.POSITIONS, KEY_ONLY),
}


def with_bad_rows(style: Style) -> Style:
    """The same style with two malformed rows of each kind."""
    return replace(style, bad_rows=dict.fromkeys(possible_bad_rows(style), 2))


def capture(seed: object, table: database.Table, style: Style, transactions: int = 40) -> Capture:
    """The capture table of a simulated database."""
    rng = random.Random(f"{seed} {table.name}")
    workload = database.generate(table, rng, transactions, without=writer.NOT_CAPTURED)
    return writer.write(workload, rng, with_bad_rows(style))


def case(seed: int, name: str) -> Case:
    """A capture table as a case of the laws."""
    made = capture(f"{seed} {name}", *CASES[name])
    relations = {"raw": Relation(made.columns, made.rows)}
    if made.uow_columns:
        relations["unit_of_work"] = Relation(made.uow_columns, made.unit_of_work)
    if made.base:
        relations["base"] = Relation(made.base_columns, made.base)
    return made.case(f"db2_{name}", made.table, relations)


def cases(seed: int) -> Iterator[Case]:
    """A table of each kind of registration; first the one with full refreshes."""
    for name in CASES:
        yield case(seed, name)


def in_batches(rng: random.Random) -> tuple[Capture, list[dict[str, list[writer.Row]]]]:
    """A CD table and its unit of work in three batches.

    Halves of pairs arrive apart, rows are late or repeated, and a unit of work arrives before or
    after its changes.
    """
    made = capture(rng.random(), NARROW, replace(CHANGES, shuffle=False))
    rows, uow = batches(made.rows, rng, 3), batches(made.unit_of_work, rng, 3)
    parts = [
        {"raw": [dict(row) for row in of_rows], "unit_of_work": [dict(row) for row in of_uow]}
        for of_rows, of_uow in zip(rows, uow, strict=True)
    ]
    return made, parts


def deliveries(rng: random.Random) -> Deliveries:
    """The same, but rows that were read leave both relations before the last batch."""
    made, parts = in_batches(rng)
    return Deliveries(
        name="capture",
        table=made.table,
        columns={"raw": made.columns, "unit_of_work": made.uow_columns},
        arguments=made.arguments,
        batches=parts,
        leaves=(2,),
        inputs=("unit_of_work",),
    )


def blocks() -> Blocks:
    """CD tables whose sequences differ in one bit field, the number of a block; all is text."""
    rng = random.Random("blocks")
    workload = database.generate(NARROW, rng, 200, without=writer.NOT_CAPTURED)
    # a full refresh would be of all blocks
    made = writer.write(workload, rng, replace(CHANGES, loads=0))
    sequences = ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ")

    def moved(row: writer.Row, number: int) -> writer.Row:
        added = number << 88
        return row | {
            name: f"{int.from_bytes(row[name], 'big') + added:032x}" for name in sequences
        }

    odd = [
        "0" * 31,
        "0" * 33,
        "x'00A1",
        "A==",
        "0x" + "F" * 32,
        "Z" * 32,
        "00:" * 16,
        "=" * 100_000,
    ]
    return Blocks(
        made.columns | dict.fromkeys(sequences, "string"),
        made.arguments,
        lambda number: [moved(row, number) for row in made.rows],
        {"unit_of_work": Relation(made.uow_columns, made.unit_of_work)},
        {**dict.fromkeys(sequences, odd), "IBMSNAP_OPERATION": ["i", "ID", "U", "D", "I"]},
    )


FORMAT = Format(
    decoder=DECODER,
    cases=cases,
    deliveries=deliveries,
    blocks=blocks,
    declared=DECLARED,
    call=CALL,
    wrong_calls=WRONG_CALLS,
    vectors=vector_checks.CHECKS,
    vector_units={
        "db2_sequence": vector_units.sequence_units,
        "db2_capture": vector_units.capture_units,
    },
)
