"""An installation's files: units, sudoers, configurations, derived from the settings alone."""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from deploy import cli as installation
from deploy import sudoers, system
from deploy.jupyterhub_config import KEYS
from deploy.system import (
    File,
    Installation,
    SystemFilesRefused,
    files,
    folders,
    make_folders,
    write_files,
)
from portal.cli.context import BAD_SETTINGS
from portal.config.settings import Settings
from spawner.launcher.installed import files_program
from tests.needs import needs_program, needs_root

# Options that systemd refuses for a service with User= unless it sets no_new_privs, which would
# disable sudo: systemd.exec(5), "NoNewPrivileges=yes is implied".
IMPLY_NO_NEW_PRIVILEGES = (
    "SystemCallFilter", "SystemCallArchitectures", "RestrictAddressFamilies",
    "RestrictNamespaces", "PrivateDevices", "ProtectKernelTunables", "ProtectKernelModules",
    "ProtectKernelLogs", "ProtectClock", "ProtectHostname", "MemoryDenyWriteExecute",
    "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality", "DynamicUser",
)  # fmt: skip


def site(tmp_path: Path, **changes: Any) -> Installation:
    values: dict[str, Any] = {
        "public_url": "http://portal.example.org",
        "same_origin_content": not {"notebook_url", "content_url"} & changes.keys(),
        "node_url": "http://head.cluster:8002",
        "state_dir": Path("/var/lib/portal"),
        "hub_token_file": Path("/etc/portal/hub.token"),
        "internal_secret_file": Path("/etc/portal/internal.secret"),
        "ldap_urls": ["ldaps://ldap.example.org"],
        "ldap_user_base": "ou=people,dc=example,dc=org",
        "ldap_group_base": "ou=groups,dc=example,dc=org",
        "ldap_user_groups": ["portal users", "staff"],
        "runtime_dir": Path("/opt/portal/runtime"),
        "image_dir": Path("/opt/portal/images"),
        **changes,
    }
    return Installation(
        Settings(**values), Path("/etc/portal/portal.toml"), prefix=Path("/opt/portal/v")
    )


def unit(made: dict[Path, File], name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", made[system.UNITS / name].text, re.MULTILINE):
        found.setdefault(key, []).append(value)
    return found


def test_every_file_follows_from_the_settings(tmp_path: Path) -> None:
    made = files(site(tmp_path))
    assert {str(path) for path in made} >= {
        *(f"/etc/systemd/system/{name}" for name in system.UNIT_NAMES),
        "/etc/sudoers.d/portal",
        "/usr/local/libexec/portal/files.pyz",
        "/usr/local/libexec/portal/launcher",
        "/usr/local/libexec/portal/launcher.conf",
        "/etc/portal/hub.toml",
        "/var/lib/portal-nginx/nginx.conf",
    }
    hub = tomllib.loads(made[Path("/etc/portal/hub.toml")].text)
    assert set(hub) >= set(KEYS)
    conf = json.loads(made[Path("/usr/local/libexec/portal/launcher.conf")].text)
    assert conf["min_uid"] == 1000
    assert made[system.SUDOERS].mode == 0o440
    assert made[Path("/usr/local/libexec/portal/launcher")].mode == 0o755
    assert made[Path("/usr/local/libexec/portal/files.pyz")] == File(files_program())
    rendered = b"".join(file.data for file in made.values() if b"launcher" not in file.data)
    assert b"{{" not in rendered


def test_the_hubs_file_holds_any_path(tmp_path: Path) -> None:
    path = "/etc/portal/\U0001f511.token"
    text = files(site(tmp_path, hub_token_file=path))[Path("/etc/portal/hub.toml")].text
    assert tomllib.loads(text)["hub_token_file"] == path


def test_the_portal_can_sudo_whatever_else_it_can_not(tmp_path: Path) -> None:
    portal = unit(files(site(tmp_path)), "portal.service")
    assert portal["NoNewPrivileges"] == ["no"]
    assert not set(IMPLY_NO_NEW_PRIVILEGES) & set(portal)
    assert portal["ProtectHome"] == ["no"]
    assert portal["ProtectSystem"] == ["full"]
    assert {"CAP_SETUID", "CAP_SETGID"} <= set(portal["CapabilityBoundingSet"][0].split())
    assert "CAP_CHOWN" not in portal["CapabilityBoundingSet"][0]
    assert portal["KillMode"] == ["process"]


def test_systemd_keeps_the_portals_port(tmp_path: Path) -> None:
    made = files(site(tmp_path, listen_port=8123))
    assert unit(made, "portal.socket")["ListenStream"] == ["127.0.0.1:8123"]
    assert unit(made, "portal.service")["Requires"] == ["portal.socket"]
    six = files(site(tmp_path, listen_host="::1"))
    assert unit(six, "portal.socket")["ListenStream"] == ["[::1]:8001"]


def test_wrong_settings_close_the_portals_port(tmp_path: Path) -> None:
    """Otherwise its socket would start it again for every client, which would wait."""
    portal = unit(files(site(tmp_path)), "portal.service")
    assert portal["RestartPreventExitStatus"] == [str(BAD_SETTINGS)]
    (after,) = portal["ExecStopPost"]
    program, *arguments = shlex.split(after.removeprefix("+").replace("$$", "$"))
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    record = tmp_path / "calls"
    (bin_dir / "systemctl").write_text(f'#!/bin/sh\necho "$@" >> {record}\n')
    (bin_dir / "systemctl").chmod(0o755)
    for status in ("0", "1", "TERM", "KILL"):
        _after_exit([program, *arguments], bin_dir, status)
    assert not record.exists()
    _after_exit([program, *arguments], bin_dir, str(BAD_SETTINGS))
    assert record.read_text() == "--no-block stop portal.socket\n"


def _after_exit(argv: list[str], bin_dir: Path, status: str) -> None:
    subprocess.run(argv, env={"PATH": str(bin_dir), "EXIT_STATUS": status}, check=True)


def test_the_journal_names_the_services_rather_than_python(tmp_path: Path) -> None:
    made = files(site(tmp_path))
    for name in ("portal", "portal-hub"):
        assert unit(made, f"{name}.service")["SyslogIdentifier"] == [name]


def test_programs_for_homes_are_in_sudoers_and_may_be_root(tmp_path: Path) -> None:
    program = "/usr/local/libexec/portal/home-directory"
    command = ["sudo", "-n", program, "create", "{username}"]
    made = files(site(tmp_path, home_command=command, home_delete_command=[*command[:3], "x"]))
    assert f"Cmnd_Alias PORTAL_HOMES = {program}\n" in made[system.SUDOERS].text
    assert "CAP_CHOWN" in unit(made, "portal.service")["CapabilityBoundingSet"][0]


@needs_root("the program is root's")
def test_root_runs_no_program_that_others_can_replace(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir(mode=0o755)
    program = folder / "home-directory"
    program.touch(mode=0o755)
    command = ["sudo", "-n", str(program), "create", "{username}"]

    def refused() -> bool:
        try:
            files(site(tmp_path, home_command=command))
        except SystemFilesRefused as error:
            assert "would run as root" in str(error)
            return True
        return False

    assert not refused()
    for place, mode in ((program, 0o775), (program, 0o757), (folder, 0o777), (folder, 0o775)):
        before = place.stat().st_mode
        place.chmod(mode)
        assert refused(), (place, oct(mode))
        place.chmod(before)
    os.chown(folder, 12345, 0)
    assert refused()
    os.chown(folder, 0, 0)
    program.unlink()
    assert not refused()
    folder.chmod(0o1777)
    assert refused()


def test_sudo_gives_no_environment_of_the_callers(tmp_path: Path) -> None:
    program = "/usr/local/libexec/portal/home-directory"
    command = ["sudo", "-n", program, "create", "{username}"]
    rule = files(site(tmp_path, home_command=command))[system.SUDOERS].text
    defaults = [line for line in rule.splitlines() if line.startswith("Defaults")]
    assert len(defaults) == 2
    for line in defaults:
        assert " env_reset, " in line
        assert 'secure_path="/usr/sbin:/usr/bin:/sbin:/bin"' in line


@pytest.mark.parametrize("umask", ["027", "077"])
def test_the_sites_umask_is_the_launchers_and_that_of_homes(tmp_path: Path, umask: str) -> None:
    command = ["sudo", "-n", "/usr/local/libexec/portal/home", "create", "{username}"]
    made = files(site(tmp_path, umask=umask, home_command=command))
    conf = next(file for path, file in made.items() if path.name == "launcher.conf")
    assert json.loads(conf.text)["umask"] == umask
    assert f"PORTAL_HOMES {sudoers._OPTIONS}, umask=0{umask}," in made[system.SUDOERS].text


def test_hub_and_nginx_have_every_protection(tmp_path: Path) -> None:
    made = files(site(tmp_path))
    for name in ("portal-hub.service", "portal-nginx.service", "portal-backup.service"):
        found = unit(made, name)
        assert found["NoNewPrivileges"] == ["yes"]
        assert found["ProtectSystem"] == ["strict"]
        assert "SystemCallFilter" in found
    # the public address has port 80 here
    nginx = unit(made, "portal-nginx.service")
    assert nginx["AmbientCapabilities"] == ["CAP_NET_BIND_SERVICE"]
    high = files(site(tmp_path, public_url="http://portal.example.org:8000"))
    assert "AmbientCapabilities" not in unit(high, "portal-nginx.service")
    urls = {"public_url": "http://portal.example.org:8000", "content_url": "http://content.test"}
    content = files(site(tmp_path, **urls))
    assert "AmbientCapabilities" in unit(content, "portal-nginx.service")


def test_only_members_of_the_portals_groups_are_acted_for(tmp_path: Path) -> None:
    rule = files(site(tmp_path))[system.SUDOERS].text
    assert r"portal ALL=(%portal\ users, %staff, !#0) NOPASSWD:NOSETENV: PORTAL_LAUNCHER" in rule
    assert "PORTAL_HOMES" not in rule
    everybody = sudoers.render("portal", "/x/launcher", [])
    assert "portal ALL=(ALL, !#0) NOPASSWD" in everybody


@pytest.mark.parametrize("path", ["/x y", "/x,y", "/x=*", "relative", '/x"', "/x\\y"])
def test_what_sudo_would_read_otherwise_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="can't be used in sudoers"):
        sudoers.render("portal", path, [])


def test_a_place_that_a_unit_can_not_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemFilesRefused, match="can't be used in a systemd unit"):
        files(site(tmp_path, state_dir=Path("/var/lib/the portal%i")))


def test_tls_needs_a_certificate(tmp_path: Path) -> None:
    with pytest.raises(SystemFilesRefused, match="certificate_file"):
        files(site(tmp_path, public_url="https://portal.example.org"))
    made = files(
        site(
            tmp_path,
            public_url="https://portal.example.org",
            certificate_file=Path("/etc/portal/tls.pem"),
            certificate_key_file=Path("/etc/portal/tls.key"),
        )
    )
    assert (
        'ssl_certificate "/etc/portal/tls.pem";'
        in made[Path("/var/lib/portal-nginx/nginx.conf")].text
    )


def test_what_is_written_is_whole_has_its_mode_and_is_left_alone_then(tmp_path: Path) -> None:
    made = files(site(tmp_path))
    root = tmp_path / "root"
    assert write_files(made, root) == list(made)
    for path, file in made.items():
        there = root / path.relative_to("/")
        assert there.read_bytes() == file.data
        assert there.stat().st_mode & 0o777 == file.mode
    assert write_files(made, root) == []
    (root / "etc/sudoers.d/portal").chmod(0o644)
    assert write_files(made, root) == [system.SUDOERS]
    target = root / "etc/systemd/system/portal.target"
    target.write_bytes("Description=Prüfung\n".encode("latin-1"))
    assert write_files(made, root) == [system.UNITS / "portal.target"]
    assert not list(root.rglob(".*.new"))


def test_every_folder_belongs_to_one_of_the_accounts(tmp_path: Path) -> None:
    found = {str(path): (owner, mode) for path, owner, mode in folders(site(tmp_path))}
    assert found["/var/lib/portal"] == ("portal", 0o700)
    passed = folders(site(tmp_path, node_tls=True))
    assert (Path("/var/lib/portal"), "portal", 0o711) in passed
    assert found["/var/lib/portal-hub"] == ("portalhub", 0o700)
    assert found["/var/lib/portal-nginx/cache"] == ("www-data", 0o700)


@needs_program("visudo")
def test_sudo_takes_the_rules_and_refuses_broken_ones(tmp_path: Path) -> None:
    system.check_sudoers(files(site(tmp_path))[system.SUDOERS].text)
    with pytest.raises(SystemFilesRefused, match="sudo rejected"):
        system.check_sudoers("portal ALL=(ALL NOPASSWD\n")


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """Write the units, with existing programs: systemd-analyze checks for them."""
    write_files(files(site(tmp_path)), tmp_path / "root")
    folder = tmp_path / "root/etc/systemd/system"
    for path in folder.glob("*.service"):
        text = re.sub(r"(?m)^(Exec\w+=)(?!/bin/kill)\S+", r"\1/bin/true", path.read_text())
        path.write_text(re.sub(r"(?m)^Documentation=.*\n", "", text))
    return folder


@needs_program("systemd-analyze")
class TestBySystemd:
    def test_it_finds_no_fault_in_the_units(self, on_disk: Path) -> None:
        units = [str(on_disk / name) for name in system.UNIT_NAMES]
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *units],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        ours = [
            line for line in done.stderr.splitlines() if str(on_disk) in line or "portal" in line
        ]
        assert (done.returncode, ours) == (0, [])

    @pytest.mark.parametrize(
        ("name", "most"),
        [("portal", 80), ("portal-hub", 25), ("portal-nginx", 25), ("portal-backup", 25)],
    )
    def test_its_figure_of_exposure_stays_low(self, on_disk: Path, name: str, most: int) -> None:
        """In tenths, as systemd-analyze counts; the portal's is high because it may use sudo."""
        argv = ["security", "--offline=yes", f"--threshold={most}", "--no-pager"]
        done = subprocess.run(
            ["systemd-analyze", *argv, str(on_disk / f"{name}.service")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-300:] + done.stderr


def test_a_host_for_users_content_reaches_hub_and_nginx(tmp_path: Path) -> None:
    made = files(site(tmp_path, content_url="http://{user}.jupyter.example.org"))
    hub = tomllib.loads(made[Path("/etc/portal/hub.toml")].text)
    assert hub["notebook_url"] == "http://{user}.jupyter.example.org"
    assert "jupyter" in made[Path("/var/lib/portal-nginx/nginx.conf")].text


def test_a_secret_that_can_not_be_given_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without root, the file can be created but not given away."""
    file = tmp_path / "etc/hub.token"

    def refuses(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patched, pytest.raises(typer.Exit):
        patched.setattr("os.fchown", refuses)
        installation._write(file, 0, 0, 0o640)
    assert list(file.parent.iterdir()) == []
    installation._write(file, -1, -1, 0o640)
    assert (file.stat().st_mode & 0o777, len(file.read_text())) == (0o640, 65)
    with pytest.raises(typer.Exit):
        installation._write(file, -1, -1, 0o640)
    assert len(file.read_text()) == 65  # another account's file is left alone


def test_a_folder_is_made_and_given(tmp_path: Path) -> None:
    account = pwd.getpwuid(os.geteuid()).pw_name
    place = tmp_path / "portal" / "cache"
    make_folders([(place, account, 0o711)])
    assert place.stat().st_mode & 0o7777 == 0o711


def test_a_link_of_root_s_own_is_meant(tmp_path: Path) -> None:
    account = pwd.getpwuid(os.geteuid()).pw_name
    place, link = tmp_path / "large", tmp_path / "portal"
    place.mkdir()
    link.symlink_to(place)
    make_folders([(link, account, 0o711)])
    assert place.stat().st_mode & 0o7777 == 0o711


def test_nothing_is_given_away_by_another_account_s_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, another = pwd.getpwuid(os.geteuid()).pw_name, os.geteuid() + 1
    secret, link = tmp_path / "secret", tmp_path / "cache"
    secret.mkdir(mode=0o700)
    link.symlink_to(secret)
    monkeypatch.setattr(os, "geteuid", lambda: another)  # the link belongs to another account
    with pytest.raises(SystemFilesRefused, match="can't be created"):
        make_folders([(link, account, 0o755)])
    assert secret.stat().st_mode & 0o7777 == 0o700


def test_the_hub_asks_other_portals_on_its_own_host_only(tmp_path: Path) -> None:
    """Elsewhere it would be refused, because /internal is limited to loopback."""
    config = Path("/etc/portal/hub.toml")
    assert "other_portal_urls" not in files(site(tmp_path))[config].text
    portals = ["127.0.0.1:8001", "127.0.0.1:8003", "10.0.0.2:8001", "portal-b:8001"]
    hub = tomllib.loads(files(site(tmp_path, portals=portals))[config].text)
    assert hub["portal_url"] == "http://127.0.0.1:8001"
    assert hub["other_portal_urls"] == ["http://127.0.0.1:8003"]


def test_units_run_the_virtualenv_by_its_link_if_there_is_one(tmp_path: Path) -> None:
    prefix = tmp_path / "portal-app-1"
    prefix.mkdir()
    assert system.stable_prefix(prefix) == prefix
    link = tmp_path / "portal-app"
    link.symlink_to(tmp_path)
    assert system.stable_prefix(prefix) == prefix
    link.unlink()
    link.symlink_to(prefix)
    assert system.stable_prefix(prefix) == link
