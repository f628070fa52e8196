"""People created from a file, beside the requests: checked whole, then one after another.

An import lives in memory alone, for with it live the one-time passwords, which are handed over once
and kept nowhere else. A portal that is killed in the middle forgets it: the same file again says
`exists` for those who were made.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

import structlog

from portal.db import utcnow
from portal.directory import checks
from portal.directory.contract import Ability, NewPerson
from portal.errors import (
    Conflict,
    DirectoryReadOnly,
    DirectoryUnavailable,
    FieldError,
    Gone,
    NotFound,
    PortalError,
)
from portal.services.audit.audit import Action, By, record
from portal.services.login.accounts import Accounts
from portal.services.people import csv_people, person_changes
from portal.services.people.csv_people import Known, Line
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

AT_ONCE = 4
KEPT_S = 2 * 3600.0
MOST_KEPT = 20
EXISTS = "There is somebody of this name in the directory already; nothing was changed."


NOT_TRIED = "Not tried: the directory doesn't answer. Import the same file again when it does."


class Result(StrEnum):
    """What became of a line, or would."""

    CREATED = "created"
    WOULD_CREATE = "would_create"
    EXISTS = "exists"
    ERROR = "error"


class ImportState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Row:
    """One line's result; a line with several mistakes has one for each."""

    line: int
    username: str
    result: Result
    message: str | None = None
    field: str | None = None


@dataclass(frozen=True)
class Secret:
    """Somebody's first password."""

    username: str
    password: str = field(repr=False)
    must_change: bool = True


@dataclass
class PeopleImport:
    """One file on its way. `done` counts lines; `failed` those with a mistake or a refusal.
    `problem` is why the whole of it ended early."""

    by: By
    dry_run: bool
    id: str = field(default_factory=lambda: str(uuid4()))
    state: ImportState = ImportState.RUNNING
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

    def note(self, line: Line, result: Result, *findings: csv_people.Finding) -> None:
        self.done += 1
        self.created += result in {Result.CREATED, Result.WOULD_CREATE}
        self.exists += result is Result.EXISTS
        self.failed += result is Result.ERROR
        if not findings:
            message = EXISTS if result is Result.EXISTS else None
            self.rows.append(Row(line.number, line.username, result, message))
        self.rows += [
            Row(line.number, line.username, result, one.message, one.field or None)
            for one in findings
        ]


class Imports:
    """Imports of this portal's life; one instance per application, closed at its end."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._known: dict[str, PeopleImport] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, text: str, *, dry_run: bool, by: By, wait_s: float) -> PeopleImport:
        """Begin with a file; wait so long whether it is done. Raises InvalidInput for what is no
        such file, DirectoryReadOnly, and Conflict while another one of this admin's goes on."""
        able = await self._accounts.directory.capabilities()
        if why := able.missing.get(Ability.CREATE):
            raise DirectoryReadOnly(why)
        if any(one.by.name == by.name and self._goes_on(one) for one in self._known.values()):
            raise Conflict("An import of yours is under way. Wait for its end.")
        lines = csv_people.read(text)
        self._make_room()
        found = PeopleImport(by, dry_run, total=len(lines))
        self._known[found.id] = found
        task = asyncio.create_task(self._run(found, lines), name=f"people {found.id}")
        self._tasks[found.id] = task
        task.add_done_callback(lambda _: self._ended(found.id))
        await asyncio.wait([task], timeout=wait_s)
        return found

    def get(self, import_id: str) -> PeopleImport:
        """Raises NotFound."""
        found = self._known.get(import_id)
        if found is None:
            raise NotFound(
                "This import isn't known any more. Start it again with the same file: whoever was "
                "created is left as they are."
            )
        return found

    def passwords(self, import_id: str, by: By) -> list[Secret]:
        """The one-time passwords, this once, for whoever started the import. Raises NotFound,
        Conflict while it goes on, and Gone the second time."""
        found = self.get(import_id)
        if found.by.name != by.name:
            raise NotFound("Only who started this import is given its passwords.")
        if self._goes_on(found):
            raise Conflict("This import goes on. Wait for its end.")
        if found.handed_over:
            raise Gone(
                "These passwords have been handed over and are kept nowhere. You can reset each "
                "person's password."
            )
        found.handed_over = True
        secrets, found.secrets = found.secrets, []
        return secrets

    async def close(self) -> None:
        """End what goes on; those who were made stay."""
        await end_all(self._tasks.values())

    def _goes_on(self, one: PeopleImport) -> bool:
        return one.state is ImportState.RUNNING

    def _make_room(self) -> None:
        ended = [one for one in self._known.values() if not self._goes_on(one)]
        ended.sort(key=lambda one: one.started_at)
        for one in ended[: max(0, len(self._known) - MOST_KEPT + 1)]:
            self._known.pop(one.id)

    def _ended(self, import_id: str) -> None:
        """Whoever hasn't fetched the passwords by then resets them."""
        self._tasks.pop(import_id, None)
        loop = asyncio.get_running_loop()
        loop.call_later(KEPT_S, self._known.pop, import_id, None)

    async def _run(self, found: PeopleImport, lines: list[Line]) -> None:
        try:
            await run(self._accounts, found, lines)
        except asyncio.CancelledError:
            _end(found, ImportState.FAILED, "The portal was stopped in the middle.")
            raise
        except PortalError as error:
            _end(found, ImportState.FAILED, error.detail)
        except Exception:
            log.exception("an import of people failed", id=found.id)
            _end(found, ImportState.FAILED, "The portal has a fault; it has been logged.")


def _end(found: PeopleImport, state: ImportState, problem: str | None = None) -> None:
    found.state, found.problem, found.ended_at = state, problem, utcnow()
    found.rows.sort(key=lambda row: row.line)


async def run(accounts: Accounts, found: PeopleImport, lines: list[Line]) -> None:
    """Check every line and, unless it is a dry run, create who can be; `found` says how it went.
    Raises DirectoryUnavailable when the directory can't be read."""
    settings, local = accounts.settings, checks.local_accounts()

    def problems(new: NewPerson) -> list[FieldError]:
        return checks.new_person(new, settings, local)

    known = await directory_holds(accounts)
    checked = await asyncio.to_thread(
        csv_people.check, lines, problems, known, settings.ldap_primary_gid
    )
    able = list[tuple[Line, NewPerson]]()
    for line in checked:
        if line.findings or line.person is None:
            found.note(line, Result.ERROR, *line.findings)
        elif csv_people.exists(line, known):
            found.note(line, Result.EXISTS)
        elif found.dry_run:
            found.note(line, Result.WOULD_CREATE)
        else:
            able.append((line, line.person))
    await _create_all(accounts, found, able)
    if not found.dry_run:
        await _record(accounts, found)
    _end(found, ImportState.DONE)


async def directory_holds(accounts: Accounts) -> Known:
    """The names and numbers of all people and groups."""
    usernames, uids, groups = set[str](), set[int](), dict[str, int | None]()
    async for person in accounts.directory.everyone():
        usernames.add(person.username)
        if person.uid is not None:
            uids.add(person.uid)
    cursor: str | None = None
    while True:
        page = await accounts.directory.groups(cursor=cursor, limit=500)
        groups.update({group.name: group.gid for group in page.groups})
        cursor = page.cursor
        if cursor is None:
            return Known(frozenset(usernames), frozenset(uids), groups)


async def _create_all(
    accounts: Accounts, found: PeopleImport, able: list[tuple[Line, NewPerson]]
) -> None:
    """A few at a time. Once the directory doesn't answer, nothing more is tried."""
    waiting, down = iter(able), asyncio.Event()

    async def worker() -> None:
        for line, person in waiting:
            if down.is_set():
                found.note(line, Result.ERROR, csv_people.Finding("", NOT_TRIED))
                continue
            try:
                await _create(accounts, found, line, person)
            except DirectoryUnavailable as error:
                down.set()
                found.note(line, Result.ERROR, csv_people.Finding("", error.detail))

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


async def _create(accounts: Accounts, found: PeopleImport, line: Line, person: NewPerson) -> None:
    """Raises DirectoryUnavailable; every other refusal is this line's alone."""
    try:
        made = await person_changes.create(accounts, person, found.by)
    except DirectoryUnavailable:
        raise
    except PortalError as error:
        findings = [csv_people.Finding(one.field, one.message) for one in error.errors]
        found.note(line, Result.ERROR, *(findings or [csv_people.Finding("", error.detail)]))
    else:
        password = made.password
        found.secrets.append(Secret(line.username, password.password, password.must_change))
        found.note(line, Result.CREATED)


async def _record(accounts: Accounts, found: PeopleImport) -> None:
    counts = {"created": found.created, "exists": found.exists, "failed": found.failed}
    by = found.by
    async with accounts.database.session() as db:
        record(db, Action.PEOPLE_IMPORT, actor=by.actor, detail=counts, ip=by.ip)
        await db.commit()
