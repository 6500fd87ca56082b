"""The dbt unit tests of the vectors: masks and change sequences."""

from __future__ import annotations

from collections.abc import Sequence

from kit.formats import UnitTest, Vector
from kit.units import literal, rows_sql

LAYOUT = ("form", "byte_order", "header_columns", "data_columns")

# Layouts that are also decoded as whole change tables, and the sources with them.
TABLES = {
    ("text", "big", 7, 10): "masks_text",
    ("binary", "little", 7, 10): "masks_binary_little",
    ("binary", "big", 7, 10): "masks_binary_big",
}

# Masks


def layout_of(vector: Vector) -> tuple[str, str, int, int]:
    """Tell the shape of the change table that a mask belongs to."""
    form, order, headers, columns = (vector["given"][part] for part in LAYOUT)
    return form, order, headers, columns


def mask_sql(vector: Vector) -> tuple[str, str]:
    """Write a mask as SQL, in the column for text and in the column for bytes."""
    mask = vector["given"]["mask"]
    if vector["given"]["form"] == "binary":
        return "cast(null as string)", f"X'{mask}'"
    return literal(mask), "cast(null as binary)"


def expected_of_mask(vector: Vector) -> Vector:
    """Give the meaning of a mask: the columns that it names, or why it is bad."""
    positions = vector["expect"].get("positions")
    return {
        "vector": vector["id"],
        "reason": vector["expect"].get("reason"),
        "changed": None if positions is None else " ".join(f"c{place}" for place in positions),
    }


def mask_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the macros that read masks, and the decoder on tables with these masks."""
    return [every_mask([*vectors, *as_text(vectors)]), masks_in_tables(vectors)]


def as_text(vectors: Sequence[Vector]) -> list[Vector]:
    """Give the vectors of binary masks once more: the same bytes as hexadecimal text."""
    return [
        {**vector, "id": f"{vector['id']}_as_text", "given": vector["given"] | {"form": "text"}}
        for vector in vectors
        if vector["given"]["form"] == "binary"
    ]


def every_mask(vectors: Sequence[Vector]) -> UnitTest:
    """Test the macros that read masks, with every vector at once."""
    layouts = [list(layout) for layout in dict.fromkeys(map(layout_of, vectors))]
    rows = [
        [literal(vector["id"]), literal("_".join(map(str, layout_of(vector)))), *mask_sql(vector)]
        for vector in vectors
    ]
    return UnitTest(
        "qlik_change_mask",
        "qlik_change_mask",
        {"masks": rows_sql(["vector", "layout", "text_mask", "binary_mask"], rows)},
        [expected_of_mask(vector) for vector in vectors],
        {"mask_layouts": layouts},
    )


def masks_in_tables(vectors: Sequence[Vector]) -> UnitTest:
    """Test the decoder and its quarantine, with the masks of three change tables."""
    names = ["header__change_seq", "header__change_oper", "header__change_mask"]
    names += ["header__stream_position", "header__operation", "header__transaction_id"]
    names += ["header__timestamp", *(f"c{place}" for place in range(10))]
    given, expect = {}, []
    for layout, table in TABLES.items():
        rows = []
        for number, vector in enumerate(v for v in vectors if layout_of(v) == layout):
            mask = mask_sql(vector)[layout[0] == "binary"]
            headers = [literal(f"20220315081502{number:021}"), "'U'", mask, "''", "'UPDATE'"]
            headers += ["cast(null as string)", "timestamp '2022-03-15 08:15:02'"]
            rows.append([*headers, literal(vector["id"]), *["'x'"] * 9])
            expect.append(expected_of_mask(vector))
        given[table] = rows_sql(names, rows)
    return UnitTest("qlik_change_mask_tables", "qlik_change_mask_tables", given, expect)


# Sequences


def sequence_rows(vector: Vector) -> list[dict[str, str | None]]:
    """Give the raw rows of a vector."""
    given = vector["given"]
    if "rows" in given:
        return list(given["rows"])
    sequences = [given["change_seq"]] if "change_seq" in given else [given["a"], given["b"]]
    return [{"change_seq": sequence, "transaction_id": None} for sequence in sequences]


def expected_of_sequences(vector: Vector) -> list[Vector]:
    """Give the result of a vector's rows."""
    expect = vector["expect"]
    rows: list[Vector] = []
    for number, given in enumerate(sequence_rows(vector)):
        row = {"vector": vector["id"], "number": number, "reason": expect.get("reason")}
        row |= dict.fromkeys(("sequence", "commit_sequence", "commit_at", "change_number", "place"))
        rows.append(row)
        if row["reason"]:
            continue
        sequence = given["change_seq"] or ""
        row["sequence"] = sequence
        # Without a transaction id every row is a transaction.
        row["commit_sequence"] = expect.get("commit_sequence", {number: sequence})[number]
        row["commit_at"] = expect.get("commit_at") or commit_at(sequence)
        row["change_number"] = expect.get("change_number") or str(int(sequence[16:]))
        row["place"] = number + 1
    if "order" in expect:
        assert expect["order"] == "a<b", vector["id"]
    elif len(rows) > 1:
        by_sequence = sorted(rows, key=lambda row: str(row["sequence"]))
        for row in rows:
            row["place"] = by_sequence.index(row) + 1
    return rows


def commit_at(sequence: str) -> str:
    """Write the time part of a sequence as a timestamp."""
    date = f"{sequence[:4]}-{sequence[4:6]}-{sequence[6:8]}"
    return f"{date}T{sequence[8:10]}:{sequence[10:12]}:{sequence[12:14]}.{sequence[14:16]}0000Z"


def apart(vectors: Sequence[Vector]) -> list[list[Vector]]:
    """Part the vectors so that no two in one part share a sequence."""
    parts: list[tuple[list[Vector], set[str | None]]] = []
    for vector in vectors:
        # The time part also tells transactions apart: it must not be shared either.
        rows = sequence_rows(vector)
        own = {row["change_seq"] for row in rows}
        own |= {
            sequence[:16]
            for row in rows
            if row["transaction_id"] and (sequence := row["change_seq"]) is not None
        }
        for members, taken in parts:
            if not own & taken:
                members.append(vector)
                taken |= own
                break
        else:
            parts.append(([vector], own))
    return [members for members, _ in parts]


def sequence_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the decoder and its quarantine with change sequences."""
    names = ["header__change_seq", "header__change_oper", "header__transaction_id"]
    names += ["vector", "number"]
    tests = []
    for part, members in enumerate(apart(vectors), start=1):
        rows = [
            [
                literal(row["change_seq"]),
                "'I'",
                literal(row["transaction_id"]),
                literal(vector["id"]),
                literal(number),
            ]
            for vector in members
            for number, row in enumerate(sequence_rows(vector))
        ]
        expect = [row for vector in members for row in expected_of_sequences(vector)]
        given = {"sequences": rows_sql(names, rows)}
        tests.append(UnitTest(f"qlik_change_seq_{part}", "qlik_change_seq", given, expect))
    return tests
