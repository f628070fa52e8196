"""The node's sshd as a child of the session or job: one process per connection, as the user.

OpenSSH's `sshd -i` serves one connection on its standard input and listens nowhere. It runs in the
Slurm job of the session, or in the batch job, so Slurm's limits and the job's end apply to it, and
it has no rights that the user's other programs there lack.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SSHD = Path("/usr/sbin/sshd")
OWN_VARIABLES = frozenset(
    {"HOME", "LOGNAME", "MAIL", "OLDPWD", "PWD", "SHELL", "SHLVL", "TERM", "USER", "_"}
)
"""Variables that sshd, or the shell that it starts, sets itself."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
END_S = 5.0
"""Time that sshd has to end by itself once its connection is closed."""

_CONFIG = """\
HostKey {folder}/host_key
PidFile none
UsePAM no
AuthenticationMethods publickey
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
# the file is in the node directory of the session or job, below /tmp
StrictModes no
LoginGraceTime 30
MaxAuthTries 6
MaxSessions 50
PermitUserRC no
PermitUserEnvironment no
PrintMotd no
PrintLastLog no
UseDNS no
X11Forwarding no
AllowTcpForwarding yes
AllowStreamLocalForwarding yes
GatewayPorts no
# ends a connection whose client is gone, and keeps a quiet one open in proxies
ClientAliveInterval 30
ClientAliveCountMax 4
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
{environment}
"""


def render_config(folder: Path, environ: Mapping[str, str]) -> str:
    """Return sshd's configuration; `environ` is that of terminals in the session or job."""
    return _CONFIG.format(folder=folder, environment=render_environment(environ))


def render_environment(environ: Mapping[str, str]) -> str:
    """Return the SetEnv line: sshd gives a user's programs none of its own environment.

    sshd_config(5) has no escapes that all versions know, so a variable with quotes, backslashes or
    control characters, such as a function of the shell, is left out. Only the first SetEnv counts.
    """
    pairs = [
        f'"{name}={value}"'
        for name, value in sorted(environ.items())
        if name not in OWN_VARIABLES and not name.startswith("SSH_") and _can_be_set(name, value)
    ]
    return " ".join(["SetEnv", *pairs]) if pairs else ""


def _can_be_set(name: str, value: str) -> bool:
    return (
        _NAME.fullmatch(name) is not None and value.isprintable() and not set(value) & {'"', "\\"}
    )


@dataclass(frozen=True)
class SshProcess:
    """One sshd and our end of its connection."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    key_file: Path

    async def end(self) -> None:
        """Close the connection, and end sshd if it does not end by itself. Repeatable."""
        self.writer.close()
        try:
            async with asyncio.timeout(END_S):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        finally:
            self.key_file.unlink(missing_ok=True)


class Sshd:
    """The sshd of a session or job: its files, and its processes."""

    def __init__(self, folder: Path, secret: str, environ: Mapping[str, str]) -> None:
        """`folder` is created in the node directory at the first connection."""
        self._folder = folder
        self._secret = secret
        self._environ = dict(environ)

    @property
    def is_installed(self) -> bool:
        return os.access(SSHD, os.X_OK)

    async def start(self, public_key: str) -> SshProcess:
        """Start sshd for one connection, which accepts this key alone. Raises OSError."""
        await asyncio.to_thread(self._write_files)
        key_file = self._folder / f"key-{secrets.token_hex(8)}"
        _write_private(key_file, f"{public_key}\n")
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)
            try:
                process = await asyncio.create_subprocess_exec(
                    *(str(SSHD), "-i", "-e", "-f", str(self._folder / "config")),
                    *("-o", f"AuthorizedKeysFile={key_file}"),
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    env={"PATH": os.defpath},
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                key_file.unlink()
                raise
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        return SshProcess(process, reader, writer, key_file)

    def _write_files(self) -> None:
        """Write sshd's files, unless an earlier connection has."""
        if (self._folder / "config").exists():
            return
        from spawner.ssh.host_key import render_private_key  # noqa: PLC0415 - slow, and few need it

        self._folder.mkdir(mode=0o700, exist_ok=True)
        _write_private(self._folder / "host_key", render_private_key(self._secret))
        _write_private(self._folder / "config", render_config(self._folder, self._environ))


def _write_private(path: Path, text: str) -> None:
    """Write a file for this user alone, complete from the moment that it has its name."""
    fresh = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.write(text)
    fresh.replace(path)
