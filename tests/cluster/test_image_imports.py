"""An administrator imports an image from a real registry; users of the cluster run it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import tomllib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests import registry as registries
from tests.cluster.job_tools import AWAY, is_away
from tests.live import Live
from tests.polling import until
from tests.registry import Registry, Relay

pytestmark = pytest.mark.anyio

PATIENCE_S = 120
BALLAST_BYTES = 4_000_000
IMAGES = "/admin/catalog/images"


@pytest.fixture(scope="module")
def settings(portal: Live) -> dict[str, Any]:
    return tomllib.loads((portal.state / "etc/portal.toml").read_text())


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registries.running(tmp_path_factory.mktemp("registry"), private=True) as running:
        running.push("team/small", ballast_bytes=BALLAST_BYTES)
        yield running


@pytest.fixture
def relay(registry: Registry, settings: dict[str, Any]) -> Iterator[Relay]:
    """The registry, at the address where this cluster's portal permits plain HTTP."""
    (host,) = settings["image_import_plain_registries"]
    with Relay(registry.port, int(host.rpartition(":")[2])) as relay:
        yield relay


@pytest.fixture
def credentials(settings: dict[str, Any], relay: Relay) -> Iterator[Path]:
    """The administrator's credentials file for this registry, restored afterwards."""
    path = Path(settings["image_import_auth_file"])
    before = path.read_text()
    write_password(path, relay.host, registries.PASSWORD)
    yield path
    path.write_text(before)


def write_password(path: Path, host: str, password: str) -> None:
    """Write credentials; owner and mode stay unchanged."""
    known = base64.b64encode(f"{registries.USER}:{password}".encode()).decode()
    path.write_text(json.dumps({"auths": {host: {"auth": known}}}))


@pytest.fixture
async def carol(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("carol") as client:
        yield client
        for image in (await client.api("GET", IMAGES))["items"]:
            await client.api("DELETE", f"{IMAGES}/{image['file']}")


async def find_import(client: Client, import_id: str) -> Any:
    """Return an import from the first page of the list, which has the newest ones."""
    imports = (await client.api("GET", f"{IMAGES}/imports"))["items"]
    return next(one for one in imports if one["id"] == import_id)


async def ended(client: Client, import_id: str) -> Any:
    """Return the import once it has ended; errors while a service restarts are retried."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                found = await find_import(client, import_id)
            except AWAY as error:
                if not is_away(error):
                    raise
            else:
                if found["state"] not in {"queued", "running"}:
                    return found
            await asyncio.sleep(0.1)


async def fetching(client: Client, import_id: str) -> None:
    await until(
        lambda: find_import(client, import_id),
        "a first part of the image",
        done=lambda answer: answer["bytes_done"],
    )


def pulls(folder: str) -> set[int]:
    """Return the processes whose command line contains the import folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if folder.encode() in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
    return found


def names_in(folder: Path) -> list[str]:
    """Return all names, including hidden ones."""
    return [path.name for path in folder.iterdir()]


def kept(portal: Live, state: Path) -> bytes:
    """Return everything that the portal has stored: its log and its database."""
    files = [portal.state / "log/portal.log", *state.glob("portal.db*")]
    return b"".join(path.read_bytes() for path in files)


async def test_a_portal_killed_while_it_imports_imports_again(
    portal: Live, carol: Client, relay: Relay, credentials: Path, settings: dict[str, Any]
) -> None:
    """With credentials, as the portal's own account; then a user runs it on a node."""
    folder = Path(settings["image_import_dir"])
    relay.hold_after(BALLAST_BYTES // 2)
    body = {"reference": f"docker://{relay.host}/team/small", "file": "small.sif"}
    asked = await carol.api("POST", IMAGES, body)
    await fetching(carol, asked["id"])
    first = pulls(str(folder))
    assert first
    portal.kill("portal")
    portal.wait_until_served()
    relay.release()
    done = await ended(carol, asked["id"])
    assert (done["state"], done["reason"]) == ("done", None)
    assert not first & pulls(str(folder))
    assert names_in(folder) == ["small.sif"]
    (shown,) = (await carol.api("GET", IMAGES))["items"]
    assert (shown["sha256"], shown["imported_by"]) == (done["sha256"], "carol")

    argv = ["apptainer", "-q", "exec", str(folder / "small.sif"), "/bin/cat", "/etc/who"]
    for node in ("node01", "node03"):
        assert portal.exec_as("alice", argv, node=node).endswith(registries.WHO)


async def test_wrong_registry_password_is_reported_and_never_shown(
    portal: Live, carol: Client, relay: Relay, credentials: Path, settings: dict[str, Any]
) -> None:
    write_password(credentials, relay.host, "no-such-word")
    body = {"reference": f"docker://{relay.host}/team/small", "file": "other.sif"}
    asked = await carol.api("POST", IMAGES, body)
    failed = await ended(carol, asked["id"])
    assert failed["state"] == "failed"
    assert "are wrong, or lack permission for this image" in failed["reason"]
    written = kept(portal, Path(settings["state_dir"]))
    assert body["reference"].encode() in written
    for secret in ("no-such-word", registries.PASSWORD):
        assert secret.encode() not in written


async def test_a_user_can_t(portal: Live) -> None:
    async with portal.login("alice") as alice:
        for method, path in (("GET", IMAGES), ("POST", IMAGES), ("DELETE", f"{IMAGES}/x.sif")):
            with pytest.raises(RequestRefused) as refused:
                await alice.api(method, path, {} if method == "POST" else None)
            assert refused.value.status == 403
