"""The choice of a cluster's subnet and ports: the preferred ones, or the nearest free ones.

Pure: the addresses in use are passed in, so that the choice can be tested. A choice is saved in the
state folder and kept for as long as it stays free.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import IPv4Network

from cluster.config.description import Layout
from cluster.errors import NothingFreeError

LOCALHOST = "127.0.0.1"
WILDCARD = "0.0.0.0"  # noqa: S104  compared with listeners' addresses, never bound
# nginx and the services behind it listen on the machine's loopback interface. `registry` is
# reserved: a registry for trials that speaks plain HTTP may listen there.
FRONT_PORTS = {
    "public": 8000,
    "notebooks": 8020,
    "tensorboards": 8030,
    "portal": 8001,
    "hub": 8081,
    "registry": 5000,
}
# The cluster's own services listen on the head's address. `packages` serves pip's indexes to the
# nodes when these have no network of their own.
HEAD_PORTS = {
    "slurmctld": 6817,
    "slurmdbd": 6819,
    "ldap": 389,
    "ldaps": 636,
    "node_facing": 8010,
    "packages": 3141,
}
SLURMD_PORT = 6818
LOOPBACK_SLURMD_PORT = 17001


@dataclass(frozen=True)
class Listener:
    address: str
    port: int


@dataclass(frozen=True)
class UsedAddresses:
    """The addresses in use on this machine: its networks, its listeners, other clusters'
    choices."""

    networks: frozenset[str] = frozenset()
    listeners: frozenset[Listener] = frozenset()


@dataclass(frozen=True)
class Addresses:
    mode: str  # "veth": each node has its own network; "loopback": addresses of 127.0.0.0/8
    subnet: str
    ports: Mapping[str, int]
    # role → its host, for roles that are not on the head: slurmctld, slurmdbd, directory
    hosts: Mapping[str, str] = field(default_factory=dict)

    def host(self, role: str) -> str:
        return self.hosts.get(role, self.head)

    def name(self, role: str) -> str:
        """Return the host name of a role's host."""
        return role if role in self.hosts else "head"

    @property
    def _prefix(self) -> str:
        return self.subnet.rsplit(".", 1)[0]

    @property
    def head(self) -> str:
        return f"{self._prefix}.1"

    def node(self, index: int) -> str:
        if self.mode == "loopback":
            # All nodes share the loopback interface; they are distinguished by their ports.
            return LOCALHOST
        return f"{self._prefix}.{11 + index}"

    def slurmd_port(self, node: str) -> int:
        return self.ports.get(f"slurmd-{node}", SLURMD_PORT)

    @property
    def base_url(self) -> str:
        return f"http://{LOCALHOST}:{self.ports['public']}"

    @property
    def notebook_url(self) -> str:
        return f"http://{LOCALHOST}:{self.ports['notebooks']}"

    @property
    def tensorboard_url(self) -> str:
        return f"http://{LOCALHOST}:{self.ports['tensorboards']}"

    @property
    def node_url(self) -> str:
        return f"http://{self.head}:{self.ports['node_facing']}"

    @property
    def package_url(self) -> str | None:
        """The package index for the nodes.

        None in containers, which reach the internet themselves, and for a cluster created by an
        older version.
        """
        port = self.ports.get("packages")
        return f"http://{self.head}:{port}/simple" if port else None

    def listeners(self) -> frozenset[Listener]:
        """Return the sockets on which this cluster listens while it is up."""
        return frozenset(
            Listener(_get_listen_address(name, self.head), port)
            for name, port in self.ports.items()
        )


def _get_listen_address(name: str, head: str) -> str:
    if name.startswith("slurmd-"):
        return WILDCARD
    return LOCALHOST if name in FRONT_PORTS else head


def choose(
    layout: Layout, mode: str, used: UsedAddresses, remembered: Addresses | None
) -> Addresses:
    """Return the saved choice where it is still free, else the preferred one, else the next
    free."""
    before = remembered if remembered is not None and remembered.mode == mode else None
    subnet = _choose_subnet(layout, mode, used, before)
    draft = Addresses(mode, subnet, {})
    first = _list_preferred_ports(layout, mode)
    first |= {
        name: port for name, port in (before.ports if before else {}).items() if name in first
    }
    ports: dict[str, int] = {}
    for name, preferred in first.items():
        reserved = {*ports.values(), *(port for other, port in first.items() if other != name)}
        ports[name] = _choose_port(preferred, _get_listen_address(name, draft.head), used, reserved)
    return Addresses(mode, subnet, ports)


def _list_preferred_ports(layout: Layout, mode: str) -> dict[str, int]:
    ports = {**FRONT_PORTS, **HEAD_PORTS}
    if mode == "loopback":
        # slurmd listens on every address in this mode, so each needs a port of its own
        for index, node in enumerate(layout.nodes):
            ports[f"slurmd-{node.name}"] = LOOPBACK_SLURMD_PORT + index
    return ports


def _choose_subnet(layout: Layout, mode: str, used: UsedAddresses, before: Addresses | None) -> str:
    preferred = IPv4Network(layout.subnet)
    if mode == "loopback":
        second, third = str(preferred.network_address).split(".")[1:3]
        preferred = IPv4Network(f"127.{second}.{third}.0/24")
    networks = [IPv4Network(network) for network in used.networks]
    later = (IPv4Network((int(preferred[0]) + 256 * step, 24)) for step in range(200))
    candidates = [IPv4Network(before.subnet)] if before else []
    for candidate in (*candidates, *later):
        if not any(candidate.overlaps(network) for network in networks):
            return str(candidate)
    raise NothingFreeError(f"no free /24 from {preferred} on")


def _choose_port(first: int, address: str, used: UsedAddresses, reserved: set[int]) -> int:
    for port in range(first, min(first + 2000, 65536), 10):
        if port not in reserved and is_free(port, address, used.listeners):
            return port
    raise NothingFreeError(f"no free port from {first} on at {address}")


def is_free(port: int, address: str, listeners: Iterable[Listener]) -> bool:
    """Return whether a port is free at an address.

    A listener on the wildcard address takes the port on every address, and needs it free on every
    address.
    """
    addresses = {listener.address for listener in listeners if listener.port == port}
    return not addresses & {address, WILDCARD} if address != WILDCARD else not addresses


def parse_proc_net_tcp(text: str) -> set[Listener]:
    """Parse the listening sockets of /proc/net/tcp or tcp6; an IPv6 listener counts as wildcard."""
    listeners = set()
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 4 or fields[3] != "0A":
            continue
        address, port = fields[1].rsplit(":", 1)
        if len(address) == 8:
            dotted = ".".join(str(byte) for byte in reversed(bytes.fromhex(address)))
        else:
            dotted = WILDCARD
        listeners.add(Listener(dotted, int(port, 16)))
    return listeners


def dumps(addresses: Addresses) -> str:
    return json.dumps(asdict(addresses), indent=1) + "\n"


def loads(text: str) -> Addresses:
    raw = json.loads(text)
    return Addresses(raw["mode"], raw["subnet"], raw["ports"], raw.get("hosts", {}))
