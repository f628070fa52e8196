"""Repeated checks of logins by long streams: those that are made at the same time share a query.

Every change of the cluster lets each event stream check its login. With a query for each, some
thousand streams would occupy the portal and all its database connections.
"""

import asyncio
from typing import NamedTuple

from portal.config.settings import Settings
from portal.db import Database
from portal.services.auth import web_sessions
from spawner.tasks import end_all

MAX_IDS_PER_QUERY = 500  # ids in one query


class _Check(NamedTuple):
    web_session_id: str
    answer: asyncio.Future[bool]


class LoginChecks:
    """The checks that wait for a query, and the task that makes the queries one after another."""

    def __init__(self) -> None:
        self._waiting: list[_Check] = []
        self._asked: list[_Check] = []  # by the query that runs
        self._task: asyncio.Task[None] | None = None

    async def is_open(self, database: Database, settings: Settings, web_session_id: str) -> bool:
        """Return whether a web session is still open, read from the database after this call.

        Open: not ended or expired; the idle limit does not count here.
        """
        check = _Check(web_session_id, asyncio.get_running_loop().create_future())
        self._waiting.append(check)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer(database, settings), name="login-checks")
        return await check.answer

    async def close(self) -> None:
        """End the query, and cancel the checks that wait."""
        if self._task is not None:
            await end_all([self._task])
        for check in (*self._asked, *self._waiting):
            check.answer.cancel()

    async def _answer(self, database: Database, settings: Settings) -> None:
        while self._waiting:
            self._asked, self._waiting = (
                self._waiting[:MAX_IDS_PER_QUERY],
                self._waiting[MAX_IDS_PER_QUERY:],
            )
            await _answer_together(database, settings, self._asked)


async def _answer_together(database: Database, settings: Settings, checks: list[_Check]) -> None:
    """Answer these checks with one query; its failure is that of each check."""
    ids = {check.web_session_id for check in checks}
    try:
        still_open = await web_sessions.find_open(database, settings, ids)
    except Exception as error:  # noqa: BLE001  raised by each check
        for check in checks:
            if not check.answer.done():
                check.answer.set_exception(error)
        return
    for check in checks:
        if not check.answer.done():
            check.answer.set_result(check.web_session_id in still_open)
