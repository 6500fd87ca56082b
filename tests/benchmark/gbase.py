"""The cost of decoding a GBase stream: on one core, inside Spark, in a process of its own.

The stream is inserts of ten columns, four to a transaction, in reads of whole transactions. The
functions of the package are compared with three others, which are given each record and only read
its values. These are the package's decoder of rows over whole batches, a function that Python calls
once for each record, and IBM's Java client (`ChangeStreamClient.java`).
"""

from __future__ import annotations

import json
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

HERE = Path(__file__).parent
CLIENT = "com.ibm.informix:ifx-changestream-client:1.1.5"
COLUMNS = {
    "id": ("integer", "integer", 4),
    "account": ("bigint", "integer", 8),
    "kind": ("smallint", "integer", 2),
    "amount": ("decimal(12,2)", "decimal:2", 7),
    "booked": ("date", "date", 4),
    "changed_at": ("datetime year to second", "timestamp", 8),
    "rate": ("float", "float", 8),
    "code": ("char(10)", "text", 10),
    "owner": ("varchar(40,0)", "text", 13),
    "note": ("varchar(40,0)", "text", 21),
}
"""Name -> type, the family of the declared type, bytes (of text with its length)."""

VALUES = "values of records: {}"
ONE_BY_ONE = VALUES.format("Python, one at a time")
TABLE_ID, PER_TRANSACTION, PER_CHUNK = 7, 4, 100
WARM_UP = 2  # runs that are not counted, before the others
FIXED = sum(size for type_, _, size in COLUMNS.values() if not type_.startswith("varchar"))
VARIABLE = [size for type_, _, size in COLUMNS.values() if type_.startswith("varchar")]


def header(number: int, fields: bytes, payload: int = 0) -> bytes:
    return struct.pack(">4I", 16 + len(fields), payload, 66, number) + fields


def schema() -> bytes:
    """Write the record that describes the table."""
    text = ", ".join(f"{name} {type_}" for name, (type_, _, _) in COLUMNS.items()).encode() + b"\0"
    counts = (FIXED, len(COLUMNS) - len(VARIABLE), len(VARIABLE))
    return header(200, struct.pack(">5i", TABLE_ID, 0, *counts), len(text)) + text


def stream(records: int) -> tuple[list[bytes], Any]:
    """Write the chunks of a stream with so many inserts, and the inserts (n, bytes of each)."""
    transactions = records // PER_TRANSACTION
    sizes = struct.pack(f"<{len(VARIABLE)}I", *VARIABLE)
    row = header(40, struct.pack(">Qiii", 0, 0, TABLE_ID, 0) + sizes, FIXED + sum(VARIABLE))
    begin = header(1, struct.pack(">Qiqi", 0, 0, 1_700_000_000, 2005))
    commit = header(2, struct.pack(">Qiq", 0, 0, 1_700_000_000))
    payload = b"".join(
        (
            bytes(14),
            bytes([0xC5, 0, 12, 34, 56, 78, 90]),
            struct.pack(">i", 46_000),
            bytes([0xC7, 20, 24, 3, 15, 10, 20, 30]),
            struct.pack(">d", 1.25),
            b"EUR       ",
            bytes([12]) + b"Ada Lovelace",
            bytes([20]) + b"paid by bank transfer"[:20],
        )
    )
    block = begin + (row + payload) * PER_TRANSACTION + commit
    blocks = np.tile(np.frombuffer(block, np.uint8), (transactions, 1))
    number = np.arange(transactions, dtype=np.uint64)

    def put(at: int, values: np.ndarray[Any, Any], stored: str) -> None:
        raw = values.astype(stored).view(np.uint8).reshape(transactions, -1)
        blocks[:, at : at + raw.shape[1]] = raw

    starts = [0] + [len(begin) + one * len(row + payload) for one in range(PER_TRANSACTION)]
    starts.append(len(block) - len(commit))
    for place, start in enumerate(starts):
        put(start + 16, (np.uint64(30) << np.uint64(32)) + number * 8 + np.uint64(place), ">u8")
        put(start + 24, number % 1000, ">i4")
        if 0 < place <= PER_TRANSACTION:
            key = number * PER_TRANSACTION + np.uint64(place)
            put(start + len(row), key, ">i4")
            put(start + len(row) + 4, key * np.uint64(7919), ">i8")
            put(start + len(row) + 12, key % 100, ">i2")
    cuts = range(0, transactions, PER_CHUNK)
    inserts = blocks[:, len(begin) : len(block) - len(commit)].reshape(-1, len(row + payload))
    return [schema(), *(blocks[cut : cut + PER_CHUNK].tobytes() for cut in cuts)], inserts


def decode_one(record: bytes) -> tuple[Any, ...]:
    """Decode one insert the plain way."""
    at, _, _, _ = struct.unpack_from(">4I", record)
    id_, account, kind = struct.unpack_from(">iqh", record, at)
    head, *digits = record[at + 14 : at + 21]
    exponent = (head & 0x7F) - 64
    unscaled = int("".join(f"{digit:02}" for digit in digits))
    amount = Decimal(unscaled).scaleb(2 * (exponent - len(digits)))
    booked = date(1899, 12, 31) + timedelta(struct.unpack_from(">i", record, at + 21)[0])
    time_ = record[at + 26 : at + 33]
    changed = "{:02}{:02}-{:02}-{:02} {:02}:{:02}:{:02}".format(*time_)
    (rate,) = struct.unpack_from(">d", record, at + 33)
    code = record[at + 41 : at + 51].decode()
    place = at + 51
    texts = []
    for _ in VARIABLE:
        size = record[place]
        texts.append(record[place + 1 : place + 1 + size].decode())
        place += 1 + size
    return (id_, account, kind, str(amount), str(booked), changed, rate, code, *texts)


DECODED = (
    "id int, account bigint, kind smallint, amount {}, booked {}, changed_at string,"
    " rate double, code string, owner string, note string"
)
AS_TEXT, AS_DECODED = DECODED.format("string", "string"), DECODED.format("decimal(38,2)", "date")


def decode_batch(records: pa.Array) -> pa.Array:
    """Decode inserts, an array of binary, by the package's decoder of rows; gives structs."""
    from spark_cdc_udfs.arrays import contents, windows
    from spark_cdc_udfs.gbase.layout import parse_layout
    from spark_cdc_udfs.gbase.records import PADDING, Records
    from spark_cdc_udfs.gbase.rows import decode_rows

    description = schema()
    layout = parse_layout(description[36:], *struct.unpack_from(">3i", description, 24))
    offsets, data = contents(records)
    padded = np.append(data[: offsets[-1]], np.zeros(PADDING, dtype=np.uint8))
    start = offsets[:-1].astype(np.int64)
    sizes = windows(padded, start, 8).view(">u4").astype(np.int64)
    nowhere = np.zeros(len(start), dtype=np.int64)
    rows = decode_rows(layout, Records(padded, start, sizes[:, 0], sizes[:, 1], *[nowhere] * 4))
    return pa.StructArray.from_arrays(list(rows.columns.values()), list(rows.columns))


def steps(spark: Any, home: Path, records: int) -> dict[str, Callable[[], Any]]:
    """Give the measured steps, each over inputs on disk."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
    from pyspark.sql import functions
    from spark_cdc_udfs.gbase.functions import STRETCH_BYTES

    chunks, inserts = stream(records)
    table = pa.table(
        {
            "capture_id": ["a"] * len(chunks),
            "chunk_number": pa.array(range(len(chunks)), pa.int64()),
            "payload": pa.array(chunks, pa.binary()),
        }
    )
    pq.write_table(table, home / "chunks.parquet", row_group_size=64)
    spark.read.parquet(str(home / "chunks.parquet")).createOrReplaceTempView("chunks")
    record = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(inserts.shape[1]), len(inserts), [None, pa.py_buffer(inserts.tobytes())]
    )
    pq.write_table(pa.table({"record": record.cast(pa.binary())}), home / "inserts.parquet")
    spark.read.parquet(str(home / "inserts.parquet")).createOrReplaceTempView("inserts")
    settings = json.dumps(
        {
            "table_id": TABLE_ID,
            "key": ["id"],
            "encoding": "utf-8",
            "rtrim_char": False,
            "columns": {name: family for name, (_, family, _) in COLUMNS.items()},
        }
    )
    # as `gbase_capture` cuts it: every chunk begins a record
    per_stretch = 1 + STRETCH_BYTES // len(chunks[1])
    spark.sql(
        f"select *, chunk_number div {per_stretch} as stretch, 'chunk' as role, 0 as from_byte,"
        " false as is_last, 1 as buckets from chunks"
    ).createOrReplaceTempView("stretch_chunks")
    framed = (
        f"select * from spark_cdc_gbase_records({TABLE_ID}, table(stretch_chunks)"
        " partition by stretch order by chunk_number)"
    )
    spark.sql(framed).createOrReplaceTempView("framed")
    changes = (
        f"select * from spark_cdc_gbase_changes('{settings}', table(framed)"
        " partition by bucket order by struct(chunk, chunk_offset))"
    )
    arrow_udf: Any = functions.arrow_udf  # type: ignore[attr-defined]  # its stub lacks it
    spark.udf.register("decode_one", functions.udf(decode_one, AS_TEXT))
    spark.udf.register("decode_batch", arrow_udf(decode_batch, AS_DECODED))
    client = java_client(spark._jvm, home / "inserts", inserts)

    def sink(query: str) -> Callable[[], Any]:
        return lambda: spark.sql(query).write.format("noop").mode("overwrite").save()

    return {
        "records of chunks": sink(framed),
        "change events of chunks": sink(changes),
        VALUES.format("these functions, whole batches"): sink(
            "select decode_batch(record) as decoded from inserts"
        ),
        ONE_BY_ONE: sink("select decode_one(record) as decoded from inserts"),
        VALUES.format("Java client, one at a time"): client,
    }


def java_client(jvm: Any, path: Path, inserts: Any) -> Callable[[], Any]:
    """Let IBM's client read inserts (n, bytes of each) from memory."""
    path.write_bytes(inserts.tobytes())
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler.setParentClassLoader(loader)
    compiler.cook((HERE / "ChangeStreamClient.java").read_text(encoding="utf-8"))
    client = compiler.getClassLoader().loadClass("ChangeStreamClient").newInstance()
    client.load(list(schema()), str(path), inserts.shape[1])

    def run() -> None:
        values = client.decode()
        assert values == len(inserts) * len(COLUMNS), values

    return run


def run(records: int, repeats: int, home: Path) -> list[dict[str, Any]]:
    """Measure in this process."""
    from pyspark.sql import SparkSession
    from spark_cdc_udfs import register

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.jars.packages", CLIENT)
        .getOrCreate()
    )
    register(spark)
    measured: dict[str, list[float]] = {}
    all_steps = steps(spark, home, records)
    for _ in range(WARM_UP + repeats):
        for name, step in all_steps.items():
            began = time.perf_counter()
            step()
            measured.setdefault(name, []).append(time.perf_counter() - began)
    return [
        {"step": name, "records": records, "seconds": [round(one, 2) for one in seconds[WARM_UP:]]}
        for name, seconds in measured.items()
    ]


def measure(records: int, repeats: int, home: Path) -> list[dict[str, Any]]:
    """Measure in a process of its own, on one core."""
    home = home / "gbase"
    home.mkdir()
    command = [sys.executable, __file__, str(records), str(repeats), str(home)]
    subprocess.run(command, check=True)
    results: list[dict[str, Any]] = json.loads((home / "results.json").read_text(encoding="utf-8"))
    return results


def as_markdown(results: list[Mapping[str, Any]]) -> list[str]:
    """The figures as a table; empty if nothing was measured."""
    if not results:
        return []
    (slowest,) = (
        statistics.median(result["seconds"]) for result in results if result["step"] == ONE_BY_ONE
    )
    lines = [
        "",
        f"A GBase stream of {results[0]['records']:,} inserts of ten columns, one core:",
        "",
        "| step | seconds | times as fast as Python, one at a time |",
        "|---|---|---|",
    ]
    for result in results:
        seconds = statistics.median(result["seconds"])
        lines.append(f"| {result['step']} | {seconds:.1f} | {slowest / seconds:.1f} |")
    return lines


if __name__ == "__main__":
    target = Path(sys.argv[3])
    found = run(int(sys.argv[1]), int(sys.argv[2]), target)
    (target / "results.json").write_text(json.dumps(found), encoding="utf-8")
