"""What root does in other accounts' folders, it does as their owner: whoever can put a link there
would otherwise say where root writes. And it believes only what nobody but root can have written.

For everybody else than root nothing here does anything.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.backup_file import BackupError

ROOT = 0
MOST_STEPS = 1000
"""Of a path with all its links: links may go round in a circle."""


@contextmanager
def as_owner_of(folder: Path) -> Iterator[None]:
    """As the account whose folder that is, or will be by what is above it. Raises BackupError where
    that isn't one account's, or others could write."""
    if os.getuid() != ROOT:
        yield
        return
    with _acting(_owner(folder)):
        yield


@contextmanager
def as_root() -> Iterator[None]:
    """As root again, in the midst of that."""
    if os.getuid() != ROOT:
        yield
        return
    with _acting(ROOT):
        yield


def refuse_others_word(file: Path, kind: str, advice: str) -> None:
    """Raises BackupError for what somebody else than root may have written or put there."""
    if os.getuid() != ROOT:
        return
    for step, status in _steps(file):
        whose = _name(status.st_uid) if status.st_uid != ROOT else None
        if whose is None and _others_write(status):
            whose = "others than root"
        if whose is not None:
            raise BackupError(
                f"{step} can be written by {whose}, so root can't trust {kind}: {advice}"
            )


def for_programs() -> tuple[int, int] | tuple[None, None]:
    """Whom subprocess starts a program as: it would become root again by its real account."""
    if os.getuid() == os.geteuid():
        return None, None
    return os.geteuid(), os.getegid()


def effective_home() -> str | None:
    """Where such a program looks for files of its own; None: where it would anyway."""
    if os.getuid() == os.geteuid():
        return None
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/"


@contextmanager
def _acting(uid: int) -> Iterator[None]:
    """The effective account; the real one stays root, so that there is a way back."""
    before = os.geteuid(), os.getegid(), os.getgroups()
    try:
        _become(uid, *_groups(uid))
    except OSError as error:
        _become(*before)
        raise BackupError(f"Root can't act as {_name(uid)}: {error.strerror}.") from error
    try:
        yield
    finally:
        _become(*before)


def _become(uid: int, gid: int, groups: list[int]) -> None:
    os.seteuid(ROOT)
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)


def _groups(uid: int) -> tuple[int, list[int]]:
    """An account's own group, and all that it is in; none of root's for one without a name."""
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        return uid, []
    return account.pw_gid, os.getgrouplist(account.pw_name, account.pw_gid)


def _owner(folder: Path) -> int:
    owner = ROOT
    for step, status in _steps(folder):
        if status.st_uid not in (ROOT, owner) and owner != ROOT:
            raise BackupError(
                f"{step} is {_name(status.st_uid)}'s and lies in what is {_name(owner)}'s: root"
                " doesn't restore there. Run this as the portal's account."
            )
        if status.st_uid == ROOT and _others_write(status):
            raise BackupError(
                f"{step} is root's, and others can write there: root doesn't restore there."
                f" Run: chmod go-w {step}"
            )
        owner = status.st_uid or owner
    return owner


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All that leads there, links and what they lead to included, as far as it is there."""
    here, ahead = Path("/"), list(path.absolute().parts[1:])
    yield here, here.lstat()
    for _ in range(MOST_STEPS):
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
            raise BackupError(f"{step} can't be looked at: {error.strerror}.") from error
        yield step, status
        if not stat.S_ISLNK(status.st_mode):
            here = step
            continue
        to = step.readlink()
        here = Path("/") if to.is_absolute() else here
        ahead = [*to.parts[to.is_absolute() :], *ahead]
    raise BackupError(f"{path} can't be looked at: its links go round in a circle.")


def _others_write(status: os.stat_result) -> bool:
    """Whether others than its owner can change what is there. In a folder with the sticky bit they
    can't move what isn't theirs; a link's own mode means nothing."""
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return False
    return bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and status.st_gid != ROOT))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
