"""The command: what it installs, to which version it hands over, and its exit statuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deploy.system import ServiceAccounts
from deploy.upgrade import command
from deploy.upgrade.installed import CurrentInstallation
from deploy.upgrade.journal import JournalStore, UpgradeStep
from deploy.upgrade.release import locate, read_release
from deploy.upgrade.steps import RollbackFailed, RolledBack
from portal.__main__ import app
from portal.backup.archive import BackupError
from portal.config.settings import SettingsError
from tests.unit.deploy.upgrade.test_journal import make_journal
from tests.unit.deploy.upgrade.test_release import make_wheel


class HandedOver(BaseException):
    """The process became the other version's command."""


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Play an installation, and return the virtualenv in use."""
    prefix = tmp_path / "opt/portal-app-1"
    prefix.mkdir(parents=True)
    config = tmp_path / "portal.toml"
    found = CurrentInstallation(prefix, config, ServiceAccounts(), tmp_path)
    monkeypatch.setattr(command, "FOLDER", tmp_path / "store")
    monkeypatch.setattr(command, "find_installed", lambda: found)
    return prefix


@pytest.fixture
def store(prefix: Path, tmp_path: Path) -> JournalStore:
    found = JournalStore(tmp_path / "store")
    with found.lock():
        return found


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["upgrade", *words])
    return done.exit_code, done.output


def find_next(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return the command that the process becomes."""
    commands = []

    def become(_program: str, argv: list[str]) -> None:
        commands.append(argv)
        raise HandedOver

    monkeypatch.setattr("os.execv", become)
    with pytest.raises(HandedOver):
        CliRunner().invoke(app, ["upgrade", *words], catch_exceptions=False)
    (found,) = commands
    return found


def test_the_new_version_gets_the_options(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path)
    target = locate(prefix.with_name("portal-app"), read_release(wheel))
    target.mkdir()
    (target / ".complete").touch()
    options = ["--check", "--settings", str(tmp_path / "new.toml"), "--listen", "127.0.0.1:80"]
    found = find_next(monkeypatch, str(wheel), *options)
    assert found == [f"{target}/bin/python", "-I", "-m", "portal", "upgrade", *options]


def test_an_interrupted_upgrade_is_left_to_the_version_that_began_it(
    store: JournalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.record(make_journal(step=UpgradeStep.MIGRATE))
    code, output = run("--check")
    assert (code, "was interrupted. Run `portal upgrade`" in output) == (1, True)
    found = find_next(monkeypatch, str(make_wheel(tmp_path)))
    assert found == ["/opt/portal-app-2/bin/python", "-I", "-m", "portal", "upgrade"]


def test_a_new_version_that_is_missing_is_reported(store: JournalStore) -> None:
    store.record(make_journal(new=Path("/nowhere")))
    code, output = run()
    assert code == 4
    assert "/nowhere/bin/python -I -m portal upgrade can't be run" in output


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SettingsError([("public_url", "is missing")]), "public_url: is missing"),
        (BackupError("The state folder is gone."), "The state folder is gone."),
        (OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_an_interrupted_upgrade_that_cannot_be_continued_is_incomplete(
    store: JournalStore, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    """The portal may be stopped, so this is not the status of a refusal that changed nothing."""
    store.record(make_journal(new=Path(sys.prefix).resolve(), step=UpgradeStep.MIGRATE))

    def fail(_config: Path) -> None:
        raise error

    monkeypatch.setattr(command, "_load_settings", fail)
    code, output = run()
    assert code == 4
    assert "was interrupted in the step “migrate”" in output
    assert reason in output
    assert "then run `portal upgrade` again" in output


def test_a_journal_that_cannot_be_read_is_incomplete(store: JournalStore) -> None:
    store.file.write_text("{}")
    code, output = run()
    assert (code, "can't be read by this version" in output) == (4, True)


def test_the_version_in_use_needs_a_wheel(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(prefix))
    assert run() == (1, "Name the wheel of the new version: portal upgrade WHEEL\n")


def test_a_disk_without_space_for_a_virtualenv_is_found_before_it_is_made(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.upgrade.precheck.SPARE_BYTES", 2**60)
    code, output = run(str(make_wheel(tmp_path)))
    assert code == 1
    assert "Free that space first." in output
    assert list(prefix.parent.iterdir()) == [prefix]


@pytest.mark.parametrize(
    ("error", "status"), [(RolledBack("x"), 3), (RollbackFailed("x"), 4), (OSError(28, "x"), 1)]
)
def test_each_outcome_has_its_exit_status(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(command, "_run", fail)
    assert run()[0] == status
