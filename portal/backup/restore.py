"""`portal restore`: restores a backup to the paths in the settings.

Everything is checked before anything is changed. Secrets come first and the database last, so that
an interrupted restore can simply be repeated. Root does all this as the account that owns the
folder (backup/owner.py).
"""

import asyncio
import grp
import os
import pwd
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import delete, select

from portal import __version__, startup
from portal.backup import revisions, sqlite
from portal.backup.archive import (
    SECRETS,
    SETTINGS,
    ArchiveMember,
    BackupError,
    Manifest,
    new_file,
    private_temp_folder,
    read,
    take_database,
)
from portal.backup.create import secret_files
from portal.backup.owner import as_owner_of, as_root, refuse_untrusted_file
from portal.backup.postgresql import PostgresServer
from portal.config.settings import Settings, read_settings
from portal.db import Database, sqlite_file
from portal.models import HalfLogin, ImageImport, ImportState, WebSession

COPY = "portal.db"
UNTRUSTED_FILE = (
    "run this as the portal's account; or, if you are sure that it was not changed, copy it with "
    "`install -m 600 {file} /root/` and restore the copy."
)
UNTRUSTED_CONFIG = (
    "make it and its parent folders writable only by root, or run this as the portal's account."
)


@dataclass
class Restored:
    """The result of a restore, for the administrator."""

    manifest: Manifest
    revision: str = ""
    written: list[Path] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    aside: list[Path] = field(default_factory=list)
    images_missing: list[str] = field(default_factory=list)


def restore(config: Path, file: Path, *, replace: bool) -> Restored:
    """Restore a backup.

    Raises BackupError, StartRefused or SettingsError. Some files, or the database, may have been
    replaced by then. The same command can be repeated; a database that it has already restored
    needs `replace`.
    """
    refuse_untrusted_file(file, "this backup", UNTRUSTED_FILE.format(file=file))
    refuse_untrusted_file(config, "these settings", UNTRUSTED_CONFIG)
    manifest, small = read(file)
    if manifest.revision not in revisions.list_revisions():
        raise BackupError(
            f"{file} has schema {manifest.revision}, created by portal {manifest.portal}; this "
            f"portal ({__version__}) supports {revisions.head()} and older: restore with the "
            "newer portal."
        )
    done = Restored(manifest)
    with ExitStack() as stack:
        undo = stack.enter_context(_restore_settings(config, manifest, small, done))
        settings = read_settings()
        stack.enter_context(as_owner_of(settings.state_dir))
        stack.enter_context(startup.hold_exclusive_lock(settings))
        _check_database(settings, manifest, replace=replace)
        secrets = _plan_secrets(settings, manifest, small, done, replace=replace)
        with private_temp_folder(settings.state_dir) as folder:
            copy = folder / COPY
            with new_file(copy) as out, as_root():
                take_database(file, manifest, out)
            if manifest.database == "sqlite" and sqlite.check(copy) != manifest.revision:
                raise BackupError(f"{file} is damaged: its database is at another revision.")
            undo.clear()
            for member, path, data in secrets:
                _write_file(path, data, member, done)
            _put_database(settings, copy, done)
        asyncio.run(_finish(settings, done))
    return done


@contextmanager
def _restore_settings(
    config: Path, manifest: Manifest, small: dict[str, bytes], done: Restored
) -> Iterator[list[Path]]:
    """Write the backup's settings file if there is none; delete it if the restore is refused."""
    saved, member = small.get(SETTINGS), manifest.member(SETTINGS)
    written_files: list[Path] = []
    existing = _read_file(config)
    if existing is not None:
        if saved not in (None, existing):
            done.kept.append(f"{config}, which differs from the backup's")
    elif saved is None or member is None:
        raise BackupError(
            f"There are no settings: {config} does not exist, and the backup contains none."
        )
    else:
        _write_file(config, saved, member, done)
        written_files.append(config)
    try:
        yield written_files
    finally:
        for file in written_files:
            with as_owner_of(file.parent):
                file.unlink()


def _check_database(settings: Settings, manifest: Manifest, *, replace: bool) -> None:
    """Refuse another kind of database, one in use, or one with content."""
    file, where = sqlite_file(settings.database), revisions.database_name(settings.database)
    kind = "sqlite" if file else "postgresql"
    if kind != manifest.database:
        raise BackupError(f"The backup is of {manifest.database}, but database_url is {kind}.")
    server = PostgresServer(settings.database)
    if file is None and server.others():
        raise BackupError(f"There are open connections to {where}: stop every portal that uses it.")
    empty = sqlite.is_empty(file) if file else server.is_empty()
    if not empty and not replace:
        if file is not None:
            sentence = f"The database {where} already exists: use --replace to move it aside."
        else:
            sentence = (
                f"The database {where} is not empty: use --replace to delete its content and "
                "restore the backup."
            )
        raise BackupError(sentence)


def _plan_secrets(
    settings: Settings,
    manifest: Manifest,
    small: dict[str, bytes],
    done: Restored,
    *,
    replace: bool,
) -> list[tuple[ArchiveMember, Path, bytes]]:
    """Return the secrets to write, with their paths. A different existing secret is refused."""
    places, planned = secret_files(settings), []
    for member in manifest.members:
        if not member.name.startswith(SECRETS):
            continue
        name = member.name.removeprefix(SECRETS)
        path = places.get(name)
        if path is None:
            done.kept.append(f"{name} only in the backup, because the settings name no such file")
            continue
        data = small[member.name]
        existing = _read_file(path)
        if existing not in (None, data) and not replace:
            raise BackupError(
                f"{name} {path} contains a different secret: use --replace to replace it."
            )
        if existing != data:
            planned.append((member, path, data))
    return planned


def _read_file(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    try:
        with as_owner_of(path.parent):
            return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BackupError(f"{path} can't be read: {error.strerror}.") from error


def _write_file(path: Path, data: bytes, member: ArchiveMember, done: Restored) -> None:
    """Write a file atomically, with its original mode and, if permitted, its original owner."""
    temporary = path.with_name(f".{path.name}.restored")
    try:
        with as_owner_of(path.parent):
            path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        with as_owner_of(path.parent):  # as the owner of the folder itself, which may be new
            temporary.unlink(missing_ok=True)
            with new_file(temporary) as out:
                out.write(data)
                with as_root():
                    os.fchmod(out.fileno(), member.mode & 0o640)
                    if os.geteuid() == 0:
                        _change_owner(out.fileno(), path, member)
            temporary.replace(path)
    except OSError as error:
        sentence = f"{path} can't be written: {error.strerror}. Run this as root."
        raise BackupError(sentence) from error
    done.written.append(path)


def _change_owner(handle: int, path: Path, member: ArchiveMember) -> None:
    """Change the owner through the descriptor: the folder may belong to another account, which
    could put a link in its place for root to follow.
    """
    try:
        owner, group = pwd.getpwnam(member.owner).pw_uid, grp.getgrnam(member.group).gr_gid
    except KeyError as error:
        raise BackupError(
            f"{path} belonged to {member.owner}:{member.group}, which does not exist on this "
            "machine: create that account first."
        ) from error
    os.fchown(handle, owner, group)


def _put_database(settings: Settings, copy: Path, done: Restored) -> None:
    file = sqlite_file(settings.database)
    if file is None:
        PostgresServer(settings.database).restore(copy)
        return
    if not sqlite.is_empty(file):
        done.aside.append(sqlite.put_aside(file))
    try:
        shutil.move(copy, file)
    except OSError as error:
        raise BackupError(f"{file} can't be written: {error.strerror}.") from error
    done.written.append(file)


async def _finish(settings: Settings, done: Restored) -> None:
    """Migrate; end all logins, because some may have been ended since the backup; find missing
    images.
    """
    database = startup.open_database(settings)
    try:
        schema = await startup.load_schema(database)
        startup.refuse_unusable(database.url, schema)
        await startup.migrate(database, schema)
        done.revision = revisions.head()
        async with database.session() as db:
            await db.execute(delete(WebSession))
            await db.execute(delete(HalfLogin))
            await db.commit()
        done.images_missing = await _find_missing_images(settings, database)
    finally:
        await database.close()


async def _find_missing_images(settings: Settings, database: Database) -> list[str]:
    folder = settings.image_import_dir
    if folder is None:
        return []
    done = select(ImageImport.file).where(ImageImport.state == ImportState.DONE).distinct()
    async with database.session() as db:
        files = (await db.scalars(done.order_by(ImageImport.file))).all()
    return [name for name in files if not (folder / name).exists()]
