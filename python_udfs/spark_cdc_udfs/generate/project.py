"""All files of a project, from its `spark_cdc.yml` and the lake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.generate.clashes import check_landing
from spark_cdc_udfs.generate.config import Config
from spark_cdc_udfs.generate.earlier import earlier_tables
from spark_cdc_udfs.generate.files import FILES, inside
from spark_cdc_udfs.generate.finding import find
from spark_cdc_udfs.generate.known_keys import KnownKeys
from spark_cdc_udfs.generate.lake import Columns
from spark_cdc_udfs.generate.models import sql_files
from spark_cdc_udfs.generate.properties import shared_file, table_file
from spark_cdc_udfs.generate.raw_logs import models_of_source
from spark_cdc_udfs.generate.tables import Landing, Report, Table, ending_of
from spark_cdc_udfs.lake.queries import Lake


@dataclass
class Project:
    """The files of a project, what is said of each table, and folders that stay as they are."""

    files: dict[PurePosixPath, str] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    protected: set[PurePosixPath] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)  # by name in lower case: the path

    @property
    def problems(self) -> list[Report]:
        """The tables for which nothing can be written."""
        return [report for report in self.reports if report.problem]

    def write(self, files: Mapping[PurePosixPath, str]) -> None:
        """Add files. Raises Failure if two models have the same name."""
        for path in files:
            there = self.models.get(path.stem.lower()) if path.suffix == ".sql" else None
            if there is not None:
                raise Failure(
                    f"two models are named {path.stem}: {there} and {path}; leave one table out"
                    " (exclude), or give it a source of its own with a prefix, for example:"
                    " prefix: crm_"
                )
            if path in self.files:
                raise Failure(f"two sources write {path}; give one of them another folder: to")
            if path.suffix == ".sql":
                self.models[path.stem.lower()] = str(path)
        self.files |= files


def generate(config: Config, lake: Lake, folder: Path) -> Project:
    """Give the files of the dbt project in `folder`. Raises Failure; nothing is written."""
    project, keys = Project(), KnownKeys(config.keys)
    landings = [Landing(source, lake, keys, folder) for source in config.sources]
    for landing in landings:
        add_source(project, landing)
    for landing in landings:
        check_landing(project.models, landing.names, landing.source.schema, lake.schema)
    if keys.path:
        project.notes += [f"{keys.path.name} names {one}: no such table" for one in keys.unused()]
    return project


def add_source(project: Project, landing: Landing) -> None:
    """Add the tables of a source. Raises Failure."""
    source = landing.source
    found = apart(list(find(landing)))
    tables = [table for table, _ in found if table is not None]
    reports = [report for _, report in found]
    shared: dict[str, Columns] = {}
    for table, report in found:
        shared |= report.shared if table is None else table.shared
    for table in tables:
        project.write(sql_files(table))
        project.write(dict([table_file(table)]))
    if tables:
        raw = list(models_of_source(source, tables))
        project.write({source.folder / f"{one.name}.sql": one.sql for one in raw})
        project.write(shared_file(source, shared, raw))
    project.reports += reports
    project.notes += [f"{source.name}: {note}" for note in landing.notes]
    keep_unknown(project, landing, reports)
    named = {name.lower() for one in reports for name in one.names}
    unused = [name for name in source.table_settings if name.lower() not in named]
    project.notes += [f"{source.name}: table_settings names {n}: no such table" for n in unused]


def apart(found: list[tuple[Table | None, Report]]) -> list[tuple[Table | None, Report]]:
    """Leave out the tables of a source whose models would have one name.

    Names of tables can be data. So such tables have a problem, and the others are written.
    """
    owners: dict[str, list[Report]] = {}
    for table, report in found:
        for path in sql_files(table) if table else ():
            owners.setdefault(path.stem.lower(), []).append(report)
    problems = {
        id(
            report
        ): f"{' and '.join(one.names[-1] for one in some)} would both have the model {model};"
        " leave one of them out (exclude)"
        for model, some in owners.items()
        if len(some) > 1
        for report in some
    }
    return [
        (None, replace(report, problem=problems[id(report)]))
        if id(report) in problems
        else (table, report)
        for table, report in found
    ]


def keep_unknown(project: Project, landing: Landing, reports: Iterable[Report]) -> None:
    """Protect the files of tables of which it is not known what they should be."""
    source = landing.source
    silent = silent_tables(landing, reports)
    unknown = [*silent, *(report.name for report in reports if report.problem)]
    if unknown:
        project.protected |= {source.folder / FILES, *(source.folder / name for name in unknown)}
    project.notes += [
        f"{source.name}.{name}: no row tells of it any more; its files stay. If it is gone, leave"
        " it out by exclude"
        for name in silent
    ]


def silent_tables(landing: Landing, reports: Iterable[Report]) -> list[str]:
    """Name the tables of an earlier run that no row of a shared relation tells of any more.

    Rows leave topics and event logs, so that this does not mean that the table is gone.
    """
    source = landing.source
    if not source.kind.is_shared or source.kind.is_listed:
        return []
    found = {report.name for report in reports}
    earlier = earlier_tables(landing.project / source.folder)
    return [
        name
        for name, names in earlier
        if name not in found and ending_of(source, *names, name) is not None
    ]


def check_folders(config: Config, project: Path, folders: Iterable[str]) -> None:
    """Raise Failure if dbt would not look for models in the folder of a source."""
    roots = [(project / one).resolve() for one in inside(project, folders)]
    for source in config.sources:
        there = (project / source.folder).resolve()
        if not any(there.is_relative_to(root) for root in roots):
            named = ", ".join(folders)
            raise Failure(
                f"{source.name}: {source.folder} is not in the model-paths of dbt_project.yml,"
                f" {named}; for example: to: {next(iter(folders))}/{source.name}"
            )


def model_paths(folder: Path) -> Sequence[str]:
    """Give the folders of models in `dbt_project.yml`. Raises Failure if there is no project."""
    path = folder / "dbt_project.yml"
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"{path} cannot be read; run this in a dbt project") from error
    except yaml.YAMLError as error:
        raise Failure(f"{path} is no YAML") from error
    found = content.get("model-paths") if isinstance(content, dict) else None
    return [str(one) for one in found] if isinstance(found, list) and found else ["models"]
