"""Start the head, the directory, accounting and Slurm, in parallel as far as possible."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from cluster.config import secret
from cluster.config.render import base_ldif
from cluster.errors import ClusterError
from cluster.handle import ClusterHandle
from cluster.host.machine import PATH, answers, folder, wait_for, write
from cluster.parts import accounting, directory

UP_STATES = frozenset({"idle", "mixed", "allocated", "completing"})
UNSHARE = ("unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")


def start_head(handle: ClusterHandle) -> None:
    """Start the head detached: it survives this program, and an interrupt at the terminal."""
    paths = handle.paths
    head = ["/usr/bin/python3", "-m", "cluster.host.head_init", str(paths.state)]
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(paths.lib)}
    log = paths.log / "head.log"
    with handle.progress.step("head"), log.open("ab") as output:
        process = subprocess.Popen(
            [*UNSHARE, "--propagation", "private", *head],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**_pip_environment(), **environment, "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )
        head_answers = paths.control().exists
        wait_for(lambda: head_answers() or process.poll() is not None, "the head", log=log)
    if not head_answers():
        raise ClusterError(f"this machine refuses namespaces (see {log}): CAP_SYS_ADMIN is needed")


def _pip_environment() -> dict[str, str]:
    """Return the environment variables that define how this machine reaches package indexes."""
    ways = {"SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or name.upper() in ways
    }


def start_slurm(handle: ClusterHandle) -> None:
    """Start accounting in parallel with the directory and the nodes' namespaces; then Slurm."""
    paths, layout = handle.paths, handle.cluster.layout
    handle.start("munged", *(node.name for node in layout.nodes))
    with ThreadPoolExecutor(2) as pool:
        branches = [pool.submit(_start_accounting, handle), pool.submit(_start_directory, handle)]
        for branch in branches:
            branch.result()
    first, then = accounting.commands(layout), accounting.limit_commands(layout)
    applied, command_text = paths.data / "accounts", "\n".join([*first, *then])
    current = applied.exists() and applied.read_text() == command_text
    if not current:
        with handle.progress.step("Slurm's accounts"):
            accounting.run_commands(first, handle.on_head)
    with handle.progress.step("Slurm and its nodes"):
        _start_nodes(handle)
    if not current:
        with handle.progress.step("limits"):
            accounting.run_commands(then, handle.on_head)
            accounting.check(layout, handle.on_head)
        write(applied, command_text)


def _start_accounting(handle: ClusterHandle) -> None:
    paths, addresses = handle.paths, handle.cluster.addresses
    with handle.progress.step("MariaDB and slurmdbd"):
        accounting.ensure_database(paths, handle.on_head)
        handle.start("mariadbd")
        wait_for(paths.mysql_socket.exists, "MariaDB", log=paths.log / "mariadbd.log")
        wait_for(paths.munge_socket.exists, "munge", log=paths.log / "munged.log")
        handle.start("slurmdbd")
        listening = partial(answers, addresses.head, addresses.ports["slurmdbd"])
        wait_for(listening, "slurmdbd", log=paths.log / "slurmdbd.log")


def _start_directory(handle: ClusterHandle) -> None:
    paths, addresses = handle.paths, handle.cluster.addresses
    users = handle.cluster.layout.users
    with handle.progress.step("directory, users known"):
        directory.ensure_certificates(paths, addresses.head)
        hashes = secret.crypted(handle.secrets.passwords)
        directory.ensure_database(handle.cluster, base_ldif(handle.cluster, hashes))
        handle.start("slapd")
        listening = partial(answers, addresses.head, addresses.ports["ldap"])
        wait_for(listening, "slapd", log=paths.log / "slapd.log")
        handle.start("nslcd")
        lookup = ["getent", "passwd", users[-1].name]
        resolves = partial(_succeeds_on_head, handle, lookup)
        wait_for(resolves, "the directory's users", log=paths.log / "nslcd.log")
        for user in users:
            folder(paths.home / user.name, user.uid, 0o700)


def _start_nodes(handle: ClusterHandle) -> None:
    paths, addresses = handle.paths, handle.cluster.addresses
    handle.start("slurmctld")
    listening = partial(answers, addresses.head, addresses.ports["slurmctld"])
    wait_for(listening, "slurmctld", log=paths.log / "slurmctld.log")
    # it may close connections while it is still reading its state
    serving = partial(_succeeds_on_head, handle, ["squeue", "-h"])
    wait_for(serving, "slurmctld", log=paths.log / "slurmctld.log")
    _end_lost_jobs(handle)
    write(paths.go, "")  # the nodes wait for this file before they start slurmd
    nodes = frozenset(node.name for node in handle.cluster.layout.nodes)
    first_log = paths.log / f"slurmd-{min(nodes)}.log"
    wait_for(lambda: nodes <= _list_nodes_up(handle), "the nodes", log=first_log)


def _end_lost_jobs(handle: ClusterHandle) -> None:
    """End jobs that Slurm considers running after a power failure; no node is up yet, so none runs.

    Down nodes end their jobs, and return when they register (ReturnToService=2).
    """
    lost = set(handle.on_head(["squeue", "-h", "-t", "R,S", "-o", "%N"]).split())
    for nodes in sorted(lost):
        handle.on_head(["scontrol", "update", f"nodename={nodes}", "state=down", "reason=power"])


def _list_nodes_up(handle: ClusterHandle) -> frozenset[str]:
    lines = handle.on_head(["sinfo", "-h", "-N", "-o", "%N %T"]).splitlines()
    pairs = [line.split() for line in lines]
    return frozenset(name for name, state in pairs if state in UP_STATES)


def _succeeds_on_head(handle: ClusterHandle, argv: list[str]) -> bool:
    try:
        handle.on_head(argv, timeout_s=10)
    except ClusterError:
        return False
    return True
