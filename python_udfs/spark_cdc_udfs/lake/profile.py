"""Read a profile as dbt does, by dbt's own code. Without dbt this module cannot be imported."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

from click import ClickException
from dbt.cli import requires
from dbt.cli.flags import args_to_context
from dbt_common.dataclass_schema import ValidationError
from dbt_common.exceptions import DbtBaseException, env_secrets, scrub_secrets

from spark_cdc_udfs.errors import Failure

OPTIONS = ("profiles_dir", "profile", "target", "vars")

# dbt then writes no log, prints nothing, and sends no statistics.
QUIET = (
    *("--log-level", "none", "--log-level-file", "none"),
    *("--no-send-anonymous-usage-stats", "--no-use-colors"),
)

# The parts of dbt's messages that quote a line or a value of the profile.
QUOTED = re.compile(
    r"(?<= invalid:).*|Could not render .*|at path .*|\n *-{9,}\n.*|:\nVars supplied .*"
    r"|(?<=value) '.*'(?= into type )|(?<=String) '.*'(?= is not valid YAML)",
    re.DOTALL,
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
        raise Failure(f"no profile{place}: {words_of(error)}; `dbt debug` says more") from error
    if profile.credentials.type != "spark":
        raise Failure(
            f"the profile {profile.profile_name} has type: {profile.credentials.type};"
            " spark-cdc asks a server with type: spark"
        )
    return profile.credentials


def words_of(error: BaseException) -> str:
    """Give dbt's words in one line, without lines and values of the profile."""
    found = [_own_words(error)]
    while error.__cause__ is not None and not isinstance(error, ValidationError):
        error = error.__cause__
    found += [words for words in [_own_words(error)] if words not in found[0]]
    return str(scrub_secrets(" ".join(" ".join(found).split()), env_secrets()))


def _own_words(error: BaseException) -> str:
    if isinstance(error, ClickException):
        return QUOTED.sub("", error.format_message())
    if isinstance(error, DbtBaseException):
        return QUOTED.sub("", str(getattr(error, "msg", "")))
    if isinstance(error, ValidationError):
        field = ".".join(map(str, error.path))
        return str(error.message).replace(repr(error.instance), field, 1)
    return type(error).__name__
