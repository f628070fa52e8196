"""Import of users from a file, in the background: validated whole, then created one by one.

An import lives in memory only, because it holds the one-time passwords, which are handed over once
and stored nowhere. If the portal is killed during an import it is lost; importing the same file
again reports `exists` for those created.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

import structlog

from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import utcnow
from portal.directory import checks
from portal.directory.contract import Ability, NewDirectoryUser
from portal.errors import (
    Conflict,
    DirectoryReadOnly,
    DirectoryUnavailable,
    FieldError,
    Gone,
    NotFound,
    PortalError,
)
from portal.models import Role
from portal.services.audit.audit import Action, By, record
from portal.services.auth.accounts import Accounts
from portal.services.identity import roles
from portal.services.limits import user_accounts
from portal.services.users import csv_file, new_users
from portal.services.users.csv_file import CsvLine, Defaults, Known
from portal.services.users.new_users import NewUser
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

AT_ONCE = 4
KEPT_S = 2 * 3600.0
MOST_KEPT = 20
EXISTS = "A user with this name already exists in the directory. Nothing was changed."


NOT_TRIED = "Not tried: the directory doesn't answer. Import the same file again when it does."


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

    by: By
    dry_run: bool
    settings: Settings = field(repr=False)
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

    def note(self, line: CsvLine, result: ImportResult, *findings: csv_file.ImportProblem) -> None:
        self.done += 1
        self.created += result in {ImportResult.CREATED, ImportResult.WOULD_CREATE}
        self.exists += result is ImportResult.EXISTS
        self.failed += result is ImportResult.ERROR
        if result is ImportResult.EXISTS:
            findings = (csv_file.ImportProblem("", EXISTS),)
        self.rows.append(self._row(line, result, findings))

    def _row(
        self, line: CsvLine, result: ImportResult, findings: Sequence[csv_file.ImportProblem]
    ) -> Row:
        user, exists = line.user, result is ImportResult.EXISTS
        row = Row(
            line.number,
            line.username,
            result,
            tuple(LineProblem(one.field or None, one.message) for one in findings),
        )
        if user is None or exists:  # an existing user stays unchanged
            return row
        return replace(
            row,
            login_group=user.login_group,
            slurm_account=user.slurm_account,
            groups=tuple(sorted(user.groups)),
            role=roles.role_for(user.groups, self.settings),
        )


class Imports:
    """Imports of this portal process; one instance per application, closed at shutdown."""

    def __init__(self, accounts: Accounts, context: AppContext) -> None:
        self._accounts, self._context = accounts, context
        self._imports: dict[str, UserImport] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, text: str, *, dry_run: bool, by: By, wait_s: float) -> UserImport:
        """Start an import, and wait up to `wait_s` for its end.

        Raises InvalidInput if this is not such a file, DirectoryReadOnly, and Conflict while
        another import of this administrator is running.
        """
        able = await self._accounts.directory.capabilities()
        if why := able.missing.get(Ability.CREATE):
            raise DirectoryReadOnly(why)
        if any(one.by.name == by.name and self._is_running(one) for one in self._imports.values()):
            raise Conflict("Your previous import is still in progress. Wait until it ends.")
        settings = self._accounts.settings
        lines = csv_file.read(text, defaults_of(settings))
        self._drop_oldest()
        user_import = UserImport(by, dry_run, settings, total=len(lines))
        self._imports[user_import.id] = user_import
        task = asyncio.create_task(self._run(user_import, lines), name=f"users {user_import.id}")
        self._tasks[user_import.id] = task
        task.add_done_callback(lambda _: self._handle_ended(user_import.id))
        await asyncio.wait([task], timeout=wait_s)
        return user_import

    def get(self, import_id: str) -> UserImport:
        """Return an import. Raises NotFound."""
        user_import = self._imports.get(import_id)
        if user_import is None:
            raise NotFound(
                "This import no longer exists. Start it again with the same file: users "
                "who were already created are not changed."
            )
        return user_import

    def passwords(self, import_id: str, by: By) -> list[Secret]:
        """Return the one-time passwords, once, to the administrator who started the import.

        Raises NotFound, Conflict while it is running, and Gone the second time.
        """
        user_import = self.get(import_id)
        if user_import.by.name != by.name:
            raise NotFound("Only the administrator who started this import can get its passwords.")
        if self._is_running(user_import):
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

    def _is_running(self, one: UserImport) -> bool:
        return one.state is UserImportState.RUNNING

    def _drop_oldest(self) -> None:
        ended = [one for one in self._imports.values() if not self._is_running(one)]
        ended.sort(key=lambda one: one.started_at)
        for one in ended[: max(0, len(self._imports) - MOST_KEPT + 1)]:
            self._imports.pop(one.id)

    def _handle_ended(self, import_id: str) -> None:
        """Schedule the removal of the import and its passwords, which can be reset after that."""
        self._tasks.pop(import_id, None)
        loop = asyncio.get_running_loop()
        loop.call_later(KEPT_S, self._imports.pop, import_id, None)

    async def _run(self, user_import: UserImport, lines: list[CsvLine]) -> None:
        try:
            await run(self._accounts, self._context, user_import, lines)
        except asyncio.CancelledError:
            _finish(
                user_import, UserImportState.FAILED, "The portal was stopped during the import."
            )
            raise
        except PortalError as error:
            _finish(user_import, UserImportState.FAILED, error.detail)
        except Exception:
            log.exception("an import of users failed", id=user_import.id)
            _finish(
                user_import,
                UserImportState.FAILED,
                "The portal had an internal error, which was logged.",
            )


def _finish(user_import: UserImport, state: UserImportState, problem: str | None = None) -> None:
    user_import.state, user_import.problem, user_import.ended_at = state, problem, utcnow()
    user_import.rows.sort(key=lambda row: row.line)


def defaults_of(settings: Settings) -> Defaults:
    """Return the meaning of empty cells, from the settings."""
    return Defaults(settings.default_login_group, settings.default_slurm_account)


async def run(
    accounts: Accounts, context: AppContext, user_import: UserImport, lines: list[CsvLine]
) -> None:
    """Check every line and, unless it is a dry run, create the valid users.

    Adds the results to `user_import`. Raises DirectoryUnavailable if the directory cannot be read.
    """
    settings, local = accounts.settings, checks.local_accounts()

    def problems(new: NewDirectoryUser) -> list[FieldError]:
        return checks.new_user(new, settings, local)

    names = await user_accounts.list_accounts(context)
    known = replace(
        await directory_holds(accounts), accounts=None if names is None else frozenset(names)
    )
    checked = await asyncio.to_thread(
        csv_file.check, lines, problems, known, settings.ldap_primary_gid
    )
    able = list[tuple[CsvLine, NewUser]]()
    for line in checked:
        if line.findings or line.user is None:
            user_import.note(line, ImportResult.ERROR, *line.findings)
        elif csv_file.exists(line, known):
            user_import.note(line, ImportResult.EXISTS)
        elif user_import.dry_run:
            user_import.note(line, ImportResult.WOULD_CREATE)
        else:
            able.append((line, line.user))
    await _create_all(accounts, context, user_import, able)
    if not user_import.dry_run:
        await _record(accounts, user_import)
    _finish(user_import, UserImportState.DONE)


async def directory_holds(accounts: Accounts) -> Known:
    """Load the names and numbers of all users and groups."""
    usernames, uids, groups = set[str](), set[int](), dict[str, int | None]()
    async for entry in accounts.directory.everyone():
        usernames.add(entry.username)
        if entry.uid is not None:
            uids.add(entry.uid)
    cursor: str | None = None
    while True:
        page = await accounts.directory.groups(cursor=cursor, limit=500)
        groups.update({group.name: group.gid for group in page.groups})
        cursor = page.cursor
        if cursor is None:
            return Known(frozenset(usernames), frozenset(uids), groups)


async def _create_all(
    accounts: Accounts,
    context: AppContext,
    user_import: UserImport,
    able: list[tuple[CsvLine, NewUser]],
) -> None:
    """Create users, AT_ONCE at a time. Once the directory does not answer, the rest is skipped."""
    waiting, down = iter(able), asyncio.Event()

    async def worker() -> None:
        for line, user in waiting:
            if down.is_set():
                user_import.note(line, ImportResult.ERROR, csv_file.ImportProblem("", NOT_TRIED))
                continue
            try:
                await _create(accounts, context, user_import, line, user)
            except DirectoryUnavailable as error:
                down.set()
                user_import.note(line, ImportResult.ERROR, csv_file.ImportProblem("", error.detail))

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


async def _create(
    accounts: Accounts, context: AppContext, user_import: UserImport, line: CsvLine, user: NewUser
) -> None:
    """Create one user. Raises DirectoryUnavailable; other errors are noted for this line."""
    try:
        made = await new_users.create(accounts, context, user, user_import.by)
    except DirectoryUnavailable:
        raise
    except PortalError as error:
        findings = [csv_file.ImportProblem(one.field, one.message) for one in error.errors]
        user_import.note(
            line, ImportResult.ERROR, *(findings or [csv_file.ImportProblem("", error.detail)])
        )
    else:
        password = made.password
        user_import.secrets.append(Secret(line.username, password.password, password.must_change))
        user_import.note(line, ImportResult.CREATED)


async def _record(accounts: Accounts, user_import: UserImport) -> None:
    counts = {
        "created": user_import.created,
        "exists": user_import.exists,
        "failed": user_import.failed,
    }
    by = user_import.by
    async with accounts.database.session() as db:
        record(db, Action.USERS_IMPORT, actor=by.actor, detail=counts, ip=by.ip)
        await db.commit()
