"""Plans of the demo's compiled SQL.

Other tests compare results. No result of a small table shows how often Spark sorts or shuffles the
rows, which takes most of the time on a large table. So these tests look inside.
"""

from __future__ import annotations

import re

import pytest
from kit.warehouse import DbtRun, Warehouse


def planned(warehouse: Warehouse, built: DbtRun, name: str) -> str:
    """The plan of a model of the demo, before Spark adapts it to small tables."""
    (compiled,) = (built.target / "compiled").rglob(f"models/**/{name}.sql")
    explain = f"explain {compiled.read_text(encoding='utf-8')}"
    # An adaptive plan says this only once it has run, and small tables are joined without a
    # shuffle. A setting applies to all clients.
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}
    sets = (f"set {name}={value}" for name, value in settings.items())
    ((plan,),) = warehouse.sql(*sets, explain)
    warehouse.sql(*(f"reset {name}" for name in settings))
    return str(plan)


@pytest.mark.parametrize("name", ["demo_orders", "demo_orders__history"])
def test_effects_are_shuffled_once(warehouse: Warehouse, built: DbtRun, name: str) -> None:
    """Plain and complex keys read one shuffle of the events, which is the widest."""
    assert re.search(r"ReusedExchange \[.*cdc_after", planned(warehouse, built, name))


# The other shuffle by key is the shuffle of the snapshot.
@pytest.mark.parametrize(("name", "shuffles"), [("demo_groups", 1), ("demo_users", 2)])
def test_an_event_log_is_shuffled_once(
    warehouse: Warehouse, built: DbtRun, name: str, shuffles: int
) -> None:
    """By key, and by record id only for ids that may be on several rows. There is no cross join."""
    plan = planned(warehouse, built, f"{name}__changes")
    assert len(re.findall(r"[^d]Exchange hashpartitioning\(cdc_key#", plan)) == shuffles
    whole = re.findall(r"FileScan parquet \S+demo_identities__log\[[^]]*new_value", plan)
    assert len(whole) == 2  # rows outside those buckets, and rows in them
    for word in ("Cartesian", "NestedLoop", "Python", "Arrow"):
        assert word not in plan


@pytest.mark.parametrize("name", ["demo_parts", "demo_prices"])
def test_a_capture_table_is_shuffled_once(warehouse: Warehouse, built: DbtRun, name: str) -> None:
    """By commit, for all of its windows; what full refreshes ask of it reads the same shuffle."""
    plan = planned(warehouse, built, f"{name}__changes")
    assert len(re.findall(r"- Exchange hashpartitioning\(cdc_bucket#", plan)) == 1
    assert name == "demo_parts" or re.search(r"ReusedExchange \[.*cdc_content", plan)
    for word in ("Cartesian", "Python", "Arrow"):
        assert word not in plan
