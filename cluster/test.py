"""Run pytest against a cluster of its own, raised before and taken down after.

    python3 -m cluster.test --state-root DIR [--keep] [--beside TESTS]… -- PYTEST ARGUMENTS

The tests find it by PORTAL_TEST_CLUSTER, its state folder. Those that need no cluster may run
beside, in a pytest of their own: tests with a cluster mostly wait for Slurm. Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

PYTHON = "/usr/bin/python3"
CHECKOUT = Path(__file__).resolve().parent.parent
NAME = "test"


def cluster(state: Path, *command: str) -> int:
    """One command of the cluster's own program."""
    argv = [PYTHON, "-m", "cluster", "--state", str(state), *command]
    return subprocess.run(argv, cwd=CHECKOUT, stdin=subprocess.DEVNULL, check=False).returncode


@contextlib.contextmanager
def beside(python: str, tests: list[str]) -> Iterator[list[int]]:
    """A pytest of its own for as long as the block lasts, then waited for: its output is shown at
    the end, in one piece. What is given holds its exit status afterwards."""
    codes: list[int] = []
    if not tests:
        yield codes
        return
    with tempfile.TemporaryFile() as output:
        argv = [python, "-m", "pytest", *tests]
        # not in this terminal's input: a debugger there would wait for ever
        with subprocess.Popen(
            argv, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process:
            try:
                yield codes
                codes.append(process.wait())
            except BaseException:
                process.terminate()
                raise
            finally:
                _show(output)


def _show(output: IO[bytes]) -> None:
    output.seek(0)
    sys.stdout.flush()
    for line in output:
        sys.stdout.buffer.write(line)
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m cluster.test", description=__doc__)
    parser.add_argument("--state-root", type=Path, required=True)
    parser.add_argument("--keep", action="store_true", help="leave the cluster up afterwards")
    parser.add_argument("--program", default="pytest", help="the module that is run")
    parser.add_argument("--beside", action="append", default=[], help="tests without a cluster")
    parser.add_argument("arguments", nargs="*")
    asked = parser.parse_args()
    state = asked.state_root / NAME
    python = str(asked.state_root / "dev/bin/python")
    if code := cluster(state, "up"):
        return code
    env = {
        **os.environ,
        "PORTAL_TEST_CLUSTER": str(state),
        "PORTAL_STATE_ROOT": str(asked.state_root),
    }
    argv = [python, "-m", asked.program, *asked.arguments]
    try:
        with beside(python, asked.beside) as codes:
            codes.append(subprocess.run(argv, cwd=CHECKOUT, env=env, check=False).returncode)
        return next((code for code in codes if code), 0)
    finally:
        if not asked.keep:
            cluster(state, "down")


if __name__ == "__main__":
    sys.exit(main())
