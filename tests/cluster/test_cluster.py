"""The single-machine cluster in real use: jobs, nodes, directory, accounts, and killed services."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.one_machine import (
    CHECKOUT,
    RAISE,
    Cluster,
    argv_of,
    ldap,
    one_machine,
    require_confined,
)
from tests.polling import PATIENCE_S, wait_until

TWO_CORES = "cores_per_socket = 2"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with one_machine("t-cl") as found:
        found.run(*RAISE)
        yield found


def test_up_again_leaves_everything_as_it_is(cluster: Cluster) -> None:
    before = {item["name"]: item["pid"] for item in cluster.status()["services"]}
    cluster.run(*RAISE)
    after = cluster.status()
    assert {item["name"]: item["pid"] for item in after["services"]} == before
    assert after["up"]
    assert {node["state"] for node in after["nodes"]} == {"idle"}


def test_a_gpu_job_sees_its_gpus_and_no_others(cluster: Cluster) -> None:
    require_confined(cluster, "GPUs")
    script = (
        "hostname; id -un; echo CVD=$CUDA_VISIBLE_DEVICES; "
        f"for n in 0 1 2 3; do head -c0 {cluster.state}/dev/nvidia$n 2>&1; done; true"
    )
    output = cluster.output("alice", cluster.submit("alice", script, "-p", "gpu", "--gpus=2"))
    assert output.splitlines()[:3] == ["node01", "alice", "CVD=0,1"]
    # no job has the driver; cgroups permit two of the devices only
    refused = re.findall(r"nvidia(\d)' for reading: Operation not permitted", output)
    assert refused == ["2", "3"]


def test_a_job_without_gpus_sees_none(cluster: Cluster) -> None:
    require_confined(cluster, "GPUs")
    script = f"for n in 0 1 2 3; do head -c0 {cluster.state}/dev/nvidia$n 2>&1; done; true"
    output = cluster.output("alice", cluster.submit("alice", script, "-p", "gpu"))
    assert output.count("Operation not permitted") == 4


def test_a_group_at_its_limit_waits_with_slurms_reason(cluster: Cluster) -> None:
    options = ("-p", "gpu", "-A", "teaching", "--gpus=1")
    first = [cluster.submit("alice", "sleep 300", *options) for _ in range(2)]
    third = cluster.submit("carol", "true", *options)
    reason = ["PENDING", "(AssocGrpGRES)"]
    wait_until(lambda: cluster.job(third, "%T %R") == reason, "the reason of the third")
    assert [cluster.job(job, "%T") for job in first] == [["RUNNING"], ["RUNNING"]]
    cluster.exec("scancel", *map(str, [*first, third]), user="portal")  # permitted for an operator
    wait_until(lambda: cluster.job(third, "%T") == ["CANCELLED"], "the operator's cancel")


def test_memory_is_confined(cluster: Cluster) -> None:
    require_confined(cluster, "memory")
    eat = "python3 -c 'x = bytearray(200_000_000)'"
    job = cluster.submit("bob", eat, "--mem=50M")
    wait_until(lambda: cluster.job(job, "%T") == ["OUT_OF_MEMORY"], "the job to run out of memory")


def test_cores_are_confined(tmp_path: Path) -> None:
    """On nodes that claim no more cores than this machine has."""
    text = (CHECKOUT / "cluster/cluster.toml").read_text(encoding="utf-8")
    assert "cores_per_socket = 16" in text
    small = tmp_path / "cluster.toml"
    small.write_text(
        text.replace("sockets = 2", "sockets = 1").replace("cores_per_socket = 16", TWO_CORES)
    )
    show = "nproc; grep Cpus_allowed_list /proc/self/status; "
    with one_machine("t-cores") as cluster:
        cluster.run(*RAISE, "--description", str(small))
        require_confined(cluster, "cores")
        meet = (
            "touch ~/$SLURM_JOB_ID; until [ $(ls ~ | grep -c '^[0-9]*$') = 2 ]; do sleep 0.1; done"
        )
        options = ("-p", "gpu", "-w", "node01", "-c", "1", "--mem=100")
        jobs = [cluster.submit("alice", show + meet, *options) for _ in range(2)]
        shown = [cluster.output("alice", job) for job in jobs]
    assert [text.split()[0] for text in shown] == ["1", "1"]
    # both ran at the same time, each on its own core
    cores = [re.findall(r"Cpus_allowed_list:\s+(\S+)", text) for text in shown]
    assert sorted(cores) == [["0"], ["1"]]


def test_the_folders_of_ended_jobs_go(cluster: Cluster) -> None:
    """In a long-running cluster, cgroups would accumulate."""
    require_confined(cluster, "memory")
    job = cluster.submit("alice", "true", "-w", "node01", "-p", "gpu")
    wait_until(lambda: cluster.job(job, "%T") == ["COMPLETED"], "the job to end")

    def folders() -> str:
        find = f"find /sys/fs/cgroup -type d -name 'job_{job}'"
        return cluster.exec("sh", "-c", find, node="node01")

    wait_until(lambda: not folders(), "its cgroups to go")


def test_nodes_are_hosts_of_their_own(cluster: Cluster) -> None:
    status = cluster.status()
    names = cluster.exec("srun", "-p", "debug", "-N", str(len(status["nodes"])), "hostname")
    assert sorted(names.split()) == [node["name"] for node in status["nodes"]]
    if status["mode"] != "veth":
        pytest.skip("this machine refuses network namespaces: its nodes share the loopback")
    port, first = "40123", status["nodes"][0]
    serve = ["python3", "-m", "http.server", port, "--directory", "/usr/share/doc", "--bind"]
    inside = ("exec", "--node", first["name"], "--user", "alice", "--")
    server = subprocess.Popen(
        argv_of(cluster.state, *inside, *serve, "0.0.0.0"),  # noqa: S104  the node's alone
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    reach = ("bash", "-c", 'exec 3<>"/dev/tcp/$0/$1" && echo reached || echo refused')
    try:

        def at_home() -> bool:
            return cluster.exec(*reach, "127.0.0.1", port, node="node01") == "reached\n"

        wait_until(at_home, "the server on its own loopback")
        assert cluster.exec(*reach, "127.0.0.1", port, user="bob", node="node02") == "refused\n"
        assert cluster.exec(*reach, first["address"], port, node="node02") == "reached\n"
    finally:
        cluster.exec("pkill", "-u", "alice", "-f", f"http.server {port}", node="node01")
        server.wait(10)


def test_the_directory_checks_passwords_under_tls_only(cluster: Cluster) -> None:
    known = cluster.status()["ldap"]
    dn = f"uid=alice,ou=people,{known['suffix']}"
    password = cluster.password("alice")
    plain, tls = ["-H", known["url"]], ["-H", known["ldaps_url"]]
    assert ldap(cluster, password, dn, *plain, "-ZZ") == (0, f"dn:{dn}\n")
    assert ldap(cluster, password, dn, *tls) == (0, f"dn:{dn}\n")
    assert "Confidentiality required" in ldap(cluster, password, dn, *plain)[1]
    assert "Invalid credentials (49)" in ldap(cluster, "wrong", dn, *tls)[1]


def test_locked_account_is_reported_with_ppolicy_control(cluster: Cluster) -> None:
    known = cluster.status()["ldap"]
    dn, password = f"uid=dave,ou=people,{known['suffix']}", cluster.password("dave")
    code, words = ldap(cluster, password, dn, "-H", known["ldaps_url"], "-e", "ppolicy")
    assert code != 0
    assert "Account locked" in words
    assert "locked" not in ldap(cluster, password, dn, "-H", known["ldaps_url"])[1]


def test_the_service_account_can_set_passwords(cluster: Cluster) -> None:
    known = cluster.status()["ldap"]
    password = Path(known["bind_password_file"]).read_text().strip()
    answer = ldap(cluster, password, known["bind_dn"], "-H", known["ldaps_url"])
    assert answer == (0, f"dn:{known['bind_dn']}\n")
    assert Path(known["bind_password_file"]).stat().st_mode & 0o077 == 0


def test_the_portals_account_may_become_users_through_the_launcher_only(cluster: Cluster) -> None:
    launcher = str(cluster.state / "libexec" / "launcher")

    def sudo(*argv: str) -> str:
        command = ["exec", "--user", "portal", "--", "sudo", "-n", *argv]
        done = cluster.run(*command, check=False)
        return done.stdout + done.stderr

    hello = json.loads(sudo("-u", "alice", "--", launcher).splitlines()[0])
    assert (hello["username"], hello["uid"]) == ("alice", 20001)
    assert Path(launcher).stat().st_uid == 0
    for refused in (["-u", "alice", "--", "id"], ["-u", "root", "--", launcher], ["id"]):
        assert "password is required" in sudo(*refused)
    assert "password is required" in sudo("-u", "slurm", "--", launcher)


def test_accounts_of_the_services_exist_on_the_head_alone(cluster: Cluster) -> None:
    assert "uid=19001(portal)" in cluster.exec("id", "portal")
    machine = Path("/etc/passwd").read_text()
    assert "portalhub" not in machine
    assert str(cluster.state) not in machine


@pytest.mark.parametrize("node", ["", "node01"])
def test_new_account_on_host_keeps_accounts_of_the_cluster(cluster: Cluster, node: str) -> None:
    """A new /etc/passwd on the machine would undo the mount over the old one."""
    own = cluster.exec("stat", "--format=%d", "/etc", node=node)
    assert int(own) != Path("/etc").stat().st_dev


@pytest.mark.parametrize("name", ["slapd", "munged", "slurmctld", "nslcd"])
def test_what_dies_comes_back(cluster: Cluster, name: str) -> None:
    before = cluster.service(name)
    os.kill(before["pid"], signal.SIGKILL)

    def back() -> bool:
        now = cluster.service(name)
        return bool(now["state"] == "running" and now["pid"] != before["pid"])

    wait_until(back, f"{name} to come back")
    wait_until(lambda: "UP" in cluster.exec("scontrol", "ping"), "slurmctld to answer")
    wait_until(
        lambda: "alice" in cluster.run("exec", "--", "id", "alice", check=False).stdout, "users"
    )


def test_a_part_can_be_held_down(cluster: Cluster) -> None:
    cluster.run("stop", "slapd")
    assert cluster.service("slapd")["state"] == "stopped"
    known = cluster.status()["ldap"]
    assert "Can't contact" in ldap(cluster, "x", known["bind_dn"], "-H", known["ldaps_url"])[1]
    cluster.run("start", "slapd")
    wait_until(
        lambda: "Invalid" in ldap(cluster, "x", known["bind_dn"], "-H", known["ldaps_url"])[1],
        "slapd",
    )
    unknown = cluster.run("stop", "nonsense", check=False)
    assert unknown.returncode != 0
    assert "unknown service" in unknown.stderr


def wait_for_node(cluster: Cluster, name: str, timeout_s: float = PATIENCE_S) -> None:
    """Wait until Slurm uses this node again; a failure shows its last state and Slurm's reason."""

    def probe() -> str:
        return cluster.exec("sinfo", "-h", "-N", "-n", name, "-o", "%T %E")

    wait_until(probe, f"{name} to be back", timeout_s, done=lambda seen: seen.startswith("idle "))


def test_a_node_can_be_held_down(cluster: Cluster) -> None:
    cluster.run("stop", "node03")
    assert cluster.run("exec", "--node", "node03", "--", "true", check=False).returncode != 0
    cluster.run("start", "node03")
    wait_for_node(cluster, "node03")
    srun = ("srun", "-p", "cpu", "-w", "node03", "hostname")
    wait_until(lambda: cluster.exec(*srun, user="alice") == "node03\n", "a job on it")
    cluster.run("restart", "slurmd@node03")
    wait_until(lambda: cluster.exec(*srun, user="alice") == "node03\n", "a job on it")


def test_a_node_that_loses_power_boots_again(cluster: Cluster) -> None:
    job = cluster.submit("alice", "sleep 300", "-w", "node02", "-p", "gpu", "--no-requeue")
    wait_until(lambda: cluster.job(job, "%T") == ["RUNNING"], "the job to run")
    state = re.escape(str(cluster.state))
    # the oldest: its children have the same name until they execute another program
    found = subprocess.run(
        [
            "pgrep",
            "--oldest",
            "-f",
            f"^/usr/bin/python3 -m cluster.host.node inside {state} node02$",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    os.kill(int(found.stdout), signal.SIGKILL)
    wait_until(lambda: cluster.job(job, "%T") == ["NODE_FAIL"], "Slurm to notice")

    # If it booted before Slurm noticed, it may have to wait for the next registration request:
    # every 20th ping, with pings every third of SlurmdTimeout (slurmctld's ping_nodes.c)
    wait_for_node(cluster, "node02", 300)
    srun = ("exec", "--user", "alice", "--", "srun", "-p", "gpu", "-w", "node02", "hostname")
    wait_until(lambda: cluster.run(*srun, check=False).stdout == "node02\n", "a job on it")
