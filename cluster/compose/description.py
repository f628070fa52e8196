"""The cluster of docker-compose.yml: cluster.toml with other nodes, each service on its own host.

`setup` determines it; the other hosts read it from /srv/cluster/etc.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cluster.config.addresses import FRONT_PORTS, HEAD_PORTS, Addresses
from cluster.config.description import parse_layout
from cluster.config.paths import Paths
from cluster.config.render import Abilities, Cluster
from cluster.errors import LayoutError

STATE = Path("/srv/cluster")
DESCRIPTION = Path(__file__).resolve().parents[1] / "cluster.toml"
FILE = "description.json"
# where nginx listens; independent of the machine's published ports
FRONT_PORT = 8443
NOTEBOOK_PORT = 8444
TENSORBOARD_PORT = 8445
URLS = ("PUBLIC_URL", "NOTEBOOK_URL", "TENSORBOARD_URL")
# where the two portals listen, on the loopback interface of their host
PORTALS = (8001, 8002)
# The last numbers of the addresses in docker-compose.yml. Slurm uses addresses, because a
# container's name does not resolve while it is down. The front has .1, the nodes begin at .11.
SLURMCTLD, SLURMDBD = 2, 3


class ContainerPaths(Paths):
    """Paths, the same in every container; docker-compose.yml defines which are volumes."""

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
        """The directory's own files: its certificate, its initial content."""
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
    """The operator's choices."""

    public_url: str
    notebook_url: str
    tensorboard_url: str
    network: str  # the first three numbers of the cluster's addresses
    nodes: tuple[Mapping[str, Any], ...]

    @property
    def hosts(self) -> list[str]:
        """The host names for nginx's certificate."""
        urls = (self.public_url, self.notebook_url, self.tensorboard_url)
        return [urlsplit(url).hostname or "localhost" for url in urls]

    @property
    def paths(self) -> ContainerPaths:
        return ContainerPaths(STATE)

    @property
    def cluster(self) -> Cluster:
        """The cluster. Nodes are containers, so Slurm confines neither a job's memory nor its
        devices."""
        subnet = f"{self.network}.0/24"
        text = DESCRIPTION.read_text(encoding="utf-8")
        nodes = [dict(node) for node in self.nodes]
        layout = parse_layout(text, node=nodes, subnet=subnet)
        if not layout.gpu_types:  # accounting rejects limits on resources that do not exist
            accounts = tuple(replace(account, grp_tres="") for account in layout.accounts)
            layout = replace(layout, accounts=accounts)
        hosts = {
            "slurmctld": f"{self.network}.{SLURMCTLD}",
            "slurmdbd": f"{self.network}.{SLURMDBD}",
            "directory": "slapd",
        }
        ports = {**FRONT_PORTS, **HEAD_PORTS, "public": FRONT_PORT}
        del ports["packages"]  # the nodes reach the internet as other containers do
        ports |= {"notebooks": NOTEBOOK_PORT, "tensorboards": TENSORBOARD_PORT}
        addresses = Addresses("veth", subnet, ports, hosts)
        return Cluster(layout, addresses, Abilities(cgroups=0), self.paths)


def load_project(environment: Mapping[str, str]) -> Project:
    """Parse the environment that docker-compose.yml gives to `setup`. Raises LayoutError."""
    try:
        cpus, memory_mb = int(environment["NODE_CPUS"]), int(environment["NODE_MEMORY_MB"])
        size = {"sockets": 1, "cores_per_socket": cpus, "memory_mb": memory_mb}
        kind = environment["GPU_TYPE"]
        nodes = tuple(
            {**_parse_node(setting, kind), **size} for setting in environment["NODES"].split()
        )
        urls = [environment[name].rstrip("/") for name in URLS]
        network = environment["NETWORK"]
    except (KeyError, ValueError) as error:
        raise LayoutError(
            f"a variable in setup's environment is missing or malformed: {error}"
        ) from error
    for name, url in zip(URLS, urls, strict=True):
        if urlsplit(url).scheme != "https":
            raise LayoutError(f"{name} must begin with https://, not {url!r}")
    public, notebooks, tensorboards = urls
    return Project(public, notebooks, tensorboards, network, nodes)


def _parse_node(setting: str, kind: str) -> dict[str, Any]:
    """Parse `node01`, or `node01:2` for a node with two GPUs."""
    name, _, gpus = setting.partition(":")
    return {"names": name, "gpus": int(gpus or 0), "gpu_type": kind}


def dumps(project: Project) -> str:
    return json.dumps(asdict(project), indent=1) + "\n"


def loads(text: str) -> Project:
    raw = json.loads(text)
    return Project(**{**raw, "nodes": tuple(raw["nodes"])})
