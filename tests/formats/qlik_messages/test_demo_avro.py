"""The Avro topic of the demo, and the tables that are built from it."""

from __future__ import annotations

from kit.warehouse import DbtRun, Warehouse

from formats.qlik_messages import make_demo_avro

# Each table as a query, and its rows.
EXPECTED: dict[str, list[tuple[object, ...]]] = {
    "select SHIPMENT_ID, STATUS, cast(WEIGHT as string), cast(SHIPPED_ON as string),"
    " cast(SCANNED_AT as string), EXPRESS, hex(LABEL), VOLUME from spark_cdc.demo_shipments"
    " order by SHIPMENT_ID": [
        (1, "delivered", "12.500", "2026-03-02", "2026-03-02 08:09:59.25", False,
         "255044462D312E37", 0.125),
        (2, "loaded", "0.001", None, "2026-03-02 05:30:00", True, None, None),
        (5, "packed", "3.000", None, "2026-03-02 05:30:00", False, None, 1e-07),
    ],
    "select SHIPMENT_ID, STATUS, VOLUME, substr(cast(cdc_valid_from as string), 12),"
    " substr(cast(cdc_valid_to as string), 12), cdc_operation, cdc_ended_by"
    " from spark_cdc.demo_shipments__history order by SHIPMENT_ID, cdc_valid_from": [
        (1, "packed", None, "06:00:01", "08:10:00", "load", "update"),
        (1, "shipped", None, "08:10:00", "10:05:00", "update", "update"),
        (1, "delivered", 0.125, "10:05:00", None, "update", None),
        (2, "packed", None, "06:00:01", "08:20:00", "load", "update"),
        (2, "loaded", None, "08:20:00", None, "update", None),
        (3, "packed", None, "06:00:01", "10:20:00", "load", "delete"),
        (4, "packed", None, "08:00:00", "08:30:00", "insert", "delete"),
        (5, "packed", 1e-07, "10:10:00", None, "insert", None),
    ],
    "select * from spark_cdc.demo_shipments__counts": [(33, 12, 8, 13)],
    "select CARRIER_ID, NAME, cast(RATE as string), cdc_operation from spark_cdc.demo_carriers"
    " order by CARRIER_ID": [
        (20, "Süd-Express", "7.50", "update"),
        (30, "Example Freight", None, "insert"),
    ],
}  # fmt: skip


def test_the_demo_topic_is_up_to_date() -> None:
    """The committed file is the output of the script."""
    seed = make_demo_avro.SEED.read_text(encoding="utf-8")
    assert seed == make_demo_avro.seed(), f"run python {make_demo_avro.__file__}"


def test_the_avro_topic_gives_its_tables(warehouse: Warehouse, built: DbtRun) -> None:
    for query, rows in EXPECTED.items():
        assert warehouse.sql(query) == rows, query


def test_each_bad_record_is_in_quarantine_for_its_reason(
    warehouse: Warehouse, built: DbtRun
) -> None:
    """The column `shows` names it."""
    shown = warehouse.sql(
        "select offset, regexp_extract(shows, '^quarantine, ([a-z_]+)', 1)"
        " from spark_cdc.demo_wms__records where topic = 'wms.changes' and partition = 2"
    )
    found = warehouse.sql(
        "select cast(get_json_object(raw, '$.offset') as bigint), reason"
        " from spark_cdc.demo_shipments__quarantine"
    )
    assert sorted(found) == sorted(shown)
