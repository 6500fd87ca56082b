"""Incremental models: what one run does and does not, on small raw tables written by SQL."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from formats.gbase_capture import reference as gbase
from kit.warehouse import ROOT, DbtRun, Warehouse
from spark_cdc_udfs.directory import wait_for

SMALL = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__operation": "string",
    "header__transaction_id": "string",
    "id": "bigint",
    "note": "string",
    "part": "varchar(9)",
    "landed": "int",
}
# With a type that not every select keeps.
PADDED = (
    "(header__change_seq string, header__change_oper string, id bigint, note string, part char(5))"
    " using parquet"
)
ANEW = "{{ config(materialized='table') }}\n"
CURRENT = "{{ spark_cdc.current_state(ref('changes'), key=['id']) }}"


def decoded(raw: str) -> str:
    """The body of a model of change events."""
    columns = "columns={'id': 'bigint', 'note': 'string'}"
    return (
        f"{{{{ spark_cdc.qlik_change_table(source('landing', '{raw}'), key=['id'], {columns}) }}}}"
    )


def quarantined(changes: str) -> str:
    """The body of a model of what is refused, from that of the change events."""
    return re.sub(r"spark_cdc\.(\w+)\(", r"spark_cdc.quarantine('\1', ", changes)


@dataclass
class Small:
    """A dbt project over small raw tables, written by SQL."""

    warehouse: Warehouse
    home: Path
    schema: str

    def write(self, models: Mapping[str, str], properties: str = "") -> None:
        folder = self.home / "models"
        folder.mkdir(exist_ok=True)
        for name, text in models.items():
            (folder / f"{name}.sql").write_text(text + "\n")
        if properties:
            (folder / "models.yml").write_text(properties)

    def begin(self, *raw: str) -> None:
        (self.home / "dbt_project.yml").write_text(
            "name: small\nversion: 0.1.0\nprofile: small\n"
            "models: {+materialized: cdc_incremental, +file_format: parquet}\n"
        )
        (self.home / "packages.yml").write_text(f"packages: [{{local: {ROOT}}}]\n")
        (self.home / "profiles.yml").write_text(
            "small: {target: thrift, outputs: {thrift: {type: spark, method: thrift, "
            f"host: {self.warehouse.host}, port: {self.warehouse.port}, schema: {self.schema}, "
            "threads: 2, query_retries: 0, poll_interval: 1}}}\n"
        )
        self.write({})
        (self.home / "models" / "landing.yml").write_text(
            f"sources: [{{name: landing, schema: {self.schema}, tables: ["
            + ", ".join(f"{{name: {name}}}" for name in raw)
            + "]}]\n"
        )
        columns = ", ".join(f"{name} {kind}" for name, kind in SMALL.items())
        self.warehouse.sql(
            f"drop schema if exists {self.schema} cascade",
            f"create schema {self.schema}",
            *(f"create table {self.schema}.{name} ({columns}) using parquet" for name in raw),
        )
        self.warehouse.dbt(self.home, "deps")

    def land(
        self,
        raw: str,
        *rows: tuple[int, str, int, str | None, str | None, int | None],
        transaction: str | None = None,
    ) -> None:
        """Insert raw rows: place, operation, id, note, part and the number of the delivery.

        Ten places share a time, within which the rows of a transaction lie. Operation T is a
        truncate.
        """
        values = ", ".join(
            f"('20260101000000{place // 10:02d}{place:019d}', '{oper.replace('T', '')}',"
            f" {'null' if oper != 'T' else _sql('TRUNCATE')}, {_sql(transaction)},"
            f" {key}, {_sql(note)}, {_sql(part)}, {_sql(landed)})"
            for place, oper, key, note, part, landed in rows
        )
        self.warehouse.sql(f"insert into {self.schema}.{raw} ({', '.join(SMALL)}) values {values}")

    @property
    def tables(self) -> Path:
        """Where the tables of the schema lie."""
        return self.warehouse.home / "server" / "warehouse" / f"{self.schema}.db"

    def notes(self, model: str) -> list[tuple[Any, ...]]:
        return self.warehouse.sql(f"select id, note from {self.schema}.{model} order by id, note")

    def stored_in(self, model: str) -> str:
        properties = dict(self.warehouse.sql(f"show tblproperties {self.schema}.{model}"))
        return str(properties["spark_cdc.stored_in"])


def _sql(value: str | int | None) -> str:
    return "null" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


@pytest.fixture
def small(warehouse: Warehouse, tmp_path: Path, request: pytest.FixtureRequest) -> Small:
    return Small(warehouse, tmp_path, f"small_{request.node.name.removeprefix('test_')[:40]}")


def test_a_watermark_says_where_new_rows_begin(small: Small) -> None:
    small.begin("one", "many", "binary")
    within = "{'column': 'landed', 'within': ['part']}"
    small.write(
        {
            "of_one": "{{ config(raw_watermark='Landed') }}\n" + decoded("one"),
            "of_many": f"{{{{ config(raw_watermark={within}) }}}}\n{decoded('many')}",
            "of_binary": "{{ config(raw_watermark='lsn') }}\n" + decoded("binary"),
        }
    )
    # no text: F0 begins a character of four bytes
    small.warehouse.sql(
        f"drop table {small.schema}.binary",
        f"create view {small.schema}.binary as select *, unhex(hex(landed + 235)) as lsn"
        f" from {small.schema}.one",
    )
    for raw in ("one", "many"):
        small.land(raw, (1, "I", 1, "first", "a", 5), (2, "I", 2, "first", "b", 7))
    small.warehouse.dbt(small.home, "run")
    late = (3, "I", 3, "below the watermark of all, not of its part", "a", 6)
    for raw in ("one", "many"):
        small.land(
            raw,
            late,
            (4, "I", 4, "below", "a", 4),
            (5, "I", 5, "at the last value", "b", 7),
            (6, "I", 6, "without one", "b", None),
            (7, "I", 7, "of a new part", "c", 1),
            (8, "I", 8, "of no part", None, 1),
        )
    small.warehouse.dbt(small.home, "run")
    assert [row[0] for row in small.notes("of_one")] == [1, 2, 5, 6]
    assert [row[0] for row in small.notes("of_binary")] == [1, 2, 5, 6]
    small.land("one", (9, "I", 9, "later", "a", 8))
    small.warehouse.dbt(small.home, "run", "--select", "of_binary")
    assert [row[0] for row in small.notes("of_binary")] == [1, 2, 5, 6, 9]
    assert [row[0] for row in small.notes("of_many")] == [1, 2, 3, 5, 6, 7, 8]


def test_files_that_others_land_are_read(small: Small) -> None:
    """Spark remembers the files of a table that it has read, and is not told of new ones."""
    raw = ("of_changes", "of_view", "of_whole")
    small.begin(*raw, "elsewhere", "seen")
    small.warehouse.sql(
        f"drop table {small.schema}.seen",
        f"create view {small.schema}.seen as select * from {small.schema}.of_view",
    )
    small.write(
        {
            "changes": decoded("of_changes"),
            "through_view": decoded("seen"),
            "whole": "{{ config(materialized='table') }}\n" + decoded("of_whole"),
        }
    )
    for name in raw:
        small.land(name, (1, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    small.land("elsewhere", (2, "I", 2, "second", "a", 1))
    for file in (small.tables / "elsewhere").glob("*.parquet"):
        for name in raw:
            shutil.copy(file, small.tables / name)
    small.warehouse.dbt(small.home, "run")
    for model in ("changes", "through_view", "whole"):
        assert small.notes(model) == [(1, "first"), (2, "second")], model


def test_what_another_server_writes_is_read(small: Small) -> None:
    small.begin("raw")
    small.write({"changes": decoded("raw"), "current": CURRENT})
    small.land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    small.land("raw", (1, "I", 1, "in conflict", "a", 1))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("current") == [(2, "first")]

    # what this run adds is as if another server had added it
    kept = "changes__cdc_r[ae]*/*.parquet"  # raw rows, and replaced events
    before = set(small.tables.glob(kept))
    small.land("raw", (2, "I", 2, "in conflict", "a", 1), (3, "I", 3, "third", "a", 1))
    small.warehouse.dbt(small.home, "run", "--select", "changes")
    assert small.notes("changes") == [(3, "third")]
    added = set(small.tables.glob(kept)) - before
    assert len({file.parent for file in added}) == 2
    for file in added:
        file.rename(file.with_name("." + file.name))
    for table in {file.parent.name for file in added}:
        name = f"{small.schema}.{table}"
        small.warehouse.sql(f"refresh table {name}", f"select * from {name}")
    for file in added:
        file.with_name("." + file.name).rename(file)

    small.warehouse.sql(f"truncate table {small.schema}.raw")
    small.land("raw", (4, "I", 4, "fourth", "a", 1))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("changes") == small.notes("current") == [(3, "third"), (4, "fourth")]

    # as the README has a model built anew from all rows that were read
    stored_in = small.stored_in("changes")
    forget = "set tblproperties ('spark_cdc.definition' = '')"
    small.warehouse.sql(f"alter view {small.schema}.changes {forget}")
    small.warehouse.dbt(small.home, "run", "--select", "changes")
    assert small.stored_in("changes") != stored_in
    assert small.notes("changes") == [(3, "third"), (4, "fourth")]


def test_small_files_of_raw_rows_are_put_together(small: Small) -> None:
    small.begin("raw")
    raw, models = f"{small.schema}.raw", ("changes", "quarantine")
    small.warehouse.sql(f"drop table {raw}", f"create table {raw} {PADDED}")
    bad = quarantined(decoded("raw"))
    small.write({"changes": decoded("raw"), "quarantine": bad})

    def run(place: int, note: str) -> list[str]:
        """Land a good and a bad row, which then leave; give where the rows read are kept."""
        change = f"'20260101000000{place // 10:02d}{place:019d}', 'I', {place}, '{note}', 'abc'"
        small.warehouse.sql(f"insert into {raw} values ({change}), ('bad', 'I', 0, '{note}', 'd')")
        small.warehouse.dbt(small.home, "run")
        small.warehouse.sql(f"truncate table {raw}")
        return sorted(path.name for path in small.tables.glob("*__cdc_raw_*"))

    first = run(1, "first")
    for model in models:
        often = "set tblproperties ('spark_cdc.raw_added_to' = '100')"
        small.warehouse.sql(f"alter view {small.schema}.{model} {often}")
    together = run(2, "second")
    assert len(first) == len(together) == 2 and not set(first) & set(together)
    assert run(1, "in conflict") == together
    assert small.notes("changes") == [(2, "second")]
    reasons = small.warehouse.sql(
        f"select reason, count(*) from {small.schema}.quarantine group by reason order by reason"
    )
    assert reasons == [("bad_change_seq", 3), ("sequence_conflict", 2)]


def test_nothing_new_writes_nothing(small: Small) -> None:
    small.begin("raw")
    small.write(
        {
            "changes": decoded("raw"),
            "passed_on": "{{ config(materialized='view') }}\n"
            "select *, id % 2 as odd from {{ ref('changes') }} where id <> {{ var('without', 0) }}",
            "current": "{{ spark_cdc.current_state(ref('passed_on'), key=['id']) }}",
        }
    )
    small.warehouse.dbt(small.home, "run", "--empty")
    small.land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "b", 1))
    small.warehouse.dbt(small.home, "run", "--empty")
    assert small.notes("current") == []
    small.warehouse.dbt(small.home, "run")
    assert small.notes("current") == [(1, "first"), (2, "first")]
    before = [small.stored_in(model) for model in ("changes", "current")]
    log = small.warehouse.home / "dbt" / small.home.name / "logs" / "dbt.log"
    left = f"{small.schema}.current__cdc_touched_20260101"
    for is_clean in (False, True):
        if not is_clean:  # a run that is killed leaves such
            small.warehouse.sql(f"create table {left} (id bigint) using parquet")
        said = len(log.read_text(encoding="utf-8"))
        small.warehouse.dbt(small.home, "run")
        said_since = log.read_text(encoding="utf-8")[said:]
        made = said_since.count(f"create table {small.schema}.current__")
        assert made == (0 if is_clean else 1)
        assert "changes__cdc_read_" not in said_since  # where raw rows are copied
        assert small.warehouse.sql(f"show tables in {small.schema} like '*_20260101'") == []
    assert [small.stored_in(model) for model in ("changes", "current")] == before
    small.land("raw", (3, "U", 1, "second", "a", 2), (2, "I", 2, "first", "b", 1))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("current") == [(1, "second"), (2, "first")]
    assert small.warehouse.sql(f"select distinct odd from {small.schema}.current order by odd") == [
        (0,),
        (1,),
    ]
    tables = {row[1] for row in small.warehouse.sql(f"show tables in {small.schema}")}
    helpers = {name.split("__cdc_")[1] for name in tables if "__cdc_" in name}
    versions = {name for name in helpers if not name.startswith("raw_")}
    # the table and the one before it, of each model; nothing that a run needed for itself
    assert len(versions) == 4 and all(name.isdigit() for name in versions)
    # the view is another now, though its file is not: that is news
    small.warehouse.dbt(small.home, "run", "--vars", "{without: 2}")
    assert small.notes("current") == [(1, "second")]


def test_later_batches_compare_greater_where_the_clock_goes_back(small: Small) -> None:
    small.begin("raw")
    small.write({"changes": decoded("raw"), "current": CURRENT})
    small.land("raw", (1, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    stored, ahead = f"{small.schema}.{small.stored_in('changes')}", f"{small.schema}.ahead"
    last = "2999-01-01T00:00:00.000000Z"
    small.warehouse.sql(
        f"create table {ahead} using parquet as"
        f" select * except (cdc_batch), '{last}' as cdc_batch from {stored}",
        f"insert overwrite {stored} by name select * from {ahead}",
    )
    for place, options in enumerate(((), (), ("--full-refresh",)), start=2):
        small.land("raw", (place, "U", 1, f"at {place}", "a", 1))
        small.warehouse.dbt(small.home, "run", *options)
        newest = f"select max(cdc_batch) from {small.schema}.changes"
        ((batch,),) = small.warehouse.sql(newest)
        assert batch > last
        last = batch
        assert small.notes("current") == [(1, f"at {place}")]
    # a batch that only takes an event back leaves its number elsewhere
    small.land("raw", (4, "U", 1, "in conflict", "a", 1))
    small.warehouse.dbt(small.home, "run", "--select", "changes")
    replaced = f"{small.schema}.changes__cdc_replaced"
    small.warehouse.sql(
        f"create table {ahead}_replaced using parquet as"
        f" select * except (cdc_batch), '3999' as cdc_batch from {replaced}",
        f"insert overwrite {replaced} by name select * from {ahead}_replaced",
    )
    for place in (5, 6):
        small.warehouse.dbt(small.home, "run")
        assert small.notes("current") == [(1, "at 3" if place == 5 else "at 5")]
        small.land("raw", (place, "U", 1, f"at {place}", "a", 1))


# As the README has it, but for the names, and a character that keys may have.
WITH_LOAD = """{{{{ config(materialized='view') }}}}
select
    cdc_source, cdc_operation, cdc_sequence, cdc_commit_sequence, cdc_commit_at, cdc_transaction_id,
    cdc_changed_columns, cdc_present_columns, cdc_before, cdc_metadata, cdc_batch, id, note
from {{{{ ref('changes') }}}}
union all
select
    'qlik_change_table', 'load', concat(repeat('0', 35), '.~', id), repeat('0', 35),
    timestamp'2026-01-01 00:00:00Z', null, null, null, null, null, '', id, note
from {loaded}
"""


def test_a_full_load_lies_under_the_changes(small: Small) -> None:
    small.begin("raw")
    table = f"{small.schema}.loaded"
    small.warehouse.sql(
        f"create table {table} using parquet as select * from values"
        " (1L, 'loaded'), (2L, 'loaded'), (7L, 'loaded') as rows (id, note)"
    )
    applied = "{{{{ spark_cdc.{}(ref('{}'), key=['id']) }}}}"
    small.write(
        {
            "changes": decoded("raw"),
            "with_load": WITH_LOAD.format(loaded=table),
            "current": applied.format("current_state", "with_load"),
            "history": applied.format("history", "with_load"),
            "current_anew": ANEW + applied.format("current_state", "with_load"),
            "history_anew": ANEW + applied.format("history", "with_load"),
        }
    )
    small.land("raw", (1, "U", 1, "updated", "a", 1), (2, "I", 3, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("current") == [(1, "updated"), (2, "loaded"), (3, "first"), (7, "loaded")]
    small.land("raw", (3, "D", 2, None, "a", 2), (4, "U", 3, "second", "a", 2))
    small.land("raw", (5, "U", 7, "loaded", "a", 2))
    log = small.warehouse.home / "dbt" / small.home.name / "logs" / "dbt.log"
    said = len(log.read_text(encoding="utf-8"))
    small.warehouse.dbt(small.home, "run")
    assert "current__cdc_touched_" in log.read_text(encoding="utf-8")[said:]  # an increment
    assert small.notes("current") == [(1, "updated"), (3, "second"), (7, "loaded")]
    for model in ("current", "history"):
        built = f"select * from {small.schema}.{model}"
        assert not small.warehouse.difference(built, f"{built}_anew")
    assert small.warehouse.sql(
        f"select note, cdc_operation, cdc_ended_by from {small.schema}.history"
        " where id <= 2 order by id, cdc_valid_from_sequence"
    ) == [("loaded", "load", "update"), ("updated", "update", None), ("loaded", "load", "delete")]


def test_a_version_outlives_a_truncate_once(small: Small) -> None:
    small.begin("raw")
    history = CURRENT.replace("current_state", "history")
    small.write({"changes": decoded("raw"), "history": history, "current": CURRENT})
    small.land("raw", (10, "I", 1, "same", "a", 1))
    small.warehouse.dbt(small.home, "run")
    # made good by the transaction that makes it, which comes in parts
    small.land("raw", (20, "T", 0, None, "a", 2), transaction="X")
    small.warehouse.dbt(small.home, "run")
    assert small.notes("current") == []
    small.land("raw", (21, "I", 1, "same", "a", 2), transaction="X")
    small.warehouse.dbt(small.home, "run")
    known = f"select id, right(cdc_sequence, 2), cdc_operation from {small.schema}.current"
    assert small.warehouse.sql(known) == [(1, "10", "insert")]
    # of this key nothing new but what changes nothing; of another, what lies before the truncate
    small.land("raw", (30, "U", 1, "other", "a", 3), (31, "U", 1, "same", "a", 3), transaction="Y")
    small.land("raw", (11, "I", 2, "late", "a", 3))
    small.warehouse.dbt(small.home, "run")
    found = small.warehouse.sql(
        "select id, right(cdc_valid_from_sequence, 2), right(cdc_valid_to_sequence, 2),"
        f" cdc_ended_by from {small.schema}.history order by id"
    )
    assert found == [(1, "10", None, None), (2, "11", "20", "truncate")]


def test_a_new_column_comes_in_and_a_lost_one_stops(small: Small) -> None:
    small.begin("raw")
    call = "spark_cdc.qlik_change_table(source('landing', 'raw'), key=['id'])"
    small.write(
        {
            "changes": f"{{{{ {call} }}}}",
            "current": CURRENT,
        }
    )
    raw = f"{small.schema}.raw"
    # of so many fields Spark does not describe all
    wide = f"struct<{', '.join(f'f{number}: int' for number in range(30))}>"
    small.warehouse.sql(f"alter table {raw} add columns (wide {wide})")
    small.land("raw", (1, "I", 1, "first", "a", 1), (2, "I", 2, "first", "b", 1))
    small.warehouse.dbt(small.home, "run")

    def make_again(**types: str) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in (SMALL | types).items())
        small.warehouse.sql(f"drop table {raw}", f"create table {raw} ({columns}) using parquet")

    added = {"part": "varchar(30)", "wide": wide}
    added |= {"extra": "date", "code": "char(2)", "tags": "array<int>"}
    make_again(**added)
    small.warehouse.sql(
        f"insert into {raw} select '2026010100000003' || lpad('30', 19, '0'), 'U', null, null, 2,"
        " 'second', 'more than nine letters', 2, null, date'2026-01-01', 'c', array(1)"
    )
    small.warehouse.dbt(small.home, "run")
    found = small.warehouse.sql(
        f"select id, part, cast(extra as string), code from {small.schema}.current order by id"
    )
    assert found == [(1, "a", None, None), (2, "more than nine letters", "2026-01-01", "c ")]
    small.write({"changes": decoded("raw").replace("bigint", "string")})
    run = small.warehouse.dbt(small.home, "run", check=False)
    assert run.code != 0
    assert "has the column id of type bigint, which is now string; and part, which" in run.output
    assert "--full-refresh" in run.output
    small.warehouse.dbt(small.home, "run", "--full-refresh")
    assert small.notes("current") == [("2", "second")]
    for column, before, after in (
        ("code", "char(2)", "char(3)"),
        ("landed", "int", "bigint"),
        ("tags", "array<int>", "array<bigint>"),
    ):
        make_again(**added | {column: after})
        run = small.warehouse.dbt(small.home, "run", check=False)
        assert run.code != 0
        assert f"the column {column} of type {before}, which is now {after}" in run.output


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_small_integers_take_a_new_column(lake: Warehouse, tmp_path: Path) -> None:
    """Iceberg has no smaller integer than int."""
    small = Small(lake, tmp_path, "small_integers")
    small.begin("raw")
    raw = f"{small.schema}.raw"
    columns = "columns={'id': 'smallint', 'part': 'tinyint'}"
    call = f"spark_cdc.qlik_change_table(source('landing', 'raw'), key=['id'], {columns})"
    config = f"{{{{ config(file_format='{lake.table_format}') }}}}\n"
    small.write({"changes": f"{config}{{{{ {call} }}}}", "current": config + CURRENT})
    small.warehouse.sql(f"alter table {raw} add columns (small smallint)")
    small.land("raw", (10, "I", 1, "first", "1", 1))
    small.warehouse.dbt(small.home, "run")
    wider = "'part': 'tinyint', 'note': 'string'}"
    small.write({"changes": f"{config}{{{{ {call} }}}}".replace("'part': 'tinyint'}", wider)})
    small.warehouse.sql(f"alter table {raw} add columns (extra tinyint)")
    small.land("raw", (20, "I", 2, "second", "2", 1))
    small.warehouse.dbt(small.home, "run")
    found = small.warehouse.sql(f"select id, part, note from {small.schema}.current order by id")
    assert found == [(1, 1, "first"), (2, 2, "second")]


def test_what_a_run_need_not_know_is_not_read(lake: Warehouse, tmp_path: Path) -> None:
    """Of three runs the last one finds the files of the first gone, where it can do without."""
    small = Small(lake, tmp_path, "small_unread")
    small.begin("raw")
    root = f"location_root='{tmp_path}/lake'"
    given = f"file_format='{lake.table_format}', raw_watermark='landed', {root}"
    config = f"{{{{ config({given}) }}}}\n"
    small.write(
        {
            "changes": config + decoded("raw"),
            "history": config + CURRENT.replace("current_state", "history"),
        }
    )
    small.land("raw", (10, "I", 1, "first", "a", 1), (20, "U", 1, "second", "a", 1))
    small.warehouse.dbt(small.home, "run")
    own = f"{lake.home}/server/warehouse/{small.schema}.db"
    unread = [
        part
        for folder in (f"{tmp_path}/lake/changes", f"{own}/changes__cdc_raw_*")
        for part in Path("/").glob(f"{folder[1:]}/**/*.parquet")
        if "_delta_log" not in part.parts
    ]

    def files_of(model: str, where: str = "true") -> list[tuple[str]]:
        """Name the files that rows are read from; folders do not say what is in Delta's."""
        rows = f"{small.schema}.{model} where {where} order by 1"
        return lake.sql(f"select distinct input_file_name() from {rows}")

    def marked() -> list[str]:
        """Name the tables that can have deletion vectors."""
        tables = [row[1] for row in lake.sql(f"show tables in {small.schema} like '*'")]
        can = "delta.feature.deletionVectors"
        found = {name: lake.sql(f"show tblproperties {small.schema}.{name}") for name in tables}
        return sorted(name for name in found if can in dict(found[name]))

    closed = files_of("history", "not cdc_is_current")
    unread += [Path(unquote(urlsplit(name).path)) for (name,) in closed]
    assert len(unread) >= 3
    assert closed
    small.land("raw", (30, "U", 1, "third", "a", 2))
    small.warehouse.dbt(small.home, "run")
    for part in unread:
        part.rename(part.with_suffix(".gone"))
    small.land("raw", (40, "U", 1, "fourth", "a", 3), (50, "I", 2, "first", "a", 3))
    small.warehouse.dbt(small.home, "run")
    for part in unread:
        part.with_suffix(".gone").rename(part)
    expected = [(1, note) for note in ("first", "fourth", "second", "third")] + [(2, "first")]
    assert small.notes("history") == small.notes("changes") == expected
    # What goes is marked, and its file stays. Of a table where that can be Delta lists all files
    # whenever it plans to read it: so only where something changes.
    is_delta = lake.table_format == "delta"
    files = files_of("changes")
    assert marked() == (["history"] if is_delta else [])
    small.land("raw", (20, "U", 1, "another", "a", 4))
    small.warehouse.dbt(small.home, "run", "--select", "changes")
    expected.remove((1, "second"))
    assert small.notes("changes") == expected
    assert files_of("changes") == files
    assert marked() == (["changes", "history"] if is_delta else [])
    # Another key, and the column that was the key is gone.
    without_id = decoded("raw").replace("['id']", "['note']").replace("'id': 'bigint', ", "")
    small.write({"changes": config + without_id})
    small.warehouse.dbt(small.home, "run", "--full-refresh", "--select", "changes")
    small.land("raw", (60, "I", 2, "fifth", "a", 5))
    small.warehouse.dbt(small.home, "run", "--select", "changes")
    found = small.warehouse.sql(f"select note from {small.schema}.changes order by cdc_sequence")
    assert [note for (note,) in found] == ["first", "third", "fourth", "first", "fifth"]


def test_a_model_moves_to_a_table_format_and_back(lake: Warehouse, tmp_path: Path) -> None:
    small = Small(lake, tmp_path, "small_moves")
    small.begin("raw")
    changes = f"{small.schema}.changes"

    def make_view_again() -> None:
        """Make it as Spark does without Iceberg's catalog, which has views of its own."""
        stored = dict(small.warehouse.sql(f"show tblproperties {changes}"))
        ours = {name: stored[name] for name in stored if name.startswith("spark_cdc.")}
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in ours.items())
        small.warehouse.sql(
            "set spark.sql.catalog.spark_catalog=builtin",  # holds for all clients
            f"drop view {changes}",
            f"create view {changes} tblproperties ({listed})"
            f" as select * from {small.schema}.{ours['spark_cdc.stored_in']}",
            "reset spark.sql.catalog.spark_catalog",
        )

    small.write({"changes": decoded("raw")})
    small.land("raw", (10, "I", 1, "first", "a", 1), (20, "I", 2, "second", "a", 1))
    small.warehouse.dbt(small.home, "run")
    expected = [(1, "first"), (2, "second")]
    if lake.table_format == "iceberg":
        make_view_again()
        small.land("raw", (30, "I", 3, "third", "a", 1))
        small.warehouse.dbt(small.home, "run")
        expected.append((3, "third"))
        make_view_again()
    small.write({"changes": f"{{{{ config(file_format='{lake.table_format}') }}}}{decoded('raw')}"})
    run = small.warehouse.dbt(small.home, "run", check=False)
    assert run.code != 0
    assert "--full-refresh" in run.output
    assert small.notes("changes") == expected
    for table_format in (lake.table_format, "parquet"):
        config = f"{{{{ config(file_format='{table_format}') }}}}"
        small.write({"changes": config + decoded("raw")})
        small.warehouse.dbt(small.home, "run", "--full-refresh")
        assert small.notes("changes") == expected
        stored = dict(small.warehouse.sql(f"show tblproperties {changes}"))
        assert stored["spark_cdc.file_format"] == table_format


# A hook that holds a run of a model from a table `<model>_waits` to one `<model>_goes_on`, for two
# minutes at most.
HOLD = """
{% macro hold() %}
  {% set waits = namespace(on=env_var('HOLDS', '') == 'yes') %}
  {% if execute and waits.on %}
    {% do run_query("create table " ~ this ~ "_waits as select 1 as one") %}
  {% endif %}
  {% for _ in range(120) %}{% if execute and waits.on %}
    {% do run_query("select reflect('java.lang.Thread', 'sleep', 1000L)") %}
    {% set there = run_query(
        "show tables in " ~ this.schema ~ " like '" ~ this.identifier ~ "_goes_on'") %}
    {% set waits.on = there | length == 0 %}
  {% endif %}{% endfor %}
  select 1
{% endmacro %}
"""


# Holds after the first statement that has this in it.
HOLD_AFTER = """
{% macro run_query(sql) %}
  {% call statement('asked', fetch_result=true, auto_begin=false) %}{{ sql }}{% endcall %}
  {% set result = load_result('asked') %}
  {% if env_var('HOLD_AFTER', '?') in sql and run_query(
      "show tables in " ~ this.schema ~ " like '" ~ this.identifier ~ "_waits'") | length == 0 %}
    {% do hold() %}
  {% endif %}
  {{ return(result.table) }}
{% endmacro %}
"""


def run_around(small: Small, model: str, do: Callable[[], object], **env: str) -> DbtRun:
    """Run a model that has HOLD in it, and meanwhile something else."""
    table = f"{small.schema}.{model}"
    with ThreadPoolExecutor() as pool:
        run = pool.submit(
            small.warehouse.dbt,
            small.home,
            *("run", "--select", model),
            env={"HOLDS": "yes", "DBT_TARGET_PATH": str(small.home / "around"), **env},
            check=False,
        )
        waits = f"show tables in {small.schema} like '{model}_waits'"
        assert wait_for(lambda: bool(small.warehouse.sql(waits)), 60)
        do()
        assert not run.done()
        small.warehouse.sql(f"create table {table}_goes_on as select 1 as one")
        return run.result()


def test_of_two_runs_at_a_time_the_first_stops(small: Small) -> None:
    small.begin("raw")
    (small.home / "macros").mkdir()
    (small.home / "macros" / "hold.sql").write_text(HOLD)
    hook = "{{ config(pre_hook='{{ hold() }}') }}\n"
    small.write({"changes": hook + decoded("raw"), "current": hook + CURRENT})
    small.land("raw", (10, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    small.land("raw", (20, "U", 1, "second", "a", 1))
    claims = f"show tables in {small.schema} like '*__cdc_run_*'"

    def run_changes() -> None:
        assert small.warehouse.sql(claims)
        small.warehouse.dbt(small.home, "run", "--select", "changes")
        small.land("raw", (30, "U", 1, "third", "a", 1))

    first = run_around(small, "changes", run_changes)
    assert first.code != 0
    assert "began after this one" in first.output
    assert small.warehouse.sql(claims) == []
    small.warehouse.dbt(small.home, "run", "--select", "changes")
    assert small.notes("changes") == [(1, "first"), (1, "second"), (1, "third")]
    # what takes hold of the model only when there is something to write
    run_current = partial(small.warehouse.dbt, small.home, "run", "--select", "current")
    first = run_around(small, "current", run_current)
    assert first.code != 0
    assert "has ended after this one began" in first.output
    run_current()
    assert small.warehouse.sql(claims) == []
    assert small.notes("current") == [(1, "third")]


# After the statement that makes a table of this name, the statements in AMID, READ being the table
# of raw rows that the run works on; killed before a statement that begins with what KILLED says.
AMID = """
{% macro run_query(sql) %}
  {% if modules.re.match(env_var('KILLED', '#'), sql | replace('`', '')) %}
    {{ exceptions.raise_compiler_error('killed') }}
  {% endif %}
  {% call statement('asked', fetch_result=true, auto_begin=false) %}{{ sql }}{% endcall %}
  {% set result = load_result('asked') %}
  {% if ('create table ' ~ this ~ '__cdc_' ~ env_var('AFTER', '?')) in sql | replace('`', '') %}
    {% set read = sql.split()[2] | replace('__cdc_' ~ env_var('AFTER'), '__cdc_read') %}
    {% for one in env_var('AMID').split(';') %}
      {% call statement('amid') %}{{ one | replace('READ', read) }}{% endcall %}
    {% endfor %}
  {% endif %}
  {{ return(result.table) }}
{% endmacro %}
"""


def test_what_is_written_amid_a_run_stops_it(lake: Warehouse, tmp_path: Path) -> None:
    """The last statement of a run that was overtaken; not what maintains a table."""
    small = Small(lake, tmp_path, "small_amid")
    small.begin("raw")
    config = f"{{{{ config(file_format='{lake.table_format}') }}}}\n"
    small.write({"changes": config + decoded("raw"), "current": config + CURRENT})
    (small.home / "macros").mkdir()
    (small.home / "macros" / "amid.sql").write_text(AMID)
    small.land("raw", (10, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    small.land("raw", (20, "I", 2, "second", "a", 1))

    def run(model: str, after: str, statement: str) -> DbtRun:
        amid = {"AFTER": after, "AMID": statement.replace("TABLE", f"{small.schema}.{model}")}
        return small.warehouse.dbt(small.home, "run", "--select", model, env=amid, check=False)

    [kept] = [
        row[1]
        for row in small.warehouse.sql(f"show tables in {small.schema}")
        if row[1].startswith("changes__cdc_raw_")
    ]
    rewritten = "update {} set note = note where id = 1"
    maintained = (
        "optimize TABLE"
        if lake.table_format == "delta"
        else f"call spark_catalog.system.rewrite_data_files(table => '{small.schema}.changes',"
        " options => map('rewrite-all', 'true'));"
        f"call spark_catalog.system.expire_snapshots(table => '{small.schema}.changes',"
        " older_than => timestamp '2100-01-01 00:00:00')"
    )
    for model, after, statement in (
        ("changes", "read", rewritten.format("TABLE")),
        ("changes", "missing", rewritten.format(f"{small.schema}.{kept}")),
        ("changes", "read", maintained),
        ("current", "touched", rewritten.format("TABLE")),
        ("current", "touched", "alter table TABLE set tblproperties ('team' = 'us')"),
    ):
        done = run(model, after, statement)
        assert (done.code != 0) == ("update" in statement), done.output
        assert ("was written while this run worked" in done.output) == (done.code != 0)
        assert small.warehouse.sql(f"show tables in {small.schema} like '*__cdc_run_*'") == []
    expected = [(1, "first"), (2, "second")]
    assert small.notes("changes") == small.notes("current") == small.notes(kept) == expected
    if lake.table_format == "delta":
        small.land("raw", (30, "I", 3, "third", "a", 1))
        table, sets = f"{small.schema}.changes", "set tblproperties ('team' = 'them')"
        history = small.warehouse.sql(f"describe history {table}")
        since = [row[4] not in ("SET TBLPROPERTIES", "OPTIMIZE") for row in history].index(True)
        small.warehouse.sql(*[f"alter table {table} {sets}"] * (19 - since))
        done = run("changes", "read", f"alter table TABLE {sets}")
        assert done.code == 0, done.output
        assert small.notes("changes") == [*expected, (3, "third")]


def test_a_row_that_another_run_adds_meanwhile_is_there_once(small: Small) -> None:
    """The last statement of a run that was overtaken adds the bad row that this one has found."""
    small.begin("raw")
    raw = f"{small.schema}.raw"
    small.write({"bad": quarantined(decoded("raw"))})
    (small.home / "macros").mkdir()
    (small.home / "macros" / "amid.sql").write_text(AMID)
    small.land("raw", (10, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    stored = dict(small.warehouse.sql(f"show tblproperties {small.schema}.bad"))
    kept = f"{small.schema}.{stored['spark_cdc.raw']}"
    adds = f"insert into {kept} select * except (cdc_is_new) from READ where cdc_is_new"
    counts = f"select (select count(*) from {small.schema}.bad), (select count(*) from {kept})"
    killed: dict[str, str] = {"KILLED": f"insert into {kept}"}
    sparse = decoded("raw").replace("key=", "qlik_sparse_updates=true, key=")
    # the call of this time; what a run before it is killed at; after which table the row is added
    for number, (call, before, after) in enumerate(
        (
            (decoded("raw"), killed, "read"),
            (decoded("raw"), {}, "increment"),
            (sparse, killed, "read"),
        )
    ):
        small.land("raw", (20 + number, "?", 2, "bad", "a", 1))
        if before:
            run = small.warehouse.dbt(small.home, "run", env=before, check=False)
            assert "killed" in run.output
        small.write({"bad": quarantined(call)})
        amid = {"AFTER": after, "AMID": adds}
        run = small.warehouse.dbt(small.home, "run", env=amid, check=False)
        assert "was written while this run worked" in run.output
        small.warehouse.dbt(small.home, "run")
        assert small.warehouse.sql(counts) == [(1 + number, 2 + number)]
    # that rows have one column more makes no old row another one
    small.warehouse.sql(f"alter table {raw} add columns (tags array<string>, at timestamp)")
    # another row: Spark's hashes pass over a null within an array; what is refused is known in
    # each zone
    for tags, zone in (("array()", "UTC"), ("array(null)", "Asia/Kolkata")):
        small.warehouse.sql(
            f"insert into {raw} select '20260101000000' || lpad('3', 21, '0'), '?', null, null, 3,"
            f" 'bad', 'a', 1, {tags}, timestamp'2026-01-01 00:00:00Z'",
            f"set spark.sql.session.timeZone={zone}",
        )
        try:
            small.warehouse.dbt(small.home, "run")
        finally:
            small.warehouse.sql("reset spark.sql.session.timeZone")
    assert small.warehouse.sql(counts) == [(5, 6)]


def test_a_stream_goes_on_from_no_state_that_does_not_fit(small: Small) -> None:
    """After a run that was killed, and of a session that others have pushed out."""
    small.begin("chunks")
    stream = "source('landing', 'chunks'), table_id=7, key=['id'], columns={'id': 'int'}"
    changes = f"{{{{ spark_cdc.gbase_capture({stream}) }}}}"
    small.write({"changes": changes, "bad": quarantined(changes)})
    (small.home / "macros").mkdir()
    (small.home / "macros" / "amid.sql").write_text(AMID)
    table = f"{small.schema}.chunks"
    small.warehouse.sql(
        f"drop table {table}",
        f"create table {table} (capture_id string, chunk_number int, payload binary) using parquet",
    )

    def land(*chunks: tuple[int, int, bytes]) -> None:
        rows = ", ".join(
            f"('c{capture:03d}', {number}, X'{payload.hex()}')"
            for capture, number, payload in chunks
        )
        small.warehouse.sql(f"insert into {table} values {rows}")

    def row(number: int, capture: int, place: int, id_: int) -> bytes:
        return gbase.row(number, 1000 * capture + place, 5, 7, struct.pack(">i", id_))

    def begun(capture: int) -> bytes:
        parts = (gbase.schema(7, "id integer", 4, 1, 0), gbase.begin(1000 * capture + 1, 5))
        return b"".join((*parts, row(40, capture, 2, capture)))

    def committed(capture: int) -> bytes:
        return gbase.commit(1000 * capture + 9, 5)

    def run(select: str = "changes", **env: str) -> None:
        done = small.warehouse.dbt(small.home, "run", "--select", select, env=env, check=False)
        assert (done.code != 0) == bool(env), done.output

    land(*((capture, 1, begun(capture)) for capture in range(1, 102)))
    run("changes bad")
    before = row(42, 101, 3, 101)
    land((101, 2, before[:20]), (101, 4, row(43, 101, 4, 201) + committed(101)))
    run("changes bad", KILLED=r"insert into \S*__cdc_raw_")
    land((101, 3, before[20:]))
    run("changes bad")
    assert small.warehouse.sql(f"select * from {small.schema}.bad") == []
    events = f"select id, cdc_before.id from {small.schema}.changes order by cdc_sequence"
    assert small.warehouse.sql(events) == [(101, None), (201, 101)]
    # the state is kept for a hundred sessions, of which this is one
    land((0, 1, begun(0)))
    run()
    land((101, 5, gbase.begin(200_000, 5)))
    run()
    land((2, 2, committed(2)))
    run()
    assert small.warehouse.sql(events) == [(2, None), (101, None), (201, 101)]


def test_what_is_replaced_while_a_model_looks_for_it(small: Small) -> None:
    """A run ends between the question for what it replaced and that for its events."""
    small.begin("raw")
    small.write({"changes": decoded("raw"), "current": CURRENT})
    (small.home / "macros").mkdir()
    (small.home / "macros" / "hold.sql").write_text(HOLD + HOLD_AFTER)
    small.land("raw", (10, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    small.land("raw", (10, "I", 1, "in conflict", "a", 1), (20, "I", 2, "second", "a", 1))

    def run_changes() -> None:
        small.warehouse.dbt(small.home, "run", "--select", "changes")

    held = run_around(small, "current", run_changes, HOLD_AFTER="like 'changes__cdc_replaced'")
    assert held.code == 0, held.output
    assert small.notes("current") == [(2, "second")]


def test_a_model_may_run_while_the_one_it_reads_does(small: Small) -> None:
    """What a run of change events replaces is there before its events are."""
    small.begin("raw")
    partitioned = "{{ config(partition_by=['cdc_operation']) }}\n"
    small.write({"changes": decoded("raw"), "current": CURRENT})
    small.land("raw", (1, "I", 1, "first", "a", 1))
    small.land("raw", (12, "U", 1, "second", "a", 1), transaction="X")
    small.warehouse.dbt(small.home, "run")
    earlier = small.stored_in("changes")
    # with it the commit of the other change is another one
    small.land("raw", (10, "I", 2, "first", "a", 2), transaction="X")
    small.warehouse.dbt(small.home, "run", "--select", "changes")
    changes, claim = f"{small.schema}.changes", f"{small.schema}.changes__cdc_run_20260101"
    now = f"alter view {changes} as select * from {small.schema}."
    later = small.stored_in("changes")
    small.warehouse.sql(f"{now}{earlier}", f"create table {claim} (id int) using parquet")
    small.warehouse.dbt(small.home, "run", "--select", "current")
    assert small.notes("current") == [(1, "second")]
    small.warehouse.sql(f"{now}{later}", f"drop table {claim}")
    small.warehouse.dbt(small.home, "run", "--select", "current")
    assert small.notes("current") == [(1, "second"), (2, "first")]
    # a model that comes later, first made without rows
    small.write({"late": CURRENT, "changes": partitioned + decoded("raw")})
    small.warehouse.dbt(small.home, "run", "--empty", "--select", "late")
    assert small.notes("late") == []
    small.land("raw", (30, "I", 3, "first", "a", 3))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("late") == small.notes("current")
    # of what is replaced now the columns stand in another order
    small.land("raw", (30, "I", 3, "other", "a", 3))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("late") == small.notes("current") == [(1, "second"), (2, "first")]


BLIND = """
{% macro spark__list_relations_without_caching(relation) %}
    {{ return(run_query('show table extended in ' ~ relation.schema ~ " like 'nothing'")) }}
{% endmacro %}
"""


def test_what_dbt_does_not_list_is_there_all_the_same(small: Small) -> None:
    small.begin("raw")
    small.write({"changes": decoded("raw")})
    small.land("raw", (1, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    (small.home / "macros").mkdir()
    (small.home / "macros" / "blind.sql").write_text(BLIND)
    small.warehouse.sql(f"truncate table {small.schema}.raw")
    small.land("raw", (2, "I", 2, "second", "a", 1))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("changes") == [(1, "first"), (2, "second")]


def test_a_run_that_was_overtaken_may_still_end(small: Small) -> None:
    """What it makes the model of is not dropped for a day."""
    small.begin("raw")
    small.write({"changes": decoded("raw")})
    small.land("raw", (1, "I", 1, "first", "a", 1))
    now = datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S%f")
    names = [f"changes__cdc_{name}" for name in (f"raw_{now}", f"run_{now}", "raw_20260101")]
    small.warehouse.sql(
        *(f"create table {small.schema}.{name} (id int) using parquet" for name in names)
    )
    small.warehouse.dbt(small.home, "run")
    tables = {row[1] for row in small.warehouse.sql(f"show tables in {small.schema}")}
    assert tables.intersection(names) == {names[0]}


def test_an_edit_that_fails_loses_no_row(small: Small) -> None:
    small.begin("raw")
    small.write({"changes": decoded("raw")})
    small.land("raw", (1, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    small.land("raw", (2, "I", 2, "second", "a", 1))
    contract = "models: [{name: changes, config: {contract: {enforced: true}}, columns: [%s]}]"
    wider = decoded("raw").replace("'string'}", "'string', 'part': 'string'}")
    small.write({"changes": wider}, contract % "{name: id, data_type: string}")
    assert small.warehouse.dbt(small.home, "run", check=False).code != 0
    small.write({"changes": decoded("raw")}, "models: []")
    small.warehouse.dbt(small.home, "run")
    assert small.notes("changes") == [(1, "first"), (2, "second")]
    reordered = decoded("raw").replace(
        "'id': 'bigint', 'note': 'string'", "'note': 'string', 'id': 'bigint'"
    )
    small.write({"changes": reordered})
    small.land("raw", (3, "U", 2, "third", "a", 2), (3, "B", 2, "second", "a", 2))
    small.warehouse.dbt(small.home, "run")
    assert small.notes("changes") == [(1, "first"), (2, "second"), (2, "third")]


def test_a_view_over_a_deferred_model(small: Small) -> None:
    """Of which there is none in the schema of those that run."""
    small.begin("raw")
    small.write(
        {
            "changes": decoded("raw"),
            "passed_on": "{{ config(materialized='view') }}\nselect * from {{ ref('changes') }}",
            "current": "{{ spark_cdc.current_state(ref('passed_on'), key=['id']) }}",
            "narrow": "{{ config(materialized='view') }}\n"
            "select * except (cdc_batch) from {{ ref('changes') }}",
            "of_narrow": "{{ spark_cdc.current_state(ref('narrow'), key=['id']) }}",
        }
    )
    small.land("raw", (1, "I", 1, "first", "a", 1))
    built = small.warehouse.dbt(small.home, "run")
    state = small.home / "state"
    shutil.copytree(built.target, state)
    profiles = small.home / "profiles.yml"
    other = f"{small.schema}_other"
    profiles.write_text(
        profiles.read_text().replace(f"schema: {small.schema},", f"schema: {other},")
    )
    for number in (2, 3):
        arguments = ("--defer", "--state", str(state), "--select", "passed_on", "current")
        small.warehouse.dbt(small.home, "run", *arguments)
        found = small.warehouse.sql(f"select id, note from {other}.current")
        assert found == [(1, "first" if number == 2 else "at 2")]
        profiles.write_text(profiles.read_text().replace(other, small.schema))
        small.land("raw", (number, "U", 1, f"at {number}", "a", 1))
        small.warehouse.dbt(small.home, "run", "--select", "changes", "narrow", "of_narrow")
        assert small.notes("of_narrow") == [(1, f"at {number}")]
        profiles.write_text(
            profiles.read_text().replace(f"schema: {small.schema},", f"schema: {other},")
        )


def test_a_view_no_longer_has_an_event_that_is_told_otherwise(small: Small) -> None:
    """By another capture session, whose columns are fewer: the key is the same."""
    small.begin("chunks")
    columns = "columns={'id': 'int', 'region': 'string'}"
    stream = f"source('landing', 'chunks'), table_id=7, key=['id'], {columns}"
    view = "{{ config(materialized='view') }}\n"
    small.write(
        {
            "changes": f"{{{{ spark_cdc.gbase_capture({stream}) }}}}",
            "european": view + "select * from {{ ref('changes') }} where region = 'EU'",
            "current": "{{ spark_cdc.current_state(ref('european'), key=['id']) }}",
            "regions": "{{ spark_cdc.current_state(ref('changes'), key=['region']) }}",
        }
    )
    table = f"{small.schema}.chunks"
    small.warehouse.sql(
        f"drop table {table}",
        f"create table {table} (capture_id string, chunk_number int, payload binary) using parquet",
    )
    narrow, wide = "id integer", "id integer, region char(2)"
    for capture, text, payload in (
        ("b", wide, struct.pack(">i", 1) + b"EU"),
        ("a", narrow, struct.pack(">i", 1)),
    ):
        records = (
            gbase.schema(7, text, len(payload), text.count(",") + 1, 0),
            gbase.begin(16, 5),
            gbase.row(40, 17, 5, 7, payload),
            gbase.commit(18, 5),
        )
        written = b"".join(records).hex()
        small.warehouse.sql(f"insert into {table} values ('{capture}', 1, X'{written}')")
        small.warehouse.dbt(small.home, "run")
        known = capture == "b"
        for model in ("changes", "current", "regions"):
            found = small.warehouse.sql(
                f"select id from {small.schema}.{model} where region = 'EU'"
            )
            assert found == ([(1,)] if known else []), (capture, model)


def test_empty_text_that_partitions_stops(small: Small) -> None:
    """Spark would store NULL, and not find the row again."""
    small.begin("raw")
    by_note = "{{ config(partition_by=['note']) }}\n"
    keyed = by_note + CURRENT.replace("['id']", "['note']")
    small.write({"changes": decoded("raw"), "current": by_note + CURRENT, "keyed": keyed})
    said = "is partitioned by the column note, which has '' in it"
    small.land("raw", (10, "I", 1, "first", "a", 1))
    small.warehouse.dbt(small.home, "run")
    small.land("raw", (20, "I", 2, "", "a", 1))
    for full in ((), ("--full-refresh",)):
        done = small.warehouse.dbt(small.home, "run", *full, check=False)
        results = {name: str(one["message"]) for name, one in done.results().items()}
        for model in ("keyed", "current"):
            assert said in results[model], results
            assert small.notes(model) == [(1, "first")]
    small.land("raw", (30, "D", 2, None, "a", 1))
    small.warehouse.dbt(small.home, "run", "--full-refresh", "--select", "changes", "current")


def test_empty_text_that_partitions_stops_each_time(lake: Warehouse, tmp_path: Path) -> None:
    """Also once there is a table with NULL in its place; Iceberg stores what it is given."""
    small = Small(lake, tmp_path, "small_empty_text")
    small.begin("raw")
    config = f"{{{{ config(file_format='{lake.table_format}', partition_by=['note']) }}}}\n"
    small.write({"changes": config + decoded("raw").replace("['id']", "['note']")})
    small.land("raw", (10, "I", 1, "", "a", 1))
    is_delta = lake.table_format == "delta"
    for _ in range(2):
        done = small.warehouse.dbt(small.home, "run", "--select", "changes", check=False)
        assert (done.code != 0) == is_delta
        assert ("which has '' in it" in done.output) == is_delta


def test_iceberg_has_no_collations(small: Small) -> None:
    small.begin("raw")
    collated = decoded("raw").replace("'note': 'string'", "'note': 'string collate UTF8_LCASE'")
    small.write({"changes": "{{ config(file_format='iceberg') }}\n" + collated})
    done = small.warehouse.dbt(small.home, "run", check=False)
    assert "file_format is iceberg, and the column note has a collation" in done.output


def test_what_dbt_promises_holds(small: Small) -> None:
    small.begin("raw")
    raw_columns = ", ".join(f"{{name: {name}, data_type: {SMALL[name]}}}" for name in SMALL)
    small.write(
        {
            "changes": decoded("raw"),
            "current": CURRENT,
            "untrue": CURRENT.replace("['id']", "['id'], keep_deleted=true"),
            "two_calls": f"{decoded('raw')} union all {decoded('raw')}",
            "no_call": "select 1 as one",
            "unknown_mark": "{{ config(raw_watermark='arrived') }}\n" + decoded("raw"),
            "placed": "{{ config(location_root='/lake') }}\n" + decoded("raw"),
            "brief": "{{ config(materialized='ephemeral') }}\nselect * from raw",
            "of_brief": decoded("raw").replace("source('landing', 'raw')", "ref('brief')"),
        },
        "models:\n"
        "  - name: changes\n"
        "    config: {partition_by: [cdc_operation], event_time: cdc_commit_at}\n"
        "  - name: current\n"
        "    config:\n"
        "      contract: {enforced: true}\n"
        "      persist_docs: {relation: true, columns: true}\n"
        "      pre_hook: create table if not exists {{ this }}_pre as select 1 as one\n"
        "      post_hook: create table if not exists {{ this }}_post as select * from {{ this }}\n"
        "    description: What there is.\n"
        "    columns:\n"
        "      - {name: id, data_type: bigint, description: The one and only.}\n"
        "      - {name: note, data_type: string}\n"
        "      - {name: cdc_sequence, data_type: string}\n"
        "      - {name: cdc_commit_sequence, data_type: string}\n"
        "      - {name: cdc_commit_at, data_type: timestamp}\n"
        "      - {name: cdc_operation, data_type: string}\n"
        "  - name: untrue\n"
        "    config: {contract: {enforced: true}}\n"
        "    columns: [{name: id, data_type: string}]\n"
        "  - name: brief\n"
        f"    columns: [{raw_columns}]\n",
    )
    small.land("raw", (1, "I", 1, "first", "a", 1))
    for _ in range(2):
        run = small.warehouse.dbt(small.home, "run", check=False)
        results = {name: result["status"] for name, result in run.results().items()}
        assert results == {
            "changes": "success",
            "current": "success",
            "untrue": "error",
            "two_calls": "error",
            "no_call": "error",
            "unknown_mark": "error",
            "placed": "error",
            "of_brief": "error",
        }, run.output
        messages = {name: result["message"] for name, result in run.results().items()}
        assert "contract" in messages["untrue"]
        for name in ("two_calls", "no_call"):
            assert "one call of a decoder" in messages[name], messages[name]
        assert "raw_watermark names the column arrived" in messages["unknown_mark"]
        assert "location_root is /lake, and file_format is parquet" in messages["placed"]
        assert "reads the ephemeral model brief" in messages["of_brief"]
        assert small.notes("current_post") == [(1, "first")]
        described = small.warehouse.sql(f"describe extended {small.schema}.current")
        assert ("id", "bigint", "The one and only.") in described
        assert "What there is." in {row[1] for row in described}
        small.land("raw", (2, "I", 2, "second", "a", 1))
    sampled = ("run", "--sample", "1 day", "--select", "current")
    run = small.warehouse.dbt(small.home, *sampled, check=False)
    assert f"--sample leaves out a part of {small.schema}.changes" in run.output
    assert small.notes("current") == [(1, "first"), (2, "second")]
