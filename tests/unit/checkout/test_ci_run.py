"""The stages that continuous integration runs, and the conditions of failure; `make` is a fake."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.paths import CHECKOUT

MAKE = """\
#!/bin/sh
if [ "$2" = state ]; then echo "$PLAYED"; exit; fi
echo "$1" >> "$PLAYED/made"
test "$1" != "$PLAYED_FAILURE"
"""
STAGES = ["test", "test-install", "test-compose"]


@dataclass(frozen=True)
class Run:
    code: int
    output: str
    made: list[str]


@dataclass(frozen=True)
class Machine:
    folder: Path

    def run(self, **environment: str) -> Run:
        """Run .ci/run with these variables; SECONDS is the time already spent."""
        path = f"{self.folder}:{os.environ['PATH']}"
        played = {"PATH": path, "PLAYED": str(self.folder), **environment}
        done = subprocess.run(
            [CHECKOUT / ".ci/run"], env=played, capture_output=True, text=True, check=False
        )
        made = self.folder / "made"
        lines = made.read_text().split() if made.exists() else []
        return Run(done.returncode, done.stdout + done.stderr, lines)

    def keep_images(self) -> None:
        (self.folder / "stamps").mkdir()
        (self.folder / "stamps/images").touch()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    make = tmp_path / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    return Machine(tmp_path)


def test_with_everything_cached_all_stages_run(machine: Machine) -> None:
    machine.keep_images()
    run = machine.run()
    assert (run.code, run.made) == (0, STAGES)
    assert "not planned: nothing" in run.output


def test_with_nothing_cached_it_names_what_it_did_not_plan(machine: Machine) -> None:
    run = machine.run()
    assert (run.code, run.made) == (0, ["test"])
    last = run.output.splitlines()[-1]
    assert last.endswith("not planned: test-install (20 minutes) test-compose (20 minutes)")
    assert machine.run(CI_MINUTES="125").made[1:] == STAGES


def test_with_everything_cached_a_stage_left_out_fails_the_run(machine: Machine) -> None:
    machine.keep_images()
    run = machine.run(CI_MINUTES="65")
    assert run.code != 0
    assert run.made == []
    assert "leave out test-compose (10 minutes)" in run.output


@pytest.mark.parametrize("stage", ["test", "test-compose"])
def test_a_stage_that_fails_fails_the_run(machine: Machine, stage: str) -> None:
    machine.keep_images()
    run = machine.run(PLAYED_FAILURE=stage)
    assert run.code != 0
    assert run.made[-1] == stage


def test_a_planned_stage_without_time_left_fails_the_run(machine: Machine) -> None:
    machine.keep_images()
    run = machine.run(SECONDS=str(91 * 60))
    assert run.code != 0
    assert run.made == []
    assert "no time is left for make test, which was planned" in run.output


def test_too_little_time_for_the_first_stage_fails_the_run(machine: Machine) -> None:
    run = machine.run(CI_MINUTES="10")
    assert run.code != 0
    assert run.made == []
