"""`portal restore`: a backup back into the places that the settings name.

Everything is looked at before anything is changed; secrets come first and the database last, so
that a restore that was broken off can simply be run again. Root does all this as the account whose
folder it is (backup_owner.py).
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

from portal import __version__, backup_sqlite, revisions, start
from portal.backup import secret_files
from portal.backup_file import (
    SECRETS,
    SETTINGS,
    BackupError,
    Manifest,
    Member,
    new_file,
    read,
    take_database,
    workshop,
)
from portal.backup_owner import as_owner_of, as_root, refuse_others_word
from portal.backup_postgresql import Server
from portal.db import Database, sqlite_file
from portal.models import HalfLogin, ImageImport, ImportState, WebSession
from portal.settings import Settings, read_settings

COPY = "portal.db"
UNTRUSTED_FILE = (
    "run this as the portal's account; or, if you know that nobody has changed it, copy it with"
    " `install -m 600 {file} /root/` and restore the copy."
)
UNTRUSTED_CONFIG = (
    "let root alone write it and what it lies in, or run this as the portal's account."
)


@dataclass
class Restored:
    """What was done, for who asked for it."""

    manifest: Manifest
    revision: str = ""
    written: list[Path] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    aside: list[Path] = field(default_factory=list)
    images_missing: list[str] = field(default_factory=list)


def restore(config: Path, file: Path, *, replace: bool) -> Restored:
    """Raises BackupError, StartRefused or SettingsError; then nothing was changed but what
    `written` would name, and the same command can be run again."""
    refuse_others_word(file, "this backup", UNTRUSTED_FILE.format(file=file))
    refuse_others_word(config, "these settings", UNTRUSTED_CONFIG)
    manifest, small = read(file)
    if manifest.revision not in revisions.known():
        raise BackupError(
            f"{file} has schema {manifest.revision}, made by portal {manifest.portal}; this portal "
            f"({__version__}) knows {revisions.head()} and older: restore with the newer one."
        )
    done = Restored(manifest)
    with ExitStack() as stack:
        undo = stack.enter_context(_settings_file(config, manifest, small, done))
        settings = read_settings()
        stack.enter_context(as_owner_of(settings.state_dir))
        stack.enter_context(start.alone(settings))
        _refuse(settings, manifest, replace=replace)
        secrets = _secrets(settings, manifest, small, done, replace=replace)
        with workshop(settings.state_dir) as folder:
            copy = folder / COPY
            with new_file(copy) as out, as_root():
                take_database(file, manifest, out)
            if manifest.database == "sqlite" and backup_sqlite.check(copy) != manifest.revision:
                raise BackupError(f"{file} is damaged: its database is at another revision.")
            undo.clear()
            for member, place, data in secrets:
                _put(place, data, member, done)
            _put_database(settings, copy, done)
        asyncio.run(_finish(settings, done))
    return done


@contextmanager
def _settings_file(
    config: Path, manifest: Manifest, small: dict[str, bytes], done: Restored
) -> Iterator[list[Path]]:
    """Where there is none, the backup's; it goes again if the restore is refused."""
    saved, member = small.get(SETTINGS), manifest.member(SETTINGS)
    made: list[Path] = []
    held = _held(config)
    if held is not None:
        if saved not in (None, held):
            done.kept.append(f"{config}, which differs from the backup's")
    elif saved is None or member is None:
        raise BackupError(f"There are no settings: neither {config} nor any in the backup.")
    else:
        _put(config, saved, member, done)
        made.append(config)
    try:
        yield made
    finally:
        for file in made:
            with as_owner_of(file.parent):
                file.unlink()


def _refuse(settings: Settings, manifest: Manifest, *, replace: bool) -> None:
    """Another kind of database, one in use, or one that holds something."""
    file, where = sqlite_file(settings.database), revisions.place(settings.database)
    kind = "sqlite" if file else "postgresql"
    if kind != manifest.database:
        raise BackupError(f"The backup is of {manifest.database}, but database_url is {kind}.")
    server = Server(settings.database)
    if file is None and server.others():
        raise BackupError(f"Somebody is connected to {where}: stop every portal that uses it.")
    empty = backup_sqlite.is_empty(file) if file else server.is_empty()
    if not empty and not replace:
        raise BackupError(f"There is a database already, {where}: --replace puts it away.")


def _secrets(
    settings: Settings,
    manifest: Manifest,
    small: dict[str, bytes],
    done: Restored,
    *,
    replace: bool,
) -> list[tuple[Member, Path, bytes]]:
    """What has to be written where. One that is there and says something else is refused."""
    places, wanted = secret_files(settings), []
    for member in manifest.members:
        if not member.name.startswith(SECRETS):
            continue
        name = member.name.removeprefix(SECRETS)
        place = places.get(name)
        if place is None:
            done.kept.append(f"{name} in the backup alone, for the settings name no such file")
            continue
        data = small[member.name]
        held = _held(place)
        if held not in (None, data) and not replace:
            raise BackupError(f"{name} {place} holds another secret: --replace replaces it.")
        if held != data:
            wanted.append((member, place, data))
    return wanted


def _held(place: Path) -> bytes | None:
    """What is in a file; None if there is none."""
    try:
        with as_owner_of(place.parent):
            return place.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BackupError(f"{place} can't be read: {error.strerror}.") from error


def _put(place: Path, data: bytes, member: Member, done: Restored) -> None:
    """Complete or not at all, with the mode it had, and its owner where that is ours to give."""
    temporary = place.with_name(f".{place.name}.restored")
    try:
        with as_owner_of(place.parent):
            place.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        with as_owner_of(place.parent):  # that of the folder itself, where it was made just now
            temporary.unlink(missing_ok=True)
            with new_file(temporary) as out:
                out.write(data)
                with as_root():
                    os.fchmod(out.fileno(), member.mode & 0o640)
                    if os.geteuid() == 0:
                        _give(out.fileno(), place, member)
            temporary.replace(place)
    except OSError as error:
        sentence = f"{place} can't be written: {error.strerror}; root can run this."
        raise BackupError(sentence) from error
    done.written.append(place)


def _give(handle: int, place: Path, member: Member) -> None:
    """By its descriptor: the folder may be another account's, which could put a link in its place
    for root to follow."""
    try:
        owner, group = pwd.getpwnam(member.owner).pw_uid, grp.getgrnam(member.group).gr_gid
    except KeyError as error:
        raise BackupError(
            f"{place} belonged to {member.owner}:{member.group}, which this machine doesn't know: "
            "make that account first."
        ) from error
    os.fchown(handle, owner, group)


def _put_database(settings: Settings, copy: Path, done: Restored) -> None:
    file = sqlite_file(settings.database)
    if file is None:
        Server(settings.database).restore(copy)
        return
    if not backup_sqlite.is_empty(file):
        done.aside.append(backup_sqlite.put_aside(file))
    try:
        shutil.move(copy, file)
    except OSError as error:
        raise BackupError(f"{file} can't be written: {error.strerror}.") from error
    done.written.append(file)


async def _finish(settings: Settings, done: Restored) -> None:
    """Migrate; end the logins, for some may have been ended since; see which images are missing."""
    database = start.open_database(settings)
    try:
        schema = await start.look(database)
        start.refuse_unusable(database.url, schema)
        await start.migrate(database, schema)
        done.revision = revisions.head()
        async with database.session() as db:
            await db.execute(delete(WebSession))
            await db.execute(delete(HalfLogin))
            await db.commit()
        done.images_missing = await _images_missing(settings, database)
    finally:
        await database.close()


async def _images_missing(settings: Settings, database: Database) -> list[str]:
    folder = settings.image_import_dir
    if folder is None:
        return []
    done = select(ImageImport.file).where(ImageImport.state == ImportState.DONE).distinct()
    async with database.session() as db:
        files = (await db.scalars(done.order_by(ImageImport.file))).all()
    return [name for name in files if not (folder / name).exists()]
