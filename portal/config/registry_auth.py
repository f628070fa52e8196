"""The credentials file for registries: whether it is private, and which registries it covers.

Apptainer uses the credentials; this module reads only the names of the registries.
"""

import json
import os
import stat
from pathlib import Path

from spawner.containers.references import DOCKER_HUB

MAX_BYTES = 1024 * 1024
_HUBS = {"index.docker.io", "registry-1.docker.io", DOCKER_HUB}


def registry_hosts(path: Path) -> frozenset[str]:
    """Return the registries, as `host[:port]`, for which a Docker-style file has credentials.

    Raises ValueError with a message and its remedy: the file must be JSON, mode 0600, and owned by
    the calling account (root may read another account's).
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror}") from error
    mode = stat.S_IMODE(status.st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(f"{path} is open to others (mode {mode:04o}): chmod 0600 it")
    if os.geteuid() not in {0, status.st_uid}:
        raise ValueError(f"{path} must be owned by the portal's account: chown it")
    return _parse_hosts(path, content)


def _parse_hosts(path: Path, content: bytes) -> frozenset[str]:
    """Return the keys of `auths` and `credHelpers`, without scheme and path.

    Values never appear in messages.
    """
    problem = f'{path} must be JSON as `docker login` writes it: {{"auths": {{"host": …}}}}'
    try:
        document = json.loads(content) if len(content) <= MAX_BYTES else None
    except ValueError as error:
        raise ValueError(problem) from error
    if not isinstance(document, dict):
        raise ValueError(problem)  # noqa: TRY004 - the content of a file, not an argument
    sections = [document.get(name, {}) for name in ("auths", "credHelpers")]
    if not all(isinstance(section, dict) for section in sections):
        raise ValueError(problem)
    names = (key.partition("://")[2] or key for section in sections for key in section)
    hosts = (name.partition("/")[0].lower() for name in names)
    return frozenset(DOCKER_HUB if host in _HUBS else host for host in hosts)
