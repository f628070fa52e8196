"""Saved setups of users, and the configurations that they used last to start sessions.

A setup is an environment with resources. It is kept even if it cannot be used now (the image is
missing, the GPUs are gone, a limit was lowered); `find_obstacle` returns the current obstacle.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import func, nulls_last, select
from sqlalchemy.exc import IntegrityError

from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, FieldError, InvalidInput, NotFound, invalid_input
from portal.models import JobState, Session, Setup, User
from portal.services.catalog.available import check_environment
from portal.services.catalog.feasible import find_impossible
from portal.services.catalog.resources import check_gpus, complete
from portal.services.idempotency import IdempotentRequest
from portal.services.limits import allowances
from portal.services.sessions import sessions
from portal.services.slurm import launch
from portal.services.store import update_row
from spawner.slurm.model import Resources

MAX_SETUPS = 50
MAX_RECENT = 6
MAX_SCANNED_SESSIONS = 60
"""Number of recent sessions that are searched for distinct configurations."""

ENVIRONMENT_GONE = "This environment is no longer available."
UNKNOWN = "There is no environment with this name."
NO_NAME = "Enter a name of visible characters and spaces only."


@dataclass(frozen=True)
class RecentSetup:
    """The configuration that a session was started with; `name` is the session's."""

    name: str
    environment: str
    resources: dict[str, Any]
    used_at: datetime


async def list_setups(context: AppContext, user: User) -> list[Setup]:
    """Return a user's setups: most recently used first, then the newest."""
    order = nulls_last(Setup.used_at.desc()), Setup.created_at.desc(), Setup.name
    query = select(Setup).where(Setup.user_id == user.id).order_by(*order)
    async with context.db.session() as db:
        return list((await db.scalars(query)).all())


async def get(context: AppContext, user: User, setup_id: str) -> Setup:
    """Return a setup of this user. Raises NotFound, also for setups of other users."""
    async with context.db.session() as db:
        setup = await db.get(Setup, setup_id)
    if setup is None or setup.user_id != user.id:
        raise NotFound("Setup not found.")
    return setup


async def save(
    context: AppContext, user: User, name: str, environment: str, resources: Mapping[str, Any]
) -> Setup:
    """Save a setup. Raises InvalidInput for an environment that is not in the catalog, Conflict for
    a name that is taken or if the user has too many setups.
    """
    _check_environment(context, environment)
    row = Setup(
        user_id=user.id, name=_check_name(name), environment=environment, resources=dict(resources)
    )
    async with context.db.session() as db:
        await allowances.lock_user(db, user.id)
        count_query = select(func.count()).select_from(Setup).where(Setup.user_id == user.id)
        if (await db.scalar(count_query) or 0) >= MAX_SETUPS:
            raise Conflict(
                f"You have {MAX_SETUPS} saved setups, which is the maximum. Delete one first."
            )
        db.add(row)
        try:
            await db.commit()
        except IntegrityError as error:
            raise _build_name_conflict(row.name) from error
        return row


async def edit(context: AppContext, user: User, setup_id: str, changes: Mapping[str, Any]) -> Setup:
    """Change the given fields: `name`, `environment`, `resources`. Raises like `save`."""
    setup = await get(context, user, setup_id)
    if "environment" in changes:
        _check_environment(context, changes["environment"])
    fields = dict(changes)
    if "name" in fields:
        fields["name"] = _check_name(fields["name"])

    def modify(row: Setup) -> None:
        for field, value in fields.items():
            setattr(row, field, value)

    try:
        changed = await update_row(context.db, Setup, setup.id, modify)
    except IntegrityError as error:
        raise _build_name_conflict(fields.get("name", setup.name)) from error
    if changed is None:
        raise NotFound("Setup not found.")
    return changed


async def delete(context: AppContext, user: User, setup_id: str) -> None:
    """Delete a setup; sessions that were started from it continue."""
    setup = await get(context, user, setup_id)
    async with context.db.session() as db:
        row = await db.get(Setup, setup.id)
        if row is not None:
            await db.delete(row)
            await db.commit()


async def start(
    context: AppContext, user: User, setup_id: str, *, key: str | None = None, ip: str = ""
) -> Session:
    """Start a session from a setup. The same key gives the same session, even if the setup has been
    changed or deleted since. Raises like `sessions.create`.
    """
    idempotent = IdempotentRequest.of({"setup": setup_id}, key)
    if (earlier := await idempotent.find_settled(context, Session, user)) is not None:
        return earlier
    setup = await get(context, user, setup_id)
    session = await sessions.create(
        context,
        user,
        environment=setup.environment,
        requested=setup.resources,
        idempotent=idempotent,
        ip=ip,
    )

    def modify(row: Setup) -> None:
        row.used_at = utcnow()

    await update_row(context.db, Setup, setup.id, modify)
    return session


async def list_recent(context: AppContext, user: User) -> list[RecentSetup]:
    """Return the distinct configurations of a user's last sessions, newest first. Sessions that
    were removed from the list count too: a user who tidies the list keeps the shortcut.
    """
    query = (
        select(Session)
        .where(
            Session.user_id == user.id,
            Session.state == JobState.ENDED,
            Session.submitted_at.is_not(None),
        )
        .order_by(Session.created_at.desc())
        .limit(MAX_SCANNED_SESSIONS)
    )
    async with context.db.session() as db:
        rows = (await db.scalars(query)).all()
    setups: dict[Any, RecentSetup] = {}
    for row in rows:
        resources = _drop_defaults(launch.resources_of(row), context.settings)
        used = RecentSetup(
            row.name, row.environment or "", launch.resources_to_json(resources), row.created_at
        )
        setups.setdefault((row.environment, resources), used)
    return list(setups.values())[:MAX_RECENT]


def find_obstacle(
    context: AppContext, environment: str, resources: Mapping[str, Any]
) -> str | None:
    """Return why a session of this configuration cannot start now, as far as is known without a
    query to Slurm, or None if no obstacle is known.
    """
    entry = context.catalog.environments.get(environment)
    if entry is None:
        return ENVIRONMENT_GONE
    available, reason = check_environment(context, entry)
    if not available:
        return reason or "This environment can't be used here."
    try:
        completed = complete(resources, None, entry, context.settings, context.watcher.cluster)
        check_gpus(completed, entry)
    except InvalidInput as error:
        return error.detail
    problems = find_impossible(completed, context.watcher.cluster)
    return problems[0].message if problems else None


def _drop_defaults(resources: Resources, settings: Settings) -> Resources:
    """Return the resources without the site's default account and QOS, which may have changed
    since.
    """
    return replace(
        resources,
        account=None if resources.account == settings.default_account else resources.account,
        qos=None if resources.qos == settings.default_qos else resources.qos,
    )


def _check_environment(context: AppContext, name: str) -> None:
    if name not in context.catalog.environments:
        raise invalid_input([FieldError("environment", UNKNOWN)])


def _check_name(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise invalid_input([FieldError("name", NO_NAME)])
    return name.strip()


def _build_name_conflict(name: str) -> Conflict:
    text = f"You already have a setup called “{name}”. Choose another name."
    return Conflict(text, errors=[FieldError("name", text)])
