"""The dbt unit tests of the vectors: many of them in one capture table, each in rows of its own.

A query with the decoder takes seconds before it begins. So vectors share a table: the key of each
begins with its id, its commits and times are moved, and all have the same columns. The expected
result of such a table comes from the reference, which is checked with every vector on its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kit.formats import UnitTest, Vector
from kit.units import event_columns, json_text, literal, rows_sql
from kit.values import Malformed, as_text

from formats.db2_capture_table import reference
from formats.db2_capture_table.vector_checks import names_in, typed

Row = dict[str, Any]


def sequence_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test the canonical form of sequences as text, as binary and as numbers."""
    rows: dict[str, list[list[str]]] = {"text": [], "binary": [], "decimal": []}
    expect: list[Row] = []
    for vector in vectors:
        given = vector["given"]
        for one in [given[name] for name in "ab"] if "a" in given else [given]:
            value, form = literal(one["value"]), one["form"]
            sql = {"text": value, "binary": f"unhex({value})"}.get(form)
            sql = sql or f"cast({value} as decimal(19, 0))"
            # dbt cannot write such characters
            if one["value"] and "\x00" in one["value"]:
                sql = "concat('\ufffd\ufffd', chr(0), chr(1))"
            rows[form].append([literal(vector["id"]), sql])
            try:
                canonical = reference.canonical(landed(one["value"], form))
            except Malformed:
                canonical = None
            expect.append({"vector": vector["id"], "canonical": canonical})
    given_tables = {
        f"sequences_{form}": rows_sql(["vector", "sequence"], of_form)
        for form, of_form in rows.items()
    }
    return [UnitTest("db2_sequence", "db2_sequence", given_tables, expect)]


def landed(value: str | None, form: str) -> Any:
    if form == "decimal":
        return int(value or 0)
    return bytes.fromhex(value or "") if form == "binary" else value


# capture tables


@dataclass(frozen=True)
class Group:
    """Vectors that share a capture table.

    ``columns``: the table's columns. ``relation``: the other columns of the relation. ``key``: the
    key after the vector's name; ``key_columns``: its columns in the relation. ``fill``: values of
    columns that a vector does not have. ``renamed``: columns with another name here.
    """

    vectors: Sequence[str]
    columns: Mapping[str, str]
    relation: Sequence[str] = ()
    key: Sequence[str] = ("ID",)
    key_columns: Sequence[str] | None = None
    prefix: str | None = None
    unit_of_work: Sequence[str] | None = None
    has_base: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def fill_in(self, names: Mapping[str, Any]) -> Row:
        """The values of rows in columns that their vector does not have."""
        return {name: value for name, value in self.fill.items() if name in names}


ID_AND_NAME = {"ID": "int", "NAME": "string"}
KEYS = ["VECTOR", "PK01", "PK02", "PK03"]
OF_EACH_TYPE = {"AMOUNT": "decimal(12,2)", "DUE": "date", "SEEN": "timestamp", "PAID": "boolean"}
OF_EACH_TYPE |= {"PHOTO": "binary", "RATIO": "double"}
KEY_OF_EACH_TYPE = {"AT": "timestamp", "RAW": "binary", "OK": "boolean", "AMOUNT": "decimal(10,3)"}
LOGMARKER = "IBMSNAP_LOGMARKER"

GROUPS = {
    "before": Group(
        ["v01-v05", "v09-v11", "v13", "v14", "v16", "v20", "v26", "v30", "v53"],
        {**ID_AND_NAME, "QTY": "int"},
        ["XVECTOR", "XID", "XNAME", "XQTY"],
        prefix="X",
    ),
    "plain": Group(
        ["v06", "v07", "v12", "v15", "v17-v19", "v25", "v27-v38", "v52", "v55", "v65", "w01"],
        {**ID_AND_NAME, "QTY": "int", **OF_EACH_TYPE},
        ["LANDED_AT"],
    ),
    "loads": Group(
        ["v23", "v23b", "v24", "v39", "v51", "v56", "v61", "v64"],
        {**ID_AND_NAME, **KEY_OF_EACH_TYPE, "CODE": "string"},
        [LOGMARKER, "IBMSNAP_AUTHID", "IBMSNAP_APPLY_QUAL"],
        key=["ID", *KEY_OF_EACH_TYPE, "CODE"],
        fill={"ID": "0", "AT": "2024-01-01", "RAW": "00", "OK": "1", "AMOUNT": "0", "CODE": ""},
    ),
    "unit_of_work": Group(
        ["v21", "v50", "v59"],
        ID_AND_NAME,
        unit_of_work=[LOGMARKER, "IBMSNAP_UOWID", "IBMSNAP_AUTHID", "IBMSNAP_APPLY_QUAL"],
    ),
    "keys": Group(["v40"], {"ID": "int"}, key_columns=["VECTOR", "PK01"]),
    "base": Group(
        ["v41-v49", "v54", "v60", "v62", "v63", "w02"],
        {"ID": "int", "REGION": "string", "LINE_NO": "string", "N": "int", "NAME": "string"}
        | {"CITY": "string", "QTY": "int"},
        [LOGMARKER],
        key=["ID", "REGION", "LINE_NO"],
        key_columns=KEYS,
        has_base=True,
        fill={"ID": "0", "REGION": "", "LINE_NO": "", "PK01": "0", "PK02": "", "PK03": ""},
        renamed={"v47": {"ID": "PK01"}, "v49": {"PK01": "PK02", "PK02": "PK03"}},
    ),
    "timestamp": Group(["v57"], ID_AND_NAME, [LOGMARKER], types={LOGMARKER: "timestamp"}),
    "timestamp_ntz": Group(["v58"], ID_AND_NAME, [LOGMARKER], types={LOGMARKER: "timestamp_ntz"}),
}
SEQUENCES = ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION")


def halves(key: str, names: bool) -> list[Row]:
    """Rows of commits in which a delete and an insert have one position, and rows beside them."""
    told = [
        *((10, 1, "I", "1", "a"), (10, 2, "I", "2", "b")),
        *((11, 1, "I", "1", "c"), (11, 1, "D", "1", "a"), (11, 1, "I", "1", "c")),  # one key
        *((12, 1, "D", "2", "b"), (12, 1, "I", "3", "b")),  # a key moves
        *((13, 1, "D", "1", "c"), (13, 2, "D", "3", "b"), (13, 2, "I", "3", "d")),
        *((14, 1, "D", "3", "d"), (14, 1, "I", "3", "e"), (14, 1, "I", "3", "f")),
        *((15, 1, "D", "3", "d"), (15, 1, "I", "3", "e"), (15, 1, "U", "3", "e")),
    ]
    return [
        {
            "IBMSNAP_COMMITSEQ": f"{commit:020X}",
            "IBMSNAP_INTENTSEQ": f"{intent:020X}",
            "IBMSNAP_OPERATION": operation,
            key: number,
            **({"NAME": name} if names else {}),
        }
        for commit, intent, operation, number, name in told
    ]


# More than the shared file of vectors has.
MORE: Sequence[Vector] = (
    {"id": "w01", "given": {"rows": halves("ID", names=True)}},
    {
        "id": "w02",
        "given": {"rows": halves("PK01", names=False), "base": [{"ID": "3", "NAME": "d"}]},
    },
)


def is_in(vector: str, group: Group) -> bool:
    """Whether a group names a vector, alone or in a range."""
    for one in group.vectors:
        first, _, last = one.partition("-")
        if vector == first or (last and first <= vector <= last):
            return True
    return False


def moved(row: Row, number: int) -> Row:
    """A row in commits and times of its own; rows of a full refresh keep their constants."""
    row = dict(row)
    commit = row.get("IBMSNAP_COMMITSEQ") or ""
    if re.fullmatch(r"[0-9a-fA-F]{20}|[0-9a-fA-F]{32}", commit) and int(commit, 16) > 1:
        digits = f"{int(commit, 16) + (number << 64):0{len(commit)}X}"
        row["IBMSNAP_COMMITSEQ"] = digits.lower() if commit == commit.lower() else digits
    if row.get(LOGMARKER):
        row[LOGMARKER] = row[LOGMARKER].replace("2024-", f"{2024 + 10 * number}-")
    return row


def capture_units(vectors: Sequence[Vector]) -> list[UnitTest]:
    """Test events and quarantine, in one test for each kind of capture table."""
    vectors = [*vectors, *MORE]
    return [
        capture_unit(name, group, [one for one in vectors if is_in(one["id"], group)])
        for name, group in GROUPS.items()
    ]


def capture_unit(name: str, group: Group, vectors: Sequence[Vector]) -> UnitTest:
    """Test the decoder with the rows of some vectors in one table."""
    columns = {"VECTOR": "string", **group.columns}
    key_there = group.key_columns or ["VECTOR", *group.key]
    data = [] if group.has_base else [one for one in columns if one not in group.key]
    listed = dict.fromkeys([*SEQUENCES, "PLACE", *key_there, *data, *group.relation])
    if group.has_base:
        listed |= dict.fromkeys(["QTY"])  # captured, but not read
    rows: list[Row] = []
    uow: list[Row] = []
    base: list[Row] = []
    for number, vector in enumerate(vectors, start=1):
        given, told = vector["given"], {"VECTOR": vector["id"], "XVECTOR": vector["id"]}
        renamed = group.renamed.get(vector["id"], {})
        for place, row in enumerate(given["rows"]):
            row = {renamed.get(one, one): value for one, value in moved(row, number).items()}
            row = {one: value for one, value in row.items() if one in listed}
            rows.append(listed | group.fill_in(listed) | row | told | {"PLACE": str(place)})
        for row in given.get("unit_of_work") or []:
            empty = dict.fromkeys(("IBMSNAP_COMMITSEQ", *(group.unit_of_work or ())))
            uow.append(empty | moved(row, number))
        for row in given.get("base") or []:
            base.append(dict.fromkeys(columns) | group.fill_in(columns) | row | told)
    rows = [{one: row[one] for one in listed} for row in rows]
    read = typed(rows, group.types)
    options = reference.options_of(
        dict.fromkeys(listed, "string"),
        ["VECTOR", *group.key],
        columns,
        group.prefix,
        group.key_columns,
        None if group.unit_of_work is None else names_in(uow),
        columns if group.has_base else None,
    )
    decoded = reference.decode(read, options, uow, base)
    metadata = [
        one.lower()
        for one in ("AUTHID", "APPLY_QUAL")
        if one in options.own | (options.joined or frozenset())
    ]
    expect = [event_row(event, columns, metadata) for event in decoded.events]
    for place, reason in decoded.quarantine:
        refused = f"{rows[place]['PLACE']} {reason}"
        expect.append(refused_row(rows[place]["VECTOR"], refused))
    call: Row = {"key": ["VECTOR", *group.key], "columns": columns, "before_prefix": group.prefix}
    call |= {"key_columns": group.key_columns, "metadata": metadata}
    call |= {"has_base": group.has_base, "has_unit_of_work": group.unit_of_work is not None}
    given_tables = {"capture": table_sql(list(listed), rows, group.types)}
    given_tables["base"] = table_sql(list(columns), base or [dict.fromkeys(columns)])
    given_tables["unit_of_work"] = table_sql(
        names_in(uow) or ["IBMSNAP_COMMITSEQ"], uow or [{"IBMSNAP_COMMITSEQ": None}]
    )
    return UnitTest(f"db2_capture_{name}", "db2_capture", given_tables, expect, {"db2_call": call})


def table_sql(
    names: Sequence[str], rows: Sequence[Row], types: Mapping[str, str] | None = None
) -> str:
    """Rows as a query; without types all columns are texts."""
    types = types or {}
    return rows_sql(
        names,
        [[cell_sql(row[name], types.get(name, "string")) for name in names] for row in rows],
    )


def cell_sql(value: str | None, sql_type: str) -> str:
    if value is not None and sql_type == "timestamp":
        value += "Z"
    return f"cast({literal(value)} as {sql_type})"


def value_text(value: Any, sql_type: str) -> str | None:
    """A value as the wrapper model gives it."""
    return value and f"{value:%Y-%m-%d %H:%M:%S.%f}" if sql_type == "timestamp" else as_text(value)


def event_row(event: Row, columns: Mapping[str, str], metadata: Sequence[str]) -> Row:
    """An event as the wrapper model gives it."""
    before, said = event["cdc_before"], event["cdc_metadata"]

    def values(row: Row) -> str | None:
        return json_text({name: value_text(row[name], kind) for name, kind in columns.items()})

    return {
        "vector": event["VECTOR"],
        "kind": "event",
        "refused": None,
        **event_columns(event),
        "before_values": None if before is None else values(before),
        "logmarker": as_text(said["logmarker"]),
        "metadata": json_text({name: said[name] for name in ("intentseq", *metadata)}),
        "row_values": values(event),
    }


def refused_row(vector: str, refused: str) -> Row:
    """A row in quarantine."""
    columns = ("cdc_sequence", "cdc_operation", "cdc_commit_sequence", "cdc_commit_at")
    more = ("cdc_transaction_id", "changed", "present", "before_values", "logmarker", "metadata")
    row = dict.fromkeys((*columns, *more, "row_values"))
    return {"vector": vector, "kind": "quarantine", "refused": refused, **row}
