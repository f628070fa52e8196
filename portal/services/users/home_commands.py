"""Background loop that runs the site's commands for home directories.

The commands are requested in services/identity/home_directories.py.

A row in state `running` without a running command was started by a portal process that was killed.
It runs again once nothing of the old command is left, which a lock held by the command itself
shows.
"""

import fcntl
import os
from datetime import timedelta
from functools import partial

from sqlalchemy import select

from portal.background.keyed_tasks import KeyedTasks
from portal.background.notifier import HOMES
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict
from portal.models import HomeCommandRun, HomeState, User
from portal.services.audit.audit import Action, record
from portal.services.identity import home_directories
from portal.services.store import update_row
from spawner.command import Ended, run

MAX_RUNNING_COMMANDS = 4
ROUND_S = 5.0
START_INTERVAL = timedelta(seconds=1)
"""Minimum time between two starts for the same user; another process may hold their lock."""
OUTPUT_BYTES = 64 * 1024
LATE = "\nIt took longer than {minutes:g} minutes (home_command_minutes) and was ended."


class HomeCommandLoop:
    """The loop for home directory commands."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        self.locks = context.settings.state_dir / "homes"
        self._tasks = KeyedTasks(
            lambda: context.notifier.notify(HOMES),
            context.metrics.background_failures,
            START_INTERVAL,
        )

    async def close(self) -> None:
        """Kill running commands; they run again after the next start."""
        await self._tasks.close()

    async def step(self) -> None:
        """Start waiting commands, oldest first, one at a time for each user."""
        query = select(HomeCommandRun).where(HomeCommandRun.state.in_(home_directories.LIVE))
        async with self.context.db.session() as db:
            rows = (
                await db.scalars(query.order_by(HomeCommandRun.created_at, HomeCommandRun.id))
            ).all()
        for row in rows:
            if self._tasks.count_running("home") >= MAX_RUNNING_COMMANDS:
                break
            self._tasks.start(f"home {row.user_id}", utcnow(), partial(self._process, row))
        self._tasks.drop_old_attempts(keep={row.user_id for row in rows}, row_count=len(rows))

    async def _process(self, row: HomeCommandRun) -> None:
        """Run one command and store its result in the row."""
        self.locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.locks / row.user_id, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # an earlier process's command still runs; retried in a later round
            await self._run(row, descriptor)
        finally:
            os.close(descriptor)

    async def _run(self, row: HomeCommandRun, lock: int) -> None:
        settings = self.context.settings
        async with self.context.db.session() as db:
            user = await db.get(User, row.user_id)
        if user is None:
            return
        # a deleted user's `username` is a placeholder
        username = user.former_username or user.username
        try:
            arguments = home_directories.build_arguments(settings, username, row)
        except Conflict as error:
            await self._finish(row, username, Ended(None, error.detail))
            return
        await update_row(self.context.db, HomeCommandRun, row.id, _mark_running)
        minutes = settings.home_command_minutes
        ended = await run(arguments, lock=lock, timeout_s=minutes * 60, output_bytes=OUTPUT_BYTES)
        await self._finish(row, username, ended)

    async def _finish(self, row: HomeCommandRun, username: str, ended: Ended) -> None:
        good = ended.exit_code == 0 and not ended.late
        output = ended.output
        if ended.late:
            output += LATE.format(minutes=self.context.settings.home_command_minutes)
        async with self.context.db.session() as db:
            current = await db.get(HomeCommandRun, row.id)
            if current is None:
                return
            current.state = HomeState.DONE if good else HomeState.FAILED
            current.output, current.exit_code, current.ended_at = output, ended.exit_code, utcnow()
            action = Action.HOME_DONE if good else Action.HOME_FAILED
            detail = {"task": row.task.value, "home": row.home, "exit_code": ended.exit_code}
            record(db, action, actor=row.requested_by, target=username, detail=detail)
            await db.commit()


def _mark_running(row: HomeCommandRun) -> None:
    row.state, row.started_at = HomeState.RUNNING, utcnow()
