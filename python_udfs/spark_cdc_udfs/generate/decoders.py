"""What the decoders need to be told, as data."""

from __future__ import annotations

from dataclasses import dataclass

# Arguments of decoders that are relations. `{table}` in them is the name of the table.
RELATIONS = ("metadata", "snapshot", "base", "unit_of_work", "full_load")


@dataclass(frozen=True)
class Decoder:
    """The facts of a decoder that shape its models."""

    arguments: tuple[str, ...]  # those that a source may give
    is_shared: bool = False  # one relation has the rows of many tables
    is_listed: bool = False  # its tables are those in table_settings
    needs: tuple[str, ...] = ()  # arguments without which it cannot be called
    inputs: tuple[str, ...] = ()  # arguments that are raw rows as well
    is_read_once: bool = False  # its raw log has messages that have been read for all tables
    metadata: str = ""  # the type of cdc_metadata, if it does not depend on the relation


_QLIK_METADATA = (
    "struct<stream_position: string, timestamp: timestamp, transaction_event_counter: bigint,"
    " transaction_last_event: boolean, schema_id: string, table_version: bigint, topic: string,"
    " partition: int, offset: bigint>"
)

DECODERS = {
    "qlik_change_table": Decoder(
        arguments=(
            *("header_prefix", "mask_byte_order", "header_columns", "qlik_sparse_updates"),
            *("null_keys", "full_load", "full_load_at", "before_image", "mask_columns"),
        ),
        inputs=("full_load",),
    ),
    "qlik_messages": Decoder(
        arguments=("metadata", "before_image"),
        is_shared=True,
        needs=("metadata",),
        is_read_once=True,
        metadata=_QLIK_METADATA,
    ),
    "netiq_event_log": Decoder(
        arguments=("snapshot", "layout", "as_of", "source_timezone"),
        is_shared=True,
        metadata="struct<record_id: bigint, perpetrator: string, event_time: timestamp,"
        " status: string>",
    ),
    "db2_capture_table": Decoder(
        arguments=(
            *("unit_of_work", "before_prefix", "base", "key_columns", "source_timezone"),
            "before_image",
        ),
        inputs=("unit_of_work",),
    ),
    "db2_log_table": Decoder(
        arguments=("base", "key_columns", "source_timezone"),
        needs=("base",),
        metadata="struct<log_operation: int, log_time: timestamp>",
    ),
    "gbase_capture": Decoder(
        arguments=("table_id", "gbase_encoding", "gbase_rtrim_char", "null_keys", "before_image"),
        is_shared=True,
        is_listed=True,
        needs=("table_id",),
        metadata="struct<capture_id: string, table_id: int, user_id: int, began_at: timestamp>",
    ),
}

# What is built from the change events, and the ending of each model's name.
BUILDS = {
    "current_state": "",
    "history": "__history",
    "quarantine": "__quarantine",
    "raw_counts": "__counts",
}

# Endings of the tables that products write.
ENDINGS = ("__ct", "__ccd", "__cd", "_ccd", "_cd", "__log")
