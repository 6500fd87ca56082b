"""YAML as a person writes it: a line for each column and each test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from spark_cdc_udfs.generate.lake import Column, Columns

# Texts that are the same without quotes, except for these words of YAML 1.1.
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./()'<>-]*( [A-Za-z0-9_.()'<>-]+)*")
WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

Added = Iterable[tuple[str, str, str]]  # columns of the package: name, type, block of docs


def block(
    name: str, description: str, columns: list[str], tests: list[Any], indent: str = "  "
) -> str:
    """Write a table or a model with its tests and columns."""
    lines = [f"- name: {scalar(name)}"]
    if description:
        lines.append(f"  description: {scalar(description)}")
    if tests:
        lines += ["  data_tests:", *(f"    - {flow(one)}" for one in tests)]
    lines += ["  columns:", *(f"    - {line}" for line in columns)]
    return "\n".join(indent + line for line in lines)


def generic_test(name: str, arguments: Mapping[str, Any]) -> Any:
    """Give a generic test of the package."""
    full = f"spark_cdc.{name}"
    return {full: {"arguments": dict(arguments)}} if arguments else full


def column_lines(columns: Columns, key: Iterable[str] = ()) -> list[str]:
    """Write columns; comments of the lake are descriptions, and the key is told."""
    keys = list(key)
    return [column_line(name, column, keys) for name, column in columns.items()]


def column_line(name: str, column: Column, key: list[str]) -> str:
    """Write one column."""
    told = [as_it_is(column.comment)] if column.comment else []
    if name in key:
        told.append("The key" if len(key) == 1 else f"Part {key.index(name) + 1} of the key")
    described = {"description": ". ".join(told)} if told else {}
    return flow({"name": name, "data_type": column.type, **described})


def added_lines(columns: Added) -> list[str]:
    """Write columns that the package adds, with its descriptions."""
    return [
        flow(
            {"name": name, "data_type": kind}
            | ({"description": f"{{{{ doc('spark_cdc', '{docs}') }}}}"} if docs else {})
        )
        for name, kind, docs in columns
    ]


def as_it_is(text: str) -> str:
    """Write a text so that dbt does not read it as Jinja."""
    if re.search(r"\{[{%#]", text):
        return "{% raw %}" + text.replace("endraw", "end raw") + "{% endraw %}"
    return text


def flow(value: Any) -> str:
    """Write a value as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(k))}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def scalar(text: str) -> str:
    """Write a text as YAML; in quotes where it could mean something else."""
    if PLAIN.fullmatch(text) and text.lower() not in WORDS:
        return text
    written = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in written)
