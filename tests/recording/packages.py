"""Download of another Debian release's Slurm into a separate folder.

It uses the machine's own apt sources, redirected to that suite, with apt's own signature check;
nothing is installed on this machine. munge's daemon is not included: the machine's own is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy.apptainer import read_release
from deploy.apptainer_sources import for_suites, read_sources

WANTED = ("slurmctld", "slurmd", "slurm-client", "slurmdbd", "libc-bin", "coreutils", "dash")
NOT_NEEDED = frozenset({"munge"})
MERGED = ("bin", "sbin", "lib", "lib64")
USERS = {"root": 0, "alice": 20001, "bob": 20002, "carol": 20003, "portal": 20004}


def provide(suite: str, folder: Path) -> Path:
    """Return a folder for a chroot, created again; downloaded packages are kept."""
    root, packages = folder / "root", folder / "packages"
    if not packages.is_dir():
        _fetch(suite, folder)
    shutil.rmtree(root, ignore_errors=True)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in sorted(packages.glob("*.deb")):
        _unpack(package, root)
    for program in (root / "usr/sbin").glob("*-wlm"):
        program.with_name(program.name.removesuffix("-wlm")).symlink_to(program.name)
    _furnish(root)
    return root


def _fetch(suite: str, folder: Path) -> None:
    fresh = folder / "packages.new"
    shutil.rmtree(fresh, ignore_errors=True)
    options = _asked(suite, folder)
    shown = _run(["apt-get", *options, "-qq", "--yes", "--print-uris", "install", *WANTED])
    names = set(re.findall(r"^'[^']*' ([a-z0-9][a-z0-9+.-]*)_", shown, re.MULTILINE))
    fresh.mkdir()
    _run(["apt-get", *options, "-qq", "download", *sorted(names - NOT_NEEDED)], cwd=fresh)
    fresh.rename(folder / "packages")


def download(suite: str, folder: Path, names: Sequence[str]) -> Path:
    """Download another suite's packages, without their dependencies, into a separate folder.

    The suite's sources are written to `folder`, as all.sources.
    """
    fresh = folder / "packages.new"
    shutil.rmtree(fresh, ignore_errors=True)
    options = _asked(suite, folder)
    fresh.mkdir()
    _run(["apt-get", *options, "-qq", "download", *names], cwd=fresh)
    shutil.rmtree(folder / "packages", ignore_errors=True)
    return fresh.rename(folder / "packages")


def _asked(suite: str, folder: Path) -> list[str]:
    """Return apt's options for the suite, after updating its package lists."""
    for part in ("lists/partial", "archives/partial", "parts"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    suites = [suite] if suite == "sid" else [suite, f"{suite}-security", f"{suite}-updates"]
    sources = for_suites(read_sources(), read_release().codename, suites)
    text = "\n".join(source.deb822() for source in sources)
    (folder / "all.sources").write_text(text, encoding="utf-8")
    (folder / "status").write_text("", encoding="utf-8")  # as if nothing were installed
    options = _private_apt(folder)
    _run(["apt-get", *options, "-qq", "update"])
    return options


def _private_apt(folder: Path) -> list[str]:
    """Return options with which apt uses neither the machine's own lists nor others."""
    settings = {
        "Dir::Etc::sourcelist": folder / "all.sources",
        "Dir::Etc::sourceparts": folder / "parts",
        "Dir::Etc::preferences": folder / "preferences",
        "Dir::Etc::preferencesparts": folder / "parts",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache::archives": folder / "archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Acquire::Languages": "none",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _unpack(package: Path, root: Path) -> None:
    """Unpack as dpkg-deb -x, but move the content of /bin to /usr/bin in old releases too."""
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE
    ) as archive:
        leave_out = ("./usr/share/doc", "./usr/share/locale", "./usr/share/man")
        options = [f"--exclude={path}" for path in leave_out]
        subprocess.run(
            ["tar", "-x", "--keep-directory-symlink", *options, "-C", str(root)],
            stdin=archive.stdout,
            check=True,
        )
    if archive.returncode != 0:
        raise RuntimeError(f"{package.name} can't be unpacked")


def _furnish(root: Path) -> None:
    """Create what the packages' own scripts would have created."""
    for name in ("proc", "sys", "dev", "tmp", "run/munge", "var/log", "var/spool", "etc/slurm"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    accounts = [f"{name}:x:{uid}:{uid}::/home/{name}:/bin/sh" for name, uid in USERS.items()]
    groups = [f"{name}:x:{uid}:" for name, uid in USERS.items()]
    (root / "etc/passwd").write_text("\n".join([*accounts, ""]), encoding="utf-8")
    (root / "etc/group").write_text("\n".join([*groups, ""]), encoding="utf-8")
    (root / "etc/hosts").write_text("127.0.0.1 localhost head\n", encoding="utf-8")
    (root / "etc/nsswitch.conf").write_text("passwd: files\nhosts: files\n", encoding="utf-8")
    for name, uid in USERS.items():  # including root, whose only home directory this is
        home = root / "home" / name
        home.mkdir(parents=True)
        os.chown(home, uid, uid)
    _run(["chroot", str(root), "/sbin/ldconfig"])


def _run(command: Sequence[str], cwd: Path | None = None) -> str:
    return subprocess.run(
        command, cwd=cwd, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout
