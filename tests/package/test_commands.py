"""What the pages and the scripts print to be typed: typed here, by CI, or not, with a reason."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import pytest
from kit.pages import README, all_pages, blocks, commands
from kit.warehouse import BIN, QUICK, ROOT, Warehouse, free_port, install_package
from spark_cdc_udfs.server import command as server
from spark_cdc_udfs.server.java import find_java

from package.test_release import CHANGES
from scripts import show

SPARK = ROOT / "docs" / "spark.md"
HEALTH = ROOT / "docs" / "health.md"

# The commands. Each tuple is typed by one test, in this order.

SERVER = (
    "python3 -m venv ~/spark-cdc-python",
    ". ~/spark-cdc-python/bin/activate",
    "pip install 'pyspark==4.1.4' './python_udfs[dbt]'",
    "spark-cdc-server start --dir ~/spark-cdc --port 10000",
    "spark-cdc-server status --dir ~/spark-cdc",
    'eval "$(spark-cdc-server env --dir ~/spark-cdc)"',
    "printenv DBT_ENV_SECRET_SPARK_CDC_TOKEN >~/spark-cdc/password",
    "beeline -u jdbc:hive2://127.0.0.1:10000/ -n me -w ~/spark-cdc/password -e"
    ' "create schema if not exists erp_landing"',
    "beeline -u jdbc:hive2://127.0.0.1:10000/ -n me -w ~/spark-cdc/password"
    " --silent=true -f landing.sql",
    "spark-cdc-server stop --dir ~/spark-cdc",
)
PROJECT = (
    "spark-cdc generate --dry-run",
    "spark-cdc generate",
    "dbt build",
    'dbt show --inline "select order_id, cdc_operation, cdc_valid_from, cdc_valid_to'
    " from {{ ref('orders__history') }}\"",
    "dbt show --inline \"select reason, detail from {{ ref('orders__quarantine') }}\"",
    "spark-cdc health",
    "spark-cdc health --html health.html",
)
SESSION = ("python -m spark_cdc_udfs.dbt_session build --target session",)
CHECKOUT = (
    "make env",
    ".venv/bin/pre-commit install",
    'spark-cdc-server start --port "${SPARK_CDC_PORT:-10000}"',
    'eval "$(spark-cdc-server env)"',
    "export DBT_PROFILES_DIR=$PWD/profiles",
    "spark-cdc-server stop",
)
DEMO = (
    "export PATH=$PWD/.venv/bin:$PATH DBT_PROFILES_DIR=$PWD/profiles",
    'dbt build --select "demo_orders*"',
)
TESTS = (
    ".venv/bin/pytest tests/laws/test_simulation.py",
    '.venv/bin/pytest -n 2 --dist loadgroup -m "not slow" tests/package',
    "SPARK_CDC_SEED=7 .venv/bin/pytest tests/laws/test_workloads.py",
)
CHECKS = (
    "make check ONLY=qlik_change_table",
    "make check ONLY=apply",
    "make check ONLY=macros/apply/_versions.sql",
    "make check ONLY=history_commit",
    "make check ONLY=tests/package/test_demo.py",
    "make check ONLY=python_udfs/spark_cdc_udfs/server/java.py",
)
RELEASE = ("make release VERSION=0.2.0", "git push --follow-tags")
TYPED = (*SERVER, *PROJECT, *SESSION, *CHECKOUT, *DEMO, *TESTS, *CHECKS, *RELEASE)

WITH_TLS = "tests/server/test_server.py does the same on the loopback address"
NOT_TYPED = {
    "make docs": "it opens a browser, and serves it until it is interrupted",
    "make test-all": "hours, and downloads",
    "make bench": "three quarters of an hour",
    "make bench BENCH='--repeats 1'": "half an hour",
    "make bench BENCH='--rows 10000000 --memory 1 --repeats 1'": "half an hour or more",
    "export DBT_ENV_SECRET_SPARK_CDC_TOKEN=...": WITH_TLS,
    "keytool -genkeypair -alias server -keyalg RSA -dname CN=spark.example.org"
    " -keystore keys.p12 -storepass changeit": WITH_TLS,
    "spark-cdc-server start --dir ~/spark-cdc --host 0.0.0.0"
    " --conf spark.hadoop.hive.server2.use.SSL=true"
    " --conf spark.hadoop.hive.server2.keystore.path=$PWD/keys.p12"
    " --conf spark.hadoop.hive.server2.keystore.password=changeit": WITH_TLS,
    "echo 'pyspark==4.3.0' | uvx uv pip compile --no-deps --no-header --generate-hashes -": (
        "a download, with uvx"
    ),
    "SPARK_CDC_METASTORE_USER=hive SPARK_CDC_METASTORE_PASSWORD=... spark-cdc-server start"
    " --master spark://master.example.org:7077"
    " --metastore-url jdbc:postgresql://db.example.org/metastore"
    " --conf spark.sql.warehouse.dir=hdfs://..."
    " --conf spark.executor.memory=8g": "other machines",
}

# The list is complete


def printed_by_the_demo() -> list[str]:
    """Give the commands on the last screen of `make demo`, without what is said of them."""
    rows = [(number, *[0] * 5) for number in range(len(show.TABLES))]
    output = io.StringIO()
    with mock.patch("pyhive.hive.connect") as connect, mock.patch.dict(os.environ):
        os.environ.pop("SPARK_CDC_PORT", None)
        connect().cursor().fetchall.return_value = rows
        with contextlib.redirect_stdout(output):
            show.main()
    lines = (line.split("   ")[0] for line in output.getvalue().splitlines())
    return [line for line in lines if re.match(r"([.]|[a-z-]+) \S", line)]


def printed_at_the_end(script: Path) -> list[str]:
    """Give the commands in messages such as `done; to publish it: git push`."""
    return re.findall(r"""print\(f?".*: ((?:git|make|dbt|spark-cdc) .*)"\)""", script.read_text())


def typed_by_ci() -> set[str]:
    """Give the lines of `.ci/run`. One of them types the queries that the demo prints."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    queries = {line for line in printed_by_the_demo() if line.startswith("dbt show")}
    return {
        *lines,
        *(queries if "python scripts/show.py | grep '^dbt show' | bash -eu" in lines else ()),
    }


def test_every_command_is_typed_or_has_a_reason() -> None:
    found = {command for page in all_pages() for command in commands(page)}
    found |= {*printed_by_the_demo()}
    found |= {one for path in (ROOT / "scripts").glob("*.py") for one in printed_at_the_end(path)}
    listed = {*TYPED, *NOT_TYPED}
    missing, gone = found - listed - typed_by_ci(), listed - found
    assert not missing, "a command for one of the lists of this file"
    assert not gone, "no page and no script has this command any more"


def test_commands_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\na 'b #c' \\\n  --d e#f   # why\n# no\n\ng\n```\n```sql\nh\n```\n")
    assert commands(page) == ["a 'b #c' --d e#f", "g"]
    assert {". .venv/bin/activate", "make docs"} <= {*printed_by_the_demo()}
    assert printed_at_the_end(ROOT / "scripts" / "release.py") == ["git push --follow-tags"]


def test_what_is_not_typed_would_be_accepted() -> None:
    """Targets of make exist, and the server knows its options."""
    for command in NOT_TYPED:
        words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
        if words[0] == "make":
            run = ["make", "--dry-run", *words[1:]]
            subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        elif words[0] == "spark-cdc-server":
            server.parser().parse_args(words[1:])


# They do


def typed(commands: Sequence[str], folder: Path, home: Path, **variables: str) -> str:
    """Type commands in one shell, up to the first that fails; give all output."""
    environment = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python_udfs"),
        "HOME": str(home),
        "JAVA_HOME": str(find_java(os.environ).home),
        "JDK_JAVA_OPTIONS": QUICK,
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    done = subprocess.run(
        ["bash", "-exc", "\n".join(commands)],
        cwd=folder,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(done.stdout, pytrace=False)
    return done.stdout


def idle(checkout: Path, *programs: str) -> None:
    """Let programs of the environment do nothing."""
    for name in programs:
        program = checkout / ".venv" / "bin" / name
        program.unlink(missing_ok=True)
        program.symlink_to(shutil.which("true") or "")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home directory of a reader."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def checkout(home: Path) -> Path:
    """A copy of the repository, with links to the programs of this environment."""
    copy = home / "spark_cdc"
    ignored = (ROOT / ".gitignore").read_text().replace("/\n", "\n").split()
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", *ignored))
    venv.create(copy / ".venv", symlinks=True)
    (site,) = (copy / ".venv").glob("lib/python*/site-packages")
    there = sysconfig.get_path("purelib")
    (site / "there.pth").write_text(f"import site; site.addsitedir({there!r})\n")
    idle(copy, "pip")  # it would install into the environment of the tests
    for program in BIN.iterdir():
        if not (link := copy / ".venv" / "bin" / program.name).exists():
            link.symlink_to(program)
    (copy / ".venv" / ".made").touch()
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "main"], cwd=copy, check=True)
    return copy


@pytest.mark.server
def test_server(home: Path, checkout: Path) -> None:
    """The new environment finds the packages of this one, so pip downloads nothing."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 10000)) == 0 and not os.environ.get("CI"):
            pytest.skip("a server runs on port 10000")
    sql = "create table erp_landing.t as select 6 * 7 as answer; select * from erp_landing.t;"
    (checkout / "landing.sql").write_text(sql.replace("; ", ";\n"))
    # pip reads 0 as "no build isolation"
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    try:
        there = sysconfig.get_path("purelib")
        assert "| 42 " in typed(SERVER, checkout, home, PYTHONPATH=there, **offline)
    finally:
        typed(SERVER[-1:], checkout, home)


def block(page: Path, words: str) -> str:
    """Give the only block of a page with these words."""
    (found,) = (one.text for one in blocks(page) if words in one.text)
    return found


# As in the README.
RAW = """
    ('20220315081502000000000000000000001', 'I', '70', 'A', 1, 'new', 9.90),
    ('20220315081503000000000000000000002', 'B', null, 'B', 1, 'new', 9.90),
    ('20220315081503000000000000000000002', 'U', '20', 'B', 1, 'paid', 9.90),
    ('20220315081504000000000000000000003', 'D', '10', 'C', 1, null, null)
"""


def new_project(folder: Path, **models: str) -> Path:
    """Make the dbt project of the README."""
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(block(README, "profile: my_project"))
    for name, text in models.items():
        (folder / "models" / f"{name}.sql").write_text(text)
    return folder


def test_project(warehouse: Warehouse, home: Path, tmp_path: Path) -> None:
    """What the pages give for files is as they give it, but for the port and the schemas."""
    new_project(tmp_path, health=block(HEALTH, "-- models/health.sql"))
    install_package(tmp_path)
    config = block(README, "decoder: qlik_change_table").replace("erp_landing", "typed_landing")
    (tmp_path / "spark_cdc.yml").write_text(config)
    profile = block(SPARK, "method: thrift").replace("schema: warehouse", "schema: typed")
    (tmp_path / "profiles.yml").write_text(profile.replace("10000", str(warehouse.port)))
    headers = ("change_seq", "change_oper", "change_mask", "transaction_id")
    columns = ", ".join(f"header__{name} string" for name in headers)
    columns += ", order_id bigint, status string, amount decimal(8, 2)"
    warehouse.sql(
        "create schema typed_landing",
        f"create table typed_landing.orders__ct ({columns}) using parquet",
        f"insert into typed_landing.orders__ct values {RAW}",
    )
    # the servers of the tests accept any password
    output = typed(PROJECT, tmp_path, home, DBT_ENV_SECRET_SPARK_CDC_TOKEN="any")
    assert "| update        | 2022-03-15 08:15:03 | 2022-03-15 08:15:04 |" in output
    assert "typed.health: 1 bad" in output
    warehouse.sql("drop schema typed cascade", "drop schema typed_landing cascade")


@pytest.mark.server
def test_session(home: Path, tmp_path: Path) -> None:
    new_project(tmp_path, one="select 1 as one")
    session = block(SPARK, "method: session").replace("\n", "\n    ")
    profile = f"my_project:\n  target: none\n  outputs:\n    {session}\n"
    (tmp_path / "profiles.yml").write_text(profile)
    assert "PASS=1 " in typed(SESSION, tmp_path, home)


@pytest.mark.server
def test_checkout(home: Path, checkout: Path) -> None:
    try:
        typed(CHECKOUT, checkout, home, SPARK_CDC_PORT=str(free_port()))
    finally:
        typed(CHECKOUT[-1:], checkout, home)
    assert (checkout / ".git" / "hooks" / "pre-commit").exists()


def test_demo(warehouse: Warehouse, home: Path, checkout: Path) -> None:
    port = str(warehouse.port)
    typed(DEMO, checkout, home, SPARK_CDC_SCHEMA="typed_demo", SPARK_CDC_PORT=port)
    warehouse.sql("drop schema typed_demo cascade")


# They start no server, but `make check` need not wait for them.


@pytest.mark.server
def test_tests(home: Path, checkout: Path) -> None:
    """They are found. They run in `make test`."""
    typed(TESTS, checkout, home, PYTEST_ADDOPTS="--collect-only -q")


@pytest.mark.server
def test_checks(home: Path, checkout: Path) -> None:
    """Their names are known. What they run is a part of `make test`."""
    idle(checkout, "mypy", "pytest", "ruff", "sqlfluff")
    typed(CHECKS, checkout, home)


@pytest.mark.server
def test_release(home: Path, checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text(CHANGES)
    here = (
        "git config user.name me",
        "git config user.email me@example.org",
        "git add --all",
        "git commit --quiet --message All",
        "git init --quiet --bare ~/remote",
        "git remote add origin ~/remote",
        "git push --quiet --set-upstream origin main",
        "git rev-parse HEAD >.spark-cdc-test-all",
    )
    typed(("rm -f .git/hooks/pre-commit", *here, *RELEASE), checkout, home)
    assert typed(("git -C ~/remote tag",), checkout, home).split()[-1] == "v0.2.0"
