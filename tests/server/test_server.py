"""`spark-cdc-server`: its parts, and a real server over Thrift."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from dbt.adapters.spark.connections import build_ssl_transport
from kit.warehouse import free_port
from pyhive import hive  # type: ignore[import-untyped]  # it ships no types
from spark_cdc_udfs import __version__, dbt_session, functions, server
from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server import (
    access,
    client,
    directory,
    executors,
    packages,
    sessions,
    settings,
    starting,
    stopping,
)
from spark_cdc_udfs.server.directory import Home, Server
from spark_cdc_udfs.server.java import Java, find_java
from spark_cdc_udfs.server.jvm import Launch
from spark_cdc_udfs.server.logs import telling_line
from spark_cdc_udfs.server.sessions import Options
from thrift.transport.TTransport import TTransportException  # type: ignore[import-untyped]  # untyped

NOBODY = 65534  # the user without rights
SMALL = ("--conf", "spark.driver.memory=1g", "--master", "local[2]")


# Helpers


def command(*arguments: str) -> list[str]:
    """The command line as a user gives it, with the Python that runs the tests."""
    return [sys.executable, "-m", "spark_cdc_udfs.server", *arguments]


def environment() -> dict[str, str]:
    """The environment, with the package even if it is not installed."""
    package = Path(server.__file__).parents[2]
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        command(*arguments), env=environment(), capture_output=True, text=True, check=False
    )


def begin(*arguments: str) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        command(*arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def one_line(text: str) -> str:
    """The only line of `text`."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]


def connect(home: Home, password: str | None = None) -> Any:
    """A connection to the server of `home`, with its token or another password."""
    server = state(home)
    login = access.login(home, server)
    return hive.connect(
        *(server.host, server.port),
        username="test",
        password=login.password if password is None else password,
        auth="CUSTOM",
    )


def query(home: Home, *statements: str) -> list[tuple[Any, ...]]:
    """The rows of the last of some statements, over Thrift."""
    with (
        contextlib.closing(connect(home)) as connection,
        contextlib.closing(connection.cursor()) as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def group(pid: int) -> list[str]:
    """The command lines of the living processes of a process group."""
    columns = ["-o", "pgid=", "-o", "stat=", "-o", "args="]
    listed = subprocess.run(
        ["ps", "-A", "-ww", *columns], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    # A zombie (Z) has ended; only process 1 has not noticed yet.
    return [row[-1] for row in rows if row[0] == str(pid) and not row[1].startswith("Z")]


def assert_ended(pid: int, home: Home) -> None:
    """Fail if the server `pid` left a lock, which its processes hold as long as they live."""
    assert not directory.held(home.lock)
    assert not directory.held(home.log)
    # The system lists a process for a moment after it has closed its files.
    assert directory.wait_for(lambda: not group(pid), 5), group(pid)


def fake_java(home: Path, version: str) -> Path:
    """A Java home whose `java` claims this `version`."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    program.chmod(0o755)
    return program


def java(environ: dict[str, str], *places: str) -> Path:
    """The home of the Java that is found with these variables and usual places."""
    return find_java(environ, places, Path("/nonexistent")).home


def installed_spark(monkeypatch: pytest.MonkeyPatch, spark: str) -> None:
    """Let PySpark be of the version `spark`."""
    monkeypatch.setattr("spark_cdc_udfs.server.java.metadata.version", lambda package: spark)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "server")
    made.create()
    return made


@pytest.fixture
def holder(home: Home) -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own that holds the lock of `home`, as a server does."""
    code = (
        "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(home.lock)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def other() -> Iterator[subprocess.Popen[str]]:
    """A process that now has the number of a server that ended."""
    process = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True, text=True)
    yield process
    process.kill()
    process.wait()


def freeze(process: subprocess.Popen[str]) -> None:
    """Stop a process: TERM waits, KILL does not."""
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)


def some_server(pid: int) -> Server:
    version = __version__
    return Server(pid, "127.0.0.1", free_port(), version, "parquet", "an instance", False, False)


# The command line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["start", "--port", "0"], "'0' is not a port"),
        (["start", "--port", "65536"], "'65536' is not a port"),
        (["start", "--port", "ten"], "'ten' is not a port"),
        (["start", "--format", "csv"], "invalid choice: 'csv'"),
        (["begin"], "invalid choice: 'begin'"),
        ([], "start|status|env|stop"),
    ],
)
def test_wrong_arguments_get_one_line(
    arguments: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        server.main(arguments)
    assert ended.value.code == 2
    assert words in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ("spark.driver.memory", "has no '='"),
        ("driver.memory=1g", "begin with 'spark.'"),
        ("spark.driver memory=1g", "not a Spark setting"),
        ("spark.master=local", "--master"),
        ("spark.hadoop.hive.server2.thrift.port=1", "--port"),
    ],
)
def test_wrong_conf_gets_one_line(
    conf: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert server.main(["start", "--dir", str(tmp_path / "s"), "--conf", conf]) == 1
    assert words in one_line(capsys.readouterr().err)
    assert not (tmp_path / "s").exists()


def test_wrong_metastore_url_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = str(free_port())
    arguments = ["--dir", str(tmp_path), "--port", port, "--metastore-url", "thrift://h:9083"]
    assert server.main(["start", *arguments]) == 1
    assert "jdbc:postgresql:" in one_line(capsys.readouterr().err)


def test_taken_port_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert server.main(["start", "--dir", str(tmp_path), "--port", port]) == 1
    assert f"port {port} on 127.0.0.1 is taken" in one_line(capsys.readouterr().err)


def test_every_address_of_a_host_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*addresses: tuple[int, str]) -> None:
        found = [(family, socket.SOCK_STREAM, 0, "", (host, port)) for family, host in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **more: found)

    absent = (socket.AF_INET, "192.0.2.1")  # an address for documentation, which nobody has
    here = (socket.AF_INET, "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        resolve(absent, here)
        with pytest.raises(Failure, match=rf"port {port} on some\.host is taken"):
            starting.check_free("some.host", port)
    port = free_port()
    starting.check_free("some.host", port)
    resolve(absent)
    with pytest.raises(Failure, match=r"cannot listen on some\.host"):
        starting.check_free("some.host", port)


def test_missing_java_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "find_java", lambda environ: find_java({}, (), Path("/nowhere")))
    assert server.main(["start", "--dir", str(tmp_path), "--port", str(free_port())]) == 1
    said = one_line(capsys.readouterr().err)
    assert re.search(r"no Java 17 to 22, which Spark 4\.1\.\d+ needs, found: install one", said)


def test_unwritable_directory_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert server.main(["start", "--dir", str(tmp_path / "file" / "server")]) == 1
    assert "cannot write to" in one_line(capsys.readouterr().err)


@contextlib.contextmanager
def without_root() -> Iterator[None]:
    """Give up the rights of root, who may write everywhere."""
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def test_read_only_directory_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with TemporaryDirectory(prefix="spark-cdc-") as folder:  # others cannot read `tmp_path`
        Path(folder).chmod(0o555)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, -1)
        with without_root():
            assert server.main(["start", "--dir", folder]) == 1
    assert "Permission denied" in one_line(capsys.readouterr().err)


def test_commands_without_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = str(tmp_path / "none")
    assert server.main(["stop", "--dir", there]) == 0
    assert one_line(capsys.readouterr().out) == f"no server runs in {there}"
    assert server.main(["status", "--dir", there]) == stopping.NOT_RUNNING
    assert one_line(capsys.readouterr().out) == f"no server runs in {there}"
    assert not Path(there).exists()


# Java


def test_java_home_comes_first(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "21")
    on_path = fake_java(tmp_path / "path", "17")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    assert java(environ) == tmp_path / "home"


def test_java_that_is_too_old_or_broken_is_passed_over(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", "1.8")
    fake_java(tmp_path / "jvm" / "java-11", "11")
    fake_java(tmp_path / "jvm" / "java-17", "17")
    environ = {"JAVA_HOME": str(tmp_path / "none"), "PATH": str(on_path.parent)}
    assert java(environ, f"{tmp_path}/jvm/*/bin/java") == tmp_path / "jvm" / "java-17"


def test_java_that_is_too_new_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_new = fake_java(tmp_path / "new", "23")
    fake_java(tmp_path / "jvm" / "java-22", "22")
    environ = {"JAVA_HOME": str(tmp_path / "new"), "PATH": str(too_new.parent)}
    installed_spark(monkeypatch, "4.1.4")
    assert java(environ, f"{tmp_path}/jvm/*/bin/java") == tmp_path / "jvm" / "java-22"
    with pytest.raises(Failure) as failure:
        java(environ)
    assert "no Java 17 to 22, which Spark 4.1.4 needs" in str(failure.value)
    assert f"JAVA_HOME={tmp_path / 'new'} is Java 23" in str(failure.value)


@pytest.mark.parametrize("spark", ["4.2.0", "4.3.0"])
def test_newer_spark_takes_newer_java(
    spark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_spark(monkeypatch, spark)
    fake_java(tmp_path / "jvm" / "java-25", "25")
    assert java({}, f"{tmp_path}/jvm/*/bin/java") == tmp_path / "jvm" / "java-25"
    with pytest.raises(Failure, match="no Java 17 or newer"):
        java({})


def test_functions_that_this_spark_lacks_are_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Spark 4.0 has no Arrow functions; there messages are read with pandas."""
    registered: list[str] = []
    register = SimpleNamespace(register=lambda name, function: registered.append(name))
    monkeypatch.delattr("pyspark.sql.functions.arrow_udtf")
    monkeypatch.delattr("pyspark.sql.functions.arrow_udf")
    monkeypatch.setattr(executors, "ship", lambda spark: None)
    spark: Any = mock.MagicMock(udf=register, udtf=register)
    functions.register(spark)
    assert registered == ["spark_cdc_version", "spark_cdc_qlik_message"]
    [line] = caplog.messages
    assert line.startswith("left out, for they need Spark 4.1 or newer: spark_cdc_gbase_stretches,")


@pytest.mark.parametrize(("version", "is_other"), [(17, False), (21, False), (22, True)])
def test_collector_that_corrupts_data_is_not_used(
    home: Home, version: int, is_other: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JDK-8377811, SPARK-55852."""
    monkeypatch.setattr(sessions, "find_java", lambda environ: Java(home.root, version))
    options = assembled(home)["spark.driver.defaultJavaOptions"]
    assert ("-XX:+UseParallelGC" in options) == is_other


def test_no_java_says_which_were_seen(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", "11")
    environ = {"JAVA_HOME": "/none", "PATH": str(on_path.parent)}
    with pytest.raises(Failure) as failure:
        java(environ)
    assert f"(JAVA_HOME=/none is no Java that runs; {on_path} is Java 11)" in str(failure.value)
    assert "apt-get install" in str(failure.value)


# Settings


def assembled(home: Home, ansi: bool = True, **options: Any) -> dict[str, str]:
    """What the server would run with on Spark 4.1."""
    more = settings.thrift("127.0.0.1", 10000, "i")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "version", lambda package: "4.1.4")
        return dict(sessions.assemble(home, Options(**options), ansi, more).settings)


def test_conf_wins_over_every_default(home: Home) -> None:
    plain = assembled(home, table_format="iceberg")
    free = {key: "mine" for key in plain if key not in settings.JOINED}
    changed = assembled(home, table_format="iceberg", conf=free)
    assert {key: changed[key] for key in free if key != "spark.jars.packages"} == {
        key: "mine" for key in free if key != "spark.jars.packages"
    }


def test_lists_are_joined(home: Home) -> None:
    conf = {"spark.sql.extensions": "my.Extension", "spark.jars.packages": "org.my:driver:1"}
    joined = assembled(home, table_format="delta", conf=conf)
    assert joined["spark.sql.extensions"].split(",")[1:] == ["my.Extension"]
    assert joined["spark.jars.packages"].split(",")[1:] == ["org.my:driver:1"]


def test_everything_is_in_the_directory_and_on_the_loopback(home: Home) -> None:
    plain = assembled(home)
    for key in ("spark.sql.warehouse.dir", "spark.local.dir", "spark.hadoop.hive.exec.scratchdir"):
        assert plain[key].startswith(str(home.root))
    assert str(home.root) in plain["spark.hadoop.javax.jdo.option.ConnectionURL"]
    assert not any("derby.system.home" in value for value in plain.values())
    assert plain["spark.driver.host"] == plain["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.host" not in assembled(home, master="spark://there:7077")


def test_ansi_is_on_except_in_sessions(home: Home) -> None:
    assert assembled(home)["spark.sql.ansi.enabled"] == "true"
    assert assembled(home, ansi=False)["spark.sql.ansi.enabled"] == "false"


def test_secrets_are_named_not_written(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CDC_METASTORE_PASSWORD", "hunter2")
    written = settings.properties(assembled(home, metastore_url="jdbc:postgresql://db/metastore"))
    assert "hunter2" not in written
    assert "ConnectionPassword=${env.SPARK_CDC_METASTORE_PASSWORD}\n" in written
    assert "ConnectionDriverName=org.postgresql.Driver\n" in written


def test_metastore_driver_is_fetched_unless_named(home: Home) -> None:
    def fetched(url: str | None, **conf: str) -> str | None:
        named = {key.replace("_", "."): value for key, value in conf.items()}
        return assembled(home, metastore_url=url, conf=named).get("spark.jars.packages")

    url = "jdbc:postgresql://db/metastore"
    pinned = fetched(url)
    assert pinned is not None
    assert pinned.startswith("org.postgresql:postgresql:")
    assert fetched(url, spark_jars_packages="org.my:jar:1") == f"{pinned},org.my:jar:1"
    own = "org.postgresql:postgresql:1"
    assert fetched(url, spark_jars_packages=own) == own
    assert fetched(url, spark_driver_extraClassPath="/jars/postgresql-1.jar") is None
    assert fetched(None) is None
    assert fetched("jdbc:mysql://db/metastore") is None


def test_executors_of_a_cluster_have_settings_of_their_own(home: Home) -> None:
    there = assembled(home, master="spark://there:7077")
    assert there["spark.pyspark.python"] == "python3"  # not the path of the driver's Python
    assert there["spark.executorEnv.TZ"] == "UTC"
    assert "spark.sql.shuffle.partitions" not in there
    assert "spark.pyspark.python" not in assembled(home)


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[*]", True), ("local-cluster[1,1,1]", False), ("yarn", False)],
)
def test_local_masters(master: str, local: bool) -> None:
    assert settings.is_local(master) == local


def test_driver_memory() -> None:
    gib = 1024**3
    assert [settings.driver_memory(n * gib) for n in (1, 4, 64)] == ["1024m", "2048m", "8192m"]


def test_properties_are_escaped() -> None:
    assert settings.properties({"a b": "c\\d=é\n"}) == "a\\ b=c\\\\d=é\\n\n"


def test_packages_are_pinned_to_the_spark() -> None:
    assert packages.package("parquet", "4.3.0") is None
    assert "spark-runtime-4.1_2.13:1.12.0" in str(packages.package("iceberg", "4.1.4"))
    with pytest.raises(Failure, match=r"Spark 4\.1 and 4\.2, and this is Spark 4\.3\.0"):
        packages.package("delta", "4.3.0")


def test_paths_of_jars() -> None:
    assert packages.paths("file:///a%20b/c.jar,file:/d.jar") == [Path("/a b/c.jar"), Path("/d.jar")]
    assert packages.paths("") == []


# The log


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", "it said nothing"),
        (
            "Invalid maximum heap size: -Xmxbogus\n"
            "Error: Could not create the Java Virtual Machine.\n"
            "Traceback (most recent call last):\n"
            '  File "driver.py", line 1, in <module>\n'
            "    raise PySparkRuntimeError(\n"
            "pyspark.PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java gateway process exited\n",
            "Invalid maximum heap size: -Xmxbogus",
        ),
        (
            "org.apache.ServiceException: Failed\n"
            "\tat org.apache.Service.start(Service.java:1)\n"
            "Caused by: java.net.BindException: Address already in use\n"
            "\t... 3 more\n"
            "Py4JJavaError: An error occurred\n",
            "java.net.BindException: Address already in use",
        ),
        (
            "py4j.protocol.Py4JJavaError: An error occurred\n"
            ': org.SparkException: aborted: Cannot run program "python9": error=2, No such file\n'
            'Caused by: java.io.IOException: Cannot run program "python9": error=2, No such file\n'
            "Caused by: java.io.IOException: error=2, No such file\n",
            'java.io.IOException: Cannot run program "python9": error=2, No such file',
        ),
        (
            "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python is 3.10\n"
            "Please check environment variables\n"
            "Caused by: org.apache.PythonException: Traceback (most recent call last):\n"
            '  File "worker.py", line 1, in main\n'
            "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python is 3.10\n",
            "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python is 3.10",
        ),
        (
            'Exception in thread "main" org.apache.spark.SparkException: Master must be one\n',
            "org.apache.spark.SparkException: Master must be one",
        ),
    ],
)
def test_telling_line(log: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(log)
    assert telling_line(tmp_path / "log") == line


# The directory


def test_directory_is_the_owners_only(home: Home) -> None:
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o750])
def test_directory_that_others_may_read_does(tmp_path: Path, mode: int) -> None:
    home = Home(tmp_path / "server")
    for made in (home.root, home.conf):
        made.mkdir()
        made.chmod(mode)
    home.create()


@pytest.mark.parametrize("mode", [0o775, 0o777, 0o1777])
@pytest.mark.parametrize("of", ["server", "server/conf"])
def test_directory_that_others_may_write_to_gets_one_line(
    of: str, mode: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path / "server")
    home.conf.mkdir(parents=True)
    (tmp_path / of).chmod(mode)
    assert server.main(["start", "--dir", str(home.root)]) == 1
    said = one_line(capsys.readouterr().err)
    assert f"others may write to {tmp_path / of}: chmod go-w" in said
    with pytest.raises(Failure, match="others may write to"):
        sessions.session(home.root)


def test_files_of_a_session_are_its_users_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(launch: Launch, output: int) -> None:
        launch.home.warehouse.mkdir()
        raise Failure("enough")

    monkeypatch.setattr(sessions, "start_session", start)
    before = os.umask(0o022)
    try:
        with pytest.raises(Failure, match="enough"):
            sessions.session(tmp_path / "session")
        assert os.umask(before) == 0o022
    finally:
        os.umask(before)
    made = Home(tmp_path / "session").warehouse
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_dbt_session_takes_directory_and_format_from_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(launch: Launch, output: int) -> None:
        extensions = launch.settings["spark.sql.extensions"]
        raise Failure(f"{launch.home.root} has {extensions}")

    monkeypatch.setattr(sessions, "with_jars", lambda launch, output: launch)
    monkeypatch.setattr(sessions, "start_session", start)
    monkeypatch.setenv("SPARK_CDC_DIR", str(tmp_path / "session"))
    monkeypatch.setenv("SPARK_CDC_FORMAT", "delta")
    assert dbt_session.main([]) == 2
    said = one_line(capsys.readouterr().err)
    assert said.endswith(f"{tmp_path / 'session'} has io.delta.sql.DeltaSparkSessionExtension")
    monkeypatch.setenv("SPARK_CDC_FORMAT", "csv")
    assert dbt_session.main([]) == 2
    said = one_line(capsys.readouterr().err)
    assert "'csv' is not a table format: give parquet, iceberg, delta" in said


def test_directory_of_another_user_gets_one_line(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files could name any process of this user as the server."""
    monkeypatch.setattr(os, "geteuid", lambda: home.root.stat().st_uid + 1)
    for command in ("start", "status", "stop"):
        assert server.main([command, "--dir", str(home.root)]) == 1
        assert f"{home.root} belongs to another user" in one_line(capsys.readouterr().err)


def test_stale_state_is_cleared_and_its_number_left_alone(
    home: Home, other: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    home.write(some_server(other.pid))
    home.log.touch()
    assert server.main(["status", "--dir", str(home.root)]) == stopping.NOT_RUNNING
    said = one_line(capsys.readouterr().out)
    assert f"pid {other.pid} ended without being stopped" in said
    assert f"log: {home.log}" in said
    assert server.main(["stop", "--dir", str(home.root)]) == 0
    os.close(directory.own(home))
    assert home.read() is None
    assert other.poll() is None


def test_half_a_state_is_ignored(home: Home) -> None:
    home.state.write_text('{"pid": 1')
    assert home.read() is None
    home.state.write_text(json.dumps({"pid": 1}))
    assert home.read() is None


def test_owned_directory_is_refused(home: Home, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(Failure, match="is in use"):
        directory.own(home)
    home.write(some_server(holder.pid))
    with pytest.raises(Failure, match=rf"pid {holder.pid} on 127\.0\.0\.1:\d+ already runs"):
        directory.own(home)


def test_silent_server_is_not_answering(
    home: Home, holder: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    home.log.touch()
    home.write(some_server(holder.pid))
    assert server.main(["status", "--dir", str(home.root)]) == stopping.NOT_ANSWERING
    said = one_line(capsys.readouterr().out)
    assert said.startswith(f"not answering: pid {holder.pid}")
    assert f"log: {home.log}" in said


def test_server_that_ignores_signals_is_killed(
    home: Home,
    holder: subprocess.Popen[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stopping, "STOP_SECONDS", 0.2)
    home.write(some_server(holder.pid))
    freeze(holder)
    assert server.main(["stop", "--dir", str(home.root)]) == 0
    assert one_line(capsys.readouterr().out).startswith(f"stopped: pid {holder.pid}")
    assert home.read() is None


def test_start_that_took_the_directory_is_not_an_old_server(
    home: Home,
    holder: subprocess.Popen[str],
    other: subprocess.Popen[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    home.write(some_server(other.pid))
    soon = threading.Timer(0.1, home.forget)
    soon.start()
    assert server.main(["stop", "--dir", str(home.root)]) == 1
    assert "is in use by a start or a session" in one_line(capsys.readouterr().err)
    soon.join()
    assert other.poll() is None


def test_server_started_after_the_one_that_stopped_is_left_alone(
    home: Home,
    holder: subprocess.Popen[str],
    other: subprocess.Popen[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped, started = some_server(other.pid), some_server(holder.pid)
    monkeypatch.setattr(os, "kill", lambda pid, number: home.write(started))
    monkeypatch.setattr(stopping, "STOP_SECONDS", 0.2)
    home.write(stopped)
    assert server.main(["stop", "--dir", str(home.root)]) == 0
    assert one_line(capsys.readouterr().out).startswith(f"stopped: pid {other.pid}")
    assert home.read() == started
    assert (other.poll(), holder.poll()) == (None, None)


@pytest.mark.parametrize("ended", [True, False])
def test_group_that_may_not_be_signalled(
    home: Home,
    holder: subprocess.Popen[str],
    ended: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """macOS says this for another user's group, and for one whose processes have just ended."""

    def forbid(pid: int, number: int) -> None:
        if ended:
            holder.kill()
            holder.wait()
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(stopping, "STOP_SECONDS", 0.2)
    monkeypatch.setattr(os, "killpg", forbid)
    home.write(some_server(holder.pid))
    freeze(holder)
    assert server.main(["stop", "--dir", str(home.root)]) == (0 if ended else 1)
    said = capsys.readouterr()
    if ended:
        assert one_line(said.out).startswith(f"stopped: pid {holder.pid}")
    else:
        assert f"pid {holder.pid} belongs to another user" in one_line(said.err)


def test_asking_does_not_lock(home: Home) -> None:
    assert not directory.held(home.lock)
    with home.lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert not directory.held(home.lock)
    os.close(directory.own(home))


# A real server: two JVMs, the second after the first was killed. Of the other servers one dies
# before it has a heap, one before it has a session, and two have no JVM.


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A server, of two that were started at once in one directory."""
    home = Home(tmp_path_factory.mktemp("a directory") / "server")  # with a blank in its name
    starts = [
        begin("start", "--dir", str(home.root), "--port", str(free_port()), *SMALL)
        for _ in range(2)
    ]
    try:
        ended = [(start.communicate(), start.returncode) for start in starts]
        assert sorted(code for _, code in ended) == [0, 1], ended
        loser = next(said for said, code in ended if code == 1)
        assert str(home.root) in one_line(loser[1])
        yield home
    finally:
        last = home.read()
        run("stop", "--dir", str(home.root))
        if last is not None and directory.held(home.lock):
            os.killpg(last.pid, signal.SIGKILL)


def state(home: Home) -> Server:
    server = home.read()
    assert server is not None
    return server


@pytest.mark.server
def test_server_answers_with_its_functions(running: Home) -> None:
    assert query(running, "select 1") == [(1,)]
    assert query(running, "select spark_cdc_version()") == [(__version__,)]


@pytest.mark.server
@pytest.mark.parametrize("password", ["-", "x" * 43, "\N{DIGIT ONE}é"])
def test_without_the_token_there_is_no_answer(running: Home, password: str) -> None:
    assert stat.S_IMODE(running.token.stat().st_mode) == 0o600
    with pytest.raises(TTransportException, match="Error validating the login"):
        connect(running, password)


@pytest.mark.server
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_this_machine_gets_no_answer(running: Home) -> None:
    """He can neither read the token nor log in without it."""
    port = state(running).port
    child = os.fork()
    if child == 0:  # it has loaded what it needs, and another user may not read this Python
        status = 9
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with contextlib.suppress(PermissionError):
                running.token.read_text()
                os._exit(1)
            for password in ("-", "x" * 43):
                with contextlib.suppress(TTransportException):
                    hive.connect(
                        *("127.0.0.1", port), username="o", auth="CUSTOM", password=password
                    )
                    os._exit(2)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.server
def test_a_shell_gets_address_and_token(running: Home) -> None:
    said = run("env", "--dir", str(running.root)).stdout
    names = "$SPARK_CDC_HOST $SPARK_CDC_PORT $DBT_ENV_SECRET_SPARK_CDC_TOKEN"
    shell = ["bash", "-euc", f"{said}\necho {names}"]
    words = subprocess.run(shell, capture_output=True, text=True, check=True).stdout.split()
    server = state(running)
    assert words == [server.host, str(server.port), access.login(running, server).password]


@pytest.mark.server
def test_each_connection_has_a_session_of_its_own(running: Home) -> None:
    """All have the functions, permanent views call them, and rows of others are seen at once."""
    with (
        contextlib.closing(connect(running)) as one,
        contextlib.closing(connect(running)) as other,
        contextlib.closing(one.cursor()) as first,
        contextlib.closing(other.cursor()) as second,
    ):

        def rows(statement: str) -> list[tuple[Any, ...]]:
            second.execute(statement)
            return list(second.fetchall())

        first.execute("set spark.sql.session.timeZone=America/New_York")
        first.execute("create temporary view mine as select 1")
        assert rows("select current_timezone()") == [("UTC",)]
        with pytest.raises(hive.OperationalError, match="TABLE_OR_VIEW_NOT_FOUND"):
            rows("select * from mine")
        first.execute("create view version as select spark_cdc_version() as v")
        assert rows("select v from version") == [(__version__,)]
        first.execute("create table shared using parquet as select 1 as n")
        assert rows("select n from shared") == [(1,)]
        for change, found in (
            ("insert into shared select 2", [(1,), (2,)]),
            ("insert overwrite shared select 3", [(3,)]),
            ("drop table shared", None),
            ("create table shared using parquet as select 4 as m, 5 as n", [(5,)]),
        ):
            first.execute(change)
            if found is not None:
                assert rows("select n from shared order by n") == found


@pytest.mark.server
def test_server_has_its_settings(running: Home) -> None:
    for key, value in {
        "spark.driver.memory": "1g",
        "spark.master": "local[2]",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.variable.substitute": "false",
    }.items():
        assert query(running, f"set {key}") == [(key, value)]


@pytest.mark.server
def test_memory_reaches_the_jvm(running: Home) -> None:
    assert any(" -Xmx1g " in line for line in group(state(running).pid))


@pytest.mark.server
def test_hive_does_not_register_its_functions(running: Home) -> None:
    # What a session's close asks of Hive, on a thread without a connection to the metastore. A
    # close does that only in a race with another session; a task is always on such a thread.
    statement = "select reflect('org.apache.hadoop.hive.ql.metadata.Hive', 'get')"
    [(made,)] = query(running, statement)
    assert made.startswith("org.apache.hadoop.hive.ql.metadata.Hive@")


@pytest.mark.server
def test_status_of_a_running_server(running: Home) -> None:
    status = run("status", "--dir", str(running.root))
    server = state(running)
    assert status.returncode == 0
    assert one_line(status.stdout) == (
        f"running: pid {server.pid} on 127.0.0.1:{server.port}, version {__version__}, parquet; "
        f"log: {running.log}"
    )


@pytest.mark.server
def test_another_server_does_not_pass_for_this_one(running: Home, home: Home) -> None:
    other = Server(**{**vars(state(running)), "instance": "another"})
    with pytest.raises(client.NoAnswer, match="another server answers"):
        client.check(other, access.login(running, other))


@pytest.mark.server
def test_second_start_is_refused(running: Home) -> None:
    second = run("start", "--dir", str(running.root), "--port", str(free_port()))
    assert second.returncode == 1
    server = state(running)
    assert f"pid {server.pid} on 127.0.0.1:{server.port} already runs" in one_line(second.stderr)


@pytest.mark.server
def test_only_the_loopback_listens(running: Home) -> None:
    port = state(running).port
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


@pytest.mark.server
def test_killed_server_starts_again_with_its_data(running: Home) -> None:
    killed = state(running)
    query(running, "create table kept using parquet as select 42 as answer")
    os.kill(killed.pid, signal.SIGKILL)  # the driver only: its JVM must not be in the way
    again = run("start", "--dir", str(running.root), "--port", str(killed.port), *SMALL)
    assert again.returncode == 0, again.stderr
    assert state(running).pid != killed.pid
    assert query(running, "select answer from kept") == [(42,)]
    assert running.log.with_name("spark.log.1").exists()


@pytest.mark.server
def test_stop_leaves_nothing(running: Home) -> None:
    pid = state(running).pid
    stopped = run("stop", "--dir", str(running.root))
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert one_line(stopped.stdout).startswith(f"stopped: pid {pid}")
    assert_ended(pid, running)
    status = run("status", "--dir", str(running.root))
    assert status.returncode == stopping.NOT_RUNNING
    assert f"log: {running.log}" in one_line(status.stdout)
    assert run("stop", "--dir", str(running.root)).returncode == 0


@pytest.mark.server
def test_a_password_and_tls_of_the_users_own(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As docs/spark.md shows it; dbt connects with `use_ssl`."""
    password = "a password of my own"
    monkeypatch.setenv(access.PASSWORD, password)
    keys = home.root / "keys.p12"
    make_key = [str(java(dict(os.environ)) / "bin" / "keytool"), "-genkeypair", "-alias", "server"]
    make_key += ["-keyalg", "RSA", "-dname", "CN=localhost", "-storepass", "changeit"]
    subprocess.run([*make_key, "-keystore", str(keys)], check=True, capture_output=True)
    tls = {"use.SSL": "true", "keystore.path": str(keys), "keystore.password": "changeit"}
    options = [f"spark.hadoop.hive.server2.{name}={value}" for name, value in tls.items()]
    conf = [word for one in options for word in ("--conf", one)]
    port = free_port()
    started = run("start", "--dir", str(home.root), "--port", str(port), *SMALL, *conf)
    assert started.returncode == 0, started.stderr
    try:
        assert run("status", "--dir", str(home.root)).returncode == 0
        for given, is_in in ((password, True), (password[:-1], False)):
            transport = build_ssl_transport("127.0.0.1", port, "me", "CUSTOM", "", given)
            if is_in:
                hive.connect(thrift_transport=transport).close()
            else:
                with pytest.raises(TTransportException, match="Error validating the login"):
                    hive.connect(thrift_transport=transport)
    finally:
        run("stop", "--dir", str(home.root))


@pytest.mark.parametrize("password", ["x" * 11, "a password with ü"])
def test_a_password_that_cannot_be_is_refused(
    password: str, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(access.PASSWORD, password)
    assert server.main(["start", "--dir", str(home.root), "--port", str(free_port())]) == 1
    said = "DBT_ENV_SECRET_SPARK_CDC_TOKEN is no text of at least 12 printable ASCII characters"
    assert said in one_line(capsys.readouterr().err)


@pytest.mark.server
@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ("spark.driver.memory=bogus", "Invalid maximum heap size: -Xmxbogus"),
        # PySpark itself would hang at this one.
        ("spark.sql.shuffle.partitions=many", "spark.sql.shuffle.partitions=many is not a valid"),
    ],
)
def test_driver_that_dies_gets_one_line(conf: str, words: str, tmp_path: Path) -> None:
    home = Home(tmp_path / "server")
    port = str(free_port())
    start = run("start", "--dir", str(home.root), "--port", port, *SMALL, "--conf", conf)
    assert start.returncode == 1
    said = one_line(start.stderr)
    assert said.startswith("spark-cdc-server: the server died while it started: ")
    assert words in said
    assert said.endswith(f"; log: {home.log}")
    assert home.read() is None
    assert not directory.held(home.lock)


def starting_java(folder: Path, traps: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a Java be found that starts and hangs; return the file that it makes before that."""
    program = fake_java(folder / "java", "17")
    with program.open("a") as script:
        script.write(
            'case "$*" in *-XshowSettings*) exit ;; esac\n'
            f"trap '' {traps}\n"
            f"sleep 300 &\ntouch '{folder}/begun'\nwait\nsleep 300\n"
        )
    monkeypatch.setenv("JAVA_HOME", str(folder / "java"))
    return folder / "begun"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_start_leaves_no_process(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ignores signals, and has started a process of its own."""
    java = starting_java(tmp_path, "TERM INT HUP", monkeypatch)
    home = Home(tmp_path / "server")
    # A shell that runs the tests in the background makes them ignore SIGINT, and this process too.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    start = begin("start", "--dir", str(home.root), "--port", str(free_port()), *SMALL)
    signal.signal(signal.SIGINT, ignored)
    assert directory.wait_for(java.exists, 60)
    pid = state(home).pid
    assert {"sleep 300"} < set(group(pid))
    start.send_signal(number)
    _, said = start.communicate(timeout=30)
    assert start.returncode == 128 + number
    assert one_line(said) == "spark-cdc-server: interrupted: no server was started"
    assert_ended(pid, home)
    assert home.read() is None


@pytest.mark.parametrize("traps", ["INT", "TERM INT"])
def test_driver_that_is_stopped_while_it_starts_leaves_no_process(
    tmp_path: Path, traps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start that waited for it was killed, and its Java does not end with it."""
    java = starting_java(tmp_path, traps, monkeypatch)
    home = Home(tmp_path / "server")
    start = begin("start", "--dir", str(home.root), "--port", str(free_port()), *SMALL)
    assert directory.wait_for(java.exists, 60)
    start.kill()
    start.communicate()
    pid = state(home).pid
    os.kill(pid, signal.SIGTERM)
    assert directory.wait_for(lambda: not directory.held(home.lock), 10)
    if traps == "INT":
        assert directory.wait_for(lambda: not directory.held(home.log), 10)
    os.close(directory.own(home))
    assert_ended(pid, home)
    assert home.read() is None
