"""The reference in plain Python: rules that are laws, and what the vectors do not say."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.qlik_messages import message, strict_json, versions
from formats.qlik_messages.message import Members, Pairs, dump
from formats.qlik_messages.reference import Decoded, Options, Row, decode
from formats.qlik_messages.strict_json import NoJson, Number

OPTIONS = Options(["ID"], {"ID": "int", "NAME": "string"})
OF_TABLE = Options(["ID"], {"ID": "int", "NAME": "string"}, "CUST", "APP")


def change(number: int, operation: str = "UPDATE", **more: Any) -> Members:
    """The inner record of a change of row 1."""
    headers = {"changeMask": "02", "columnMask": "03", "transactionId": "A"} | more
    return {
        "data": {"ID": 1, "NAME": "Eva"},
        "beforeData": None,
        "headers": message.headers(operation, f"2022031508150200{number:019d}", **headers),
    }


def record(content: Any, offset: int = 0, **more: Any) -> Row:
    value = content if isinstance(content, bytes) else dump(content).encode()
    return {"value": value, "topic": "t", "partition": 0, "offset": offset, **more}


def reason_of(content: Any, options: Options = OPTIONS, **more: Any) -> str | None:
    """Why a message is refused; None: it is not."""
    decoded = decode([record(content, **more)], None, options)
    return decoded.quarantine[0][1] if decoded.quarantine else None


# --------------------------------------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,}',
        '{"a":01}',
        '{"a":+1}',
        '{"a":.5}',
        '{"a":1.}',
        '{"a":NaN}',
        '{"a":-Infinity}',
        "{'a':1}",
        "{a:1}",
        '{"a":1}{"a":1}',
        '{"a":1} x',
        '\ufeff{"a":1}',
        '{"a":"\x00"}',
        '{"a":"\t"}',
        '{"a":"\\x41"}',
        '{"a":"\\u12"}',
        '{"a":"\\ud800"}',
        '{"\\udc00":1}',
        '{"a":[{"b":1,"b":1}]}',
        '{"a":1,"\\u0061":1}',
        '{"a":1 /* c */}',
        '[{"a":1}]',
        '"a"',
        "",
    ],
)
def test_what_is_no_json_object(text: str) -> None:
    with pytest.raises(NoJson):
        strict_json.read_object(text.encode())


@pytest.mark.parametrize("value", [b'{"a":"\xff"}', b'{"a":"\xc0\x80"}', b'{"a":"\xed\xa0\x80"}'])
def test_what_is_no_utf8(value: bytes) -> None:
    with pytest.raises(NoJson):
        strict_json.read_object(value)


def test_json_keeps_numbers_as_they_are() -> None:
    found = strict_json.read_object(
        b' {"a":-0,"b":1.50E+3,"c":["\\ud83d\\ude00\\u0000",true,null]}\n'
    )
    assert found == {"a": "-0", "b": "1.50E+3", "c": ["\U0001f600\x00", True, None]}
    assert isinstance(found["a"], Number) and isinstance(found["b"], Number)


scalars = st.none() | st.booleans() | st.text(max_size=5) | st.integers().map(str).map(Number)
documents = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        scalars,
        lambda one: (
            st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


@given(document=documents)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_back(document: dict[str, Any]) -> None:
    assert strict_json.read_object(dump(document).encode()) == document


@given(document=documents.filter(bool), data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_member_twice_is_refused(document: dict[str, Any], data: st.DataObject) -> None:
    members = Pairs(document.items())
    members.insert(
        data.draw(st.integers(0, len(members))), data.draw(st.sampled_from(list(members)))
    )
    with pytest.raises(NoJson):
        strict_json.read_object(dump({"x": [members]}).encode())


# -------------------------------------------------------------------------------------- the reasons

GOOD = change(1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "bad_message"),
        (b"\x00\x00\x00\x00\x12", "bad_message"),
        (b"\x00\x00\x00\x00\x12\x00", "avro_unsupported"),
        (b"atMSG", "avro_unsupported"),
        (b" atMSG", "bad_message"),
        ({"message": GOOD}, "bad_message"),
        ({"magic": "atMSG", "type": "DT"}, "bad_message"),
        ({"magic": "atMSG", "message": GOOD}, "unknown_message_type"),
        ({"magic": "atMSX", "type": "XX", "message": GOOD}, "bad_message"),
        (message.envelope([GOOD]), "bad_message"),
        (message.envelope({"schemaId": "S"}, "MD"), "bad_metadata"),
        ({"tableStructure": {}}, "bad_metadata"),
        (GOOD | {"headers": None}, "bad_message"),
        (GOOD | {"headers": "x", "operation": "UPDATE"}, "unsupported_layout"),
        (GOOD | {"data": 1, "headers": {}}, "bad_message"),
        (GOOD | {"Data": None, "DATA": None, "data": None}, "missing_data"),
        ({"headers": change(1, "DELETE")["headers"]}, "unsupported_layout"),
        ({"headers": change(1, "X")["headers"]}, "unknown_operation"),
        (change(1, "update", changeSequence=""), "unknown_operation"),
        (change(1, changeSequence="", changeMask="x") | {"data": None}, "missing_data"),
        (change(1, changeSequence="", changeMask="x"), "bad_change_seq"),
        (change(1, changeMask="x") | {"data": {"ID": "x"}}, "bad_mask"),
        (change(1, changeMask=["x"]), "bad_mask"),
        (change(1, columnMask="4"), "bad_mask"),
        (change(1, "DELETE", changeMask="x"), None),
        (GOOD | {"data": {"NAME": {}}}, "bad_value"),
        (GOOD | {"beforeData": {"ID": "x"}}, "bad_value"),
        (GOOD | {"data": {"ID": None, "NAME": "x"}}, "null_key"),
        (GOOD | {"data": {"NAME": "x"}}, "null_key"),
        (GOOD, None),
    ],
)
def test_the_first_reason_counts(content: Any, reason: str | None) -> None:
    assert reason_of(content) == reason


def test_an_unknown_table_comes_before_what_the_row_says() -> None:
    assert reason_of(change(1, "X"), OF_TABLE) == "unknown_table"
    assert reason_of(change(1, "X") | {"table": "cust"}, OF_TABLE) == "unknown_operation"
    decoded = decode([record(change(1, "X") | {"table": "ORDERS"})], None, OF_TABLE)
    assert decoded.no_ops == [0]


# ------------------------------------------------------------------------------------------ routing


def told(schema: str, table: str, number: int = 1, **more: Any) -> Members:
    content = {
        "schemaId": f"S{number}",
        "lineage": {"schema": schema, "table": table, "tableVersion": number},
        "tableStructure": {"tableColumns": {"ID": {"ordinal": 1}, "NAME": {"ordinal": 2}}},
    }
    return content | more


@pytest.mark.parametrize(
    ("key", "is_known"),
    [
        ("APP.CUST", True),
        ("app/cust", True),
        ("APP CUST", True),
        ("APPxCUST", False),
        ("APP1CUST", False),
        ("APPCUST", False),
        ("x.APP.CUST", False),
        ("APP..CUST", False),
        (b"APP|CUST", True),
        (b"APP\xffCUST", False),
    ],
)
def test_a_kafka_key_names_schema_and_table(key: str | bytes, is_known: bool) -> None:
    reason = reason_of(GOOD, OF_TABLE, key=key)
    assert reason == (None if is_known else "unknown_table")


def test_a_message_whose_id_is_not_told_waits_whatever_else_is_wrong() -> None:
    content = message.envelope(change(1, "X"), schema_id="S9")
    metadata = [record(told("APP", "CUST"))]
    before = decode([record(content)], metadata, OF_TABLE)
    assert before.quarantine == [(0, "unknown_schema")]
    after = decode([record(content)], [*metadata, record(told("APP", "CUST", 9))], OF_TABLE)
    assert after.quarantine == [(0, "unknown_operation")]


# ----------------------------------------------------------------------------------------- together


def topic(rng: random.Random, number: int = 14) -> list[Row]:
    """Records of few sequences, in two partitions: repeated, in conflict, loads, bad ones."""
    records: list[Row] = []
    for offset in range(number):
        operation = rng.choice(("INSERT", "UPDATE", "UPDATE", "DELETE", "REFRESH"))
        content = change(rng.randrange(6), operation, transactionId=rng.choice(("A", "B", "")))
        content["data"]["NAME"] = rng.choice(("Eva", "Ada", None))
        if operation == "REFRESH":
            content["headers"] = message.headers("REFRESH")
        value = dump(content).encode()
        if rng.random() < 0.1:
            value = rng.choice((b"x", b"{}", dump(change(1, "X")).encode(), b'{"headers":{}}'))
        if records and rng.random() < 0.3:
            value = rng.choice(records)["value"]
        records.append({**record(value, offset), "partition": rng.randrange(2)})
    return records


def without_places(decoded: Decoded) -> tuple[list[Row], list[str]]:
    return decoded.events, sorted(reason for _, reason in decoded.quarantine)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_order_of_records_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    records = topic(rng)
    shuffled = rng.sample(records, len(records))
    assert without_places(decode(records, None, OPTIONS)) == (
        without_places(decode(shuffled, None, OPTIONS))
    )


@given(seed=st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_the_same_records_again_change_nothing(seed: int) -> None:
    """Nor do changes that are sent again behind all others."""
    rng = random.Random(seed)
    records = topic(rng)
    once = decode(records, None, OPTIONS)
    again = [dict(one) for one in rng.sample(records, 5)]
    sent_again = [
        {**one, "offset": 100 + place}
        for place, one in enumerate(records)
        if b"REFRESH" not in one["value"]
    ]
    twice = decode(records + again + sent_again, None, OPTIONS)
    assert twice.events == once.events
    assert {reason for _, reason in twice.quarantine} == {reason for _, reason in once.quarantine}
    counts = dict(twice.raw_counts)
    assert counts.pop("raw_rows") == sum(counts.values())


@given(seed=st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_loads_lie_between_the_changes_around_them(seed: int) -> None:
    records = topic(random.Random(seed))
    decoded = decode(records, None, OPTIONS)
    places = {event["cdc_sequence"]: event for event in decoded.events}
    assert len(places) == len(decoded.events)
    for load in decoded.events:
        where = load["cdc_metadata"]
        before = [
            other["value"]
            for other in records
            if other["partition"] == where["partition"] and other["offset"] < where["offset"]
        ]
        for value in before if load["cdc_operation"] == "load" else ():
            headers = json.loads(value).get("headers", {}) if value[:1] == b"{" else {}
            event = places.get(headers.get("changeSequence"))
            if event is not None and headers["operation"] != "X":
                assert event["cdc_sequence"] < load["cdc_sequence"]
                assert event["cdc_commit_sequence"] < load["cdc_commit_sequence"]


# ----------------------------------------------------------------------------------------- versions


@pytest.mark.parametrize(
    ("change_of", "reason"),
    [
        ({"schemaId": {}}, "bad_metadata"),
        ({"schemaId": Number("18")}, None),
        ({"lineage": None}, None),
        ({"lineage": []}, "bad_metadata"),
        ({"lineage": {"tableVersion": ""}}, "bad_metadata"),
        ({"lineage": {"tableVersion": "1.0"}}, None),
        ({"lineage": {"timestamp": {}}}, None),
        ({"lineage": {"table": ["CUST"]}}, "bad_metadata"),
        ({"tableStructure": None}, "bad_metadata"),
        ({"tableStructure": None, "dataSchema": {"type": "record"}}, "bad_metadata"),
        ({"dataSchema": "no schema"}, None),
        ({"tableStructure": {"tableColumns": {"ID": {"ordinal": True}}}}, "bad_metadata"),
        ({"tableStructure": {"tableColumns": {"ID": {"ordinal": 2**31}}}}, "bad_metadata"),
        ({"SchemaId": "x", "schemaID": "y"}, None),
        ({"Lineage": {}, "LINEAGE": {}, "lineage": {}}, None),
    ],
)
def test_what_a_metadata_message_must_have(change_of: Members, reason: str | None) -> None:
    found = versions.read_versions([record(told("APP", "CUST", **change_of))])
    assert [one for _, one in found.quarantine] == ([] if reason is None else [reason])
    assert len(found.rows) == (reason is None)


def test_columns_of_a_data_schema_that_names_its_record() -> None:
    """The record of the row is told where it stands first, which may be beforeData."""
    row = {"type": "record", "name": "a-b.Data", "fields": [{"name": "ID", "type": "int"}]}
    schema = {
        "type": "record",
        "name": "DataRecord",
        "fields": [
            {"name": "beforeData", "type": ["null", row]},
            {"name": "Data", "type": "a-b.Data"},
        ],
    }
    content = {"schemaId": "18", "dataSchema": json.dumps(schema)}
    found = versions.read_versions([record(content)])
    assert [[column.name for column in one.columns] for one in found.rows] == [["ID"]]


def test_frames_are_no_metadata_and_avro_may_be() -> None:
    values = [b"\x00\x00\x00\x00\x12\x00", b"atMSG\x04MD", b"\x00", None, dump(GOOD).encode()]
    found = versions.read_versions([{"value": value} for value in values])
    assert found.no_ops == [0, 3, 4]
    assert found.quarantine == [(1, "avro_unsupported"), (2, "bad_message")]
