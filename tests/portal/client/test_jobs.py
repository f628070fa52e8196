"""`dsp run`, `jobs`, `logs` and `cancel` against a real portal with a fake Slurm."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from portal.models import JobState
from tests.polling import PATIENCE_S
from tests.portal.client.program import ClientProgram, create_token, finish
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def jobs(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("client-jobs")) as made:
        token = await create_token(made.users["alice"])
        made.portal.app.state.client_token = token["token"]
        yield made


@pytest.fixture
def program(jobs: JobPortal, tmp_path: Path) -> ClientProgram:
    made = ClientProgram(jobs.portal.url, tmp_path)
    made.save_token(jobs.portal.app.state.client_token)
    return made


async def test_a_template_runs_with_the_values_that_were_set(
    program: ClientProgram, jobs: JobPortal
) -> None:
    done = await program.run(
        "run", "--template", "every-kind", "--set", "whole=7", "--set", "words=a b",
        "--set", "words=$(c)", "--set", "flag=yes", "--gpus", "0", "--json",
    )  # fmt: skip
    assert done.code == 0, done
    detail = (await jobs.ask("GET", f"/jobs/{done.value['id']}")).body
    assert detail["parameters"]["whole"] == 7
    assert detail["parameters"]["words"] == ["a b", "$(c)"]
    assert detail["parameters"]["flag"] is True
    assert detail["resources"]["gpus"] == 0


async def test_a_refused_parameter_names_its_field(program: ClientProgram) -> None:
    done = await program.run("run", "--template", "every-kind", "--set", "whole=99", "--json")
    assert done.code == 5
    assert [error["field"] for error in done.problem["errors"]] == ["parameters.whole"]
    assert (await program.run("run", "--template", "missing")).code == 4


async def test_jobs_are_listed_and_cancelled_by_number_and_by_id(
    program: ClientProgram, jobs: JobPortal
) -> None:
    made = [await jobs.job(name=f"job {number}") for number in range(2)]
    listed = (await program.run("jobs", "--json", "--limit", "2")).value
    assert [job["name"] for job in listed] == ["job 1", "job 0"]
    assert "job 1" in (await program.run("jobs")).out
    assert (await program.run("cancel", str(made[0]["job_id"]), made[1]["id"][:8])).code == 0
    assert {made[0]["job_id"], made[1]["job_id"]} <= set(jobs.slurm.cancelled)


async def with_log(jobs: JobPortal, data: bytes, state: JobState = JobState.ENDED) -> str:
    """Add a job of alice's with this log, and return its id."""
    (row_id,) = await jobs.rows(1, "alice", state=state)
    jobs.launchers.files[f"{row_id}/stdout.log"] = data
    return row_id


async def test_a_log_is_printed_unchanged_into_a_pipe(
    program: ClientProgram, jobs: JobPortal
) -> None:
    data = b"one\x1b[2J\r\n" + b"x" * 300_000 + b"\nend"
    row_id = await with_log(jobs, data)
    for arguments in (("logs", row_id), ("logs", row_id[:8])):
        done = await program.run(*arguments)
        assert (done.code, done.out.encode()) == (0, data)
    followed = await program.run("logs", "-f", row_id)
    assert (followed.code, followed.out.endswith("x\nend")) == (0, True)
    lines = (await program.run("logs", row_id, "--json")).out.splitlines()
    assert "".join(json.loads(line)["text"] for line in lines).encode() == data


async def test_a_log_is_harmless_on_a_terminal(program: ClientProgram, jobs: JobPortal) -> None:
    row_id = await with_log(jobs, b"one\x1b[2J\x1b]0;title\x07\n\x1b[31mred\x1b[0m\n")
    shown = await program.run_on_terminal("logs", row_id)
    assert shown == "one\\x1b[2J\\x1b]0;title\\x07\r\n\x1b[31mred\x1b[0m\r\n"


async def test_a_followed_log_ends_when_its_token_is_revoked(
    program: ClientProgram, jobs: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.api.logs.RECHECK_S", 0.0)
    alice = jobs.users["alice"]
    made = await create_token(alice, name="short-lived")
    program.save_token(made["token"])
    row_id = await with_log(jobs, b"one\n", JobState.RUNNING)
    async with program.started("logs", "-f", row_id) as process, asyncio.timeout(PATIENCE_S):
        assert process.stdout is not None
        assert await process.stdout.readline() == b"one\n"
        assert (await alice.send("DELETE", f"/api/v1/tokens/{made['id']}")).status == 204
        done = await finish(process)
    assert done.code == 3, done


async def test_a_job_name_with_escape_sequences_reaches_no_terminal(
    program: ClientProgram, jobs: JobPortal
) -> None:
    await jobs.rows(1, who="alice", name="evil\x1b[2J\u202etxt")
    done = await program.run("jobs")
    assert "evil\\x1b[2J\\u202etxt" in done.out
    assert "\x1b" not in done.out
