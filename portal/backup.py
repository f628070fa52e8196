"""`portal backup`: what can't be made again, in one file, while the portal runs.

That is the database, the secrets and the settings file. `LEFT_OUT` is what others keep.
"""

import grp
import hashlib
import os
import pwd
import re
from datetime import UTC, datetime
from pathlib import Path

from portal import __version__, backup_sqlite
from portal.backup_file import (
    DATABASE,
    MAX_SMALL,
    SECRETS,
    SETTINGS,
    BackupError,
    Manifest,
    Member,
    digest_of,
    workshop,
    write,
)
from portal.backup_postgresql import Server
from portal.db import sqlite_file
from portal.settings import Settings

SECRET_FILES = (
    "hub_token_file",
    "internal_secret_file",
    "ldap_bind_password_file",
    "ldap_write_password_file",
    "smtp_password_file",
    "image_import_auth_file",
    "metrics_token_file",
    "second_factor_key",
    "node_ca_key",
)
BY_TIME = re.compile(r"portal-\d{4}-\d\d-\d\dT\d{6}Z")
LEFT_OUT = (
    "people, groups and passwords: the directory keeps them",
    "jobs and accounting: Slurm keeps them; what runs meanwhile is found again",
    "home directories, with the logs of sessions and jobs",
    "JupyterHub's own state, which it makes again, and nginx's certificates",
)


def secret_files(settings: Settings) -> dict[str, Path]:
    """Where each secret is, or would be, by its setting."""
    places = {name: getattr(settings, name) for name in SECRET_FILES}
    return {name: place for name, place in places.items() if place is not None}


def left_out(settings: Settings) -> list[str]:
    """What the backup hasn't got, said with the places of this portal."""
    images = [settings.image_dir, settings.image_import_dir]
    folders = ", ".join(str(folder) for folder in images if folder)
    said = [*LEFT_OUT, f"images in {folders}: the records of imported ones are in the database"]
    if settings.catalog_dir:
        said.append(f"the site's environments and templates in {settings.catalog_dir}")
    files = [settings.ldap_ca_file, settings.smtp_ca_file, settings.node_table_file]
    named = [str(file) for file in files if file]
    return [*said, f"files that the settings name: {', '.join(named)}"] if named else said


def backup(settings: Settings, config: Path | None, file: Path) -> Manifest:
    """Into a new file. Raises BackupError."""
    file = file.absolute()
    if file.exists():
        raise BackupError(f"{file} is there already: name a new file.")
    with workshop(file.parent) as folder:
        copy = folder / DATABASE
        kind = sqlite_file(settings.database)
        revision = backup_sqlite.dump(kind, copy) if kind else Server(settings.database).dump(copy)
        small = _small(settings, config)
        sources: dict[str, Path | bytes] = {DATABASE: copy}
        sources |= {name: data for name, (_, data) in small.items()}
        held = [_member(DATABASE, kind or copy, *digest_of(copy))]
        for name, (place, data) in small.items():
            held.append(_member(name, place, len(data), _digest(data)))
        manifest = Manifest(
            portal=__version__,
            revision=revision,
            database="sqlite" if kind else "postgresql",
            made_at=datetime.now(UTC),
            members=held,
            left_out=left_out(settings),
        )
        write(file, manifest, sources, folder)
    return manifest


def by_time(folder: Path) -> Path:
    """A new file's name in this folder, which sorts by time."""
    return folder / f"portal-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}"


def forget_old(folder: Path, keep: int) -> list[Path]:
    """Remove all but the newest of the files that `by_time` named; which they were. Raises
    BackupError."""
    found = sorted(path for path in folder.iterdir() if BY_TIME.fullmatch(path.name))
    gone = found[:-keep]
    for path in gone:
        try:
            path.unlink()
        except OSError as error:
            raise BackupError(f"{path} can't be removed: {error.strerror}.") from error
    return gone


def _small(settings: Settings, config: Path | None) -> dict[str, tuple[Path, bytes]]:
    """Secrets and the settings file, read at once. One that has never been made is no loss."""
    places = {f"{SECRETS}{name}": place for name, place in secret_files(settings).items()}
    if config is not None:
        places[SETTINGS] = config
    found: dict[str, tuple[Path, bytes]] = {}
    for name, place in places.items():
        try:
            data = place.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise BackupError(f"{place} can't be read: {error.strerror}.") from error
        if len(data) > MAX_SMALL:
            raise BackupError(f"{place} is larger than 1 MiB: no secret, no settings file.")
        found[name] = (place, data)
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _member(name: str, place: Path, size: int, digest: str) -> Member:
    status = place.stat()
    return Member(
        name=name,
        size=size,
        sha256=digest,
        mode=status.st_mode & 0o777,
        owner=_owner(status),
        group=_group(status),
    )


def _owner(status: os.stat_result) -> str:
    try:
        return pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        return str(status.st_uid)


def _group(status: os.stat_result) -> str:
    try:
        return grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        return str(status.st_gid)
