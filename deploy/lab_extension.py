"""Installation of the built JupyterLab extension into the virtualenv that the nodes use.

    python3 -m deploy.lab_extension FRONTEND/lab/dist RUNTIME

`npm run build:lab` builds it, see docs/decisions/0010-lab-extension.md. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

EXTENSIONS = Path("share/jupyter/labextensions")


class NotBuilt(Exception):
    """There is no extension in the folder, or no virtualenv; the message names which."""


def install(built: Path, runtime: Path) -> Path:
    """Install a world-readable copy, which replaces an earlier one when it is complete.

    Raises NotBuilt.
    """
    try:
        name = json.loads((built / "package.json").read_text(encoding="utf-8"))["name"]
    except (OSError, ValueError, LookupError) as error:
        raise NotBuilt(f"{built} contains no built extension: run `npm run build:lab`") from error
    if not (runtime / "bin").is_dir():
        raise NotBuilt(f"{runtime} is not a virtualenv")
    # resolved, so that a concurrent preparation cannot redirect it to another virtualenv
    folder = runtime.resolve() / EXTENSIONS
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / str(name)
    # JupyterLab looks for */package.json here: it must find neither a partial nor an old copy
    fresh, old = (folder.parent / f".{name}.{state}" for state in ("new", "old"))
    for left_over in (fresh, old):
        shutil.rmtree(left_over, ignore_errors=True)
    shutil.copytree(built, fresh)
    for path in (fresh, *fresh.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in (folder.parent, folder):
        path.chmod(0o755)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m deploy.lab_extension", description=__doc__)
    parser.add_argument("built", type=Path, help="output folder of `npm run build:lab`")
    parser.add_argument("runtime", type=Path, help="the virtualenv at runtime_dir")
    args = parser.parse_args()
    try:
        target = install(args.built, args.runtime)
    except NotBuilt as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target}: {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
