"""`portal check` on the cluster, and its results."""

from __future__ import annotations

import re
from pathlib import Path

from tests.live import Live


def check(portal: Live, *options: str, slurm_conf: Path | None = None) -> dict[str, str]:
    """Return the result for each check: empty, or the problem."""
    etc, python = portal.state / "etc", portal.state.parent / "venv/bin/python"
    env = [f"PORTAL_CONFIG={etc}/portal.toml"]
    env += [f"PORTAL_SLURM_CONF={slurm_conf}"] if slurm_conf else []
    argv = ["env", *env, str(python), "-I", "-m", "portal", "check", *options]
    # its exit status reports failures, and so do its lines
    output = portal.exec_as("portal", ["sh", "-c", '"$@" || true', "sh", *argv])
    found = re.findall(r"^(ok     |FAILED )  ?([^:\n]+?)(?:: (.*))?$", output, re.MULTILINE)
    return {what: problem if how == "FAILED " else "" for how, what, problem in found}
