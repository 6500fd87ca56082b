"""Vectors in one relation: their sequences, ids, tables and topics are made their own.

A query with the decoder takes seconds before it begins, and longer if it reads Avro. So vectors
with the same arguments share a relation, those with Avro even if their columns differ. Vectors that
the reference then reads otherwise than alone go into another relation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kit.formats import Vector

from formats.qlik_messages import avro, reference
from formats.qlik_messages.reference import Decoded, Options, Row
from formats.qlik_messages.vector_checks import is_json, options_of, records_of
from formats.qlik_messages.versions import Version, is_avro, is_frame, read_versions

STEP = 1000  # offsets of a vector: its number in the relation, and these
BEHIND = 900  # offsets of metadata that a vector has in a relation of their own
IDS_OF_FRAMES = 1_000_000  # the same for the ids of registry frames, which are numbers

OwnId = Callable[[str], str]


@dataclass(frozen=True)
class Woven:
    """Vectors in one relation, and what the reference makes of it.

    ``is_text``: values are text, so nothing reads Avro.
    """

    vectors: Sequence[Vector]
    records: Sequence[Row]
    metadata: Sequence[Row] | None
    options: Options
    decoded: Decoded
    is_text: bool

    def vector_of(self, offset: int | None) -> str:
        return str(self.vectors[(offset or 0) // STEP]["id"])


# -------------------------------------------------------------------------------------- own records


def own_id(number: int) -> OwnId:
    """The schema ids of a vector; of frames they stay numbers."""

    def made(schema_id: str) -> str:
        if schema_id.isdigit():
            return str(int(schema_id) + IDS_OF_FRAMES * number)
        return f"{number}/{schema_id}"

    return made


def own_numbers(text: str, number: int) -> str:
    """The same with sequences and transactions of its own; its length stays."""
    text = re.sub(r"(?<!\d)(\d{16})0{4}(\d{15})(?!\d)", rf"\g<1>{number:04d}\g<2>", text)
    # in quotes, or behind the length that Avro has before it
    return re.sub(r'(["@])0{4}([0-9A-F]{28})(?![0-9A-F])', rf"\g<1>{number:04d}\g<2>", text)


def own_text(text: str, number: int, own: OwnId, has_own_table: bool) -> str:
    """A JSON text with sequences, transactions, schema ids, and perhaps a table, of its own."""
    ids = r'(?i)("(?:schemaId|messageSchemaId|externalSchemaId)": ?")([^"]+)"'
    text = re.sub(ids, lambda one: f'{one[1]}{own(one[2])}"', own_numbers(text, number))
    return text.replace('"table":"CUST"', f'"table":"CUST{number}"') if has_own_table else text


def own_avro(value: bytes, number: int, own: OwnId, known: Sequence[Version]) -> bytes:
    """An Avro message with sequences, transactions and schema ids of its own.

    ``known``: versions with the schemas of messages that have short transaction ids.
    """
    if is_frame(value):
        schema_id = str(int.from_bytes(value[1:5], "big"))
        frame_id = own(schema_id) if own(schema_id).isdigit() else schema_id
        return avro.frame(own_bytes(value[5:], number), int(frame_id))
    try:
        head = avro.read_all(avro.ENVELOPE, value)
    except Exception:  # what fastavro raises; it stays unreadable
        return own_bytes(value, number)
    schema_id, text = head["messageSchemaId"], head["messageSchema"]
    with suppress(Exception):  # a record that cannot be read stays as it is
        schema = json.loads(text or avro.schema_of(known, schema_id, None))
        content = avro.read_all(avro.parsed(schema), head["message"])
        if head["type"] == "MD":
            content["schemaId"] = own(content["schemaId"])
        elif 0 < len(content["headers"]["transactionId"]) < 32:
            content["headers"]["transactionId"] = (
                f"{number:04d}{content['headers']['transactionId']}"
            )
        head["message"] = avro.written(schema, content)
    message = own_bytes(head["message"], number)
    return avro.envelope(message, head["type"], schema_id and own(schema_id), text)


def own_bytes(value: bytes, number: int) -> bytes:
    return own_numbers(value.decode("latin-1"), number).encode("latin-1")


def own_record(
    record: Row,
    number: int,
    own: OwnId,
    known: Sequence[Version] = (),
    has_own_table: bool = False,
) -> Row:
    """A record of a vector in the relation that all share."""
    found = dict(record)
    value = record["value"]
    if value is not None and is_avro(value):
        found["value"] = own_avro(value, number, own, known)
    elif value is not None and value.lstrip(b" \t\r\n").startswith(b"{"):
        text = own_text(value.decode("latin-1"), number, own, has_own_table)
        found["value"] = text.encode("latin-1")
    if record.get("offset") is not None:
        found["offset"] = record["offset"] + STEP * number
    if has_own_table and record.get("topic") is not None:
        found["topic"] = f"cust{number}"  # which is what a relation with one table is without
    elif record.get("topic") in ("t", "all"):
        found["topic"] = f"{number}/{record['topic']}"
    return found


# ---------------------------------------------------------------------------------------- relations


def weave(vectors: Sequence[Vector], is_text: bool) -> Woven:
    """Vectors in one relation. One by itself stays as it is.

    If one has its metadata among the messages, all do. If the bytes of masks are little-endian in
    one, they are in all.
    """
    given = vectors[0]["given"]
    has_own_table = given.get("table") is None and given.get("metadata") is not None
    is_same = any(one["given"].get("metadata") == "messages" for one in vectors)
    records: list[Row] = []
    metadata: list[Row] = []
    columns: dict[str, str] = {}
    for number, vector in enumerate(vectors):
        own = vector["given"]
        messages, told = records_of(own["messages"]), told_of(own)
        if is_same:  # behind them
            where = {name: messages[0][name] for name in messages[0] if name != "value"}
            messages += [one | where | {"offset": BEHIND + place} for place, one in enumerate(told)]
            told = []
        known = read_versions([*messages, *told], avro.opened).rows
        for into, rows in ((records, messages), (metadata, told)):
            into += [
                own_record(one, number, own_id(number), known, has_own_table) if number else one
                for one in rows
            ]
        columns |= {
            name: sql_type
            for name, sql_type in own["columns"].items()
            if (columns.get(name), sql_type) != ("bigint", "int")
        }
    read = records if is_same else None if given.get("metadata") is None else metadata
    options = replace(
        options_of(given),
        columns=columns,
        avro_mask_byte_order=max(options_of(one["given"]).avro_mask_byte_order for one in vectors),
    )
    decoded = reference.decode(records, read, options, None if is_text else avro.opened)
    return Woven(vectors, records, read, options, decoded, is_text)


def told_of(given: Vector) -> list[Row]:
    """The records of a relation of their own with metadata."""
    metadata = given.get("metadata")
    return records_of(metadata) if isinstance(metadata, list) else []


def outcome(decoded: Decoded, records: Sequence[Row], number: int, vector: Vector) -> list[Any]:
    """What becomes of the records of a vector, without what is its own in a shared relation."""
    first, columns = STEP * number, list(vector["given"]["columns"])

    def is_own(offset: int | None) -> bool:
        return (offset or 0) // STEP == number

    def sequence(text: str) -> str:
        head, rest = text[:35], text[35:]
        if number and head[16:20] == f"{number:04d}":  # or it is of another vector
            head = f"{head[:16]}0000{head[20:]}"
        if len(rest) >= 31 and rest[12:31].isdigit():  # of a load: partition, offset, topic
            rest = f"{rest[:12]}{int(rest[12:31]) - first}{rest[31:]}"
        return head + rest

    def with_own(event: Row) -> Row:
        """Its columns alone."""
        found = {name: event[name] for name in event if name.startswith("cdc_") or name in columns}
        for name in ("cdc_changed_columns", "cdc_present_columns"):
            if found[name] is not None:
                found[name] = [one for one in columns if one in found[name]]
        if found["cdc_present_columns"] == columns:
            found["cdc_present_columns"] = None
        if found["cdc_before"] is not None:
            found["cdc_before"] = {name: found["cdc_before"][name] for name in columns}
        return found

    events = []
    for event in decoded.events:
        said = dict(event["cdc_metadata"])
        if is_own(said["offset"]):
            for name in ("topic", "schema_id"):
                said[name] = said[name] is not None
            said["offset"] = said["offset"] and said["offset"] - first
            same = {name: sequence(event[name]) for name in ("cdc_sequence", "cdc_commit_sequence")}
            transaction = (event["cdc_transaction_id"] or "").removeprefix(f"{number:04d}")
            same["cdc_transaction_id"] = transaction.lstrip("0")
            events.append(with_own(event | same | {"cdc_metadata": said}))
    refused = [
        ((records[place].get("offset") or 0) - first, reason)
        for place, reason in decoded.quarantine
        if is_own(records[place].get("offset"))
    ]
    offsets = [records[place].get("offset") for place in decoded.no_ops]
    no_ops = [one for one in offsets if is_own(one) and (one or 0) % STEP < BEHIND]
    return [events, sorted(refused), len(no_ops)]


def is_as_alone(woven: Woven, alone: Mapping[str, list[Any]]) -> bool:
    """Whether each vector has the outcome that it has by itself."""
    return all(
        outcome(woven.decoded, woven.records, number, vector) == alone[vector["id"]]
        for number, vector in enumerate(woven.vectors)
    )


def signature(vector: Vector) -> str:
    """What vectors in one relation have in common: the arguments, and where offsets are missing."""
    given = vector["given"]
    has_offset = all("offset" in one for one in given["messages"])
    metadata = type(given.get("metadata")).__name__
    named = [given.get("table"), given.get("schema")]
    return json.dumps([given["key"], given["columns"], named, metadata, has_offset])


def signature_of_bytes(vector: Vector) -> str:
    """The same for those with bytes: other columns, and where their metadata is, do not matter."""
    given = vector["given"]
    named = [given.get("table"), given.get("schema")]
    return json.dumps(
        [given["key"], named, given.get("metadata") is not None or named != [None] * 2]
    )


def needs_bytes(vector: Vector) -> bool:
    """Whether some value is Avro, or is no text at all."""
    given = vector["given"]
    records = [*records_of(given["messages"]), *told_of(given)]
    try:
        b"".join(one["value"] or b"" for one in records).decode()
    except UnicodeDecodeError:
        return True
    return not is_json(vector)


def is_in_bytes(vectors: Sequence[Vector]) -> Collection[str]:
    """The vectors that share a binary relation: also JSON with the arguments of one with Avro."""
    arguments = {signature(one) for one in vectors if not is_json(one)}
    return {one["id"] for one in vectors if needs_bytes(one) or signature(one) in arguments}


def apart(vectors: Sequence[Vector]) -> list[Woven]:
    """The relations, each with as many vectors as there can be."""
    alike: dict[tuple[str, bool], list[Vector]] = {}
    alone: dict[str, list[Any]] = {}
    in_bytes = is_in_bytes(vectors)
    for vector in vectors:
        is_text = vector["id"] not in in_bytes
        together = signature(vector) if is_text else signature_of_bytes(vector)
        alike.setdefault((together, is_text), []).append(vector)
        by_itself = weave([vector], is_text)
        alone[vector["id"]] = outcome(by_itself.decoded, by_itself.records, 0, vector)
    found: list[Woven] = []
    for (_, is_text), members in alike.items():
        whole = weave(members, is_text)
        if is_as_alone(whole, alone):
            found.append(whole)
            continue
        groups: list[Woven] = []
        for vector in members:
            for place, one in enumerate(groups):
                woven = weave([*one.vectors, vector], is_text)
                if is_as_alone(woven, alone):
                    groups[place] = woven
                    break
            else:
                groups.append(weave([vector], is_text))
        found += groups
    return found
