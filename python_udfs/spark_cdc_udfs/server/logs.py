"""Find in a log the reason why a process died; say what is done."""

from __future__ import annotations

import re
from pathlib import Path

FRAME = re.compile(r"\s+|.*Traceback \(most recent|Nested Throwables|at [\w.$/]+\(")
EXCEPTION = re.compile(r"(?:[\w$]+\.)*[\w$]*(?:Exception|Error): .+")
# The lines of the JVM and of Python after the reason.
CONSEQUENCE = re.compile(
    r"JAVA_GATEWAY_EXITED|Could not create the Java Virtual Machine|A fatal exception has occurred"
    r"|Py4JNetworkError|the JVM ended by itself"
)


def telling_line(log: Path) -> str:
    """Return the line of a log that tells best why the process died.

    That is the innermost reason ("Caused by") of the last exception, completed by an outer one that
    repeats it. Without a reason it is the last exception, and without one the last line outside of
    a stack trace.
    """
    lines = [
        line.strip()
        for line in log.read_text(errors="replace").splitlines()
        if line.strip() and not FRAME.match(line) and not CONSEQUENCE.search(line)
    ]
    reasons = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    errors = [match[0] for line in lines if (match := EXCEPTION.search(line))]
    told = [fullest(found) for found in (reasons, errors, lines) if found]
    return told[0][:400] if told else "it said nothing"


def fullest(reasons: list[str]) -> str:
    """Return the last of some reasons, or the one before it that has its words and more.

    Java wraps the reason in what it could not do: `Cannot run program "x": error=2, No such file`.
    """
    told = reasons[-1]
    for reason in reversed(reasons[:-1]):
        words = told.partition(": ")[2]
        if not words or words not in reason:
            break
        told = reason
    return told


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)
