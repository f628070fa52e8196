"""The program that creates home directories as root: it validates everything, and may be killed
at any time."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from deploy import home_directory
from deploy.home_directory import HomeFolders, HomeRefused, archive, create, delete, home_of
from tests.needs import needs_root

UID, GID = 20001, 20002


@pytest.fixture
def folders(tmp_path: Path) -> HomeFolders:
    """The site's folders belong to root, because the program runs as root."""
    found = HomeFolders(tmp_path / "home", tmp_path / "archive", tmp_path / "skel", min_uid=20000)
    for folder in (found.base, found.archive, found.skeleton / "sub"):
        folder.mkdir(parents=True)
    (found.skeleton / ".profile").write_text("hello\n")
    (found.skeleton / "sub" / "link").symlink_to("/etc/passwd")
    return found


def ada(folders: HomeFolders) -> home_directory.HomeDirectory:
    return home_of(folders, "ada", str(UID), str(GID), str(folders.base / "ada"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@needs_root("it creates homes of other users")
def test_made_from_the_skeleton_all_of_it_theirs(folders: HomeFolders) -> None:
    home = ada(folders)
    assert "was created" in create(home)
    assert home.path.stat().st_mode & 0o777 == 0o700
    for path in (home.path, home.path / ".profile", home.path / "sub" / "link"):
        status = path.lstat()
        assert (status.st_uid, status.st_gid) == (UID, GID), path
    assert Path("/etc/passwd").stat().st_uid == 0
    (home.path / "work").write_text("kept")
    assert "already" in create(home)
    assert (home.path / "work").read_text() == "kept"


@needs_root("it creates homes of other users")
def test_a_kill_in_the_middle_leaves_what_the_next_run_ends(folders: HomeFolders) -> None:
    home = ada(folders)
    (home.making / "half").mkdir(parents=True)
    create(home)
    assert names(folders.base) == ["ada"]
    assert names(home.path) == [".profile", "sub"]
    home.path.rename(home.leaving)
    assert "deleted" in delete(home)
    assert names(folders.base) == []
    assert "no" in delete(home)


@needs_root("it creates homes of other users")
def test_archived_by_name_never_over_another(folders: HomeFolders) -> None:
    home = ada(folders)
    for expected in ("ada-20001.tar.gz", "ada-20001-2.tar.gz"):
        create(home)
        assert expected in archive(home)
        assert names(folders.base) == []
        file = folders.archive / expected
        assert file.stat().st_mode & 0o777 == 0o600
        with tarfile.open(file) as tar:
            members = {member.name: member for member in tar}
        assert set(members) == {"ada", "ada/.profile", "ada/sub", "ada/sub/link"}
        assert members["ada/sub/link"].linkname == "/etc/passwd"


@needs_root("it creates homes of other users")
def test_files_of_another_user_are_left_alone(folders: HomeFolders) -> None:
    home, outside = ada(folders), folders.base.parent / "outside"
    (outside / "treasure").mkdir(parents=True)
    os.chown(outside, UID, GID)
    home.path.symlink_to(outside)
    for task in (create, archive, delete):
        with pytest.raises(HomeRefused, match="belongs to another user"):
            task(home)
    home.path.unlink()
    home.path.mkdir()
    for task in (create, archive, delete):
        with pytest.raises(HomeRefused, match="belongs to another user"):
            task(home)
    assert names(outside) == ["treasure"]


@pytest.mark.parametrize(
    "args",
    [
        ("root", "0", "0", "root"),
        ("ada", "19999", "1", "ada"),
        ("ada", "020001", "1", "ada"),
        ("ada", "20001", "-1", "ada"),
        ("ada", "20001", "1", "ada/../eve"),
        ("ada", "20001", "1", "eve"),
        ("..", "20001", "1", ".."),
        ("ada/x", "20001", "1", "ada/x"),
        ("-rf", "20001", "1", "-rf"),
        (".making-20001", "20001", "1", ".making-20001"),
        ("ada\n", "20001", "1", "ada\n"),
    ],
)
def test_unsafe_arguments_are_refused(
    folders: HomeFolders, args: tuple[str, str, str, str]
) -> None:
    username, uid, gid, name = args
    with pytest.raises(HomeRefused):
        home_of(folders, username, uid, gid, f"{folders.base}/{name}")


@needs_root("it creates homes of other users")
def test_as_it_is_installed(folders: HomeFolders, tmp_path: Path) -> None:
    program = tmp_path / "home-directory"
    shutil.copy(home_directory.__file__, program)
    fields = {name: str(getattr(folders, name)) for name in ("base", "archive", "skeleton")}
    program.with_suffix(".conf").write_text(json.dumps({**fields, "min_uid": 20000}))
    assert Path(home_directory.__file__).read_text().startswith("#!/usr/bin/python3 -IS\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-IS", str(program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    place = ("ada", str(UID), str(GID), str(folders.base / "ada"))
    made = run("create", *place)
    assert (made.returncode, made.stdout) == (0, f"{folders.base}/ada was created.\n")
    assert run("delete", *place).returncode == 0
    refused = run("create", "ada", "0", "0", "/")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "not the IDs of an ordinary user" in refused.stderr
    assert run("format").returncode == 2


@needs_root("the configuration is root's")
def test_a_configuration_that_others_could_have_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "home-directory.conf"
    fields = {"base": "/home", "archive": "/srv", "skeleton": "/etc/skel", "min_uid": 1000}
    file.write_text(json.dumps(fields))
    file.chmod(0o644)
    assert home_directory.load_folders(file).min_uid == 1000
    for mode in (0o664, 0o646):
        file.chmod(mode)
        with pytest.raises(HomeRefused, match="must be owned by root"):
            home_directory.load_folders(file)
    file.chmod(0o644)
    os.chown(file, UID, GID)
    with pytest.raises(HomeRefused, match="must be owned by root"):
        home_directory.load_folders(file)


@needs_root("it creates homes of other users")
def test_an_archive_takes_nothing_from_the_environment(
    folders: HomeFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    action = f"--checkpoint=1 --checkpoint-action=exec=touch\\ {mark}"
    monkeypatch.setenv("TAR_OPTIONS", action)
    fake = tmp_path / "bin" / "gzip"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntouch {mark}\n/usr/bin/gzip\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    create(ada(folders))
    archive(ada(folders))
    assert names(folders.archive) == ["ada-20001.tar.gz"]
    assert not mark.exists()
