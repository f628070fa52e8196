"""Configuration of SSH clients for sessions and jobs. Pure.

One block of ssh_config serves all of a user's sessions and jobs: the first label of a host's name
is a session's name or a Slurm job ID. The program in `portal/downloads/portal_ssh.py` is the
ProxyCommand. A shell runs it, and a host's name may come from elsewhere, such as the address of a
Git submodule, so it is quoted. OpenSSH 9.6 also refuses names with characters of the shell. `-I`
keeps Python from importing modules from the working folder.
"""

from urllib.parse import quote

from portal.downloads.portal_ssh import BLOCK, KEY, KNOWN_HOSTS, host_suffix

FOLDER = "~/.ssh/portal"
PROGRAM = "portal_ssh.py"


def host_name(public_url: str, label: str) -> str:
    """Return the host name of a session or job in ssh_config; it is not in DNS."""
    return f"{label}.{host_suffix(public_url)}"


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
