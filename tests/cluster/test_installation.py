"""`portal check` on a real cluster."""

from __future__ import annotations

import pytest

from tests.cluster.portal_check import check
from tests.live import Live


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
