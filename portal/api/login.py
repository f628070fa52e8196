"""Logging in and out, who is logged in, and the password given again or changed."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import HTTPConnection

from portal import models
from portal.api.deps import (
    Anyone,
    ClientIp,
    CurrentUser,
    CurrentWebSession,
    DatabaseDep,
    FreshPassword,
    PeopleDep,
    SettingsDep,
    password_is_fresh,
)
from portal.ldap import MAX_PASSWORD_LENGTH, MAX_USERNAME_LENGTH
from portal.services import accounts
from portal.services.accounts import Accounts, Caller
from portal.services.people import groups_of

router = APIRouter(tags=["login"])


class User(BaseModel):
    """Someone who may use the portal."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    username: str
    display_name: str
    email: str | None
    role: models.Role
    last_login_at: datetime | None


class Me(User):
    """The caller. `password_fresh`: sensitive acts won't ask for the password again."""

    password_fresh: bool


class LoginRequest(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=False, extra="forbid")

    username: str = Field(min_length=1, max_length=MAX_USERNAME_LENGTH)
    password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


class ReauthRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


class PasswordChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    current_password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)
    new_password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


def _accounts(connection: HTTPConnection) -> Accounts:
    found: Accounts = connection.app.state.accounts
    return found


def _caller(request: Request, ip: ClientIp) -> Caller:
    return Caller(ip=ip, user_agent=request.headers.get("user-agent", "")[:300])


AccountsDep = Annotated[Accounts, Depends(_accounts)]
CallerDep = Annotated[Caller, Depends(_caller)]


@router.post("/login", dependencies=[Anyone])
async def login(
    body: LoginRequest,
    response: Response,
    settings: SettingsDep,
    service: AccountsDep,
    caller: CallerDep,
) -> User:
    """Check the password with the directory and set the cookie."""
    user, token = await accounts.login(service, body.username.strip(), body.password, caller)
    response.set_cookie(
        settings.cookie_name,
        token,
        max_age=int(settings.web_session_hours * 3600),
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )
    response.headers["Cache-Control"] = "no-store"
    return User.model_validate(user)


@router.post("/logout", status_code=204, dependencies=[Anyone])
async def logout(
    request: Request,
    response: Response,
    settings: SettingsDep,
    database: DatabaseDep,
    caller: CallerDep,
) -> None:
    """End the web session, if there is one, and forget the cookie."""
    token = request.cookies.get(settings.cookie_name, "")
    session = await accounts.resume(database, settings, token, touch=False)
    if session is not None:
        await accounts.logout(database, session, caller)
    response.delete_cookie(
        settings.cookie_name,
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


@router.get("/me")
async def me(session: CurrentWebSession, settings: SettingsDep) -> Me:
    """Who is logged in."""
    user = User.model_validate(session.user)
    return Me(**user.model_dump(), password_fresh=password_is_fresh(session, settings))


class MyGroups(BaseModel):
    """The groups of the caller, as the directory named them at `as_of`."""

    items: list[str]
    as_of: datetime | None


@router.get("/me/groups")
async def my_groups(user: CurrentUser, database: DatabaseDep, people: PeopleDep) -> MyGroups:
    """The caller's groups in the directory: those a TensorBoard can be shared with."""
    await people.freshen(user.id, user.username, user.groups_at)
    names, as_of = await groups_of(database, user.id)
    return MyGroups(items=names, as_of=as_of)


@router.post("/reauth", status_code=204)
async def reauth(
    body: ReauthRequest, session: CurrentWebSession, service: AccountsDep, caller: CallerDep
) -> None:
    """Give the password again, for acts that ask for it."""
    await accounts.confirm_password(service, session, body.password, caller)


@router.post("/me/password", status_code=204)
async def change_password(
    body: PasswordChange,
    session: CurrentWebSession,
    _user: FreshPassword,
    service: AccountsDep,
    caller: CallerDep,
) -> None:
    """Set a new password in the directory; other browsers are logged out."""
    await accounts.change_password(
        service, session, body.current_password, body.new_password, caller
    )
