"""The locations of one cluster's files: names only, nothing is created here.

`root` is shared by the clusters of one checkout (virtualenvs, images, the copied application);
`state` belongs to one cluster.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
# nslcd's socket path is compiled in; the head has a private /run for it
NSLCD_RUN = Path("/run/nslcd")


@dataclass(frozen=True)
class Paths:
    state: Path

    @property
    def root(self) -> Path:
        return self.state.parent

    @property
    def venv(self) -> Path:
        return self.root / "venv"

    @property
    def runtime(self) -> Path:
        return self.root / "runtime"

    @property
    def science(self) -> Path:
        """The virtualenv behind the demo's module and virtualenv environments."""
        return self.root / "science"

    @property
    def apps(self) -> Path:
        """Programs of apps in sessions, such as VS Code."""
        return self.root / "apps"

    @property
    def app(self) -> Path:
        return self.root / "app"

    @property
    def images(self) -> Path:
        return self.root / "images"

    @property
    def imported(self) -> Path:
        """Images that an administrator imports through the portal."""
        return self.state / "imported"

    @property
    def etc(self) -> Path:
        return self.state / "etc"

    @property
    def run(self) -> Path:
        return self.state / "run"

    @property
    def log(self) -> Path:
        return self.state / "log"

    @property
    def data(self) -> Path:
        return self.state / "state"

    @property
    def home(self) -> Path:
        return self.state / "home"

    @property
    def tls(self) -> Path:
        return self.state / "tls"

    @property
    def dev(self) -> Path:
        return self.state / "dev"

    @property
    def libexec(self) -> Path:
        return self.state / "libexec"

    @property
    def lib(self) -> Path:
        """The cluster's own copy of this package: the checkout may change while the cluster
        runs."""
        return self.state / "lib"

    @property
    def catalog(self) -> Path:
        """The site's own environments, beside the shipped ones."""
        return self.state / "catalog"

    @property
    def portal_home(self) -> Path:
        return self.state / "portal"

    @property
    def nginx(self) -> Path:
        return self.state / "nginx"

    @property
    def launcher(self) -> Path:
        return self.libexec / "launcher"

    @property
    def home_directory(self) -> Path:
        """The program that creates, archives and deletes home directories."""
        return self.libexec / "home-directory"

    @property
    def archived_homes(self) -> Path:
        return self.data / "homes"

    @property
    def hub_home(self) -> Path:
        return self.state / "hub"

    @property
    def secrets(self) -> Path:
        return self.state / "secrets.json"

    @property
    def addresses(self) -> Path:
        return self.state / "addresses.json"

    @property
    def description(self) -> Path:
        """The cluster.toml that this cluster was created with."""
        return self.state / "cluster.toml"

    @property
    def abilities(self) -> Path:
        return self.state / "abilities.json"

    @property
    def ready(self) -> Path:
        """Present from when Slurm is complete until `down` begins."""
        return self.run / "ready"

    @property
    def go(self) -> Path:
        """Nodes start slurmd once this exists, that is, once slurmctld listens."""
        return self.run / "go"

    @property
    def munge_socket(self) -> Path:
        return self.run / "munge" / "munge.sock"

    @property
    def mysql_socket(self) -> Path:
        return self.run / "mysql" / "mysql.sock"

    @property
    def slurm_conf(self) -> Path:
        return self.etc / "slurm.conf"

    def owns(self, device: str) -> bool:
        return device == self.token or device.startswith(f"{self.token}-")

    def cable(self, index: int) -> str:
        """Return the name of the bridge's end of a node's veth pair, in the machine's network
        namespace."""
        return f"{self.token}-{index + 1}"

    def control(self, host: str = "head") -> Path:
        return self.run / f"control-{host}.sock"

    @property
    def token(self) -> str:
        """The name of the resources outside the state folder: bridge, veth, cgroups (at most 15
        bytes)."""
        return "dsp" + hashlib.sha256(str(self.state).encode()).hexdigest()[:8]
