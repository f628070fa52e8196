"""Logging in and out, who is logged in, and the password given again or changed."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from portal import models
from portal.api.deps import (
    AccountsDep,
    Anyone,
    ChangingLogin,
    ClientIp,
    CurrentHalfLogin,
    CurrentIdentity,
    CurrentUser,
    CurrentWebSession,
    DatabaseDep,
    FreshPassword,
    NoToken,
    PeopleDep,
    SettingsDep,
    password_is_fresh,
)
from portal.directory.contract import MAX_PASSWORD_LENGTH, MAX_USERNAME_LENGTH
from portal.services.login import accounts, web_sessions
from portal.services.login.accounts import LoggedIn
from portal.services.login.attempts import Caller
from portal.services.login.second_factor import MAX_CODE_LENGTH
from portal.services.people.people import groups_of
from portal.services.people.roles import led_by
from portal.settings import Settings

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
    """The caller. `password_fresh`: sensitive acts won't ask for the password again. `leads`: the
    groups whose leader they are."""

    password_fresh: bool
    leads: list[str]


class LoginOut(User):
    """Who has logged in. `password_change_required`: the password was right and is good for one
    change only, which must follow; then nothing else here counts. `second_factor`: `none`, that
    was all; `required`, a code must follow; `enrolment-required`, nothing works until a second
    factor has been set up. `second_factor_was_reset`: an administrator has taken it away."""

    password_change_required: bool
    second_factor: Literal["none", "required", "enrolment-required"]
    second_factor_was_reset: bool


class LoginRequest(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=False, extra="forbid")

    username: str = Field(min_length=1, max_length=MAX_USERNAME_LENGTH)
    password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


class PasswordIn(BaseModel):
    """The password that is good for one change, again, and the one that takes its place."""

    model_config = ConfigDict(extra="forbid")

    current_password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)
    new_password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


class CodeIn(BaseModel):
    """Six digits of the authenticator app, or a recovery code."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, max_length=MAX_CODE_LENGTH)


class ReauthRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


class PasswordChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    current_password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)
    new_password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


def _caller(request: Request, ip: ClientIp) -> Caller:
    return Caller(ip=ip, user_agent=request.headers.get("user-agent", "")[:300])


CallerDep = Annotated[Caller, Depends(_caller)]


@router.post("/login", dependencies=[Anyone, NoToken])
async def login(
    body: LoginRequest,
    response: Response,
    settings: SettingsDep,
    service: AccountsDep,
    caller: CallerDep,
) -> LoginOut:
    """Check the password with the directory and set the cookie. `password_change_required` and
    `second_factor` say whether that was all: with `required` a code must follow within five
    minutes."""
    found = await accounts.login(service, body.username.strip(), body.password, caller)
    return _let_in(response, settings, found)


@router.post("/login/password")
async def login_with_new_password(
    body: PasswordIn,
    half: ChangingLogin,
    response: Response,
    settings: SettingsDep,
    service: AccountsDep,
    caller: CallerDep,
) -> LoginOut:
    """Go on with a login that answered `password_change_required`, within five minutes: change the
    password in the directory, and log in with the new one. A second factor may still follow."""
    found = await accounts.login_with_new_password(
        service, half, body.current_password, body.new_password, caller
    )
    return _let_in(response, settings, found)


@router.post("/login/second-factor")
async def login_second_factor(
    body: CodeIn,
    half: CurrentHalfLogin,
    response: Response,
    settings: SettingsDep,
    service: AccountsDep,
    caller: CallerDep,
) -> LoginOut:
    """Complete a login with a code of the authenticator app, or with a recovery code."""
    found = await accounts.complete_login(service, half, body.code, caller)
    return _let_in(response, settings, found)


def _let_in(response: Response, settings: Settings, found: LoggedIn) -> LoginOut:
    """The cookie, and what the browser is told."""
    half = found.next in {accounts.Next.CODE, accounts.Next.PASSWORD}
    whole_s = int(settings.web_session_hours * 3600)
    response.set_cookie(
        settings.cookie_name,
        found.token,
        max_age=int(web_sessions.HALF_LOGIN.total_seconds()) if half else whole_s,
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )
    response.headers["Cache-Control"] = "no-store"
    user = User.model_validate(found.user).model_dump()
    changes = found.next is accounts.Next.PASSWORD
    return LoginOut(
        **user,
        password_change_required=changes,
        second_factor="none" if changes else found.next.value,
        second_factor_was_reset=found.told_reset,
    )


@router.post("/logout", status_code=204, dependencies=[Anyone, NoToken])
async def logout(
    request: Request,
    response: Response,
    settings: SettingsDep,
    database: DatabaseDep,
    caller: CallerDep,
) -> None:
    """End the web session, if there is one, and forget the cookie."""
    token = request.cookies.get(settings.cookie_name, "")
    session = await web_sessions.resume_any(database, settings, token, touch=False)
    if session is not None:
        await accounts.logout(database, session, caller)
    else:
        await web_sessions.forget_half_login(database, token)
    response.delete_cookie(
        settings.cookie_name,
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


@router.get("/me")
async def me(
    user: CurrentUser, who: CurrentIdentity, settings: SettingsDep, database: DatabaseDep
) -> Me:
    """Who is logged in, or whose access token this is."""
    fresh = who.session is not None and password_is_fresh(who.session, settings)
    shown = User.model_validate(user).model_dump()
    return Me(**shown, password_fresh=fresh, leads=await led_by(database, user.id))


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
