"""Which packages are missing, and that no daemon starts while they are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import install

ANSWER = """slapd install ok installed
munge deinstall ok config-files
sudo install ok installed
mmdebstrap unknown ok not-installed
"""


def test_only_what_is_wholly_installed_counts() -> None:
    assert install.installed(ANSWER) == {"slapd", "sudo"}
    assert install.installed("") == set()


def test_daemons_are_held_and_the_policy_goes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr(install, "POLICY", policy)
    with pytest.raises(KeyboardInterrupt), install.daemons_held():
        assert policy.read_text().splitlines() == ["#!/bin/sh", "exit 101"]
        assert policy.stat().st_mode & 0o111
        raise KeyboardInterrupt
    assert not policy.exists()


def test_a_policy_of_the_machines_own_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("theirs")
    monkeypatch.setattr(install, "POLICY", policy)
    with install.daemons_held():
        assert policy.read_text() == "theirs"
    assert policy.read_text() == "theirs"


def test_nothing_is_fetched_when_all_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[set[str]] = []
    monkeypatch.setattr(install, "missing", lambda packages: asked.append(set(packages)))
    monkeypatch.setattr(install, "install", lambda packages: pytest.fail(f"installs {packages}"))
    assert install.main([]) == 0
    assert capsys.readouterr().out == "all packages are there\n"
    assert install.main(["--tests"]) == 0
    assert asked[1] - asked[0] == set(install.TEST_PACKAGES)
