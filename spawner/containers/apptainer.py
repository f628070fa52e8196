"""Apptainer command lines.

Pure, and independent of kernels.

No variable is passed by Apptainer's own means (`--env`, APPTAINERENV_…): a shell inside the
container evaluates those values, so a backquote in a notebook's name would be executed. The
container inherits the environment of the calling process instead, so the caller filters that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath


def exec_argv(
    apptainer: str | Path,
    image: str | Path,
    command: Sequence[str],
    *,
    binds: Iterable[str] = (),
    gpus: bool = False,
) -> list[str]:
    """Return the command line that runs `command` inside `image`.

    The absolute folders `binds` appear inside at the same path; Apptainer itself mounts the home
    folder, /tmp and the working directory. With `gpus`, the NVIDIA driver's libraries and the GPUs
    assigned by Slurm are available; without hardware that is harmless. Raises ValueError for a path
    that Apptainer cannot bind.
    """
    words = [str(apptainer), "-q", "exec"]
    if gpus:
        words.append("--nv")
    for path in outermost(binds):
        words += ["--bind", _bindable(path)]
    return [*words, str(image), *command]


def outermost(paths: Iterable[str]) -> list[str]:
    """Return the distinct paths that are not inside another one, in the given order."""
    candidates = list(dict.fromkeys(str(PurePosixPath(path)) for path in paths))
    return [
        path
        for path in candidates
        if not any(
            PurePosixPath(path).is_relative_to(other) for other in candidates if other != path
        )
    ]


def _bindable(path: str) -> str:
    # Commas and colons separate the parts of --bind, and there is no way to quote them.
    if not path.startswith("/") or any(character in path for character in ",:\n\0"):
        raise ValueError(f"the folder {path!r} can't be brought into a container")
    return path
