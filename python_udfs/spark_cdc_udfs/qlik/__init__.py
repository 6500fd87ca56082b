"""Messages of Qlik Replicate: Kafka records in, columns out.

- `parsing` reads one record; `strict` is its JSON, `metadata` what a metadata message describes;
- `versions` knows the tables and versions of a topic;
- `messages` decodes batches of Avro messages to the JSON messages of the same content, with
  `envelope`, `batch`, `columns`, `single`, `cursor`, `texts`, `schema` and `types`;
- `functions` has the function that Spark SQL calls.
"""

from spark_cdc_udfs.qlik.columns import read
from spark_cdc_udfs.qlik.cursor import Cursor, Failures
from spark_cdc_udfs.qlik.schema import Schema, SchemaError, parse_schema

__all__ = ["Cursor", "Failures", "Schema", "SchemaError", "parse_schema", "read"]
