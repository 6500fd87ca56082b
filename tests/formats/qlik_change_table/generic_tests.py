"""The generic tests of change tables: the rows over which they pass, and the rows they find."""

from __future__ import annotations

from kit.formats import GenericTest, TestedTable

HEADERS = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__change_mask": "string",
}
SEQ = "202203150815020000000000000000000"

# Of each table the first column is bit 3 of a mask.
TABLES: dict[str, TestedTable] = {
    "deletes": (
        HEADERS | {"id": "bigint", "note": "string"},
        f"('{SEQ}01', 'D', '08', 1, null), ('{SEQ}02', 'D', '10', 1, null),"
        f" ('{SEQ}03', 'D', '18', 1, 'a'), ('{SEQ}03', 'D', '18', 1, 'b'),"
        f" ('{SEQ}04', 'D', 'no', 1, null)",
    ),
    "two_keys": (
        HEADERS | {"id": "bigint", "line": "int", "note": "string"},
        f"('{SEQ}01', 'D', '18', 1, 2, null)",
    ),
    "no_masks": (
        HEADERS | {"id": "bigint", "note": "string"},
        f"('{SEQ}01', 'I', 'ZZ', 1, 'a'), ('{SEQ}02', 'I', null, 1, 'a')",
    ),
    "little": (
        HEADERS | dict.fromkeys("abcdef", "int"),
        f"('{SEQ}01', 'I', '801', 1, null, null, null, null, 1)",
    ),
    "landed": (
        HEADERS | {"id": "bigint", "note": "string", "landed_at": "timestamp"},
        f"('{SEQ}01', 'I', '18', 1, 'a', now()), ('{SEQ}02', 'D', '08', 1, null, now())",
    ),
    "labelled": (
        HEADERS | {"id": "bigint", "note": "string", "labels": "map<string,string>"},
        f"('{SEQ}01', 'I', '18', 1, 'a', null), ('{SEQ}02', 'I', '08', 1, 'a', null),"
        f" ('{SEQ}03', 'D', '18', 1, null, null)",
    ),
    # landed in folders: a header column is after the other columns
    "behind": (
        HEADERS | {"id": "bigint", "note": "string", "header__partition_name": "string"},
        f"('{SEQ}01', 'I', '18', 1, 'a', 'p'), ('{SEQ}02', 'D', '08', 1, null, 'p')",
    ),
    # the task writes seven header columns, of which this table has three
    "counted": (
        HEADERS | {"id": "bigint", "note": "string"},
        f"('{SEQ}01', 'I', '0180', 1, 'a'), ('{SEQ}02', 'I', '0180', 1, null),"
        f" ('{SEQ}03', 'I', '0080', 1, null), ('{SEQ}04', 'I', '0005', 1, 'a')",
    ),
    "counted_little": (
        HEADERS | {"id": "bigint", "note": "string"},
        f"('{SEQ}01', 'I', '8001', 1, 'a')",
    ),
}

EVENTS = {
    "id": "bigint",
    "note": "string",
    "cdc_operation": "string",
    "cdc_sequence": "string",
    "cdc_commit_sequence": "string",
    "cdc_commit_at": "timestamp",
    "cdc_before": "struct<id: bigint, note: string>",
    "cdc_present_columns": "array<string>",
}
LOAD = "'1.x', '1', timestamp'2025-01-01 10:00:00Z', null, null"


def struct(key: int, note: str | None) -> str:
    """A before image."""
    value = "null" if note is None else f"'{note}'"
    return f"named_struct('id', {key}L, 'note', {value})"


def _change(place: int | str, time: str, before: str = "null", commit: str = "") -> str:
    return f"'{place}', '{commit or place}', timestamp'2025-01-01 {time}Z', {before}, null"


# The load of keys 11 to 13, 15 and 16 was kept current; the load of the others was not. Keys that
# moved away, and keys that the last load does not have, come again. Two rows swap their keys.
TABLES["loaded"] = (
    EVENTS,
    ", ".join(
        f"({row})"
        for row in (
            "null, null, 'truncate', '1.', '1', timestamp'2025-01-01 10:00:00Z', null, null",
            *(f"{key}, 'a', 'load', {LOAD}" for key in (*range(1, 6), 11, 12, 13, *range(16, 20))),
            f"6, null, 'load', {LOAD}",
            f"1, 'a', 'delete', {_change(2, '12:00:00')}",
            f"1, 'b', 'insert', {_change(3, '12:00:01')}",
            f"2, 'b', 'update', {_change(4, '12:00:02', struct(2, 'a'))}",
            f"2, 'c', 'update', {_change(5, '12:00:03', struct(2, 'b'))}",
            f"3, 'b', 'update', {_change(6, '12:00:04')}",
            f"4, 'b', 'insert', {_change(7, '10:20:00')}",
            f"6, 'b', 'update', {_change(8, '12:00:05', struct(6, None))}",
            f"7, 'a', 'update', {_change(9, '12:00:06', struct(5, 'a'))}",
            f"11, 'b', 'insert', {_change(10, '12:00:07')}",
            f"12, 'b', 'update', {_change(11, '12:00:08', struct(12, 'z'))}",
            f"13, 'b', 'update', {_change(12, '12:00:09', struct(14, 'a'))}",
            f"16, 'b', 'insert', {_change(13, '10:30:01')}",
            "15, 'a', 'load', '0.x', '0', null, null, null",
            f"15, 'b', 'insert', {_change('05', '10:00:01')}",
            f"20, 'a', 'update', {_change(14, '12:00:10', struct(17, 'a'))}",
            f"17, 'a', 'insert', {_change(15, '12:00:11')}",
            f"19, 'a', 'update', {_change('16a', '12:00:12', struct(18, 'a'), '16')}",
            f"18, 'a', 'update', {_change('16b', '12:00:12', struct(19, 'a'), '16')}",
            "null, null, 'truncate', '9z.', '9z', timestamp'2025-01-01 13:00:00Z', null, null",
            "1, 'a', 'load', '9z.x', '9z', timestamp'2025-01-01 13:00:00Z', null, null",
            f"5, 'a', 'insert', {_change('9zz', '15:00:00')}",
        )
    ),
)

ID_AND_NOTE = {"columns": {"id": "bigint", "note": "string"}}
CASES: list[GenericTest] = [
    ("deletes", "qlik_delete_bits_are_key", {"key": ["id"]}, [f"{SEQ}02", f"{SEQ}04"]),
    ("two_keys", "qlik_delete_bits_are_key", {"key": ["line", "ID"]}, []),
    (
        "two_keys",
        "qlik_delete_bits_are_key",
        {"key": ["id"], "mask_columns": ["id", "line", "note"]} | ID_AND_NOTE,
        [f"{SEQ}01"],
    ),
    ("two_keys", "qlik_delete_bits_are_key", {"key": ["id"]} | ID_AND_NOTE, "has line before note"),
    ("no_masks", "qlik_mask_byte_order_fits", {}, [f"{SEQ}01"]),
    ("little", "qlik_mask_byte_order_fits", {}, [f"{SEQ}01"]),
    ("little", "qlik_mask_byte_order_fits", {"mask_byte_order": "little"}, []),
    ("behind", "qlik_mask_byte_order_fits", {}, []),
    ("behind", "qlik_delete_bits_are_key", {"key": ["id"]}, []),
    ("counted", "qlik_mask_byte_order_fits", {}, [f"{SEQ}0{place}" for place in (1, 2, 3, 4)]),
    ("counted", "qlik_mask_byte_order_fits", {"header_columns": 7}, [f"{SEQ}04"]),
    ("counted_little", "qlik_mask_byte_order_fits", {}, [f"{SEQ}01"]),
    ("landed", "qlik_mask_byte_order_fits", {}, [f"{SEQ}01"]),
    ("landed", "qlik_mask_byte_order_fits", {"leave_out": ["landed_at"]}, []),
    ("landed", "qlik_mask_byte_order_fits", ID_AND_NOTE, []),
    ("landed", "qlik_delete_bits_are_key", {"key": ["id"]} | ID_AND_NOTE, []),
    ("labelled", "qlik_mask_byte_order_fits", ID_AND_NOTE, [f"{SEQ}02"]),
    ("labelled", "qlik_delete_bits_are_key", {"key": ["id"]} | ID_AND_NOTE, [f"{SEQ}03"]),
    ("loaded", "full_load_is_static", {"key": ["ID"], "minutes": 30}, [11, 12, 13, 15, 16]),
    ("loaded", "full_load_is_static", {"key": ["id"]}, [11, 12, 13, 15]),
    ("loaded", "full_loads_are_apart", {"key": ["id"], "minutes": 300}, ["1"]),
    ("loaded", "full_loads_are_apart", {"key": ["id"]}, []),
]

# Of some tables: the texts that a hint has, and in how many rows.
HINTS = {
    # columns that do not belong to the table, and large objects, next to the header columns
    "landed": dict.fromkeys(("header_prefix", "header_columns", "columns", "leave_out"), 1),
    # also for a mask that lost a zero before its first digit
    "little": {"mask_byte_order='little'": 1},
    # the number that fits the most inserts, if one does
    "counted": {"header_columns=7: ": 3, "the mask fits in neither order": 1},
    "counted_little": {"mask_byte_order='little', header_columns=7: ": 1},
}
