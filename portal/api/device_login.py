"""Routes of the login of programs on a user's device: RFC 8628's flow, with JSON bodies.

The device starts a login and polls for its token, without a login of its own; the codes are its
credentials. The user confirms in the browser, with the password, as for creating a token.
"""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.login import CallerDep
from portal.services.audit.refused_logins import network_of
from portal.services.auth import device_logins
from portal.services.auth.device_logins import INTERVAL, LIFETIME, DeviceRequest
from portal.services.auth.tokens import Scope
from portal.web.dependencies import (
    Anyone,
    ContextDep,
    CurrentWebSession,
    NoToken,
    ReenteredPasswordUser,
)

router = APIRouter(prefix="/login/device", tags=["login"])

PAGE = "/device"
UserCode = Annotated[str, Field(min_length=1, max_length=20)]


class DeviceLoginIn(BaseModel):
    """A program's request for a login.

    `device`: a name by which its user recognizes program and device; the token gets this name.
    """

    model_config = ConfigDict(extra="forbid")

    device: Annotated[str, Field(min_length=1, max_length=60)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]


class DeviceLoginOut(BaseModel):
    """A login that waits for its user.

    The program shows `verification_uri` and `user_code`, and polls with `device_code` every
    `interval` seconds. `verification_uri_complete` has the code in its fragment, which browsers
    don't send.
    """

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DeviceCodeIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    device_code: Annotated[str, Field(min_length=1, max_length=200)]


class DeviceToken(BaseModel):
    """The token of a confirmed login; its text is shown only this once."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105
    scope: str
    expires_at: datetime
    username: str
    token_name: str


class UserCodeIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    user_code: UserCode


class WaitingDevice(BaseModel):
    """A login that waits for this user's decision. `device` is as the program reports it, `ip` the
    address from which it asked; `same_network` if this request comes from the same address (in
    IPv6, from the same /64). `max_days` is the longest lifetime of its token.
    """

    device: str
    ip: str
    same_network: bool
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime
    max_days: int


class DeviceApproval(UserCodeIn):
    expires_in_days: Annotated[int, Field(strict=True, ge=1, le=100_000)]


@router.post("", status_code=201, dependencies=[Anyone, NoToken])
async def start_device_login(
    body: DeviceLoginIn, response: Response, context: ContextDep, caller: CallerDep
) -> DeviceLoginOut:
    """Start a login of a program, which its user confirms in the browser within ten minutes."""
    request = DeviceRequest(device=body.device.strip(), scopes=frozenset(body.scopes))
    codes = await device_logins.start(context.db, context.settings, request, caller)
    page = f"{context.settings.public_url}{PAGE}"
    response.headers["Cache-Control"] = "no-store"
    return DeviceLoginOut(
        device_code=codes.device_code,
        user_code=codes.user_code,
        verification_uri=page,
        verification_uri_complete=f"{page}#{codes.user_code}",
        expires_in=int(LIFETIME.total_seconds()),
        interval=int(INTERVAL.total_seconds()),
    )


@router.post("/token", dependencies=[Anyone, NoToken])
async def collect_device_token(
    body: DeviceCodeIn, response: Response, context: ContextDep, caller: CallerDep
) -> DeviceToken:
    """Return the program's access token, once.

    Until the user has decided, the error is `authorization-pending`, or `slow-down` for a program
    that polls too often; then `access-denied` or `expired-token`. The member `error` has RFC 8628's
    spelling.
    """
    token, text, user = await device_logins.collect(
        context.db, context.settings, body.device_code, caller
    )
    response.headers["Cache-Control"] = "no-store"
    return DeviceToken(
        access_token=text,
        scope=" ".join(token.scopes),
        expires_at=token.expires_at,
        username=user.username,
        token_name=token.name,
    )


@router.post("/find")
async def find_device_login(
    body: UserCodeIn, session: CurrentWebSession, context: ContextDep, caller: CallerDep
) -> WaitingDevice:
    """Return the program that waits with this code, for its user's decision."""
    settings = context.settings
    login = await device_logins.find(context.db, settings, session, body.user_code, caller)
    return WaitingDevice(
        device=login.device,
        ip=login.ip,
        same_network=login.network == network_of(caller.ip),
        scopes=[Scope(scope) for scope in login.scopes],
        created_at=login.created_at,
        expires_at=login.expires_at,
        max_days=settings.access_token_max_days,
    )


@router.post("/approve", status_code=204)
async def approve_device_login(
    body: DeviceApproval,
    session: CurrentWebSession,
    _user: ReenteredPasswordUser,
    context: ContextDep,
    caller: CallerDep,
) -> Response:
    """Confirm a program's login: it gets an access token. A token cannot confirm one."""
    await device_logins.approve(
        context.db, context.settings, session, body.user_code, body.expires_in_days, caller
    )
    return Response(status_code=204)


@router.post("/deny", status_code=204)
async def deny_device_login(
    body: UserCodeIn, session: CurrentWebSession, context: ContextDep, caller: CallerDep
) -> Response:
    """Refuse a program's login."""
    await device_logins.deny(context.db, context.settings, session, body.user_code, caller)
    return Response(status_code=204)
