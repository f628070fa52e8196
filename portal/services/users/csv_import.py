"""Import of users from a file, in the background: validated as a whole, then created a few at a
time.

An import lives in memory only, because it holds the one-time passwords, which are handed over once
and stored nowhere. If the portal is killed during an import it is lost; importing the same file
again reports `exists` for those created.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from portal.config.settings import Settings
from portal.context import AppContext
from portal.directory import checks
from portal.directory.contract import Ability, NewDirectoryUser
from portal.errors import DirectoryReadOnly, DirectoryUnavailable, FieldError, PortalError
from portal.services.audit.audit import Action, Actor, record
from portal.services.identity import roles
from portal.services.limits import user_accounts
from portal.services.users import csv_file, new_users
from portal.services.users.csv_file import CsvLine, Defaults, ExistingAccounts
from portal.services.users.new_users import NewUser
from portal.services.users.user_imports import (
    ImportResult,
    LineProblem,
    Row,
    Secret,
    UserImport,
    UserImportState,
)

log = structlog.get_logger(__name__)

MAX_CONCURRENT_USERS = 4
EXISTS = "A user with this name already exists in the directory. Nothing was changed."


NOT_TRIED = "Not tried: the directory doesn't answer. Import the same file again when it does."


async def start(
    context: AppContext, text: str, *, dry_run: bool, by: Actor, wait_s: float
) -> UserImport:
    """Start an import, and wait up to `wait_s` for its end.

    Raises InvalidInput if the text is not a valid user CSV file, DirectoryReadOnly, and Conflict
    while another import of this administrator is running.
    """
    capabilities = await context.directory.capabilities()
    if why := capabilities.missing.get(Ability.CREATE):
        raise DirectoryReadOnly(why)
    context.user_imports.check_idle(by)
    lines = csv_file.read(text, get_defaults(context.settings))
    user_import = UserImport(by, dry_run, total=len(lines))
    task = context.user_imports.start(user_import, _run_to_end(context, user_import, lines))
    await asyncio.wait([task], timeout=wait_s)
    return user_import


async def _run_to_end(context: AppContext, user_import: UserImport, lines: list[CsvLine]) -> None:
    try:
        await run(context, user_import, lines)
    except asyncio.CancelledError:
        user_import.finish(UserImportState.FAILED, "The portal was stopped during the import.")
        raise
    except PortalError as error:
        user_import.finish(UserImportState.FAILED, error.detail)
    except Exception:
        log.exception("an import of users failed", id=user_import.id)
        user_import.finish(
            UserImportState.FAILED, "The portal had an internal error, which was logged."
        )


def get_defaults(settings: Settings) -> Defaults:
    """Return the meaning of empty cells, from the settings."""
    return Defaults(settings.default_login_group, settings.default_slurm_account)


async def run(context: AppContext, user_import: UserImport, lines: list[CsvLine]) -> None:
    """Check every line and, unless it is a dry run, create the valid users.

    Adds the results to `user_import`. Raises DirectoryUnavailable if the directory cannot be read.
    """
    settings, local = context.settings, checks.local_accounts()

    def problems(new: NewDirectoryUser) -> list[FieldError]:
        return checks.new_user(new, settings, local)

    names = await user_accounts.list_accounts(context)
    known = replace(
        await load_existing_accounts(context), accounts=None if names is None else frozenset(names)
    )
    checked = await asyncio.to_thread(
        csv_file.check, lines, problems, known, settings.ldap_primary_gid
    )
    creatable = list[tuple[CsvLine, NewUser]]()
    for line in checked:
        if line.findings or line.user is None:
            _note(context, user_import, line, ImportResult.ERROR, *line.findings)
        elif csv_file.exists(line, known):
            _note(context, user_import, line, ImportResult.EXISTS)
        elif user_import.dry_run:
            _note(context, user_import, line, ImportResult.WOULD_CREATE)
        else:
            creatable.append((line, line.user))
    await _create_all(context, user_import, creatable)
    if not user_import.dry_run:
        await _record(context, user_import)
    user_import.finish(UserImportState.DONE)


async def load_existing_accounts(context: AppContext) -> ExistingAccounts:
    """Load the names and numbers of all users and groups."""
    usernames, uids, groups = set[str](), set[int](), dict[str, int | None]()
    async for entry in context.directory.everyone():
        usernames.add(entry.username)
        if entry.uid is not None:
            uids.add(entry.uid)
    cursor: str | None = None
    while True:
        page = await context.directory.groups(cursor=cursor, limit=500)
        groups.update({group.name: group.gid for group in page.groups})
        cursor = page.cursor
        if cursor is None:
            return ExistingAccounts(frozenset(usernames), frozenset(uids), groups)


async def _create_all(
    context: AppContext, user_import: UserImport, creatable: list[tuple[CsvLine, NewUser]]
) -> None:
    """Create users, several at a time. Once the directory does not answer, the rest is skipped."""
    waiting, down = iter(creatable), asyncio.Event()

    def refuse(line: CsvLine, why: str) -> None:
        _note(context, user_import, line, ImportResult.ERROR, csv_file.ImportProblem("", why))

    async def worker() -> None:
        for line, user in waiting:
            if down.is_set():
                refuse(line, NOT_TRIED)
                continue
            try:
                await _create(context, user_import, line, user)
            except DirectoryUnavailable as error:
                down.set()
                refuse(line, error.detail)

    await asyncio.gather(*(worker() for _ in range(MAX_CONCURRENT_USERS)))


async def _create(
    context: AppContext, user_import: UserImport, line: CsvLine, user: NewUser
) -> None:
    """Create one user. Raises DirectoryUnavailable; other errors are noted for this line."""
    try:
        created = await new_users.create(context, user, user_import.by)
    except DirectoryUnavailable:
        raise
    except PortalError as error:
        findings = [
            csv_file.ImportProblem(problem.field, problem.message) for problem in error.errors
        ]
        _note(
            context,
            user_import,
            line,
            ImportResult.ERROR,
            *(findings or [csv_file.ImportProblem("", error.detail)]),
        )
    else:
        password = created.password
        user_import.secrets.append(Secret(line.username, password.password, password.must_change))
        _note(context, user_import, line, ImportResult.CREATED)


def _note(
    context: AppContext,
    user_import: UserImport,
    line: CsvLine,
    result: ImportResult,
    *findings: csv_file.ImportProblem,
) -> None:
    """Add a line's result to the import."""
    user_import.done += 1
    user_import.created += result in {ImportResult.CREATED, ImportResult.WOULD_CREATE}
    user_import.exists += result is ImportResult.EXISTS
    user_import.failed += result is ImportResult.ERROR
    if result is ImportResult.EXISTS:
        findings = (csv_file.ImportProblem("", EXISTS),)
    user_import.rows.append(_to_row(context.settings, line, result, findings))


def _to_row(
    settings: Settings,
    line: CsvLine,
    result: ImportResult,
    findings: Sequence[csv_file.ImportProblem],
) -> Row:
    user, exists = line.user, result is ImportResult.EXISTS
    row = Row(
        line.number,
        line.username,
        result,
        tuple(LineProblem(finding.field or None, finding.message) for finding in findings),
    )
    if user is None or exists:  # an existing user stays unchanged
        return row
    return replace(
        row,
        login_group=user.login_group,
        slurm_account=user.slurm_account,
        groups=tuple(sorted(user.groups)),
        role=roles.derive_role(user.groups, settings),
    )


async def _record(context: AppContext, user_import: UserImport) -> None:
    counts = {
        "created": user_import.created,
        "exists": user_import.exists,
        "failed": user_import.failed,
    }
    by = user_import.by
    async with context.db.session() as db:
        record(db, Action.USERS_IMPORT, actor=by.actor, detail=counts, ip=by.ip)
        await db.commit()
