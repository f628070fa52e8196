"""Where a node program stands: its config file, its node-local folder and its port.

It knows nothing of Jupyter, TensorBoard or the portal beyond the portal's address, which tells
which way the portal will come. Standard library only.
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
"""A kernel's ipc socket adds 50 bytes to it, and a socket's path has 107 (unix(7))."""


class PlaceError(Exception):
    """The node or the files are not as they must be; the message is for the user."""


def log_to_stderr() -> None:
    """The job's log: what the node program says of itself, and others' warnings."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("portal").setLevel(logging.INFO)


def read_config(path: Path) -> dict[str, Any]:
    """The job's config.json. Refused when someone else could have written or read it, for it
    holds a secret and decides what runs. Raises PlaceError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise PlaceError(f"the job's configuration can't be read: {error}") from error
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        _must_be_private(os.fstat(descriptor), "the job's configuration")
        text = file.read(CONFIG_LIMIT_BYTES + 1)
    try:
        config = json.loads(text)
    except ValueError as error:
        raise PlaceError(f"the job's configuration is damaged: {error}") from error
    if not isinstance(config, dict):
        raise PlaceError("the job's configuration is damaged: not an object")
    return config


def folder_path(config: Mapping[str, Any]) -> Path:
    """The node-local folder's path; kernelspecs name it too, so the prefix is the config's."""
    return Path(f"{config['runtime_dir_prefix']}{str(config['uuid'])[:13]}")


def make_folder(path: Path) -> None:
    """Make the node-local folder, empty and ours alone. One that an earlier run of the same job
    left behind is emptied; one that isn't ours is refused. Raises PlaceError."""
    if len(os.fsencode(path)) > FOLDER_LIMIT_BYTES:
        raise PlaceError(f"the node's folder {path} has a name too long for sockets")
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        _must_be_private(path.lstat(), f"the folder {path} on the node", folder=True)
        shutil.rmtree(path)
        path.mkdir(mode=0o700)
    except OSError as error:
        raise PlaceError(f"no folder can be made at {path} on the node: {error}") from error


def bind(portal_url: str, node_name: str | None) -> socket.socket:
    """A TCP socket on a port of the kernel's choice, bound but *not* listening: the port is ours
    from now on, and whoever connects is refused until we are ready. Raises PlaceError."""
    for address in _addresses(portal_url, node_name):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            # no SO_REUSEADDR: until we listen, it would let a neighbour bind the same port
            listener.bind((address, 0))
        except OSError:
            listener.close()
            continue
        listener.setblocking(False)
        return listener
    raise PlaceError("the node has no address to listen on")


def _addresses(portal_url: str, node_name: str | None) -> Iterator[str]:
    """Addresses to try: the node's own by name, as Slurm tells it to the portal; else the one
    that faces the portal. A loopback address only where the portal itself is on loopback."""
    facing = _facing(portal_url)
    if facing is not None and ip_address(facing).is_loopback:
        yield facing
        return
    for name in (node_name, socket.gethostname()):
        for address in _resolve(name):
            if not ip_address(address).is_loopback:
                yield address
    if facing is not None:
        yield facing
    yield "0.0.0.0"  # noqa: S104 - nothing better is known


def _facing(portal_url: str) -> str | None:
    """Our address on the way to the portal; a connected UDP socket asks without sending."""
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
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(item[4][0]) for item in found))


def _must_be_private(found: os.stat_result, what: str, *, folder: bool = False) -> None:
    kind = stat.S_ISDIR if folder else stat.S_ISREG
    if not kind(found.st_mode):
        raise PlaceError(f"{what} is not a {'folder' if folder else 'plain file'}")
    if found.st_uid != os.geteuid():
        raise PlaceError(f"{what} belongs to someone else")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PlaceError(f"{what} can be read or changed by others")
