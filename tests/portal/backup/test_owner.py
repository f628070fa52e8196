"""A restore by root, which trusts no file that another user could have written.

In a folder of another account it runs as that account, which therefore cannot misdirect it by a
link.
"""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.backup import owner, postgresql, revisions
from portal.backup.archive import BackupError
from tests.needs import needs_root
from tests.portal.backup.test_create import Place, backed_up, fill, run
from tests.portal.backup.test_postgresql import Databases, databases
from tests.portal.command_line import write_config
from tests.portal.conftest import settings_in
from tests.servers.slapd import Slapd, free_port

__all__ = ["databases"]  # fixtures

OTHER = "nobody"
CODE = Path(__file__).resolve().parent
pytestmark = needs_root("it changes owners")
open_code = pytest.mark.skipif(
    not all(folder.stat().st_mode & 0o001 for folder in CODE.parents),
    reason="other accounts can't read the portal's code here, and it couldn't migrate",
)


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that belongs to root and is accessible to others, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="portal-restore-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def place(base: Path, slapd: Slapd) -> Place:
    """Settings in a folder of root, and the state in a folder of another account."""
    state, etc = base / "state", base / "etc"
    state.mkdir()
    etc.mkdir()
    database = f"sqlite+aiosqlite:///{state}/portal.db"
    settings = settings_in(state, slapd, listen_port=free_port(), database_url=database)
    return Place(state, settings, write_config(settings, etc / "portal.toml"))


@pytest.fixture
def kept(place: Place, base: Path) -> Path:
    """Create its backup, owned by root; only the other account's empty folder is left of its
    state."""
    fill(place)
    shutil.chown(place.folder / "hub.secret", OTHER)
    file = backed_up(place).rename(base / "kept")
    for old in place.folder.iterdir():
        old.unlink()
    shutil.chown(place.folder, OTHER)
    return file


@pytest.fixture(autouse=True)
def root_stays_root() -> Iterator[None]:
    before = os.getresuid(), os.getresgid(), os.getgroups()
    yield
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before


def refused(place: Place, file: Path) -> str:
    """Return the message, and check that no database was created."""
    done = run("restore", str(file), config=place.config)
    assert (done.code, done.out) == (1, "")
    assert not place.database.exists()
    (line,) = done.err.splitlines()
    return line


@open_code
def test_restored_state_belongs_to_its_owner(place: Place, kept: Path) -> None:
    place.config.unlink()
    done = run("restore", str(kept), config=place.config)
    assert (done.code, done.err) == (0, "")
    for name in ("portal.db", "portal.lock", "hub.secret"):
        assert (place.folder / name).owner() == OTHER
    for file in (place.folder / "ldap.secret", place.config):
        assert file.owner() == "root"
    assert place.rows("SELECT title FROM announcements") == [("Maintenance",)]
    assert {one.name for one in place.folder.iterdir() if one.name.startswith(".")} == set()


@pytest.mark.parametrize("how", ["owner", "mode", "folder", "link"])
def test_backup_owned_by_another_user_is_refused(
    how: str, place: Place, kept: Path, base: Path
) -> None:
    file, whose = kept, OTHER
    if how == "owner":
        shutil.chown(kept, OTHER)
    elif how == "mode":
        kept.chmod(0o666)
        whose = "users other than root"
    else:
        folder = base / "theirs"
        folder.mkdir()
        file = folder / "backup"
        if how == "folder":
            kept.rename(file)
        else:
            file.symlink_to(kept)
        shutil.chown(folder, OTHER)
    step = file.parent if how in ("folder", "link") else file
    assert refused(place, file) == (
        f"{step} can be written by {whose}, so root can't trust this backup: run this as the "
        "portal's account; or, if you are sure that it was not changed, copy it with `install -m "
        f"600 {file} /root/` and restore the copy."
    )


def test_settings_writable_by_another_user_are_refused(place: Place, kept: Path) -> None:
    shutil.chown(place.config, OTHER)
    message = refused(place, kept)
    assert message.startswith(
        f"{place.config} can be written by {OTHER}, so root can't trust these"
    )


def test_a_link_leads_root_nowhere(place: Place, kept: Path, base: Path) -> None:
    """A link placed by the folder's owner where root is about to write a secret."""
    text = place.config.read_text()
    place.config.write_text(text.replace(f"{place.folder}/hub", f"{place.folder}/secrets/hub"))
    target = base / "root"
    target.mkdir()
    link = place.folder / "secrets"
    link.symlink_to(target)
    uid = pwd.getpwnam(OTHER).pw_uid
    os.lchown(link, uid, uid)
    assert "hub.secret can't be written: Permission denied" in refused(place, kept)
    assert list(target.iterdir()) == []


def test_a_folder_of_roots_where_others_write(place: Place, kept: Path) -> None:
    shutil.chown(place.folder, "root")
    place.folder.chmod(0o777)
    assert refused(place, kept) == (
        f"{place.folder} is owned by root, but other users can write to it: root doesn't restore "
        f"there. Run: chmod go-w {place.folder}"
    )


def test_folder_inside_another_users_folder_is_refused(base: Path) -> None:
    inner = base / "one" / "two"
    inner.mkdir(parents=True)
    shutil.chown(inner.parent, OTHER)
    os.chown(inner, 65533, 65533)
    with (
        pytest.raises(BackupError, match=rf"{inner} is owned by .* in a folder of {OTHER}"),
        owner.as_owner_of(inner),
    ):
        pass


def test_links_that_go_round(base: Path) -> None:
    (base / "a").symlink_to(base / "b")
    (base / "b").symlink_to(base / "a")
    with pytest.raises(BackupError, match="symbolic links form a loop"):
        owner.refuse_untrusted_file(base / "a", "this backup", "no")


def test_programs_can_not_become_root_again(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """psql executes the content of the copy, which the other account may control."""
    folder = base / "theirs"
    folder.mkdir()
    shutil.chown(folder, OTHER)
    program = base / "psql"
    program.write_text('#!/bin/sh\ngrep ^Uid: /proc/self/status >&2\necho "$HOME" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{base}:/usr/bin:/bin")
    uid = folder.stat().st_uid
    with (
        pytest.raises(BackupError) as message,
        owner.as_owner_of(folder),
    ):
        postgresql.PostgresServer("postgresql+psycopg://db/portal").is_empty()
    assert f"Uid: {uid} {uid} {uid} {uid}" in str(message.value)
    assert "/root" not in str(message.value)


def test_postgresql_is_talked_to_as_the_other_account(databases: Databases, base: Path) -> None:
    folder, first, second = base / "theirs", databases.filled(), databases.fresh()
    folder.mkdir()
    shutil.chown(folder, OTHER)
    with owner.as_owner_of(folder):
        first.dump(folder / "copy")
        second.restore(folder / "copy")
        restored = second.revision()
    assert restored == revisions.head()
    assert {file.owner() for file in folder.iterdir()} == {OTHER}
