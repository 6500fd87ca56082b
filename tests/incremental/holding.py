"""A run that waits in the middle of its work while another one runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from spark_cdc_udfs.server.directory import wait_for

from incremental.stepping import Stepping


@contextmanager
def held(steps: Stepping, plans: Mapping[str, tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Hold a run of one model of each scenario; give the runs once they have ended.

    `plans` are, by scenario, the model and the statement after which it waits, as a regular
    expression; '' if it waits in a hook.
    """
    meanwhile = {
        f"{steps.places[name].schema}.{model}": {"hold": True, **({"after": at} if at else {})}
        for name, (model, at) in plans.items()
    }
    selected = {name: [model] for name, (model, _) in plans.items()}
    ended: dict[str, Any] = {}
    shutil.copytree(steps.home / "target", steps.home / "held")  # what dbt has parsed
    with ThreadPoolExecutor() as pool:
        run = pool.submit(steps.dbt, selected, meanwhile=meanwhile, target="held")

        def waits(name: str, model: str) -> bool:
            found = steps.places[name].sql(f"show tables in {{schema}} like '{model}_waits'")
            return bool(found) or run.done()

        for name, (model, _) in plans.items():
            assert wait_for(lambda n=name, m=model: waits(n, m), 120)  # type: ignore[misc]
            assert not run.done(), run.result().output
        yield ended
        assert not run.done()
        for name, (model, _) in plans.items():
            steps.places[name].sql(f"create table {{schema}}.{model}_goes_on as select 1 as one")
        results = run.result().results()
    ended.update({name: results[f"{name}__{model}"] for name, (model, _) in plans.items()})
