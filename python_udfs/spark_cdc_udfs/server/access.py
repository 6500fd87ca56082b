"""Who gets an answer from a server: whoever knows its token, or what its user has set up instead.

Each start makes a token, unless the environment has one. It is in a file that only its user can
read, and clients give it as the password.
Spark has no such authenticator, but loads a class that is one. The Java compiler that Spark uses
for its own generated code compiles it.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
from collections.abc import Mapping
from typing import Any

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server.client import Login, reachable
from spark_cdc_udfs.server.directory import Home, Server, held

# dbt keeps a variable of this name out of its logs.
PASSWORD = "DBT_ENV_SECRET_SPARK_CDC_TOKEN"
USER = "SPARK_CDC_USER"

AUTHENTICATION = "spark.hadoop.hive.server2.authentication"
TLS = "spark.hadoop.hive.server2.use.SSL"
JAVA = """\
package spark_cdc;

public final class TokenAuthenticator
    implements org.apache.hive.service.auth.PasswdAuthenticationProvider {

  public void Authenticate(String user, String password)
      throws javax.security.sasl.AuthenticationException {
    byte[] token;
    try {
      java.io.File file = new java.io.File(System.getProperty("spark_cdc.token"));
      token = java.nio.file.Files.readAllBytes(file.toPath());
    } catch (java.io.IOException error) {
      throw new javax.security.sasl.AuthenticationException("the server has no token");
    }
    byte[] given = password.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    if (!java.security.MessageDigest.isEqual(token, given)) {
      throw new javax.security.sasl.AuthenticationException("wrong token");
    }
  }
}
"""


def settings(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a server that asks for its token; `conf` are the user's own."""
    return {} if AUTHENTICATION in conf else {AUTHENTICATION: "CUSTOM"}


def make_token(home: Home) -> None:
    """Write a new token, or the user's own from the environment. The caller owns the directory.

    Raises Failure if the user's own is too short, or if Hive's server could not compare it.
    """
    token = os.environ.get(PASSWORD) or secrets.token_urlsafe(32)
    if not re.fullmatch("[ -~]{12,}", token):
        raise Failure(f"{PASSWORD} is no text of at least 12 printable ASCII characters")
    home.token.unlink(missing_ok=True)
    descriptor = os.open(home.token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(token)


def compile_authenticator(gateway: Any, home: Home) -> None:
    """Compile the class into Spark's configuration directory, which is on the class path."""
    source = home.conf / "TokenAuthenticator.java"
    source.write_text(JAVA, encoding="ascii")
    java = gateway.jvm.java.io
    files = gateway.new_array(java.File, 1)
    files[0] = java.File(str(source))
    compiler = gateway.jvm.org.codehaus.janino.Compiler()
    compiler.setDestinationDirectory(java.File(str(home.conf)), True)
    compiler.compile(files)


def login(home: Home, server: Server) -> Login:
    """Return what this user gives `server`: its token, or the environment's user and password."""
    if server.has_token:
        try:
            return Login("spark_cdc", home.token.read_text(encoding="utf-8"), server.is_tls)
        except OSError as error:
            raise Failure(f"{home.token} cannot be read: {error.strerror}") from error
    password = os.environ.get(PASSWORD, "-")  # it must not be empty, also where nobody checks it
    return Login(os.environ.get(USER, "spark_cdc"), password, server.is_tls)


def variables(home: Home) -> list[str]:
    """Return lines for a shell: the variables by which clients find the server of `home`.

    Raises Failure if there is none.
    """
    home.check()
    server = home.read()
    if server is None or not held(home.lock):
        raise Failure(f"no server runs in {home.root}: spark-cdc-server start")
    found = {"SPARK_CDC_HOST": reachable(server.host), "SPARK_CDC_PORT": str(server.port)}
    if server.has_token:
        found[PASSWORD] = login(home, server).password
    return [f"export {name}={shlex.quote(value)}" for name, value in found.items()]
