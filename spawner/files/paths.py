"""Validation and safe opening of paths, and mapping of OSError to user messages.

Here and in the other modules, `fd` is the descriptor of an open file. The descriptor of an open
folder is named after the folder, usually `folder` or `parent`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from spawner.files.context import FilesContext
from spawner.launcher.program import Refused, Request, Result, opened, required_field

MAX_PATH_BYTES = 8192
MAX_NAME_BYTES = 255
MAX_OWNERS = 1000
PSEUDO_FILESYSTEMS = frozenset({"proc", "sys"})
RENAME_NOREPLACE = 1
WALK_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LIBC = ctypes.CDLL(None, use_errno=True)

OWNERS: dict[int, str] = {}
ERROR_MESSAGES = {
    errno.ENOENT: ("not-there", "“{}” does not exist. It may have been moved or deleted."),
    errno.ESTALE: ("not-there", "“{}” no longer exists."),
    errno.EACCES: (
        "denied",
        "You are not allowed to do this with “{}”: its permissions don't allow it.",
    ),
    errno.EPERM: (
        "denied",
        "You are not allowed to do this with “{}”: its permissions don't allow it.",
    ),
    errno.EROFS: ("denied", "“{}” is on a read-only file system."),
    errno.EEXIST: ("exists", "“{}” already exists."),
    errno.ENOTEMPTY: ("exists", "“{}” already exists."),
    errno.EISDIR: ("exists", "A folder named “{}” already exists."),
    errno.ENOTDIR: ("no-folder", "“{}” is not a folder."),
    errno.ELOOP: ("link", "“{}” is a link: to make changes, go to its target."),
    errno.ENAMETOOLONG: ("bad-name", "The name “{}” is too long."),
    errno.EINVAL: ("bad-name", "“{}” can't be used like this here."),
    errno.EXDEV: ("other-filesystem", "“{}” is on a different file system than its destination."),
    errno.ENOSPC: ("no-space", "The disk is full: free some space, then try again."),
    errno.EDQUOT: ("quota", "Your quota is used up: free some space, then try again."),
    errno.EFBIG: ("no-space", "“{}” would be larger than this file system allows."),
    errno.EBUSY: ("busy", "“{}” is in use and can't be changed now."),
    errno.ETXTBSY: ("busy", "“{}” is being executed and can't be changed now."),
    errno.EIO: ("no-answer", "The file system doesn't answer."),
    errno.ETIMEDOUT: ("no-answer", "The file system doesn't answer."),
}


class RootedPath(NamedTuple):
    """Root path and the names of the parts below it; no parts for the root itself."""

    root: str
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else self.root

    @property
    def parent(self) -> RootedPath:
        return RootedPath(self.root, self.parts[:-1])


def problem(code: str, message: str, **more: Any) -> Refused:
    return Refused("File", message, code=code, **more)


@contextlib.contextmanager
def translating_errors(name: str) -> Iterator[None]:
    """Turn an OSError into a user message about `name` (a file name, or a path)."""
    try:
        yield
    except OSError as error:
        displayed = shown_name(name)
        if error.errno in ERROR_MESSAGES:
            code, sentence = ERROR_MESSAGES[error.errno]
            raise problem(code, sentence.format(displayed)) from error
        raise problem("failed", f"This failed for “{displayed}”: {error.strerror}.") from error


def shown_name(name: str) -> str:
    """Return a name for use in a sentence: invalid bytes become "?", and long names are cut."""
    text = name.encode("utf-8", "replace").decode("utf-8", "replace").replace("\n", " ")
    return text if len(text) <= 80 else f"{text[:78]}…"


def text_of(name: str) -> str:
    """Decode a name as UTF-8, with surrogates for invalid bytes (PEP 383)."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def system_name(text: str) -> str:
    """Encode a name for the `os` functions: the inverse of `text_of`."""
    return os.fsdecode(text.encode("utf-8", "surrogateescape"))


def required_parts(request: Request, key: str) -> tuple[str, ...]:
    """Split and validate a path below a root; "" is the root."""
    path: str = required_field(request, key, str)
    if not path:
        return ()
    parts = tuple(system_name(part) for part in path.split("/"))
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise problem("bad-name", "A path consists of names separated by “/”.")
    if len(os.fsencode("/".join(parts))) > MAX_PATH_BYTES:
        raise problem("bad-name", "This path is too long.")
    for part in parts:
        if len(os.fsencode(part)) > MAX_NAME_BYTES:
            raise problem("bad-name", f"The name “{shown_name(part)}” is too long.")
    return parts


def required_path(request: Request, key: str = "path", root_key: str = "root") -> RootedPath:
    root: str = required_field(request, root_key, str)
    if not root.startswith("/") or "\0" in root:
        raise Refused("BadRequest", f"{root_key} is not an absolute path")
    return RootedPath(root, required_parts(request, key))


def required_path_below_root(
    request: Request, key: str = "path", root_key: str = "root"
) -> RootedPath:
    """Return the requested path; refuse a root itself, which must not be changed."""
    path = required_path(request, key, root_key)
    if not path.parts:
        raise problem("bad-name", "This folder itself can't be changed, only its contents.")
    return path


def required_int(request: Request, key: str, most: int, least: int = 0) -> int:
    number: int = required_field(request, key, int)
    if not least <= number <= most:
        raise Refused("BadRequest", f"{key} is out of range")
    return number


# --- opening --------------------------------------------------------------------------------------


def open_root(root: str) -> int:
    with translating_errors(root):
        return os.open(root, WALK_FLAGS)


def walk(path: RootedPath, follow: bool) -> int:
    """Open a folder with O_PATH. Without `follow`, no part of its path may be a link."""
    folder = open_root(path.root)
    flags = WALK_FLAGS if follow else WALK_FLAGS | os.O_NOFOLLOW
    for name in path.parts:
        with opened(folder), translating_errors(name):
            try:
                below = os.open(name, flags, dir_fd=folder)
            except NotADirectoryError as error:
                if not follow and stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
                    raise OSError(errno.ELOOP, "a link") from error
                raise
        folder = below
    return folder


def open_folder(path: RootedPath) -> int:
    """Open a folder for reading: follow links, but refuse /proc and /sys."""
    folder = walk(path, follow=True)
    if is_in_pseudo_filesystem(folder):
        os.close(folder)
        raise problem("denied", "This is not a folder with files.")
    return folder


def open_for_changes(path: RootedPath) -> int:
    """Open a folder to change entries in it, without following links."""
    return walk(path, follow=False)


def path_of(fd: int) -> str:
    """Return the current path of an open folder or file, without links; may be "/x (deleted)"."""
    return str(Path(f"/proc/self/fd/{fd}").readlink())


def is_in_pseudo_filesystem(fd: int) -> bool:
    """Return whether an open folder or file lies in /proc or /sys."""
    return path_of(fd).split("/")[1] in PSEUDO_FILESYSTEMS


def open_file(path: RootedPath) -> int:
    """Open a regular file for reading, following links. FIFOs and devices are never opened."""
    with opened(open_folder(path.parent)) as folder, translating_errors(path.name):
        if not path.parts or not stat.S_ISREG(os.stat(path.name, dir_fd=folder).st_mode):
            raise problem("no-file", f"“{shown_name(path.name)}” is not a readable file.")
        fd = os.open(path.name, READ_FLAGS, dir_fd=folder)
        if stat.S_ISREG(os.fstat(fd).st_mode) and not is_in_pseudo_filesystem(fd):
            return fd
        os.close(fd)
        raise problem("no-file", f"“{shown_name(path.name)}” is not a readable file.")


def lstat_or_none(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def rename_new(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
    """Rename without replacing an existing entry.

    Raises FileExistsError and the errors of rename.
    """
    names = os.fsencode(name), os.fsencode(new_name)
    if LIBC.renameat2(from_folder, names[0], to_folder, names[1], RENAME_NOREPLACE) == 0:
        return
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(number, os.strerror(number))
    # NFS and some other file systems do not support this flag, so check first there.
    if lstat_or_none(to_folder, new_name) is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(name, new_name, src_dir_fd=from_folder, dst_dir_fd=to_folder)


@contextlib.contextmanager
def sites_umask(context: FilesContext) -> Iterator[None]:
    """Apply the site's umask, so that new entries get the same mode as those created elsewhere."""
    before = os.umask(context.umask)
    try:
        yield
    finally:
        os.umask(before)


# --- description of entries ----------------------------------------------------------------------


def kind_of(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def version_of(state: os.stat_result) -> str:
    """Return a version that differs after a file was changed or replaced."""
    return f"{state.st_mtime_ns:x}-{state.st_size:x}-{state.st_ino:x}"


def owner_of(uid: int) -> str:
    if uid not in OWNERS:
        if len(OWNERS) >= MAX_OWNERS:
            OWNERS.clear()
        try:
            OWNERS[uid] = pwd.getpwuid(uid).pw_name
        except KeyError:
            OWNERS[uid] = str(uid)
    return OWNERS[uid]


def entry_of(folder: int, name: str) -> Result:
    """Return the description of one name in an open folder; for a link, mostly its target's.

    Raises FileNotFoundError if it is gone.
    """
    own_status = target = os.lstat(name, dir_fd=folder)
    is_link = stat.S_ISLNK(own_status.st_mode)
    target_kind = None
    if is_link:
        try:
            target = os.stat(name, dir_fd=folder)
            target_kind = kind_of(target.st_mode)
        except OSError:  # A broken link, or a target that the user has no access to.
            target = own_status
    return {
        "name": text_of(name),
        "kind": kind_of(own_status.st_mode),
        "is_link": is_link,
        "target_kind": target_kind,
        "size_bytes": target.st_size if stat.S_ISREG(target.st_mode) else None,
        "modified_at": target.st_mtime,
        "mode": stat.S_IMODE(target.st_mode),
        "owner": owner_of(target.st_uid),
        "readable": os.access(name, os.R_OK, dir_fd=folder),
        "writable": os.access(name, os.W_OK, dir_fd=folder),
        "version": version_of(target),
    }
