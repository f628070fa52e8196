"""`python -m cluster.test` when it is terminated: its tests end, and then its clusters."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import CHECKOUT
from tests.patience import PATIENCE_S, wait_until

# Replaces the cluster's program and the tests' Python. It logs its arguments; as the tests it runs
# until SIGTERM, and then still has cleanup to do.
PROGRAM = """\
import signal, sys
asked, log = sys.argv[1:], open({log!r}, "a", buffering=1)
if asked[1] == "cluster":
    log.write(f"{{asked[3].rpartition('/')[2]}} {{asked[4]}}\\n")
    sys.exit()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
log.write(f"{{asked[-1]}} begun\\n")
signal.sigwait([signal.SIGTERM])
log.write(f"{{asked[-1]}} ended\\n")
sys.exit(2)
"""
RUNNER = (
    "import sys; from cluster import test; test.PYTHON = sys.argv.pop(1); sys.exit(test.main())"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The programs' log, in a state folder that contains them."""
    log = tmp_path / "log"
    program = tmp_path / "dev/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable} -IS\n{PROGRAM.format(log=str(log))}")
    program.chmod(0o755)
    log.touch()
    return log


def begin(state: Path, *options: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", RUNNER, str(state / "dev/bin/python")]
    argv += ["--state-root", str(state), *options, "--", "tests/cluster"]
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
        wait_for(log, "tests/cluster begun", "tests/unit begun")
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    lines = log.read_text().splitlines()
    assert {"tests/unit ended", "tests/cluster ended", "test down"} <= set(lines)
    assert not {"test2 up", "tests/browser begun"} & set(lines)
