"""Debezium's transformation of records to rows, with Kafka Connect's JSON converter.

Run as a program (`python -m kit.debezium FOLDER`) it reads `records.json` in the folder: a list of
[key, value], each a JSON text with its schema, or null. It writes `rows.json`: for each record its
key and row as JSON texts without schemas, or null if Debezium drops it. Their classes run in a JVM
that Spark starts without a session. Spark also fetches the jars, as it fetches table formats.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from spark_cdc_udfs.server.directory import Home
from spark_cdc_udfs.server.java import find_java
from spark_cdc_udfs.server.jvm import Launch, end_jvm, start_jvm
from spark_cdc_udfs.server.packages import paths

# Debezium 3.6 is made with this version of Kafka.
PACKAGES = (
    "io.debezium:debezium-connect-plugins:3.6.1.Final",
    "org.apache.kafka:connect-json:4.3.0",
    "org.apache.kafka:connect-transforms:4.3.0",
)

# Spark has these itself.
EXCLUDED = (
    *(f"com.fasterxml.jackson.core:jackson-{part}" for part in ("annotations", "core", "databind")),
    "com.fasterxml.jackson.datatype:jackson-datatype-jsr310",
    "org.slf4j:slf4j-api",
    "com.github.luben:zstd-jni",
    "at.yawk.lz4:lz4-java",
    "org.xerial.snappy:snappy-java",
    "jakarta.ws.rs:jakarta.ws.rs-api",
)

# Each jar that the packages need, and its SHA-256.
JARS = {
    "com.datadoghq_sketches-java-0.8.2.jar": (
        "b24c3d175556eb381ef2b2f0a7dffe7cb1fb7a9f893f41260822b5ec6cb13cca"
    ),
    "com.fasterxml.jackson.datatype_jackson-datatype-jdk8-2.21.2.jar": (
        "e581bbf3fc5622d16b57366dd41e10fc56921fb202879de2ef487f87dd9b30e7"
    ),
    "com.fasterxml.jackson.module_jackson-module-blackbird-2.21.2.jar": (
        "5ed62cdcd357a24b73de9280e167aa014d7b4c17d04823844d482274cf07097e"
    ),
    "io.debezium_debezium-api-3.6.1.Final.jar": (
        "893c73a44dd05b3a102830efb53b2636c63cfdf890860411dcc4969282c9544b"
    ),
    "io.debezium_debezium-config-3.6.1.Final.jar": (
        "0d4b6335aca11e8ba40aa00d39b23b863ef968e79d47ed7a133b9461f8218405"
    ),
    "io.debezium_debezium-connect-plugins-3.6.1.Final.jar": (
        "712d34752f945fb4062354a9faf04424dd3660411137b3bb160b0a68d4a7ee8e"
    ),
    "io.debezium_debezium-connector-common-3.6.1.Final.jar": (
        "365a695d512b085cff2cd12e28e44a7a3e733b43bfb27f3608508d7800e2de45"
    ),
    "io.debezium_debezium-openlineage-api-3.6.1.Final.jar": (
        "7e7e0fb3c3a12b3e8bfe2d42df278ff2a9fab8c58fa12199590e35fdb88b2062"
    ),
    "io.debezium_debezium-util-3.6.1.Final.jar": (
        "9501581790412207cda72b2b57874e0430e2f9e4c5e94a054f7b06e07c112e5f"
    ),
    "org.apache.kafka_connect-api-4.3.0.jar": (
        "7938f71e76e3b03cfba284a987a07d925533710166499264652e05eaba709429"
    ),
    "org.apache.kafka_connect-json-4.3.0.jar": (
        "4af42f973b7ed4def6d394055e9b46ea7da38f69c9d5a45fa4614b492a01ad2e"
    ),
    "org.apache.kafka_connect-transforms-4.3.0.jar": (
        "a1b6b347e26997e4e5ede01752a9ac572e8d938b48bf3a4b22c27890dca65b7e"
    ),
    "org.apache.kafka_kafka-clients-4.3.0.jar": (
        "97a5b492d4ad658fd2dfba969fa0e403c2e38c971fb1e083da4e391471925fc1"
    ),
}

Record = tuple[str | None, str | None]


def unwrapped(folder: Path, records: Sequence[Record]) -> list[Any]:
    """Give for each record its key and row, or None; the row of a tombstone is None.

    Besides its columns a row has `__op` and `__source_unavailable_columns`.
    """
    (folder / "records.json").write_text(json.dumps(records), encoding="utf-8")
    settings = {
        "spark.master": "local[1]",
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.jars.excludes": ",".join(EXCLUDED),
    }
    launch = Launch(Home(folder), settings, find_java(os.environ).home)
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "kit.debezium", str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        input=launch.to_json(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    texts = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    return [
        None
        if record is None
        else [None if text is None else json.loads(text, parse_float=Decimal) for text in record]
        for record in texts
    ]


def check(jars: Sequence[Path]) -> None:
    """Fail if these are other jars than those that are pinned."""
    there = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars}
    assert there == JARS, there


def rows_of(jvm: Any, records: Sequence[Record]) -> list[list[str | None] | None]:
    """Turn records into texts of keys and rows with the classes of a JVM."""
    connect = jvm.org.apache.kafka.connect
    reader, writer = connect.json.JsonConverter(), connect.json.JsonConverter()
    reader.configure({"schemas.enable": "true"}, False)
    writer.configure({"schemas.enable": "false", "decimal.format": "NUMERIC"}, False)
    transformation = jvm.io.debezium.transforms.ExtractNewRecordState()
    transformation.configure({"add.fields": "op,source.unavailable_columns"})
    rows: list[list[str | None] | None] = []
    for place, record in enumerate(records):
        parts: list[Any] = []
        for text in record:
            read = reader.toConnectData("feed", None if text is None else text.encode())
            parts += [read.schema(), read.value()]
        given = connect.sink.SinkRecord("feed", 0, *parts, place)
        row = transformation.apply(given)
        if row is None:
            rows.append(None)
            continue
        sides = ((row.keySchema(), row.key()), (row.valueSchema(), row.value()))
        written = [writer.fromConnectData("feed", *side) for side in sides]
        rows.append([None if text is None else text.decode() for text in written])
    return rows


def main() -> None:
    """See the beginning of this module."""
    folder = Path(sys.argv[1])
    gateway = start_jvm(Launch.from_json(sys.stdin.read()))
    try:
        check(paths(gateway.jvm.java.lang.System.getProperty("spark.jars") or ""))
        records = json.loads((folder / "records.json").read_text(encoding="utf-8"))
        rows = rows_of(gateway.jvm, records)
    finally:
        end_jvm(gateway)
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
