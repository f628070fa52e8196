"""A real PostgreSQL for tests: own folder, own port, an account with a password."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.slapd import free_port

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda at: int(at.parent.name))
ACCOUNT = "nobody"
NAME, PASSWORD = "portal", r"s3cr:t\word@x"
# no test depends on the durability of data after a power failure
CONFIG = "fsync = off\nfull_page_writes = off\nlisten_addresses = '127.0.0.1'\n"


@dataclass(frozen=True)
class PostgreSql:
    """A server. `url(name)` is a database's URL, with the driver that the portal requires."""

    port: int

    def url(self, database: str) -> str:
        password = PASSWORD.replace("@", "%40").replace(":", "%3A").replace("\\", "%5C")
        return f"postgresql+psycopg://{NAME}:{password}@127.0.0.1:{self.port}/{database}"

    def make(self, database: str) -> str:
        self.sql("postgres", f"CREATE DATABASE {database}")
        return self.url(database)

    def sql(self, database: str, *statements: str) -> str:
        """Run all statements in one session; return the output."""
        commands = [word for text in statements for word in ("--command", text)]
        argv = ["psql", "-XqAt", "--set=ON_ERROR_STOP=1", *commands]
        done = subprocess.run(
            argv, env=self.environment(database), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def environment(self, database: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": NAME,
            "PGPASSWORD": PASSWORD,
            "PGDATABASE": database,
        }


@contextmanager
def running() -> Iterator[PostgreSql]:
    folder = Path(tempfile.mkdtemp(prefix="portal-postgresql-"))
    programs, port = PROGRAMS[-1], free_port()
    password = folder / "password"
    password.touch(mode=0o600)
    password.write_text(PASSWORD)
    if os.geteuid() == 0:
        for place in (folder, password):
            shutil.chown(place, ACCOUNT)
    data = folder / "data"
    make = ("-D", data, "-U", NAME, "-A", "scram-sha-256", "--pwfile", password, "--no-sync")
    _run_unprivileged(programs / "initdb", *make, "--locale=C.UTF-8", "-E", "UTF8")
    with (data / "postgresql.conf").open("a") as config:
        config.write(f"{CONFIG}port = {port}\nunix_socket_directories = '{folder}'\n")
    control = (programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log")
    try:
        _run_unprivileged(*control, "-t", "120", "start")
        yield PostgreSql(port)
    finally:
        _run_unprivileged(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def _run_unprivileged(*argv: Path | str) -> None:
    """Run a program as an unprivileged account, because PostgreSQL refuses to run as root."""
    become = ["setpriv", f"--reuid={ACCOUNT}", "--regid=nogroup", "--clear-groups"]
    words = [*(become if os.geteuid() == 0 else []), *map(str, argv)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/")
