"""Another Debian release's Slurm for a cluster on this machine.

    python -m tests.recording.programs --suite SUITE --folder DIR

The packages and all libraries that they need are unpacked into DIR/root. The programs are made to
load that folder's C library and libraries, by Debian's patchelf; nothing is installed.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from cluster.config.slurm_release import PLUGINS, PROGRAMS
from tests.recording.packages import provide

LIBRARIES = PLUGINS.parent
LOADER = Path("usr/lib64/ld-linux-x86-64.so.2")


def provide_programs(suite: str, folder: Path) -> Path:
    """Return the folder for `cluster up --slurm`; downloaded packages are kept."""
    root = provide(suite, folder)
    paths = ":".join(str(root / path.relative_to("/")) for path in (LIBRARIES, PLUGINS))
    # not a run path: it would not hold for the libraries of plugins
    options = ["--set-interpreter", str(root / LOADER), "--force-rpath", "--set-rpath", paths]
    programs = [str(root / path.relative_to("/")) for path in PROGRAMS]
    subprocess.run(["patchelf", *options, *programs], check=True)
    return root


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.recording.programs", description=__doc__)
    parser.add_argument("--suite", required=True, help="such as trixie")
    parser.add_argument("--folder", type=Path, required=True)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    print(provide_programs(args.suite, args.folder.resolve()))


if __name__ == "__main__":
    main()
