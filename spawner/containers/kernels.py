"""Jupyter kernel specifications for environments: kernel.json, including a terminal's command.

Pure.

Both commands consist of the wrapper `spawner.node.kernel`, which passes only selected variables of
the server, and the command in the environment: run by Apptainer with an image, or directly, with
modules loaded or a virtualenv's programs first in PATH.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from spawner.catalog.environment import Environment
from spawner.containers.apptainer import exec_argv
from spawner.containers.runtimes import Container, Modules, Virtualenv
from spawner.launcher.folders import PACKAGES_FOLDER
from spawner.node.kernel import SLURM_FIELD
from spawner.node.node_setup import KERNEL_METADATA, KERNEL_STARTUP

NODE_DIR_FIELD = "{node_dir}"
# Without its own process group the kernel would get each SIGINT twice (from Jupyter and through
# Apptainer's starter), and lose the KeyboardInterrupt; without the death signal it would survive a
# killed starter.
_OWN_GROUP = ("setsid", "setpriv", "--pdeathsig", "KILL")
# Apptainer's own prompt contains only its name; bash, as configured by Debian and many users, shows
# `debian_chroot` in front of the usual prompt.
_PROMPT = ("-u", "PROMPT_COMMAND", "-u", "PS1")


@dataclass(frozen=True)
class KernelContext:
    """Properties of a job that the commands of its kernels depend on. Paths are absolute.

    `runtime_dir` is the virtualenv on the nodes, `node_dir` the session's folder on the node's own
    disk (launch_files.node_dir), `logdir` the folder that TensorBoard reads, `pip_index_url` pip's
    index, `app_dir` the folder with programs of apps.
    """

    runtime_dir: str
    apptainer: str
    home: str
    node_dir: str
    logdir: str
    gpus: bool
    pip_index_url: str | None = None
    app_dir: str | None = None


def packages_dir(home: str, environment: Environment) -> str:
    """Return the folder of a user's own packages for an environment; it is persistent."""
    return f"{home.rstrip('/')}/{PACKAGES_FOLDER}/{environment.name}"


def kernelspec(environment: Environment, context: KernelContext) -> dict[str, Any]:
    """Return an environment's kernel.json (jupyter_client's docs, "Kernel specs").

    Raises ValueError if it has no kernel, or if a path cannot be bound into a container.
    """
    if not environment.has_kernel:
        raise ValueError(f"the environment {environment.name} has no kernel")
    env = {**_startup_env(environment, context), **kernel_env(environment, context)}
    terminal_env = kernel_env(environment, context)
    kernel_argv = [
        word.replace(NODE_DIR_FIELD, context.node_dir) for word in environment.kernel_argv
    ]
    prompt = [*_PROMPT, f"debian_chroot={environment.name}"]
    return {
        "argv": _wrap_command(environment, context, env, kernel_argv, own_group=True),
        "display_name": environment.kernel_display_name,
        "language": environment.language,
        "interrupt_mode": "signal",
        # jupyter_client expands ${NAME} in these; $$ is a literal $
        "env": {name: value.replace("$", "$$") for name, value in env.items()},
        "metadata": {
            "debugger": False,  # see lab_config.py
            KERNEL_METADATA: {
                "environment": environment.name,
                "terminal": _wrap_command(
                    environment, context, terminal_env, environment.shell, settings=prompt
                ),
                "terminal_env": terminal_env,
            },
        },
    }


def _startup_env(environment: Environment, context: KernelContext) -> dict[str, str]:
    """Return the variable that makes IPython run the portal's startup file."""
    if environment.language != "python":
        return {}
    return {"PYTHONSTARTUP": f"{context.node_dir}/{KERNEL_STARTUP}"}


def kernel_env(environment: Environment, context: KernelContext) -> dict[str, str]:
    """Return the variables that the environment sets; those in its file take precedence."""
    packages = packages_dir(context.home, environment)
    return {
        "PORTAL_ENVIRONMENT": environment.name,
        "PORTAL_LOGDIR": context.logdir,
        **_packages_env(environment, packages, context.pip_index_url),
        **environment.env,
    }


def _packages_env(environment: Environment, packages: str, index: str | None) -> dict[str, str]:
    """Return the variables with which the language's own tool installs into the user's folder.

    They also make the language find the packages there.
    """
    if environment.language == "R":
        return {"R_LIBS_USER": f"{packages}/{environment.user_site}"}
    if environment.language == "lua":
        return {"LUA_PATH": f"{packages}/{environment.user_site}/?.lua;;"}
    return {
        "PYTHONUSERBASE": packages,
        "PIP_USER": "1",
        "PIP_BREAK_SYSTEM_PACKAGES": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        **_pip_index_env(index),
    }


def _pip_index_env(url: str | None) -> dict[str, str]:
    """Return pip's settings for a package index; pip uses one without TLS only if it is trusted."""
    if url is None:
        return {}
    parts = urlsplit(url)
    host = f"{parts.hostname}:{parts.port}" if parts.port else f"{parts.hostname}"
    plain = {"PIP_TRUSTED_HOST": host} if parts.scheme == "http" else {}
    return {"PIP_INDEX_URL": url, **plain}


def job_command(
    environment: Environment, context: KernelContext, keep: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the variables to set, and the words that precede a batch job's command.

    They run the command in the environment; the variables named in `keep` are passed to it too.
    """
    env = kernel_env(environment, context)
    passing = {**env, **dict.fromkeys(keep, "")}
    return env, _wrap_command(environment, context, passing, ())


def _wrap_command(
    environment: Environment,
    context: KernelContext,
    env: Mapping[str, str],
    command: Sequence[str],
    *,
    settings: Sequence[str] = (),
    own_group: bool = False,
) -> list[str]:
    """Return the wrapper and the command within it.

    `settings` are arguments of env(1); `own_group` is for a kernel, see _OWN_GROUP.
    """
    packages = packages_dir(context.home, environment)
    # Options: see spawner.node.kernel. --make creates a folder, --first puts one at the front of
    # PATH, --slurm creates a folder with Slurm's commands, whose path replaces SLURM_FIELD.
    wrapper = [f"{context.runtime_dir}/bin/python", "-I", "-m", "spawner.node.kernel"]
    wrapper += ["--keep", ",".join(env), "--make", f"{packages}/{environment.user_site}"]
    own_programs = f"{packages}/bin"
    match environment.runtime:
        case Container() as container:
            # Apptainer sets PATH from the image, so it is set again inside
            wrapper += ["--slurm", context.node_dir]
            path = f"PATH={own_programs}:{container.path}:{SLURM_FIELD}"
            inside = ["env", *settings, path, *command]
            words = exec_argv(
                context.apptainer,
                container.image,
                [*_OWN_GROUP, *inside] if own_group else inside,
                binds=[*_list_binds(context), *container.binds],
                gpus=context.gpus and environment.gpu != "none",
            )
            return [*wrapper, "--", *words]
        case Modules(names, init):
            options = ["--modules-init", str(init)]
            options += [word for name in names for word in ("--module", name)]
        case Virtualenv() as folder:
            options = ["--path", f"{folder.programs}:{folder.path}"]
    words = ["env", *settings, *command] if settings else list(command)
    return [*wrapper, "--first", own_programs, *options, "--", *words]


def _list_binds(context: KernelContext) -> list[str]:
    folders = [context.home, context.node_dir, context.logdir]
    return [*folders, context.app_dir] if context.app_dir is not None else folders
