"""The database's engine, its sessions, and its migrations. Knows no table.

Only services and the reconcile loop write; a session is short and never open across a call to
Slurm, LDAP, the hub or a node.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio.to_thread
import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import DateTime, Dialect, TypeDecorator, event, func, select, text
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import Session

from portal.errors import InvalidInput

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"
SQLITE_BUSY_TIMEOUT_MS = 10_000
NO_NUL = "cannot contain NUL"  # psycopg's words, before the server is asked
OWN_LOCKS = 0x706F7275  # of PostgreSQL's advisory locks; the numbers in it say what of


def utcnow() -> datetime:
    """Now, aware and in UTC: the only clock that rows are written from."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """Aware in, aware UTC out, on every database; SQLite alone would forget the zone."""

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
    """One engine, opened with the application and closed with it."""

    def __init__(self, url: str, name: str | None = None) -> None:
        """`name` is what PostgreSQL calls the connections."""
        self.url = url
        self.engine = create_engine(url, name)
        self._kind = type("Session", (Session,), {})  # of its own: listeners are the class's
        self._sessions = async_sessionmaker(
            self.engine, expire_on_commit=False, sync_session_class=self._kind
        )

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """A session that rolls back unless the block commits."""
        async with self._sessions() as session:
            yield session

    def after_flush(self, listener: Callable[[Session, object], None]) -> None:
        """Call this whenever rows were written, before they are committed."""
        event.listen(self._kind, "after_flush", listener)

    async def migrate(self) -> None:
        """Bring the schema to the newest revision."""
        await anyio.to_thread.run_sync(upgrade, self.url)

    async def answers(self) -> None:
        """Raise unless the database answers."""
        async with self.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))

    async def now(self) -> datetime | None:
        """The database server's own time; None of SQLite, which has this machine's."""
        if self.engine.dialect.name == "sqlite":
            return None
        async with self.engine.connect() as connection:
            found: datetime = (
                await connection.execute(text("SELECT clock_timestamp()"))
            ).scalar_one()
        return found

    async def close(self) -> None:
        await self.engine.dispose()


async def one_by_one(db: AsyncSession, what: int) -> None:
    """Others who say this of the same wait until this transaction ends, before they look at what it
    writes. SQLite has one writer anyway, from its first change on."""
    if db.get_bind().dialect.name == "postgresql":
        await db.execute(select(func.pg_advisory_xact_lock(OWN_LOCKS, what)))


def create_engine(url: str, name: str | None = None) -> AsyncEngine:
    """An engine for SQLite (WAL, foreign keys, file mode 0600) or PostgreSQL."""
    if not url.startswith("sqlite"):
        called = {"application_name": name} if name else {}
        engine = create_async_engine(
            url, pool_pre_ping=True, pool_size=10, max_overflow=10, connect_args=called
        )
        event.listen(engine.sync_engine, "handle_error", _explained)
        return engine
    _make_private(url)
    engine = create_async_engine(url)
    event.listen(engine.sync_engine, "connect", _sqlite_pragmas)
    return engine


def alembic_config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    return config


def upgrade(url: str, revision: str = "head") -> None:
    """Run the migrations; blocks, and must not be called inside an event loop."""
    command.upgrade(alembic_config(url), revision)


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite URL; None for another database, or one in memory."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in {None, "", ":memory:"}:
        return None
    return Path(str(parsed.database))


def _make_private(url: str) -> None:
    """Make the file before SQLite does: it would follow the umask. -wal and -shm follow it."""
    file = sqlite_file(url)
    if file is not None:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        file.chmod(0o600)


def _explained(failed: ExceptionContext) -> BaseException | None:
    """Text with a NUL in it, which SQLite takes and PostgreSQL doesn't, comes from whoever asks:
    the fault isn't ours."""
    if isinstance(failed.original_exception, psycopg.DataError) and NO_NUL in str(
        failed.original_exception
    ):
        return InvalidInput("The request can't be read.")
    return None


def _sqlite_pragmas(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_TIMEOUT_MS}")
    cursor.close()
