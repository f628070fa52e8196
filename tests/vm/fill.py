"""A hook of mmdebstrap: changes the new system in ROOT to the state after `make prepare`.

The state is that of a machine that had none of the packages before, without a network.

    python -m tests.vm.fill ROOT
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cluster.install import disable, enabled_daemons


def main() -> None:
    root = Path(sys.argv[1])
    if root == Path("/") or not (root / "etc/debian_version").is_file():
        sys.exit(f"{root} is no system of the tests' own")
    disable(enabled_daemons(root), root)  # as new_daemons_disabled does: none existed before
    _copy_apptainer(root)
    (root / "etc/resolv.conf").unlink(missing_ok=True)  # an offline machine has none
    (root / "etc/hostname").write_text("stock\n", encoding="utf-8")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 stock\n", encoding="utf-8")
    (root / "etc/fstab").write_text("/dev/vda / ext4 defaults,noatime 0 1\n", encoding="utf-8")


def _copy_apptainer(root: Path) -> None:
    """Copy Apptainer: Debian 12 has no package of it, `make prepare` made one for this machine."""
    listed = subprocess.run(["dpkg", "-L", "apptainer"], capture_output=True, text=True, check=True)
    # its folders too: it mounts images in an empty one
    paths = [line for line in listed.stdout.splitlines() if "apptainer" in line]
    present = [path for path in paths if Path(path).exists()]
    pack = ["tar", "--create", "--file=-", "--no-recursion", *present]
    with subprocess.Popen(pack, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as archive:
        unpack = ["tar", "--extract", "--directory", str(root)]
        subprocess.run(unpack, stdin=archive.stdout, check=True)


if __name__ == "__main__":
    main()
