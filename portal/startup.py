"""Preconditions of the portal's start: each one that fails stops it with one message.

The state folder is locked while a portal runs (shared: with PostgreSQL a second one may be
standby), and exclusively by restore and `portal migrate`. SQLite is for one portal only.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from portal import __version__, systemd
from portal.backup import revisions
from portal.backup.revisions import VERSION_TABLE, Schema, database_name
from portal.config.settings import Settings
from portal.db import Database, sqlite_file
from portal.node_ca import NodeCaError, open_ca

LOCK = "portal.lock"
RESTORE_HINT = "Restore the backup made before the upgrade, as described in docs/operation.md."


class StartRefused(Exception):
    """The portal cannot start; the message has the reason, the place, and the remedy."""


# --- the state folder -----------------------------------------------------------------------------


@contextmanager
def hold_running_lock(settings: Settings) -> Iterator[None]:
    """Hold the lock of a running portal."""
    lock = settings.state_dir / LOCK
    busy = "The state is being restored or migrated; try again later."
    with ExitStack() as stack:
        stack.enter_context(_hold_lock(lock, _state_dir_error(settings), fcntl.LOCK_SH, busy))
        if database := sqlite_file(settings.database):
            lock = database.with_name(f"{database.name}.lock")
            busy = (
                f"A portal is already running on {database}, and SQLite supports only one: stop "
                "that portal, or use PostgreSQL for both, as described in docs/operation.md."
            )
            no_file = f"The database {database_name(settings.database)} can't be opened"
            stack.enter_context(_hold_lock(lock, no_file, fcntl.LOCK_EX, busy))
        yield


@contextmanager
def hold_exclusive_lock(settings: Settings) -> Iterator[None]:
    """Hold the exclusive lock, so that no other process has the state open."""
    stop = f"A portal is running on {settings.state_dir}: stop it first."
    lock = settings.state_dir / LOCK
    with _hold_lock(lock, _state_dir_error(settings), fcntl.LOCK_EX, stop):
        yield


def _state_dir_error(settings: Settings) -> str:
    return f"state_dir {settings.state_dir} can't be written to"


@contextmanager
def _hold_lock(file: Path, no_file: str, how: int, busy: str) -> Iterator[None]:
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(file, flags, 0o600)
    except OSError as error:
        raise StartRefused(f"{no_file}: {error.strerror}.") from error
    try:
        owner = file.parent.stat()
        if os.geteuid() == 0:
            # Root may run a restore; the portal's account must be able to lock the file afterwards.
            # a hard link could be another name of a file of root's
            if os.fstat(lock).st_nlink != 1:
                raise StartRefused(f"{no_file}: {file} has other hard links; remove it.")
            os.fchown(lock, owner.st_uid, owner.st_gid)
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StartRefused(busy) from error
        yield
    finally:
        os.close(lock)


# --- the port -------------------------------------------------------------------------------------


def listener(settings: Settings, fd: int | None = None) -> socket.socket:
    """Return a socket that listens on the portal's port.

    One that was passed, by its number or by systemd, outlives the process: clients that connect in
    between wait for the next one.
    """
    try:
        fd = systemd.take_socket() if fd is None else fd
    except systemd.WrongSocketCount as error:
        raise StartRefused(str(error)) from error
    if fd is not None:
        return _open_passed_socket(settings, fd)
    host, port = settings.listen_host, settings.listen_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        # Two sockets can be bound to one port, but only one of them can listen.
        bound.listen(2048)
    except OSError as error:
        bound.close()
        reason = error.strerror or str(error)
        sentence = f"{host} port {port}, its listen_host and listen_port: {reason}."
        raise StartRefused(sentence) from error
    return bound


def _open_passed_socket(settings: Settings, fd: int) -> socket.socket:
    """Return the passed socket. Raises StartRefused unless it listens on the portal's port."""
    try:
        passed = socket.socket(fileno=fd)
        passed.set_inheritable(False)
        address = passed.getsockname()
        listens = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise StartRefused(f"No socket was passed as {fd}: {error.strerror}.") from error
    if not listens or not isinstance(address, tuple) or address[1] != settings.listen_port:
        passed.close()
        raise StartRefused(
            f"The socket passed as {fd} doesn't listen on port {settings.listen_port}, the "
            "portal's listen_port."
        )
    return passed


# --- the authority for nodes ----------------------------------------------------------------------


def prepare_node_ca(settings: Settings) -> None:
    """Create the authority for nodes if it is configured and does not exist yet."""
    try:
        open_ca(settings)
    except NodeCaError as error:
        raise StartRefused(f"{error}. Check node_ca_key_file and state_dir.") from error


# --- the database ---------------------------------------------------------------------------------


def open_database(settings: Settings) -> Database:
    """Open the database. Raises StartRefused if SQLite's file cannot be created."""
    try:
        return Database(settings.database)
    except OSError as error:
        where = database_name(settings.database)
        raise StartRefused(f"The database {where} can't be opened: {error.strerror}.") from error


async def prepare_database(settings: Settings) -> None:
    """Migrate the schema to this version's if the settings say so; refuse any other schema."""
    database = open_database(settings)
    try:
        schema = await load_schema(database)
        refuse_unusable(database.url, schema)
        if schema.revision == revisions.head():
            return
        if not settings.migrates_at_start:
            raise StartRefused(
                f"The database {database_name(database.url)} is at revision "
                f"{_format_revision(schema.revision)}; this portal needs {revisions.head()}: back "
                "it up, then run `portal migrate`."
            )
        await migrate(database, schema)
    finally:
        await database.close()


async def load_schema(database: Database) -> Schema:
    """Return the database's schema. Raises StartRefused if the database does not answer."""
    try:
        async with database.engine.connect() as connection:
            return await connection.run_sync(revisions.read_schema)
    except (SQLAlchemyError, OSError) as error:
        name, cause = database_name(database.url), in_short(error).rstrip(".?")
        raise StartRefused(
            f"The database {name} can't be opened: {cause}. Check database_url and state_dir, and "
            "that the database server runs."
        ) from error


def refuse_unusable(url: str, schema: Schema) -> None:
    """Refuse a schema that is newer than this portal, or left by an interrupted migration."""
    where = f"The database {database_name(url)}"
    if schema.revision is None and schema.tables - {VERSION_TABLE}:
        raise StartRefused(
            f"{where} has tables but no schema revision: it isn't the portal's, or a migration "
            f"was interrupted. {RESTORE_HINT}"
        )
    if schema.revision is not None and schema.revision not in revisions.list_revisions():
        raise StartRefused(
            f"{where} is at revision {schema.revision}, newer than this portal's "
            f"{revisions.head()} (version {__version__}): start the newer portal, or restore the "
            "backup made before the upgrade."
        )
    if schema.missing:
        names = ", ".join(schema.missing[:5])
        raise StartRefused(
            f"{where} is marked as revision {schema.revision}, but lacks {names}: a migration was "
            f"interrupted. {RESTORE_HINT}"
        )


async def migrate(database: Database, schema: Schema) -> None:
    """Migrate from the present schema to this version's, completely or not at all."""
    try:
        await database.migrate()
    except (SQLAlchemyError, CommandError, OSError) as error:
        raise StartRefused(
            f"The database {database_name(database.url)} can't be migrated from revision "
            f"{_format_revision(schema.revision)} to {revisions.head()}, and was left unchanged: "
            f"{in_short(error)}. {RESTORE_HINT}"
        ) from error


def _format_revision(revision: str | None) -> str:
    return revision or "none"


def in_short(error: Exception) -> str:
    """Return the database's error on one line, without the statement and its values."""
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split())[:300].rstrip(".") or type(cause).__name__
