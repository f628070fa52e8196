"""TLS to the nodes, switched on and off in a running cluster.

Sessions started before continue without TLS; later ones use it, and both continue when it is
switched off again.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import sqlite3
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cluster.client import Client
from cluster.config.paths import Paths
from portal.node_ca import DOMAIN
from tests.cluster.job_tools import scalars
from tests.cluster.ssh_tools import access_token, set_up
from tests.live import Live, command
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio

NAMES = ("plain", "proven", "again")
SMALL = {"gpus": 0, "cpus": 1, "memory_gb": 2, "time_limit_minutes": 30}
WRITE_EVENTS = """
import os
from tensorboardX import SummaryWriter
with SummaryWriter(os.environ["PORTAL_LOGDIR"]) as log:
    log.add_scalar("loss", 0.5, 0)
"""
SECRETS_ON_DISK = """
import os, pathlib, sys
for folder in (os.environ["JUPYTER_RUNTIME_DIR"], os.path.expanduser("~/.local/share/portal")):
    for file in pathlib.Path(folder).rglob("*"):
        if file.is_file() and b"PRIVATE" + b" KEY" in file.read_bytes():
            print(file)
print("looked")
"""


class Switch:
    """The setting in the cluster's own file, and an operator's steps after changing it."""

    def __init__(self, portal: Live) -> None:
        self.portal = portal
        self.settings = portal.state / "etc" / "portal.toml"
        self.before = self.settings.read_text("utf-8")
        self.folder = portal.state / "node-ca"
        self.bundle = str(self.folder / "ca.crt")

    def turn(self, *, on: bool) -> None:
        """Switch TLS; when off, existing certificates stay trusted, but no new ones are issued."""
        self.folder.mkdir(exist_ok=True, mode=0o755)
        shutil.chown(self.folder, int(self.portal.exec_as("portal", ["id", "-u"])))
        file = f'node_ca_certificate_file = "{self.bundle}"'
        self._write(f"{self.before}node_tls = {str(on).lower()}\n{file}\n")

    def back(self) -> None:
        """Restore the initial settings."""
        self._write(self.before)

    def _write(self, text: str) -> None:
        self.settings.write_text(text, "utf-8")
        command(self.portal.state, "portal", "node-ca")
        python = str(Paths(self.portal.state).venv / "bin" / "python")
        render = [python, "-I", "-m", "deploy.nginx", "--settings", str(self.settings)]
        self.portal.exec_as("www-data", [*render, "--out", str(self.portal.state / "nginx")])
        for service in ("nginx", "portal"):
            command(self.portal.state, "restart", service)
        self.portal.wait_until_served()


@pytest.fixture(scope="module")
def switch(portal: Live) -> Iterator[Switch]:
    made = Switch(portal)
    yield made
    made.back()


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client
        for session in (await client.api("GET", "/sessions"))["items"]:
            if session["name"] in NAMES:
                await client.api("DELETE", f"/sessions/{session['id']}/tensorboard")
                if session["state"] != "ended":
                    await client.stop_session(session["id"])


async def started(alice: Client, name: str) -> Any:
    made = await alice.start_session(name=name, resources=SMALL)
    session = await alice.wait_session(made["id"], "running", "ended", timeout_s=PATIENCE_S)
    assert session["state"] == "running", session["reason"]
    await alice.open_lab(session)
    return session


async def answers(portal: Live, session: Any) -> None:
    """Use a new browser, because a starting nginx closes existing connections."""
    async with portal.login("alice") as alice:
        await alice.open_lab(session)
        async with alice.kernel(session) as kernel:
            assert (await kernel.run("print(6 * 7)", timeout_s=PATIENCE_S)).text.strip() == "42"


async def draws(portal: Live, board: Any) -> None:
    """Check that the TensorBoard shows the session's data."""
    async with portal.login("alice") as alice:
        assert len(await scalars(alice, board)) == 1


def served_at(portal: Live, session: Any) -> tuple[str, int]:
    """Return the address of the session's server, as the gate gives it to nginx."""
    file = Paths(portal.state).portal_home / "portal.db"
    sql = "SELECT target_host, target_port FROM sessions WHERE id = ?"
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        host, port = database.execute(sql, (session["id"],)).fetchone()
    return str(host), int(port)


def shown(address: tuple[str, int], bundle: str, name: str) -> str:
    """Return the name in the certificate for a client that expects `name`, or the reason for
    failure."""
    context = ssl.create_default_context(cafile=bundle)
    try:
        with (
            socket.create_connection(address, PATIENCE_S) as plain,
            context.wrap_socket(plain, server_hostname=name) as connection,
        ):
            found: Any = connection.getpeercert()
            return str(found["subjectAltName"][0][1])
    except ssl.SSLError as error:
        return str(error.reason)


async def connects(alice: Client, session: Any) -> None:
    """Check that SSH, whose bytes the same server relays, reaches the session."""
    laptop = await set_up(alice, session)
    async with access_token(alice, "ssh") as token:
        laptop.write_token(token["token"])
        assert await laptop.ssh(laptop.host, "echo $SLURM_JOB_ID") == f"{session['job_id']}\n"
    shutil.rmtree(laptop.folder)


async def test_what_ran_before_goes_on_and_what_starts_proves_itself(
    portal: Live, alice: Client, switch: Switch
) -> None:
    plain = await started(alice, "plain")
    await answers(portal, plain)

    switch.turn(on=True)
    await answers(portal, plain)
    await alice.stop_session(plain["id"])

    proven = await started(alice, "proven")
    await answers(portal, proven)
    address = served_at(portal, proven)
    own = f"{proven['id']}.session.{DOMAIN}"
    assert shown(address, switch.bundle, own) == own
    another = f"{plain['id']}.session.{DOMAIN}"
    assert shown(address, switch.bundle, another) == "CERTIFICATE_VERIFY_FAILED"

    async with alice.kernel(proven) as kernel:
        result = await kernel.run(WRITE_EVENTS, timeout_s=PATIENCE_S)
        assert result.status == "ok", result.error
        looked = await kernel.run(SECRETS_ON_DISK, timeout_s=PATIENCE_S)
        assert looked.text.split() == ["looked"]
    board = await alice.wait_tensorboard(proven["id"], timeout_s=PATIENCE_S)
    await draws(portal, board)
    await connects(alice, proven)

    command(portal.state, "restart", "hub")
    portal.kill("portal")
    portal.wait_until_served()
    await answers(portal, proven)
    await draws(portal, board)

    switch.turn(on=False)
    await answers(portal, proven)
    await draws(portal, board)
    again = await started(alice, "again")
    await answers(portal, again)
    await alice.stop_session(again["id"])
    await alice.stop_session(proven["id"])
