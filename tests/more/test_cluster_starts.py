"""Starting and stopping the single-machine cluster: repeated, interrupted, refused, changed."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cluster.one_machine import (
    CHECKOUT,
    NOTHING,
    RAISE,
    ROOT,
    Cluster,
    argv_of,
    ldap,
    one_machine,
    traces,
)
from tests.polling import PATIENCE_S, wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with one_machine("t-cl") as found:
        found.run(*RAISE)
        yield found


@pytest.fixture
def other() -> Iterator[Cluster]:
    """A second cluster that a test may break."""
    with one_machine("t-cl2") as found:
        yield found


def test_a_power_cut_of_everything_leaves_no_ghosts(other: Cluster) -> None:
    """All processes are killed; jobs that run in Slurm's saved state are gone."""
    other.run(*RAISE)
    job = other.submit("alice", "sleep 300", "--no-requeue")
    wait_until(lambda: other.job(job, "%T") == ["RUNNING"], "the job to run")
    other.run("restart", "slurmctld")  # slurmctld saves its state when it ends
    pattern = f"^/usr/bin/python3 -m cluster.host.head_init {re.escape(str(other.state))}$"
    subprocess.run(["pkill", "-KILL", "-f", pattern], check=True)
    wait_until(lambda: not traces(other.state)["processes"], "everything to end")
    assert other.run("status").stdout == "down\n"
    other.run(*RAISE)
    assert other.job(job, "%T") == ["NODE_FAIL"]
    assert other.exec("srun", "hostname", user="alice").startswith("node")


def test_two_clusters_side_by_side_and_nothing_left_of_one(
    cluster: Cluster, other: Cluster
) -> None:
    assert traces(other.state) == NOTHING
    other.run(*RAISE)
    one, two = cluster.status(), other.status()
    assert one["subnet"] != two["subnet"]
    assert one["base_url"] != two["base_url"]
    assert traces(other.state)["processes"]
    other.submit("alice", "sleep 300")
    other.run("down")
    assert traces(other.state) == NOTHING
    assert cluster.exec("srun", "hostname", user="alice").startswith("node")
    other.run("down")  # nothing to do, and no error


def test_a_warm_start_remembers_and_forgets_no_job(other: Cluster) -> None:
    other.run(*RAISE)
    password, job = other.password("alice"), other.submit("alice", "sleep 300")
    wait_until(lambda: other.job(job, "%T") == ["RUNNING"], "the job to run")
    other.run("down")
    other.run(*RAISE)
    assert other.password("alice") == password
    known = other.status()["ldap"]
    dn = f"uid=alice,ou=people,{known['suffix']}"
    assert ldap(other, password, dn, "-H", known["ldaps_url"])[0] == 0

    def state() -> str:
        return other.exec("sacct", "-X", "-n", "-o", "state%30", "-j", str(job)).strip()

    wait_until(lambda: state().startswith("CANCELLED"), "accounting to know the end")


STEPS = ("configuration", "head", "directory", "MariaDB", "accounts", "Slurm and its nodes")


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_start_can_be_run_again(other: Cluster, step: str) -> None:
    """Killed as soon as it has reported a step; started from nothing, so everything is
    incomplete."""
    process = subprocess.Popen(
        argv_of(other.state, *RAISE), cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        assert any(step in line for line in process.stdout)
        process.kill()
    process.wait(10)
    other.run(*RAISE)
    output = other.output(
        "alice", other.submit("alice", "echo CVD=$CUDA_VISIBLE_DEVICES", "--gpus=1", "-p", "gpu")
    )
    assert output == "CVD=0\n"


def test_an_interrupted_start_can_be_taken_down(other: Cluster) -> None:
    process = subprocess.Popen(
        argv_of(other.state, *RAISE), cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        assert any("head" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
    process.wait(60)
    other.run("down")
    assert traces(other.state) == NOTHING


def test_taken_addresses_are_replaced(other: Cluster) -> None:
    """The subnet and the port are in use when the cluster starts again."""
    other.run(*RAISE)
    before = other.status()
    other.run("down")
    port = int(before["base_url"].rsplit(":", 1)[1])
    taker = subprocess.Popen(
        ["/usr/bin/python3", "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        cwd="/usr/share/doc",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _listens(port), "the other server")
        if before["mode"] == "veth":
            ip("link", "add", "dsptest0", "type", "bridge")
            ip("addr", "add", f"{before['head']}/24", "dev", "dsptest0")
            ip("link", "set", "dsptest0", "up")
        printed = other.run(*RAISE).stdout
        after = other.status()
    finally:
        taker.terminate()
        taker.wait(10)
        if before["mode"] == "veth":
            ip("link", "del", "dsptest0")
    assert "were taken" in printed
    assert after["base_url"] != before["base_url"]
    assert (after["subnet"] != before["subnet"]) == (before["mode"] == "veth")
    dn = f"uid=alice,ou=people,{after['ldap']['suffix']}"
    # the certificate is for the new address
    assert ldap(other, other.password("alice"), dn, "-H", after["ldap"]["ldaps_url"])[0] == 0


def _listens(port: int) -> bool:
    text = Path("/proc/net/tcp").read_text()
    return f"0100007F:{port:04X}" in text


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


REFUSED = [
    ("--mode", "loopback"),
    ("--without", "cgroups", "--without", "mknod", "--without", "fuse"),
]


@pytest.mark.parametrize("refusal", [*REFUSED, (*REFUSED[0], *REFUSED[1])], ids=" ".join)
def test_cluster_falls_back_with_note_where_host_refuses(
    other: Cluster, refusal: Sequence[str]
) -> None:
    printed = other.run(*RAISE, *refusal).stdout
    status = other.status()
    for word in ("loopback", "cgroups", "mknod", "fuse"):
        expected = word in refusal
        matching = [note for note in status["notes"] if word.lower() in note.lower()]
        assert bool(matching) == expected, word
        assert all(f"note: {note}" in printed for note in matching)
    script = "echo $(hostname) CVD=$CUDA_VISIBLE_DEVICES"
    options = ("-p", "gpu", "--gpus=3", "-w", "node02")
    output = other.output("alice", other.submit("alice", script, *options))
    assert output == "node02 CVD=0,1,2\n"
    names = other.exec("srun", "-p", "debug", "-N3", "hostname", user="bob")
    assert sorted(names.split()) == ["node01", "node02", "node03"]
    other.run("down")
    assert traces(other.state) == NOTHING


def without_capabilities(state: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Run `up` as a root without these capabilities, as in most containers."""
    bound = ",".join(f"-{name}" for name in names)
    return subprocess.run(
        ["setpriv", f"--bounding-set={bound}", *argv_of(state, *RAISE)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_a_root_that_may_less(other: Cluster) -> None:
    done = without_capabilities(other.state, "net_admin", "mknod")
    assert done.returncode == 0, done.stderr
    assert "no network namespaces" in done.stdout
    assert "no mknod" in done.stdout
    script = "echo CVD=$CUDA_VISIBLE_DEVICES"
    output = other.output("alice", other.submit("alice", script, "-p", "gpu", "--gpus=1"))
    assert output == "CVD=0\n"


def test_root_without_namespaces_sees_missing_capability(other: Cluster) -> None:
    done = without_capabilities(other.state, "sys_admin")
    assert done.returncode != 0
    assert "CAP_SYS_ADMIN is needed" in done.stderr
    assert "Traceback" not in done.stderr
    other.run("down")
    assert traces(other.state) == NOTHING


def test_another_layout_and_a_user_more_cost_lines(other: Cluster, tmp_path: Path) -> None:
    text = (CHECKOUT / "cluster" / "cluster.toml").read_text(encoding="utf-8")
    small = tmp_path / "cluster.toml"
    small.write_text(text.replace('"node[01-02]"', '"node01"').replace("gpus = 4", "gpus = 1"))
    other.run(*RAISE, "--description", str(small))
    assert [node["gpus"] for node in other.status()["nodes"]] == [1, 0]
    other.run("down")
    new = '[[user]]\nname = "erin"\nuid = 20005\nfull_name = "Erin E"\naccounts = ["research"]\n'
    small.write_text(small.read_text() + new)
    other.run(*RAISE, "--description", str(small))
    assert other.exec("srun", "id", "-un", user="erin") == "erin\n"
    assert other.password("erin")


def test_a_folder_that_users_cant_reach_is_refused() -> None:
    closed = ROOT / "t-closed"
    shutil.rmtree(closed, ignore_errors=True)
    closed.mkdir(mode=0o700)
    try:
        done = Cluster(closed / "x").run(*RAISE, check=False)
    finally:
        shutil.rmtree(closed)
    assert done.returncode != 0
    assert "closed to other users" in done.stderr
