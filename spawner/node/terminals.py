"""Terminals of a session: the user's login shell on the node, or a shell inside an environment.

jupyter_server creates one SessionTerminals (`TerminalsExtensionApp.terminal_manager_class`) and
calls `new_terminal` for each request. A terminal named `env_KERNEL` runs the command in the
metadata of the kernel's specification; every other one is the login shell. Commands in a request
are ignored, and no terminal inherits the server's secrets.

Configurations of queued sessions name this module, so it stays where it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import NoSuchKernel
from jupyter_server_terminals.terminalmanager import TerminalManager
from terminado.management import PtyWithClients
from tornado.web import HTTPError

from spawner.node.environ import terminal_environ
from spawner.node.node_setup import KERNEL_METADATA, TERMINAL_PREFIX

HANG_UP_S = 3.0
FROM_REQUEST = frozenset({"name", "cwd"})


def login_shell() -> list[str]:
    """Return the user's shell from the user database, or bash if that cannot be run."""
    shell = pwd.getpwuid(os.getuid()).pw_shell
    if not os.access(shell, os.X_OK) or shell.endswith(("/nologin", "/false")):
        shell = shutil.which("bash") or "/bin/sh"
    return [shell, "-l"]


def hang_up(leader: int) -> None:
    """Send SIGHUP to all processes in a terminal's session except its leader.

    In a container the leader is Apptainer's own process, which does not forward SIGHUP. If it were
    killed, it would leave the process that mounts the image behind until the job ends.
    """
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or has another owner
            # The command may contain anything, but ends with the last ")"; the other fields follow
            # it.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == leader != int(folder.name):
                os.kill(int(folder.name), signal.SIGHUP)


async def _wait_ended(process: Any, timeout_s: float) -> None:
    """Wait until the process has ended, at most for `timeout_s`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while process.isalive() and loop.time() < deadline:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0.02)


class SessionTerminals(TerminalManager):  # type: ignore[misc]
    """Terminal manager of jupyter_server with the commands that a session offers."""

    def new_terminal(self, **kwargs: Any) -> PtyWithClients:
        """Open a terminal. Raises HTTPError 404 if the session lacks the environment."""
        requested = {name: value for name, value in kwargs.items() if name in FROM_REQUEST}
        name = str(requested.get("name", ""))
        if not name.startswith(TERMINAL_PREFIX):
            return super().new_terminal(**requested, shell_command=login_shell())
        command, env = self._get_command(name.removeprefix(TERMINAL_PREFIX))
        return super().new_terminal(**requested, shell_command=command, extra_env=env)

    def make_term_env(self, **kwargs: Any) -> dict[str, str]:
        """Return the variables of a terminal; called by `new_terminal`."""
        env = super().make_term_env(**kwargs)
        return {**terminal_environ(env), **kwargs.get("extra_env", {})}

    async def terminate(self, name: str, force: bool = False) -> None:
        """End a terminal. Raises HTTPError 404 if there is none of that name."""
        self._check_terminal(name)
        process = self.terminals[name].ptyproc
        if name.startswith(TERMINAL_PREFIX):
            hang_up(process.pid)
            await _wait_ended(process, HANG_UP_S)
        if name in self.terminals:  # its end may have been handled already
            await super().terminate(name, force=force)

    def _get_command(self, kernel: str) -> tuple[list[str], dict[str, str]]:
        """Return the command and the variables of a terminal inside an environment."""
        specs = self.parent.kernel_spec_manager
        try:
            about = specs.get_kernel_spec(kernel).metadata[KERNEL_METADATA]
            return list(about["terminal"]), dict(about["terminal_env"])
        except (NoSuchKernel, KeyError) as error:
            raise HTTPError(404, f"This session has no environment {kernel}") from error
