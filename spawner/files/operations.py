"""Write operations: create folders, rename, save text, and delete for good.

Nothing is replaced unless the request asks for it, and no link is followed.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from spawner.files.context import FilesContext
from spawner.files.paths import (
    RootedPath,
    entry_of,
    lstat_or_none,
    open_for_changes,
    problem,
    rename_new,
    required_path_below_root,
    shown_name,
    sites_umask,
    translating_errors,
    version_of,
)
from spawner.launcher.program import Refused, Request, Result, opened, required_field

MAX_SAVED = 640 << 10
MAX_FOLDERS_PER_PASS = 100
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CHANGED_ELSEWHERE = "“{}” was changed elsewhere since you opened it."


def make_folder(context: FilesContext, request: Request) -> Result:
    """Create a folder, and with `parents` also its missing parent folders."""
    path, parents = required_path_below_root(request), required_field(request, "parents", bool)
    with sites_umask(context):
        if parents:
            make_missing(path.parent)
        with opened(open_for_changes(path.parent)) as folder, translating_errors(path.name):
            os.mkdir(path.name, dir_fd=folder)
            return {"entry": entry_of(folder, path.name)}


def make_missing(path: RootedPath) -> None:
    for count in range(1, len(path.parts) + 1):
        above = RootedPath(path.root, path.parts[:count])
        with (
            opened(open_for_changes(above.parent)) as folder,
            translating_errors(above.name),
            contextlib.suppress(FileExistsError),
        ):
            os.mkdir(above.name, dir_fd=folder)


def move(context: FilesContext, request: Request) -> Result:
    """Rename an entry, move it to another folder of the same file system, or both.

    With `overwrite`, a file may replace a file.
    """
    source, to = (
        required_path_below_root(request),
        required_path_below_root(request, "to_path", "to_root"),
    )
    overwrite = required_field(request, "overwrite", bool)
    with (
        opened(open_for_changes(source.parent)) as folder,
        opened(open_for_changes(to.parent)) as new_folder,
    ):
        with translating_errors(source.name):
            state = os.lstat(source.name, dir_fd=folder)
        with translating_errors(to.name):
            existing = lstat_or_none(new_folder, to.name)
            if existing and overwrite and both_files(state, existing):
                os.rename(source.name, to.name, src_dir_fd=folder, dst_dir_fd=new_folder)
            else:
                rename_new(folder, source.name, new_folder, to.name)
            return {"entry": entry_of(new_folder, to.name)}


def both_files(first: os.stat_result, second: os.stat_result) -> bool:
    return stat.S_ISREG(first.st_mode) and stat.S_ISREG(second.st_mode)


def save(context: FilesContext, request: Request) -> Result:
    """Replace a small file's content atomically, if the file still has the version that was read.

    With `version` null, create the file, which must not exist yet.
    """
    path, data = required_path_below_root(request), required_data(request, MAX_SAVED)
    version = request.get("version")
    if version is not None and type(version) is not str:
        raise Refused("BadRequest", "version is malformed")
    with opened(open_for_changes(path.parent)) as folder, translating_errors(path.name):
        before = require_version(folder, path.name, version)
        with new_file(context, folder) as (fd, name):
            write_all(fd, data, 0)
            if before:
                keep_rights(fd, before)
            os.fsync(fd)
            if require_version(folder, path.name, version):
                os.rename(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                rename_new(folder, name, folder, path.name)
        return {"entry": entry_of(folder, path.name)}


def require_version(folder: int, name: str, version: str | None) -> os.stat_result | None:
    """Return the status of the file if it has this version, or None if it is absent as expected.

    Raises a problem if the file exists, is missing or differs contrary to `version`.
    """
    state = lstat_or_none(folder, name)
    if version is None:
        if state is not None:
            raise problem("exists", f"“{shown_name(name)}” already exists.")
        return None
    if state is None:
        raise problem("changed", f"“{shown_name(name)}” was moved or deleted.")
    if stat.S_ISLNK(state.st_mode):
        raise problem("link", f"“{shown_name(name)}” is a link: edit its target file.")
    if not stat.S_ISREG(state.st_mode):
        raise problem("no-file", f"“{shown_name(name)}” is not a regular file.")
    if version_of(state) != version:
        text = CHANGED_ELSEWHERE.format(shown_name(name))
        raise problem("changed", text, version=version_of(state), modified_at=state.st_mtime)
    return state


@contextlib.contextmanager
def new_file(context: FilesContext, folder: int) -> Iterator[tuple[int, str]]:
    """Yield a temporary file with a unique name; delete it on exit unless it was renamed."""
    name = f".portal-save-{os.urandom(8).hex()}"
    with sites_umask(context):
        fd = os.open(name, NEW_FILE, 0o666, dir_fd=folder)
    try:
        with opened(fd):
            yield fd, name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def keep_rights(fd: int, before: os.stat_result) -> None:
    """Restore the group and mode of the replaced file, as far as the user is permitted to."""
    if os.fstat(fd).st_gid != before.st_gid:
        with contextlib.suppress(OSError):
            os.fchown(fd, -1, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode) & 0o777)


def required_data(request: Request, most: int) -> bytes:
    try:
        data = base64.b64decode(required_field(request, "data_b64", str), validate=True)
    except binascii.Error as error:
        raise Refused("BadRequest", "data_b64 is malformed") from error
    if len(data) > most:
        raise Refused("BadRequest", "data_b64 is too long")
    return data


def write_all(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(fd, view, offset)
        view, offset = view[count:], offset + count


# --- deleting for good ----------------------------------------------------------------------------


class DeadlinePassed(Exception):
    """The deadline passed before everything was removed."""


class Removal:
    """Deletion of a folder tree of any depth and width.

    It keeps only two folders open and no list of the tree in memory: the contents of subfolders are
    moved up into the top folder before the subfolders are removed. It stops at the deadline, and a
    later `Removal` continues; each one removes at least one entry.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline, self.count, self.device = deadline, 0, -1

    def remove(self, parent: int, name: str) -> bool:
        """Return True if the entry is gone, False if the deadline passed first."""
        state = os.lstat(name, dir_fd=parent)
        if not stat.S_ISDIR(state.st_mode):
            os.unlink(name, dir_fd=parent)
            self.count += 1
            return True
        self.device = state.st_dev
        try:
            with opened(enter_to_empty(parent, name)) as top:
                self.empty(top)
        except DeadlinePassed:
            return False
        os.rmdir(name, dir_fd=parent)
        self.count += 1
        return True

    def empty(self, top: int) -> None:
        """Remove everything in a folder. Raises DeadlinePassed."""
        while names := self.unlink_files(top):
            for name in names:
                self.lift(top, name)

    def lift(self, top: int, name: str) -> None:
        """Move the contents of a folder up into `top`, and remove the folder.

        Raises DeadlinePassed.
        """
        with opened(enter_to_empty(top, name)) as folder:
            if os.fstat(folder).st_dev != self.device:
                text = f"Another file system is mounted in “{shown_name(name)}”."
                raise problem("other-filesystem", text)
            while names := self.unlink_files(folder):
                for below in names:
                    make_writable(folder, below)
                    new = f".portal-removing-{os.urandom(8).hex()}"
                    os.rename(below, new, src_dir_fd=folder, dst_dir_fd=top)
        os.rmdir(name, dir_fd=top)
        self.count += 1

    def unlink_files(self, folder: int) -> list[str]:
        """Remove everything but folders; return the names of up to `MAX_FOLDERS_PER_PASS` folders.

        Raises DeadlinePassed.
        """
        subfolders: list[str] = []
        before = self.count
        with os.scandir(folder) as entries:
            for entry in entries:
                if self.count and time.monotonic() > self.deadline:
                    raise DeadlinePassed
                if entry.is_dir(follow_symlinks=False):
                    subfolders.append(entry.name)
                    if len(subfolders) >= MAX_FOLDERS_PER_PASS:
                        break
                else:
                    os.unlink(entry.name, dir_fd=folder)
                    self.count += 1
        # Deleting entries while reading a folder may hide others, so trust only a pass without
        # deletions.
        return subfolders or (self.unlink_files(folder) if self.count > before else subfolders)


def enter_to_empty(parent: int, name: str) -> int:
    make_writable(parent, name)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, dir_fd=parent)


def make_writable(parent: int, name: str) -> None:
    """Give users access to their own folder if its mode denies it, so that it can be deleted."""
    state = os.lstat(name, dir_fd=parent)
    if state.st_uid != os.getuid() or state.st_mode & 0o700 == 0o700:
        return
    # Use the descriptor, so that no link is followed; O_PATH, since it may be unreadable.
    with opened(os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)) as fd:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            Path(f"/proc/self/fd/{fd}").chmod(0o700)
