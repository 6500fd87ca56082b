"""`spark_cdc.yml`: the sources of a project, checked. See docs/generate.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from spark_cdc_udfs.generate.decoders import BUILDS, DECODERS, RELATIONS, Decoder
from spark_cdc_udfs.generate.examples import EXAMPLES
from spark_cdc_udfs.generate.places import Document, Way

NAME = "spark_cdc.yml"
MATERIALIZED = ("cdc_incremental", "table", "view")
FORMATS = ("parquet", "iceberg", "delta")
DATETIMES = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True)
class Settings:
    """What is given for one table."""

    key: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    build: tuple[str, ...] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """One feed: where its tables are, and what is made of them."""

    name: str
    decoder: str
    schema: str
    tables: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    relation: str = ""
    to: str = ""
    prefix: str = ""
    build: tuple[str, ...] = tuple(BUILDS)
    materialized: str = "cdc_incremental"
    file_format: str = ""
    raw_watermark: Any = None
    batch: str = ""
    landing_columns: tuple[str, ...] = ()
    datetime: str = "timestamp"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    table_settings: Mapping[str, Settings] = field(default_factory=dict)

    @property
    def kind(self) -> Decoder:
        """The facts of its decoder."""
        return DECODERS[self.decoder]

    @property
    def folder(self) -> PurePosixPath:
        """The folder of its files, in the project."""
        return PurePosixPath(self.to or f"models/{self.name}")

    @property
    def is_incremental(self) -> bool:
        """Whether runs work on what is new."""
        return self.materialized == "cdc_incremental"

    def of(self, *names: str) -> Settings:
        """Give the settings of a table by any of its names, in any case."""
        wanted = {name.lower() for name in names}
        found = (one for name, one in self.table_settings.items() if name.lower() in wanted)
        return next(found, Settings())


@dataclass(frozen=True)
class Config:
    """The whole file."""

    path: Path
    sources: tuple[Source, ...]
    keys: Path | None = None


CHOICES = {
    "decoder": tuple(DECODERS),
    "materialized": MATERIALIZED,
    "file_format": FORMATS,
    "datetime": DATETIMES,
}
# Arguments whose types matter before dbt checks them.
ARGUMENTS = {
    "header_prefix": (str, "text"),
    "header_columns": (int, "number"),
    "mask_byte_order": (str, "text"),
    "mask_columns": (list, "list"),
    "table_id": (int, "number"),
}
LISTS = ("tables", "exclude", "build", "landing_columns", "key")
MAPPINGS = ("arguments", "table_settings", "columns")


class Reader:
    """Reads the settings of a document."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def config(self) -> Config:
        """Read the whole file."""
        given = self._mapping((), self._document.content, ("keys", "sources"), "sources")
        listed = given.get("sources")
        if not isinstance(listed, list) or not listed:
            self._fail(("sources",), "sources is no list of sources", "sources")
        sources = tuple(self._source(("sources", n), one) for n, one in enumerate(listed))
        names = [source.name for source in sources]
        for place, name in enumerate(names):
            if name in names[:place]:
                self._fail(("sources", place, "name"), f"two sources are named {name}", "name")
        keys = self._value(("keys",), given["keys"]) if "keys" in given else None
        path = self._document.path
        return Config(path, sources, path.parent / keys if keys else None)

    def _source(self, way: Way, given: Any) -> Source:
        there = self._mapping(way, given, tuple(f.name for f in fields(Source)), "sources")
        for name in ("name", "decoder", "schema"):
            if name not in there:
                self._fail(way, f"a source has no {name}", name)
        read = {name: self._value((*way, name), value) for name, value in there.items()}
        decoder = DECODERS[read["decoder"]]
        if decoder.is_shared != ("relation" in read):
            word = (
                "has to name the relation with the rows of all tables"
                if decoder.is_shared
                else ("takes no relation: each table is one")
            )
            self._fail((*way, "relation"), f"{read['decoder']} {word}", "relation")
        for name in ("name", "prefix"):
            if not re.fullmatch("[A-Za-z0-9_]*", read.get(name, "")):
                what = f"{read[name]} has other characters than letters, digits and _"
                self._fail((*way, name), what, name)
        self._together(way, read)
        to = PurePosixPath(read.get("to", "models"))
        if to.is_absolute() or ".." in to.parts:
            self._fail((*way, "to"), f"{to} is not in the project", "to")
        self._arguments((*way, "arguments"), read.get("arguments", {}), read["decoder"])
        read["table_settings"] = {
            name: self._settings((*way, "table_settings", name), one, read["decoder"])
            for name, one in read.get("table_settings", {}).items()
        }
        return Source(**read)

    def _together(self, way: Way, read: Mapping[str, Any]) -> None:
        """Check settings that do not go together."""
        materialized = read.get("materialized", MATERIALIZED[0])
        if read["decoder"] == "qlik_messages" and "metadata" not in read.get("arguments", {}):
            what = "qlik_messages needs the relation with the metadata messages"
            self._fail((*way, "arguments"), what, "metadata")
        if "batch" in read and materialized != MATERIALIZED[0]:
            self._fail((*way, "batch"), "batch is only for cdc_incremental", "materialized")
        if "batch" in read and "raw_watermark" in read:
            what = "batch and raw_watermark are given; with batch the landing keeps the raw rows"
            self._fail((*way, "batch"), what, "batch")

    def _settings(self, way: Way, given: Any, decoder: str) -> Settings:
        names = tuple(f.name for f in fields(Settings))
        there = self._mapping(way, given, names, "table_settings")
        read = {name: self._value((*way, name), value) for name, value in there.items()}
        self._arguments((*way, "arguments"), read.get("arguments", {}), decoder)
        for name, kind in read.get("columns", {}).items():
            if not isinstance(kind, str) or not kind:
                self._fail((*way, "columns", name), f"the type of {name} is no text", "columns")
        return Settings(**read)

    def _arguments(self, way: Way, given: Mapping[str, Any], decoder: str) -> None:
        known = DECODERS[decoder].arguments
        for name, value in given.items():
            if name not in known:
                accepted = f"{decoder} takes {', '.join(known)} here"
                self._fail((*way, name), f"{name} is no such argument: {accepted}", "arguments")
            kind, word = ARGUMENTS.get(name, (type(value), ""))
            if type(value) is not kind:
                self._fail((*way, name), f"{name} is {value!r}, and no {word}", name)
            if kind is list:
                self._list((*way, name), value)
            if name in RELATIONS and (not isinstance(value, str) or not value):
                self._fail((*way, name), f"{name} is no name of a table", "relation argument")

    def _value(self, way: Way, value: Any) -> Any:
        """Read one setting by its name, the last part of `way`."""
        name = str(way[-1])
        if name == "raw_watermark":
            return value
        if name in MAPPINGS:
            if not isinstance(value, dict):
                self._fail(way, f"{name} is no mapping", name)
            return {str(key): one for key, one in value.items()}
        if name in LISTS:
            return self._list(way, value)
        if not isinstance(value, str) or not value:
            self._fail(way, f"{name} is {value!r}, and no text", name)
        if value not in CHOICES.get(name, (value,)):
            accepted = ", ".join(CHOICES[name])
            self._fail(way, f"{name} is {value}; accepted are {accepted}", name)
        return value

    def _list(self, way: Way, value: Any) -> tuple[str, ...]:
        name = str(way[-1])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not items:
            self._fail(way, f"{name} is no list of texts", name)
        for place, item in enumerate(items):
            if not isinstance(item, str) or not item:
                self._fail((*way, place), f"{item!r} in {name} is no text", name)
            if name == "build" and item not in BUILDS:
                accepted = ", ".join(BUILDS)
                self._fail((*way, place), f"{item} cannot be built; accepted are {accepted}", name)
        return tuple(items)

    def _mapping(self, way: Way, given: Any, known: Sequence[str], example: str) -> dict[str, Any]:
        """Check that a value is a mapping with no other names than the known ones."""
        if not isinstance(given, dict):
            self._fail(way, f"{given!r} is no mapping", example)
        for name in given:
            if name not in known:
                accepted = ", ".join(known)
                self._fail((*way, str(name)), f"{name} is not known; known are {accepted}", example)
        return given

    def _fail(self, way: Way, what: str, example: str) -> NoReturn:
        self._document.fail(way, what, EXAMPLES[example])


def read_config(path: Path) -> Config:
    """Read and check `spark_cdc.yml`. Raises Failure that names the line."""
    return Reader(Document(path)).config()
