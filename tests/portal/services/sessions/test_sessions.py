"""Stopping a session: by its owner, by an administrator, and one that has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.models import JobState, Wanted
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
