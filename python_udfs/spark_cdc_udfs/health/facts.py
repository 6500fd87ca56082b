"""The counts of a health model: their names for people, and what each means."""

from __future__ import annotations

# Rows and events of a table.
AMOUNTS = {
    "raw_rows": "raw rows",
    "used_rows": "used rows",
    "no_op_rows": "no-op rows",
    "quarantined_rows": "quarantined rows",
    "events": "change events",
    "events_in_future": "events in the future",
    "open_transactions": "open transactions",
    "waiting_rows": "waiting rows",
}

# Changes that are probably missing: their name, and one sentence on what a count means.
GAPS = {
    "orphaned_before_images": (
        "before images without their update",
        "The update was lost, or it has not arrived yet.",
    ),
    "unread_rows": (
        "raw rows that no run reads",
        "They landed below the watermark of the raw log, or their batch is in the future.",
    ),
    "updates_of_unknown_keys": (
        "updates of unknown keys",
        "Nothing inserted the row before: its insert was lost, or there is no full load.",
    ),
    "inserts_over_existing_keys": (
        "inserts over existing keys",
        "The row was there already: its delete was lost, or it was loaded again.",
    ),
    "deletes_of_unknown_keys": (
        "deletes of unknown keys",
        "There was no such row: its insert was lost, or there is no full load.",
    ),
    "moves_without_before_image": (
        "key moves without a before image",
        "Nothing names the old key, so that its row may still be there.",
    ),
    "events_with_unknown_columns": (
        "events with unknown columns",
        "The other columns keep their values: usual if the source logs only some columns.",
    ),
}

COUNTS = (*AMOUNTS, *GAPS)
