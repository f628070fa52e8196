"""`python -m tests.recording [--keep FOLDER] SUITE…`: record the Slurm of these Debian suites.

Run as root, on Debian; half a minute each. Downloads go to a temporary folder, unless --keep names
one.
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
from tests.recording.scenario import ACCOUNTS, ask_from_elsewhere, record

RECORDED = Path(__file__).parents[1] / "data/slurm/versions"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recording", description=__doc__)
    parser.add_argument("--keep", type=Path, help="where packages and logs stay")
    parser.add_argument("suites", nargs="+", metavar="SUITE")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything started here ends
    with tempfile.TemporaryDirectory(prefix="portal-recording-") as temporary:
        grounds = [_ground((given.keep or Path(temporary)) / suite) for suite in given.suites]
        for ground in grounds:
            folder = RECORDED / ground.version
            print(f"{ground.folder.name}: Slurm {ground.version}", flush=True)
            with ground.running(ACCOUNTS):
                record(ground, folder)
                ask_from_elsewhere(ground, folder, [g for g in grounds if g is not ground])
            config = ground.config_with_cgroups()
            (folder / "config_cgroups.txt").write_text(config, encoding="utf-8")
    return 0


def _ground(folder: Path) -> Ground:
    folder.mkdir(parents=True, exist_ok=True)
    return Ground(folder, provide(folder.name, folder), _version(folder))


def _version(folder: Path) -> str:
    """Return the package's version: Debian writes 20.11.7+really20.11.4 for 20.11.4."""
    (package,) = (folder / "packages").glob("slurmctld_*.deb")
    numbers: list[str] = re.findall(r"\d+\.\d+\.\d+", package.name)
    return numbers[-1]


if __name__ == "__main__":
    sys.exit(main())
