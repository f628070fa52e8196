"""From an environment to what Jupyter reads: kernel.json, with a terminal's command in it.

Pure. Both commands are the wrapper `spawner.node.kernel`, which lets only some variables of the
server pass, and then Apptainer with the environment's image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spawner.apptainer import exec_argv
from spawner.catalog import Environment

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
    path = _path(environment, place)
    kernel = [*_OWN_GROUP, "env", path, *own]
    terminal = ["env", *_PROMPT, f"debian_chroot={environment.name}", path, *environment.shell]
    return {
        "argv": _wrapped(environment, place, env, kernel),
        "display_name": environment.kernel_display_name,
        "language": environment.language,
        "interrupt_mode": "signal",
        # jupyter_client reads ${NAME} in these as a variable; $$ is a plain $
        "env": {name: value.replace("$", "$$") for name, value in env.items()},
        "metadata": {
            "debugger": False,  # see lab.py
            METADATA_KEY: {
                "environment": environment.name,
                "terminal": _wrapped(environment, place, env, terminal),
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
    return env, _wrapped(environment, place, passing, ["env", _path(environment, place)])


def _path(environment: Environment, place: KernelPlace) -> str:
    """Apptainer sets PATH from the image, so the user's own programs are put before it inside."""
    return f"PATH={packages_dir(place.home, environment)}/bin:{environment.path}"


def _wrapped(
    environment: Environment, place: KernelPlace, env: Mapping[str, str], command: Sequence[str]
) -> list[str]:
    packages = packages_dir(place.home, environment)
    inside = exec_argv(
        place.apptainer,
        environment.image,
        command,
        binds=[place.home, place.node_dir, place.logdir, *environment.binds],
        gpus=place.gpus,
    )
    wrapper = [f"{place.runtime_dir}/bin/python", "-I", "-m", "spawner.node.kernel"]
    options = ["--keep", ",".join(env), "--make", f"{packages}/{environment.user_site}"]
    return [*wrapper, *options, "--", *inside]
