"""Makes the virtualenv that the nodes run: JupyterLab and TensorBoard at pinned versions, the node
programs, and the portal in JupyterLab.

`portal runtime FOLDER` does it, on any machine that may write to the shared folder and has the
nodes' python3. Each content has a folder of its own, FOLDER-…, complete before the link FOLDER
leads to it: sessions that run keep the one they began with, and the way back is the old link.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from deploy import lab_extension

HERE = Path(__file__).resolve().parent
SPAWNER = HERE.parent / "spawner"
SHIPPED = (HERE / "requirements-runtime.lock", HERE / "lab")
CHECKOUT = (HERE.parent / "requirements-runtime.lock", HERE.parent / "frontend/lab/dist")


class RuntimeRefused(Exception):
    """It can't be made; one sentence that says why."""


def make(link: Path, python: str = "/usr/bin/python3") -> Path:
    """The folder that `link` leads to now; made unless its content is there already. Raises
    RuntimeRefused."""
    lock, lab = SHIPPED if SHIPPED[0].is_file() else CHECKOUT
    if link.exists() and not link.is_symlink():
        raise RuntimeRefused(f"{link} is there and isn't a link of this command's: move it away.")
    target = link.with_name(f"{link.name}-{_digest(lock, lab, python)}")
    if not (target / ".complete").is_file():
        _fill(target, lock, lab, python)
    fresh = link.with_name(f".{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target.name)
    fresh.replace(link)
    return target


def older(link: Path) -> list[Path]:
    """Runtimes before the present one, the newest first: sessions may still run from them."""
    present = link.resolve()
    found = [path for path in link.parent.glob(f"{link.name}-*") if path != present]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def _fill(target: Path, lock: Path, lab: Path, python: str) -> None:
    pip = [str(target / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install"]
    commands = (
        [python, "-m", "venv", "--clear", str(target)],
        [*pip, "--quiet", "--require-hashes", "--no-deps", "-r", str(lock)],
    )
    for command in commands:
        # users read it: whatever the umask of whoever runs this
        done = subprocess.run(command, check=False, umask=0o022)
        if done.returncode != 0:
            raise RuntimeRefused(f"`{' '.join(command)}` failed, see above; run this again.")
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


def _digest(lock: Path, lab: Path, python: str) -> str:
    asked = subprocess.run([python, "-V"], check=False, capture_output=True, text=True)
    told = hashlib.sha256(asked.stdout.encode())
    for path in (lock, *_files(lab), *_files(SPAWNER)):
        told.update(path.name.encode() + b"\0" + path.read_bytes())
    return told.hexdigest()[:12]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path
