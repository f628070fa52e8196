"""The installed portal: its services run as their units describe, started by a played systemctl."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from tests.install import units
from tests.install.host import Host
from tests.paths import TESTS
from tests.polling import wait_until

MANAGER = Path("/usr/local/lib/played-systemd")
SYSTEMCTL = f"""
mkdir --parents {MANAGER}/tests/install
touch {MANAGER}/tests/__init__.py {MANAGER}/tests/install/__init__.py
cat > /usr/local/bin/systemctl <<'END'
#!/bin/sh
PYTHONPATH={MANAGER} exec /usr/bin/python3 -m tests.install.service_manager "$@"
END
chmod 0755 /usr/local/bin/systemctl
"""
LOGS = "/var/lib/played-systemd"


class Site(Host):
    """The head with the installed portal. `facts` are the cluster's."""

    def __init__(self, state: Path, values: dict[str, str], facts: dict[str, Any]) -> None:
        super().__init__(state, values)
        self.facts = facts

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.facts['ports']['public']}"

    def put_systemctl(self) -> None:
        self.shell(SYSTEMCTL)
        for name in ("units.py", "service_manager.py"):
            text = (TESTS / "install" / name).read_text(encoding="utf-8")
            self.shell(f"cat > {MANAGER}/tests/install/{name}", stdin=text)

    def unit(self, name: str) -> dict[str, list[str]]:
        file = name if "." in name else f"{name}.service"
        return units.parse(self.exec("cat", f"/etc/systemd/system/{file}"))

    def wait_until_served(self) -> None:
        def answers() -> bool:
            states = self.shell("systemctl is-active portal portal-hub portal-nginx")
            assert set(states.split()) == {"active"}, self.shell(f"tail -n 30 {LOGS}/*.log")
            asked = ["curl", "--silent", "--fail", "--max-time", "10", "--output", "/dev/null"]
            ports = self.facts["ports"]
            urls = [f"{self.url}/healthz", f"http://127.0.0.1:{ports['hub']}/hub/api"]
            return all(subprocess.run([*asked, url], check=False).returncode == 0 for url in urls)

        wait_until(answers, "the installed portal's answer")

    def check(self, name: str) -> dict[str, str]:
        """Return the result of `portal check` for each check: empty, or the problem."""
        text = f"sudo -u portal PORTAL_CONFIG=$PORTAL_CONFIG portal check --as {name} || true"
        output = self.shell(text)
        found = re.findall(r"^(ok     |FAILED )  ?([^:\n]+?)(?:: (.*))?$", output, re.MULTILINE)
        return {what: problem if how == "FAILED " else "" for how, what, problem in found}
