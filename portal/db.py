"""The database engine, its sessions, locks and migrations. Knows no tables.

Services and the loops write; a session is short and never open during a call to
Slurm, LDAP, the hub or a node.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import (
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    TypeDecorator,
    event,
    exc,
    func,
    select,
    text,
    update,
)
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.ext.asyncio import (
    AsyncConnection,
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import Session
from sqlalchemy.util import await_

from portal.errors import DatabaseBusy, DatabaseFull, InvalidInput

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"
SQLITE_BUSY_TIMEOUT_MS = 30_000  # for the writes of other processes
WRITER_TIMEOUT_S = 30.0  # for the writes of this process
SQLITE_CONNECTIONS = 10
# Writers that wait hold a connection, and reads need one nevertheless.
SQLITE_MORE_CONNECTIONS = 50
NO_NUL = "cannot contain NUL"  # psycopg's message, before the server is reached
# class of PostgreSQL's advisory locks of the portal; the second number selects the lock
LOCK_CLASS = 0x706F7275


class AdvisoryLock(IntEnum):
    """PostgreSQL's advisory locks that are held for one transaction, by what they serialize."""

    LOGIN_ATTEMPTS = 1
    AUDIT_RETENTION = 2
    DEVICE_LOGINS = 3


def utcnow() -> datetime:
    """Return the present time, aware and in UTC: the only clock for rows."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """Column type: aware datetimes in, aware UTC out, on every database; SQLite would lose the
    zone.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone must not reach the database")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Database:
    """The database engine, opened with the application and closed with it."""

    def __init__(self, url: str, name: str | None = None) -> None:
        """Create the engine. `name` is PostgreSQL's name for the connections."""
        self.url = url
        self.engine = create_engine(url, name)
        # a class of its own, because listeners belong to the class
        self._kind = type("Session", (Session,), {})
        self._sessions = async_sessionmaker(
            self.engine, expire_on_commit=False, sync_session_class=self._kind
        )

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """Open a session that rolls back unless the block commits.

        Raises DatabaseBusy, DatabaseFull.
        """
        async with _completed(), self._sessions() as session:
            yield session

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        """Open a connection for queries without a session. Raises DatabaseBusy, DatabaseFull."""
        async with _completed(), self.engine.connect() as connection:
            yield connection

    def after_flush(self, listener: Callable[[Session, object], None]) -> None:
        """Call the listener whenever rows were flushed, before they are committed."""
        event.listen(self._kind, "after_flush", listener)

    async def migrate(self) -> None:
        """Migrate the schema to the newest revision."""
        await anyio.to_thread.run_sync(upgrade, self.url)

    async def check_answers(self) -> None:
        """Raise an error unless the database answers."""
        async with self.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))

    async def now(self) -> datetime | None:
        """Return the database server's time; None for SQLite, which uses this machine's."""
        if self.engine.dialect.name == "sqlite":
            return None
        async with self.engine.connect() as connection:
            current: datetime = (
                await connection.execute(text("SELECT clock_timestamp()"))
            ).scalar_one()
        return current

    async def close(self) -> None:
        await self.engine.dispose()


@asynccontextmanager
async def _completed() -> AsyncIterator[None]:
    """Complete the block even if its task is cancelled. Raises DatabaseBusy, DatabaseFull.

    When a client breaks off a stream, its task is cancelled, repeatedly until it ends. A query that
    is cut off costs its connection, and the driver leaves a task behind that never ends.
    """
    await anyio.lowlevel.checkpoint_if_cancelled()
    with anyio.CancelScope(shield=True):
        try:
            yield
        except exc.TimeoutError as error:  # no connection became free
            raise DatabaseBusy from error
        except (exc.OperationalError, sqlite3.OperationalError) as error:
            # while a connection is being set up, SQLAlchemy doesn't wrap sqlite3's error
            known = _find_known(getattr(error, "orig", error))
            if known is not None:
                raise known from error
            raise


async def take_advisory_lock(db: AsyncSession, what: AdvisoryLock) -> None:
    """Take an advisory lock of PostgreSQL until this transaction ends: others that take it wait.

    For what has no row to lock; `lock_rows` is for rows. In SQLite there is only one writer anyway,
    from its first change on.
    """
    if db.get_bind().dialect.name == "postgresql":
        await db.execute(select(func.pg_advisory_xact_lock(LOCK_CLASS, what)))


async def lock_rows(db: AsyncSession, table: type[Any], condition: ColumnElement[bool]) -> None:
    """Lock rows of a model until this transaction ends; others that lock or change them wait.

    They are updated without a change, which locks them in PostgreSQL, and the database in SQLite,
    where SELECT FOR UPDATE would do nothing.
    """
    key = table.__mapper__.primary_key[0]
    await db.execute(
        update(table).where(condition).values({key: key}),
        execution_options={"synchronize_session": False},
    )


def create_engine(url: str, name: str | None = None) -> AsyncEngine:
    """Create an engine for SQLite (WAL, foreign keys, file mode 0600) or PostgreSQL."""
    if not url.startswith("sqlite"):
        called = {"application_name": name} if name else {}
        engine = create_async_engine(
            url, pool_pre_ping=True, pool_size=10, max_overflow=10, connect_args=called
        )
        event.listen(engine.sync_engine, "handle_error", _explain_error)
        return engine
    engine = create_async_engine(
        url, pool_size=SQLITE_CONNECTIONS, max_overflow=SQLITE_MORE_CONNECTIONS
    )
    event.listen(engine.sync_engine, "do_connect", lambda *_: _make_private(url))
    event.listen(engine.sync_engine, "connect", _set_sqlite_pragmas)
    _WriterLock(engine)
    return engine


class _WriterLock:
    """Lets one transaction of this process write at a time, in the order of their first changes.

    SQLite has one writer anyway. Without the lock the others poll, and under load some of them poll
    until their timeout is over. A transaction waits with its connection in hand, so that the
    holder of the lock never waits for a connection. Reads never wait. A session that writes while
    its own task has another one with uncommitted changes gets DatabaseBusy.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._lock = asyncio.Lock()
        event.listen(engine.sync_engine, "before_cursor_execute", self._before_statement)
        # a connection is returned when its transaction is over, or detached if it was abandoned
        for returned in ("checkin", "detach"):
            event.listen(engine.sync_engine, returned, self._after_transaction)

    def _before_statement(self, connection: Connection, *rest: Any) -> None:
        """Wait for the lock before the first change of a transaction."""
        _cursor, _statement, _parameters, context, _many = rest
        info = connection.connection.record_info
        if info is None or self in info:
            return
        if context.isinsert or context.isupdate or context.isdelete:
            await_(self._acquire())
            info[self] = True

    def _after_transaction(self, _connection: Any, record: Any) -> None:
        if record.record_info.pop(self, False):
            self._lock.release()

    async def _acquire(self) -> None:
        try:
            async with asyncio.timeout(WRITER_TIMEOUT_S):
                await self._lock.acquire()
        except TimeoutError as error:
            raise DatabaseBusy from error


def alembic_config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    return config


def upgrade(url: str, revision: str = "head") -> None:
    """Run the migrations; blocks, and must not be called in an event loop."""
    command.upgrade(alembic_config(url), revision)


def sqlite_file(url: str) -> Path | None:
    """Return the file of an SQLite URL; None for another database, or one in memory."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in {None, "", ":memory:"}:
        return None
    return Path(str(parsed.database))


def _make_private(url: str) -> None:
    """Create the file before SQLite does, which would follow the umask. -wal and -shm get the same
    mode.

    An existing file is not opened: closing it would drop the locks that SQLite holds on it for this
    process, and another process could delete the log of this one's transactions
    (sqlite.org/howtocorrupt.html, 2.2).
    """
    file = sqlite_file(url)
    if file is None:
        return
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    file.chmod(0o600)


def _explain_error(failed: ExceptionContext) -> BaseException | None:
    """Convert an error about a NUL character in text, which SQLite accepts and PostgreSQL refuses:
    the client sent it.
    """
    if isinstance(failed.original_exception, psycopg.DataError) and NO_NUL in str(
        failed.original_exception
    ):
        return InvalidInput("The request can't be read.")
    return None


def _find_known(error: object) -> DatabaseBusy | DatabaseFull | None:
    """Return the error for users if SQLite stays locked by another process, or a database has no
    space.
    """
    code = getattr(error, "sqlite_errorcode", 0)  # with further bits for the kind of lock
    if code & 0xFF == sqlite3.SQLITE_BUSY:
        return DatabaseBusy()
    # the latter: after a start, SQLite finds no space for its shared memory, so it can't even read
    if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}:
        return DatabaseFull()
    if isinstance(error, psycopg.errors.DiskFull):
        return DatabaseFull()
    return None


def _set_sqlite_pragmas(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_TIMEOUT_MS}")
    cursor.close()
