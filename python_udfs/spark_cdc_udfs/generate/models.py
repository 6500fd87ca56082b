"""The models of a table: one call of a macro each."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from spark_cdc_udfs.generate.call import call
from spark_cdc_udfs.generate.decoders import BUILDS
from spark_cdc_udfs.generate.raw_logs import arguments_of, config, models_of_table, ref, rows_of
from spark_cdc_udfs.generate.tables import Table

# Arguments that are written before the key.
FIRST = ("table_id",)
FIRST_OF = {"netiq_event_log": ("table",)}


def builds_of(table: Table) -> tuple[str, ...]:
    """Say what is built of a table, in the usual order."""
    asked = table.source.of(table.name.removeprefix(table.source.prefix), table.landed).build
    return tuple(one for one in BUILDS if one in (asked or table.source.build))


def sql_files(table: Table) -> dict[PurePosixPath, str]:
    """Write the models of a table."""
    source, name = table.source, table.name
    changes = f"{name}__changes"
    key: dict[str, Any] = {"key": list(table.key)}
    if "null_keys" in table.arguments:
        key["null_keys"] = table.arguments["null_keys"]
    of_changes, of = [ref(changes)], {"of": ref(changes)}
    usual = config(source, source.materialized)
    calls = {
        "__changes": (usual, decoder_call(table)),
        "": (usual, call("spark_cdc.current_state", of_changes, key)),
        "__history": (usual, call("spark_cdc.history", of_changes, key)),
        "__quarantine": (quarantine_config(table), call("spark_cdc.quarantine", [], of)),
        "__counts": (config(source, "view"), call("spark_cdc.raw_counts", [], of)),
    }
    endings = ["__changes", *(BUILDS[one] for one in builds_of(table))]
    files = {f"{name}{ending}": "\n\n".join(calls[ending]) + "\n" for ending in endings}
    files |= {model.name: model.sql for model in models_of_table(table)}
    return {table.folder / f"{model}.sql": text for model, text in files.items()}


def decoder_call(table: Table) -> str:
    """Write the call of the decoder."""
    source = table.source
    first = (*FIRST, *FIRST_OF.get(source.decoder, ()))
    values = arguments_of(table)
    named = {name: values.pop(name) for name in first if name in values}
    named["key"] = list(table.key)
    if table.is_declared:
        named["columns"] = {name: column.type for name, column in table.columns.items()}
    return call(f"spark_cdc.{source.decoder}", [rows_of(table)], {**named, **values})


def quarantine_config(table: Table) -> str:
    """Write the config of quarantine. Incremental change events store it, and it is a view."""
    source = table.source
    is_stored = source.materialized == "cdc_incremental"
    return config(source, "view" if is_stored else source.materialized)
