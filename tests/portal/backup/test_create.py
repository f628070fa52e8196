"""Backup of a running portal under writes, and restore into an empty state.

Both run on the command line, as processes.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from alembic import command as alembic_command
from typer.testing import CliRunner

from portal.cli.main import app
from portal.config.settings import Settings
from portal.db import Database, alembic_config, upgrade, utcnow
from portal.models import Announcement, Base, ImageImport, ImportState, User, WebSession
from tests.portal.cli.test_main import command, wait_until_healthy
from tests.portal.command_line import Done, write_config
from tests.portal.conftest import MakeSettings
from tests.servers.slapd import free_port

HUB_TOKEN = "hub-" + "x" * 32


@dataclass(frozen=True)
class Place:
    """A portal's folder, its settings and their file."""

    folder: Path
    settings: Settings
    config: Path

    @property
    def database(self) -> Path:
        return self.folder / "portal.db"

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.database)) as found:
            return found.execute(question).fetchall()


@pytest.fixture
def place(make_settings: MakeSettings, tmp_path: Path) -> Place:
    images = tmp_path / "imported"
    images.mkdir()
    # always SQLite, whatever the other tests use: test_postgresql.py covers PostgreSQL
    settings = make_settings(listen_port=free_port(), image_import_dir=images, database_url="")
    return Place(tmp_path, settings, write_config(settings, tmp_path / "portal.toml"))


@contextmanager
def serving(place: Place) -> Iterator[subprocess.Popen[str]]:
    argv, options = command("serve", config=place.config)
    log = place.folder / "portal.log"
    url = f"http://127.0.0.1:{place.settings.listen_port}/healthz"
    with log.open("w") as out, subprocess.Popen(argv, stderr=out, **options) as process:
        try:
            wait_until_healthy(url, process, log)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


@contextmanager
def writing(database: Path) -> Iterator[None]:
    """Write pairs of rows, each pair in one transaction, until the block ends.

    A copy with half a pair would be inconsistent. The first pair exists when the block begins.
    """
    begun, stop, problems = threading.Event(), threading.Event(), list[BaseException]()

    def write() -> None:
        try:
            with closing(sqlite3.connect(database, timeout=30)) as out:
                at = 0
                while not stop.is_set():
                    at += 1
                    pair = [(f"left {at}",), (f"right {at}",)]
                    out.executemany("INSERT INTO marks VALUES (?, '2026-01-01 00:00:00')", pair)
                    out.commit()
                    begun.set()
        except sqlite3.Error as error:
            problems.append(error)
        finally:
            begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not problems


def run(*arguments: str, config: Path | None = None) -> Done:
    """Run the command in this process, because starting a process takes longer than the command."""
    found = CliRunner().invoke(app, arguments, env={"PORTAL_CONFIG": str(config or "")})
    return Done(found.exit_code, found.stdout, found.stderr)


def fill(place: Place, *more: Base) -> None:
    """Add some data that a backup must contain: rows, and a second factor's key."""

    async def work() -> None:
        database = Database(place.settings.database)
        await database.migrate()
        async with database.session() as db:
            db.add(Announcement(title="Maintenance", created_by="root", updated_by="root"))
            imported = {"reference": "docker://a/b", "file": "b.sif", "requested_by": "root"}
            db.add(ImageImport(state=ImportState.DONE, **imported))
            for row in more:
                db.add(row)
                await db.flush()
            await db.commit()
        await database.close()

    asyncio.run(work())
    key = place.folder / "second-factor.key"
    key.touch(mode=0o600)
    key.write_text("key-" + "k" * 60)


def backed_up(place: Place) -> Path:
    file = place.folder / "backup"
    done = run("backup", str(file), config=place.config)
    assert (done.code, done.err) == (0, "")
    return file


def emptied(place: Place, keep: Path) -> Path:
    """Remove all state from the machine: the database, secrets and settings."""
    kept = place.folder.parent / f"{place.folder.name}-backup"
    shutil.move(keep, kept)
    for name in ("portal.db", "portal.db-wal", "portal.db-shm", "portal.toml", "second-factor.key"):
        (place.folder / name).unlink(missing_ok=True)
    for secret in place.folder.glob("*.secret"):
        secret.unlink()
    return kept


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def test_a_running_portals_state_comes_back_whole(place: Place) -> None:
    fill(place)
    with serving(place), writing(place.database):
        file = backed_up(place)
    assert file.stat().st_mode & 0o777 == 0o600
    before = {name: data for name, data in files(place.folder).items() if "secret" in name}
    config = place.config.read_bytes()

    kept = emptied(place, file)
    done = run("restore", str(kept), config=place.config)
    assert (done.code, done.err) == (0, "")
    assert "Imported, but its file is missing: b.sif" in done.out

    assert place.config.read_bytes() == config
    for name, data in before.items():
        assert (place.folder / name).read_bytes() == data
        assert (place.folder / name).stat().st_mode & 0o777 == 0o600
    assert (place.folder / "second-factor.key").read_text() == "key-" + "k" * 60
    assert place.database.stat().st_mode & 0o777 == 0o600
    assert place.rows("SELECT title FROM announcements") == [("Maintenance",)]
    pairs = dict(
        place.rows(
            "SELECT substr(name, 1, 4), count(*) FROM marks WHERE name LIKE '% %' GROUP BY 1"
        )
    )
    assert pairs["left"] == pairs["righ"]
    with serving(place):
        assert place.rows("SELECT state, file FROM image_imports") == [("done", "b.sif")]


def test_backup_lists_what_it_includes_and_excludes(place: Place) -> None:
    fill(place)
    done = run("backup", str(place.folder / "backup"), config=place.config)
    for part in ("database", "settings/portal.toml", "secrets/second_factor_key"):
        assert f"  {part} (" in done.out
    assert str(place.settings.image_dir) in done.out.partition("Not included:")[2]
    assert HUB_TOKEN not in done.out


def test_everybody_logs_in_again(place: Place) -> None:
    """A login that ended after the backup must not be restored."""
    fill(
        place,
        User(id="u", username="alice"),
        WebSession(user_id="u", token_hash="x", expires_at=utcnow()),
    )
    assert place.rows("SELECT count(*) FROM web_sessions") == [(1,)]
    kept = emptied(place, backed_up(place))
    assert run("restore", str(kept), config=place.config).code == 0
    assert place.rows("SELECT count(*) FROM web_sessions") == [(0,)]
    assert place.rows("SELECT username FROM users") == [("alice",)]


def test_a_backup_is_never_written_over_a_file(place: Place) -> None:
    fill(place)
    there = place.folder / "backup"
    there.write_text("mine")
    done = run("backup", str(there), config=place.config)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"{there} already exists: choose a new file name.\n"
    assert there.read_text() == "mine"


@pytest.mark.parametrize("name", ["nowhere/backup", "backup"])
def test_a_backup_that_can_not_be_made_is_one_sentence(place: Place, name: str) -> None:
    """A missing folder, or a missing database."""
    if "/" in name:
        fill(place)
    done = run("backup", str(place.folder / name), config=place.config)
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert not (place.folder / name).exists()


class TestRefused:
    """Refusals have a message, and change nothing."""

    def refused(self, place: Place, file: Path, *options: str) -> str:
        before = files(place.folder)
        done = run("restore", str(file), *options, config=place.config)
        assert done.code == 1
        assert done.out == ""
        after = files(place.folder)
        after.pop("portal.lock", None)
        before.pop("portal.lock", None)
        assert after == before
        (line,) = done.err.splitlines()
        return line

    def test_a_portal_that_runs(self, place: Place) -> None:
        fill(place)
        file = backed_up(place)
        with serving(place):
            done = run("restore", "--replace", str(file), config=place.config)
        assert done.code == 1
        assert done.err == f"A portal is running on {place.folder}: stop it first.\n"
        assert place.rows("SELECT title FROM announcements") == [("Maintenance",)]

    def test_a_state_that_is_there(self, place: Place) -> None:
        fill(place)
        message = self.refused(place, backed_up(place))
        assert (
            message
            == f"The database {place.database} already exists: use --replace to move it aside."
        )

    def test_a_secret_that_is_another(self, place: Place) -> None:
        fill(place)
        kept = emptied(place, backed_up(place))
        other = place.folder / "hub.secret"
        other.touch(mode=0o600)
        other.write_text("another-" + "y" * 32)
        message = self.refused(place, kept)
        assert (
            message
            == f"hub_token_file {other} contains a different secret: use --replace to replace it."
        )

    def test_a_schema_of_a_newer_portal(self, place: Place) -> None:
        fill(place)
        with closing(sqlite3.connect(place.database)) as out:
            out.execute("UPDATE alembic_version SET version_num = '9999'")
            out.commit()
        kept = emptied(place, backed_up(place))
        message = self.refused(place, kept)
        assert "has schema 9999" in message
        assert "restore with the newer portal" in message

    def test_a_damaged_file(self, place: Place) -> None:
        fill(place)
        kept = emptied(place, backed_up(place))
        data = bytearray(kept.read_bytes())
        data[len(data) // 2] ^= 0xFF
        kept.write_bytes(data)
        assert "damaged" in self.refused(place, kept)

    def test_no_settings_anywhere(self, place: Place) -> None:
        fill(place)
        kept = emptied(place, backed_up(place))
        done = run("restore", str(kept))
        assert done.code == 1
        assert "PORTAL_CONFIG" in done.err


def test_replacing_keeps_what_was_there(place: Place) -> None:
    fill(place)
    file = backed_up(place)
    with closing(sqlite3.connect(place.database)) as out:
        out.execute("UPDATE announcements SET title = 'Later'")
        out.commit()
    done = run("restore", "--replace", str(file), config=place.config)
    assert (done.code, done.err) == (0, "")
    assert place.rows("SELECT title FROM announcements") == [("Maintenance",)]
    (aside,) = place.folder.glob("portal.db.before-restore-*")
    assert f"The previous state was moved to {aside}" in done.out
    with closing(sqlite3.connect(aside)) as found:
        assert found.execute("SELECT title FROM announcements").fetchall() == [("Later",)]


def test_an_older_schema_is_migrated(place: Place) -> None:
    upgrade(place.settings.database)
    fill(place)
    alembic_command.downgrade(alembic_config(place.settings.database), "0014")
    kept = emptied(place, backed_up(place))
    done = run("restore", str(kept), config=place.config)
    assert (done.code, done.err) == (0, "")
    assert "The schema was migrated from 0014 to " in done.out
    assert place.rows("SELECT title FROM announcements") == [("Maintenance",)]
    with serving(place):
        assert place.rows("SELECT version_num FROM alembic_version") != [("0014",)]


def test_a_restore_that_was_broken_off_is_run_again(place: Place) -> None:
    """Secrets come first: with them restored and the database missing, a second run succeeds."""
    fill(place)
    kept = emptied(place, backed_up(place))
    assert run("restore", str(kept), config=place.config).code == 0
    place.database.unlink()
    done = run("restore", str(kept), config=place.config)
    assert (done.code, done.err) == (0, "")
    assert place.rows("SELECT title FROM announcements") == [("Maintenance",)]
