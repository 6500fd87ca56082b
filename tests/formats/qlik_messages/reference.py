"""What a decoder must make of messages of Qlik Replicate, in plain Python.

It is written to be read against the format's reference; the comments cite its rules by number.
A record is a dict with `value` (bytes or None), and those of `key`, `topic`, `partition`, `offset`
and `timestamp` that the relation has. Nothing here is clever, or fast. The members of messages are
in `versions.py`, strict JSON in `strict_json.py`. Avro is read by what is given for it, such as
`avro.opened`.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import accumulate
from typing import Any

from kit.formats import raw_counts
from kit.values import Malformed

from formats.qlik_messages import names, strict_json, versions
from formats.qlik_messages.strict_json import NoJson, read_value, text_of, unless_bad
from formats.qlik_messages.versions import AvroReader, Record, Version

Row = dict[str, Any]
TableName = tuple[str | None, str | None]
"""Schema and table, in lower case; a schema of None is any, a table of None is no table."""

OPERATIONS = {"REFRESH": "load", "INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}
HEADERS = (
    *("operation", "changeSequence", "timestamp", "streamPosition", "transactionId", "changeMask"),
    *("columnMask", "externalSchemaId", "transactionEventCounter", "transactionLastEvent"),
)
ZEROS = "0" * 35


@dataclass(frozen=True)
class Options:
    """The arguments of the decoder, and its var: the order of the bytes of a mask in Avro."""

    key: Sequence[str]
    columns: Mapping[str, str]
    table: str | None = None
    schema: str | None = None
    avro_mask_byte_order: str = "big"

    @property
    def table_name(self) -> TableName:
        return lower(self.schema), lower(self.table)

    @property
    def has_table(self) -> bool:
        return self.table is not None or self.schema is not None


def lower(name: str | None) -> str | None:
    return name.lower() if name else None


# ------------------------------------------------------------------------------ sequences and masks


def is_sequence(text: str | None) -> bool:
    """Rule 9: 35 digits, the first 14 of them a date and time."""
    if text is None or not re.fullmatch(r"[0-9]{35}", text):
        return False
    try:
        commit_at(text)
    except ValueError:
        return False
    return True


def commit_at(sequence: str) -> datetime:
    """The time part of a sequence, hundredths of seconds."""
    numbers = [int(sequence[:4]), *(int(sequence[at : at + 2]) for at in range(4, 16, 2))]
    *clock, hundredths = numbers
    return datetime(*clock, hundredths * 10_000, tzinfo=timezone.utc)  # type: ignore[arg-type, misc]


def bits_of(mask: str | None) -> set[int] | None:
    """Rule 10: the bits of a mask; None for one that says nothing."""
    if mask is None:
        return None
    digits = mask.strip(" ")
    if found := re.fullmatch(r"[xX]'(.*)'", digits, re.DOTALL):
        digits = found[1]
    elif digits[:2] in ("0x", "0X"):
        digits = digits[2:]
    if not re.fullmatch(r"[0-9a-fA-F]*", digits):
        raise Malformed("bad_mask")
    number = int(digits or "0", 16)
    return {bit for bit in range(number.bit_length()) if number >> bit & 1}


# ------------------------------------------------------------------------------------- data message


@dataclass(frozen=True)
class Data:
    """A data message up to rule 5: what routes it, and what it holds."""

    place: int
    record: Record
    inner: Mapping[str, Any]
    headers: Mapping[str, Any]
    message_schema_id: str | None
    namespace: str | None = None
    fields: Sequence[str] | None = None  # of an Avro message: those of `data`

    def header(self, name: str) -> str | None:
        return text_of(self.headers[name])

    @property
    def schema_id(self) -> str | None:
        """Rule 11: the id of the message."""
        return self.message_schema_id or self.header("externalSchemaId") or None

    @property
    def is_load(self) -> bool:
        return self.header("operation") == "REFRESH"

    @property
    def delivery(self) -> tuple[Any, ...]:
        """Rule 15: what comes first of several deliveries; a null timestamp is the last."""
        at = self.record.get("timestamp")
        where = (self.record.get(name) for name in ("topic", "partition", "offset"))
        return (at is None, at or 0, *((one is not None, one or 0) for one in where))

    @property
    def identity(self) -> tuple[Any, ...]:
        """Rule 15: deliveries with the same are one, repeated."""
        value = self.record["value"]
        if self.is_load and self.record.get("offset") is not None:
            return value, *(self.record.get(name) for name in ("topic", "partition", "offset"))
        return (value,)


def read_data(place: int, record: Record, message: versions.Message) -> Data:
    """Rules 3 and 5."""
    inner = message.record
    headers = versions.headers_of(inner)
    try:
        schema_id = text_of(names.member(message.envelope or {}, "messageSchemaId"))
        asked = {name: names.member(headers, name) for name in HEADERS}
        for image in ("data", "beforeData"):
            value = names.member(inner, image)
            if value is not None and not isinstance(value, dict):
                raise Malformed("bad_message")
        for name in ("schema", "table"):
            names.member(inner, name)
    except names.Ambiguous:
        raise Malformed("bad_message") from None
    return Data(place, record, inner, asked, schema_id or None, message.namespace, message.fields)


# ------------------------------------------------------------------------------------------ routing


@dataclass(frozen=True)
class Catalog:
    """What `metadata` tell. ``is_given``: whether there are any at all."""

    options: Options
    rows: Sequence[Version]
    is_given: bool

    @property
    def known(self) -> list[TableName]:
        """Rule 6: the tables of the lineages, and that of the arguments if it is none of these."""
        tables = list(dict.fromkeys(row.table for row in self.rows if row.table[1] is not None))
        schema, table = self.options.table_name
        if table is not None and not any(is_same((schema, table), one) for one in tables):
            tables.append((schema, table))
        return tables

    def with_id(self, schema_id: str | None) -> list[Version]:
        return [row for row in self.rows if row.schema_id == schema_id]

    def table_of(self, data: Data) -> TableName | None:
        """Rule 6: the table that a message is of, if anything names one."""
        inner = data.inner
        table = lower(text_of(names.member(inner, "table")))
        if table is not None:
            schema = lower(text_of(names.member(inner, "schema")))
            if schema is not None:
                return schema, table
            same = [one for one in self.known if one[1] == table]
            return {0: (None, table), 1: same[0] if same else None}.get(len(same))
        lineages = {row.table for row in self.with_id(data.schema_id)} - {(None, None)}
        if len(lineages) == 1:
            return lineages.pop()
        namespace = self._longest(data.namespace, self._is_end)
        if namespace:
            return namespace[0] if len(namespace) == 1 else None
        key = self._longest(data.record.get("key"), self._is_key)
        if key:
            return key[0] if len(key) == 1 else None
        topic = self._longest(data.record.get("topic"), self._is_topic)
        return topic[0] if len(topic) == 1 else None

    def _longest(self, text: Any, matched: Any) -> list[TableName]:
        """The known tables with the longest name that matches a text."""
        if isinstance(text, bytes):
            try:
                text = text.decode()
            except UnicodeDecodeError:
                return []
        if not isinstance(text, str):
            return []
        lengths = {one: matched(text.lower(), *one) for one in self.known}
        longest = max(lengths.values(), default=0)
        return [one for one, length in lengths.items() if length == longest > 0]

    @staticmethod
    def _is_key(text: str, schema: str | None, table: str) -> int:
        """The length of the name that a Kafka key is, with a sign between schema and table."""
        if schema is None or len(text) != len(schema) + 1 + len(table):
            return 0
        sign = text[len(schema)]
        is_it = text.startswith(schema) and text.endswith(table) and not sign.isalnum()
        return len(text) if is_it else 0

    @staticmethod
    def _is_end(text: str, schema: str | None, table: str) -> int:
        """The length of the name that a namespace ends in."""
        whole = table if schema is None else f"{schema}.{table}"
        return len(whole) if f".{text}".endswith(f".{whole}") else 0

    @staticmethod
    def _is_topic(text: str, schema: str | None, table: str) -> int:
        """The length of the name that a topic is, or ends in."""
        whole = f"{schema}.{table}"
        if schema is not None and (text == whole or text.endswith(f".{whole}")):
            return len(whole)
        return len(table) if text == table else 0


def is_same(one: TableName, other: TableName) -> bool:
    """Whether two names are of one table; a schema, or an argument, that is not given is any."""
    return all(None in pair or pair[0] == pair[1] for pair in zip(one, other, strict=True))


def of_table(rows: Iterable[Version], table: TableName) -> list[Version]:
    """The versions of a table."""
    return [row for row in rows if row.table[1] is not None and is_same(row.table, table)]


def route(data: Data, catalog: Catalog) -> bool:
    """Rule 6: whether a message is of the table of the arguments."""
    if not catalog.options.has_table:
        return True
    table = catalog.table_of(data)
    if table is None:
        waits = catalog.is_given and data.message_schema_id is not None
        is_unknown = waits and not catalog.with_id(data.message_schema_id)
        raise Malformed("unknown_schema" if is_unknown else "unknown_table")
    return is_same(table, catalog.options.table_name)


# ----------------------------------------------------------------------------------------- versions


def version_of(
    data: Data, image: Mapping[str, Any], has_mask: bool, catalog: Catalog
) -> Version | None:
    """Rule 11: the version that wrote a message; None where none is known."""
    candidates = catalog.with_id(data.schema_id) if data.schema_id is not None else []
    if candidates:
        table = catalog.table_of(data)
        own = of_table(candidates, table) if table is not None else []
        return latest(own or candidates, data.record.get("timestamp"))
    if not has_mask or data.fields is not None:
        return None
    if data.message_schema_id is not None and catalog.is_given:
        raise Malformed("unknown_schema")
    if data.message_schema_id is not None:
        return None
    table = catalog.table_of(data)
    tables = {row.table for row in catalog.rows}
    if table is None and len(tables) > 1:
        raise Malformed("unknown_table")
    own = list(catalog.rows) if table is None else of_table(catalog.rows, table)
    members = sorted(name.lower() for name in image)
    exact = [row for row in own if sorted(one.name.lower() for one in row.columns) == members]
    return latest(exact or own, data.record.get("timestamp"))


def latest(rows: Sequence[Version], at: datetime | None) -> Version | None:
    """The latest one told up to a time, or if there is none the earliest."""
    first = datetime.min.replace(tzinfo=timezone.utc)
    ordered = sorted(
        rows,
        key=lambda row: (
            row.written_at or first,
            -1 if row.table_version is None else row.table_version,
        ),
    )
    if at is None:
        return ordered[-1] if ordered else None
    before = [row for row in ordered if (row.written_at or first) <= at]
    return before[-1] if before else ordered[0] if ordered else None


def columns_of_bits(
    version: Version | None, data: Data, image: Mapping[str, Any], options: Options
) -> dict[str, int]:
    """Rule 11: the names that bits stand for, each with its bit. Empty: nothing tells them."""
    if version is not None:
        return {column.name: column.ordinal - 1 for column in version.columns}
    members, own = list(image), list(options.columns)
    listed = own
    if data.fields is not None:
        listed = list(data.fields)
    elif [name for name in members if names.match(name, own)] == [
        names.match(name, members) for name in own
    ]:
        listed = members
    elif not all(names.match(name, own) for name in members):
        return {}
    return {name: place for place, name in enumerate(listed)}


# ------------------------------------------------------------------------------------------- events


@dataclass(frozen=True)
class Read:
    """A change that passes rules 1 to 14: an event that lacks what others decide."""

    data: Data
    event: Row

    @property
    def sequence(self) -> str:
        return self.data.header("changeSequence") or ""


def row_image(data: Data, operation: str) -> Mapping[str, Any]:
    """Rule 8."""
    image = names.member(data.inner, "data")
    if image is None and operation == "DELETE":
        image = names.member(data.inner, "beforeData")
        key = data.record.get("key")
        if image is None and key is not None:
            try:
                image = strict_json.read_object(key if isinstance(key, bytes) else key.encode())
            except NoJson:
                image = None
    if image is None:
        is_there = names.has(data.inner, "data", "beforeData")
        raise Malformed("missing_data" if is_there else "unsupported_layout")
    assert isinstance(image, dict)
    return image


def by_column(image: Mapping[str, Any], options: Options) -> dict[str, tuple[str, Any]]:
    """The members of a row that are columns: name of the member, and value."""
    found = {}
    for name in options.columns:
        there = names.match(name, image)
        if there is not None:
            found[name] = (there, image[there])
    return found


def read(data: Data, catalog: Catalog) -> Read:
    """Rules 7 to 14 for one data message of the table."""
    options = catalog.options
    operation = data.header("operation")
    if operation not in OPERATIONS:
        raise Malformed("unknown_operation")
    try:
        image = row_image(data, operation)
        before = names.member(data.inner, "beforeData")
        members = by_column(image, options)
        old_members = by_column(before or {}, options)
    except names.Ambiguous:
        raise Malformed("bad_message") from None
    sequence = data.header("changeSequence")
    if operation != "REFRESH" and not is_sequence(sequence):
        raise Malformed("bad_change_seq")
    # rules 10 and 11
    changed = None if operation == "DELETE" else bits_of(mask_of(data, "changeMask", options))
    there = bits_of(mask_of(data, "columnMask", options))
    has_mask = changed is not None or there is not None
    version = version_of(data, image, has_mask, catalog)
    bits: dict[str, int] = {}
    if has_mask:
        set_bits = (changed or set()) | (there or set())
        listed = columns_of_bits(version, data, image, options)
        if not set_bits <= set(listed.values()):
            raise Malformed("bad_mask")
        try:
            matched = {name: names.match(name, listed) for name in options.columns}
        except names.Ambiguous:
            raise Malformed("bad_message") from None
        bits = {name: listed[found] for name, found in matched.items() if found is not None}
    # rules 12 to 14
    present = {
        name
        for name, (_, value) in members.items()
        if value is not None or there is None or bits.get(name) in there
    }
    row, old = (
        {name: read_value(options.columns[name], value) for name, (_, value) in one.items()}
        for one in (members, old_members)
    )
    for name in options.columns:
        is_changed = changed is not None and bits.get(name) in changed
        if name not in present and old.get(name) is not None and not is_changed:
            row[name] = old[name]
            present.add(name)
    if any(row.get(name) is None for name in options.key):
        raise Malformed("null_key")
    columns = list(options.columns)
    has_before = operation in ("UPDATE", "DELETE") and before is not None
    event = {
        "cdc_source": "qlik_message",
        "cdc_operation": OPERATIONS[operation],
        "cdc_sequence": sequence,
        "cdc_commit_sequence": sequence,
        "cdc_commit_at": (
            data.record.get("timestamp") if operation == "REFRESH" else commit_at(sequence or "")
        ),
        "cdc_transaction_id": data.header("transactionId") or None,
        "cdc_changed_columns": (
            [name for name in columns if bits.get(name) in changed]
            if operation == "UPDATE" and changed is not None
            else None
        ),
        "cdc_present_columns": (
            None if len(present) == len(columns) else [one for one in columns if one in present]
        ),
        "cdc_before": {name: old.get(name) for name in columns} if has_before else None,
        "cdc_metadata": metadata_of(data, version),
        **{name: row.get(name) for name in columns},
    }
    return Read(data, event)


def mask_of(data: Data, name: str, options: Options) -> str | None:
    """The text of a mask, in big-endian order; what is neither text nor null is no hex either."""
    value = data.headers[name]
    text = text_of(value)
    if text is None and value is not None:
        raise Malformed("bad_mask")
    if text and data.fields is not None and options.avro_mask_byte_order == "little":
        return bytes.fromhex(text)[::-1].hex()
    return text


def metadata_of(data: Data, version: Version | None) -> Row:
    """Section 4: `cdc_metadata`."""
    header = data.headers
    return {
        "stream_position": data.header("streamPosition") or None,
        "timestamp": unless_bad("timestamp", text_of(header["timestamp"])),
        "transaction_event_counter": unless_bad(
            "bigint", text_of(header["transactionEventCounter"])
        ),
        "transaction_last_event": unless_bad("boolean", text_of(header["transactionLastEvent"])),
        "schema_id": data.schema_id,
        "table_version": version and version.table_version,
        "topic": data.record.get("topic"),
        "partition": data.record.get("partition"),
        "offset": data.record.get("offset"),
    }


# ----------------------------------------------------------------------------------------- together


@dataclass
class Decoded:
    """The change events by commit and sequence, and what became of each record by its place."""

    number: int
    events: list[Row] = field(default_factory=list)
    no_ops: list[int] = field(default_factory=list)
    quarantine: list[tuple[int, str]] = field(default_factory=list)

    @property
    def raw_counts(self) -> dict[str, int]:
        return raw_counts(self.number, len(self.quarantine), len(self.no_ops))


def decode(
    records: Sequence[Record],
    metadata: Sequence[Record] | None,
    options: Options,
    avro: AvroReader | None = None,
) -> Decoded:
    """All records of a relation. ``metadata``: the records of that relation, or None. ``avro``:
    what reads Avro messages, if anything does."""
    rows = versions.read_versions(metadata, avro).rows if metadata is not None else []
    catalog = Catalog(options, rows, metadata is not None)
    first: dict[bytes, datetime | None] = {}  # of each value
    for record in records:
        at = record.get("timestamp")
        before = first.setdefault(record["value"], at)
        first[record["value"]] = min(filter(None, (at, before)), default=None)
    decoded = Decoded(len(records))
    deliveries: dict[tuple[Any, ...], list[Data]] = {}
    for place, record in enumerate(records):
        try:
            data = data_message(place, record, catalog, avro, first[record["value"]])
        except Malformed as error:
            decoded.quarantine.append((place, error.args[0]))
            continue
        if data is None:
            decoded.no_ops.append(place)
        else:
            deliveries.setdefault(data.identity, []).append(data)
    changes: list[tuple[Read, list[Data]]] = []
    for repeated in deliveries.values():
        try:
            changes.append((read(min(repeated, key=lambda one: one.delivery), catalog), repeated))
        except Malformed as error:
            decoded.quarantine += [(data.place, error.args[0]) for data in repeated]
    put_in_commits(changes)
    loads = [one for one in changes if one[0].data.is_load]
    kept = without_conflicts([one for one in changes if not one[0].data.is_load], decoded)
    put_behind_anchors(loads, kept)
    kept += without_conflicts(loads, decoded)
    decoded.events = sorted(
        {change.event["cdc_sequence"]: change.event for change, _ in reversed(kept)}.values(),
        key=lambda event: (event["cdc_commit_sequence"], event["cdc_sequence"]),
    )
    decoded.quarantine.sort()
    return decoded


def data_message(
    place: int, record: Record, catalog: Catalog, avro: AvroReader | None, at: datetime | None
) -> Data | None:
    """Rules 1 to 6: a data message of the table; None: a no-op."""
    value = record["value"]
    if value is None:
        return None
    read_avro = avro if versions.is_avro(value) else None
    message = read_avro(value, catalog.rows, at) if read_avro else versions.open_message(value)
    if message.is_metadata:
        versions.read_version(message.record, None)
        return None
    data = read_data(place, record, message)
    return data if route(data, catalog) else None


def put_in_commits(changes: Sequence[tuple[Read, list[Data]]]) -> None:
    """Section 4: `cdc_commit_sequence` of changes."""
    commits: dict[tuple[str, str], str] = {}
    for change, _ in changes:
        transaction = change.event["cdc_transaction_id"]
        if transaction is not None and not change.data.is_load:
            commit = (transaction, change.sequence[:16])
            commits[commit] = min(commits.get(commit, change.sequence), change.sequence)
    for change, _ in changes:
        commit = (change.event["cdc_transaction_id"], change.sequence[:16])
        if not change.data.is_load:
            change.event["cdc_commit_sequence"] = commits.get(commit, change.sequence)


def without_conflicts(
    changes: Sequence[tuple[Read, list[Data]]], decoded: Decoded
) -> list[tuple[Read, list[Data]]]:
    """Rule 15: those whose sequence is one event; the first delivery stands first."""
    by_sequence: dict[str, list[tuple[Read, list[Data]]]] = {}
    for change in sorted(changes, key=lambda one: one[0].data.delivery):
        by_sequence.setdefault(change[0].event["cdc_sequence"], []).append(change)
    kept = []
    for same in by_sequence.values():
        contents = [
            {name: value for name, value in change.event.items() if name != "cdc_metadata"}
            for change, _ in same
        ]
        if all(content == contents[0] for content in contents):
            kept += same
        else:
            decoded.quarantine += [
                (data.place, "sequence_conflict") for _, repeated in same for data in repeated
            ]
    return kept


def where(data: Data) -> tuple[Any, int]:
    """Topic and partition of a record; no partition is 0."""
    return data.record.get("topic"), data.record.get("partition") or 0


def put_behind_anchors(
    loads: Sequence[tuple[Read, list[Data]]], changes: Sequence[tuple[Read, list[Data]]]
) -> None:
    """Section 4: `cdc_sequence` and `cdc_commit_sequence` of loads."""
    highest: dict[tuple[Any, int], list[tuple[int, str]]] = {}
    for change, repeated in changes:
        for data in repeated:
            if (offset := data.record.get("offset")) is not None:
                highest.setdefault(where(data), []).append((offset, change.sequence))
    for delivered in highest.values():
        delivered.sort()
        so_far = accumulate((sequence for _, sequence in delivered), max)
        delivered[:] = list(zip((offset for offset, _ in delivered), so_far, strict=True))
    for load, _ in loads:
        record = load.data.record
        offset, (_, partition) = record.get("offset"), where(load.data)
        there = highest.get(where(load.data), [])
        below = bisect_left(there, (offset, "")) if offset is not None else 0
        anchor = there[below - 1][1] if below else ZEROS
        last = f"{offset:019d}" if offset is not None else hashlib.md5(record["value"]).hexdigest()
        load.event["cdc_commit_sequence"] = f"{anchor}."
        load.event["cdc_sequence"] = f"{anchor}.{partition:010d}.{last}"
    tell_topics_apart([load for load, _ in loads])


def tell_topics_apart(loads: Sequence[Read]) -> None:
    """Records of several topics with one partition and offset are different loads."""
    topics: dict[str, set[str]] = {}
    for load in loads:
        if load.data.record.get("offset") is not None:
            same = topics.setdefault(load.event["cdc_sequence"], set())
            same.add(load.data.record.get("topic") or "")
    for load in loads:
        sequence, topic = load.event["cdc_sequence"], load.data.record.get("topic") or ""
        if topic > min(topics.get(sequence, {topic})):
            load.event["cdc_sequence"] += f".{hashlib.md5(topic.encode()).hexdigest()}"
