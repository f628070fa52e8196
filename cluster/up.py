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
from cluster.host.control import ask
from cluster.host.machine import folder, locked, write
from cluster.parts.portal import PORTAL_SERVICES, install_launcher, raise_portal
from cluster.parts.slurm import raise_slurm, start_head


def up(paths: Paths, description: str, options: Options) -> None:
    """Create or update the cluster.

    `description`: cluster.toml's text; a running cluster keeps the one it was created with.
    """
    progress = TerminalProgress()
    folder(paths.state)
    with locked(paths.state / "lock"):
        if is_up(paths):
            ground = _update_running(paths, description, progress)
        else:
            resources.clear(paths)
            ground = _create(paths, description, options, progress)
        if not options.only_slurm:
            raise_portal(ground)
        progress.say(f"up at {ground.cluster.addresses.base_url}")


def is_up(paths: Paths) -> bool:
    complete = paths.ready.exists() and paths.description.exists()
    return complete and namespaces.find_head(paths) is not None


def _update_running(paths: Paths, description: str, progress: TerminalProgress) -> ClusterHandle:
    used = paths.description.read_text(encoding="utf-8")
    if used != description:
        progress.say("note: the description has changed; `down` and `up` bring it into effect")
    services = ask(paths.control(), "status")["services"]
    # start services that were stopped by hand
    ask(paths.control(), "start", [name for name in services if name not in PORTAL_SERVICES])
    return load(paths, parse_layout(used), progress)


def _create(
    paths: Paths, description: str, options: Options, progress: TerminalProgress
) -> ClusterHandle:
    layout = parse_layout(description)
    with progress.step("configuration"):
        ground = prepare(paths, layout, options, progress)
        install_launcher(ground.cluster)
        write(paths.description, description)
    start_head(ground)
    raise_slurm(ground)
    write(paths.ready, "")
    return ground
