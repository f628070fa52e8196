"""The virtual machine with this checkout and its state folder at the same paths as here."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from tests.vm.guest import PATIENCE_S, Guest, Result
from tests.vm.image import CHECKOUT


class Stock:
    """`state`: the state folder; it contains the clusters, as on any machine."""

    def __init__(self, guest: Guest, state: Path) -> None:
        self.guest = guest
        self.state = state
        self.demo = state / "demo"

    def attach(self) -> None:
        """Mount the second disk; required again after each boot."""
        places = {"checkout": CHECKOUT, "state": self.state}
        script = "mkdir -p /data; mount /dev/vdb /data\n"
        for name, path in places.items():
            script += f"mkdir -p {path}; mount --bind /data/{name} {path}\n"
        self.guest.run(script)

    def cluster(self, *arguments: str, check: bool = True) -> Result:
        """Run one command of the cluster's command line, on the demo."""
        words = ["/usr/bin/python3", "-m", "cluster", "--state", str(self.demo), *arguments]
        return self.in_checkout(words, check=check)

    def in_checkout(self, words: list[str], *, check: bool = True) -> Result:
        variables = f"PORTAL_STATE_ROOT={self.state} PORTAL_TEST_PATIENCE_S={PATIENCE_S:g}"
        script = f"export PYTHONDONTWRITEBYTECODE=1 {variables}; cd {CHECKOUT}; {shlex.join(words)}"
        return self.guest.run(script, check=check)

    def run_demo(self) -> Result:
        words = [f"{self.state}/venv/bin/python", "-m", "cluster.demo", "--state", str(self.demo)]
        return self.in_checkout(words, check=False)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.cluster("status", "--json").output)
        return found
