"""Two portals that are killed in turn, again and again; tests/portal/leader kills a leader once."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.portal.conftest import Answer, MakeSettings
from tests.servers.two_portals import two_portals

pytestmark = pytest.mark.anyio


async def test_it_is_killed_again_and_again_under_a_stream_of_submissions(
    make_settings: MakeSettings, migrated_url: str, tmp_path: Path
) -> None:
    """Each portal dies in turn and returns as the standby."""
    asking: list[asyncio.Task[Answer]] = []
    async with two_portals(make_settings(database_url=migrated_url), tmp_path) as two:
        assert (await two.login(two.a)).status == 200
        for leader, other in ((two.a, two.b), (two.b, two.a), (two.a, two.b)):
            before = len(two.asked())
            asking += [
                asyncio.create_task(two.keep_submitting(f"k{len(asking)}-{n}", n)) for n in range(6)
            ]
            await two.until(before + 2)
            leader.end(signal.SIGKILL)
            await two.leads(other)
            leader.start()
            await two.wait_for_status(leader, "standby")
        ids = {answer.body["id"] for answer in await asyncio.gather(*asking)}
        assert len(ids) == len(asking)
        await two.all_submitted(two.a, ids)
        assert two.in_slurm() == dict.fromkeys(ids, 1)
