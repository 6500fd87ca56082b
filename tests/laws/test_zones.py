"""No result depends on the time zone of the session: raw columns with types, in every decoder.

The raw columns have a timestamp, a timestamp_ntz and a date. Each is declared as each other type.
Their values are moments at which the clocks of New York change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.warehouse import ROOT, Warehouse, install_package

CONSUMER = ROOT / "tests" / "consumer"
ZONE = "spark.sql.session.timeZone"

# One server is enough: no table is written. One process runs all of its tests.
pytestmark = pytest.mark.parametrize("lake", ["delta"], indirect=True, scope="session")

# A column: its value, the type that is declared, and the value as JSON.
COLUMNS = {
    "t_n": ("timestamp'2024-11-03 05:30:00Z'", "timestamp_ntz", "2024-11-03T05:30:00.000000"),
    "t_d": ("timestamp'2024-11-03 00:00:00Z'", "date", "2024-11-03"),
    "t_s": ("timestamp'2024-11-03 06:30:00Z'", "string", "2024-11-03 06:30:00.000000"),
    "n_t": ("timestamp_ntz'2024-03-10 02:30:00'", "timestamp", "2024-03-10T02:30:00.000000Z"),
    "n_d": ("timestamp_ntz'2024-03-10 00:00:00'", "date", "2024-03-10"),
    "n_s": ("timestamp_ntz'2024-03-10 02:30:00'", "string", "2024-03-10 02:30:00.000000"),
    "d_t": ("date'2024-03-10'", "timestamp", "2024-03-10T00:00:00.000000Z"),
    "d_n": ("date'2024-03-10'", "timestamp_ntz", "2024-03-10T00:00:00.000000"),
    "d_s": ("date'2024-03-10'", "string", "2024-03-10"),
    "s_t": ("'2024-03-10 02:30:00'", "timestamp", "2024-03-10T02:30:00.000000Z"),
}
DECLARED = {"id": "int"} | {name: declared for name, (_, declared, _) in COLUMNS.items()}
ROW = ", ".join(f"{value} as {name}" for name, (value, _, _) in COLUMNS.items())

# The load is at midnight, before the change: three hours, less than the distance of the zones.
LOADED = f"""
select 1 as id, {ROW}, date'2024-03-10' as on_day, timestamp_ntz'2024-03-10 00:00:00' as on_clock,
    timestamp'2024-03-10 00:00:00Z' as at, '2024-03-10' as in_words"""
MESSAGE = {"operation": "REFRESH"} | dict.fromkeys(
    ("changeSequence", "timestamp", "streamPosition", "transactionId"), ""
)
RELATIONS = {
    "ct": "select '20240310030000000000000000000000001' as header__change_seq,"
    f" 'I' as header__change_oper, 2 as id, {ROW}",
    "bad_ct": "select '20240310030000000000000000000000001' as header__change_seq,"
    f" 'I' as header__change_oper, 2 as id, {ROW.replace('11-03 00:00', '11-03 00:30')}",
    "loaded": LOADED,
    "cd": "select '0000000000000000000A' as IBMSNAP_COMMITSEQ, 'I' as IBMSNAP_OPERATION,"
    f" '00000000000000000001' as IBMSNAP_INTENTSEQ, 2 as id, {ROW}",
    "uow": "select '0000000000000000000A' as IBMSNAP_COMMITSEQ,"
    " timestamp_ntz'2024-03-10 02:30:00' as IBMSNAP_LOGMARKER",
    "pk": "select '0000000000000000000A' as IBMSNAP_COMMITSEQ, 'I' as IBMSNAP_OPERATION,"
    " '00000000000000000001' as IBMSNAP_INTENTSEQ, 2 as PK01",
    "log": "select 0 as operation, timestamp_ntz'2024-03-10 02:30:00' as time, 2 as PK01",
    "base": f"select 2 as id, {ROW}",
    "events": "select 1 as record_id, 'N' as status, 5 as event_type,"
    " timestamp_ntz'2024-03-10 02:30:00' as event_time, cast(null as string) as perpetrator,"
    " 'usr' as table_name, 'id=2' as table_key, cast(null as string) as column_name,"
    " cast(null as string) as old_value, cast(null as string) as new_value",
    "messages": f"select '{json.dumps({'data': {'id': 2}, 'headers': MESSAGE})}' as value,"
    " timestamp_ntz'2024-03-10 02:30:00' as timestamp",
}
LOADS = ("on_day", "on_clock", "at", "in_words", "(on_day)", "(on_clock)")
CALLS = {
    **{
        f"a load, {at}": f"qlik_change_table({{ct}}, ['id'], {DECLARED}, full_load={{loaded}},"
        f" full_load_at='{at}')"
        for at in LOADS
    },
    "bad values": f"quarantine('qlik_change_table', {{bad_ct}}, key=['id'], columns={DECLARED})",
    "captured": f"db2_capture_table({{cd}}, ['id'], {DECLARED}, unit_of_work={{uow}})",
    "a base": f"db2_capture_table({{pk}}, ['id'], {DECLARED}, base={{base}})",
    "a log": f"db2_log_table({{log}}, ['id'], {{base}}, columns={DECLARED})",
    "a snapshot": f"netiq_event_log({{events}}, 'usr', ['id'], {DECLARED}, snapshot={{base}})",
    "documents": f"netiq_xds({{events}}, 'usr', ['id'], {DECLARED}, 's', snapshot={{base}})",
    "a record": "qlik_messages({messages}, ['id'], {'id': 'int'})",
}
FORM = r"yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS"
OPTIONS = f"map('timeZone', 'UTC', 'timestampFormat', '{FORM}XXX', 'timestampNTZFormat', '{FORM}')"


def relation(name: str) -> str:
    return f"api.Relation.create(schema='zones', identifier='{name}')"


@pytest.fixture(scope="module")
def results(
    lake: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, dict[str, list[dict[str, str]]]]]:
    """The rows of each call, in a session of UTC and of New York."""
    project: Path = tmp_path_factory.mktemp("zones") / "project"
    project.mkdir()
    (project / "dbt_project.yml").write_text("name: zones\nprofile: consumer\n")
    install_package(project)
    lake.sql(
        "create schema zones",
        *(f"create table zones.{name} using parquet as {rows}" for name, rows in RELATIONS.items()),
    )
    selects = []
    for call in CALLS.values():
        for name in RELATIONS:
            call = call.replace(f"{{{name}}}", relation(name))
        selects.append(f"select to_json(struct(*), {OPTIONS}) from ({{{{ spark_cdc.{call} }}}}\n)")
    ((_, before),) = lake.sql(f"set {ZONE}")
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    for zone in ("UTC", "America/New_York"):
        lake.sql(f"set {ZONE}={zone}")
        compiled = lake.compiled(project, "\n---\n".join(selects), profiles=CONSUMER)
        for name, sql in zip(CALLS, compiled.split("\n---\n"), strict=True):
            rows = [json.loads(row) for (row,) in lake.sql(sql)]
            for row in rows:
                row.pop("cdc_batch", None)
            found.setdefault(name, {})[zone] = sorted(rows, key=json.dumps)
    lake.sql(f"set {ZONE}={before}", "drop schema zones cascade")
    yield found


@pytest.mark.parametrize("call", CALLS)
def test_no_zone_of_the_session(
    lake: Warehouse, results: dict[str, dict[str, list[dict[str, str]]]], call: str
) -> None:
    in_utc, in_new_york = results[call].values()
    assert in_utc
    assert in_new_york == in_utc
    for row in in_utc:
        if row.get("t_n"):
            assert {name: row[name] for name in COLUMNS} == {
                name: value for name, (_, _, value) in COLUMNS.items()
            }


@pytest.mark.parametrize("at", LOADS)
def test_a_time_of_a_load_has_one_reading(
    lake: Warehouse, results: dict[str, dict[str, list[dict[str, str]]]], at: str
) -> None:
    """As a column or an expression: the load is at midnight in UTC, before the change."""
    rows = results[f"a load, {at}"]["America/New_York"]
    operations = [row["cdc_operation"] for row in sorted(rows, key=lambda row: row["cdc_sequence"])]
    assert operations == ["truncate", "load", "insert"]
    assert {row["cdc_commit_at"] for row in rows if row["cdc_operation"] != "insert"} == {
        "2024-03-10T00:00:00.000000Z"
    }


def test_local_times_are_as_they_landed(
    lake: Warehouse, results: dict[str, dict[str, list[dict[str, str]]]]
) -> None:
    for call in ("captured", "a log", "a snapshot", "a record"):
        (row,) = results[call]["America/New_York"]
        assert row["cdc_commit_at"] == "2024-03-10T02:30:00.000000Z", call
