"""The parts of a cluster that faults hit, and how the processes of each are found.

A process belongs to this cluster because it is in the pid namespace of its head or of one of its
nodes, so that no other cluster on the machine is ever hit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cluster.config.paths import Paths
from cluster.host import namespaces
from cluster.host.control import send_command
from spawner.launcher.installed import FILES_PROGRAM

FIRST_USER = 20000  # uids below are those of services


@dataclass(frozen=True)
class Process:
    """A process, with the machine's pids."""

    pid: int
    group: int
    uid: int
    argv: tuple[str, ...]
    host: str

    def job_id(self) -> int | None:
        """Return the Slurm job in whose environment it was started."""
        with suppress(OSError):
            for entry in Path(f"/proc/{self.pid}/environ").read_bytes().split(b"\0"):
                if entry.startswith(b"SLURM_JOB_ID="):
                    return int(entry.partition(b"=")[2])
        return None


Find = Callable[[Paths], set[int]]


@dataclass(frozen=True)
class Part:
    """A part, and what a user legitimately loses with it when it is killed."""

    name: str
    find: Find
    loses: frozenset[str] = frozenset()


def node_names(paths: Paths) -> list[str]:
    """Return the nodes, each of which has its supervisor's socket."""
    hosts = {path.stem.removeprefix("control-") for path in paths.run.glob("control-*.sock")}
    return sorted(hosts - {"head"})


def find_host(paths: Paths, host: str) -> int | None:
    """Return the pid of a host's first process, None while it is down."""
    return namespaces.find_head(paths) if host == "head" else namespaces.find_node(paths, host)


def list_processes(paths: Paths, host: str = "head") -> list[Process]:
    """Return the processes of the head or a node, none while it is down."""
    first = find_host(paths, host)
    if first is None:
        return []
    return list(_read_all(namespaces.machine_pids(first).values(), host))


def _read_all(pids: Iterable[int], host: str) -> Iterator[Process]:
    for pid in pids:
        with suppress(OSError):  # it has ended since
            folder = Path(f"/proc/{pid}")
            argv = (folder / "cmdline").read_bytes().decode(errors="replace").rstrip("\0")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                uid = folder.stat().st_uid
                yield Process(pid, int(fields[2]), uid, tuple(argv.split("\0")), host)


def find_service(name: str, host: str = "head") -> Find:
    """Find a service's process group, which the host's supervisor reports."""

    def find(paths: Paths) -> set[int]:
        first = find_host(paths, host)
        assert first, f"{host} is down"
        inner = send_command(paths.control(host), "status")["services"][name]["pid"]
        leader = namespaces.machine_pids(first).get(inner)
        return {process.pid for process in list_processes(paths, host) if process.group == leader}

    return find


def find_on_nodes(find_on: Callable[[str], Find]) -> Find:
    """Find a part on every node."""
    return lambda paths: {pid for name in node_names(paths) for pid in find_on(name)(paths)}


def find_program(text: str, *, on_nodes: bool) -> Find:
    """Find users' processes with this text in an argument, on the head or on all nodes."""

    def find(paths: Paths) -> set[int]:
        hosts = node_names(paths) if on_nodes else ["head"]
        found = (process for host in hosts for process in list_processes(paths, host))
        return {
            process.pid
            for process in found
            if process.uid >= FIRST_USER and any(text in word for word in process.argv)
        }

    return find


def _service(name: str) -> Part:
    return Part(name, find_service(name))


LAB = "spawner.node.session"
BOARD = "spawner.node.tensorboard"
PARTS = {
    part.name: part
    for part in (
        *map(_service, ("portal", "hub", "nginx")),
        # a killed slurmctld forgets jobs that are a few seconds old
        Part("slurmctld", find_service("slurmctld"), frozenset({"jobs"})),
        *map(_service, ("slurmdbd", "mariadbd")),
        # and a killed slurmd the job that it is launching
        Part(
            "slurmd",
            find_on_nodes(lambda host: find_service("slurmd", host)),
            frozenset({"jobs"}),
        ),
        *map(_service, ("munged", "slapd")),
        # Slurm holds a job that it launches while the node can't look up its user
        Part("nslcd", find_service("nslcd"), frozenset({"jobs"})),
        Part("launcher", find_program("libexec/launcher", on_nodes=False)),
        Part("file process", find_program(FILES_PROGRAM, on_nodes=False)),
        Part("JupyterLab", find_program(LAB, on_nodes=True), frozenset({"session", "cell"})),
        Part("kernel", find_program("ipykernel_launcher", on_nodes=True), frozenset({"cell"})),
        Part("TensorBoard", find_program(BOARD, on_nodes=True), frozenset({"board"})),
    )
}
