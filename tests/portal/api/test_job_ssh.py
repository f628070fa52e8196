"""SSH into batch jobs at the gate: the program in the job is started by the first connection."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.models import AccessToken, BatchJob, JobState, User, Wanted, new_id
from portal.services.jobs.ssh import NOT_STARTED
from portal.services.slurm.launch import derive_job_ssh_secret
from spawner.errors import HomeUnavailable, Rejected
from spawner.launcher.pool import LauncherPool
from spawner.ssh.grant import GRANT_HEADER, HOST_KEY_HEADER, KEY_HEADER, SshGrant, parse_grant
from spawner.ssh.host_key import render_public_key
from tests.servers.gate_portal import Real, problem, real_portal
from tests.servers.nginx import Answer, ReceivedRequest, reply, run_nginx

pytest_plugins = ["tests.portal.gate_fixtures"]

PATH = "/user/alice/4711/ssh"
KEY = render_public_key("the client's")
HOST = "10.77.0.11"
FOREIGN = new_id()
WEBSOCKET = {"Upgrade": "websocket", "Connection": "Upgrade"}


class Programs:
    """Steps that the portal starts; `behave` is what each of them does, in a thread."""

    def __init__(self, real: Real) -> None:
        self.real = real
        self.started: list[str] = []
        self.ended: list[str] = []
        self.runs: list[str] = []
        self.logs: dict[str, str] = {}
        self.deleted: list[tuple[str, str]] = []
        self.behave: Callable[[BatchJob], None] = self.listen

    async def step(self, _context: Any, job: BatchJob, run_id: str) -> None:
        self.started.append(job.id)
        self.runs.append(run_id)
        threading.Thread(target=self.behave, args=(job,)).start()

    async def end(self, _context: Any, _job: BatchJob, run_id: str) -> None:
        self.ended.append(run_id)

    async def read_log(self, _context: Any, _job: BatchJob, run_id: str) -> str:
        return self.logs.get(run_id, "")

    async def delete(self, username: str, run_id: str) -> None:
        self.deleted.append((username, run_id))
        raise HomeUnavailable("The folder isn't empty.")

    def call(
        self,
        job: BatchJob,
        action: str,
        body: Any,
        secret: str | None = None,
        run_id: str | None = None,
    ) -> Answer:
        """Send a request as the last run, or as `run_id`; as one that the portal doesn't know if
        it has started none.
        """
        if body is not None:
            body = {"run_id": run_id or (self.runs or [FOREIGN])[-1], **body}
        given = secret if secret is not None else secret_of(self.real, job)
        headers = {"Authorization": f"Bearer {given}", "Content-Type": "application/json"}
        path = f"/node/jobs/{job.id}/{action}"
        method, content = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
        return self.real.ask(path, method=method, headers=headers, body=content)

    def listen(self, job: BatchJob) -> None:
        assert self.call(job, "hello", {"port": 40123}).status == 200

    def fail(self, job: BatchJob) -> None:
        self.call(job, "report", {"event": "failed", "message": "The disk is full."})


def secret_of(real: Real, job: BatchJob) -> str:
    context: Any = SimpleNamespace(settings=real.settings)
    return derive_job_ssh_secret(context, job)


@pytest.fixture
def programs(real: Real, monkeypatch: pytest.MonkeyPatch) -> Programs:
    made = Programs(real)
    patch_slurm(made, monkeypatch)
    return made


def patch_slurm(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Slurm show each job on node01."""

    async def find(*_: Any) -> Any:
        return SimpleNamespace(nodes=("node01",))

    monkeypatch.setattr("portal.services.jobs.ssh.find_running_job", find)
    monkeypatch.setattr("portal.services.jobs.ssh.get_node_address", lambda *_: HOST)
    monkeypatch.setattr("portal.services.slurm.launch.step_job_ssh", programs.step)
    monkeypatch.setattr("portal.services.slurm.launch.end_job_ssh", programs.end)
    monkeypatch.setattr("portal.services.slurm.launch.read_job_ssh_log", programs.read_log)
    monkeypatch.setattr(LauncherPool, "delete_job_folder", programs.delete)


def headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", KEY_HEADER: KEY}


def gate(real: Real, token: str, number: str = "4711") -> Answer:
    asked = {"X-Owner": "alice", "X-Server": number, **headers(token)}
    return real.ask("/internal/gate/ssh", headers=asked)


def reason(real: Real, token: str, path: str = PATH) -> tuple[int, str]:
    answer = real.ask(path, headers=headers(token))
    return answer.status, problem(answer)["detail"]


def test_the_first_connection_starts_the_program_and_others_use_it(
    real: Real, programs: Programs
) -> None:
    job = real.add_job()
    token_id, token = real.add_token("alice", "ssh")
    for _ in range(3):
        answer = gate(real, token)
        assert (answer.status, answer.one("x-target")) == (204, f"{HOST}:40123")
    assert programs.started == [job.id]
    secret = secret_of(real, job)
    granted = parse_grant(secret, PATH, answer.one(GRANT_HEADER.lower()), time.time())
    assert granted == SshGrant(token_id, KEY)
    assert answer.one(HOST_KEY_HEADER.lower()) == render_public_key(secret)


def test_a_job_that_was_lost_hides_no_job_with_its_number(real: Real, programs: Programs) -> None:
    _, token = real.add_token("alice", "ssh")
    real.add_job(state=JobState.ENDED)
    real.add_job("bob")
    job = real.add_job()
    assert gate(real, token).status == 204
    assert programs.started == [job.id]


def test_nothing_is_started_without_the_owners_token(real: Real, programs: Programs) -> None:
    real.add_job()
    for (_, token), words in (
        (real.add_token("alice", "read", "jobs", "sessions", "files"), "scope ssh"),
        (real.add_token("bob", "ssh"), "another user"),
        (real.add_token("carol", "ssh", "admin"), "another user"),
    ):
        assert gate(real, token).status == 403
        status, detail = reason(real, token)
        assert (status, words in detail) == (403, True)
    assert gate(real, "dsp_unknown").status == 401
    assert programs.started == []


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"state": JobState.QUEUED}, 424, "isn't running"),
        ({"state": JobState.ENDED}, 424, "isn't running"),
        ({"wanted": Wanted.STOP}, 424, "isn't running"),
        ({"array_size": 3}, 409, "tasks of an array"),
        ({"job_id": 4712}, 404, "You have no job 4711."),
    ],
)
def test_only_a_running_job_is_entered(
    real: Real, programs: Programs, changes: dict[str, Any], status: int, words: str
) -> None:
    real.add_job(**changes)
    _, token = real.add_token("alice", "ssh")
    assert gate(real, token).status == 403
    shown, detail = reason(real, token)
    assert (shown, words in detail) == (status, True)
    assert programs.started == []


def test_a_key_that_is_none_starts_nothing(real: Real, programs: Programs) -> None:
    real.add_job()
    _, token = real.add_token("alice", "ssh")
    asked = {"X-Owner": "alice", "X-Server": "4711", **headers(token), KEY_HEADER: "none"}
    assert real.ask("/internal/gate/ssh", headers=asked).status == 403
    assert programs.started == []


def test_a_program_that_fails_gives_its_reason_and_is_started_again(
    real: Real, programs: Programs
) -> None:
    job = real.add_job()
    _, token = real.add_token("alice", "ssh")
    programs.behave = programs.fail
    assert gate(real, token).status == 403
    assert reason(real, token) == (409, "The disk is full.")
    programs.behave = programs.listen
    assert gate(real, token).status == 204
    assert programs.started == [job.id, job.id]


def test_a_step_that_slurm_refuses_gives_the_reason(
    real: Real, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    real.add_job()
    _, token = real.add_token("alice", "ssh")

    async def refuse(*_: Any) -> None:
        raise Rejected("busy", "Slurm refused the step.", stderr="srun: error: no \x07room\n")

    monkeypatch.setattr("portal.services.slurm.launch.step_job_ssh", refuse)
    assert gate(real, token).status == 403
    assert reason(real, token) == (
        409,
        "SSH could not start in this job. Slurm refused the step. "
        "Its log ends with: srun: error: no room",
    )


def test_a_program_that_starts_slowly_is_waited_for(
    real: Real, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.services.jobs.ssh.START_S", 0.5)
    job = real.add_job()
    _, token = real.add_token("alice", "ssh")
    programs.behave = lambda _job: None
    assert gate(real, token).status == 403
    assert reason(real, token) == (
        409,
        "SSH is starting in this job. Connect again in a few seconds.",
    )
    assert gate(real, token).status == 403
    programs.listen(job)
    assert gate(real, token).status == 204
    assert programs.started == [job.id]


def test_a_second_run_replaces_the_first_whose_reports_change_nothing(
    real: Real, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.services.jobs.ssh.START_S", 0.1)
    monkeypatch.setattr("portal.services.jobs.ssh_programs.GIVEN_UP_S", 0.0)
    job = real.add_job()
    _, token = real.add_token("alice", "ssh")
    programs.behave = lambda _job: None
    assert gate(real, token).status == 403
    assert programs.ended == []
    programs.behave = programs.listen
    assert gate(real, token).status == 204
    first, second = programs.runs
    assert programs.ended == [first]
    assert programs.deleted == [("alice", first)]  # which fails, and hinders nothing
    late = {"port": 40999}
    assert programs.call(job, "hello", late, run_id=first).status == 409
    assert programs.call(job, "certificate", {"csr": "x"}, run_id=first).status == 409
    for event in ("failed", "exiting"):
        gone = {"event": event, "message": "The disk is full."}
        assert programs.call(job, "report", gone, run_id=first).status == 204
        assert gate(real, token).one("x-target") == f"{HOST}:40123"
    assert programs.call(job, "report", gone, run_id=second).status == 204
    assert gate(real, token).status == 204
    assert (len(programs.runs), programs.ended) == (3, [first])


def test_a_restarted_portal_learns_of_a_program_by_its_report(
    real: Real, programs: Programs
) -> None:
    job = real.add_job()
    _, token = real.add_token("alice", "ssh")
    assert programs.call(job, "hello", {"port": 40123}, run_id=FOREIGN).status == 200
    assert gate(real, token).status == 204
    assert programs.started == []


def test_a_program_that_does_not_report_shows_the_end_of_its_log(
    real: Real, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.services.jobs.ssh.START_S", 0.1)
    job = real.add_job()
    _, token = real.add_token("alice", "ssh")

    def crash(_job: BatchJob) -> None:
        lines = ["Traceback", f"  {'x' * 1000}", "", "Import\x1b[31mError: no \u202etornado"]
        programs.logs[programs.runs[-1]] = "\n".join(lines)

    programs.behave = crash
    assert gate(real, token).status == 403
    status, detail = reason(real, token)
    shown = "SSH is starting in this job. Connect again in a few seconds. Its log ends with: x"
    assert (status, detail.startswith(shown)) == (409, True)
    assert detail.endswith(" / Import[31mError: no tornado")
    assert len(detail) < 600
    programs.listen(job)
    assert gate(real, token).status == 204


def test_a_start_that_hangs_ends_in_time_and_its_step_is_ended_later(
    real: Real, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    real.add_job()
    _, token = real.add_token("alice", "ssh")
    hanging: list[str] = []

    async def hang(_context: Any, _job: BatchJob, run_id: str) -> None:
        hanging.append(run_id)
        await asyncio.sleep(60)

    monkeypatch.setattr("portal.services.jobs.ssh.START_S", 0.2)
    monkeypatch.setattr("portal.services.slurm.launch.step_job_ssh", hang)
    assert gate(real, token).status == 403
    assert reason(real, token) == (409, NOT_STARTED)
    monkeypatch.setattr("portal.services.jobs.ssh.START_S", 20.0)
    monkeypatch.setattr("portal.services.slurm.launch.step_job_ssh", programs.step)
    assert gate(real, token).status == 204
    assert programs.ended == hanging


def test_only_the_jobs_own_program_reports(real: Real, programs: Programs) -> None:
    job, other = real.add_job(), real.add_job(job_id=4712)
    hello = {"port": 40123}
    for secret in ("", "x", secret_of(real, other)):
        assert programs.call(job, "hello", hello, secret).status == 401
    assert programs.call(job, "hello", {"port": 22}).status == 422
    assert programs.call(job, "hello", hello, run_id="none").status == 422
    assert programs.call(job, "hello", hello).status == 200
    real.update(BatchJob, job.id, wanted=Wanted.STOP)
    assert programs.call(job, "hello", hello).status == 410
    real.update(User, real.users["alice"].id, disabled_at=job.created_at)
    assert programs.call(other, "hello", hello).status == 410


def test_a_connection_lasts_while_its_token_and_job_do(real: Real, programs: Programs) -> None:
    job = real.add_job()
    token_id, _ = real.add_token("alice", "ssh")
    asked = f"ssh/{token_id}?wait_s=0"
    assert programs.call(job, asked, None).status == 204
    for other in (real.add_token("bob", "ssh")[0], real.add_token("alice", "read")[0], "x"):
        assert programs.call(job, f"ssh/{other}?wait_s=0", None).status == 410
    with real.rows() as db:
        db.delete(db.get(AccessToken, token_id))
    assert programs.call(job, asked, None).status == 410
    token_id, _ = real.add_token("alice", "ssh")
    real.update(BatchJob, job.id, state=JobState.ENDED)
    assert programs.call(job, f"ssh/{token_id}?wait_s=0", None).status == 410


def test_the_site_may_disable_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with real_portal(tmp_path, session_ssh=False) as real:
        programs = Programs(real)
        patch_slurm(programs, monkeypatch)
        job = real.add_job()
        _, token = real.add_token("alice", "ssh")
        assert gate(real, token).status == 403
        assert reason(real, token) == (403, "SSH is disabled on this site.")
        assert programs.call(job, "hello", {"port": 40123}).status == 410
        shown = json.loads(real.ask(f"/api/v1/jobs/{job.id}/ssh", user="alice").body)
        assert shown["problem"] == "SSH is disabled on this site."
        assert programs.started == []


def test_the_owner_sees_how_to_connect(real: Real) -> None:
    job = real.add_job()
    shown = json.loads(real.ask(f"/api/v1/jobs/{job.id}/ssh", user="alice").body)
    assert (shown["problem"], shown["command"]) == (None, "ssh 4711.portal.test")
    assert shown["url"] == f"http://portal.test{PATH}"
    assert shown["host_key"] == render_public_key(secret_of(real, job))
    assert "User alice" in shown["config"]
    assert real.ask(f"/api/v1/jobs/{job.id}/ssh", user="bob").status == 404
    real.update(BatchJob, job.id, state=JobState.QUEUED)
    assert real.ask(f"/api/v1/jobs/{job.id}/ssh", user="alice").status == 424


def test_nginx_passes_the_grant_to_the_jobs_program(
    real: Real, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.services.jobs.ssh.get_node_address", lambda *_: "127.0.0.1")
    real.add_job()
    _, token = real.add_token("alice", "ssh")
    with run_nginx(portal_port=real.port) as door:
        programs.behave = lambda job: _listen_at(programs, job, door.node.port)
        door.node_answer = _answer
        answer = door.ask(PATH, headers={**WEBSOCKET, **headers(token)})
        assert (answer.status, answer.body) == (200, b"the job's program")
        (seen,) = door.node.seen
        assert (seen.path, seen.all("authorization")) == (PATH, [])
        assert seen.one(GRANT_HEADER.lower()).endswith(KEY)
        for path in ("/user/alice/04711/ssh", "/user/alice/4711/lab", "/user/alice/4711/x/ssh"):
            assert door.ask(path, headers=headers(token)).status in {401, 404}
        assert len(door.node.seen) == 1


def _listen_at(programs: Programs, job: BatchJob, port: int) -> None:
    assert programs.call(job, "hello", {"port": port}).status == 200


def _answer(_seen: ReceivedRequest, _connection: Any) -> bytes:
    return reply(body=b"the job's program")
