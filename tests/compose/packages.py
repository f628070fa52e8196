"""The software of the tests' Docker: Debian packages, unpacked into the state folder.

The Dockerfile's base image is made of Debian packages too. No registry is used.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from deploy.images.host_settings import apt_settings
from tests.recording.packages import download

SUITE = "trixie"
BASE_IMAGE = "debian:trixie-slim"
# not runc: another release's needs another C library; the machine's own package is used
PACKAGES = ("docker.io", "docker-cli", "containerd", "tini", "docker-compose", "docker-buildx")
PLUGINS = Path("usr/libexec/docker/cli-plugins")
SITE_CERTIFICATES = Path("/usr/local/share/ca-certificates")
# the site's own certificate authorities are trusted inside, too: package sources may need them
_HOOK = (
    f'mkdir -p "$1{SITE_CERTIFICATES}";'
    f' for file in {SITE_CERTIFICATES}/*.crt; do test ! -e "$file" ||'
    f' cp "$file" "$1{SITE_CERTIFICATES}/"; done; chroot "$1" update-ca-certificates'
)


def provide(folder: Path) -> tuple[Path, Path]:
    """Return the unpacked programs and the base image's archive, creating missing ones."""
    programs, base = folder / "programs", folder / f"base-{_name()}.tar"
    if not (programs.is_dir() and base.exists()):
        packages = download(SUITE, folder, PACKAGES)
        _unpack(packages, programs)
        _make_base(folder / "all.sources", base)
    return programs, base


def _name() -> str:
    """Return a name that changes with the site's apt settings and certificates."""
    hasher = hashlib.sha256(_HOOK.encode() + apt_settings().encode())
    for file in sorted(SITE_CERTIFICATES.glob("*.crt")):
        hasher.update(file.read_bytes())
    return hasher.hexdigest()[:12]


def _unpack(packages: Path, programs: Path) -> None:
    fresh = programs.with_name("programs.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for package in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(fresh)], check=True)
    shutil.rmtree(programs, ignore_errors=True)
    fresh.rename(programs)


def _make_base(sources: Path, base: Path) -> None:
    for old in base.parent.glob("base-*.tar"):
        old.unlink()
    fresh, options = base.with_name("base.new.tar"), base.with_name("apt.conf")
    options.write_text(apt_settings(), encoding="utf-8")  # part of the image, too
    how = ["--quiet", "--variant=minbase", "--include=ca-certificates"]
    how += [f"--aptopt={options}", f"--customize-hook={_HOOK}"]
    subprocess.run(["mmdebstrap", *how, SUITE, str(fresh), str(sources)], check=True)
    fresh.rename(base)
