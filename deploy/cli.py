"""`portal secrets`, `runtime`, `vscode` and `system-files`: the parts of an installation besides
the settings. `deploy.upgrade` has `portal upgrade`.

docs/install.md has the order.
"""

import grp
import os
import pwd
import secrets as randomness
from pathlib import Path
from typing import Annotated

import typer

from deploy import nginx_inputs, system, version_folder
from deploy import runtime as runtimes
from deploy.upgrade.command import upgrade
from deploy.vscode import install as vscode_install
from portal.cli.context import REFUSED, load, print_settings_error
from portal.config.settings import MIN_SECRET_LENGTH, Settings, SettingsError, read_settings

__all__ = ["runtime", "secrets", "system_files", "upgrade", "vscode"]

PortalAccount = Annotated[str, typer.Option(help="Account that runs the portal.")]
HubAccount = Annotated[str, typer.Option(help="Account that runs JupyterHub.")]
DEFAULTS = system.ServiceAccounts()


def secrets(
    portal_account: PortalAccount = DEFAULTS.portal,
    hub_account: HubAccount = DEFAULTS.hub,
) -> None:
    """Make the secrets that the settings name and that aren't there yet. Those that the portal
    shares with JupyterHub belong to the portal and the hub's group. Needs root."""
    try:
        settings = read_settings()
    except SettingsError as error:
        raise print_settings_error(error) from error
    try:
        owner, group = pwd.getpwnam(portal_account).pw_uid, grp.getgrnam(hub_account).gr_gid
    except KeyError as error:
        raise _refuse(f"{error.args[0]}: create the account first.") from error
    for file, mode in _list_wanted(settings):
        if file.exists():
            typer.echo(f"{file} already exists.")
            continue
        _write(file, owner, group if mode & 0o040 else -1, mode)
        typer.echo(f"Created {file}.")


def _list_wanted(settings: Settings) -> list[tuple[Path, int]]:
    files = [(settings.hub_token_file, 0o640), (settings.internal_secret_file, 0o640)]
    if settings.metrics_token_file is not None:
        files.append((settings.metrics_token_file, 0o600))
    return files


def _write(file: Path, owner: int, group: int, mode: int) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                os.fchown(handle, owner, group)
                os.fchmod(handle, mode)
                out.write(randomness.token_hex(MIN_SECRET_LENGTH) + "\n")
        except OSError:
            file.unlink()  # an empty file would count as existing at the next attempt
            raise
    except OSError as error:
        raise _refuse(f"{file} can't be created: {error.strerror}.") from error


def runtime(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Folder to install to; default: runtime_dir.", show_default=False),
    ] = None,
    python: Annotated[str, typer.Option(help="Python on the nodes.")] = "/usr/bin/python3",
) -> None:
    """Make or renew what the nodes run: JupyterLab, TensorBoard, the node programs. Run it where
    the shared folder can be written to; sessions that run keep what they began with."""
    try:
        link = (folder or read_settings().runtime_dir).absolute()
        target = runtimes.make(link, python)
    except SettingsError as error:
        raise print_settings_error(error) from error
    except version_folder.InstallRefused as error:
        raise _refuse(str(error)) from error
    _print_versions(link, target)


def vscode(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder to install to; default: vscode in app_dir.", show_default=False
        ),
    ] = None,
) -> None:
    """Install VS Code for sessions, or renew it. Run it where the shared folder can be written to.
    It downloads from npm and PyPI; sessions that run keep what they began with."""
    try:
        link = (folder or _find_app_dir() / vscode_install.NAME).absolute()
        target = vscode_install.install(link)
    except SettingsError as error:
        raise print_settings_error(error) from error
    except version_folder.InstallRefused as error:
        raise _refuse(str(error)) from error
    _print_versions(link, target)


def _find_app_dir() -> Path:
    app_dir = read_settings().app_dir
    if app_dir is None:
        raise _refuse("app_dir is not set: set it, or name the folder to install to.")
    return app_dir


def _print_versions(link: Path, target: Path) -> None:
    typer.echo(f"{link} points to {target.name}.")
    for old in version_folder.older(link):
        typer.echo(f"Older version; remove it once no session uses it: {old}")


def system_files(
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the files below this folder instead of to this machine.", show_default=False
        ),
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Install the files. Requires root.")
    ] = False,
    portal_account: PortalAccount = DEFAULTS.portal,
    hub_account: HubAccount = DEFAULTS.hub,
    nginx_account: Annotated[str, typer.Option(help="Account that runs nginx.")] = DEFAULTS.nginx,
    listen: Annotated[
        str | None,
        typer.Option(
            help="host:port where nginx listens, if different from public_url.", show_default=False
        ),
    ] = None,
    listen_notebooks: Annotated[
        str | None, typer.Option(help="As above, for notebook_url.", show_default=False)
    ] = None,
    listen_tensorboards: Annotated[
        str | None, typer.Option(help="As above, for tensorboard_url.", show_default=False)
    ] = None,
) -> None:
    """Render systemd units, sudoers, the launcher, and the configuration of JupyterHub and nginx,
    all from the settings."""
    if (out is None) != install:
        raise typer.BadParameter("Specify either --out FOLDER or --install.")
    settings = load()
    accounts = system.ServiceAccounts(portal_account, hub_account, nginx_account)
    listeners = nginx_inputs.ListenOptions(listen, listen_notebooks, listen_tensorboards)
    installation = system.Installation(settings, _config_path(), accounts, listen=listeners)
    try:
        if install:
            system.make_folders(system.folders(installation))
        changed = system.write_files(system.files(installation), (out or Path("/")).absolute())
    except system.SystemFilesRefused as error:
        raise _refuse(str(error)) from error
    for path in changed:
        typer.echo(f"Wrote {path}.")
    if not changed:
        typer.echo("All files are up to date.")


def _config_path() -> Path:
    config = os.environ.get("PORTAL_CONFIG")
    if not config:
        raise _refuse("PORTAL_CONFIG is not set: set it to the path of the settings file.")
    return Path(config).absolute()


def _refuse(sentence: str) -> typer.Exit:
    typer.echo(sentence, err=True)
    return typer.Exit(REFUSED)
