"""Folders for each content, and the link to the current one."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.version_folder import (
    InstallRefused,
    install,
    is_complete,
    locate,
    older,
    point,
    prepare,
)


def test_the_link_leads_to_each_content_which_is_created_once(tmp_path: Path) -> None:
    link, filled = tmp_path / "program", []

    def fill(target: Path) -> None:
        target.mkdir()
        filled.append(target.name)

    for digest in ("a", "b", "a"):
        assert install(link, digest, fill) == link.resolve() == tmp_path / f"program-{digest}"
    assert filled == ["program-a", "program-b"]
    assert older(link) == [tmp_path / "program-b"]


def test_an_incomplete_folder_is_filled_again_and_never_linked(tmp_path: Path) -> None:
    link = tmp_path / "program"

    def interrupt(target: Path) -> None:
        target.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(link, "a", interrupt)
    assert not link.exists()
    install(link, "a", lambda target: (target / "file").touch())
    assert (link / "file").exists()


def test_what_this_command_did_not_create_is_left_alone(tmp_path: Path) -> None:
    link = tmp_path / "program"
    link.mkdir()
    with pytest.raises(InstallRefused, match="was not created by this command"):
        install(link, "a", Path.mkdir)
    assert list(tmp_path.iterdir()) == [link]


def test_a_folder_can_be_prepared_before_the_link_leads_there(tmp_path: Path) -> None:
    link = tmp_path / "program"
    install(link, "a", Path.mkdir)
    target = prepare(link, "b", Path.mkdir)
    assert target == locate(link, "b")
    assert is_complete(target)
    assert link.resolve() == tmp_path / "program-a"
    point(link, target.name)
    assert link.resolve() == target
