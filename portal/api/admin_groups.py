"""Routes of directory groups: changes for administrators, reading for viewers and group
managers.
"""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from portal.api.user_schemas import CapabilitiesOut, GroupName, Username
from portal.context import AppContext
from portal.directory import contract
from portal.directory.contract import MAX_QUERY_LENGTH, MAX_USERNAME_LENGTH, NewGroup
from portal.models import Role
from portal.services.users import groups, lookup
from portal.services.users.admission import list_admitting_groups
from portal.web.dependencies import ByDep, ContextDep, GroupReader, Reader, RecentPasswordAdmin

router = APIRouter(tags=["groups"])

MAX_LIMIT = 200


class GroupRow(BaseModel):
    """A group in a list.

    `member_count` counts the users and groups that it lists directly, null if unknown.
    `makes_admins`: its members administer the portal. `lets_in`: its members may use the portal
    (also true for the admin and viewer groups); false for every group if all directory users may.
    """

    name: str
    gid: int | None
    description: str | None
    member_count: int | None
    makes_admins: bool
    lets_in: bool


class Groups(BaseModel):
    """A page of groups. `incomplete`: why the directory withholds the rest; null if it does not."""

    items: list[GroupRow]
    next_cursor: str | None
    incomplete: str | None
    capabilities: CapabilitiesOut


class GroupMember(BaseModel):
    """A member of a group; `inherited` through a group within it.

    `role` is null for a user without a row in the portal.
    """

    username: str
    display_name: str | None
    inherited: bool
    role: Role | None
    disabled: bool


class Group(GroupRow):
    """A group with its members, the groups within it, and its managers."""

    members: list[GroupMember]
    groups: list[str]
    managers: list[str]
    capabilities: CapabilitiesOut


class GroupIn(BaseModel):
    """A group to create. Without `gid` it gets a number from the range for groups."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    gid: Annotated[int, Field(strict=True, ge=0, le=2**32)] | None = None
    description: Annotated[str, Field(max_length=1000)] | None = None
    members: Annotated[
        list[Annotated[str, Field(max_length=MAX_USERNAME_LENGTH)]], Field(max_length=500)
    ] = []


@router.get("/admin/groups")
async def list_groups(
    _reader: Reader,
    context: ContextDep,
    query: Annotated[str, Query(max_length=MAX_QUERY_LENGTH)] = "",
    cursor: Annotated[str | None, Query(max_length=2000)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> Groups:
    """Return groups whose name or description contains every word of `query`."""
    result = await groups.page(context, query, cursor, limit)
    return Groups(
        items=[row_out(context, group) for group in result.groups],
        next_cursor=result.cursor,
        incomplete=result.incomplete,
        capabilities=CapabilitiesOut.of(await lookup.load_capabilities(context)),
    )


@router.post("/admin/groups", status_code=201)
async def create_group(
    body: GroupIn, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> Group:
    """Create a group with these users as its members."""
    members = frozenset(body.members)
    new = NewGroup(body.name, body.gid, body.description or None, members)
    group = await groups.create(context, new, by)
    return await show(context, group.name)


@router.get("/admin/groups/{group}")
async def get_group(group: GroupName, _reader: Reader, context: ContextDep) -> Group:
    """Return a group with its members."""
    return await show(context, group)


@router.get("/groups/{group}")
async def get_managed_group(group: GroupName, _reader: GroupReader, context: ContextDep) -> Group:
    """Return a group with its members, for its managers."""
    return await show(context, group)


@router.delete("/admin/groups/{group}", status_code=204)
async def delete_group(
    group: GroupName, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> None:
    """Delete a group, unless it is the primary group of a user or named in the settings."""
    await groups.delete(context, group, by)


@router.put("/admin/groups/{group}/members/{username}")
async def add_group_member(
    group: GroupName,
    username: Username,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
) -> Group:
    """Add a user to the group."""
    await groups.add(context, group, username, by)
    return await show(context, group)


@router.delete("/admin/groups/{group}/members/{username}")
async def remove_group_member(
    group: GroupName,
    username: Username,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
) -> Group:
    """Remove a user from the group, even if they are no longer in the directory."""
    await groups.remove(context, group, username, by)
    return await show(context, group)


def row_out(context: AppContext, group: contract.DirectoryGroup) -> GroupRow:
    return GroupRow.model_validate(_row_fields(context, group))


def _row_fields(context: AppContext, group: contract.DirectoryGroup) -> dict[str, object]:
    settings = context.settings
    return {
        "name": group.name,
        "gid": group.gid,
        "description": group.description,
        "member_count": group.size,
        "makes_admins": group.name in settings.ldap_admin_groups,
        "lets_in": group.name in list_admitting_groups(settings),
    }


async def show(context: AppContext, name: str) -> Group:
    """Return the current state of a group. Raises NotFound."""
    details = await groups.load_details(context, name)
    members = [
        GroupMember(
            username=member.username,
            display_name=member.display_name,
            inherited=member.inherited,
            role=member.user.role if member.user else None,
            disabled=member.user is not None and member.user.disabled_at is not None,
        )
        for member in details.members
    ]
    return Group.model_validate(
        {
            **_row_fields(context, details.group),
            "member_count": len(details.group.members) + len(details.group.groups),
            "members": members,
            "groups": sorted(details.group.groups),
            "managers": details.managers,
            "capabilities": CapabilitiesOut.of(details.capabilities),
        }
    )
