"""The driver: the process of a server. Started by `spark-cdc-server start`, not by hand."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from types import FrameType
from typing import Any, NoReturn

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server import access
from spark_cdc_udfs.server.children import unblock_signals
from spark_cdc_udfs.server.directory import Server
from spark_cdc_udfs.server.jvm import Launch, start_session


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """End this process from wherever it is; once is enough."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def jvm_process(spark: Any) -> Any:
    """Return the process, as a `subprocess.Popen`, of the JVM of `spark`."""
    return spark.sparkContext._gateway.proc


def forgo_hive_functions(jvm: Any) -> None:
    """Make Hive treat the functions of its own SQL, which Spark never calls, as registered.

    Otherwise a session may register them when it closes while another session uses the shared
    metastore connection. For that Hive needs a class that PySpark lacks. This close fails, and
    every later one that gets there waits forever. No setting prevents it.
    """
    java = jvm.java.lang
    hive = java.Class.forName("org.apache.hadoop.hive.ql.metadata.Hive")
    registered = hive.getDeclaredField("didRegisterAllFuncs")
    registered.setAccessible(True)
    # By handles: for an AtomicInteger Py4J gives Python only the value.
    handles = java.invoke.MethodHandles
    look_up = handles.publicLookup()
    method = java.invoke.MethodType.methodType(java.Void.TYPE, java.Integer.TYPE)
    store = look_up.findVirtual(registered.getType(), "set", method)
    store = handles.collectArguments(store, 0, look_up.unreflectGetter(registered))
    store.invokeWithArguments([2])  # Hive.REG_FUNCS_DONE


def start_thrift(spark: Any) -> Any:
    """Start the Thrift server on the session `spark` and return it."""
    forgo_hive_functions(spark._jvm)
    thriftserver = spark._jvm.org.apache.spark.sql.hive.thriftserver
    return thriftserver.HiveThriftServer2.startWithContext(spark._jsparkSession.sqlContext())


def shut_down(spark: Any, thrift: Any, jvm: Any) -> None:
    """Close the sessions, then Spark, then the JVM. Dead parts are not an error."""
    for stop in (thrift.stop, spark.stop):
        with contextlib.suppress(Exception):
            stop()
    # PySpark's JVM ends with its standard input.
    jvm.stdin.close()
    jvm.wait()


def main() -> None:
    """Run the server that standard input describes, until it is told to stop or its JVM dies."""
    signal.signal(signal.SIGTERM, _stop)
    unblock_signals()
    given = json.load(sys.stdin)
    launch = Launch.from_json(given["launch"])
    launch.home.write(Server(pid=os.getpid(), **given["server"]))

    try:
        spark = start_session(launch)
        if given["server"]["has_token"]:
            access.compile_authenticator(spark.sparkContext._gateway, launch.home)
        jvm = jvm_process(spark)
        thrift = start_thrift(spark)
        try:
            while jvm.poll() is None:
                time.sleep(0.2)
        except SystemExit:
            shut_down(spark, thrift, jvm)
            launch.home.forget()
            raise
    except SystemExit:
        # A JVM that still starts does not notice that its driver ends. If it ignores the signal,
        # `stop` or the next start kills it: the state is still there and names the group.
        os.killpg(os.getpid(), signal.SIGTERM)
        raise
    except Failure as error:
        sys.exit(f"Error: {error}")
    sys.exit(f"the JVM ended by itself with status {jvm.returncode}")


if __name__ == "__main__":
    main()
