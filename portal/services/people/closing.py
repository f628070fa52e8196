"""What the disabled have open is closed, and the directory told, until all of it is so.

One loop over the users of whom something is still open: their sessions and TensorBoards end, their
jobs by what was decided, the hub forgets them and with them every token of its own, the directory
is told. Each step can be repeated, and what doesn't answer is asked again; `closed_at` is written
once everything was seen to be so. For someone deleted then follow the files, the directory's entry,
and at last the name, which others may have once nothing that runs is called by it.

The loop looks at the table every other second, so that it also finds what another process has
written: the command line, or another portal.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import and_, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database, utcnow
from portal.directory.contract import Person
from portal.errors import DirectoryReadOnly, PortalError
from portal.hub import HubError
from portal.models import (
    AccountState,
    BatchJob,
    GroupLeader,
    GroupMembership,
    Job,
    JobKind,
    JobsPolicy,
    JobState,
    Limit,
    LimitScope,
    Mail,
    RecoveryCode,
    SecondFactor,
    Session,
    Setup,
    Share,
    Tensorboard,
    User,
    Wanted,
)
from portal.parts import Parts
from portal.services.audit.audit import Action, record
from portal.services.changes import CLOSING, HOMES, RECONCILE
from portal.services.login.accounts import Accounts
from portal.services.people import homes, people
from portal.services.slurm.acts import Acts
from portal.services.store import change
from portal.services.tensorboards import tensorboards
from spawner.agent import Agents

log = structlog.get_logger(__name__)

EVERY_S = 2.0
AGAIN = timedelta(seconds=1)
TELL_FOR = timedelta(seconds=10)  # longer than two looks take, of several portals too
BOARD_ENDED = "Its owner’s account is switched off."
THE_PORTAL = "the portal"
RETIRED = "~"
"""Begins a name that nobody can have (settings.USERNAME_PATTERN)."""

Step = Callable[[User], Awaitable[None]]

_MARKED = or_(
    and_(User.disabled_at.is_not(None), User.closed_at.is_(None)),
    User.directory_wants.is_not(None),
)


@dataclass(frozen=True)
class Open:
    """What somebody still has: jobs of each kind that have not ended and are to, and TensorBoards
    that are wanted. Batch jobs that are left don't count."""

    sessions: int = 0
    jobs: int = 0
    boards: int = 0

    def __bool__(self) -> bool:
        return self.sessions + self.jobs + self.boards > 0


def must_end(job: Job) -> bool:
    """Whether this belongs to somebody disabled and is still to be told to end. Batch jobs that are
    to be left are those that Slurm had when their owner was disabled."""
    owner = job.user
    if owner.disabled_at is None or job.state is JobState.ENDED or job.wanted is Wanted.STOP:
        return False
    left = isinstance(job, BatchJob) and owner.disabled_jobs is JobsPolicy.LEAVE
    return not left or job.job_id is None or job.created_at > owner.disabled_at


async def end_row(parts: Parts, job: Job) -> None:
    """Tell it to; the reconcile loop brings it about."""

    def apply(row: Job) -> None:
        if row.state is JobState.ENDED:
            return
        row.wanted, row.state = Wanted.STOP, JobState.STOPPING
        row.stop_requested_at = row.stop_requested_at or utcnow()

    await change(parts.db, type(job), job.id, apply)
    parts.changes.notify(job.user_id, job.id, RECONCILE)


class Closing:
    """The loop, for the application's lifespan: `run` until cancelled."""

    def __init__(self, parts: Parts, accounts: Accounts, launchers: Sequence[Agents]) -> None:
        self._parts, self._accounts, self._launchers = parts, accounts, launchers
        self._acts = Acts(
            lambda: parts.changes.notify(CLOSING), parts.metrics.background_failures, AGAIN
        )
        self._hub_forgot: dict[str, datetime] = {}  # whom, and as of which disabling

    async def run(self) -> None:
        """Look whenever someone is disabled or a step is done, and every other second."""
        async with self._parts.changes.listen(CLOSING) as listener:
            while True:
                await self.look(utcnow())
                await listener.wait(EVERY_S)

    async def close(self) -> None:
        """End the acts under way; each is repeated after the next start."""
        await self._acts.close()

    async def look(self, now: datetime) -> None:
        """Take the next step for everyone of whom something is open."""
        async with self._parts.db.session() as db:
            just_now = User.disabled_at > now - TELL_FOR
            self._tell((await db.scalars(select(User.id).where(just_now))).all())
            users = list((await db.scalars(select(User).where(_MARKED))).all())
        self._hub_forgot = {u.id: at for u in users if (at := self._hub_forgot.get(u.id))}
        for user in users:
            if user.disabled_at is not None and user.closed_at is None:
                await self._close(user, now)
            else:
                self._directory(user, now)
        self._acts.forget({user.id for user in users}, len(users))

    def _tell(self, user_ids: Sequence[str]) -> None:
        """The streams of the disabled are to look whether they may go on; whichever process has
        written it."""
        self._parts.changes.notify(*user_ids)

    async def _close(self, user: User, now: datetime) -> None:
        await self._end_rows(user)
        for pool in self._launchers:
            pool.dismiss(user.username)
        left = await still_open(self._parts.db, user)
        forgotten = self._hub_forgot.get(user.id) == user.disabled_at
        if not forgotten:
            self._acts.start(f"hub {user.id}", now, lambda: self._said(user, self._hub))
        if user.directory_wants is not AccountState.DELETED:
            self._directory(user, now)
        if left or not forgotten:
            return
        if user.directory_wants is AccountState.DELETED:
            self._acts.start(f"delete {user.id}", now, lambda: self._said(user, self._delete))
        elif user.directory_wants is None:
            await self._closed(user)

    async def _end_rows(self, user: User) -> None:
        """Everything of theirs that runs, or waits to, is told to end."""
        live = Job.user_id == user.id, Job.state != JobState.ENDED, Job.wanted == Wanted.RUN
        async with self._parts.db.session() as db:
            rows = (await db.scalars(select(Job).where(*live))).unique().all()
            wanted = Tensorboard.user_id == user.id, Tensorboard.wanted.is_(True)
            boards = (await db.scalars(select(Tensorboard).where(*wanted))).unique().all()
        for row in rows:
            if must_end(row):
                await end_row(self._parts, row)
        for board in boards:
            await tensorboards.ended(self._parts, board, BOARD_ENDED)

    async def _closed(self, user: User) -> None:
        async with self._parts.db.session() as db:
            same = User.id == user.id, User.disabled_at == user.disabled_at
            row = await db.scalar(select(User).where(*same, User.directory_wants.is_(None)))
            if row is None:
                return  # enabled, or deleted, since this was read
            row.closed_at, row.closing_problem = utcnow(), None
            record(db, Action.PERSON_CLOSED, actor=THE_PORTAL, target=user.username)
            await db.commit()
        log.info("all of a disabled person is closed", username=user.username)

    # --- steps that ask others ----------------------------------------------------------------

    async def _said(self, user: User, step: Step) -> None:
        """Take a step; what it meets is kept for administrators to read, and raised."""
        try:
            await step(user)
        except (PortalError, HubError) as error:
            words = error.detail if isinstance(error, PortalError) else HUB_AWAY
            if words != user.closing_problem:
                await self._write(user, closing_problem=words)
            raise
        if user.closing_problem is not None:
            await self._write(user, closing_problem=None)

    async def _hub(self, user: User) -> None:
        """The hub forgets someone, and with them every token of theirs."""
        hub, name = self._parts.hub, user.username
        await hub.revoke_tokens(name)
        for server in await hub.server_names(name):
            await hub.stop_server(name, server, remove=True)
        if user.disabled_at is not None and await hub.delete_user(name):
            self._hub_forgot[user.id] = user.disabled_at

    def _directory(self, user: User, now: datetime) -> None:
        if user.directory_wants in {AccountState.DISABLED, AccountState.ENABLED}:
            self._acts.start(f"directory {user.id}", now, lambda: self._said(user, self._switch))

    async def _switch(self, user: User) -> None:
        """Tell the directory to disable or enable; one that is only read, and one that doesn't know
        the person, need not be told."""
        directory, wants = self._accounts.directory, user.directory_wants
        if await self._entry(user) is not None:
            act = directory.disable if wants is AccountState.DISABLED else directory.enable
            try:
                await act(user.username)
            except DirectoryReadOnly as error:
                log.info("the directory isn't told", username=user.username, why=error.detail)
        await self._write(user, directory_wants=None)

    async def _entry(self, user: User) -> Person | None:
        """The directory's entry of this very person."""
        if not self._accounts.directory.finds:
            return None
        found = await self._accounts.directory.find(user.username)
        return found if found is not None and people.is_same(user, found) else None

    async def _write(self, user: User, **values: object) -> None:
        """Into a row, unless something else is wanted of the directory by now."""
        wants = user.directory_wants
        same = User.directory_wants.is_(None) if wants is None else User.directory_wants == wants
        async with self._parts.db.session() as db:
            await db.execute(update(User).where(User.id == user.id, same).values(**values))
            await db.commit()
        self._parts.changes.notify(CLOSING)

    # --- deleting -----------------------------------------------------------------------------

    async def _delete(self, user: User) -> None:
        """All is closed: the files, then the entry, then our own memory of what they may."""
        person = await self._entry(user)
        if user.files_wanted is not None:
            await self._files(user, person)
        if person is not None:
            try:
                await self._accounts.directory.delete(user.username)
            except DirectoryReadOnly as error:
                log.info("the entry stays", username=user.username, why=error.detail)
        async with self._parts.db.session() as db:
            row = await db.get_one(User, user.id)
            await _strip(db, row)
            row.deleted_at = row.closed_at = utcnow()
            row.directory_wants = row.closing_problem = None
            record(db, Action.PERSON_DELETED, actor=THE_PORTAL, target=user.username)
            await db.commit()
        log.info("someone was deleted", username=user.username)
        await retire(self._accounts, user.id)

    async def _files(self, user: User, person: Person | None) -> None:
        async with self._parts.db.session() as db:
            row = await db.get_one(User, user.id)
            task, row.files_wanted = row.files_wanted, None
            if task is not None and person is not None:
                by = user.disabled_by or THE_PORTAL
                numbers = {"uid": person.uid, "gid": person.gid}
                await homes.request(db, row, task, home=person.home, by=by, **numbers)
            await db.commit()
        self._parts.changes.notify(HOMES)


async def _strip(db: AsyncSession, user: User) -> None:
    """What somebody was given here, or kept for themselves; what they did stays."""
    user.granted_role = user.granted_by = user.granted_at = None
    user.preferences = None
    for table in (GroupLeader, GroupMembership, Mail, RecoveryCode, SecondFactor, Setup):
        await db.execute(delete(table).where(table.user_id == user.id))


async def retire(accounts: Accounts, user_id: str) -> bool:
    """Give the name of someone deleted back, once all their jobs have ended and the directory
    doesn't know them any more: nobody of that name, or somebody with another number. Whether that
    is so. Raises DirectoryUnavailable.

    Slurm's jobs are known by their owner's name: as long as one runs the name can't be another's.
    """
    async with accounts.database.session() as db:
        user = await db.get_one(User, user_id)
        name, live = user.username, Job.user_id == user_id
        running = await db.scalar(select(Job.id).where(live, Job.state != JobState.ENDED).limit(1))
    gone = user.deleted_at is not None and not name.startswith(RETIRED) and running is None
    if not gone or not accounts.directory.finds:
        return False
    found = await accounts.directory.find(name)
    if found is not None and people.is_same(user, found):
        return False
    async with accounts.database.session() as db:
        user = await db.get_one(User, user_id)
        user.username, user.former_username = RETIRED + user_id.replace("-", "")[:12], name
        # What others had shared with them, and what limits they had, are not the next one's.
        await db.execute(delete(Share).where(Share.username == name))
        person = Limit.scope == LimitScope.PERSON, Limit.name == name
        await db.execute(delete(Limit).where(*person))
        await db.commit()
    return True


async def still_open(database: Database, user: User) -> Open:
    """What somebody disabled has that has not ended yet and is to."""
    kept = and_(Job.kind == JobKind.JOB, Job.wanted == Wanted.RUN)
    live = select(Job.kind).where(Job.user_id == user.id, Job.state != JobState.ENDED)
    if user.disabled_jobs is JobsPolicy.LEAVE:
        live = live.where(~kept)
    letting_go = select(Session.id).where(
        Session.user_id == user.id, Session.state == JobState.ENDED, Session.server_env.is_not(None)
    )
    wanted = Tensorboard.user_id == user.id, Tensorboard.wanted.is_(True)
    async with database.session() as db:
        kinds = Counter((await db.scalars(live)).all())
        ended = len((await db.scalars(letting_go)).all())
        boards = len((await db.scalars(select(Tensorboard.id).where(*wanted))).all())
    return Open(
        sessions=kinds[JobKind.SESSION] + ended,
        jobs=kinds[JobKind.JOB],
        boards=max(boards, kinds[JobKind.TENSORBOARD]),
    )


HUB_AWAY = "JupyterHub doesn't answer, or is still stopping a notebook server."
_TELL = {
    AccountState.DISABLED: "The directory has yet to be told to refuse them.",
    AccountState.ENABLED: "The directory has yet to be told to let them in.",
    AccountState.DELETED: "The directory still has their entry.",
}


async def open_things(database: Database, user: User) -> Sequence[str]:
    """What is not done yet for someone disabled, enabled or deleted, in sentences for
    administrators; empty once everything is."""
    said: list[str] = []
    if user.disabled_at is not None and user.closed_at is None:
        left = await still_open(database, user)
        for count, one, many in (
            (left.sessions, "session is", "sessions are"),
            (left.jobs, "job is", "jobs are"),
            (left.boards, "TensorBoard is", "TensorBoards are"),
        ):
            if count:
                said.append(f"{count} {one if count == 1 else many} being ended.")
        if not left and user.directory_wants is None:
            said.append("JupyterHub has yet to forget them.")
    if user.directory_wants is not None:
        said.append(_TELL[user.directory_wants])
    if said and user.closing_problem:
        said.append(user.closing_problem)
    return said
