"""Packaging of the portal as one wheel (code, migrations, pages, and the nodes' files), and of the
command line for users as another.

    python -m deploy.wheel --out DIR

It packs a copy, so that nothing is left in the checkout. requirements.lock is put beside the wheel
and names every package that it needs, with hashes. Needs a Python with pip and setuptools (`make
prepare` creates one in build/ of the state folder), but no network.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
LOCK = "requirements.lock"
# the sources by their location in the copy (pyproject.toml selects the packaged files)
PARTS: Mapping[str, str] = {
    **{name: name for name in ("portal", "spawner", "deploy", "migrations")},
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "portal/pages": "frontend/dist",
    "deploy/lab": "frontend/lab/dist",
    "deploy/requirements-runtime.lock": "requirements-runtime.lock",
    "deploy/requirements-build.lock": "requirements-build.lock",
}
CLIENT = "client"
COMPILED = shutil.ignore_patterns("__pycache__", "*.pyc")
BUILT = {"portal/pages": "index.html", "deploy/lab": "package.json"}


class BuildMissing(Exception):
    """A required build is missing; the message names it."""


def stage(checkout: Path, folder: Path) -> None:
    """Copy the sources into `folder`. Raises BuildMissing."""
    for target, file in BUILT.items():
        if not (checkout / PARTS[target] / file).is_file():
            raise BuildMissing(
                f"{PARTS[target]}/{file} does not exist: run `make prepare` to build it"
            )
    for target, source in PARTS.items():
        if (checkout / source).is_dir():
            shutil.copytree(checkout / source, folder / target, ignore=COMPILED)
        else:
            shutil.copyfile(checkout / source, folder / target)


def build(out: Path, checkout: Path = CHECKOUT) -> Path:
    """Build the portal's wheel and return its path; `out` then contains no other one of it.

    Raises BuildMissing, CalledProcessError.
    """
    with tempfile.TemporaryDirectory(prefix="portal-wheel-") as folder:
        source = Path(folder) / "source"
        source.mkdir()
        stage(checkout, source)
        target = _pack(source, out, "data_scientist_portal")
    shutil.copyfile(checkout / LOCK, out / LOCK)
    return target


def build_client(out: Path, checkout: Path = CHECKOUT) -> Path:
    """Build the wheel of the command line for users, likewise. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory(prefix="portal-wheel-") as folder:
        source = Path(folder) / "source"
        shutil.copytree(checkout / CLIENT, source, ignore=COMPILED)
        return _pack(source, out, "data_scientist_portal_client")


def _pack(source: Path, out: Path, name: str) -> Path:
    """Build the wheel of a folder with a pyproject.toml, in place of older ones of this name."""
    out.mkdir(parents=True, exist_ok=True)
    made = source.parent / "made"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "-w", made, source], check=True)
    (wheel,) = made.glob("*.whl")
    for old in out.glob(f"{name}-*.whl"):
        old.unlink()
    target = out / wheel.name
    shutil.copyfile(wheel, target)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.wheel", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="output folder")
    try:
        out = parser.parse_args().out
        wheels = build(out), build_client(out)
    except (BuildMissing, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    print(*wheels, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
