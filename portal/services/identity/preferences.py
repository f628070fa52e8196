"""User preferences: favorite environments, language, notifications and the table of jobs.

The column `users.preferences` holds only what was set; missing or no longer valid entries have the
default. Preferences never affect permissions.
"""

from collections.abc import Mapping
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import select, update

from portal.db import Database, lock_rows
from portal.i18n.translation import Language
from portal.models import User

log = structlog.get_logger(__name__)

MAX_FAVORITES = 50
MAX_COLUMNS = 60
MAX_VIEWS = 50


class _StoredModel(BaseModel):
    """Base of stored models. Unknown fields, written by a newer portal, are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Browser(_StoredModel):
    """Browser notifications, once the browser allows them: all on by default."""

    session_started: bool = True
    job_ended: bool = True
    time_short: bool = True


class Email(_StoredModel):
    """E-mail notifications: all off by default."""

    session_started: bool = False
    job_ended: bool = False
    time_short: bool = False


class Notify(_StoredModel):
    browser: Browser = Browser()
    email: Email = Email()


class JobsView(_StoredModel):
    """A saved view of the table of jobs: filters, order and grouping as in the page's address, and
    columns.
    """

    name: str
    search: dict[str, str] = {}
    columns: list[str] | None = None


class JobsTable(_StoredModel):
    """The table of jobs. `columns` None: the page's default ones."""

    columns: list[str] | None = None
    views: list[JobsView] = []


class Preferences(_StoredModel):
    """A user's preferences.

    `favourite_environments` are names that the catalog may no longer have; `language` None uses the
    browser's.
    """

    favourite_environments: list[str] = []
    language: Language | None = None
    notify: Notify = Notify()
    jobs_table: JobsTable = JobsTable()


def read(stored: Mapping[str, Any] | None) -> Preferences:
    """Parse stored preferences, with defaults for the rest."""
    try:
        return Preferences.model_validate(stored or {})
    except ValidationError as error:
        log.warning("preferences can't be read and aren't used", problems=error.error_count())
        return Preferences()


async def load_preferences(database: Database, user_id: str) -> Preferences:
    """Return a user's current preferences."""
    async with database.session() as db:
        return read(await db.scalar(select(User.preferences).where(User.id == user_id)))


async def change(database: Database, user_id: str, changes: Mapping[str, Any]) -> Preferences:
    """Store the given preferences (structured as in Preferences) and keep the others.

    Concurrent changes from two browsers are merged: the second waits for the first.
    """
    is_user = User.id == user_id
    async with database.session() as db:
        await lock_rows(db, User, is_user)
        stored = await db.scalar(select(User.preferences).where(is_user))
        merged = _merge(stored or {}, changes)
        if (favorites := merged.get("favourite_environments")) is not None:
            merged["favourite_environments"] = list(dict.fromkeys(favorites))
        await db.execute(update(User).where(is_user).values(preferences=merged))
        await db.commit()
    return read(merged)


def _merge(kept: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge objects key by key; replace everything else."""
    merged = dict(kept)
    for key, value in changes.items():
        before = merged.get(key)
        nested = isinstance(value, Mapping)
        merged[key] = (
            _merge(before if isinstance(before, Mapping) else {}, value) if nested else value
        )
    return merged
