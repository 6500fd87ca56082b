"""Avro messages of Qlik Replicate: bytes in, the JSON messages of the same content out.

- `Decoder` does all of it, for batches of messages;
- `parse_schema` reads the text of an Avro schema;
- `read` reads values of many messages at once, with a `Cursor`;
- `functions` has the function that Spark SQL calls.
"""

from spark_cdc_udfs.qlik.columns import read
from spark_cdc_udfs.qlik.cursor import Cursor, Failures
from spark_cdc_udfs.qlik.messages import Decoder
from spark_cdc_udfs.qlik.schema import Schema, SchemaError, parse_schema
from spark_cdc_udfs.qlik.versions import Version, Versions

__all__ = [
    "Cursor",
    "Decoder",
    "Failures",
    "Schema",
    "SchemaError",
    "Version",
    "Versions",
    "parse_schema",
    "read",
]
