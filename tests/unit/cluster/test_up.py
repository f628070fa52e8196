"""The copy of cluster/ in a running cluster's folder starts hosts without the other packages."""

import shutil
import subprocess
from pathlib import Path

from cluster.config.paths import CHECKOUT, PYTHON

STARTED = ("cluster.host.head_init", "cluster.host.node", "cluster.parts.package_proxy")


def test_hosts_start_from_the_package_alone(tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "cluster", tmp_path / "cluster", ignore=skipped)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import {', '.join(STARTED)}"
    done = subprocess.run(
        [PYTHON, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
