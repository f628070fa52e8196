"""Running as the owner of a folder, for root's work in the folders of other accounts.

An account could otherwise put a symbolic link there and so decide where root writes. For the same
reason, root trusts only files that no other account can have written.

For accounts other than root, nothing in this module has an effect.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.backup.archive import BackupError

ROOT = 0
MAX_STEPS = 1000
"""Maximum number of steps of a path with all its links, because links may form a cycle."""


@contextmanager
def as_owner_of(folder: Path) -> Iterator[None]:
    """Act as the account that owns this folder, or will own it according to the folders above.

    Raises BackupError if that is not a single account, or if others could write there.
    """
    if os.getuid() != ROOT:
        yield
        return
    with _act_as(_find_owner(folder)):
        yield


@contextmanager
def as_root() -> Iterator[None]:
    """Act as root again, inside of `as_owner_of`."""
    if os.getuid() != ROOT:
        yield
        return
    with _act_as(ROOT):
        yield


def refuse_untrusted_file(file: Path, kind: str, suggestion: str) -> None:
    """Raise BackupError for a file that an account other than root may have written or placed
    there.
    """
    if os.getuid() != ROOT:
        return
    for step, status in _iterate_steps(file):
        writer = _account_name(status.st_uid) if status.st_uid != ROOT else None
        if writer is None and _is_writable_by_others(status):
            writer = "users other than root"
        if writer is not None:
            raise BackupError(
                f"{step} can be written by {writer}, so root can't trust {kind}: {suggestion}"
            )


def for_programs() -> tuple[int, int] | tuple[None, None]:
    """Return the uid and gid for subprocess: a program would otherwise become root again through
    its real uid.
    """
    if os.getuid() == os.geteuid():
        return None, None
    return os.geteuid(), os.getegid()


def effective_home() -> str | None:
    """Return the home of such a program; None if its default is correct."""
    if os.getuid() == os.geteuid():
        return None
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/"


@contextmanager
def _act_as(uid: int) -> Iterator[None]:
    """Change the effective account; the real one stays root, so that it can be changed back."""
    before = os.geteuid(), os.getegid(), os.getgroups()
    try:
        _set_effective(uid, *_find_groups(uid))
    except OSError as error:
        _set_effective(*before)
        raise BackupError(f"Root can't act as {_account_name(uid)}: {error.strerror}.") from error
    try:
        yield
    finally:
        _set_effective(*before)


def _set_effective(uid: int, gid: int, groups: list[int]) -> None:
    os.seteuid(ROOT)
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)


def _find_groups(uid: int) -> tuple[int, list[int]]:
    """Return an account's primary group and all its groups; for a uid without a name, none of
    root's.
    """
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        return uid, []
    return account.pw_gid, os.getgrouplist(account.pw_name, account.pw_gid)


def _find_owner(folder: Path) -> int:
    owner = ROOT
    for step, status in _iterate_steps(folder):
        if status.st_uid not in (ROOT, owner) and owner != ROOT:
            raise BackupError(
                f"{step} is owned by {_account_name(status.st_uid)} in a folder of "
                f"{_account_name(owner)}: root doesn't restore there. Run this as the portal's "
                "account."
            )
        if status.st_uid == ROOT and _is_writable_by_others(status):
            raise BackupError(
                f"{step} is owned by root, but other users can write to it: root doesn't restore "
                f"there. Run: chmod go-w {step}"
            )
        owner = status.st_uid or owner
    return owner


def _iterate_steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Iterate over all steps of a path, including links and their targets, as far as they exist."""
    here, ahead = Path("/"), list(path.absolute().parts[1:])
    yield here, here.lstat()
    for _ in range(MAX_STEPS):
        if not ahead:
            return
        part = ahead.pop(0)
        if part == "..":
            here = here.parent
            continue
        step = here / part
        try:
            status = step.lstat()
        except FileNotFoundError:
            return
        except OSError as error:
            raise BackupError(f"{step} can't be accessed: {error.strerror}.") from error
        yield step, status
        if not stat.S_ISLNK(status.st_mode):
            here = step
            continue
        to = step.readlink()
        here = Path("/") if to.is_absolute() else here
        ahead = [*to.parts[to.is_absolute() :], *ahead]
    raise BackupError(f"{path} can't be accessed: its symbolic links form a loop.")


def _is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether accounts other than the owner can change the entry.

    In a folder with the sticky bit they cannot move other accounts' files; a link's own mode has no
    meaning.
    """
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return False
    return bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and status.st_gid != ROOT))


def _account_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
