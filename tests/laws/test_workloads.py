"""Generated workloads: what is built over Thrift equals the simulated database, cell by cell.

Each case is a source table with many transactions. Its change table (or, for cases that no source
of ours writes, its change events) goes through the macros in one dbt run; every result is compared
with the simulation. `SPARK_CDC_SEED` (a number, 0 by default) makes other workloads.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from formats.gbase_capture import writer as gbase_capture
from formats.qlik_change_table import writer as qlik_change_table
from kit.lake import write_parquet
from kit.warehouse import ROOT, Warehouse
from simulation import apply_events, database, oracle, random_events

SEED = int(os.environ.get("SPARK_CDC_SEED", "0"))
SCHEMA = "workloads"

Row = Mapping[str, Any]
Columns = Mapping[str, str | Mapping[str, str]]

CURRENT = {
    "cdc_sequence": "string",
    "cdc_commit_sequence": "string",
    "cdc_commit_at": "timestamp",
    "cdc_operation": "string",
}
HISTORY = {
    "cdc_valid_from": "timestamp",
    "cdc_valid_to": "timestamp",
    "cdc_valid_from_sequence": "string",
    "cdc_valid_to_sequence": "string",
    "cdc_is_current": "boolean",
    "cdc_operation": "string",
    "cdc_ended_by": "string",
}
COUNTS = dict.fromkeys(("raw_rows", "used_rows", "no_op_rows", "quarantined_rows"), "bigint")


@dataclass
class Project:
    """A dbt project of its own, and what its models must come out as."""

    home: Path
    inputs: list[str] = field(default_factory=list)
    expected: dict[str, Columns] = field(default_factory=dict)

    def model(self, name: str, call: str, columns: Columns, rows: Sequence[Row]) -> None:
        (self.home / "models" / f"{name}.sql").write_text(f"{{{{ {call} }}}}\n")
        write_parquet(self.home / "expected" / name, columns, rows, files=1)
        self.expected[name] = columns

    def input(self, name: str, columns: Columns, rows: Sequence[Row]) -> None:
        write_parquet(self.home / "inputs" / name, columns, rows)
        self.inputs.append(name)

    def applied(self, name: str, table: database.Table, changes: str, events: list[Any]) -> None:
        """Current state and history of change events, in every form, with what they must be."""
        key = list(table.key)
        narrow = list(dict.fromkeys([*key, list(table.columns)[-1]]))
        state, history = "spark_cdc.current_state", "spark_cdc.history"
        kept = {name: table.columns[name] for name in table.columns if name in narrow}
        for suffix, call, columns, rows in (
            (
                "current",
                f"{state}({changes}, key={key})",
                {**table.columns, **CURRENT},
                apply_events.current_state(events, key),
            ),
            (
                "with_deleted",
                f"{state}({changes}, key={key}, keep_deleted=true)",
                {**table.columns, **CURRENT, "cdc_is_deleted": "boolean"},
                apply_events.current_state(events, key, keep_deleted=True),
            ),
            (
                "history",
                f"{history}({changes}, key={key}, columns={narrow})",
                {**kept, **HISTORY},
                apply_events.history(events, key, columns=narrow),
            ),
            (
                "events",
                f"{history}({changes}, key={key}, granularity='event')",
                {**table.columns, **HISTORY},
                apply_events.history(events, key, granularity="event"),
            ),
        ):
            self.model(f"{name}_{suffix}", call, columns, rows)

    def events(self, name: str, table: database.Table, **options: Any) -> None:
        """A case of odd change events: sparse, of unknown keys, onto existing keys."""
        events = random_events.random_events(random.Random(f"{SEED} {name}"), table, **options)
        columns = random_events.event_columns(table)
        self.input(name, {c: columns[c] for c in columns if c in events[0]}, events)
        self.applied(name, table, f"source('inputs', '{name}')", events)

    def change_table(
        self,
        name: str,
        table: database.Table,
        layout: qlik_change_table.Layout,
        delivery: qlik_change_table.Delivery,
        arguments: str = "",
        **options: Any,
    ) -> list[Any]:
        """A case of a Qlik change table of a simulated database; returns its change events."""
        rng = random.Random(f"{SEED} {name}")
        workload = database.generate(table, rng, **{"transactions": 60, **options})
        written = qlik_change_table.write(workload, rng, layout, delivery)
        self.input(name, written.columns, written.rows)
        call = f"source('inputs', '{name}'), key={list(table.key)}{arguments}"
        self.model(
            f"{name}_changes",
            f"spark_cdc.qlik_change_table({call})",
            random_events.event_columns(table),
            [{k: v for k, v in event.items() if k != "cdc_metadata"} for event in written.events],
        )
        self.model(
            f"{name}_quarantine",
            f"spark_cdc.quarantine('qlik_change_table', {call})",
            {"reason": "string"},
            [{"reason": reason} for reason, _ in written.quarantine],
        )
        self.model(
            f"{name}_counts",
            f"spark_cdc.raw_counts('qlik_change_table', {call})",
            COUNTS,
            [written.raw_counts],
        )
        self.applied(name, table, f"ref('{name}_changes')", written.events)
        if written.is_faithful:
            # the same from the states of the database alone
            positions = written.positions
            assert oracle.current_state(workload, positions=positions) == (
                apply_events.current_state(written.events, list(table.key))
            )
        return written.events

    def stream(self, name: str) -> None:
        """A case of a GBase stream of a simulated database."""
        rng = random.Random(f"{SEED} {name}")
        table = gbase_capture.TABLE
        workload = database.generate(table, rng, transactions=60)
        written = gbase_capture.write(workload, rng, bad_records=2, duplicates=0.1)
        rng.shuffle(written.rows)
        self.input(name, gbase_capture.RAW_COLUMNS, written.rows)
        call = f"source('inputs', '{name}'), key={list(table.key)}, table_id=7, columns="
        call += str(dict(table.columns))
        self.model(
            f"{name}_changes",
            f"spark_cdc.gbase_capture({call})",
            random_events.event_columns(table),
            written.events,
        )
        self.model(
            f"{name}_quarantine",
            f"spark_cdc.quarantine('gbase_capture', {call})",
            {"reason": "string"},
            [{"reason": reason} for reason, _, _ in written.quarantine],
        )
        self.model(
            f"{name}_counts",
            f"spark_cdc.raw_counts('gbase_capture', {call})",
            COUNTS,
            [written.raw_counts],
        )
        self.applied(name, table, f"ref('{name}_changes')", written.events)
        assert oracle.current_state(written.workload, positions=written.positions) == (
            apply_events.current_state(written.events, list(table.key))
        )


def cases(project: Project) -> None:
    layout, delivery = qlik_change_table.Layout, qlik_change_table.Delivery
    every_bad_row = dict.fromkeys(qlik_change_table.possible_bad_rows(layout()), 2)
    project.change_table(
        "orders",
        database.ORDERS,
        layout(),
        delivery(interleave="any", duplicates=0.1, shuffle=True, bad_rows=every_bad_row),
    )
    project.change_table(
        "odd_names",
        database.ODD_NAMES,
        layout(
            prefix="hd_",
            mask_form="binary",
            mask_byte_order="little",
            header=("change_seq", "change_oper", "change_mask", "operation", "transaction_id"),
        ),
        delivery(duplicates=0.1, shuffle=True),
        ", header_prefix='hd_'",
    )
    project.change_table(
        "all_types",
        database.ALL_TYPES,
        layout(mask_form="binary", mask_byte_order="big", mask_varied=True, anonymous_rate=0.1),
        delivery(interleave="disjoint", shuffle=True),
        ", mask_byte_order='big'",
    )
    project.change_table(
        "two_columns",
        database.wide_table(2),
        layout(before_images=False, mask_null_rate=0.3),
        delivery(shuffle=True, duplicates=0.5),
    )
    project.change_table(
        "many_columns", database.wide_table(400), layout(), delivery(shuffle=True, duplicates=0.1)
    )
    # Many keys, most of them plain: the two ways through `_versions` side by side.
    table = database.ORDERS
    events = project.change_table(
        "plain_keys",
        table,
        layout(),
        delivery(shuffle=True),
        transactions=150,
        key_space=200,
        without=(
            *("truncate", "reload", "shift", "swap", "several_changes"),
            *("move_and_back", "there_and_back", "undone_insert"),
        ),
    )
    touched = Counter(
        (key, event["cdc_commit_sequence"])
        for event in events
        for key in {table.key_of(event), table.key_of(event["cdc_before"] or event)}
    )
    entangled = {key for (key, _), times in touched.items() if times > 1}
    assert 0 < len(entangled) < 0.8 * len({key for key, _ in touched})
    project.stream("stream")
    project.events("sparse", database.ORDERS, transactions=80, key_space=10)
    project.events("positions", database.POSITIONS, transactions=80, key_space=10, sparse=0.2)
    all_key = database.Table("tags", {"id": "bigint", "tag": "string"}, ("tag", "id"))
    project.events("all_key", all_key, transactions=60, key_space=10)


@pytest.fixture(scope="module")
def project(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    home = tmp_path_factory.mktemp("workloads")
    (home / "models").mkdir()
    made = Project(home)
    cases(made)
    (home / "dbt_project.yml").write_text(
        "name: workloads\nversion: 0.1.0\nprofile: workloads\n"
        "models: {+materialized: table, +file_format: parquet}\n"
    )
    (home / "packages.yml").write_text(f"packages: [{{local: {ROOT}}}]\n")
    (home / "profiles.yml").write_text(
        "workloads: {target: thrift, outputs: {thrift: {type: spark, method: thrift, "
        f"host: {warehouse.host}, port: {warehouse.port}, schema: {SCHEMA}, threads: 2, "
        "query_retries: 0, poll_interval: 1}}}\n"
    )
    (home / "models" / "inputs.yml").write_text(
        f"sources:\n  - name: inputs\n    schema: {SCHEMA}\n    tables:\n"
        + "".join(f"      - name: {name}\n" for name in made.inputs)
    )
    warehouse.sql(
        f"create schema {SCHEMA}",
        *(
            f"create table {SCHEMA}.`{name}` using parquet location '{home}/inputs/{name}'"
            for name in made.inputs
        ),
    )
    warehouse.dbt(home, "deps")
    warehouse.dbt(home, "run")
    yield made


def test_results_equal_the_simulation(warehouse: Warehouse, project: Project) -> None:
    wrong = []
    for name, columns in project.expected.items():
        names = ", ".join("`" + column.replace("`", "``") + "`" for column in columns)
        built = f"select {names} from {SCHEMA}.`{name}`"
        expected = f"select {names} from parquet.`{project.home}/expected/{name}`"
        if difference := warehouse.difference(built, expected):
            wrong.append(f"{name}: {difference}")
    assert not wrong, "\n".join(wrong)


def test_every_table_has_rows(warehouse: Warehouse, project: Project) -> None:
    empty = [
        name
        for name in project.expected
        if not name.endswith("_quarantine")
        and warehouse.sql(f"select count(*) from {SCHEMA}.`{name}`") == [(0,)]
    ]
    assert not empty
