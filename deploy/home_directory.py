#!/usr/bin/python3 -IS
"""Create, archive or delete a user's home directory, as root:

    home-directory create|archive|delete USERNAME UID GID HOME

An example for sites whose home directories are local folders; the demo uses it. Installed as one
root-owned file, which the portal's account may run by sudo. It therefore validates every argument,
and works on `base`/USERNAME only, if that belongs to UID. Its result appears or disappears in one
step, and an interrupted run can be repeated. A JSON file of the same name with the suffix `.conf`
configures it:

    {"base": "/home", "archive": "/srv/archive", "skeleton": "/etc/skel", "min_uid": 1000}

Standard library only; imports nothing of this project.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
NUMBER = re.compile(r"[1-9][0-9]{0,9}")
TAR = "/usr/bin/tar"
GZIP = "/usr/bin/gzip"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
"""The environment of tar, without the caller's: tar takes options from it, commands among them."""


class HomeRefused(Exception):
    """A refused request; the message is a sentence for an administrator."""


@dataclass(frozen=True)
class HomeFolders:
    """The site's folders. `base` and `archive` belong to root, so that only root can add
    entries."""

    base: Path
    archive: Path
    skeleton: Path
    min_uid: int


@dataclass(frozen=True)
class HomeDirectory:
    """One user's home directory. `making` and `leaving` lie beside it; only root can enter them."""

    folders: HomeFolders
    username: str
    uid: int
    gid: int

    @property
    def path(self) -> Path:
        return self.folders.base / self.username

    @property
    def making(self) -> Path:
        return self.folders.base / f".making-{self.uid}"

    @property
    def leaving(self) -> Path:
        return self.folders.base / f".leaving-{self.uid}"


def home_of(folders: HomeFolders, username: str, uid: str, gid: str, home: str) -> HomeDirectory:
    """Validate the arguments. Raises HomeRefused for what can't be a user's home directory."""
    if not USERNAME.fullmatch(username):
        raise HomeRefused("This username is not valid.")
    if not NUMBER.fullmatch(uid) or int(uid) < folders.min_uid or not NUMBER.fullmatch(gid):
        raise HomeRefused(
            f"These are not the IDs of an ordinary user: uid {uid[:20]}, gid {gid[:20]}."
        )
    directory = HomeDirectory(folders, username, int(uid), int(gid))
    if home != str(directory.path):
        raise HomeRefused(f"The home directory of {username} must be {directory.path}.")
    return directory


def create(home: HomeDirectory) -> str:
    """Create it from the skeleton, unless it exists."""
    if _exists(home):
        return f"{home.path} already exists."
    _remove(home.making)
    shutil.copytree(home.folders.skeleton, home.making, symlinks=True)
    home.making.chmod(0o700)
    for folder, folders, files in os.walk(home.making):
        for name in (*folders, *files):
            os.lchown(Path(folder) / name, home.uid, home.gid)
    os.chown(home.making, home.uid, home.gid)
    home.making.rename(home.path)
    return f"{home.path} was created."


def archive(home: HomeDirectory) -> str:
    """Pack it into a file that belongs to root, and remove it."""
    if not _put_aside(home):
        return f"{home.path} does not exist."
    target = home.folders.archive / f"{home.username}-{home.uid}.tar.gz"
    number = 1
    while target.exists():
        number += 1
        target = home.folders.archive / f"{home.username}-{home.uid}-{number}.tar.gz"
    half = home.folders.archive / f".half-{home.uid}"
    arguments = [TAR, "--create", f"--use-compress-program={GZIP}", "--one-file-system"]
    arguments.append(f"--file={half}")
    name = f"--transform=s,^{re.escape(home.leaving.name)},{home.username},S"
    directory_option = f"--directory={home.folders.base}"
    command = [*arguments, directory_option, name, home.leaving.name]
    subprocess.run(command, check=True, umask=0o077, env=ENVIRONMENT)
    half.rename(target)
    _remove(home.leaving)
    return f"{home.path} was archived as {target}."


def delete(home: HomeDirectory) -> str:
    """Remove it."""
    if not _put_aside(home):
        return f"{home.path} does not exist."
    _remove(home.leaving)
    return f"{home.path} was deleted."


TASKS: dict[str, Callable[[HomeDirectory], str]] = {
    "create": create,
    "archive": archive,
    "delete": delete,
}


def _exists(home: HomeDirectory) -> bool:
    """Return whether the user has one. Raises HomeRefused for anything else of that name."""
    try:
        status = home.path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != home.uid:
        raise HomeRefused(
            f"{home.path} belongs to another user or is not a folder: nothing was changed."
        )
    return True


def _put_aside(home: HomeDirectory) -> bool:
    """Move it out of every user's reach, and return whether there is one.

    An interrupted run may have moved it already.
    """
    if _exists(home):
        if home.leaving.exists():
            raise HomeRefused(
                f"{home.leaving} was left by an earlier run and blocks this one. Check it and "
                "move it away."
            )
        home.path.rename(home.leaving)
    if not home.leaving.exists():
        return False
    os.chown(home.leaving, 0, 0)
    home.leaving.chmod(0o700)
    return True


def _remove(folder: Path) -> None:
    """Remove a folder with its contents; links are removed, not followed."""
    if folder.exists():
        shutil.rmtree(folder)


def load_folders(file: Path) -> HomeFolders:
    """Read the configuration. Raises HomeRefused if users other than root could have written it."""
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(opened, encoding="utf-8") as text:
        status = os.fstat(text.fileno())
        if status.st_uid != 0 or status.st_mode & 0o022:
            raise HomeRefused(f"{file} must be owned by root and writable only by root.")
        fields = json.load(text)
    return HomeFolders(
        Path(fields["base"]),
        Path(fields["archive"]),
        Path(fields["skeleton"]),
        int(fields["min_uid"]),
    )


def main(arguments: list[str]) -> int:
    os.umask(0o022)
    if len(arguments) != 5 or arguments[0] not in TASKS:
        print("home-directory create|archive|delete USERNAME UID GID HOME", file=sys.stderr)
        return 2
    task, *user_fields = arguments
    try:
        home = home_of(load_folders(Path(__file__).resolve().with_suffix(".conf")), *user_fields)
        print(TASKS[task](home))
    except (HomeRefused, OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
