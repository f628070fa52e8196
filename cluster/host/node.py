"""A compute node: a host simulated by namespaces.

It has two halves. `outside` is a service of the head's supervisor: it joins the node's cgroups,
starts `inside` in new namespaces, and attaches a network cable. `inside` is the node's pid 1: it
mounts a host's own file systems and supervises slurmd. Reads STATE/etc/nodes.json.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.config.paths import Paths
from cluster.errors import CommandError
from cluster.host import cgroups
from cluster.host.machine import run, wait_for
from cluster.host.supervisor import Supervisor

STOP_TIMEOUT_S = 6
GO_POLL_S = 0.1  # every node polls while the rest of the cluster starts


@dataclass(frozen=True)
class NodeConfig:
    """A node's entry in nodes.json."""

    name: str
    address: str
    loopback: bool
    bridge: str
    cable: str
    confined: bool  # by cgroups
    private_fuse: bool
    keep_in_tmp: str


def load(paths: Paths, name: str) -> NodeConfig:
    raw: dict[str, Any] = json.loads((paths.etc / "nodes.json").read_text())[name]
    return NodeConfig(**raw)


def outside(paths: Paths, config: NodeConfig) -> int:
    tree = cgroups.find() if config.confined else None
    if tree is not None:
        tree.enter(paths.token, config.name)
    spaces = ["--mount", "--uts", "--pid", "--cgroup", *([] if config.loopback else ["--net"])]
    unshare = ["unshare", *spaces, "--fork", "--kill-child", "--propagation", "private"]
    program = [sys.executable, "-m", "cluster.host.node"]
    inside = subprocess.Popen([*unshare, *program, "inside", str(paths.state), config.name])
    signal.signal(signal.SIGTERM, lambda *_: _stop(inside))
    signal.signal(signal.SIGALRM, lambda *_: os.kill(inside.pid, signal.SIGKILL))
    first = _wait_for_child(inside)  # from now on the namespaces exist
    if tree is not None:
        tree.leave(paths.token, (os.getpid(), inside.pid))
    if not config.loopback:
        _attach_cable(config, first)
    return inside.wait()


def _wait_for_child(process: subprocess.Popen[bytes]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: process.poll() is not None or bool(children.read_text().strip()), "unshare")
    return int(children.read_text().split()[0])


def _attach_cable(config: NodeConfig, pid: int) -> None:
    """Connect the bridge to the node; the veth pair vanishes with the node's network namespace."""
    if Path(f"/sys/class/net/{config.cable}").exists():
        # left by this node's previous run: the kernel removes a dead namespace with a delay
        run(["ip", "link", "del", config.cable])
    cable = ["ip", "link", "add", config.cable, "type", "veth"]
    run([*cable, "peer", "name", "eth0", "netns", str(pid)])
    run(["ip", "link", "set", config.cable, "master", config.bridge, "up"])


def _stop(inside: subprocess.Popen[bytes]) -> None:
    """Make the node's pid 1 stop slurmd and exit; its namespace ends with it.

    This is a signal handler: it must not wait, because the code it interrupts already waits.
    """
    signal.alarm(STOP_TIMEOUT_S)
    with suppress(ProcessLookupError, IndexError, FileNotFoundError):
        os.kill(_wait_for_child(inside), signal.SIGTERM)


def inside(paths: Paths, config: NodeConfig) -> None:
    socket.sethostname(config.name)
    _mount_file_systems(config)
    if not config.loopback:
        _configure_network(config)
    while not paths.go.exists():  # unbounded: `up` may take long or be interrupted
        time.sleep(GO_POLL_S)
    supervisor = Supervisor(paths.etc / f"services-{config.name}.json", paths.control(config.name))
    supervisor.start("slurmd")
    supervisor.run()


def _mount_file_systems(config: NodeConfig) -> None:
    tree = cgroups.find() if config.confined else None  # before the node has its own /sys
    _mount("proc", "/proc")
    if not config.loopback:  # refused (EBUSY) where the network namespace is shared
        _mount("sysfs", "/sys")
    if tree is not None:
        tree.mount(config.name)
    _mount("tmpfs", "/dev/shm", "mode=1777,size=2g")  # noqa: S108  a mount point
    _mount("devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=0620,gid=5")
    if config.private_fuse:
        # Apptainer mounts images as the user; the machine's own device stays unchanged
        run(["mount", "--bind", str(Path(config.keep_in_tmp) / "dev" / "fuse"), "/dev/fuse"])
    tun = Path(config.keep_in_tmp) / "dev" / "tun"
    if tun.is_char_device():
        run(["mount", "--bind", str(tun), "/dev/net/tun"])  # as distributions do: open to users
    _mount_private_tmp(config)


def _mount_private_tmp(config: NodeConfig) -> None:
    """Mount a private /tmp: Slurm's pmix and Open MPI keep per-job folders there, which would
    collide."""
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


def _configure_network(config: NodeConfig) -> None:
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
