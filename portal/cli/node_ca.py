"""`portal node-ca`: the certificate authority for the servers on the nodes."""

from typing import Annotated

import typer

from portal.cli.context import REFUSED, load
from portal.node_ca import NodeCa, NodeCaError, open_ca
from portal.node_ca import renew as renew_ca

NONE = "There is no authority for nodes: node_tls is off, and never was on."
NEXT = "Now reload nginx, then restart the portal: what it signs from then on is of the new one."


def node_ca(
    renew: Annotated[
        bool, typer.Option("--renew", help="Make a new one; what the old one signed stays valid.")
    ] = False,
) -> None:
    """Show the authority for nodes; it is created if node_tls is on and none exists."""
    settings = load()
    try:
        found = renew_ca(settings) if renew else open_ca(settings)
    except NodeCaError as error:
        typer.echo(f"{error}.", err=True)
        raise typer.Exit(REFUSED) from error
    if found is None:
        typer.echo(NONE)
        return
    _print_ca(found)
    if renew:
        typer.echo(NEXT)


def _print_ca(found: NodeCa) -> None:
    typer.echo(f"The authority for nodes was made at {found.made_at:%Y-%m-%d %H:%M} UTC")
    typer.echo(f"and expires at {found.expires_at:%Y-%m-%d %H:%M} UTC.")
    typer.echo(f"nginx reads its certificate in {found.bundle}.")
