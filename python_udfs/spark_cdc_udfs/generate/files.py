"""The files of a project: which ones to write, and which ones a person has edited.

The first line of a generated file has a checksum of the rest. So every checkout knows an edit,
without a list of files elsewhere.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from spark_cdc_udfs.errors import Failure

SAID = "Made by `spark-cdc generate`; a file that was edited is kept. Checksum:"
COMMENTS = {".sql": ("{#- ", " -#}"), ".yml": ("# ", "")}
HEADER = re.compile(re.escape(SAID) + r" ([0-9a-f]{16})")

FILES = "*"  # as the last part of a path: the files of this folder, not those in folders of it

CREATE, UPDATE, REMOVE, KEEP = "create", "update", "remove", "keep"


@dataclass(frozen=True)
class Change:
    """What happens to a file: `what`, its text before and after (None: no file)."""

    path: PurePosixPath
    what: str
    before: str | None
    after: str | None
    why: str = ""

    def difference(self) -> str:
        """Show how the text would change, as `diff -u` does."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(),
            (self.after or "").splitlines(),
            f"{self.path}" if self.before is not None else "/dev/null",
            f"{self.path}, generated" if self.after is not None else "/dev/null",
            lineterm="",
        )
        return "\n".join(lines)


def checksum(body: str) -> str:
    """Give the checksum of a text; line endings do not count."""
    return hashlib.sha256(body.replace("\r\n", "\n").encode()).hexdigest()[:16]


def with_header(path: PurePosixPath, body: str) -> str:
    """Put the line with the checksum before a text."""
    before, after = COMMENTS[path.suffix]
    return f"{before}{SAID} {checksum(body)}{after}\n{body}"


def is_generated(text: str) -> bool:
    """Say whether a file was written by this command, and perhaps edited."""
    return HEADER.search(text.partition("\n")[0]) is not None


def is_edited(text: str) -> bool:
    """Say whether a person has changed a file, or has written it."""
    first, _, body = text.partition("\n")
    found = HEADER.search(first)
    return found is None or found[1] != checksum(body)


def read(path: Path) -> str | None:
    """Read a file; None if it does not exist. Raises Failure."""
    try:
        # universal newlines: a checkout may have others
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path} cannot be read: {error}") from error


def plan(
    project: Path,
    wanted: Mapping[PurePosixPath, str],
    folders: Iterable[str],
    protected: Iterable[PurePosixPath] = (),
) -> list[Change]:
    """Say what has to happen so that the project has the files `wanted`.

    `folders` are those in which files of gone tables are looked for. What is `protected` stays as
    it is, because it is not known what it should be: a folder, or the `FILES` of a folder.
    """
    changes = []
    for path, body in sorted(wanted.items()):
        before, after = read(project / path), with_header(path, body)
        if before is None:
            changes.append(Change(path, CREATE, None, after))
        elif before == after:
            continue
        elif not is_edited(before):
            changes.append(Change(path, UPDATE, before, after))
        else:
            why = "it was edited" if is_generated(before) else "it is a file of yours"
            changes.append(Change(path, KEEP, before, after, why))
    kept = set(protected)
    for path in sorted(generated_files(project, folders)):
        if path in wanted or kept & {path.parent / FILES, *path.parents}:
            continue
        before = read(project / path)
        if before is None or not is_generated(before):
            continue
        if is_edited(before):
            changes.append(Change(path, KEEP, before, None, "it was edited; its table is gone"))
        else:
            changes.append(Change(path, REMOVE, before, None))
    return changes


def generated_files(project: Path, folders: Iterable[str]) -> Iterator[PurePosixPath]:
    """Give the SQL and YAML files in the folders that have the first line of this command."""
    seen = set()
    for folder in inside(project, folders):
        for path in (project / folder).rglob("*"):
            if path.suffix in COMMENTS and path.is_file() and path not in seen:
                seen.add(path)
                with path.open(encoding="utf-8-sig", errors="replace") as file:
                    if HEADER.search(file.readline()):
                        yield PurePosixPath(path.relative_to(project).as_posix())


def inside(project: Path, folders: Iterable[str]) -> list[str]:
    """Leave out folders outside the project, which may belong to another one."""
    root = project.resolve()
    return [one for one in folders if (project / one).resolve().is_relative_to(root)]


def apply(project: Path, changes: Iterable[Change]) -> None:
    """Write and remove files. Raises Failure if that cannot be done."""
    for change in changes:
        path = project / change.path
        try:
            if change.what in (CREATE, UPDATE) and change.after is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                draft = path.with_name(f".{path.name}.new")
                draft.write_text(change.after, encoding="utf-8", newline="\n")
                draft.replace(path)
            elif change.what == REMOVE:
                path.unlink()
                remove_empty(project, path.parent)
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror}") from error


def remove_empty(project: Path, folder: Path) -> None:
    """Remove a folder that is empty, and those around it."""
    while folder != project and folder.is_relative_to(project) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
