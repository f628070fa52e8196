"""Administrators' routes of directory users: search, create, edit, lock, import.

Viewers may read. Disabling, deleting and roles have routes in another module.
"""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from portal.api.limit_schemas import NewLimits
from portal.api.user_schemas import (
    CapabilitiesOut,
    GroupName,
    Username,
    UserOut,
    UserRow,
    row_out,
    show,
)
from portal.background.notifier import HOMES
from portal.config.settings import Settings
from portal.directory.contract import MAX_QUERY_LENGTH, MAX_USERNAME_LENGTH, Edit, NewDirectoryUser
from portal.errors import EditConflict, Problem
from portal.models import HomeTask, Role
from portal.services.limits import user_accounts
from portal.services.users import commands, csv_import, groups, listing, lookup, new_users
from portal.services.users.listing import UserFilter
from portal.services.users.new_users import NewUser
from portal.services.users.user_imports import ImportResult, UserImport, UserImportState
from portal.web.dependencies import (
    ByDep,
    ContextDep,
    Reader,
    RecentPasswordAdmin,
    ReenteredPasswordAdmin,
)

router = APIRouter(prefix="/admin/users", tags=["admin"])

MAX_LIMIT = 200
MAX_TEXT = 1000
NO_STORE = "no-store"
IMPORT_WAIT_S = 1.0

Text = Annotated[str, Field(max_length=MAX_TEXT)]
GroupText = Annotated[str, Field(min_length=1, max_length=200)]
AccountText = Annotated[str, Field(min_length=1, max_length=100)]
AccountName = Annotated[str, Path(min_length=1, max_length=100)]
Number = Annotated[int, Field(strict=True, ge=0, le=2**32)]


class UserPageOut(BaseModel):
    """A page of users.

    `incomplete`: why the directory withholds the rest; null if it does not. `directory_problem`:
    why the directory could not be read; then these are the users in the portal's database.
    """

    items: list[UserRow]
    next_cursor: str | None
    incomplete: str | None
    directory_problem: str | None
    capabilities: CapabilitiesOut


class NewUserIn(BaseModel):
    """A user to create.

    Omitted fields come from the settings: numbers from their ranges, `login_group` from
    default_login_group, `slurm_account` from default_slurm_account; null for either means none.
    `limits`: the user's own, for fields that their groups' limits and the default leave unset.
    """

    model_config = ConfigDict(extra="forbid")

    username: Annotated[str, Field(min_length=1, max_length=MAX_USERNAME_LENGTH)]
    given_name: Text = ""
    surname: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    display_name: Text = ""
    email: Text | None = None
    uid: Number | None = None
    gid: Number | None = None
    home: Text | None = None
    shell: Text | None = None
    groups: Annotated[list[Text], Field(max_length=100)] = []
    login_group: GroupText | None = None
    slurm_account: AccountText | None = None
    limits: NewLimits = NewLimits()

    def new_user(self, settings: Settings) -> NewUser:
        given = self.model_dump(exclude={"login_group", "slurm_account", "limits"})
        group, account = self.login_group, self.slurm_account
        if "login_group" not in self.model_fields_set:
            group = settings.default_login_group
        if "slurm_account" not in self.model_fields_set:
            account = settings.default_slurm_account
        entry = NewDirectoryUser(**{**given, "groups": frozenset(self.groups)})
        return NewUser(entry, group, account, self.limits.to_limit_values())


class UserEdit(BaseModel):
    """Changes to a user; omitted fields stay. `email` "" removes it.

    `version` is the one that was read, so that no other change is overwritten.
    """

    model_config = ConfigDict(extra="forbid")

    version: Annotated[str, Field(min_length=1, max_length=100)]
    given_name: Text | None = None
    surname: Text | None = None
    display_name: Text | None = None
    email: Text | None = None
    gid: Number | None = None
    home: Text | None = None
    shell: Text | None = None


class PasswordOut(BaseModel):
    """A one-time password, shown only this once.

    `must_change`: the directory requires a new one at the next login.
    """

    password: str
    must_change: bool


class Created(BaseModel):
    """A user just created, with their first password."""

    user: UserOut
    password: PasswordOut


class ChangedProblem(Problem):
    """409 edit-conflict: the author and time of the other change, and the user's current state.

    `changed_at` is null if the change was made outside the portal.
    """

    changed_by: str
    changed_at: datetime | None
    user: UserOut


class HomeIn(BaseModel):
    """A task for the home directory. Archiving and deleting are part of deleting a user only."""

    model_config = ConfigDict(extra="forbid")

    task: Literal[HomeTask.CREATE]


class ImportUsersIn(BaseModel):
    """A CSV file of users: its first line names the columns username, given_name, surname, email,
    groups, login_group, slurm_account, uid, gid, home, shell, display_name.

    An empty login_group or slurm_account means the settings' default, "-" means none.
    """

    model_config = ConfigDict(extra="forbid")

    csv: str
    dry_run: StrictBool = True


class ImportFinding(BaseModel):
    """A problem in a line; `field` is the column, null for the whole line."""

    model_config = ConfigDict(from_attributes=True)

    field: str | None
    message: str


class ImportLine(BaseModel):
    """The result of a line, or its preview in a dry run.

    `groups` include the login group. `role`: the role that these groups give the user, null if they
    cannot log in.
    """

    model_config = ConfigDict(from_attributes=True)

    line: int
    username: str
    result: ImportResult
    findings: list[ImportFinding]
    login_group: str | None
    slurm_account: str | None
    groups: list[str]
    role: Role | None


class UserImportOut(BaseModel):
    """An import: `done` of `total` lines.

    `rows` are present once it has ended. `passwords` is the number of one-time passwords that can
    be fetched, once. `problem`: why the whole import ended early.
    """

    id: str
    state: UserImportState
    dry_run: bool
    total: int
    done: int
    created: int
    exists: int
    failed: int
    passwords: int
    problem: str | None
    started_at: datetime
    ended_at: datetime | None
    rows: list[ImportLine]


class FirstPassword(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    username: str
    password: str
    must_change: bool


class FirstPasswords(BaseModel):
    items: list[FirstPassword]


# --- lists ----------------------------------------------------------------------------------------


@router.get("")
async def list_users(
    _reader: Reader,
    context: ContextDep,
    query: Annotated[str, Query(max_length=MAX_QUERY_LENGTH)] = "",
    state: UserFilter = UserFilter.ALL,
    cursor: Annotated[str | None, Query(max_length=2000)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> UserPageOut:
    """Return users whose username, name or e-mail address contains every word of `query`."""
    result = await listing.page(context, query, state, cursor, limit)
    return UserPageOut(
        items=[row_out(context, user) for user in result.users],
        next_cursor=result.cursor,
        incomplete=result.incomplete,
        directory_problem=result.problem,
        capabilities=CapabilitiesOut.of(await lookup.load_capabilities(context)),
    )


# --- from a file; before the routes of one user, which would take `imports` for a username -------


@router.post("/import", status_code=202)
async def import_users(
    body: ImportUsersIn, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserImportOut:
    """Create the users of a file, or only preview the result.

    Small imports are complete in the response; otherwise `imports/{id}` reports the progress.
    """
    user_import = await csv_import.start(
        context, body.csv, dry_run=body.dry_run, by=by, wait_s=IMPORT_WAIT_S
    )
    return _import_out(user_import)


@router.get("/imports/{import_id}")
async def get_user_import(import_id: str, _reader: Reader, context: ContextDep) -> UserImportOut:
    """Return one import since the portal's last start."""
    return _import_out(context.user_imports.get(import_id))


@router.post("/imports/{import_id}/passwords")
async def take_user_import_passwords(
    import_id: str, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep, response: Response
) -> FirstPasswords:
    """Return the one-time passwords of the created users, once, to the administrator who started
    the import.
    """
    response.headers["Cache-Control"] = NO_STORE
    passwords = context.user_imports.take_passwords(import_id, by)
    return FirstPasswords(items=[FirstPassword.model_validate(password) for password in passwords])


def _import_out(user_import: UserImport) -> UserImportOut:
    ended = user_import.state is not UserImportState.RUNNING
    rows = user_import.rows if ended else []
    return UserImportOut(
        id=user_import.id,
        state=user_import.state,
        dry_run=user_import.dry_run,
        total=user_import.total,
        done=user_import.done,
        created=user_import.created,
        exists=user_import.exists,
        failed=user_import.failed,
        passwords=len(user_import.secrets) if ended else 0,
        problem=user_import.problem,
        started_at=user_import.started_at,
        ended_at=user_import.ended_at,
        rows=[ImportLine.model_validate(row) for row in rows],
    )


# --- one user -------------------------------------------------------------------------------------


@router.post("", status_code=201)
async def create_user(
    body: NewUserIn, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep, response: Response
) -> Created:
    """Create a user who can work at once: in the directory, in a login group, with a Slurm account
    and a home directory.

    The password is shown only this once. The response comes once Slurm has the account, or after a
    short time.
    """
    new = body.new_user(context.settings)
    created = await new_users.create(context, new, by)
    context.notifier.notify(HOMES)
    if new.slurm_account or new.limits.set_fields:
        await context.slurm_limits.wait_for_comparison()
    response.headers["Cache-Control"] = NO_STORE
    return Created(
        user=await show(context, created.entry.username),
        password=PasswordOut(
            password=created.password.password, must_change=created.password.must_change
        ),
    )


@router.get("/{username}")
async def get_user(username: Username, _reader: Reader, context: ContextDep) -> UserOut:
    """Return all details of a user."""
    return await show(context, username)


@router.patch("/{username}", responses={409: {"model": ChangedProblem | Problem}})
async def edit_user(
    username: Username, body: UserEdit, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Edit a user, unless they were changed since `version` was read."""
    changes = Edit(**body.model_dump(exclude={"version"}))
    try:
        await commands.edit(context, username, changes, body.version, by)
    except EditConflict as error:
        error.extension["user"] = (await show(context, username)).model_dump(mode="json")
        raise
    return await show(context, username)


@router.post("/{username}/lock")
async def lock_user(
    username: Username, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Refuse a user's password until they are unlocked."""
    await commands.lock(context, username, by)
    return await show(context, username)


@router.post("/{username}/unlock")
async def unlock_user(
    username: Username, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """End a lock, by an administrator or after too many wrong passwords."""
    await commands.unlock(context, username, by)
    return await show(context, username)


@router.post("/{username}/password")
async def reset_user_password(
    username: Username,
    _admin: ReenteredPasswordAdmin,
    context: ContextDep,
    by: ByDep,
    response: Response,
) -> PasswordOut:
    """Set a one-time password, shown only this once. Every browser of the user is logged out."""
    password = await commands.reset_password(context, username, by)
    response.headers["Cache-Control"] = NO_STORE
    return PasswordOut(password=password.password, must_change=password.must_change)


@router.put("/{username}/groups/{name}")
async def add_user_to_group(
    username: Username, name: GroupName, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Add a user to a group."""
    await groups.add(context, name, username, by)
    return await show(context, username)


@router.put("/{username}/accounts/{account}")
async def give_user_account(
    username: Username,
    account: AccountName,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
) -> UserOut:
    """Let a user submit under a Slurm account, by a limit of their own that adds it to their
    present accounts.

    The response comes once Slurm has it, or after a short time.
    """
    await lookup.fetch_entry(context, username)
    if await user_accounts.give(context, by, username, account):
        await context.slurm_limits.wait_for_comparison()
    return await show(context, username)


@router.delete("/{username}/groups/{name}")
async def remove_user_from_group(
    username: Username, name: GroupName, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Remove a user from a group."""
    await groups.remove(context, name, username, by)
    return await show(context, username)


@router.post("/{username}/home", status_code=202)
async def provision_home(
    username: Username, _body: HomeIn, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Create the home directory, also if it was created before. `home_runs` has the result."""
    await commands.request_home(context, username, by)
    context.notifier.notify(HOMES)
    return await show(context, username)
