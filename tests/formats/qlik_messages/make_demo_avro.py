"""Write the Avro topic of the demo, seeds/demo_wms__records.csv.

`python tests/formats/qlik_messages/make_demo_avro.py` writes it. A task sends two tables: the
messages of SHIPMENTS have the id of their schema; those of CARRIERS have the schema itself, later
the frame of a schema registry.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SEED = HERE.parents[2] / "seeds" / "demo_wms__records.csv"
sys.path.insert(0, str(HERE.parents[1]))

from formats.qlik_messages import avro, message  # noqa: E402  # after the path is set
from formats.qlik_messages.avro import Schema  # noqa: E402
from formats.qlik_messages.message import Members  # noqa: E402
from formats.qlik_messages.strict_json import Number  # noqa: E402

DAY = datetime(2026, 3, 2)
SHIPMENTS, CARRIERS = ("WMS", "SHIPMENTS"), ("WMS", "CARRIERS")
TYPES = {
    "SHIPMENT_ID": "bigint",
    "CARRIER_ID": "int",
    "DOCK": "string",
    "STATUS": "string",
    "WEIGHT": "decimal(8,3)",
    "SHIPPED_ON": "date",
    "SCANNED_AT": "timestamp",
    "EXPRESS": "boolean",
    "LABEL": "binary",
    "VOLUME": "double",
}
# The DDL drops DOCK, adds VOLUME, and gives WEIGHT one more digit.
VERSION_1 = {name: type_ for name, type_ in TYPES.items() if name != "VOLUME"}
VERSION_2 = {name: type_ for name, type_ in TYPES.items() if name != "DOCK"}
VERSION_2["WEIGHT"] = "decimal(9,3)"
IDS = [f"7D40C1E29A6B4F058E13B7A2D9C6000{number}" for number in range(1, 4)]
CARRIER = {"CARRIER_ID": "int", "NAME": "string", "RATE": "string"}
REGISTRY_ID = 18

SHIPMENT_SCHEMAS = {
    IDS[0]: avro.data_schema(list(VERSION_1), VERSION_1, SHIPMENTS, ()),
    IDS[1]: avro.data_schema(list(VERSION_2), VERSION_2, SHIPMENTS, ()),
}


def without_logical_types(schema: Schema) -> Schema:
    """The schema of a task that writes decimals and times as text, with types in braces."""
    data, *others = schema["fields"]
    null, record = data["type"]
    columns = [
        {"name": one["name"], "type": ["null", {"type": one["type"][1]}]}
        for one in record["fields"]
    ]
    data = data | {"type": [null, record | {"fields": columns}]}
    return schema | {"fields": [data, *others]}


CARRIER_SCHEMA = without_logical_types(avro.data_schema(list(CARRIER), CARRIER, CARRIERS, ()))


def at(clock: str, seconds: int = 0) -> datetime:
    return DAY + timedelta(hours=int(clock[:2]), minutes=int(clock[3:]), seconds=seconds)


def mask(columns: Iterable[str], of: Iterable[str]) -> str:
    """The columns as bits; as wide as Qlik Replicate writes a mask."""
    of = list(of)
    number = sum(1 << of.index(name) for name in columns)
    return f"{number:0{2 * (len(of) // 8 + 1)}X}"


class Topic:
    """The records of a partition, in their order."""

    def __init__(self, name: str, partition: int) -> None:
        self.name, self.partition = name, partition
        self.rows: list[list[Any]] = []

    def add(self, sent_at: datetime, key: str | None, value: bytes, shows: str) -> bytes:
        place = [self.name, self.partition, len(self.rows), f"{sent_at:%Y-%m-%d %H:%M:%S}Z"]
        self.rows.append([*place, key, value.hex(), shows])
        return value


def headers(
    operation: str,
    clock: str,
    number: int,
    of: Iterable[str],
    changed: Iterable[str] | None = None,
    there: Iterable[str] | None = None,
    event: tuple[int, bool] = (1, True),
) -> Members:
    """The headers of a change. `number` tells changes of one time apart."""
    if operation == "REFRESH":
        return message.headers("REFRESH")
    moment = at(clock)
    more: Members = {
        "timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}.000",
        "transactionId": f"{moment:%H%M}".rjust(32, "0"),
        "changeMask": None if changed is None else mask(changed, of),
        "columnMask": None if there is None else mask(there, of),
        "transactionEventCounter": event[0],
        "transactionLastEvent": event[1],
    }
    return message.headers(operation, f"{moment:%Y%m%d%H%M%S}00{number:019d}", **more)


def named(columns: Iterable[str], row: Sequence[Any] | None) -> Members | None:
    """A row as JSON has it."""
    if row is None:
        return None
    values = [
        Number(repr(one)) if isinstance(one, (int, float)) and not isinstance(one, bool) else one
        for one in row
    ]
    return dict(zip(columns, values, strict=True))


def record(
    schema: Schema,
    columns: Mapping[str, str],
    head: Members,
    data: Sequence[Any] | None,
    before: Sequence[Any] | None = None,
) -> bytes:
    """An inner record; rows are given in the order of the columns."""
    content = {"data": named(columns, data), "beforeData": named(columns, before), "headers": head}
    return avro.written(schema, avro.record_of(content, columns, list(columns)))


def metadata(schema_id: str, columns: Mapping[str, str], number: int, clock: str) -> bytes:
    """A metadata message of SHIPMENTS, with its own schema."""
    told = message.metadata(
        schema_id,
        SHIPMENTS,
        number,
        list(columns),
        columns,
        ["SHIPMENT_ID"],
        at(clock),
        json.dumps(SHIPMENT_SCHEMAS[schema_id]),
    )
    told["lineage"] |= {"server": "repl01", "task": "wms-to-kafka"}
    return avro.metadata_envelope(told)


def told() -> Topic:
    """Give the metadata topic."""
    topic = Topic("wms.metadata", 0)
    for schema_id, columns, number, clock, shows in (
        (IDS[0], VERSION_1, 1, "05:59", "version 1 of SHIPMENTS, with the schema of its messages"),
        (IDS[1], VERSION_2, 2, "10:00", "the DDL: no DOCK, a longer WEIGHT, and VOLUME"),
    ):
        topic.add(at(clock), schema_id, metadata(schema_id, columns, number, clock), shows)
    by_hand = {
        "schemaId": str(REGISTRY_ID),
        "lineage": dict(zip(("schema", "table"), CARRIERS, strict=True)),
        "dataSchema": json.dumps(CARRIER_SCHEMA),
    }
    shows = "by hand, JSON: the schema that the registry has under the id 18"
    topic.add(at("10:30"), str(REGISTRY_ID), json.dumps(by_hand).encode(), shows)
    return topic


def shipments() -> Topic:
    """Give the messages of SHIPMENTS: envelopes with the id of their schema."""
    topic = Topic("wms.changes", 0)

    def add(
        schema_id: str,
        shows: str,
        head: Members,
        clock: str,
        data: Sequence[Any] | None,
        before: Sequence[Any] | None = None,
    ) -> bytes:
        columns = VERSION_1 if schema_id == IDS[0] else VERSION_2
        inner = record(SHIPMENT_SCHEMAS[schema_id], columns, head, data, before)
        identity = (data or before or [None])[0]
        key = json.dumps({"SHIPMENT_ID": identity}, separators=(",", ":"))
        value = avro.envelope(inner, schema_id=schema_id)
        return topic.add(at(clock, 1), key, value, shows)

    one, two = IDS[:2]
    scanned, later = "2026-03-02 05:30:00.000000", "2026-03-02 08:09:59.250000"
    label = "255044462D312E37"
    first = [1, 10, "D1", "packed", "12.500", None, scanned, False, label]
    packed = [2, 20, "D2", "packed", "0.001", None, scanned, True, None]
    third = [3, 10, "D1", "packed", "99999.999", None, scanned, None, label]
    load = headers("REFRESH", "06:00", 0, VERSION_1)
    add(one, "full load: decimal, date, timestamp and bytes are Avro's own", load, "06:00", first)
    add(one, "full load", load, "06:00", packed)
    add(one, "full load", load, "06:00", third)

    fourth = [4, 20, "D3", "packed", "-1.050", "2026-03-02", scanned, True, ""]
    head = headers("INSERT", "08:00", 1, VERSION_1, VERSION_1, VERSION_1)
    add(one, "insert: a negative decimal, empty bytes", head, "08:00", fourth)

    loaded = [*first[:3], "loaded", *first[4:6], later, *first[7:]]
    shipped = [*loaded[:3], "shipped", *loaded[4:5], "2026-03-02", *loaded[6:]]
    changed = ["STATUS", "SCANNED_AT"]
    head = headers("UPDATE", "08:10", 1, VERSION_1, changed, VERSION_1, (1, False))
    shows = "update with beforeData; two events of a transaction are one version in the history"
    again = add(one, shows, head, "08:10", loaded, first)
    changed = ["STATUS", "SHIPPED_ON"]
    head = headers("UPDATE", "08:10", 2, VERSION_1, changed, VERSION_1, (2, True))
    add(one, "the second event of this transaction", head, "08:10", shipped, loaded)

    there = ["SHIPMENT_ID", "STATUS"]
    head = headers("UPDATE", "08:20", 1, VERSION_1, ["STATUS"], there)
    row = [2, None, None, "loaded", *[None] * 5]
    shows = "column mask 0009: the log had SHIPMENT_ID and STATUS alone; other nulls are no values"
    add(one, shows, head, "08:20", row)

    head = headers("DELETE", "08:30", 1, VERSION_1, ["SHIPMENT_ID"], VERSION_1)
    add(one, "delete with its row in data", head, "08:30", fourth)

    last = [shipped[0], shipped[1], "delivered", *shipped[4:], 0.125]
    head = headers("UPDATE", "10:05", 1, VERSION_2, ["STATUS", "VOLUME"], VERSION_2)
    before = [shipped[0], shipped[1], *shipped[3:], None]
    shows = "the first message with the id of version 2: bit 2 is STATUS now, it was DOCK"
    add(two, shows, head, "10:05", last, before)
    shows = "the message of offset 4 again, after the DDL: the same bytes are one event"
    topic.add(at("10:06"), '{"SHIPMENT_ID":1}', again, shows)

    fifth = [5, 10, "packed", "3.000", None, scanned, False, None, 1e-07]
    head = headers("INSERT", "10:10", 1, VERSION_2, VERSION_2, VERSION_2)
    add(two, "insert with the new column VOLUME", head, "10:10", fifth)
    head = headers("DELETE", "10:20", 1, VERSION_2, ["SHIPMENT_ID"], VERSION_2)
    before = [third[0], third[1], *third[3:], None]
    add(two, "delete with its row in beforeData", head, "10:20", None, before)
    return topic


def carriers() -> Topic:
    """Give the messages of CARRIERS: the schema inside, then frames of a registry."""
    topic = Topic("wms.changes", 1)
    schema = json.dumps(CARRIER_SCHEMA)

    def inner(head: Members, data: Sequence[Any], before: Sequence[Any] | None = None) -> bytes:
        return record(CARRIER_SCHEMA, CARRIER, head, data, before)

    def key(identity: int) -> str:
        return json.dumps({"CARRIER_ID": identity}, separators=(",", ":"))

    load = headers("REFRESH", "06:10", 0, CARRIER)
    nord, sued = [10, "Nordkurier", "4.90"], [20, "Süd-Express", "7.25"]
    shows = "the schema is inside, its namespace names the table; it has types in braces"
    topic.add(at("06:10", 1), key(10), avro.envelope(inner(load, nord), schema=schema), shows)
    value = avro.envelope(inner(load, sued), schema=schema)
    topic.add(at("06:10", 2), key(20), value, "full load; text that is not ASCII")
    head = headers("UPDATE", "08:25", 1, CARRIER, ["RATE"], CARRIER)
    value = avro.envelope(inner(head, [20, "Süd-Express", "7.50"], sued), schema=schema)
    topic.add(at("08:25", 1), key(20), value, "update; RATE is text and becomes a decimal")

    head = headers("INSERT", "10:40", 1, CARRIER, CARRIER, CARRIER)
    value = avro.frame(inner(head, [30, "Example Freight", None]), REGISTRY_ID)
    shows = "the task has a schema registry now: five bytes with the id 18, then the record"
    topic.add(at("10:40", 1), key(30), value, shows)
    head = headers("DELETE", "10:50", 1, CARRIER, ["CARRIER_ID"], CARRIER)
    value = avro.frame(inner(head, nord), REGISTRY_ID)
    topic.add(at("10:50", 1), key(10), value, "delete")
    return topic


def bad() -> Topic:
    """Give the records that cannot be read."""
    topic = Topic("wms.changes", 2)
    two, unknown = IDS[1:]
    schema = SHIPMENT_SCHEMAS[two]
    row: list[Any] = [6, 10, "packed", "1.000", None, None, False, None, None]

    def inner(minute: int, row: Sequence[Any] = row) -> bytes:
        head = headers("INSERT", f"12:{minute:02d}", 1, VERSION_2, VERSION_2, VERSION_2)
        return record(schema, VERSION_2, head, row)

    def with_text(minute: int, other: bytes) -> bytes:
        """A record with other bytes instead of the length and the letters of its STATUS."""
        good, text = inner(minute), b"\x0cpacked"
        assert good.count(text) == 1
        return good.replace(text, other)

    def by_id(message: bytes, kind: str = "DT", schema_id: str = two) -> bytes:
        return avro.envelope(message, kind, schema_id)

    long = b"\xfe\xff\xff\xff\x0fpacked"  # 2 GiB
    no_json = json.dumps(CARRIER_SCHEMA)[:-1]
    wide = [*row[:3], "100000.000", *row[4:]]
    records: Iterable[tuple[bytes, str]] = (
        (by_id(inner(1), schema_id=unknown), "unknown_schema: waits for its metadata message"),
        (avro.frame(inner(2), 19), "unknown_schema: no metadata message has the registry id 19"),
        (by_id(inner(3))[:-9], "bad_avro: the envelope is cut off"),
        (by_id(inner(4)[:-9]), "bad_avro: the record is cut off"),
        (by_id(inner(5) + b"\0"), "bad_avro: a byte is left over"),
        (by_id(with_text(6, b"\x0c\xffacked")), "bad_avro: a text that is not UTF-8"),
        (by_id(with_text(7, long)), "bad_avro: a text that says to be 2 GiB long"),
        (avro.envelope(inner(8), schema=no_json), "bad_avro: the schema inside is no JSON"),
        (by_id(inner(9), "XX"), "unknown_message_type"),
        (by_id(inner(10), "MD"), "bad_metadata: a metadata message without its own schema"),
        (b"\xef\xbb\xbf{}", "bad_message: neither JSON nor Avro"),
        (by_id(inner(12, wide)), "bad_value: one digit more than the column of the model holds"),
        (by_id(inner(13, [None, *row[1:]])), "null_key"),
    )
    for place, (value, shows) in enumerate(records):
        topic.add(at("12:00", place + 1), '{"SHIPMENT_ID":6}', value, f"quarantine, {shows}")
    return topic


def seed() -> str:
    """Make the file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["topic", "partition", "offset", "timestamp", "key", "value", "shows"])
    for topic in (told(), shipments(), carriers(), bad()):
        writer.writerows(topic.rows)
    return text.getvalue()


if __name__ == "__main__":
    SEED.write_text(seed(), encoding="utf-8")
