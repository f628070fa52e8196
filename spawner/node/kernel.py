"""Start a kernel, a terminal or a job's command in its environment, with filtered variables.

  python -I -m spawner.node.kernel [--keep NAME,NAME…] [--make FOLDER]… [--path PATH]
      [--first FOLDER]… [--modules-init FILE [--module NAME]…] [--slurm FOLDER] -- COMMAND…

Jupyter starts this instead of a kernel. The server's environment contains secrets (the hub's token)
and settings that are wrong for the environment (PYTHONPATH, LD_LIBRARY_PATH, conda's), so only the
variables listed here pass, and those that the environment itself sets (`--keep`). Their values pass
unchanged, and no shell evaluates them. The `--make` folders (for the user's packages) are created,
the modules loaded, then COMMAND replaces this process, with the same process id.

With `--slurm`, COMMAND starts a container whose PATH is to contain Slurm's programs: a folder below
FOLDER is created for them, and the path of its `bin` replaces `{slurm}` in COMMAND
(slurm_clients.py).

A container has its own PATH, set inside. Without a container, PATH is `--path` as modified by the
modules, after the folders of `--first`.

Standard library only; it runs as the user, on the node, and is independent of Jupyter and
Apptainer.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from spawner.node import modules, slurm_clients
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
# Apptainer itself reads these, and a shell in the container evaluates them.
NEVER_PREFIXES = ("APPTAINER", "SINGULARITY")
OPTIONS = ("--keep", "--make", "--path", "--first", "--modules-init", "--module", "--slurm")
SLURM_FIELD = "{slurm}"
NO_SLURM = "/nonexistent"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Request:
    """Parsed arguments."""

    keep: frozenset[str]
    make: tuple[Path, ...]
    command: tuple[str, ...]
    path: str = SYSTEM_PATH
    first: tuple[str, ...] = ()
    modules_init: str | None = None
    modules: tuple[str, ...] = ()
    slurm: Path | None = None


class UsageError(Exception):
    """Invalid arguments; the portal writes kernelspecs, so this is a bug in the portal."""


def parse(arguments: Sequence[str]) -> Request:
    """Parse the arguments up to `--`; the command after it is not inspected."""
    options: dict[str, list[str]] = {option: [] for option in OPTIONS}
    remaining = list(arguments)
    while remaining and remaining[0] != "--":
        if len(remaining) < 2 or remaining[0] not in OPTIONS:
            raise UsageError(f"not understood: {remaining[0]}")
        option, value = remaining.pop(0), remaining.pop(0)
        options[option].append(value)
    if len(remaining) < 2:
        raise UsageError("no command after --")
    return Request(
        keep=frozenset(name for names in options["--keep"] for name in names.split(",")),
        make=tuple(map(Path, options["--make"])),
        command=tuple(remaining[1:]),
        path=[SYSTEM_PATH, *options["--path"]][-1],
        first=tuple(options["--first"]),
        modules_init=options["--modules-init"][-1] if options["--modules-init"] else None,
        modules=tuple(options["--module"]),
        slurm=Path(options["--slurm"][-1]) if options["--slurm"] else None,
    )


def filtered(environ: Mapping[str, str], keep: Collection[str]) -> dict[str, str]:
    """Return the variables that pass, with the system's PATH; callers set their own."""
    passing = {
        name: value
        for name, value in environ.items()
        if (name in ALLOWED or name in keep or name.startswith(ALLOWED_PREFIXES))
        and name not in NEVER
        and not name.startswith(NEVER_PREFIXES)
    }
    return {**passing, "PATH": SYSTEM_PATH}


def surroundings(request: Request, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the command's variables. Raises ModuleProblem."""
    passing = {**filtered(environ, request.keep), "PATH": request.path}
    if request.modules_init is not None:
        loaded = modules.load(request.modules_init, request.modules, passing)
        passed_on = {name: value for name, value in passing.items() if name in request.keep}
        passing = {**loaded, **passed_on}
    passing["PATH"] = ":".join([*request.first, *filter(None, [passing.get("PATH")])])
    return in_virtualenv(passing, request.make) if request.first else passing


def in_virtualenv(environ: Mapping[str, str], make: Sequence[Path]) -> dict[str, str]:
    """Return the variables adapted for a Python in a virtualenv.

    `make` has the folder of the user's packages. Such a Python ignores them unless PYTHONPATH
    contains it, and pip installs none there without PIP_PREFIX.
    """
    python = shutil.which("python3", path=environ.get("PATH"))
    mark = Path(python).parent.parent / "pyvenv.cfg" if python else None
    if "PIP_USER" not in environ or mark is None or not mark.is_file():
        return dict(environ)
    env = {name: value for name, value in environ.items() if name != "PIP_USER"}
    python_path = [*filter(None, [environ.get("PYTHONPATH")]), *map(str, make)]
    return {**env, "PIP_PREFIX": environ["PYTHONUSERBASE"], "PYTHONPATH": ":".join(python_path)}


def resolver(file: Path = Path("/etc/resolv.conf")) -> dict[str, str]:
    """Return the variable without which Apptainer fails on a node that has no resolv.conf.

    With it Apptainer writes one for the container instead of copying the node's.
    """
    return {} if file.exists() else {"APPTAINER_DNS": "127.0.0.1"}


def with_slurm(
    base: Path, command: Sequence[str], environ: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command and the variables of a container that has Slurm's programs."""
    outside = {**filtered(os.environ, ()), "PATH": os.environ.get("PATH", SYSTEM_PATH)}
    hidden = environ.keys() - outside.keys()
    try:
        folder = slurm_clients.start(base, outside, hidden)
    except OSError as error:
        _warn(0, f"Slurm's commands can't be set up in {base} ({error.strerror})")
        folder = None
    programs = f"{folder}/bin" if folder is not None else NO_SLURM
    words = tuple(word.replace(SLURM_FIELD, programs) for word in command)
    return words, {**environ, **({slurm_clients.VARIABLE: str(folder)} if folder else {})}


def main(arguments: Sequence[str]) -> NoReturn:
    """Exec the command; on failure exit with 2, 126 or 127 and a line on stderr."""
    try:
        request = parse(arguments)
    except UsageError as error:
        sys.exit(_warn(2, f"{error}\n{__doc__}"))
    for folder in request.make:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            # A full home does not prevent computing: only `pip install` will fail, with an error.
            _warn(0, f"{folder} can't be made ({error.strerror}): packages can't be installed")
    command = request.command
    try:
        environ = {**surroundings(request, os.environ), **resolver()}
    except ModuleProblem as problem:
        sys.exit(_warn(126, f"{problem}"))
    if request.slurm is not None:
        command, environ = with_slurm(request.slurm, command, environ)
    try:
        os.execvpe(command[0], command, environ)  # noqa: S606 - an argument list, no shell
    except FileNotFoundError:
        sys.exit(_warn(127, f"{command[0]} is not installed on this node"))
    except OSError as error:
        sys.exit(_warn(126, f"{command[0]} can't be run: {error.strerror}"))


def _warn(code: int, text: str) -> int:
    print(f"portal: {text}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
