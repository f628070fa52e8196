"""Routes of the caller's preferences: favorites, language, notifications; and their e-mail
status.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from portal.i18n.translation import Language
from portal.services.identity import preferences
from portal.services.identity.preferences import MAX_FAVOURITES
from portal.services.mail import sender as sending
from portal.web.dependencies import ContextDep, CurrentUser, CurrentWebSession, DatabaseDep
from portal.web.fields import Line

router = APIRouter(tags=["preferences"])

EnvironmentName = Annotated[Line, Field(min_length=1, max_length=100)]


class EventNotices(BaseModel):
    """The events of which a user is notified: a session is ready, a job has ended, time is running
    out.
    """

    session_started: bool
    job_ended: bool
    time_short: bool


class NotifyOut(BaseModel):
    browser: EventNotices
    email: EventNotices


class PreferencesOut(BaseModel):
    """The caller's preferences. `language` null: the browser's."""

    favourite_environments: list[str]
    language: Language | None
    notify: NotifyOut


class MailOut(BaseModel):
    """The status of the caller's e-mails.

    `configured`: this portal can send e-mail; `address` is the recipient from the directory.
    `problem` is the error of the newest e-mail that was not sent.
    """

    configured: bool
    address: str | None
    sender: str | None
    last_sent_at: datetime | None
    problem: str | None
    problem_at: datetime | None


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TellIn(_StrictModel):
    """Changes to notifications; omitted fields stay."""

    session_started: StrictBool = False
    job_ended: StrictBool = False
    time_short: StrictBool = False


class NotifyIn(_StrictModel):
    browser: TellIn = TellIn()
    email: TellIn = TellIn()


class PreferencesIn(_StrictModel):
    """Changes to preferences; omitted fields stay.

    The favorites are the whole list, in its order.
    """

    favourite_environments: Annotated[list[EnvironmentName], Field(max_length=MAX_FAVOURITES)] = []
    language: Language | None = None
    notify: NotifyIn = NotifyIn()


@router.get("/me/preferences")
async def get_preferences(user: CurrentUser, database: DatabaseDep) -> PreferencesOut:
    """Return the caller's preferences, with defaults for those not chosen."""
    return _to_out(await preferences.load_preferences(database, user.id))


@router.patch("/me/preferences")
async def change_preferences(
    body: PreferencesIn, user: CurrentUser, database: DatabaseDep
) -> PreferencesOut:
    """Change some preferences; the response has all of them."""
    changes = body.model_dump(exclude_unset=True)
    return _to_out(await preferences.change(database, user.id, changes))


@router.get("/me/mail")
async def my_mail(user: CurrentUser, context: ContextDep) -> MailOut:
    """Return whether e-mails reach the caller, and at which address."""
    return MailOut(**vars(await sending.load_delivery_state(context, user)))


@router.post("/me/mail/test", status_code=204)
async def send_test_mail(session: CurrentWebSession, context: ContextDep) -> None:
    """Send the caller a test e-mail, at most one a minute; answered once the mail server has
    accepted it.
    """
    await sending.send_trial(context, session.user)


def _to_out(found: preferences.Preferences) -> PreferencesOut:
    return PreferencesOut.model_validate(found.model_dump())
