"""`portal node-ca`: the certificate authority for the servers on the nodes."""

from typing import Annotated

import typer

from portal.cli.context import REFUSED, load
from portal.node_ca import NodeCa, NodeCaError, open_ca
from portal.node_ca import renew as renew_ca

NO_CA = "There is no certificate authority for nodes, because node_tls is off."
AFTER_RENEWAL = "Reload nginx, then restart the portal, so that it signs with the new certificate."


def node_ca(
    renew: Annotated[
        bool,
        typer.Option(
            "--renew", help="Create a new one. Certificates signed by the old one stay valid."
        ),
    ] = False,
) -> None:
    """Show the certificate authority for nodes. If node_tls is on and none exists, create it."""
    settings = load()
    try:
        authority = renew_ca(settings) if renew else open_ca(settings)
    except NodeCaError as error:
        typer.echo(f"{error}.", err=True)
        raise typer.Exit(REFUSED) from error
    if authority is None:
        typer.echo(NO_CA)
        return
    _print_ca(authority)
    if renew:
        typer.echo(AFTER_RENEWAL)


def _print_ca(authority: NodeCa) -> None:
    typer.echo(
        f"The certificate authority for nodes was created at {authority.made_at:%Y-%m-%d %H:%M} UTC"
    )
    typer.echo(f"and expires at {authority.expires_at:%Y-%m-%d %H:%M} UTC.")
    typer.echo(f"nginx reads its certificate from {authority.bundle}.")
