"""Private network namespace, in which only this process and its children can connect.

TensorBoard's data server answers any user on the node's loopback interface; in its own namespace no
other user can reach it. Standard library and libc only; independent of TensorBoard.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
PR_SET_PDEATHSIG = 1
MS_BIND = 4096
IFREQ = struct.Struct("16sH22x")
"""struct ifreq of netdevice(7): the interface's name, then its flags."""

_libc = ctypes.CDLL(None, use_errno=True)


def enter_private_network() -> None:
    """Move this process, which must have one thread, into a network namespace with loopback only.

    Sockets opened before continue to work. Raises OSError if the node does not permit user
    namespaces; the sockets can be served in that case too.
    """
    uid, gid = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "user namespaces are not allowed on this node")
    # Files keep their owner; access through supplementary groups is kept too.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    _bring_up("lo")


def show_file_at(source: Path, target: Path) -> None:
    """Make this process and its children see one file in place of another.

    Call it after `enter_private_network`. Raises OSError.
    """
    if _libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "mount namespaces are not allowed on this node")
    if _libc.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND, None) != 0:
        raise OSError(ctypes.get_errno(), f"{target} can't be replaced")


def _bring_up(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = IFREQ.pack(interface.encode(), 0)
        _, flags = IFREQ.unpack(fcntl.ioctl(handle, SIOCGIFFLAGS, request))
        fcntl.ioctl(handle, SIOCSIFFLAGS, IFREQ.pack(interface.encode(), flags | IFF_UP))


def die_with(parent: int) -> None:
    """Arrange to be killed when the process `parent` ends in any way.

    Call it after a change of namespace, which resets this setting.
    """
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the call
        raise SystemExit(1)
