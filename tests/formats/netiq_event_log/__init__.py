"""The event log table of NetIQ Identity Manager: its interface to the laws."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from kit.formats import Blocks, Case, Deliveries, Format, Relation
from kit.landing import batches
from simulation import database

from formats.netiq_event_log import vector_checks, vector_units, writer
from formats.netiq_event_log.reference import LAYOUTS
from formats.netiq_event_log.writer import ACCOUNTS, Layout, Log, Style, possible_bad_rows
from formats.netiq_event_log.wrong_calls import CALL, DECLARED, WRONG_CALLS

DECODER = "netiq_event_log"


def case(
    seed: int,
    name: str,
    table: database.Table,
    layout: Layout,
    style: Style,
    transactions: int = 60,
) -> Case:
    """The log of a simulated database; with malformed rows of every possible kind."""
    rng = random.Random(f"{seed} {name}")
    workload = database.generate(table, rng, transactions, without=writer.NOT_LOGGED)
    log = writer.write(workload, rng, layout, style)
    relations = {"raw": Relation(log.columns, log.rows)}
    if log.snapshot is not None:
        relations["snapshot"] = Relation(log.snapshot_columns, log.snapshot)
    return log.case(name, table, relations)


TEXT = Layout(
    "record_id_table_key",
    columns=[f"c{number:02}" for number in range(1, 11)],
    record_id="string",
    event_type="string",
    event_time="string",
    more={"loaded_at": "timestamp"},
)
SORTED = Layout(
    {name: f"LOG_{name.upper()}" for name in LAYOUTS["record_id_status"]},
    record_id="decimal(38,0)",
    event_type="smallint",
    event_time="timestamp_ntz",
)


def every_bad_row(layout: Layout) -> dict[str, int]:
    """Two malformed rows of each kind."""
    return dict.fromkeys(possible_bad_rows(layout), 2)


def cases(seed: int) -> Iterator[Case]:
    """Logs of several layouts, with and without values, with and without a snapshot."""
    yield case(seed, "event_log", ACCOUNTS, Layout(), Style(bad_rows=every_bad_row(Layout())))
    yield case(
        seed,
        "event_log_of_all_types",
        database.ALL_TYPES,
        SORTED,
        Style(as_of="now", duplicates=0.3, bad_rows=every_bad_row(SORTED)),
    )
    yield case(
        seed,
        "event_log_with_snapshot",
        database.ODD_NAMES,
        Layout(),
        Style(query_back=0.6, both=0.4, snapshot="typed", odd_keys=0.2),
    )
    yield case(
        seed,
        "event_log_as_of",
        ACCOUNTS,
        TEXT,
        Style(
            query_back=0.6,
            both=0.4,
            snapshot="text",
            as_of=0.7,
            zone="Europe/Berlin",
            odd_keys=0.2,
            bad_rows=every_bad_row(TEXT),
        ),
    )
    yield case(
        seed,
        "event_log_without_snapshot",
        database.POSITIONS,
        TEXT,
        Style(query_back=0.4, both=0.4),
        transactions=30,
    )


def log_in_batches(rng: random.Random) -> tuple[Log, list[list[writer.Row]]]:
    """A log with query-back in three batches: ids are late, rows are repeated with other statuses.

    A run answers a query-back row if the delete after it has not arrived, and the answer stays. So
    the deletes of rows that the snapshot has come first: then the result equals a full refresh.
    """
    layout = Layout(event_time="string")
    workload = database.generate(ACCOUNTS, rng, transactions=60, without=writer.NOT_LOGGED)
    style = Style(
        query_back=0.5,
        both=0.4,
        snapshot="typed",
        as_of=0.8,
        duplicates=0.2,
        shuffle=False,
        bad_rows=every_bad_row(layout),
    )
    log = writer.write(workload, rng, layout, style)
    parts = [[dict(row) for row in part] for part in batches(log.rows, rng, 3)]
    deletes = [row for part in parts[1:] for row in part if row["event_type"] == 4]
    parts[0] += [dict(row) for row in deletes]
    return log, parts


def deliveries(rng: random.Random) -> Deliveries:
    """The log in three batches; rows that were read leave before the last; the snapshot stays."""
    log, parts = log_in_batches(rng)
    assert log.snapshot is not None
    # the snapshot leaves with the log, so it is delivered again
    snapshots = [log.snapshot, [], log.snapshot]
    return Deliveries(
        name="event_log",
        table=ACCOUNTS,
        columns={"raw": log.columns, "snapshot": log.snapshot_columns},
        arguments=log.arguments,
        batches=[
            {"raw": part, "snapshot": snapshot}
            for part, snapshot in zip(parts, snapshots, strict=True)
        ],
        leaves=(2,),
    )


def blocks() -> Blocks:
    """Logs whose ids, times and keys tell the number of a block."""
    rng = random.Random("blocks")
    workload = database.generate(ACCOUNTS, rng, 130, without=writer.NOT_LOGGED)
    log = writer.write(workload, rng, TEXT, Style(query_back=0.2, both=0.2, odd_keys=0.0))
    names = TEXT.names
    identity, at, key = names["record_id"], names["event_time"], names["table_key"]

    def moved(row: writer.Row, number: int) -> writer.Row:
        added = number * 10**9
        return row | {
            identity: re.sub(r"\d+", lambda one: str(int(one[0]) + added), row[identity], count=1),
            at: re.sub(r"\d{4}", lambda one: f"{int(one[0]) + 4 * number}", row[at], count=1),
            key: re.sub(r"(?<=idu=)-?\d+", lambda one: f"{one[0]}{number:03}", row[key]),
        }

    keys = [
        '"',
        "idu=",
        "=",
        "+" * 100_000,
        "idu=1+idu=1",
        'idu="1',
        "idu=1+branch=" + '\\"' * 50_000,
    ]
    odd = {
        key: [*keys, "idu=1" + "+branch=x" * 20_000, "=+" * 100_000, 'branch="' + "\\" * 99_999],
        identity: ["0", "-5", "7.5", "1" + "0" * 38],
        names["event_type"]: ["0", "9", "1.5", "I"],
        names["status"]: ["n", "NN", " N"],
    }
    return Blocks(
        log.columns,
        log.arguments,
        lambda number: [moved(row, number) for row in log.rows],
        odd=odd,
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
        "netiq_precedence": vector_units.precedence_units,
        "netiq_table_key": vector_units.key_units,
        "netiq_values": vector_units.value_units,
        "netiq_xds": vector_units.xds_units,
    },
)
