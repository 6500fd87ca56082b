"""A Spark Thrift server that belongs to a directory, and sessions like it. Only on the driver.

- `command` is the command line of `spark-cdc-server`; `starting` and `stopping` do what it says;
- `driver` is the process of a server, `children` starts it, `client` asks whether it answers;
- `directory` has the files of a server, `logs` its log;
- `settings` are those of Spark, `packages` fetches jars, `java` finds Java, `jvm` starts it;
- `sessions` collects all of these, and builds a session in this process;
- `executors` sends the package to the executors.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run `spark-cdc-server` and return the exit status."""
    from spark_cdc_udfs.server import command  # with everything that a server needs

    return command.main(argv)
