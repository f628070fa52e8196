"""systemd's protocols for services: the inherited socket and the notification of readiness."""

import logging
import os
import socket

log = logging.getLogger(__name__)

FIRST_FD = 3
NOTIFY_S = 5  # systemd reads at once; a portal that runs is worth more than a notification


class WrongSocketCount(Exception):
    """systemd passed another number of sockets than one; the message says how many."""


def take_socket() -> int | None:
    """Return the file descriptor of the unit's socket, None without one (sd_listen_fds(3)).

    Raises WrongSocketCount.
    """
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    for name in ("LISTEN_PID", "LISTEN_FDNAMES"):  # for this process, not for its children
        os.environ.pop(name, None)
    if (count := os.environ.pop("LISTEN_FDS", "")) != "1":
        raise WrongSocketCount(
            f"systemd passed {count or 'no'} sockets: portal.socket must have exactly one."
        )
    return FIRST_FD


def notify(state: str) -> None:
    """Report a state such as READY=1 to systemd, if it waits for one (sd_notify(3)).

    A failure is logged: systemd ends a service that it takes for hanging, and says so itself.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # in the abstract namespace
        address = f"\0{address[1:]}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.settimeout(NOTIFY_S)
            sender.connect(address)
            sender.sendall(state.encode())
    except OSError as error:
        log.warning("systemd could not be notified of %s: %s", state, error)
