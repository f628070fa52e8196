"""Sessions: stopped by their owner, by an administrator, and after their end; pages of sessions."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import select

from portal.models import JobKind, JobState, Session, User, Wanted
from portal.services.sessions import sessions
from spawner.slurm.model import Resources
from tests.portal.job_portal import run_job_portal
from tests.portal.services.sessions.test_extending import extending
from tests.servers.slapd import Slapd


@pytest.mark.anyio
async def test_stopping_what_has_ended_does_not_remove_it(slapd: Slapd, tmp_path: Path) -> None:
    async with extending(slapd, tmp_path) as session:
        path = f"/sessions/{session.session_id}"
        stopping = await session.job_portal.ask("DELETE", f"{path}?remove=false")
        assert (stopping.status, stopping.body["state"]) == (202, "stopping")
        await session.change(state=JobState.ENDED, wanted=Wanted.STOP)
        late = await session.job_portal.ask("DELETE", f"{path}?remove=false")
        assert (late.status, late.body["state"]) == (202, "ended")
        assert (await session.job_portal.ask("GET", path)).status == 200
        assert (await session.job_portal.ask("DELETE", path)).status == 204
        assert (await session.job_portal.ask("GET", path)).status == 404


@pytest.mark.anyio
async def test_who_else_stopped_it_is_its_reason(slapd: Slapd, tmp_path: Path) -> None:
    async with extending(slapd, tmp_path) as session:
        ask, path = session.job_portal.ask, f"/sessions/{session.session_id}"
        stopped = await ask("DELETE", f"/admin{path}", who="carol")
        assert stopped.status == 202
        shown = (await ask("GET", path)).body
        assert (shown["state"], shown["reason"]) == ("stopping", "An administrator stopped it.")


@pytest.mark.anyio
async def test_an_own_stop_has_no_reason(slapd: Slapd, tmp_path: Path) -> None:
    async with extending(slapd, tmp_path) as session:
        stopped = await session.job_portal.ask("DELETE", f"/sessions/{session.session_id}")
        assert (stopped.status, stopped.body["reason"]) == (202, None)


@pytest.mark.anyio
async def test_pages_with_equal_times_lose_no_session(
    slapd: Slapd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PAGE", 2)
    async with run_job_portal(slapd, tmp_path) as job_portal:
        async with job_portal.context.db.session() as db:
            owner = await db.scalar(select(User).where(User.username == "alice"))
            columns = {"kind": JobKind.SESSION, "user_id": owner.id, "owner_id": owner.id}
            db.add_all(
                Session(
                    name=f"s{n}", state=JobState.ENDED, environment="plain",
                    resources=asdict(Resources()), created_at=datetime(2026, 1, 1, tzinfo=UTC),
                    **columns,
                )
                for n in range(5)
            )  # fmt: skip
            await db.commit()
        for path, who in (("/sessions", "alice"), ("/admin/sessions", "carol")):
            names, cursor = [], ""
            for _ in range(3):
                query = f"?state=all&cursor={quote(cursor)}"
                page = (await job_portal.ask("GET", f"{path}{query}", who=who)).body
                names += [item["name"] for item in page["items"]]
                cursor = page["next_cursor"] or ""
            assert (sorted(names), cursor) == (["s0", "s1", "s2", "s3", "s4"], "")
        bad = await job_portal.ask("GET", "/sessions?cursor=x")
        assert (bad.status, bad.body["errors"][0]["field"]) == (422, "cursor")
