"""Users disabled, enabled and deleted, in a real directory, with a fake hub."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from portal.db import utcnow
from portal.directory.service import LdapDirectory
from portal.models import (
    BatchJob,
    HalfLogin,
    HomeCommandRun,
    Job,
    JobsPolicy,
    JobState,
    Session,
    Share,
    User,
    Wanted,
)
from portal.services.deprovision import deprovision
from spawner.slurm.model import JobInfo, JobPhase
from spawner.slurm.watcher import Watcher
from tests.fakes.hub import PlayedHub, played_hub
from tests.polling import until
from tests.portal.conftest import Browser, Portal
from tests.portal.job_portal import FakeSlurm
from tests.portal.leaving_users import (
    WAIT_S,
    _silent,
    closed,
    delete,
    directory_sync,
    disable,
    enable,
    end,
    job,
    made,
    row,
    wait_for_user,
    wanted,
)
from tests.portal.users_portal import USERS, RunHere, audited, fields, logged_in

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("slurm")]


@pytest.fixture
async def hub() -> AsyncIterator[PlayedHub]:
    async with played_hub() as hub:
        yield hub


@pytest.fixture
async def here(run_here: RunHere, hub: PlayedHub) -> AsyncIterator[Portal]:
    async with run_here(hub_url=hub.url) as portal:
        yield portal


# --- disabled -------------------------------------------------------------------------------------


async def test_nothing_works_at_the_next_request(
    here: Portal, hub: PlayedHub, carol: Browser
) -> None:
    hub.users["bob"] = {"s1"}
    async with logged_in(here, "bob") as bob, here.browser() as program:
        body = {"name": "t", "scopes": ["read"], "expires_in_days": 1}
        bearer = {
            "Authorization": f"Bearer {(await bob.post('/api/v1/tokens', body)).body['token']}"
        }
        async with here.context.db.session() as db:
            user = await row(here, "bob")
            db.add(HalfLogin(token_hash="h", user_id=user.id, expires_at=utcnow()))
            await db.commit()
        answer = await disable(carol, "bob", why="left")
        assert answer.status == 200, answer
        assert answer.body["disabled_by"] == "carol"
        gate = {"X-Owner": "bob", "X-Server": "s1"}
        assert (await bob.get("/api/v1/me")).status == 401
        assert (await bob.get("/internal/gate", headers=gate)).status == 401
        assert (await bob.get("/tensorboard/00000000-0000-4000-8000-000000000000/")).status == 404
        assert (await program.get("/api/v1/jobs", headers=bearer)).status == 401
        shown = await closed(carol, "bob")
        assert (shown["web_sessions"], shown["tokens"], shown["pending_steps"]) == (0, 0, [])
        assert (shown["disabled_in_directory"], shown["disabled_why"]) == (True, "left")
        assert hub.forgotten == ["bob"]
        again = await bob.login("bob")
        assert again.status == 401, "the directory refuses it first"
        assert "disabled" in again.body["detail"], "he has logged in from here before"
        async with here.browser() as other:
            stranger = await other.login("bob")
        assert stranger.body["detail"] == "Wrong username or password"

        assert (await enable(carol, "bob")).body["disabled_at"] is None
        shown = await wait_for_user(carol, "bob", lambda one: not one["directory_wants"])
        assert not shown["disabled_in_directory"]
        assert (await bob.get("/api/v1/me")).status == 401, "what was ended stays so"
        assert (await bob.login("bob")).status == 200
    details = await audited(here, "user.disable", "bob")
    assert details == [{"actor": "carol", "jobs": "cancel", "why": "left"}]
    assert [one["actor"] for one in await audited(here, "user.closed", "bob")] == ["portal"]
    assert len(await audited(here, "user.enable", "bob")) == 1


async def test_a_stream_ends(here: Portal, hub: PlayedHub, carol: Browser) -> None:
    async with logged_in(here, "bob") as bob, bob.http.get("/api/v1/events") as events:
        await events.content.readuntil(b"\n\n")
        await disable(carol, "bob")
        async with asyncio.timeout(WAIT_S):
            await events.content.read()
    await enable(carol, "bob")
    await wait_for_user(carol, "bob", lambda one: not one["directory_wants"])


async def test_someone_who_has_never_logged_in(here: Portal, carol: Browser) -> None:
    assert (await disable(carol, "p1942", jobs="leave")).body["disabled_jobs"] == "leave"
    assert (await closed(carol, "p1942"))["disabled_in_directory"]
    assert (await enable(carol, "p1942")).status == 200
    assert (await disable(carol, "unknown-user")).status == 404
    assert (await disable(carol, "system")).status == 409, "the portal manages no system accounts"


async def test_deprovisioning_waits_for_the_hub_and_reports_it(
    here: Portal, hub: PlayedHub, carol: Browser
) -> None:
    hub.away = True
    await disable(carol, "p1901")
    shown = await wait_for_user(carol, "p1901", lambda one: not one["directory_wants"])
    assert shown["deprovisioned_at"] is None
    shown = await wait_for_user(carol, "p1901", lambda one: len(one["pending_steps"]) == 2)
    assert "JupyterHub" in shown["pending_steps"][0]
    hub.away = False
    await closed(carol, "p1901")


async def test_jobs_end_or_are_left_and_sessions_end(here: Portal, carol: Browser) -> None:
    await disable(carol, "p1902", jobs="leave")
    await enable(carol, "p1902")
    running = await job(here, "p1902")
    waiting = await job(here, "p1902", job_id=None, state=JobState.SUBMITTING)
    session = await job(here, "p1902", Session, state=JobState.QUEUED)
    await disable(carol, "p1902", jobs="leave")
    async with asyncio.timeout(WAIT_S):
        while (
            await wanted(here, session) is Wanted.RUN or await wanted(here, waiting) is Wanted.RUN
        ):
            await asyncio.sleep(0.05)
    assert await wanted(here, running) is Wanted.RUN
    shown = (await carol.get(f"{USERS}/p1902")).body
    assert shown["pending_steps"][:2] == ["1 session is being ended.", "1 job is being ended."]
    await end(here, session, waiting)
    await closed(carol, "p1902")
    answer = await disable(carol, "p1902", jobs="cancel")  # the administrator changes the decision
    assert answer.body["deprovisioned_at"] is None
    await until(
        lambda: wanted(here, running),
        "the job is stopped",
        done=lambda answer: answer is not Wanted.RUN,
    )
    await end(here, running)
    await closed(carol, "p1902")


def test_what_must_end() -> None:
    def of(jobs: JobsPolicy, kind: type[Job] = BatchJob, **columns: Any) -> bool:
        now = utcnow()
        owner = User(username="x", disabled_at=now, disabled_jobs=jobs)
        row = kind(state=JobState.RUNNING, wanted=Wanted.RUN, job_id=1, created_at=now, user=owner)
        for name, value in columns.items():
            setattr(row, name, value)
        return deprovision.must_end(row)

    assert of(JobsPolicy.CANCEL)
    assert not of(JobsPolicy.LEAVE)
    assert of(JobsPolicy.LEAVE, Session)
    assert of(JobsPolicy.LEAVE, job_id=None), "what Slurm hasn't got is not left"
    assert not of(JobsPolicy.CANCEL, state=JobState.ENDED)
    assert not of(JobsPolicy.CANCEL, wanted=Wanted.STOP)
    assert not of(JobsPolicy.CANCEL, user=User(username="x"))


async def test_admin_cannot_disable_or_delete_themselves(here: Portal, carol: Browser) -> None:
    for answer in (await disable(carol, "carol"), await delete(carol, "carol")):
        assert (answer.status, answer.slug) == (409, "conflict")
        assert "Another administrator" in answer.body["detail"]
    assert (await carol.get("/api/v1/me")).status == 200


async def test_while_the_directory_is_silent(here: Portal, carol: Browser) -> None:
    """The portal removes access by itself, and updates the directory when it is back."""
    async with logged_in(here, "heidi") as heidi:
        directory = here.context.directory
        assert isinstance(directory, LdapDirectory)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(directory.servers), "use", _silent)
            answer = await disable(carol, "heidi")
            assert answer.status == 200, answer
            assert (await heidi.get("/api/v1/me")).status == 401
            await wait_for_user(carol, "heidi", lambda one: len(one["pending_steps"]) >= 2)
        await closed(carol, "heidi")
    await enable(carol, "heidi")
    await wait_for_user(carol, "heidi", lambda one: not one["directory_wants"])


# --- deleted --------------------------------------------------------------------------------------


async def test_a_user_is_deleted_and_the_name_is_free(here: Portal, carol: Browser) -> None:
    await made(carol, "leaver")
    old = await row(here, "leaver")
    async with here.context.db.session() as db:
        parent = await job(here, "leaver", state=JobState.ENDED)
        db.add(Share(parent_id=parent, username="leaver"))
        await db.commit()
    wrong = await delete(carol, "leaver", confirm="other")
    assert "leaver" in fields(wrong)["confirm"]
    assert (await delete(carol, "leaver")).status == 202
    await until(
        lambda: carol.get(f"{USERS}/leaver"),
        "the user is deleted",
        done=lambda answer: answer.status == 404,
    )
    async with here.context.db.session() as db:
        gone = await db.get_one(User, old.id)
        assert (await db.scalars(select(Share))).all() == []
    assert gone.deleted_at and gone.former_username == "leaver" and gone.username[0] == "~"
    shown = (await carol.get(f"{USERS}/{gone.username}")).body
    assert (shown["former_username"], shown["in_directory"]) == ("leaver", False)
    await made(carol, "leaver")
    assert (await row(here, "leaver")).id != old.id
    assert [one["actor"] for one in await audited(here, "user.deleted", "leaver")] == ["portal"]


async def test_the_name_stays_while_a_job_of_theirs_runs(here: Portal, carol: Browser) -> None:
    await made(carol, "busy")
    left = await job(here, "busy")
    assert (await delete(carol, "busy", jobs="leave")).status == 202
    shown = await wait_for_user(carol, "busy", lambda one: one["deleted_at"])
    assert (shown["in_directory"], shown["former_username"]) == (False, None)
    again = await carol.post(USERS, {"username": "busy", "surname": "B"})
    assert "busy" in fields(again)["username"]
    assert (await enable(carol, "busy")).status == 409
    await end(here, left)
    await directory_sync(here).poll()
    assert (await carol.get(f"{USERS}/busy")).status == 404
    await made(carol, "busy")


async def test_the_name_stays_while_slurm_has_jobs_of_that_name(here: Portal) -> None:
    """Including a job without a row; and while Slurm does not answer, it is unknown."""
    own = FakeSlurm()
    watcher = Watcher(own)
    context = replace(here.context, watcher=watcher)
    now = utcnow()
    async with here.context.db.session() as db:
        gone = User(username="ghost", display_name="G", disabled_at=now, deleted_at=now)
        gone.deprovisioned_at = now
        db.add(gone)
        await db.commit()
    assert not await deprovision.release_username(context, gone.id), "no look yet"
    own.shown[9] = JobInfo(9, "ghost", "x", JobPhase.RUNNING, "RUNNING", submit_time=now)
    await watcher.refresh()
    assert not await deprovision.release_username(context, gone.id)
    own.shown.clear()
    await watcher.refresh()
    assert await deprovision.release_username(context, gone.id)


@pytest.mark.parametrize("jobs", ["cancel", "leave"])
async def test_it_is_open_while_slurm_shows_what_is_to_end(
    here: Portal, carol: Browser, slurm: FakeSlurm, jobs: str
) -> None:
    name = f"sender-{jobs}"
    await made(carol, name)
    context, later = here.context, utcnow() + timedelta(hours=1)
    running = JobInfo(9, name, "x", JobPhase.RUNNING, "RUNNING", submit_time=later)
    slurm.shown[9] = running
    await context.watcher.refresh()
    assert (await disable(carol, name, jobs)).status == 200
    async with asyncio.timeout(WAIT_S):
        while 9 not in slurm.cancelled:
            assert (await row(here, name)).deprovisioned_at is None
            await asyncio.sleep(0.05)
    slurm.shown[9] = replace(running, phase=JobPhase.ENDED)
    await context.watcher.refresh()
    await closed(carol, name)


async def test_files_are_seen_to_before_the_entry_goes(run_here: RunHere, hub: PlayedHub) -> None:
    command = ["/bin/echo", "{username}", "{uid}", "{gid}", "{home}"]
    async with run_here(hub_url=hub.url, home_archive_command=command) as portal:
        async with logged_in(portal, "carol") as carol:
            await made(carol, "filer")
            assert "files" in fields(await delete(carol, "filer", files="archive", jobs="leave"))
            none = await delete(carol, "filer", files="delete")
            assert (none.status, none.slug) == (409, "conflict")
            assert (await delete(carol, "filer", files="archive")).status == 202
            await until(
                lambda: carol.get(f"{USERS}/filer"),
                "the user is deleted",
                done=lambda answer: answer.status == 404,
            )
        async with portal.context.db.session() as db:
            (run,) = await db.scalars(select(HomeCommandRun))
        assert (run.task, run.home, run.requested_by) == ("archive", "/home/filer", "carol")
        assert run.uid >= 50_000


async def test_a_directory_that_is_only_read(run_here: RunHere, hub: PlayedHub) -> None:
    """Only the portal's account is disabled, for as long as the directory has the user."""
    async with (
        run_here(hub_url=hub.url, ldap_write_dn=None) as portal,
        logged_in(portal, "carol") as carol,
        logged_in(portal, "bob") as bob,
    ):
        await disable(carol, "bob")
        shown = await closed(carol, "bob")
        assert not shown["disabled_in_directory"]
        refused = await bob.login("bob")
        # as in a directory that has the account locked
        assert (refused.status, refused.slug) == (401, "wrong-credentials"), refused
        assert refused.body["title"] == "This account is disabled"
        assert (await enable(carol, "bob")).status == 200
        assert (await bob.login("bob")).status == 200
        await wait_for_user(carol, "bob", lambda one: not one["directory_wants"])
        assert (await delete(carol, "bob")).status == 202
        shown = await wait_for_user(carol, "bob", lambda one: one["deleted_at"])
        assert shown["in_directory"] and shown["former_username"] is None
        refused = await bob.login("bob")
        assert (refused.status, "deleted" in refused.body["detail"]) == (403, True)
