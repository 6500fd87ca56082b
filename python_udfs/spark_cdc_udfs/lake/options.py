"""The options of commands that ask the server of a dbt project."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options that choose a project and its profile."""
    command.add_argument(
        "--project-dir",
        type=Path,
        default=Path("."),
        metavar="DIR",
        help="the folder of dbt_project.yml (default: the working directory)",
    )
    command.add_argument(
        "--profiles-dir", type=Path, metavar="DIR", help="the folder of profiles.yml, as in dbt"
    )
    command.add_argument("--profile", help="the profile, instead of the one of the project")
    command.add_argument("--target", help="the target of the profile, as in dbt")
    command.add_argument("--vars", metavar="YAML", help="variables for the profile, as in dbt")
