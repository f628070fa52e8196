"""A compute node: a host of its own, made of namespaces.

Two halves. `outside` is a service of the head's supervisor: it joins the node's cgroups, starts
the inside in new namespaces, and gives it its network cable. `inside` is the node's pid 1: it
mounts what a host has for itself and supervises slurmd. Reads STATE/etc/nodes.json.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.errors import CommandError
from cluster.machine import POLL_S, run, wait_for
from cluster.paths import Paths
from cluster.supervisor import Supervisor

STOP_TIMEOUT_S = 6
CGROUP_MOUNT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class NodeConfig:
    """The node's part of nodes.json."""

    name: str
    address: str
    loopback: bool
    bridge: str
    cable: str
    # controller → its mount options, and the folders this node's processes belong in
    controllers: Mapping[str, str]
    cgroups: tuple[str, ...]
    private_fuse: bool
    keep_in_tmp: str


def load(paths: Paths, name: str) -> NodeConfig:
    raw: dict[str, Any] = json.loads((paths.etc / "nodes.json").read_text())[name]
    return NodeConfig(**{**raw, "cgroups": tuple(raw["cgroups"])})


def outside(paths: Paths, config: NodeConfig) -> int:
    for folder in config.cgroups:
        (Path(folder) / "cgroup.procs").write_text(str(os.getpid()))
    spaces = ["--mount", "--uts", "--pid", "--cgroup", *([] if config.loopback else ["--net"])]
    unshare = ["unshare", *spaces, "--fork", "--kill-child", "--propagation", "private"]
    program = [sys.executable, "-m", "cluster.node"]
    inside = subprocess.Popen([*unshare, *program, "inside", str(paths.state), config.name])
    signal.signal(signal.SIGTERM, lambda *_: _stop(inside))
    signal.signal(signal.SIGALRM, lambda *_: os.kill(inside.pid, signal.SIGKILL))
    if not config.loopback:
        _plug_in(config, _only_child(inside))
    return inside.wait()


def _only_child(process: subprocess.Popen[bytes]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: process.poll() is not None or bool(children.read_text().strip()), "unshare")
    return int(children.read_text().split()[0])


def _plug_in(config: NodeConfig, pid: int) -> None:
    """A cable from the bridge to the node; it vanishes with the node's network namespace."""
    if Path(f"/sys/class/net/{config.cable}").exists():
        # of this node's last life: the kernel takes its time with a dead namespace
        run(["ip", "link", "del", config.cable])
    cable = ["ip", "link", "add", config.cable, "type", "veth"]
    run([*cable, "peer", "name", "eth0", "netns", str(pid)])
    run(["ip", "link", "set", config.cable, "master", config.bridge, "up"])


def _stop(inside: subprocess.Popen[bytes]) -> None:
    """The node's pid 1 stops slurmd and leaves; its namespace takes the rest with it.

    A signal's handler: it may not wait, for what it interrupts is waiting already.
    """
    signal.alarm(STOP_TIMEOUT_S)
    with suppress(ProcessLookupError, IndexError, FileNotFoundError):
        os.kill(_only_child(inside), signal.SIGTERM)


def inside(paths: Paths, config: NodeConfig) -> None:
    socket.sethostname(config.name)
    _mount_own(config)
    if not config.loopback:
        _bring_up(config)
    while not paths.go.exists():  # not bounded: `up` may take its time, or be interrupted
        time.sleep(POLL_S)
    supervisor = Supervisor(paths.etc / f"services-{config.name}.json", paths.control(config.name))
    supervisor.start("slurmd")
    supervisor.run()


def _mount_own(config: NodeConfig) -> None:
    _mount("proc", "/proc")
    if not config.loopback:  # refused (EBUSY) where the network namespace is shared
        _mount("sysfs", "/sys")
    if config.controllers:
        _mount("tmpfs", str(CGROUP_MOUNT), "mode=755")
    for controller, options in config.controllers.items():
        (CGROUP_MOUNT / controller).mkdir()
        _mount("cgroup", str(CGROUP_MOUNT / controller), options)
    _mount("tmpfs", "/dev/shm", "mode=1777,size=2g")  # noqa: S108  a mount point
    _mount("devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=0620,gid=5")
    if config.private_fuse:
        # Apptainer mounts images as the user; the machine's own device stays as it is
        run(["mount", "--bind", str(Path(config.keep_in_tmp) / "dev" / "fuse"), "/dev/fuse"])
    _private_tmp(config)


def _private_tmp(config: NodeConfig) -> None:
    """Slurm's pmix and Open MPI keep per-job folders in /tmp, under names that would collide."""
    state = Path(config.keep_in_tmp)
    shared = state.parent if state.is_relative_to("/tmp") else None  # noqa: S108  compared only
    _mount("tmpfs", "/mnt", "mode=1777,size=4g")
    if shared is not None:
        inner = Path("/mnt") / shared.relative_to("/tmp")  # noqa: S108
        inner.mkdir(parents=True)
        run(["mount", "--bind", str(shared), str(inner)])
    run(["mount", "--rbind", "/mnt", "/tmp"])  # noqa: S108
    run(["umount", "-l", "/mnt"])


def _mount(kind: str, target: str, options: str = "") -> None:
    run(["mount", "-t", kind, *(["-o", options] if options else []), kind, target])


def _bring_up(config: NodeConfig) -> None:
    wait_for(lambda: Path("/sys/class/net/eth0").exists(), "the network cable")
    run(["ip", "link", "set", "lo", "up"])
    run(["ip", "addr", "add", f"{config.address}/24", "dev", "eth0"])
    run(["ip", "link", "set", "eth0", "up"])
    subnet = f"{config.address.rsplit('.', 1)[0]}.0/24"
    link = ["dev", "eth0", "proto", "kernel", "scope", "link", "src", config.address]
    run(["ip", "route", "change", subnet, *link, "quickack", "1"])


def main() -> None:
    half, paths, name = sys.argv[1], Paths(Path(sys.argv[2])), sys.argv[3]
    config = load(paths, name)
    if half == "outside":
        sys.exit(outside(paths, config))
    try:
        inside(paths, config)
    except CommandError as error:
        sys.exit(f"{name}: {error}")


if __name__ == "__main__":
    main()
