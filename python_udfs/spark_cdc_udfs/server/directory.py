"""The directory of one server: its files, its owner, and its processes.

Two locks (`flock`) show which processes are alive; a process id alone is never trusted:

- `server.lock` is held by `start`. The driver, a Python process, inherits it for its whole life.
  While it is held, the directory is in use.
- `spark.log` is locked too; it is the standard output and error of the driver and of its JVM. If
  only this lock is held, it belongs to a JVM whose driver was killed.

The kernel drops a lock with the last process that has it open, however that process ended. So a
state file whose lock is free is stale, whatever process has its number today. While one of the
locks is held, the number in `server.json` cannot belong to another process: it is the process group
of the processes that hold the lock. There is one exception. A start may have taken the lock, and
not yet removed the files of the last server. `stop` waits for longer than this takes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spark_cdc_udfs.errors import Failure


@dataclass(frozen=True)
class Server:
    """The facts of a server that runs, or ran, in a directory."""

    pid: int  # of the driver, and its process group
    host: str
    port: int
    version: str
    format: str
    instance: str  # a random name, by which a client recognises this server
    has_token: bool = False  # whether clients give the token of the directory
    is_tls: bool = False  # whether connections are encrypted

    @property
    def address(self) -> str:
        """Host and port in one word."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Home:
    """The directory of a server, and the names in it."""

    root: Path

    @property
    def lock(self) -> Path:
        """Locked as long as a start or a server owns the directory."""
        return self.root / "server.lock"

    @property
    def state(self) -> Path:
        """The `Server` as JSON."""
        return self.root / "server.json"

    @property
    def token(self) -> Path:
        """What clients give as the password."""
        return self.root / "token"

    @property
    def log(self) -> Path:
        """What the driver and its JVM print."""
        return self.root / "spark.log"

    @property
    def conf(self) -> Path:
        """Spark's configuration directory."""
        return self.root / "conf"

    @property
    def warehouse(self) -> Path:
        """The tables."""
        return self.root / "warehouse"

    @property
    def metastore(self) -> Path:
        """The embedded Derby database with the names and types of the tables."""
        return self.root / "metastore"

    @property
    def tmp(self) -> Path:
        """Shuffle files and other files that are useless when the server is down."""
        return self.root / "tmp"

    @classmethod
    def at(cls, directory: str | os.PathLike[str]) -> Home:
        """Name the directory `directory`, relative to the working directory."""
        return cls(Path(os.path.abspath(Path(directory).expanduser())))

    def create(self) -> None:
        """Create the directory if it does not exist, readable only for its owner.

        Raises Failure if it cannot be created or written to. It also does if others could put files
        into it which this user would then run.
        """
        if ";" in str(self.root):
            raise Failure(f"Derby cannot use a directory with a ';' in its name: {self.root}")
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_private(self.root)
            if self.conf.exists():
                check_private(self.conf)
            os.close(os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise Failure(f"cannot write to {self.root}: {error.strerror}") from error

    def check(self) -> None:
        """Raise Failure if another user could have written what the files here say."""
        if self.root.is_dir():
            check_private(self.root)

    def read(self) -> Server | None:
        """Return the contents of `server.json`; None if it does not exist or is incomplete."""
        try:
            return Server(**json.loads(self.state.read_text()))
        except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
            return None

    def write(self, server: Server) -> None:
        """Write `server.json` in one step. The caller owns the directory."""
        draft = self.state.with_suffix(".new")
        draft.write_text(json.dumps(dataclasses.asdict(server)) + "\n")
        draft.replace(self.state)

    def forget(self) -> None:
        """Remove `server.json` and the token. The caller owns the directory."""
        self.state.unlink(missing_ok=True)
        self.token.unlink(missing_ok=True)

    def empty_tmp(self) -> None:
        """Remove the files of a killed server. The caller owns the directory."""
        shutil.rmtree(self.tmp, ignore_errors=True)
        self.tmp.mkdir(mode=0o700)


def check_private(directory: Path) -> None:
    """Raise Failure if another user owns `directory` or may write to it.

    Spark's scripts run files of the configuration directory (`spark-env.sh`).
    """
    found = directory.stat()
    if found.st_uid != os.geteuid():
        raise Failure(f"{directory} belongs to another user: choose another directory")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Failure(f"others may write to {directory}: chmod go-w '{directory}'")


def held(path: Path) -> bool:
    """Say whether a process holds the lock on `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Shared, so that two processes that ask do not see each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def take(path: Path, flags: int = 0, seconds: float = 0.5) -> int | None:
    """Lock `path` and return its descriptor; None if others hold it for `seconds`.

    The short wait is for processes that only ask (`held`).
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o600)

    def locked() -> bool:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    if wait_for(locked, seconds):
        return descriptor
    os.close(descriptor)
    return None


def own(home: Home) -> int:
    """Take the directory and return the lock's descriptor: it is owned while that is open.

    The remains of a killed server are removed: its number, its JVM, its temporary files. Raises
    Failure, naming the server, if another process owns the directory.
    """
    descriptor = take(home.lock)
    server = home.read()
    if descriptor is not None:
        try:
            home.forget()
            end_orphan(home, server)
            home.empty_tmp()
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
    if server is None:
        raise Failure(
            f"{home.root} is in use: a server is being started there, or a session runs; "
            f"log: {home.log}"
        )
    raise Failure(
        f"a server with pid {server.pid} on {server.address} already runs in {home.root}; "
        f"log: {home.log}"
    )


def open_log(home: Home) -> int:
    """Begin a new log, keep the last one as `spark.log.1`, and return the locked descriptor.

    The caller owns the directory.
    """
    with contextlib.suppress(FileNotFoundError):
        home.log.replace(home.log.with_name(f"{home.log.name}.1"))
    descriptor = take(home.log, os.O_APPEND)
    if descriptor is None:
        raise Failure(f"another process has locked {home.log}")
    return descriptor


def end_orphan(home: Home, server: Server | None) -> None:
    """Kill the JVM of `server`, the last one in `home`, if it outlived its driver.

    Raises Failure if it does not end.
    """
    if server is not None and held(home.log):
        signal_group(server.pid, signal.SIGKILL, lambda: held(home.log))
    if not wait_for(lambda: not held(home.log), 15):
        raise Failure(f"a process of the last server still has {home.log} open")


def signal_group(pid: int, number: signal.Signals, alive: Callable[[], bool]) -> None:
    """Send a signal to every process of the group `pid`; it is not an error if none is left.

    Raises Failure if they belong to another user. `alive` says whether a process is left. On macOS
    a signal is also forbidden if all have ended, and no parent has noticed yet.
    """
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError as error:
        if alive():
            raise Failure(f"pid {pid} belongs to another user") from error


def wait_for(condition: Callable[[], bool], seconds: float, pause: float = 0.05) -> bool:
    """Wait until `condition()` holds and return True; return False after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
    return True
