"""The dbt unit tests of the vectors: many of them in one relation, each with offsets of its own.

Relations with Avro have their values as bytes, all others as text: then the queries are shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kit.formats import UnitTest, Vector
from kit.units import event_columns, json_text, names_text, rows_sql
from kit.values import as_text, texts_of

from formats.qlik_messages import avro, versions
from formats.qlik_messages.avro_vectors import AVRO_VECTORS
from formats.qlik_messages.json_vectors import JSON_VECTORS, VERSION_VECTORS
from formats.qlik_messages.message import dump, envelope, headers
from formats.qlik_messages.reference import Row
from formats.qlik_messages.vector_checks import positions_of, records_of, width_of
from formats.qlik_messages.versions import TYPES
from formats.qlik_messages.weaving import STEP, Woven, apart, own_record

AS_TEXT = TYPES | {"value": "string"}


def literal(sql_type: str, value: Any) -> str:
    """A value of a record as SQL."""
    if value is None:
        return f"cast(null as {sql_type})"
    if sql_type == "binary":
        return f"X'{value.hex()}'"
    if isinstance(value, str) and "\\" in value:
        value = value.encode()
    if isinstance(value, bytes):
        return f"cast(X'{value.hex()}' as string)"
    if sql_type == "timestamp":
        return f"timestamp '{value:%Y-%m-%d %H:%M:%S.%f}Z'"
    return f"cast('{value}' as {sql_type})"


def records_sql(records: Sequence[Row], types: Mapping[str, str] = TYPES) -> str:
    """Records as a query; a relation without records has one without a value."""
    rows = [
        [literal(sql_type, record.get(name)) for name, sql_type in types.items()]
        for record in records or [{}]
    ]
    return rows_sql([f"`{name}`" for name in types], rows)


# ------------------------------------------------------------------------------------- expectations


def escaped(row: Row) -> Row:
    """A row as dbt needs it: it writes texts into SQL as they are."""
    return {
        name: value.replace("\\", "\\\\") if isinstance(value, str) else value
        for name, value in row.items()
    }


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


def event_row(event: Row, columns: Mapping[str, str]) -> Row:
    """An event as the wrapper model gives it."""
    before, metadata = event["cdc_before"], event["cdc_metadata"]
    return NOTHING | {
        "kind": "event",
        **event_columns(event),
        "before_values": json_text(before and texts_of(before)),
        "row_values": json_text(texts_of(event, columns)),
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
    messages = "messages_as_text" if woven.is_text else "messages"
    messages = messages if has_offset else "messages_without_offset"
    told = "metadata_as_text" if woven.is_text else "metadata"
    told = messages if metadata is woven.records else told
    records = {messages: woven.records} | ({} if metadata is None else {told: metadata})
    types = {
        "messages": TYPES,
        "metadata": TYPES,
        "messages_as_text": AS_TEXT,
        "metadata_as_text": AS_TEXT,
        "messages_without_offset": {name: AS_TEXT[name] for name in ("value", "timestamp")},
    }
    given = {one: records_sql(records.get(one, []), types[one]) for one in types}
    variables = {
        "qlik_given": {
            "key": list(options.key),
            "columns": dict(options.columns),
            "table": options.table,
            "schema": options.schema,
        },
        "qlik_messages": messages,
        "qlik_metadata": None if metadata is None else told,
        "qlik_vectors": [vector["id"] for vector in woven.vectors],
    }
    if options.avro_mask_byte_order != "big":
        variables["spark_cdc_qlik_avro_mask_byte_order"] = options.avro_mask_byte_order
    expect = [escaped(row) for row in expected_of(woven)]
    return UnitTest(name, "qlik_messages", given, expect, variables)


def message_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test events and quarantine of all vectors."""
    groups = apart([*vectors, *AVRO_VECTORS, *JSON_VECTORS])
    return [unit_of(f"qlik_messages_{place}", one) for place, one in enumerate(groups, start=1)]


# ---------------------------------------------------------------------------------- schema versions


def version_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the versions and the quarantine of all vectors, in one relation."""
    vectors = [*vectors, *VERSION_VECTORS]
    records: list[Row] = []
    for number, vector in enumerate(vectors):
        rows = [
            {"topic": "t", "partition": 0} | one | {"offset": place}
            for place, one in enumerate(records_of(vector["given"]["metadata"]))
        ]
        records += [own_record(one, number, f"{number}/{{}}".format) for one in rows]
    found = versions.read_versions(records, avro.opened)
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
    rows = [escaped(row) for row in expect]
    return [UnitTest("qlik_schema_versions", "qlik_schema_versions", given, rows, variables)]


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
    given = {
        "messages_as_text": records_sql(records, AS_TEXT),
        "metadata_as_text": records_sql(told, AS_TEXT),
    }
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
