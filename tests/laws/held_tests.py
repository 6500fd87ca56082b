"""The generic tests, held to the workloads: each passes on right tables, and fails for its faults.

The descriptions in `_generic_tests.yml` list the faults of each test. Here each of them is a wrong
copy of a right table. The test runs on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import yaml
from kit.formats import Columns, Row
from kit.warehouse import ROOT
from simulation import database

if TYPE_CHECKING:
    from laws.test_workloads import Project

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """A fault that a generic test finds.

    ``says``: the fault, as the description of the test lists it. ``of``: the right table.
    ``body``: the select of the wrong copy, in which ``{of}`` is the right table; or a table that is
    wrong. ``arguments``: of the test on both; ``wrong``: others on the wrong one.
    """

    test: str
    says: str
    of: str
    body: str
    arguments: Arguments = field(default_factory=dict)
    wrong: Arguments = field(default_factory=dict)


# the case of a change table with full loads, and a view of its raw rows
LOADED_CASE = "loaded_positions"
MASKS = f"{LOADED_CASE}_masks"

ORDERS = {"key": ["order_id"]}
POSITIONS = {"key": ["warehouse", "shelf", "day"]}
LOADS = {**POSITIONS, "minutes": 0}


def one(column: str, value: str, place: str = "order_id", of: str = "true") -> str:
    """The rows, of which the first has another value."""
    first = f"(select min({place}) from {{of}} where {of})"
    return every(column, f"if({place} = {first}, {value}, {column})")


def every(column: str, value: str) -> str:
    """The rows with other values of a column."""
    return f"select * except ({column}), {value} as {column} from {{of}}"


def event(column: str, value: str, of: str = "cdc_operation <> 'truncate'") -> str:
    """The change events, of which one has another value."""
    return one(column, value, "cdc_sequence", of)


def added(rows: str, **columns: str) -> str:
    """The rows, and others with other values of some columns, perhaps of a load."""
    own = ", ".join(columns)
    left_out = f"{own}, load, at" if "as load" in rows else own
    others = ", ".join(f"{value} as {name}" for name, value in columns.items())
    return (
        f"select {own}, * except ({own}) from {{of}}"
        f" union all select {others}, * except ({left_out}) from {rows}"
    )


def masked(mask: str) -> str:
    """The raw rows with another mask; the columns stay where they are."""
    first = "header__change_seq, header__change_oper"
    return (
        f"select {first}, '{mask}' as header__change_mask,"
        f" * except ({first}, header__change_mask) from {{of}}"
    )


TWICE = "select * from {of} union all (select * from {of} limit 1)"
UPDATE = "cdc_operation = 'update' and cdc_before is not null and size(cdc_changed_columns) = 1"
LOADED = "(select * from {of} where cdc_operation = 'load')"

OF_EVENTS = {
    "is_change_events": {
        "a column of a change event is missing, or has another type": (
            "select * except (cdc_metadata) from {of}"
        ),
        "an operation is unknown": event("cdc_operation", "'upsert'"),
        "a sequence is NULL": event("cdc_commit_sequence", "null"),
        "a sequence has other characters than printable ASCII before ~": event(
            "cdc_sequence", "concat(cdc_sequence, '~')"
        ),
        "an event is there twice": TWICE,
        "an event is before its commit": event("cdc_commit_sequence", "concat(cdc_sequence, '0')"),
        "a column of key is NULL": event("order_id", "null"),
        "a commit is not in the years 1 to 9999": event(
            "cdc_commit_at", "timestamp_seconds(300000000000)"
        ),
    },
    "sequences_are_well_formed": {
        "a sequence is NULL": event("cdc_sequence", "null"),
        "an event is there twice": TWICE,
        "an event is before its commit": event("cdc_commit_sequence", "rpad('9', 35, '9')"),
        "a sequence does not match pattern": event("cdc_sequence", "concat(cdc_sequence, 'x')"),
    },
    "mask_names_changed_columns": {
        "a changed column is not named": event("cdc_changed_columns", "array()", UPDATE),
        "a column is named that kept its value": event(
            "cdc_changed_columns",
            "array('order_id', 'customer', 'amount', 'paid', 'placed_at')",
            UPDATE,
        ),
    },
}
GIVEN: Mapping[str, Arguments] = {
    "is_change_events": ORDERS,
    "sequences_are_well_formed": {"pattern": "[0-9]{35}"},
}

OF_LOADS = {
    "full_load_is_static": {
        "a load has rows that were inserted after it": added(
            "(select inserted.*, loads.* from {of} as inserted cross join (select distinct"
            f" cdc_commit_sequence as load, cdc_commit_at as at from {LOADED}) as loads"
            " where cdc_operation = 'insert')",
            cdc_operation="'load'",
            cdc_sequence="concat(load, '.', cdc_sequence)",
            cdc_commit_sequence="load",
            cdc_commit_at="at",
        ),
        "a load has values that its rows got after it": every(
            "note", "if(cdc_operation = 'load', 'later', note)"
        ),
    },
    "full_loads_are_apart": {
        "full_load_at differs within one load, so that each part ends the part before": (
            "select * except (cdc_commit_sequence), if(cdc_operation = 'load', cdc_sequence,"
            " cdc_commit_sequence) as cdc_commit_sequence from ("
            + added(LOADED, cdc_operation="'truncate'", cdc_commit_sequence="cdc_sequence")
            + ")"
        ),
        "too few rows of a load could be read, so that it ends no rows": (
            "select * from {of} where cdc_operation <> 'truncate'"
        ),
    },
}

OF_VERSIONS = {
    "two versions of a key overlap": every(
        "cdc_valid_to_sequence", "if(cdc_is_current, null, rpad('9', 35, '9'))"
    ),
    "a version does not end after it begins": every(
        "cdc_valid_to_sequence", "if(cdc_is_current, null, cdc_valid_from_sequence)"
    ),
    "a version has no beginning": every("cdc_valid_from_sequence", "cast(null as string)"),
    "cdc_is_current, the end and cdc_ended_by contradict each other": every(
        "cdc_ended_by", "cast(null as string)"
    ),
    "a current version is followed by another one": (
        "select * except (cdc_is_current, cdc_ended_by, cdc_valid_to_sequence),"
        " true as cdc_is_current, cast(null as string) as cdc_ended_by,"
        " cast(null as string) as cdc_valid_to_sequence from {of}"
    ),
}
OF_ROWS = {
    "a row is missing": "select * from {of} where order_id > (select min(order_id) from {of})",
    "a row is too many": (
        "select * from {of} union all (select order_id - 1000, * except (order_id) from {of})"
    ),
    "a value is different": one("customer", "'another'"),
}
OF_KEYS = {
    "a key is there twice": TWICE,
    "a column of the key is NULL": one("order_id", "null"),
}
OF_TYPES = {
    "a column has another type": every("amount", "cast(amount as decimal(19, 2))"),
    "a column is not declared": "select *, 1 as more from {of}",
    "a declared column does not exist": "select * except (amount) from {of}",
}
OF_COUNTS = {
    "the numbers do not add up": every("raw_rows", "raw_rows + 1"),
    "a number is NULL": every("used_rows", "cast(null as bigint)"),
}
OF_MASKS = {
    "the mask of an insert lacks a column with a value": masked("0100"),
    "a mask has the bit of no column of the table": masked("1F01"),
}


def faults() -> Iterator[Fault]:
    """Every fault of every generic test."""
    for test, bodies in OF_EVENTS.items():
        for says, body in bodies.items():
            yield Fault(test, says, "orders_changes", body, GIVEN.get(test, {}))
    for test, bodies in OF_LOADS.items():
        for says, body in bodies.items():
            yield Fault(test, says, f"{LOADED_CASE}_changes", body, LOADS)
    for says, body in OF_VERSIONS.items():
        yield Fault("history_is_consistent", says, "orders_history", body, ORDERS)
    for says, body in OF_ROWS.items():
        history = {"history": "ref('orders_events')"}
        yield Fault("current_equals_history", says, "orders_current", body, history)
        snapshot = {"snapshot": "ref('orders_copy')", **ORDERS}
        yield Fault("equals_snapshot", says, "orders_current", body, snapshot)
    for says, body in OF_KEYS.items():
        yield Fault("one_row_per_key", says, "orders_current", body, ORDERS)
    for says, body in OF_TYPES.items():
        yield Fault("column_types_are", says, "orders_current", body)
    for says, body in OF_COUNTS.items():
        yield Fault("raw_rows_are_accounted_for", says, "orders_counts", body)
    yield Fault(
        "health_is_good",
        "a number of the last run is above its limit",
        "health",
        every("events", "1000000L"),
        {"at_most": {"events": 999999}},
    )
    test, masks = "qlik_mask_byte_order_fits", MASKS
    for says, body in OF_MASKS.items():
        yield Fault(test, says, masks, body)
    says = "mask_byte_order, header_columns or mask_columns is wrong"
    yield Fault(test, says, masks, masks, {}, {"header_columns": 7})
    wrong = {"key": POSITIONS["key"][:2]}
    yield Fault("qlik_delete_bits_are_key", "key is wrong", masks, masks, POSITIONS, wrong)
    test, landing = "raw_log_is_complete", "source('inputs', 'landed_{}')"
    says = "the landing has rows below the watermark that no run has read"
    in_order, late = ({"landing": landing.format(one)} for one in ("in_order", "late"))
    yield Fault(test, says, "log_in_order", "log_late", in_order, late)
    says = "a batch of a raw log that is a view is more than a day in the future"
    yield Fault(test, says, "log_view", "log_ahead")


# Landings of raw logs: columns, and the rows before the run.
LANDINGS: dict[str, tuple[Columns, list[Row]]] = {
    **{
        name: (
            {"id": "int", "batch_id": "string"},
            [{"id": number, "batch_id": f"batch-{number}"} for number in (8, 9)],
        )
        for name in ("in_order", "late")
    },
    **{
        name: (
            {"id": "int", "landed_at": "timestamp"},
            [{"id": 1, "landed_at": datetime(year, 1, 1, tzinfo=timezone.utc)}],
        )
        for name, year in (("view", 2024), ("ahead", 2999))
    },
}
# … and what lands after it: `batch-10` is less than `batch-9`.
LANDED_AFTER = ("landed_in_order values (10, 'batch-9')", "landed_late values (10, 'batch-10')")


def hold(project: Project) -> None:
    """Each generic test on right tables, and on a table with each of its faults."""
    for name, (columns, rows) in LANDINGS.items():
        project.input(f"landed_{name}", columns, rows)
        kept = "batch_id" in columns
        given = "" if kept else ", batch='landed_at'"
        config = "materialized='view'"
        if kept:
            config = "materialized='cdc_incremental', raw_watermark='batch_id'"
        call = f"spark_cdc.raw_log(source('inputs', 'landed_{name}'){given})"
        project.view(f"log_{name}", f"{{{{ config({config}) }}}}\n{{{{ {call} }}}}\n")
    named = ", ".join(database.ORDERS.columns)
    view = "{{ config(materialized='view') }}\n"
    project.view("orders_copy", f"{view}select {named} from {{{{ ref('orders_current') }}}}")
    raw = f"{{{{ source('inputs', '{LOADED_CASE}__raw') }}}}"
    project.view(MASKS, f"{view}select * from {raw}")
    for number, fault in enumerate(faults()):
        wrong = fault.body
        if " " in wrong:
            wrong = f"wrong_{number}"
            body = fault.body.replace("{of}", f"{{{{ ref('{fault.of}') }}}}")
            project.view(wrong, view + body)
        project.tested(fault.of, fault.test, fault.arguments, "pass")
        project.tested(wrong, fault.test, fault.wrong or fault.arguments, f"fail_{number}")


def listed() -> set[tuple[str, str]]:
    """The faults that the descriptions of the generic tests list, each with its test."""
    text = (ROOT / "macros" / "generic_tests" / "_generic_tests.yml").read_text(encoding="utf-8")
    found = set()
    for macro in yaml.safe_load(text)["macros"]:
        if macro["name"].startswith("test_"):
            _, _, after = macro["description"].partition("It fails if\n\n")
            lines = after.partition("\n\n")[0].replace("\n  ", " ").splitlines()
            said = {line.removeprefix("- ").rstrip(".;").replace("`", "") for line in lines}
            found |= {(macro["name"].removeprefix("test_"), one) for one in said}
    return found
