"""Hash of the installed package, because the portal's and the nodes' copies must match."""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def hash_package(folder: Path = HERE) -> str:
    """Return a hash of all modules of the package in this folder.

    The nodes' runtime has a copy of the whole package.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
