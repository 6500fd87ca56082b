"""`spark-cdc generate` and `spark-cdc health` read a profile as dbt does.

Each test runs the command in a process of its own, in another project. In the process of pytest
dbt may have run before. Then dbt's code works, although it fails in a new process. And no test may
use `env_var` in a password alone: if that fails, dbt takes the text as it is.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kit.warehouse import ROOT
from spark_cdc_udfs import command

COMMAND = ("-m", command.__name__)
PROJECT = {
    "dbt_project.yml": "{name: shop, profile: \"{{ env_var('SHOP_PROFILE', 'shop') }}\"}",
    "spark_cdc.yml": 'sources: [{name: erp, decoder: qlik_change_table, schema: x, tables: "*"}]',
}
# The password of each target is a secret of the environment.
TARGET = """
      type: spark
      method: "{{ var('method', 'thrift') }}"
      host: "{{ env_var('SHOP_HOST', '127.0.0.1') }}"
      port: "{{ env_var('SHOP_PORT') | as_number }}"
      use_ssl: "{{ env_var('SHOP_SSL', 'False') | as_bool }}"
      connect_retries: "{{ env_var('SHOP_RETRIES', '0') | as_native }}"
      schema: landing
      auth: LDAP
      password: "{{ env_var('DBT_ENV_SECRET_SHOP') }}"
"""
PROFILES = f"""
shop:
  target: "{{{{ env_var('SHOP_TARGET') }}}}"
  outputs:
    not_chosen: {{type: spark, host: "{{{{ env_var('NEVER_SET') }}}}"}}
    of_environment: {TARGET}
      user: "{{{{ env_var('SHOP_USER') }}}}"
    of_command: {TARGET}
      user: "{{{{ var('user') }}}}"
without_target:
  outputs:
    default: {TARGET}
      user: "{{{{ env_var('SHOP_USER') }}}}"
"""
SECRET = "hush_of_environment"


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with few variables in its environment."""
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "python_udfs")}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**given, "HOME": str(folder), "DBT_ENV_SECRET_SHOP": SECRET, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def received(server: socket.socket) -> bytes:
    """Take one connection, and give what it sends until the password has come."""
    connection, _ = server.accept()
    with connection:
        found = b""
        while SECRET.encode() not in found and (more := connection.recv(1000)):
            found += more
        return found


@pytest.mark.parametrize(
    ("place", "arguments", "environment"),
    [
        ("profiles.yml", ["health"], {"SHOP_TARGET": "of_environment"}),
        (".dbt/profiles.yml", ["generate"], {"SHOP_PROFILE": "without_target"}),
        (
            "other/profiles.yml",
            ["generate"],
            {
                "DBT_PROFILES_DIR": "other",
                "DBT_PROFILE": "shop",
                "DBT_TARGET": "of_environment",
                "SHOP_PROFILE": "missing",
                "SHOP_TARGET": "missing",
            },
        ),
        (
            "other/profiles.yml",
            [
                *("health", "--profiles-dir", "other", "--profile", "shop"),
                *("--target", "of_command", "--vars", "{user: me}"),
            ],
            {"DBT_PROFILES_DIR": ".", "DBT_PROFILE": "missing", "DBT_TARGET": "missing"},
        ),
    ],
)
def test_the_server_of_a_profile_is_asked(
    tmp_path: Path, place: str, arguments: list[str], environment: dict[str, str]
) -> None:
    write(tmp_path, {**PROJECT, place: PROFILES})
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as thread:
        server.settimeout(60)
        port = str(server.getsockname()[1])
        sent = thread.submit(received, server)
        given = {"SHOP_USER": "me", "SHOP_PORT": port, **environment}
        done = run(tmp_path, *COMMAND, *arguments, **given)
        socket.create_connection(server.getsockname()).close()  # if the command did not connect
    said = f"spark-cdc {arguments[0]}: no connection to 127.0.0.1, port {port} ("
    assert done.stderr.startswith(said), done.stderr
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert sent.result().endswith(f"\0me\0{SECRET}".encode())
    assert {path.name for path in tmp_path.iterdir()} == {*PROJECT, place.split("/")[0]}


def profile(target: str = "t", **fields: Any) -> str:
    """A profile whose target t has these fields; a field that is None is left out."""
    given = {"type": "spark", "method": "thrift", "host": "h", "schema": "x", "password": "hush"}
    left = {name: value for name, value in {**given, **fields}.items() if value is not None}
    return json.dumps({"shop": {"target": target, "outputs": {"t": left}}})


INVALID = 'Credentials in profile "shop", target "t" invalid:'
# Profiles, and a part of what is said of each. Every secret in them begins with hush.
WRONG = {
    profile(user="{{ env_var('NEVER_SET') }}"): "Env var required but not provided: 'NEVER_SET'",
    profile(token="hush{{ var('size') }}"): "Required var 'size' not found in config;",
    profile(port="{{ env_var('HUSH') | as_number }}"): "Could not convert value into type 'number'",
    profile(port="hush{{ env_var('DBT_ENV_SECRET_SHOP') }}"): f"{INVALID} port is not of type",
    profile(password=["hush"]): f"{INVALID} password is not valid under any of the given schemas",
    profile(threads="hush"): "threads is not of type 'integer'",
    profile(token="hush{{ hush"): "TemplateSyntaxError",
    profile(host=None): f"{INVALID} Must specify `host` in profile",
    profile(type=None): 'required field "type" not found in profile shop and target t',
    profile("{{ env_var('DBT_ENV_SECRET_SHOP') }}"): "does not have a target named '*****'. The",
    "other: {password: hush}": "Could not find profile named 'shop'",
    "shop: {password: hush, outputs: [}": "Syntax error near line 1;",
    "": "profiles.yml is empty",
    profile(host="{{ env_var('DBT_ENV_SECRET_HOST') }}", port=1): "no connection to *****, port 1",
}
CODE = """
import sys
from spark_cdc_udfs.command import main

for number in range(int(sys.argv[1])):
    assert main(["health", "--profiles-dir", str(number)]) == 2
assert main(["health", "--profiles-dir", "missing"]) == 2
assert main(["health", "--vars", "{hush"]) == 2
"""


def test_a_wrong_profile_is_told_in_the_words_of_dbt_and_without_secrets(tmp_path: Path) -> None:
    folders = {f"{number}/profiles.yml": text for number, text in enumerate(WRONG)}
    write(tmp_path, {**PROJECT, **folders})
    secrets = {"HUSH": SECRET, "DBT_ENV_SECRET_HOST": "localhost"}
    done = run(tmp_path, "-c", CODE, str(len(WRONG)), **secrets)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "hush" not in done.stderr and "localhost" not in done.stderr
    lines = done.stderr.splitlines()
    expected = [
        *WRONG.values(),
        "Invalid value for '--profiles-dir': Path 'missing' does not exist.",
        "Invalid value for '--vars': String is not valid YAML",
    ]
    assert len(lines) == len(expected), done.stderr
    assert not [pair for pair in zip(lines, expected, strict=True) if pair[1] not in pair[0]]
