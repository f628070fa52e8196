"""Routes with which administrators disable, enable and delete users, grant roles and appoint group
managers.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.user_schemas import GroupName, Username, UserOut, show
from portal.directory.contract import MAX_USERNAME_LENGTH
from portal.errors import FieldError, invalid_input
from portal.models import HomeTask, JobsPolicy, Role
from portal.services.deprovision import offboarding
from portal.services.deprovision.offboarding import MAX_WHY, DeletionOptions
from portal.services.users import role_changes
from portal.web.dependencies import ByDep, ContextDep, RecentPasswordAdmin, ReenteredPasswordAdmin

router = APIRouter(prefix="/admin", tags=["admin"])


class DisableIn(BaseModel):
    """The fate of batch jobs: cancelled or left running. Sessions and TensorBoards always end."""

    model_config = ConfigDict(extra="forbid")

    jobs: JobsPolicy
    why: Annotated[str, Field(max_length=MAX_WHY)] = ""


class DeleteUserIn(BaseModel):
    """The fate of the home directory and of batch jobs; `confirm` repeats the username."""

    model_config = ConfigDict(extra="forbid")

    files: Literal["keep", "archive", "delete"]
    jobs: JobsPolicy
    confirm: Annotated[str, Field(max_length=MAX_USERNAME_LENGTH)]


class RoleIn(BaseModel):
    """A role to grant in addition to the directory's; the higher one counts."""

    model_config = ConfigDict(extra="forbid")

    role: Literal[Role.ADMIN, Role.VIEWER]


class NumberIn(BaseModel):
    """The number (uid) that the directory now has for a user."""

    model_config = ConfigDict(extra="forbid")

    uid: Annotated[int, Field(strict=True, ge=0, le=2**32)]


@router.post("/users/{username}/disable")
async def disable_user(
    username: Username, body: DisableIn, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Disable a user: their access ends with the next request, here and, if the portal can write
    it, in the directory.

    `pending_steps` lists the remaining steps.
    """
    await offboarding.disable(context, username, body.jobs, body.why, by)
    return await show(context, username)


@router.post("/users/{username}/enable")
async def enable_user(
    username: Username, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Enable a user again, in the directory too. What was ended is not restarted."""
    await offboarding.enable(context, username, by)
    return await show(context, username)


@router.delete("/users/{username}", status_code=202)
async def delete_user(
    username: Username,
    body: DeleteUserIn,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
) -> UserOut:
    """Disable a user and, once all their sessions and jobs have ended, keep, archive or delete
    their home directory and delete them from the directory.

    Their audit events are kept.
    """
    if body.confirm != username:
        message = f"Type the username, {username}, to confirm."
        raise invalid_input([FieldError("confirm", message)])
    files = None if body.files == "keep" else HomeTask(body.files)
    options = DeletionOptions(files, body.jobs)
    await offboarding.delete(context, username, options, by)
    return await show(context, username)


@router.put("/users/{username}/role")
async def grant_role(
    username: Username, body: RoleIn, _admin: ReenteredPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Grant a user a role in addition to the directory's."""
    await role_changes.grant(context, username, body.role, by)
    return await show(context, username)


@router.delete("/users/{username}/role")
async def revoke_role(
    username: Username, _admin: ReenteredPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Revoke a granted role; the directory's role stays."""
    await role_changes.grant(context, username, None, by)
    return await show(context, username)


@router.put("/users/{username}/number")
async def confirm_number(
    username: Username, body: NumberIn, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> UserOut:
    """Confirm that a user whose UID in the directory has changed is the same user."""
    await offboarding.confirm_number(context, username, body.uid, by)
    return await show(context, username)


@router.put("/groups/{group}/managers/{username}", status_code=204)
async def add_manager(
    group: GroupName,
    username: Username,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
) -> Response:
    """Make a user a manager of a group: they see its members and their usage, and set their
    limits.
    """
    await role_changes.add_manager(context, group, username, by)
    return Response(status_code=204)


@router.delete("/groups/{group}/managers/{username}", status_code=204)
async def remove_manager(
    group: GroupName,
    username: Username,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
) -> Response:
    """Remove a manager of a group."""
    await role_changes.remove_manager(context, group, username, by)
    return Response(status_code=204)
