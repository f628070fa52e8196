"""What must hold before the portal serves: each thing that doesn't stops it with one sentence.

The state folder is locked while a portal runs (shared: with PostgreSQL a second one may stand by),
and by what must be alone with the state: restore and `portal migrate`. SQLite is one portal's.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from portal import __version__, revisions
from portal.db import Database, sqlite_file
from portal.node_ca import NodeCaError, open_ca
from portal.revisions import VERSION_TABLE, Schema, place
from portal.settings import Settings

LOCK = "portal.lock"
FIRST_FD = 3  # of those that systemd hands over
BROKEN_OFF = "Restore the backup made before the upgrade: docs/operation.md says how."


class StartRefused(Exception):
    """One sentence: what is the matter, where, and what to do."""


# --- the state folder -----------------------------------------------------------------------------


@contextmanager
def running(settings: Settings) -> Iterator[None]:
    """As long as a portal runs."""
    lock = settings.state_dir / LOCK
    busy = "The state is being restored or migrated; try later."
    with ExitStack() as stack:
        stack.enter_context(_locked(lock, _in_state_dir(settings), fcntl.LOCK_SH, busy))
        if database := sqlite_file(settings.database):
            lock = database.with_name(f"{database.name}.lock")
            busy = (
                f"A portal is running on {database} already, and SQLite is for one: end that one, "
                "or let both use PostgreSQL, as docs/operation.md says."
            )
            no_file = f"The database {place(settings.database)} can't be opened"
            stack.enter_context(_locked(lock, no_file, fcntl.LOCK_EX, busy))
        yield


@contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """While nobody else may have the state open."""
    stop = f"A portal is running on {settings.state_dir}: stop it first."
    lock = settings.state_dir / LOCK
    with _locked(lock, _in_state_dir(settings), fcntl.LOCK_EX, stop):
        yield


def _in_state_dir(settings: Settings) -> str:
    return f"state_dir {settings.state_dir} can't be written to"


@contextmanager
def _locked(file: Path, no_file: str, how: int, busy: str) -> Iterator[None]:
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(file, flags, 0o600)
    except OSError as error:
        raise StartRefused(f"{no_file}: {error.strerror}.") from error
    try:
        owner = file.parent.stat()
        if os.geteuid() == 0:
            # root may restore; the portal's account must be able to lock it afterwards
            if os.fstat(lock).st_nlink != 1:  # it may be another name of a file of root's
                raise StartRefused(f"{no_file}: {file} has other names; remove it.")
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
    """Bound to the portal's port, which nobody else has then. One that was handed over, by its
    number or by systemd, outlives the process: who connects meanwhile waits for the next."""
    fd = _from_systemd() if fd is None else fd
    if fd is not None:
        return _handed_over(settings, fd)
    host, port = settings.listen_host, settings.listen_port
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        # two sockets may be bound to one port, and only one of them may listen
        bound.listen(2048)
    except OSError as error:
        bound.close()
        reason = error.strerror or str(error)
        sentence = f"{host} port {port}, its listen_host and listen_port: {reason}."
        raise StartRefused(sentence) from error
    return bound


def _from_systemd() -> int | None:
    """The socket of portal.socket, by systemd's protocol: sd_listen_fds(3)."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    for name in ("LISTEN_PID", "LISTEN_FDNAMES"):  # ours, and no child's
        os.environ.pop(name, None)
    if (count := os.environ.pop("LISTEN_FDS", "")) != "1":
        raise StartRefused(f"systemd hands over {count or 'no'} sockets: portal.socket has one.")
    return FIRST_FD


def _handed_over(settings: Settings, fd: int) -> socket.socket:
    """Raises StartRefused for what isn't a socket at the portal's port."""
    try:
        found = socket.socket(fileno=fd)
        found.set_inheritable(False)
        address = found.getsockname()
        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise StartRefused(f"No socket was handed over as {fd}: {error.strerror}.") from error
    if not listens or not isinstance(address, tuple) or address[1] != settings.listen_port:
        found.close()
        raise StartRefused(
            f"The socket that was handed over as {fd} doesn't listen on port "
            f"{settings.listen_port}, the portal's listen_port."
        )
    return found


# --- the authority for nodes ----------------------------------------------------------------------


def prepare_node_ca(settings: Settings) -> None:
    """Make it where it is wanted and isn't there yet."""
    try:
        open_ca(settings)
    except NodeCaError as error:
        raise StartRefused(f"{error}. Look at node_ca_key_file and state_dir.") from error


# --- the database ---------------------------------------------------------------------------------


def open_database(settings: Settings) -> Database:
    """Raises StartRefused where SQLite's file can't be made."""
    try:
        return Database(settings.database)
    except OSError as error:
        where = place(settings.database)
        raise StartRefused(f"The database {where} can't be opened: {error.strerror}.") from error


async def prepare_database(settings: Settings) -> None:
    """Bring the schema to this version's where the settings say so; refuse any other."""
    database = open_database(settings)
    try:
        schema = await look(database)
        refuse_unusable(database.url, schema)
        if schema.revision == revisions.head():
            return
        if not settings.migrates_at_start:
            raise StartRefused(
                f"The database {place(database.url)} is at revision {_said(schema.revision)}; "
                f"this portal needs {revisions.head()}: back it up, then run `portal migrate`."
            )
        await migrate(database, schema)
    finally:
        await database.close()


async def look(database: Database) -> Schema:
    """Raises StartRefused where the database doesn't answer."""
    try:
        async with database.engine.connect() as connection:
            return await connection.run_sync(revisions.look)
    except (SQLAlchemyError, OSError) as error:
        raise StartRefused(
            f"The database {place(database.url)} doesn't answer: {in_short(error)}. "
            "Look at database_url and state_dir, and whether its server runs."
        ) from error


def refuse_unusable(url: str, schema: Schema) -> None:
    """Newer than this portal, or left by a migration that was broken off."""
    where = f"The database {place(url)}"
    if schema.revision is None and schema.tables - {VERSION_TABLE}:
        raise StartRefused(
            f"{where} has tables but says no revision: it isn't the portal's, or a migration was "
            f"broken off. {BROKEN_OFF}"
        )
    if schema.revision is not None and schema.revision not in revisions.known():
        raise StartRefused(
            f"{where} is at revision {schema.revision}, newer than this portal's "
            f"{revisions.head()} (version {__version__}): start the newer portal, or restore the "
            "backup made before the upgrade."
        )
    if schema.missing:
        names = ", ".join(schema.missing[:5])
        raise StartRefused(
            f"{where} says that it is at revision {schema.revision}, but lacks {names}: a "
            f"migration was broken off. {BROKEN_OFF}"
        )


async def migrate(database: Database, schema: Schema) -> None:
    """From the schema found to this version's, wholly or not at all."""
    try:
        await database.migrate()
    except (SQLAlchemyError, CommandError, OSError) as error:
        raise StartRefused(
            f"The database {place(database.url)} can't be brought from revision "
            f"{_said(schema.revision)} to {revisions.head()}, and was left as it is: "
            f"{in_short(error)}. {BROKEN_OFF}"
        ) from error


def _said(revision: str | None) -> str:
    return revision or "none"


def in_short(error: Exception) -> str:
    """The database's own words on one line, without the statement and its values."""
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split())[:300].rstrip(".") or type(cause).__name__
