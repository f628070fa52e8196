"""`dsp ssh` and `ssh-config` against a real portal: what they create, and what they refuse.

tests/cluster/test_client.py connects to a session.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.models import JobState
from tests.portal.client.program import SCOPES, ClientProgram
from tests.servers.gate_portal import Real, real_portal
from tests.servers.nginx import run_nginx

pytestmark = pytest.mark.anyio
pytest_plugins = ["tests.portal.gate_fixtures"]
SSHD = b'{"sshd": true, "home": "/home/alice"}'
NO_SSHD = b'{"sshd": false, "home": "/home/alice"}'


@pytest.fixture
def program(real: Real, tmp_path: Path) -> ClientProgram:
    """alice's computer with a login that has the scope ssh."""
    return log_in(real, tmp_path, *SCOPES, "ssh")


@pytest.fixture
def unpermitted(real: Real, tmp_path: Path) -> Iterator[ClientProgram]:
    """alice's computer with a login that lacks the scope, and nginx before the portal."""
    with run_nginx(portal_port=real.port) as door:
        yield log_in(real, tmp_path, *SCOPES, port=door.inputs.public.port)


def log_in(real: Real, tmp_path: Path, *scopes: str, port: int = 0) -> ClientProgram:
    home = tmp_path / "laptop"
    home.mkdir()
    made = ClientProgram(f"http://127.0.0.1:{port or real.port}", home)
    made.save_token(real.add_token("alice", *scopes)[1])
    return made


def with_ssh(program: ClientProgram, script: str) -> ClientProgram:
    """Return the program on a computer whose ssh is this script."""
    folder = program.home / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "ssh").chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return ClientProgram(program.url, program.home, {"PATH": path})


async def test_ssh_config_prints_a_block_whose_files_are_private(program: ClientProgram) -> None:
    done = await program.run("ssh-config")
    assert done.code == 0, done
    assert done.out.startswith("Host *.portal\n    User alice\n    ProxyCommand ")
    (folder,) = (program.config.parent / "ssh").iterdir()
    assert (folder / "config").read_text() == done.out
    assert {path.name for path in folder.iterdir()} == {"config", "id_ed25519", "id_ed25519.pub"}
    for path, mode in ((folder, 0o700), (folder / "config", 0o600), (folder / "id_ed25519", 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    token = program.config.read_text()
    assert "dsp_" in token
    assert not [path for path in folder.iterdir() if "dsp_" in path.read_text()]
    again = await program.run("ssh-config", "--json")
    assert again.value == {"config": done.out, "path": str(folder / "config")}


async def test_ssh_config_warns_of_an_old_ssh(program: ClientProgram) -> None:
    old = with_ssh(program, "echo OpenSSH_9.5p1 >&2")
    done = await old.run("ssh-config")
    assert (done.code, "OpenSSH 9.5. Versions before 9.6" in done.err) == (0, True)


async def test_ssh_names_a_session_that_does_not_exist_or_run(
    program: ClientProgram, real: Real
) -> None:
    assert (await program.run("ssh", "nothing")).code == 4
    real.add_session(name="waits", state=JobState.QUEUED)
    for arguments in (("ssh", "waits"), ("ssh-proxy", "waits.portal")):
        done = await program.run(*arguments)
        assert done.code == 5
        assert "The session waits isn't running: queued." in done.err
        assert "dsp sessions open waits" in done.err
    assert not (program.config.parent / "ssh").exists()


async def test_ssh_without_openssh_says_what_to_install(program: ClientProgram) -> None:
    empty = ClientProgram(program.url, program.home, {"PATH": str(program.home)})
    done = await empty.run("ssh", "s1")
    assert (done.code, "no program ssh " in done.err) == (2, True)
    assert "Install OpenSSH" in done.err


@pytest.mark.parametrize(
    ("body", "reason"), [(NO_SSHD, "node has no sshd"), (b"nothing", "doesn't answer about SSH")]
)
async def test_ssh_to_a_node_without_sshd_is_refused_with_the_reason(
    program: ClientProgram, real: Real, body: bytes, reason: str
) -> None:
    real.add_answering_session(body)
    done = await program.run("ssh", "s1", "--", "true")
    assert (done.code, reason in done.err) == (5, True)


async def test_ssh_on_a_site_without_it_is_refused(tmp_path: Path) -> None:
    with real_portal(tmp_path, session_ssh=False) as real:
        made = real.add_session()
        program = log_in(real, tmp_path, *SCOPES, "ssh")
        for session in ("s1", made.id[:8]):
            done = await program.run("ssh", session)
            assert (done.code, "SSH is disabled on this site." in done.err) == (5, True)


async def test_ssh_proxy_of_a_login_without_the_scope_says_how_to_get_it(
    unpermitted: ClientProgram, real: Real
) -> None:
    real.add_session()
    assert (await unpermitted.run("ssh-config")).code == 0
    done = await unpermitted.run("ssh-proxy", "s1.portal")
    assert done.code == 1
    assert "doesn't have the scope ssh" in done.err
    assert "Run: dsp login --scope ssh" in done.err


async def test_ssh_proxy_of_a_name_that_is_no_host_sends_nothing(program: ClientProgram) -> None:
    for host in ("s1 .portal", "s1/../x", "$(id)"):
        done = await program.run("ssh-proxy", host)
        assert (done.code, "is not the name of a session" in done.err) == (2, True)


async def test_ssh_is_run_with_the_sessions_host_and_its_status_is_returned(
    program: ClientProgram, real: Real
) -> None:
    """The token is in no argument."""
    made = real.add_answering_session(SSHD)
    other = with_ssh(program, 'for each; do echo "$each"; done; exit 7')
    for session in ("s1", made.id[:8]):
        done = await other.run("ssh", session, "--", "-l", "a b")
        (config,) = (program.config.parent / "ssh").glob("*/config")
        expected = ["-F", str(config), "--", "s1.portal", "-l", "a b"]
        assert (done.code, done.out.splitlines()) == (7, expected)


async def test_ssh_of_a_jobs_number_is_run_with_the_jobs_host(
    program: ClientProgram, real: Real
) -> None:
    real.add_job()
    waits = real.add_job(job_id=4712, state=JobState.QUEUED)
    other = with_ssh(program, 'for each; do echo "$each"; done; exit 7')
    done = await other.run("ssh", "4711", "--", "nvidia-smi")
    assert (done.code, done.out.splitlines()[2:]) == (7, ["--", "4711.portal", "nvidia-smi"])
    for arguments in (("ssh", "4712"), ("ssh-proxy", "4712.portal")):
        done = await other.run(*arguments)
        assert (done.code, "The job isn't running." in done.err) == (5, True), waits.id
    assert (await other.run("ssh", "4713")).code == 4


async def test_ssh_itself_reports_what_the_portal_refuses(
    unpermitted: ClientProgram, real: Real
) -> None:
    real.add_answering_session(SSHD)
    done = await unpermitted.run("ssh", "s1", "--", "true")
    assert done.code == 255
    assert "portal: This access token doesn't have the scope ssh." in done.err
    assert "portal: Run: dsp login --scope ssh" in done.err
