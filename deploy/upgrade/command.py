"""`portal upgrade`: the command line of an upgrade.

The version in use only installs the wheel into a new virtualenv, and hands over to the command in
it. The new version knows which steps lead to it, and runs all of them.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from deploy import runtime, system, version_folder
from deploy.nginx_inputs import ListenOptions
from deploy.upgrade import UpgradeIncomplete, UpgradeRefused, new_settings, precheck, release
from deploy.upgrade.installed import CurrentInstallation, find_installed
from deploy.upgrade.journal import FOLDER, Journal, JournalStore
from deploy.upgrade.plan import Plan, begin, build_plan
from deploy.upgrade.steps import RolledBack, Upgrade
from deploy.version_folder import InstallRefused
from portal import __version__
from portal.backup.archive import BackupError
from portal.backup.owner import as_owner_of
from portal.cli.check_results import format_result
from portal.cli.context import REFUSED, print_settings_error
from portal.config.settings import Settings, SettingsError, load_settings, read_settings
from portal.startup import StartRefused

ROLLED_BACK, INCOMPLETE = 3, 4
CONFIG = "PORTAL_CONFIG"
CONTINUE = (
    "The interrupted upgrade can't be continued, and the portal may be stopped. Remove the cause, "
    "then run `portal upgrade` again."
)
REFUSALS = (
    *(UpgradeRefused, InstallRefused, system.SystemFilesRefused, BackupError, StartRefused),
    OSError,
)


Wheel = Annotated[
    Path | None,
    typer.Argument(
        help="The new version's wheel, with requirements.lock beside it. Default: the version of "
        "this command, in a virtualenv beside the one in use.",
        show_default=False,
    ),
]
Check = Annotated[bool, typer.Option("--check", help="Only check whether an upgrade is possible.")]
NewSettings = Annotated[
    Path | None,
    typer.Option(
        help="Settings for the new version, which replace the current ones.", show_default=False
    ),
]
Python = Annotated[str, typer.Option(help="Python of the new virtualenv.")]
Address = Annotated[
    str | None, typer.Option(help="As for `portal system-files`.", show_default=False)
]


def upgrade(
    wheel: Wheel = None,
    check: Check = False,
    settings: NewSettings = None,
    python: Python = runtime.PYTHON,
    listen: Address = None,
    listen_notebooks: Address = None,
    listen_tensorboards: Address = None,
) -> None:
    """Upgrade this installation to the version of a wheel. If a step fails, go back to the version
    in use. After an interruption, run the command again. Needs root.

    Exits with 0 if the new version runs, 1 if nothing was changed, 2 for invalid settings, 3 after
    a rollback, and 4 if the rollback failed or an interrupted upgrade can't be continued.
    """
    os.umask(0o022)  # folders of the package are for all accounts
    listeners = ListenOptions(listen, listen_notebooks, listen_tensorboards)
    own = Path(sys.prefix).resolve()
    store = JournalStore(FOLDER)
    try:
        target = _upgrade_or_install(wheel, own, store, settings, listeners, python, check=check)
        if target is not None:
            _hand_over(target, _repeat_options(settings, listeners, check=check))
    except SettingsError as error:
        raise print_settings_error(error) from error
    except UpgradeIncomplete as error:
        raise _refuse(error, INCOMPLETE) from error
    except RolledBack as error:
        raise _refuse(error, ROLLED_BACK) from error
    except REFUSALS as error:
        raise _refuse(error, REFUSED) from error


def _upgrade_or_install(
    wheel: Path | None,
    own: Path,
    store: JournalStore,
    settings: Path | None,
    listeners: ListenOptions,
    python: str,
    *,
    check: bool,
) -> Path | None:
    """Upgrade to this version, or return the virtualenv of the one that has to continue."""
    with store.lock():
        journal = store.read()
        if journal is not None:
            _resume(journal, own, store, check=check)
            return None
        installed = find_installed()
        target = own if wheel is None else _install(wheel, installed, python)
        if target == installed.prefix:
            _report_installed(installed, wheel)
            return None
        if target != own:
            return target
        _run(installed, store, settings, listeners, check=check)
        return None


def _repeat_options(settings: Path | None, listeners: ListenOptions, *, check: bool) -> list[str]:
    names = ("--listen", "--listen-notebooks", "--listen-tensorboards")
    values = {"--settings": settings and str(settings.absolute())}
    values |= dict(zip(names, listeners, strict=True))
    options = [word for name, value in values.items() if value for word in (name, value)]
    return ["--check", *options] if check else options


def _install(wheel: Path, installed: CurrentInstallation, python: str) -> Path:
    """Return the virtualenv of the wheel, which is created beside the one in use."""
    new = release.read_release(wheel.absolute())
    link = installed.prefix.with_name(system.APP_LINK)
    target = release.locate(link, new)
    if not version_folder.is_complete(target):
        problem = precheck.explain_missing_space(
            [(link.parent, precheck.measure_folder(installed.prefix))]
        )
        if problem:
            raise UpgradeRefused(f"{problem} Free that space first.")
        typer.echo(f"Installing version {new.version} into {target}.")
        release.install(link, new, python)
    return target.resolve()


def _report_installed(installed: CurrentInstallation, wheel: Path | None) -> None:
    if wheel is None:
        raise UpgradeRefused("Name the wheel of the new version: portal upgrade WHEEL")
    typer.echo(f"Version {installed.version} of this wheel is already in use.")


def _hand_over(target: Path, words: list[str]) -> None:
    """Replace this process by the new version's command."""
    command = [str(target / "bin/python"), "-I", "-m", "portal", "upgrade", *words]
    sys.stdout.flush()
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is intended
    except OSError as error:
        raise UpgradeRefused(f"{shlex.join(command)} can't be run: {error.strerror}.") from error


def _resume(journal: Journal, own: Path, store: JournalStore, *, check: bool) -> None:
    """Finish an interrupted upgrade, or its rollback, with the version that began it."""
    if check:
        raise UpgradeRefused(
            f"An upgrade to version {journal.new_version} was interrupted. Run `portal upgrade` to "
            "finish it."
        )
    try:
        if journal.new != own:
            _hand_over(journal.new, [])
        typer.echo(
            f"An upgrade to version {journal.new_version} was interrupted in the step "
            f"“{journal.step}”."
        )
        plan = _build_plan_again(journal)
    except SettingsError as error:
        print_settings_error(error)
        raise UpgradeIncomplete(CONTINUE) from error
    except REFUSALS as error:
        raise UpgradeIncomplete(f"{error} {CONTINUE}") from error
    _finish(Upgrade(plan, store, journal))


def _build_plan_again(journal: Journal) -> Plan:
    """Return the plan of an interrupted upgrade. Raises SettingsError, and REFUSALS."""
    staged = new_settings.locate_staged(journal.config)
    settings = _load_settings(staged if journal.has_settings else journal.config)
    installed = CurrentInstallation(journal.old, journal.config, journal.accounts)
    return build_plan(installed, settings, journal.listen, journal.new)


def _run(
    installed: CurrentInstallation,
    store: JournalStore,
    new: Path | None,
    listen: ListenOptions,
    *,
    check: bool,
) -> None:
    """Check everything, then upgrade to this version."""
    own, config = Path(sys.prefix).resolve(), installed.config
    try:
        if new is not None:
            new_settings.stage(new, config, store.folder)
        settings = _load_settings(new_settings.locate_staged(config) if new else config)
        typer.echo("ok      settings for the new version")
        plan = build_plan(installed, settings, listen, own)
        _require_checks(plan)
        journal = None if check else begin(plan, store, has_settings=new is not None)
    except BaseException:
        new_settings.forget(config, store.folder)
        raise
    if journal is None:
        new_settings.forget(config, store.folder)
        typer.echo(f"The upgrade from {installed.version} to {__version__} is possible.")
        return
    _finish(Upgrade(plan, store, journal))


def _require_checks(plan: Plan) -> None:
    failed = False
    for result in precheck.run_prechecks(plan):
        typer.echo(format_result(result))
        failed = failed or result.problem is not None
    if failed:
        raise UpgradeRefused("Nothing was changed. Fix what failed, then run this again.")


def _finish(upgrade: Upgrade) -> None:
    upgrade.finish()
    journal = upgrade.journal
    typer.echo(f"Version {journal.new_version} runs, from {journal.new}.")
    if journal.backup:
        typer.echo(f"The backup from before is {journal.backup}, of schema {journal.old_revision}.")
    typer.echo(
        f"The previous version is still in {journal.old}. To check a node: portal check --as NAME"
    )


def _load_settings(config: Path) -> Settings:
    """Load the settings as the portal's account does. Raises SettingsError, BackupError."""
    os.environ[CONFIG] = str(config)
    with as_owner_of(read_settings().state_dir):
        return load_settings()


def _refuse(error: Exception, status: int) -> typer.Exit:
    typer.echo(str(error), err=True)
    return typer.Exit(status)
