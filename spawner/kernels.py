"""From an environment to what Jupyter reads: kernel.json, with a terminal's command in it.

Pure. Both commands are the wrapper `spawner.node.kernel`, which lets only some variables of the
server pass, and then what runs in the environment: by Apptainer with an image, or at once, with
modules loaded or a virtualenv's programs first in PATH.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spawner.apptainer import exec_argv
from spawner.catalog import Environment
from spawner.runtimes import Container, Modules, Virtualenv

PACKAGES_FOLDER = ".local/share/portal/packages"
METADATA_KEY = "portal"
NODE_DIR_FIELD = "{node_dir}"
# Without a process group of its own the kernel would get each SIGINT twice (from Jupyter and
# through Apptainer's starter), and lose the KeyboardInterrupt; without the death signal a killed
# starter would leave it behind.
_OWN_GROUP = ("setsid", "setpriv", "--pdeathsig", "KILL")
# Apptainer's own prompt says no more than its name; bash, as Debian and many a user set it up,
# shows `debian_chroot` in front of the usual one.
_PROMPT = ("-u", "PROMPT_COMMAND", "-u", "PS1")


@dataclass(frozen=True)
class KernelPlace:
    """Where kernels run: absolute paths, and whether the job has GPUs.

    `runtime_dir` is the virtualenv on the nodes, `node_dir` the session's folder on the node's own
    disk (scripts.node_dir), `logdir` where TensorBoard looks.
    """

    runtime_dir: str
    apptainer: str
    home: str
    node_dir: str
    logdir: str
    gpus: bool


def packages_dir(home: str, environment: Environment) -> str:
    """Where a user's own packages for an environment lie, and last."""
    return f"{home.rstrip('/')}/{PACKAGES_FOLDER}/{environment.name}"


def kernelspec(environment: Environment, place: KernelPlace) -> dict[str, Any]:
    """The kernel.json of an environment that has a kernel (jupyter_client's docs, "Kernel specs").

    Raises ValueError if it has none, or if a path can't be brought into a container.
    """
    if not environment.kernel:
        raise ValueError(f"the environment {environment.name} has no kernel")
    env = kernel_env(environment, place)
    own = [word.replace(NODE_DIR_FIELD, place.node_dir) for word in environment.kernel_argv]
    prompt = [*_PROMPT, f"debian_chroot={environment.name}"]
    return {
        "argv": _wrapped(environment, place, env, own, own_group=True),
        "display_name": environment.kernel_display_name,
        "language": environment.language,
        "interrupt_mode": "signal",
        # jupyter_client reads ${NAME} in these as a variable; $$ is a plain $
        "env": {name: value.replace("$", "$$") for name, value in env.items()},
        "metadata": {
            "debugger": False,  # see lab.py
            METADATA_KEY: {
                "environment": environment.name,
                "terminal": _wrapped(environment, place, env, environment.shell, settings=prompt),
                "terminal_env": env,
            },
        },
    }


def kernel_env(environment: Environment, place: KernelPlace) -> dict[str, str]:
    """The variables that the environment sets; the file's own are the strongest."""
    packages = packages_dir(place.home, environment)
    return {
        "PORTAL_ENVIRONMENT": environment.name,
        "PORTAL_LOGDIR": place.logdir,
        **_own_packages(environment, packages),
        **environment.env,
    }


def _own_packages(environment: Environment, packages: str) -> dict[str, str]:
    """What makes the language's own tool install into the user's folder, and find it there."""
    if environment.language == "R":
        return {"R_LIBS_USER": f"{packages}/{environment.user_site}"}
    if environment.language == "lua":
        return {"LUA_PATH": f"{packages}/{environment.user_site}/?.lua;;"}
    return {
        "PYTHONUSERBASE": packages,
        "PIP_USER": "1",
        "PIP_BREAK_SYSTEM_PACKAGES": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def job_command(
    environment: Environment, place: KernelPlace, keep: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """The variables to set, and the words that stand before a command of a batch job so that it
    runs in the environment; the variables named in `keep` reach it too."""
    env = kernel_env(environment, place)
    passing = {**env, **dict.fromkeys(keep, "")}
    return env, _wrapped(environment, place, passing, ())


def _wrapped(
    environment: Environment,
    place: KernelPlace,
    env: Mapping[str, str],
    command: Sequence[str],
    *,
    settings: Sequence[str] = (),
    own_group: bool = False,
) -> list[str]:
    """The wrapper and the command within it. `settings` are arguments of env(1); `own_group` is
    for a kernel, see _OWN_GROUP."""
    packages = packages_dir(place.home, environment)
    wrapper = [f"{place.runtime_dir}/bin/python", "-I", "-m", "spawner.node.kernel"]
    wrapper += ["--keep", ",".join(env), "--make", f"{packages}/{environment.user_site}"]
    own_programs = f"{packages}/bin"
    match environment.runtime:
        case Container() as container:
            # Apptainer sets PATH from the image, so it is set again inside
            inside = ["env", *settings, f"PATH={own_programs}:{container.path}", *command]
            words = exec_argv(
                place.apptainer,
                container.image,
                [*_OWN_GROUP, *inside] if own_group else inside,
                binds=[place.home, place.node_dir, place.logdir, *container.binds],
                gpus=place.gpus,
            )
            return [*wrapper, "--", *words]
        case Modules(names, init):
            options = ["--modules-init", str(init)]
            options += [word for name in names for word in ("--module", name)]
        case Virtualenv() as folder:
            options = ["--path", f"{folder.programs}:{folder.path}"]
    words = ["env", *settings, *command] if settings else list(command)
    return [*wrapper, "--first", own_programs, *options, "--", *words]
