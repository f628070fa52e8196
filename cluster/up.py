"""Raise the cluster: every step says what it did and how long it took, and may be repeated.

A complete cluster is left alone but for the application, which is brought up to date. One that an
interruption left half-made is ended (no job can have run on it) and raised again from what its
folder holds.
"""

from __future__ import annotations

from cluster import footprint, namespaces
from cluster.control import ask
from cluster.ground import Ground, Options, Progress, known, prepare
from cluster.layout import parse_layout
from cluster.machine import folder, locked, write
from cluster.paths import Paths
from cluster.portal_side import PORTAL_SERVICES, install_launcher, raise_portal
from cluster.slurm_side import raise_slurm, start_head


def up(paths: Paths, description: str, options: Options) -> None:
    """`description`: cluster.toml's text; a running cluster keeps the one it was raised with."""
    progress = Progress()
    folder(paths.state)
    with locked(paths.state / "lock"):
        if is_up(paths):
            ground = _running(paths, description, progress)
        else:
            footprint.clear(paths)
            ground = _raise(paths, description, options, progress)
        if not options.only_slurm:
            raise_portal(ground)
        progress.say(f"up at {ground.cluster.addresses.base_url}")


def is_up(paths: Paths) -> bool:
    complete = paths.ready.exists() and paths.description.exists()
    return complete and namespaces.find_head(paths) is not None


def _running(paths: Paths, description: str, progress: Progress) -> Ground:
    used = paths.description.read_text(encoding="utf-8")
    if used != description:
        progress.say("note: the description has changed; `down` and `up` bring it into effect")
    there = ask(paths.control(), "status")["services"]
    # whatever was held down by hand
    ask(paths.control(), "start", [name for name in there if name not in PORTAL_SERVICES])
    return known(paths, parse_layout(used), progress)


def _raise(paths: Paths, description: str, options: Options, progress: Progress) -> Ground:
    layout = parse_layout(description)
    with progress.step("configuration"):
        ground = prepare(paths, layout, options, progress)
        install_launcher(ground.cluster)
        write(paths.description, description)
    start_head(ground)
    raise_slurm(ground)
    write(paths.ready, "")
    return ground
