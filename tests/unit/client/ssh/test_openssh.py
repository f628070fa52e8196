"""The files of ssh on a user's computer, and the block that names them."""

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from client.errors import PortalUnreachable, UsageProblem
from client.ssh import openssh
from client.ssh.openssh import (
    check_version,
    find_own_program,
    find_program,
    folder_of,
    prepare_folder,
    render_block,
)

URL = "https://portal.example.org:8443"
DSP = ["/opt/my tools/100%/dsp"]


def option(block: str, host: str, name: str) -> str:
    """Return an option as the real ssh understands it for a host."""
    done = subprocess.run(
        ["ssh", "-G", "-F", "/dev/stdin", host],
        input=block, capture_output=True, text=True, check=True,
    )  # fmt: skip
    values = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    return values[name]


def test_render_block_is_understood_by_ssh(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    block = render_block(URL, "alice", folder, DSP)
    host = "train.portal.example.org"
    assert option(block, host, "user") == "alice"
    assert option(block, host, "identityfile") == f"{folder}/id_ed25519"
    assert option(block, host, "userknownhostsfile") == f"{folder}/known_hosts"
    assert option(block, host, "stricthostkeychecking") == "true"
    command = option(block, host, "proxycommand").replace("%%", "%")
    assert shlex.split(command) == [*DSP, "ssh-proxy", "--portal", URL, "%h"]
    assert command.endswith("'%h'")
    assert "proxycommand" not in subprocess.run(
        ["ssh", "-G", "-F", "/dev/stdin", "elsewhere.example.org"],
        input=block, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


@pytest.mark.parametrize("name", ['a"b', "a%b", "a$b", "a\\b", "a\nb", "a\x1bb"])
def test_render_block_refuses_names_that_ssh_would_change(name: str) -> None:
    with pytest.raises(UsageProblem, match="characters in its name"):
        render_block(URL, "alice", Path("/home") / name, DSP)
    with pytest.raises(PortalUnreachable, match="username"):
        render_block(URL, name, Path("/home/alice"), DSP)


def test_prepare_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / ".config/dsp/portals.json", URL)
    assert folder == tmp_path / ".config/dsp/ssh/portal.example.org_8443"
    folder.mkdir(parents=True, mode=0o755)
    config = prepare_folder(folder, "Host *\n")
    key = (folder / "id_ed25519").read_bytes()
    assert config.read_text() == "Host *\n"
    for path, mode in ((folder, 0o700), (folder.parent, 0o700), (config, 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE((folder / "id_ed25519").stat().st_mode) == 0o600
    prepare_folder(folder, "Host *.other\n")
    assert config.read_text() == "Host *.other\n"
    assert (folder / "id_ed25519").read_bytes() == key


def test_prepare_folder_names_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "dsp").write_text("a file")
    with pytest.raises(UsageProblem, match="can't be written"):
        prepare_folder(folder_of(tmp_path / "dsp/portals.json", URL), "")


@pytest.mark.parametrize(
    ("shown", "named"),
    [
        ("OpenSSH_9.2p1 Debian-2+deb12u7, OpenSSL 3.0.17", "9.2"),
        ("OpenSSH_for_Windows_8.6p1, LibreSSL 3.4.3", "8.6"),
        ("OpenSSH_9.6p1, LibreSSL 3.3.6", None),
        ("OpenSSH_10.0p2", None),
        ("another ssh", None),
    ],
)
def test_check_version_warns_of_versions_before_9_6(shown: str, named: str | None) -> None:
    warning = check_version(shown)
    assert (warning is None) == (named is None)
    assert named is None or f"OpenSSH {named}." in str(warning)


@pytest.mark.parametrize("missing", ["ssh", "ssh-keygen"])
def test_find_program_without_openssh_says_what_is_missing(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {"ssh", "ssh-keygen"} - {missing}:
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageProblem, match=f"no program {missing} ") as raised:
        find_program()
    assert raised.value.suggestion == "Install OpenSSH's client."
    (tmp_path / missing).touch(0o755)
    assert find_program() == str(tmp_path / "ssh")


def test_find_own_program_works_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dsp"
    program.touch(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_own_program("./dsp") == [str(program)]
    monkeypatch.chdir("/")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_own_program("dsp") == [str(program)]
    assert find_own_program(str(program)) == [str(program)]


def test_find_own_program_takes_no_module_from_the_working_folder(tmp_path: Path) -> None:
    argv = find_own_program("/checkout/client/__main__.py")
    assert argv == [sys.executable, "-P", "-m", "client"]
    (tmp_path / "client").mkdir()
    (tmp_path / "client/__main__.py").write_text("print('planted')")
    root = str(Path(openssh.__file__).parents[2])
    done = subprocess.run(
        [*argv, "--version"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": root},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("dsp ")
