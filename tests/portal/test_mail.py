"""E-mails: what is written down, sent once, tried again, and given up; a real server of tests'."""

import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from portal import check
from portal.db import Database, utcnow
from portal.models import BatchJob, Job, JobState, Mail, Session, User, Wanted
from portal.services.mail import due, sending
from portal.services.mail.sending import Post
from portal.services.status import Part, State
from portal.settings import Settings
from portal.smtp import MailUnavailable, Smtp
from spawner.model import Outcome
from tests.portal.conftest import Browser, MakeSettings, Portal, RunPortal
from tests.portal.slapd import free_port
from tests.portal.smtp_stand import MailServer, Mood, mail_server

pytestmark = pytest.mark.anyio
SENDER = "Portal <portal@hpc.example>"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EVERYTHING = {"session_started": True, "job_ended": True, "time_short": True}


@dataclass
class World:
    """A portal whose loop doesn't send, and one of ours that looks when a test says so, by a clock
    of the test's: `now` is when it looked last, and when rows were written since."""

    portal: Portal
    server: MailServer
    post: Post
    people: dict[str, str]
    alice: Browser
    now: datetime

    async def look(self, now: datetime) -> bool:
        """One round; False if the server could not be used."""
        self.now = now
        return await self.post.round(now)

    async def wants(self, who: str = "alice", **kinds: bool) -> None:
        async with self.portal.app.state.db.session() as db:
            chosen = {"notify": {"email": kinds or EVERYTHING}}
            row = update(User).where(User.username == who)
            await db.execute(row.values(preferences=chosen))
            await db.commit()

    async def add(self, kind: type[Job] = BatchJob, who: str = "alice", **columns: Any) -> str:
        """A row as the reconcile loop leaves it."""
        owner = self.people[who]
        mine = {"owner_id": owner} if kind is BatchJob else {}
        usual: dict[str, Any] = {
            "name": "x",
            "state": JobState.RUNNING,
            "started_at": self.now - HOUR,
        }
        usual["changed_at"] = self.now
        async with self.portal.app.state.db.session() as db:
            row = kind(user_id=owner, **mine, **(usual | columns))
            db.add(row)
            await db.commit()
            return row.id

    async def change(self, job_id: str, **columns: Any) -> None:
        async with self.portal.app.state.db.session() as db:
            row = await db.get_one(Job, job_id)
            for column, value in ({"changed_at": self.now} | columns).items():
                setattr(row, column, value)
            await db.commit()

    async def mails(self) -> list[Mail]:
        async with self.portal.app.state.db.session() as db:
            return list((await db.scalars(select(Mail).order_by(Mail.event))).all())

    def subjects(self) -> list[str]:
        return [letter.message["Subject"] for letter in self.server.letters]


def smtp_settings(port: int, **changes: Any) -> dict[str, Any]:
    usual = {"smtp_host": "127.0.0.1", "smtp_port": port, "smtp_tls": "none", "smtp_from": SENDER}
    return {**usual, **changes}


@pytest.fixture
async def world(run_portal: RunPortal) -> AsyncIterator[World]:
    async with mail_server() as server, run_portal() as portal, portal.browser() as alice:
        settings = portal.settings.model_copy(update=smtp_settings(server.port))
        smtp = Smtp(settings)
        parts = replace(portal.app.state.parts, settings=settings, smtp=smtp)
        portal.app.state.parts = parts  # what routes see
        people = {}
        for name in ("bob", "alice"):
            people[name] = (await alice.login(name)).body["id"]
        found = World(portal, server, Post(parts, smtp), people, alice, utcnow())
        assert await found.look(found.now)  # from here on things happen
        yield found


def ended(**columns: Any) -> dict[str, Any]:
    usual = {"state": JobState.ENDED, "outcome": Outcome.COMPLETED, "ended_at": utcnow()}
    return {**usual, **columns}


async def test_each_event_is_told_once_to_whoever_wants_it(world: World) -> None:
    now = world.now
    await world.wants()
    await world.wants("bob", job_ended=True)
    await world.add(**ended(name="mine"))
    await world.add(Session, who="bob", name="quiet", ready_at=now)  # bob wants to know of jobs
    await world.add(**ended(name="old", ended_at=now - 7 * HOUR))
    await world.add(**ended(name="gone", removed_at=now))
    await world.add(who="bob", **ended(name="theirs", outcome=Outcome.FAILED, reason="Code 1."))
    assert await world.look(now)
    assert await world.look(now + 2 * MINUTE)
    first, second = world.server.letters
    told = {first.recipients: first, second.recipients: second}
    mine, theirs = told["alice@test.example",], told["bob@test.example",]
    assert (mine.sender, mine.message["Subject"]) == ("portal@hpc.example", "Job mine is done")
    assert theirs.message["Subject"] == "Job theirs has failed"
    assert "Code 1." in theirs.message.get_content()

    job = await world.add(Session, name="s", ready_at=now, expires_at=now + 3 * HOUR)
    assert await world.look(now + 3 * MINUTE)
    assert world.subjects()[2:] == ["Session s is ready"]
    await world.change(job, ready_at=now + MINUTE)  # its server came back within its job
    assert await world.look(now + 5 * MINUTE)
    await world.change(job, started_at=now, ready_at=now + 2 * MINUTE)  # put back, and begun again
    assert await world.look(now + 7 * MINUTE)
    assert world.subjects()[2:] == ["Session s is ready", "Session s is ready"]


async def test_time_runs_out_once_for_each_end(world: World) -> None:
    now = world.now
    await world.wants()
    job = await world.add(name="long", expires_at=now + 20 * MINUTE)
    assert await world.look(now)
    assert world.subjects() == []
    assert await world.look(now + 6 * MINUTE)
    assert await world.look(now + 8 * MINUTE)
    assert world.subjects() == ["Job long ends in 14 minutes"]
    await world.change(job, expires_at=now + 80 * MINUTE)
    assert await world.look(now + 10 * MINUTE)
    assert await world.look(now + 70 * MINUTE)
    assert world.subjects()[1:] == ["Job long ends in 10 minutes"]
    assert await world.look(now + 90 * MINUTE)  # over, and nobody has said so yet
    assert len(world.subjects()) == 2


async def test_what_happens_within_a_minute_comes_together(world: World) -> None:
    now = world.now
    await world.wants()
    await world.add(**ended(name="first"))
    assert await world.look(now)
    for number in range(30):
        await world.add(**ended(name=f"j{number}"))
    await world.add(**ended(name="bad", outcome=Outcome.TIMEOUT))
    assert await world.look(now + MINUTE / 2)
    assert len(world.server.letters) == 1
    assert await world.look(utcnow() + 2 * MINUTE)
    assert world.subjects() == ["Job first is done", "Job bad ran out of time and 30 more"]
    assert all(mail.sent_at for mail in await world.mails())


async def test_what_is_deferred_is_tried_again_later_each_time(world: World) -> None:
    now = world.now
    await world.wants()
    await world.add(**ended(name="late"))
    world.server.mood = "defers"
    for _ in range(3):
        assert await world.look(now)
        (mail,) = await world.mails()
        assert mail.problem == "It doesn't take the address: 451 come again later"
        assert mail.next_try_at is not None
        assert mail.next_try_at > now
        now = mail.next_try_at
    assert (mail.tries, world.server.refused) == (3, 3)
    standing = (await world.alice.get("/api/v1/me/mail")).body
    assert standing["problem"] == mail.problem
    world.server.mood = "takes"
    assert await world.look(now)
    (mail,) = await world.mails()
    assert (mail.sent_at is not None, mail.next_try_at, mail.problem) == (True, None, None)
    assert await world.look(now + HOUR)
    assert world.subjects() == ["Job late is done"]


async def test_what_can_never_arrive_is_given_up(world: World) -> None:
    """An address that the server doesn't know; a server that is away for a day."""
    now = world.now
    await world.wants()
    await world.add(**ended())
    world.server.mood = "knows nobody"
    assert await world.look(now)
    (mail,) = await world.mails()
    assert (mail.next_try_at, mail.sent_at) == (None, None)
    assert mail.problem == "It doesn't take the address: 550 5.1.1 no such mailbox"
    world.server.mood = "serves nobody"
    await world.add(**ended())
    assert not await world.look(now + 2 * MINUTE)
    assert not await world.look(now + 25 * HOUR)
    assert [mail.next_try_at for mail in await world.mails()] == [None, None]


async def test_a_mailbox_that_is_full_holds_up_nobody_else(world: World) -> None:
    """What the server defers is about one letter: the others are tried, and it is in no trouble."""
    await world.wants()
    await world.wants("bob")
    await world.add(**ended(name="mine"))
    await world.add(who="bob", **ended(name="theirs"))
    world.server.mood = "defers"
    assert await world.look(world.now)
    assert (world.server.refused, world.post.smtp.trouble) == (2, None)
    assert [(mail.tries, mail.next_try_at is not None) for mail in await world.mails()] == [
        (1, True), (1, True),
    ]  # fmt: skip


async def test_a_server_that_serves_nobody_is_not_the_letters_fault(world: World) -> None:
    """Whatever code it says so with: letters wait until it does, and its trouble is known."""
    now = world.now
    await world.wants()
    await world.add(**ended(name="kept"))
    moods: tuple[Mood, ...] = ("serves nobody", "is rude")
    for world.server.mood in moods:
        assert not await world.look(now)
        (mail,) = await world.mails()
        assert (mail.problem or "").startswith("It doesn't serve us: 55")
        assert world.post.smtp.trouble is not None
        assert mail.next_try_at is not None
        now = mail.next_try_at
    world.server.mood = "takes"
    secret = {"smtp_user": "portal", "smtp_password": "s3cret"}
    account = Smtp(world.post.smtp.settings.model_copy(update=secret))
    with pytest.raises(MailUnavailable, match="AUTH"):  # it has no accounts
        await account.answers()
    assert await world.look(now)
    assert world.subjects() == ["Job kept is done"]


async def test_what_is_not_so_any_more_is_not_told(world: World) -> None:
    """By the time that the server is back the session has ended, and someone has changed their
    mind or has been disabled."""
    now = world.now
    await world.wants()
    await world.wants("bob")
    session = await world.add(Session, ready_at=now)
    await world.add(who="bob", **ended())
    short = await world.add(expires_at=now + 5 * MINUTE)
    world.server.mood = "serves nobody"
    assert not await world.look(now)
    await world.change(session, state=JobState.STOPPING, wanted=Wanted.STOP)
    await world.change(short, expires_at=now + 9 * HOUR)
    async with world.portal.app.state.db.session() as db:
        await db.execute(update(User).where(User.username == "bob").values(disabled_at=now))
        await db.commit()
    world.server.mood = "takes"
    assert await world.look(now + HOUR)
    assert world.subjects() == []
    assert {mail.problem for mail in await world.mails()} == {sending.NOT_SO_ANY_MORE}
    assert (await world.alice.get("/api/v1/me/mail")).body["problem"] is None


async def test_a_letter_that_was_taken_is_not_sent_again(world: World) -> None:
    """The server ends the connection without a farewell, once it has it."""
    now = world.now
    await world.wants()
    await world.add(**ended())
    world.server.mood = "hangs up"
    assert await world.look(now)
    assert await world.look(now + HOUR)
    assert len(world.server.letters) == 1


async def test_two_portals_on_one_database_send_one_letter(world: World) -> None:
    now = world.now
    await world.wants()
    await world.add(**ended())
    await due.note(world.portal.app.state.db, now)
    user = world.people["alice"]
    claims = [await sending._claimed(world.portal.app.state.db, user, now) for _ in range(2)]
    assert [len(claim) for claim in claims] == [1, 0]


async def test_many_rows_are_looked_at_a_page_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due, "PAGE", 3)
    await world.wants()
    for number in range(10):
        await world.add(**ended(name=f"j{number}"))
    assert await due.note(world.portal.app.state.db, world.now) == 10
    assert await due.note(world.portal.app.state.db, world.now) == 0


# --- the loop, through a restart ------------------------------------------------------------------


async def test_what_waits_outlives_the_portal(
    run_portal: RunPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first portal meets a server that defers; a job ends while no portal runs; the second
    tells both in one letter."""
    monkeypatch.setattr(sending, "ROUND_S", 0.05)
    async with mail_server() as server:
        server.mood = "defers"
        settings = smtp_settings(server.port)
        async with run_portal(**settings) as portal, portal.browser() as alice:
            user = (await alice.login("alice")).body["id"]
            wish = {"notify": {"email": {"job_ended": True}}}
            await alice.send("PATCH", "/api/v1/me/preferences", json=wish)
            await _job(portal.app.state.db, user, "first")
            await server.has_refused(1)
        database = Database(portal.settings.database)
        async with database.session() as db:
            await db.execute(update(Mail).values(next_try_at=utcnow()))
            await db.commit()
        await _job(database, user, "second", outcome=Outcome.FAILED)
        server.mood = "takes"
        async with run_portal(**settings):
            (letter,) = await server.has(1)
        async with database.session() as db:
            count = await db.scalar(select(func.count()).select_from(Mail))
        await database.close()
    assert letter.recipients == ("alice@test.example",)
    assert letter.message["Subject"] == "Job second has failed and 1 more"
    assert "Job first is done" in letter.message.get_content()
    assert count == 2


async def _job(database: Database, user: str, name: str, **columns: Any) -> None:
    async with database.session() as db:
        db.add(BatchJob(user_id=user, owner_id=user, name=name, **ended(**columns)))
        await db.commit()


# --- what someone asks for ------------------------------------------------------------------------


async def test_a_test_e_mail_says_what_the_server_says(world: World) -> None:
    before = (await world.alice.get("/api/v1/me/mail")).body
    assert (before["configured"], before["address"], before["sender"]) == (
        True, "alice@test.example", SENDER,
    )  # fmt: skip
    assert before["last_sent_at"] is None
    world.server.mood = "knows nobody"
    answer = await world.alice.post("/api/v1/me/mail/test")
    assert (answer.status, answer.slug) == (503, "unavailable")
    assert "550 5.1.1 no such mailbox" in answer.body["detail"]
    assert await world.look(utcnow())  # the loop has nothing to do with it
    assert "no such mailbox" in (await world.alice.get("/api/v1/me/mail")).body["problem"]
    await _forget(world.portal)
    world.server.mood = "takes"
    assert (await world.alice.post("/api/v1/me/mail/test")).status == 204
    (letter,) = world.server.letters
    assert letter.recipients == ("alice@test.example",)
    after = (await world.alice.get("/api/v1/me/mail")).body
    assert (after["last_sent_at"] is not None, after["problem"]) == (True, None)


async def test_a_test_e_mail_is_sent_once_a_minute(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole one, not the clock's."""
    first = utcnow().replace(second=59)
    answers = []
    for seconds in (0, 0, 2, 61):
        at = first + timedelta(seconds=seconds)
        monkeypatch.setattr(sending, "utcnow", lambda at=at: at)
        answers.append(await world.alice.post("/api/v1/me/mail/test"))
    assert [answer.status for answer in answers] == [204, 409, 409, 204]
    assert answers[2].slug == "conflict"
    assert len(world.server.letters) == 2


async def test_without_a_server_or_an_address_it_is_said(
    portal: Portal, browser: Browser, world: World
) -> None:
    async with world.portal.app.state.db.session() as db:
        await db.execute(update(User).values(email=None))
        await db.commit()
    answer = await world.alice.post("/api/v1/me/mail/test")
    assert (answer.status, "no e-mail address" in answer.body["detail"]) == (409, True)
    world.portal.app.state.parts = replace(world.portal.app.state.parts, smtp=None)
    found = (await world.alice.get("/api/v1/me/mail")).body
    assert (found["configured"], found["sender"]) == (False, None)
    assert (await world.alice.post("/api/v1/me/mail/test")).status == 409


# --- the server, and whether it answers -----------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1's, signed by itself, with its key in one file."""
    folder = tmp_path_factory.mktemp("smtp")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    return folder


@asynccontextmanager
async def secured(certificate: Path) -> AsyncIterator[MailServer]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    async with mail_server(account=("portal", "s3cret"), tls=context) as server:
        yield server


def checked(make_settings: MakeSettings, port: int, folder: Path, **changes: Any) -> Settings:
    secret = folder / "smtp.secret"
    secret.touch(mode=0o600)
    secret.write_text("s3cret")
    usual = {
        "smtp_tls": "starttls",
        "smtp_ca_file": folder / "cert.pem",
        "smtp_user": "portal",
        "smtp_password_file": secret,
    }
    return make_settings(**smtp_settings(port, **{**usual, **changes}))


async def test_portal_check_tries_the_server_and_says_what_to_do(
    make_settings: MakeSettings, certificate: Path
) -> None:
    assert (await check.mail(make_settings())).what == "mail (off)"
    async with secured(certificate) as server:
        settings = checked(make_settings, server.port, certificate)
        assert await check.mail(settings) == check.Finding("mail")
        stranger = checked(make_settings, server.port, certificate, smtp_ca_file=None)
        assert "smtp_ca_file" in (await check.mail(stranger)).advice
        server.mood = "lets nobody in"
        shut = await check.mail(settings)
        assert (shut.problem, "smtp_user" in shut.advice) == ("It doesn't let us in: no", True)
        assert server.letters == []
    async with mail_server() as plain:
        bare = await check.mail(checked(make_settings, plain.port, certificate))
        assert bare.problem == "It offers no STARTTLS."
    gone = await check.mail(make_settings(**smtp_settings(free_port())))
    assert gone.problem is not None
    assert "smtp_host" in gone.advice


async def test_a_letter_goes_by_tls_as_the_portals_account(
    run_portal: RunPortal, make_settings: MakeSettings, certificate: Path
) -> None:
    """And the status tells a server that answers from one that doesn't."""
    async with secured(certificate) as server:
        settings = checked(make_settings, server.port, certificate)
        changes = {name: getattr(settings, name) for name in settings.model_fields_set}
        async with run_portal(**changes) as portal, portal.browser() as alice:
            await alice.login("alice")
            assert (await alice.post("/api/v1/me/mail/test")).status == 204
            (letter,) = server.letters
            assert (letter.account, letter.secured) == ("portal", True)
            assert await _status(portal) == (State.OK, "It answers, and took the last e-mail.")
            server.mood = "lets nobody in"
            await _forget(portal)
            assert (await alice.post("/api/v1/me/mail/test")).status == 503
            state, message = await _status(portal)
            assert (state, message.partition(".")[0]) == (State.FAILING, "It doesn't let us in: no")


async def _forget(portal: Portal) -> None:
    """As when a minute has gone by."""
    async with portal.app.state.db.session() as db:
        await db.execute(update(Mail).values(event="earlier"))
        await db.commit()


async def _status(portal: Portal) -> tuple[State, str]:
    await portal.app.state.status.look(Part.MAIL)
    (item,) = [item for item in portal.app.state.status.items if item.part is Part.MAIL]
    return item.state, item.message


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"smtp_from": None}, "smtp_from"),
        ({"smtp_from": "portal"}, "smtp_from"),
        ({"smtp_user": "portal"}, "smtp_user"),
        ({"smtp_host": "mail.example", "smtp_user": "p", "smtp_password_file": "/x"}, "smtp_tls"),
    ],
)
def test_settings_that_can_not_work_stop_the_start(
    make_settings: MakeSettings, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValueError, match=field):
        make_settings(**smtp_settings(25, **changes))
