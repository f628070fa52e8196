"""Administrators disable, enable and delete people, grant roles, and say who leads a group."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import AccountsDep, ByDep, FreshAdmin, PartsDep
from portal.api.person_views import Person, Username, show
from portal.directory.contract import MAX_USERNAME_LENGTH
from portal.errors import FieldError, invalid_input
from portal.models import GROUP_NAME_LENGTH, HomeTask, JobsPolicy, Role
from portal.services.people import admins, offboarding
from portal.services.people.offboarding import MAX_WHY, Leaving

router = APIRouter(prefix="/admin", tags=["admin"])

Group = Annotated[str, Path(min_length=1, max_length=GROUP_NAME_LENGTH)]


class DisableIn(BaseModel):
    """`jobs`: whether batch jobs are cancelled or left; sessions and TensorBoards always end."""

    model_config = ConfigDict(extra="forbid")

    jobs: JobsPolicy
    why: Annotated[str, Field(max_length=MAX_WHY)] = ""


class DeleteIn(BaseModel):
    """What becomes of the home directory and of batch jobs; `confirm` is the username again."""

    model_config = ConfigDict(extra="forbid")

    files: Literal["keep", "archive", "delete"]
    jobs: JobsPolicy
    confirm: Annotated[str, Field(max_length=MAX_USERNAME_LENGTH)]


class RoleIn(BaseModel):
    """A role to grant beside what the directory gives; the higher one counts."""

    model_config = ConfigDict(extra="forbid")

    role: Literal[Role.ADMIN, Role.VIEWER]


class NumberIn(BaseModel):
    """The number (uid) that the directory gives somebody now."""

    model_config = ConfigDict(extra="forbid")

    uid: Annotated[int, Field(ge=0, le=2**32)]


@router.post("/users/{username}/disable")
async def disable_person(
    username: Username,
    body: DisableIn,
    _admin: FreshAdmin,
    accounts: AccountsDep,
    parts: PartsDep,
    by: ByDep,
) -> Person:
    """Shut someone out: nothing of theirs works from the next request on, here and, where it can
    be told, in the directory. `closing` says what is still being ended."""
    await offboarding.disable(accounts, parts.changes, username, body.jobs, body.why, by)
    return await show(accounts, username)


@router.post("/users/{username}/enable")
async def enable_person(
    username: Username, _admin: FreshAdmin, accounts: AccountsDep, parts: PartsDep, by: ByDep
) -> Person:
    """Let someone in again, in the directory too. What was ended stays so."""
    await offboarding.enable(accounts, parts.changes, username, by)
    return await show(accounts, username)


@router.delete("/users/{username}", status_code=202)
async def delete_person(
    username: Username,
    body: DeleteIn,
    _admin: FreshAdmin,
    accounts: AccountsDep,
    parts: PartsDep,
    by: ByDep,
) -> Person:
    """Disable someone and, once all of theirs has ended, see to their files and delete them from
    the directory. What they did stays recorded."""
    if body.confirm != username:
        message = f"Type the username, {username}, to confirm."
        raise invalid_input([FieldError("confirm", message)])
    files = None if body.files == "keep" else HomeTask(body.files)
    leaving = Leaving(files, body.jobs)
    await offboarding.delete(accounts, parts.changes, username, leaving, by)
    return await show(accounts, username)


@router.put("/users/{username}/role")
async def grant_role(
    username: Username,
    body: RoleIn,
    _admin: FreshAdmin,
    accounts: AccountsDep,
    parts: PartsDep,
    by: ByDep,
) -> Person:
    """Grant somebody a role, beside what the directory gives them."""
    await admins.grant(accounts, parts.changes, username, body.role, by)
    return await show(accounts, username)


@router.delete("/users/{username}/role")
async def revoke_role(
    username: Username, _admin: FreshAdmin, accounts: AccountsDep, parts: PartsDep, by: ByDep
) -> Person:
    """Take a granted role away; what the directory gives stays."""
    await admins.grant(accounts, parts.changes, username, None, by)
    return await show(accounts, username)


@router.put("/users/{username}/number")
async def confirm_number(
    username: Username,
    body: NumberIn,
    _admin: FreshAdmin,
    accounts: AccountsDep,
    parts: PartsDep,
    by: ByDep,
) -> Person:
    """Say that somebody whose number in the directory is another one now is the same person."""
    await offboarding.confirm_number(accounts, parts.changes, username, body.uid, by)
    return await show(accounts, username)


@router.put("/groups/{group}/leaders/{username}", status_code=204)
async def add_leader(
    group: Group, username: Username, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep
) -> Response:
    """Make somebody a leader of a group: they see its members and what those use, and set their
    limits."""
    await admins.add_leader(accounts, group, username, by)
    return Response(status_code=204)


@router.delete("/groups/{group}/leaders/{username}", status_code=204)
async def remove_leader(
    group: Group, username: Username, _admin: FreshAdmin, accounts: AccountsDep, by: ByDep
) -> Response:
    """Undo that."""
    await admins.remove_leader(accounts, group, username, by)
    return Response(status_code=204)
