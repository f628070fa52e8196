"""Schemas of users; most routes that change a user answer with `show`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict

from portal import models
from portal.context import AppContext
from portal.directory import contract
from portal.directory.contract import Ability
from portal.models import GROUP_NAME_LENGTH, AccountState, HomeState, HomeTask, JobsPolicy, Role
from portal.services.deprovision.deprovision import list_pending_steps
from portal.services.identity import home_directories, roles
from portal.services.users import listing, lookup, readiness
from portal.services.users.readiness import Fix, ReadinessState

GroupName = Annotated[str, Path(min_length=1, max_length=GROUP_NAME_LENGTH)]
Username = Annotated[
    str,
    Path(min_length=1, max_length=contract.MAX_USERNAME_LENGTH),
    AfterValidator(str.lower),  # names are case-insensitive in the directory
]


class CapabilitiesOut(BaseModel):
    """The operations that the directory supports. `missing`: why an operation is not offered."""

    kind: str
    missing: dict[Ability, str]

    @classmethod
    def of(cls, able: contract.Capabilities) -> Self:
        return cls(kind=able.kind, missing=dict(able.missing))


class UserRow(BaseModel):
    """A user in a list.

    `in_directory` false: only the portal has the user. `known`: the portal has a row of them;
    `role` is null if not. `groups` is null in lists, `locked` if the directory did not answer.
    `disabled`: here or in the directory. `unmanaged`: why the user cannot be changed here, null for
    most. `missing_since`: since when the directory has no such user. `former_username`: the name of
    a deleted user, once it is free again. `admitted`: whether their groups allow a login, from the
    portal's last refresh; null if unknown.
    """

    username: str
    display_name: str
    email: str | None
    uid: int | None
    groups: list[str] | None
    role: Role | None
    disabled: bool
    locked: bool | None
    must_change_password: bool
    in_directory: bool
    known: bool
    unmanaged: str | None
    last_login_at: datetime | None
    user_id: str | None
    missing_since: datetime | None
    deleted_at: datetime | None
    former_username: str | None
    admitted: bool | None


class CheckOut(BaseModel):
    """A requirement for working.

    `fix`: the action that an administrator can take, null if none is possible here; `choices`: the
    login groups or Slurm accounts for it, the default first.
    """

    model_config = ConfigDict(from_attributes=True)

    answer: ReadinessState
    reason: str
    fix: Fix | None
    choices: list[str]


class ReadinessOut(BaseModel):
    """The readiness of a user: can log in, can start a session, and has a home directory."""

    model_config = ConfigDict(from_attributes=True)

    login: CheckOut
    session: CheckOut
    home: CheckOut


class LiveOut(BaseModel):
    """The numbers of a user's pending or running sessions and jobs."""

    model_config = ConfigDict(from_attributes=True)

    sessions: int
    jobs: int


class HomeCommandRunOut(BaseModel):
    """One run of the site's command for a home directory; `output` is the end of its output."""

    model_config = ConfigDict(from_attributes=True)

    task: HomeTask
    state: HomeState
    home: str
    output: str
    exit_code: int | None
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class UserOut(UserRow):
    """All details of a user.

    `version` is passed back by an edit. `deprovisioned_at`: when all sessions and jobs of a
    disabled user had ended. `directory_problem`: the directory did not answer, and this is the
    portal's stored data. `directory_wants`: the state still to be written to the directory,
    `pending_steps` the remaining steps for a disabled, enabled or deleted user, as sentences.
    `home_tasks`: the tasks for which the portal has commands. `known_uid`: the number stored by the
    portal; if `uid` differs, the user cannot log in until it has been confirmed. `primary_group` is
    the name of the group with the number `gid`, null if there is none.
    """

    given_name: str | None
    surname: str | None
    gid: int | None
    primary_group: str | None
    home: str | None
    shell: str | None
    manages: list[str]
    version: str
    directory_problem: str | None
    disabled_in_directory: bool
    directory_role: Role | None
    granted_role: Role | None
    granted_by: str | None
    granted_at: datetime | None
    disabled_by: str | None
    disabled_why: str | None
    disabled_at: datetime | None
    disabled_jobs: JobsPolicy | None
    deprovisioned_at: datetime | None
    directory_wants: AccountState | None
    pending_steps: list[str]
    known_uid: int | None
    created_at: datetime | None
    second_factor: bool
    web_sessions: int
    tokens: int
    live: LiveOut
    home_runs: list[HomeCommandRunOut]
    home_tasks: list[HomeTask]
    readiness: ReadinessOut
    capabilities: CapabilitiesOut


async def show(context: AppContext, username: str) -> UserOut:
    """Return the present state of a user. Raises NotFound, DirectoryUnavailable."""
    details = await lookup.load_details(context, username)
    user = details.user
    pending_steps = await list_pending_steps(context.db, user) if user is not None else []
    ready = await readiness.check(context, details)
    return _to_user_out(context, details, pending_steps, ready)


def row_out(context: AppContext, listed: listing.ListedUser) -> UserRow:
    return UserRow.model_validate(
        _row_fields(context, listed.username, listed.entry, listed.user, listed.problem)
    )


def _row_fields(
    context: AppContext,
    username: str,
    entry: contract.DirectoryUser | None,
    user: models.User | None,
    problem: str | None,
) -> dict[str, object]:
    in_directory = entry is not None or (
        problem is not None and user is not None and not (user.missing_since or user.deleted_at)
    )
    best = entry or user
    return {
        "username": username,
        "display_name": best.display_name if best else username,
        "email": best.email if best else None,
        "uid": best.uid if best else None,
        "groups": None,
        "role": user.role if user else None,
        "disabled": bool((user and user.disabled_at) or (entry and entry.disabled)),
        "locked": entry.locked if entry else None,
        "must_change_password": entry.must_change if entry else False,
        "in_directory": in_directory,
        "known": user is not None,
        "unmanaged": lookup.explain_unmanaged(context.settings, entry) if entry else None,
        "last_login_at": user.last_login_at if user else None,
        "user_id": user.id if user else None,
        "missing_since": user.missing_since if user else None,
        "deleted_at": user.deleted_at if user else None,
        "former_username": user.former_username if user else None,
        "admitted": roles.is_admitted(user) if user and user.groups_at else None,
    }


def _to_user_out(
    context: AppContext,
    details: lookup.UserDetails,
    pending_steps: Sequence[str],
    ready: readiness.UserReadiness,
) -> UserOut:
    entry, settings = details.entry, context.settings
    of_user = (
        *("directory_role", "granted_role", "granted_by", "granted_at", "disabled_by"),
        *("disabled_why", "disabled_at", "disabled_jobs", "deprovisioned_at", "directory_wants"),
        "created_at",
    )
    of_entry = ("given_name", "surname", "gid", "home", "shell")
    row = _row_fields(context, details.username, entry, details.user, details.problem)
    return UserOut.model_validate(
        {
            **row,
            **{name: getattr(details.user, name, None) for name in of_user},
            **{name: getattr(entry, name, None) for name in of_entry},
            "pending_steps": list(pending_steps),
            "known_uid": details.user.uid if details.user else None,
            "primary_group": details.primary_group,
            "groups": details.groups,
            "admitted": roles.derive_role(details.groups, settings) is not None,
            "readiness": ready,
            "manages": details.manages,
            "version": entry.version if entry else "",
            "directory_problem": details.problem,
            "disabled_in_directory": entry is not None and entry.disabled,
            "second_factor": details.second_factor,
            "web_sessions": details.web_sessions,
            "tokens": details.tokens,
            "live": LiveOut.model_validate(details.live),
            "home_runs": [HomeCommandRunOut.model_validate(run) for run in details.home_runs],
            "home_tasks": [
                task for task in HomeTask if home_directories.get_command(settings, task)
            ],
            "capabilities": CapabilitiesOut.of(details.capabilities),
        }
    )
