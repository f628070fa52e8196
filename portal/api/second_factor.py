"""One's second factor: set up, renewed, turned off; and reset by an administrator."""

from datetime import datetime
from typing import Annotated

import segno
from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from portal.api.deps import (
    DatabaseDep,
    EnrollingSession,
    FreshAdmin,
    FreshEnrolling,
    FreshPassword,
    SettingsDep,
)
from portal.api.login import CallerDep, CodeIn
from portal.services.login import second_factor

router = APIRouter(tags=["second factor"])
NO_STORE = "no-store"


class SecondFactorOut(BaseModel):
    """Where the caller stands. `required`: their role can't do without. `reset_at`: when an
    administrator took it away, for thirty days or until they have set up another."""

    username: str
    enrolled_at: datetime | None
    required: bool
    recovery_codes_left: int
    reset_at: datetime | None


class EnrolmentOut(BaseModel):
    """What an authenticator app is given: `qr` is an image as a data address, `secret` the same to
    be typed. It counts once a code has come back."""

    secret: str
    uri: str
    qr: str


class RecoveryCodes(BaseModel):
    """Shown this once. Each replaces the app's code once."""

    codes: list[str]


@router.get("/second-factor")
async def get_second_factor(
    session: EnrollingSession, database: DatabaseDep, settings: SettingsDep
) -> SecondFactorOut:
    """The caller's second factor."""
    found = await second_factor.status(database, settings, session.user)
    return SecondFactorOut(
        username=session.user.username,
        enrolled_at=found.enrolled_at,
        required=found.required,
        recovery_codes_left=found.recovery_codes_left,
        reset_at=found.reset_at,
    )


@router.post("/second-factor/enrolment", status_code=201)
async def begin_enrolment(
    session: FreshEnrolling, response: Response, database: DatabaseDep, settings: SettingsDep
) -> EnrolmentOut:
    """A new secret for an authenticator app; an earlier one that was never confirmed is void."""
    found = await second_factor.begin(database, settings, session.user)
    response.headers["Cache-Control"] = NO_STORE
    # dark on white whatever the page's colours are: many cameras read nothing else
    qr = segno.make(found.uri, error="m").svg_data_uri(
        scale=5, border=4, dark="#000", light="#fff", encode_minimal=True
    )
    return EnrolmentOut(secret=found.secret, uri=found.uri, qr=qr)


@router.post("/second-factor/confirm")
async def confirm_enrolment(
    body: CodeIn,
    session: FreshEnrolling,
    response: Response,
    database: DatabaseDep,
    settings: SettingsDep,
    caller: CallerDep,
) -> RecoveryCodes:
    """The app's first code: the second factor counts from now on, and other browsers are logged
    out."""
    codes = await second_factor.confirm(database, settings, session, body.code, caller)
    response.headers["Cache-Control"] = NO_STORE
    return RecoveryCodes(codes=codes)


@router.post("/second-factor/recovery-codes")
async def renew_recovery_codes(
    body: CodeIn,
    user: FreshPassword,
    response: Response,
    database: DatabaseDep,
    settings: SettingsDep,
    caller: CallerDep,
) -> RecoveryCodes:
    """Ten new recovery codes; the old ones are void."""
    codes = await second_factor.renew_codes(database, settings, user, body.code, caller)
    response.headers["Cache-Control"] = NO_STORE
    return RecoveryCodes(codes=codes)


@router.post("/second-factor/turn-off", status_code=204)
async def turn_off_second_factor(
    body: CodeIn,
    user: FreshPassword,
    database: DatabaseDep,
    settings: SettingsDep,
    caller: CallerDep,
) -> Response:
    """Do without, or begin anew with another device. Whose role needs a second factor can then
    only set one up."""
    await second_factor.turn_off(database, settings, user, body.code, caller)
    return Response(status_code=204)


@router.post("/admin/users/{username}/second-factor/reset", status_code=204)
async def reset_second_factor(
    username: Annotated[str, Path(max_length=64)],
    admin: FreshAdmin,
    database: DatabaseDep,
    caller: CallerDep,
) -> Response:
    """Take the second factor of someone away who lost it; they are logged out everywhere, and told
    at their next login."""
    await second_factor.reset(database, admin, username, caller)
    return Response(status_code=204)
