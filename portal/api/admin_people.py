"""People of the directory, for administrators: found, created, edited, locked, imported.

Viewers may look. Disabling, deleting and roles have routes of their own.
"""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import (
    AccountsDep,
    ByDep,
    FreshAdmin,
    PartsDep,
    PeopleImportsDep,
    Reader,
)
from portal.api.person_views import (
    CapabilitiesOut,
    Person,
    PersonRow,
    Username,
    row_out,
    show,
)
from portal.directory.contract import MAX_QUERY_LENGTH, MAX_USERNAME_LENGTH, Edit, NewPerson
from portal.errors import ChangedMeanwhile, Problem
from portal.models import HomeTask
from portal.services.changes import HOMES
from portal.services.people import groups, people_import, person_changes, person_pages, persons
from portal.services.people.people_import import ImportState, Result
from portal.services.people.person_pages import State

router = APIRouter(prefix="/admin/users", tags=["admin"])

MAX_LIMIT = 200
MAX_TEXT = 1000
NO_STORE = "no-store"
IMPORT_WAIT_S = 1.0

GroupName = Annotated[str, Path(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Number = Annotated[int, Field(ge=0, le=2**32)]


class People(BaseModel):
    """Some people. `incomplete`: the directory keeps the rest to itself. `directory_problem`: it
    couldn't be asked, and these are the ones the portal remembers."""

    items: list[PersonRow]
    next_cursor: str | None
    incomplete: str | None
    directory_problem: str | None
    capabilities: CapabilitiesOut


class PersonIn(BaseModel):
    """Somebody to create. What is left out comes from the settings: numbers from their ranges."""

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


class PersonEdit(BaseModel):
    """What is to change; what is left out stays. `email` "" removes it. `version` is the one that
    was read, so that nobody else's change is undone."""

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
    """A one-time password, shown this once. `must_change`: the directory insists on another one at
    the next login."""

    password: str
    must_change: bool


class Created(BaseModel):
    """Somebody just created, and what to hand over to them."""

    person: Person
    password: PasswordOut


class ChangedProblem(Problem):
    """409 changed-meanwhile: who changed the person, when, and what they are now. Where it wasn't
    done through the portal `changed_at` is null."""

    changed_by: str
    changed_at: datetime | None
    person: Person


class HomeIn(BaseModel):
    """Archiving and deleting come with the person's deletion alone."""

    model_config = ConfigDict(extra="forbid")

    task: Literal[HomeTask.CREATE]


class ImportIn(BaseModel):
    """A file of people: its first line names the columns username, given_name, surname, email,
    groups, uid, gid, home, shell, display_name."""

    model_config = ConfigDict(extra="forbid")

    csv: str
    dry_run: bool = True


class ImportLine(BaseModel):
    """What became of a line, or would; a line with several mistakes is there for each of them."""

    model_config = ConfigDict(from_attributes=True)

    line: int
    username: str
    result: Result
    message: str | None
    field: str | None


class PeopleImportOut(BaseModel):
    """An import: `done` of `total` lines. `rows` are there once it has ended. `passwords` says how
    many one-time passwords wait to be fetched, once. `problem`: why all of it ended early."""

    id: str
    state: ImportState
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
async def list_people(
    _reader: Reader,
    accounts: AccountsDep,
    query: Annotated[str, Query(max_length=MAX_QUERY_LENGTH)] = "",
    state: State = State.ALL,
    cursor: Annotated[str | None, Query(max_length=2000)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> People:
    """People whose username, name or mail hold every word of `query`."""
    found = await person_pages.page(accounts, query, state, cursor, limit)
    return People(
        items=[row_out(accounts, seen) for seen in found.people],
        next_cursor=found.cursor,
        incomplete=found.incomplete,
        directory_problem=found.problem,
        capabilities=CapabilitiesOut.of(await persons.capabilities(accounts)),
    )


# --- from a file; before the routes of one person, who might have such a name ---------------------


@router.post("/import", status_code=202)
async def import_people(
    body: ImportIn, _admin: FreshAdmin, imports: PeopleImportsDep, by: ByDep
) -> PeopleImportOut:
    """Create the people of a file, or only say what would come of it. Most are done with the
    answer; else `imports/{id}` says how far it is."""
    found = await imports.start(body.csv, dry_run=body.dry_run, by=by, wait_s=IMPORT_WAIT_S)
    return _import_out(found)


@router.get("/imports/{import_id}")
async def get_people_import(
    import_id: str, _reader: Reader, imports: PeopleImportsDep
) -> PeopleImportOut:
    """One import, of this portal's life."""
    return _import_out(imports.get(import_id))


@router.post("/imports/{import_id}/passwords")
async def take_people_import_passwords(
    import_id: str, _admin: FreshAdmin, imports: PeopleImportsDep, by: ByDep, response: Response
) -> FirstPasswords:
    """The one-time passwords of those created, once, for whoever started the import."""
    response.headers["Cache-Control"] = NO_STORE
    found = imports.passwords(import_id, by)
    return FirstPasswords(items=[FirstPassword.model_validate(one) for one in found])


def _import_out(found: people_import.PeopleImport) -> PeopleImportOut:
    ended = found.state is not ImportState.RUNNING
    rows = found.rows if ended else []
    return PeopleImportOut(
        id=found.id,
        state=found.state,
        dry_run=found.dry_run,
        total=found.total,
        done=found.done,
        created=found.created,
        exists=found.exists,
        failed=found.failed,
        passwords=len(found.secrets) if ended else 0,
        problem=found.problem,
        started_at=found.started_at,
        ended_at=found.ended_at,
        rows=[ImportLine.model_validate(row) for row in rows],
    )


# --- one person -----------------------------------------------------------------------------------


@router.post("", status_code=201)
async def create_person(
    body: PersonIn,
    _admin: FreshAdmin,
    accounts: AccountsDep,
    parts: PartsDep,
    by: ByDep,
    response: Response,
) -> Created:
    """Create somebody in the directory. The password is shown this once."""
    new = NewPerson(**{**body.model_dump(), "groups": frozenset(body.groups)})
    made = await person_changes.create(accounts, new, by)
    parts.changes.notify(HOMES)
    response.headers["Cache-Control"] = NO_STORE
    return Created(
        person=await show(accounts, made.person.username),
        password=PasswordOut(
            password=made.password.password, must_change=made.password.must_change
        ),
    )


@router.get("/{username}")
async def get_person(username: Username, _reader: Reader, accounts: AccountsDep) -> Person:
    """Everything about somebody."""
    return await show(accounts, username)


@router.patch("/{username}", responses={409: {"model": ChangedProblem}})
async def edit_person(
    username: Username, body: PersonEdit, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep
) -> Person:
    """Edit somebody, unless somebody else has since `version` was read."""
    wanted = Edit(**body.model_dump(exclude={"version"}))
    try:
        await person_changes.edit(accounts, username, wanted, body.version, by)
    except ChangedMeanwhile as error:
        error.extension["person"] = (await show(accounts, username)).model_dump(mode="json")
        raise
    return await show(accounts, username)


@router.post("/{username}/lock")
async def lock_person(
    username: Username, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep
) -> Person:
    """Refuse somebody's password until they are unlocked."""
    await person_changes.lock(accounts, username, by)
    return await show(accounts, username)


@router.post("/{username}/unlock")
async def unlock_person(
    username: Username, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep
) -> Person:
    """End a lock, an administrator's or that after too many wrong passwords."""
    await person_changes.unlock(accounts, username, by)
    return await show(accounts, username)


@router.post("/{username}/password")
async def reset_person_password(
    username: Username, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep, response: Response
) -> PasswordOut:
    """A one-time password, shown this once. Every browser of theirs is logged out."""
    made = await person_changes.reset_password(accounts, username, by)
    response.headers["Cache-Control"] = NO_STORE
    return PasswordOut(password=made.password, must_change=made.must_change)


@router.put("/{username}/groups/{name}")
async def add_person_to_group(
    username: Username, name: GroupName, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep
) -> Person:
    """Put somebody into a group."""
    await groups.add(accounts, name, username, by)
    return await show(accounts, username)


@router.delete("/{username}/groups/{name}")
async def remove_person_from_group(
    username: Username, name: GroupName, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep
) -> Person:
    """Take somebody out of a group."""
    await groups.remove(accounts, name, username, by)
    return await show(accounts, username)


@router.post("/{username}/home", status_code=202)
async def provision_home(
    username: Username,
    _body: HomeIn,
    _admin: FreshAdmin,
    accounts: AccountsDep,
    parts: PartsDep,
    by: ByDep,
) -> Person:
    """Have the home directory made, again if it was before. `home_runs` says how that went."""
    await person_changes.provision(accounts, username, by)
    parts.changes.notify(HOMES)
    return await show(accounts, username)
