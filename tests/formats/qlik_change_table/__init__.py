"""Qlik Replicate change tables: their interface to the laws."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from kit.formats import Blocks, Case, Deliveries, Format, Relation, raw_counts, without_metadata
from kit.landing import batches
from simulation import database

from formats.qlik_change_table import generic_tests, loads, vector_units, writer
from formats.qlik_change_table.loads import Shape
from formats.qlik_change_table.writer import Delivery, Layout

DECODER = "qlik_change_table"


def case(
    seed: int,
    name: str,
    table: database.Table,
    layout: Layout,
    delivery: Delivery,
    arguments: str = "",
    layout_is_told: Mapping[str, Any] | None = None,
    **options: Any,
) -> Case:
    """A change table of a simulated database; the layout for tests of its masks, if these pass."""
    rng = random.Random(f"{seed} {name}")
    workload = database.generate(table, rng, **{"transactions": 60, **options})
    written = writer.write(workload, rng, layout, delivery)
    return Case(
        name=name,
        table=table,
        relations={"raw": Relation(written.columns, written.rows)},
        arguments=f"key={list(table.key)}{arguments}",
        events=list(map(without_metadata, written.events)),
        quarantine=[reason for reason, _ in written.quarantine],
        raw_counts=written.raw_counts,
        workload=workload if written.is_faithful else None,
        positions=written.positions,
        generic_tests=[] if layout_is_told is None else tests_of_masks(table, layout_is_told),
        mixes=delivery.interleave == "any",
    )


def tests_of_masks(
    table: database.Table, layout: Mapping[str, Any]
) -> list[tuple[str, str, Mapping[str, Any]]]:
    """The tests of the raw table."""
    return [
        ("__raw", "qlik_mask_byte_order_fits", layout),
        ("__raw", "qlik_delete_bits_are_key", {"key": list(table.key), **layout}),
    ]


def cases(seed: int) -> Iterator[Case]:
    """Change tables of several layouts and shapes."""
    every_bad_row = dict.fromkeys(writer.possible_bad_rows(Layout()), 2)
    yield case(
        seed,
        "orders",
        database.ORDERS,
        Layout(),
        Delivery(interleave="any", duplicates=0.1, shuffle=True, bad_rows=every_bad_row),
    )
    yield case(
        seed,
        "odd_names",
        database.ODD_NAMES,
        Layout(
            prefix="hd_",
            mask_form="binary",
            mask_byte_order="little",
            header=("change_seq", "change_oper", "change_mask", "operation", "transaction_id"),
        ),
        Delivery(duplicates=0.1, shuffle=True),
        ", header_prefix='hd_'",
        {"header_prefix": "hd_"},
    )
    yield case(
        seed,
        "all_types",
        database.ALL_TYPES,
        Layout(mask_form="binary", mask_byte_order="big", mask_varied=True, anonymous_rate=0.1),
        Delivery(interleave="disjoint", shuffle=True),
        ", mask_byte_order='big'",
    )
    yield case(
        seed,
        "two_columns",
        database.wide_table(2),
        Layout(behind=("partition_name",), before_images=False, mask_null_rate=0.3),
        Delivery(shuffle=True, duplicates=0.5),
        "",
        {},
    )
    yield case(
        seed,
        "many_columns",
        database.wide_table(130),  # masks of more than 128 bits
        Layout(),
        Delivery(shuffle=True, duplicates=0.1),
    )
    # Many keys, most of them plain: both ways through `_versions` in one table.
    plain = case(
        seed,
        "plain_keys",
        database.ORDERS,
        Layout(),
        Delivery(shuffle=True),
        transactions=150,
        key_space=200,
        without=(
            *("truncate", "reload", "shift", "swap", "several_changes"),
            *("move_and_back", "there_and_back", "undone_insert"),
        ),
    )
    touched = Counter(
        (key, event["cdc_commit_sequence"])
        for event in plain.events
        for key in {plain.table.key_of(event), plain.table.key_of(event["cdc_before"] or event)}
    )
    entangled = {key for (key, _), times in touched.items() if times > 1}
    assert 0 < len(entangled) < 0.8 * len({key for key, _ in touched})
    yield plain
    yield loaded_case(seed, "loaded", database.ORDERS, Shape(as_text=["order_id", "amount"]))
    lacking = Shape(lacks=["quantity"])
    yield loaded_case(seed, "loaded_positions", database.POSITIONS, lacking, loses=False)
    yield loaded_case(seed, "loaded_nulls", database.POSITIONS, SOME_NULLS, loses=False)


LOADED = ", full_load={full_load}, full_load_at='load_time'"
SOME_NULLS = Shape(nulls={"warehouse": "k0", "day": date(2024, 1, 2)})


def loaded_case(
    seed: int, name: str, table: database.Table, shape: Shape, loses: bool = True
) -> Case:
    """A change table with three full loads. Between two of them changes may be lost."""
    rng = random.Random(f"{seed} {name}")
    delivery = Delivery(duplicates=0.1, shuffle=True)

    def make() -> tuple[database.Workload, writer.ChangeTable]:
        workload = database.generate(table, rng, transactions=60, key_space=40)
        return workload, writer.write(workload, rng, delivery=delivery)

    workload, written = loads.with_moments(make)
    made = loads.write(workload, written, rng, shape=shape)
    lost, _ = loads.lost_between(workload, written, made[1], made[2]) if loses else (set(), set())
    nulls = {"null_keys": True} if shape.nulls else {}
    key = {"key": list(table.key), **nulls}
    rows = [shape.nulled(row) for row in written.rows if row["header__change_seq"] not in lost]
    events = [
        shape.nulled(one) | {"cdc_before": one["cdc_before"] and shape.nulled(one["cdc_before"])}
        for one in written.events
        if one["cdc_sequence"] not in lost
    ]
    loaded = [row for load in made for row in load.rows]
    quarantine = [reason for load in made for reason in load.quarantine]
    return Case(
        name=name,
        table=table,
        relations={
            "raw": Relation(written.columns, rows),
            "full_load": Relation(shape.columns(table), loaded),
        },
        arguments=f"key={list(table.key)}{LOADED}{', null_keys=true' if shape.nulls else ''}",
        events=[
            without_metadata(one)
            for one in [*events, *(event for load in made for event in load.events)]
        ],
        quarantine=quarantine,
        raw_counts=raw_counts(len(rows) + len(loaded), len(quarantine)),
        counted=("full_load",),
        null_keys=bool(shape.nulls),
        generic_tests=[]
        if loses
        else [
            *tests_of_masks(table, {}),
            ("_changes", "full_load_is_static", {**key, "minutes": 0}),
            ("_changes", "full_loads_are_apart", {"key": list(table.key), "minutes": 0}),
        ],
    )


def deliveries(rng: random.Random) -> Deliveries:
    """Shuffled and repeated rows in three batches, and three loads, the last one in two parts.

    Rows that were read leave both relations before the last batch.
    """
    layout = Layout()
    bad = dict.fromkeys(writer.possible_bad_rows(layout), 2)
    delivery = Delivery(interleave="any", duplicates=0.1, bad_rows=bad)
    table = rng.choice((database.ORDERS, database.POSITIONS))

    def make() -> tuple[database.Workload, writer.ChangeTable]:
        workload = database.generate(table, rng, transactions=80)
        return workload, writer.write(workload, rng, layout, delivery)

    workload, written = loads.with_moments(make)
    shape = rng.choice((Shape(), Shape(lacks=table.attributes[:1])))
    first, second, third = loads.write(workload, written, rng, shape=shape)
    # the first load arrives late, and has a repeated row; the third one in two parts
    landed = [second.rows, first.rows + first.rows[:1] + third.rows[:-4], third.rows[-4:]]
    return Deliveries(
        name="change_table",
        table=table,
        columns={"raw": written.columns, "full_load": shape.columns(table)},
        arguments=f"key={list(table.key)}{LOADED}",
        batches=[
            {"raw": list(map(dict, part)), "full_load": list(map(dict, loaded))}
            for part, loaded in zip(batches(written.rows, rng, 3), landed, strict=True)
        ],
        leaves=(2,),
        inputs=("full_load",),
    )


HEADERS: dict[str, str | None] = {"header__change_seq": "string", "header__change_oper": "string"}
TABLE: dict[str, str | None] = {"id": "bigint", "note": "string"}

DECLARED: dict[str, dict[str, str | None]] = {
    "ct": HEADERS | TABLE,
    "masked": HEADERS | {"header__change_mask": "string", "at": "timestamp"} | TABLE,
    "undeclared": {},
    "untyped": HEADERS | {"id": None},
    "reserved": HEADERS | TABLE | {"CDC_note": "string"},
    "expanded": HEADERS | TABLE | {"${env:HOME}": "int"},
    "has_map": HEADERS | TABLE | {"labels": "map<string,int>"},
    "has_deep_map": HEADERS | TABLE | {"labels": "array<map<string,int>>"},
    "has_variant": HEADERS | TABLE | {"anything": "variant"},
    "has_deep_variant": HEADERS | TABLE | {"anything": "struct<variant: array<variant>>"},
    "has_field_variant": HEADERS | TABLE | {"anything": "struct<`a`: variant not null>"},
    "nested": HEADERS | {"id": "int", "tags": "array<string>", "o": "struct<a:int, b:int>"},
    "two_alike": HEADERS | {"id": "int", "Note": "string", "note": "string"},
    "broken_name": HEADERS | {"id": "int", "order\nno": "string"},
    "numbered": HEADERS | {"id": "NUMBER(10)"},
    "packed": HEADERS | {"id": "int", "due": "int", "at": "date", "flag": "boolean"},
    "others": HEADERS
    | {
        **{"id": "int", "n": "bigint", "x": "double", "d": "decimal(9,0)", "b": "binary"},
        **{"t": "timestamp", "l": "timestamp_ntz", "lasts": "interval day to second"},
    },
    "loaded_numbers": {"id": "bigint", "note": "string", "snapshot": "int", "b": "binary"},
    "loaded": TABLE | {"load_time": "timestamp"},
    "loaded_headers": TABLE | {"header__CHANGE_seq": "string"},
    "loaded_reserved": TABLE | {"cdc_batch": "string"},
    "loaded_alike": TABLE | {"NOTE": "string"},
    "loaded_dates": {"id": "date", "note": "string"},
    "no_headers": TABLE,
    "no_operation": {"header__change_seq": "string", **TABLE},
    "headers_only": HEADERS,
}

WRONG_CALLS = [
    ("ct, key=['id', 'nr']", "key names the column nr, which does not exist"),
    ("ct, key=['header__change_seq']", "key names the column header__change_seq, which does not"),
    ("ct, key=[]", "key is empty"),
    ("ct, key=none", "key is empty"),
    ("ct, key='id'", "key is id"),
    ("ct, key=7", "key is 7"),
    ("ct, key=['id', 'ID']", "key names ID twice"),
    ("undeclared, key=['id']", "neither exists nor has declared columns"),
    ("'erp.orders__ct', key=['id']", "the relation is a text, erp.orders__ct"),
    ("none, key=['id']", "the relation is None"),
    ("untyped, key=['id']", "its YAML declares no data_type for id"),
    ("ct, key=['id'], mask_byte_order='middle'", "mask_byte_order is middle"),
    ("ct, key=['id'], mask_byte_order='BIG'", "mask_byte_order is BIG"),
    ("ct, key=['id'], header_columns=0", "header_columns is 0"),
    ("ct, key=['id'], header_columns='7'", "header_columns is 7"),
    ("ct, key=['id'], header_columns=true", "header_columns is True"),
    ("ct, key=['id'], mask_columns='id'", "mask_columns is id"),
    ("ct, key=['id'], mask_columns=[]", "mask_columns is []"),
    ("ct, key=['id'], mask_columns=['id', 7]", "mask_columns is ['id', 7]"),
    ("ct, key=['id'], mask_columns=['id', 'ID']", "mask_columns has id twice"),
    ("ct, key=['id'], mask_columns=['note']", "key names the column id"),
    ("masked, ['id'], {'id': 'int', 'note': 'int'}", "has at before id, and columns leaves it out"),
    ("masked, ['id'], {'id': 'int'}, mask_columns=['note']", "mask_columns has no id, which is in"),
    ("ct, key=['id'], header_prefix=none", "header_prefix is None"),
    ("ct, key=['id'], header_prefix=''", "header_prefix is '' and header_columns is none"),
    ("ct, key=['id'], header_prefix='hdr_'", "has no column hdr_change_seq"),
    ("no_headers, key=['id']", "has no column header__change_seq"),
    ("no_operation, key=['id']", "neither header__change_oper nor header__operation"),
    ("headers_only, key=['id']", "has header columns only"),
    ("reserved, key=['id']", "the column CDC_note begins with cdc_, which is reserved"),
    ("expanded, key=['id']", "Spark would replace a part of the name of the column ${env:HOME}"),
    ("has_map, key=['id']", "the column labels is of type map<string,int>"),
    ("has_deep_map, key=['id']", "the column labels is of type array<map<string,int>>"),
    ("has_variant, key=['id']", "the column anything is of type variant"),
    ("has_deep_variant, key=['id']", "is of type struct<variant: array<variant>>, which has no"),
    ("has_field_variant, key=['id']", "is of type struct<`a`: variant not null>, which has no"),
    ("ct, key=['id'], qlik_sparse_updates='false'", "qlik_sparse_updates is false"),
    ("ct, key=['id'], null_keys='yes'", "null_keys is yes"),
    ("ct, key=['id'], full_load='erp.orders'", "the relation is a text, erp.orders"),
    ("ct, key=['id'], full_load=loaded, full_load_at=7", "full_load_at is 7"),
    ("ct, key=['id'], full_load=loaded, full_load_at=' '", "full_load_at is empty"),
    ("ct, key=['id'], full_load_at='at'", "full_load_at is at and full_load is none"),
    ("ct, ['id'], full_load=loaded, full_load_readable=0.9", "is 0.9 and full_load_at is none"),
    (
        "ct, ['id'], full_load=loaded, full_load_at='load_time', full_load_readable=90",
        "full_load_readable is 90",
    ),
    ("ct, key=['id'], full_load=loaded_headers", "has the column header__CHANGE_seq, which"),
    ("ct, key=['id'], full_load=loaded_reserved", "has the column cdc_batch, which begins with"),
    ("ct, key=['id'], full_load=loaded_alike", "full_load names the column note, but two columns"),
    ("ct, key=['id'], full_load=loaded_dates", "the column id of full_load is date and shall be"),
    ("ct, key=['id'], full_load=undeclared", "neither exists nor has declared"),
    ("packed, ['id'], full_load=no_headers, columns={'due': 'int'}", "key names the column id"),
    ("ct, key=['id'], qlik_sparse_updates=1", "qlik_sparse_updates is 1"),
    ("ct, key=['id'], qlik_sparse_updates='note'", "qlik_sparse_updates is note"),
    (
        "ct, ['id'], qlik_sparse_updates=['body']",
        "qlik_sparse_updates names the column body, which does",
    ),
    ("ct, key=['id'], columns=['id']", "columns is ['id']"),
    ("ct, key=['id'], columns={}", "columns is empty"),
    ("ct, key=['id'], columns={'id': none}", "the type of the column id is None"),
    ("ct, key=['id'], columns={'id': ''}", "the type of the column id is empty"),
    ("ct, key=['id'], columns={'id': 'bigint', 'nr': 'int'}", "columns names the column nr"),
    ("ct, key=['id'], columns={'note': 'string'}", "key names the column id"),
    ("nested, ['id'], {'id': 'int', 'tags': 'array<int>'}", "tags is array<string> and shall be"),
    ("nested, ['id'], {'id': 'int', 'o': 'struct<b: int, a: int>'}", "is struct<a:int, b:int> and"),
    ("two_alike, ['id']", "two columns are named Note, in different case"),
    ("two_alike, ['id'], {'id': 'int', 'Note': 'string'}", "the column Note, but two columns have"),
    ("ct, ['id'], {'id': 'NUMBER(10)'}", "NUMBER(10), which Spark does not know"),
    ("ct, ['id'], {'id': 'number(40,2)'}", "number(40,2), which Spark does not know"),
    ("ct, ['id'], {'id': 'int(10)'}", "int(10), which Spark does not know"),
    ("ct, ['id'], {'id': 'float(24)'}", "float(24), which Spark does not know"),
    ("ct, ['id'], {'id': 'double precision'}", "double precision, which Spark does not know"),
    ("ct, ['id'], {'id': 'text'}", "text, which Spark does not know"),
    ("ct, ['id'], {'id': 'datetime'}", "datetime, which Spark does not know"),
    ("ct, ['id'], {'id': 'varchar'}", "varchar, which Spark does not know"),
    ("ct, ['id'], {'id': 'char'}", "char, which Spark does not know"),
    ("ct, ['id'], {'id': 'varchar(0)'}", "varchar(0), which Spark does not know"),
    ("ct, ['id'], {'id': 'decimal(39)'}", "decimal(39), which Spark does not know"),
    ("ct, ['id'], {'id': 'decimal(5, 7)'}", "decimal(5, 7), which Spark does not know"),
    ("ct, ['id'], {'id': 'decimal(5,-2)'}", "decimal(5,-2), which Spark does not know"),
    ("ct, ['id'], {'id': 'void'}", "void, which Spark does not know"),
    ("ct, ['id'], {'id': 'interval'}", "interval, which Spark does not know"),
    (
        "ct, ['id'], {'id': 'interval day to year'}",
        "interval day to year, which Spark does not know",
    ),
    (
        "ct, ['id'], {'id': 'interval month to day'}",
        "interval month to day, which Spark does not know",
    ),
    ("ct, ['id'], {'id': 'string(10)'}", "string(10), which Spark does not know"),
    ("ct, ['id'], {'id': 'string collate'}", "string collate, which Spark does not know"),
    ("ct, ['id'], {'id': 'int; drop table x'}", "int; drop table x, which Spark does not know"),
    ("ct, ['id'], {'id': 'array<number>'}", "is array<number>, and number, which Spark does not"),
    ("ct, ['id'], {'id': 'array<int, int>'}", "is array<int, int>, which Spark does not know"),
    ("ct, ['id'], {'id': 'struct<a: text>'}", "is struct<a: text>, and text, which Spark does not"),
    ("ct, ['id'], {'id': 'struct<a>'}", "is struct<a>, and a, which Spark does not know"),
    ("ct, ['id'], {'id': 'struct<a: int,>'}", "is struct<a: int,>, which Spark does not know"),
    ("ct, ['id'], {'id': 'array<int'}", "is array<int, which Spark does not know"),
    ("ct, ['id'], {'id': 'NUMBER(10)'}", "columns={'id': 'decimal(10, 0)'}"),
    ("ct, ['id'], {'id': 'VARCHAR2(10 CHAR)'}", "columns={'id': 'string'}"),
    ("ct, ['id'], {'id': 'datetime2(7)'}", "columns={'id': 'timestamp'}"),
    ("numbered, ['id']", "that its YAML declares for id is NUMBER(10), which Spark does not know"),
    ("numbered, ['id'], {'id': 'int'}", "that its YAML declares for id is NUMBER(10), which Spark"),
    ("packed, ['id'], {'id': 'int', 'due': 'date'}", "the column due is int and shall be date"),
    ("packed, ['id'], {'id': 'int', 'at': 'int'}", "the column at is date and shall be int"),
    (
        "packed, ['id'], {'id': 'int', 'flag': 'timestamp'}",
        "flag is boolean and shall be timestamp",
    ),
    *(
        (f"others, ['id'], {{'id': 'int', '{name}': '{wanted}'}}", said)
        for name, wanted, said in (
            ("n", "timestamp", "timestamp_seconds(n) as n from"),
            ("x", "timestamp", "the column x is double and shall be timestamp"),
            ("d", "timestamp_ntz", "the column d is decimal(9,0) and shall be timestamp_ntz"),
            ("n", "date", "to_date(cast(n as string), 'yyyyMMdd') as n from"),
            ("n", "interval day to second", "n is bigint and shall be interval day to second"),
            ("b", "string", "hex(b) as b from"),
            ("b", "int", "the column b is binary and shall be int"),
            ("t", "bigint", "unix_micros(t) as t from"),
            ("t", "double", "the column t is timestamp and shall be double"),
            ("l", "decimal(20,6)", "the column l is timestamp_ntz and shall be decimal(20,6)"),
            ("lasts", "string", "lasts is interval day to second and shall be string"),
            ("lasts", "interval hour to second", "and shall be interval hour to second"),
        )
    ),
    (
        "ct, ['id'], full_load=loaded_numbers, full_load_at='snapshot'",
        "full_load_at is snapshot, a column of type int",
    ),
    (
        "ct, ['id'], full_load=loaded_numbers, full_load_at='`b`'",
        "full_load_at is b, a column of type binary",
    ),
    ("broken_name, ['id'], {'id': 'int'}", 'a line break in the name of the column "order\\nno"'),
]


def blocks() -> Blocks:
    """Change tables whose positions and transactions differ in one place, the number of a block."""
    made = case(0, "blocks", database.ORDERS, Layout(), Delivery(shuffle=True), transactions=180)
    raw = made.relations["raw"]

    def moved(row: writer.Row, number: int) -> writer.Row:
        sequence, transaction = row["header__change_seq"], row["header__transaction_id"]
        return row | {
            "header__change_seq": f"{sequence[:16]}{number:04}{sequence[20:]}",
            "header__transaction_id": f"{number:04X}{transaction[4:]}",
        }

    sequence = raw.rows[0]["header__change_seq"]
    odd = {
        "header__change_seq": [
            sequence[:-1],
            f"{sequence}0",
            f" {sequence}",
            sequence[:20],
            "9" * 35,
        ],
        "header__change_mask": [
            "F" * 99_999,
            "0x" + "0" * 100_000 + "1",
            "FFF",
            "x'F'",
            "0x",
            "1 1",
        ],
        "header__change_oper": ["i", "IU", "B", "D", "T"],
        "header__operation": ["insert", "BEFOREIMAGE", "TRUNCATE", "DELETE"],
    }
    columns = {name: str(type_) for name, type_ in raw.columns.items()}
    return Blocks(
        columns, made.arguments, lambda number: [moved(row, number) for row in raw.rows], odd=odd
    )


FORMAT = Format(
    decoder=DECODER,
    cases=cases,
    deliveries=deliveries,
    blocks=blocks,
    declared=DECLARED,
    call="ct, key=['id']",
    wrong_calls=WRONG_CALLS,
    tested_tables=generic_tests.TABLES,
    generic_tests=generic_tests.CASES,
    hints=generic_tests.HINTS,
    vector_units={
        "qlik_change_mask": vector_units.mask_units,
        "qlik_change_seq": vector_units.sequence_units,
    },
)
