"""`portal upgrade` on the installed portal, with wheels that work and wheels with faults.

The tests build on each other, and on test_install.py. tests/portal/deploy/upgrade has every step.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cluster.client import Client
from portal.backup import revisions
from tests.install.conftest import WHEELS
from tests.install.document import DOCUMENT, blocks
from tests.install.newer_wheel import FAILING_MIGRATION, FAILING_START, REVISION, Fault, make_newer
from tests.install.site import Site

PARTS = {
    block.name: block.text
    for block in blocks(DOCUMENT.read_text(encoding="utf-8"))
    if block.heading.startswith("Upgrade")
}
OLD = "/opt/portal-app-1"
NEWER = "0.1.1"
TITLE = "Before the upgrade"
READ_REVISION = """
import sqlite3
with sqlite3.connect("file:/var/lib/portal/portal.db?mode=ro", uri=True) as found:
    print(*found.execute("SELECT version_num FROM alembic_version").fetchone())
"""
AS_PORTAL = "sudo -u portal PORTAL_CONFIG=$PORTAL_CONFIG portal"


def release(site: Site, version: str, fault: Fault | None = None) -> None:
    """Set RELEASE to the folder of a newer version."""
    folder = site.state / "releases" / version
    if not folder.exists():
        (wheel,) = WHEELS.glob("data_scientist_portal-*.whl")
        make_newer(wheel, folder, version, fault)
    site.values["RELEASE"] = str(folder)


def find_state(site: Site) -> dict[str, str]:
    """Return the version in use, the schema, and all files that the units depend on."""
    files = "find /etc/systemd/system /etc/sudoers.d /usr/local/libexec/portal -type f | sort"
    return {
        "command": site.shell("readlink --canonicalize /usr/local/bin/portal").strip(),
        "runtime": site.shell("readlink /opt/portal/runtime").strip(),
        "revision": site.exec("/usr/bin/python3", "-c", READ_REVISION).strip(),
        "files": site.shell(f"sha256sum $({files})"),
        "announcements": site.shell(
            f"{AS_PORTAL} announcements list | grep --count '{TITLE}' || true"
        ),
    }


def test_the_check_passes_and_changes_nothing(site: Site) -> None:
    site.shell(f"{AS_PORTAL} announcements add '{TITLE}'")
    release(site, NEWER)
    before = find_state(site)
    output = site.shell(PARTS["check"])
    assert "FAILED" not in output
    assert f"The upgrade from 0.1.0 to {NEWER} is possible." in output
    assert find_state(site) == before
    site.wait_until_served()


@pytest.mark.parametrize(
    ("version", "fault", "step"),
    [("0.1.2", FAILING_MIGRATION, "migrate"), ("0.1.3", FAILING_START, "start")],
)
def test_a_version_with_a_fault_is_rolled_back(
    site: Site, version: str, fault: Fault, step: str
) -> None:
    release(site, version, fault)
    before = find_state(site)
    output = site.shell(f"({PARTS['upgrade']}) 2>&1 || echo exit $?")
    assert f"failed in the step “{step}”, and version 0.1.0 runs again" in output
    assert output.endswith("exit 3\n")
    site.wait_until_served()
    assert find_state(site) == before


def test_a_disk_that_is_too_small_is_found_before(site: Site) -> None:
    release(site, NEWER)
    site.shell(
        "mount -t tmpfs -o size=1m,mode=700,uid=$(id --user portal) tmpfs /var/backups/portal"
    )
    try:
        output = site.shell(f"({PARTS['upgrade']}) 2>&1 || echo exit $?")
    finally:
        site.shell("umount /var/backups/portal")
    assert re.search(r"FAILED  disk: 0\.0 GiB are free on the disk of /var/backups/portal", output)
    assert output.endswith("exit 1\n")
    site.wait_until_served()


@pytest.mark.anyio
async def test_an_upgrade_that_is_killed_is_finished_by_the_next_run(site: Site) -> None:
    """A session that runs throughout goes on."""
    async with Client(site.url) as alice:
        await alice.login("alice", site.password("alice"))
        made = await alice.start_session(name="throughout")
        session = await alice.wait_session(made["id"], "running", "ended", timeout_s=180)
        assert session["state"] == "running"
        _upgrade_killed(site)
        await alice.open_lab(session)
        async with alice.kernel(session) as kernel:
            done = await kernel.run("print('goes on')")
        assert done.text == "goes on\n"
        await alice.stop_session(made["id"])


def _upgrade_killed(site: Site) -> None:
    command = PARTS["upgrade"].strip()
    site.shell(
        f"{command} > /root/log 2>&1 & running=$!\n"
        "until grep --quiet ^Migrating /root/log; do\n"
        "    kill -0 $running || { cat /root/log; exit 1; }\n"
        "    sleep 0.02\n"
        "done\nkill -KILL $running\nwait $running || true"
    )
    assert site.shell("systemctl is-active portal").strip() == "inactive"
    output = site.shell(command)
    assert "was interrupted in the step" in output
    assert f"Version {NEWER} runs" in output
    site.wait_until_served()
    assert site.unit("portal")["ExecStart"] == ["/opt/portal-app/bin/python -I -m portal serve"]
    state = find_state(site)
    assert state["command"].startswith(f"/opt/portal-app-{NEWER}-")
    assert state["revision"] == REVISION
    assert state["announcements"] == "1\n"


def test_the_upgraded_portal_works(site: Site) -> None:
    found = site.check("alice")
    assert found["job as alice"] == ""
    assert found["runtime on the nodes"] == ""
    assert found["launcher"] == ""


def test_back_to_the_version_before(site: Site) -> None:
    assert "systemctl stop" in PARTS["stop"]
    site.shell(PARTS["stop"])
    site.shell(f"{AS_PORTAL} migrate --to {revisions.head()}")
    site.values["APP"] = OLD
    output = site.shell(PARTS["back"])
    assert "Wrote /etc/systemd/system/portal.service." in output
    site.shell(PARTS["start"])
    site.wait_until_served()
    state = find_state(site)
    assert state["command"] == f"{OLD}/bin/portal"
    assert state["revision"] == revisions.head()
    assert state["announcements"] == "1\n"
    assert site.check("alice")["job as alice"] == ""


def test_the_first_upgrade_is_run_by_the_new_version(site: Site) -> None:
    """A version without the command is upgraded by the new one, which is installed by hand."""
    site.values |= {"APP": "/opt/portal-app-2", "RELEASE": str(WHEELS)}
    (package,) = [
        block.text
        for block in blocks(DOCUMENT.read_text(encoding="utf-8"))
        if block.heading == "3. The package"
    ]
    site.shell(
        "".join(line for line in package.splitlines(keepends=True) if "/usr/local" not in line)
    )
    assert "Version 0.1.0 runs, from /opt/portal-app-2." in site.shell(PARTS["first"])
    site.wait_until_served()
    assert site.shell("readlink /opt/portal-app") == "/opt/portal-app-2\n"
    assert Path(find_state(site)["command"]) == Path("/opt/portal-app-2/bin/portal")
