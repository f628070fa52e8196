"""`portal backup`: everything that cannot be recreated, in one file, while the portal runs.

That is the database, the secrets and the settings file. `LEFT_OUT` lists what other systems keep.
"""

import grp
import hashlib
import os
import pwd
import re
from datetime import UTC, datetime
from pathlib import Path

from portal import __version__
from portal.backup import sqlite
from portal.backup.archive import (
    DATABASE,
    MAX_SMALL,
    SECRETS,
    SETTINGS,
    ArchiveMember,
    BackupError,
    Manifest,
    digest_of,
    private_temp_folder,
    write,
)
from portal.backup.postgresql import PostgresServer
from portal.config.settings import Settings
from portal.db import sqlite_file

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
    "users, groups and passwords: they are in the directory",
    "jobs and accounting: they are in Slurm; running jobs are found again",
    "home directories, with the logs of sessions and jobs",
    "JupyterHub's own state, which it recreates, and nginx's certificates",
)


def secret_files(settings: Settings) -> dict[str, Path]:
    """Return the path of each secret by its setting, whether the file exists or not."""
    places = {name: getattr(settings, name) for name in SECRET_FILES}
    return {name: path for name, path in places.items() if path is not None}


def left_out(settings: Settings) -> list[str]:
    """Return what the backup does not contain, with this portal's paths."""
    images = [settings.image_dir, settings.image_import_dir]
    folders = ", ".join(str(folder) for folder in images if folder)
    excluded = [*LEFT_OUT, f"images in {folders}: the records of imported ones are in the database"]
    if settings.catalog_dir:
        excluded.append(f"the site's environments and templates in {settings.catalog_dir}")
    files = [settings.ldap_ca_file, settings.smtp_ca_file, settings.node_table_file]
    paths = [str(file) for file in files if file]
    return [*excluded, f"files named in the settings: {', '.join(paths)}"] if paths else excluded


def backup(settings: Settings, config: Path | None, file: Path) -> Manifest:
    """Write a backup to a new file. Raises BackupError."""
    file = file.absolute()
    if file.exists():
        raise BackupError(f"{file} already exists: choose a new file name.")
    with private_temp_folder(file.parent) as folder:
        copy = folder / DATABASE
        kind = sqlite_file(settings.database)
        revision = sqlite.dump(kind, copy) if kind else PostgresServer(settings.database).dump(copy)
        small = _read_small_files(settings, config)
        sources: dict[str, Path | bytes] = {DATABASE: copy}
        sources |= {name: data for name, (_, data) in small.items()}
        members = [_to_member(DATABASE, kind or copy, *digest_of(copy))]
        for name, (path, data) in small.items():
            members.append(_to_member(name, path, len(data), _hash_bytes(data)))
        manifest = Manifest(
            portal=__version__,
            revision=revision,
            database="sqlite" if kind else "postgresql",
            made_at=datetime.now(UTC),
            members=members,
            left_out=left_out(settings),
        )
        write(file, manifest, sources, folder)
    return manifest


def by_time(folder: Path) -> Path:
    """Return a new file name in this folder; these names sort by time."""
    return folder / f"portal-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}"


def delete_old(folder: Path, keep: int) -> list[Path]:
    """Remove all but the newest of the files that `by_time` named, and return the removed ones.

    Raises BackupError.
    """
    archives = sorted(path for path in folder.iterdir() if BY_TIME.fullmatch(path.name))
    gone = archives[:-keep]
    for path in gone:
        try:
            path.unlink()
        except OSError as error:
            raise BackupError(f"{path} can't be removed: {error.strerror}.") from error
    return gone


def _read_small_files(settings: Settings, config: Path | None) -> dict[str, tuple[Path, bytes]]:
    """Read the secrets and the settings file. A file that does not exist is skipped."""
    places = {f"{SECRETS}{name}": path for name, path in secret_files(settings).items()}
    if config is not None:
        places[SETTINGS] = config
    contents: dict[str, tuple[Path, bytes]] = {}
    for name, path in places.items():
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise BackupError(f"{path} can't be read: {error.strerror}.") from error
        if len(data) > MAX_SMALL:
            raise BackupError(
                f"{path} is larger than 1 MiB, so it is not a secret or a settings file."
            )
        contents[name] = (path, data)
    return contents


def _hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _to_member(name: str, path: Path, size: int, digest: str) -> ArchiveMember:
    status = path.stat()
    return ArchiveMember(
        name=name,
        size=size,
        sha256=digest,
        mode=status.st_mode & 0o777,
        owner=_owner_name(status),
        group=_group_name(status),
    )


def _owner_name(status: os.stat_result) -> str:
    try:
        return pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        return str(status.st_uid)


def _group_name(status: os.stat_result) -> str:
    try:
        return grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        return str(status.st_gid)
