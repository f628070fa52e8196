"""`portal check` reports a wrong clock, and a munge that does not run, by Slurm's munge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.portal_check import check
from tests.live import Live

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


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
