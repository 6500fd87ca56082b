"""Plans of the demo's compiled SQL.

Other tests compare results. No result of a small table shows how often Spark sorts or shuffles the
rows, which takes most of the time on a large table. So these tests look inside.
"""

from __future__ import annotations

import re

import pytest
from kit.warehouse import PROFILES, ROOT, DbtRun, Warehouse

# Small tables are planned as if they were large.
SETTINGS = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}


def planned(warehouse: Warehouse, sql: str) -> str:
    """The plan of a query, before Spark adapts it to small tables."""
    sets = (f"set {name}={value}" for name, value in SETTINGS.items())
    ((plan,),) = warehouse.sql(*sets, f"explain {sql}")
    warehouse.sql(*(f"reset {name}" for name in SETTINGS))  # a setting applies to all clients
    return str(plan)


def model(built: DbtRun, name: str) -> str:
    """The SQL of a model of the demo."""
    (compiled,) = (built.target / "compiled").rglob(f"models/**/{name}.sql")
    return compiled.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["demo_orders", "demo_orders__history"])
def test_effects_are_shuffled_once(warehouse: Warehouse, built: DbtRun, name: str) -> None:
    """Plain and complex keys read one shuffle of the events, which is the widest."""
    assert re.search(r"ReusedExchange \[.*cdc_after", planned(warehouse, model(built, name)))


# The other shuffle by key is the shuffle of the snapshot.
@pytest.mark.parametrize(("snapshot", "shuffles"), [("", 1), ("ref('demo_users__snapshot')", 2)])
def test_an_event_log_is_shuffled_once(
    warehouse: Warehouse, built: DbtRun, snapshot: str, shuffles: int
) -> None:
    """By key, and by record id only for ids that may be on several rows. There is no cross join."""
    call = (
        "spark_cdc.netiq_event_log(ref('demo_identities__log'), table='usr', key=['idu'],"
        f" columns={{'idu': 'int', 'fname': 'string'}}, snapshot={snapshot or 'none'})"
    )
    plan = planned(warehouse, warehouse.compiled(ROOT, f"{{{{ {call} }}}}", profiles=PROFILES))
    assert len(re.findall(r"[^d]Exchange hashpartitioning\(cdc_key#", plan)) == shuffles
    whole = re.findall(r"FileScan parquet \S+demo_identities__log\[[^]]*new_value", plan)
    assert len(whole) == 2  # rows outside those buckets, and rows in them
    for word in ("Cartesian", "NestedLoop", "Python", "Arrow"):
        assert word not in plan


CCD = (
    "IBMSNAP_COMMITSEQ string, IBMSNAP_INTENTSEQ string, IBMSNAP_OPERATION string,"
    " IBMSNAP_LOGMARKER string, ITEM string, PRICE decimal(8,2)"
)


def test_a_capture_table_is_shuffled_once(warehouse: Warehouse, built: DbtRun) -> None:
    """By commit, for the window that finds pairs. What finds copies is narrow."""
    warehouse.sql("create schema plans", f"create table plans.ccd ({CCD}) using parquet")
    call = (
        "spark_cdc.db2_capture_table(api.Relation.create(schema='plans', identifier='ccd'),"
        " key=['ITEM'], columns={'ITEM': 'string', 'PRICE': 'decimal(8,2)'}, before_prefix=none)"
    )
    ccd = warehouse.compiled(ROOT, f"{{{{ {call} }}}}", profiles=PROFILES)
    plans = [planned(warehouse, sql) for sql in (model(built, "demo_parts__changes"), ccd)]
    warehouse.sql("drop schema plans cascade")
    reads = re.findall(r"FileScan parquet \S+plans\.ccd\[", plans[1])
    # rows at a position of their own, rows at others, and what finds those positions; the first
    # two again for the times of full refreshes, of which there may be none
    assert len(reads) == 6
    for plan in plans:
        assert len(re.findall(r"- Exchange hashpartitioning\(cdc_bucket#\w+, cdc_place", plan)) == 1
        for word in ("Cartesian", "Python", "Arrow"):
            assert word not in plan
