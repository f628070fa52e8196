"""People as the API shows them; every route that changes someone answers with `show`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict

from portal import models
from portal.directory import contract
from portal.directory.contract import Ability
from portal.models import AccountState, HomeState, HomeTask, JobsPolicy, Role
from portal.services.login.accounts import Accounts
from portal.services.people import homes, person_pages, persons
from portal.services.people.closing import open_things

Username = Annotated[
    str,
    Path(min_length=1, max_length=contract.MAX_USERNAME_LENGTH),
    AfterValidator(str.lower),  # as the directory's names are read: they ignore case
]


class CapabilitiesOut(BaseModel):
    """What can be done in this directory. `missing`: for each button that is absent, why."""

    kind: str
    missing: dict[Ability, str]

    @classmethod
    def of(cls, able: contract.Capabilities) -> Self:
        return cls(kind=able.kind, missing=dict(able.missing))


class PersonRow(BaseModel):
    """Somebody in a list. `in_directory` false: the portal alone remembers them. `known`: it has a
    row of them; `role` is null where it hasn't. `groups` is null in lists, `locked` where the
    directory couldn't be asked. `disabled`: here or in the directory. `unmanaged`: why nothing of
    them can be changed here, null for most. `former_username`: the name that somebody deleted had,
    once others may have it."""

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


class LiveOut(BaseModel):
    """What somebody has running, or waiting to."""

    model_config = ConfigDict(from_attributes=True)

    sessions: int
    jobs: int


class HomeRunOut(BaseModel):
    """One run of the site's command for a home directory; `output` is the end of what it said."""

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


class Person(PersonRow):
    """Everything about somebody. `version` is what an edit hands back. `directory_problem`: the
    directory couldn't be asked, and this is the portal's memory. `directory_wants`: what it has yet
    to be told, `closing` what is still to be done for someone disabled, enabled or deleted, in
    sentences. `home_tasks`: what the portal has commands for. `known_uid`: the number the portal
    knows them by; where `uid` is another one they can't log in until it has been confirmed."""

    given_name: str | None
    surname: str | None
    gid: int | None
    home: str | None
    shell: str | None
    leads: list[str]
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
    closed_at: datetime | None
    directory_wants: AccountState | None
    closing: list[str]
    known_uid: int | None
    created_at: datetime | None
    second_factor: bool
    web_sessions: int
    tokens: int
    live: LiveOut
    home_runs: list[HomeRunOut]
    home_tasks: list[HomeTask]
    capabilities: CapabilitiesOut


async def show(accounts: Accounts, username: str) -> Person:
    """Somebody as they are now. Raises NotFound, DirectoryUnavailable."""
    whole = await persons.one(accounts, username)
    user = whole.user
    closing = await open_things(accounts.database, user) if user is not None else []
    return _person_out(accounts, whole, closing)


def row_out(accounts: Accounts, seen: person_pages.Seen) -> PersonRow:
    return PersonRow.model_validate(
        _row(accounts, seen.username, seen.person, seen.user, seen.problem)
    )


def _row(
    accounts: Accounts,
    username: str,
    person: contract.Person | None,
    user: models.User | None,
    problem: str | None,
) -> dict[str, object]:
    here = person is not None or (
        problem is not None and user is not None and not (user.missing_since or user.deleted_at)
    )
    best = person or user
    return {
        "username": username,
        "display_name": best.display_name if best else username,
        "email": best.email if best else None,
        "uid": best.uid if best else None,
        "groups": None,
        "role": user.role if user else None,
        "disabled": bool((user and user.disabled_at) or (person and person.disabled)),
        "locked": person.locked if person else None,
        "must_change_password": person.must_change if person else False,
        "in_directory": here,
        "known": user is not None,
        "unmanaged": persons.unmanaged(accounts.settings, person) if person else None,
        "last_login_at": user.last_login_at if user else None,
        "user_id": user.id if user else None,
        "missing_since": user.missing_since if user else None,
        "deleted_at": user.deleted_at if user else None,
        "former_username": user.former_username if user else None,
    }


def _person_out(accounts: Accounts, whole: persons.Whole, closing: Sequence[str]) -> Person:
    person, settings = whole.person, accounts.settings
    of_user = (
        *("directory_role", "granted_role", "granted_by", "granted_at", "disabled_by"),
        *("disabled_why", "disabled_at", "disabled_jobs", "closed_at", "directory_wants"),
        "created_at",
    )
    of_person = ("given_name", "surname", "gid", "home", "shell")
    row = _row(accounts, whole.username, person, whole.user, whole.problem)
    return Person.model_validate(
        {
            **row,
            **{name: getattr(whole.user, name, None) for name in of_user},
            **{name: getattr(person, name, None) for name in of_person},
            "closing": list(closing),
            "known_uid": whole.user.uid if whole.user else None,
            "groups": whole.groups,
            "leads": whole.leads,
            "version": person.version if person else "",
            "directory_problem": whole.problem,
            "disabled_in_directory": person is not None and person.disabled,
            "second_factor": whole.second_factor,
            "web_sessions": whole.web_sessions,
            "tokens": whole.tokens,
            "live": LiveOut.model_validate(whole.live),
            "home_runs": [HomeRunOut.model_validate(run) for run in whole.home_runs],
            "home_tasks": [task for task in HomeTask if homes.command(settings, task)],
            "capabilities": CapabilitiesOut.of(whole.capabilities),
        }
    )
