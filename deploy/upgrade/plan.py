"""What an upgrade will change: the new version's files and links on the current installation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from deploy import runtime, system
from deploy.nginx_inputs import ListenOptions
from deploy.upgrade import UpgradeRefused, database
from deploy.upgrade.installed import COMMAND_LINK, CurrentInstallation
from deploy.upgrade.journal import Journal, JournalStore, LinkChange
from portal import __version__
from portal.backup import revisions
from portal.config.settings import Settings


@dataclass(frozen=True)
class Plan:
    """`new_installation` is the one of the new version, `new` its virtualenv."""

    installed: CurrentInstallation
    new_installation: system.Installation
    new: Path

    @property
    def settings(self) -> Settings:
        return self.new_installation.settings

    @property
    def backup_dir(self) -> Path:
        return self.installed.below_root(self.new_installation.backup_dir)


def build_plan(
    installed: CurrentInstallation, settings: Settings, listen: ListenOptions, new: Path
) -> Plan:
    """Return the plan. The units run the virtualenv by a link beside it. Raises UpgradeRefused."""
    link = new.with_name(system.APP_LINK)
    if link.exists() and not link.is_symlink():
        raise UpgradeRefused(
            f"{link} has to be a link to the version in use: move the folder there away."
        )
    new_installation = system.Installation(
        settings, installed.config, installed.accounts, prefix=link, listen=listen
    )
    return Plan(installed, new_installation, new)


def begin(plan: Plan, store: JournalStore, *, has_settings: bool = False) -> Journal:
    """Create the nodes' runtime, keep the current files, and record that the upgrade begins.

    `has_settings`: whether the upgrade also replaces the settings file (new_settings.py).
    """
    link = plan.settings.runtime_dir
    typer.echo(f"Creating the nodes' runtime beside {link}.")
    made = runtime.prepare(link, runtime.find_python(link))
    installed, new_installation = plan.installed, plan.new_installation
    journal = Journal(
        old=installed.prefix,
        old_version=installed.version,
        old_revision=database.check_usable(plan.settings),
        new=plan.new,
        new_version=__version__,
        new_revision=revisions.head(),
        config=installed.config,
        accounts=installed.accounts,
        listen=new_installation.listen,
        links=(
            _change_link(new_installation.prefix, str(plan.new)),
            *_change_command(installed, new_installation.prefix),
            _change_link(link, made.name),
        ),
        created=store.keep_former(system.files(new_installation), installed.root),
        has_settings=has_settings,
    )
    return store.record(journal)


def _change_link(link: Path, after: str) -> LinkChange:
    before = str(link.readlink()) if link.is_symlink() else None
    return LinkChange(link=link, before=before, after=after)


def _change_command(installed: CurrentInstallation, prefix: Path) -> tuple[LinkChange, ...]:
    """Return the change of /usr/local/bin/portal, if it is a link to the version in use."""
    link, program = installed.below_root(COMMAND_LINK), installed.prefix / "bin/portal"
    if not link.is_symlink() or link.resolve() != program.resolve():
        return ()
    return (_change_link(link, str(prefix / "bin/portal")),)
