"""Background loop that runs the site's commands for home directories.

They are requested in services/identity/home_directories.py.

A row in state `running` without a running command was started by a portal process that was killed.
It runs again once nothing of the old command is left, which a lock held by the command itself
shows.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable

import structlog
from sqlalchemy import select

from portal.background.notifier import HOMES
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict
from portal.models import HomeRun, HomeState, User
from portal.services.audit.audit import Action, record
from portal.services.identity import home_directories
from portal.services.store import change
from spawner.command import Ended, run
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

AT_ONCE = 4
ROUND_S = 5.0
OUTPUT_BYTES = 64 * 1024
LATE = "\nIt took longer than {minutes:g} minutes (home_command_minutes) and was ended."
Apply = Callable[[HomeRun], None]


class HomeRuns:
    """The loop for home directory commands; `run` is started by the application's lifespan."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        self.locks = context.settings.state_dir / "homes"
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Start waiting commands whenever one is requested, until cancelled."""
        self.locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with self.context.notifier.listen(HOMES) as listener:
            try:
                while True:
                    await self._start_waiting()
                    await listener.wait(ROUND_S)
            finally:
                await self._cancel_all()

    async def _cancel_all(self) -> None:
        """Kill running commands at shutdown; they run again after the next start."""
        await end_all(self._tasks.values())

    async def _start_waiting(self) -> None:
        """Start waiting commands, oldest first, one at a time for each user."""
        query = select(HomeRun).where(HomeRun.state.in_(home_directories.LIVE))
        async with self.context.db.session() as db:
            rows = (await db.scalars(query.order_by(HomeRun.created_at, HomeRun.id))).all()
        for row in rows:
            if len(self._tasks) >= AT_ONCE:
                break
            if row.user_id not in self._tasks:
                self._start(row)

    def _start(self, row: HomeRun) -> None:
        task = asyncio.create_task(self._process(row), name=f"home {row.id}")
        self._tasks[row.user_id] = task
        task.add_done_callback(lambda done: self._handle_done(row, done))

    def _handle_done(self, row: HomeRun, task: asyncio.Task[None]) -> None:
        """Log a failure to store the result; the row is retried in a later round."""
        self._tasks.pop(row.user_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a home directory's run could not be written", id=row.id, exc_info=error)

    async def _process(self, row: HomeRun) -> None:
        """Run one command and store its result in the row."""
        descriptor = os.open(self.locks / row.user_id, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # an earlier process's command still runs; retried in a later round
            await self._run(row, descriptor)
        finally:
            os.close(descriptor)
        self.context.notifier.notify(HOMES)

    async def _run(self, row: HomeRun, lock: int) -> None:
        settings = self.context.settings
        async with self.context.db.session() as db:
            user = await db.get(User, row.user_id)
        if user is None:
            return
        username = user.former_username or user.username
        try:
            arguments = home_directories.arguments(settings, username, row)
        except Conflict as error:
            await self._finish(row, username, Ended(None, error.detail))
            return
        await change(self.context.db, HomeRun, row.id, _mark_running)
        minutes = settings.home_command_minutes
        ended = await run(arguments, lock=lock, timeout_s=minutes * 60, output_bytes=OUTPUT_BYTES)
        await self._finish(row, username, ended)

    async def _finish(self, row: HomeRun, username: str, ended: Ended) -> None:
        good = ended.exit_code == 0 and not ended.late
        output = ended.output
        if ended.late:
            output += LATE.format(minutes=self.context.settings.home_command_minutes)
        async with self.context.db.session() as db:
            found = await db.get(HomeRun, row.id)
            if found is None:
                return
            found.state = HomeState.DONE if good else HomeState.FAILED
            found.output, found.exit_code, found.ended_at = output, ended.exit_code, utcnow()
            action = Action.HOME_DONE if good else Action.HOME_FAILED
            detail = {"task": row.task.value, "home": row.home, "exit_code": ended.exit_code}
            record(db, action, actor=row.requested_by, target=username, detail=detail)
            await db.commit()


def _mark_running(row: HomeRun) -> None:
    row.state, row.started_at = HomeState.RUNNING, utcnow()
