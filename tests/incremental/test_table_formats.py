"""Incremental models on Iceberg and Delta, which work differently in some points.

Some differences cannot be seen in rows: the files that a run reads or writes again. As in
`test_inside.py` the names of the internals come from `inside.py`.
"""

from __future__ import annotations

import pytest
from kit.warehouse import Warehouse

from incremental.scenarios.amid import TWO
from incremental.scenarios.table_formats import scenarios
from incremental.stepping import Stepping

# The scenarios of the tests that are slow; the others are in `make test`.
SLOW = ("empty_text", "other_key", "small_integers", "moves", "more_columns", "wider")


@pytest.fixture(scope="module")
def steps(
    request: pytest.FixtureRequest, lake: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> Stepping:
    home = tmp_path_factory.mktemp(lake.table_format)
    ours = [item for item in request.session.items if item.path == request.path]
    is_slow = any(item.get_closest_marker("slow") for item in ours)
    tables = [
        one
        for one in scenarios(lake.table_format, f"{home}/lake")
        if is_slow or one.name not in SLOW
    ]
    # one at a time: a setting of one scenario applies to all clients
    return Stepping(lake, home, "formats", tables, at_a_time=1).run()


@pytest.mark.slow
def test_empty_text_that_partitions_stops_each_time(steps: Stepping) -> None:
    steps.check("empty_text")


@pytest.mark.slow
def test_the_column_that_was_the_key_may_go(steps: Stepping) -> None:
    steps.check("other_key")


@pytest.mark.slow
@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_small_integers_take_a_new_column(steps: Stepping) -> None:
    steps.check("small_integers")


def test_unneeded_files_are_not_read(steps: Stepping) -> None:
    closed, without, _ = steps.check("unread")
    expected = [(1, note) for note in ("first", "fourth", "second", "third")] + [(2, "first")]
    assert without["rows"] == {"changes": expected, "history": expected}
    assert closed
    assert without["hidden"] >= 3


def test_removed_rows_are_marked_and_their_file_stays(steps: Stepping, lake: Warehouse) -> None:
    """A table that can have them makes Delta list all files for each plan, so only some can."""
    _, before, after = steps.check("unread")
    is_delta = lake.table_format == "delta"
    assert after["files"] == before["files"]
    assert before["marked"] == (["history"] if is_delta else [])
    assert after["marked"] == (["changes", "history"] if is_delta else [])


@pytest.mark.slow
def test_a_model_moves_to_a_table_format_and_back(steps: Stepping, lake: Warehouse) -> None:
    assert steps.check("moves") == [lake.table_format, "parquet"]


def test_only_a_write_amid_a_run_stops_it(steps: Stepping, lake: Warehouse) -> None:
    looks = steps.check("amid")
    assert [look["locks"] for look in looks] == [[]] * 4
    first, third = TWO[:1], [(3, "third")] * (lake.table_format == "delta")
    assert [look["kept"] for look in looks] == [first, first, TWO, TWO + third]


@pytest.mark.slow
def test_an_additional_column_does_not_change_old_rows(steps: Stepping) -> None:
    assert steps.check("more_columns") == [3, 4]


@pytest.mark.slow
def test_columns_become_wider(steps: Stepping) -> None:
    steps.check("wider")
