"""Packaging of the portal as one wheel: code, migrations, pages, and the nodes' files.

    STATE/build/bin/python -m deploy.wheel --out DIR

It packs a copy, so that nothing is left in the checkout. requirements.lock is put beside the wheel
and names every package that it needs, with hashes. Needs pip and setuptools, but no network.
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
}
BUILT = {"portal/pages": "index.html", "deploy/lab": "package.json"}


class BuildMissing(Exception):
    """A required build is missing; the message names it."""


def stage(checkout: Path, folder: Path) -> None:
    """Copy the sources into `folder`. Raises NotBuilt."""
    for target, file in BUILT.items():
        if not (checkout / PARTS[target] / file).is_file():
            raise BuildMissing(
                f"{PARTS[target]}/{file} does not exist: run `make prepare` to build it"
            )
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for target, source in PARTS.items():
        if (checkout / source).is_dir():
            shutil.copytree(checkout / source, folder / target, ignore=ignore)
        else:
            shutil.copyfile(checkout / source, folder / target)


def build(out: Path, checkout: Path = CHECKOUT) -> Path:
    """Build the wheel and return its path; `out` then contains no other wheel of the portal.

    Raises NotBuilt, CalledProcessError.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="portal-wheel-") as folder:
        source, output_folder = Path(folder) / "source", Path(folder) / "made"
        source.mkdir()
        stage(checkout, source)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*pip, "--no-build-isolation", "-w", output_folder, source], check=True)
        (wheel,) = output_folder.glob("*.whl")
        for old in out.glob("data_scientist_portal-*.whl"):
            old.unlink()
        target = out / wheel.name
        shutil.copyfile(wheel, target)
    shutil.copyfile(checkout / LOCK, out / LOCK)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.wheel", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="output folder")
    try:
        wheel = build(parser.parse_args().out)
    except (BuildMissing, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    print(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
