"""Features that work inside an environment's container as outside, and GPUs.

Slurm's commands, `%pip install` from the nodes' index, and GPUs, which are visible only in
environments that can use them.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client, origin_of
from cluster.config.paths import Paths
from tests.cluster.job_tools import SMALL, log_of, settled, submit
from tests.live import Live
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

PACKAGE = "tabulate"  # pure Python, without dependencies, and in none of the images
ASK = """
srun --overlap --ntasks=1 hostname
squeue --noheader --job="$SLURM_JOB_ID" --format=%A
scontrol show job no-such-job; echo "code $?"
test -e /.singularity.d && echo contained
"""


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.fixture(scope="module")
async def running(alice: Client) -> AsyncIterator[Any]:
    resources = {"cpus": 2, "memory_gb": 2, "time_limit_minutes": 30}
    made = await alice.start_session(name="inside", resources=resources)
    session = await alice.wait_session(made["id"], "running", "ended")
    assert session["state"] == "running", session["reason"]
    await alice.open_lab(session)
    yield session
    await alice.stop_session(session["id"])


async def test_kernel_in_container_asks_slurm(alice: Client, running: Any) -> None:
    async with alice.kernel(running) as kernel:
        queue = await kernel.run(f"!squeue --noheader --job={running['job_id']} --format=%A")
        assert queue.text.split() == [str(running["job_id"])]
        assert (await kernel.run("!srun --overlap hostname")).text.split() == [running["node"]]
        failed = await kernel.run("!scontrol show job no-such-job\nprint(_exit_code)")
        assert "Invalid job id" in failed.text
        assert failed.text.split()[-1] == "1"


async def test_kernel_in_container_submits_a_job_with_its_variables(
    portal: Live, alice: Client, running: Any
) -> None:
    home = Paths(portal.state).home / "alice"
    script = (
        "#!/bin/bash\\n#SBATCH --output=inside.out\\necho rate $RATE contained ${CONTAINED-no}\\n"
    )
    async with alice.kernel(running) as kernel:
        await kernel.run(
            f"import os; os.environ['RATE'] = '0.5'; open('inside.sh', 'w').write('{script}')"
        )
        done = await kernel.run("!sbatch --wait --time=5 --mem=100 inside.sh")
    assert re.search(r"Submitted batch job \d+", done.text), done
    assert (home / "inside.out").read_text() == "rate 0.5 contained no\n"


async def in_terminal(alice: Client, running: Any, command: str) -> str:
    """Return a command's output in a terminal inside the environment."""
    made = await alice.jupyter(running, "POST", "api/terminals", {"name": "env_python3"})
    url = f"{alice.address(running['url'])}terminals/websocket/{made['name']}"
    shown = ""
    async with (
        alice.http.ws_connect(url, origin=origin_of(url)) as socket,
        asyncio.timeout(PATIENCE_S),
    ):
        await socket.send_json(["stdin", f"{command}; echo en''d\r"])
        while "end" not in shown:
            message: list[Any] = await socket.receive_json()
            kind, text, *_ = [*message, ""]
            shown += str(text) if kind == "stdout" else ""
    await alice.jupyter(running, "DELETE", f"api/terminals/{made['name']}")
    return shown


async def test_terminal_in_environment_asks_slurm(alice: Client, running: Any) -> None:
    ask = f"squeue --noheader --job={running['job_id']} --format=job-%A-"
    assert f"job-{running['job_id']}-" in await in_terminal(alice, running, ask)


async def test_srun_with_pty_in_environment_explains_the_limitation(
    alice: Client, running: Any
) -> None:
    """The relay forwards output, but no terminal."""
    shown = await in_terminal(alice, running, "srun --overlap --pty hostname")
    assert "--pty does not work inside an environment" in shown


@pytest.mark.parametrize("environment", ["python3", "python2", "r"])
async def test_job_script_in_environment_asks_slurm(alice: Client, environment: str) -> None:
    """Images of two Debian releases, with and without Python."""
    made = await submit(alice, f"#!/bin/sh\n{ASK}", environment=environment)
    job = await settled(alice, made["id"])
    log = await log_of(alice, job)
    assert job["outcome"] == "completed", log
    assert log.splitlines()[-2:] == ["code 1", "contained"]
    assert job["nodes"] == log.split()[:1]
    assert log.split()[1] == str(job["job_id"])


async def test_pip_installs_from_the_index_of_the_nodes(
    portal: Live, alice: Client, running: Any
) -> None:
    packages = Paths(portal.state).home / "alice/.local/share/portal/packages/python3"
    async with alice.kernel(running) as kernel:
        done = await kernel.run(f"%pip install {PACKAGE}")
        assert f"Successfully installed {PACKAGE}-" in done.text, done
        used = await kernel.run(f"import {PACKAGE}; print({PACKAGE}.tabulate([[1, 2]]))")
        assert "1  2" in used.text
    shutil.rmtree(packages)


async def test_environment_without_gpu_gets_no_driver_of_the_host(alice: Client) -> None:
    """The node's GL and OpenCL libraries need a newer C library than Debian 11's."""
    resources = {**SMALL, "partition": "gpu", "gpus": 1, "memory_gb": 2}
    script = (
        "#!/bin/sh\nls /.singularity.d/libs\npython3 -c 'from caffe2.python import workspace'\n"
    )
    made = await submit(alice, script, environment="caffe2", resources=resources)
    job = await settled(alice, made["id"])
    log = await log_of(alice, job)
    assert job["outcome"] == "completed", log
    assert not re.search(r"lib\w+\.so", log)


async def test_kernel_killed_for_lack_of_memory_is_explained(alice: Client) -> None:
    resources = {"cpus": 1, "memory_gb": 0.75, "time_limit_minutes": 10}
    made = await alice.start_session(name="small", resources=resources)
    session = await alice.wait_session(made["id"], "running", "ended")
    assert session["state"] == "running", session["reason"]
    await alice.open_lab(session)
    use = f"/sessions/{session['id']}/use"
    assert (await alice.api("GET", use))["memory_killed_at"] is None
    async with alice.kernel(session) as kernel:
        await kernel.send(
            "held = bytearray(2 << 30)\nfor at in range(0, 2 << 30, 4096): held[at] = 1"
        )
        await until(
            lambda: alice.api("GET", use),
            "the kill for lack of memory",
            done=lambda answer: answer["memory_killed_at"] is not None,
            pause_s=1,
        )
    session = await alice.api("GET", f"/sessions/{session['id']}")
    await alice.stop_session(session["id"])
    assert session["state"] == "running", "the session outlives its kernel"
