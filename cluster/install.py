"""The Debian packages that everything here stands on: `python3 -m cluster.install`, as root.

Daemons must not start while they are installed: they would take the ports of the cluster's own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PACKAGES = (
    # libpmix-dev: Slurm's PMIx plugin looks for libpmix.so, which only that package has
    *("slurm-wlm", "slurmctld", "slurmd", "slurmdbd", "munge", "libpmix-dev"),
    *("slapd", "ldap-utils", "libldap-common", "nslcd", "libnss-ldapd", "openssl"),
    *("mariadb-server", "nginx-light", "chromium", "sudo", "iproute2", "util-linux", "procps"),
    *("mmdebstrap", "squashfs-tools", "squashfuse", "fuse3", "python3-venv"),
    "lmod",
)
# what only the tests need: a registry, a shell for images that are made in a moment, another's
# opinion of our zip files, the other database, clocks that are wrong; and what a Docker of the
# tests' own stands on
TEST_PACKAGES = (
    *("docker-registry", "busybox-static", "unzip", "postgresql", "libfaketime"),
    *("iptables", "runc", "slirp4netns"),
)
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = "#!/bin/sh\nexit 101\n"
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "DEBCONF_NONINTERACTIVE_SEEN": "true"}


def installed(query: str) -> set[str]:
    """The packages that dpkg-query calls installed, from its `${Package} ${Status}` lines."""
    pairs = (line.split(" ", 1) for line in query.splitlines() if " " in line)
    return {name for name, status in pairs if status == "install ok installed"}


def missing(packages: Sequence[str]) -> list[str]:
    """Those of the packages that aren't wholly installed."""
    asked = ["dpkg-query", "--show", "--showformat=${Package} ${Status}\\n", *packages]
    # unknown packages make it fail, and are simply not in its answer
    answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return sorted(set(packages) - installed(answer))


@contextmanager
def daemons_held() -> Iterator[None]:
    """Debian's daemons aren't started meanwhile; a policy of the machine's own is left alone."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text(POLICY_TEXT)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def install(packages: list[str]) -> int:
    """apt-get's exit status."""
    environment = {**os.environ, **QUIET}
    get = ["apt-get", "--quiet", "--yes", "--no-install-recommends"]
    updated = subprocess.run(["apt-get", "--quiet", "update"], env=environment, check=False)
    if updated.returncode != 0:
        return updated.returncode
    with daemons_held():
        return subprocess.run([*get, "install", *packages], env=environment, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m cluster.install", description=__doc__)
    parser.add_argument("--tests", action="store_true", help="also what only the tests need")
    asked = parser.parse_args(arguments)
    wanted = missing(PACKAGES + TEST_PACKAGES if asked.tests else PACKAGES)
    if not wanted:
        print("all packages are there")
        return 0
    print(f"installing {' '.join(wanted)}", flush=True)
    return install(wanted)


if __name__ == "__main__":
    sys.exit(main())
