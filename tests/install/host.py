"""A cluster without the portal, as at a site, with a writable head.

/etc, /opt and similar folders can be written to: changes lie in a folder of the test, and are
removed with it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.one_machine import CHECKOUT, Cluster, argv_of

# the folders that an installation writes to, below /
OVERLAID = ("etc", "opt", "usr/local", "var/lib", "var/backups")

# The head's files of /etc are mounted one by one. An overlay hides such mounts, so they are copied
# into it first. The portal's accounts and rules, which `cluster` gives every head, are removed.
FRESH = """
set -eu
work=$1; shift
mkdir -p $work/before
for name in passwd shadow group hosts nsswitch.conf nslcd.conf ldap/ldap.conf modulespath; do
    mkdir -p $(dirname $work/before/$name)
    if [ -e /etc/$name ]; then cp --archive /etc/$name $work/before/$name; fi
done
for place in "$@"; do
    [ -d /$place ] || continue
    mkdir -p $work/$place/upper $work/$place/work
    mount -t overlay -o lowerdir=/$place,upperdir=$work/$place/upper,workdir=$work/$place/work \\
        fresh /$place
done
cp --archive $work/before/. /etc/
rm --force /etc/sudoers.d/portal
sacctmgr --immediate --quiet delete user portal
for account in portal portalhub; do
    userdel $account 2>/dev/null || true
    groupdel $account 2>/dev/null || true
done
mkdir -p $work/shared /opt/portal /etc/slurm $work/slurm
mount --bind $work/shared /opt/portal
ln --symbolic --force $SLURM_CONF $work/slurm/slurm.conf
cp --no-dereference $work/slurm/slurm.conf /etc/slurm/
"""
# A node has the shared folder and nothing else of the installation.
SHARE = """
set -eu
mount -t tmpfs -o mode=755 opt /opt
mkdir /opt/portal
mount --bind $1/shared /opt/portal
if [ -d /etc/slurm ]; then mount --bind $1/slurm /etc/slurm; fi
"""


class Host(Cluster):
    """The head with a root terminal. `values` are the shell's variables."""

    def __init__(self, state: Path, values: Mapping[str, str]) -> None:
        super().__init__(state)
        self.values = dict(values)
        self.work = state / "installed"

    def make_fresh(self, nodes: list[str]) -> None:
        self.exec("sh", "-c", FRESH, "sh", str(self.work), *OVERLAID)
        for node in nodes:
            self.exec("sh", "-c", SHARE, "sh", str(self.work), node=node)

    def shell(self, text: str, stdin: str = "", timeout_s: float = 900) -> str:
        """Run commands of the document; the first failure fails the test."""
        values = "".join(f"export {name}={value}\n" for name, value in self.values.items())
        script = f"set -euo pipefail\numask 022\n{values}{text}"
        argv = argv_of(self.state, "exec", "--user", "root", "--", "bash", "-c", script)
        done = subprocess.run(
            argv, cwd=CHECKOUT, input=stdin, capture_output=True, text=True, check=False,
            timeout=timeout_s,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, argv: list[str], log: Path) -> subprocess.Popen[bytes]:
        with log.open("ab") as out:
            return subprocess.Popen(
                argv_of(self.state, "exec", "--user", "root", "--", *argv),
                cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
