"""The change data capture stream of GBase 8s and Informix: bytes in, change events out.

- `Capture` does all of it, for one table of one capture session;
- `Framer` finds the records in the chunks, and `Changes` turns them into change events;
- `KnownRecords` drops repeats, and `Transactions` finds the committed changes;
- `parse_layout` and `decode_rows` turn the rows of a table into Arrow columns;
- `functions` has the functions that Spark SQL calls;
- `land` stores the reads of a `Reader`, a capture session.
"""

from spark_cdc_udfs.gbase.capture import Capture
from spark_cdc_udfs.gbase.changes import Changes, Decoded, Refused
from spark_cdc_udfs.gbase.framing import Framed, Framer, Span
from spark_cdc_udfs.gbase.known import KnownRecords
from spark_cdc_udfs.gbase.layout import Column, Layout, SchemaError, Type, parse_layout, parse_type
from spark_cdc_udfs.gbase.reader import Reader, RestartPosition, land
from spark_cdc_udfs.gbase.records import Records
from spark_cdc_udfs.gbase.rows import Rows, decode_rows
from spark_cdc_udfs.gbase.transactions import Committed, Settled, Transactions
from spark_cdc_udfs.gbase.values import as_text

__all__ = [
    "Capture",
    "Changes",
    "Column",
    "Committed",
    "Decoded",
    "Framed",
    "Framer",
    "KnownRecords",
    "Layout",
    "Reader",
    "Records",
    "Refused",
    "RestartPosition",
    "Rows",
    "SchemaError",
    "Settled",
    "Span",
    "Transactions",
    "Type",
    "as_text",
    "decode_rows",
    "land",
    "parse_layout",
    "parse_type",
]
