"""The cgroups that confine the nodes' jobs: version 1 or 2, as mounted on the machine.

A cluster has one folder, named by its token, in each hierarchy, with a folder for each node below
it. A node sees its own folder as the root of its cgroups (`unshare --cgroup`), and Slurm creates
folders for jobs and steps below that.

    up          make                 create the nodes' folders
    node start  enter, then leave    the node's folder becomes the root of its new namespace
                mount                run by the node's pid 1, inside
    exec        join                 move a process into the node's cgroup
    down        remove

Slurm's requirements of version 2 without systemd, found by experiment with Slurm 22.05:
- Inner folders hold no processes: the node's pid 1 moves to the leaf `init.scope`.
- `system.slice/NODE_slurmstepd.scope` must exist: Slurm creates the last folder only.
- `pids` must be enabled there beside cpuset, cpu and memory, which Slurm enables itself: without it
  Slurm considers `memory`, then the last word of cgroup.controllers, missing.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cluster.host.machine import POLL_S, run, wait_for

MOUNT = Path("/sys/fs/cgroup")  # inside a node
MOUNTS = Path("/proc/self/mountinfo")
# Slurm's plugins for version 1 need a folder for each of these
V1_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids")
V1_REQUIRED = frozenset({"cpuset", "memory", "devices", "freezer", "cpuacct"})
# version 2 needs no controller for devices: Slurm attaches a BPF program to the folder
V2_REQUIRED = ("cpuset", "cpu", "memory", "pids")


class CgroupTree(ABC):
    """The hierarchies of one version, and a cluster's operations on them."""

    version: int

    @property
    @abstractmethod
    def mounts(self) -> Iterable[Path]:
        """The mount points of the hierarchies."""

    @abstractmethod
    def make(self, token: str, nodes: Sequence[str]) -> None:
        """Create the folders of a cluster. Raises OSError where the machine refuses it."""

    @abstractmethod
    def enter(self, token: str, node: str) -> None:
        """Move this process into the node's folder, so that a namespace created next is rooted
        there."""

    @abstractmethod
    def leave(self, token: str, pids: Iterable[int]) -> None:
        """Move processes that stay outside the namespace out of the node's folder."""

    @abstractmethod
    def join(self, token: str, node: str) -> None:
        """Move this process, and thus the programs it executes, into a running node's cgroup."""

    @abstractmethod
    def mount(self, node: str) -> None:
        """Mount the hierarchies inside the node, and prepare them for its slurmd."""

    def remove(self, token: str) -> None:
        """Remove a cluster's folders, once their last processes have ended."""
        for mount in self.mounts:
            _remove(mount / token)


@dataclass(frozen=True)
class CgroupV1(CgroupTree):
    """Version 1. `controllers`: controller → mount options and mount point of its hierarchy.

    Several controllers may share one hierarchy (`cpu,cpuacct`).
    """

    controllers: dict[str, tuple[str, Path]]
    version = 1

    @property
    def mounts(self) -> set[Path]:
        return {mount for _, mount in self.controllers.values()}

    def make(self, token: str, nodes: Sequence[str]) -> None:
        for options, mount in set(self.controllers.values()):
            for folder in (mount / token, *(mount / token / node for node in nodes)):
                folder.mkdir(exist_ok=True)
                if "cpuset" in options.split(","):
                    # a cpuset accepts processes only once both are set
                    for file in ("cpuset.cpus", "cpuset.mems"):
                        (folder / file).write_text((mount / file).read_text())

    def enter(self, token: str, node: str) -> None:
        self.join(token, node)

    def leave(self, token: str, pids: Iterable[int]) -> None:
        """Do nothing: version 1 allows processes in inner folders."""

    def join(self, token: str, node: str) -> None:
        for mount in self.mounts:
            _move(mount / token / node, os.getpid())

    def mount(self, node: str) -> None:
        run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(MOUNT)])
        for controller, (options, _) in self.controllers.items():
            (MOUNT / controller).mkdir()
            run(["mount", "-t", "cgroup", "-o", options, "cgroup", str(MOUNT / controller)])


@dataclass(frozen=True)
class CgroupV2(CgroupTree):
    """The single hierarchy of version 2, mounted at `top`."""

    top: Path
    version = 2

    @property
    def mounts(self) -> tuple[Path, ...]:
        return (self.top,)

    def make(self, token: str, nodes: Sequence[str]) -> None:
        # cpuset stays enabled at the top afterwards: other clusters may need it by then
        _enable(self.top)
        for folder in (self.top / token, *(self.top / token / node for node in nodes)):
            folder.mkdir(exist_ok=True)
            if folder.parent == self.top:
                _enable(folder)
        self._outer_folder(token).mkdir(exist_ok=True)

    def _outer_folder(self, token: str) -> Path:
        """Return the folder for the outer processes that start the nodes; not a node's name."""
        return self.top / token / "outside.scope"

    def enter(self, token: str, node: str) -> None:
        folder = self.top / token / node
        # left by the node's previous run: its controllers are enabled, so it accepts no process
        _remove(folder)
        folder.mkdir()
        _move(folder, os.getpid())

    def leave(self, token: str, pids: Iterable[int]) -> None:
        for pid in pids:
            _move(self._outer_folder(token), pid)

    def join(self, token: str, node: str) -> None:
        _move(self.top / token / node / "init.scope", os.getpid())

    def mount(self, node: str) -> None:
        run(["mount", "-t", "cgroup2", "cgroup2", str(MOUNT)])
        leaf = MOUNT / "init.scope"
        leaf.mkdir()
        _move(leaf, 0)
        _enable_once_empty(MOUNT)
        slices = MOUNT / "system.slice"
        for folder in (slices, slices / f"{node}_slurmstepd.scope"):
            folder.mkdir()
            _enable(folder)


def find(mountinfo: str | None = None) -> CgroupTree | None:
    """Return the mounted hierarchies that suffice to confine jobs, None if there are none.

    Version 1 is preferred: controllers that it has mounted are unavailable in version 2.
    """
    lines = (MOUNTS.read_text() if mountinfo is None else mountinfo).splitlines()
    controllers: dict[str, tuple[str, Path]] = {}
    unified: Path | None = None
    for line in lines:
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ")[:3]
        mount = Path(before.split(" ")[4])
        if kind == "cgroup2":
            unified = unified or mount
        elif kind == "cgroup":
            names = [name for name in options.split(",") if name in V1_CONTROLLERS]
            controllers |= {name: (",".join(names), mount) for name in names}
    if set(controllers) >= V1_REQUIRED:
        return CgroupV1(controllers)
    if unified is not None and set(V2_REQUIRED) <= _read_controllers(unified):
        return CgroupV2(unified)
    return None


def _read_controllers(folder: Path) -> set[str]:
    return set((folder / "cgroup.controllers").read_text().split())


def _enable(folder: Path) -> None:
    """Enable the controllers for the folder's children. Raises OSError while it holds a process."""
    names = " ".join(f"+{name}" for name in V2_REQUIRED)
    (folder / "cgroup.subtree_control").write_text(names)


def _enable_once_empty(folder: Path) -> None:
    """Enable the controllers once the processes that started this node have left its folder."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return _enable(folder)
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL_S)


def _move(folder: Path, pid: int) -> None:
    (folder / "cgroup.procs").write_text(str(pid))


def _remove(folder: Path) -> None:
    wait_for(partial(_try_remove, folder), f"{folder} to empty")


def _try_remove(top: Path) -> bool:
    """Remove a tree, innermost folders first. Return False while a folder's last process is
    ending."""
    folders = [top, *(path for path in top.rglob("*") if path.is_dir())] if top.exists() else []
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        try:
            folder.rmdir()
        except OSError:
            return False
    return True
