"""Which subnet and ports a cluster uses: the wanted ones, or the nearest free.

Pure: what is taken is handed in, so that the choice can be tested. Once chosen, a choice is
remembered in the state folder and kept for as long as it stays free.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import IPv4Network

from cluster.errors import NothingFreeError
from cluster.layout import Layout

LOCALHOST = "127.0.0.1"
WILDCARD = "0.0.0.0"  # noqa: S104  what a listener on every address shows, not a bind of ours
# The front door and what stands behind it listen on the machine's loopback…
# `registry` is nobody's: a trial registry that speaks plain HTTP may listen there.
FRONT_PORTS = {"public": 8000, "portal": 8001, "hub": 8081, "registry": 5000}
# …the cluster's own services on the head's address.
HEAD_PORTS = {"slurmctld": 6817, "slurmdbd": 6819, "ldap": 389, "ldaps": 636, "node_facing": 8010}
SLURMD_PORT = 6818
LOOPBACK_SLURMD_PORT = 17001


@dataclass(frozen=True)
class Listener:
    address: str
    port: int


@dataclass(frozen=True)
class Taken:
    """What this machine already uses: its networks, its listeners, other clusters' choices."""

    networks: frozenset[str] = frozenset()
    listeners: frozenset[Listener] = frozenset()


@dataclass(frozen=True)
class Addresses:
    mode: str  # "veth": each node a network of its own; "loopback": addresses of 127.0.0.0/8
    subnet: str
    ports: Mapping[str, int]
    # role → its host, where not all of them are the head's: slurmctld, slurmdbd, directory
    hosts: Mapping[str, str] = field(default_factory=dict)

    def host(self, role: str) -> str:
        return self.hosts.get(role, self.head)

    def name(self, role: str) -> str:
        """What that host calls itself."""
        return role if role in self.hosts else "head"

    @property
    def _base(self) -> str:
        return self.subnet.rsplit(".", 1)[0]

    @property
    def head(self) -> str:
        return f"{self._base}.1"

    def node(self, index: int) -> str:
        if self.mode == "loopback":
            # where a program there finds itself to be, whatever we call it: told apart by ports
            return LOCALHOST
        return f"{self._base}.{11 + index}"

    def slurmd_port(self, node: str) -> int:
        return self.ports.get(f"slurmd-{node}", SLURMD_PORT)

    @property
    def base_url(self) -> str:
        return f"http://{LOCALHOST}:{self.ports['public']}"

    @property
    def node_url(self) -> str:
        return f"http://{self.head}:{self.ports['node_facing']}"

    def listeners(self) -> frozenset[Listener]:
        """What this cluster listens on while it is up."""
        return frozenset(
            Listener(_address_of(name, self.head), port) for name, port in self.ports.items()
        )


def _address_of(name: str, head: str) -> str:
    if name.startswith("slurmd-"):
        return WILDCARD
    return LOCALHOST if name in FRONT_PORTS else head


def choose(layout: Layout, mode: str, taken: Taken, remembered: Addresses | None) -> Addresses:
    """The remembered choice where it is still free, else the wanted one, else the next free."""
    before = remembered if remembered is not None and remembered.mode == mode else None
    subnet = _subnet(layout, mode, taken, before)
    draft = Addresses(mode, subnet, {})
    first = _wanted_ports(layout, mode)
    first |= {
        name: port for name, port in (before.ports if before else {}).items() if name in first
    }
    ports: dict[str, int] = {}
    for name, wanted in first.items():
        ours = {*ports.values(), *(port for other, port in first.items() if other != name)}
        ports[name] = _port(wanted, _address_of(name, draft.head), taken, ours)
    return Addresses(mode, subnet, ports)


def _wanted_ports(layout: Layout, mode: str) -> dict[str, int]:
    wanted = {**FRONT_PORTS, **HEAD_PORTS}
    if mode == "loopback":
        # slurmd listens on every address there, so each needs a port of its own
        for index, node in enumerate(layout.nodes):
            wanted[f"slurmd-{node.name}"] = LOOPBACK_SLURMD_PORT + index
    return wanted


def _subnet(layout: Layout, mode: str, taken: Taken, before: Addresses | None) -> str:
    wanted = IPv4Network(layout.subnet)
    if mode == "loopback":
        second, third = str(wanted.network_address).split(".")[1:3]
        wanted = IPv4Network(f"127.{second}.{third}.0/24")
    used = [IPv4Network(network) for network in taken.networks]
    later = (IPv4Network((int(wanted[0]) + 256 * step, 24)) for step in range(200))
    candidates = [IPv4Network(before.subnet)] if before else []
    for candidate in (*candidates, *later):
        if not any(candidate.overlaps(network) for network in used):
            return str(candidate)
    raise NothingFreeError(f"no free /24 from {wanted} on")


def _port(first: int, address: str, taken: Taken, ours: set[int]) -> int:
    for port in range(first, min(first + 2000, 65536), 10):
        if port not in ours and is_free(port, address, taken.listeners):
            return port
    raise NothingFreeError(f"no free port from {first} on at {address}")


def is_free(port: int, address: str, listeners: Iterable[Listener]) -> bool:
    """A listener on every address takes the port everywhere, and needs it free everywhere."""
    others = {listener.address for listener in listeners if listener.port == port}
    return not others & {address, WILDCARD} if address != WILDCARD else not others


def parse_proc_net_tcp(text: str) -> set[Listener]:
    """The listening sockets of /proc/net/tcp or tcp6; an IPv6 listener counts as everywhere."""
    found = set()
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 4 or fields[3] != "0A":
            continue
        address, port = fields[1].rsplit(":", 1)
        if len(address) == 8:
            dotted = ".".join(str(byte) for byte in reversed(bytes.fromhex(address)))
        else:
            dotted = WILDCARD
        found.add(Listener(dotted, int(port, 16)))
    return found


def dumps(addresses: Addresses) -> str:
    return json.dumps(asdict(addresses), indent=1) + "\n"


def loads(text: str) -> Addresses:
    raw = json.loads(text)
    return Addresses(raw["mode"], raw["subnet"], raw["ports"], raw.get("hosts", {}))
