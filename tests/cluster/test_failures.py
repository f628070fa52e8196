"""Failed jobs and the portal's explanations, from the end of the log and from Slurm's exit code.

Also `module` in a plain script.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from cluster.client import Client
from tests.cluster.job_tools import SMALL, found, log_of, settled, submit
from tests.live import Live

pytestmark = pytest.mark.anyio

MISSING = "#!/usr/bin/env python3\nimport sklearn\n"
FULL = "#!/bin/bash\nexec dd if=/dev/zero of=/dev/full count=1\n"
PORT = """#!/usr/bin/env python3
import socket
first = socket.create_server(("127.0.0.1", 0))
socket.create_server(first.getsockname())
"""
KILLED = "#!/bin/bash\nbash -c 'kill -9 $$'\nexit $?\n"


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.mark.parametrize(
    ("script", "environment", "reason", "suggestion"),
    [
        (MISSING, "jax", "could not load “sklearn”", "Python 3.11"),
        (MISSING, None, "the node's own Python", "Choose an environment"),
        (FULL, None, "A disk was full", "Delete"),
        (PORT, None, "network port", "another port"),
        (KILLED, None, "was killed", "more memory"),
        ("#!/bin/bash\nexit 137\n", None, "exit code 9 or 137", "memory"),
        ("#!/bin/bash\nexit 139\n", None, "exit code 11 or 139", "crashed"),
        ("#!/bin/bash\nexit 5\n", None, "exit code 5", "end of its log"),
    ],
)
async def test_failed_job_shows_reason_and_suggestion(
    alice: Client, script: str, environment: str | None, reason: str, suggestion: str
) -> None:
    made = await submit(alice, script, environment=environment)
    job = await settled(alice, made["id"])
    log = await log_of(alice, job, stream="stderr")
    assert job["outcome"] == "failed", log
    assert reason in job["reason"], log
    assert suggestion in job["suggestion"]


async def test_plain_script_without_environment_loads_modules(alice: Client) -> None:
    script = "#!/bin/bash\nmodule load threads/1.0\necho threads $OMP_NUM_THREADS\n"
    made = await submit(alice, script)
    job = await settled(alice, made["id"])
    assert job["outcome"] == "completed", await log_of(alice, job, stream="stderr")
    assert await log_of(alice, job) == "threads 1\n"


async def test_failed_array_tasks_say_why(portal: Live, alice: Client) -> None:
    home = portal.state / "home/alice"
    (home / "absent_module.py").write_text("import nothing_like_that\n")
    parameters = {"script": "~/absent_module.py", "learning_rate": [0.1, 0.2], "hidden": [4]}
    body = {"template": "hyperparameter-array", "parameters": parameters, "resources": SMALL}
    made = await alice.api("POST", "/jobs", body)
    job = await settled(alice, made["id"])
    tasks = job["array"]["tasks"]
    assert [task["outcome"] for task in tasks] == ["failed"] * 2
    for failed in [job, *tasks]:
        assert "could not load “nothing_like_that”" in failed["reason"], failed
        assert "install it in a session" in failed["suggestion"]
    assert job["reason"].startswith("2 of 2 tasks failed.")


@pytest.mark.parametrize("options", [[], ["--array=0-1"]], ids=["job", "array"])
async def test_failed_external_job_shows_reason(
    portal: Live, alice: Client, options: list[str]
) -> None:
    name = f"fails-{uuid.uuid4().hex[:8]}"
    where = portal.state / "home/alice"
    (where / f"{name}.py").write_text("#!/usr/bin/env python3\nimport nothing_like_that\n")
    sbatch = ["sbatch", "--mem=100M", "--time=5", f"--job-name={name}", f"--chdir={where}"]
    portal.exec_as("alice", [*sbatch, *options, str(where / f"{name}.py")])
    job = await settled(alice, (await found(alice, name))["id"])
    shown = [job, *(job["array"]["tasks"] if job["array"] else [])]
    assert len(shown) == (3 if options else 1)
    for failed in shown:
        assert "could not load “nothing_like_that”" in failed["reason"], failed
        assert "submit the job from the portal" in failed["suggestion"]
