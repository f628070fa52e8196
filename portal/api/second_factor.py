"""Routes of the caller's second factor: set up, renew, turn off; and its reset by an
administrator.
"""

from datetime import datetime
from typing import Annotated

import segno
from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from portal.api.login import CallerDep, CodeIn
from portal.services.auth import second_factor
from portal.web.dependencies import (
    ConfirmedEnrolling,
    ContextDep,
    EnrollingSession,
    ReenteredPasswordAdmin,
    ReenteredPasswordUser,
)

router = APIRouter(tags=["second factor"])
NO_STORE = "no-store"


class SecondFactorOut(BaseModel):
    """The state of the caller's second factor.

    `required`: their role requires one. `reset_at`: when an administrator removed it, for thirty
    days or until another is set up.
    """

    username: str
    enrolled_at: datetime | None
    required: bool
    recovery_codes_left: int
    reset_at: datetime | None


class EnrolmentOut(BaseModel):
    """The data for an authenticator app: `uri`, the same as an image in a data URL (`qr`), and the
    `secret` alone, for typing.

    The second factor is required once a code has been confirmed.
    """

    secret: str
    uri: str
    qr: str


class RecoveryCodes(BaseModel):
    """Recovery codes, shown only this once. Each replaces one code of the app."""

    codes: list[str]


@router.get("/second-factor")
async def get_second_factor(session: EnrollingSession, context: ContextDep) -> SecondFactorOut:
    """Return the caller's second factor."""
    status = await second_factor.load_status(context.db, context.settings, session.user)
    return SecondFactorOut(
        username=session.user.username,
        enrolled_at=status.enrolled_at,
        required=status.required,
        recovery_codes_left=status.recovery_codes_left,
        reset_at=status.reset_at,
    )


@router.post("/second-factor/enrolment", status_code=201)
async def begin_enrolment(
    session: ConfirmedEnrolling, response: Response, context: ContextDep
) -> EnrolmentOut:
    """Create a secret for an authenticator app; an earlier unconfirmed one becomes void."""
    enrolment = await second_factor.begin_enrolment(context.db, context.settings, session.user)
    response.headers["Cache-Control"] = NO_STORE
    # Dark on white in every theme of the page: many cameras read nothing else.
    qr = segno.make(enrolment.uri, error="m").svg_data_uri(
        scale=5, border=4, dark="#000", light="#fff", encode_minimal=True
    )
    return EnrolmentOut(secret=enrolment.secret, uri=enrolment.uri, qr=qr)


@router.post("/second-factor/confirm")
async def confirm_enrolment(
    body: CodeIn,
    session: ConfirmedEnrolling,
    response: Response,
    context: ContextDep,
    caller: CallerDep,
) -> RecoveryCodes:
    """Confirm the app's first code: the second factor counts from now on, and other browsers are
    logged out.
    """
    codes = await second_factor.confirm(context.db, context.settings, session, body.code, caller)
    response.headers["Cache-Control"] = NO_STORE
    return RecoveryCodes(codes=codes)


@router.post("/second-factor/recovery-codes")
async def renew_recovery_codes(
    body: CodeIn,
    user: ReenteredPasswordUser,
    response: Response,
    context: ContextDep,
    caller: CallerDep,
) -> RecoveryCodes:
    """Create ten new recovery codes; the old ones become void."""
    codes = await second_factor.renew_codes(context.db, context.settings, user, body.code, caller)
    response.headers["Cache-Control"] = NO_STORE
    return RecoveryCodes(codes=codes)


@router.post("/second-factor/turn-off", status_code=204)
async def turn_off_second_factor(
    body: CodeIn, user: ReenteredPasswordUser, context: ContextDep, caller: CallerDep
) -> Response:
    """Turn the second factor off, also to set one up on another device.

    A user with a role that requires a second factor can then only set one up.
    """
    await second_factor.remove(context.db, context.settings, user, body.code, caller)
    return Response(status_code=204)


@router.post("/admin/users/{username}/second-factor/reset", status_code=204)
async def reset_second_factor(
    username: Annotated[str, Path(max_length=64)],
    admin: ReenteredPasswordAdmin,
    context: ContextDep,
    caller: CallerDep,
) -> Response:
    """Remove the second factor of a user who lost it; they are logged out everywhere, and notified
    at their next login.
    """
    await second_factor.reset(context.db, admin, username, caller)
    return Response(status_code=204)
