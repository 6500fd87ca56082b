"""Start this package's own modules as processes, each with all that it starts in one group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from spark_cdc_udfs.server.directory import signal_group

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def child(
    module: str,
    arguments: Sequence[str],
    text: str,
    directory: Path,
    output: int,
    keep: Sequence[int] = (),
) -> Iterator[subprocess.Popen[str]]:
    """Start `python -m MODULE ARGUMENTS` in a session of its own, so that no terminal ends it.

    Not in the user's working directory, whose files Python would take for modules.

    When the block raises (an error, Ctrl-C), the process and its whole group are killed; otherwise
    it is left alone. `text` is its standard input, `output` the descriptor of its standard output
    and error, `keep` the descriptors that it inherits. Its first act must be `unblock_signals`.
    """
    # Blocked, so that no signal arrives between the start of the process and our knowledge of it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    process = None
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=directory,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            pass_fds=keep,
            start_new_session=True,
            text=True,
        )
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        # If it died at once, its output says why.
        with contextlib.suppress(BrokenPipeError), cast(IO[str], process.stdin) as stdin:
            stdin.write(text)
        yield process
    except BaseException:
        if process is not None:
            signal_group(process.pid, signal.SIGKILL, lambda: process.poll() is None)
            process.wait()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _environment() -> dict[str, str]:
    """Return this process's environment, good for another working directory."""
    environment = dict(os.environ)
    if path := environment.get("PYTHONPATH"):
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, path.split(os.pathsep)))
    return environment


def unblock_signals() -> None:
    """Let the signals through that were blocked when this process was started."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
