"""docs/install.md, followed as by a new operator on a Slurm and LDAP cluster without the portal.

The commands are the document's own. A test provides its own values, and replaces systemd: it starts
the commands of the rendered units. `make test-install`; the tests build on each other.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.one_machine import RAISE, ROOT, one_machine
from tests.install import units
from tests.install.document import DOCUMENT, Block, blocks
from tests.install.host import Host
from tests.polling import PATIENCE_S, wait_until

WHEELS = ROOT / "wheel"
SERVICES = ("portal", "portal-hub", "portal-nginx")
OURS = frozenset({"values", "images", "password", "systemd"})
STEPS = blocks(DOCUMENT.read_text(encoding="utf-8"))
FIRST = [block for block in STEPS if not block.heading.startswith("Upgrade")]
LATER = [block for block in STEPS if block.heading.startswith("Upgrade")]


class Site(Host):
    """The installed portal, with its services started as defined by their units."""

    def __init__(self, state: Path, values: dict[str, str], facts: dict[str, Any]) -> None:
        super().__init__(state, values)
        self.facts = facts
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.facts['ports']['public']}"

    def unit(self, name: str) -> dict[str, list[str]]:
        file = name if "." in name else f"{name}.service"
        return units.parse(self.exec("cat", f"/etc/systemd/system/{file}"))

    def up(self, name: str) -> None:
        unit = self.unit(name)
        if "ExecStartPre" in unit:
            self.exec(*units.argv(unit, "ExecStartPre"))
        (listen,) = self.unit(f"{name}.socket")["ListenStream"] if "Requires" in unit else [None]
        self.running[name] = self.start(
            units.argv(unit, listen=listen), self.state / "log" / f"{name}.log"
        )

    def stop(self, name: str) -> None:
        """Stop a service as systemd does: only the main process is signaled."""
        process = self.running.pop(name)
        if process.poll() is None:
            for pid in _children(process.pid):
                os.kill(pid, signal.SIGTERM)
        process.wait(PATIENCE_S)

    def wait_until_served(self) -> None:
        def answers() -> bool:
            for name, process in self.running.items():
                log = self.state / "log" / f"{name}.log"
                assert process.poll() is None, f"{name}: {log.read_text()[-3000:]}"
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


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    (wheel,) = WHEELS.glob("data_scientist_portal-*.whl")
    assert (WHEELS / "requirements.lock").is_file()
    with one_machine("t-inst") as cluster:
        cluster.run(*RAISE)
        facts = json.loads((cluster.state / "addresses.json").read_text())
        facts["head"] = cluster.status()["head"]
        facts["gpus_confined"] = cluster.status()["confinement"]["GPUs"]["confined"]
        known = cluster.status()["ldap"]
        values = {
            "RELEASE": str(wheel.parent),
            "APP": "/opt/portal-app-1",
            "SHARED": "/opt/portal",
            "PORTAL_NAME": "portal.example.org",
            "LDAP_URL": known["ldaps_url"],
            "LDAP_CA": known["ca_file"],
            "LDAP_BIND_DN": f"cn=portal,ou=services,{known['suffix']}",
            "ME": "alice",
        }
        found = Site(cluster.state, values, facts)
        found.make_fresh([node["name"] for node in cluster.status()["nodes"]])
        yield found
        for name in list(found.running):
            found.stop(name)


def test_the_document_names_its_values_and_no_others(site: Site) -> None:
    (values,) = [block for block in STEPS if block.name == "values"]
    assert set(re.findall(r"^(\w+)=", values.text, re.MULTILINE)) == set(site.values)
    assert values.text.endswith("umask 022\n")  # host.py sets it, too
    for block in STEPS:
        used = set(re.findall(r"\$(\w+)", block.text))
        assert used <= {*site.values, "PORTAL_CONFIG"}, block.text


@pytest.mark.parametrize("block", FIRST, ids=lambda block: f"{block.heading}-{block.name}")
def test_step(site: Site, block: Block) -> None:
    """Run each step in order: a failure here would be a failure for an operator."""
    match block.name:
        case "values":
            assert site.values["APP"] in block.text
        case "images":
            images = site.work / "shared/images"
            shutil.copytree(ROOT / "images", images, symlinks=True, ignore=_all_but_python3)
            assert (images / "python3.sif").exists()
        case "password":
            password = (site.state / "etc/ldap-portal-password").read_text()
            site.shell(block.text, stdin=password)
            assert site.shell("stat -c '%U %a' /etc/portal/ldap.secret") == "portal 600\n"
        case "systemd":
            for name in SERVICES:
                site.up(name)
            site.wait_until_served()
        case _:
            site.shell(block.text)
            if (
                exported := re.search(r"^export (\w+)=(\S+)$", block.text, re.MULTILINE)
            ) is not None:
                site.values[exported[1]] = exported[2]
            if "portal init" in block.text:
                _decide(site)


def _all_but_python3(folder: str, names: list[str]) -> set[str]:
    if Path(folder) != ROOT / "images":
        return set()
    return {name for name in names if not name.startswith("python3")}


def _decide(site: Site) -> None:
    """Set the lines of the document's table that need a decision, with ports that are free here."""
    ports = site.facts["ports"]
    decided = {
        "public_url": site.url,
        "notebook_url": f"http://127.0.0.1:{ports['notebooks']}",
        "tensorboard_url": f"http://127.0.0.1:{ports['tensorboards']}",
        "node_url": f"http://{site.facts['head']}:{ports['node_facing']}",
        "listen_port": ports["portal"],
        "hub_url": f"http://127.0.0.1:{ports['hub']}",
        "runtime_dir": "/opt/portal/runtime",
        "ldap_user_groups": ["portal-users"],
        "ldap_admin_groups": ["portal-admins"],
        "min_uid": 20000,
    }
    text = site.exec("cat", "/etc/portal/portal.toml")
    for name in decided:
        text = re.sub(rf"(?m)^{name} = .*\n", "", text)
    head = "".join(f"{name} = {json.dumps(value)}\n" for name, value in decided.items())
    site.shell("cat > /etc/portal/portal.toml", stdin=head + text)


def test_check_finds_no_fault(site: Site) -> None:
    found = site.check("alice")
    assert {
        "settings", "pages", "account", "database", "slurm", "clock of slurmctld",
        "slurm accounting", "slurm operator", "comments in accounting", "launcher", "sudo", "hub",
        "nginx", "launcher as alice", "job as alice", "runtime on the nodes",
        "shared folders on the nodes", "Apptainer on the nodes", "portal from the nodes",
        "hub from the nodes", "origins", "certificate for notebook_url",
        "certificate for tensorboard_url",
    } <= set(found)  # fmt: skip
    problems = {what: problem for what, problem in found.items() if problem}
    if not site.facts["gpus_confined"]:
        assert "task/cgroup" in problems.pop("confinement of GPUs")
    assert problems == {}
    assert "environment python3" in found
    assert "environment r (not offered)" in found


@pytest.mark.anyio
async def test_a_session_starts_and_runs_a_cell(site: Site) -> None:
    async with Client(site.url) as alice:
        await alice.login("alice", site.password("alice"))
        made = await alice.start_session(name="first")
        session = await alice.wait_session(made["id"], "running", "ended", timeout_s=180)
        assert (session["state"], session["reason"]) == ("running", None)
        await alice.open_lab(session)
        async with alice.kernel(session) as kernel:
            done = await kernel.run("import os, socket; print(socket.gethostname(), os.getuid())")
        assert (done.status, done.text.split()[1]) == ("ok", "20001")
        assert done.text.startswith("node")
        await alice.stop_session(made["id"])


@pytest.mark.anyio
async def test_who_is_in_no_group_of_the_portals_is_not_acted_for(site: Site) -> None:
    """sudo itself refuses, whatever the portal requests."""
    launcher = "/usr/local/libexec/portal/launcher"
    asked = f"sudo -u portal sudo -n -u {{}} -- {launcher} </dev/null 2>&1 || true"
    assert '"username":"alice"' in site.shell(asked.format("alice")).replace(" ", "")
    for other in ("root", "slurm"):
        assert "hello" not in site.shell(asked.format(other))
    assert site.shell("sudo -u portalhub sudo -n -l 2>&1 || true").find(launcher) == -1


def test_nightly_backup_runs_as_its_unit_describes(site: Site) -> None:
    site.exec(*units.argv(site.unit("portal-backup")))
    assert len(site.shell("ls /var/backups/portal").split()) == 1
    assert site.shell("stat -c '%U %a' /var/backups/portal/*") == "portal 600\n"


def test_upgrade(site: Site) -> None:
    """The same release again, in separate folders: every step except the change itself."""
    backup, stop, migrate, go_on, back = LATER
    assert [block.name for block in LATER] == ["", "systemd", "upgrade", "systemd", "back"]
    site.shell(backup.text)
    site.values["APP"] = "/opt/portal-app-2"
    for block in FIRST:
        if block.heading in {"3. The package", "4. What the nodes run"} and not block.name:
            site.shell(block.text)
    assert "systemctl stop portal.socket portal.service" in stop.text
    site.stop("portal")
    site.shell(migrate.text)
    assert "systemctl restart portal-hub" in go_on.text
    site.up("portal")
    site.stop("portal-hub")
    site.up("portal-hub")
    site.wait_until_served()
    assert site.unit("portal")["ExecStart"] == ["/opt/portal-app-2/bin/python -I -m portal serve"]
    _come_back(site, back)


def _come_back(site: Site, back: Block) -> None:
    site.values["APP"] = "/opt/portal-app-1"
    site.stop("portal")
    output = site.shell(back.text)
    assert "Wrote /etc/systemd/system/portal.service." in output
    site.up("portal")
    site.wait_until_served()
    found = site.check("alice")
    assert found["job as alice"] == ""
    assert found["runtime on the nodes"] == ""
