"""The query of `spark-cdc health`, and what is made of its rows."""

from __future__ import annotations

import pytest
from kit.warehouse import Warehouse
from spark_cdc_udfs.health.rows import Example, Run, Table, query, tables

from health.checked import HOUR, NOW, FakeLake, checked

# The columns of a health model, with a value for each.
COLUMNS = """
    t.name as table_name, 'qlik_change_table' as cdc_source,
    timestamp_seconds(1777593600 + 86400 * t.run) as checked_at,
    1000L + t.run as raw_rows, 900L as used_rows, 60L as no_op_rows, 40L as quarantined_rows,
    870L as events, map('late', 10L, 'early', 30L) as quarantined_by_reason,
    timestamp'2026-04-30 23:00:00Z' as last_commit_at, cast(null as timestamp) as last_landed_at,
    3600L as lag_seconds, 7L as events_in_future, 9L as unread_rows,
    1L as orphaned_before_images, 2L as updates_of_unknown_keys,
    3L as inserts_over_existing_keys, 4L as deletes_of_unknown_keys,
    5L as moves_without_before_image, 6L as events_with_unknown_columns,
    cast(null as bigint) as open_transactions, 8L as waiting_rows,
    array(
        named_struct('reason', 'late', 'detail', cast(null as string), 'raw', repeat('é', 2000))
    ) as examples
"""
MIDNIGHT = 1_777_593_600  # 2026-05-01T00:00:00Z
DAY = 24 * HOUR


def test_a_server_answers_the_query(warehouse: Warehouse) -> None:
    """Over Thrift: the last runs, the oldest first, with times that no time zone changes."""

    class Server(FakeLake):
        def rows(self, query: str) -> list[tuple[object, ...]]:
            return warehouse.sql(query)

    warehouse.sql(
        "create schema if not exists health_test",
        "create or replace view health_test.health as select"
        f" {COLUMNS} from values ('b', 0L), ('b', 2L), ('b', 1L), ('a', 1L), (null, 5L)"
        " as t(name, run)",
    )
    found = tables(Server(), "`health_test`.`health`", 2)
    assert [table.name for table in found] == [None, "a", "b"]
    assert found[2] == Table(
        "b",
        "qlik_change_table",
        (Run(MIDNIGHT + DAY, 3600, 1001, 40), Run(MIDNIGHT + 2 * DAY, 3600, 1002, 40)),
        MIDNIGHT - HOUR,
        None,
        {
            "raw_rows": 1002,
            "used_rows": 900,
            "no_op_rows": 60,
            "quarantined_rows": 40,
            "events": 870,
            "events_in_future": 7,
            "open_transactions": None,
            "waiting_rows": 8,
            "orphaned_before_images": 1,
            "unread_rows": 9,
            "updates_of_unknown_keys": 2,
            "inserts_over_existing_keys": 3,
            "deletes_of_unknown_keys": 4,
            "moves_without_before_image": 5,
            "events_with_unknown_columns": 6,
        },
        {"early": 30, "late": 10},
        {"late": (Example(None, "é" * 1500 + "…"),)},
    )


def test_the_query_is_bounded_and_of_the_table_alone() -> None:
    text = query("`lake`.`health`", 7)
    assert "from `lake`.`health`\n" in text
    assert "where cdc_run <= 7\n" in text
    assert "slice(examples, 1, 200)" in text
    assert "left(example.raw, 1501)" in text


def test_reasons_come_in_the_order_of_their_counts() -> None:
    rows = checked("t", (1, 1), reasons={"b": 1, "c": 5, "a": 1})
    (table,) = tables(FakeLake(rows), "t", 9)
    assert list(table.reasons or ()) == ["c", "a", "b"]


def test_three_examples_of_each_reason_are_kept() -> None:
    examples = [{"reason": "r", "raw": str(one)} for one in range(5)] + [{"detail": "d"}]
    (table,) = tables(FakeLake(checked("t", (1, 1), examples=examples)), "t", 9)
    assert table.examples == {
        "r": (Example(None, "0"), Example(None, "1"), Example(None, "2")),
        "": (Example("d", None),),
    }


@pytest.mark.parametrize(("length", "end"), [(1500, "x"), (1501, "…")])
def test_long_raw_rows_are_cut(length: int, end: str) -> None:
    rows = checked("t", (1, 1), examples=[{"reason": "r", "raw": "x" * length}])
    (table,) = tables(FakeLake(rows), "t", 9)
    raw = table.examples["r"][0].raw or ""
    assert raw == "x" * 1499 + "x" + end * (length > 1500)


def test_what_is_not_known_stays_so() -> None:
    (table,) = tables(FakeLake(checked("t", (None, None), at=None, raw=None, events=None)), "t", 9)
    assert table.runs == (Run(None, None, None, None),)
    assert (table.reasons, table.examples, table.counts["events"]) == (None, {}, None)


def test_the_last_run_gives_the_counts() -> None:
    (table,) = tables(FakeLake(checked("t", (5, 1), (7, 2), events=3)), "t", 9)
    assert table.last == Run(NOW - HOUR, 7, 1000, 2)
    assert (table.counts["quarantined_rows"], table.counts["events"]) == (2, 3)
