"""Options that commands share, and the objects that a command works with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin

import typer

from ..config import choose_portal, config_path, find_token, load_logins
from ..connection import ConnectionLost, PortalConnection
from ..output import Output

PortalOption = Annotated[
    str | None,
    typer.Option("--portal", metavar="URL", help="The portal; default: DSP_PORTAL, or the last."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, also for errors.")]
EnvironmentOption = Annotated[str | None, typer.Option("--env", help="The environment.")]
NameOption = Annotated[str | None, typer.Option("--name", help="A name, to recognize it by.")]
GpusOption = Annotated[int | None, typer.Option("--gpus", min=0, help="GPUs on each node.")]
GpuTypeOption = Annotated[str | None, typer.Option("--gpu-type", help="The type of GPU.")]
CpusOption = Annotated[int | None, typer.Option("--cpus", min=1, help="CPUs on each node.")]
MemoryOption = Annotated[float | None, typer.Option("--memory-gb", min=0, help="Memory, in GB.")]
MinutesOption = Annotated[
    int | None, typer.Option("--minutes", min=1, help="The time limit, in minutes.")
]
PartitionOption = Annotated[str | None, typer.Option("--partition", help="Slurm's partition.")]
AccountOption = Annotated[str | None, typer.Option("--account", help="Slurm's account.")]
QosOption = Annotated[str | None, typer.Option("--qos", help="Slurm's QOS.")]
BrowserOption = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")
]

POLL_S = 2.0
"""Time between two requests for the state of a job, a session or a TensorBoard."""


@dataclass(frozen=True)
class CommandContext:
    """The output of a command, and its connection to the chosen portal."""

    portal: str | None
    output: Output

    @cached_property
    def url(self) -> str:
        return choose_portal(self.portal, load_logins(self.config))

    @cached_property
    def config(self) -> Path:
        return config_path()

    @cached_property
    def connection(self) -> PortalConnection:
        """Return the connection with the saved token. Raises NotLoggedIn, UsageProblem."""
        return self.connect(self.token)

    @cached_property
    def token(self) -> str:
        """Return the token for the portal. Raises NotLoggedIn, UsageProblem."""
        return find_token(self.url, load_logins(self.config))

    @cached_property
    def anonymous(self) -> PortalConnection:
        """Return a connection without a token."""
        return self.connect(None)

    def connect(self, token: str | None) -> PortalConnection:
        """Return a connection with this token."""
        return PortalConnection(self.url, token, self._note_retry)

    def to_address(self, path: str) -> str:
        """Return the address of a path, which may be an address of another origin already."""
        return urljoin(f"{self.url}/", path)

    def _note_retry(self, error: ConnectionLost) -> None:
        self.output.note(f"{error.detail} Retrying.")


def open_context(portal: str | None, *, as_json: bool) -> CommandContext:
    """Return the context of a command with these options."""
    return CommandContext(portal, Output(as_json=as_json))


def to_resources(**requested: Any) -> dict[str, Any]:
    """Return the resources of a request: those that were given. Pure."""
    return {name: value for name, value in requested.items() if value is not None}
