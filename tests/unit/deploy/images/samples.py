"""A small definition of an image."""

from __future__ import annotations

from pathlib import Path

TOML = """
title = "Mine"
suites = ["bookworm"]
packages = ["python3"]
[pip]
python = "python3"
lock = "mine.lock"
[check]
command = ["true"]
"""
LOCK = "numpy==2.4.6 --hash=sha256:00\n"


def put(folder: Path, toml: str = TOML, lock: str = LOCK) -> Path:
    (folder / "mine.lock").write_text(lock)
    path = folder / "mine.toml"
    path.write_text(toml)
    return path
