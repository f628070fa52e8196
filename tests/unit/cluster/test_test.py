"""`python -m cluster.test` when it is terminated: its tests end, and then its clusters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S, wait_until

# Replaces the cluster's program and the tests' Python. It logs its arguments; as the tests it runs
# until SIGTERM, and then still has cleanup to do. Short tests end at once.
PROGRAM = """\
import signal, sys
asked, log = sys.argv[1:], open({log!r}, "a", buffering=1)
if asked[1] == "cluster":
    log.write(f"{{asked[3].rpartition('/')[2]}} {{asked[4]}}\\n")
    sys.exit()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
log.write(f"{{asked[-1]}} begun\\n")
if "short" in asked[-1]:
    sys.exit({failed} if "failing" in asked[-1] else 0)
signal.sigwait([signal.SIGTERM])
log.write(f"{{asked[-1]}} ended\\n")
sys.exit(2)
"""
FAILED = 3
RUNNER = (
    "import sys; from cluster import test; test.PYTHON = sys.argv.pop(1); sys.exit(test.main())"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The programs' log, in a state folder that contains them."""
    log = tmp_path / "log"
    program = tmp_path / "dev/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable} -IS\n{PROGRAM.format(log=str(log), failed=FAILED)}")
    program.chmod(0o755)
    log.touch()
    return log


def begin(state: Path, *options: str, first: str = "tests/cluster") -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", RUNNER, str(state / "dev/bin/python")]
    argv += ["--state-root", str(state), *options, "--", first]
    return subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)


def wait_for(log: Path, *lines: str) -> None:
    wait_until(lambda: set(lines) <= set(log.read_text().splitlines()), f"{lines} in {log}")


def test_sigterm_ends_tests_then_clusters(log: Path) -> None:
    with begin(log.parent, "--second", "tests/browser") as process:
        wait_for(log, "tests/cluster begun", "tests/browser begun")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    for name, tests in (("test", "tests/cluster"), ("test2", "tests/browser")):
        mine = (f"{name} up", f"{tests} begun", f"{tests} ended", f"{name} down")
        assert [line for line in log.read_text().splitlines() if line in mine] == [*mine]


def test_what_has_not_begun_is_not_begun_then(log: Path) -> None:
    with begin(log.parent, "--beside", "tests/unit", "--second", "tests/browser") as process:
        wait_for(log, "tests/cluster begun", "tests/browser begun")
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    lines = log.read_text().splitlines()
    assert {"tests/browser ended", "tests/cluster ended", "test down", "test2 down"} <= set(lines)
    assert "tests/unit begun" not in lines


def test_the_lane_that_has_room_runs_the_waiting_tests_once(log: Path) -> None:
    waiting = ["--beside", "-n 2 tests/short-unit", "--beside", "tests/portal"]
    with begin(log.parent, "--second", "tests/short-browser", *waiting) as process:
        wait_for(log, "tests/cluster begun", "tests/portal begun")
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    lines = log.read_text().splitlines()
    second = [line for line in lines if line.endswith(" begun") and "cluster" not in line]
    assert second == ["tests/short-browser begun", "tests/short-unit begun", "tests/portal begun"]
    assert lines.index("test2 down") < lines.index("tests/short-unit begun")


def test_a_failure_of_waiting_tests_fails_the_run(log: Path) -> None:
    waiting = ["--beside", "tests/short-failing", "--beside", "tests/short-unit"]
    with begin(log.parent, *waiting, "--second", "tests/short", first="tests/short") as process:
        assert process.wait(PATIENCE_S) == FAILED


def test_commands_in_the_background_run_beside_the_others(log: Path) -> None:
    python = log.parent / "dev/bin/python"
    commands = ["--background", f"{python} -m pytest tests/background", "--background", "false"]
    with begin(log.parent, *commands, "--second", "tests/browser") as process:
        wait_for(log, *(f"tests/{name} begun" for name in ("cluster", "browser", "background")))
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert "tests/background ended" in log.read_text().splitlines()


def test_a_failure_in_the_background_fails_the_run(log: Path) -> None:
    with begin(log.parent, "--background", "false", first="tests/short") as process:
        assert process.wait(PATIENCE_S) == 1


def test_the_background_has_low_priority(log: Path) -> None:
    with begin(log.parent, "--background", "nice", first="tests/short") as process:
        assert process.wait(PATIENCE_S) == 0
        assert process.stdout
        assert int(process.stdout.read()) == min(os.nice(0) + 10, 19)
