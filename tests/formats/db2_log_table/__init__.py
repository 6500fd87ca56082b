"""The log table of Db2 text search indexes: its interface to the laws."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kit.formats import Blocks, Case, Deliveries, Format, Relation
from kit.landing import batches
from simulation import database

from formats.db2_log_table import vector_checks, vector_units, writer
from formats.db2_log_table.reference import Row
from formats.db2_log_table.writer import (
    NOT_LOGGED,
    PARTS,
    Layout,
    Log,
    Style,
    possible_bad_rows,
)
from formats.db2_log_table.wrong_calls import CALL, DECLARED, WRONG_CALLS

DECODER = "db2_log_table"

TEXT = Layout(
    operation="string",
    time="string",
    key_columns=("K_ID", "K_AT"),
    is_given=True,
    keys_as_text=True,
    base="text",
    columns=True,
)
ODD = Layout(operation="decimal(10,0)", time="timestamp_ntz", key_columns=("pk1",), columns=True)


def case(
    seed: int, name: str, table: database.Table, layout: Layout, style: Style, transactions: int
) -> Case:
    """The log of a simulated database, and the final table."""
    rng = random.Random(f"{seed} {name}")
    workload = database.generate(table, rng, transactions, key_space=30, without=NOT_LOGGED)
    log = writer.write(workload, rng, layout, style)
    relations = {
        "raw": Relation(log.columns, log.rows),
        "base": Relation(log.base_columns, log.base),
    }
    return log.case(name, table, relations)


def every_bad_row(layout: Layout) -> dict[str, int]:
    """Two rows of each kind."""
    return dict.fromkeys(possible_bad_rows(layout), 2)


def cases(seed: int) -> Iterator[Case]:
    """Typed logs that triggers fill, and text logs that an application fills."""
    native = Style(bad_rows=every_bad_row(Layout()))
    yield case(seed, "log_table", PARTS, Layout(), native, transactions=40)
    text = Style(by="application", zone="Europe/Berlin", bad_rows=every_bad_row(TEXT))
    yield case(seed, "log_table_of_all_types", database.ALL_TYPES, TEXT, text, transactions=40)
    odd = Style(unlanded=0.2, duplicates=0.3)
    yield case(seed, "log_table_of_odd_names", database.ODD_NAMES, ODD, odd, transactions=20)


def log_in_batches(rng: random.Random) -> tuple[Log, list[list[Row]]]:
    """A log in three batches. Its base, the final table, does not change."""
    layout = Layout("string", "string", keys_as_text=True, base="text", columns=True)
    workload = database.generate(PARTS, rng, transactions=60, key_space=30, without=NOT_LOGGED)
    style = Style(duplicates=0.2, bad_rows=every_bad_row(layout), shuffle=False)
    log = writer.write(workload, rng, layout, style)
    return log, [[dict(row) for row in part] for part in batches(log.rows, rng, 3)]


def deliveries(rng: random.Random) -> Deliveries:
    """Rows that were read leave before the last batch."""
    log, parts = log_in_batches(rng)
    # the base leaves with the log, so it is delivered again
    bases = [log.base, [], log.base]
    return Deliveries(
        name="log_table",
        table=PARTS,
        columns={"raw": log.columns, "base": log.base_columns},
        arguments=log.arguments,
        batches=[{"raw": part, "base": base} for part, base in zip(parts, bases, strict=True)],
        leaves=(2,),
    )


def blocks() -> Blocks:
    """Logs whose keys end with the number of a block; `base` has the keys of the first one."""
    rng = random.Random("blocks")
    layout = Layout("string", "string", keys_as_text=True, base="text", columns=True)
    workload = database.generate(PARTS, rng, 200, key_space=60, without=NOT_LOGGED)
    log = writer.write(workload, rng, layout, Style())

    def moved(row: Row, name: str, number: int) -> Row:
        return row | {name: None if row[name] is None else f"{row[name]}~{number:03}"}

    odd = ["2024-05-01-24.00.00.1", "2024-02-30-10.00.00", "2024-05-01-10.00", "99999-01-01"]
    return Blocks(
        log.columns,
        log.arguments,
        lambda number: [moved(row, "PK02", number) for row in log.rows],
        {"base": Relation(log.base_columns, [moved(row, "part", 0) for row in log.base])},
        {"TIME": odd, "OPERATION": ["3", "-1", "0.5", "1e0", "i", "II"], "PK01": ["1e4", "32768"]},
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
    vector_units={"db2_log": vector_units.log_units},
)
