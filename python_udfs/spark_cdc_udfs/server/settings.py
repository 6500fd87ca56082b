"""All Spark settings of the server and of a session in one process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server.directory import Home

MIB = 1024 * 1024

# Lists in one string: the user's values are added to the values here, instead of replacing them.
JOINED = {
    "spark.sql.extensions": ",",
    "spark.jars": ",",
}

# Set by an option of their own; a value in --conf as well would contradict it.
OPTIONS = {
    "spark.master": "--master",
    "spark.hadoop.hive.server2.thrift.port": "--port",
    "spark.hadoop.hive.server2.thrift.bind.host": "--host",
    "spark.hadoop.javax.jdo.option.ConnectionURL": "--metastore-url",
}

FORMATS: Mapping[str, Mapping[str, str]] = {
    "parquet": {},
    "iceberg": {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hive",
        # Iceberg remembers tables in each session, and by each spelling of their names: a reader
        # does not see new rows of another session.
        "spark.sql.catalog.spark_catalog.cache-enabled": "false",
        # In a metastore that DataNucleus creates there are no tables for Hive's locks: with locks a
        # `create table` tries for minutes. One server is the only writer of its metastore.
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        # Iceberg's own metastore client asks for BoneCP, which PySpark lacks.
        "spark.hadoop.datanucleus.connectionPoolingType": "dbcp",
        # Hive compares columns by position, and rejects a table that is created again with other
        # columns.
        "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes": "false",
    },
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # For new tables: without it Delta rejects blanks and other characters in column names.
        "spark.databricks.delta.properties.defaults.columnMapping.mode": "name",
    },
}

JDBC_DRIVERS = {
    "jdbc:derby://": "org.apache.derby.jdbc.ClientDriver",
    "jdbc:derby:": "org.apache.derby.jdbc.EmbeddedDriver",
    "jdbc:postgresql:": "org.postgresql.Driver",
    "jdbc:mysql:": "com.mysql.cj.jdbc.Driver",
    "jdbc:mariadb:": "org.mariadb.jdbc.Driver",
    "jdbc:sqlserver:": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "jdbc:oracle:": "oracle.jdbc.OracleDriver",
}

# The environment variables with the metastore's user and password. Hadoop inserts their values when
# it reads the setting: they are in no file and on no command line.
METASTORE_SECRETS = {
    "SPARK_CDC_METASTORE_USER": "spark.hadoop.javax.jdo.option.ConnectionUserName",
    "SPARK_CDC_METASTORE_PASSWORD": "spark.hadoop.javax.jdo.option.ConnectionPassword",
}

# Create all tables of the metastore when it is opened. By default each is created when it is first
# needed: in the middle of a transaction, over another connection. In PostgreSQL the two then wait
# for each other forever. The embedded Derby does not, and starts faster without this.
WHOLE_SCHEMA = {
    "spark.hadoop.datanucleus.autoStartMechanism": "MetaData",
    "spark.hadoop.datanucleus.autoStartMetaDataFiles": "package.jdo",
}


def parse_conf(texts: Iterable[str]) -> dict[str, str]:
    """Turn `KEY=VALUE` texts into settings; the last one of a key counts.

    Raises Failure with the reason for a text that cannot be a setting of Spark.
    """
    conf = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise Failure(f"{text!r} has no '=': give KEY=VALUE, like spark.driver.memory=4g")
        if not key.startswith("spark.") or re.search(r"\s", key):
            raise Failure(
                f"{key!r} is not a Spark setting: their names begin with 'spark.' "
                "(settings of Hadoop and Hive with 'spark.hadoop.')"
            )
        if key in OPTIONS:
            raise Failure(f"{key} has an option of its own: {OPTIONS[key]}")
        conf[key] = value
    return conf


def merge(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge settings: later ones replace earlier ones; lists (`JOINED`) are joined."""
    merged: dict[str, str] = {}
    for layer in layers:
        for key, value in layer.items():
            known = merged.get(key)
            merged[key] = JOINED[key].join((known, value)) if known and key in JOINED else value
    return merged


def is_local(master: str) -> bool:
    """Say whether driver and executors are on this machine: `local`, `local[4]`, ..."""
    return master.partition("[")[0] == "local"


def machine_memory() -> int:
    """Return how many bytes of memory this process may use: the machine's or the container's."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return memory
    return min(memory, int(limit)) if limit.isdigit() else memory


def driver_memory(machine: int) -> str:
    """Return the driver's part of `machine` bytes: half of them, from 1 to 8 GiB."""
    return f"{min(max(machine // 2 // MIB, 1024), 8192)}m"


def metastore(home: Home, url: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the metastore: the embedded Derby of `home`, or the one at `url`.

    Raises Failure for a `url` that is not a JDBC URL of a database known here.
    """
    given = url is not None
    # Naming the database is enough: with derby.system.home as well, closing a client takes 20 s.
    url = url or f"jdbc:derby:;databaseName={home.metastore};create=true"
    driver = next((name for prefix, name in JDBC_DRIVERS.items() if url.startswith(prefix)), None)
    if driver is None:
        kinds = ", ".join(JDBC_DRIVERS)
        raise Failure(f"--metastore-url {url!r} is not supported: give one of {kinds}")
    return {
        "spark.hadoop.javax.jdo.option.ConnectionURL": url,
        "spark.hadoop.javax.jdo.option.ConnectionDriverName": driver,
        # An empty database becomes a metastore; an existing metastore stays as it is.
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        **(WHOLE_SCHEMA if given else {}),
        **{
            setting: f"${{env.{variable}}}"
            for variable, setting in METASTORE_SECRETS.items()
            if variable in environ
        },
    }


# Spark makes one Java method of everything that is done to a row between two shuffles. For tables
# of many columns it is longer than Java compiles by default, and then runs many times slower.
COMPILE_LARGE_METHODS = "-XX:-DontCompileHugeMethods"

# In Java 22 to 25.0.2 the default collector can move bytes that native code is reading or writing.
# Compressed data is then corrupt: JDK-8377811, SPARK-55852.
CORRUPTING = 22
OTHER_COLLECTOR = "-XX:+UseParallelGC"


def defaults(home: Home, master: str, ansi: bool, java: int) -> dict[str, str]:
    """Return the settings for whatever tables and metastore there are, on this version of Java."""
    cores = os.cpu_count() or 1
    java_options = {
        "java.io.tmpdir": home.tmp,
        "derby.stream.error.file": home.root / "derby.log",
        "user.timezone": "UTC",
        "spark_cdc.token": home.token,
        # Hive reads this name here, and not in Spark's settings.
        "hive.server2.custom.authentication.class": "spark_cdc.TokenAuthenticator",
    }
    settings = {
        "spark.master": master,
        "spark.app.name": "spark_cdc",
        "spark.submit.deployMode": "client",
        "spark.driver.memory": driver_memory(machine_memory()),
        # Not extraJavaOptions: that is free for the user.
        "spark.driver.defaultJavaOptions": " ".join(
            [f"-D{name}={quote(str(value))}" for name, value in java_options.items()]
            + [COMPILE_LARGE_METHODS]
            + ([OTHER_COLLECTOR] if java >= CORRUPTING else [])
        ),
        "spark.executor.defaultJavaOptions": f"-Duser.timezone=UTC {COMPILE_LARGE_METHODS}",
        "spark.local.dir": str(home.tmp),
        "spark.hadoop.hive.exec.scratchdir": str(home.tmp / "hive"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(home.warehouse),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.filesourceTableRelationCacheSize": "0",
        # Otherwise a text of the data in a statement shows the environment: ${env:HOME}.
        "spark.sql.variable.substitute": "false",
        "spark.sql.ansi.enabled": "true" if ansi else "false",
        "spark.sql.adaptive.enabled": "true",
        # Joins by hash, without a sort, if both sides are large but a part of one fits into memory:
        # the events of keys, and the complex keys.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64MB",
        # A model's incremental runs have some hundred pieces of code, of 20 KB, which Spark
        # generates and compiles. By default it keeps a hundred, and then compiles all again in each
        # run.
        "spark.sql.codegen.cache.maxEntries": "4000",
        # Two fifths smaller than Spark's snappy, and read as fast. Tables of Delta have no property
        # for it; the package's tables of parquet have one.
        "spark.sql.parquet.compression.codec": "zstd",
    }
    if is_local(master):
        return settings | {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Spark's own ports: only for processes with a secret that Spark makes up.
            "spark.authenticate": "true",
            # Spark's 200 are for a cluster. Adaptive execution makes fewer of them, never more:
            # a floor, so that a large table's parts still fit into the memory of a small machine.
            "spark.sql.shuffle.partitions": str(max(32, 4 * cores)),
            # Delta reads the log of a table, for each query, in 50 tasks by default, and its
            # `vacuum` lists files in 10,000. On one machine starting them takes longer than their
            # work.
            "spark.databricks.delta.snapshotPartitions": str(cores),
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(4 * cores),
        }
    return settings | {
        # Found by the executors: the path of the driver's Python does not exist there.
        "spark.pyspark.python": "python3",
        # So that Python sees the same times of day as SQL there too.
        "spark.executorEnv.TZ": "UTC",
    }


def thrift(host: str, port: int, instance: str) -> dict[str, str]:
    """Return the settings of the Thrift server itself."""
    return {
        "spark.hadoop.hive.server2.thrift.bind.host": host,
        "spark.hadoop.hive.server2.thrift.port": str(port),
        # The server reads and writes as its own user, not as whoever a client says he is.
        "spark.hadoop.hive.server2.enable.doAs": "false",
        # A thread opens the metastore for its first statement, and again for another user. By
        # default nearly each statement has a new thread, and each connection has another user.
        "spark.hadoop.hive.server2.async.exec.threads": "32",
        "spark.hadoop.hive.server2.async.exec.keepalive.time": "1h",
        "spark.cdc.server.instance": instance,
    }


def quote(text: str) -> str:
    """Quote one word for a setting with the options of a JVM."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def properties(settings: Mapping[str, str]) -> str:
    """Write settings in the syntax of Java's property files."""
    escapes = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}

    def escaped(text: str, more: str = "") -> str:
        return "".join(f"\\{c}" if c in more else escapes.get(c, c) for c in text)

    return "".join(f"{escaped(k, ' :=#!')}={escaped(v)}\n" for k, v in sorted(settings.items()))
