"""Runs scenarios of incremental models: step n of all of them is one dbt run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kit.warehouse import DbtRun, Warehouse, install_package

from incremental.scenario import Place, Scenario, Step, columns_of, config

MACROS = Path(__file__).parent / "macros"


class Stepping:
    """A dbt project with all scenarios, which runs step by step."""

    def __init__(
        self,
        warehouse: Warehouse,
        home: Path,
        name: str,
        scenarios: Sequence[Scenario],
        variables: Mapping[str, Any] | None = None,
        at_a_time: int = 4,
    ) -> None:
        self.warehouse, self.home, self.name = warehouse, home, name
        self.scenarios = scenarios
        self.places = {one.name: Place(warehouse, home, f"{name}_{one.name}") for one in scenarios}
        self.models = {one.name: dict(one.models) for one in scenarios}
        self.properties = {one.name: dict(one.properties) for one in scenarios}
        self.problems: dict[str, list[str]] = {one.name: [] for one in scenarios}
        self.looks: dict[str, list[Any]] = {one.name: [] for one in scenarios}
        self.variables = dict(variables or {})
        self.at_a_time = at_a_time
        self._begin()

    def run(self) -> Stepping:
        """Run all steps."""
        for number in range(max(len(one.steps) for one in self.scenarios)):
            self.step(number)
        return self

    def step(self, number: int) -> None:
        """Run step `number` of all scenarios, and collect deviations."""
        now = [(one, one.steps[number]) for one in self.scenarios if number < len(one.steps)]
        self._each(lambda one, step: self._land(one, step), now)
        for scenario, step in now:
            self._write(scenario, step)
        groups: dict[tuple[str, ...], list[tuple[Scenario, Step]]] = {}
        for scenario, step in now:
            if step.run != ():
                groups.setdefault(tuple(step.options), []).append((scenario, step))
        said: dict[str, str] = {}
        for options, group in groups.items():
            said |= self._run(group, options, number)
        self._each(lambda one, step: self._look(one, step, number, said.get(one.name, "")), now)

    def dbt(
        self,
        selected: Mapping[str, Sequence[str]],
        *options: str,
        meanwhile: Mapping[str, Mapping[str, Any]] | None = None,
        target: str = "target",
    ) -> DbtRun:
        """Run the selected models of scenarios in one process."""
        nodes = [f"{name}__{model}" for name, models in selected.items() for model in models]
        env = {
            "DBT_TARGET_PATH": str(self.home / target),
            "MEANWHILE": json.dumps(meanwhile or {}),
            "UNLISTED": f"{self.name}_unlisted",
            "DBT_LOG_FILE_MAX_BYTES": "0",  # no second file
        }
        (self.home / target / "run_results.json").unlink(missing_ok=True)
        done = self.warehouse.dbt(
            self.home, "run", "--select", *nodes, *options, env=env, check=False
        )
        if not (self.home / target / "run_results.json").exists():
            pytest.fail(f"dbt did not run {nodes}:\n{done.output}", pytrace=False)
        return done

    def plans(self, scenario: str, step: Step) -> dict[str, Mapping[str, Any]]:
        """The plans for the middle of runs, by the full names of a scenario's models."""
        place, plans = self.places[scenario], {}
        for model, plan in step.meanwhile.items():
            text = json.dumps(dict(plan(place) if callable(plan) else plan))
            plans[f"{place.schema}.{model}"] = json.loads(text.replace("{schema}", place.schema))
        return plans

    def check(self, scenario: str) -> list[Any]:
        """Fail if a step had another result than it declares; give the results of `look`."""
        if self.problems[scenario]:
            pytest.fail(
                "\n".join([f"scenario {scenario}", *self.problems[scenario]]), pytrace=False
            )
        return self.looks[scenario]

    def _begin(self) -> None:
        install_package(self.home)
        project = {
            "name": "steps",
            "version": "0.1.0",
            "profile": "steps",
            "flags": {"cache_selected_only": True, "send_anonymous_usage_stats": False},
            "models": {"+materialized": "cdc_incremental", "+file_format": "parquet"},
            "vars": self.variables,
        }
        output = {
            **{"type": "spark", "method": "thrift", "host": self.warehouse.host},
            **{"port": self.warehouse.port, "schema": self.name, "threads": 5},
            **{"query_retries": 0, "poll_interval": 0},
        }
        outputs = {"own": output, "other": output | {"schema": f"other_{self.name}"}}
        texts = {
            "dbt_project.yml": json.dumps(project),
            "profiles.yml": json.dumps({"steps": {"target": "own", "outputs": outputs}}),
        }
        for name, text in texts.items():
            (self.home / name).write_text(text)
        shutil.copytree(MACROS, self.home / "macros")
        self._each(
            lambda one, _: self.places[one.name].sql(
                "drop schema if exists {schema} cascade",
                "drop schema if exists other_{schema} cascade",
                "create schema {schema}",
                *(
                    f"create table {{schema}}.{raw} ({columns_of()}) using parquet"
                    for raw in one.raw
                ),
                *one.setup,
            ),
            [(one, Step()) for one in self.scenarios],
        )

    def _each(
        self, do: Callable[[Scenario, Step], object], of: Sequence[tuple[Scenario, Step]]
    ) -> None:
        with ThreadPoolExecutor(self.at_a_time) as pool:
            list(pool.map(lambda pair: do(*pair), of))

    def _land(self, scenario: Scenario, step: Step) -> None:
        place = self.places[scenario.name]
        for one in step.land:
            place.sql(one) if isinstance(one, str) else one(place)

    def _write(self, scenario: Scenario, step: Step) -> None:
        name, schema = scenario.name, self.places[scenario.name].schema
        self.models[name] |= step.models
        self.properties[name] |= step.properties
        folder = self.home / "models" / name
        folder.mkdir(parents=True, exist_ok=True)
        models = [{"name": f"{name}__{model}", **it} for model, it in self.properties[name].items()]
        tables = [{"name": raw} for raw in scenario.raw]
        sources = [{"name": name, "schema": schema, "tables": tables}] if tables else []
        texts = {"properties.yml": json.dumps({"version": 2, "sources": sources, "models": models})}
        for model, body in self.models[name].items():
            body = body.replace("ref('", f"ref('{name}__").replace(
                "source('landing'", f"source('{name}'"
            )
            body = body.replace("{schema}", schema)
            is_full = step.full_refresh and model in self._selected(scenario, step)
            texts[f"{name}__{model}.sql"] = (config(full_refresh=True) if is_full else "") + body
        for file, text in texts.items():
            if not (folder / file).exists() or (folder / file).read_text() != text + "\n":
                (folder / file).write_text(text + "\n")

    def _selected(self, scenario: Scenario, step: Step) -> Sequence[str]:
        return list(self.models[scenario.name]) if step.run is None else step.run

    def _run(
        self, group: Sequence[tuple[Scenario, Step]], options: Sequence[str], number: int
    ) -> dict[str, str]:
        """Run one process, check each model, and give dbt's log by scenario."""
        merged: dict[str, dict[str, Any]] = {"vars": {}, "session": {}, "meanwhile": {}}
        for scenario, step in group:
            merged["vars"] |= step.vars
            merged["session"] |= step.session
            merged["meanwhile"] |= self.plans(scenario.name, step)
        words = [*options]
        if merged["vars"]:
            words += ["--vars", json.dumps(merged["vars"])]
        target = "other" if "other" in options else "target"
        log = self.warehouse.run_folder(self.home) / "logs" / "dbt.log"
        before = log.stat().st_size if log.exists() else 0
        selected = {one.name: self._selected(one, step) for one, step in group}
        self.warehouse.sql(*(f"set {key}={value}" for key, value in merged["session"].items()))
        try:
            done = self.dbt(selected, *words, meanwhile=merged["meanwhile"], target=target)
        finally:
            self.warehouse.sql(*(f"reset {key}" for key in merged["session"]))
        if number == 0 and not options:
            # the state for `--defer`
            (self.home / "state").mkdir()
            shutil.copy(done.target / "manifest.json", self.home / "state")
        results = done.results()
        for scenario, step in group:
            for model in selected[scenario.name]:
                wrong = _judge(
                    results.get(f"{scenario.name}__{model}"),
                    step,
                    model,
                    {*step.fails} & _upstream({**scenario.models, **step.models}, model),
                )
                if wrong:
                    self.problems[scenario.name].append(f"step {number + 1}: {model} {wrong}")
        with log.open(encoding="utf-8") as file:
            file.seek(before)
            return dict.fromkeys(selected, file.read())

    def _look(self, scenario: Scenario, step: Step, number: int, log: str) -> None:
        place = Place(self.warehouse, self.home, self.places[scenario.name].schema, log)
        problems = self.problems[scenario.name]
        for of, expected in step.rows.items():
            try:
                found: Any = place.rows(of)
            except Exception as error:
                found = f"an error: {error}"[:600]
            if found != expected:
                problems.append(f"step {number + 1}: {of} has\n  {found}\ninstead of\n  {expected}")
        if step.look:
            try:
                self.looks[scenario.name].append(step.look(place))
            except Exception as error:
                problems.append(f"step {number + 1}: looking fails: {error}"[:600])


def _upstream(bodies: Mapping[str, str], model: str) -> set[str]:
    """The models that a model reads, and the models that these read."""
    read = set(re.findall(r"ref\('(\w+)'\)", bodies.get(model, ""))) & bodies.keys()
    return read.union(*(_upstream(bodies, one) for one in read))


def _judge(
    result: Mapping[str, Any] | None, step: Step, model: str, failing_upstream: set[str]
) -> str:
    """Say what is wrong with the end of a model's run; '' if nothing is."""
    status, message = (result or {}).get("status"), str((result or {}).get("message"))
    if model in step.fails:
        if status != "error":
            return f"should fail, and is {status}"
        said = step.fails[model]
        return "" if said in message else f"should say {said!r}, and says\n{message}"
    if status == "success" or (status in (None, "skipped") and failing_upstream):
        return ""
    return f"is {status}:\n{message}"
