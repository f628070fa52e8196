"""The steps of an upgrade, and the way back.

Each step may be repeated. Its name is recorded before it begins, so that the next run knows where a
kill happened. Once the database has been migrated, and from the switch on, a repeated run goes
forward; before that, it starts again with a new backup, because the old version may have served in
between.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from deploy import system, version_folder
from deploy.upgrade import (
    UpgradeIncomplete,
    UpgradeRefused,
    database,
    health,
    new_settings,
    services,
)
from deploy.upgrade.installed import CurrentInstallation
from deploy.upgrade.journal import Journal, JournalStore, UpgradeStep, read_file
from deploy.upgrade.plan import Plan
from portal.config.settings import Settings
from portal.db import sqlite_file

NGINX_UNIT_FILE = system.UNITS / services.NGINX_UNIT


class RolledBack(UpgradeRefused):
    """A step failed, and the old version runs again."""


class RollbackFailed(UpgradeIncomplete):
    """The rollback did not complete, and possibly no version runs; the next run continues it."""


@dataclass
class Upgrade:
    """An upgrade in progress."""

    plan: Plan
    store: JournalStore
    journal: Journal
    wait_s: float = health.WAIT_S

    @property
    def settings(self) -> Settings:
        return self.plan.settings

    @property
    def installed(self) -> CurrentInstallation:
        return self.plan.installed

    def finish(self) -> None:
        """Run the steps that are left. Raises RolledBack, RollbackFailed or UpgradeIncomplete."""
        if self.journal.step is UpgradeStep.ROLLBACK:
            raise self._roll_back()
        step = UpgradeStep.STOP
        try:
            services.stop()
            for step, run in self._list_steps(self._find_next_step()):
                self.journal = self.store.record(self.journal, step=step)
                run()
        except BaseException as error:
            raise self._roll_back(error, step) from error
        try:
            self._end()
        except OSError as error:
            raise UpgradeIncomplete(
                f"Version {self.journal.new_version} runs, but the record of the upgrade can't be "
                f"removed: {_explain(error)} Remove the cause, then run `portal upgrade` again."
            ) from error

    def _find_next_step(self) -> UpgradeStep:
        """Return where a run continues: all services are stopped now."""
        journal = self.journal
        if journal.step in {UpgradeStep.SWITCH, UpgradeStep.START, UpgradeStep.HEALTH}:
            return journal.step
        is_migrated = database.load_schema(self.settings).revision == journal.new_revision
        changes = journal.old_revision != journal.new_revision
        return UpgradeStep.MIGRATE if is_migrated and changes else UpgradeStep.BACKUP

    def _list_steps(self, first: UpgradeStep) -> list[tuple[UpgradeStep, Callable[[], None]]]:
        steps: dict[UpgradeStep, Callable[[], None]] = {
            UpgradeStep.BACKUP: self._back_up,
            UpgradeStep.MIGRATE: self._migrate,
            UpgradeStep.SWITCH: self._switch,
            UpgradeStep.START: self._start,
            UpgradeStep.HEALTH: self._wait_until_healthy,
        }
        if first is UpgradeStep.HEALTH:
            first = UpgradeStep.START  # the services were stopped
        names = list(steps)
        return [(name, steps[name]) for name in names[names.index(first) :]]

    # --- forward

    def _back_up(self) -> None:
        file = database.name_backup(self.plan.backup_dir, "before-upgrade")
        _report(f"Backing up to {file}.")
        database.back_up(self.settings, self.journal.config, file)
        self.journal = self.store.record(self.journal, backup=file)

    def _migrate(self) -> None:
        before, after = self.journal.old_revision, self.journal.new_revision
        _report(f"Migrating the database from {before} to {after}.")
        database.migrate(self.settings)

    def _switch(self) -> None:
        _report(f"Switching from {self.journal.old} to {self.journal.new}.")
        system.make_folders(
            [
                (self.installed.below_root(path), owner, mode)
                for path, owner, mode in system.folders(self.plan.new_installation)
            ]
        )
        system.write_files(system.files(self.plan.new_installation), self.installed.root)
        if self.journal.has_settings:
            new_settings.put(self.journal.config, self.store.folder)
        # A boot after the links have changed starts the new version, whatever this run does then.
        self.journal = self.store.record(self.journal, served=True)
        for change in self.journal.links:
            _point(change.link, change.after)
        services.reload_units()

    def _start(self) -> None:
        _report("Starting the portal and JupyterHub.")
        services.start(restart_nginx=self._is_nginx_unit_changed())

    def _wait_until_healthy(self) -> None:
        _report(f"Checking health at {self.settings.public_url}.")
        health.wait_until_healthy(self.settings, self.wait_s)

    def _is_nginx_unit_changed(self) -> bool:
        current = read_file(self.installed.below_root(NGINX_UNIT_FILE))
        return current != self.store.load_former().get(NGINX_UNIT_FILE)

    # --- back

    def _roll_back(
        self, cause: BaseException | None = None, step: UpgradeStep = UpgradeStep.STOP
    ) -> RolledBack:
        """Return to the old version, whatever was done so far; return the error to raise.

        Without a cause, the rollback itself was interrupted. Raises RollbackFailed.
        """
        if cause is not None:
            _report(f"FAILED: {_explain(cause)}")
        _report(f"Rolling back to version {self.journal.old_version} in {self.journal.old}.")
        try:
            database_note = self._undo()
        except BaseException as error:
            raise RollbackFailed(
                f"The rollback failed: {_explain(error)} Remove the cause, then run `portal "
                "upgrade` again, which continues the rollback."
            ) from error
        where = f" in the step “{step}”" if cause is not None else ""
        return RolledBack(
            f"The upgrade failed{where}, and version {self.journal.old_version} runs again."
            f"{database_note}"
        )

    def _undo(self) -> str:
        """Undo all steps; return a sentence about the database."""
        is_resumed = self.journal.step is UpgradeStep.ROLLBACK
        self._record_rollback(step=UpgradeStep.ROLLBACK)
        journal = self.journal
        services.stop()
        # Before the database: a boot in between starts the old version, which refuses the newer
        # database, and not the new version, which would migrate the restored one.
        written = system.write_files(self.store.load_former(), self.installed.root)
        for path in journal.created:
            self.installed.below_root(path).unlink(missing_ok=True)
        if journal.has_settings:
            new_settings.put_back(journal.config, self.store.folder)
        for change in journal.links:
            _point(change.link, change.before)
        services.reload_units()
        database_note = self._restore_database()
        # A rollback that was interrupted may have written nginx's unit, and not restarted nginx.
        services.start(restart_nginx=is_resumed or NGINX_UNIT_FILE in written)
        health.wait_until_healthy(self.settings, self.wait_s)
        self._end()
        return database_note

    def _record_rollback(self, **changes: Any) -> None:
        """Record how far the rollback is, unless the disk is full.

        If the record is missing and the rollback is killed, the next run starts from the step that
        failed, or its message does not name the backup made before the rollback.
        """
        self.journal = self.journal.model_copy(update=changes)
        try:
            self.journal = self.store.record(self.journal)
        except OSError as error:
            _report(f"{self.store.file} can't be written: {error.strerror}.")

    def _end(self) -> None:
        self.store.remove()
        new_settings.forget(self.journal.config, self.store.folder)

    def _restore_database(self) -> str:
        """Restore the backup if a migration was applied.

        What the new version wrote is kept: by the restore itself for SQLite, and in a backup for
        PostgreSQL.
        """
        if database.load_schema(self.settings).revision == self.journal.old_revision:
            return self._describe_restore() if self.journal.restoring else ""
        backup = self.journal.backup
        if backup is None:
            raise UpgradeRefused(
                "The database was changed before the backup: restore an earlier backup."
            )
        is_file = sqlite_file(self.settings.database) is not None
        if self.journal.served and not is_file and self.journal.kept is None:
            file = database.name_backup(self.plan.backup_dir, "before-rollback")
            database.back_up(self.settings, self.journal.config, file)
            self._record_rollback(kept=file)
        _report(f"Restoring {backup}.")
        self._record_rollback(restoring=True)
        database.restore(self.settings, self.journal.config, backup, self.journal.old)
        return self._describe_restore()

    def _describe_restore(self) -> str:
        journal, kept = self.journal, ""
        if journal.kept is not None:
            kept = f" What the new version wrote is in {journal.kept}."
        elif journal.served:
            kept = " What the new version wrote is beside the database, as ….before-restore-…."
        return (
            f" The database was restored from {journal.backup}; all users must log in again.{kept}"
        )


def _point(link: Path, to: str | None) -> None:
    """Point a link somewhere, or remove it. A link that is right needs no writable folder."""
    current = str(link.readlink()) if link.is_symlink() else None
    if to is None:
        link.unlink(missing_ok=True)
    elif current != to:
        version_folder.point(link, to)


def _explain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error) or type(error).__name__


def _report(line: str) -> None:
    """Print a line. A reader that is gone (`portal upgrade … | tee log`) must not stop a
    rollback.
    """
    with contextlib.suppress(OSError):
        typer.echo(line)
