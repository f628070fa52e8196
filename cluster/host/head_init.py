"""Pid 1 of the head: private /etc and /run, then the supervisor of every service.

Started by `up` as `unshare … python3 -m cluster.host.head_init STATE`. All processes of the cluster
are in its pid namespace, so they end with it. Reads its instructions from STATE/etc/head.json.
"""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path

from cluster.config.paths import NSLCD_RUN, Paths
from cluster.host.machine import run
from cluster.host.supervisor import Supervisor

HOST_NAME = "head"


def enter(paths: Paths) -> None:
    """Mount a private /run (nslcd's socket, sudo's stamps, pid files) and the rendered /etc
    files."""
    binds: list[tuple[str, str]] = json.loads((paths.etc / "head.json").read_text())["binds"]
    socket.sethostname(HOST_NAME)
    run(["mount", "-t", "tmpfs", "-o", "mode=755,size=64m", "run", "/run"])
    NSLCD_RUN.mkdir()
    shutil.chown(NSLCD_RUN, "nslcd", "nslcd")
    Path("/run/lock").mkdir(mode=0o1777)
    _mount_private_etc()
    for source, target in binds:
        run(["mount", "--bind", source, target])


def _mount_private_etc() -> None:
    """Replace /etc by a copy of the machine's, private to the head's mount namespace.

    A bind mount over one of the machine's own files disappears as soon as that file is replaced.
    adduser, and the packages that call it, replace /etc/passwd in this way, and the portal's
    account would be unknown from then on.
    """
    run(["mount", "-t", "tmpfs", "-o", "mode=755", "etc", "/mnt"])
    run(["cp", "--archive", "/etc/.", "/mnt"])
    run(["mount", "--bind", "/mnt", "/etc"])
    run(["umount", "/mnt"])


def main() -> None:
    paths = Paths(Path(sys.argv[1]))
    enter(paths)
    Supervisor(paths.etc / "services.json", paths.control()).run()


if __name__ == "__main__":
    main()
