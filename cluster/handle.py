"""The basis of a cluster: addresses, the machine's abilities, every rendered file.

`prepare` determines them for a cold start; `load` loads the values of a running cluster.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cluster.config import secret
from cluster.config.addresses import choose, dumps, loads
from cluster.config.description import Layout
from cluster.config.paths import CHECKOUT, Paths
from cluster.config.render import Abilities, Cluster, ConfigFile, private_accounts, render
from cluster.config.render_modules import render_modules
from cluster.errors import ClusterError
from cluster.host import cgroups, namespaces, resources
from cluster.host.confinement import describe
from cluster.host.control import Spec, dump_specs, send_command
from cluster.host.machine import (
    PATIENCE_S,
    choosing,
    folder,
    list_used_addresses,
    run,
    succeeds,
    write,
)
from cluster.parts import services

# in bytes: the sockets of munge and MariaDB lie below it, and have a limit of 107
LONGEST_STATE = 60
NEEDED_PORTS = ("public", "notebooks", "tensorboards")
MACHINE_FILES = ("passwd", "shadow", "group")


@dataclass(frozen=True)
class Options:
    mode: str = "auto"  # or "veth", "loopback"
    # a subset of cgroups, mknod, fuse: treated as refused by the machine
    without: frozenset[str] = frozenset()
    only_slurm: bool = False
    slurm: Path | None = None  # a folder made by tests/recording/programs.py


class TerminalProgress:
    """Progress lines on the terminal, each with the time since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def write_line(self, message: str) -> None:
        print(f"[{time.monotonic() - self._began:6.1f} s] {message}", flush=True)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.write_line(f"{title}: {time.monotonic() - began:.1f} s")


@dataclass(frozen=True)
class ClusterHandle:
    """One cluster and the means to operate on it."""

    cluster: Cluster
    secrets: secret.Secrets
    progress: TerminalProgress

    @property
    def paths(self) -> Paths:
        return self.cluster.paths

    def on_head(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        timeout_s: float = PATIENCE_S,
        check: bool = True,
    ) -> str:
        """Run a program as root inside the head with SLURM_CONF set. Raises ClusterError."""
        head = namespaces.find_head(self.paths)
        if head is None:
            raise ClusterError(f"the head isn't running: see {self.paths.log}/head.log")
        full = {"SLURM_CONF": str(self.paths.slurm_conf), **(env or {})}
        command = namespaces.on_head(head, argv)
        return run(command, stdin=stdin, env=full, timeout_s=timeout_s, check=check)

    def start(self, *names: str) -> None:
        send_command(self.paths.control(), "start", names)


def load(paths: Paths, layout: Layout, progress: TerminalProgress) -> ClusterHandle:
    """Load a cluster that is or was up, as it was rendered then.

    Raises ClusterError for a cluster that an older version created, with fewer ports.
    """
    addresses = loads(paths.addresses.read_text())
    if missing := [name for name in NEEDED_PORTS if name not in addresses.ports]:
        raise ClusterError(
            f"the cluster in {paths.state} was raised by an older version: it has no port for"
            f" {', '.join(missing)}. Take it down and raise it again: `make down && make demo`."
        )
    abilities = Abilities(**json.loads(paths.abilities.read_text()))
    cluster = Cluster(layout, addresses, abilities, paths)
    return ClusterHandle(cluster, secret.ensure(paths, layout), progress)


def prepare(
    paths: Paths, layout: Layout, options: Options, progress: TerminalProgress
) -> ClusterHandle:
    """Prepare a cold start, when nothing of this cluster runs. Raises ClusterError."""
    check_reachable(paths.state)
    folder(paths.dev)
    with choosing(paths):
        remembered = loads(paths.addresses.read_text()) if paths.addresses.exists() else None
        addresses = choose(
            layout, _choose_mode(paths, options), list_used_addresses(paths), remembered
        )
        write(paths.addresses, dumps(addresses))
    if remembered and remembered.mode == addresses.mode and remembered != addresses:
        progress.write_line(
            f"some addresses were taken: now {addresses.base_url}, {addresses.subnet}"
        )
    if addresses.mode == "veth":
        resources.make_bridge(paths, addresses.head)
    version, refused = _make_cgroups(paths, layout, options)
    _provide_tun(paths, options)
    abilities = Abilities(
        cgroups=version,
        no_cgroups=refused,
        cores=bool(version) and layout.most_cores <= len(os.sched_getaffinity(0)),
        mknod=_make_gpus(paths, layout, options),
        fuse=_provide_fuse(paths, options),
        slurm=str(options.slurm.resolve()) if options.slurm else "",
    )
    write(paths.abilities, json.dumps(asdict(abilities)))
    handle = ClusterHandle(
        Cluster(layout, addresses, abilities, paths), secret.ensure(paths, layout), progress
    )
    for note in notes(handle.cluster):
        progress.write_line(f"note: {note}")
    for line in describe(handle.cluster):
        progress.write_line(line)
    _write_files(handle)
    return handle


def check_reachable(state: Path) -> None:
    """Check that jobs' users can reach their home directories below the state folder."""
    closed = [path for path in state.parents if not path.stat().st_mode & 0o001]
    if closed:
        raise ClusterError(f"{closed[0]} is closed to other users: choose another state folder")
    if len(os.fsencode(state)) > LONGEST_STATE:
        raise ClusterError(f"{state} is longer than {LONGEST_STATE} bytes, too long for sockets")


def _choose_mode(paths: Paths, options: Options) -> str:
    if options.mode != "auto":
        return options.mode
    return "veth" if resources.networks_allowed(paths) else "loopback"


def _make_cgroups(paths: Paths, layout: Layout, options: Options) -> tuple[int, str]:
    """Return the version that confines the nodes' jobs, or 0 and the reason."""
    if "cgroups" in options.without:
        return 0, "done without, as asked"
    tree = cgroups.find()
    if tree is None:
        return 0, "the machine mounts neither version 1 nor version 2 with what Slurm needs"
    try:
        tree.make(paths.token, [node.name for node in layout.nodes])
    except OSError as error:
        tree.remove(paths.token)
        return 0, f"the machine refuses to make any: {error}"
    return tree.version, ""


def _make_gpus(paths: Paths, layout: Layout, options: Options) -> bool:
    return "mknod" not in options.without and all(
        _make_device(paths.dev / f"nvidia{number}", 240, number)
        for number in range(layout.most_gpus)
    )


def _provide_fuse(paths: Paths, options: Options) -> str:
    if "fuse" in options.without:
        return "none"
    if resources.FUSE.exists() and _make_device(paths.dev / "fuse", 10, 229):
        return "private"
    return "opened" if resources.open_fuse(paths) else "none"


def _provide_tun(paths: Paths, options: Options) -> None:
    """Create the device with which slirp4netns connects the networks of apps, where that works."""
    if resources.TUN.exists() and "mknod" not in options.without:
        _make_device(paths.dev / "tun", 10, 200)


def _make_device(path: Path, major: int, minor: int) -> bool:
    make = ["mknod", "-m", "666", str(path), "c", str(major), str(minor)]
    return path.is_char_device() or succeeds(make)


def notes(cluster: Cluster) -> list[str]:
    """Describe what this machine refuses with the fallbacks, and the GPUs."""
    abilities, loopback = cluster.abilities, cluster.addresses.mode == "loopback"
    candidates = [
        (loopback, "no network namespaces: all nodes share the loopback, not shut off each other"),
        (not abilities.cgroups, f"no cgroups: {abilities.no_cgroups}"),
        (not abilities.mknod, "no mknod: consoles (/dev/tty…) stand in for GPU devices"),
        (abilities.fuse == "opened", "no private /dev/fuse: the machine's own is open to users"),
        (abilities.fuse == "none", "no FUSE: Apptainer unpacks images instead of mounting them"),
        (bool(cluster.layout.most_gpus), "the GPUs are device nodes without hardware"),
    ]
    return [text for applies, text in candidates if applies]


def _write_files(handle: ClusterHandle) -> None:
    cluster, paths = handle.cluster, handle.paths
    for path, owner, mode in services.folders(cluster):
        folder(path, owner, mode)
    machine = {name: Path(f"/etc/{name}").read_text() for name in MACHINE_FILES}
    password = handle.secrets.passwords["cn=portal"]
    files = {
        **render(cluster, handle.secrets.passwords["cn=nslcd"]),
        **render_modules(cluster),
        **private_accounts(cluster, machine),
        **_render_instructions(cluster),
        "ldap-portal-password": ConfigFile(password + "\n", mode=0o600),
    }
    for name, file in files.items():
        write(paths.etc / name, file.text, mode=file.mode, owner=file.owner)
    _copy_package(paths)
    make_munge_key(paths)


def _render_instructions(cluster: Cluster) -> dict[str, ConfigFile]:
    """Render the instructions that the head's and each node's pid 1 read."""
    nodes = {
        node.name: services.node_config(cluster, index)
        for index, node in enumerate(cluster.layout.nodes)
    }
    texts = {
        "head.json": json.dumps({"binds": services.head_binds(cluster)}),
        "nodes.json": json.dumps(nodes),
        "services.json": dump_specs(all_services(cluster)),
        **{f"services-{name}.json": dump_specs(services.slurmd(cluster, name)) for name in nodes},
    }
    return {name: ConfigFile(text, mode=0o600) for name, text in texts.items()}


def all_services(cluster: Cluster) -> list[Spec]:
    users = _resolve_daemons()
    for account in cluster.layout.service_accounts:
        users[account.name] = (account.uid, account.uid, ())
    return [
        *services.base_services(cluster, users),
        *services.portal_services(cluster, users),
        *services.package_proxy(cluster),
    ]


def _resolve_daemons() -> dict[str, services.User]:
    """Resolve the accounts that Debian's packages created for the services on the head."""
    users: dict[str, services.User] = {}
    for name in ("munge", "mysql", "slurm", "www-data"):
        entry = pwd.getpwnam(name)
        groups = tuple(group.gr_gid for group in grp.getgrall() if name in group.gr_mem)
        users[name] = (entry.pw_uid, entry.pw_gid, groups)
    return users


def _copy_package(paths: Paths) -> None:
    """Copy this package, because the checkout may change while the cluster runs."""
    fresh = paths.lib.with_name("lib.new")
    shutil.rmtree(fresh, ignore_errors=True)
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "cluster", fresh / "cluster", ignore=skip)
    shutil.rmtree(paths.lib, ignore_errors=True)
    fresh.rename(paths.lib)


def make_munge_key(paths: Paths) -> None:
    """Create the secret by which the cluster's hosts authenticate each other."""
    key = paths.data / "munge" / "munge.key"
    if not key.exists():
        fresh = key.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        fresh.touch(0o600)
        fresh.write_bytes(os.urandom(1024))
        shutil.chown(fresh, "munge", "munge")
        fresh.chmod(0o400)
        fresh.rename(key)
