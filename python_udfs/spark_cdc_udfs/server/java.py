"""Find a Java that this Spark runs on."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from spark_cdc_udfs.errors import Failure

OLDEST = 17

# Where Debian, and on macOS Oracle, Temurin and Homebrew, put their Javas.
USUAL_PLACES = (
    "/usr/lib/jvm/*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/usr/local/opt/openjdk*/bin/java",
)
MACOS_JAVA_HOME = Path("/usr/libexec/java_home")

INSTALL = (
    "install one (Debian, Ubuntu: apt-get install openjdk-21-jre-headless or "
    "openjdk-17-jre-headless; macOS: brew install openjdk@21) or set JAVA_HOME"
)


@dataclass(frozen=True)
class Java:
    """An installed Java: its home directory and its feature version (17, 21, ...)."""

    home: Path
    version: int


def inspect(java: Path) -> Java | None:
    """Ask the program `java` for its home and version; None if it does not answer as Java does.

    The path is not enough: /usr/bin/java is a link on Debian and a stub on macOS.
    """
    command = [str(java), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    home = re.search(r"^\s*java\.home = (.+?)\s*$", answer.stderr, re.M)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", answer.stderr, re.M)
    if answer.returncode != 0 or home is None or version is None:
        return None
    return Java(Path(home[1]), int(version[1]))


def _candidates(
    environ: Mapping[str, str], places: Sequence[str], macos_java_home: Path
) -> Iterator[tuple[str, Path]]:
    """Yield a name for each place that may have a Java, and its program, in order."""
    if environ.get("JAVA_HOME"):
        yield f"JAVA_HOME={environ['JAVA_HOME']}", Path(environ["JAVA_HOME"], "bin", "java")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield on_path, Path(on_path)
    if macos_java_home.exists():
        command = [str(macos_java_home), "-v", f"{OLDEST}+"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            yield answer.stdout.strip(), Path(answer.stdout.strip(), "bin", "java")
    for pattern in places:
        for java in sorted(Path("/").glob(pattern.lstrip("/"))):
            yield str(java), java


def newest(spark: str) -> int | None:
    """Return the newest Java that a version of Spark runs on; None if there is no limit.

    The Hadoop of Spark 4.0 and 4.1 asks Java for the user in a way that Java 24 and later refuse.
    Java 23 refuses it too, unless a setting allows it (JEP 486, HADOOP-19212).
    """
    return 22 if spark.startswith(("4.0.", "4.1.")) else None


def find_java(
    environ: Mapping[str, str],
    places: Sequence[str] = USUAL_PLACES,
    macos_java_home: Path = MACOS_JAVA_HOME,
) -> Java:
    """Return the first suitable Java: JAVA_HOME, `java` on PATH, the usual places.

    Raises Failure, naming the Javas that were seen, if the installed Spark runs on none of them.
    """
    spark = metadata.version("pyspark")
    limit = newest(spark)
    seen = []
    for name, program in _candidates(environ, places, macos_java_home):
        java = inspect(program)
        if java is not None and OLDEST <= java.version <= (limit or java.version):
            return java
        seen.append(f"{name} is {f'Java {java.version}' if java else 'no Java that runs'}")
    accepted = f"{OLDEST} to {limit}" if limit else f"{OLDEST} or newer"
    found = f" ({'; '.join(seen)})" if seen else ""
    raise Failure(f"no Java {accepted}, which Spark {spark} needs, found{found}: {INSTALL}")
