"""Configuration of SSH clients for sessions.

Pure.

One block of ssh_config serves all of a user's sessions: the first label of a host's name is the
session's. The program in `portal/downloads/portal_ssh.py` is the ProxyCommand. A shell runs it, and
a host's name may come from elsewhere, such as a submodule's address: it is quoted. OpenSSH 9.6 also
refuses names with characters of the shell. Python gets no module from the working folder (`-I`).
"""

from urllib.parse import quote

from portal.downloads.portal_ssh import BLOCK, KEY, KNOWN_HOSTS, host_suffix

FOLDER = "~/.ssh/portal"
PROGRAM = "portal_ssh.py"


def host_name(public_url: str, session: str) -> str:
    """Return the name by which a user's ssh knows a session; no resolver knows it."""
    return f"{session}.{host_suffix(public_url)}"


def render_block(public_url: str, notebooks: str, username: str) -> str:
    """Return the block; `notebooks` is the origin of the user's notebooks."""
    return BLOCK.format(
        suffix=host_suffix(public_url),
        username=username,
        key=f"{FOLDER}/{KEY}",
        known_hosts=f"{FOLDER}/{KNOWN_HOSTS}",
        proxy=f"python3 -I {FOLDER}/{PROGRAM} {notebooks}/user/{username}/ '%h'",
    )


def editor_link(host: str, home: str) -> str:
    """Return the link with which VS Code opens a folder over SSH."""
    return f"vscode://vscode-remote/ssh-remote+{host}{quote(home)}"
