"""Creation of the virtualenv for the nodes: JupyterLab and TensorBoard at pinned versions, the node
programs, and the portal's JupyterLab extension.

`portal runtime FOLDER` creates it, on any machine that can write to the shared folder and has the
nodes' python3. Running sessions keep the runtime they started with (version_folder.py).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from deploy import lab_extension, version_folder, virtualenv
from deploy.version_folder import InstallRefused

PYTHON = "/usr/bin/python3"
DEPLOY_DIR = Path(__file__).resolve().parent
SPAWNER = DEPLOY_DIR.parent / "spawner"
SHIPPED = (DEPLOY_DIR / "requirements-runtime.lock", DEPLOY_DIR / "lab")
CHECKOUT = (
    DEPLOY_DIR.parent / "requirements-runtime.lock",
    DEPLOY_DIR.parent / "frontend/lab/dist",
)


def make(link: Path, python: str = PYTHON) -> Path:
    """Point `link` to a folder with the current content, and return that folder.

    The folder is created unless it exists. Raises InstallRefused.
    """
    target = prepare(link, python)
    version_folder.point(link, target.name)
    return target


def prepare(link: Path, python: str) -> Path:
    """Return the folder with the current content, as `make` does, without changing the link."""
    lock, lab = _find_sources()
    digest = _compute_digest(lock, lab, python)
    return version_folder.prepare(link, digest, lambda target: _fill(target, lock, lab, python))


def locate(link: Path, python: str) -> Path:
    """Return the folder that `prepare` returns; it may not exist. Raises InstallRefused."""
    return version_folder.locate(link, _compute_digest(*_find_sources(), python))


def find_python(link: Path) -> str:
    """Return the Python of the current folder, or the default one if there is none."""
    program = link / "bin/python3"
    while program.is_symlink():
        program = program.parent / program.readlink()
        if not program.is_relative_to(link):
            return str(program)
    return PYTHON


def _find_sources() -> tuple[Path, Path]:
    return SHIPPED if SHIPPED[0].is_file() else CHECKOUT


def _fill(target: Path, lock: Path, lab: Path, python: str) -> None:
    virtualenv.create(target, python, [[*virtualenv.LOCKED, str(lock)]])
    (packages,) = target.glob("lib/python3*/site-packages")
    copy = packages / "spawner"
    shutil.copytree(SPAWNER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    subprocess.run([target / "bin/python", "-m", "compileall", "-q", copy], check=True)
    try:
        lab_extension.install(lab, target)
    except lab_extension.NotBuilt as error:
        raise InstallRefused(f"{error}.") from error


def _compute_digest(lock: Path, lab: Path, python: str) -> str:
    version = subprocess.run([python, "-V"], check=False, capture_output=True, text=True)
    hasher = hashlib.sha256(version.stdout.encode())
    for path in (lock, *_list_files(lab), *_list_files(SPAWNER)):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()[:12]


def _list_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path
