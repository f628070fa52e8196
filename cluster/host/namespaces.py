"""Finding a cluster's hosts among the machine's processes, and entering them.

No state files that could become stale: a host is found by the command line of its pid 1, which must
belong to root.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cluster.config.paths import Paths


def find_head(paths: Paths) -> int | None:
    return _find_process(["-m", "cluster.host.head_init", str(paths.state)])


def find_head_processes(paths: Paths) -> list[int]:
    """Return the pids of the head and of the `unshare` that started it."""
    tail = ["-m", "cluster.host.head_init", str(paths.state)]
    return [pid for pid, argv in _list_root_processes() if argv[-3:] == tail]


def find_node(paths: Paths, name: str) -> int | None:
    return _find_process(["-m", "cluster.host.node", "inside", str(paths.state), name])


def _find_process(tail: Sequence[str]) -> int | None:
    for pid, argv in _list_root_processes():
        if argv[1:] == list(tail):  # not `unshare`, whose arguments merely end like this
            return pid
    return None


def _list_root_processes() -> list[tuple[int, list[str]]]:
    pids = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(FileNotFoundError, ProcessLookupError):  # the process has ended since
            if folder.stat().st_uid == 0:
                arguments = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                pids.append((int(folder.name), [os.fsdecode(word) for word in arguments]))
    return pids


def machine_pids(head: int) -> dict[int, int]:
    """Map each pid inside the head's pid namespace to the pid in the machine's."""
    space = Path(f"/proc/{head}/ns/pid").readlink()
    pids = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):  # the process has ended since
            if (folder / "ns" / "pid").readlink() == space:
                lines = (folder / "status").read_text().splitlines()
                inner = next(line.split()[-1] for line in lines if line.startswith("NSpid:"))
                pids[int(inner)] = int(folder.name)
    return pids


def on_head(head: int, argv: Sequence[str]) -> list[str]:
    return ["nsenter", "--target", str(head), "--mount", "--uts", "--pid", "--wd=/", "--", *argv]


def on_node(node: int, loopback: bool, argv: Sequence[str]) -> list[str]:
    """Return the argv that runs `argv` on a node.

    The caller joins the node's cgroups first: see cluster/host/cgroups.py.
    """
    spaces = ["--mount", "--uts", "--pid", "--cgroup", *([] if loopback else ["--net"])]
    return ["nsenter", "--target", str(node), *spaces, "--wd=/", "--", *argv]


def as_user(passwd_line: str, env: dict[str, str], argv: Sequence[str]) -> list[str]:
    """Return the argv that runs `argv` as a passwd line's account, with a clean environment."""
    name, _, uid, gid, _, home, shell = passwd_line.strip().split(":")
    account = {"HOME": home, "USER": name, "LOGNAME": name, "SHELL": shell, **env}
    settings = [f"{key}={value}" for key, value in account.items()]
    identity = ["setpriv", "--reuid", uid, "--regid", gid, "--init-groups"]
    return [*identity, "env", "-i", f"--chdir={home}", *settings, *argv]
