"""The demo's output when its cluster cannot be created."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.paths import CHECKOUT


def test_a_cluster_that_cannot_be_raised_is_no_traceback(tmp_path: Path) -> None:
    # closed to jobs' users; without root the message is that root is required
    tmp_path.chmod(0o700)
    argv = [sys.executable, "-m", "cluster.demo", "--state", str(tmp_path / "demo")]
    done = subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("cluster: ")
