"""Installation of the required Debian packages: `python3 -m cluster.install`, as root.

Their daemons must start neither during the installation nor at the next boot: they would take the
ports of the cluster's own daemons, and the machine's port 80. Daemons that were enabled before stay
enabled.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# what creates virtualenvs
VENV_PACKAGES = ("python3-venv",)
PACKAGES = (
    # libpmix-dev: Slurm's PMIx plugin looks for libpmix.so, which only that package has
    *("slurm-wlm", "slurmctld", "slurmd", "slurmdbd", "munge", "libpmix-dev"),
    *("slapd", "ldap-utils", "libldap-common", "nslcd", "libnss-ldapd", "openssl"),
    *(
        "mariadb-server",
        "nginx-light",
        "sudo",
        "iproute2",
        "util-linux",
        "procps",
    ),
    *("mmdebstrap", "squashfs-tools", "squashfuse", "fuse3"),
    "lmod",
    # the nodes' sshd, which sessions start for SSH connections; its daemon never runs
    *("openssh-client", "openssh-server"),
    *VENV_PACKAGES,
)
# Only for tests: a registry, a shell for minimal images, an independent implementation of zip
# files, PostgreSQL, wrong clocks, systemd's verification of units, a mail server, a linter for
# shell scripts, a user of SSH, a browser and its Chinese font, and the dependencies of a separate
# Docker.
TEST_PACKAGES = (
    *("docker-registry", "busybox-static", "unzip", "postgresql", "libfaketime", "systemd"),
    *("postfix", "shellcheck", "rsync"),
    *("chromium", "chromium-headless-shell", "fonts-wqy-microhei"),
    *("iptables", "runc", "slirp4netns", "patchelf"),
)
# in addition, for `make test-vm`
VM_PACKAGES = ("qemu-system-x86", "e2fsprogs")
# the daemons that systemd would start at each boot after installing these packages
DAEMONS = (
    *("docker-registry", "mariadb", "munge", "nginx", "nslcd", "postfix", "postgresql", "slapd"),
    *("slurmctld", "slurmd", "slurmdbd", "ssh"),
)
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = "#!/bin/sh\nexit 101\n"
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "DEBCONF_NONINTERACTIVE_SEEN": "true"}


def installed(query: str) -> set[str]:
    """Parse dpkg-query's `${Package} ${Status}` lines; return the fully installed packages."""
    pairs = (line.split(" ", 1) for line in query.splitlines() if " " in line)
    return {name for name, status in pairs if status == "install ok installed"}


def missing(packages: Sequence[str]) -> list[str]:
    """Return the packages that are not fully installed."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${Status}\\n", *packages]
    # dpkg-query fails for unknown packages and omits them from its output
    listing = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    return sorted(set(packages) - installed(listing))


@contextmanager
def daemons_held() -> Iterator[None]:
    """Keep Debian's daemons from starting within the block; an existing policy is left alone."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text(POLICY_TEXT)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def enabled_daemons(root: Path) -> set[str]:
    """Return the DAEMONS that start at boot; none where there is no systemd.

    Some have only a script in /etc/init.d, for which systemd generates a unit: `systemctl --root`
    does not list these.
    """
    if shutil.which("systemctl") is None:
        return set()
    query = ["systemctl", f"--root={root}", "--no-legend", "--state=enabled", "list-unit-files"]
    listing = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    units = {line.split()[0] for line in listing.splitlines() if line.strip()}
    scripts = {link.name[3:] for link in (root / "etc").glob("rc[2-5].d/S[0-9][0-9]*")}
    return {name for name in DAEMONS if f"{name}.service" in units or name in scripts}


@contextmanager
def new_daemons_disabled(root: Path = Path("/")) -> Iterator[None]:
    """Disable the daemons that were enabled within the block, also when it fails."""
    before = enabled_daemons(root)
    try:
        yield
    finally:
        disable(enabled_daemons(root) - before, root)


def disable(daemons: Collection[str], root: Path) -> None:
    for name in sorted(daemons):
        # one by one: a failure must not leave the others enabled
        subprocess.run(["systemctl", f"--root={root}", "disable", f"{name}.service"], check=False)
    if daemons:
        print(f"disabled at boot: {' '.join(sorted(daemons))}", flush=True)


def install(packages: list[str]) -> int:
    """Install the packages without starting their daemons. Returns apt-get's exit status."""
    environment = {**os.environ, **QUIET}
    get = ["apt-get", "--quiet", "--yes", "--no-install-recommends"]
    updated = subprocess.run(["apt-get", "--quiet", "update"], env=environment, check=False)
    if updated.returncode != 0:
        return updated.returncode
    with daemons_held(), new_daemons_disabled():
        return subprocess.run([*get, "install", *packages], env=environment, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m cluster.install", description=__doc__)
    parser.add_argument("--tests", action="store_true", help="also what only the tests need")
    parser.add_argument("--vm", action="store_true", help="also what a virtual machine needs")
    parser.add_argument("--venv", action="store_true", help="only what creates virtualenvs")
    args = parser.parse_args(arguments)
    packages = PACKAGES + TEST_PACKAGES * args.tests + VM_PACKAGES * args.vm
    if args.venv:
        packages = VENV_PACKAGES
    to_install = missing(packages)
    if not to_install:
        print("all packages are there")
        return 0
    print(f"installing {' '.join(to_install)}", flush=True)
    return install(to_install)


if __name__ == "__main__":
    sys.exit(main())
