"""Operation that reports free space and the output of the system's quota command for a root."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from spawner.files.context import FilesContext
from spawner.files.paths import (
    open_folder,
    path_of,
    required_path,
    text_of,
    translating_errors,
)
from spawner.launcher.program import Request, Result, opened

QUOTA = ("/usr/bin/quota", "--user", "--no-wrap", "--raw-grace", "--verbose")
LUSTRE_QUOTA = ("/usr/bin/lfs", "quota", "-q", "-u")
QUOTA_S = 3.0
MOUNTS = Path("/proc/self/mountinfo")
OCTAL = re.compile(rb"\\([0-7]{3})")


def space(context: FilesContext, request: Request) -> Result:
    """Return a root's total and free space, and the output of its file system's quota command."""
    location = required_path(request)
    with opened(open_folder(location)) as folder, translating_errors(location.name):
        status = os.fstatvfs(folder)
        path = path_of(folder)
        return {
            "real_path": text_of(path),
            "writable": os.access(".", os.W_OK | os.X_OK, dir_fd=folder),
            "total_bytes": status.f_blocks * status.f_frsize,
            "free_bytes": status.f_bavail * status.f_frsize,
            "quota_text": quota_text(context, mount_point(path)),
        }


def mount_point(path: str) -> str:
    while path != "/" and not os.path.ismount(path):
        path = path.rpartition("/")[0] or "/"
    return path


def filesystem_type(mounted: str, mounts: bytes) -> str:
    """Return a mount point's file system type from mountinfo (proc(5)); the last match counts."""
    for line in reversed(mounts.splitlines()):
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        if len(fields) > 4 and OCTAL.sub(decode_octal, fields[4]) == os.fsencode(mounted):
            return after.partition(b" ")[0].decode(errors="replace")
    return ""


def decode_octal(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8) & 0xFF])


def quota_command(user: str, mounted: str, kind: str) -> list[str]:
    if kind == "lustre":
        return [*LUSTRE_QUOTA, user, mounted]
    return [*QUOTA, f"--filesystem={mounted}"]


def quota_text(context: FilesContext, mounted: str) -> str | None:
    """Return the quota command's output for a mount point; None if it is missing or too slow."""
    try:
        kind = filesystem_type(mounted, MOUNTS.read_bytes())
        done = subprocess.run(
            quota_command(context.user.name, mounted, kind),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=QUOTA_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout[:8192].decode(errors="replace")
