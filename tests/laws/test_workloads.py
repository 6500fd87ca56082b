"""Generated workloads: the models built over Thrift equal the simulated database in every cell.

Each case is a source table with many transactions. Its change table goes through the macros in one
dbt run; for cases that none of our sources writes, its change events do. Every result is compared
with the simulation. `SPARK_CDC_SEED` (a number, 0 by default) makes other workloads.
"""

from __future__ import annotations

import os
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.formats import Case, Columns, Format, Row, every_format
from kit.lake import write_parquet
from kit.warehouse import Warehouse, install_package
from simulation import apply_events, database, gaps, oracle, random_events

from laws import held_tests

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
# Of a history, by sequence and by time. All versions of a history are compared; these moments show
# that `as_of` takes the right ones.
MOMENTS = 6
# Current state, history and what reads them do not depend on the format of the change events. So
# `make test` builds all forms of them for the formats of :func:`has_all_forms` alone.
ALL_FORMS = ("current", "with_deleted", "history", "events")
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
    tests: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def tested(self, name: str, test: str, arguments: Mapping[str, Any], result: str) -> None:
        """A generic test on a model or an input; `result` is `pass` or `fail`."""
        number = sum(map(len, self.tests.values()))
        told = {"name": f"{result}_{number}", "arguments": dict(arguments)}
        self.tests[name].append({f"spark_cdc.{test}": told})

    def model(self, name: str, call: str, columns: Columns, rows: Sequence[Row]) -> None:
        self.query(name, f"{{{{ {call} }}}}\n", columns, rows)

    def query(self, name: str, body: str, columns: Columns, rows: Sequence[Row]) -> None:
        # with another seed a table may be empty at the end
        assert rows or SEED or name.endswith("_quarantine"), f"nothing is expected of {name}"
        (self.home / "models" / f"{name}.sql").write_text(body)
        write_parquet(self.home / "expected" / name, columns, rows, files=1)
        self.expected[name] = columns

    def view(self, name: str, body: str) -> None:
        (self.home / "models" / f"{name}.sql").write_text(body)

    def properties(self) -> dict[str, Any]:
        """The YAML of the project: its inputs, and the generic tests."""
        typed = [
            {"name": name, "data_type": kind}
            for name, kind in {**database.ORDERS.columns, **CURRENT}.items()
        ]
        described: list[dict[str, Any]] = []
        for name in dict.fromkeys([*self.inputs, *self.tests]):
            told: dict[str, Any] = {"name": name}
            if tests := self.tests.get(name):
                told["data_tests"] = tests
            if any("spark_cdc.column_types_are" in one for one in self.tests.get(name, ())):
                told["columns"] = typed
            described.append(told)
        tables = [one for one in described if one["name"] in self.inputs]
        models = [one for one in described if one["name"] not in self.inputs]
        sources = [{"name": "inputs", "schema": SCHEMA, "tables": tables}]
        return {"sources": sources, "models": models}

    def input(self, name: str, columns: Columns, rows: Sequence[Row]) -> None:
        write_parquet(self.home / "inputs" / name, columns, rows)
        self.inputs.append(name)

    def applied(
        self,
        name: str,
        table: database.Table,
        changes: str,
        events: list[Any],
        suffixes: Sequence[str] = ALL_FORMS,
        null_keys: bool = False,
        mixes: bool = False,
    ) -> None:
        """Current state and history of change events in every form, with the expected rows."""
        key = list(table.key)
        kept_names = narrow(table)
        given = f"'changes': {changes}, 'key': {key}, 'null_keys': {null_keys}"
        counted = gaps.gaps(events, key, null_keys)
        nulls = {"null_keys": True} if null_keys else {}
        for suffix in {"current", "with_deleted"}.intersection(suffixes):
            self.tested(f"{name}_{suffix}", "one_row_per_key", {"key": key, **nulls}, "pass")
            versions = {"history": f"ref('{name}_{suffixes[-1]}')", "columns": kept_names}
            self.tested(f"{name}_{suffix}", "current_equals_history", versions, "pass")
        for suffix in {"history", "" if mixes else "events"}.intersection(suffixes):
            self.tested(f"{name}_{suffix}", "history_is_consistent", {"key": key}, "pass")
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
        key = {"key": list(case.table.key)} | ({"null_keys": True} if case.null_keys else {})
        for ending, test, given in (
            ("_changes", "is_change_events", key),
            ("_changes", "sequences_are_well_formed", {}),
            ("_changes", "mask_names_changed_columns", {}),
            ("_counts", "raw_rows_are_accounted_for", {}),
            *case.generic_tests,
        ):
            self.tested(f"{case.name}{ending}", test, given, "pass")
        counts = f"spark_cdc.raw_counts('{decoder}', {call})"
        self.model(f"{case.name}_counts", counts, COUNTS, [case.raw_counts])
        changes = f"ref('{case.name}_changes')"
        events = list(case.events)
        self.applied(case.name, case.table, changes, events, suffixes, case.null_keys, case.mixes)
        if suffixes == ALL_FORMS:
            for suffix in ("history", "events"):
                self.as_of(case, suffix)
                self.between(case, suffix)
            self.feed(case.name, case)
            if format_.can_narrow_before:
                self.narrow_before(f"{case.name}_narrow", f"spark_cdc.{decoder}({call}", case)

    def as_of(self, case: Case, suffix: str) -> None:
        """The table as of some commits, from a history."""
        rng = random.Random(f"{SEED} {case.name} {suffix}")
        found = moments(case, suffix == "events")
        table = case.table
        kept = list(table.columns) if suffix == "events" else narrow(table)
        selects, rows = [], []
        for by in ("at", "sequence"):
            some = [moment for moment in found if moment.by == by]
            for number, one in enumerate(rng.sample(some, min(MOMENTS, len(some)))):
                call = f"spark_cdc.as_of(ref('{case.name}_{suffix}'), {by}={one.given!r})"
                selects.append(f"select '{by} {number}' as cdc_moment, * from ({{{{ {call} }}}})")
                rows += [
                    {"cdc_moment": f"{by} {number}"} | {column: row[column] for column in kept}
                    for row in one.state()
                ]
        columns = {"cdc_moment": "string"} | {column: table.columns[column] for column in kept}
        self.query(f"{case.name}_{suffix}_as_of", "\nunion all\n".join(selects), columns, rows)

    def between(self, case: Case, suffix: str) -> None:
        """The versions between two commits turn the first state of the table into the second."""
        rng = random.Random(f"{SEED} {case.name} {suffix} between")
        found = moments(case, suffix == "events")
        table, history = case.table, f"ref('{case.name}_{suffix}')"
        kept = list(table.columns) if suffix == "events" else narrow(table)
        names = ", ".join(map(quoted, kept))
        selects, rows = [], []
        for by, end in (("at", ""), ("sequence", "_sequence")):
            some = [moment for moment in found if moment.by == by]
            if len(some) < 2:
                continue
            first, last = sorted(rng.sample(some, 2), key=lambda moment: moment.order)
            calls = {
                "before": f"spark_cdc.as_of({history}, {by}={first.given!r})",
                "between": (
                    f"spark_cdc.versions_between({history}, "
                    f"from_{by}={first.given!r}, to_{by}={last.given!r})"
                ),
            }
            before, between = (f"({{{{ {calls[part]} }}}})" for part in ("before", "between"))
            moment = [
                f"timestamp '{given}'" if by == "at" else f"'{given}'"
                for given in (first.given, last.given)
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
                for row in last.state()
            ]
        columns = {"cdc_moment": "string"} | {column: table.columns[column] for column in kept}
        self.query(f"{case.name}_{suffix}_between", "\nunion all\n".join(selects), columns, rows)

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
        changes, mixes = f"ref('{name}_changes')", case.mixes
        self.applied(name, case.table, changes, list(case.events), suffixes, mixes=mixes)
        self.feed(name, case)

    def feed(self, name: str, case: Case) -> None:
        """A feed with keys, applied in its order by a reader of whole envelopes: current state.

        The reader keeps what it has in columns that an event does not carry. A row that moves
        without all columns is beyond it: what the event leaves out is null, as rule 13 says.
        """
        key = list(case.table.key)
        for event in case.events:
            before = event["cdc_before"] or {}
            moves = event["cdc_operation"] == "update" and any(
                before.get(column) not in (None, event[column]) for column in key
            )
            if moves and event["cdc_present_columns"] is not None:
                return
        call = f"spark_cdc.change_feed(ref('{name}_changes'), key={key}, keyed=true)"
        carried = "not array_contains(coalesce(value.source.unavailable_columns, array()), '{}')"
        values = ",\n".join(
            f"max_by(value.after.{quoted(column)}, place) filter (where {carried.format(column)})"
            f" as {quoted(column)}"
            for column in case.table.columns
        )
        body = (
            f"with feed as (\n{{{{ {call} }}}}\n),\n"
            "positions as (\n"
            "select *, struct(cdc_commit_sequence, cdc_sequence, cdc_step) as place from feed\n"
            "),\n"
            "truncated as (select max(place) as begin from positions where value.op = 't'),\n"
            "gone as (\n"
            "select key, max(place) filter (where value.after is null) as begin\n"
            "from positions where key is not null group by key\n"
            ")\n"
            f"select {values}\nfrom positions join gone using (key) cross join truncated\n"
            "where value.after is not null\n"
            "and coalesce(place > greatest(gone.begin, truncated.begin), true)\n"
            "group by key\n"
        )
        rows = apply_events.current_state(case.events, key)
        self.query(f"{name}_feed", body, case.table.columns, rows)


def quoted(column: str) -> str:
    """The name of a column as SQL."""
    return "`" + column.replace("`", "``") + "`"


def narrow(table: database.Table) -> list[str]:
    """The key and the last column."""
    return list(dict.fromkeys([*table.key, list(table.columns)[-1]]))


@dataclass(frozen=True)
class Moment:
    """A commit as a moment of the log: `at` or `sequence`, its place, and the table then."""

    by: str
    given: str
    order: int
    state: Callable[[], Iterable[Row]]


def moments(case: Case, by_event: bool) -> list[Moment]:
    """Each commit before which everything is earlier, and after which everything is later.

    Sources may write transactions in another order, or mix them, and clocks may go backwards. The
    table then is a state of the simulated database, if the raw rows contain all that it knows. Else
    it is what the change events up to then leave.
    """
    if case.workload is not None:
        return moments_of_database(case.workload, case.positions, by_event)
    key = list(case.table.key)
    events = sorted(case.events, key=lambda one: (one["cdc_commit_sequence"], one["cdc_sequence"]))
    found = [Moment("sequence", " ", 0, list)]
    sequence = "cdc_sequence" if by_event else "cdc_commit_sequence"
    for by, column in (("at", "cdc_commit_at"), ("sequence", sequence)):
        values = [event[column] for event in events]
        if None in values:
            continue
        for end in range(1, len(events)):
            commit, following = (events[place]["cdc_commit_sequence"] for place in (end - 1, end))
            last = max(values[:end])
            if commit != following and last < min(values[end:]):
                state = partial(apply_events.current_state, events[:end], key)
                given = last.isoformat() if by == "at" else last
                found.append(Moment(by, given, end, state))
    return found


def moments_of_database(
    workload: database.Workload, positions: oracle.Positions, by_event: bool
) -> list[Moment]:
    """The moments, with the states of the simulated database."""
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

    def moment(by: str, given: str, commit: int) -> Moment:
        return Moment(by, given, commit, lambda: workload.state_at(commit).values())

    given = [moment("sequence", " ", -1)]
    for by, of_commits in places.items():
        for commit, (_, end) in of_commits.items():
            others = [(other, *place) for other, place in of_commits.items() if other != commit]
            if all(begin > end if other > commit else last <= end for other, begin, last in others):
                given.append(moment(by, end.isoformat() if by == "at" else end, commit))
    return given


def check_case(case: Case) -> None:
    """The expected rows of a format's folder follow from the simulated database, and add up."""
    counts = dict(case.raw_counts)
    counted = [case.relations[name] for name in ("raw", *case.counted)]
    assert counts["raw_rows"] == sum(len(relation.rows) for relation in counted)
    assert counts.pop("raw_rows") == sum(counts.values())
    if case.workload is None:
        return
    key = list(case.table.key)
    assert oracle.current_state(case.workload, positions=case.positions) == (
        apply_events.current_state(case.events, key)
    )
    for column, by_event in (("cdc_sequence", True), ("cdc_commit_sequence", False)):
        for moment in moments(case, by_event):
            if moment.by == "sequence":
                until = [event for event in case.events if event[column] <= moment.given]
                found = apply_events.current_state(until, key)
                then = {
                    case.table.key_of(row): {name: row[name] for name in case.table.columns}
                    for row in found
                }
                state = {case.table.key_of(row): dict(row) for row in moment.state()}
                assert then == state, (case.name, moment.given)


def has_all_forms(format_: Format) -> bool:
    """Whether raw rows tell all that the database knows, and before images can be narrow."""
    return format_.can_narrow_before and next(iter(format_.cases(SEED))).workload is not None


def cases(project: Project, are_first: bool) -> None:
    """The first two cases of each format and one of each other kind, or the other ones.

    The other ones have the first two again where they lacked forms.
    """
    for format_ in every_format():
        is_whole = has_all_forms(format_)
        for number, case in enumerate(format_.cases(SEED)):
            # … and the case of a full load with which the tests of loads are held
            is_other = number > 1 and case.name != held_tests.LOADED_CASE
            suffixes: Sequence[str]
            if are_first and not is_other:
                suffixes = ALL_FORMS if is_whole and not number else ("current", "history")
                # of other formats the second case only shows the change events
                suffixes = suffixes if is_whole or not number else ()
            elif not are_first and (is_other or not is_whole):
                suffixes = ("current", "history") if number else ALL_FORMS
            else:
                continue
            check_case(case)
            project.case(format_, case, suffixes)
    if are_first:
        project.events("sparse", database.ORDERS, transactions=80, key_space=10)
        project.null_keys(
            "null_in_keys", database.POSITIONS, transactions=80, key_space=10, sparse=0.2
        )
        # with 8 truncates most keys are plain, with 9 none is
        project.reloaded("loaded_8_times", database.POSITIONS, truncates=8)
    else:
        project.events("positions", database.POSITIONS, transactions=80, key_space=10, sparse=0.2)
        all_key = database.Table("tags", {"id": "bigint", "tag": "string"}, ("tag", "id"))
        project.null_keys("null_key", database.ORDERS, transactions=80, key_space=10)
        project.events("all_key", all_key, transactions=60, key_space=10)
        project.reloaded("loaded_once", database.ORDERS, truncates=1)
        project.reloaded("loaded_9_times", database.ORDERS, truncates=9)
    call = f"spark_cdc.health([{', '.join(project.watched)}])"
    columns = {"table_name": "string", "events": "bigint", **GAPS}
    project.model("health", call, columns, list(project.watched.values()))
    if are_first:
        held_tests.hold(project)


def build(project: Project, warehouse: Warehouse) -> None:
    """Build the models of a project on a server."""
    home = project.home
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
    (home / "models" / "models.yml").write_text(yaml.dump(project.properties()))
    warehouse.sql(
        f"drop schema if exists {SCHEMA} cascade",
        f"create schema {SCHEMA}",
        *(
            f"create table {SCHEMA}.`{name}` using parquet location '{home}/inputs/{name}'"
            for name in project.inputs
        ),
    )
    warehouse.dbt(home, "run")


def wrong_tables(project: Project, warehouse: Warehouse) -> list[str]:
    """The tables that are not as expected, each with what differs."""
    wrong = []
    for name, columns in project.expected.items():
        names = ", ".join(map(quoted, columns))
        built = f"select {names} from {SCHEMA}.`{name}`"
        expected = f"select {names} from parquet.`{project.home}/expected/{name}`"
        if difference := warehouse.difference(built, expected):
            wrong.append(f"{name}: {difference}")
    return wrong


@pytest.fixture(
    scope="module", params=["first cases", pytest.param("other cases", marks=pytest.mark.slow)]
)
def project(
    request: pytest.FixtureRequest, warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    home = tmp_path_factory.mktemp("workloads")
    (home / "models").mkdir()
    made = Project(home)
    cases(made, request.param == "first cases")
    build(made, warehouse)
    if request.param == "first cases":
        warehouse.sql(*(f"insert into {SCHEMA}.{rows}" for rows in held_tests.LANDED_AFTER))
    yield made


def test_results_equal_the_simulation(warehouse: Warehouse, project: Project) -> None:
    wrong = wrong_tables(project, warehouse)
    assert not wrong, "\n".join(wrong)


def test_raw_rows_that_a_decoder_loses_are_noticed(warehouse: Warehouse, project: Project) -> None:
    """Raw rows are counted where they land, and not where they are decoded."""
    models = warehouse.run_folder(project.home) / "target/compiled/workloads/models"
    named = [[one.name for one in format_.cases(SEED)] for format_ in every_format()]
    # one case of each format; the other cases have none of some formats
    built = [[name for name in names if f"{name}_counts" in project.expected] for names in named]
    assert sum(map(bool, built)) > len(named) / 2
    for name in (names[0] for names in built if names):
        counts = (models / f"{name}_counts.sql").read_text()
        counted, decoded = counts.split("\nfrom (\n", 1)
        ((landed,),) = warehouse.sql(f"select count(*) from {SCHEMA}.{name}__raw")
        half = f"(select * from {SCHEMA}.{name}__raw limit {landed // 2})"
        loses = re.sub(rf"\S*{name}__raw\b`?", half, decoded)
        assert loses != decoded, name
        ((raw_rows, *kinds),) = warehouse.sql(f"{counted}\nfrom (\n{loses}")
        assert raw_rows > sum(kinds), name


def test_generic_tests_pass_on_right_tables_only(warehouse: Warehouse, project: Project) -> None:
    """… and each fails for each fault that its description lists."""
    found = warehouse.dbt(project.home, "test", check=False).artifact("run_results")["results"]
    results = {result["unique_id"].split(".")[2]: result for result in found}
    asked = [test for tests in project.tests.values() for test in tests]
    names = {told["name"]: next(iter(one)) for one in asked for told in one.values()}
    assert results.keys() == names.keys()
    faults = list(held_tests.faults())
    wrong = [
        f"{test}: {name}, {results[name]['status']}: {results[name]['message']}"
        + (f", although {faults[int(name.split('_')[1])].says}" if name.startswith("fail") else "")
        for name, test in names.items()
        if results[name]["status"] != name.split("_")[0]
    ]
    assert not wrong, "\n".join(wrong)


def test_every_generic_test_lists_its_faults() -> None:
    assert {(fault.test, fault.says) for fault in held_tests.faults()} == held_tests.listed()
