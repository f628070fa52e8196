"""The cluster that docker-compose.yml raises: cluster.toml with other nodes, every service on a
host of its own. Decided by `setup`; the other hosts read it from /srv/cluster/etc.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cluster.addresses import FRONT_PORTS, HEAD_PORTS, Addresses
from cluster.errors import LayoutError
from cluster.layout import parse_layout
from cluster.paths import Paths
from cluster.render import Abilities, Cluster

STATE = Path("/srv/cluster")
TEXT = Path(__file__).resolve().parents[1] / "cluster.toml"
FILE = "description.json"
# where the front door listens, whatever port of the machine leads there
FRONT_PORT = 8443
# where the two portals listen, on the loopback of their host
PORTALS = (8001, 8002)
# The last numbers of the addresses in docker-compose.yml: Slurm is told addresses, for a name means
# nothing while its container is down. The front's is .1, the nodes' begin with .11.
SLURMCTLD, SLURMDBD = 2, 3


class ContainerPaths(Paths):
    """The same places in every container; which of them are volumes, docker-compose.yml says."""

    @property
    def dev(self) -> Path:
        return Path("/dev")

    @property
    def secrets(self) -> Path:
        return self.state / "secrets" / "secrets.json"

    @property
    def authority(self) -> Path:
        return self.state / "secrets"

    @property
    def tls(self) -> Path:
        """What the directory has for itself: its certificate, its first content."""
        return self.state / "directory"

    @property
    def certificate(self) -> Path:
        return self.state / "certificate"

    @property
    def archived_homes(self) -> Path:
        return self.home / ".archived"

    @property
    def postgres_socket(self) -> Path:
        return self.run / "postgres"


@dataclass(frozen=True)
class Project:
    """What an operator chooses."""

    public_url: str
    network: str  # the first three numbers of the cluster's addresses
    nodes: tuple[Mapping[str, Any], ...]

    @property
    def host(self) -> str:
        return urlsplit(self.public_url).hostname or "localhost"

    @property
    def paths(self) -> ContainerPaths:
        return ContainerPaths(STATE)

    @property
    def cluster(self) -> Cluster:
        """Nodes are containers: Slurm can neither confine a job's memory nor its devices."""
        subnet = f"{self.network}.0/24"
        text = TEXT.read_text(encoding="utf-8")
        nodes = [dict(node) for node in self.nodes]
        layout = parse_layout(text, node=nodes, subnet=subnet)
        if not layout.gpu_types:  # accounting knows no limit on what isn't there
            accounts = tuple(replace(account, grp_tres="") for account in layout.accounts)
            layout = replace(layout, accounts=accounts)
        hosts = {
            "slurmctld": f"{self.network}.{SLURMCTLD}",
            "slurmdbd": f"{self.network}.{SLURMDBD}",
            "directory": "slapd",
        }
        ports = {**FRONT_PORTS, **HEAD_PORTS, "public": FRONT_PORT}
        addresses = Addresses("veth", subnet, ports, hosts)
        return Cluster(layout, addresses, Abilities(cgroups=False), self.paths)


def chosen(environment: Mapping[str, str]) -> Project:
    """From what docker-compose.yml gives to `setup`. Raises LayoutError."""
    try:
        cpus, memory_mb = int(environment["NODE_CPUS"]), int(environment["NODE_MEMORY_MB"])
        size = {"sockets": 1, "cores_per_socket": cpus, "memory_mb": memory_mb}
        kind = environment["GPU_TYPE"]
        nodes = tuple({**_node(word, kind), **size} for word in environment["NODES"].split())
        url, network = environment["PUBLIC_URL"].rstrip("/"), environment["NETWORK"]
    except (KeyError, ValueError) as error:
        raise LayoutError(f"setup's environment lacks or mistypes {error}") from error
    if urlsplit(url).scheme != "https":
        raise LayoutError(f"PUBLIC_URL must begin with https://, not {url!r}")
    return Project(url, network, nodes)


def _node(word: str, kind: str) -> dict[str, Any]:
    """`node01`, or `node01:2` for one that has two GPUs."""
    name, _, gpus = word.partition(":")
    return {"names": name, "gpus": int(gpus or 0), "gpu_type": kind}


def dumps(project: Project) -> str:
    nodes = [dict(node) for node in project.nodes]
    fields = {"public_url": project.public_url, "network": project.network, "nodes": nodes}
    return json.dumps(fields, indent=1) + "\n"


def loads(text: str) -> Project:
    raw = json.loads(text)
    return Project(raw["public_url"], raw["network"], tuple(raw["nodes"]))
