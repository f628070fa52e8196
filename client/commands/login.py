"""`login`, `logout` and `whoami`."""

from __future__ import annotations

import platform
import time
from typing import Annotated, Literal

import typer

from .. import operations
from ..config import SavedLogin, load_logins, save_logins
from ..connection import ConnectionLost
from ..errors import ClientError, NotLoggedIn, RefusedByPortal
from ..models import GrantedToken, StartedDeviceLogin
from ..text import format_time, to_line
from .browser import open_page
from .options import CommandContext, JsonOption, PortalOption, open_context

MAX_DEVICE = 60
PENDING = "authorization-pending"
SLOW_DOWN = "slow-down"
SLOWER_S = 5


def login(
    portal: PortalOption = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    scope: Annotated[
        Literal["ssh"] | None,
        typer.Option("--scope", help="A further permission of this login."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Log in at a portal. You confirm it in the browser; no password is typed here."""
    context = open_context(portal, as_json=as_json)
    scopes = [*operations.SCOPES, *([scope] if scope else [])]
    started = context.anonymous.call(
        operations.START_LOGIN,
        body={"device": device_name(), "scopes": scopes},
    )
    _show_code(context, started, browser=browser)
    granted = wait_for_token(context, started)
    saved = SavedLogin(
        granted.access_token, granted.username, granted.expires_at, granted.token_name
    )
    path = context.config
    before = load_logins(path)
    save_logins(path, before.with_login(context.url, saved))
    _revoke_replaced(context, before.logins.get(context.url))
    value = {
        "portal": context.url,
        "username": granted.username,
        "expires_at": granted.expires_at,
        "token_name": granted.token_name,
    }
    end = format_time(granted.expires_at)
    context.output.event(value)
    context.output.note(f"Logged in at {context.url} as {granted.username}, until {end}.")


def logout(portal: PortalOption = None, as_json: JsonOption = False) -> None:
    """Log out: revoke the token of this computer, and forget it."""
    context = open_context(portal, as_json=as_json)
    saved = load_logins(context.config)
    if context.url not in saved.logins:
        raise NotLoggedIn(f"You are not logged in at {context.url}.")
    try:
        # the saved token, even if DSP_TOKEN_FILE names another one
        context.connect(saved.logins[context.url].token).call(operations.REVOKE_TOKEN)
    except NotLoggedIn:
        context.output.note("The token was already revoked or has expired.")
    save_logins(context.config, saved.without(context.url))
    context.output.result({"portal": context.url}, f"Logged out at {context.url}.")


def whoami(portal: PortalOption = None, as_json: JsonOption = False) -> None:
    """Show the portal and the user of the saved login."""
    context = open_context(portal, as_json=as_json)
    account = context.connection.call(operations.GET_ACCOUNT)
    value = {"portal": context.url, "username": account.username}
    context.output.result(value, f"{account.username} at {context.url}")


def device_name(node: str | None = None) -> str:
    """Return the name of this program and computer for the page and the token."""
    host = to_line(node if node is not None else platform.node()).split(".")[0]
    return f"dsp on {host or 'a computer'}"[:MAX_DEVICE]


def wait_for_token(context: CommandContext, started: StartedDeviceLogin) -> GrantedToken:
    """Poll until the user has decided. Raises RefusedByPortal after a refusal or the end."""
    interval: float = started.interval
    deadline = time.monotonic() + started.expires_in
    while time.monotonic() < deadline:
        time.sleep(interval)
        try:
            return context.anonymous.call(
                operations.COLLECT_TOKEN, body={"device_code": started.device_code}
            )
        except ConnectionLost as error:
            context.output.note(f"{error.detail} Retrying.")
        except RefusedByPortal as error:
            if error.kind == SLOW_DOWN:
                interval += SLOWER_S
            elif error.kind != PENDING:
                raise
    raise RefusedByPortal("The login was not confirmed in time.", "Run: dsp login")


def _revoke_replaced(context: CommandContext, replaced: SavedLogin | None) -> None:
    """Revoke the token of the former login at this portal; the new login is saved already."""
    if replaced is None:
        return
    try:
        context.connect(replaced.token).call(operations.REVOKE_TOKEN)
    except NotLoggedIn:
        return  # it has expired, or was revoked
    except ClientError as error:
        context.output.note(
            f"The token {replaced.token_name} of the former login is still valid: {error.detail} "
            "Revoke it on the page Your account."
        )


def _show_code(context: CommandContext, started: StartedDeviceLogin, *, browser: bool) -> None:
    note = context.output.note
    context.output.event(
        {
            "verification_uri": started.verification_uri,
            "user_code": started.user_code,
            "expires_in": started.expires_in,
        }
    )
    note(f"Confirm the login in your browser: {started.verification_uri}")
    note(f"Enter this code there: {started.user_code}")
    # without the code: other users can see the arguments of the browser's process
    if browser:
        open_page(started.verification_uri)
