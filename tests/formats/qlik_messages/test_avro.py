"""Avro messages: the Python function against the reference, which reads them with fastavro."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import fastavro
import pytest
from fastavro.schema import SchemaParseException
from kit.values import Malformed
from simulation import database
from spark_cdc_udfs.qlik import messages

from formats.qlik_messages import avro, avro_function, reference, writer
from formats.qlik_messages.avro_function import Called, Row, called
from formats.qlik_messages.hostile_avro import mutated
from formats.qlik_messages.strict_json import exact
from formats.qlik_messages.versions import (
    Version,
    is_avro,
    open_message,
    read_versions,
)
from formats.qlik_messages.writer import Log, Style

CASES = (
    (database.ORDERS, "id"),
    (database.ODD_NAMES, "schema"),
    (database.POSITIONS, "frame"),
    (database.ALL_TYPES, "id"),
)
WHOLE = Style(whole=True, again=0.2)
AT = datetime(2024, 3, 1, tzinfo=timezone.utc)
SCHEMA = {
    "type": "record",
    "name": "DataRecord",
    "namespace": "a-b.APP.CUST",
    "fields": [{"name": "data", "type": ["null", {"type": "record", "name": "Data", "fields": [
        {"name": "ID", "type": {"type": "int"}}, {"name": "NAME", "type": ["null", "string"]}
    ]}]}],
}  # fmt: skip
OTHER = json.loads(json.dumps(SCHEMA).replace('"ID"', '"NR"').replace("CUST", "ORD"))


def log_of(table: database.Table, style: Style, seed: int = 0) -> Log:
    workload = database.generate(table, random.Random(seed), 24, without=writer.NOT_SENT)
    return writer.write(workload, random.Random(seed), style)


def version(schema: Any, schema_id: str = "S", **more: Any) -> Version:
    facts: Row = {
        "source_schema": "APP",
        "source_table": "CUST",
        "table_version": 1,
        "written_at": None,
    }
    text = schema if schema is None or isinstance(schema, str) else json.dumps(schema)
    told: Row = facts | {"server": None, "task": None, "columns": (), "data_schema": text} | more
    return Version(schema_id, **told)


def message(identity: int, name: str | None = "Ada", schema: Any = SCHEMA, **more: Any) -> bytes:
    key = "ID" if schema is SCHEMA else "NR"
    inner = avro.written(schema, {"data": {key: identity, "NAME": name}})
    return avro.envelope(inner, **({"schema_id": "S"} | more))


# ------------------------------------------------------------------------------------ the reference


@pytest.mark.parametrize(("table", "how"), CASES, ids=lambda one: getattr(one, "name", one))
def test_a_history_is_the_same_in_json_and_avro(table: database.Table, how: str) -> None:
    in_json, in_avro = log_of(table, WHOLE), log_of(table, replace(WHOLE, avro=how))
    assert in_json.events == in_avro.events and len(in_json.events) > 50
    assert not in_json.quarantine and not in_avro.quarantine


@pytest.mark.parametrize(("table", "how"), CASES, ids=lambda one: getattr(one, "name", one))
def test_the_function_reads_what_fastavro_reads(table: database.Table, how: str) -> None:
    style = replace(WHOLE, avro=how, metadata="same" if how == "id" else "own", names=how == "id")
    log = log_of(table, style, seed=1)
    ours = avro_function.Opened()
    found = reference.decode(log.read, log.metadata, log.options, ours)
    assert found == log.decoded and len(found.events) > 50


def test_messages_in_a_batch_are_read_as_each_alone() -> None:
    logs = [log_of(table, replace(WHOLE, avro=how, metadata="same")) for table, how in CASES[:2]]
    records = [record for log in logs for record in log.read]
    random.Random(0).shuffle(records)
    known = read_versions(records, avro.opened).rows
    values = [record["value"] for record in records]
    together = called(values, known)
    call = Called(known)
    alone = [row for value in values for row in call.eval([value])]
    assert together == [row | {"number": number} for number, row in enumerate(alone)]
    assert {row["message_type"] for row in together} == {"DT", "MD", None}
    assert {row["reason"] for row in together} == {None}


# ---------------------------------------------------------------------------------------- malformed


def test_mutated_messages() -> None:
    """Nothing is read that fastavro refuses, what both read is equal, and no message matters for
    another one. Where fastavro is lenient (lengths below 0, numbers of more than 64 bits, schemas
    that are none), it may read more."""
    rng = random.Random("messages, mutated")
    logs = [log_of(table, replace(WHOLE, avro=how, metadata="same")) for table, how in CASES]
    logs.append(log_of(database.POSITIONS, replace(WHOLE, avro="schema", metadata="same")))
    known = [version for log in logs for version in read_versions(log.read, avro.opened).rows]
    sound = [record["value"] for log in logs for record in log.read if record["value"]]
    values = [mutated(rng.choice(sound), rng) for _ in range(3000)]
    rows = called(values, known)
    assert len(rows) == len(values)
    reasons = Counter(row["reason"] for row in rows)
    assert min(reasons[None], reasons["bad_avro"]) > 100
    assert min(reasons[one] for one in ("bad_message", "bad_metadata", "unknown_schema")) > 10, (
        reasons
    )
    for value, row in zip(values, rows, strict=True):
        try:
            expected = avro.opened(value, known, None) if is_avro(value) else None
        except Malformed as error:
            if row["reason"] is not None:
                assert row["reason"] == error.args[0]
                continue
            # names, and decimals without a precision, that fastavro does not allow
            head = avro.read_all(avro.ENVELOPE, value)
            with pytest.raises((SchemaParseException, KeyError), match=r"must match|precision"):
                parsed = fastavro.parse_schema(json.loads(head["messageSchema"]))
                avro.read_all(parsed, head["message"])
            continue
        if row["reason"] is None:
            assert expected is not None
            found = open_message(row["json"].encode())
            assert exact(found.record) == exact(expected.record)
            assert (found.is_metadata, row["namespace"]) == (
                expected.is_metadata,
                expected.namespace,
            )
    again = called(values[::-1], known)
    assert [row | {"number": 0} for row in again[::-1]] == [row | {"number": 0} for row in rows]


# ------------------------------------------------------------------------------------------ schemas


def test_rows_of_a_message() -> None:
    (row,) = called([message(7)], [version(SCHEMA)])
    assert row == {
        "number": 0,
        "json": '{"magic":"atMSG","type":"DT","headers":null,"messageSchemaId":"S",'
        '"message":{"data":{"ID":7,"NAME":"Ada"}}}',
        "reason": None,
        "detail": None,
        "message_type": "DT",
        "message_id": "S",
        "namespace": "a-b.APP.CUST",
        "field_names": ["ID", "NAME"],
    }


def test_a_frame_is_an_envelope_with_its_number_as_id() -> None:
    frame = avro.frame(avro.written(SCHEMA, {"data": None}), 2**32 - 1)
    (row,) = called([frame], [version(SCHEMA, "4294967295")])
    assert json.loads(row["json"])["messageSchemaId"] == row["message_id"] == "4294967295"
    assert row["message_type"] == "DT" and row["field_names"] == ["ID", "NAME"]


def test_envelope_headers_are_texts() -> None:
    head = {"magic": b"atMSG", "type": "DT", "headers": {'a"': "ü"}, "messageSchema": None}
    inner = avro.written(SCHEMA, {"data": None})
    value = avro.written_with(avro.ENVELOPE, head | {"messageSchemaId": "S", "message": inner})
    (row,) = called([value], [version(SCHEMA)])
    assert json.loads(row["json"])["headers"] == {'a"': "ü"}


def test_reasons() -> None:
    good = message(7)
    cases: dict[bytes | None, tuple[str | None, str | None]] = {
        None: (None, None),
        b"{}": ("bad_message", None),
        b"": ("bad_message", None),
        b"\0\0\0\0\x12": ("bad_message", None),
        b"atMSX" + good[5:]: ("bad_message", None),
        b"atMSG": ("bad_avro", None),
        good + b"\0": ("bad_avro", "DT"),
        good[:-1]: ("bad_avro", "DT"),
        message(7, kind="XY"): ("unknown_message_type", "XY"),
        message(7, schema_id="T"): ("unknown_schema", "DT"),
        message(7, schema_id=None): ("unknown_schema", "DT"),
        message(7, schema_id=""): ("unknown_schema", "DT"),
        message(7, schema_id="no schema"): ("bad_avro", "DT"),
        message(7, schema_id="no text"): ("unknown_schema", "DT"),
        avro.envelope(b"", schema="no schema"): ("bad_avro", "DT"),
        avro.envelope(b"\0\0", schema=json.dumps(SCHEMA)): ("bad_avro", "DT"),
        avro.envelope(b"\0", "MD", "S"): ("bad_metadata", "MD"),
        avro.envelope(b"\0\0", "MD", "S", json.dumps(SCHEMA)): ("bad_metadata", "MD"),
        avro.envelope(b"\0", "MD", "S", "{}"): ("bad_metadata", "MD"),
        avro.envelope(b"\0", "MD", "S", json.dumps(SCHEMA)) + b"\0": ("bad_avro", "MD"),
        b"atMSG\x04D\xff\0\0\0\0": ("bad_avro", None),
        b"atMSG\x04DT\x03": ("bad_avro", "DT"),
        b"\0\0\0\0\x12\0": ("unknown_schema", "DT"),
    }
    known = [version(SCHEMA), version("{}", "no schema"), version(None, "no text")]
    rows = called(cases, known)
    for value, row in zip(cases, rows, strict=True):
        assert (row["reason"], row["message_type"]) == cases[value], value
        assert row["json"] is None
        assert (row["detail"] is None) == (value is None)


def test_errors_name_the_field() -> None:
    bad = message(7, "Ada").replace(b"Ada", b"\xffda")
    assert called([bad], [version(SCHEMA)])[0]["detail"] == "data.NAME: not UTF-8"


def test_the_version_is_chosen_by_time() -> None:
    """Of one id with two schemas: the latest one before the message, else the earliest."""
    known = [
        version(SCHEMA, written_at=AT),
        version(OTHER, table_version=2, written_at=AT + timedelta(hours=1)),
    ]
    times = {-1: "ID", 0: "ID", 59: "ID", 60: "NR", 90: "NR", None: "NR"}
    for order in (known, known[::-1]):
        call = Called(order)
        for minutes, name in times.items():
            at = None if minutes is None else AT + timedelta(minutes=minutes)
            (row,) = call.eval([message(7)], at)
            assert row["field_names"][0] == name


def test_of_one_id_the_version_of_the_table_counts() -> None:
    """The members schema and table name it, else the namespace."""
    named = {name: ["null", "string"] for name in ("schema", "table")}
    with_names = SCHEMA | {
        "fields": [*avro.as_fields(named), *SCHEMA["fields"]],
        "namespace": "of.nothing",
    }
    other = OTHER | {"fields": [*avro.as_fields(named), *OTHER["fields"]], "namespace": "else"}
    known = [version(with_names), version(other, source_table="ORD", table_version=9)]
    for table, name in (("cust", "ID"), ("Ord", "NR"), ("x", "NR")):
        record = {"schema": "app", "table": table, "data": {name: 7, "NAME": None}}
        inner = avro.written(with_names if name == "ID" else other, record)
        (row,) = called([avro.envelope(inner, schema_id="S")], known)
        assert row["field_names"][0] == name, table
    by_namespace = [version(SCHEMA), version(OTHER, source_table="ORD", table_version=9)]
    (row,) = called([message(7)], by_namespace)
    assert row["field_names"][0] == "ID"


def test_batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_cdc_udfs.qlik import messages

    values = [message(number, "x" * number) for number in range(50)]
    expected = called(values, [version(SCHEMA)])
    monkeypatch.setattr(messages, "BYTES_TOGETHER", 200)
    assert called(values, [version(SCHEMA)]) == expected
    monkeypatch.setattr(messages, "TEXT_TOGETHER", 300)
    assert called(values, [version(SCHEMA)]) == expected
    assert called([], [version(SCHEMA)]) == []


def test_schemas_that_do_not_fit_are_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream with ever new schemas does not fill the memory."""
    schemas = messages.Schemas()
    first = schemas.parsed('"long"')
    assert schemas.parsed('"long"') is first
    monkeypatch.setattr(messages, "KEPT_CHARACTERS", 8)
    for text in ('"int"', '"string"'):
        schemas.parsed(text)
    assert schemas.parsed('"long"') is not first
