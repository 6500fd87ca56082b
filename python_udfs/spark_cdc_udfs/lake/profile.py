"""Read a profile as dbt does, by dbt's own code. Without dbt this module cannot be imported."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

from dbt.cli import requires
from dbt.cli.flags import args_to_context

from spark_cdc_udfs.errors import Failure

OPTIONS = ("profiles_dir", "profile", "target", "vars")

# dbt then writes no log, prints nothing, and sends no statistics.
QUIET = (
    *("--log-level", "none", "--log-level-file", "none"),
    *("--no-send-anonymous-usage-stats", "--no-use-colors"),
)


def load_credentials(arguments: Namespace) -> Any:
    """Load the target of a profile, as the options of a command say. Raises Failure."""
    project = str(arguments.project_dir)
    given = ["parse", "--project-dir", project, "--log-path", project, *QUIET]
    for name in OPTIONS:
        if (value := getattr(arguments, name)) is not None:
            given += [f"--{name.replace('_', '-')}", str(value)]
    place = ""
    try:
        with args_to_context(given) as context:
            place = f" from {context.params['profiles_dir']}"
            # Each command of dbt begins with these two steps. Only after the first one dbt
            # knows the variables of the environment.
            steps: Any = requires
            steps.preflight(steps.profile(lambda _: None))(context)
            profile = context.obj["profile"]
    except Exception as error:
        # What follows these words can be values of the profile.
        words = re.split(r" invalid:|\n-+\n", str(getattr(error, "msg", error)))[0]
        why = " ".join(words.split())
        raise Failure(f"no profile{place}: {why}; `dbt debug` says more") from error
    if profile.credentials.type != "spark":
        raise Failure(
            f"the profile {profile.profile_name} has type: {profile.credentials.type};"
            " spark-cdc asks a server with type: spark"
        )
    return profile.credentials
