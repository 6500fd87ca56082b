"""The YAML of a table: its source, its models, their columns with types, and tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from spark_cdc_udfs.generate.config import Source
from spark_cdc_udfs.generate.lake import Columns
from spark_cdc_udfs.generate.models import builds_of
from spark_cdc_udfs.generate.raw_logs import RawModel, models_of_table
from spark_cdc_udfs.generate.tables import Table
from spark_cdc_udfs.generate.yaml_text import (
    Added,
    added_lines,
    block,
    column_lines,
    generic_test,
    scalar,
)

# The columns that the package adds: name, type, block of docs.
_SEQUENCES = (
    ("cdc_sequence", "string", "cdc_sequence"),
    ("cdc_commit_sequence", "string", "cdc_commit_sequence"),
    ("cdc_commit_at", "timestamp", "cdc_commit_at"),
)
CURRENT = (*_SEQUENCES, ("cdc_operation", "string", "cdc_current_operation"))
HISTORY = (
    ("cdc_valid_from", "timestamp", "cdc_valid_from"),
    ("cdc_valid_to", "timestamp", "cdc_valid_to"),
    ("cdc_valid_from_sequence", "string", "cdc_valid_from_sequence"),
    ("cdc_valid_to_sequence", "string", "cdc_valid_to_sequence"),
    ("cdc_is_current", "boolean", "cdc_is_current"),
    ("cdc_operation", "string", "cdc_version_operation"),
    ("cdc_ended_by", "string", "cdc_ended_by"),
)
QUARANTINE = (
    ("cdc_source", "string", "cdc_source"),
    ("reason", "string", "quarantine_reason"),
    ("detail", "string", "quarantine_detail"),
    ("raw", "string", "quarantine_raw"),
)
COUNTS = tuple(
    (name, "bigint", "") for name in ("raw_rows", "used_rows", "no_op_rows", "quarantined_rows")
)
BATCH = ("cdc_batch", "string", "cdc_batch")


def events_columns(table: Table) -> Added:
    """Give the columns that change events have before those of the table."""
    narrow = table.arguments.get("before_image") == "key"
    before = table.key if narrow else tuple(table.columns)
    fields = ", ".join(f"{_field(name)}: {table.columns[name].type}" for name in before)
    return (
        ("cdc_source", "string", "cdc_source"),
        ("cdc_operation", "string", "cdc_operation"),
        *_SEQUENCES,
        ("cdc_transaction_id", "string", "cdc_transaction_id"),
        ("cdc_changed_columns", "array<string>", "cdc_changed_columns"),
        ("cdc_present_columns", "array<string>", "cdc_present_columns"),
        ("cdc_before", f"struct<{fields}>", "cdc_before"),
        ("cdc_metadata", table.metadata, "cdc_metadata"),
        BATCH,
    )


def _field(name: str) -> str:
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name)
    return name if plain else "`" + name.replace("`", "``") + "`"


# Files


def table_file(table: Table) -> tuple[PurePosixPath, str]:
    """Write the YAML of a table."""
    lines = ["version: 2", ""]
    landed = [] if table.source.kind.is_shared else [source_table(table)]
    landed += [looked_up(table, name, columns) for name, columns in table.own.items()]
    if landed:
        lines += source_lines(table.source, landed)
    texts = [*map(raw_text, models_of_table(table)), *model_texts(table)]
    lines += ["models:", *"\n\n".join(texts).split("\n")]
    return table.folder / f"{table.name}.yml", "\n".join(lines) + "\n"


def shared_file(
    source: Source, shared: Mapping[str, Columns], models: Iterable[RawModel]
) -> Mapping[PurePosixPath, str]:
    """Write the YAML of relations and raw logs that several tables share."""
    tables = [
        block(name, "", column_lines(columns), [], "      ") for name, columns in shared.items()
    ]
    if not tables:
        return {}
    lines = ["version: 2", "", *source_lines(source, tables)]
    texts = [raw_text(model) for model in models]
    lines = [*lines, "models:", "\n\n".join(texts)] if texts else lines[:-1]
    return {source.folder / f"_{source.name}__sources.yml": "\n".join(lines) + "\n"}


def raw_text(model: RawModel) -> str:
    """Write a model that passes raw rows on."""
    columns = [*column_lines(model.columns), *(added_lines([BATCH]) if model.is_log else [])]
    return block(model.name, model.description, columns, list(model.tests))


def source_lines(source: Source, tables: Iterable[str]) -> list[str]:
    """Write a source with the texts of its tables."""
    head = [f"  - name: {scalar(source.name)}", f"    schema: {scalar(source.schema)}"]
    return ["sources:", *head, "    tables:", *tables, ""]


def source_table(table: Table) -> str:
    """Write the raw table of a table, with the tests of its masks."""
    tests: list[Any] = []
    if table.source.decoder == "qlik_change_table" and table.has_mask:
        layout: dict[str, Any] = {}
        if table.is_declared:
            layout["columns"] = {name: column.type for name, column in table.columns.items()}
        for name in ("header_prefix", "mask_byte_order", "header_columns", "mask_columns"):
            if name in table.arguments:
                layout[name] = table.arguments[name]
        left_out = {"leave_out": list(table.without_bit)} if table.without_bit else {}
        tests.append(generic_test("qlik_mask_byte_order_fits", {**layout, **left_out}))
        tests.append(generic_test("qlik_delete_bits_are_key", {"key": list(table.key), **layout}))
    return block(table.landed, "", column_lines(table.raw), tests, "      ")


def looked_up(table: Table, name: str, columns: Columns) -> str:
    """Write a relation that only this table reads."""
    roles = {role for role, there in table.arguments.items() if getattr(there, "table", "") == name}
    tests = (
        [generic_test("one_row_per_key", {"key": list(table.key)})]
        if roles & {"base", "snapshot"}
        else []
    )
    return block(name, "", column_lines(columns), tests, "      ")


def model_texts(table: Table) -> list[str]:
    """Write the models of a table."""
    name, key = table.name, {"key": list(table.key)}
    nulls = {n: v for n, v in table.arguments.items() if n == "null_keys"}
    built = builds_of(table)
    own = column_lines(table.columns, table.key)
    left_out = {"leave_out": list(table.without_bit)} if table.without_bit else {}
    types = generic_test("column_types_are", {})
    equal = generic_test("current_equals_history", {"history": f"ref('{name}__history')"})
    of_loads = []
    if "full_load" in table.arguments:
        of_loads.append(generic_test("full_load_is_static", {**key, **nulls}))
    if "full_load_at" in table.arguments:
        of_loads.append(generic_test("full_loads_are_apart", key))
    texts = {
        "changes": block(
            f"{name}__changes",
            f"The change events of {name}, one row for each committed change of one row.",
            [*added_lines(events_columns(table)), *own],
            [
                generic_test("is_change_events", {**key, **nulls}),
                generic_test("mask_names_changed_columns", left_out),
                *of_loads,
                types,
            ],
        ),
        "current_state": block(
            name,
            f"The rows of {name} that exist.",
            [*own, *added_lines(CURRENT)],
            [
                generic_test("one_row_per_key", {**key, **nulls}),
                *([equal] if "history" in built else []),
                types,
            ],
        ),
        "history": block(
            f"{name}__history",
            f"Every version of every row of {name} that another transaction could see.",
            [*own, *added_lines(HISTORY)],
            [generic_test("history_is_consistent", key), types],
        ),
        "quarantine": block(
            f"{name}__quarantine",
            f"The raw rows of {name} that cannot be read, each with the reason.",
            added_lines(QUARANTINE),
            [],
        ),
        "raw_counts": block(
            f"{name}__counts",
            f"How many raw rows of {name} were used, were no-ops, or are in quarantine.",
            added_lines(COUNTS),
            [generic_test("raw_rows_are_accounted_for", {})],
        ),
    }
    return [texts[one] for one in ("changes", *built)]
