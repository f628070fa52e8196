"""The present installation, read from its units."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy import system
from deploy.upgrade import UpgradeRefused
from deploy.upgrade.installed import find_installed
from tests.unit.deploy.test_system import site


def put_units(root: Path, prefix: Path) -> None:
    of_site = site(root)
    accounts = system.ServiceAccounts("portal", "jupyter", "nginx")
    place = system.Installation(of_site.settings, of_site.config, accounts, prefix)
    made = system.files(place)
    system.write_files(
        {path: file for path, file in made.items() if path.parent == system.UNITS}, root
    )


def test_units_name_virtualenv_settings_and_accounts(tmp_path: Path) -> None:
    prefix = tmp_path / "portal-app-1"
    name = "data_scientist_portal-0.1.0.dist-info"
    (prefix / "lib/python3.11/site-packages" / name).mkdir(parents=True)
    put_units(tmp_path, prefix)
    found = find_installed(tmp_path)
    assert (found.prefix, found.version) == (prefix, "0.1.0")
    assert found.config == Path("/etc/portal/portal.toml")
    assert found.accounts == system.ServiceAccounts("portal", "jupyter", "nginx")


def test_a_link_to_the_virtualenv_is_followed(tmp_path: Path) -> None:
    prefix = tmp_path / "portal-app-0.1.0-1234"
    prefix.mkdir()
    (tmp_path / "portal-app").symlink_to(prefix)
    put_units(tmp_path, tmp_path / "portal-app")
    assert find_installed(tmp_path).prefix == prefix


def test_a_machine_without_the_units_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UpgradeRefused, match=r"portal\.service can't be read"):
        find_installed(tmp_path)


def test_a_unit_that_lacks_a_line_is_refused(tmp_path: Path) -> None:
    put_units(tmp_path, tmp_path)
    file = tmp_path / "etc/systemd/system/portal.service"
    file.write_text(file.read_text().replace("Environment=PORTAL_CONFIG=", "#"))
    with pytest.raises(UpgradeRefused, match="has no Environment=PORTAL_CONFIG="):
        find_installed(tmp_path)
