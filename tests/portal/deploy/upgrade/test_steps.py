"""Upgrades with rows in every table: to the new version, back after a failure of each step, and
after a kill in each step.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deploy.upgrade import UpgradeIncomplete, new_settings
from deploy.upgrade.journal import Journal, JournalStore, UpgradeStep
from deploy.upgrade.steps import RollbackFailed, RolledBack, Upgrade
from portal.backup import revisions
from portal.db import sqlite_file, upgrade
from tests.portal.deploy.upgrade.machine import NEW_REVISION, Machine, played_machine
from tests.portal.migrations.rows import Rows, add_rows, connected, reflect

OLD = revisions.head()
# `portal restore` ends all logins
ENDED = frozenset({"web_sessions", "half_logins", "content_codes", "content_logins"})
UNITS = "portal.socket portal.service portal-hub.service"
TIMER_STARTED = ["is-enabled portal-backup.timer", "start portal-backup.timer"]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a database of the older schema with rows in every table."""
    file = tmp_path_factory.mktemp("older") / "portal.db"
    fill(f"sqlite+aiosqlite:///{file}")
    return file


def fill(url: str) -> None:
    upgrade(url, OLD)
    with connected(url) as connection:
        add_rows(connection, reflect(connection), 1, OLD)


@pytest.fixture
def machine(tmp_path: Path, older: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with played_machine(tmp_path, monkeypatch) as found:
        file = sqlite_file(found.settings.database)
        assert file is not None
        file.touch(mode=0o600)
        shutil.copyfile(older, file)
        yield found


def check_old(
    machine: Machine,
    rows: Rows,
    files: dict[str, bytes],
    *,
    restored: bool,
    front: str = "reload-or-restart",
) -> None:
    """Check that everything is as it was before the upgrade; `front`: how nginx reads it."""
    revision, found = machine.rows()
    assert revision == OLD
    if restored:
        assert all(found.pop(table) == {} for table in ENDED)
        rows = {table: there for table, there in rows.items() if table not in ENDED}
    assert found == rows
    assert machine.files() == files
    assert machine.current == machine.old
    assert machine.command == machine.old / "bin/portal"
    assert machine.settings.runtime_dir.readlink().name == "runtime-before"
    assert not (machine.root / "opt/portal-app").exists()
    started = [f"start {UNITS}", f"{front} portal-nginx.service", *TIMER_STARTED]
    assert machine.calls[-4:] == started
    assert machine.store.read() is None


def check_new(machine: Machine, rows: Rows) -> None:
    """Check that the new version runs with all rows."""
    revision, found = machine.rows()
    assert revision == NEW_REVISION
    assert found.keys() >= rows.keys()
    for table, before in rows.items():
        assert found[table].keys() >= before.keys()
        for key, row in before.items():
            assert {name: found[table][key][name] for name in row} == row
    assert machine.current == machine.new
    assert machine.command == machine.new / "bin/portal"
    assert (machine.root / "opt/portal-app").readlink() == machine.new
    assert machine.settings.runtime_dir.readlink().name != "runtime-before"
    started = [f"start {UNITS}", "reload-or-restart portal-nginx.service", *TIMER_STARTED]
    assert machine.calls[-4:] == started
    assert machine.store.read() is None


def list_backups(machine: Machine) -> list[str]:
    return sorted(path.name for path in (machine.root / "var/backups/portal").iterdir())


def test_an_upgrade_keeps_every_row_and_leaves_a_backup(machine: Machine) -> None:
    _, rows = machine.rows()
    machine.begin().finish()
    check_new(machine, rows)
    (backup,) = list_backups(machine)
    assert backup.startswith("before-upgrade-")
    assert machine.calls[0] == f"stop portal-backup.* {UNITS}"
    assert "daemon-reload" in machine.calls


def test_a_backup_timer_that_is_not_enabled_stays_stopped(machine: Machine) -> None:
    machine.fail_on("is-enabled")
    machine.begin().finish()
    assert machine.calls[-1] == "is-enabled portal-backup.timer"


def fail_stop(machine: Machine, _monkeypatch: pytest.MonkeyPatch) -> None:
    """The services stop at the second attempt."""
    folder = machine.root / "systemctl"
    (folder / "systemctl").write_text(
        (folder / "systemctl")
        .read_text()
        .replace(
            "exit 1",
            f"grep -v stop {folder}/fails > {folder}/x; mv {folder}/x {folder}/fails; exit 1",
        )
    )
    machine.fail_on("stop")


def fail_backup(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full while the backup is written."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "/backups/x")

    monkeypatch.setattr("portal.backup.create.write", full)


def fail_migration(machine: Machine, _monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the migration exists already."""
    with connected(machine.settings.database) as connection:
        connection.execute(sa.text("CREATE TABLE instruments (name VARCHAR PRIMARY KEY)"))


def fail_switch(machine: Machine, _monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is in the place of a link, which is the last of what is switched."""
    link = machine.settings.runtime_dir
    (link.parent / ".runtime.new").mkdir()


def fail_start(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new version's services don't start."""
    monkeypatch.setattr("deploy.upgrade.steps.services.start", start_old_only(machine))


def start_old_only(machine: Machine) -> Callable[..., None]:
    from deploy.upgrade import services

    start = services.start

    def run(**options: Any) -> None:
        machine.fail_on(*(["start"] if machine.current == machine.new else []))
        start(**options)

    return run


def fail_health(machine: Machine, _monkeypatch: pytest.MonkeyPatch) -> None:
    """The new version starts, and doesn't answer."""
    machine.broken.add(machine.new.name)


FAILURES = {
    UpgradeStep.STOP: (fail_stop, "systemctl stop"),
    UpgradeStep.BACKUP: (fail_backup, "No space left on device"),
    UpgradeStep.MIGRATE: (fail_migration, "instruments already exists"),
    UpgradeStep.SWITCH: (fail_switch, "runtime.new"),
    UpgradeStep.START: (fail_start, "systemctl start"),
    UpgradeStep.HEALTH: (fail_health, "the portal behind it doesn't"),
}


@pytest.mark.parametrize("step", FAILURES)
def test_a_step_that_fails_is_rolled_back(
    machine: Machine,
    step: UpgradeStep,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fail, reason = FAILURES[step]
    fail(machine, monkeypatch)
    _, rows = machine.rows()
    files = machine.files()
    with pytest.raises(RolledBack) as error:
        machine.begin().finish()
    assert f"failed in the step “{step}”" in str(error.value)
    assert "version 0.0.9 runs again" in str(error.value)
    assert reason in capsys.readouterr().out
    check_old(
        machine,
        rows,
        files,
        restored=step in {UpgradeStep.SWITCH, UpgradeStep.START, UpgradeStep.HEALTH},
    )


class Killed(BaseException):
    """The end of a process by SIGKILL: nothing is rolled back. tests/install kills a real one."""


def run_until_killed(machine: Machine, at: int) -> None:
    """Run an upgrade that ends after it has written its journal `at` times."""
    upgrade = machine.begin()
    record, left = JournalStore.record, iter(range(at - 1, -1, -1))

    def die(*words: Any, **options: Any) -> Journal:
        found = record(*words, **options)
        if next(left) == 0:
            raise Killed
        return found

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
        patched.setattr(JournalStore, "record", die)
        patched.setattr(Upgrade, "_roll_back", lambda _self, cause, _step: cause)
        upgrade.finish()


@pytest.mark.parametrize(
    ("at", "step"),
    [
        (1, UpgradeStep.BACKUP),
        (3, UpgradeStep.MIGRATE),
        (4, UpgradeStep.SWITCH),
        (5, UpgradeStep.SWITCH),
        (6, UpgradeStep.START),
        (7, UpgradeStep.HEALTH),
    ],
)
def test_a_killed_upgrade_is_finished_by_the_next_run(
    machine: Machine, at: int, step: UpgradeStep
) -> None:
    _, rows = machine.rows()
    run_until_killed(machine, at)
    resumed = machine.resume()
    assert resumed.journal.step == step
    resumed.finish()
    check_new(machine, rows)


def test_what_the_old_version_wrote_after_a_kill_is_kept(machine: Machine) -> None:
    """A boot after the kill starts the old version, so the first backup has become too old."""
    run_until_killed(machine, 3)
    with connected(machine.settings.database) as connection:
        connection.execute(sa.text("INSERT INTO marks VALUES ('later', '2026-01-01 00:00:00')"))
    machine.broken.add(machine.new.name)
    with pytest.raises(RolledBack):
        machine.resume().finish()
    revision, rows = machine.rows()
    assert (revision, ("later",) in rows["marks"]) == (OLD, True)


def test_a_rollback_that_fails_is_continued_by_the_next_run(machine: Machine) -> None:
    _, rows = machine.rows()
    files = machine.files()
    machine.broken.update({machine.new.name, machine.old.name})
    with pytest.raises(RollbackFailed, match="which continues the rollback"):
        machine.begin().finish()
    resumed = machine.resume()
    assert resumed.journal.step is UpgradeStep.ROLLBACK
    machine.broken.clear()
    with pytest.raises(RolledBack, match="runs again") as error:
        resumed.finish()
    assert "restored from" in str(error.value)
    assert list_backups(machine)[0] in str(error.value)
    check_old(machine, rows, files, restored=True, front="restart")


def test_an_interrupted_rollback_leaves_the_former_nginx_running(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit is back already when the rollback is continued, and nginx runs as the new one."""
    unit = machine.root / "etc/systemd/system/portal-nginx.service"
    former = unit.read_text() + "# of the version before\n"
    unit.write_text(former)
    _, rows = machine.rows()
    files = machine.files()
    machine.broken.add(machine.new.name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Upgrade, "_restore_database", lambda _self: kill())
        with pytest.raises(RollbackFailed):
            machine.begin().finish()
    assert "restart portal-nginx.service" in machine.calls
    assert (unit.read_text(), machine.current) == (former, machine.old)
    with pytest.raises(RolledBack):
        machine.resume().finish()
    check_old(machine, rows, files, restored=True, front="restart")


def test_without_a_migration_nothing_is_restored(machine: Machine) -> None:
    """What was written while the new version served stays, too."""
    upgrade(machine.settings.database)
    _, rows = machine.rows()
    machine.broken.add(machine.new.name)
    with pytest.raises(RolledBack) as error:
        machine.begin().finish()
    assert "restored" not in str(error.value)
    assert machine.rows() == (NEW_REVISION, rows)


def test_a_full_disk_does_not_keep_the_old_version_from_starting(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The journal can't be written either."""
    _, rows = machine.rows()
    files = machine.files()
    upgrade: Upgrade = machine.begin()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(JournalStore, "record", full)
    with pytest.raises(RolledBack):
        upgrade.finish()
    assert "journal.json can't be written: No space left on device." in capsys.readouterr().out
    check_old(machine, rows, files, restored=False)


def test_a_journal_that_stays_after_the_upgrade_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_store: JournalStore) -> None:
        raise OSError(5, "Input/output error", "journal.json")

    with (
        monkeypatch.context() as patched,
        pytest.raises(UpgradeIncomplete, match=r"0\.1\.0 runs, but"),
    ):
        patched.setattr(JournalStore, "remove", fail)
        machine.begin().finish()
    _, rows = machine.rows()
    machine.resume().finish()
    check_new(machine, rows)


def test_new_settings_replace_the_present_ones_at_the_switch(machine: Machine) -> None:
    before = machine.config.read_text()
    changed = machine.root / "new.toml"
    changed.write_text(f'{before}\nnotice = "new"\n')
    machine.config.chmod(0o640)
    new_settings.stage(changed, machine.config, machine.store.folder)
    machine.begin(has_settings=True).finish()
    assert machine.config.read_text() == changed.read_text()
    assert machine.config.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in machine.config.parent.glob("*portal.toml*")] == ["portal.toml"]


def test_a_rollback_restores_the_former_settings(machine: Machine) -> None:
    before = machine.config.read_text()
    changed = machine.root / "new.toml"
    changed.write_text(f'{before}\nnotice = "new"\n')
    new_settings.stage(changed, machine.config, machine.store.folder)
    machine.broken.add(machine.new.name)
    with pytest.raises(RolledBack):
        machine.begin(has_settings=True).finish()
    assert machine.config.read_text() == before
    assert [path.name for path in machine.config.parent.glob("*portal.toml*")] == ["portal.toml"]


def test_what_was_written_after_a_boot_in_the_switch_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    """After a loss of power the boot starts the new version, and no step of the upgrade has."""
    fill(postgresql_url)
    with played_machine(tmp_path, monkeypatch, database_url=postgresql_url) as machine:
        upgrade = machine.begin()
        with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
            patched.setattr("deploy.upgrade.steps.services.reload_units", kill)
            patched.setattr(Upgrade, "_roll_back", lambda _self, cause, _step: cause)
            upgrade.finish()
        assert machine.current == machine.new
        fail_stop(machine, monkeypatch)
        with pytest.raises(RolledBack, match="What the new version wrote is in"):
            machine.resume().finish()
        assert list_backups(machine)[0].startswith("before-rollback-")


def kill() -> None:
    raise Killed


def test_what_the_new_version_wrote_to_postgresql_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    fill(postgresql_url)
    with played_machine(tmp_path, monkeypatch, database_url=postgresql_url) as machine:
        files = machine.files()
        _, rows = machine.rows()
        machine.broken.add(machine.new.name)
        with pytest.raises(RolledBack, match="What the new version wrote is in") as error:
            machine.begin().finish()
        check_old(machine, rows, files, restored=True)
        before_rollback, before_upgrade = list_backups(machine)
        assert before_rollback in str(error.value)
        assert before_rollback.startswith("before-rollback-")
        assert before_upgrade.startswith("before-upgrade-")


def test_a_continued_rollback_keeps_one_backup_of_the_new_versions_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    fill(postgresql_url)
    with played_machine(tmp_path, monkeypatch, database_url=postgresql_url) as machine:
        machine.broken.update({machine.new.name, machine.old.name})
        with pytest.raises(RollbackFailed):
            machine.begin().finish()
        machine.broken.clear()
        with pytest.raises(RolledBack) as error:
            machine.resume().finish()
        kept, backup = list_backups(machine)
        assert kept in str(error.value)
        assert backup in str(error.value)
