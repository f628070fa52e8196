"""Config file, node directory and port of a node program: the package lists the folders.

Independent of Jupyter and TensorBoard; of the portal it uses only the address, to determine the
interface on which the portal will connect. Standard library only.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import stat
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CONFIG_LIMIT_BYTES = 1 << 20
FOLDER_LIMIT_BYTES = 57
"""A kernel's ipc socket adds 50 bytes to the path, whose limit is 107 (unix(7))."""


KERNEL_METADATA = "portal"
"""Key of the portal's own fields in a kernelspec's metadata."""
TERMINAL_PREFIX = "env_"
"""A terminal of this prefix and a kernel's name has a shell inside that kernel's environment."""
KERNEL_STARTUP = "kernel_startup.py"
"""File in the node directory that IPython runs when a kernel starts."""


class NodeSetupError(Exception):
    """The node or its files are not in the required state; the message is for the user."""


def log_to_stderr() -> None:
    """Set up the job's log: messages of the node program, and warnings of other modules."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("portal").setLevel(logging.INFO)


def read_config(path: Path) -> dict[str, Any]:
    """Load the job's config.json.

    Raises NodeSetupError.

    It contains a secret and determines which program runs, so a file that another user could read
    or change is refused.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise NodeSetupError(f"the job's configuration can't be read: {error}") from error
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        _require_private(os.fstat(descriptor), "the job's configuration")
        text = file.read(CONFIG_LIMIT_BYTES + 1)
    try:
        config = json.loads(text)
    except ValueError as error:
        raise NodeSetupError(f"the job's configuration is damaged: {error}") from error
    if not isinstance(config, dict):
        raise NodeSetupError("the job's configuration is damaged: not an object")
    return config


def node_dir_path(config: Mapping[str, Any]) -> Path:
    """Return the node directory's path; its prefix is configured, as kernelspecs use it too."""
    return Path(f"{config['runtime_dir_prefix']}{str(config['uuid'])[:13]}")


def create_node_dir(path: Path) -> None:
    """Create the node directory, empty and private.

    Raises NodeSetupError.

    One that an earlier run of the same job left behind is emptied; one with another owner is
    refused.
    """
    if len(os.fsencode(path)) > FOLDER_LIMIT_BYTES:
        raise NodeSetupError(f"the node's folder {path} has a name too long for sockets")
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        _require_private(path.lstat(), f"the folder {path} on the node", folder=True)
        shutil.rmtree(path)
        path.mkdir(mode=0o700)
    except OSError as error:
        raise NodeSetupError(f"the folder {path} can't be created on the node: {error}") from error


def bind(portal_url: str, node_name: str | None) -> socket.socket:
    """Return a TCP socket bound to a port of the kernel's choice, but *not* listening.

    So the port is reserved, and connections are refused until the server is ready. Raises
    NodeSetupError.
    """
    for address in _list_addresses(portal_url, node_name):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            # No SO_REUSEADDR: until we listen, it would allow another user's program to bind the
            # same port.
            listener.bind((address, 0))
        except OSError:
            listener.close()
            continue
        listener.setblocking(False)
        return listener
    raise NodeSetupError("the node has no address to listen on")


def _list_addresses(portal_url: str, node_name: str | None) -> Iterator[str]:
    """Yield addresses to try: the ones of the node's name in Slurm, then the one facing the portal.

    A loopback address is used only if the portal itself is on loopback.
    """
    facing = _find_facing_address(portal_url)
    if facing is not None and ip_address(facing).is_loopback:
        yield facing
        return
    for name in (node_name, socket.gethostname()):
        for address in _resolve(name):
            if not ip_address(address).is_loopback:
                yield address
    if facing is not None:
        yield facing
    yield "0.0.0.0"  # noqa: S104 - no better address is available


def _find_facing_address(portal_url: str) -> str | None:
    """Return the local address on the route to the portal; connecting UDP sends nothing."""
    url = urlsplit(portal_url)
    host = _resolve(url.hostname)
    if not host:
        return None
    family = socket.AF_INET6 if ":" in host[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host[0], url.port or 80))
        except OSError:
            return None
        return str(probe.getsockname()[0])


def _resolve(name: str | None) -> list[str]:
    if not name:
        return []
    try:
        addresses = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(item[4][0]) for item in addresses))


def _require_private(status: os.stat_result, name: str, *, folder: bool = False) -> None:
    kind = stat.S_ISDIR if folder else stat.S_ISREG
    if not kind(status.st_mode):
        raise NodeSetupError(f"{name} is not a {'folder' if folder else 'regular file'}")
    if status.st_uid != os.geteuid():
        raise NodeSetupError(f"{name} belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise NodeSetupError(f"{name} can be read or changed by other users")
