"""What the caller has chosen for themselves: favourites, language, what to be told and how; and
whether e-mails reach them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import CurrentUser, CurrentWebSession, DatabaseDep, PartsDep
from portal.said import Language
from portal.services.mail import sending
from portal.services.people import preferences
from portal.services.people.preferences import MAX_FAVOURITES

router = APIRouter(tags=["preferences"])

EnvironmentName = Annotated[str, Field(min_length=1, max_length=100)]


class Told(BaseModel):
    """Of what someone is told: a session is ready, a job has ended, time runs out."""

    session_started: bool
    job_ended: bool
    time_short: bool


class NotifyOut(BaseModel):
    browser: Told
    email: Told


class PreferencesOut(BaseModel):
    """The caller's preferences. `language` null: as the browser says."""

    favourite_environments: list[str]
    language: Language | None
    notify: NotifyOut


class MailOut(BaseModel):
    """How it is with the caller's e-mails. `configured`: this portal can send some; `address` is
    where they go, as the directory says. `problem` is what the newest one met that wasn't sent."""

    configured: bool
    address: str | None
    sender: str | None
    last_sent_at: datetime | None
    problem: str | None
    problem_at: datetime | None


class _Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TellIn(_Wish):
    """What to change of it; what is absent stays."""

    session_started: bool = False
    job_ended: bool = False
    time_short: bool = False


class NotifyIn(_Wish):
    browser: TellIn = TellIn()
    email: TellIn = TellIn()


class PreferencesIn(_Wish):
    """What to change; what is absent stays. The favourites are the whole list, in its order."""

    favourite_environments: Annotated[list[EnvironmentName], Field(max_length=MAX_FAVOURITES)] = []
    language: Language | None = None
    notify: NotifyIn = NotifyIn()


@router.get("/me/preferences")
async def get_preferences(user: CurrentUser, database: DatabaseDep) -> PreferencesOut:
    """What the caller has chosen, and the defaults where they haven't."""
    return _shown(await preferences.of(database, user.id))


@router.patch("/me/preferences")
async def change_preferences(
    body: PreferencesIn, user: CurrentUser, database: DatabaseDep
) -> PreferencesOut:
    """Change some of them; the answer has them all."""
    wish = body.model_dump(exclude_unset=True)
    return _shown(await preferences.change(database, user.id, wish))


@router.get("/me/mail")
async def my_mail(user: CurrentUser, parts: PartsDep) -> MailOut:
    """Whether and where e-mails reach the caller."""
    return MailOut(**vars(await sending.standing(parts, user)))


@router.post("/me/mail/test", status_code=204)
async def send_test_mail(session: CurrentWebSession, parts: PartsDep) -> None:
    """Send the caller a test e-mail, one a minute; answered once the mail server has taken it."""
    await sending.send_trial(parts, session.user)


def _shown(found: preferences.Preferences) -> PreferencesOut:
    return PreferencesOut.model_validate(found.model_dump())
