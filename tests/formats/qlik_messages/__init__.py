"""Messages of Qlik Replicate in Kafka: what the laws need to know of them.

`qlik_schema_versions` makes no change events, so there is nothing that the laws of change events
could ask of it. This folder serves it, too: its vectors, its wrapper model, the reference in
`versions.py`, and :func:`versions_case`. Every case with `metadata` reads versions by it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from kit.formats import Blocks, Case, Deliveries, Format, Relation
from kit.landing import batches
from simulation import database

from formats.qlik_messages import avro, hostile, vector_checks, vector_units, writer
from formats.qlik_messages.message import dump
from formats.qlik_messages.reference import Row
from formats.qlik_messages.versions import TYPES, Versions, read_versions
from formats.qlik_messages.writer import Log, Style, possible_bad
from formats.qlik_messages.wrong_calls import CALL, DECLARED, WRONG_CALLS, WRONG_LOGS

DECODER = "qlik_messages"

# The models of a topic whose messages are read once for all of its tables.
OWN_LOG = {
    "versions": "spark_cdc.qlik_schema_versions({metadata})",
    "log": "spark_cdc.qlik_messages_log({raw}, versions={versions})",
}


def with_bad(style: Style, number: int = 2) -> Style:
    """The same with malformed records of every kind that there can be."""
    return replace(style, bad=dict.fromkeys(possible_bad(style), number))


def case(
    seed: int,
    name: str,
    table: database.Table,
    style: Style,
    transactions: int = 40,
    other: database.Table | None = None,
) -> Case:
    """The topic of a simulated database, of one or two tables."""
    rng = random.Random(f"{seed} {name}")
    workload = database.generate(table, rng, transactions, without=writer.NOT_SENT)
    others = [] if other is None else [database.generate(other, rng, 12, without=writer.NOT_SENT)]
    log = writer.write(workload, rng, style, others)
    relations = {"raw": Relation(style.types, log.rows)}
    if style.metadata == "own":
        relations["metadata"] = Relation(TYPES, log.metadata_rows)
    return log.case(name, table, relations)


BY_ID = with_bad(Style(avro="id", in_avro=0.5))
BY_TIME = with_bad(
    Style(
        ids=None,
        metadata="same",
        topic="prod.erp.odd names",
        bare=0.3,
        lobs=("a.b",),
        load_first=0.3,
        value="string",
    )
)
ONE_TABLE = with_bad(
    Style(
        ids=None,
        metadata=None,
        ddl=False,
        has_table=False,
        bare=0.5,
        avro="schema",
        in_avro=0.5,
        partitions=1,
        columns=("value", "topic", "partition", "offset", "timestamp"),
    )
)
VALUES_ALONE = with_bad(
    Style(
        ids="external",
        names=True,
        reload=False,
        load_first=0.2,
        avro="id",
        in_avro=0.5,
        hostile=300,
        columns=("value",),
    ),
    number=1,
)


def cases(seed: int) -> Iterator[Case]:
    """Topics with versions by id and by time, of several tables and of one, with all columns.

    All but those that landed as text have messages in JSON and in Avro. The last one also has
    hostile Avro messages.
    """
    yield case(seed, "messages", database.ORDERS, BY_ID, other=database.POSITIONS)
    yield case(seed, "messages_of_all_types", database.ALL_TYPES, ONE_TABLE)
    yield case(seed, "messages_by_time", database.ODD_NAMES, BY_TIME)
    yield case(seed, "messages_values_alone", database.POSITIONS, VALUES_ALONE, transactions=16)


def versions_case(seed: int) -> tuple[Relation, Versions, dict[str, int]]:
    """For `qlik_schema_versions`: a relation with messages of all kinds and metadata of two tables,
    some of it told again at another time; the versions, what is in quarantine, the counts."""
    rng = random.Random(f"{seed} versions of a topic")
    tables = (database.ALL_TYPES, database.ODD_NAMES)
    workloads = [database.generate(one, rng, 8, without=writer.NOT_SENT) for one in tables]
    log = writer.write(workloads[0], rng, with_bad(Style(metadata="same"), 4), workloads[1:])
    told = [row for row in log.read if b'"type":"MD"' in (row["value"] or b"")]
    again = [
        {
            **row,
            "value": row["value"].replace(b"2024-03-01T", b"2024-02-01T"),
            "offset": row["offset"] + 10_000,
            "timestamp": rng.choice((None, row["timestamp"] - timedelta(hours=1))),
        }
        for row in rng.sample(told, 4)
    ]
    records = [*log.read, *again]
    found = read_versions(records, avro.opened)
    return Relation(TYPES, records), found, found.raw_counts(records)


def log_in_batches(rng: random.Random) -> tuple[Log, list[list[Row]], list[list[Row]]]:
    """A topic in three batches, and its metadata: the first version and the last ones are late.

    Messages wait for them, as nothing but their schema id names their table. All metadata comes
    again when the raw rows leave. The change before the loads of one partition lands in the first
    batch, the one of the other partition in the last. The loads land in between.
    """
    loads: dict[int, list[str]] = {}
    while len(loads) < 2:
        workload = database.generate(database.ORDERS, rng, 40, without=writer.NOT_SENT)
        other = database.generate(database.POSITIONS, rng, 10, without=writer.NOT_SENT)
        style = replace(BY_ID, twice=0.0, shuffle=False, again=0.25)
        log = writer.write(workload, rng, style, [other])
        loads = {}
        for event in log.events:
            if event["cdc_operation"] == "load":
                anchor, partition, _ = event["cdc_sequence"].split(".")
                loads.setdefault(int(partition), []).append(anchor)
    earliest, latest = (anchors[0].encode() for anchors in loads.values())
    parts = batches(log.rows, rng, 3)
    parts = moved(parts, lambda row: earliest in (row["value"] or b""), 0)
    parts = moved(parts, lambda row: latest in (row["value"] or b""), 2)
    places = {event["cdc_sequence"][36:] for event in log.events}
    parts = moved(parts, lambda row: f"{row['partition']:010}.{row['offset']:019}" in places, 1)
    told = log.metadata_rows
    return log, parts, [told[1:-2], told[:1], told]


def moved(parts: Sequence[Sequence[Row]], which: Callable[[Row], bool], to: int) -> list[list[Row]]:
    """Move some records to one batch."""
    there = [row for part in parts for row in part if which(row)]
    rest = [[row for row in part if not which(row)] for part in parts]
    rest[to] += there
    return rest


def deliveries(rng: random.Random) -> Deliveries:
    """The topic in three batches; what was read has left before the last."""
    log, parts, told = log_in_batches(rng)
    return Deliveries(
        name="messages",
        table=database.ORDERS,
        columns={"raw": log.style.types, "metadata": TYPES},
        arguments=log.arguments,
        batches=[
            {"raw": part, "metadata": metadata} for part, metadata in zip(parts, told, strict=True)
        ],
        leaves=(2,),
        own_log=OWN_LOG,
        on_log=log.arguments.replace(", metadata={metadata}", ""),
    )


def blocks() -> Blocks:
    """Messages whose sequences, transactions and keys are numbered through all blocks."""

    def message(place: int, rng: random.Random) -> Row:
        sound, key = hostile.sound_message(place, rng)
        return hostile.record(place, dump(sound).encode(), key, "all")

    def rows(number: int) -> list[Row]:
        rng = random.Random(f"blocks {number}")
        first = 1200 * number + 3
        return [message(place, rng) for place in range(first, first + 1000)]

    some = hostile.hostile(2000)
    # the sequences of these are of no block
    values = [row["value"].replace(b"20240229081502", b"20240301081502") for row in some.rows]
    record = avro.envelope(b"\x02\x80", schema='{"type":"record","name":"R","fields":[]}')
    options = hostile.OPTIONS
    return Blocks(
        TYPES,
        f"key={options.key}, columns={dict(options.columns)}, table='{options.table}',"
        f" schema='{options.schema}', metadata={{metadata}}",
        rows,
        {"metadata": Relation(TYPES, some.metadata)},
        {"value": [*values, record, record[:-1], record * 20_000, b"atMSG" + b"\xff" * 200_000]},
        # These are before the good rows: a sound message there tells after which change their loads
        # are.
        spared={"offset": [-(2**63), -1, 0, None]},
    )


FORMAT = Format(
    decoder=DECODER,
    cases=cases,
    deliveries=deliveries,
    blocks=blocks,
    declared=DECLARED,
    call=CALL,
    wrong_calls=WRONG_CALLS,
    wrong_logs=WRONG_LOGS,
    serves=("qlik_schema_versions",),
    vectors=vector_checks.CHECKS,
    vector_units=vector_units.UNITS,
)
