"""The OpenSSH of this computer: its program, its version, and its files for a portal's sessions.

The files are a key, the sessions' host keys and a configuration, in a folder of mode 0700 beside
the saved logins, one for each portal. The token is not among them: `dsp ssh-proxy`, which ssh runs
to reach a session, reads it from the saved logins.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ..config import write_private
from ..errors import PortalUnreachable, UsageProblem
from .portal_ssh import BLOCK, KEY, KNOWN_HOSTS, ConnectionRefusal, host_suffix, public_key

FOLDER = "ssh"
CONFIG = "config"
PROGRAM = "dsp"
PROXY = "ssh-proxy"
FIXED_VERSION = (9, 6)
"""The first OpenSSH that refuses host names with characters of a shell (CVE-2023-51385)."""
OLD_VERSION = (
    "This computer has OpenSSH {found}. Versions before 9.6 pass any host name to a shell, unless "
    "your distribution has fixed CVE-2023-51385."
)
_VERSION = re.compile(r"OpenSSH\w*_(\d+)\.(\d+)")
_UNUSABLE = frozenset('"%$\\')
"""Characters with a meaning in ssh_config, for which it has no escape that all versions know."""


def find_program() -> str:
    """Return the path of ssh. Raises UsageProblem if a part of OpenSSH is missing."""
    ssh, keygen = shutil.which("ssh"), shutil.which("ssh-keygen")
    if ssh is None or keygen is None:
        missing = "ssh" if ssh is None else "ssh-keygen"
        raise UsageProblem(
            f"There is no program {missing} on this computer.", "Install OpenSSH's client."
        )
    return ssh


def warn_of_version(ssh: str) -> str | None:
    """Return what the user needs to know about this program's version."""
    done = subprocess.run([ssh, "-V"], capture_output=True, text=True, check=False, timeout=10)
    return check_version(done.stderr + done.stdout)


def check_version(text: str) -> str | None:
    """Return a warning about the version in the output of `ssh -V`; None for one without. Pure."""
    found = _VERSION.search(text)
    if found is None or (int(found[1]), int(found[2])) >= FIXED_VERSION:
        return None
    return OLD_VERSION.format(found=f"{found[1]}.{found[2]}")


def folder_of(config: Path, url: str) -> Path:
    """Return the folder of a portal's files; `config` is the file of the saved logins. Pure."""
    return config.parent / FOLDER / re.sub(r"[^A-Za-z0-9.-]", "_", url.partition("://")[2])


def prepare_folder(folder: Path, block: str) -> Path:
    """Create what is missing in a portal's folder, write its configuration, and return its path.

    Raises UsageProblem.
    """
    try:
        folder.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, exist_ok=True)
            each.chmod(0o700)
        public_key(folder)
        write_private(folder / CONFIG, block)
    except (OSError, ConnectionRefusal) as error:
        raise UsageProblem(f"The files for ssh can't be written: {error}") from error
    return folder / CONFIG


def render_block(url: str, username: str, folder: Path, program: Sequence[str]) -> str:
    """Return the block of ssh_config for the sessions of a portal. Pure.

    `program` is the command line of this program. Raises UsageProblem for a folder that the
    configuration can't name, PortalUnreachable for a username.
    """
    place = folder.as_posix()
    if not _is_usable(place):
        raise UsageProblem(
            f"ssh can't use files in {place}, because of the characters in its name.",
            "Set XDG_CONFIG_HOME to another folder, and log in again.",
        )
    if not _is_usable(username):
        raise PortalUnreachable(
            f"The portal sent a username that is not used: {username}", kind="unknown-answer"
        )
    argv = [*program, PROXY, "--portal", url]
    command = subprocess.list2cmdline(argv) if os.name == "nt" else shlex.join(argv)
    quote = '"' if os.name == "nt" else "'"
    return BLOCK.format(
        suffix=host_suffix(url),
        username=f'"{username}"' if " " in username else username,
        proxy=f"{command.replace('%', '%%')} {quote}%h{quote}",
        key=f'"{place}/{KEY}"',
        known_hosts=f'"{place}/{KNOWN_HOSTS}"',
    )


def _is_usable(text: str) -> bool:
    return text.isprintable() and not set(text) & _UNUSABLE


def find_own_program(argument: str | None = None) -> list[str]:
    """Return the command line that starts this program, whatever the working folder is.

    `argument` is the program as it was started; the default is that of this process.
    """
    started = Path(sys.argv[0] if argument is None else argument)
    if started.stem == PROGRAM:
        found = started if started.is_file() else Path(shutil.which(started) or started)
        return [str(found.absolute())]
    # as a module: -P takes none from the working folder
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    return [sys.executable, *safe, "-m", __package__.partition(".")[0]]


def run_program(argv: list[str]) -> NoReturn:
    """Run ssh in place of this program, which thus has its exit status."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # where exec returns to the shell at once
        sys.exit(subprocess.run(argv, check=False).returncode)
    os.execv(argv[0], argv)  # noqa: S606
