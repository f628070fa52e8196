"""A separate cluster as an operator uses it, and its traces on the machine.

Its state folder lies beside the others; requires root and Debian's packages.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.polling import PATIENCE_S, wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
DIGEST = hashlib.sha256(str(CHECKOUT).encode()).hexdigest()[:8]
ROOT = Path(os.environ.get("PORTAL_STATE_ROOT", f"/srv/portal-{DIGEST}"))
RAISE = ("up", "--only-slurm")
UNCONFINED = "PORTAL_ALLOW_UNCONFINED"


def argv_of(state: Path, *arguments: str) -> list[str]:
    return ["/usr/bin/python3", "-m", "cluster", "--state", str(state), *arguments]


class Cluster:
    def __init__(self, state: Path) -> None:
        self.state = state

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            argv_of(self.state, *arguments),
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0 or not check, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done

    def exec(self, *argv: str, user: str = "root", node: str = "") -> str:
        where = ["--node", node] if node else []
        return self.run("exec", *where, "--user", user, "--", *argv).stdout

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", "--json").stdout)
        return found

    def service(self, name: str) -> dict[str, Any]:
        found: dict[str, Any]
        (found,) = (item for item in self.status()["services"] if item["name"] == name)
        return found

    def password(self, user: str) -> str:
        users: dict[str, str] = json.loads(self.run("credentials").stdout)["users"]
        return users[user]

    def submit(self, user: str, script: str, *options: str) -> int:
        return int(self.exec("sbatch", "--parsable", *options, "--wrap", script, user=user).strip())

    def job(self, job_id: int, columns: str) -> list[str]:
        """Return columns of squeue, which with -t all remembers an ended job for a while."""
        text = self.exec("squeue", "-h", "-t", "all", "-j", str(job_id), "-o", columns)
        return text.split()

    def output(self, user: str, job_id: int) -> str:
        """Return a job's output once it has ended."""
        ended = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"}
        wait_until(lambda: self.job(job_id, "%T")[0] in ended, f"job {job_id} to end")
        return (self.state / "home" / user / f"slurm-{job_id}.out").read_text()


@contextmanager
def one_machine(name: str) -> Iterator[Cluster]:
    """Yield a cluster that does not exist before, and is removed afterwards."""
    found = Cluster(ROOT / name)
    found.run("down", "--purge")
    try:
        yield found
    finally:
        found.run("down", "--purge")


def traces(state: Path) -> dict[str, list[str]]:
    """Return a cluster's traces outside its folder: processes, mounts, network devices, cgroups."""
    token = "dsp" + hashlib.sha256(str(state).encode()).hexdigest()[:8]
    needle = str(state).encode()
    processes = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            except OSError:
                continue
            if needle in words:
                processes.append(words.replace(b"\0", b" ").decode(errors="replace")[:200])
    return {
        "processes": processes,
        "mounts": [
            line for line in Path("/proc/mounts").read_text().splitlines() if str(state) in line
        ],
        "devices": [path.name for path in Path("/sys/class/net").iterdir() if token in path.name],
        "cgroups": [
            str(path)
            for pattern in (token, f"*/{token}")  # version 2 and version 1
            for path in Path("/sys/fs/cgroup").glob(pattern)
        ],
    }


def require_confined(cluster: Cluster, resource: str) -> None:
    """Fail where this machine cannot confine jobs to a resource.

    Skip the test instead if PORTAL_ALLOW_UNCONFINED permits it.
    """
    found = cluster.status()["confinement"][resource]
    if found["confined"]:
        return
    problem = f"jobs' {resource} can't be confined on this machine: {found['detail']}"
    if os.environ.get(UNCONFINED):
        pytest.skip(problem)
    pytest.fail(f"{problem}. Set {UNCONFINED}=1 to run the other tests without it.")


NOTHING: dict[str, list[str]] = {"processes": [], "mounts": [], "devices": [], "cgroups": []}


def ldap(cluster: Cluster, password: str, dn: str, *options: str) -> tuple[int, str]:
    """Return ldapwhoami's exit status and output; the password is passed in a file."""
    known = cluster.status()["ldap"]
    file = cluster.state / "run" / "test-password"
    file.touch(0o600)
    file.write_text(password)
    done = subprocess.run(
        ["ldapwhoami", "-x", "-D", dn, "-y", str(file), *options],
        env={**os.environ, "LDAPTLS_CACERT": known["ca_file"], "LDAPTLS_REQCERT": "demand"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout + done.stderr
