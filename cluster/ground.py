"""What a cluster stands on: addresses, the machine's abilities, every rendered file.

`prepare` decides them afresh for a cold start; `known` reads back what a running cluster uses.
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

from cluster import footprint, namespaces, secret, services
from cluster.addresses import choose, dumps, loads
from cluster.control import Spec, ask, dump_specs
from cluster.errors import ClusterError
from cluster.layout import Layout
from cluster.machine import (
    REQUIRED_CONTROLLERS,
    Hierarchy,
    choosing,
    folder,
    hierarchies,
    run,
    succeeds,
    taken,
    write,
)
from cluster.paths import CHECKOUT, Paths
from cluster.render import Abilities, Cluster, ConfigFile, private_accounts, render
from cluster.render_modules import render_modules

LONGEST_STATE = 60  # bytes: munge's and MariaDB's sockets lie below it, and have 107 in all
MACHINE_FILES = ("passwd", "shadow", "group")


@dataclass(frozen=True)
class Options:
    mode: str = "auto"  # or "veth", "loopback"
    without: frozenset[str] = frozenset()  # of cgroups, mknod, fuse: as if refused
    only_slurm: bool = False


class Progress:
    """Lines on the terminal, each with the time since the beginning."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, message: str) -> None:
        print(f"[{time.monotonic() - self._began:6.1f} s] {message}", flush=True)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.say(f"{title}: {time.monotonic() - began:.1f} s")


@dataclass(frozen=True)
class Ground:
    """One cluster and the means to work on it."""

    cluster: Cluster
    secrets: secret.Secrets
    progress: Progress

    @property
    def paths(self) -> Paths:
        return self.cluster.paths

    def on_head(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        check: bool = True,
    ) -> str:
        """As root inside the head, with Slurm's configuration known; raises ClusterError."""
        head = namespaces.find_head(self.paths)
        if head is None:
            raise ClusterError(f"the head isn't running: see {self.paths.log}/head.log")
        full = {"SLURM_CONF": str(self.paths.slurm_conf), **(env or {})}
        command = namespaces.on_head(head, argv)
        return run(command, stdin=stdin, env=full, timeout_s=timeout_s, check=check)

    def start(self, *names: str) -> None:
        ask(self.paths.control(), "start", names)


def known(paths: Paths, layout: Layout, progress: Progress) -> Ground:
    """A cluster that is or was up, as it was rendered then."""
    addresses = loads(paths.addresses.read_text())
    abilities = Abilities(**json.loads(paths.abilities.read_text()))
    cluster = Cluster(layout, addresses, abilities, paths)
    return Ground(cluster, secret.ensure(paths, layout), progress)


def prepare(paths: Paths, layout: Layout, options: Options, progress: Progress) -> Ground:
    """For a cold start: nothing of this cluster runs. Raises ClusterError."""
    check_reachable(paths.state)
    folder(paths.dev)
    with choosing(paths):
        remembered = loads(paths.addresses.read_text()) if paths.addresses.exists() else None
        addresses = choose(layout, _mode(paths, options), taken(paths), remembered)
        write(paths.addresses, dumps(addresses))
    if remembered and remembered.mode == addresses.mode and remembered != addresses:
        progress.say(f"some addresses were taken: now {addresses.base_url}, {addresses.subnet}")
    if addresses.mode == "veth":
        footprint.make_bridge(paths, addresses.head)
    cgroups = _cgroups(paths, layout, options)
    abilities = Abilities(bool(cgroups), _gpus(paths, layout, options), _fuse(paths, options))
    write(paths.abilities, json.dumps(asdict(abilities)))
    ground = Ground(
        Cluster(layout, addresses, abilities, paths), secret.ensure(paths, layout), progress
    )
    for note in notes(ground.cluster):
        progress.say(f"note: {note}")
    _write_files(ground, cgroups)
    return ground


def check_reachable(state: Path) -> None:
    """Jobs' users must get to their homes below the state folder."""
    closed = [path for path in state.parents if not path.stat().st_mode & 0o001]
    if closed:
        raise ClusterError(f"{closed[0]} is closed to other users: choose another state folder")
    if len(os.fsencode(state)) > LONGEST_STATE:
        raise ClusterError(f"{state} is longer than {LONGEST_STATE} bytes, too long for sockets")


def _mode(paths: Paths, options: Options) -> str:
    if options.mode != "auto":
        return options.mode
    return "veth" if footprint.networks_allowed(paths) else "loopback"


def _cgroups(paths: Paths, layout: Layout, options: Options) -> dict[str, Hierarchy]:
    if "cgroups" in options.without or not set(REQUIRED_CONTROLLERS) <= set(hierarchies()):
        return {}
    return footprint.make_cgroups(paths, [node.name for node in layout.nodes])


def _gpus(paths: Paths, layout: Layout, options: Options) -> bool:
    return "mknod" not in options.without and all(
        _device(paths.dev / f"nvidia{number}", 240, number) for number in range(layout.most_gpus)
    )


def _fuse(paths: Paths, options: Options) -> str:
    if "fuse" in options.without:
        return "none"
    if footprint.FUSE.exists() and _device(paths.dev / "fuse", 10, 229):
        return "private"
    return "opened" if footprint.open_fuse(paths) else "none"


def _device(path: Path, major: int, minor: int) -> bool:
    make = ["mknod", "-m", "666", str(path), "c", str(major), str(minor)]
    return path.is_char_device() or succeeds(make)


def notes(cluster: Cluster) -> list[str]:
    """What this machine refused, and what stands in for it; and what the GPUs are."""
    abilities, loopback = cluster.abilities, cluster.addresses.mode == "loopback"
    found = [
        (loopback, "no network namespaces: all nodes share the loopback, not shut off each other"),
        (not abilities.cgroups, "no cgroups v1: jobs' memory and GPU devices aren't confined"),
        (not abilities.mknod, "no mknod: consoles (/dev/tty…) stand in for GPU devices"),
        (abilities.fuse == "opened", "no private /dev/fuse: the machine's own is open to users"),
        (abilities.fuse == "none", "no FUSE: Apptainer unpacks images instead of mounting them"),
        (bool(cluster.layout.most_gpus), "the GPUs are device nodes without hardware"),
    ]
    return [text for applies, text in found if applies]


def _write_files(ground: Ground, cgroups: dict[str, Hierarchy]) -> None:
    cluster, paths = ground.cluster, ground.paths
    for path, owner, mode in services.folders(cluster):
        folder(path, owner, mode)
    machine = {name: Path(f"/etc/{name}").read_text() for name in MACHINE_FILES}
    password = ground.secrets.passwords["cn=portal"]
    files = {
        **render(cluster, ground.secrets.passwords["cn=nslcd"]),
        **render_modules(cluster),
        **private_accounts(cluster, machine),
        **_instructions(cluster, cgroups),
        "ldap-portal-password": ConfigFile(password + "\n", mode=0o600),
    }
    for name, file in files.items():
        write(paths.etc / name, file.text, mode=file.mode, owner=file.owner)
    _copy_package(paths)
    make_munge_key(paths)


def _instructions(cluster: Cluster, cgroups: dict[str, Hierarchy]) -> dict[str, ConfigFile]:
    """What the pid 1 of the head and of each node read."""
    nodes = {
        node.name: services.node_config(cluster, index, cgroups)
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
    users = _daemons()
    for own in cluster.layout.service_accounts:
        users[own.name] = (own.uid, own.uid, ())
    return [*services.base_services(cluster, users), *services.portal_services(cluster, users)]


def _daemons() -> dict[str, services.User]:
    """The accounts that Debian's packages made for what runs on the head."""
    found: dict[str, services.User] = {}
    for name in ("munge", "mysql", "slurm", "www-data"):
        entry = pwd.getpwnam(name)
        groups = tuple(group.gr_gid for group in grp.getgrall() if name in group.gr_mem)
        found[name] = (entry.pw_uid, entry.pw_gid, groups)
    return found


def _copy_package(paths: Paths) -> None:
    """The running cluster's own copy: a checkout may change under it."""
    fresh = paths.lib.with_name("lib.new")
    shutil.rmtree(fresh, ignore_errors=True)
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "cluster", fresh / "cluster", ignore=skip)
    shutil.rmtree(paths.lib, ignore_errors=True)
    fresh.rename(paths.lib)


def make_munge_key(paths: Paths) -> None:
    """The secret by which every host of the cluster believes the others."""
    key = paths.data / "munge" / "munge.key"
    if not key.exists():
        fresh = key.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        fresh.touch(0o600)
        fresh.write_bytes(os.urandom(1024))
        shutil.chown(fresh, "munge", "munge")
        fresh.chmod(0o400)
        fresh.rename(key)
