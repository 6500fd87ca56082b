"""Where keys and types come from, and what is said if a key is not known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from formats.qlik_messages import avro
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.generate import masks, netiq, qlik
from spark_cdc_udfs.generate.lake import Column

from generate.fake_lake import (
    HEADER,
    FakeLake,
    Landed,
    change_table,
    dfm,
    mask_of,
    project,
    run,
    written,
)

ORDERS = {"order_id": "bigint", "line_no": "int", "status": "string"}
ERP = """
sources:
  - name: erp
    decoder: qlik_change_table
    schema: landing
    tables: "*__ct"
"""
HEADERS = masks.Headers.of(
    {name: Column(kind) for name, kind in {**HEADER, **ORDERS}.items()}, "header__", None
)


def call_of(folder: Path, model: str) -> str:
    """The text of a model without its first line."""
    (path,) = (folder / "models").rglob(f"{model}.sql")
    return path.read_text().partition("\n")[2]


# Masks


@given(
    st.integers(0, 12),
    st.integers(1, 40),
    st.sampled_from(["big", "little"]),
    st.booleans(),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_deletes_tell_the_key(
    headers: int, width: int, order: str, is_binary: bool, data: st.DataObject
) -> None:
    """In any layout, as long as an insert shows the order of the bytes, or it is the usual one."""
    names = tuple(f"c{place}" for place in range(width))
    places = data.draw(st.sets(st.integers(0, width - 1), min_size=1))
    layout = masks.Headers({"change_mask": "m"}, names, headers, is_binary)
    found = [
        ("I", mask_of(range(width), headers, order), 3),
        ("D", mask_of(sorted(places), headers, order), 7),
        ("D", "00", 1),
    ]
    told = masks.tell(found, layout)
    usual = "little" if is_binary else "big"
    if order == usual or told.order == order:
        assert (told.key, told.rows) == (tuple(names[place] for place in sorted(places)), 7)
        assert told.without_bit == ()
    else:
        # the mask of the insert reads the same in both orders
        insert = masks.mask_bytes(found[0][1])
        assert insert is not None
        inside = {bit - headers for bit in masks.bits_of(insert, usual)}
        assert inside <= set(range(width))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "no delete has a mask with a bit"),
        ([("D", "00", 5), ("D", "no mask", 2)], "no delete has a mask with a bit"),
        (
            [("D", "20", 5), ("D", "60", 1)],
            "do not agree: (order_id) in 5, (order_id, line_no) in 1",
        ),
        ([("D", "01", 1)], "the masks of 1 deletes have bits that belong to no column"),
        ([("I", "FFFF", 9), ("D", "20", 5)], "no mask of 9 inserts fits 5 header columns"),
    ],
)
def test_what_masks_do_not_tell(found: list[tuple[str, str, int]], said: str) -> None:
    told = masks.tell(found, HEADERS)
    assert told.key == () and said in told.tried


def test_without_an_insert_the_order_of_bytes_may_be_open() -> None:
    layout = masks.Headers(
        {"change_mask": "m"}, tuple(f"c{place}" for place in range(20)), 3, False
    )
    told = masks.tell([("D", "0810", 4)], layout)
    assert told.key == ()
    said = "no insert shows the order of the bytes in masks: big (c1, c8) or little (c0, c9)"
    assert told.tried == said
    assert masks.tell([("D", "0810", 4)], layout, "little").key == ("c0", "c9")
    # the other order has a bit of a header column
    assert masks.tell([("D", "0100", 4)], layout).key == ("c5",)


@pytest.mark.parametrize("text", ["E0", "0xe0", "x'E0'", " e0 ", "0E0"])
def test_masks_are_read_in_every_spelling(text: str) -> None:
    assert masks.bits_of(masks.mask_bytes(text) or b"", "big") == {5, 6, 7}


def test_a_column_without_a_bit_is_told() -> None:
    told = masks.tell([("I", mask_of([0, 1]), 4), ("D", mask_of([0]), 1)], HEADERS)
    assert (told.key, told.without_bit) == (("order_id",), ("status",))


# Change tables


def test_the_key_of_a_change_table_is_told_with_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = FakeLake({"lines__ct": change_table(ORDERS, ["order_id", "line_no"], deletes=1234)})
    assert run(project(tmp_path, ERP), lake) == 0
    said = capsys.readouterr().out
    assert "erp.lines: order_id, line_no, by the masks of 1,234 deletes" in said
    assert "key=['order_id', 'line_no']" in call_of(tmp_path, "lines__changes")


def test_another_order_of_bytes_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = {f"c{place}": "int" for place in range(12)}
    lake = FakeLake({"wide__ct": change_table(wide, ["c1"], order="little")})
    assert run(project(tmp_path, ERP), lake) == 0
    assert "mask_byte_order is little" in capsys.readouterr().out
    assert "mask_byte_order='little'" in call_of(tmp_path, "wide__changes")


LANDED = {"order_id": "bigint", "line_no": "int", "landed_at": "timestamp", "status": "string"}


def landed_in_between(**changes: Any) -> Landed:
    """A change table of ORDERS to which the landing has added a column before `status`."""
    return replace(change_table(ORDERS, ["line_no"]), columns={**HEADER, **LANDED}, **changes)


def test_masks_do_not_count_what_the_landing_added(tmp_path: Path) -> None:
    config = f"{ERP}    landing_columns: [landed_at]\n"
    assert run(project(tmp_path, config), FakeLake({"lines__ct": landed_in_between()})) == 0
    call = call_of(tmp_path, "lines__changes")
    assert "key=['line_no']" in call
    assert "mask_columns=['order_id', 'line_no', 'status']" in call
    tests = (tmp_path / "models/erp/lines/lines.yml").read_text()
    assert tests.count("mask_columns: [order_id, line_no, status]") == 2
    assert "leave_out" not in tests


def test_a_landing_column_that_is_not_named_looks_like_a_large_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project(tmp_path, ERP), FakeLake({"lines__ct": landed_in_between()})) == 0
    said = (
        "has a bit for status: a large object (see qlik_sparse_updates), or has the landing added"
    )
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("named", ["landing_columns: [line_no]", "", "given"])
def test_the_place_of_a_partition_column_has_to_be_given(
    named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark moves it to the end, so the masks have it elsewhere."""
    moved = {name: ORDERS[name] for name in ("order_id", "status", "line_no")}
    landed = change_table(ORDERS, ["order_id", "line_no"])
    lake = FakeLake(
        {"lines__ct": replace(landed, columns={**HEADER, **moved}, partitions=["line_no"])}
    )
    config = f"{ERP}    {named}\n"
    if named == "given":
        given = "{lines: {arguments: {mask_columns: [order_id, line_no, status]}}}"
        config = f"{ERP}    table_settings: {given}\n"
    assert run(project(tmp_path, config), lake) == (0 if named == "given" else 1)
    if named == "given":
        call = call_of(tmp_path, "lines__changes")
        assert "key=['order_id', 'line_no']" in call
        assert "mask_columns=['order_id', 'line_no', 'status']" in call
    elif not named:
        said = "it is partitioned by line_no, so its place in the change masks is not known"
        assert said in capsys.readouterr().out


def test_what_inserts_showed_stays_when_they_have_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = {f"c{place}": "int" for place in range(12)}
    landed = change_table(wide, ["c1"], order="little")
    all_but_one = mask_of(range(11), order="little")
    landed.rows = [{**landed.rows[0], "header__change_mask": all_but_one}, *landed.rows[1:]]
    lake = FakeLake({"wide__ct": landed})
    assert run(project(tmp_path, ERP), lake) == 0
    before = written(tmp_path)
    assert "leave_out: [c11]" in before["models/erp/wide/wide.yml"]
    lake.tables["wide__ct"].rows = landed.rows[1:]
    assert run(tmp_path, lake) == 0
    assert written(tmp_path) == before
    assert "mask_byte_order is from the earlier run: there is no insert" in capsys.readouterr().out


COLUMNS = [
    {"name": "ID", "type": "INT8", "primaryKeyPos": 2},
    {"name": "Part", "type": "STRING", "length": 20, "primaryKeyPos": 1},
    {"name": "Price", "type": "NUMERIC", "precision": 12, "scale": 2, "primaryKeyPos": 0},
    {"name": "Seen", "type": "DATETIME", "primaryKeyPos": 0},
    {"name": "Any", "type": "NUMERIC", "precision": 0, "scale": 0, "primaryKeyPos": 0},
]


def test_a_dfm_file_tells_key_and_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The newest one; the columns of text get types."""
    text = dict.fromkeys(("id", "part", "price", "seen", "any"), "string")
    files = {"/landing/x/1.dfm": "no JSON", "/landing/x/2.dfm": dfm(COLUMNS)}
    lake = FakeLake({"parts__ct": Landed({**HEADER, **text}, dfm=files)})
    config = f"{ERP}    datetime: timestamp_ntz\n"
    assert run(project(tmp_path, config), lake) == 0
    said = capsys.readouterr().out
    assert "erp.parts: part, id, by primaryKeyPos in its .dfm file" in said
    assert "any: NUMERIC with precision 0 and scale 0 is taken as string" in said
    call = call_of(tmp_path, "parts__changes")
    assert "key=['part', 'id']" in call
    types = "'id': 'bigint', 'part': 'string', 'price': 'decimal(12,2)', 'seen': 'timestamp_ntz'"
    assert types in " ".join(call.split())


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no .dfm file beside its files"),
        ({"/landing/x/1.dfm": "{}"}, "/landing/x/1.dfm has no dataInfo.columns"),
        ({"/landing/x/1.dfm": dfm(COLUMNS[:1])}, "/landing/x/1.dfm does not name part"),
        (
            {"/landing/x/1.dfm": dfm([{**one, "primaryKeyPos": 0} for one in COLUMNS])},
            "no primaryKeyPos",
        ),
    ],
)
def test_a_key_that_is_not_known_is_told_with_what_was_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], said: str
) -> None:
    columns = {**HEADER, "id": "bigint", "part": "string"}
    lake = FakeLake(
        {
            "parts__ct": Landed(columns, dfm=files),
            "orders__ct": change_table(ORDERS, ["order_id"]),
        }
    )
    assert run(project(tmp_path, ERP), lake) == 1
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.startswith("erp.parts"))
    assert line.startswith("erp.parts: not written: the key is not known: no delete has a mask")
    assert said in line and line.endswith(
        "neither a CSV file nor table_settings give it; no earlier run"
    )
    assert "1 tables not written" in out
    assert {path.split("/")[2] for path in written(tmp_path)} == {"orders"}


def test_a_csv_file_wins_over_settings_and_masks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings_of = "    table_settings: {orders: {key: [status]}, lines: {key: [LINE_NO]}}\n"
    config = f"keys: keys.csv\n{ERP}{settings_of}"
    csv = "table,column,position\norders__ct,Line_No,1\nnothing,a,1\n"
    lake = FakeLake(
        {f"{name}__ct": change_table(ORDERS, ["order_id"]) for name in ("orders", "lines", "more")}
    )
    assert run(project(tmp_path, config, keys_csv=csv), lake) == 0
    said = capsys.readouterr().out
    assert "erp.orders: line_no, from keys.csv" in said
    assert "by the masks of 2 deletes the key would be order_id" in said
    assert "erp.lines: line_no, from table_settings" in said
    assert "erp.more: order_id, by the masks of 2 deletes" in said
    assert "keys.csv names nothing: no such table" in said
    wrong = "table,column,position\norders,colour,1\n"
    assert run(project(tmp_path, config, keys_csv=wrong), lake) == 1
    assert "keys.csv gives the key colour; columns are order_id" in capsys.readouterr().out


def test_a_key_stays_when_its_raw_rows_have_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = FakeLake({"orders__ct": change_table(ORDERS, ["order_id"])})
    run(project(tmp_path, ERP), lake)
    before = written(tmp_path)
    lake.tables["orders__ct"].rows = ()
    assert run(tmp_path, lake) == 0
    assert "order_id, from the earlier run (no delete has a mask" in capsys.readouterr().out
    assert written(tmp_path) == before


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (Landed({"id": "int"}), "no header column change_seq in id"),
        (change_table({"id": "int", "m": "map<string,int>"}, ["id"]), "has no equality"),
        (change_table({"id": "int", "cdc_x": "int"}, ["id"]), "begins with cdc_"),
        (Landed({**HEADER, "id": "int"}, fails=True), "it cannot be read: [FAILED_READ_FILE]"),
    ],
)
def test_a_bad_table_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: Landed, said: str
) -> None:
    lake = FakeLake({"bad__ct": table, "good__ct": change_table(ORDERS, ["order_id"])})
    assert run(project(tmp_path, ERP), lake) == 1
    assert said in capsys.readouterr().out
    assert {path.split("/")[2] for path in written(tmp_path)} == {"good"}


def test_masks_of_many_tables_are_asked_for_together(tmp_path: Path) -> None:
    """One query more for each table of a group in which a table cannot be read."""
    tables = {f"t{number}__ct": change_table(ORDERS, ["order_id"]) for number in range(45)}
    lake = FakeLake(tables)
    assert run(project(tmp_path, ERP), lake) == 0
    assert len([query for query in lake.queries if "as changes" in query]) == 3
    tables["t10__ct"].fails = True
    lake.queries.clear()
    assert run(tmp_path, lake) == 1
    assert len([query for query in lake.queries if "as changes" in query]) == 3 + 20


# Messages


def metadata(table: str, at: str, *columns: tuple[str, str, int], version: int = 1) -> str:
    listed = {
        name: {
            "ordinal": place,
            "type": kind,
            "precision": 12,
            "scale": 2,
            "primaryKeyPosition": key,
        }
        for place, (name, kind, key) in enumerate(columns, 1)
    }
    content = {
        "schemaId": f"{table} {version}",
        "lineage": {"schema": "APP", "table": table, "tableVersion": version, "timestamp": at},
        "tableStructure": {"tableColumns": listed},
    }
    return json.dumps({"magic": "atMSG", "type": "MD", "message": content})


@pytest.mark.parametrize("name", ["ordinal", "precision", "scale", "primaryKeyPosition"])
@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "NaN", "1.5", "true", '"x"', "[1]", "9" * 5000]
)
def test_a_number_that_is_none_is_a_message_that_cannot_be_read(name: str, number: str) -> None:
    text = metadata("CUST", "2024-01-01", ("ID", "NUMERIC", 1))
    value = {"ordinal": 1, "precision": 12, "scale": 2, "primaryKeyPosition": 1}[name]
    text = text.replace(f'"{name}": {value}', f'"{name}": {number}').encode().hex()
    told, unread = qlik.read_metadata([(text, None)], "timestamp")
    assert (told, unread) == ({}, 1)


KAFKA = """
sources:
  - name: kafka
    decoder: qlik_messages
    schema: landing
    relation: messages
    tables: "app.*"
    exclude: [tmp]
    arguments: {metadata: metadata}
"""


def test_metadata_messages_tell_tables_columns_and_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last version of each table counts; other messages say nothing."""
    values = [
        metadata("CUST", "2024-01-01", ("ID", "INT4", 1)),
        metadata(
            *("CUST", "2024-02-01"),
            *(("NAME", "WSTRING", 2), ("ID", "INT8", 1), ("NOTE", "CLOB", 0)),
            version=2,
        ),
        metadata("TMP", "2024-01-01", ("ID", "INT4", 1)),
        metadata("LOG", "2024-01-01", ("LINE", "STRING", 0)),
        json.dumps(
            {"schemaId": "7", "lineage": {"schema": "APP", "table": "A"}, "dataSchema": "x"}
        ),
        json.dumps({"schemaId": "8", "lineage": {"schema": "APP"}, "dataSchema": "x"}),
        json.dumps({"magic": "atMSG", "type": "DT", "message": {"data": {"tableColumns": 1}}}),
        "{no JSON",
    ]
    columns = {"value": "string", "timestamp": "timestamp"}
    told = Landed(columns, [{"value": value, "timestamp": None} for value in values])
    lake = FakeLake({"messages": Landed(columns), "metadata": told})
    assert run(project(tmp_path, KAFKA), lake) == 1
    said = capsys.readouterr().out
    assert "kafka.cust: ID, NAME, by primaryKeyPosition in its metadata" in said
    assert "kafka.a: not written: its metadata has only Avro schemas; give columns and key" in said
    assert "kafka: 2 metadata messages of metadata cannot be read" in said
    assert "kafka.log: not written: the key is not known: no column has a primaryKeyP" in said
    assert "kafka.tmp" not in said
    call = " ".join(call_of(tmp_path, "cust__changes").split())
    assert (
        "{{ spark_cdc.qlik_messages( ref('kafka_log'), key=['ID', 'NAME'], columns={'NAME':"
        " 'string', 'ID': 'bigint', 'NOTE': 'string'}, table='CUST', schema='APP' ) }}" in call
    )
    left_out = "{spark_cdc.mask_names_changed_columns: {arguments: {leave_out: [NOTE]}}}"
    assert left_out in written(tmp_path)["models/kafka/cust/cust.yml"]
    # messages are kept and read once
    assert call_of(tmp_path, "kafka_log") == (
        "{{ config(materialized='cdc_incremental', partition_by=['cdc_table']) -}}\n\n"
        "{{ spark_cdc.qlik_messages_log(source('kafka', 'messages'),"
        " versions=ref('kafka_versions'))"
        " }}\n"
    )
    versions = "{{ spark_cdc.qlik_schema_versions(source('kafka', 'metadata')) }}"
    assert versions in call_of(tmp_path, "kafka_versions")


def test_metadata_messages_in_avro_are_read() -> None:
    content = json.loads(metadata("CUST", "2024-01-01", ("ID", "INT4", 1)))["message"]
    structure = content["tableStructure"]["tableColumns"]["ID"]
    structure |= {"length": 10, "nullable": False}
    content["lineage"] |= {"server": "s", "task": "t"}
    value = avro.metadata_envelope({**content, "dataSchema": "{}"})
    assert value.hex().upper().startswith(qlik.AVRO_METADATA)
    told, unread = qlik.read_metadata([(value.hex(), "2024-01-01")], "timestamp")
    assert unread == 0
    assert {name: (one.key, dict(one.columns)) for name, one in told.items()} == {
        "app.cust": (("ID",), {"ID": "int"})
    }


# Event logs

IDM = """
sources:
  - name: idm
    decoder: netiq_event_log
    schema: landing
    relation: event_log
    arguments: {snapshot: "{table}"}
"""
LOG = dict.fromkeys(netiq.LAYOUTS["record_id_status"], "string")


def log(*rows: tuple[str, str, str]) -> Landed:
    names = ("table_name", "table_key", "column_name")
    return Landed(LOG, [dict(zip(names, row, strict=True)) for row in rows])


def test_tables_stay_when_their_rows_have_left_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {name: (name, "id=1", "x") for name in ("a", "b", "c")}
    lake = FakeLake({"event_log": log(*rows.values())})
    assert run(project(tmp_path, IDM), lake) == 0
    before = written(tmp_path)
    lake.tables["event_log"] = log(rows["a"])
    assert run(tmp_path, lake) == 0
    assert written(tmp_path) == before
    assert "idm.b: no row tells of it any more; its files stay" in capsys.readouterr().out
    assert run(project(tmp_path, f"{IDM}    exclude: b\n"), lake) == 0
    assert {path.split("/")[2] for path in written(tmp_path) if path.count("/") > 2} == {"a", "c"}


def test_a_layout_names_all_ten_columns(tmp_path: Path) -> None:
    names = {name.upper(): f"c_{name}" for name in LOG}
    lake = FakeLake({"event_log": log()})
    lake.tables["event_log"].columns = {f"C_{name}": "string" for name in LOG}
    layout = netiq.layout_of({f"C_{name}": Column("string") for name in LOG}, names)
    assert layout == {name: f"C_{name}" for name in LOG}
    config = IDM.replace('snapshot: "{table}"', "layout: {table_name: t}")
    with pytest.raises(Failure, match="event_log has no ten columns in the layout"):
        run(project(tmp_path, config), lake)


def test_documented_names_tell_the_columns_of_an_event_log(tmp_path: Path) -> None:
    """In any order; names in other places than a layout stop."""
    ten = {name: Column("string") for name in LOG}
    moved = {name: ten[name] for name in ("column_name", *LOG)}
    assert netiq.layout_of({"x": Column("int"), **moved}, None) == {name: name for name in LOG}
    assert netiq.layout_of(ten, "record_id_status") == {name: name for name in LOG}
    others = {f"c_{name}": Column("string") for name in LOG}
    assert netiq.layout_of(others, None) == {name: f"c_{name}" for name in LOG}
    for columns, layout in ((moved, "record_id_status"), ({"status": Column("string")}, None)):
        assert netiq.layout_of({**columns, **others}, layout) is None


def test_keys_of_an_event_log_are_in_table_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = Landed({"IDU": "int", "fname": "string"})
    event_log = log(
        ("indirect.usr", "idu=1", "fname"),
        ("USR", 'IDU="2"', ""),
        ("usr", "no key", ""),
        ("view_grp", "pk_gid=1+pk_2_name=a", "gid"),
        ("view_grp", "pk_gid=1+pk_2_name=b", "name"),
        ("memo", "no=1", "text"),
        ("B.memo", "no=1", "text"),
        ("a.memo", "no=1", "text"),
        ("bad", "a=1", "x"),
        ("bad", "a=1+b=2", "x"),
        ("odd", "pk_gone=1", "x"),
    )
    lake = FakeLake({"event_log": event_log, "usr": snapshot})
    assert run(project(tmp_path, IDM), lake) == 1
    said = capsys.readouterr().out
    assert "idm.usr: IDU, by table_key of 2 rows" in said
    assert "idm.view_grp: gid, name, by table_key of 2 rows" in said
    assert "idm.memo: no, by table_key of 3 rows" in said
    assert "the log has rows of a.memo, b.memo: they are taken for one table" in said
    assert "indirect.usr" not in said
    assert "snapshot is left out: landing has no table memo" in said
    assert "columns are those that the log names, as string" in said
    assert "idm.bad: not written: the key is not known: the names in table_key do not agree" in said
    assert "table_key names pk_gone, which is no column of the table" in said
    call = " ".join(call_of(tmp_path, "usr__changes").split())
    assert "table='usr', key=['IDU'], columns={'IDU': 'int', 'fname': 'string'}" in call
    assert "snapshot=source('idm', 'usr')" in call
    assert "columns={'no': 'string', 'text': 'string'}" in call_of(tmp_path, "memo__changes")
    assert "spark_cdc.netiq_event_log( ref('idm_log')," in call


# Db2, GBase


def test_keys_of_db2_and_gbase_have_to_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = """
sources:
  - name: asn
    decoder: db2_capture_table
    schema: landing
    tables: "*_cd"
    landing_columns: [landed_at]
    arguments: {unit_of_work: uow}
    table_settings: {orders: {key: [ID]}, texts: {key: [no]}}
  - name: db2
    decoder: db2_log_table
    schema: landing
    tables: "*__log"
    arguments: {base: "{table}"}
  - name: bank
    decoder: gbase_capture
    schema: landing
    relation: chunks
    table_settings:
      accounts: {key: [id], columns: {id: int}, arguments: {table_id: 7}}
      empty: {key: [id], arguments: {table_id: 8}}
"""
    cd = {f"ibmsnap_{name}": "binary" for name in ("commitseq", "intentseq", "operation")}
    lake = FakeLake(
        {
            "orders_cd": Landed(
                {**cd, "id": "int", "Xid": "int", "xy": "int", "landed_at": "int"},
                [{"ibmsnap_operation": "I", "id": 1, "Xid": None, "xy": 7}],
            ),
            "texts_cd": Landed({**cd, "PK01": "int"}),
            "parts_cd": Landed({**cd, "id": "int"}),
            "other_cd": Landed({"id": "int"}),
            "odd__log": Landed({"operation": "int", "pk01": "int"}),
            "uow": Landed({"ibmsnap_commitseq": "binary", "ibmsnap_authid": "string"}),
            "chunks": Landed(
                {"capture_id": "string", "chunk_number": "bigint", "payload": "binary"}
            ),
        }
    )
    assert run(project(tmp_path, config), lake) == 1
    said = capsys.readouterr().out
    assert "asn.parts: not written: the key is not known: Db2 does not name it" in said
    assert "asn.other: not written: it has no column ibmsnap_commitseq" in said
    assert "db2.odd: not written: it has no column time" in said
    assert "bank.empty: not written: table_settings has no columns for it" in said
    call = call_of(tmp_path, "orders__changes")
    assert "columns={'id': 'int', 'xy': 'int'}" in call
    assert "before_prefix='X'" in call
    assert "before columns are Xid: NULL in all 1 inserts" in said
    assert "unit_of_work=ref('asn_uow_log')" in call
    assert "spark_cdc.raw_log(source('asn', 'uow'))" in call_of(tmp_path, "asn_uow_log")
    call = call_of(tmp_path, "accounts__changes")
    given = "ref('bank_log'), table_id=7, key=['id'], columns={'id': 'int'}"
    assert f"{{{{ spark_cdc.gbase_capture({given}) }}}}" in call
    call = " ".join(call_of(tmp_path, "texts__changes").split())
    assert "spark_cdc.db2_capture_table(ref('texts__log'), key=['no']," in call
    texts = written(tmp_path)["models/asn/texts/texts.yml"]
    assert "{name: no, data_type: int, description: The key}" in texts.replace('"', "")
    assert "apply_qual" not in texts and "authid: string" in texts


XREF = {f"ibmsnap_{name}": "binary" for name in ("commitseq", "intentseq", "operation")}
XREF |= {"id": "int", "xid": "int", "v": "string"}


def inserted(xid: int | None, **more: Any) -> dict[str, Any]:
    return {"ibmsnap_operation": "I", "id": 1, "xid": xid, "v": "a", "xv": None, **more}


@pytest.mark.parametrize(
    ("columns", "rows", "settings", "call", "note"),
    [
        # a value in an insert: a column of the table
        (XREF, [inserted(77), inserted(None)], "", "before_prefix=none", "no before column of id"),
        (XREF, [inserted(None)], "", "before_prefix='X'", "xid: NULL in all 1 inserts"),
        # the same with a before column
        (
            {**XREF, "xv": "string"},
            [inserted(77)],
            "",
            "columns={'id': 'int', 'xid': 'int', 'v': 'string'}, before_prefix='X'",
            "before columns are xv",
        ),
        # each column has one, so the decoder needs no argument
        (
            {**XREF, "xv": "string"},
            [],
            "",
            "key=['id'])",
            "xid, xv: by name, as there is no insert",
        ),
        # the settings tell, or are wrong
        (XREF, [], ", arguments: {before_prefix: x}", "before_prefix='x'", "xid: by name"),
        (XREF, [inserted(1)], ", arguments: {before_prefix: X}", "=none", "1 inserts have a value"),
        (XREF, [], ", arguments: {before_prefix: null}", "before_prefix=none", ""),
        (XREF, [inserted(1)], ", columns: {id: int}", "before_prefix=none", "no before column"),
        (XREF, [], ", columns: {id: int, xid: int}", "'xid': 'int'})", ""),
    ],
)
def test_inserts_tell_what_a_before_column_is(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    columns: dict[str, str],
    rows: list[dict[str, Any]],
    settings: str,
    call: str,
    note: str,
) -> None:
    config = f"""
sources:
  - name: asn
    decoder: db2_capture_table
    schema: landing
    tables: "*_cd"
    table_settings: {{refs: {{key: [id]{settings}}}}}
"""
    lake = FakeLake({"refs_cd": Landed(columns, rows)})
    assert run(project(tmp_path, config), lake) == 0
    assert note in capsys.readouterr().out
    assert call in " ".join(call_of(tmp_path, "refs__changes").split())


@pytest.mark.parametrize(
    ("columns", "rows", "settings"),
    [
        (XREF, [], ""),
        ({**XREF, "xxid": "int"}, [inserted(None, xxid=None)], ""),
        ({**XREF, "xv": "string"}, [inserted(77)], ", columns: {id: int, v: string}"),
    ],
)
def test_before_columns_that_nothing_tells(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    columns: dict[str, str],
    rows: list[dict[str, Any]],
    settings: str,
) -> None:
    config = f"""
sources:
  - name: asn
    decoder: db2_capture_table
    schema: landing
    tables: "*_cd"
    table_settings: {{refs: {{key: [id]{settings}}}}}
"""
    lake = FakeLake({"refs_cd": Landed(columns, rows)})
    assert run(project(tmp_path, config), lake) == 1
    said = capsys.readouterr().out
    assert "not written" in said and "before columns with the prefix X, or columns" in said


def test_full_loads_are_raw_rows(tmp_path: Path) -> None:
    """They have a raw log, as the changes have; a test finds a load that is kept current."""
    config = ERP + "    arguments: {full_load: '{table}', full_load_at: load_time}\n"
    lake = FakeLake(
        {
            "orders__ct": change_table(ORDERS, ["order_id"]),
            "orders": Landed({**ORDERS, "load_time": "timestamp"}),
        }
    )
    folder = project(tmp_path, config)
    assert run(folder, lake) == 0
    call = " ".join(call_of(folder, "orders__changes").split())
    assert "full_load=ref('erp_orders_log'), full_load_at='load_time'" in call
    assert "spark_cdc.raw_log(source('erp', 'orders'))" in call_of(folder, "erp_orders_log")
    texts = written(folder)["models/erp/orders/orders.yml"]
    assert "spark_cdc.full_load_is_static: {arguments: {key: [order_id]}}" in texts
    assert "spark_cdc.full_loads_are_apart: {arguments: {key: [order_id]}}" in texts
    assert run(folder, lake, "--check") == 0


def test_types_of_qlik_are_types_of_spark() -> None:
    known: dict[str, Any] = {"precision": 10, "scale": 3}
    exact = {name: qlik.spark_type({"type": name, **known}, "timestamp") for name in qlik.TYPES}
    assert all(note == "" for _, note in exact.values())
    assert qlik.spark_type({"type": "NUMERIC", **known}, "x") == ("decimal(10,3)", "")
    assert qlik.spark_type({"type": "DATETIME"}, "timestamp_ntz") == ("timestamp_ntz", "")
    assert qlik.spark_type({"type": "GEOMETRY"}, "x") == (
        "string",
        "type GEOMETRY is taken as string",
    )
