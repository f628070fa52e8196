"""Start a kernel, a terminal or a job's command in its environment, with clean variables.

    python -I -m spawner.node.kernel [--keep NAME,NAME…] [--make FOLDER]… [--path PATH]
        [--first FOLDER]… [--modules-init FILE [--module NAME]…] -- COMMAND…

Jupyter starts this in the place of a kernel. The server's environment holds secrets (the hub's
token) and settings that would mislead what runs there (PYTHONPATH, LD_LIBRARY_PATH, conda's), so
only the variables listed here pass, and those that the environment itself sets (`--keep`). They
pass as they are: nothing reads them as shell. The folders are made, the modules loaded, then
COMMAND takes this process's place, with its process id.

A container has a PATH of its own, set inside. Without one, PATH is `--path` as the modules change
it, behind the folders of `--first`.

Standard library only; it runs as the user, on the node, and knows nothing of Jupyter or Apptainer.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from spawner.node import modules
from spawner.node.modules import ModuleProblem

_PLACE = "HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES TMPDIR"
_GPUS = (
    "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_CACHE_PATH NVIDIA_VISIBLE_DEVICES"
    " GPU_DEVICE_ORDINAL ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ZE_AFFINITY_MASK"
)
_LIBRARIES = "MKL_NUM_THREADS OPENBLAS_NUM_THREADS NUMEXPR_NUM_THREADS KERAS_BACKEND"
_JUPYTER = "JPY_SESSION_NAME JPY_PARENT_PID JUPYTER_RUNTIME_DIR IPYTHONDIR"
_PROXIES = "http_proxy https_proxy ftp_proxy all_proxy no_proxy"
_WORDS = f"SLURMD_NODENAME {_PLACE} {_GPUS} {_LIBRARIES} {_JUPYTER} {_PROXIES} {_PROXIES.upper()}"
ALLOWED = frozenset(_WORDS.split())
ALLOWED_PREFIXES = ("LC_", "SLURM_", "CUDA_MPS_", "OMP_", "XLA_", "TF_", "JAX_", "NCCL_")
NEVER = frozenset({"SLURM_JWT"})
# Apptainer reads these itself, and a shell in the container evaluates them.
NEVER_PREFIXES = ("APPTAINER", "SINGULARITY")
OPTIONS = ("--keep", "--make", "--path", "--first", "--modules-init", "--module")
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Request:
    """What the arguments ask for."""

    keep: frozenset[str]
    make: tuple[Path, ...]
    command: tuple[str, ...]
    path: str = SYSTEM_PATH
    first: tuple[str, ...] = ()
    modules_init: str | None = None
    modules: tuple[str, ...] = ()


class UsageError(Exception):
    """The arguments make no sense; kernelspecs are written by us, so this is our mistake."""


def parse(arguments: Sequence[str]) -> Request:
    """Read the arguments up to `--`; the command after it is not looked at."""
    given: dict[str, list[str]] = {option: [] for option in OPTIONS}
    rest = list(arguments)
    while rest and rest[0] != "--":
        if len(rest) < 2 or rest[0] not in OPTIONS:
            raise UsageError(f"not understood: {rest[0]}")
        option, value = rest.pop(0), rest.pop(0)
        given[option].append(value)
    if len(rest) < 2:
        raise UsageError("no command after --")
    return Request(
        keep=frozenset(name for names in given["--keep"] for name in names.split(",")),
        make=tuple(map(Path, given["--make"])),
        command=tuple(rest[1:]),
        path=[SYSTEM_PATH, *given["--path"]][-1],
        first=tuple(given["--first"]),
        modules_init=given["--modules-init"][-1] if given["--modules-init"] else None,
        modules=tuple(given["--module"]),
    )


def filtered(environ: Mapping[str, str], keep: Collection[str]) -> dict[str, str]:
    """The variables that pass. PATH is for Apptainer and its helpers, where nothing else is said;
    the image has its own."""
    passing = {
        name: value
        for name, value in environ.items()
        if (name in ALLOWED or name in keep or name.startswith(ALLOWED_PREFIXES))
        and name not in NEVER
        and not name.startswith(NEVER_PREFIXES)
    }
    return {**passing, "PATH": SYSTEM_PATH}


def surroundings(request: Request, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the command gets. Raises ModuleProblem."""
    passing = {**filtered(environ, request.keep), "PATH": request.path}
    if request.modules_init is not None:
        loaded = modules.load(request.modules_init, request.modules, passing)
        kept = {name: value for name, value in passing.items() if name in request.keep}
        passing = {**loaded, **kept}
    passing["PATH"] = ":".join([*request.first, *filter(None, [passing.get("PATH")])])
    return in_virtualenv(passing, request.make) if request.first else passing


def in_virtualenv(environ: Mapping[str, str], make: Sequence[Path]) -> dict[str, str]:
    """The variables changed for a Python that is a virtualenv's: such a one knows no packages of a
    user's own unless it is told where they are, and pip puts none there without being told."""
    python = shutil.which("python3", path=environ.get("PATH"))
    mark = Path(python).parent.parent / "pyvenv.cfg" if python else None
    if "PIP_USER" not in environ or mark is None or not mark.is_file():
        return dict(environ)
    found = {name: value for name, value in environ.items() if name != "PIP_USER"}
    places = [*filter(None, [environ.get("PYTHONPATH")]), *map(str, make)]
    return {**found, "PIP_PREFIX": environ["PYTHONUSERBASE"], "PYTHONPATH": ":".join(places)}


def main(arguments: Sequence[str]) -> NoReturn:
    """Become the command. Exits with 2, 126 or 127 and a line on stderr when that can't be."""
    try:
        request = parse(arguments)
    except UsageError as error:
        sys.exit(_complain(2, f"{error}\n{__doc__}"))
    for folder in request.make:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            # A full home is no reason not to compute: only `pip install` will fail, and say so.
            _complain(0, f"{folder} can't be made ({error.strerror}): packages can't be installed")
    command = request.command
    try:
        environ = surroundings(request, os.environ)
    except ModuleProblem as problem:
        sys.exit(_complain(126, f"{problem}"))
    try:
        os.execvpe(command[0], command, environ)  # noqa: S606 - an argument list, no shell
    except FileNotFoundError:
        sys.exit(_complain(127, f"{command[0]} is not installed on this node"))
    except OSError as error:
        sys.exit(_complain(126, f"{command[0]} can't be run: {error.strerror}"))


def _complain(code: int, text: str) -> int:
    print(f"portal: {text}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
