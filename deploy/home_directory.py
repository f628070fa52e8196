#!/usr/bin/python3 -IS
"""Makes, archives or deletes somebody's home directory, as root:

    home-directory create|archive|delete USERNAME UID GID HOME

An example for sites whose homes are local folders; the demo uses it. Installed as one root-owned
file, which the portal's account may run by sudo: it believes nothing that it is told, and works on
`base`/USERNAME alone, if that belongs to UID. What it does appears or is gone in one step, and who
was killed in the middle runs it again. A JSON file of the same name with `.conf` says where:

    {"base": "/home", "archive": "/srv/archive", "skeleton": "/etc/skel", "min_uid": 1000}

Standard library only, nothing of ours.
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


class Refused(Exception):
    """The message is a sentence for an administrator."""


@dataclass(frozen=True)
class Site:
    """Where homes are. `base` and `archive` are root's, so that nobody else can put anything in."""

    base: Path
    archive: Path
    skeleton: Path
    min_uid: int


@dataclass(frozen=True)
class Home:
    """Whose home this is about. `making` and `leaving` lie beside it, for root alone to enter."""

    site: Site
    username: str
    uid: int
    gid: int

    @property
    def path(self) -> Path:
        return self.site.base / self.username

    @property
    def making(self) -> Path:
        return self.site.base / f".making-{self.uid}"

    @property
    def leaving(self) -> Path:
        return self.site.base / f".leaving-{self.uid}"


def home_of(site: Site, username: str, uid: str, gid: str, home: str) -> Home:
    """Raises Refused for what can't be somebody's home here."""
    if not USERNAME.fullmatch(username):
        raise Refused("This username can't be one.")
    if not NUMBER.fullmatch(uid) or int(uid) < site.min_uid or not NUMBER.fullmatch(gid):
        raise Refused(f"These numbers are no person's: uid {uid[:20]}, gid {gid[:20]}.")
    found = Home(site, username, int(uid), int(gid))
    if home != str(found.path):
        raise Refused(f"The home of {username} can only be {found.path}.")
    return found


def create(home: Home) -> str:
    """Make it from the skeleton, unless it is there."""
    if _is_there(home):
        return f"{home.path} is there already."
    _remove(home.making)
    shutil.copytree(home.site.skeleton, home.making, symlinks=True)
    home.making.chmod(0o700)
    for folder, folders, files in os.walk(home.making):
        for name in (*folders, *files):
            os.lchown(Path(folder) / name, home.uid, home.gid)
    os.chown(home.making, home.uid, home.gid)
    home.making.rename(home.path)
    return f"{home.path} was made."


def archive(home: Home) -> str:
    """Put it into a file of root's, and remove it."""
    if not _put_aside(home):
        return f"There is no {home.path}."
    target = home.site.archive / f"{home.username}-{home.uid}.tar.gz"
    number = 1
    while target.exists():
        number += 1
        target = home.site.archive / f"{home.username}-{home.uid}-{number}.tar.gz"
    half = home.site.archive / f".half-{home.uid}"
    arguments = [TAR, "--create", "--gzip", "--one-file-system", f"--file={half}"]
    name = f"--transform=s,^{re.escape(home.leaving.name)},{home.username},S"
    place = f"--directory={home.site.base}"
    subprocess.run([*arguments, place, name, home.leaving.name], check=True, umask=0o077)
    half.rename(target)
    _remove(home.leaving)
    return f"{home.path} was archived as {target}."


def delete(home: Home) -> str:
    """Remove it."""
    if not _put_aside(home):
        return f"There is no {home.path}."
    _remove(home.leaving)
    return f"{home.path} was deleted."


TASKS: dict[str, Callable[[Home], str]] = {"create": create, "archive": archive, "delete": delete}


def _is_there(home: Home) -> bool:
    """Whether the person has it. Raises Refused for anything else of that name."""
    try:
        status = home.path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != home.uid:
        raise Refused(f"{home.path} is somebody else's, or no folder: nothing was done.")
    return True


def _put_aside(home: Home) -> bool:
    """Take it out of everybody's reach; one that was put aside before is still there then. Whether
    there is one."""
    if _is_there(home):
        if home.leaving.exists():
            raise Refused(f"{home.leaving} is in the way: an earlier run has left it. Look at it.")
        home.path.rename(home.leaving)
    if not home.leaving.exists():
        return False
    os.chown(home.leaving, 0, 0)
    home.leaving.chmod(0o700)
    return True


def _remove(folder: Path) -> None:
    """With all in it; links are removed, not followed."""
    if folder.exists():
        shutil.rmtree(folder)


def site_of(file: Path) -> Site:
    found = json.loads(file.read_text(encoding="utf-8"))
    return Site(
        Path(found["base"]), Path(found["archive"]), Path(found["skeleton"]), int(found["min_uid"])
    )


def main(arguments: list[str]) -> int:
    os.umask(0o022)
    if len(arguments) != 5 or arguments[0] not in TASKS:
        print("home-directory create|archive|delete USERNAME UID GID HOME", file=sys.stderr)
        return 2
    task, *rest = arguments
    try:
        home = home_of(site_of(Path(__file__).resolve().with_suffix(".conf")), *rest)
        print(TASKS[task](home))
    except (Refused, OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
