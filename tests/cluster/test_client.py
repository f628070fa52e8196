"""The command line for users against everything real: a job from its upload to its end."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from secrets import token_hex

import pytest

from cluster.client import Client
from tests.live import Live
from tests.polling import PATIENCE_S, until
from tests.portal.client.program import SCOPES, ClientProgram, finish

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.fixture
async def program(portal: Live, alice: Client, tmp_path: Path) -> AsyncIterator[ClientProgram]:
    body = {"name": f"dsp {tmp_path.name}"[:100], "scopes": [*SCOPES, "ssh"], "expires_in_days": 1}
    made = await alice.api("POST", "/tokens", body)
    program = ClientProgram(portal.base_url, tmp_path)
    program.save_token(made["token"])
    yield program
    await alice.api("DELETE", f"/tokens/{made['id']}")


async def test_run_waits_and_exits_with_the_jobs_outcome(program: ClientProgram) -> None:
    (program.home / "helper.py").write_text("VALUE = 'helped'\n")
    (program.home / "train.py").write_text(
        "import pathlib, sys, helper\n"
        "print(helper.VALUE, *sys.argv[1:])\n"
        "pathlib.Path('result.txt').write_text('done')\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    done = await program.run("run", "train.py", "--wait", "--cpus", "1", "--", "0", "$(id)")
    assert done.code == 0, done
    assert "helped 0 $(id)\n" in done.out
    assert "was submitted" in done.err
    failed = await program.run("run", "train.py", "--wait", "--json", "--", "3")
    assert failed.code == 10
    assert (failed.value["outcome"], failed.value["exit_code"]) == ("failed", 3)


async def test_a_log_is_followed_and_the_job_is_cancelled(program: ClientProgram) -> None:
    (program.home / "wait.sh").write_text("echo begun; exec sleep 300\n")
    started = await program.run("run", "wait.sh", "--json", "--minutes", "10")
    assert started.code == 0, started
    job = started.value["id"]
    async with (
        program.started("logs", "-f", job) as follower,
        asyncio.timeout(PATIENCE_S),
    ):
        assert follower.stdout is not None
        assert await follower.stdout.readline() == b"begun\n"
        cancelled = await program.run("cancel", str(started.value["job_id"]), "--json")
        assert cancelled.code == 0, cancelled
        assert (await finish(follower)).code == 0
    again = await program.run("cancel", job, "--json")
    assert (again.code, "cancelled" in again.problem["detail"]) == (5, True)


async def test_files_go_to_the_cluster_and_come_back(program: ClientProgram) -> None:
    (program.home / "data.txt").write_text("round trip")
    assert (await program.run("cp", "--overwrite", "data.txt", ":dsp-test/")).code == 0
    assert (await program.run("cp", ":dsp-test/data.txt", "back.txt")).code == 0
    assert (program.home / "back.txt").read_text() == "round trip"


async def test_a_session_is_started_opened_and_stopped(program: ClientProgram) -> None:
    name = f"dsp-{token_hex(3)}"
    started = await program.run("sessions", "start", "--env", "python3", "--name", name, "--json")
    assert started.code == 0, started
    assert started.value["state"] == "running"
    opened = await program.run("sessions", "open", name, "--no-browser")
    assert opened.code == 0, opened
    assert opened.out.startswith("http://127.0.0.1:")
    board = await program.run("tensorboard", name, "--session", "--no-browser", "--json")
    assert (board.code, board.value["state"]) == (0, "running"), board
    listed = (await program.run("sessions", "list", "--json")).value
    assert name in {session["name"] for session in listed}
    assert (await program.run("sessions", "stop", name)).code == 0


async def test_ssh_scp_and_rsync_reach_a_session_without_any_setup(program: ClientProgram) -> None:
    name = f"dsp-{token_hex(3)}"
    started = await program.run("sessions", "start", "--env", "python3", "--name", name, "--json")
    assert started.code == 0, started
    shown = await program.run("ssh", name, "--", "id -un; hostname; exit 7")
    assert (shown.code, shown.out.split()) == (7, ["alice", started.value["node"]]), shown
    config = (await program.run("ssh-config", "--json")).value["path"]
    host = f"{name}.portal"
    (program.home / "data.txt").write_text("round trip")
    await use_config(program, "scp", "-F", config, "data.txt", f"{host}:{name}.txt")
    await use_config(program, "rsync", "-e", f"ssh -F {config}", f"{host}:{name}.txt", "back.txt")
    assert (program.home / "back.txt").read_text() == "round trip"
    removed = await program.run("ssh", started.value["id"][:8], "--", "rm", f"{name}.txt")
    assert removed.code == 0, removed
    assert (await program.run("sessions", "stop", name)).code == 0


async def test_ssh_reaches_a_running_job_by_its_number(program: ClientProgram) -> None:
    (program.home / "wait.sh").write_text("exec sleep 300\n")
    started = await program.run("run", "wait.sh", "--json", "--minutes", "10")
    assert started.code == 0, started
    number = str(started.value["job_id"])
    shown = await until(
        lambda: program.run("ssh", number, "--", "echo $SLURM_JOB_ID"),
        "the job runs",
        done=lambda done: done.code != 5,
    )
    assert (shown.code, shown.out) == (0, f"{number}\n"), shown
    assert (await program.run("cancel", number)).code == 0


async def use_config(program: ClientProgram, *argv: str) -> None:
    """Run a program of the user's computer that connects by ssh."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=program.home, env=program.environment, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE_S):
        done = await finish(process)
    assert done.code == 0, done
