"""Names that would make dbt stop, or that would replace a table of the landing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.generate.files import REMOVE, Change, inside

EXAMPLE = "give the source a prefix, for example: prefix: crm_"
# The demo of this package, where dbt installs packages.
DEMO = "dbt_packages/spark_cdc/models"


def check_names(
    project: Path,
    folders: Iterable[str],
    wanted: Mapping[PurePosixPath, str],
    changes: Iterable[Change],
) -> None:
    """Raise Failure if a model has the name of another model of the project, or of the demo."""
    names = {path.stem.lower(): path for path in wanted if path.suffix == ".sql"}
    gone = {change.path for change in changes if change.what == REMOVE}
    for path in model_files(project, folders):
        there = names.get(path.stem.lower())
        if there is not None and path not in gone and path not in wanted:
            raise Failure(f"two models are named {path.stem}: {path} and {there}; {EXAMPLE}")
    for demo in (project / DEMO).rglob("*.sql"):
        there = names.get(demo.stem.lower())
        if there is not None:
            raise Failure(
                f"{there} has the name of a model in the demo of spark_cdc, which has a"
                f" description: dbt stops, although the demo is disabled; {EXAMPLE}"
            )


def model_files(project: Path, folders: Iterable[str]) -> Iterator[PurePosixPath]:
    """Give the models of a project."""
    for folder in inside(project, folders):
        for path in (project / folder).rglob("*"):
            if path.suffix in (".sql", ".py"):
                yield PurePosixPath(path.relative_to(project).as_posix())


def check_landing(models: Iterable[str], tables: Iterable[str], schema: str, target: str) -> None:
    """Raise Failure if a model would replace a table of the landing."""
    if schema.replace("`", "").lower() != target.replace("`", "").lower():
        return
    there = {table.lower(): table for table in tables}
    both = sorted(name for name in models if name.lower() in there)
    if both:
        raise Failure(
            f"the model {both[0]} would replace the table {there[both[0].lower()]} of the landing:"
            f" both are in the schema {schema}; give the profile another schema, or {EXAMPLE}"
        )
