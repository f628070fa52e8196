"""A TensorBoard that was killed is reported as failed, and can be started again."""

from __future__ import annotations

import pytest

from tests.live import Live
from tests.polling import until

pytestmark = pytest.mark.anyio


async def test_a_tensorboard_that_was_killed_is_seen_and_started_again(portal: Live) -> None:
    async with portal.login("alice") as alice:
        made = await alice.start_session(name="killed-board")
        session = await alice.wait_session(made["id"], "running", "ended")
        await alice.wait_tensorboard(session["id"])
        kill = ["pkill", "-KILL", "-u", "alice", "-f", "spawner.node.tensorboard"]
        portal.exec_as("alice", kill, node=session["node"])
        board = await until(
            lambda: alice.api("GET", f"/sessions/{session['id']}/tensorboard"),
            "the TensorBoard ends",
            done=lambda answer: answer["state"] != "running",
            pause_s=0.5,
        )
        assert (board["state"], "stopped unexpectedly" in board["reason"]) == ("failed", True)
        again = await alice.wait_tensorboard(session["id"])
        assert await alice.status_of(await alice.open_tensorboard(again)) == 200
        await alice.stop_session(session["id"])
