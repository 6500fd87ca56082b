"""YAML with the line of each value, so that an error can name its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from spark_cdc_udfs.errors import Failure

Way = tuple[str | int, ...]  # names of settings, and positions in lists

BOOLEAN = "tag:yaml.org,2002:bool"


class Loader(yaml.SafeLoader):
    """Reads YAML 1.2 words: a column may be named `no`, `on` or `y`."""


Loader.yaml_implicit_resolvers = {
    letter: [one for one in resolvers if one[0] != BOOLEAN]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(BOOLEAN, re.compile("true|false"), list("tf"))


class Document:
    """A YAML file: its content, and where each value is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[Way, int] = {}
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise Failure(f"{path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Failure(f"{path} is not UTF-8") from error
        try:
            node = yaml.compose(text, Loader)
            if node is not None:
                self._note(node, ())
            self.content: Any = yaml.load(text, Loader)
        except yaml.MarkedYAMLError as error:
            line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
            raise Failure(f"{path}{line} is no YAML: {error.problem}") from error
        except yaml.YAMLError as error:
            raise Failure(f"{path} is no YAML: {error}") from error

    def _note(self, node: yaml.Node, way: Way) -> None:
        """Note the lines of a node and of everything in it."""
        self._lines.setdefault(way, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            for place, each in enumerate(node.value):
                self._note(each, (*way, place))
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = (*way, str(key.value))
                if here in self._lines:
                    self._lines[here] = key.start_mark.line + 1
                    self.fail(here, f"{key.value} is given twice", "one of the two")
                self._lines[here] = key.start_mark.line + 1
                self._note(value, here)

    def fail(self, way: Sequence[str | int], what: str, example: str) -> NoReturn:
        """Raise Failure for the value at `way`, or for the next value around it."""
        there = tuple(way)
        while there and there not in self._lines:
            there = there[:-1]
        line = self._lines.get(there, 1)
        raise Failure(f"{self.path}, line {line}: {what}; for example: {example}")
