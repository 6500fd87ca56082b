"""Effects of a run that the rows of a model do not show.

These tests look inside: at side tables, table properties, files, and the statements of a run. A run
does not write or read more than it needs. It cleans up after killed runs. It is right even if a
clock goes back, or a server has an old list of files. All names are in `inside.py`.
"""

from __future__ import annotations

import pytest
from kit.warehouse import Warehouse

from incremental import inside
from incremental.scenarios.inside_runs import FUTURE, LEFT, OLD, SCENARIOS
from incremental.stepping import Stepping


@pytest.fixture(scope="module")
def steps(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Stepping:
    return Stepping(warehouse, tmp_path_factory.mktemp("inside"), "inside", SCENARIOS).run()


def test_nothing_new_writes_nothing(steps: Stepping) -> None:
    """No raw row is copied, and a model without anything to write is not locked."""
    _, _, clean, _ = steps.check("nothing_new")
    assert not [name for name in clean["made"] if name.startswith("current__")]
    assert len(clean["made"]) == 2, clean["made"]  # the lock of `changes`, and the new rows
    first, unclean, clean, _ = steps.check("nothing_new")
    assert first["stored in"] == unclean["stored in"] == clean["stored in"]


def test_leftovers_of_killed_runs_are_dropped(steps: Stepping) -> None:
    _, unclean, clean, _ = steps.check("nothing_new")
    assert inside.left_over("current", "keys", OLD) not in unclean["there"]
    assert len(unclean["made"]) == len(clean["made"]) + 1  # so `current` is locked


def test_a_run_leaves_no_table_of_its_own(steps: Stepping) -> None:
    """Tables of models and of quarantine remain, with those before them, and stored raw rows."""
    *_, last = steps.check("nothing_new")
    assert len(last["versions"]) == 4
    quarantine = [name for name in last["there"] if "__cdc_quarantine" in name]
    assert len(quarantine) == 3  # with its view
    assert len(last["there"]) == 4 + 3 + 1


def test_a_run_without_its_lock_may_still_end(steps: Stepping) -> None:
    """The tables from which the model can be built are not dropped for a day."""
    for _, there in steps.check("made_again"):
        assert set(there).intersection(LEFT) == {LEFT[0]}


def test_small_files_of_raw_rows_are_compacted(steps: Stepping) -> None:
    first, together, later = steps.check("small_files")
    assert first != together
    assert later == together


def test_tables_say_how_their_files_are_written(steps: Stepping) -> None:
    """So another server writes them alike; an option in the model's config comes first."""
    ((changes, options), (current, defaults)) = steps.check("encoded")[0]
    assert (changes, current) == ({"gz"}, {"zstd"})
    assert defaults == {"compression": "zstd", "parquet.enable.dictionary": "false"}
    assert options == {
        "Compression": "gzip",
        "parquet.page.size": "65536",
        "parquet.enable.dictionary": "false",
    }


def test_files_that_another_server_added_are_read(steps: Stepping) -> None:
    """The files of stored raw rows, and of retracted events."""
    assert steps.check("other_server") == [2]


def test_a_model_is_made_again_from_all_rows_that_were_read(steps: Stepping) -> None:
    (before, _), (after, _) = steps.check("made_again")
    assert before != after


def test_later_batches_compare_greater_if_the_clock_goes_back(steps: Stepping) -> None:
    batches = [FUTURE, *steps.check("clock")]
    assert batches == sorted(set(batches))
    steps.check("clock_of_retracted")
