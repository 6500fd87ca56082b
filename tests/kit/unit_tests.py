"""Write the test vectors as dbt unit tests of the consumer project.

`python tests/kit/unit_tests.py` writes tests/consumer/models/vectors/unit_tests.yml.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

Vector = dict[str, Any]

HERE = Path(__file__).parent
UNIT_TESTS = HERE.parent / "consumer" / "models" / "vectors" / "unit_tests.yml"
HEAD = "# Made by tests/kit/unit_tests.py from the vectors beside it: do not edit.\n"

LAYOUT = ("form", "byte_order", "header_columns", "data_columns")

# The layouts that are also decoded as whole change tables, and the sources that hold them.
TABLES = {
    ("text", "big", 7, 10): "masks_text",
    ("binary", "little", 7, 10): "masks_binary_little",
    ("binary", "big", 7, 10): "masks_binary_big",
}


def read(name: str) -> list[Vector]:
    """Read a file of vectors."""
    (path,) = HERE.parent.glob(f"formats/*/vectors/{name}.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def literal(value: str | int | None) -> str:
    """Write a value as SQL."""
    if value is None:
        return "cast(null as string)"
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def rows_sql(names: list[str], rows: list[list[str]]) -> str:
    """Write rows of SQL expressions as a query."""
    lines = ",\n".join(f"  ({', '.join(row)})" for row in rows)
    return f"select * from values\n{lines}\nas rows ({', '.join(names)})\n"


def source(name: str, rows: str) -> dict[str, Any]:
    """Give rows to a source."""
    return {"input": f"source('vectors', '{name}')", "format": "sql", "rows": rows}


def unit_test(name: str, model: str, given: list[Any], expect: list[Any], **more: Any) -> Vector:
    """Write one unit test."""
    test = {"name": name, "model": model, "given": given, "expect": {"rows": expect}}
    return test | more


# Masks


def layout_of(vector: Vector) -> tuple[str, str, int, int]:
    """Tell the shape of the change table that a mask belongs to."""
    form, order, headers, columns = (vector["given"][part] for part in LAYOUT)
    return form, order, headers, columns


def mask_sql(vector: Vector) -> tuple[str, str]:
    """Write a mask as SQL, in the column for text and in that for bytes."""
    mask = vector["given"]["mask"]
    if vector["given"]["form"] == "binary":
        return "cast(null as string)", f"X'{mask}'"
    return literal(mask), "cast(null as binary)"


def expected_of_mask(vector: Vector) -> Vector:
    """Say what a mask means: the names of the columns that it names, or why it is bad."""
    positions = vector["expect"].get("positions")
    return {
        "vector": vector["id"],
        "reason": vector["expect"].get("reason"),
        "changed": None if positions is None else " ".join(f"c{place}" for place in positions),
    }


def every_mask(vectors: list[Vector]) -> Vector:
    """Test the macros that read masks, with every vector at once."""
    layouts = [list(layout) for layout in dict.fromkeys(map(layout_of, vectors))]
    rows = [
        [literal(vector["id"]), literal("_".join(map(str, layout_of(vector)))), *mask_sql(vector)]
        for vector in vectors
    ]
    return unit_test(
        "qlik_change_mask",
        "qlik_change_mask",
        [source("masks", rows_sql(["vector", "layout", "text_mask", "binary_mask"], rows))],
        [expected_of_mask(vector) for vector in vectors],
        overrides={"vars": {"mask_layouts": layouts}},
    )


def masks_in_tables(vectors: list[Vector]) -> Vector:
    """Test the decoder and its quarantine, with the masks of three change tables."""
    names = ["header__change_seq", "header__change_oper", "header__change_mask"]
    names += ["header__stream_position", "header__operation", "header__transaction_id"]
    names += ["header__timestamp", *(f"c{place}" for place in range(10))]
    given, expect = [], []
    for layout, table in TABLES.items():
        rows = []
        for number, vector in enumerate(v for v in vectors if layout_of(v) == layout):
            mask = mask_sql(vector)[layout[0] == "binary"]
            headers = [literal(f"20220315081502{number:021}"), "'U'", mask, "''", "'UPDATE'"]
            headers += ["cast(null as string)", "timestamp '2022-03-15 08:15:02'"]
            rows.append([*headers, literal(vector["id"]), *["'x'"] * 9])
            expect.append(expected_of_mask(vector))
        given.append(source(table, rows_sql(names, rows)))
    return unit_test("qlik_change_mask_tables", "qlik_change_mask_tables", given, expect)


# Sequences


def sequence_rows(vector: Vector) -> list[dict[str, str | None]]:
    """Give the raw rows of a vector."""
    given = vector["given"]
    if "rows" in given:
        return list(given["rows"])
    sequences = [given["change_seq"]] if "change_seq" in given else [given["a"], given["b"]]
    return [{"change_seq": sequence, "transaction_id": None} for sequence in sequences]


def expected_of_sequences(vector: Vector) -> list[Vector]:
    """Say what becomes of the rows of a vector."""
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


def apart(vectors: list[Vector]) -> list[list[Vector]]:
    """Part the vectors so that within one part no two have a sequence in common."""
    parts: list[tuple[list[Vector], set[str | None]]] = []
    for vector in vectors:
        # Transactions are told by the time part as well: it must not be shared either.
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


def sequences(vectors: list[Vector]) -> list[Vector]:
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
        given = [source("sequences", rows_sql(names, rows))]
        tests.append(unit_test(f"qlik_change_seq_{part}", "qlik_change_seq", given, expect))
    return tests


# GBase streams


def streams(vectors: list[Vector]) -> list[Vector]:
    """Test the decoder and its quarantine with every stream at once."""
    shapes = [json.loads(shape) for shape in dict.fromkeys(map(shape_of, vectors))]
    rows, events, quarantine = [], [], []
    for vector in vectors:
        given, expect = vector["given"], vector["expect"]
        shape = shapes.index(given["columns"])
        rows += [
            [
                literal(shape),
                literal(f"{vector['id']}/{chunk['capture_id']}"),
                f"{chunk['chunk_number']}L",
                f"X'{chunk['payload']}'",
            ]
            for chunk in given["chunks"]
        ]
        events += [event_of_stream(vector["id"], event) for event in expect["events"]]
        quarantine += [
            {
                "capture_id": f"{vector['id']}/{one['capture_id']}",
                "chunk_number": str(one["chunk_number"]),
                "reason": one["reason"],
            }
            for one in expect["quarantine"]
        ]
    names = ["shape", "capture_id", "chunk_number", "payload"]
    given_rows = [source("gbase_chunks", rows_sql(names, rows))]
    more = {"overrides": {"vars": {"gbase_shapes": shapes}}}
    return [
        unit_test("gbase_stream", "gbase_stream", given_rows, events, **more),
        unit_test(
            "gbase_stream_quarantine", "gbase_stream_quarantine", given_rows, quarantine, **more
        ),
    ]


def shape_of(vector: Vector) -> str:
    """Write the columns of a vector's table."""
    assert vector["given"]["table_id"] == 7, vector["id"]
    assert vector["given"]["key"] == ["id"], vector["id"]
    return json.dumps(vector["given"]["columns"])


def event_of_stream(vector: str, event: Vector) -> Vector:
    """Write an expected event."""

    def image(row: Vector | None) -> str | None:
        return None if row is None else json.dumps(row, separators=(",", ":"), ensure_ascii=False)

    def names(columns: list[str] | None) -> str | None:
        return None if columns is None else " ".join(columns)

    return {
        "vector": vector,
        "cdc_sequence": event["cdc_sequence"],
        "cdc_operation": event["cdc_operation"],
        "cdc_commit_sequence": event["cdc_commit_sequence"],
        "commit_at": event["cdc_commit_at"],
        "cdc_transaction_id": event["cdc_transaction_id"],
        "changed": names(event["cdc_changed_columns"]),
        "present": names(event["cdc_present_columns"]),
        "before_image": image(event["cdc_before"]),
        "after_image": image(event["row"]),
    }


class Dumper(yaml.SafeDumper):
    """Writes SQL as blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Repeat what occurs twice."""
        return True


def write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Write a text, as a block where it has lines."""
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Dumper.add_representer(str, write_text)


def make() -> str:
    """Make the whole file."""
    masks = read("qlik_change_mask")
    tests = [every_mask(masks), masks_in_tables(masks), *sequences(read("qlik_change_seq"))]
    tests += streams(read("gbase_stream"))
    text = yaml.dump(
        {"unit_tests": tests}, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100_000
    )
    return HEAD + text


if __name__ == "__main__":
    UNIT_TESTS.write_text(make(), encoding="utf-8")
