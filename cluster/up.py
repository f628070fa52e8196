"""Creating the cluster: every step prints its duration, and can be repeated.

A complete cluster is left alone, except for the application, which is updated. A cluster that an
interruption left incomplete is ended (no job can have run on it) and created again from the content
of its folder.
"""

from __future__ import annotations

from cluster.config.description import parse_layout
from cluster.config.paths import Paths
from cluster.handle import ClusterHandle, Options, TerminalProgress, load, prepare
from cluster.host import namespaces, resources
from cluster.host.control import send_command
from cluster.host.machine import folder, locked, write
from cluster.parts.portal import PORTAL_SERVICES, install_launcher, start_portal
from cluster.parts.slurm import start_head, start_slurm


def up(paths: Paths, description: str, options: Options) -> None:
    """Create or update the cluster.

    `description`: cluster.toml's text; a running cluster keeps the one it was created with.
    """
    progress = TerminalProgress()
    folder(paths.state)
    with locked(paths.state / "lock"):
        if is_up(paths):
            handle = _update_running(paths, description, progress)
        else:
            resources.clear(paths)
            handle = _create(paths, description, options, progress)
        if not options.only_slurm:
            start_portal(handle)
        progress.write_line(f"up at {handle.cluster.addresses.base_url}")


def is_up(paths: Paths) -> bool:
    complete = paths.ready.exists() and paths.description.exists()
    return complete and namespaces.find_head(paths) is not None


def _update_running(paths: Paths, description: str, progress: TerminalProgress) -> ClusterHandle:
    used = paths.description.read_text(encoding="utf-8")
    if used != description:
        progress.write_line(
            "note: the description has changed; `down` and `up` bring it into effect"
        )
    services = send_command(paths.control(), "status")["services"]
    # start services that were stopped by hand
    send_command(
        paths.control(), "start", [name for name in services if name not in PORTAL_SERVICES]
    )
    return load(paths, parse_layout(used), progress)


def _create(
    paths: Paths, description: str, options: Options, progress: TerminalProgress
) -> ClusterHandle:
    layout = parse_layout(description)
    with progress.step("configuration"):
        handle = prepare(paths, layout, options, progress)
        install_launcher(handle.cluster)
        write(paths.description, description)
    start_head(handle)
    start_slurm(handle)
    write(paths.ready, "")
    return handle
