"""Backup and restore of a real PostgreSQL, and of a portal on it."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy.engine import make_url
from typer.testing import CliRunner

from portal.backup import revisions
from portal.backup.archive import BackupError
from portal.backup.postgresql import PostgresServer
from portal.cli.main import app
from portal.db import alembic_config
from tests.portal.command_line import Done, write_config
from tests.portal.conftest import MakeSettings
from tests.servers.postgresql import PASSWORD, PostgreSql
from tests.servers.slapd import free_port

EVENT = (
    "INSERT INTO audit_events (at, actor, action, target, detail, ip, token, request_id)"
    " VALUES (now(), 'root', 'login', 'alice', '{\"why\": \"tried\"}', '', '', '')"
)
FOUND = "SELECT count(*) FROM audit_events WHERE words @@ to_tsquery('simple', 'alice & tried')"


@dataclass
class Databases:
    """New databases, dropped afterwards."""

    server: PostgreSql
    made: list[str]

    def fresh(self) -> PostgresServer:
        self.made.append(f"portal_{free_port()}_{len(self.made)}")
        return PostgresServer(self.server.make(self.made[-1]))

    def filled(self) -> PostgresServer:
        """Create one with the portal's schema and an audit event."""
        new = self.fresh()
        config = alembic_config("postgresql://")
        config.output_buffer = io.StringIO()
        command.upgrade(config, "head", sql=True)
        self.sql(new, config.output_buffer.getvalue(), EVENT)
        return new

    def sql(self, at: PostgresServer, *statements: str) -> str:
        return self.server.sql(str(make_url(at.url).database), *statements)


@pytest.fixture
def databases(postgres: PostgreSql) -> Iterator[Databases]:
    found = Databases(postgres, [])
    yield found
    for name in found.made:
        postgres.sql("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def test_all_of_it_comes_back(databases: Databases, tmp_path: Path) -> None:
    first, second = databases.filled(), databases.fresh()
    assert first.dump(tmp_path / "copy") == revisions.head()
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
    second.restore(tmp_path / "copy")
    assert second.revision() == revisions.head()
    assert databases.sql(second, FOUND) == "1"
    # the triggers are restored: an audit event cannot be changed
    with pytest.raises(AssertionError, match="never changed"):
        databases.sql(second, "UPDATE audit_events SET actor = 'eve'")
    databases.sql(second, EVENT)
    assert databases.sql(second, FOUND) == "2"


def test_what_was_there_goes(databases: Databases, tmp_path: Path) -> None:
    """Including objects of a newer schema."""
    first, second = databases.filled(), databases.filled()
    first.dump(tmp_path / "copy")
    databases.sql(second, EVENT, "CREATE TABLE newer (id int)", "CREATE TYPE mood AS ENUM ('ok')")
    second.restore(tmp_path / "copy")
    assert databases.sql(second, FOUND) == "1"
    assert databases.sql(second, "SELECT to_regclass('newer') IS NULL") == "t"


def test_a_restore_that_fails_changes_nothing(databases: Databases, tmp_path: Path) -> None:
    first, second = databases.filled(), databases.filled()
    databases.sql(first, "CREATE SCHEMA elsewhere", "CREATE TABLE elsewhere.t (id int)")
    first.dump(tmp_path / "copy")
    databases.sql(second, EVENT, "CREATE SCHEMA elsewhere", "CREATE TABLE elsewhere.t (id int)")
    with pytest.raises(BackupError, match=r"psql on portal_.* failed: .*elsewhere"):
        second.restore(tmp_path / "copy")
    assert databases.sql(second, FOUND) == "2"


def test_others_are_counted(databases: Databases) -> None:
    at = databases.filled()
    assert at.others() == 0
    name = str(make_url(at.url).database)
    idle = ["psql", "-XqAt", "-c", "SELECT 'here'", "-f", "-"]
    with subprocess.Popen(
        idle,
        env=databases.server.environment(name),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "here\n"
        assert at.others() == 1
        other.communicate("")


def test_an_empty_database_is_no_backup(databases: Databases, tmp_path: Path) -> None:
    at = databases.fresh()
    assert at.is_empty()
    with pytest.raises(BackupError, match="is empty: start the portal once"):
        at.dump(tmp_path / "copy")


@pytest.mark.parametrize("wrong", ["password", "port"])
def test_a_server_that_refuses_is_named_without_the_password(
    wrong: str, databases: Databases
) -> None:
    url = make_url(databases.fresh().url)
    changed = url.set(password="wr0ng") if wrong == "password" else url.set(port=free_port())
    with pytest.raises(BackupError) as refused:
        PostgresServer(changed.render_as_string(hide_password=False)).is_empty()
    message = str(refused.value)
    assert message.startswith(f"psql on {url.database} at 127.0.0.1:{changed.port} failed: ")
    assert "wr0ng" not in message
    assert PASSWORD not in message


class TestPortal:
    """A portal whose database is PostgreSQL."""

    @pytest.fixture
    def run(self, databases: Databases, make_settings: MakeSettings, tmp_path: Path) -> Run:
        settings = make_settings(listen_port=free_port(), database_url=databases.fresh().url)
        return Run(
            write_config(settings, tmp_path / "portal.toml"), PostgresServer(settings.database)
        )

    def test_backup_and_restore(self, run: Run, databases: Databases, tmp_path: Path) -> None:
        message = run("migrate").out
        assert message == f"The database was migrated from nothing to {revisions.head()}.\n"
        databases.sql(run.server, EVENT)
        file = tmp_path / "backup"
        done = run("backup", str(file))
        assert (done.code, done.err) == (0, "")
        assert "is not empty: use --replace to delete its content" in run("restore", str(file)).err
        databases.sql(run.server, EVENT)
        done = run("restore", "--replace", str(file))
        assert (done.code, done.err) == (0, "")
        assert databases.sql(run.server, FOUND) == "1"
        assert PASSWORD not in done.out

    def test_a_server_that_does_not_answer(self, run: Run) -> None:
        text = run.config.read_text()
        run.config.write_text(text.replace(str(make_url(run.server.url).port), str(free_port())))
        done = run("serve")
        assert done.code == 1
        (line,) = done.err.splitlines()
        assert "can't be opened: " in line
        assert "s3cr" not in line

    def test_the_schema_must_be_migrated_by_hand(self, run: Run) -> None:
        done = run("serve")
        assert done.code == 1
        assert "is at revision none; this portal needs" in done.err


@dataclass(frozen=True)
class Run:
    """The command line with a settings file."""

    config: Path
    server: PostgresServer

    def __call__(self, *arguments: str) -> Done:
        env = {"PORTAL_CONFIG": str(self.config)}
        found = CliRunner().invoke(app, arguments, env=env)
        return Done(found.exit_code, found.stdout, found.stderr)
