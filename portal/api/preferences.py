"""Routes of the caller's preferences: favorites, language, notifications, the table of jobs; and
their e-mail status.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from portal.i18n.translation import Language
from portal.services.identity import preferences
from portal.services.identity.preferences import MAX_COLUMNS, MAX_FAVORITES, MAX_VIEWS
from portal.services.mail import sender as sending
from portal.web.dependencies import ContextDep, CurrentUser, CurrentWebSession
from portal.web.fields import Line

router = APIRouter(tags=["preferences"])

EnvironmentName = Annotated[Line, Field(min_length=1, max_length=100)]
ColumnName = Annotated[Line, Field(min_length=1, max_length=120)]
Columns = Annotated[list[ColumnName], Field(max_length=MAX_COLUMNS)]
SearchName = Annotated[str, Field(pattern="^[a-z]{1,20}$")]


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


class JobsViewOut(BaseModel):
    """A saved view of the table of jobs.

    `search`: the filters, order and grouping, as parameters of the page's address; `columns` null:
    the page's default ones.
    """

    name: str
    search: dict[str, str]
    columns: list[str] | None


class JobsTableOut(BaseModel):
    """The table of jobs; `columns` null: the page's default ones."""

    columns: list[str] | None
    views: list[JobsViewOut]


class PreferencesOut(BaseModel):
    """The caller's preferences. `language` null: the browser's."""

    favourite_environments: list[str]
    language: Language | None
    notify: NotifyOut
    jobs_table: JobsTableOut


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


class EventNoticesIn(_StrictModel):
    """Changes to notifications; omitted fields stay."""

    session_started: StrictBool = False
    job_ended: StrictBool = False
    time_short: StrictBool = False


class NotifyIn(_StrictModel):
    browser: EventNoticesIn = EventNoticesIn()
    email: EventNoticesIn = EventNoticesIn()


class JobsViewIn(_StrictModel):
    name: Annotated[Line, Field(min_length=1, max_length=100)]
    search: Annotated[
        dict[SearchName, Annotated[Line, Field(min_length=1, max_length=200)]],
        Field(max_length=10),
    ] = {}
    columns: Columns | None = None


class JobsTableIn(_StrictModel):
    """Changes to the table of jobs; omitted fields stay. The columns and the views are the whole
    lists, in their order.
    """

    columns: Columns | None = None
    views: Annotated[list[JobsViewIn], Field(max_length=MAX_VIEWS)] = []


class PreferencesIn(_StrictModel):
    """Changes to preferences; omitted fields stay.

    The favorites are the whole list, in its order.
    """

    favourite_environments: Annotated[list[EnvironmentName], Field(max_length=MAX_FAVORITES)] = []
    language: Language | None = None
    notify: NotifyIn = NotifyIn()
    jobs_table: JobsTableIn = JobsTableIn()


@router.get("/me/preferences")
async def get_preferences(user: CurrentUser, context: ContextDep) -> PreferencesOut:
    """Return the caller's preferences, with defaults for those not chosen."""
    return _to_out(await preferences.load_preferences(context.db, user.id))


@router.patch("/me/preferences")
async def change_preferences(
    body: PreferencesIn, user: CurrentUser, context: ContextDep
) -> PreferencesOut:
    """Change some preferences; the response has all of them."""
    changes = body.model_dump(exclude_unset=True)
    return _to_out(await preferences.change(context.db, user.id, changes))


@router.get("/me/mail")
async def my_mail(user: CurrentUser, context: ContextDep) -> MailOut:
    """Return whether e-mails reach the caller, and at which address."""
    return MailOut(**vars(await sending.load_delivery_state(context, user)))


@router.post("/me/mail/test", status_code=204)
async def send_test_mail(session: CurrentWebSession, context: ContextDep) -> None:
    """Send the caller a test e-mail, at most one a minute; answered once the mail server has
    accepted it.
    """
    await sending.send_test_email(context, session.user)


def _to_out(stored: preferences.Preferences) -> PreferencesOut:
    return PreferencesOut.model_validate(stored.model_dump())
