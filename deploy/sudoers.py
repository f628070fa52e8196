"""The sudoers file for the portal's account.

It lets that account run the launcher as users, and the site's programs for home directories as
root.

Pure, and needs only the standard library: `cluster/` renders its own file from here, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from spawner.names import USERNAME

_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+-]+")
# in sudoers these have a special meaning unless a backslash precedes them (sudoers(5))
_SPECIAL = re.compile(r'([\s,:=!()\\"#%@])')
# These are usually the defaults, but a site may have others, and control over the environment of a
# program that runs as root means control over root.
_OPTIONS = (
    "!use_pty, env_reset, !setenv, !env_keep, !env_check, "
    'secure_path="/usr/sbin:/usr/bin:/sbin:/bin"'
)


def render(
    account: str,
    launcher: str,
    groups: Sequence[str],
    root_programs: Sequence[str] = (),
    umask: str = "022",
) -> str:
    """Render the sudoers file. Raises ValueError.

    `groups`: the portal's account may act as their members; if empty, as every user but root, and
    the launcher refuses uids under its own `min_uid`. `root_programs`: programs for home
    directories, which run as root with this `umask`.
    """
    for path in (launcher, *root_programs):
        if not _PLAIN_PATH.fullmatch(path):
            raise ValueError(f"{path} can't be used in sudoers: use only letters, digits and ._/+-")
    if not USERNAME.fullmatch(account):
        raise ValueError(f"{account} is not a valid account name")
    users = ", ".join(f"%{_SPECIAL.sub(_escape, group)}" for group in groups) or "ALL"
    lines = [
        "# the portal's account may run one program as a user of the portal"
        + (", and those for their homes as root" if root_programs else ""),
        f'Cmnd_Alias PORTAL_LAUNCHER = {launcher} ""',
        f"Defaults!PORTAL_LAUNCHER {_OPTIONS}, umask=0077, umask_override, runcwd=/",
        f"{account} ALL=({users}, !#0) NOPASSWD:NOSETENV: PORTAL_LAUNCHER",
    ]
    if root_programs:
        lines += [
            f"Cmnd_Alias PORTAL_HOMES = {', '.join(root_programs)}",
            f"Defaults!PORTAL_HOMES {_OPTIONS}, umask={umask:0>4}, umask_override, runcwd=/",
            f"{account} ALL=(root) NOPASSWD:NOSETENV: PORTAL_HOMES",
        ]
    return "\n".join(lines) + "\n"


def _escape(match: re.Match[str]) -> str:
    return f"\\{match[1]}"
