"""A cluster's resources outside its state folder, and their removal.

These are processes, a bridge, cgroups, and the entry that records its addresses. `clear` is safe at
any time: after a crash, after an interrupted `up`, or when nothing is left.
"""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from cluster.config.paths import Paths
from cluster.errors import CommandError
from cluster.host import cgroups
from cluster.host.machine import forget_choice, run, succeeds, wait_for
from cluster.host.namespaces import find_head, find_head_processes

FUSE = Path("/dev/fuse")
TUN = Path("/dev/net/tun")


def clear(paths: Paths) -> None:
    """Kill the head (its pid namespace ends with all its processes and mounts), then remove the
    rest."""
    for pid in find_head_processes(paths):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: find_head(paths) is None, "the cluster's processes to end")
    tree = cgroups.find()
    if tree is not None:
        tree.remove(paths.token)
    # the kernel removes the veth devices of dead nodes with a delay
    for device in devices(paths):
        succeeds(["ip", "link", "del", device])
    wait_for(lambda: not devices(paths), "the network to go")
    close_fuse(paths)
    shutil.rmtree(paths.run, ignore_errors=True)
    forget_choice(paths)


def devices(paths: Paths) -> list[str]:
    """Return the existing devices of the cluster: its bridge and the nodes' veth devices."""
    return [path.name for path in Path("/sys/class/net").iterdir() if paths.owns(path.name)]


def make_bridge(paths: Paths, head: str) -> None:
    """Create the cluster's bridge, with the head's address on it."""
    bridge = paths.token
    run(["ip", "link", "add", bridge, "type", "bridge", "forward_delay", "0"])
    run(["ip", "addr", "add", f"{head}/24", "dev", bridge])
    run(["ip", "link", "set", bridge, "up"])
    # slurmdbd's clients write a length, then the rest: with delayed acknowledgements, each of their
    # requests takes 80 ms longer.
    route = ["dev", bridge, "proto", "kernel", "src", head, "quickack", "1"]
    run(["ip", "route", "change", "local", head, *route, "scope", "host", "table", "local"])
    run(["ip", "route", "change", f"{head.rsplit('.', 1)[0]}.0/24", *route, "scope", "link"])


def networks_allowed(paths: Paths) -> bool:
    """Return whether this machine permits network namespaces and bridges."""
    probe = f"{paths.token}-p"
    try:
        run(["unshare", "--net", "true"])
        run(["ip", "link", "add", probe, "type", "bridge"])
    except CommandError:
        return False
    run(["ip", "link", "del", probe])
    return True


def open_fuse(paths: Paths) -> bool:
    """Make the machine's own FUSE device accessible to users until `down`.

    Used where no private device can be created. Returns whether users can open it.
    """
    if not FUSE.exists():
        return False
    mode = FUSE.stat().st_mode & 0o777
    if mode & 0o006 == 0o006:
        return True
    before = paths.state / "fuse-mode"
    if not before.exists():
        before.write_text(f"{mode:o}")
    return succeeds(["chmod", "666", str(FUSE)])


def close_fuse(paths: Paths) -> None:
    before = paths.state / "fuse-mode"
    if before.exists():
        FUSE.chmod(int(before.read_text(), 8))
        before.unlink()
