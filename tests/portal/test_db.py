"""SQLite with many writers, a database that stays locked, and queries whose caller is cancelled."""

import asyncio
import gc
import os
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from sqlalchemy import event, exc, func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database, _WriterLock, sqlite_file, utcnow
from portal.errors import DatabaseBusy, DatabaseFull
from portal.models import LoginFailure
from tests.needs import needs_root
from tests.polling import PATIENCE_S, until
from tests.portal.conftest import RunPortal
from tests.servers import databases

pytestmark = pytest.mark.anyio
WRITERS = 50
BUSY_MS = 200
SLOW_QUERY = text(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
    "SELECT count(*) FROM n"
)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return an SQLite database, whatever the other tests use, with a short timeout."""
    monkeypatch.setattr("portal.db.SQLITE_BUSY_TIMEOUT_MS", BUSY_MS)
    made = f"sqlite+aiosqlite:///{tmp_path / 'portal.db'}"
    databases.copy_empty(made)
    return made


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    made = Database(url)
    yield made
    await made.close()


def add_row(db: AsyncSession, name: str) -> None:
    db.add(LoginFailure(username=name, ip="192.0.2.1", kind="password", browser="", at=utcnow()))


async def count_rows(db: AsyncSession) -> int:
    return await db.scalar(select(func.count()).select_from(LoginFailure)) or 0


async def test_writers_wait_for_a_slow_one_longer_than_the_timeout(database: Database) -> None:
    """They are served in turn, and reads don't wait for them."""
    waiting = 0
    writing, release = asyncio.Event(), asyncio.Event()

    async def write_slowly() -> None:
        async with database.session() as db:
            add_row(db, "slow")
            await db.flush()
            writing.set()
            await release.wait()
            await db.commit()

    async def write(name: str) -> None:
        nonlocal waiting
        async with database.session() as db:
            await count_rows(db)
            add_row(db, name)
            waiting += 1
            await db.commit()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(write_slowly())
        await writing.wait()
        for number in range(WRITERS):
            tasks.create_task(write(f"writer {number}"))
        await until(lambda: waiting == WRITERS, "all have begun")
        for _ in range(20):
            async with database.session() as db:
                assert await count_rows(db) == 0
        await asyncio.sleep(3 * BUSY_MS / 1000)  # the timeout of SQLite is over
        release.set()
    async with database.session() as db:
        assert await count_rows(db) == WRITERS + 1


async def test_writers_are_served_in_the_order_of_their_first_changes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[int] = []
    begun: list[Any] = []  # changes that have reached the queue
    acquire = _WriterLock._acquire

    async def counted(lock: _WriterLock) -> None:
        begun.append(lock)
        await acquire(lock)

    async def write(number: int) -> None:
        async with database.session() as db:
            add_row(db, f"writer {number}")
            await db.commit()
            served.append(number)

    async with database.session() as first:
        add_row(first, "first")
        await first.flush()
        monkeypatch.setattr(_WriterLock, "_acquire", counted)
        async with asyncio.TaskGroup() as tasks:
            for number in range(10):
                tasks.create_task(write(number))
                await until(lambda: len(begun) > number, "it waits for its turn")  # noqa: B023
            await first.commit()
    assert served == list(range(10))


async def test_a_session_that_has_read_may_write_after_another_commit(database: Database) -> None:
    """Its read has left no snapshot, which SQLite would refuse to write from."""
    async with database.session() as reader:
        await count_rows(reader)
        async with database.session() as other:
            add_row(other, "other")
            await other.commit()
        add_row(reader, "reader")
        await reader.commit()
        assert await count_rows(reader) == 2


async def test_a_writer_that_fails_or_is_cancelled_lets_the_next_one_write(
    database: Database,
) -> None:
    async def write(end: asyncio.Event | None) -> None:
        async with database.session() as db:
            add_row(db, "unfinished")
            await db.flush()
            if end is None:
                raise ValueError("a bug")
            end.set()
            await asyncio.Event().wait()

    with pytest.raises(ValueError, match="a bug"):
        await write(None)
    wrote = asyncio.Event()
    task = asyncio.create_task(write(wrote))
    await wrote.wait()
    task.cancel()
    await asyncio.wait({task})
    async with asyncio.timeout(PATIENCE_S), database.session() as db:
        add_row(db, "next")
        await db.commit()
        assert await count_rows(db) == 1


async def test_a_writer_inside_another_ends_instead_of_waiting_forever(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.db.WRITER_TIMEOUT_S", 0.05)
    async with database.session() as outer:
        add_row(outer, "outer")
        await outer.flush()
        with pytest.raises(DatabaseBusy):
            async with database.session() as inner:
                add_row(inner, "inner")
                await inner.commit()
        await outer.commit()
    async with database.session() as db:
        assert await count_rows(db) == 1


async def test_a_locked_database_is_503(url: str, run_portal: RunPortal, tmp_path: Path) -> None:
    async with run_portal(database_url=url) as portal, portal.browser() as browser:
        other_program = sqlite3.connect(tmp_path / "portal.db", isolation_level=None)
        other_program.execute("BEGIN IMMEDIATE")
        answer = await browser.login("alice")
        assert (answer.status, answer.slug) == (503, "database-busy")
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.headers["Retry-After"] == "5"
        other_program.close()
        assert (await browser.login("alice")).status == 200


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs"]
    subprocess.run([*mount, str(disk)], check=True, timeout=60)
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True, timeout=60)


def fill(file: Path) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as filling:
        while True:
            filling.write(bytes(4096))


@needs_root("it mounts a small disk")
async def test_a_full_disk_is_503_also_after_a_restart(
    run_portal: RunPortal, small_disk: Path
) -> None:
    url = f"sqlite+aiosqlite:///{small_disk / 'portal.db'}"
    databases.copy_empty(url)
    full = small_disk / "full"
    async with run_portal(database_url=url) as portal, portal.browser() as browser:
        fill(full)
        answer = await browser.login("alice")
        assert (answer.status, answer.slug) == (503, "database-full")
        assert "disk is full" in answer.body["detail"]
        full.unlink()
        assert (await browser.login("alice")).status == 200
    database = Database(url)
    fill(full)
    try:
        with pytest.raises(DatabaseFull):
            async with database.session() as db:
                await count_rows(db)
        full.unlink()
        async with database.session() as db:
            await count_rows(db)
    finally:
        await database.close()


async def test_postgresql_on_a_full_disk_is_full(database: Database) -> None:
    refusal = exc.OperationalError("INSERT", {}, psycopg.errors.DiskFull())
    with pytest.raises(DatabaseFull):
        async with database.session():
            raise refusal


@pytest.mark.parametrize("kind", ["session", "connection"])
async def test_no_free_connection_is_busy(
    url: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("portal.db.SQLITE_CONNECTIONS", 1)
    monkeypatch.setattr("portal.db.SQLITE_MORE_CONNECTIONS", 0)
    database = Database(url)
    monkeypatch.setattr(database.engine.pool, "_timeout", 0.1)
    try:
        async with database.connection() as held:
            await held.execute(text("SELECT 1"))
            with pytest.raises(DatabaseBusy):
                async with getattr(database, kind)() as other:
                    await other.execute(text("SELECT 1"))
    finally:
        await database.close()


@pytest.mark.parametrize("kind", ["session", "connection"])
async def test_a_cancelled_query_is_completed(database: Database, kind: str) -> None:
    """A client that breaks off a stream cancels it. Its connection remains usable, and no task is
    left behind.
    """
    loop = asyncio.get_running_loop()
    reported: list[Any] = []
    invalidated: list[Any] = []
    began = asyncio.Event()
    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", lambda *_: began.set())
    event.listen(engine, "invalidate", lambda *given: invalidated.append(given))
    loop.set_exception_handler(lambda _loop, context: reported.append(context))

    async def read() -> None:
        while True:
            async with getattr(database, kind)() as db:
                await db.execute(SLOW_QUERY)

    async with asyncio.timeout(PATIENCE_S), anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await began.wait()
        tasks.cancel_scope.cancel()
    gc.collect()
    loop.set_exception_handler(None)
    assert (invalidated, reported) == ([], [])


async def test_a_new_connection_keeps_the_locks_of_the_others(database: Database) -> None:
    """Else another process, such as `portal check`, could delete the log of their transactions."""
    file = sqlite_file(database.url)
    assert file is not None
    async with database.engine.connect() as connection:
        await connection.execute(text("SELECT count(*) FROM users"))
        before = list_locks(file)
        assert before
        async with database.engine.connect() as other:
            await other.execute(text("SELECT count(*) FROM users"))
            assert list_locks(file) == before


def list_locks(file: Path) -> list[str]:
    """Return this process's locks of the file, as in proc_locks(5)."""
    inode = f":{file.stat().st_ino} "
    lines = Path("/proc/locks").read_text().splitlines()
    return [line.split(":", 1)[1] for line in lines if f" {os.getpid()} " in line and inode in line]
