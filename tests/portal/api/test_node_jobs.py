"""The jobs that a session's own server may list, read and cancel for its owner."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from portal.api.node_jobs import LOG_BYTES, MAX_ENDED
from portal.db import utcnow
from portal.models import AuditEvent, JobState, User, Wanted
from spawner.slurm.model import Outcome
from tests.portal.services.sessions.test_extending import Extending, extending
from tests.servers.slapd import Slapd


@pytest.fixture(scope="module")
async def kept(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Extending]:
    async with extending(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.mark.anyio
class TestNodeJobs:
    async def test_list_has_the_owners_jobs_only(self, kept: Extending) -> None:
        job = await kept.job_portal.job(name="train")
        await kept.job_portal.submit("bob", name="secret-of-bob")
        ended_at = utcnow() - timedelta(minutes=1)
        past = {"state": JobState.ENDED, "outcome": Outcome.FAILED, "ended_at": ended_at}
        await kept.job_portal.rows(MAX_ENDED + 5, "alice", **past)
        answer = await kept.node("GET", "jobs")
        assert answer.status == 200, answer
        live = [item for item in answer.body["jobs"] if item["state"] != "ended"]
        assert [(item["id"], item["name"]) for item in live] == [(job["id"], "train")]
        assert live[0]["page"] == f"http://127.0.0.1:8000/jobs/{job['id']}"
        assert len(answer.body["jobs"]) == MAX_ENDED + 1
        assert answer.body["jobs"][-1]["outcome"] == "failed"
        assert "secret-of-bob" not in str(answer.body)
        assert live[0].keys() == {
            "id", "name", "state", "outcome", "submitted_at", "started_at", "ended_at",
            "array_size", "page", "notebook",
        }  # fmt: skip

    async def test_log_is_its_end(self, kept: Extending) -> None:
        job = await kept.job_portal.job(name="logs")
        path = f"{job['id']}/stdout.log"
        kept.job_portal.launchers.files[path] = b"x" * LOG_BYTES + b"the end"
        log = (await kept.node("GET", f"jobs/{job['id']}/log")).body
        assert (len(log["text"]), log["cut"]) == (LOG_BYTES, True)
        assert log["text"].endswith("the end")
        kept.job_portal.launchers.files[path] = b"short"
        log = (await kept.node("GET", f"jobs/{job['id']}/log")).body
        assert log == {"text": "short", "cut": False}

    async def test_cancel_is_the_owners_and_audited(self, kept: Extending) -> None:
        job = await kept.job_portal.job(name="cancelled")
        answer = await kept.node("POST", f"jobs/{job['id']}/cancel")
        assert (answer.status, answer.body["state"]) == (200, "stopping")
        async with kept.job_portal.context.db.session() as db:
            query = select(AuditEvent).where(AuditEvent.action == "job.cancel")
            (event,) = (await db.scalars(query)).all()
        assert (event.actor, event.target) == ("alice", "alice/cancelled")
        (ended,) = await kept.job_portal.rows(1, "alice", state=JobState.ENDED)
        assert (await kept.node("POST", f"jobs/{ended}/cancel")).status == 409

    async def test_jobs_of_others_are_not_found(self, kept: Extending) -> None:
        job = (await kept.job_portal.submit("bob", name="of-bob")).body
        for method, act in (("GET", "log"), ("POST", "cancel")):
            for job_id in (job["id"], kept.session_id, "nothing"):
                assert (await kept.node(method, f"jobs/{job_id}/{act}")).status == 404
        shown = await kept.job_portal.ask("GET", f"/jobs/{job['id']}", who="bob")
        assert shown.body["state"] != "stopping"

    async def test_secret_is_needed_and_valid_while_the_session_runs(self, kept: Extending) -> None:
        job = await kept.job_portal.job(name="guarded")
        asked = [
            ("GET", "jobs"),
            ("GET", f"jobs/{job['id']}/log"),
            ("POST", f"jobs/{job['id']}/cancel"),
        ]
        for secret in ("another", "", None):
            for method, act in asked:
                assert (await kept.node(method, act, secret=secret)).status == 401
        await kept.change(wanted=Wanted.STOP)
        for method, act in asked:
            assert (await kept.node(method, act)).status == 410
        await kept.change(wanted=Wanted.RUN)
        alice = update(User).where(User.username == "alice")
        async with kept.job_portal.context.db.session() as db:
            await db.execute(alice.values(disabled_at=utcnow()))
            await db.commit()
        for method, act in asked:
            assert (await kept.node(method, act)).status == 410
