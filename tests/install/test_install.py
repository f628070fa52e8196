"""docs/install.md, followed as by a new operator on a Slurm and LDAP cluster without the portal.

The commands are the document's own. A test provides its own values, and a systemctl that starts the
commands of the rendered units. `make test-install`; the tests build on each other.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from cluster.client import Client
from tests.cluster.one_machine import ROOT
from tests.install import units
from tests.install.document import DOCUMENT, Block, blocks
from tests.install.site import Site

STEPS = blocks(DOCUMENT.read_text(encoding="utf-8"))
FIRST = [block for block in STEPS if not block.heading.startswith("Upgrade")]


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
            site.shell(block.text)
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
