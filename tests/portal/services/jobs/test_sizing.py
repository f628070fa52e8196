"""Usage of a user's last jobs as defaults for the next one; and logs as downloads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from portal.db import utcnow
from portal.services.slurm.logs import CHUNK
from spawner.slurm.model import Outcome
from tests.portal.job_portal import World, job_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

USED = {"elapsed_s": 1200, "longest_s": 1200, "cpu_s": 600.0, "max_rss_gb": 3.1}
ASKED = {"nodes": 1, "gpus": 0, "cpus": 8, "memory_gb": 16, "time_limit_minutes": 240}
NOTHING = {"runs": 0, "cpus": None, "memory_gb": None, "time_limit_minutes": None}


@pytest.fixture(scope="module")
async def world(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("sizing")) as made:
        yield made


async def ran(world: World, count: int = 1, who: str = "alice", **columns: Any) -> list[str]:
    """Add completed jobs with known usage."""
    made = {
        "template": "every-kind", "environment": "plain", "outcome": Outcome.COMPLETED,
        "usage": USED, "resources": ASKED, "external": False, "created_at": utcnow(),
    }  # fmt: skip
    return await world.rows(count, who, **(made | columns))


async def asked(world: World, path: str, who: str = "alice") -> Any:
    answer = await world.ask("GET", path, who=who)
    assert answer.status == 200, answer
    return answer.body


async def test_only_like_jobs_of_ones_own_are_looked_at(world: World) -> None:
    path = "/templates/every-kind/sizing"
    assert await asked(world, path) == NOTHING
    for other in (
        {"who": "bob"},
        {"template": None},
        {"environment": "another"},
        {"outcome": Outcome.FAILED},
        {"outcome": Outcome.CANCELLED},
        {"usage": None},
        {"external": True},
        {"resources": {**ASKED, "gpus": 2}},
        {"resources": {**ASKED, "nodes": 2}},
        {"created_at": utcnow() - timedelta(days=100)},
    ):
        await ran(world, **other)
    assert await asked(world, path) == NOTHING

    await ran(world, 7)
    found = await asked(world, path)
    assert found["runs"] == 5
    assert found["cpus"] == {"used": 0.5, "asked": 1, "suggested": None, "exceeded": False}
    assert (found["memory_gb"]["used"], found["memory_gb"]["suggested"]) == (3.1, 4)
    other = await asked(world, f"{path}?environment=another")
    assert other["runs"] == 1


async def test_a_script_is_known_by_its_name(world: World) -> None:
    script = {"template": None, "environment": None, "name": "my own"}
    await ran(world, 2, **script)
    found = await asked(world, "/scripts/sizing?name=my%20own")
    assert found["runs"] == 2
    assert found["cpus"] == {"used": 0.5, "asked": 8, "suggested": 1, "exceeded": False}
    assert await asked(world, "/scripts/sizing?name=another") == NOTHING
    assert await asked(world, "/scripts/sizing?name=my%20own&environment=plain") == NOTHING
    assert (await world.ask("GET", "/scripts/sizing?name=")).status == 422


async def test_running_one_again_is_measured_against_itself(world: World) -> None:
    (mine,) = await ran(
        world,
        template=None, environment=None, name="again", outcome=Outcome.OUT_OF_MEMORY,
    )  # fmt: skip
    found = await asked(world, f"/jobs/{mine}/sizing")
    assert found["memory_gb"] == {"used": 16, "asked": 16, "suggested": 32, "exceeded": True}
    assert (await world.ask("GET", f"/jobs/{mine}/sizing", who="bob")).status == 404


async def test_there_is_none_for_a_template_that_is_not_there(world: World) -> None:
    assert (await world.ask("GET", "/templates/nonsense/sizing")).status == 404


async def test_a_log_can_be_saved_whole(world: World) -> None:
    job = await world.job(name="ünï 1")
    printed = bytes(range(256)) * (3 * CHUNK // 256) + b"the end"
    world.agents.files[f"{job['id']}/stdout.log"] = printed
    path = f"/jobs/{job['id']}/log/download"
    alice = world.users["alice"]
    async with alice.http.get(f"/api/v1{path}") as answer:
        assert (answer.status, await answer.read()) == (200, printed)
        headers = answer.headers
    assert headers["content-disposition"].startswith('attachment; filename="_n_ 1-')
    assert headers["content-type"] == "application/octet-stream"
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert await asked(world, f"{path}?stream=stderr") == ""
    assert (await world.ask("GET", path, who="bob")).status == 404
    assert (await world.ask("GET", f"{path}?task=0")).status == 422


async def test_a_log_is_read_backwards_piece_by_piece(world: World) -> None:
    job = await world.job()
    world.agents.files[f"{job['id']}/stdout.log"] = "aé\nbc\n".encode()
    path = f"/jobs/{job['id']}/log"
    piece = await asked(world, f"{path}?offset=1&limit=2")
    assert (piece["text"], piece["next_offset"], piece["size"]) == ("é", 3, 7)
    assert (await asked(world, f"{path}?offset=-3&limit=2"))["text"] == "c\n"
    for wrong in (0, CHUNK + 1):
        assert (await world.ask("GET", f"{path}?limit={wrong}")).status == 422
