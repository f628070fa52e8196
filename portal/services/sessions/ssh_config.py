"""Configuration of SSH clients for sessions.

Pure.

One block of ssh_config serves all of a user's sessions: the first label of a host's name is the
session's. The program in `portal/downloads/portal_ssh.py` is the ProxyCommand. A shell runs it, and
a host's name may come from elsewhere, such as a submodule's address: it is quoted. OpenSSH 9.6 also
refuses names with characters of the shell. Python gets no module from the working folder (`-I`).
"""

import ipaddress
from urllib.parse import quote, urlsplit

FOLDER = "~/.ssh/portal"
PROGRAM = "portal_ssh.py"
OTHERWISE = "portal"
"""Last part of the hosts' names if the portal itself has an address instead of a name."""

_BLOCK = """\
Host *.{suffix}
    User {username}
    ProxyCommand python3 -I {folder}/{program} {url} '%h'
    ForwardAgent no
    IdentityFile {folder}/id_ed25519
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    StrictHostKeyChecking yes
"""


def host_name(public_url: str, session: str) -> str:
    """Return the name by which a user's ssh knows a session; no resolver knows it."""
    return f"{session}.{_suffix(public_url)}"


def render_block(public_url: str, notebooks: str, username: str) -> str:
    """Return the block; `notebooks` is the origin of the user's notebooks."""
    return _BLOCK.format(
        suffix=_suffix(public_url),
        username=username,
        folder=FOLDER,
        program=PROGRAM,
        url=f"{notebooks}/user/{username}/",
    )


def editor_link(host: str, home: str) -> str:
    """Return the link with which VS Code opens a folder over SSH."""
    return f"vscode://vscode-remote/ssh-remote+{host}{quote(home)}"


def _suffix(public_url: str) -> str:
    name = urlsplit(public_url).hostname or ""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name if "." in name else OTHERWISE
    return OTHERWISE
