"""Imports of users in the memory of this portal process, with their results and passwords.

csv_import.py runs them.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from portal.db import utcnow
from portal.errors import Conflict, Gone, NotFound
from portal.models import Role
from portal.services.audit.audit import Actor
from spawner.tasks import end_all

KEPT_S = 2 * 3600.0
MAX_KEPT = 20


class ImportResult(StrEnum):
    """The result of a line, or what it would be in a dry run."""

    CREATED = "created"
    WOULD_CREATE = "would_create"
    EXISTS = "exists"
    ERROR = "error"


class UserImportState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class LineProblem:
    """An error in a line; `field` is the column, or None for the line itself."""

    field: str | None
    message: str


@dataclass(frozen=True)
class Row:
    """The result of one line, with all its errors.

    `groups` include the login group. `role` is the one that the groups give, None if the user could
    not log in.
    """

    line: int
    username: str
    result: ImportResult
    findings: tuple[LineProblem, ...] = ()
    login_group: str | None = None
    slurm_account: str | None = None
    groups: tuple[str, ...] = ()
    role: Role | None = None


@dataclass(frozen=True)
class Secret:
    """A user's first password."""

    username: str
    password: str = field(repr=False)
    must_change: bool = True


@dataclass
class UserImport:
    """One import.

    `done` counts lines; `failed` those with an error or refusal. `problem` is the reason if the
    whole import ended early.
    """

    by: Actor
    dry_run: bool
    id: str = field(default_factory=lambda: str(uuid4()))
    state: UserImportState = UserImportState.RUNNING
    started_at: datetime = field(default_factory=utcnow)
    ended_at: datetime | None = None
    total: int = 0
    done: int = 0
    created: int = 0
    exists: int = 0
    failed: int = 0
    rows: list[Row] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list, repr=False)
    handed_over: bool = False
    problem: str | None = None

    @property
    def is_running(self) -> bool:
        return self.state is UserImportState.RUNNING

    def finish(self, state: UserImportState, problem: str | None = None) -> None:
        """End the import, with its rows in the order of the file."""
        self.state, self.problem, self.ended_at = state, problem, utcnow()
        self.rows.sort(key=lambda row: row.line)


class UserImports:
    """Imports of this portal process; one instance per application, closed at shutdown."""

    def __init__(self) -> None:
        self._imports: dict[str, UserImport] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def check_idle(self, by: Actor) -> None:
        """Raise Conflict while another import of this administrator is running."""
        if any(
            user_import.by.name == by.name and user_import.is_running
            for user_import in self._imports.values()
        ):
            raise Conflict("Your previous import is still in progress. Wait until it ends.")

    def start(self, user_import: UserImport, run: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Keep an import, and run it in a task."""
        self._drop_oldest()
        self._imports[user_import.id] = user_import
        task = asyncio.create_task(run, name=f"users {user_import.id}")
        self._tasks[user_import.id] = task
        task.add_done_callback(lambda _: self._handle_ended(user_import.id))
        return task

    def get(self, import_id: str) -> UserImport:
        """Return an import. Raises NotFound."""
        user_import = self._imports.get(import_id)
        if user_import is None:
            raise NotFound(
                "This import no longer exists. Start it again with the same file: users "
                "who were already created are not changed."
            )
        return user_import

    def take_passwords(self, import_id: str, by: Actor) -> list[Secret]:
        """Return the one-time passwords, once, to the administrator who started the import.

        Raises NotFound, Conflict while it is running, and Gone the second time.
        """
        user_import = self.get(import_id)
        if user_import.by.name != by.name:
            raise NotFound("Only the administrator who started this import can get its passwords.")
        if user_import.is_running:
            raise Conflict("This import is in progress. Wait until it ends.")
        if user_import.handed_over:
            raise Gone(
                "These passwords were already shown and are not stored. You can reset "
                "each user's password."
            )
        user_import.handed_over = True
        secrets, user_import.secrets = user_import.secrets, []
        return secrets

    async def close(self) -> None:
        """Cancel running imports. Users created so far stay."""
        await end_all(self._tasks.values())

    def _drop_oldest(self) -> None:
        ended = [
            user_import for user_import in self._imports.values() if not user_import.is_running
        ]
        ended.sort(key=lambda user_import: user_import.started_at)
        for user_import in ended[: max(0, len(self._imports) - MAX_KEPT + 1)]:
            self._imports.pop(user_import.id)

    def _handle_ended(self, import_id: str) -> None:
        """Schedule the removal of the import and its passwords, which can be reset after that."""
        self._tasks.pop(import_id, None)
        loop = asyncio.get_running_loop()
        loop.call_later(KEPT_S, self._imports.pop, import_id, None)
