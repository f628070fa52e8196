"""Detection of missing packages, and that no daemon starts during their installation."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cluster import install
from tests.needs import needs_program

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
    assert install.main(["--venv"]) == 0
    assert asked[2] == {"python3-venv"}


UNIT = """[Service]
ExecStart=/bin/true
[Install]
WantedBy=multi-user.target
"""


def unit(root: Path, name: str) -> None:
    """Create a package's unit that is enabled on installation."""
    folder = root / "usr/lib/systemd/system"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.service").write_text(UNIT)
    subprocess.run(["systemctl", f"--root={root}", "--quiet", "enable", name], check=True)


def script(root: Path, name: str) -> Path:
    """Create a daemon with only an init script, from which systemd generates a unit."""
    link = root / "etc/rc3.d" / f"S01{name}"
    link.parent.mkdir(parents=True, exist_ok=True)
    (root / "etc/init.d").mkdir(exist_ok=True)
    (root / "etc/init.d" / name).write_text("#!/bin/sh\n")
    link.symlink_to(f"../init.d/{name}")
    return link


@needs_program("systemctl")
def test_daemons_that_are_installed_do_not_start_at_the_next_boot(tmp_path: Path) -> None:
    unit(tmp_path, "mariadb")
    script(tmp_path, "nslcd")
    with install.new_daemons_disabled(tmp_path):
        for name in ("nginx", "slurmd", "cron"):
            unit(tmp_path, name)
    # previously enabled daemons stay enabled, as do daemons of other packages
    assert install.enabled_daemons(tmp_path) == {"mariadb", "nslcd"}
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants"
    assert {path.name for path in wanted.iterdir()} == {"mariadb.service", "cron.service"}


@needs_program("systemctl")
def test_daemons_are_disabled_after_an_installation_that_failed(tmp_path: Path) -> None:
    unit(tmp_path, "cron")
    with pytest.raises(KeyboardInterrupt), install.new_daemons_disabled(tmp_path):
        unit(tmp_path, "nginx")
        raise KeyboardInterrupt
    assert install.enabled_daemons(tmp_path) == set()
