"""Generated workloads: the models built over Thrift equal the simulated database in every cell.

Each case is a source table with many transactions. Its change table goes through the macros in one
dbt run; for cases that none of our sources writes, its change events do. Every result is compared
with the simulation. `SPARK_CDC_SEED` (a number, 0 by default) makes other workloads.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kit.formats import Case, Columns, Format, Row, every_format
from kit.lake import write_parquet
from kit.warehouse import Warehouse, install_package
from simulation import apply_events, database, gaps, oracle, random_events

SEED = int(os.environ.get("SPARK_CDC_SEED", "0"))
SCHEMA = "workloads"

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
MOMENTS = 6  # of a history, by sequence and by time
GAPS = dict.fromkeys((gaps.UPDATES, gaps.INSERTS, gaps.DELETES, gaps.MOVES), "bigint")
COUNTS = dict.fromkeys(("raw_rows", "used_rows", "no_op_rows", "quarantined_rows"), "bigint")


@dataclass
class Project:
    """A dbt project of its own, and the expected rows of its models."""

    home: Path
    inputs: list[str] = field(default_factory=list)
    expected: dict[str, Columns] = field(default_factory=dict)
    # entries of `health` as Jinja, and the rows that it should give
    watched: dict[str, Row] = field(default_factory=dict)

    def model(self, name: str, call: str, columns: Columns, rows: Sequence[Row]) -> None:
        self.query(name, f"{{{{ {call} }}}}\n", columns, rows)

    def query(self, name: str, body: str, columns: Columns, rows: Sequence[Row]) -> None:
        assert rows or name.endswith("_quarantine"), f"nothing is expected of {name}"
        (self.home / "models" / f"{name}.sql").write_text(body)
        write_parquet(self.home / "expected" / name, columns, rows, files=1)
        self.expected[name] = columns

    def input(self, name: str, columns: Columns, rows: Sequence[Row]) -> None:
        write_parquet(self.home / "inputs" / name, columns, rows)
        self.inputs.append(name)

    def applied(
        self,
        name: str,
        table: database.Table,
        changes: str,
        events: list[Any],
        suffixes: Sequence[str] = ("current", "with_deleted", "history", "events"),
        null_keys: bool = False,
    ) -> None:
        """Current state and history of change events in every form, with the expected rows."""
        key = list(table.key)
        kept_names = narrow(table)
        given = f"'changes': {changes}, 'key': {key}, 'null_keys': {null_keys}"
        counted = gaps.gaps(events, key, null_keys)
        self.watched[f"{{'name': '{name}', {given}}}"] = {
            "table_name": name,
            "events": len(events),
            **counted,
        }
        state, history = "spark_cdc.current_state", "spark_cdc.history"
        if null_keys:
            changes += ", null_keys=true"
        kept = {name: table.columns[name] for name in table.columns if name in kept_names}
        for suffix, call, columns, rows in (
            (
                "current",
                f"{state}({changes}, key={key})",
                {**table.columns, **CURRENT},
                apply_events.current_state(events, key, null_keys=null_keys),
            ),
            (
                "with_deleted",
                f"{state}({changes}, key={key}, keep_deleted=true)",
                {**table.columns, **CURRENT, "cdc_is_deleted": "boolean"},
                apply_events.current_state(events, key, keep_deleted=True, null_keys=null_keys),
            ),
            (
                "history",
                f"{history}({changes}, key={key}, columns={kept_names})",
                {**kept, **HISTORY},
                apply_events.history(events, key, columns=kept_names, null_keys=null_keys),
            ),
            (
                "events",
                f"{history}({changes}, key={key}, granularity='event')",
                {**table.columns, **HISTORY},
                apply_events.history(events, key, granularity="event", null_keys=null_keys),
            ),
        ):
            if suffix in suffixes:
                self.model(f"{name}_{suffix}", call, columns, rows)

    def events(self, name: str, table: database.Table, **options: Any) -> None:
        """A case of unexpected change events: sparse, of unknown keys, onto existing keys."""
        events = random_events.random_events(random.Random(f"{SEED} {name}"), table, **options)
        columns = random_events.event_columns(table)
        self.input(name, {c: columns[c] for c in columns if c in events[0]}, events)
        self.applied(name, table, f"source('inputs', '{name}')", events)

    def reloaded(self, name: str, table: database.Table, truncates: int) -> None:
        """A case of a table that is loaded again and again, in every form."""
        rng = random.Random(f"{SEED} {name}")
        events = random_events.reloaded_events(rng, table, truncates=truncates)
        self.input(name, random_events.event_columns(table), events)
        self.applied(name, table, f"source('inputs', '{name}')", events)

    def null_keys(self, name: str, table: database.Table, **options: Any) -> None:
        """The same with null as a value of keys: each key column is null in some rows."""
        events = random_events.random_events(random.Random(f"{SEED} {name}"), table, **options)
        some = {column: {event[column] for event in events} - {None} for column in table.key}
        nulled = {column: set(sorted(values)[::3]) for column, values in some.items()}
        for row in (*events, *(event["cdc_before"] for event in events if event["cdc_before"])):
            row |= {column: None for column in table.key if row[column] in nulled[column]}
        columns = random_events.event_columns(table)
        self.input(name, {c: columns[c] for c in columns if c in events[0]}, events)
        self.applied(name, table, f"source('inputs', '{name}')", events, null_keys=True)

    def case(self, format_: Format, case: Case, suffixes: Sequence[str]) -> None:
        """A simulated source table: change events, quarantine, counts, and the models."""
        for name, relation in case.relations.items():
            self.input(f"{case.name}__{name}", relation.columns, relation.rows)
        arguments = case.arguments
        for name in case.relations:
            arguments = arguments.replace(f"{{{name}}}", f"source('inputs', '{case.name}__{name}')")
        call = f"source('inputs', '{case.name}__raw'), {arguments}"
        decoder, columns = format_.decoder, random_events.event_columns(case.table)
        self.model(f"{case.name}_changes", f"spark_cdc.{decoder}({call})", columns, case.events)
        self.model(
            f"{case.name}_quarantine",
            f"spark_cdc.quarantine('{decoder}', {call})",
            {"reason": "string"},
            [{"reason": reason} for reason in case.quarantine],
        )
        counts = f"spark_cdc.raw_counts('{decoder}', {call})"
        self.model(f"{case.name}_counts", counts, COUNTS, [case.raw_counts])
        changes = f"ref('{case.name}_changes')"
        self.applied(case.name, case.table, changes, list(case.events), suffixes)
        if case.workload is not None and len(suffixes) > 2:
            for suffix in {"history", "events"} & set(suffixes):
                self.as_of(case.name, suffix, case.workload, case.positions)
                self.between(case.name, suffix, case.workload, case.positions)
            self.feed(case.name, case)
        if format_.can_narrow_before and len(suffixes) > 2:
            self.narrow_before(f"{case.name}_narrow", f"spark_cdc.{decoder}({call}", case)

    def as_of(
        self, name: str, suffix: str, workload: database.Workload, positions: oracle.Positions
    ) -> None:
        """The table as of some commits, from a history: the states of the database."""
        rng = random.Random(f"{SEED} {name} {suffix}")
        found = moments(workload, positions, suffix == "events")
        table = workload.table
        kept = list(table.columns) if suffix == "events" else narrow(table)
        selects, rows = [], []
        for by in ("at", "sequence"):
            some = [moment for moment in found if moment[0] == by]
            for number, (_, given, commit) in enumerate(rng.sample(some, min(MOMENTS, len(some)))):
                call = f"spark_cdc.as_of(ref('{name}_{suffix}'), {by}={given!r})"
                selects.append(f"select '{by} {number}' as cdc_moment, * from ({{{{ {call} }}}})")
                state = workload.state_at(commit).values()
                rows += [
                    {"cdc_moment": f"{by} {number}"} | {column: row[column] for column in kept}
                    for row in state
                ]
        columns = {"cdc_moment": "string"} | {column: table.columns[column] for column in kept}
        self.query(f"{name}_{suffix}_as_of", "\nunion all\n".join(selects), columns, rows)

    def between(
        self, name: str, suffix: str, workload: database.Workload, positions: oracle.Positions
    ) -> None:
        """The versions between two commits turn the first state of the database into the second."""
        rng = random.Random(f"{SEED} {name} {suffix} between")
        found = moments(workload, positions, suffix == "events")
        table, history = workload.table, f"ref('{name}_{suffix}')"
        kept = list(table.columns) if suffix == "events" else narrow(table)
        names = ", ".join(f"`{column}`" for column in kept)
        selects, rows = [], []
        for by, end in (("at", ""), ("sequence", "_sequence")):
            some = [moment for moment in found if moment[0] == by]
            if len(some) < 2:
                continue
            pair = sorted(rng.sample(some, 2), key=lambda moment: moment[2])
            (_, begin_given, _), (_, end_given, commit) = pair
            calls = {
                "before": f"spark_cdc.as_of({history}, {by}={begin_given!r})",
                "between": (
                    f"spark_cdc.versions_between({history}, "
                    f"from_{by}={begin_given!r}, to_{by}={end_given!r})"
                ),
            }
            before, between = (f"({{{{ {calls[part]} }}}})" for part in ("before", "between"))
            moment = [
                f"timestamp '{given}'" if by == "at" else f"'{given}'"
                for given in (begin_given, end_given)
            ]
            began = f"cdc_valid_from{end} > {moment[0]}"
            ended = f"not cdc_is_current and cdc_valid_to{end} <= {moment[1]}"
            selects.append(
                f"select '{by}' as cdc_moment, * from (\n"
                f"(select {names} from {before}\nexcept all\n"
                f"select {names} from {between} where ({ended}) and coalesce(not {began}, true))\n"
                f"union all\nselect {names} from {between} where {began} and not ({ended}))"
            )
            rows += [
                {"cdc_moment": by} | {column: row[column] for column in kept}
                for row in workload.state_at(commit).values()
            ]
        columns = {"cdc_moment": "string"} | {column: table.columns[column] for column in kept}
        self.query(f"{name}_{suffix}_between", "\nunion all\n".join(selects), columns, rows)

    def narrow_before(self, name: str, call: str, case: Case) -> None:
        """With `before_image='key'` change events have less, current state and history the same."""
        columns = random_events.event_columns(case.table)
        columns["cdc_before"] = {key: case.table.columns[key] for key in case.table.key}
        events = [
            event | {"cdc_before": before and {key: before[key] for key in case.table.key}}
            for event in case.events
            for before in [event["cdc_before"]]
        ]
        self.model(f"{name}_changes", f"{call}, before_image='key')", columns, events)
        suffixes = ("current", "events")
        self.applied(name, case.table, f"ref('{name}_changes')", list(case.events), suffixes)
        self.feed(name, case)

    def feed(self, name: str, case: Case) -> None:
        """A feed with keys, applied in its order by a reader of whole envelopes: current state."""
        if any(event["cdc_present_columns"] is not None for event in case.events):
            return  # a reader cannot know what such an event leaves as it was
        key = list(case.table.key)
        call = f"spark_cdc.change_feed(ref('{name}_changes'), key={key}, keyed=true)"
        body = (
            f"with feed as (\n{{{{ {call} }}}}\n),\n"
            "positions as (\n"
            "select *, struct(cdc_commit_sequence, cdc_sequence, cdc_step) as place from feed\n"
            "),\n"
            "truncated as (select max(place) as place from positions where value.op = 't'),\n"
            "last_of_key as (\n"
            "select max_by(value, place) as value, max(place) as place\n"
            "from positions where key is not null group by key\n"
            ")\n"
            "select last_of_key.value.after.* from last_of_key cross join truncated\n"
            "where last_of_key.value.after is not null\n"
            "and (truncated.place is null or last_of_key.place > truncated.place)\n"
        )
        rows = apply_events.current_state(case.events, key)
        self.query(f"{name}_feed", body, case.table.columns, rows)


def narrow(table: database.Table) -> list[str]:
    """The key and the last column."""
    return list(dict.fromkeys([*table.key, list(table.columns)[-1]]))


def moments(
    workload: database.Workload, positions: oracle.Positions, by_event: bool
) -> list[tuple[str, str, int]]:
    """Each commit that is a moment of the log, as `at` or `sequence`, and its position.

    It is a moment if everything before it is before its transaction, and everything after it later.
    Sources may write transactions in another order, or mix them, and clocks may go backwards.
    """
    places: dict[str, dict[int, list[Any]]] = {"at": {}, "sequence": {}}
    for transaction in workload.transactions:
        found = [positions[one.number] for one in transaction.changes if one.number in positions]
        if found:
            name = "sequence" if by_event else "commit_sequence"
            sequences = sorted(getattr(one, name) for one in found)
            places["sequence"][transaction.position] = [sequences[0], sequences[-1]]
            places["at"][transaction.position] = [found[0].commit_at] * 2
    if any(None in times for times in places["at"].values()):
        del places["at"]
    given = [("sequence", " ", -1)]
    for by, of_commits in places.items():
        for commit, (_, end) in of_commits.items():
            others = [(other, *place) for other, place in of_commits.items() if other != commit]
            if all(begin > end if other > commit else last <= end for other, begin, last in others):
                given.append((by, end.isoformat() if by == "at" else end, commit))
    return given


def check_case(case: Case) -> None:
    """The expected rows of a format's folder follow from the simulated database, and add up."""
    counts = dict(case.raw_counts)
    counted = [case.relations[name] for name in ("raw", *case.counted)]
    assert counts["raw_rows"] == sum(len(relation.rows) for relation in counted)
    assert counts.pop("raw_rows") == sum(counts.values())
    if case.workload is not None:
        assert oracle.current_state(case.workload, positions=case.positions) == (
            apply_events.current_state(case.events, list(case.table.key))
        )


def cases(project: Project) -> None:
    for format_ in every_format():
        for number, case in enumerate(format_.cases(SEED)):
            check_case(case)
            # the other forms do not depend on the format: the first case of each format has them
            more = () if number else ("with_deleted", "events")
            project.case(format_, case, ("current", "history", *more))
    project.events("sparse", database.ORDERS, transactions=80, key_space=10)
    project.events("positions", database.POSITIONS, transactions=80, key_space=10, sparse=0.2)
    all_key = database.Table("tags", {"id": "bigint", "tag": "string"}, ("tag", "id"))
    project.null_keys("null_key", database.ORDERS, transactions=80, key_space=10)
    project.null_keys("null_in_keys", database.POSITIONS, transactions=80, key_space=10, sparse=0.2)
    project.events("all_key", all_key, transactions=60, key_space=10)
    # with 8 truncates most keys are plain, with 9 none is
    project.reloaded("loaded_once", database.ORDERS, truncates=1)
    project.reloaded("loaded_8_times", database.POSITIONS, truncates=8)
    project.reloaded("loaded_9_times", database.ORDERS, truncates=9)
    call = f"spark_cdc.health([{', '.join(project.watched)}])"
    columns = {"table_name": "string", "events": "bigint", **GAPS}
    project.model("health", call, columns, list(project.watched.values()))


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
    install_package(home)
    (home / "profiles.yml").write_text(
        "workloads: {target: thrift, outputs: {thrift: {type: spark, method: thrift, "
        f"host: {warehouse.host}, port: {warehouse.port}, schema: {SCHEMA}, threads: 4, "
        "query_retries: 0, poll_interval: 0}}}\n"
    )
    (home / "models" / "inputs.yml").write_text(
        f"sources:\n  - name: inputs\n    schema: {SCHEMA}\n    tables:\n"
        + "".join(f"      - name: {name}\n" for name in made.inputs)
    )
    warehouse.sql(
        f"drop schema if exists {SCHEMA} cascade",
        f"create schema {SCHEMA}",
        *(
            f"create table {SCHEMA}.`{name}` using parquet location '{home}/inputs/{name}'"
            for name in made.inputs
        ),
    )
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
