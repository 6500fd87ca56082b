"""The dbt unit tests of the vectors: many of them in one relation, each with offsets of its own.

A query with the decoder takes seconds before it begins. So vectors with the same arguments share a
relation: their sequences, ids, tables and topics are made their own. Vectors that the reference
then reads otherwise than alone go into another relation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.formats import UnitTest, Vector
from kit.units import rows_sql

from formats.qlik_messages import reference, vector_checks, versions
from formats.qlik_messages.message import dump, envelope, headers
from formats.qlik_messages.reference import Decoded, Options, Row
from formats.qlik_messages.values import as_text, texts_of
from formats.qlik_messages.vector_checks import is_json, positions_of, records_of, width_of

STEP = 1000  # offsets of a vector: its number in the relation, and these

TYPES = {
    "key": "string",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}


def literal(name: str, value: Any) -> str:
    """A value of a record as SQL."""
    if value is None:
        return f"cast(null as {TYPES[name]})"
    if name == "value":
        return f"X'{value.hex()}'"
    if name == "timestamp":
        return f"timestamp '{value:%Y-%m-%d %H:%M:%S.%f}Z'"
    return f"cast('{value}' as {TYPES[name]})"


def records_sql(records: Sequence[Row], columns: Sequence[str] = tuple(TYPES)) -> str:
    """Records as a query; a relation without records has one without a value."""
    rows = [[literal(name, record.get(name)) for name in columns] for record in records or [{}]]
    return rows_sql([f"`{name}`" for name in columns], rows)


# ------------------------------------------------------------------------------- vectors as records


@dataclass(frozen=True)
class Woven:
    """Vectors in one relation, and what the reference makes of it."""

    vectors: Sequence[Vector]
    records: Sequence[Row]
    metadata: Sequence[Row] | None
    options: Options
    decoded: Decoded

    def vector_of(self, offset: int | None) -> str:
        return str(self.vectors[(offset or 0) // STEP]["id"])


def own_text(text: str, number: int, has_own_table: bool) -> str:
    """A JSON text with sequences, transactions, schema ids, and perhaps a table, of its own."""
    text = re.sub(r"(?<!\d)(\d{16})0{4}(\d{15})(?!\d)", rf"\g<1>{number:04d}\g<2>", text)
    text = re.sub(r'"0{4}([0-9A-F]{28})"', rf'"{number:04d}\g<1>"', text)
    ids = r'(?i)("(?:schemaId|messageSchemaId|externalSchemaId)": ?")([^"]+")'
    text = re.sub(ids, rf"\g<1>{number}/\g<2>", text)
    return text.replace('"table":"CUST"', f'"table":"CUST{number}"') if has_own_table else text


def own_record(record: Row, number: int, has_own_table: bool) -> Row:
    """A record of a vector in the relation that all share."""
    found = dict(record)
    value = record["value"]
    if value is not None and value.lstrip(b" \t\r\n").startswith(b"{"):
        found["value"] = own_text(value.decode("latin-1"), number, has_own_table).encode("latin-1")
    if record.get("offset") is not None:
        found["offset"] = record["offset"] + STEP * number
    if has_own_table and record.get("topic") is not None:
        found["topic"] = f"cust{number}"  # which is what a relation with one table is without
    elif record.get("topic") in ("t", "all"):
        found["topic"] = f"{number}/{record['topic']}"
    return found


def weave(vectors: Sequence[Vector]) -> Woven:
    """Vectors in one relation. One by itself stays as it is."""
    given = vectors[0]["given"]
    has_own_table = given.get("table") is None and given.get("metadata") is not None
    records: list[Row] = []
    metadata: list[Row] = []
    for number, vector in enumerate(vectors):
        own = vector["given"]
        parts = [own["messages"], own["metadata"] if isinstance(own.get("metadata"), list) else []]
        for into, part in zip((records, metadata), parts, strict=True):
            rows = records_of(part)
            if number:
                rows = [own_record(one, number, has_own_table) for one in rows]
            into += rows
    told = metadata if isinstance(given.get("metadata"), list) else None
    told = records if isinstance(given.get("metadata"), str) else told
    options = vector_checks.options_of(given)
    return Woven(vectors, records, told, options, reference.decode(records, told, options))


def outcome(decoded: Decoded, records: Sequence[Row], number: int) -> list[Any]:
    """What becomes of the records of a vector, without what is its own in a shared relation."""
    first = STEP * number

    def is_own(offset: int | None) -> bool:
        return (offset or 0) // STEP == number

    def sequence(text: str) -> str:
        head, rest = text[:35], text[35:]
        if number and head[16:20] == f"{number:04d}":  # or it is of another vector
            head = f"{head[:16]}0000{head[20:]}"
        return head + (f"{rest[:-19]}{int(rest[-19:]) - first}" if len(rest) == 31 else rest)

    events = []
    for event in decoded.events:
        said = dict(event["cdc_metadata"])
        if is_own(said["offset"]):
            for name in ("topic", "schema_id"):
                said[name] = said[name] is not None
            said["offset"] = said["offset"] and said["offset"] - first
            same = {name: sequence(event[name]) for name in ("cdc_sequence", "cdc_commit_sequence")}
            transaction = event["cdc_transaction_id"]
            same["cdc_transaction_id"] = transaction and transaction[4:]
            events.append(event | same | {"cdc_metadata": said})
    refused = [
        ((records[place].get("offset") or 0) - first, reason)
        for place, reason in decoded.quarantine
        if is_own(records[place].get("offset"))
    ]
    no_ops = [place for place in decoded.no_ops if is_own(records[place].get("offset"))]
    return [events, sorted(refused), len(no_ops)]


def is_as_alone(woven: Woven, alone: Mapping[str, list[Any]]) -> bool:
    """Whether each vector has the outcome that it has by itself."""
    return all(
        outcome(woven.decoded, woven.records, number) == alone[vector["id"]]
        for number, vector in enumerate(woven.vectors)
    )


def signature(vector: Vector) -> str:
    """What vectors in one relation have in common: the arguments, and where offsets are missing."""
    given = vector["given"]
    has_offset = all("offset" in one for one in given["messages"])
    metadata = type(given.get("metadata")).__name__
    named = [given.get("table"), given.get("schema")]
    return json.dumps([given["key"], given["columns"], named, metadata, has_offset])


def apart(vectors: Sequence[Vector]) -> list[Woven]:
    """The relations, each with as many vectors as there can be."""
    alike: dict[str, list[Vector]] = {}
    alone: dict[str, list[Any]] = {}
    for vector in vectors:
        alike.setdefault(signature(vector), []).append(vector)
        by_itself = weave([vector])
        alone[vector["id"]] = outcome(by_itself.decoded, by_itself.records, 0)
    found: list[Woven] = []
    for members in alike.values():
        whole = weave(members)
        if is_as_alone(whole, alone):
            found.append(whole)
            continue
        groups: list[Woven] = []
        for vector in members:
            for place, one in enumerate(groups):
                woven = weave([*one.vectors, vector])
                if is_as_alone(woven, alone):
                    groups[place] = woven
                    break
            else:
                groups.append(weave([vector]))
        found += groups
    return found


# ------------------------------------------------------------------------------------- expectations

# Every row has the columns in this order, as dbt puts rows together by position.
NOTHING = dict.fromkeys(
    (
        *("vector", "kind"),
        *("refused", "cdc_operation", "cdc_sequence", "cdc_commit_sequence", "cdc_commit_at"),
        *("cdc_transaction_id", "changed", "present", "before_values", "row_values"),
        *("stream_position", "changed_at", "event_counter", "is_last", "schema_id"),
        *("table_version", "topic", "partition_number", "offset_number"),
    )
)


def json_text(row: Mapping[str, Any] | None) -> str | None:
    """A row as Spark writes it with to_json."""
    if row is None:
        return None
    return json.dumps(texts_of(row), separators=(",", ":"), ensure_ascii=False)


def names_text(names: Sequence[str] | None) -> str | None:
    return None if names is None else " ".join(names)


def event_row(event: Row, columns: Mapping[str, str]) -> Row:
    """An event as the wrapper model gives it."""
    metadata = event["cdc_metadata"]
    same = ("cdc_operation", "cdc_sequence", "cdc_commit_sequence", "cdc_transaction_id")
    return NOTHING | {
        "kind": "event",
        **{name: event[name] for name in same},
        "cdc_commit_at": as_text(event["cdc_commit_at"]),
        "changed": names_text(event["cdc_changed_columns"]),
        "present": names_text(event["cdc_present_columns"]),
        "before_values": json_text(event["cdc_before"]),
        "row_values": json_text({name: event[name] for name in columns}),
        "stream_position": metadata["stream_position"],
        "changed_at": as_text(metadata["timestamp"]),
        "event_counter": metadata["transaction_event_counter"],
        "is_last": metadata["transaction_last_event"],
        "schema_id": metadata["schema_id"],
        "table_version": metadata["table_version"],
        "topic": metadata["topic"],
        "partition_number": metadata["partition"],
        "offset_number": metadata["offset"],
    }


def expected_of(woven: Woven) -> list[Row]:
    """The rows of the wrapper model; a vector without any has one that says so."""
    rows = [
        event_row(event, woven.options.columns)
        | {"vector": woven.vector_of(event["cdc_metadata"]["offset"])}
        for event in woven.decoded.events
    ]
    for place, reason in woven.decoded.quarantine:
        offset = woven.records[place].get("offset")
        refused = f"{(offset or 0) % STEP} {reason}"
        vector = woven.vector_of(offset)
        rows.append(NOTHING | {"vector": vector, "kind": "quarantine", "refused": refused})
    there = {row["vector"] for row in rows}
    return rows + [
        NOTHING | {"vector": vector["id"], "kind": "nothing"}
        for vector in woven.vectors
        if vector["id"] not in there
    ]


def unit_of(name: str, woven: Woven) -> UnitTest:
    """The unit test of a relation."""
    options, metadata = woven.options, woven.metadata
    has_offset = all("offset" in one for one in woven.records)
    given = {
        "messages": records_sql(woven.records if has_offset else []),
        "messages_without_offset": records_sql(
            [] if has_offset else woven.records, ("value", "timestamp")
        ),
        "metadata": records_sql([] if metadata is None else metadata),
    }
    told = None if metadata is None else "same" if metadata is woven.records else "own"
    variables = {
        "qlik_given": {
            "key": list(options.key),
            "columns": dict(options.columns),
            "table": options.table,
            "schema": options.schema,
        },
        "qlik_metadata": told,
        "qlik_has_offset": has_offset,
        "qlik_vectors": [vector["id"] for vector in woven.vectors],
    }
    return UnitTest(name, "qlik_messages", given, expected_of(woven), variables)


def message_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test events and quarantine of all vectors."""
    groups = apart([vector for vector in vectors if is_json(vector)])
    units = [unit_of(f"qlik_messages_{place}", one) for place, one in enumerate(groups, start=1)]
    return [*units, avro_unit([vector for vector in vectors if not is_json(vector)])]


def avro_unit(vectors: Sequence[Vector]) -> UnitTest:
    """Test that Avro values are refused, as long as nothing reads them: one of each vector."""

    def avro_of(vector: Vector) -> Row:
        metadata = vector["given"].get("metadata")
        messages = vector["given"]["messages"]
        records = records_of([*messages, *(metadata if isinstance(metadata, list) else [])])
        value = next(one["value"] for one in records if one["value"][:1] in (b"a", b"\x00"))
        return {"value": value}

    taken = [
        {
            "id": vector["id"],
            "given": {"key": ["ID"], "columns": {"ID": "int"}, "messages": [{"value": None}]},
        }
        for vector in vectors
    ]
    records = [
        avro_of(vector) | {"topic": "t", "partition": 0, "offset": STEP * number}
        for number, vector in enumerate(vectors)
    ]
    options = Options(["ID"], {"ID": "int"})
    decoded = reference.decode(records, None, options)
    return unit_of("qlik_messages_avro", Woven(taken, records, None, options, decoded))


# ---------------------------------------------------------------------------------- schema versions


def version_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the versions and the quarantine of all vectors, in one relation."""
    records: list[Row] = []
    for number, vector in enumerate(vectors):
        rows = [
            {"topic": "t", "partition": 0} | one | {"offset": place}
            for place, one in enumerate(records_of(vector["given"]["metadata"]))
        ]
        records += [own_record(one, number, False) for one in rows]
    found = versions.read_versions(records)
    expect: list[Row] = []
    for row in found.rows:
        number_of, _, schema_id = row.schema_id.rpartition("/")
        columns = [
            " ".join("-" if fact is None else str(fact).lower() for fact in facts)
            for facts in (
                (
                    *(one.ordinal, one.length, one.precision, one.scale),
                    *(one.primary_key_position, one.nullable, one.type),
                )
                for one in row.columns
            )
        ]
        expect.append(
            {
                "vector": vectors[int(number_of or 0)]["id"],
                "refused": None,
                "schema_id": schema_id,
                "source_table": f"{row.source_schema or ''}.{row.source_table or ''}",
                "table_version": row.table_version,
                "written_at": as_text(row.written_at),
                "origin": f"{row.server or ''}/{row.task or ''}",
                "column_names": ", ".join(one.name for one in row.columns),
                "facts": ", ".join(columns),
                "data_schema_length": row.data_schema and len(row.data_schema),
            }
        )
    columns_of_row = list(expect[0])
    for place, reason in found.quarantine:
        offset = records[place]["offset"]
        said = {
            "vector": vectors[offset // STEP]["id"],
            "refused": f"{offset % STEP} {reason}",
        }
        expect.append(dict.fromkeys(columns_of_row) | said)
    variables = {"qlik_vectors": [vector["id"] for vector in vectors]}
    given = {"metadata": records_sql(records)}
    return [UnitTest("qlik_schema_versions", "qlik_schema_versions", given, expect, variables)]


# -------------------------------------------------------------------------------------------- masks


def mask_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test masks: each in an update whose schema id tells how many columns there are."""
    narrow = set(range(24))
    wide = {
        bit
        for vector in vectors
        if "positions" in vector["expect"]
        for bit in positions_of(vector) or []
        if width_of(vector) > 110
    }
    columns = {"id": "int"} | {f"c{bit}": "int" for bit in sorted(narrow | wide)}
    metadata = [
        {
            "schemaId": f"{width}",
            "tableStructure": {
                "tableColumns": {f"c{bit}": {"ordinal": bit + 1} for bit in range(width)}
            },
        }
        for width in sorted({width_of(vector) for vector in vectors})
    ]
    records, expect = [], []
    for number, vector in enumerate(vectors):
        more = {"changeMask": vector["given"]["mask"], "columnMask": None}
        content = {
            "data": {"id": number},
            "beforeData": None,
            "headers": headers("UPDATE", f"2024022908150200{number:019d}", **more),
        }
        value = dump(envelope(content, schema_id=f"{width_of(vector)}")).encode()
        records.append({"value": value, "topic": "t", "partition": 0, "offset": number})
        row = {"vector": vector["id"], "reason": vector["expect"].get("reason"), "changed": None}
        if "positions" in vector["expect"]:
            bits = positions_of(vector)
            row["changed"] = names_text(
                None if bits is None else [f"c{bit}" for bit in bits if f"c{bit}" in columns]
            )
        expect.append(row)
    told = [{"value": dump(one).encode()} for one in metadata]
    given = {"messages": records_sql(records), "metadata": records_sql(told)}
    variables = {
        "qlik_columns": columns,
        "qlik_vectors": [vector["id"] for vector in vectors],
    }
    return [UnitTest("qlik_change_mask_of_messages", "qlik_mask", given, expect, variables)]


UNITS: Mapping[str, Callable[[Sequence[Vector]], list[UnitTest]]] = {
    "qlik_messages": message_units,
    "qlik_schema_versions": version_units,
    "qlik_change_mask": mask_units,
}
