"""`python -m tests.recording [--keep FOLDER] SUITE…`: record the Slurm of these suites of Debian.

As root, on Debian, half a minute each. What is fetched lies in a folder of this run, unless one to
keep is named.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
from pathlib import Path

from tests.recording.ground import Ground
from tests.recording.packages import provide
from tests.recording.scenario import ACCOUNTS, record

RECORDED = Path(__file__).parents[1] / "data/slurm/versions"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recording", description=__doc__)
    parser.add_argument("--keep", type=Path, help="where packages and logs stay")
    parser.add_argument("suites", nargs="+", metavar="SUITE")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all that was started ends
    with tempfile.TemporaryDirectory(prefix="portal-recording-") as temporary:
        for suite in given.suites:
            _record(suite, (given.keep or Path(temporary)) / suite)
    return 0


def _record(suite: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    root = provide(suite, folder)
    version, release = _version(folder)
    print(f"{suite}: Slurm {version}", flush=True)
    ground = Ground(folder, root, release)
    with ground.running(ACCOUNTS):
        record(ground, RECORDED / version)


def _version(folder: Path) -> tuple[str, tuple[int, int]]:
    """Of the package: Debian writes 20.11.7+really20.11.4 for 20.11.4."""
    (package,) = (folder / "packages").glob("slurmctld_*.deb")
    found = re.findall(r"(\d+)\.(\d+)\.\d+", package.name.replace("%2b", "+"))
    numbers = re.findall(r"\d+\.\d+\.\d+", package.name)[-1]
    return numbers, (int(found[-1][0]), int(found[-1][1]))


if __name__ == "__main__":
    sys.exit(main())
