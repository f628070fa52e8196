"""The virtual machine's disks: a Debian 12 in the state after `make prepare`, and a prepared
checkout.

The first is made of Debian's packages, from the machine's own apt sources, and kept in the state
folder. The second is made for each run. The virtual machine has no network: the machine's apt, pip
and npm configuration is not copied to it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cluster.host.machine import PATH
from cluster.install import PACKAGES, TEST_PACKAGES
from deploy.apptainer import read_release
from deploy.apptainer_sources import for_suites, read_sources
from deploy.images.host_settings import apt_settings

CHECKOUT = Path(__file__).resolve().parents[2]
SUITE = "bookworm"
# the packages of an installed Debian besides those of priority "important", and the agent with
# which the tests run commands
STOCK = (
    *("linux-image-amd64", "systemd-sysv", "libpam-systemd", "dbus", "apparmor", "python3"),
    "qemu-guest-agent",
)
# Apptainer is in no suite of Debian 12, and no browser is used there
LEFT_OUT = frozenset({"apptainer", "chromium", "chromium-headless-shell"})
# the virtualenvs and folders of the state folder that a cluster and its tests use
STATE_PARTS = ("venv", "runtime", "science", "dev")
NOT_COPIED = (".git", "node_modules", "__pycache__", "shared")
SIZE = "16G"  # sparse


class ImageError(RuntimeError):
    """A disk cannot be made; the message gives the reason and a remedy."""


def provide_system(folder: Path) -> Path:
    """Return the folder with the system's disk, kernel and initrd, created unless it exists."""
    release = read_release()
    if release.codename != SUITE:
        raise ImageError(
            "make test-vm needs a Debian 12 machine: its prepared virtualenvs and Apptainer run in"
            f" a Debian 12; this machine has {release.system} {release.codename}"
        )
    target = folder / f"system-{_system_digest()}"
    if not (target / "initrd.img").exists():
        for old in folder.glob("system-*"):
            shutil.rmtree(old)
        _make_system(folder, target)
    return target


def _system_digest() -> str:
    parts = [*_packages(), _apptainer("Version"), apt_settings()]
    sources = [Path(__file__).with_name("fill.py"), CHECKOUT / "cluster/install.py"]
    text = "\n".join(parts).encode() + b"".join(path.read_bytes() for path in sources)
    return hashlib.sha256(text).hexdigest()[:12]


def _apptainer(field: str) -> str:
    """Return a field of the machine's own package: Debian 12 has none (deploy/apptainer.py)."""
    asked = ["dpkg-query", "--show", f"--showformat=${{{field}}}", "apptainer"]
    return _run(asked)


def _packages() -> list[str]:
    """Return all packages, including the dependencies of the machine's own Apptainer package."""
    needed = re.findall(r"(?:^|, )([a-z0-9][a-z0-9+.-]*)", _apptainer("Depends"))
    return sorted({*STOCK, *PACKAGES, *TEST_PACKAGES, *needed} - LEFT_OUT)


def _make_system(folder: Path, target: Path) -> None:
    fresh, root = folder / "system.new", folder / "system.root"
    for old in (fresh, root):
        shutil.rmtree(old, ignore_errors=True)
    fresh.mkdir(parents=True)
    listing, options = fresh / "debian.sources", fresh / "apt.conf"
    suites = [SUITE, f"{SUITE}-security", f"{SUITE}-updates"]
    sources = for_suites(read_sources(), SUITE, suites)
    listing.write_text("\n".join(source.deb822() for source in sources), encoding="utf-8")
    options.write_text('APT::Install-Recommends "false";\n' + apt_settings(), encoding="utf-8")
    fill = f'{sys.executable} -m tests.vm.fill "$1"'
    words = ["mmdebstrap", "--quiet", "--mode=root", "--variant=important", f"--aptopt={options}"]
    words += [f"--include={','.join(_packages())}", f"--customize-hook={fill}"]
    words += ["--format=directory"]
    try:
        _run([*words, SUITE, str(root), str(listing)], folder / "system.log")
        shutil.copy(root / "vmlinuz", fresh / "vmlinuz")
        _make_disk(root, fresh / "system.img")
        # the last one: it marks the folder as complete
        shutil.copy(root / "initrd.img", fresh / "initrd.img")
        fresh.rename(target)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def make_data(state: Path, folder: Path) -> Path:
    """Create a disk with the checkout and the parts of the state folder that the tests need."""
    root, disk = folder / "data", folder / "data.img"
    shutil.rmtree(root, ignore_errors=True)
    disk.unlink(missing_ok=True)
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(CHECKOUT, root / "checkout", symlinks=True, ignore=ignored)
    kept = root / "state"
    for name in STATE_PARTS:
        _link_tree((state / name).resolve(), kept / (state / name).resolve().name)
        (kept / name).symlink_to((state / name).resolve().name)
    image = (state / "images/python3.sif").resolve()
    (kept / "images").mkdir()
    os.link(image, kept / "images" / image.name)
    (kept / "images/python3.sif").symlink_to(image.name)
    shutil.copytree(state / "wheel", kept / "wheel")
    _make_disk(root, disk)
    shutil.rmtree(root)
    return disk


def _link_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, copy_function=os.link)


def _make_disk(root: Path, disk: Path) -> None:
    """Create an ext4 file system with the content of `root`."""
    disk.unlink(missing_ok=True)
    _run(["truncate", "--size", SIZE, str(disk)])
    # no journal: the data lives for one run
    kind = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0"]
    _run(["mke2fs", *kind, "-d", str(root), str(disk)])


def _run(words: Sequence[str], log: Path | None = None) -> str:
    environment = {"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8"}
    environment |= {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
    done = subprocess.run(
        words, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True, check=False,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    if log is not None:
        log.write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        where = f"; all of it is in {log}" if log else ""
        raise ImageError(f"{words[0]} failed{where}: {done.stdout[-2000:]}")
    return done.stdout
