"""Conditions that prevent the start, and `portal migrate`, which repairs some of them.

Each is reported as one sentence on stderr with the problem and its place, with a nonzero exit
status and without a traceback.
"""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from typer.testing import CliRunner

from portal import startup
from portal.backup import revisions
from portal.cli.main import app
from portal.config.settings import Settings
from portal.db import alembic_config, upgrade
from tests.portal.cli.test_main import command as portal_command
from tests.portal.cli.test_main import wait_until_healthy
from tests.portal.command_line import Done, write_config
from tests.portal.conftest import MakeSettings
from tests.servers import databases
from tests.servers.slapd import free_port

pytestmark = pytest.mark.skipif(databases.kind() != "sqlite", reason="spoils SQLite's file")
HEAD = revisions.head()


class InstalledPortal:
    """A portal's settings, and the results of commands with them."""

    def __init__(self, make_settings: MakeSettings, folder: Path) -> None:
        self.make_settings, self.folder = make_settings, folder
        self.database = folder / "portal.db"

    def settings(self, **changes: Any) -> Settings:
        return self.make_settings(**{"listen_port": free_port(), **changes})

    def run(self, *arguments: str, **changes: Any) -> Done:
        config = write_config(self.settings(**changes), self.folder / "portal.toml")
        found = CliRunner().invoke(app, arguments, env={"PORTAL_CONFIG": str(config)})
        return Done(found.exit_code, found.stdout, found.stderr)

    def refused(self, *arguments: str, **changes: Any) -> str:
        """Return the one sentence."""
        done = self.run(*arguments, **changes)
        assert done.code == 1
        (line,) = done.err.splitlines()
        return line

    def make(self, revision: str = "head") -> str:
        url = f"sqlite+aiosqlite:///{self.database}"
        upgrade(url, revision)
        return url

    def change(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.database)) as out:
            for statement in statements:
                out.execute(statement)
            out.commit()

    def tables(self) -> dict[str, str]:
        with closing(sqlite3.connect(self.database)) as found:
            return dict(found.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL"))


@pytest.fixture
def installed(make_settings: MakeSettings, tmp_path: Path) -> InstalledPortal:
    return InstalledPortal(make_settings, tmp_path)


def test_a_newer_database(installed: InstalledPortal) -> None:
    installed.make()
    installed.change("UPDATE alembic_version SET version_num = '9999'")
    message = installed.refused("serve")
    assert message.startswith("The portal can't start: The database ")
    assert f"{installed.database} is at revision 9999, newer than this portal's {HEAD}" in message
    assert "9999" in installed.refused("migrate")


def test_a_database_whose_migration_was_broken_off(installed: InstalledPortal) -> None:
    """As an older portal left it, which did not migrate in one transaction."""
    installed.make()
    installed.change("DROP TABLE mails", "ALTER TABLE announcements DROP COLUMN public")
    message = installed.refused("serve")
    assert f"{installed.database} is marked as revision {HEAD}, but lacks " in message
    assert "mails" in message
    assert "announcements.public" in message
    assert "a migration was interrupted" in message


def test_a_migration_that_fails_leaves_all_as_it_was(installed: InstalledPortal) -> None:
    """0015 changes tables before 0016 fails on a column that already exists."""
    installed.make("0013")
    installed.change("ALTER TABLE sessions ADD COLUMN idempotency_key VARCHAR(200)")
    before = installed.tables()
    message = installed.refused("serve")
    assert f"{installed.database} can't be migrated from revision 0013 to {HEAD}" in message
    assert "was left unchanged" in message
    assert "idempotency_key" in message
    assert installed.tables() == before
    assert "0013" in installed.refused("migrate")


def test_foreign_tables_are_refused(installed: InstalledPortal) -> None:
    installed.change("CREATE TABLE notes (id INTEGER)")
    assert "has tables but no schema revision" in installed.refused("serve")
    assert set(installed.tables()) == {"notes"}


def test_an_older_database_where_the_start_may_not_migrate(installed: InstalledPortal) -> None:
    installed.make("0014")
    message = installed.refused("serve", auto_migrate=False)
    assert f"is at revision 0014; this portal needs {HEAD}" in message
    assert "portal migrate" in message


def test_a_file_that_is_no_database(installed: InstalledPortal) -> None:
    installed.database.write_text("hello, this is a text and no database" * 100)
    message = installed.refused("serve")
    assert f"The database {installed.database} can't be opened: " in message
    assert "database_url" in message


def test_a_database_in_a_folder_that_is_not_there(installed: InstalledPortal) -> None:
    url = f"sqlite+aiosqlite:///{installed.folder / 'nowhere' / 'portal.db'}"
    message = installed.refused("serve", database_url=url)
    assert f"{installed.folder / 'nowhere'}/portal.db can't be opened: No such file" in message


def test_a_state_folder_that_is_not_there(installed: InstalledPortal) -> None:
    folder = installed.folder / "nowhere"
    assert installed.refused("serve", state_dir=folder) == (
        f"The portal can't start: state_dir {folder} can't be written to: "
        "No such file or directory."
    )


def test_a_state_folder_that_can_not_be_written_to(installed: InstalledPortal) -> None:
    folder = installed.folder / "a-file"
    folder.write_text("")
    assert f"state_dir {folder} can't be written to" in installed.refused("serve", state_dir=folder)


def test_a_port_in_use(installed: InstalledPortal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        message = installed.refused("serve", listen_port=port)
    assert message == (
        f"The portal can't start: 127.0.0.1 port {port}, its listen_host and listen_port: "
        "Address already in use."
    )


def test_small_answers_are_sent_at_once(installed: InstalledPortal) -> None:
    """Otherwise the end of each answer waits for an acknowledgement: 40 ms on a kept connection."""

    async def serve_once(bound: socket.socket) -> int:
        found = asyncio.get_running_loop().create_future()

        def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            found.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(connected, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname()[:2])
            writer.close()
            return int(await found)

    with startup.listener(installed.settings()) as bound:
        assert asyncio.run(serve_once(bound)) == 1


def test_an_address_that_is_not_this_machines(installed: InstalledPortal) -> None:
    assert "192.0.2.1 port " in installed.refused("serve", listen_host="192.0.2.1")


def test_a_state_that_is_being_restored(installed: InstalledPortal) -> None:
    with startup.hold_exclusive_lock(installed.settings()):
        assert "is being restored or migrated" in installed.refused("serve")


def test_a_second_portal_on_the_same_sqlite(installed: InstalledPortal, tmp_path: Path) -> None:
    """In another state folder, too."""
    other = tmp_path / "other"
    other.mkdir()
    with startup.hold_running_lock(installed.settings()):
        url = f"sqlite+aiosqlite:///{installed.database}"
        for changes in ({}, {"state_dir": other, "database_url": url}):
            message = installed.refused("serve", **changes)
            assert message.startswith(
                f"The portal can't start: A portal is already running on {installed.database}"
            )
            assert "PostgreSQL" in message


def test_two_portals_may_share_a_state_folder_with_postgresql(installed: InstalledPortal) -> None:
    settings = installed.settings(database_url="postgresql+psycopg://portal@127.0.0.1/portal")
    with startup.hold_running_lock(settings), startup.hold_running_lock(settings):
        assert "stop it first" in installed.refused("migrate")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("nonsense", "must be a URL, sqlite+aiosqlite:"),
        ("mysql://portal:s3cret@db/portal", "must begin with sqlite+aiosqlite:"),
        ("sqlite:////tmp/x.db", "must begin with sqlite+aiosqlite:"),
        ("postgresql+psycopg://portal:s3cret@db:port/portal", "must be a URL"),
    ],
)
def test_a_wrong_database_url(url: str, sentence: str, installed: InstalledPortal) -> None:
    config = write_config(installed.settings(), installed.folder / "portal.toml")
    env = {"PORTAL_CONFIG": str(config), "PORTAL_DATABASE_URL": url}
    found = CliRunner().invoke(app, ["serve"], env=env)
    assert found.exit_code == 2
    assert f"  database_url: {sentence}" in found.stderr
    assert "s3cret" not in found.stderr


def test_process_prints_only_the_message(installed: InstalledPortal) -> None:
    """Neither the log nor a traceback is printed beside the sentence."""
    installed.make()
    installed.change("UPDATE alembic_version SET version_num = '9999'")
    config = write_config(installed.settings(), installed.folder / "portal.toml")
    argv, options = portal_command("serve", config=config)
    done = subprocess.run(argv, capture_output=True, timeout=60, check=False, **options)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1


class TestMigrate:
    def test_migrate_reports_both_revisions(self, installed: InstalledPortal) -> None:
        assert (
            installed.run("migrate").out == f"The database was migrated from nothing to {HEAD}.\n"
        )
        assert installed.run("migrate").out == f"The database is already at {HEAD}.\n"
        back = installed.run("migrate", "--to", "0014").out
        assert back == f"The database was migrated from {HEAD} to 0014.\n"
        assert installed.run("migrate").out == f"The database was migrated from 0014 to {HEAD}.\n"

    def test_what_was_in_it_stays_both_ways(self, installed: InstalledPortal) -> None:
        installed.make()
        installed.change("INSERT INTO marks VALUES ('mine', '2026-01-01 00:00:00')")
        installed.run("migrate", "--to", "0014")
        installed.run("migrate")
        with closing(sqlite3.connect(installed.database)) as found:
            assert found.execute("SELECT name FROM marks WHERE name = 'mine'").fetchall() == [
                ("mine",)
            ]

    def test_a_revision_that_there_is_not(self, installed: InstalledPortal) -> None:
        installed.make()
        assert "There is no revision 4711. Available: " in installed.refused(
            "migrate", "--to", "4711"
        )

    def test_back_is_never_forward(self, installed: InstalledPortal) -> None:
        url = installed.make()
        command.downgrade(alembic_config(url), "0014")
        message = installed.refused("migrate", "--to", "0015")
        assert message == "The database is at 0014: --to only accepts an older revision."

    def test_not_while_a_portal_runs(self, installed: InstalledPortal) -> None:
        settings = installed.settings()
        config = write_config(settings, installed.folder / "portal.toml")
        argv, options = portal_command("serve", config=config)
        log = installed.folder / "portal.log"
        url = f"http://127.0.0.1:{settings.listen_port}/healthz"
        with log.open("w") as out, subprocess.Popen(argv, stderr=out, **options) as process:
            try:
                wait_until_healthy(url, process, log)
                message = installed.refused("migrate")
            finally:
                process.terminate()
                process.wait(timeout=60)
        assert message == f"A portal is running on {installed.folder}: stop it first."


def test_check_reports_the_same_problem_as_the_start(installed: InstalledPortal) -> None:
    installed.make()
    installed.change("UPDATE alembic_version SET version_num = '9999'")
    done = installed.run("check")
    (line,) = [line for line in done.out.splitlines() if line[8:].startswith("database")]
    assert line.startswith("FAILED  database: ")
    assert "newer than this portal's" in line


def test_the_lock_is_the_state_folders_owners(installed: InstalledPortal) -> None:
    settings = installed.settings()
    with startup.hold_running_lock(settings):
        status = (installed.folder / startup.LOCK).stat()
        assert status.st_mode & 0o777 == 0o600
        assert status.st_uid == installed.folder.stat().st_uid


@pytest.mark.parametrize(
    ("link", "why"),
    [(Path.symlink_to, "can't be written to"), (Path.hardlink_to, "has other hard links")],
)
def test_a_link_in_the_locks_place_gives_nothing_away(
    installed: InstalledPortal, link: Callable[[Path, Path], None], why: str
) -> None:
    """Root would give away the link's target; a hard link is for kernels that permit any user to
    create one."""
    other = installed.folder / "other"
    other.write_text("mine")
    link(installed.folder / startup.LOCK, other)
    with (
        pytest.raises(startup.StartRefused, match=why),
        startup.hold_exclusive_lock(installed.settings()),
    ):
        pass
