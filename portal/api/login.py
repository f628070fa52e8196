"""Routes of login and logout, the caller's account, and confirming or changing the password."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from portal import models
from portal.config.settings import Settings
from portal.db import utcnow
from portal.directory.contract import MAX_PASSWORD_LENGTH, MAX_USERNAME_LENGTH
from portal.services.auth import authentication, known_browsers, web_sessions
from portal.services.auth.attempts import Caller
from portal.services.auth.authentication import LoggedIn
from portal.services.auth.second_factor import MAX_CODE_LENGTH
from portal.services.hashes import hash_token
from portal.services.identity.memberships import load_groups
from portal.services.identity.roles import load_managed_groups
from portal.web.content_host import set_cookie
from portal.web.dependencies import (
    Anyone,
    ChangingLogin,
    ClientIp,
    ContextDep,
    CurrentHalfLogin,
    CurrentIdentity,
    CurrentUser,
    CurrentWebSession,
    EnrollingSession,
    NoToken,
    ReenteredPasswordUser,
    SettingsDep,
)

router = APIRouter(tags=["login"])


class CurrentUserOut(BaseModel):
    """A user of the portal."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    username: str
    display_name: str
    email: str | None
    role: models.Role
    last_login_at: datetime | None


class Me(CurrentUserOut):
    """The caller.

    `login_id`: of the browser's login, null for a token. `password_fresh`: changes by
    administrators and group managers do not ask for the password now; those that grant a role or
    access to an account still do after a mere login. `manages`: the groups that they manage.
    """

    login_id: str | None
    password_fresh: bool
    manages: list[str]


class LoginOut(CurrentUserOut):
    """The result of a login.

    `password_change_required`: the password was correct and is valid for one change only, which
    must follow; the other fields then do not apply. `second_factor`: `none`, the login is complete;
    `required`, a code must follow; `enrolment-required`, nothing works until a second factor has
    been set up. `second_factor_was_reset`: an administrator has removed it. `login_id`: the
    login's, as in `GET /me`.
    """

    login_id: str
    password_change_required: bool
    second_factor: Literal["none", "required", "enrolment-required"]
    second_factor_was_reset: bool


class LoginRequest(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=False, extra="forbid")

    username: str = Field(min_length=1, max_length=MAX_USERNAME_LENGTH)
    password: str = Field(min_length=1, max_length=MAX_PASSWORD_LENGTH)


class PasswordIn(BaseModel):
    """The one-time password again, and its replacement."""

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


async def _to_caller(request: Request, ip: ClientIp, settings: SettingsDep) -> Caller:
    return Caller(
        ip=ip,
        user_agent=request.headers.get("user-agent", "")[:300],
        browser_cookie=request.cookies.get(settings.device_cookie, ""),
    )


CallerDep = Annotated[Caller, Depends(_to_caller)]


@router.post("/login", dependencies=[Anyone, NoToken])
async def login(
    body: LoginRequest, response: Response, context: ContextDep, caller: CallerDep
) -> LoginOut:
    """Check the password with the directory and set the cookie.

    `password_change_required` and `second_factor` show whether the login is complete: with
    `required` a code must follow within five minutes.
    """
    result = await authentication.login(context, body.username.strip(), body.password, caller)
    return _respond(response, context.settings, result, caller)


@router.post("/login/password")
async def login_with_new_password(
    body: PasswordIn,
    half: ChangingLogin,
    response: Response,
    context: ContextDep,
    caller: CallerDep,
) -> LoginOut:
    """Continue a login that answered `password_change_required`, within five minutes.

    Changes the password in the directory, and logs in with the new one. A second factor may still
    follow.
    """
    result = await authentication.login_with_new_password(
        context, half, body.current_password, body.new_password, caller
    )
    return _respond(response, context.settings, result, caller)


@router.post("/login/second-factor")
async def login_second_factor(
    body: CodeIn, half: CurrentHalfLogin, response: Response, context: ContextDep, caller: CallerDep
) -> LoginOut:
    """Complete a login with a code of the authenticator app, or with a recovery code."""
    result = await authentication.complete_login(context, half, body.code, caller)
    return _respond(response, context.settings, result, caller)


def _respond(response: Response, settings: Settings, result: LoggedIn, caller: Caller) -> LoginOut:
    """Set the cookies and headers of a login, and return its result.

    The cookie of a half login, which still needs a code or a new password, is valid for minutes.
    """
    half = result.next in {authentication.Next.CODE, authentication.Next.PASSWORD}
    whole_s = int(settings.web_session_hours * 3600)
    half_s = int(web_sessions.HALF_LOGIN.total_seconds())
    set_cookie(response, settings, settings.cookie_name, result.token, half_s if half else whole_s)
    if not half:
        username, cookie = result.user.username, caller.browser_cookie
        value = known_browsers.issue(settings, username, cookie, utcnow())
        lifetime_s = int(known_browsers.LIFETIME.total_seconds())
        set_cookie(response, settings, settings.device_cookie, value, lifetime_s)
    response.headers["Cache-Control"] = "no-store"
    user = CurrentUserOut.model_validate(result.user).model_dump()
    must_change = result.next is authentication.Next.PASSWORD
    return LoginOut(
        **user,
        login_id=web_sessions.derive_login_id(hash_token(result.token)),
        password_change_required=must_change,
        second_factor="none" if must_change else result.next.value,
        second_factor_was_reset=result.shows_reset_notice,
    )


@router.post("/logout", status_code=204, dependencies=[Anyone, NoToken])
async def logout(
    request: Request, response: Response, context: ContextDep, caller: CallerDep
) -> None:
    """End the web session, if there is one, and delete the cookie."""
    settings = context.settings
    token = request.cookies.get(settings.cookie_name, "")
    session = await web_sessions.resume_any(context.db, settings, token, touch=False)
    if session is not None:
        await authentication.logout(context.db, session, caller)
    else:
        await web_sessions.forget_half_login(context.db, token)
    response.delete_cookie(
        settings.cookie_name,
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


@router.get("/me")
async def me(user: CurrentUser, who: CurrentIdentity, context: ContextDep) -> Me:
    """Return the logged-in user, or the owner of the access token."""
    fresh = who.session is not None and web_sessions.is_password_fresh(
        who.session, context.settings
    )
    shown = CurrentUserOut.model_validate(user).model_dump()
    login_id = web_sessions.derive_login_id(who.session.token_hash) if who.session else None
    manages = await load_managed_groups(context.db, user.id)
    return Me(**shown, login_id=login_id, password_fresh=fresh, manages=manages)


class MyGroups(BaseModel):
    """The caller's groups, as read from the directory at `as_of`."""

    items: list[str]
    as_of: datetime | None


@router.get("/me/groups")
async def my_groups(user: CurrentUser, context: ContextDep) -> MyGroups:
    """Return the caller's groups in the directory, with which a TensorBoard can be shared."""
    await context.directory_users.refresh_if_old(user.id, user.username, user.groups_at)
    names, as_of = await load_groups(context.db, user.id)
    return MyGroups(items=names, as_of=as_of)


@router.post("/reauth", status_code=204)
async def reauth(
    body: ReauthRequest, session: EnrollingSession, context: ContextDep, caller: CallerDep
) -> None:
    """Confirm the password, for operations that require it."""
    await authentication.confirm_password(context, session, body.password, caller)


@router.post("/me/password", status_code=204)
async def change_password(
    body: PasswordChange,
    session: CurrentWebSession,
    _user: ReenteredPasswordUser,
    context: ContextDep,
    caller: CallerDep,
) -> None:
    """Set a new password in the directory; other browsers are logged out."""
    await authentication.change_password(
        context, session, body.current_password, body.new_password, caller
    )
