"""Stopping a session by its owner: a running one, and one that has ended."""

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
