"""Calls of macros as a person writes them, in lines of at most 100 characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 100
INDENT = "    "


@dataclass(frozen=True)
class Expression:
    """Jinja that is written as it is, such as `ref('orders')`."""

    text: str


def call(name: str, values: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Write `{{ name(values, named=...) }}`, with a line for each argument if it is long."""
    given = [written(value) for value in values]
    given += [f"{key}={written(value)}" for key, value in named.items()]
    line = f"{{{{ {name}({', '.join(given)}) }}}}"
    if len(line) <= WIDTH:
        return line
    given = [spread(value, INDENT) for value in values]
    given += [f"{key}={spread(value, f'{INDENT}{key}=')}" for key, value in named.items()]
    lines = ",\n".join(INDENT + one for one in given)
    return f"{{{{ {name}(\n{lines}\n) }}}}"


def config(given: Mapping[str, Any]) -> str:
    """Write the config of a model; the compiled SQL begins without an empty line."""
    return f"{call('config', [], given).removesuffix('}}')}-}}}}"


def written(value: Any) -> str:
    """Write a value as a Jinja expression in one line."""
    if isinstance(value, Expression):
        return value.text
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        items = (f"{written(str(key))}: {written(one)}" for key, one in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(written(one) for one in value)}]"
    return text(value) if isinstance(value, str) else repr(value)


def text(value: str) -> str:
    """Write a text as Jinja reads it; `%}` and the like cannot end the expression."""
    quoted = repr(value)
    return quoted.replace("{", "\\x7b").replace("}", "\\x7d") if _has_tags(value) else quoted


def _has_tags(value: str) -> bool:
    return any(tag in value for tag in ("{{", "}}", "{%", "%}", "{#", "#}"))


def spread(value: Any, before: str) -> str:
    """Write a value; a dict or a list that is too long for the line has a line for each item."""
    line = written(value)
    if len(before) + len(line) < WIDTH or not isinstance(value, (Mapping, list, tuple)):
        return line
    inner = INDENT * 2
    if isinstance(value, Mapping):
        items = [f"{inner}{written(str(key))}: {written(one)}" for key, one in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{INDENT}}}"
    return "[\n" + ",\n".join(inner + written(one) for one in value) + f"\n{INDENT}]"
