"""`make release` in a repository of its own: the changes that it makes, and its refusals."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kit.warehouse import ROOT

from scripts import release
from scripts.release import git

CHANGES = """\
# Changelog

## [Unreleased]

### Added

- A thing.

## [0.1.0] - 2026-01-01

- The first.
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which everything is ready for a release."""
    for person in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{person}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{person}_EMAIL", "somebody@example.org")
    for path in (*release.VERSIONS, ".gitignore", release.CHANGELOG):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text((ROOT / path).read_text(encoding="utf-8"))
    (tmp_path / release.CHANGELOG).write_text(CHANGES)
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "-m", "All")
    is_green(tmp_path)
    return tmp_path


def is_green(repository: Path) -> None:
    (repository / release.GREEN).write_text(git(repository, "rev-parse", "HEAD") + "\n")


def commit(repository: Path, path: str, text: str) -> None:
    """Commit a change, and test it."""
    (repository / path).write_text(text)
    git(repository, "commit", "--quiet", "--all", "-m", "Another")
    is_green(repository)


@pytest.mark.parametrize("heading", ["[Unreleased]", "[0.2.0] - Unreleased"])
def test_one_commit_and_one_tag(repository: Path, heading: str) -> None:
    commit(repository, release.CHANGELOG, CHANGES.replace("[Unreleased]", heading) + "\n")
    before = git(repository, "rev-parse", "HEAD")
    assert release.main(["0.2.0"], repository) == 0
    assert git(repository, "rev-parse", "HEAD~1") == before
    assert git(repository, "rev-parse", "v0.2.0^{commit}") == git(repository, "rev-parse", "HEAD")
    assert not git(repository, "status", "--porcelain")
    changed = git(repository, "diff", "--name-only", "HEAD~1").split()
    assert set(changed) == {*release.VERSIONS, release.CHANGELOG}
    assert "\nversion: 0.2.0\n" in (repository / "dbt_project.yml").read_text()
    module = repository / "python_udfs/spark_cdc_udfs/version.py"
    assert module.read_text().endswith('\n__version__ = "0.2.0"\n')
    today = datetime.datetime.now(datetime.timezone.utc).date()
    text = (repository / release.CHANGELOG).read_text()
    assert f"## [0.2.0] - {today}\n\n### Added\n\n- A thing.\n" in text
    assert "Unreleased" not in text
    assert "## [0.1.0] - 2026-01-01\n\n- The first.\n" in text
    # the section is released now, and the new commit is not tested
    assert release.main(["0.3.0"], repository) == 1


def on_a_branch(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "other")


def with_a_new_file(repository: Path) -> None:
    (repository / "new").touch()


def with_an_edit(repository: Path) -> None:
    (repository / release.CHANGELOG).write_text(CHANGES + "more\n")


def untested(repository: Path) -> None:
    (repository / release.GREEN).unlink()


def tested_before(repository: Path) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "Later")


def without_a_section(repository: Path) -> None:
    commit(repository, release.CHANGELOG, CHANGES.replace("[Unreleased]", "[0.0.9] - 2025-01-01"))


def with_an_empty_section(repository: Path) -> None:
    commit(repository, release.CHANGELOG, CHANGES.replace("- A thing.\n", ""))


def with_the_tag(repository: Path) -> None:
    git(repository, "tag", "v0.2.0")


def with_a_higher_version(repository: Path) -> None:
    commit(repository, "dbt_project.yml", "name: spark_cdc\nversion: 0.3.0\n")


REFUSALS: dict[Callable[[Path], None], str] = {
    on_a_branch: "the branch is other",
    with_a_new_file: "the tree is not clean",
    with_an_edit: "the tree is not clean",
    untested: "make test-all was not green",
    tested_before: "make test-all was not green",
    without_a_section: "needs one section with entries",
    with_an_empty_section: "needs one section with entries",
    with_the_tag: "there is a tag v0.2.0",
    with_a_higher_version: "which is above 0.2.0",
}


@pytest.mark.parametrize("change", REFUSALS, ids=lambda change: getattr(change, "__name__", ""))
def test_refusals(
    repository: Path, change: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    change(repository)
    before = git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain")
    assert release.main(["0.2.0"], repository) == 1
    assert REFUSALS[change] in capsys.readouterr().err
    assert before == (
        git(repository, "rev-parse", "HEAD"),
        git(repository, "status", "--porcelain"),
    )


@pytest.mark.parametrize("arguments", [[], ["1.0"], ["v1.0.0"], ["1.0.0rc1"], ["01.0.0"]])
def test_invalid_versions_are_refused(repository: Path, arguments: list[str]) -> None:
    assert release.main(arguments, repository) == 1
    assert not git(repository, "tag", "--list")


def test_users_get_the_versions_of_the_lock() -> None:
    """`make lock` writes both files."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = re.findall(r"^([a-z0-9._-]+)(?:\[.*?\])?(==[^\\\n]*[^\\\n ])", lock, re.MULTILINE)
    constraints = (ROOT / "python_udfs" / "constraints.txt").read_text(encoding="utf-8")
    assert pinned and constraints.splitlines() == ["".join(one) for one in pinned]
