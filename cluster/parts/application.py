"""The installed application: a copy of the checkout's code, read by the services and the nodes.

A copy is completed under its own name before the link `app` points to it, so that no process sees a
partial one. Shared by the clusters of a checkout.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from cluster.config.paths import CHECKOUT, Paths
from cluster.errors import ClusterError
from cluster.host.machine import locked, write

PARTS = ("portal", "spawner", "deploy", "migrations", "alembic.ini", "openapi.json")
PAGES = Path("frontend") / "dist"
KEPT_COPIES = 3  # running programs may still read an earlier copy


def sources() -> list[Path]:
    """Return every file to copy, relative to the checkout."""
    roots = [CHECKOUT / part for part in (*PARTS, PAGES)]
    paths = [path for root in roots for path in ([root] if root.is_file() else root.rglob("*"))]
    files = (path.relative_to(CHECKOUT) for path in paths if path.is_file())
    return sorted(path for path in files if "__pycache__" not in path.parts)


def digest(files: Iterable[Path]) -> str:
    hasher = hashlib.sha256()
    for file in files:
        content = (CHECKOUT / file).read_bytes()
        hasher.update(f"{file}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()[:12]


def install(paths: Paths) -> str:
    """Bring the copy up to date. Return its name, which contains the digest of the sources."""
    with locked(paths.root / ".app.lock"):
        files = sources()
        name = f"app-{digest(files)}"
        target = paths.root / name
        if not target.exists():
            _copy(files, target)
        if not paths.app.is_symlink() or paths.app.readlink() != Path(name):
            _switch_link(paths.app, name)
        os.utime(target)
        _remove_old(paths)
        for environment in (paths.venv, paths.runtime):
            _add_to_path(environment, paths.app)
    return name


def _copy(files: Iterable[Path], target: Path) -> None:
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for file in files:
        copy = fresh / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / file, copy)
    for path in (fresh, *fresh.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    # The services' accounts cannot write here, so they would compile the sources at every start.
    compileall.compile_dir(fresh, quiet=2)
    fresh.rename(target)


def _switch_link(link: Path, name: str) -> None:
    fresh = link.with_name(f".{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(name)
    fresh.rename(link)


def _remove_old(paths: Paths) -> None:
    copies = sorted(paths.root.glob("app-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in copies[KEPT_COPIES:]:
        shutil.rmtree(old)


def _add_to_path(environment: Path, app: Path) -> None:
    folders = list(environment.glob("lib/python3*/site-packages"))
    if not folders:
        raise ClusterError(f"there is no virtualenv in {environment}: `make prepare` makes it")
    write(folders[0] / "portal.pth", f"{app}\n")
