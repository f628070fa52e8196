"""Deprovision disabled users: end their sessions and jobs and update the directory, with retries.

The loop takes these steps for each user with pending work: end their sessions and TensorBoards, and
their jobs if the administrator decided so; delete them in JupyterHub, which also revokes their hub
tokens; update the directory. Each step is idempotent, and is retried until it succeeds.
`deprovisioned_at` is set once everything was verified. For deleted users, the home directory and
the directory entry follow. Last, the user name is released, once no running job belongs to it.

The loop polls the table every EVERY_S seconds, so that it also finds changes by other processes:
the command line, or another portal.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import and_, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.keyed_tasks import KeyedTasks
from portal.background.notifier import DEPROVISION, HOMES, RECONCILE
from portal.context import AppContext
from portal.db import Database, utcnow
from portal.directory.contract import DirectoryUser
from portal.errors import DatabaseBusy, DatabaseFull, DirectoryReadOnly, PortalError
from portal.hub.client import HubError
from portal.models import (
    AccountState,
    BatchJob,
    GroupManager,
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
from portal.services.audit.audit import PORTAL, Action, record
from portal.services.identity import home_directories, memberships
from portal.services.store import update_row
from portal.services.tensorboards import runs
from spawner.slurm.model import JobInfo, JobPhase
from spawner.slurm.watcher import Watcher

log = structlog.get_logger(__name__)

EVERY_S = 2.0
TASK_INTERVAL = timedelta(seconds=1)
NOTIFY_FOR = timedelta(seconds=10)  # more than two polls, also of several portal processes
BOARD_ENDED = "Its owner’s account is disabled."
RELEASED_PREFIX = "~"
"""First character of a released user's name, which no user can have (names.USERNAME)."""

Step = Callable[[User], Awaitable[None]]

_HAS_PENDING_WORK = or_(
    and_(User.disabled_at.is_not(None), User.deprovisioned_at.is_(None)),
    User.directory_wants.is_not(None),
)


@dataclass(frozen=True)
class OpenItems:
    """A user's open items: numbers of jobs by kind that must end, and of wanted TensorBoards.

    Batch jobs that may go on do not count.
    """

    sessions: int = 0
    jobs: int = 0
    boards: int = 0

    def __bool__(self) -> bool:
        return self.sessions + self.jobs + self.boards > 0


def must_end(job: Job) -> bool:
    """Return whether this belongs to a disabled user and must be ended.

    Batch jobs that may go on are those that Slurm had when their owner was disabled.
    """
    owner = job.user
    if owner.disabled_at is None or job.state is JobState.ENDED or job.wanted is Wanted.STOP:
        return False
    left = isinstance(job, BatchJob) and owner.disabled_jobs is JobsPolicy.LEAVE
    return not left or job.job_id is None or job.created_at > owner.disabled_at


async def end_row(context: AppContext, job: Job) -> None:
    """Request the end of a job or session; the reconcile loop carries it out."""

    def mark_stopping(row: Job) -> None:
        if row.state is JobState.ENDED:
            return
        row.wanted, row.state = Wanted.STOP, JobState.STOPPING
        row.stop_requested_at = row.stop_requested_at or utcnow()

    await update_row(context.db, type(job), job.id, mark_stopping)
    context.notifier.notify(job.user_id, job.id, RECONCILE)


class Deprovisioning:
    """The deprovisioning loop: `advance` is one step."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._tasks = KeyedTasks(
            lambda: context.notifier.notify(DEPROVISION),
            context.metrics.background_failures,
            TASK_INTERVAL,
        )
        # By user id: `disabled_at` of the users already deleted in JupyterHub.
        self._hub_forgot: dict[str, datetime] = {}

    async def close(self) -> None:
        """Cancel the steps in progress; each is repeated after the next start."""
        await self._tasks.close()

    async def advance(self, now: datetime) -> None:
        """Take the next step for every user with pending work."""
        async with self._context.db.session() as db:
            just_now = User.disabled_at > now - NOTIFY_FOR
            self._notify_streams((await db.scalars(select(User.id).where(just_now))).all())
            users = list((await db.scalars(select(User).where(_HAS_PENDING_WORK))).all())
        self._hub_forgot = {u.id: at for u in users if (at := self._hub_forgot.get(u.id))}
        for user in users:
            if user.disabled_at is not None and user.deprovisioned_at is None:
                await self._deprovision(user, now)
            else:
                self._start_directory_step(user, now)
        self._tasks.drop_old_attempts(keep={user.id for user in users}, row_count=len(users))

    def _notify_streams(self, user_ids: Sequence[str]) -> None:
        """Have the event streams of disabled users check whether they may go on.

        Called here so that it works whichever process disabled the user.
        """
        self._context.notifier.notify(*user_ids)

    async def _deprovision(self, user: User, now: datetime) -> None:
        await self._end_rows(user)
        for pool in self._context.launcher_pools:
            pool.dismiss(user.username)
        left = await count_open_items(self._context.db, user)
        forgotten = self._hub_forgot.get(user.id) == user.disabled_at
        if not forgotten:
            self._tasks.start(
                f"hub {user.id}", now, lambda: self._run_step(user, self._delete_in_hub)
            )
        if user.directory_wants is not AccountState.DELETED:
            self._start_directory_step(user, now)
        if left or not forgotten or has_jobs_in_slurm(self._context.watcher, user):
            return
        if user.directory_wants is AccountState.DELETED:
            self._tasks.start(f"delete {user.id}", now, lambda: self._run_step(user, self._delete))
        elif user.directory_wants is None:
            await self._mark_closed(user)

    async def _end_rows(self, user: User) -> None:
        """Request the end of everything of theirs that runs or is pending."""
        live = Job.user_id == user.id, Job.state != JobState.ENDED, Job.wanted == Wanted.RUN
        async with self._context.db.session() as db:
            rows = (await db.scalars(select(Job).where(*live))).unique().all()
            condition = Tensorboard.user_id == user.id, Tensorboard.wanted.is_(True)
            boards = (await db.scalars(select(Tensorboard).where(*condition))).unique().all()
        for row in rows:
            if must_end(row):
                await end_row(self._context, row)
        for board in boards:
            await runs.end_run(self._context, board, BOARD_ENDED)

    async def _mark_closed(self, user: User) -> None:
        async with self._context.db.session() as db:
            same = User.id == user.id, User.disabled_at == user.disabled_at
            row = await db.scalar(select(User).where(*same, User.directory_wants.is_(None)))
            if row is None:
                return  # enabled, or deleted, since this was read
            row.deprovisioned_at, row.deprovision_problem = utcnow(), None
            record(db, Action.USER_CLOSED, actor=PORTAL, target=user.username)
            await db.commit()
        log.info("a disabled user is deprovisioned", username=user.username)

    # --- steps that call other services -------------------------------------------------------

    async def _run_step(self, user: User, step: Step) -> None:
        """Run a step. Store its error for administrators to read, and raise it."""
        try:
            await step(user)
        except (DatabaseBusy, DatabaseFull):
            raise  # nothing that an administrator could fix
        except (PortalError, HubError) as error:
            words = error.detail if isinstance(error, PortalError) else HUB_AWAY
            if words != user.deprovision_problem:
                await self._update_row(user, deprovision_problem=words)
            raise
        if user.deprovision_problem is not None:
            await self._update_row(user, deprovision_problem=None)

    async def _delete_in_hub(self, user: User) -> None:
        """Delete a user in JupyterHub, and with them all their tokens."""
        hub, name = self._context.hub, user.username
        await hub.revoke_tokens(name)
        for server in await hub.server_names(name):
            await hub.stop_server(name, server, remove=True)
        if user.disabled_at is not None and await hub.delete_user(name):
            self._hub_forgot[user.id] = user.disabled_at

    def _start_directory_step(self, user: User, now: datetime) -> None:
        if user.directory_wants in {AccountState.DISABLED, AccountState.ENABLED}:
            self._tasks.start(
                f"directory {user.id}",
                now,
                lambda: self._run_step(user, self._apply_directory_state),
            )

    async def _apply_directory_state(self, user: User) -> None:
        """Disable or enable the user in the directory.

        Skipped for a read-only directory and for a user unknown to the directory.
        """
        directory, wants = self._context.directory, user.directory_wants
        if await self._find_entry(user) is not None:
            act = directory.disable if wants is AccountState.DISABLED else directory.enable
            try:
                await act(user.username)
            except DirectoryReadOnly as error:
                log.info("the directory was not updated", username=user.username, why=error.detail)
        await self._update_row(user, directory_wants=None)

    async def _find_entry(self, user: User) -> DirectoryUser | None:
        """Return the directory entry of this user, not of another with the same name."""
        if not self._context.directory.can_look_up_users:
            return None
        entry = await self._context.directory.find(user.username)
        return entry if entry is not None and memberships.is_same(user, entry) else None

    async def _update_row(self, user: User, **values: object) -> None:
        """Update the row unless another directory change was requested since."""
        wants = user.directory_wants
        same = User.directory_wants.is_(None) if wants is None else User.directory_wants == wants
        async with self._context.db.session() as db:
            await db.execute(update(User).where(User.id == user.id, same).values(**values))
            await db.commit()
        self._context.notifier.notify(DEPROVISION)

    # --- deleting -----------------------------------------------------------------------------

    async def _delete(self, user: User) -> None:
        """Delete a user after all is closed.

        Requests the file task, deletes the directory entry and then the portal's personal data.
        """
        entry = await self._find_entry(user)
        if user.files_wanted is not None:
            await self._request_file_task(user, entry)
        if entry is not None:
            try:
                await self._context.directory.delete(user.username)
            except DirectoryReadOnly as error:
                log.info("the entry stays", username=user.username, why=error.detail)
        async with self._context.db.session() as db:
            row = await db.get_one(User, user.id)
            await _delete_personal_data(db, row)
            row.deleted_at = row.deprovisioned_at = utcnow()
            row.directory_wants = row.deprovision_problem = None
            record(db, Action.USER_DELETED, actor=PORTAL, target=user.username)
            await db.commit()
        log.info("someone was deleted", username=user.username)
        await release_username(self._context, user.id)

    async def _request_file_task(self, user: User, entry: DirectoryUser | None) -> None:
        async with self._context.db.session() as db:
            row = await db.get_one(User, user.id)
            task, row.files_wanted = row.files_wanted, None
            if task is not None and entry is not None:
                by = user.disabled_by or PORTAL
                numbers = {"uid": entry.uid, "gid": entry.gid}
                await home_directories.request(db, row, task, home=entry.home, by=by, **numbers)
            await db.commit()
        self._context.notifier.notify(HOMES)


async def _delete_personal_data(db: AsyncSession, user: User) -> None:
    """Delete a user's grants, memberships and personal data; the record of their activity stays."""
    user.granted_role = user.granted_by = user.granted_at = None
    user.preferences = None
    for table in (GroupManager, GroupMembership, Mail, RecoveryCode, SecondFactor, Setup):
        await db.execute(delete(table).where(table.user_id == user.id))


async def release_username(context: AppContext, user_id: str) -> bool:
    """Release the name of a deleted user. Return whether that was done.

    Raises DirectoryUnavailable.

    It requires that all their jobs have ended and that the directory no longer knows them: it has
    no entry of this name, or one with another uid.

    Slurm identifies owners of jobs by name. While one of their jobs runs, with or without a row, no
    other user may have the name. While Slurm does not answer, that is unknown.
    """
    async with context.db.session() as db:
        user = await db.get_one(User, user_id)
        name, is_own_job = user.username, Job.user_id == user_id
        unended = select(Job.id).where(is_own_job, Job.state != JobState.ENDED).limit(1)
        running = await db.scalar(unended)
    gone = user.deleted_at is not None and not name.startswith(RELEASED_PREFIX) and running is None
    if not gone or not context.directory.can_look_up_users:
        return False
    watcher = context.watcher
    if watcher.stale_since is not None or any(_iter_live_jobs(watcher, name)):
        return False
    entry = await context.directory.find(name)
    if entry is not None and memberships.is_same(user, entry):
        return False
    async with context.db.session() as db:
        user = await db.get_one(User, user_id)
        user.username, user.former_username = RELEASED_PREFIX + user_id.replace("-", "")[:12], name
        # Shares and limits for this name must not apply to its next owner.
        await db.execute(delete(Share).where(Share.username == name))
        own = Limit.scope == LimitScope.USER, Limit.name == name
        await db.execute(delete(Limit).where(*own))
        await db.commit()
    return True


def has_jobs_in_slurm(watcher: Watcher, user: User) -> bool:
    """Return whether Slurm last showed jobs of a disabled user that must end.

    Jobs without a row count too: they get one at a later poll (services/jobs/external_jobs.py) and
    are then ended.
    """
    since = user.disabled_at if user.disabled_jobs is JobsPolicy.LEAVE else None
    return any(
        since is None or info.submit_time is None or info.submit_time > since
        for info in _iter_live_jobs(watcher, user.username)
    )


def _iter_live_jobs(watcher: Watcher, username: str) -> Iterator[JobInfo]:
    for info in watcher.jobs.values():
        if info.user == username and info.phase is not JobPhase.ENDED:
            yield info


async def count_open_items(database: Database, user: User) -> OpenItems:
    """Return what a disabled user has that must end and has not ended yet."""
    kept_jobs = and_(Job.kind == JobKind.JOB, Job.wanted == Wanted.RUN)
    live = select(Job.kind).where(Job.user_id == user.id, Job.state != JobState.ENDED)
    if user.disabled_jobs is JobsPolicy.LEAVE:
        live = live.where(~kept_jobs)
    letting_go = select(Session.id).where(
        Session.user_id == user.id, Session.state == JobState.ENDED, Session.server_env.is_not(None)
    )
    condition = Tensorboard.user_id == user.id, Tensorboard.wanted.is_(True)
    async with database.session() as db:
        kinds = Counter((await db.scalars(live)).all())
        ended = len((await db.scalars(letting_go)).all())
        boards = len((await db.scalars(select(Tensorboard.id).where(*condition))).all())
    return OpenItems(
        sessions=kinds[JobKind.SESSION] + ended,
        jobs=kinds[JobKind.JOB],
        boards=max(boards, kinds[JobKind.TENSORBOARD]),
    )


HUB_AWAY = "JupyterHub doesn't answer, or is still stopping a notebook server."
_PENDING_IN_DIRECTORY = {
    AccountState.DISABLED: "The directory doesn't refuse their logins yet.",
    AccountState.ENABLED: "The directory doesn't accept their logins yet.",
    AccountState.DELETED: "The directory still has their entry.",
}


async def list_pending_steps(database: Database, user: User) -> Sequence[str]:
    """Return the pending steps for a disabled, enabled or deleted user; empty once all are done.

    These are sentences for administrators.
    """
    pending: list[str] = []
    if user.disabled_at is not None and user.deprovisioned_at is None:
        left = await count_open_items(database, user)
        for count, singular, plural in (
            (left.sessions, "session is", "sessions are"),
            (left.jobs, "job is", "jobs are"),
            (left.boards, "TensorBoard is", "TensorBoards are"),
        ):
            if count:
                pending.append(f"{count} {singular if count == 1 else plural} being ended.")
        if not left and user.directory_wants is None:
            pending.append("JupyterHub hasn't removed their account yet.")
    if user.directory_wants is not None:
        pending.append(_PENDING_IN_DIRECTORY[user.directory_wants])
    if pending and user.deprovision_problem:
        pending.append(user.deprovision_problem)
    return pending
