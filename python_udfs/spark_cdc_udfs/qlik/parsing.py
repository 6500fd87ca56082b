"""What a message of Qlik Replicate says: bytes in, columns out.

Sections 2 and 3 of the format's reference; the comments give its rules by number. It knows all
tables of a topic, and no model of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from spark_cdc_udfs.qlik.metadata import BadMetadata, read_version
from spark_cdc_udfs.qlik.schema import MOST_CHARACTERS
from spark_cdc_udfs.qlik.strict import Ambiguous, Members, NoJson, member, read_object, text_of
from spark_cdc_udfs.qlik.versions import Known, TableName, Version, latest, of_table

OPERATIONS = {"REFRESH": "load", "INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}

_ENVELOPES = Members("magic", "type", "messageSchemaId", "message", "dataSchema", "tableStructure")
_RECORDS = Members("data", "beforeData", "headers", "schema", "table", "op", "operation")
_HEADERS = Members(
    *("operation", "changeSequence", "timestamp", "streamPosition", "transactionId", "changeMask"),
    *("columnMask", "externalSchemaId", "transactionEventCounter", "transactionLastEvent"),
)

_OBJECT = re.compile(rb"[ \t\n\r]*\{")
_SEQUENCE = re.compile(r"[0-9]{35}")
_MASK = re.compile(r" *(?:[xX]'([0-9a-fA-F]*)'|(?:0[xX])?([0-9a-fA-F]*)) *\Z")


class Parsed(NamedTuple):
    """What a message says. All are texts or lists, null where a message has none.

    - `kind`: `data`, `metadata`, or `refused`: it cannot be read (rules 2 to 5); null: a tombstone;
    - `reason` and `detail`: why it is refused. Of a data message also why it makes no event,
      whatever the columns of its table are (rules 7 to 11). The `detail` of a metadata message is
      its version as JSON, see `read_version`;
    - `schema_id`: its `messageSchemaId`; `message_id`: the id of rule 11; `has_version`: there is
      one with this id, null without metadata; `table_version`: the number of the version that
      wrote it;
    - `table_schema` and `table_name`, in lower case (rule 6);
    - `operation`, `change_seq` and other headers;
    - `names`, `texts` and `nested` of the row image (rule 8): names and texts of its members, and
      the places of those that are objects or arrays, from 0 on. The same of `beforeData`;
    - `changed_bits` and `carried_bits`: the masks, a digit 0 or 1 for each bit, the lowest first;
      `bit_names`: the column of each bit, null where there is none. It is null as a whole without a
      mask, or where only the order of the members tells.
    """

    kind: str | None = None
    reason: str | None = None
    detail: str | None = None
    schema_id: str | None = None
    message_id: str | None = None
    has_version: bool | None = None
    table_version: str | None = None
    table_schema: str | None = None
    table_name: str | None = None
    operation: str | None = None
    change_seq: str | None = None
    transaction_id: str | None = None
    stream_position: str | None = None
    timestamp: str | None = None
    transaction_event_counter: str | None = None
    transaction_last_event: str | None = None
    names: Sequence[str] | None = None
    texts: Sequence[str | None] | None = None
    nested: Sequence[int] | None = None
    before_names: Sequence[str] | None = None
    before_texts: Sequence[str | None] | None = None
    before_nested: Sequence[int] | None = None
    changed_bits: str | None = None
    carried_bits: str | None = None
    bit_names: Sequence[str | None] | None = None


# What each field is in SQL; all others are texts.
_TYPES = {
    **dict.fromkeys(("names", "texts", "before_names", "before_texts"), "array<string>"),
    **{"bit_names": "array<string>", "nested": "array<int>", "before_nested": "array<int>"},
    "has_version": "boolean",
}
COLUMNS = {name: _TYPES.get(name, "string") for name in Parsed._fields}

TOMBSTONE = Parsed()
UNREAD = Parsed(kind="data")


class Record(NamedTuple):
    """A Kafka record. `at` is its time, or the time of its first delivery, in microseconds."""

    value: bytes | None
    key: bytes | None
    topic: bytes | None
    at: int | None


class Avro(NamedTuple):
    """An Avro message as the JSON message of the same content, with what its schema says."""

    json: str
    namespace: str | None
    fields: Sequence[str] | None


class Refused(ValueError):
    """A message without an event: a reason, and a detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def refused(reason: str, detail: str | None) -> Parsed:
    """Give what is said of a message that cannot be read."""
    return Parsed(kind="refused", reason=reason, detail=detail)


def is_avro(value: bytes) -> bool:
    """Say whether a value is an Avro envelope or a registry frame (rule 2)."""
    return value.startswith(b"atMSG") or (value[:1] == b"\0" and len(value) > 5)


def is_avro_data(value: bytes) -> bool:
    """Say whether an Avro value is a data message, as its first bytes tell."""
    return value[:1] == b"\0" or value.startswith(b"atMSG\4DT")


def parse(
    record: Record,
    known: Known,
    avro: Avro | None = None,
    little: bool = False,
    only_metadata: bool = False,
) -> Parsed:
    """Read a record. `avro`: what it is, if it is one in Avro. `little`: masks in Avro are.

    With `only_metadata` data messages are not looked into.
    """
    if record.value is None:
        return TOMBSTONE
    if avro is None and is_avro(record.value):
        if only_metadata and is_avro_data(record.value):
            return UNREAD
        return refused("avro_unsupported", "Avro is read where value is binary")
    try:
        return _parsed(record, known, avro, little, only_metadata)
    except Refused as error:
        return refused(error.reason, error.detail)
    except BadMetadata as error:
        return refused("bad_metadata", str(error))
    except (UnicodeDecodeError, NoJson):
        shown = record.value[:400].decode(errors="replace")[:100]
        return refused("bad_message", f"value is {shown}")
    except Ambiguous as error:
        return refused("bad_message", f"several members are named {error} in other capitals")


def _parsed(
    record: Record, known: Known, avro: Avro | None, little: bool, only_metadata: bool
) -> Parsed:
    value = record.value or b""
    if avro is None and not _OBJECT.match(value):
        raise NoJson
    content = read_object(value.decode() if avro is None else avro.json)
    names = _ENVELOPES.of(content)
    schema_id, inner = None, content
    magic, message = (member(content, names, name) for name in ("magic", "message"))
    if "magic" in names or "message" in names:
        if text_of(magic) != "atMSG":
            raise NoJson
        kind = text_of(member(content, names, "type"))
        if kind not in ("DT", "MD"):
            raise Refused(
                "unknown_message_type", f"type is {'NULL' if kind is None else kind[:100]}"
            )
        is_metadata, inner = kind == "MD", message
        if not is_metadata:
            schema_id = text_of(member(content, names, "messageSchemaId")) or None
    else:
        is_metadata = False
        for name in ("dataSchema", "tableStructure"):
            member(content, names, name)
            is_metadata = is_metadata or name in names
    if is_metadata:
        version = json.dumps(read_version(inner), ensure_ascii=False)
        if len(version) > MOST_CHARACTERS:  # Spark's JSON reader has limits
            raise BadMetadata(f"a version of {len(version)} characters")
        return Parsed(kind="metadata", detail=version)
    if only_metadata:
        if inner is content:
            _headers(content)
        return UNREAD
    return _data(record, inner, schema_id, known, avro, little)


def _data(
    record: Record,
    inner: Any,
    schema_id: str | None,
    known: Known,
    avro: Avro | None,
    little: bool,
) -> Parsed:
    """Read a data message: rules 5 to 11."""
    headers = _headers(inner)
    names = _RECORDS.of(inner)
    told = _HEADERS.of(headers)
    header: dict[str, str | None] = {}
    for name, there in told.items():
        if there is None:
            raise Ambiguous(name)
        value = headers[there]
        header[name] = value if type(value) is str else text_of(value)
    data, before = (member(inner, names, name) for name in ("data", "beforeData"))
    for image in (data, before):
        if image is not None and not isinstance(image, dict):
            raise NoJson
    named = (text_of(member(inner, names, "schema")), text_of(member(inner, names, "table")))
    message_id = schema_id or header.get("externalSchemaId") or None
    table = known.table_of(
        named, message_id, avro and avro.namespace, _text(record.key), _text(record.topic)
    )
    operation = OPERATIONS.get(header.get("operation") or "")
    image = data
    if image is None and operation == "delete":
        image = _key_image(record.key) if before is None else before
    reason = detail = None
    changed = carried = bit_names = version = None
    change_seq = header.get("changeSequence")
    try:
        if operation is None:
            shown = header.get("operation")
            detail = f"operation is {'NULL' if shown is None else shown[:100]}"
            raise Refused("unknown_operation", detail)
        if image is None:
            _refuse_without_image(names)
        if operation != "load" and not _is_sequence(change_seq):
            detail = f"changeSequence is {'NULL' if change_seq is None else change_seq[:100]}"
            raise Refused("bad_change_seq", detail)
        changed, carried = _masks(headers, told, operation, avro is not None and little)
        has_mask = changed is not None or carried is not None
        version = _version(record, known, table, schema_id, message_id, has_mask, avro, image or {})
        if has_mask:
            bit_names = _bit_names(version, avro, changed or "", carried or "")
            if bit_names is None:
                detail = _shown_masks(header)  # if the columns of the table do not fit
    except Refused as error:
        reason, detail = error.reason, error.detail or _shown_masks(header)
    texts, nested = _texts(image)
    before_texts, before_nested = _texts(before)
    return Parsed(
        "data",
        reason,
        detail,
        schema_id,
        message_id,
        bool(known.with_id(message_id)) if known.has_metadata else None,
        None if version is None or version.table_version is None else str(version.table_version),
        None if table is None else table[0],
        None if table is None else table[1],
        operation,
        change_seq,
        header.get("transactionId") or None,
        header.get("streamPosition") or None,
        header.get("timestamp"),
        header.get("transactionEventCounter"),
        header.get("transactionLastEvent"),
        None if image is None else list(image),
        texts,
        nested,
        None if before is None else list(before),
        before_texts,
        before_nested,
        changed,
        carried,
        bit_names,
    )


def _headers(inner: Any) -> dict[str, Any]:
    """Give the headers of a data message (rule 5)."""
    if not isinstance(inner, dict):
        raise NoJson
    names = _RECORDS.of(inner)
    headers = member(inner, names, "headers")
    if isinstance(headers, dict):
        return headers
    layouts = [name for name in ("op", "operation") if name in names]
    for name in layouts:
        member(inner, names, name)
    if layouts:
        raise Refused("unsupported_layout", f"there is no object headers, but {layouts[0]}")
    raise NoJson


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _texts(image: Mapping[str, Any] | None) -> tuple[list[str | None] | None, list[int] | None]:
    """Give the texts of the values of an image, and the places of objects and arrays."""
    if image is None:
        return None, None
    texts = list(image.values())
    nested = []
    for place, value in enumerate(texts):
        if value is not None and type(value) is not str:
            if isinstance(value, bool):
                texts[place] = "true" if value else "false"
            else:
                texts[place] = "{...}" if isinstance(value, dict) else "[...]"
                nested.append(place)
    return texts, nested or None


def _key_image(key: bytes | None) -> dict[str, Any] | None:
    """Give the row that the Kafka key of a delete is (rule 8)."""
    if key is None or not _OBJECT.match(key):
        return None
    try:
        return read_object(key.decode())
    except (NoJson, UnicodeDecodeError):
        return None


def _refuse_without_image(names: Mapping[str, Any]) -> None:
    if "data" in names or "beforeData" in names:
        raise Refused("missing_data", "there is no row in data, beforeData or the key")
    raise Refused("unsupported_layout", "the record has no member data and no beforeData")


def _is_sequence(text: str | None) -> bool:
    """Say whether a text is 35 digits that begin with a time (rule 9)."""
    return text is not None and _SEQUENCE.fullmatch(text) is not None and _is_time(text[:14])


@lru_cache(2**12)
def _is_time(digits: str) -> bool:
    try:
        datetime.strptime(digits, "%Y%m%d%H%M%S")
    except ValueError:
        return False
    return True


def _masks(
    headers: Mapping[str, Any], told: Mapping[str, Any], operation: str, little: bool
) -> tuple[str | None, str | None]:
    """Read both masks (rule 10)."""
    found: list[str | None] = []
    for name in ("changeMask", "columnMask"):
        value = member(headers, told, name)
        if value is None or (name == "changeMask" and operation == "delete"):
            found.append(None)
            continue
        text = text_of(value)
        if text is None:
            raise Refused("bad_mask", "")
        read = _bits if len(text) <= 2**8 else _bits.__wrapped__
        found.append(read(text, little))
    return found[0], found[1]


@lru_cache(2**12)
def _bits(mask: str, little: bool) -> str:
    """Give a digit 0 or 1 for each bit of a mask, the lowest first."""
    match = _MASK.match(mask)
    if match is None:
        raise Refused("bad_mask", "")
    digits: str = match[1] if match[2] is None else match[2]
    if little and len(digits) % 2 == 0:
        digits = bytes.fromhex(digits)[::-1].hex()
    return f"{int(digits, 16):b}"[::-1] if digits else ""


def _shown_masks(header: Mapping[str, str | None]) -> str:
    shown = (header.get(name) for name in ("changeMask", "columnMask"))
    changed, carried = ("NULL" if one is None else one[:100] for one in shown)
    return f"changeMask is {changed}, columnMask is {carried}"


def _version(
    record: Record,
    known: Known,
    table: TableName | None,
    schema_id: str | None,
    message_id: str | None,
    has_mask: bool,
    avro: Avro | None,
    image: Mapping[str, Any],
) -> Version | None:
    """Give the version that wrote a message (rule 11)."""
    candidates = known.with_id(message_id)
    if candidates:
        own = of_table(candidates, table) if table is not None else []
        return latest(own or candidates, record.at)
    if not has_mask or avro is not None or not known.has_metadata:
        return None
    if schema_id is not None:
        detail = f"no metadata message has the schemaId {schema_id[:100]}"
        raise Refused("unknown_schema", detail)
    if table is None and len(known.told) > 1:
        raise Refused("unknown_table", "nothing in the record names a known table")
    rows = known.versions if table is None else of_table(known.versions, table)
    members = sorted(name.lower() for name in image)
    return latest([one for one in rows if one.lower_names == members] or rows, record.at)


def _bit_names(
    version: Version | None, avro: Avro | None, changed: str, carried: str
) -> list[str | None] | None:
    """Give the column of each bit; None if only the order of the members can tell."""
    if version is not None:
        # columns behind the end of the masks have no bit that is set; there may be gaps before it
        size = max(len(changed), len(carried))
        found: list[str | None] = [None] * min(size, max(version.columns, default=0))
        for ordinal in sorted(version.columns):
            if ordinal <= size:
                found[ordinal - 1] = version.columns[ordinal]
            else:
                found.append(version.columns[ordinal])
    elif avro is not None:
        found = list(avro.fields or ())
    else:
        return None
    for bits in (changed, carried):
        at = bits.find("1")
        while at >= 0:
            if at >= len(found) or found[at] is None:
                raise Refused("bad_mask", "")
            at = bits.find("1", at + 1)
    return found
