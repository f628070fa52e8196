"""Installation of Apptainer on this machine: `python3 -m deploy.apptainer install`.

Standard library only, run as root with the system's own python3. A working Apptainer is left alone.
Otherwise the release's own package is installed if there is one. Debian 12 and 13 have none, so
they get the package of Debian's unstable suite. apt fetches it from the machine's own mirrors and
verifies its signature, using temporary lists and a temporary cache, so that the suite is never
added to the machine's apt configuration. On Debian 13 the package installs unchanged; for Debian 12
its programs are first redirected to an older C library (deploy/apptainer_elf.py).

Independent of images, Slurm and the portal.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.apptainer_elf import RefusedError, lower_glibc
from deploy.apptainer_sources import for_suites, read_sources

CONFIG = Path("/etc/apptainer/apptainer.conf")
FUSE = Path("/dev/fuse")
SUITE = "sid"
COMMAND_TIMEOUT_S = 900
# The version with which the patch for Debian 12 was first tried. A newer one is accepted on apt's
# signature check and the patch's own checks, and named in the output.
TESTED_DIGESTS = {"1.4.5-2": "26cf96e08fccb0e50ea0f285a5a19f940ee873d167a0680584fe6eba7d197d65"}
_CAP_SYS_RESOURCE = 24
_FUSE_DEVICE = os.makedev(10, 229)  # from Linux' list of allocated devices
_STARTED = time.monotonic()


class InstallError(Exception):
    """Apptainer cannot be installed; the message gives the reason and a remedy."""


@dataclass(frozen=True)
class Release:
    """Facts from /etc/os-release, and the version of the machine's C library."""

    system: str
    codename: str
    version: int
    glibc: tuple[int, int]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m deploy.apptainer", description=__doc__)
    parser.add_argument("command", choices=["install", "status"])
    command = parser.parse_args(arguments).command
    try:
        if command == "install":
            install()
        log_progress(_find_version() or "no working Apptainer")
    except (InstallError, RefusedError) as error:
        print(f"apptainer: {error}", file=sys.stderr)
        return 1
    return 0 if _find_version() else 1


def install() -> None:
    """Make `apptainer exec` of an image file work for ordinary users. Repeatable."""
    if _find_version() is None or shutil.which("squashfuse") is None:
        if os.geteuid() != 0:
            raise InstallError("only root can install packages")
        _install_packages(read_release())
    open_fuse()
    if _lacks_sys_resource():
        drop_default_capabilities(CONFIG)


def log_progress(text: str) -> None:
    print(f"[{time.monotonic() - _STARTED:5.1f} s] apptainer: {text}", flush=True)


def parse_os_release(text: str) -> dict[str, str]:
    return {name: value.strip("\"'") for name, value in re.findall(r"^(\w+)=(.*)$", text, re.M)}


def read_release() -> Release:
    facts = parse_os_release(Path("/etc/os-release").read_text(encoding="utf-8"))
    major = re.match(r"\d+", facts.get("VERSION_ID", ""))
    library = re.fullmatch(r"(\d+)\.(\d+).*", platform.libc_ver()[1])
    if library is None:
        raise InstallError("this machine's C library is not glibc")
    return Release(
        facts.get("ID", ""),
        facts.get("VERSION_CODENAME", ""),
        int(major[0]) if major else 0,
        (int(library[1]), int(library[2])),
    )


def _install_packages(release: Release) -> None:
    if _has_candidate():
        log_progress("installing the release's own package")
        _apt("install", "apptainer", "squashfuse")
    elif release.system == "debian" and release.version >= 12:
        _install_from_unstable(release)
    else:
        raise InstallError(
            "this system has no such package. Install Apptainer from EPEL or from the Apptainer "
            "project's packages, with squashfuse, and run this again"
        )
    if _find_version() is None:
        raise InstallError("it was installed, but `apptainer --version` does not run")


def _install_from_unstable(release: Release) -> None:
    # apt reads files as its own user _apt, so the folder must be readable
    with tempfile.TemporaryDirectory(prefix="portal-apt-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        package, version = _download_package(folder, release)
        tested_digest = TESTED_DIGESTS.get(version)
        if tested_digest is None:
            log_progress(f"{version} is newer than the tested version; apt verified its signature")
        elif hashlib.sha256(package.read_bytes()).hexdigest() != tested_digest:
            raise InstallError(f"the package of {version} is not the tested one")
        if release.glibc < (2, 38):
            package = _repack(package, folder / "tree", version, release.glibc)
        log_progress("installing it, with squashfuse")
        _apt("install", str(package), "squashfuse", options=_private_apt(folder))


def _download_package(folder: Path, release: Release) -> tuple[Path, str]:
    """Fetch the package through a private apt. Return its file and its version."""
    try:
        sources = for_suites(read_sources(), release.codename, [SUITE])
    except ValueError as error:
        raise InstallError(str(error)) from error
    all_sources = [*read_sources(), *sources]
    (folder / "all.sources").write_text(
        "\n".join(s.deb822() for s in all_sources), encoding="utf-8"
    )
    # everything comes from the machine's own release, except packages that only the other suite has
    (folder / "preferences").write_text(
        f"Package: *\nPin: release n={SUITE}\nPin-Priority: 100\n", encoding="utf-8"
    )
    for part in ("lists/partial", "archives/partial", "parts"):
        (folder / part).mkdir(parents=True)
    log_progress("looking for the package on the machine's mirrors")
    options = _private_apt(folder)
    _apt("update", options=options)
    log_progress("downloading the package")
    _run(["apt-get", *options, "-qq", "download", "apptainer"], cwd=folder)
    packages = list(folder.glob("apptainer_*.deb"))
    if len(packages) != 1:
        raise InstallError("apt downloaded no such package")
    version = _run(["dpkg-deb", "-f", str(packages[0]), "Version"]).strip()
    log_progress(f"got {version}")
    return packages[0], version


def _private_apt(folder: Path) -> list[str]:
    """Return options with which apt uses the folder's sources and leaves the machine's lists
    alone."""
    settings = {
        "Dir::Etc::sourcelist": folder / "all.sources",
        "Dir::Etc::sourceparts": folder / "parts",
        "Dir::Etc::preferences": folder / "preferences",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache::archives": folder / "archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Acquire::Languages": "none",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _repack(package: Path, tree: Path, version: str, glibc: tuple[int, int]) -> Path:
    """Return the package rebuilt for an older C library, with a marked version."""
    needs = f"{glibc[0]}.{glibc[1]}"
    log_progress(f"redirecting its programs to glibc {needs}")
    _run(["dpkg-deb", "-R", str(package), str(tree)])
    changed = [p for p in sorted(tree.rglob("*")) if _patch(p, tree, glibc)]
    if not changed:
        raise InstallError(f"no program in {version} could be adapted to glibc {needs}")
    sums = tree / "DEBIAN/md5sums"
    text = sums.read_text(encoding="utf-8")
    for path in changed:
        name = str(path.relative_to(tree))
        text = replace_sum(text, name, hashlib.md5(path.read_bytes(), usedforsecurity=False))
    sums.write_text(text, encoding="utf-8")
    control = tree / "DEBIAN/control"
    control.write_text(relax(control.read_text(encoding="utf-8"), needs), encoding="utf-8")
    repacked = tree.parent / "apptainer-repacked.deb"
    _run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", str(tree), str(repacked)])
    return repacked


def _patch(path: Path, tree: Path, glibc: tuple[int, int]) -> bool:
    """Patch one file of the package if it is a program that needs it. Return whether it was
    changed."""
    if path.is_symlink() or not path.is_file():
        return False
    image = path.read_bytes()
    if not image.startswith(b"\x7fELF"):
        return False
    try:
        patched, names = lower_glibc(image, glibc)
    except RefusedError as error:
        raise RefusedError(f"/{path.relative_to(tree)} can't be redirected: {error}") from error
    if names:
        path.write_bytes(patched)
        log_progress(f"/{path.relative_to(tree)}: {', '.join(names)}")
    return bool(names)


def relax(control: str, glibc: str) -> str:
    """Return a control file that requires only glibc `glibc`, with a marked version."""
    relaxed, count = re.subn(
        r"(?m)^(Depends:.*\blibc6 \(>= )2\.\d+(?=\))", rf"\g<1>{glibc}", control
    )
    marked, versions = re.subn(r"(?m)^(Version: \S+)$", rf"\1+glibc{glibc}", relaxed)
    if count != 1 or versions != 1:
        raise RefusedError("the package's control file is not written as expected")
    return marked


def replace_sum(sums: str, name: str, digest: hashlib._Hash) -> str:
    """Return md5sums (deb-md5sums(5)) with one file's checksum replaced."""
    line = re.compile(rf"(?m)^[0-9a-f]{{32}}(?=  {re.escape(name)}$)")
    replaced, count = line.subn(digest.hexdigest(), sums)
    if count != 1:
        raise RefusedError(f"the package's md5sums do not name {name} once")
    return replaced


def open_fuse() -> None:
    """Make /dev/fuse accessible to users, who mount image files through FUSE.

    udev normally does so; without udev the mode is set here. A missing device is created if
    possible.
    """
    if not FUSE.exists():
        try:
            os.mknod(FUSE, 0o666 | stat.S_IFCHR, _FUSE_DEVICE)
        except OSError as error:
            log_progress(f"no /dev/fuse here ({error.strerror}): images will be folders, not files")
            return
    if stat.S_IMODE(FUSE.stat().st_mode) & 0o666 != 0o666:
        if os.geteuid() != 0:
            raise InstallError(
                "/dev/fuse is not accessible to users: run chmod 0666 /dev/fuse as root"
            )
        FUSE.chmod(0o666)
        log_progress("opened /dev/fuse to users")


def drop_default_capabilities(config: Path) -> None:
    """Configure root's containers to request no default capabilities.

    Without CAP_SYS_RESOURCE they cannot have all capabilities, and fail to start.
    """
    text = config.read_text(encoding="utf-8")
    setting = "root default capabilities"
    changed, count = re.subn(rf"(?m)^#?\s*{setting}\s*=.*$", f"{setting} = no", text, count=1)
    if not count:
        changed = f"{text}{setting} = no\n"
    if changed != text:
        config.write_text(changed, encoding="utf-8")
        log_progress(f"this machine lacks CAP_SYS_RESOURCE: {setting} = no")


def _lacks_sys_resource() -> bool:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    bounding = re.search(r"(?m)^CapBnd:\s*([0-9a-f]+)$", status)
    return bounding is not None and not int(bounding[1], 16) >> _CAP_SYS_RESOURCE & 1


def _find_version() -> str | None:
    """Return the version of a working Apptainer, None if there is none or it does not run here."""
    program = shutil.which("apptainer")
    if program is None:
        return None
    result = subprocess.run(
        [program, "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    return result.stdout.strip() if result.returncode == 0 else None


def _has_candidate() -> bool:
    """Return whether the machine's own archives have the package."""
    policy = _run(["apt-cache", "policy", "apptainer"])
    return re.search(r"(?m)^  Candidate: (?!\(none\))", policy) is not None


def _apt(command: str, *packages: str, options: Sequence[str] = ()) -> None:
    flags = ["-y", "--no-install-recommends"] if command == "install" else []
    # wait for other installations that are in progress
    lock = ["-o", "DPkg::Lock::Timeout=300"]
    _run(["apt-get", "-q", *options, *lock, command, *flags, *packages])


def _run(argv: Sequence[str], cwd: Path | None = None) -> str:
    """Run a program and return its stdout. Its output is shown only if it fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise InstallError(f"{argv[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"{argv[0]} took longer than {COMMAND_TIMEOUT_S} s") from error
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise InstallError(f"{argv[0]} failed:\n{tail}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
