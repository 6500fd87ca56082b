"""The function that Spark SQL calls to read Avro messages of Qlik Replicate: a table function over
Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.qlik.messages import Decoder


class QlikAvroMessages:
    """Turn Avro messages into the JSON messages of the same content.

    The rows of the input are in this order. First come the schema versions (role `schema`), each
    with `schema_id`, `data_schema`, `source_schema`, `source_table` string, `table_version` bigint
    and `written_at` timestamp: all of those that the messages may need. Then come the messages
    (role `message`) with their `record`, of which `value` is read, and `first_timestamp`, the time
    of the first delivery. All rows have all of these columns; other columns are not read. Schemas
    are kept until the end. Of messages about 8 MiB at once are decoded, and nothing of them is
    kept.

    Each message gives one row, in the order of the input, with its `record` as it was given:

    - `json`: the message, NULL if it cannot be read, or for a NULL value;
    - `reason` and `detail`: why it cannot be read. `bad_message`: neither `atMSG` nor a registry
      frame. `bad_avro`: the envelope or the record does not fit, or the schema is none; `detail`
      names the field. `bad_metadata`: the same for the record of a metadata message, or it brings
      no schema. `unknown_schema`: no version has the id. `unknown_message_type`;
    - `message_type`: `DT`, `MD`, or what an envelope has instead; a frame is `DT`;
    - `message_id`: `messageSchemaId` if it is not empty, or the number of a frame;
    - `namespace`: that of the schema's record, NULL without one;
    - `field_names`: the names of the fields of its record `data`, in order, NULL without one.

    The JSON is always an envelope without `messageSchema`: `{"magic":"atMSG","type":"DT",
    "headers":null,"messageSchemaId":"18","message":{...}}`. That of a frame has the frame's number
    as `messageSchemaId`. Members are in the order of the writer's schema. Their values:

    - int, long: a number. float, double: a number, the shortest that reads back as the same double;
      `"NaN"`, `"Infinity"`, `"-Infinity"`;
    - boolean, null, string, array, map, record as in JSON; enum: its symbol;
    - bytes, fixed: hex digits in upper case, two for each byte;
    - decimal: text with all digits, `"-1.05"`, and as many behind the point as its scale;
    - date `"2022-03-15"`, time `"08:15:02.000000"`, timestamp in UTC, or local,
      `"2022-03-15 08:15:02.000000"`. A number that is none in the years 1 to 9999, or on one day,
      is written in words that no cast reads: `"2932897 days since 1970-01-01"`. Other logical types
      are ignored, nanoseconds too.

    The schema of a message is its `messageSchema`, else the `data_schema` of its version: section
    3, rules 4 and 11 of the format's reference. If versions of one id have several schemas, those
    of the message's table count; it is named by the members `schema` and `table`, else by the
    namespace, never by a Kafka key or topic. Of them it is the latest one not after
    `first_timestamp`, or if there is none the earliest. Metadata messages have their own schema.

    The number of a frame and decimals are big-endian, floats are little-endian, other numbers are
    zigzag varints.
    """

    RECORD = (
        "struct<value: binary, key: string, topic: string, partition: int, `offset`: bigint,"
        " timestamp: timestamp, raw: string>"
    )
    TYPE = (
        f"record {RECORD}, json string, reason string, detail string, message_type string,"
        " message_id string, namespace string, field_names array<string>"
    )

    def __init__(self) -> None:
        self._decoder = Decoder()

    def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take the next rows."""
        schemas = _those(batch, "schema")
        if schemas.num_rows:
            self._decoder.versions.add(schemas)
        messages = _those(batch, "message")
        if not messages.num_rows:
            return
        at = messages.column("first_timestamp").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        records, done = messages.column("record"), 0
        for decoded in self._decoder.decode(pc.struct_field(records, "value"), at):
            some = records.slice(done, decoded.num_rows)
            done += decoded.num_rows
            yield _batch(some, decoded)


def _those(batch: pa.RecordBatch, role: str) -> pa.RecordBatch:
    """Give the rows with a role."""
    is_one = pc.equal(batch.column("role"), role)
    return batch if is_one.true_count == batch.num_rows else batch.filter(is_one)


def _batch(records: Any, decoded: pa.RecordBatch) -> pa.RecordBatch:
    names = ["record", *decoded.schema.names]
    return pa.RecordBatch.from_arrays([records, *decoded.columns], names)
