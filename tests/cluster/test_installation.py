"""`portal check` on a real cluster: no problems, and the report of a wrong clock by Slurm's
munge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live import Live

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


def check(portal: Live, *options: str, slurm_conf: Path | None = None) -> dict[str, str]:
    """Return the result for each check: empty, or the problem."""
    etc, python = portal.state / "etc", portal.state.parent / "venv/bin/python"
    env = [f"PORTAL_CONFIG={etc}/portal.toml"]
    env += [f"PORTAL_SLURM_CONF={slurm_conf}"] if slurm_conf else []
    argv = ["env", *env, str(python), "-I", "-m", "portal", "check", *options]
    # its exit status reports failures, and so do its lines
    output = portal.exec_as("portal", ["sh", "-c", '"$@" || true', "sh", *argv])
    found = re.findall(r"^(ok     |FAILED )  ?([^:\n]+?)(?:: (.*))?$", output, re.MULTILINE)
    return {what: problem if how == "FAILED " else "" for how, what, problem in found}


def test_all_checks_pass_including_those_on_a_node(portal: Live) -> None:
    found = check(portal, "--as", "bob")
    for what in (
        "account", "database", "slurm", "clock of slurmctld", "slurm accounting", "slurm operator",
        "launcher", "sudo", "hub", "nginx", "launcher as bob", "job as bob", "runtime on the nodes",
        "shared folders on the nodes", "Apptainer on the nodes", "portal from the nodes",
        "hub from the nodes",
    ):  # fmt: skip
        assert found[what] == "", what
    assert any(what.startswith("clock of node") for what in found)
    jobs = portal.exec_as("bob", ["sh", "-c", "ls ~/.local/share/portal/jobs || true"])
    # its folder was removed too
    assert "portal-check" not in portal.exec_as("bob", ["squeue", "-h", "-o", "%j", "-u", "bob"])
    assert all(len(name) == 36 for name in jobs.split())


@pytest.mark.parametrize("name", ["root", "unknown-user"])
def test_who_is_no_user_of_the_portals_is_not_acted_for(portal: Live, name: str) -> None:
    found = check(portal, "--as", name)
    assert found[f"launcher as {name}"]
    assert f"job as {name}" not in found


@contextmanager
def another_clock(portal: Live, offset: str) -> Iterator[Path]:
    """A munged with the cluster's key and a wrong clock; yields a slurm.conf that uses it."""
    folder = portal.state / "run/skewed"
    key = portal.state / "state/munge/munge.key"
    portal.exec_as("root", ["install", "-d", "-o", "munge", "-g", "munge", str(folder)])
    text = (portal.state / "etc/slurm.conf").read_text()
    conf = folder / "slurm.conf"
    conf.write_text(text.replace("run/munge/munge.sock", "run/skewed/munge.sock"))
    assert "run/skewed" in conf.read_text()
    munged = ["munged", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock"]
    munged += [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")]
    faked = ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME={offset}"]
    become = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
    # it answers before it moves to the background
    portal.exec_as("root", [*become, *faked, *munged])
    try:
        yield conf
    finally:
        stop = ["munged", "--stop", f"--socket={folder}/munge.sock"]
        portal.exec_as("root", stop)


@pytest.mark.parametrize("offset", ["-900s", "+900s"])
def test_a_clock_a_quarter_of_an_hour_off(portal: Live, offset: str) -> None:
    with another_clock(portal, offset) as conf:
        found = check(portal, slurm_conf=conf)
    assert "their clocks, munge keys or versions may differ" in found["slurm"]
    assert found["sudo"] == ""


def test_without_munge(portal: Live) -> None:
    with another_clock(portal, "+0s") as conf:
        assert check(portal, slurm_conf=conf)["slurm"] == ""
    assert "munge is not running on the portal's host" in check(portal, slurm_conf=conf)["slurm"]
