"""Plans of the demo's compiled SQL.

Tests elsewhere compare results. These look inside, because no result of a small table shows how
often Spark sorts or sends the rows: on a large one that is most of the time that a run takes.
"""

from __future__ import annotations

import re

import pytest
from kit.warehouse import DbtRun, Warehouse


@pytest.mark.parametrize("name", ["demo_orders", "demo_orders__history"])
def test_effects_are_shuffled_once(warehouse: Warehouse, built: DbtRun, name: str) -> None:
    """Plain keys and all others read one shuffle of the events, the widest there is."""
    (compiled,) = (built.target / "compiled").rglob(f"models/**/{name}.sql")
    explain = f"explain {compiled.read_text(encoding='utf-8')}"
    # An adaptive plan says so only once it has run, and small tables are joined without a shuffle.
    # A setting holds for all clients.
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}
    sets = (f"set {name}={value}" for name, value in settings.items())
    ((plan,),) = warehouse.sql(*sets, explain)
    warehouse.sql(*(f"reset {name}" for name in settings))
    assert re.search(r"ReusedExchange \[.*cdc_after", plan)
