"""Run pytest against a cluster of its own, raised before and taken down after.

    python3 -m cluster.test --state-root DIR [--keep] -- PYTEST ARGUMENTS

The tests find it by PORTAL_TEST_CLUSTER, its state folder. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PYTHON = "/usr/bin/python3"
CHECKOUT = Path(__file__).resolve().parent.parent
NAME = "test"


def cluster(state: Path, *command: str) -> int:
    """One command of the cluster's own program."""
    argv = [PYTHON, "-m", "cluster", "--state", str(state), *command]
    return subprocess.run(argv, cwd=CHECKOUT, stdin=subprocess.DEVNULL, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m cluster.test", description=__doc__)
    parser.add_argument("--state-root", type=Path, required=True)
    parser.add_argument("--keep", action="store_true", help="leave the cluster up afterwards")
    parser.add_argument("--program", default="pytest", help="the module that is run")
    parser.add_argument("arguments", nargs="*")
    asked = parser.parse_args()
    state = asked.state_root / NAME
    if code := cluster(state, "up"):
        return code
    env = {
        **os.environ,
        "PORTAL_TEST_CLUSTER": str(state),
        "PORTAL_STATE_ROOT": str(asked.state_root),
    }
    argv = [str(asked.state_root / "dev/bin/python"), "-m", asked.program, *asked.arguments]
    try:
        return subprocess.run(argv, cwd=CHECKOUT, env=env, check=False).returncode
    finally:
        if not asked.keep:
            cluster(state, "down")


if __name__ == "__main__":
    sys.exit(main())
