"""The demo on a stock Debian 12: confinement, output, and the daemons started at boot."""

from __future__ import annotations

from cluster.install import DAEMONS
from tests.vm.stock import Stock

CONFINEMENT = (
    *("test_a_gpu_job_sees_its_gpus_and_no_others", "test_a_job_without_gpus_sees_none"),
    *("test_memory_is_confined", "test_cores_are_confined", "test_the_folders_of_ended_jobs_go"),
    *("test_a_node_can_be_held_down", "test_a_node_that_loses_power_boots_again"),
)


def running(stock: Stock) -> list[str]:
    """Return the prepared packages' daemons that systemd runs."""
    units = " ".join(f"{name}.service" for name in DAEMONS)
    states = stock.guest.shell(f"systemctl is-active {units} || true").split()
    assert len(states) == len(DAEMONS)
    return [name for name, state in zip(DAEMONS, states, strict=True) if state == "active"]


def test_the_machine_is_a_stock_one(stock: Stock) -> None:
    look = "stat -f -c %T /sys/fs/cgroup; cat /proc/1/comm; ls /etc/resolv.conf || true"
    assert stock.guest.shell(look).split() == ["cgroup2fs", "systemd"]


def test_prepared_daemons_do_not_start_at_boot(stock: Stock) -> None:
    assert running(stock) == []
    assert stock.guest.shell("ss -Hltn").strip() == ""


def test_demo_runs_without_resolv_conf_and_reports_confinement(stock: Stock) -> None:
    done = stock.run_demo()
    assert done.code == 0, done.output + done.errors
    assert "shows loss" in done.output
    for line in (
        "jobs' GPUs: confined (cgroups v2)",
        "jobs' memory: confined (cgroups v2)",
        "jobs' cores: not confined (a node claims 32 cores, this machine has fewer)",
    ):
        assert line in done.output
    assert "no cgroups" not in done.output


def test_demo_explains_why_kernels_do_not_start(stock: Stock) -> None:
    place = "/var/lib/apptainer"  # where it mounts images
    stock.guest.run(f"mv {place} {place}.before")
    try:
        done = stock.run_demo()
    finally:
        stock.guest.run(f"mv {place}.before {place}")
    assert done.code == 1
    assert "Traceback" not in done.errors
    assert "the main job failed: the kernel of session “demo” failed" in done.errors
    assert "container creation failed" in done.errors


def test_down_leaves_nothing(stock: Stock) -> None:
    stock.cluster("down")
    left = "find /sys/fs/cgroup -name 'dsp*'; ls /sys/class/net | grep dsp || true"
    assert stock.guest.shell(f"{left}; grep {stock.demo} /proc/mounts || true") == ""


def test_jobs_are_confined(stock: Stock) -> None:
    """The cluster's own tests, run in the virtual machine."""
    python = f"{stock.state}/dev/bin/python"
    chosen = [f"tests/cluster/test_cluster.py::{name}" for name in CONFINEMENT]
    done = stock.in_checkout([python, "-m", "pytest", "-q", "-rs", *chosen], check=False)
    assert done.code == 0, done.output + done.errors
    assert f"{len(CONFINEMENT)} passed" in done.output
