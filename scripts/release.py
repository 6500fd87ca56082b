"""Makes a release: `make release VERSION=x.y.z`.

Sets the version of both packages, dates the section of the changelog, commits and tags. It refuses
unless everything was tested: `make test-all` writes the hash of the commit that is green.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]

GREEN = ".spark-cdc-test-all"
CHANGELOG = "CHANGELOG.md"
# The version, of the dbt package and of the Python package (its pyproject.toml reads it).
VERSIONS: Mapping[str, str] = {
    "dbt_project.yml": r"^(version: )(\S+)$",
    "python_udfs/spark_cdc_udfs/version.py": r'^(__version__ = ")([^"]+)(?=")',
}
UNRELEASED = re.compile(
    r"^## (\[Unreleased\]|\[\d+\.\d+\.\d+\] - Unreleased)\n(.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)


class Refusal(Exception):
    """The reason why there is no release."""


def git(root: Path, *arguments: str) -> str:
    """Run git and give what it prints."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def parts(version: str) -> tuple[int, ...]:
    """Split a version, so that versions compare."""
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        raise Refusal(f"the version is '{version}': give three numbers, make release VERSION=1.2.0")
    return tuple(map(int, version.split(".")))


def check(root: Path, version: str) -> None:
    """Refuse unless the version can be released from this commit."""
    wanted = parts(version)
    for path, pattern in VERSIONS.items():
        found = re.search(pattern, (root / path).read_text(encoding="utf-8"), re.MULTILINE)
        if not found:
            raise Refusal(f"{path} has no version")
        if parts(found[2]) > wanted:
            raise Refusal(f"{path} has the version {found[2]}, which is above {version}")
    if git(root, "tag", "--list", f"v{version}"):
        raise Refusal(f"there is a tag v{version}: give another version")
    if (branch := git(root, "rev-parse", "--abbrev-ref", "HEAD")) != "main":
        raise Refusal(f"the branch is {branch}: release from main")
    if git(root, "status", "--porcelain"):
        raise Refusal("the tree is not clean: commit or remove what git status shows")
    green = root / GREEN
    if not green.exists() or green.read_text().strip() != git(root, "rev-parse", "HEAD"):
        raise Refusal("make test-all was not green on this commit: run it first")
    sections = UNRELEASED.findall((root / CHANGELOG).read_text(encoding="utf-8"))
    if len(sections) != 1 or not re.search(r"^- ", sections[0][1], re.MULTILINE):
        raise Refusal(
            f"{CHANGELOG} needs one section with entries that begins with"
            f" '## [Unreleased]' or '## [{version}] - Unreleased'"
        )


def release(root: Path, version: str, day: datetime.date) -> None:
    """Check, write the version and the date, commit and tag."""
    check(root, version)
    for path, pattern in VERSIONS.items():
        text = (root / path).read_text(encoding="utf-8")
        text = re.sub(pattern, rf"\g<1>{version}", text, count=1, flags=re.MULTILINE)
        (root / path).write_text(text, encoding="utf-8")
    text = (root / CHANGELOG).read_text(encoding="utf-8")
    text = UNRELEASED.sub(lambda found: f"## [{version}] - {day}\n{found[2]}", text, count=1)
    (root / CHANGELOG).write_text(text, encoding="utf-8")
    git(root, "commit", "--quiet", "-m", f"Release {version}", "--", *VERSIONS, CHANGELOG)
    git(root, "tag", "--annotate", "-m", f"Version {version}", f"v{version}")


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Release, and return the exit code."""
    version = arguments[0] if len(arguments) == 1 else ""
    try:
        release(root, version, datetime.datetime.now(datetime.timezone.utc).date())
    except Refusal as refusal:
        print(f"no release: {refusal}", file=sys.stderr)
        return 1
    print(f"released {version}; to publish it: git push --follow-tags")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
