"""What people start sessions with: setups saved under a name, and those they used last.

A setup is an environment with resources. It is kept though it may be impossible today: the image is
away, the GPUs are gone, a limit was lowered; `problem_of` says what hinders it now.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import func, nulls_last, select
from sqlalchemy.exc import IntegrityError

from portal.db import utcnow
from portal.errors import Conflict, FieldError, InvalidInput, NotFound, invalid_input
from portal.models import JobState, Session, Setup, User
from portal.parts import Parts
from portal.services.catalog.available import availability
from portal.services.once import Once
from portal.services.sessions import sessions
from portal.services.slurm import launch
from portal.services.slurm.feasible import impossible
from portal.services.store import change
from portal.settings import Settings
from spawner.model import Resources

MOST = 50
MOST_RECENT = 6
LOOKED_THROUGH = 60
"""Sessions that are looked through for distinct ones."""

GONE = "This site has no environment of this name any more."
UNKNOWN = "There is no environment of this name."
NO_NAME = "Give it a name of letters, digits, blanks and signs that can be seen."


@dataclass(frozen=True)
class Used:
    """What a session was started with; `name` is the session's."""

    name: str
    environment: str
    resources: dict[str, Any]
    used_at: datetime


async def mine(parts: Parts, user: User) -> list[Setup]:
    """Someone's setups, those used last first, then the newest."""
    order = nulls_last(Setup.used_at.desc()), Setup.created_at.desc(), Setup.name
    query = select(Setup).where(Setup.user_id == user.id).order_by(*order)
    async with parts.db.session() as db:
        return list((await db.scalars(query)).all())


async def get(parts: Parts, user: User, setup_id: str) -> Setup:
    """One's own setup; raises NotFound for everyone else's too."""
    async with parts.db.session() as db:
        found = await db.get(Setup, setup_id)
    if found is None or found.user_id != user.id:
        raise NotFound("There is no such setup of yours.")
    return found


async def save(
    parts: Parts, user: User, name: str, environment: str, resources: Mapping[str, Any]
) -> Setup:
    """Keep a setup. Raises InvalidInput for an environment that isn't in the catalog, Conflict for
    a name that is taken or when there are too many."""
    _check_environment(parts, environment)
    row = Setup(
        user_id=user.id, name=_named(name), environment=environment, resources=dict(resources)
    )
    async with parts.db.session() as db:
        mine = select(func.count()).select_from(Setup).where(Setup.user_id == user.id)
        if (await db.scalar(mine) or 0) >= MOST:
            raise Conflict(f"You have {MOST} setups, which is as many as can be kept. Delete one.")
        db.add(row)
        try:
            await db.commit()
        except IntegrityError as error:
            raise _taken(row.name) from error
        return row


async def edit(parts: Parts, user: User, setup_id: str, changes: Mapping[str, Any]) -> Setup:
    """Change the fields that are named: `name`, `environment`, `resources`. Raises as `save`."""
    found = await get(parts, user, setup_id)
    if "environment" in changes:
        _check_environment(parts, changes["environment"])
    fields = dict(changes)
    if "name" in fields:
        fields["name"] = _named(fields["name"])

    def apply(row: Setup) -> None:
        for field, value in fields.items():
            setattr(row, field, value)

    try:
        changed = await change(parts.db, Setup, found.id, apply)
    except IntegrityError as error:
        raise _taken(fields.get("name", found.name)) from error
    if changed is None:
        raise NotFound("There is no such setup of yours.")
    return changed


async def delete(parts: Parts, user: User, setup_id: str) -> None:
    """Forget a setup; sessions that were started from it go on."""
    found = await get(parts, user, setup_id)
    async with parts.db.session() as db:
        row = await db.get(Setup, found.id)
        if row is not None:
            await db.delete(row)
            await db.commit()


async def start(
    parts: Parts, user: User, setup_id: str, *, key: str | None = None, ip: str = ""
) -> Session:
    """A session with what a setup says; the same one for the same key, even if the setup has been
    changed or deleted since. Raises what starting one raises."""
    asked = Once.of({"setup": setup_id}, key)
    if (found := await asked.settled(parts, Session, user)) is not None:
        return found
    setup = await get(parts, user, setup_id)
    session = await sessions.create(
        parts, user, environment=setup.environment, wanted=setup.resources, asked=asked, ip=ip
    )

    def apply(row: Setup) -> None:
        row.used_at = utcnow()

    await change(parts.db, Setup, setup.id, apply)
    return session


async def recent(parts: Parts, user: User) -> list[Used]:
    """What someone's last sessions were started with, each once, the newest first. One that was
    taken off the list counts: that tidies the list and takes no way back away."""
    query = (
        select(Session)
        .where(
            Session.user_id == user.id,
            Session.state == JobState.ENDED,
            Session.submitted_at.is_not(None),
        )
        .order_by(Session.created_at.desc())
        .limit(LOOKED_THROUGH)
    )
    async with parts.db.session() as db:
        rows = (await db.scalars(query)).all()
    found: dict[Any, Used] = {}
    for row in rows:
        asked = _asked(launch.resources_of(row), parts.settings)
        used = Used(row.name, row.environment or "", launch.kept(asked), row.created_at)
        found.setdefault((row.environment, asked), used)
    return list(found.values())[:MOST_RECENT]


def problem_of(parts: Parts, environment: str, resources: Mapping[str, Any]) -> str | None:
    """Why a session like this could not be started now, as far as that is known without asking
    anyone; None if nothing speaks against it."""
    known = parts.catalog.environments.get(environment)
    if known is None:
        return GONE
    available, reason = availability(parts, known)
    if not available:
        return reason or "This environment can't be used here."
    try:
        complete = sessions.complete(resources, known, parts.settings)
    except InvalidInput as error:
        return error.detail
    problems = impossible(complete, parts.watcher.cluster)
    return problems[0].message if problems else None


def _asked(resources: Resources, settings: Settings) -> Resources:
    """Without what the site gave to everybody: that may be another one by now."""
    return replace(
        resources,
        account=None if resources.account == settings.default_account else resources.account,
        qos=None if resources.qos == settings.default_qos else resources.qos,
    )


def _check_environment(parts: Parts, name: str) -> None:
    if name not in parts.catalog.environments:
        raise invalid_input([FieldError("environment", UNKNOWN)])


def _named(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise invalid_input([FieldError("name", NO_NAME)])
    return name.strip()


def _taken(name: str) -> Conflict:
    text = f"You already have a setup called “{name}”. Choose another name."
    return Conflict(text, errors=[FieldError("name", text)])
