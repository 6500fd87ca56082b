"""The benchmark's Thrift server: SQL on it, dbt against it, and the metrics of its tasks."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyhive import hive  # type: ignore[import-untyped]  # it ships no types

HERE = Path(__file__).parent
SCHEMA = "benchmark"

Span = tuple[float, float]  # beginning and end, in seconds since 1970


def free_port() -> int:
    """Find a free port that no system assigns to clients."""
    for port in random.SystemRandom().sample(range(15000, 30000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("a hundred ports are taken")


def say(text: str) -> None:
    """Print the progress."""
    print(time.strftime("%H:%M:%S"), text, flush=True)


@contextlib.contextmanager
def server(
    home: Path, port: int, table_format: str = "parquet", memory: int | None = None
) -> Iterator[None]:
    """A Thrift server that logs its events, in an empty directory; `memory` in GiB."""
    logs = home / "events"
    logs.mkdir(parents=True)
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{logs}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    if memory:
        conf["spark.driver.memory"] = f"{memory}g"
    command = [sys.executable, "-m", "spark_cdc_udfs.server"]
    place = ["--dir", str(home / "server")]
    chosen = ["--format", table_format]
    conf = {"spark.hadoop.hive.server2.authentication": "NONE", **conf}
    options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    subprocess.run([*command, "start", *place, "--port", str(port), *chosen, *options], check=True)
    try:
        yield
    finally:
        subprocess.run([*command, "stop", *place], check=True)


class Spark:
    """The Thrift server as the benchmark uses it."""

    def __init__(self, port: int) -> None:
        connection = hive.connect("127.0.0.1", port, username="benchmark")
        self.cursor = connection.cursor()
        self.sql(f"create schema {SCHEMA}")

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""
        self.cursor.execute(statement)
        return list(self.cursor.fetchall()) if self.cursor.description else []

    def create(self, name: str, select: str) -> None:
        """Create a table, as dbt's materialization `table` does; an older one is dropped."""
        # purge: otherwise Iceberg's catalog leaves the files of tables of other formats
        self.sql(f"drop table if exists {SCHEMA}.{name} purge")
        self.sql(f"create table {SCHEMA}.{name} using parquet as {select}")

    def timed(self, name: str, select: str) -> Span:
        """Create a table, and give the times of beginning and end."""
        began = time.time()
        self.create(name, select)
        return began, time.time()

    def differences(self, one: str, other: str) -> int:
        """The number of rows that are in only one of two relations, with repetitions."""
        ((count,),) = self.sql(
            f"select count(*) from ((({one}) except all ({other}))"
            f" union all (({other}) except all ({one})))"
        )
        return int(count)


def dbt(port: int, target: Path, *arguments: str) -> dict[str, Span]:
    """Run dbt in the benchmark's project, and say when each model began and ended."""
    env = os.environ | {
        "SPARK_CDC_PORT": str(port),
        "DBT_TARGET_PATH": str(target),
        "DBT_LOG_PATH": str(target / "logs"),
        "DBT_PROFILES_DIR": str(HERE),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    subprocess.run(["dbt", "--quiet", *arguments], cwd=HERE, env=env, check=True)
    if arguments[0] != "run":
        return {}
    results = json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]
    spans = {}
    for result in results:
        timing = result["timing"]
        times = (timing[0]["started_at"], timing[-1]["completed_at"])
        began, ended = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in times)
        spans[result["unique_id"].split(".")[-1]] = (began.timestamp(), ended.timestamp())
    return spans


# The metrics of tasks that are added up, and their fields in Spark's event log.
METRICS = {
    "written_rows": ("Output Metrics", "Records Written"),
    "written_bytes": ("Output Metrics", "Bytes Written"),
    "shuffle_bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written"),
    "spilled_bytes": ("Disk Bytes Spilled",),
}


def task_totals(home: Path, spans: Sequence[Span]) -> list[dict[str, int]]:
    """Add up the metrics of the tasks of the stopped server in `home`, for each span."""
    (log,) = [path for path in (home / "events").rglob("*") if path.is_file()]
    totals = [dict.fromkeys(METRICS, 0) for _ in spans]
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith('{"Event":"SparkListenerTaskEnd"'):
                continue
            event = json.loads(line)
            if not (metrics := event.get("Task Metrics")):
                continue
            finished = event["Task Info"]["Finish Time"] / 1000
            for (began, ended), total in zip(spans, totals, strict=True):
                if began <= finished <= ended:
                    for name, path in METRICS.items():
                        value = metrics
                        for key in path:
                            value = value[key]
                        total[name] += value
    return totals
