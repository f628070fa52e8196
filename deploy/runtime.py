"""Creation of the virtualenv for the nodes: JupyterLab and TensorBoard at pinned versions, the node
programs, and the portal's JupyterLab extension.

`portal runtime FOLDER` creates it, on any machine that can write to the shared folder and has the
nodes' python3. Each content has a folder of its own, FOLDER-…, which is complete before the link
FOLDER points to it. Running sessions keep the runtime they started with; pointing the link to the
old folder is the rollback.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from deploy import lab_extension

DEPLOY_DIR = Path(__file__).resolve().parent
SPAWNER = DEPLOY_DIR.parent / "spawner"
SHIPPED = (DEPLOY_DIR / "requirements-runtime.lock", DEPLOY_DIR / "lab")
CHECKOUT = (
    DEPLOY_DIR.parent / "requirements-runtime.lock",
    DEPLOY_DIR.parent / "frontend/lab/dist",
)


class RuntimeRefused(Exception):
    """The runtime cannot be created; the message is one sentence with the reason."""


def make(link: Path, python: str = "/usr/bin/python3") -> Path:
    """Point `link` to a folder with the current content, and return that folder.

    The folder is created unless it exists. Raises RuntimeRefused.
    """
    lock, lab = SHIPPED if SHIPPED[0].is_file() else CHECKOUT
    if link.exists() and not link.is_symlink():
        raise RuntimeRefused(f"{link} exists and was not created by this command: move it away.")
    target = link.with_name(f"{link.name}-{_compute_digest(lock, lab, python)}")
    if not (target / ".complete").is_file():
        _fill(target, lock, lab, python)
    fresh = link.with_name(f".{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target.name)
    fresh.replace(link)
    return target


def older(link: Path) -> list[Path]:
    """Return the runtimes before the current one, newest first: sessions may still run from
    them."""
    present = link.resolve()
    folders = [path for path in link.parent.glob(f"{link.name}-*") if path != present]
    return sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)


def _fill(target: Path, lock: Path, lab: Path, python: str) -> None:
    pip = [str(target / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install"]
    commands = (
        [python, "-m", "venv", "--clear", str(target)],
        [*pip, "--quiet", "--require-hashes", "--no-deps", "-r", str(lock)],
    )
    for command in commands:
        # readable for users, independent of the caller's umask
        done = subprocess.run(command, check=False, umask=0o022)
        if done.returncode != 0:
            raise RuntimeRefused(
                f"`{' '.join(command)}` failed: see the output above, then run this again."
            )
    (packages,) = target.glob("lib/python3*/site-packages")
    copy = packages / "spawner"
    shutil.copytree(SPAWNER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    subprocess.run([target / "bin/python", "-m", "compileall", "-q", copy], check=True)
    try:
        lab_extension.install(lab, target)
    except lab_extension.NotBuilt as error:
        raise RuntimeRefused(f"{error}.") from error
    (target / ".complete").touch()


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
