"""The Python function for messages: the table of a message, its limits, and both of its forms."""

from __future__ import annotations

import json
import time
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # it ships no types
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pytest
from spark_cdc_udfs.qlik.functions import ARGUMENTS, message_frames, spark_cdc_qlik_message
from spark_cdc_udfs.qlik.parsing import Parsed, Record, parse
from spark_cdc_udfs.qlik.versions import Known, version_of

from formats.qlik_messages import avro
from formats.qlik_messages.message import Members, dump, envelope, headers

KNOWN = Known(
    [
        version_of({"schema_id": schema_id, "source_schema": schema, "source_table": table})
        for schema_id, schema, table in (
            *(("A1", "APP", "CUST"), ("B2", "APP", "CUST"), ("B2", "HR", "STAFF")),
            *(("C3", None, None), ("D4", None, "plain"), ("18", "APP", "CUST")),
        )
    ],
    has_metadata=True,
)


def message(schema_id: str | None = None, external: str | None = None, **more: Any) -> Members:
    """A message with an envelope if it has an id."""
    told = headers("REFRESH", externalSchemaId=external)
    content: Members = {"data": {"ID": 1}, "beforeData": None, "headers": told, **more}
    return envelope(content, schema_id=schema_id) if schema_id or external else content


def parsed(value: Members | bytes, key: str | None = None, topic: str = "x") -> Parsed:
    value = value if isinstance(value, bytes) else dump(value).encode()
    return parse(Record(value, None if key is None else key.encode(), topic.encode(), 0), KNOWN)


@pytest.mark.parametrize(
    ("value", "key", "topic", "table"),
    [
        (message("A1"), None, "x", ("app", "cust")),
        (message("zz"), "APP/CUST", "x", ("app", "cust")),
        (message("B2"), None, "prod.hr.staff", ("hr", "staff")),
        (message("C3"), "APP/CUST", "x", ("app", "cust")),
        (message("A1", schema="HR", table="Staff"), None, "x", ("hr", "staff")),
        (message("A1", SCHEMA="HR", TABLE="Staff"), None, "x", ("hr", "staff")),
        (message("A1", table="STAFF"), None, "x", ("hr", "staff")),
        (message("A1", table="other"), None, "x", (None, "other")),
        (message(external="A1"), None, "hr.staff", ("app", "cust")),
        (message(external="zz"), None, "hr.staff", ("hr", "staff")),
        (message(), None, "prod.HR.Staff", ("hr", "staff")),
        (message(), None, "staff", ("hr", "staff")),
        (message(), None, "xhr.staff", (None, None)),
        (message(), None, "x.staff", (None, None)),
        (message(), "APP CUST", "hr.staff", ("app", "cust")),
        (message(), "APPxCUST", "x", (None, None)),
        (message(), "APP//CUST", "x", (None, None)),
        (message("D4"), None, "x", (None, "plain")),
    ],
)
def test_the_table_of_a_message(
    value: Members, key: str | None, topic: str, table: tuple[str | None, str | None]
) -> None:
    found = parsed(value, key, topic)
    assert (found.kind, found.table_schema, found.table_name) == ("data", *table)


def test_a_text_that_is_no_key_and_no_topic_of_text() -> None:
    record = Record(dump(message()).encode(), b"\xff", b"\xfe", None)
    assert parse(record, KNOWN).table_name is None


HUGE = 10**6


@pytest.mark.parametrize(
    ("value", "key", "reason"),
    [
        (message(table="x" * HUGE), None, None),
        (message(), "/" * HUGE, None),
        (message(), "{" * HUGE, None),
        (dump({"data": {f"C{n}": n for n in range(100_000)}, "headers": {}}).encode(), None, None),
        (b'{"data":' + b"[" * HUGE, None, "bad_message"),
        (b'{"a":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, None, "bad_message"),
        (b'{"data":{"A":' + b"7" * HUGE + b'},"headers":{}}', None, None),
        (b'{"data":{"A":"' + b'\\"' * HUGE + b'"},"headers":{}}', None, None),
        (
            b'{"data":{},"headers":{"operation":"INSERT","changeMask":"' + b"F" * HUGE + b'"}}',
            "",
            None,
        ),
        (b" " * HUGE + b"{", None, "bad_message"),
        (b"{" + b'"' * HUGE, None, "bad_message"),
    ],
    ids=range(11),
)
def test_time_is_proportional_to_the_length(
    value: Members | bytes, key: str | None, reason: str | None
) -> None:
    began = time.process_time()
    found = parsed(value, key, topic="." * 249)
    assert time.process_time() - began < 5
    assert found.kind == ("data" if reason is None else "refused")
    assert reason is None or found.reason == reason


def test_a_version_has_a_bounded_length() -> None:
    for length, kind in ((1, "metadata"), (2**24, "refused")):
        told = {"schemaId": "A", "tableStructure": {"tableColumns": {"x" * length: {"ordinal": 1}}}}
        found = parsed(dump(told).encode())
        assert found.kind == kind
    assert found.reason == "bad_metadata"


def test_levels_are_limited_on_every_python() -> None:
    deep = "[" * 490 + "]" * 490
    for depth, kind in ((deep, "data"), (f"[[[[[[[[[[{deep}]]]]]]]]]]", "refused")):
        value = f'{{"data":{{"A":{depth}}},"headers":{{}}}}'.encode()
        assert parsed(value).kind == kind


def test_series_and_frames_give_the_same() -> None:
    values = [dump(message("A1")).encode(), None, b"no JSON", dump(message()).encode(), b"atMSG"]
    count = len(values)
    rows = [[{"name": "ID", "ordinal": 1}], [{"name": "ID", "ordinal": 2}]]
    versions = json.dumps(
        [{"schema_id": "A1", "source_table": "CUST", "columns": one} for one in rows]
    )
    columns: list[list[Any]] = [
        *(values, [None] * count, [b"cust"] * count, [None, 1, 2**53 + 1, None, 5]),
        *(["{}"] * count, [versions] + [None] * (count - 1)),
    ]
    arrays = [pa.array(one, type_) for one, type_ in zip(columns, ARGUMENTS, strict=True)]
    (expected,) = spark_cdc_qlik_message(iter([tuple(arrays)]))
    frames = message_frames(iter([tuple(pd.Series(one, dtype=object) for one in columns)]))
    (frame,) = frames
    assert (
        pa.StructArray.from_arrays(
            [pa.array(frame[field.name], field.type) for field in expected.type],
            fields=list(expected.type),
        ).to_pylist()
        == expected.to_pylist()
    )


def test_a_batch_is_read_in_parts() -> None:
    value = dump(message(data={"ID": "x" * 2**20})).encode()
    columns: list[list[Any]] = [[value] * 20, [None] * 20, [None] * 20, [None] * 20]
    columns += [["{}"] * 20, [None] * 20]
    arrays = [pa.array(one, type_) for one, type_ in zip(columns, ARGUMENTS, strict=True)]
    parts = list(spark_cdc_qlik_message(iter([tuple(arrays)])))
    assert len(parts) > 2
    assert sum(map(len, parts)) == 20


def test_long_names_in_avro_are_written_in_parts() -> None:
    """Names have no bytes in a message: a thousand short messages can be a gigabyte of JSON."""
    fields = [{"name": f"{place:04d}" * 250, "type": "null"} for place in range(1000)]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    values = [avro.envelope(b"", schema_id="L")] * 200
    versions = json.dumps([{"schema_id": "L", "data_schema": schema}])
    columns: list[list[Any]] = [values, [None] * 200, [None] * 200, [None] * 200]
    columns += [["{}"] * 200, [versions] + [None] * 199]
    arrays = [pa.array(one, type_) for one, type_ in zip(columns, ARGUMENTS, strict=True)]
    parts = list(spark_cdc_qlik_message(iter([tuple(arrays)])))
    assert len(parts) > 2
    assert sum(map(len, parts)) == 200
