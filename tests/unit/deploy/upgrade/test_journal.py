"""The record of an upgrade in progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.system import File, ServiceAccounts
from deploy.upgrade import UpgradeRefused
from deploy.upgrade.journal import Journal, JournalStore, LinkChange, UpgradeStep


def make_journal(**changes: Any) -> Journal:
    values: dict[str, Any] = {
        "old": Path("/opt/portal-app-1"),
        "old_version": "0.1.0",
        "old_revision": "0001",
        "new": Path("/opt/portal-app-2"),
        "new_version": "0.2.0",
        "new_revision": "0002",
        "config": Path("/etc/portal/portal.toml"),
        "accounts": ServiceAccounts(),
        "links": (LinkChange(link=Path("/opt/portal-app"), before=None, after="x"),),
        **changes,
    }
    return Journal(**values)


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    found = JournalStore(tmp_path / "store")
    with found.lock():
        return found


def test_a_record_is_read_again(store: JournalStore) -> None:
    assert store.read() is None
    journal = store.record(make_journal(), step=UpgradeStep.SWITCH, backup=Path("/b"))
    assert store.read() == journal == make_journal(step=UpgradeStep.SWITCH, backup=Path("/b"))
    assert store.folder.stat().st_mode & 0o777 == 0o700


def test_former_files_come_back_with_their_modes(store: JournalStore, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/one").write_bytes(b"former")
    (root / "etc/one").chmod(0o750)
    new = {Path("/etc/one"): File(b"new"), Path("/etc/two"): File(b"new")}
    assert store.keep_former(new, root) == (Path("/etc/two"),)
    assert store.load_former() == {Path("/etc/one"): File(b"former", 0o750)}
    assert store.keep_former({}, root) == ()
    assert store.load_former() == {}


def test_only_one_upgrade_runs(store: JournalStore) -> None:
    with store.lock(), pytest.raises(UpgradeRefused, match="Another"), store.lock():
        pass
    with store.lock():
        pass


def test_a_journal_of_another_version_is_refused(store: JournalStore) -> None:
    store.file.write_text('{"format": 2}')
    with pytest.raises(UpgradeRefused, match="can't be read by this version"):
        store.read()
