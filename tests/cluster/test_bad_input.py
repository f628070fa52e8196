"""Failed requests return the right status, a message and the field's name, and leave nothing
behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.live import Live
from tests.polling import until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bob(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("bob") as client:
        yield client


async def refused(client: Client, **body: Any) -> RequestRefused:
    """Return the refusal of a session, and check that none was created."""
    before = {s["id"] for s in (await client.api("GET", "/sessions"))["items"]}
    with pytest.raises(RequestRefused) as found:
        await client.start_session(**body)
    after = {s["id"] for s in (await client.api("GET", "/sessions"))["items"]}
    assert after == before
    assert found.value.problem["detail"]
    return found.value


async def test_an_unknown_environment(bob: Client) -> None:
    error = await refused(bob, environment="nope")
    assert error.status == 422
    assert "python3" in error.fields["environment"]


@pytest.mark.parametrize(
    ("resources", "field"),
    [
        ({"gpus": 5}, "resources.gpus"),
        ({"gpus": -1}, "resources.gpus"),
        ({"gpus": "many"}, "resources.gpus"),
        ({"gpus": 1.5}, "resources.gpus"),
        ({"cpus": 0}, "resources.cpus"),
        ({"cpus": 4000}, "resources.cpus"),
        ({"memory_gb": 0}, "resources.memory_gb"),
        ({"memory_gb": 5000}, "resources.memory_gb"),
        ({"time_limit_minutes": 0}, "resources.time_limit_minutes"),
        ({"time_limit_minutes": 100_000}, "resources.time_limit_minutes"),
        ({"partition": "nope"}, "resources.partition"),
        ({"partition": "cpu", "gpus": 1}, "resources.gpus"),
        ({"gpus": 1, "gpu_type": "h900"}, "resources.gpu_type"),
        ({"account": "nope"}, "resources.account"),
        ({"qos": "nope"}, "resources.qos"),
        ({"unknown": 1}, "resources.unknown"),
    ],
)
async def test_resources_that_cannot_be(bob: Client, resources: Any, field: str) -> None:
    error = await refused(bob, resources=resources)
    assert error.status == 422
    assert list(error.fields) == [field]
    assert len(error.fields[field]) > 10


async def test_missing_fields(bob: Client) -> None:
    with pytest.raises(RequestRefused) as found:
        await bob.api("POST", "/sessions", {})
    assert list(found.value.fields) == ["environment"]


@pytest.mark.parametrize("name", ["", "S1", "1a", "a--b", "a-", "ä", "a" * 31, "../x", "a b"])
async def test_names_that_cannot_be(bob: Client, name: str) -> None:
    error = await refused(bob, name=name)
    assert error.status == 422
    assert list(error.fields) == ["name"]


async def test_a_full_home(portal: Live, bob: Client) -> None:
    with small_home(portal, "bob"):
        error = await refused(bob)
    assert error.status == 409
    assert error.problem["type"] == "urn:portal:home-unavailable"
    assert "is full: free some space" in error.problem["detail"]


async def test_a_missing_home(portal: Live, bob: Client) -> None:
    home = portal.state / "home/bob"
    away = home.with_name("bob.away")
    home.rename(away)
    try:
        error = await refused(bob)
    finally:
        away.rename(home)
    assert error.status == 409
    assert error.problem["type"] == "urn:portal:home-unavailable"


@contextmanager
def small_home(portal: Live, user: str) -> Iterator[None]:
    """A home directory with no space left, on the head only, where the launcher checks."""
    home = str(portal.state / "home" / user)
    portal.exec_as("root", ["mount", "-t", "tmpfs", "-o", "size=16k,mode=777", "full", home])
    try:
        portal.exec_as("root", ["chown", user, home])
        fill = f"head -c 1M /dev/zero > {home}/fill || true"
        portal.exec_as(user, ["sh", "-c", fill])
        yield
    finally:
        portal.exec_as("root", ["umount", "-l", home])


async def test_an_image_that_is_gone(portal: Live) -> None:
    """A site's environment whose image was deleted after the portal read the catalog."""
    folder = portal.state / "catalog/environments"
    image = portal.state / "gone.sif"
    image.write_bytes(b"image")
    folder.mkdir(parents=True, exist_ok=True)
    environment = folder / "gone.yaml"
    environment.write_text(
        "title: Gone\nlanguage: python\nversion: '3.11'\nruntime: apptainer\n"
        f"image: {image}\nkernel:\n"
        "  argv: [python3, -m, ipykernel_launcher, -f, '{connection_file}']\n"
    )
    portal.stop("portal")
    portal.start("portal")
    try:
        async with portal.login("bob") as bob:
            image.unlink()
            listed = (await bob.api("GET", "/environments"))["items"]
            (gone,) = [found for found in listed if found["name"] == "gone"]
            assert (gone["available"], "gone.sif" in gone["unavailable_reason"]) == (False, True)
            error = await refused(bob, environment="gone")
            assert error.status == 422
            assert "gone.sif" in error.fields["environment"]
    finally:
        environment.unlink()
        portal.stop("portal")
        portal.start("portal")


async def test_the_hub_down_is_waited_for(portal: Live, bob: Client) -> None:
    """Nothing is refused while the hub is down: the session starts when it is back."""
    portal.stop("hub")
    try:
        made = await bob.start_session(name="patient")
        await until(
            lambda: bob.api("GET", f"/sessions/{made['id']}"),
            "the session's reason",
            done=lambda answer: answer["reason"],
            pause_s=0.2,
        )
        waiting = await bob.api("GET", f"/sessions/{made['id']}")
        assert (waiting["state"], "JupyterHub" in waiting["reason"]) == ("starting", True)
        assert waiting["suggestion"]
    finally:
        portal.start("hub")
    session = await bob.wait_session(made["id"], "running", "ended")
    assert (session["state"], session["reason"]) == ("running", None)
    await bob.stop_session(made["id"])
