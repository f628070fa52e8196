"""A job's usage over time, measured on each of its nodes by the samplers that its script starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.job_tools import settled, submit
from tests.live import Live
from tests.polling import until

pytestmark = pytest.mark.anyio

NODES = 2
BLOCK_MB = 64
RUNS_S = 25
PROGRAM = f"""\
import time
block = bytearray(b"x" * ({BLOCK_MB} << 20))
end = time.monotonic() + {RUNS_S}
while time.monotonic() < end:
    busy = time.monotonic() + 0.3
    while time.monotonic() < busy:
        pass
    time.sleep(0.7)
"""
ON_ALL_NODES = f"""\
cat > "$PORTAL_JOB_DIR/busy.py" <<'END'
{PROGRAM}END
srun --nodes={NODES} --ntasks={NODES} --mem=0 python3 "$PORTAL_JOB_DIR/busy.py"
sleep 1 & wait
"""
RESOURCES = {
    "nodes": NODES, "cpus": 1, "memory_gb": 0.25, "time_limit_minutes": 10, "partition": "debug",
}  # fmt: skip


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


async def usage_of(client: Client, job: Any) -> Any:
    return await client.api("GET", f"/jobs/{job['id']}/usage")


async def test_each_node_is_measured_while_the_job_runs(portal: Live, alice: Client) -> None:
    made = await submit(alice, ON_ALL_NODES, resources=RESOURCES)
    await settled(alice, made["id"], "running")
    await until(
        lambda: usage_of(alice, made),
        "both nodes are measured",
        done=lambda usage: len(usage["nodes"]) == NODES,
        pause_s=1,
    )
    job = await settled(alice, made["id"])
    assert job["outcome"] == "completed", job["reason"]
    usage = await usage_of(alice, job)
    assert [node["node"] for node in usage["nodes"]] == sorted(job["nodes"])
    assert usage["nodes_left_out"] == 0
    for node in usage["nodes"]:
        assert node["at"] == sorted(node["at"])
        assert len(node["at"]) >= 5
        assert BLOCK_MB <= max(value for value in node["memory_mb"] if value is not None) <= 256
        assert max(value for value in node["cpus"] if value is not None) > 0.05
        assert node["gpus"] is None
        assert remaining(portal, node["node"], job["job_id"]) == ""


def remaining(portal: Live, node: str, job_id: int) -> str:
    """Return the job's processes on a node."""
    script = f"grep -lsz '^SLURM_JOB_ID={job_id}$' /proc/[0-9]*/environ || true"
    return portal.exec_as("alice", ["/bin/sh", "-c", script], node)


async def test_very_short_job_is_not_delayed(alice: Client) -> None:
    job = await settled(alice, (await submit(alice, "wait; exit 3"))["id"])
    assert (job["outcome"], job["exit_code"]) == ("failed", 3)
    assert job["usage"] is None or job["usage"]["elapsed_s"] <= 5
    assert len((await usage_of(alice, job))["nodes"]) <= 1
