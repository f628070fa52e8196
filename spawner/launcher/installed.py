"""The programs in the launcher's folder, as this version of the portal installs them.

The launcher is program.py, unchanged. To handle files, it replaces itself (exec) with files.pyz: a
zip archive of spawner/files and of the modules that it imports, which Python runs without
unpacking.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from pathlib import Path

SPAWNER = Path(__file__).resolve().parents[1]
FILES_PROGRAM = "files.pyz"
SHARED = (
    "__init__.py",
    "launcher/__init__.py",
    "launcher/folders.py",
    "launcher/program.py",
    "usage_file.py",
)
START = 'from spawner.files.main import main\n\nmain("{edition}")\n'


@cache
def launcher_program() -> bytes:
    return (SPAWNER / "launcher/program.py").read_bytes()


@cache
def files_program() -> bytes:
    """Return the archive, which is the same on every machine."""
    start = {"__main__.py": START.format(edition=files_edition()).encode()}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, data in {**start, **_read_modules()}.items():
            file.writestr(zipfile.ZipInfo(name), data)
    return archive.getvalue()


@cache
def files_edition() -> str:
    """Return a hash of the archive's modules, by which the portal recognizes its own version."""
    digest = hashlib.sha256()
    for name, data in _read_modules().items():
        digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()[:16]


def _read_modules() -> dict[str, bytes]:
    paths = [*(SPAWNER / name for name in SHARED), *sorted(SPAWNER.glob("files/**/*.py"))]
    return {f"spawner/{path.relative_to(SPAWNER)}": path.read_bytes() for path in paths}
