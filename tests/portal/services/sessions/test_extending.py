"""Extending a session from the portal's pages and from the session itself.

Covers the site's policy, Slurm's limits, and a Slurm that does not answer.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from portal.db import utcnow
from portal.models import AuditEvent, JobState, Session, Tensorboard, User, Wanted, new_id
from portal.services.sessions.extending import Extension, compute_extension, extend
from spawner.errors import JobNotFound, Rejected, SlurmError, Unreachable
from spawner.slurm.model import (
    ClusterInfo,
    JobInfo,
    JobPhase,
    PartitionInfo,
    ReservationInfo,
    WallLimit,
)
from tests.portal.conftest import Answer, Browser
from tests.portal.job_portal import FakeSlurm, JobPortal, run_job_portal
from tests.servers.slapd import Slapd

SECRET = "the-secret-of-one-session"
JOB_ID = 77
LIMIT = 120


class LeaderLostForTest(Exception):
    """Another portal leads by now."""


@dataclasses.dataclass
class LongSlurm(FakeSlurm):
    """A Slurm with changeable time limits, and their bounds."""

    wall_limits: tuple[WallLimit, ...] = ()
    kept: tuple[ReservationInfo, ...] = ()
    refusal: SlurmError | None = None
    given_again: bool = False
    """True if every job id now belongs to another user's job, which no poll has seen yet."""

    async def find_wall_limits(self, job: JobInfo) -> tuple[WallLimit, ...]:
        self._there()
        await asyncio.sleep(0.05)  # a command takes time, in which other requests arrive
        return self.wall_limits

    async def reservations(self) -> tuple[ReservationInfo, ...]:
        self._there()
        return self.kept

    async def find(self, *job_ids: int) -> list[JobInfo]:
        found = await super().find(*job_ids)
        return [dataclasses.replace(i, user="bob") for i in found] if self.given_again else found

    async def set_time_limit(self, job_id: int, minutes: int) -> None:
        self._there()
        if self.refusal is not None:
            raise self.refusal
        self.shown[job_id] = dataclasses.replace(self.shown[job_id], time_limit_minutes=minutes)


@dataclasses.dataclass
class Extending:
    """A portal in which alice has a running session."""

    job_portal: JobPortal
    slurm: LongSlurm
    session_id: str
    program: Browser
    started: datetime

    async def extend(self, minutes: Any = 60, who: str = "alice") -> Answer:
        path = f"/sessions/{self.session_id}/extend"
        return await self.job_portal.ask("POST", path, {"minutes": minutes}, who)

    async def node(
        self, method: str, act: str, body: Any = None, secret: str | None = SECRET
    ) -> Answer:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        path = f"/node/sessions/{self.session_id}/{act}"
        return await self.program.send(method, path, json=body, headers=headers)

    async def change(self, **columns: Any) -> None:
        async with self.job_portal.context.db.session() as db:
            row = await db.get_one(Session, self.session_id)
            for name, value in columns.items():
                setattr(row, name, value)
            await db.commit()

    async def audit(self) -> list[AuditEvent]:
        async with self.job_portal.context.db.session() as db:
            query = select(AuditEvent).where(AuditEvent.action == "session.extend")
            return list((await db.scalars(query)).all())

    @property
    def limit(self) -> int | None:
        """Return the limit in Slurm."""
        return self.slurm.shown[JOB_ID].time_limit_minutes


@asynccontextmanager
async def extending(slapd: Slapd, folder: Path) -> AsyncIterator[Extending]:
    slurm = LongSlurm()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.portal.job_portal.FakeSlurm", lambda: slurm)
        async with (
            run_job_portal(slapd, folder) as job_portal,
            job_portal.portal.browser() as program,
        ):
            started = utcnow().replace(microsecond=0) - timedelta(minutes=10)
            row = Session(
                id=new_id(), name="s1", state=JobState.RUNNING, job_id=JOB_ID, node="node03",
                environment="plain", resources=resources(), submit_time=started,
                secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(), base_url="/user/alice/s1/",
                created_at=started, submitted_at=started, started_at=started, ready_at=started,
                called_home_at=started, expires_at=started + timedelta(minutes=LIMIT),
                server_env={}, target_host="127.0.0.3", target_port=40123, logdir="/home/alice/l",
            )  # fmt: skip
            async with job_portal.context.db.session() as db:
                row.user_id = await db.scalar(select(User.id).where(User.username == "alice"))
                db.add(row)
                await db.commit()
            slurm.shown[JOB_ID] = JobInfo(
                JOB_ID, "alice", "portal-s1", JobPhase.RUNNING, "RUNNING", nodes=("node03",),
                uuid=row.id, submit_time=started, start_time=started, time_limit_minutes=LIMIT,
                partition="cpu", account="research",
            )  # fmt: skip
            await job_portal.context.watcher.refresh()
            assert job_portal.context.watcher.find_or_request(row.id, "alice", JOB_ID)
            yield Extending(job_portal, slurm, row.id, program, started)


@pytest.fixture(scope="module")
async def kept(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Extending]:
    async with extending(slapd, tmp_path_factory.mktemp("extend")) as made:
        yield made


@pytest.fixture
async def session(kept: Extending) -> AsyncIterator[Extending]:
    """The session, reset to its initial state."""
    slurm = kept.slurm
    slurm.wall_limits, slurm.kept, slurm.refusal, slurm.away = (), (), None, False
    slurm.given_again = False
    job = dataclasses.replace(slurm.shown[JOB_ID], time_limit_minutes=LIMIT)
    slurm.shown[JOB_ID] = dataclasses.replace(job, phase=JobPhase.RUNNING)
    await kept.change(
        state=JobState.RUNNING,
        wanted=Wanted.RUN,
        expires_at=kept.started + timedelta(minutes=LIMIT),
    )
    await kept.job_portal.context.watcher.refresh()
    async with kept.job_portal.context.db.session() as db:
        await db.execute(update(User).values(disabled_at=None))
        await db.commit()
    yield kept


def resources(**named: Any) -> dict[str, Any]:
    return {
        "partition": "cpu", "nodes": 1, "gpus": 0, "gpu_type": None, "cpus": 1, "memory_gb": None,
        "time_limit_minutes": LIMIT, "account": None, "qos": None, **named,
    }  # fmt: skip


# --- policy ---------------------------------------------------------------------------------------

CLUSTER = ClusterInfo(
    (), (PartitionInfo("cpu", True, "UP", 240), PartitionInfo("gpu", False)), utcnow()
)
START = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("settings", "row", "minutes", "words"),
    [
        ({}, {}, 120, None),
        ({"session_extend_minutes": 30}, {}, 30, None),
        ({"session_extend_minutes": 0}, {}, 0, "can't be extended on this portal"),
        ({"session_max_hours": 2.5}, {}, 30, None),
        ({"session_max_hours": 2}, {}, 0, "Sessions can run for at most 2 hours"),
        ({}, {"resources": {"partition": "gpu"}}, 240, None),
        ({}, {"resources": {}}, 120, None),
        ({}, {"resources": {"partition": "gone"}}, 240, None),
        ({}, {"expires_at": START + timedelta(hours=4)}, 0, "cpu allows at most 4 hours"),
        ({}, {"expires_at": None}, 0, "no time limit"),
        ({}, {"state": JobState.QUEUED}, 0, "Only a running session"),
        ({}, {"wanted": Wanted.STOP}, 0, "Only a running session"),
    ],
)
def test_what_the_site_allows(
    settings: dict[str, Any], row: dict[str, Any], minutes: int, words: str | None
) -> None:
    site: Any = SimpleNamespace(
        **{"session_extend_minutes": 240, "session_max_hours": None, **settings}
    )
    shown = {
        "state": JobState.RUNNING, "wanted": Wanted.RUN, "resources": {"partition": "cpu"},
        "started_at": START, "expires_at": START + timedelta(minutes=LIMIT), **row,
    }  # fmt: skip
    found = compute_extension(Session(**shown), site, CLUSTER)
    assert found.minutes == minutes
    assert (words is None) if found.reason is None else (words or "?") in found.reason
    if not settings and not row:
        assert compute_extension(Session(**shown), site, None) == Extension(240)


# --- extending ------------------------------------------------------------------------------------


@pytest.mark.anyio
class TestExtend:
    async def test_time_is_added_shown_at_once_and_written_down(self, session: Extending) -> None:
        answer = await session.extend(60)
        assert answer.status == 200, answer
        assert datetime.fromisoformat(answer.body["expires_at"]) == session.started + timedelta(
            minutes=LIMIT + 60
        )
        assert session.limit == LIMIT + 60
        event = (await session.audit())[-1]
        assert event.target == "alice/s1"
        assert event.detail == {
            "minutes": 60,
            "by": "portal",
            "time_limit_minutes": {"old": LIMIT, "new": LIMIT + 60},
        }

    async def test_two_extensions_at_once_both_count(self, session: Extending) -> None:
        answers = await asyncio.gather(session.extend(30), session.extend(40))
        assert [answer.status for answer in answers] == [200, 200]
        assert session.limit == LIMIT + 70
        details = [event.detail["time_limit_minutes"] for event in (await session.audit())[-2:]]
        assert {LIMIT, LIMIT + 70} < {value for detail in details for value in detail.values()}

    async def test_a_portal_that_leads_no_longer_changes_nothing(self, session: Extending) -> None:
        async def refuse() -> None:
            raise LeaderLostForTest

        context = dataclasses.replace(session.job_portal.context, block_unless_leader=refuse)
        async with context.db.session() as db:
            row = await db.get_one(Session, session.session_id)
        with pytest.raises(LeaderLostForTest):
            await extend(context, row.user, row, 30)
        assert session.limit == LIMIT

    async def test_an_operators_extension_is_kept(self, session: Extending) -> None:
        job = session.slurm.shown[JOB_ID]
        session.slurm.shown[JOB_ID] = dataclasses.replace(job, time_limit_minutes=LIMIT + 60)
        assert (await session.extend(30)).status == 200
        assert session.limit == LIMIT + 90

    @pytest.mark.parametrize("minutes", [0, -5, 1.5, "an hour", None, 10**9])
    async def test_what_is_no_number_of_minutes(self, session: Extending, minutes: Any) -> None:
        answer = await session.extend(minutes)
        assert answer.status == 422
        assert answer.body["errors"][0]["field"] == "minutes"
        assert session.limit == LIMIT

    async def test_others_do_not_learn_that_it_is_there(self, session: Extending) -> None:
        for who in ("bob", "carol"):
            assert (await session.extend(who=who)).status == 404
        assert session.limit == LIMIT

    async def test_more_than_the_site_allows_at_once(self, session: Extending) -> None:
        answer = await session.extend(241)
        assert (answer.status, answer.slug) == (422, "invalid-input")
        assert "at most 4 hours" in answer.body["errors"][0]["message"]

    async def test_limits_of_account_and_qos_hold_though_slurm_would_not_mind(
        self, session: Extending
    ) -> None:
        session.slurm.wall_limits = (WallLimit(150, "account", "research"),)
        answer = await session.extend(60)
        assert answer.status == 422
        message = answer.body["errors"][0]["message"]
        assert "account research allows at most 2 hours 30 minutes" in message
        assert "at most 30 minutes can be added" in message
        assert (await session.extend(30)).status == 200
        session.slurm.wall_limits = (WallLimit(150, "qos", "normal"),)
        answer = await session.extend(1)
        assert (answer.status, answer.slug) == (409, "conflict")
        assert "QOS normal" in answer.body["detail"]
        assert session.limit == 150

    async def test_maintenance_ahead_holds_too(self, session: Extending) -> None:
        begins = session.started + timedelta(minutes=180)
        ahead = ReservationInfo("m", begins, begins + timedelta(hours=1), ("node03",), True)
        over = dataclasses.replace(ahead, start=START - timedelta(days=900), end=START)
        elsewhere = dataclasses.replace(ahead, start=utcnow(), nodes=("node01",))
        session.slurm.kept = (over, elsewhere, ahead)
        answer = await session.extend(90)
        assert answer.status == 422
        message = answer.body["errors"][0]["message"]
        assert "node03 is kept for maintenance from" in message
        assert "at most 1 hour can be added" in message
        assert (await session.extend(60)).status == 200

    async def test_a_session_inside_its_own_reservation_ends_with_it(
        self, session: Extending
    ) -> None:
        ends = session.started + timedelta(minutes=180)
        began = session.started - timedelta(hours=1)
        course = ReservationInfo("c", began, ends, ("node03",), accounts=("research",))
        session.slurm.kept = (course,)
        answer = await session.extend(90)
        assert answer.status == 422
        message = answer.body["errors"][0]["message"]
        assert "node03 is reserved for you only until" in message
        assert "at most 1 hour can be added" in message
        assert (await session.extend(60)).status == 200

    async def test_a_later_reservation_for_the_same_account_is_no_exception(
        self, session: Extending
    ) -> None:
        begins = session.started + timedelta(minutes=LIMIT)
        course = ReservationInfo(
            "c", begins, begins + timedelta(days=1), ("node03",), users=("alice",)
        )
        session.slurm.kept = (course,)
        answer = await session.extend(60)
        assert answer.status == 409
        assert "is reserved for others from" in answer.body["detail"]

    async def test_a_slurm_that_is_silent_refuses_or_has_forgotten(
        self, session: Extending
    ) -> None:
        for refusal, status, words in (
            (Unreachable("away"), 503, "Check the remaining time"),
            (Rejected("x", "Slurm does not permit this.", "Ask."), 422, "not permit this"),
            (JobNotFound("gone"), 409, "has already ended"),
        ):
            session.slurm.refusal = refusal
            answer = await session.extend()
            assert answer.status == status
            assert words in answer.body["detail"]
        assert session.limit == LIMIT

    async def test_another_job_of_its_number_gets_no_time(self, session: Extending) -> None:
        session.slurm.given_again = True
        assert (await session.extend()).status == 409
        assert session.limit == LIMIT

    async def test_only_a_running_session_has_time_to_add_to(self, session: Extending) -> None:
        await session.change(state=JobState.ENDED)
        answer = await session.extend()
        assert (answer.status, answer.slug) == (409, "conflict")


# --- the node program -----------------------------------------------------------------------------


@pytest.mark.anyio
class TestNode:
    async def test_facts_for_the_session_s_own_server(self, session: Extending) -> None:
        answer = await session.node("GET", "facts")
        assert answer.status == 200
        shown = answer.body["session"]
        assert (shown["name"], shown["node"], shown["state"]) == ("s1", "node03", "running")
        assert shown["extension"] == {"minutes": 240, "reason": None}
        assert answer.body["pages"] == {
            "session": f"http://127.0.0.1:8000/sessions/{session.session_id}",
            "tensorboard": f"http://127.0.0.1:8000/sessions/{session.session_id}/tensorboard",
            "run_notebook": "http://127.0.0.1:8000/jobs/new",
            "start_again": "http://127.0.0.1:8000/start-again/s1",
        }
        assert abs(datetime.fromisoformat(answer.body["now"]) - utcnow()) < timedelta(minutes=5)
        assert SECRET not in str(answer.body)

    async def test_it_extends_as_its_owner(self, session: Extending) -> None:
        answer = await session.node("POST", "extend", {"minutes": 30})
        assert answer.status == 200
        ends = datetime.fromisoformat(answer.body["session"]["expires_at"])
        assert ends == session.started + timedelta(minutes=LIMIT + 30)
        event = (await session.audit())[-1]
        assert (event.actor, event.detail["by"]) == ("alice", "jupyterlab")

    async def test_it_has_its_tensorboard_started(self, session: Extending) -> None:
        answer = await session.node("PUT", "tensorboard")
        assert answer.status == 200
        assert answer.body["logdir"] == "/home/alice/l"
        async with session.job_portal.context.db.session() as db:
            board = await db.get_one(Tensorboard, answer.body["id"])
            assert board.parent_id == session.session_id

    async def test_its_notebook_chooses_the_folder_that_it_shows(self, session: Extending) -> None:
        first = (await session.node("PUT", "tensorboard")).body
        moved = (await session.node("PUT", "tensorboard", {"logdir": "/tmp/other"})).body
        assert (moved["id"], moved["logdir"]) == (first["id"], "/tmp/other")
        assert (await session.node("PUT", "tensorboard")).body["logdir"] == "/tmp/other"
        refused = await session.node("PUT", "tensorboard", {"logdir": "relative"})
        assert (refused.status, refused.body["errors"][0]["field"]) == (422, "logdir")

    @pytest.mark.parametrize("secret", ["another", "", None])
    async def test_node_request_without_the_secret_is_refused(
        self, session: Extending, secret: str | None
    ) -> None:
        for method, act, body in (
            ("GET", "facts", None),
            ("POST", "extend", {"minutes": 5}),
            ("PUT", "tensorboard", None),
        ):
            assert (await session.node(method, act, body, secret)).status == 401
        assert session.limit == LIMIT

    async def test_a_session_that_is_to_end_or_whose_owner_is_disabled(
        self, session: Extending
    ) -> None:
        async def gone() -> None:
            assert (await session.node("GET", "facts")).status == 410
            assert (await session.node("POST", "extend", {"minutes": 5})).status == 410
            assert (await session.node("PUT", "tensorboard")).status == 410

        for columns in ({"state": JobState.ENDED}, {"wanted": Wanted.STOP}):
            await session.change(**columns)
            await gone()
            await session.change(state=JobState.RUNNING, wanted=Wanted.RUN)
        async with session.job_portal.context.db.session() as db:
            alice = User.username == "alice"
            await db.execute(update(User).where(alice).values(disabled_at=utcnow()))
            await db.commit()
        await gone()
