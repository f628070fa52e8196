"""Pid 1 of the head: private views of /etc and /run, then the supervisor of every service.

Started by `up` as `unshare … python3 -m cluster.head STATE`; everything of the cluster lives in
its pid namespace, so that its death ends all. Reads its instructions from STATE/etc/head.json.
"""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path

from cluster.machine import run
from cluster.paths import NSLCD_RUN, Paths
from cluster.supervisor import Supervisor

HOST_NAME = "head"


def enter(paths: Paths) -> None:
    """A private /run (nslcd's socket, sudo's stamps, pid files) and the rendered files of /etc."""
    binds: list[tuple[str, str]] = json.loads((paths.etc / "head.json").read_text())["binds"]
    socket.sethostname(HOST_NAME)
    run(["mount", "-t", "tmpfs", "-o", "mode=755,size=64m", "run", "/run"])
    NSLCD_RUN.mkdir()
    shutil.chown(NSLCD_RUN, "nslcd", "nslcd")
    Path("/run/lock").mkdir(mode=0o1777)
    _own_etc()
    for source, target in binds:
        run(["mount", "--bind", source, target])


def _own_etc() -> None:
    """A copy of the machine's /etc, gone with the head. A file that is bound over one of the
    machine's own falls off as soon as that one is replaced, which is how adduser and the packages
    that call it write /etc/passwd: the portal's account would be unknown from then on."""
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
