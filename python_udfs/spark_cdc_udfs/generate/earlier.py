"""What the files of an earlier run tell of a table: raw rows that showed it may have left."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Earlier:
    """What was known of a table when its files were written."""

    key: tuple[str, ...] = ()
    mask_byte_order: str | None = None
    without_bit: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)  # of its columns

    def has_types_of(self, columns: Collection[str]) -> bool:
        """Say whether these columns, which landed as text, had types."""
        return {*columns} == {*self.types} and {*self.types.values()} != {"string"}


def earlier_run(folder: Path) -> Earlier:
    """Read the YAML file of a table in its folder; an edited one counts as well."""
    content = read(folder / f"{folder.name}.yml")
    models = {model.get("name"): model for model in listed(content, "models")}
    sources = [table for one in listed(content, "sources") for table in listed(one, "tables")]
    keys = [given.get("key") for model in models.values() for _, given in tests(model)]
    masks = [
        given
        for table in sources
        for name, given in tests(table)
        if name == "spark_cdc.qlik_mask_byte_order_fits"
    ]
    order = next((given.get("mask_byte_order") for given in masks), None)
    return Earlier(
        key=next(filter(None, map(texts, keys)), ()),
        mask_byte_order=order if order in ("big", "little") else None,
        without_bit=next((texts(given.get("leave_out")) for given in masks), ()),
        types=types(models.get(f"{folder.name}__changes", {})),
    )


def earlier_tables(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the tables of a shared relation with files in a folder: model, names of the table."""
    for path in sorted(folder.glob("*/*__changes.sql")):
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        found = {name: re.search(rf"\b{name}='([^'\\]*)'", text) for name in ("schema", "table")}
        table, schema = found["table"], found["schema"]
        if path.parent.name == path.stem.removesuffix("__changes") and table:
            names = [table[1].lower(), *([f"{schema[1]}.{table[1]}".lower()] if schema else [])]
            yield path.parent.name, tuple(names)


def read(path: Path) -> Any:
    """Read a YAML file; None if that cannot be done."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None


def listed(content: Any, name: str) -> list[dict[str, Any]]:
    """Give the mappings in a list of a mapping; [] if it is something else."""
    found = content.get(name) if isinstance(content, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def tests(of: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the generic tests of a table or a model that have arguments."""
    for test in listed(of, "data_tests"):
        for name, told in test.items():
            given = told.get("arguments") if isinstance(told, dict) else None
            if isinstance(given, dict):
                yield name, given


def texts(value: Any) -> tuple[str, ...]:
    """Give a list of texts; () if it is something else."""
    is_texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return tuple(value) if is_texts else ()


def types(changes: dict[str, Any]) -> dict[str, str]:
    """Give the columns of the table in the model of its change events, after `cdc_batch`."""
    columns = [(one.get("name"), one.get("data_type")) for one in listed(changes, "columns")]
    names = [name for name, _ in columns]
    own = columns[names.index("cdc_batch") + 1 :] if "cdc_batch" in names else []
    return {str(name): str(kind) for name, kind in own}
