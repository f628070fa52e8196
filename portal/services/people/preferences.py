"""What people choose for themselves: favourites, the language, and what they want to be told.

The column `users.preferences` holds only what was chosen; whatever isn't there, or isn't understood
any more, has the default. Nothing here opens or forbids anything.
"""

from collections.abc import Mapping
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import select, update

from portal.db import Database
from portal.models import User
from portal.said import Language

log = structlog.get_logger(__name__)

MAX_FAVOURITES = 50


class _Shape(BaseModel):
    """Read from the database: what a newer portal wrote beside it is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Browser(_Shape):
    """What a browser tells, once it was allowed to: there everything, until it is turned off."""

    session_started: bool = True
    job_ended: bool = True
    time_short: bool = True


class Email(_Shape):
    """What an e-mail tells: nothing, until it is turned on."""

    session_started: bool = False
    job_ended: bool = False
    time_short: bool = False


class Notify(_Shape):
    browser: Browser = Browser()
    email: Email = Email()


class Preferences(_Shape):
    """`favourite_environments` are names, which the catalog may have no more; `language` None is
    the browser's."""

    favourite_environments: list[str] = []
    language: Language | None = None
    notify: Notify = Notify()


def read(kept: Mapping[str, Any] | None) -> Preferences:
    """What is kept, with the defaults for the rest."""
    try:
        return Preferences.model_validate(kept or {})
    except ValidationError as error:
        log.warning("preferences can't be read and aren't used", problems=error.error_count())
        return Preferences()


async def of(database: Database, user_id: str) -> Preferences:
    """Someone's preferences as they are now."""
    async with database.session() as db:
        return read(await db.scalar(select(User.preferences).where(User.id == user_id)))


async def change(database: Database, user_id: str, wish: Mapping[str, Any]) -> Preferences:
    """Keep what was wished for, which is as in Preferences, and leave the rest as it is.

    Two browsers at once change what each of them asked for: the second waits for the first.
    """
    mine = User.id == user_id
    async with database.session() as db:
        await db.execute(update(User).where(mine).values(preferences=User.preferences))  # holds it
        kept = await db.scalar(select(User.preferences).where(mine))
        merged = _merged(kept or {}, wish)
        if (favourites := merged.get("favourite_environments")) is not None:
            merged["favourite_environments"] = list(dict.fromkeys(favourites))
        await db.execute(update(User).where(mine).values(preferences=merged))
        await db.commit()
    return read(merged)


def _merged(kept: Mapping[str, Any], wish: Mapping[str, Any]) -> dict[str, Any]:
    """Objects key by key, everything else as wished."""
    found = dict(kept)
    for key, value in wish.items():
        before = found.get(key)
        nested = isinstance(value, Mapping)
        found[key] = (
            _merged(before if isinstance(before, Mapping) else {}, value) if nested else value
        )
    return found
