"""`portal init`: proposes a settings file from the live Slurm and directory."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from portal.cli.context import REFUSED, hide_logs
from portal.cli.detection import DetectionOptions, detect
from portal.cli.proposal import render_settings_file
from portal.directory.discovery import Address

Out = Annotated[
    Path | None, typer.Option(help="A new file. Default: standard output.", show_default=False)
]
Host = Annotated[
    str | None,
    typer.Option(help="The host name at which users reach the portal.", show_default=False),
]
BinDir = Annotated[
    Path | None,
    typer.Option(help="The folder with squeue, if it isn't on PATH.", show_default=False),
]
Conf = Annotated[
    Path | None,
    typer.Option(help="The path of slurm.conf, if it isn't the default.", show_default=False),
]
Url = Annotated[
    str | None,
    typer.Option(help="The directory, if no LDAP client is configured here.", show_default=False),
]
Ca = Annotated[
    Path | None, typer.Option(help="The CA certificate of the directory.", show_default=False)
]
Base = Annotated[str | None, typer.Option(help="The base DN to search.", show_default=False)]
BindDn = Annotated[
    str | None,
    typer.Option(
        help="The account for searches, unless anonymous search is allowed.", show_default=False
    ),
]
Password = Annotated[
    Path | None,
    typer.Option(help="The file with the password of --ldap-bind-dn.", show_default=False),
]
Images = Annotated[
    Path | None,
    typer.Option(help="A folder with images.", show_default=False, file_okay=False, exists=True),
]
Runtime = Annotated[
    Path | None,
    typer.Option(help="The folder that `portal runtime` creates.", show_default=False),
]
Modules = Annotated[
    Path | None, typer.Option(help="The script that defines `module`.", show_default=False)
]
Virtualenvs = Annotated[
    Path | None,
    typer.Option(
        help="A folder with virtualenvs.", show_default=False, file_okay=False, exists=True
    ),
]


def init(
    out: Out = None,
    host: Host = None,
    slurm_bin_dir: BinDir = None,
    slurm_conf: Conf = None,
    ldap_url: Url = None,
    ldap_ca_file: Ca = None,
    ldap_base: Base = None,
    ldap_bind_dn: BindDn = None,
    ldap_bind_password_file: Password = None,
    runtime: Runtime = None,
    images: Images = None,
    modules_init: Modules = None,
    virtualenvs: Virtualenvs = None,
) -> None:
    """Propose a settings file based on this machine's Slurm and directory. Changes nothing."""
    hide_logs()
    if (ldap_bind_dn is None) != (ldap_bind_password_file is None):
        raise typer.BadParameter("Set both --ldap-bind-dn and --ldap-bind-password-file.")
    address = None
    if ldap_url is not None:
        password = _absolute(ldap_bind_password_file)
        address = Address(ldap_url, True, _absolute(ldap_ca_file), ldap_bind_dn, password)
    options = DetectionOptions(
        host=host,
        slurm_bin_dir=_absolute(slurm_bin_dir),
        slurm_conf=_absolute(slurm_conf),
        address=address,
        base=ldap_base,
        runtime=_absolute(runtime),
        images=_absolute(images),
        modules_init=_absolute(modules_init),
        virtualenvs=_absolute(virtualenvs),
    )
    detected = asyncio.run(detect(options))
    text = render_settings_file(detected)
    if out is None:
        typer.echo(text, nl=False)
    else:
        _write(out, text)
        typer.echo(f"{out}: review every line, then run PORTAL_CONFIG={out} portal check", err=True)
    for sentence in detected.missing:
        typer.echo(f"Not found. {sentence}", err=True)


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path else None


def _write(out: Path, text: str) -> None:
    """Write a new file; never overwrite one."""
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        typer.echo(f"{out} can't be created: {error.strerror}.", err=True)
        raise typer.Exit(REFUSED) from error
