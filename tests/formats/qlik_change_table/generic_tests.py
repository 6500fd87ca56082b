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

ID_AND_NOTE = {"columns": {"id": "bigint", "note": "string"}}
CASES: list[GenericTest] = [
    ("deletes", "qlik_delete_bits_are_key", {"key": ["id"]}, [f"{SEQ}02", f"{SEQ}04"]),
    ("two_keys", "qlik_delete_bits_are_key", {"key": ["line", "ID"]}, []),
    ("two_keys", "qlik_delete_bits_are_key", {"key": ["id"]} | ID_AND_NOTE, [f"{SEQ}01"]),
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
]
