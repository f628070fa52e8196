"""sshd's configuration: the job's environment, without variables that could change it."""

from pathlib import Path

import pytest

from spawner.node.ssh.sshd import render_config, render_environment


def test_environment_job_variables_are_set_in_one_line() -> None:
    """sshd uses only the first SetEnv."""
    given = {"SLURM_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": "0,1", "NOTE": "two words", "EMPTY": ""}
    assert render_environment(given) == (
        'SetEnv "CUDA_VISIBLE_DEVICES=0,1" "EMPTY=" "NOTE=two words" "SLURM_JOB_ID=7"'
    )
    assert render_environment({}) == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASH_FUNC_module%%", "() { x; }"),
        ("A B", "x"),
        ("QUOTE", 'x" PermitRootLogin=yes "'),
        ("BACKSLASH", "x\\"),
        ("LINE", "x\nAuthorizedKeysFile /tmp/evil"),
        ("CONTROL", "\x1b[31m"),
        ("HOME", "/root"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
    ],
)
def test_environment_other_variables_are_left_out(name: str, value: str) -> None:
    assert render_environment({name: value, "KEPT": "1"}) == 'SetEnv "KEPT=1"'


def test_config_only_keys_of_this_connection_are_accepted() -> None:
    lines = render_config(Path("/tmp/portal-x/ssh"), {"SLURM_JOB_ID": "7"}).splitlines()
    assert "HostKey /tmp/portal-x/ssh/host_key" in lines
    assert {"AuthenticationMethods publickey", "PasswordAuthentication no", "UsePAM no"} <= {*lines}
    assert [line for line in lines if line.startswith("AuthorizedKeys")] == []
    assert lines[-1] == 'SetEnv "SLURM_JOB_ID=7"'
