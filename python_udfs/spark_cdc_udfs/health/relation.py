"""The table that a health model builds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.lake.queries import table_name

MACRO = "macro.spark_cdc.health"
DEFAULT_MODEL = "health"


def relation_of(project: Path, model: str | None, schema: str) -> str:
    """Give the quoted name of the table, from what dbt wrote when it last read the project.

    Without a model it is the one that calls the macro. If dbt has not read the project yet, the
    table is in `schema`. Raises Failure.
    """
    path = project / (os.environ.get("DBT_TARGET_PATH") or "target") / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return table_name(schema, model or DEFAULT_MODEL)
    except (OSError, ValueError) as error:
        raise Failure(f"{path} cannot be read; `dbt parse` writes it again") from error
    found = _chosen(list(_models(manifest)), model, path)
    parts = [part for part in (found.get("database"), found["schema"]) if part]
    return table_name(".".join(parts), found["alias"])


def _models(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node for node in manifest["nodes"].values() if node["resource_type"] == "model"]


def _chosen(models: list[Mapping[str, Any]], name: str | None, path: Path) -> Mapping[str, Any]:
    calling = [one for one in models if MACRO in one.get("depends_on", {}).get("macros", ())]
    names = ", ".join(sorted(one["name"] for one in calling))
    if name is not None:
        named = [one for one in models if one["name"] == name]
        if not named:
            raise Failure(
                f"there is no model {name} in {path}; models that call spark_cdc.health:"
                f" {names or 'none'}"
            )
        return named[0]
    if not calling:
        raise Failure(
            f"no model in {path} calls spark_cdc.health; write one, and build it with dbt, for"
            " example models/health.sql: {{ spark_cdc.health([…]) }}"
        )
    if len(calling) > 1:
        raise Failure(f"several models call spark_cdc.health: {names}; name one with --model")
    return calling[0]
