"""How much room there is on a root's file system, and what the system's programs say of the user's
quota there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from spawner.filer.places import look_into, operation, path_of, telling, text_of, want_place
from spawner.launcher import Launcher, Request, Result, opened

QUOTA = ("/usr/bin/quota", "--user", "--no-wrap", "--raw-grace", "--verbose")
LUSTRES = ("/usr/bin/lfs", "quota", "-q", "-u")
QUOTA_S = 3.0
MOUNTS = Path("/proc/self/mountinfo")
OCTAL = re.compile(rb"\\([0-7]{3})")


@operation
def space(launcher: Launcher, request: Request) -> Result:
    """How much room there is below a root, and what the system's own `quota` says of it."""
    place = want_place(request)
    with opened(look_into(place)) as fd, telling(place.name):
        found = os.fstatvfs(fd)
        path = path_of(fd)
        return {
            "real_path": text_of(path),
            "writable": os.access(".", os.W_OK | os.X_OK, dir_fd=fd),
            "total_bytes": found.f_blocks * found.f_frsize,
            "free_bytes": found.f_bavail * found.f_frsize,
            "quota_text": quota_text(launcher, mount_point(path)),
        }


def mount_point(path: str) -> str:
    while path != "/" and not os.path.ismount(path):
        path = path.rpartition("/")[0] or "/"
    return path


def filesystem(mounted: str, mounts: bytes) -> str:
    """The type of what is mounted there, by proc(5)'s mountinfo; of several the last counts."""
    for line in reversed(mounts.splitlines()):
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        if len(fields) > 4 and OCTAL.sub(character, fields[4]) == os.fsencode(mounted):
            return after.partition(b" ")[0].decode(errors="replace")
    return ""


def character(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8) & 0xFF])


def quota_command(user: str, mounted: str, kind: str) -> list[str]:
    if kind == "lustre":
        return [*LUSTRES, user, mounted]
    return [*QUOTA, f"--filesystem={mounted}"]


def quota_text(launcher: Launcher, mounted: str) -> str | None:
    """What is printed of this file system; None where there is no such program or no answer."""
    try:
        kind = filesystem(mounted, MOUNTS.read_bytes())
        done = subprocess.run(
            quota_command(launcher.user.name, mounted, kind),
            env=launcher.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=QUOTA_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout[:8192].decode(errors="replace")
