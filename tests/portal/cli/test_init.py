"""`portal init` against a real slapd, and `portal check` on its output. No Slurm here."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from portal.cli.main import app
from portal.directory.discovery import Address, DiscoveryFailed, GroupFound, discover
from tests.paths import CHECKOUT
from tests.portal.command_line import Done
from tests.portal.conftest import INTERNAL_SECRET
from tests.servers.slapd import SERVICE_DN, SERVICE_PASSWORD, SUFFIX, Slapd

USER_BASE, GROUPS = f"ou=people,{SUFFIX}", f"ou=groups,{SUFFIX}"


@pytest.fixture
def password(tmp_path: Path) -> Path:
    file = tmp_path / "ldap.secret"
    file.touch(mode=0o600)
    file.write_text(SERVICE_PASSWORD)
    return file


@pytest.fixture
def address(slapd: Slapd, password: Path) -> Address:
    return Address(slapd.ldap_url, True, slapd.ca, SERVICE_DN, password)


def run(slapd: Slapd, password: Path, *more: str) -> Done:
    asked = [
        *("init", "--host", "portal.example.org", "--slurm-bin-dir", str(password.parent)),
        *("--ldap-url", slapd.ldap_url, "--ldap-ca-file", str(slapd.ca)),
        *("--ldap-bind-dn", SERVICE_DN, "--ldap-bind-password-file", str(password)),
    ]
    found = CliRunner().invoke(app, [*asked, *more])
    return Done(found.exit_code, found.stdout, found.stderr)


@pytest.mark.anyio
async def test_directory_facts_are_discovered(address: Address) -> None:
    found = await discover(address, None)
    assert found.kind == "openldap"
    assert (found.suffix, found.user_base, found.group_base) == (SUFFIX, USER_BASE, GROUPS)
    assert found.member_attribute == "memberUid"
    assert found.lowest_uid == 12
    assert GroupFound("portal-admins", 1) in found.groups


@pytest.mark.anyio
async def test_refused_bind_is_reported(address: Address, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.secret"
    wrong.touch(mode=0o600)
    wrong.write_text("wrong")
    refused = Address(address.url, True, address.ca_file, SERVICE_DN, wrong)
    with pytest.raises(DiscoveryFailed, match="is refused: invalidCredentials"):
        await discover(refused, None)


@pytest.mark.anyio
async def test_a_certificate_that_does_not_verify(address: Address, slapd: Slapd) -> None:
    other = Address(address.url, True, slapd.wrong_ca, SERVICE_DN, address.bind_password_file)
    with pytest.raises(DiscoveryFailed, match="its certificate can't be verified"):
        await discover(other, None)


def test_it_is_printed_and_nothing_is_changed(slapd: Slapd, password: Path) -> None:
    before = set(password.parent.iterdir())
    done = run(slapd, password)
    assert done.code == 0
    values = tomllib.loads(done.out)
    assert values["ldap_user_base"] == USER_BASE
    assert values["ldap_admin_groups"] == []
    assert "portal-admins (1)" in " ".join(done.out.replace("\n#", "").split())
    assert SERVICE_PASSWORD not in done.out
    assert "Not found. Slurm: " in done.err
    assert set(password.parent.iterdir()) == before


def test_no_file_is_written_over(slapd: Slapd, password: Path, tmp_path: Path) -> None:
    there = tmp_path / "portal.toml"
    there.write_text("mine")
    done = run(slapd, password, "--out", str(there))
    assert done.code == 1
    assert f"{there} can't be created: File exists." in done.err
    assert there.read_text() == "mine"


def test_check_runs_on_it(slapd: Slapd, password: Path, tmp_path: Path) -> None:
    """After replacing the default paths by paths that belong to the operator."""
    out = tmp_path / "portal.toml"
    assert run(slapd, password, "--out", str(out)).code == 0
    env = {name: text for name, text in os.environ.items() if not name.startswith("PORTAL_")}
    env |= {"PORTAL_CONFIG": str(out), "PORTAL_STATE_DIR": str(tmp_path)}
    for name in ("hub_token", "internal_secret"):
        file = tmp_path / name
        file.touch(mode=0o600)
        file.write_text(INTERNAL_SECRET)
        env[f"PORTAL_{name.upper()}_FILE"] = str(file)
    argv = [sys.executable, "-m", "portal", "check"]
    done = subprocess.run(
        argv, env=env, cwd=CHECKOUT, capture_output=True, text=True, timeout=120, check=False
    )
    lines = done.stdout.splitlines()
    assert {"ok      settings", "ok      database"} <= set(lines)
    assert f"ok      directory {slapd.ldap_url}" in lines
    assert "Traceback" not in done.stderr


def test_a_name_without_a_password_is_refused(slapd: Slapd) -> None:
    asked = ["init", "--ldap-url", slapd.ldap_url, "--ldap-bind-dn", SERVICE_DN]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 2
    assert "--ldap-bind-password-file" in found.stderr
