"""The loopback interface of a private network namespace: immediate TCP acknowledgements.

By default Linux delays an acknowledgement by 40 ms, in the hope of data to send with it. A server
that writes an answer in several small parts, as TensorBoard's data server does, waits for it before
it sends the second part (RFC 896), so that each request takes 40 ms longer. A metric of the routes
switches the delay off. Standard library only.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

# rtnetlink(7), and the kernel's linux/rtnetlink.h
RTM_NEWROUTE, RTM_DELROUTE = 24, 25
NLM_F_REQUEST, NLM_F_ACK, NLM_F_REPLACE, NLM_F_CREATE = 0x1, 0x4, 0x100, 0x400
NLMSG_ERROR = 2
RTA_DST, RTA_OIF, RTA_PRIORITY, RTA_PREFSRC, RTA_METRICS = 1, 4, 6, 7, 8
RTAX_QUICKACK = 15
RT_TABLE_LOCAL, RTPROT_KERNEL, RT_SCOPE_HOST, RTN_LOCAL = 255, 2, 254, 2
HEADER = struct.Struct("=IHHII")
"""struct nlmsghdr: length, type, flags, sequence number, sender."""
ROUTE = struct.Struct("=BBBBBBBBI")
"""struct rtmsg: family, bits of the destination and the source, TOS, table, origin, scope, type,
flags."""
NUMBER = struct.Struct("=I")
ANSWER_BYTES = 4096

INTERFACE = "lo"
IPV4 = (IPv4Network("127.0.0.0/8"), IPv4Network("127.0.0.1/32"))
IPV6 = IPv6Network("::1/128")
IPV6_ADDRESSES = Path("/proc/self/net/if_inet6")

Attribute = tuple[int, bytes]


def acknowledge_at_once() -> None:
    """Have TCP connections over this namespace's loopback interface acknowledge without delay.

    Open ones, too. Raises OSError, as for a process that may not change the namespace's routes.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        for request in _list_requests():
            kernel.send(request)
            _check(kernel.recv(ANSWER_BYTES))


def _list_requests() -> Iterator[bytes]:
    """Yield the messages that change the kernel's own routes to the loopback addresses."""
    quick = (RTA_METRICS, _to_attribute(RTAX_QUICKACK, NUMBER.pack(1)))
    source = (RTA_PREFSRC, socket.inet_aton("127.0.0.1"))
    for network in IPV4:
        yield _to_request(RTM_NEWROUTE, NLM_F_REPLACE, network, source, quick)
    if IPV6_ADDRESSES.exists() and IPV6_ADDRESSES.read_text(encoding="ascii"):
        # the kernel's route has the priority 0, which a request can't give to another one
        priority = (RTA_PRIORITY, NUMBER.pack(1))
        yield _to_request(RTM_NEWROUTE, NLM_F_CREATE, IPV6, priority, quick)
        yield _to_request(RTM_DELROUTE, 0, IPV6)


def _to_request(
    kind: int, flags: int, network: IPv4Network | IPv6Network, *attributes: Attribute
) -> bytes:
    family = socket.AF_INET if network.version == 4 else socket.AF_INET6
    place = (RT_TABLE_LOCAL, RTPROT_KERNEL, RT_SCOPE_HOST, RTN_LOCAL)
    route = ROUTE.pack(family, network.prefixlen, 0, 0, *place, 0)
    interface = NUMBER.pack(socket.if_nametoindex(INTERFACE))
    found = ((RTA_DST, network.network_address.packed), (RTA_OIF, interface), *attributes)
    body = route + b"".join(_to_attribute(name, value) for name, value in found)
    flags |= NLM_F_REQUEST | NLM_F_ACK
    return HEADER.pack(HEADER.size + len(body), kind, flags, 1, 0) + body


def _to_attribute(kind: int, value: bytes) -> bytes:
    """Return a struct rtattr with its value, padded to four bytes."""
    length = struct.calcsize("=HH") + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _check(answer: bytes) -> None:
    """Raise the error in the kernel's answer; 0 in its place confirms the request."""
    _, kind, *_ = HEADER.unpack_from(answer)
    (code,) = struct.unpack_from("=i", answer, HEADER.size)
    if kind != NLMSG_ERROR or code:
        raise OSError(-code, f"the route can't be changed: {os.strerror(-code)}")
