"""Dump and restore of a PostgreSQL database with pg_dump, pg_restore and psql.

The password is passed in a file that other accounts cannot read: never as an argument.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

from portal.backup.archive import BackupError
from portal.backup.owner import effective_home, for_programs
from portal.backup.revisions import VERSION_TABLE, database_name

# libpq's environment variables for the options of a URL, other than port, user and name.
OPTIONS = {
    "host": "PGHOST",
    "port": "PGPORT",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "options": "PGOPTIONS",
    "passfile": "PGPASSFILE",
}
HANDED_DOWN = ("PATH", "HOME", "LANG", "LC_ALL", "PGPASSFILE", "PGSERVICEFILE")
OTHER_CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
REVISION = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608 - a constant of ours
DROP_ALL_OBJECTS = """
SET client_min_messages = warning;
SET lock_timeout = '10s';
DO $$
DECLARE one record;
BEGIN
 FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() LOOP
  EXECUTE format('DROP TABLE %I CASCADE', one.name);
 END LOOP;
 FOR one IN SELECT oid::regprocedure AS name FROM pg_proc
  WHERE pronamespace = current_schema()::regnamespace AND NOT EXISTS
   (SELECT 1 FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e') LOOP
  EXECUTE 'DROP FUNCTION ' || one.name || ' CASCADE';
 END LOOP;
 FOR one IN SELECT oid::regtype AS name FROM pg_type
  WHERE typnamespace = current_schema()::regnamespace AND typtype IN ('e', 'd') LOOP
  EXECUTE 'DROP TYPE ' || one.name || ' CASCADE';
 END LOOP;
END $$;
"""


@dataclass(frozen=True)
class PostgresServer:
    """The database of a URL, for PostgreSQL's own programs."""

    url: str

    def dump(self, to: Path) -> str:
        """Dump a consistent state to a file; return the schema's revision.

        The revision is read first: a migration in between is detected when the copy is compared
        with it at the restore.
        """
        revision = self.revision()
        self._run(["pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={to}"])
        to.chmod(0o600)
        return revision

    def revision(self) -> str:
        """Return the schema's revision. Raises BackupError if there is none."""
        if self.is_empty():
            raise BackupError(
                f"The database {database_name(self.url)} is empty: start the portal once."
            )
        output = self._query(REVISION)
        if not output:
            raise BackupError(f"The database {database_name(self.url)} has no schema revision.")
        return output

    def is_empty(self) -> bool:
        """Return whether there is no table."""
        return self._query(TABLES) == "0"

    def others(self) -> int:
        """Return the number of other connections."""
        return int(self._query(OTHER_CONNECTIONS))

    def restore(self, copy: Path) -> None:
        """Replace the whole content with the copy, in one transaction."""
        script = copy.with_name("restore.sql")
        make = ["pg_restore", "--no-owner", "--no-privileges", f"--file={script}", str(copy)]
        self._run(make)
        script.chmod(0o600)
        first = copy.with_name("empty.sql")
        first.write_text(DROP_ALL_OBJECTS)
        self._run([*PSQL, "--single-transaction", f"--file={first}", f"--file={script}"])

    def _query(self, question: str) -> str:
        return self._run([*PSQL, "--command", question]).strip()

    def _run(self, argv: list[str]) -> str:
        user, group = for_programs()
        with self._environment() as environment:
            try:
                done = subprocess.run(
                    argv,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                    user=user,
                    group=group,
                )
            except OSError as error:
                sentence = f"{argv[0]} can't be run: install PostgreSQL's client programs."
                raise BackupError(sentence) from error
        if done.returncode != 0:
            why = " ".join(done.stderr.split())[:300]
            raise BackupError(f"{argv[0]} on {database_name(self.url)} failed: {why}")
        return done.stdout

    @contextmanager
    def _environment(self) -> Iterator[dict[str, str]]:
        url = make_url(self.url)
        known = {name: os.environ[name] for name in HANDED_DOWN if name in os.environ}
        parts = {
            "PGHOST": url.host,
            "PGPORT": str(url.port) if url.port else None,
            "PGUSER": url.username,
            "PGDATABASE": url.database,
        }
        known |= {name: value for name, value in parts.items() if value}
        if (home := effective_home()) is not None:
            known["HOME"] = home
        for option, value in url.query.items():
            if option not in OPTIONS or not isinstance(value, str):
                raise BackupError(
                    f"database_url has the option {option}, which pg_dump does not support."
                )
            known[OPTIONS[option]] = value
        with tempfile.TemporaryDirectory(prefix="portal-") as folder:
            if url.password:
                file = Path(folder) / "password"
                file.touch(mode=0o600)
                file.write_text(f"*:*:*:*:{_escape(str(url.password))}\n")
                known["PGPASSFILE"] = str(file)
            yield known


PSQL = (
    "psql",
    "--no-psqlrc",
    "--no-password",
    "--quiet",
    "--tuples-only",
    "--no-align",
    "--set=ON_ERROR_STOP=1",
)


def _escape(password: str) -> str:
    """Escape a password for PostgreSQL's password file."""
    return password.replace("\\", "\\\\").replace(":", "\\:")
