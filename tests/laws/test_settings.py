"""Settings of Spark that change how SQL is read: every decoder gives the same results with them.

docs/spark.md lists them. One server has all of them at once.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.formats import every_format
from kit.warehouse import IN_MEMORY, INTERPRETED, PLANNED_ONCE, conf, running

from laws.test_workloads import SEED, Project, build, wrong_tables

pytestmark = pytest.mark.server

ODD = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "America/St_Johns",
}


@pytest.mark.slow
def test_results_do_not_depend_on_settings(tmp_path: Path) -> None:
    home = tmp_path / "settings"
    (home / "models").mkdir(parents=True)
    project = Project(home)
    for number, format_ in enumerate(every_format()):
        case = next(iter(format_.cases(SEED)))
        # current state and history know no format
        project.case(format_, case, () if number else ("current", "history"))
    settings = INTERPRETED | IN_MEMORY | PLANNED_ONCE | ODD
    with running(tmp_path, *conf(settings)) as warehouse:
        assert warehouse.sql("set spark.sql.ansi.enforceReservedKeywords")[0][1] == "true"
        build(project, warehouse)
        wrong = wrong_tables(project, warehouse)
    assert not wrong, "\n".join(wrong)
