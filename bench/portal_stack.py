"""A portal, a hub and an nginx for benchmarks, beside the cluster's own services.

They are real programs that use the cluster's real Slurm and a database that was filled beforehand.
A wrapper appends lines for the sessions of that database to squeue's real output; without them the
portal would correctly conclude that the sessions have ended. For a scene with many nodes, another
one replaces scontrol's lists of nodes and partitions. Everything lies in one folder below
the cluster's state folder, which is removed afterwards.
"""

from __future__ import annotations

import asyncio
import functools
import shutil
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.cluster_access import BenchCluster, Failed, connects, free_port, started, wait_until
from bench.many_nodes import render_nodes, render_partitions
from bench.rows import MARK, BenchLogins, Scene, fill_beside
from cluster.config.render_portal import toml
from cluster.host.machine import run

PORTAL, HUB, NGINX = "portal", "portalhub", "www-data"
SQUEUE = """#!/bin/sh
/usr/bin/squeue "$@" || exit
mark=${{SQUEUE_FORMAT%%\\%*}}
exec sed "s/{mark}/$mark/g" {lines}
"""
SCONTROL = """#!/bin/sh
case "$*" in
    *"show node"*) exec cat {folder}/nodes.txt ;;
    *"show partition"*) exec cat {folder}/partitions.txt ;;
esac
exec /usr/bin/scontrol "$@"
"""
SLURM = ("sacct", "scancel")


@dataclass(frozen=True)
class PortalStack:
    """The running programs, their ports and their folder."""

    cluster: BenchCluster
    folder: Path
    logins: BenchLogins
    portal_port: int
    hub_port: int
    front_port: int
    upstream_port: int
    portal_pid: int = 0
    hub_pid: int = 0

    @property
    def database(self) -> Path:
        return self.folder / "portal" / "portal.db"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.portal_port}"


@asynccontextmanager
async def running_stack(
    cluster: BenchCluster, scene: Scene, *, with_hub: bool = False
) -> AsyncIterator[PortalStack]:
    """Run the programs with this scene until the block ends.

    Its running sessions claim to serve at an nginx that answers 200 to everything.
    """
    folder = cluster.paths.state / "stand"
    shutil.rmtree(folder, ignore_errors=True)
    ports = [free_port() for _ in range(4)]
    database = folder / "portal" / "portal.db"
    try:
        for name in ("portal", "hub", "bin", "upstream"):
            (folder / name).mkdir(parents=True)
        scene = replace(scene, target=("127.0.0.1", ports[3]))
        lines = folder / "squeue.txt"
        logins = await asyncio.to_thread(fill_beside, cluster.paths.app, database, lines, scene)
        stack = PortalStack(cluster, folder, logins, *ports)
        _configure(stack)
        _show_nodes(stack, scene.nodes)
        with _run_upstream(stack), _run_programs(stack, with_hub) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Measure one listener only: the gate costs the same wherever notebooks are served.
CONTENT_ORIGINS = ("notebook_url", "tensorboard_url")


def _configure(stack: PortalStack) -> None:
    cluster, folder = stack.cluster, stack.folder
    squeue = folder / "bin" / "squeue"
    squeue.write_text(SQUEUE.format(mark=MARK, lines=folder / "squeue.txt"))
    squeue.chmod(0o755)
    for name in SLURM:
        (folder / "bin" / name).symlink_to(f"/usr/bin/{name}")
    for name, changes in (("portal", _portal_settings(stack)), ("hub", _hub_settings(stack))):
        settings = tomllib.loads((cluster.paths.etc / f"{name}.toml").read_text())
        kept = {key: value for key, value in settings.items() if key not in CONTENT_ORIGINS}
        (folder / f"{name}.toml").write_text(toml({**kept, **changes}))
    _chown_like(folder / "portal", cluster.paths.portal_home)
    _chown_like(folder / "hub", cluster.paths.hub_home)


def _show_nodes(stack: PortalStack, count: int) -> None:
    """Let the portal see this many nodes, made of the cluster's own; with 0, its own."""
    scontrol = stack.folder / "bin" / "scontrol"
    if count == 0:
        scontrol.symlink_to("/usr/bin/scontrol")
        return
    ask = functools.partial(stack.cluster.exec_as, "portal")
    nodes = render_nodes(ask(["scontrol", "-o", "-d", "show", "node"]), count)
    partitions = render_partitions(ask(["scontrol", "-a", "-o", "show", "partition"]), count)
    (stack.folder / "nodes.txt").write_text(nodes)
    (stack.folder / "partitions.txt").write_text(partitions)
    scontrol.write_text(SCONTROL.format(folder=stack.folder))
    scontrol.chmod(0o755)


def _portal_settings(stack: PortalStack) -> dict[str, Any]:
    return {
        "public_url": f"http://127.0.0.1:{stack.front_port}",
        "same_origin_content": True,
        "node_url": f"http://127.0.0.1:{free_port()}",
        "listen_port": stack.portal_port,
        "hub_url": f"http://127.0.0.1:{stack.hub_port}",
        "state_dir": str(stack.folder / "portal"),
        "slurm_bin_dir": str(stack.folder / "bin"),
    }


def _hub_settings(stack: PortalStack) -> dict[str, Any]:
    return {
        "public_url": f"http://127.0.0.1:{stack.front_port}",
        "hub_bind_url": f"http://127.0.0.1:{stack.hub_port}",
        "portal_url": stack.url,
        "db_url": f"sqlite:///{stack.folder}/hub/hub.db",
    }


def _chown_like(folder: Path, like: Path) -> None:
    """Give a folder and its entries to the owner of `like`."""
    owner = like.stat()
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, owner.st_uid, owner.st_gid)
    folder.chmod(0o700)


@contextmanager
def _run_programs(stack: PortalStack, with_hub: bool) -> Iterator[PortalStack]:
    cluster, folder = stack.cluster, stack.folder
    python = str(cluster.paths.venv / "bin" / "python")
    portal = [python, "-I", "-m", "portal", "serve"]
    hub = [python, "-I", "-m", "jupyterhub", "-f"]
    hub += [str(cluster.paths.app / "deploy" / "jupyterhub_config.py")]
    settings = {"PORTAL_CONFIG": str(folder / "portal.toml")}
    with cluster.program(PORTAL, portal, settings, folder / "portal.log") as portal_pid:
        _wait_until_up(stack.portal_port, folder / "portal.log")
        if not with_hub:
            yield replace(stack, portal_pid=portal_pid)
            return
        settings = {"PORTAL_HUB_CONFIG": str(folder / "hub.toml")}
        with cluster.program(HUB, hub, settings, folder / "hub.log") as hub_pid:
            _wait_until_up(stack.hub_port, folder / "hub.log")
            yield replace(stack, portal_pid=portal_pid, hub_pid=hub_pid)


def _wait_until_up(port: int, log: Path) -> None:
    try:
        wait_until(lambda: connects(port), f"the bench's {log.stem}")
    except Failed as error:
        raise Failed(f"{error}; its log ends: {log.read_text()[-1500:]}") from error


# --- nginx --------------------------------------------------------------------------------------

UPSTREAM = """worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ default_type application/json; return 200 '{{"version": "2.21"}}'; }}
    }}
}}
"""


@contextmanager
def _run_upstream(stack: PortalStack) -> Iterator[None]:
    folder = stack.folder / "upstream"
    (folder / "nginx.conf").write_text(UPSTREAM.format(folder=folder, port=stack.upstream_port))
    with _run_nginx(folder):
        wait_until(lambda: connects(stack.upstream_port), "the upstream")
        yield


def render_front(stack: PortalStack) -> str:
    """Return nginx's configuration as deploy/nginx.py renders it for these programs."""
    folder = stack.folder / "nginx"
    folder.mkdir()
    python = str(stack.cluster.paths.venv / "bin" / "python")
    settings = ["--settings", str(stack.folder / "portal.toml"), "--out", str(folder)]
    _chown_to_nginx(folder)
    run([*_nginx_account(), python, "-I", "-m", "deploy.nginx", *settings])
    return (folder / "nginx.conf").read_text()


@contextmanager
def running_front(stack: PortalStack, rendered: str, *replaced: tuple[str, str]) -> Iterator[str]:
    """Run nginx with parts of its configuration replaced; yields its address.

    Raises Failed if a part to replace is not in the configuration.
    """
    folder = stack.folder / "nginx"
    for old, new in replaced:
        if old not in rendered:
            raise Failed(f"the front door's configuration lacks {old!r}")
        rendered = rendered.replace(old, new)
    (folder / "nginx.conf").write_text(rendered)
    with _run_nginx(folder):
        wait_until(lambda: connects(stack.front_port), "the bench's front door")
        yield f"http://127.0.0.1:{stack.front_port}"


def _chown_to_nginx(folder: Path) -> None:
    shutil.chown(folder, NGINX)
    folder.chmod(0o700)


def _nginx_account() -> list[str]:
    return ["setpriv", "--reuid", NGINX, "--regid", NGINX, "--init-groups"]


@contextmanager
def _run_nginx(folder: Path) -> Iterator[None]:
    _chown_to_nginx(folder)
    argv = [*_nginx_account(), "nginx", "-p", str(folder), "-e", str(folder / "stderr.log")]
    argv += ["-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with (folder / "output.log").open("wb") as output, started(argv, output):
        yield
