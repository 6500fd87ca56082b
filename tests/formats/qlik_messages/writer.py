"""Writes a workload as Kafka records of a Qlik Replicate task.

:func:`write` gives the records of a topic, those of the metadata topic, and what a decoder must
make of one table. What the task writes, and what happens on the way, is in :class:`Style`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from itertools import chain
from typing import Any

from kit.formats import Written
from kit.values import BadValue
from simulation.database import EPOCH, RowChange, Table, Transaction, Values, Workload
from simulation.oracle import Position

from formats.qlik_messages import avro, message, reference, versions
from formats.qlik_messages.hostile_avro import hostile
from formats.qlik_messages.message import Members, dump, json_value
from formats.qlik_messages.reference import Options, Row
from formats.qlik_messages.versions import TYPES

# Kafka has no message for a truncate.
NOT_SENT = ("truncate", "reload")

# Texts of these types are hardly ever bad; the last one is that of a column that nobody declares.
FREE = ("string", "binary", None)

SCHEMA = "ERP"
DROPPED = "not declared"
BEGIN = datetime(2024, 3, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Style:
    """What a task writes, and what happens on the way.

    ``ids``: where messages name their schema: ``message``, ``external`` or None. ``metadata``: a
    relation of its own (``own``), the messages (``same``), or None. ``ddl``: the table changes
    three times. ``names``: messages have the members schema and table. ``topic``: of all messages.
    ``has_table``: the decoder is given the table. ``bare``: the share of messages without an
    envelope. ``masks``: the share of changes with masks. ``absent``: the share of updates that lack
    columns that did not change, and of loaded rows that lack columns. ``lobs``: columns that have
    no bit. ``load_first``: up to this share of the workload all is a load of all rows, which
    overlaps with the changes behind it. ``reload``: a load of some rows lies between changes.
    ``again``: the share of changes that are sent again. ``twice``: the share of records that landed
    twice.
    ``columns``: what the relation has. ``bad``: how many malformed records of each kind of
    :data:`BAD`. ``whole``: each image has all columns, as in Avro. ``avro``: messages are Avro with
    the id of their schema (``id``), with the schema itself (``schema``), or behind the frame of a
    registry (``frame``). ``in_avro``: the share of them, among those that are whole; others are
    JSON. ``hostile``: how many Avro messages have one change of their bytes.
    """

    ids: str | None = "message"
    metadata: str | None = "own"
    ddl: bool = True
    names: bool = False
    topic: str = "changes"
    has_table: bool = True
    bare: float = 0.0
    masks: float = 0.8
    absent: float = 0.4
    lobs: Sequence[str] = ()
    load_first: float = 0.0
    reload: bool = True
    partitions: int = 2
    again: float = 0.1
    twice: float = 0.05
    shuffle: bool = True
    columns: Sequence[str] = tuple(TYPES)
    value: str = "binary"
    bad: Mapping[str, int] = field(default_factory=dict)
    whole: bool = False
    avro: str | None = None
    in_avro: float = 1.0
    hostile: int = 0

    @property
    def is_faithful(self) -> bool:
        """Whether the records tell all that the database knows."""
        is_disturbed = self.lobs or self.load_first or self.hostile
        return not is_disturbed and {"offset", "topic"} <= set(self.columns)

    @property
    def reads_avro(self) -> bool:
        """Whether the decoder can read Avro messages."""
        return self.value == "binary"

    def is_in_avro(self, rng: random.Random) -> bool:
        """Whether the next message is in Avro."""
        return self.avro is not None and (self.in_avro == 1 or rng.random() < self.in_avro)

    @property
    def types(self) -> dict[str, str]:
        return {name: TYPES[name] for name in self.columns} | {"value": self.value}


@dataclass(frozen=True)
class Sent:
    """A message on its way into a topic."""

    value: bytes | None
    partition: int
    key: str | None = None
    topic: str | None = None
    is_change: bool = False


@dataclass(frozen=True)
class Log(Written):
    """The landed rows, and what must become of them.

    ``read``, ``metadata``: the records as the reference reads them, in the order of ``rows``.
    ``workload``, ``positions``: of a log that is faithful.
    """

    style: Style
    rows: list[Row]
    metadata_rows: list[Row]
    read: list[Row]
    metadata: list[Row] | None
    options: Options
    decoded: reference.Decoded
    workload: Workload | None
    positions: Mapping[int, Position]

    @property
    def arguments(self) -> str:
        """The decoder's arguments after the relation, as Jinja."""
        one = self.options
        given = {"key": repr(list(one.key)), "columns": repr(dict(one.columns))}
        if one.table is not None:
            given |= {"table": repr(one.table), "schema": repr(one.schema)}
        if self.style.metadata is not None:
            given["metadata"] = "{metadata}" if self.style.metadata == "own" else "{raw}"
        return ", ".join(f"{name}={value}" for name, value in given.items())


# ------------------------------------------------------------------------------------- the database


@dataclass(frozen=True)
class Structure:
    """A version of the table: its columns by ordinal, from a transaction on."""

    first: int
    number: int
    columns: Sequence[str]
    schema_id: str


def structures_of(table: Table, transactions: int, ddl: bool) -> tuple[list[Structure], str | None]:
    """The versions of a table, and the column that the second one adds.

    The third drops a column that nobody declares, the fourth moves columns: their names are equal.
    """
    names = list(table.columns)
    if not ddl:
        return [Structure(0, 1, names, f"{table.name} 1")], None
    added = table.attributes[0]
    older = [name for name in names if name != added]
    columns = [[DROPPED, *older], [DROPPED, *older, added], [*older, added], [added, *older[::-1]]]
    return [
        Structure(transactions * place // 4, place + 1, one, f"{table.name} {place + 1}")
        for place, one in enumerate(columns)
    ], added


def with_added_column(workload: Workload, name: str, first: int) -> Workload:
    """The workload as it is if the column is added before a transaction: it is null in each row
    until the row changes."""
    known: dict[int, Any] = {}
    transactions: list[Transaction] = []
    states: list[Mapping[int, Values]] = []
    for transaction in workload.transactions:
        changes: list[RowChange] = []
        for change in transaction.changes:
            assert change.row_id is not None, "a truncate is not sent"
            before = change.before and change.before | {name: known.get(change.row_id)}
            known[change.row_id] = (
                change.after[name] if change.after and transaction.position >= first else None
            )
            after = change.after and change.after | {name: known[change.row_id]}
            changes.append(replace(change, before=before, after=after))
        transactions.append(replace(transaction, changes=tuple(changes)))
        rows = workload.rows_at(transaction.position)
        states.append({row_id: row | {name: known[row_id]} for row_id, row in rows.items()})
    return Workload(workload.table, tuple(transactions), tuple(states))


# ------------------------------------------------------------------------------------- the messages


class _Writer:
    """The messages of a table in the order in which its task sends them."""

    def __init__(self, workload: Workload, rng: random.Random, style: Style) -> None:
        self.rng, self.style, self.table = rng, style, workload.table
        number = len(workload.transactions)
        self.structures, added = structures_of(self.table, number, style.ddl)
        if added is not None:
            workload = with_added_column(workload, added, self.structures[1].first)
        self.workload = workload
        self.structure = self.structures[0]
        self.sent: list[Sent] = []
        self.steps: list[tuple[int, int]] = []  # for each transaction its messages
        self.told: list[tuple[int, Members]] = []  # metadata, by the message that they stand before
        self.positions: dict[int, Position] = {}
        self.changes: list[tuple[Members, Structure, Sent]] = []
        self.sequences: set[str] = set()
        self.number = rng.choice((1, 10**6, 2**63 - 10**6))
        self.last = EPOCH

    def run(self) -> None:
        transactions = self.workload.transactions
        first = int(self.style.load_first * len(transactions))
        reload = len(transactions) * 5 // 8 if self.style.reload else None
        ids: set[tuple[str, datetime]] = set()
        for transaction in transactions:
            self.describe(transaction.position)
            if transaction.position == first > 0:
                for row_id, row in self.workload.rows_at(first + 1).items():
                    self.load(row_id, row)
            elif transaction.position == reload:
                for row_id, row in self.workload.rows_at(reload - 1).items():
                    if self.rng.random() < 0.8:
                        self.load(row_id, row)
            if transaction.position >= first:
                self.transaction(transaction, ids)

    def describe(self, position: int) -> None:
        """The metadata message of a version that begins here."""
        for structure in self.structures:
            if structure.first == position:
                self.structure = structure
                is_frame = self.style.avro == "frame"
                told = message.metadata(
                    str(avro.frame_id(structure.schema_id)) if is_frame else structure.schema_id,
                    (SCHEMA, self.table.name),
                    structure.number,
                    structure.columns,
                    self.table.columns,
                    self.table.key,
                    BEGIN,
                    json.dumps(self.schema(structure)),
                )
                self.told.append((len(self.sent), told))

    def schema(self, structure: Structure) -> avro.Schema:
        """The Avro schema of data messages."""
        more = [
            *(("schema", "table") if self.style.names else ()),
            *(("externalSchemaId",) if self.style.ids == "external" else ()),
        ]
        named = (SCHEMA, self.table.name)
        return avro.data_schema(structure.columns, self.table.columns, named, more)

    # images

    def image(self, values: Values) -> Members:
        """A row with the columns of the version, in its order."""
        return {
            name: self.rng.choice(("x", None))
            if name == DROPPED
            else json_value(values[name], self.rng)
            for name in self.structure.columns
        }

    def bits(self, names: Sequence[str]) -> list[int]:
        """The bits of columns; large objects have none."""
        return [
            place
            for place, name in enumerate(self.structure.columns)
            if name in names and name not in self.style.lobs
        ]

    def mask(self, names: Sequence[str]) -> str:
        return message.mask(self.bits(names), len(self.structure.columns), self.rng)

    # messages

    def content(self, image: Members | None, before: Members | None, headers: Members) -> Members:
        """An inner record."""
        if self.style.ids == "external":
            headers["externalSchemaId"] = self.structure.schema_id
        content: Members = {"data": image, "beforeData": before, "headers": headers}
        if self.style.names:
            content |= {"schema": SCHEMA.lower(), "table": self.table.name}
        return content

    def value(self, content: Members, structure: Structure) -> bytes:
        """A whole message; what cannot be written in Avro is JSON."""
        is_bare = self.rng.random() < self.style.bare
        if self.style.is_in_avro(self.rng):
            images = [content.get(name) for name in ("data", "beforeData")]
            if all(one is None or set(one) == set(structure.columns) for one in images):
                with suppress(BadValue, KeyError, TypeError, ValueError):
                    return self.avro_value(content, structure)
            assert self.style.in_avro < 1, content
        if is_bare:
            return dump(content).encode()
        schema_id = structure.schema_id if self.style.ids == "message" else None
        return dump(message.envelope(content, schema_id=schema_id)).encode()

    def avro_record(self, content: Members, structure: Structure) -> bytes:
        record = avro.record_of(content, self.table.columns, structure.columns)
        return avro.written(self.schema(structure), record)

    def avro_value(self, content: Members, structure: Structure) -> bytes:
        """A whole message in Avro."""
        inner = self.avro_record(content, structure)
        if self.style.avro == "frame":
            return avro.frame(inner, avro.frame_id(structure.schema_id))
        if self.style.avro == "id":
            return avro.envelope(inner, schema_id=structure.schema_id)
        return avro.envelope(inner, schema=json.dumps(self.schema(structure)))

    def send(self, row_id: int, content: Members, key: str | None, is_change: bool) -> Sent:
        value, partition = self.value(content, self.structure), row_id % self.style.partitions
        self.sent.append(Sent(value, partition, key, is_change=is_change))
        return self.sent[-1]

    def load(self, row_id: int, row: Values) -> None:
        """A loaded row. A NULL in its key is quarantine: there is no `null_keys` in this format."""
        headers = message.headers("REFRESH")
        image: Members | None = self.image(row)
        if self.rng.random() < self.style.absent:
            absent = self.rng.sample(self.table.attributes, len(self.table.attributes) // 2 + 1)
            has_mask = self.style.whole or self.rng.random() < 0.3
            if has_mask:
                names = [name for name in self.structure.columns if name not in absent]
                headers["columnMask"] = self.mask(names)
            image = lacking(image, absent, not has_mask)
        self.send(row_id, self.content(image, None, headers), self.key(row), False)

    def key(self, values: Values) -> str:
        """The Kafka key: the primary key."""
        key = {name: json_value(values[name], random.Random(1)) for name in self.table.key}
        return dump(key)

    def sequence(self, at: datetime) -> str:
        self.number += self.rng.choice((2, 3, 7, 1000))  # gaps; 1 stays free for bad records
        sequence = f"{at:%Y%m%d%H%M%S}{at.microsecond // 10_000:02d}{self.number:019d}"
        self.sequences.add(sequence)
        return sequence

    def transaction(self, transaction: Transaction, ids: set[tuple[str, datetime]]) -> None:
        at = transaction.committed_at
        self.last = max(self.last, at.replace(microsecond=at.microsecond // 10_000 * 10_000))
        while (transaction.id, self.last) in ids:  # or they could not be told apart
            self.last += timedelta(milliseconds=10)
        ids.add((transaction.id, self.last))
        is_anonymous = len(transaction.changes) == 1 and self.rng.random() < 0.2
        transaction_id = self.rng.choice(("", None)) if is_anonymous else transaction.id
        commit = None
        for counter, change in enumerate(transaction.changes, start=1):
            sequence = self.sequence(self.last)
            commit = commit or sequence
            self.positions[change.number] = Position(sequence, commit, self.last)
            more = {
                "transactionId": transaction_id,
                "transactionEventCounter": counter,
                "transactionLastEvent": counter == len(transaction.changes),
            }
            self.change(change, sequence, more)

    def change(self, change: RowChange, sequence: str, more: Members) -> None:
        """One change, with masks or without."""
        assert change.row_id is not None
        rng, names = self.rng, list(self.structure.columns)
        headers = message.headers(change.operation.upper(), sequence, **more)
        has_masks = rng.random() < self.style.masks
        changed = names
        before = self.image(change.before) if change.before else None
        image: Members | None = self.image(change.values)
        key = self.key(change.values)
        if change.operation == "update":
            old, new = change.before or {}, change.values
            changed = [name for name in self.table.columns if old[name] != new[name]]
            is_move = self.table.key_of(old) != self.table.key_of(new)
            if not is_move and rng.random() < 0.2:
                before = None
            can_lack = has_masks or not self.style.whole
            if not is_move and can_lack and rng.random() < self.style.absent:
                absent = [
                    name
                    for name in self.table.attributes
                    if name not in changed and name in names and rng.random() < 0.7
                ]
                names = [name for name in names if name not in absent]
                is_left_out = not has_masks or (rng.random() < 0.5 and not self.style.whole)
                is_whole = self.style.whole
                image, before = (
                    lacking(image, absent, is_left_out),
                    lacking(before, absent, not is_whole),
                )
        if change.operation == "delete":
            changed = list(self.table.key)
            image, before = self.deleted(image, "key" in self.style.columns)
        if has_masks:
            headers |= {"changeMask": self.mask(changed), "columnMask": self.mask(names)}
        content = self.content(image, before, headers)
        sent = self.send(change.row_id, content, key, True)
        self.changes.append((content, self.structure, sent))
        if change.operation == "delete" and rng.random() < 0.3:
            self.sent.append(Sent(None, change.row_id % self.style.partitions, key))

    def deleted(
        self, image: Members | None, has_key: bool
    ) -> tuple[Members | None, Members | None]:
        """Where the row of a delete stands: in data, whole or its key; before; in the Kafka key."""
        assert image is not None
        key = {name: value for name, value in image.items() if name in self.table.key}
        nulls = {name: key.get(name) for name in image}
        places = [(image, None), (nulls, None), (None, image)]
        if not self.style.whole:
            places += [(key, None), (None, key)]
        return self.rng.choice([*places, (None, None)] if has_key else places)


def lacking(image: Members | None, absent: Sequence[str], is_left_out: bool) -> Members | None:
    """An image without the values of columns, or without the members."""
    if image is None:
        return None
    if is_left_out:
        return {name: value for name, value in image.items() if name not in absent}
    return {name: None if name in absent else value for name, value in image.items()}


# -------------------------------------------------------------------------------- malformed records


def _without(content: Members, name: str) -> Members:
    return {member: value for member, value in content.items() if member != name}


def _in_headers(content: Members, **more: Any) -> Members:
    return content | {"headers": content["headers"] | more}


def _in_data(content: Members, **more: Any) -> Members:
    return content | {"data": content["data"] | more}


def _bad_messages(text: str, content: Members, is_text: bool) -> list[bytes]:
    found = [
        "hello",
        "",
        text[:-3],
        text + "x",
        text.replace('"type":"DT"', '"type":"DT","type":"DT"'),
        text.replace('"magic":"atMSG"', '"magic":"atMSX"'),
        text.replace('"headers":{', '"headers":[{'),
        text.replace('"UPDATE"', "UPDATE"),
        dump(message.envelope("?")),
        dump(message.envelope(content | {"data": [1]})),
        dump(_without(content, "headers")),
        f"[{text}]",
        text.replace('"data":', '"Data":null,"DATA":'),
    ]
    broken = [] if is_text else [text.encode().replace(b'"UPDATE"', b'"UPD\xc3\x28TE"')]
    return [one.encode() for one in found] + broken


class _Bad:
    """Malformed records, each made of the message of a real update with a sequence of its own."""

    def __init__(self, writer: _Writer) -> None:
        self.writer, self.rng, self.style = writer, writer.rng, writer.style
        self.updates = [
            (content, structure, sent)
            for content, structure, sent in writer.changes
            if content["headers"]["operation"] == "UPDATE"
            and content["headers"]["columnMask"]
            and set(content["data"]) == set(structure.columns)
        ]

    def update(self) -> tuple[Members, Structure, Sent]:
        """An update with all its columns and a sequence that no other has; what it was made of."""
        content, structure, sent = self.rng.choice(self.updates)
        sequence = str(int(content["headers"]["changeSequence"]) + 1)
        while sequence in self.writer.sequences:
            sequence = str(int(sequence) + 1)
        self.writer.sequences.add(sequence)
        transaction = f"{self.rng.getrandbits(128):032X}"
        more = {"changeSequence": sequence, "transactionId": transaction}
        return _in_headers(content, **more), structure, sent

    def insert(self, kind: str, topic: list[Sent | Members]) -> None:
        """Put the records of a kind behind the update that they were made of."""
        content, structure, sent = self.update()
        place = topic.index(sent) + 1
        topic[place:place] = self.make(kind, content, structure)

    def make(self, kind: str, content: Members, structure: Structure) -> list[Sent]:
        make: Callable[[Members], Sequence[Members]] | None = getattr(self, f"_{kind}", None)
        if make is not None:
            contents = make(content)
            if kind != "sequence_conflict":
                contents = [self.rng.choice(contents)]
            return [Sent(self.writer.value(each, structure), 0) for each in contents]
        if kind == "unknown_table":
            content = _without(_without(content, "table"), "schema")
            value = dump(message.envelope(_in_headers(content, externalSchemaId=None))).encode()
            return [Sent(value, 0, topic="elsewhere")]
        text = dump(message.envelope(content))
        record = self.writer.avro_record(content, structure)
        sound = avro.envelope(record, schema=json.dumps(self.writer.schema(structure)))
        values: dict[str, list[bytes]] = {
            "bad_message": _bad_messages(text, content, self.style.value == "string"),
            "unknown_message_type": [
                text.replace('"type":"DT"', '"type":"XX"').encode(),
                text.replace('"type":"DT",', "").encode(),
            ],
            "bad_metadata": [
                dump(one).encode()
                for one in (
                    message.envelope("?", "MD"),
                    message.envelope({"schemaId": "x"}, "MD"),
                    {"schemaId": "x", "tableStructure": {"tableColumns": {}}},
                    {"schemaId": "x", "tableStructure": {"tableColumns": {"a": {"ordinal": 0}}}},
                    {"schemaId": "", "tableStructure": {"tableColumns": {"a": {"ordinal": 1}}}},
                )
            ],
            "unknown_schema": [dump(message.envelope(content, schema_id="not told")).encode()],
            "bad_avro": [
                b"atMSG\x04MD\x00\x00\x00",
                sound[:-1],
                sound + b"\x00",
                avro.envelope(record, schema="{}"),
                avro.envelope(record + b"\x00", schema=json.dumps(self.writer.schema(structure))),
            ],
            "avro_unsupported": [b"atMSG\x04MD\x00\x00\x00", b"\x00\x00\x00\x00\x12{}"],
        }
        in_avro = {
            "unknown_message_type": [avro.envelope(record, "XX"), avro.envelope(record, "")],
            "bad_metadata": [avro.envelope(record, "MD"), avro.envelope(b"\x00", "MD", "x", "{}")],
            "unknown_schema": [
                b"\x00\x00\x00\x00\x12{}",
                avro.envelope(record),
                avro.envelope(record, schema_id="not told"),
            ],
        }
        more = in_avro.get(kind, []) if self.style.reads_avro else []
        return [Sent(self.rng.choice(values[kind] + more), 0)]

    def insert_hostile(self, topic: list[Sent | Members]) -> None:
        """The Avro message of an update with one change of its bytes."""
        content, structure, sent = self.update()
        told = [dump(message.envelope(one, "MD")).encode() for _, one in self.writer.told]
        known = versions.read_versions([{"value": value} for value in told]).rows
        sound = self.writer.avro_value(content, structure)
        topic.insert(topic.index(sent) + 1, Sent(hostile(sound, known, self.rng), 0))

    def _unsupported_layout(self, content: Members) -> Sequence[Members]:
        flat = _without(_without(content, "data"), "beforeData")
        return [
            {"op": "F", "data": [1], "table": self.writer.table.name},
            _without(content, "headers") | content["headers"],
            flat | {"after": content["data"]},
        ]

    def _unknown_operation(self, content: Members) -> Sequence[Members]:
        return [_in_headers(content, operation=one) for one in ("UPSERT", "update", "", None, True)]

    def _missing_data(self, content: Members) -> Sequence[Members]:
        return [
            content | {"data": None},
            _in_headers(content | {"data": None, "beforeData": None}, operation="DELETE"),
        ]

    def _bad_change_seq(self, content: Members) -> Sequence[Members]:
        good = content["headers"]["changeSequence"]
        wrong = ("", None, good[:-1], f"{good}0", f"2023022923{good[10:]}", f"{good[:-1]}x")
        return [_in_headers(content, changeSequence=one) for one in wrong]

    def _bad_mask(self, content: Members) -> Sequence[Members]:
        width = max(len(one.columns) for one in self.writer.structures)
        beyond = f"{1 << width:X}"
        wrong: Sequence[str] = ("0G", "1 1", "-1", beyond, "F" * 40)
        return [_in_headers(content, changeMask=one) for one in wrong] + [
            _in_headers(content, columnMask=one) for one in wrong
        ]

    def _bad_value(self, content: Members) -> Sequence[Members]:
        types = self.writer.table.columns
        name = self.rng.choice([one for one in content["data"] if types.get(one) not in FREE])
        wrong: Sequence[Any] = ("12x", {}, [1], "1,5", "", "1.2.3")
        return [_in_data(content, **{name: one}) for one in wrong]

    def _null_key(self, content: Members) -> Sequence[Members]:
        name = self.rng.choice(self.writer.table.key)
        image = _without(content["data"], name)
        content = content | {"beforeData": None}
        loaded = _in_headers(content, **message.headers("REFRESH"))
        return [
            changed | {"data": data}
            for changed in (content, loaded)
            for data in (content["data"] | {name: None}, image)
        ]

    def _sequence_conflict(self, content: Members) -> Sequence[Members]:
        """Two rows, of which each by itself is a change."""
        other = _in_headers(content, operation="INSERT", streamPosition="another")
        return [content, other]


BAD = (
    *("bad_message", "unsupported_layout", "unknown_message_type", "bad_metadata"),
    *("unknown_schema", "unknown_table", "unknown_operation", "missing_data", "bad_change_seq"),
    *("bad_mask", "bad_value", "null_key", "sequence_conflict", "bad_avro", "avro_unsupported"),
)


def possible_bad(style: Style) -> list[str]:
    """The kinds that there can be: a schema, or a table, is unknown only where one is asked for.
    Avro is bad only where it is read."""
    without = {"unknown_schema"} if style.metadata is None else set()
    if not style.has_table:
        without.add("unknown_table")
    without.add("avro_unsupported" if style.reads_avro else "bad_avro")
    return [kind for kind in BAD if kind not in without]


# ---------------------------------------------------------------------------------------- all of it


def write(
    workload: Workload, rng: random.Random, style: Style, others: Sequence[Workload] = ()
) -> Log:
    """The records of a workload without the statements of :data:`NOT_SENT`.

    ``others``: workloads of other tables, whose messages go into the same topic.
    """
    writers = [_Writer(one, rng, style) for one in (workload, *others)]
    for each in writers:
        each.run()
    writer, table = writers[0], workload.table
    topic = woven(writers, rng)
    bad = _Bad(writer)
    for kind in chain.from_iterable([kind] * count for kind, count in style.bad.items()):
        bad.insert(kind, topic)
    for _ in range(style.hostile):
        bad.insert_hostile(topic)
    for sent in [one for one in topic if isinstance(one, Sent) and one.is_change]:
        if rng.random() < style.again:
            topic.insert(rng.randrange(topic.index(sent) + 1, len(topic) + 1), sent)
    read, metadata = landed(topic, rng, style)
    twice = [row for row in read if rng.random() < style.twice]
    read += [dict(row) for row in twice]
    if style.shuffle:
        rng.shuffle(read)
        rng.shuffle(metadata)
    named = (table.name, SCHEMA) if style.has_table else (None, None)
    options = Options(table.key, dict(table.columns), *named)
    told = {"own": metadata, "same": read, None: None}[style.metadata]
    return Log(
        style,
        rows_of(read, style),
        rows_of(metadata, Style()),
        read,
        told,
        options,
        reference.decode(read, told, options, avro.opened if style.reads_avro else None),
        writer.workload if style.is_faithful else None,
        writer.positions if style.is_faithful else {},
    )


def woven(writers: Sequence[_Writer], rng: random.Random) -> list[Sent | Members]:
    """The messages and metadata of all tables, those of each in its order."""
    queues: list[list[Sent | Members]] = []
    for writer in writers:
        queue: list[Sent | Members] = []
        told = list(writer.told)
        for place, one in enumerate(writer.sent):
            while told and told[0][0] == place:
                queue.append(told.pop(0)[1])
            queue.append(one)
        queues.append([*queue, *(one for _, one in told)])
    turns = [number for number, queue in enumerate(queues) for _ in queue]
    rng.shuffle(turns)
    remaining = [iter(queue) for queue in queues]
    return [next(remaining[number]) for number in turns]


def landed(
    topic: Sequence[Sent | Members], rng: random.Random, style: Style
) -> tuple[list[Row], list[Row]]:
    """The records with the columns of the relation: of the topic, and of the metadata topic."""
    offsets: dict[tuple[str, int], int] = {}
    records: list[Row] = []
    metadata: list[Row] = []
    at = BEGIN
    for one in topic:
        at += timedelta(milliseconds=rng.choice((0, 1, 10, 60_000)))
        is_told = not isinstance(one, Sent)
        if not isinstance(one, Sent):
            at += timedelta(milliseconds=1)  # later than what was written by the version before
            told = message.envelope(one, "MD", one["schemaId"])
            where = "metadata" if style.metadata == "own" else None
            in_avro = style.is_in_avro(rng)
            value = avro.metadata_envelope(one) if in_avro else dump(told).encode()
            one = Sent(value, 0, topic=where)
            if style.metadata is None:
                continue
        place = (one.topic or style.topic, one.partition)
        offsets[place] = offsets.get(place, -1) + rng.choice((1, 1, 1, 4))
        record = {
            "key": one.key,
            "value": one.value,
            "topic": place[0],
            "partition": place[1],
            "offset": offsets[place],
            "timestamp": at,
        }
        if is_told and style.metadata == "own":
            metadata.append(record)
        else:
            records.append({name: record[name] for name in style.columns})
    return records, metadata


def rows_of(records: Sequence[Row], style: Style) -> list[Row]:
    """The records as they lie in the relation."""
    if style.value == "binary":
        return [dict(record) for record in records]
    return [
        record | {"value": None if record["value"] is None else record["value"].decode()}
        for record in records
    ]
