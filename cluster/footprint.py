"""What a cluster puts outside its state folder — processes, a bridge, cgroups, where its addresses
are written — and its removal.

`clear` is safe at any moment: after a crash, an interrupted `up`, or when nothing is there.
"""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

from cluster.errors import CommandError
from cluster.machine import Hierarchy, forget_choice, hierarchies, run, succeeds, wait_for
from cluster.namespaces import find_head, find_head_processes
from cluster.paths import Paths

FUSE = Path("/dev/fuse")


def clear(paths: Paths) -> None:
    """End the head (its pid namespace takes every process and mount along), then the rest."""
    for pid in find_head_processes(paths):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: find_head(paths) is None, "the cluster's processes to end")
    remove_cgroups(paths)
    # the kernel takes the cables of dead nodes away in its own time
    for device in devices(paths):
        succeeds(["ip", "link", "del", device])
    wait_for(lambda: not devices(paths), "the network to go")
    close_fuse(paths)
    shutil.rmtree(paths.run, ignore_errors=True)
    forget_choice(paths)


def devices(paths: Paths) -> list[str]:
    """The bridge and the nodes' cables, as far as they exist."""
    return [path.name for path in Path("/sys/class/net").iterdir() if paths.owns(path.name)]


def make_bridge(paths: Paths, head: str) -> None:
    """The cluster's own network, with the head's address on it."""
    bridge = paths.token
    run(["ip", "link", "add", bridge, "type", "bridge", "forward_delay", "0"])
    run(["ip", "addr", "add", f"{head}/24", "dev", bridge])
    run(["ip", "link", "set", bridge, "up"])
    # slurmdbd's clients write a length, then the rest: with delayed acknowledgements each of
    # their questions takes 80 ms longer
    ours = ["dev", bridge, "proto", "kernel", "src", head, "quickack", "1"]
    run(["ip", "route", "change", "local", head, *ours, "scope", "host", "table", "local"])
    run(["ip", "route", "change", f"{head.rsplit('.', 1)[0]}.0/24", *ours, "scope", "link"])


def networks_allowed(paths: Paths) -> bool:
    """May we make a network namespace, a bridge and a cable?"""
    probe = f"{paths.token}-p"
    try:
        run(["unshare", "--net", "true"])
        run(["ip", "link", "add", probe, "type", "bridge"])
    except CommandError:
        return False
    run(["ip", "link", "del", probe])
    return True


def make_cgroups(paths: Paths, names: list[str]) -> dict[str, Hierarchy]:
    """A folder per node in every hierarchy; empty where that is refused."""
    found = hierarchies()
    try:
        for hierarchy in set(found.values()):
            parent = hierarchy.mount / paths.token
            for folder in (parent, *(parent / name for name in names)):
                _make_cgroup(folder, hierarchy)
    except OSError:
        remove_cgroups(paths)
        return {}
    return found


def _make_cgroup(folder: Path, hierarchy: Hierarchy) -> None:
    folder.mkdir(exist_ok=True)
    if "cpuset" in hierarchy.options.split(","):
        for file in ("cpuset.cpus", "cpuset.mems"):  # a cpuset takes processes once it has both
            (folder / file).write_text((hierarchy.mount / file).read_text())


def remove_cgroups(paths: Paths) -> None:
    for hierarchy in set(hierarchies().values()):
        top = hierarchy.mount / paths.token
        wait_for(partial(_removed, top), f"{top} to empty")


def _removed(top: Path) -> bool:
    """Innermost first; a folder whose last process is still ending is busy for a moment."""
    folders = [top, *(path for path in top.rglob("*") if path.is_dir())] if top.exists() else []
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        try:
            folder.rmdir()
        except OSError:
            return False
    return True


def open_fuse(paths: Paths) -> bool:
    """Where no private device can be made: let users open the machine's own, until `down`."""
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
