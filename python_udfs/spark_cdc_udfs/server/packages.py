"""The jars of table formats and metastores: their pinned versions, and the download from Maven.

Run as a program (`python -m spark_cdc_udfs.server.packages FILE`) it starts a JVM with the settings
on its standard input. Spark's Ivy fetches `spark.jars.packages`, and the jars' paths are written as
JSON to FILE.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote, urlparse

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server.children import child, unblock_signals
from spark_cdc_udfs.server.jvm import Launch, end_jvm, start_jvm
from spark_cdc_udfs.server.logs import telling_line

# Spark's minor version -> format -> package. Formats without a line have no release.
PINNED: Mapping[str, Mapping[str, str]] = {
    "4.1": {
        "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "delta": "io.delta:delta-spark_4.1_2.13:4.4.0",
    },
    "4.2": {
        "delta": "io.delta:delta-spark_4.2_2.13:4.4.0",
    },
}

# JDBC URL of a metastore -> the package of its driver.
DRIVERS: Mapping[str, str] = {
    "jdbc:postgresql:": "org.postgresql:postgresql:42.7.14",
}

# Where a user names jars.
JARS = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")

# Other settings than `spark.jars.` that say how to reach Maven.
FOR_FETCHING = (
    "spark.master",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraJavaOptions",
)


def package(table_format: str, spark_version: str) -> str | None:
    """Return the Maven package of a table format; None for `parquet`, which needs none.

    Raises Failure if there is none for this Spark.
    """
    if table_format == "parquet":
        return None
    minor = ".".join(spark_version.split(".")[:2])
    pinned = PINNED.get(minor, {}).get(table_format)
    if pinned is None:
        having = [spark for spark, formats in PINNED.items() if table_format in formats]
        raise Failure(
            f"{table_format} is released for Spark {' and '.join(having)}, and this is Spark "
            f"{spark_version}: pip install 'pyspark=={having[0]}.*'"
        )
    return pinned


def metastore_driver(metastore_url: str | None, conf: Mapping[str, str]) -> str | None:
    """Return the Maven package of the metastore's JDBC driver.

    Returns None if no package is known for `metastore_url`, or if the user's settings in `conf`
    name a driver.
    """
    for prefix, pinned in DRIVERS.items():
        if metastore_url and metastore_url.startswith(prefix):
            artifact = pinned.split(":")[1]
            return None if any(artifact in conf.get(key, "") for key in JARS) else pinned
    return None


def fetch(packages: str, launch: Launch, output: int) -> list[Path]:
    """Let Spark's Ivy fetch Maven packages (comma-separated) and return the paths of all jars.

    `output` is the descriptor of the log. Packages that were fetched before come from Ivy's cache
    (`~/.ivy2*`, or `spark.jars.ivy`). Raises Failure if a package cannot be fetched.
    """
    settings = {"spark.jars.packages": packages} | {
        key: value
        for key, value in launch.settings.items()
        if key.startswith("spark.jars.") or key in FOR_FETCHING
    }
    answer = launch.home.tmp / "packages.json"
    answer.unlink(missing_ok=True)
    fetching = replace(launch, settings=settings)
    with child(
        "spark_cdc_udfs.server.packages",
        [str(answer)],
        fetching.to_json(),
        launch.home.root,
        output,
    ) as process:
        process.wait()
    if not answer.exists():
        log = launch.home.log
        raise Failure(f"cannot fetch {packages}: {telling_line(log)}; log: {log}")
    jars = [Path(path) for path in json.loads(answer.read_text())]
    pinned = {*DRIVERS.values(), *(one for formats in PINNED.values() for one in formats.values())}
    check_sums(jars, are_all_known=set(packages.split(",")) <= pinned)
    return jars


def check_sums(jars: Iterable[Path], are_all_known: bool) -> None:
    """Raise Failure if a jar is not the one of which `jars.sha256` has the checksum.

    With `are_all_known` it has the checksums of all jars. The packages that users name bring
    others.
    """
    listed = (files(__package__) / "jars.sha256").read_text(encoding="ascii").splitlines()
    known = {name: digest for digest, name in map(str.split, listed)}
    for jar in jars:
        digest = hashlib.sha256(jar.read_bytes()).hexdigest()
        if known.get(jar.name, "" if are_all_known else digest) != digest:
            raise Failure(
                f"{jar} is not the jar that this version was tested with: its SHA-256 is {digest}."
                " Remove it to fetch it again"
            )


def paths(jars: str) -> list[Path]:
    """Turn Spark's comma-separated list of `file:` URLs into paths."""
    return [Path(unquote(urlparse(jar).path)) for jar in jars.split(",") if jar]


def main() -> None:
    """Fetch the packages and write their paths; see the beginning of this module."""
    unblock_signals()
    gateway = start_jvm(Launch.from_json(sys.stdin.read()))
    # Spark fetches before anything runs in the JVM: no session is needed.
    jars = paths(gateway.jvm.java.lang.System.getProperty("spark.jars") or "")
    end_jvm(gateway)
    Path(sys.argv[1]).write_text(json.dumps([str(jar) for jar in jars]))


if __name__ == "__main__":
    main()
