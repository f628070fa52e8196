"""Usage of a user's last jobs as defaults for the next one; and logs as downloads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from portal.db import utcnow
from portal.services.slurm.logs import CHUNK
from spawner.slurm.model import Outcome
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

USED = {"elapsed_s": 1200, "longest_s": 1200, "cpu_s": 600.0, "max_rss_gb": 3.1}
ASKED = {"nodes": 1, "gpus": 0, "cpus": 8, "memory_gb": 16, "time_limit_minutes": 240}
NOTHING = {"runs": 0, "cpus": None, "memory_gb": None, "time_limit_minutes": None}


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("sizing")) as made:
        yield made


async def ran(
    job_portal: JobPortal, count: int = 1, who: str = "alice", **columns: Any
) -> list[str]:
    """Add completed jobs with known usage."""
    made = {
        "template": "every-kind", "environment": "plain", "outcome": Outcome.COMPLETED,
        "usage": USED, "resources": ASKED, "external": False, "created_at": utcnow(),
    }  # fmt: skip
    return await job_portal.rows(count, who, **(made | columns))


async def asked(job_portal: JobPortal, path: str, who: str = "alice") -> Any:
    answer = await job_portal.ask("GET", path, who=who)
    assert answer.status == 200, answer
    return answer.body


async def test_only_like_jobs_of_ones_own_are_looked_at(job_portal: JobPortal) -> None:
    path = "/templates/every-kind/sizing"
    assert await asked(job_portal, path) == NOTHING
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
        await ran(job_portal, **other)
    assert await asked(job_portal, path) == NOTHING

    await ran(job_portal, 7)
    found = await asked(job_portal, path)
    assert found["runs"] == 5
    assert found["cpus"] == {"used": 0.5, "asked": 1, "suggested": None, "exceeded": False}
    assert (found["memory_gb"]["used"], found["memory_gb"]["suggested"]) == (3.1, 4)
    other = await asked(job_portal, f"{path}?environment=another")
    assert other["runs"] == 1


async def test_a_script_is_known_by_its_name(job_portal: JobPortal) -> None:
    script: dict[str, Any] = {"template": None, "environment": None, "name": "my own"}
    await ran(job_portal, 2, **script)
    found = await asked(job_portal, "/scripts/sizing?name=my%20own")
    assert found["runs"] == 2
    assert found["cpus"] == {"used": 0.5, "asked": 8, "suggested": 1, "exceeded": False}
    assert await asked(job_portal, "/scripts/sizing?name=another") == NOTHING
    assert await asked(job_portal, "/scripts/sizing?name=my%20own&environment=plain") == NOTHING
    assert (await job_portal.ask("GET", "/scripts/sizing?name=")).status == 422


async def test_running_one_again_is_measured_against_itself(job_portal: JobPortal) -> None:
    (mine,) = await ran(
        job_portal,
        template=None, environment=None, name="again", outcome=Outcome.OUT_OF_MEMORY,
    )  # fmt: skip
    found = await asked(job_portal, f"/jobs/{mine}/sizing")
    assert found["memory_gb"] == {"used": 16, "asked": 16, "suggested": 32, "exceeded": True}
    assert (await job_portal.ask("GET", f"/jobs/{mine}/sizing", who="bob")).status == 404


async def test_there_is_none_for_a_template_that_is_not_there(job_portal: JobPortal) -> None:
    assert (await job_portal.ask("GET", "/templates/nonsense/sizing")).status == 404


async def test_a_log_can_be_saved_whole(job_portal: JobPortal) -> None:
    job = await job_portal.job(name="ünï 1")
    printed = bytes(range(256)) * (3 * CHUNK // 256) + b"the end"
    job_portal.launchers.files[f"{job['id']}/stdout.log"] = printed
    path = f"/jobs/{job['id']}/log/download"
    alice = job_portal.users["alice"]
    async with alice.http.get(f"/api/v1{path}") as answer:
        assert (answer.status, await answer.read()) == (200, printed)
        headers = answer.headers
    assert headers["content-disposition"].startswith('attachment; filename="_n_ 1-')
    assert headers["content-type"] == "application/octet-stream"
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert await asked(job_portal, f"{path}?stream=stderr") == ""
    assert (await job_portal.ask("GET", path, who="bob")).status == 404
    assert (await job_portal.ask("GET", f"{path}?task=0")).status == 422


async def test_a_log_is_read_backwards_piece_by_piece(job_portal: JobPortal) -> None:
    job = await job_portal.job()
    job_portal.launchers.files[f"{job['id']}/stdout.log"] = "aé\nbc\n".encode()
    path = f"/jobs/{job['id']}/log"
    piece = await asked(job_portal, f"{path}?offset=1&limit=2")
    assert (piece["text"], piece["next_offset"], piece["size"]) == ("é", 3, 7)
    assert (await asked(job_portal, f"{path}?offset=-3&limit=2"))["text"] == "c\n"
    for wrong in (0, CHUNK + 1):
        assert (await job_portal.ask("GET", f"{path}?limit={wrong}")).status == 422
