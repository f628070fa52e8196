"""Run pytest against new clusters, created before and taken down afterwards.

    python3 -m cluster.test --state-root DIR [--slurm DIR] [--background COMMAND]…
        [--beside TESTS]… [--second TESTS]… -- ARGUMENTS

ARGUMENTS are pytest's, for the first cluster. Tests with a cluster mostly wait for Slurm, so those
of --second run in parallel, in another cluster. When one of the two has ended, the tests of
--beside follow, which need no cluster: each --beside is one pytest, which begins as soon as either
has room. All at once are no faster on two cores, and time out. The commands of --background, which
no delay fails, use what the clusters leave of the processors. Each pytest finds its cluster by
PORTAL_TEST_CLUSTER, the state folder. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cluster.config.paths import CHECKOUT, PYTHON

FIRST = "test"
SECOND = "test2"
TERMINATED = 128 + signal.SIGTERM
LOW_PRIORITY = ["nice", "-n", "10"]


@dataclass
class Lane:
    """Commands that run one after another.

    With `output` None they use this terminal. A parallel lane writes to a file, which is shown in
    one piece at the end.
    """

    root: Path
    output: IO[bytes] | None = None
    code: int = 0
    _running: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _ended: bool = False

    def cluster(self, name: str, *command: str) -> int:
        """Run one command of the cluster's command line. Return its exit status."""
        return self._run([PYTHON, "-m", "cluster", "--state", str(self.root / name), *command])

    def module(self, program: str, arguments: list[str], cluster: str | None = None) -> None:
        """Run a module of the tests' virtualenv; a failure sets the lane's exit status."""
        env = {**os.environ, "PORTAL_STATE_ROOT": str(self.root)}
        if cluster is not None:
            env["PORTAL_TEST_CLUSTER"] = str(self.root / cluster)
        argv = [str(self.root / "dev/bin/python"), "-m", program, *arguments]
        self.code = self._run(argv, env) or self.code

    def low_priority(self, command: str) -> None:
        """Run a command with less right to the processors than the other lanes; a failure sets the
        lane's exit status."""
        self.code = self._run([*LOW_PRIORITY, *shlex.split(command)]) or self.code

    def in_cluster(
        self,
        name: str,
        program: str,
        arguments: list[str],
        *,
        keep: bool,
        slurm: Path | None = None,
    ) -> None:
        """Create a cluster and run a module with it; take the cluster down unless `keep` is set."""
        options = [f"--slurm={slurm}"] if slurm else []
        try:
            if code := self.cluster(name, "up", *options):
                self.code = code
            else:
                self.module(program, arguments, name)
        finally:
            if not keep:
                self.cluster(name, "down")

    def end(self) -> None:
        """End the running command, unless it takes a cluster down; from now on start only such
        commands."""
        self._ended = True
        if self._running is not None:
            self._running.terminate()

    def show(self) -> None:
        """Copy the lane's output to this terminal."""
        if self.output is None:
            return
        self.output.seek(0)
        sys.stdout.flush()
        for line in self.output:
            sys.stdout.buffer.write(line)
        sys.stdout.flush()

    def _run(self, argv: list[str], env: dict[str, str] | None = None) -> int:
        going_down = argv[-1] == "down"
        if self._ended and not going_down:
            return 1
        # not this terminal's input: a debugger in a parallel lane would wait forever
        errors = subprocess.STDOUT if self.output else None
        stdin = subprocess.DEVNULL if self.output else None
        with subprocess.Popen(
            argv, cwd=CHECKOUT, env=env, stdin=stdin, stdout=self.output, stderr=errors
        ) as process:
            self._running = None if going_down else process
            if self._ended:  # since the check above
                self.end()
            code = process.wait()
            self._running = None
            return code


def side_by_side(args: argparse.Namespace) -> int:
    """Run the first cluster's tests in this terminal, the second's and the background's commands in
    parallel, and the others where there is room. Return a failure's status."""
    first, waiting = Lane(args.state_root), deque(args.beside)
    with ExitStack() as outputs:
        second, background = others = [
            Lane(args.state_root, outputs.enter_context(tempfile.TemporaryFile())) for _ in range(2)
        ]
        threads = [
            threading.Thread(target=_run_second, args=(second, args, waiting)),
            threading.Thread(target=_run_background, args=(background, args.background)),
        ]
        terminated = _end_on_term(first, *others)
        for thread in threads:
            thread.start()
        try:
            first.in_cluster(
                args.name, args.program, args.arguments, keep=args.keep, slurm=args.slurm
            )
            _run_waiting(first, waiting)
        except BaseException:
            for lane in others:
                lane.end()
            raise
        finally:
            for lane, thread in zip(others, threads, strict=True):
                thread.join()
                lane.show()
    return TERMINATED if terminated.is_set() else first.code or second.code or background.code


def _end_on_term(*lanes: Lane) -> threading.Event:
    """Return an event that is set on SIGTERM, which also ends these lanes."""
    terminated = threading.Event()

    def end(*_: object) -> None:
        terminated.set()
        for lane in lanes:
            lane.end()

    signal.signal(signal.SIGTERM, end)
    return terminated


def _run_second(lane: Lane, args: argparse.Namespace, waiting: deque[str]) -> None:
    if args.second:
        lane.in_cluster(SECOND, "pytest", args.second, keep=args.keep)
    _run_waiting(lane, waiting)


def _run_background(lane: Lane, commands: list[str]) -> None:
    for command in commands:
        lane.low_priority(command)


def _run_waiting(lane: Lane, waiting: deque[str]) -> None:
    """Run the tests that no lane has begun, one after another. Each is one string of arguments."""
    while True:
        try:
            tests = waiting.popleft()
        except IndexError:  # the lanes have begun all of them
            return
        lane.module("pytest", tests.split())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m cluster.test", description=__doc__)
    parser.add_argument("--state-root", type=Path, required=True)
    parser.add_argument("--keep", action="store_true", help="leave the clusters up afterwards")
    parser.add_argument("--name", default=FIRST, help="the first cluster's folder")
    parser.add_argument("--slurm", type=Path, help="a folder with another release's Slurm for it")
    parser.add_argument("--program", default="pytest", help="the module that is run")
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        help="tests without a cluster, as arguments of one pytest",
    )
    parser.add_argument(
        "--background",
        action="append",
        default=[],
        help="a command that needs no cluster and runs at low priority",
    )
    parser.add_argument("--second", action="append", default=[], help="tests in a second cluster")
    parser.add_argument("arguments", nargs="*")
    return side_by_side(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
