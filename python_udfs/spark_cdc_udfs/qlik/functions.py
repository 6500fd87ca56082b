"""The function that Spark SQL calls to read messages of Qlik Replicate, in JSON and in Avro."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it ships no types
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from spark_cdc_udfs.arrays import Bools
from spark_cdc_udfs.qlik.messages import Decoder
from spark_cdc_udfs.qlik.parsing import (
    COLUMNS,
    Avro,
    Parsed,
    Record,
    is_avro,
    is_avro_data,
    parse,
    refused,
)
from spark_cdc_udfs.qlik.versions import Known, lower, version_of

BYTES_TOGETHER = 2**23  # of records that are read at once
CHARACTERS_TOGETHER = 2**26  # of their JSON texts: in Avro, names have no bytes

ARROW = {
    "array<string>": pa.list_(pa.string()),
    "array<int>": pa.list_(pa.int32()),
    "boolean": pa.bool_(),
    "string": pa.string(),
}
ARGUMENTS = (pa.binary(), pa.binary(), pa.binary(), pa.int64(), pa.string(), pa.string())
FIELDS = [pa.field(name, ARROW[type_]) for name, type_ in COLUMNS.items()]


def spark_cdc_qlik_message(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
    """Read the messages of a partition: arrays of Kafka records in, structs of `Parsed` out.

    The arguments in SQL:

    - `value`, `key` and `topic`, binary;
    - `at`, bigint: the Kafka timestamp in microseconds; of Avro messages that of the first delivery
      of the same bytes;
    - `options`, string, an object as JSON: `tables`, tables that are known without versions, as
      lists of schema and name; `little`: masks in Avro are little-endian; `is_text`: the values
      landed as text, so Avro messages are `avro_unsupported`; `only_metadata`: data messages are
      not looked into;
    - `versions`, string: the rows of `qlik_schema_versions` as JSON, with `written_at` in
      microseconds. Null without metadata.

    `options` and `versions` are read in the first record of a partition. A record gives one struct,
    and no record stops the others. About 8 MiB at once are read, and nothing of them is kept.
    """
    reader: Reader | None = None
    for value, key, topic, at, options, versions in batches:
        if reader is None:
            reader = Reader(options[0].as_py(), versions[0].as_py())
        yield from reader.read(value, key, topic, at)


def message_frames(batches: Iterator[tuple[pd.Series, ...]]) -> Iterator[pd.DataFrame]:
    """Do the same with series and frames, for a Spark without Arrow functions."""
    arrays = (
        tuple(pa.array(one, type_) for one, type_ in zip(batch, ARGUMENTS, strict=True))
        for batch in batches
    )
    for structs in spark_cdc_qlik_message(arrays):
        yield pa.Table.from_arrays(structs.flatten(), names=Parsed._fields).to_pandas()


class Reader:
    """Reads batches of records. `options` and `versions` are those of the function."""

    def __init__(self, options: str, versions: str | None) -> None:
        given = json.loads(options)
        rows = json.loads(versions) if versions is not None else ()
        tables = [(lower(schema), name.lower()) for schema, name in given.get("tables", ())]
        self._known = Known(map(version_of, rows), versions is not None, tables)
        self._is_text = given.get("is_text", False)
        self._only_metadata = given.get("only_metadata", False)
        self._little = given.get("little", False)
        self._decoder = Decoder(self._known)

    def read(self, value: Any, key: Any, topic: Any, at: Any) -> Iterator[Any]:
        """Read arrays (m,); give struct arrays with m rows in all, in their order."""
        parts = np.cumsum(_sizes(value) + _sizes(key)) // BYTES_TOGETHER
        ends = [*(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(value)]
        for first, end in zip([0, *ends], ends, strict=False):
            if first < end:
                yield from self._read(
                    *(one.slice(first, end - first) for one in (value, key, topic, at))
                )

    def _read(self, value: Any, key: Any, topic: Any, at: Any) -> Iterator[Any]:
        columns = [one.to_pylist() for one in (value, key, topic, at)]
        records = [Record(*one) for one in zip(*columns, strict=True)]
        is_avro = np.array([self._is_read_as_avro(one.value) for one in records], dtype=np.bool_)
        avro = self._avro(value, at, is_avro)
        rows: list[Parsed] = []
        characters = 0
        for record, is_it in zip(records, is_avro.tolist(), strict=True):
            found = next(avro) if is_it else None
            rows.append(self._parsed(record, found))
            characters += len(found.json) if isinstance(found, Avro) else 0
            if characters > CHARACTERS_TOGETHER:
                yield _structs(rows)
                rows, characters = [], 0
        if rows:
            yield _structs(rows)

    def _is_read_as_avro(self, value: bytes | None) -> bool:
        if value is None or self._is_text or not is_avro(value):
            return False
        return not (self._only_metadata and is_avro_data(value))

    def _parsed(self, record: Record, avro: Avro | Parsed | None) -> Parsed:
        if isinstance(avro, Parsed):
            return avro
        return parse(record, self._known, avro, self._little, self._only_metadata)

    def _avro(self, value: Any, at: Any, which: Bools) -> Iterator[Avro | Parsed]:
        """Give the Avro messages of a batch as JSON, or what is wrong with each."""
        places = pa.array(np.flatnonzero(which))
        if not len(places):
            return
        for batch in self._decoder.decode(value.take(places), at.take(places)):
            for row in batch.to_pylist():
                if row["json"] is None:
                    yield refused(row["reason"], row["detail"])
                else:
                    yield Avro(row["json"], row["namespace"], row["field_names"])


def _structs(rows: Sequence[Parsed]) -> Any:
    """Give rows as a struct array."""
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), FIELDS, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, fields=FIELDS)


def _sizes(values: Any) -> Any:
    """Give the bytes of each value (m,)."""
    return pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)
