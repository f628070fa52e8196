"""What to run to be inside an image: Apptainer's arguments. Pure, and knows nothing of kernels.

No variable is ever handed over by Apptainer's own means (`--env`, APPTAINERENV_…): those values go
through a shell inside the container, where a backquote in a notebook's name would be run. What the
calling process has in its environment is what arrives, so the caller filters that.
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
    """`command` inside `image`, with the absolute folders `binds` where they are outside.

    The home folder, /tmp and the working directory are Apptainer's own to mount. With `gpus` the
    NVIDIA driver's libraries and the GPUs that Slurm gave come in too; without hardware that is
    harmless. Raises ValueError for a path that can't be told to Apptainer.
    """
    words = [str(apptainer), "-q", "exec"]
    if gpus:
        words.append("--nv")
    for path in outermost(binds):
        words += ["--bind", _bindable(path)]
    return [*words, str(image), *command]


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths without those that lie in another of them, in their order, once each."""
    given = list(dict.fromkeys(str(PurePosixPath(path)) for path in paths))
    return [
        path
        for path in given
        if not any(PurePosixPath(path).is_relative_to(other) for other in given if other != path)
    ]


def _bindable(path: str) -> str:
    # commas and colons divide Apptainer's --bind, and it knows no way to quote them
    if not path.startswith("/") or any(character in path for character in ",:\n\0"):
        raise ValueError(f"the folder {path!r} can't be brought into a container")
    return path
