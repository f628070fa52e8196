"""A short-lived Slurm of one version, in separate namespaces below a chroot.

slurmctld, slurmdbd on a MariaDB without a network, three slurmd on loopback. The machine's munged
and MariaDB serve it through sockets in its folder. Leaving the `with` block ends everything.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.polling import wait_until
from tests.recording.packages import USERS

NODES = ("node01", "node02", "node03")
COMMANDS = ("squeue", "scontrol", "sacct", "sacctmgr", "sbatch", "scancel")
CLUSTER = "demo"
PATIENCE_S = 60.0
_QOS = ("sacctmgr", "--noheader", "show", "qos", "format=name")

_SLURM_CONF = """\
ClusterName={cluster}
SlurmctldHost=head(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=/var/spool/ctld
SlurmdSpoolDir=/var/spool/slurmd-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MinJobAge=3000
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,bf_continue,batch_sched_delay=1
PriorityType=priority/multifactor
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu,gres/gpu:v100
{comment}
EnforcePartLimits=ALL
GresTypes=gpu
DefMemPerCPU=64
NodeName=node01 NodeHostname=head NodeAddr=127.0.0.1 Port=17001 Sockets=1 CoresPerSocket=8 \
ThreadsPerCore=1 RealMemory=4096 Gres=gpu:v100:2 Feature=v100
NodeName=node02 NodeHostname=head NodeAddr=127.0.0.1 Port=17002 Sockets=1 CoresPerSocket=8 \
ThreadsPerCore=1 RealMemory=4096 Gres=gpu:v100:2 Feature=v100
NodeName=node03 NodeHostname=head NodeAddr=127.0.0.1 Port=17003 Sockets=1 CoresPerSocket=8 \
ThreadsPerCore=1 RealMemory=4096 Feature=cpuonly
PartitionName=gpu Nodes=node[01-02] MaxTime=2-00:00:00 DefaultTime=01:00:00 State=UP
PartitionName=cpu Nodes=node03 Default=YES MaxTime=1-00:00:00 DefaultTime=01:00:00 State=UP
PartitionName=debug Nodes=node[01-03] MaxTime=UNLIMITED DefaultTime=00:10:00 Hidden=YES State=UP
"""
_GRES_CONF = "NodeName=node[01-02] Name=gpu Type=v100 File=/var/gpu/nvidia[0-1]\n"
_NO_CGROUPS = re.compile(r"^(Accounting|ProctrackType|TaskPlugin).*\n", re.MULTILINE)
_CGROUPS = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/affinity,task/cgroup\n"
_CGROUP_CONF = "ConstrainCores=yes\nConstrainDevices=yes\nConstrainRAMSpace=yes\n"
_DBD_CONF = """\
AuthType=auth/munge
DbdHost=head
DbdAddr=127.0.0.1
SlurmUser=root
LogFile=/var/log/slurmdbd.log
PidFile=/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
"""
# The second address: on a machine that has only 127.0.0.1 the C library does not resolve "any".
_INSIDE = """\
mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys" && mount -t proc proc "$1/proc" &&
hostname head && ip link set lo up && ip addr add 10.9.9.9/32 dev lo && echo ready &&
while :; do sleep 3600 & wait $!; done
"""


class Ground:
    """One version's cluster, for as long as it runs."""

    def __init__(self, folder: Path, root: Path, version: str) -> None:
        self.folder, self.root, self.version = folder, root, version
        self.release = tuple(int(number) for number in version.split(".")[:2])
        self.bin_dir = folder / "bin"
        self._enter: list[str] = []

    @contextmanager
    def running(self, accounting: Sequence[str]) -> Iterator[None]:
        """Start the daemons. `accounting`: sacctmgr's input before slurmctld registers."""
        with ExitStack() as stack:
            self._configure()
            self._start_munge(stack)
            self._start_database(stack)
            self._open_namespaces(stack)
            self._start(stack, "slurmdbd", "-D")
            wait_until(lambda: "normal" in self.inside(*_QOS, check=False), "slurmdbd", pause_s=0.3)
            self.inside("sacctmgr", "-i", stdin="\n".join([*accounting, "exit", ""]))
            self._start(stack, "slurmctld", "-D")
            for node in NODES:
                self._start(stack, "slurmd", "-D", "-N", node)
            wait_until(self._all_idle, "the nodes", pause_s=0.3)
            yield

    def config_with_cgroups(self) -> str:
        """Return the configuration that slurmctld reports with Slurm's plugins for cgroups.

        It runs alone, without accounting, and uses no cgroups itself.
        """
        with ExitStack() as stack:
            self._configure()
            etc = self.root / "etc/slurm"
            text = _NO_CGROUPS.sub("", (etc / "slurm.conf").read_text(encoding="utf-8"))
            (etc / "slurm.conf").write_text(text + _CGROUPS, encoding="utf-8")
            (etc / "cgroup.conf").write_text(_CGROUP_CONF, encoding="utf-8")
            self._start_munge(stack)
            self._open_namespaces(stack)
            self._start(stack, "slurmctld", "-D")
            wait_until(
                lambda: "UP" in self.inside("scontrol", "ping", check=False),
                "slurmctld",
                pause_s=0.3,
            )
            return self.inside("scontrol", "show", "config")

    def inside(self, *command: str, stdin: str = "", check: bool = True) -> str:
        """Run a command as root and return its output."""
        done = self.as_user("root", *command, stdin=stdin)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
        return done.stdout

    def as_user(
        self, name: str, *command: str, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as one of the users, in the user's home directory."""
        home, who = f"/home/{name}", f"--userspec={USERS[name]}:{USERS[name]}"
        words = ["/usr/bin/env", f"--chdir={home}", f"HOME={home}", *command]
        return subprocess.run(
            [*self._enter, who, "--groups=", str(self.root), *words],
            input=stdin, env=_environment(), capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip

    def from_elsewhere(self, root: Path, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as root with another root's version, against the daemons here."""
        *inside, chroot = self._enter
        for what, where in ((self.root / "run/munge", "run/munge"), (Path("/dev"), "dev")):
            bind = ["mountpoint", "-q", str(root / where)]
            if subprocess.run([*inside, *bind], check=False).returncode != 0:
                subprocess.run([*inside, "mount", "--bind", what, root / where], check=True)
        for name in ("slurm.conf", "cgroup.conf"):
            if (self.root / "etc/slurm" / name).exists():
                shutil.copy(self.root / "etc/slurm" / name, root / "etc/slurm" / name)
        return subprocess.run(
            [*inside, chroot, str(root), *command], stdin=subprocess.DEVNULL, check=False,
            env=_environment(), capture_output=True, encoding="utf-8", timeout=PATIENCE_S,
        )  # fmt: skip

    def _configure(self) -> None:
        etc = self.root / "etc/slurm"
        comment = "AccountingStoreFlags=job_comment" if self.release >= (21, 8) else ""
        text = _SLURM_CONF.format(cluster=CLUSTER, comment=comment)
        (etc / "slurm.conf").write_text(text, encoding="utf-8")
        (etc / "gres.conf").write_text(_GRES_CONF, encoding="utf-8")
        (etc / "slurmdbd.conf").write_text(_DBD_CONF, encoding="utf-8")
        (etc / "slurmdbd.conf").chmod(0o600)
        if self.release >= (23, 11):  # earlier versions read it only when cgroups are used
            (etc / "cgroup.conf").write_text("CgroupPlugin=disabled\n", encoding="utf-8")
        else:  # possibly left by `from_elsewhere`
            (etc / "cgroup.conf").unlink(missing_ok=True)
        for name in ("var/spool/ctld", "var/gpu", *(f"var/spool/slurmd-{n}" for n in NODES)):
            shutil.rmtree(self.root / name, ignore_errors=True)
            (self.root / name).mkdir()
        for number in (0, 1):
            (self.root / f"var/gpu/nvidia{number}").touch()

    def _open_namespaces(self, stack: ExitStack) -> None:
        kinds = ["--mount", "--net", "--pid", "--uts", "--ipc"]
        holder = subprocess.Popen(
            ["unshare", *kinds, "--fork", "--kill-child", "bash", "-c", _INSIDE, "-",
             str(self.root)],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        stack.callback(holder.wait)
        stack.callback(holder.kill)  # all processes within end with it; it ignores SIGTERM
        if holder.stdout is None or holder.stdout.readline() != b"ready\n":
            raise RuntimeError("no namespaces could be made")
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children")
        pid = children.read_text(encoding="ascii").split()[0]
        self._enter = ["/usr/bin/nsenter", f"--target={pid}", *kinds, "--", "/usr/sbin/chroot"]
        shutil.rmtree(self.bin_dir, ignore_errors=True)
        self.bin_dir.mkdir()
        for name in COMMANDS:
            words = " ".join([*self._enter, str(self.root), f"/usr/bin/{name}"])
            (self.bin_dir / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
            (self.bin_dir / name).chmod(0o755)

    def _start_munge(self, stack: ExitStack) -> None:
        key, run = self.folder / "munge.key", self.root / "run/munge"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        run.chmod(0o755)
        sockets = run / "munge.socket.2"
        files = [f"--{name}-file={self.folder}/munge.{name}" for name in ("log", "pid", "seed")]
        command = ["munged", "--foreground", "--force", f"--key-file={key}", *files]
        self._daemon(stack, "munged", [*command, f"--socket={sockets}"])
        wait_until(sockets.exists, "munge", pause_s=0.3)

    def _start_database(self, stack: ExitStack) -> None:
        data, socket = self.folder / "mysql", self.root / "run/mysql.sock"
        shutil.rmtree(data, ignore_errors=True)
        how = ["--auth-root-authentication-method=socket", "--skip-test-db", "--user=mysql"]
        with (self.folder / "mariadb-install.log").open("wb") as log:
            subprocess.run(
                ["mariadb-install-db", "--no-defaults", f"--datadir={data}", *how,
                 "--auth-root-socket-user=root"],
                check=True, stdout=log, stderr=log,
            )  # fmt: skip
        (self.root / "run").chmod(0o777)
        command = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}"]
        light = ["--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--user=mysql"]
        self._daemon(stack, "mariadbd", [*command, *light])
        wait_until(socket.exists, "MariaDB", pause_s=0.3)

    def _start(self, stack: ExitStack, program: str, *options: str) -> None:
        command = [*self._enter, str(self.root), f"/usr/sbin/{program}", *options]
        self._daemon(stack, "-".join([program, *options[2:]]), command)

    def _daemon(self, stack: ExitStack, name: str, command: Sequence[str]) -> None:
        log = stack.enter_context((self.folder / f"{name}.log").open("wb"))
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment()
        )
        stack.callback(_end, process)

    def _all_idle(self) -> bool:
        shown = self.inside("sinfo", "--all", "-h", "-N", "-o", "%N %T", check=False)
        return set(shown.splitlines()) == {f"{node} idle" for node in NODES}


def _environment() -> dict[str, str]:
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC0",
        "SLURM_CONF": "/etc/slurm/slurm.conf",
        "MYSQL_UNIX_PORT": "/run/mysql.sock",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
