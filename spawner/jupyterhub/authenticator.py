"""JupyterHub's login by the portal's cookie, and the hub's pages that the portal replaces.

The portal owns all user data. A portal that doesn't answer never counts as "logged out".
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from jupyterhub.auth import Authenticator
from jupyterhub.handlers import BaseHandler, LogoutHandler
from traitlets import List, Unicode

from spawner.jupyterhub.internal_client import (
    ASK_TIMEOUT_S,
    InternalClient,
    PortalAway,
    adopt_request_id,
    retry_pauses,
)

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
LOGIN_WAIT_S = 20.0
"""By then a portal that is being restarted is up again; a browser's login waits that long."""

PORTAL_UNREACHABLE = (
    "The portal doesn't answer. This page reloads automatically."
    " 门户没有响应。此页面会自动重新打开。"
)


class PortalAuthenticator(Authenticator):  # type: ignore[misc]
    """Forward authentication: the portal identifies the user by the portal's cookie."""

    portal_urls = List(Unicode(), config=True, help="The portals' addresses on loopback.")
    internal_secret = Unicode(config=True, help="The secret of the portal's /internal routes.")
    public_url = Unicode(config=True, help="The address in the browser, without a final slash.")
    cookie_name = Unicode(
        "portal_session", config=True, help="The name of the portal's cookie on JupyterLab's host."
    )
    content_login_url = Unicode(
        config=True,
        help="Where to log in if JupyterLab is on another host than the portal (a content host); "
        "empty: the portal's login page.",
    )

    @property
    def _portal(self) -> InternalClient:
        return InternalClient(self.portal_urls, self.internal_secret)

    def login_url(self, base_url: str) -> str:
        """Return the login URL, which must differ from /hub/login, because that redirects here."""
        return f"{base_url.rstrip('/')}/portal-login"

    def get_handlers(self, app: Any) -> list[tuple[str, type[BaseHandler]]]:
        """Return handlers that precede the hub's own.

        The hub's pages for starting servers and making tokens redirect to the portal, which
        provides both.
        """
        return [
            ("/portal-login", PortalLoginHandler),
            ("/logout", PortalLogoutHandler),
            (
                r"/(?:home|spawn(?:-pending)?(?:/.*)?|token|admin(?:/.*)?|shares?/.*)?",
                PortalRedirectHandler,
            ),
        ]

    async def authenticate(self, handler: BaseHandler, data: Any) -> dict[str, Any] | None:
        """Return the user of the request's portal cookie, or None.

        Raises PortalAway.

        Users are never admins of the hub: the portal's administrators act through the portal.
        """
        adopt_request_id(handler)
        name = await self.find_username(handler)
        return {"name": name, "admin": False} if name else None

    async def refresh_user(self, user: Any, handler: BaseHandler | None = None) -> bool:
        """Return whether the user is still active and, in a browser, the same as before.

        Called at most once a second per user. An unreachable portal is not a logout.
        """
        adopt_request_id(handler)
        try:
            if handler is not None and self._is_from_browser(handler):
                return bool(await self.find_username(handler) == user.name)
            return await self._is_active(user.name)
        except PortalAway as error:
            self.log.warning("%s stays logged in unchecked: %s", user.name, error)
            return True

    async def find_username(self, handler: BaseHandler) -> str | None:
        """Return the user of the portal's cookie, the only one that is passed on.

        Raises PortalAway.
        """
        value = handler.get_cookie(self.cookie_name)
        if not value or not re.fullmatch(r"[A-Za-z0-9_.~=+/-]{1,512}", value):
            return None
        response = await self._portal.request(
            "GET",
            "/internal/whoami",
            timeout_s=ASK_TIMEOUT_S,
            cookie=f"{self.cookie_name}={value}",
            host=handler.request.host,
        )
        name = response.body.get("name")
        if response.status == 200 and isinstance(name, str) and USERNAME.fullmatch(name):
            return name
        if response.status not in (200, 401, 403):
            raise PortalAway(f"whoami returned status {response.status}")
        return None

    async def _is_active(self, username: str) -> bool:
        path = f"/internal/users/{quote(username, safe='')}"
        response = await self._portal.request("GET", path, timeout_s=ASK_TIMEOUT_S)
        if response.status == 404:
            return False
        if response.status != 200:
            raise PortalAway(f"{path} returned status {response.status}")
        return response.body.get("active") is True

    def _is_from_browser(self, handler: BaseHandler) -> bool:
        return not getattr(handler, "_token_authenticated", False)


class PortalLoginHandler(BaseHandler):  # type: ignore[misc]
    """Login page of the hub, to which it sends unauthenticated users."""

    async def get(self) -> None:
        """Log in a user known to the portal; redirect others to the portal's login page.

        From there they return to the page they requested. Only its path is passed on, so that no
        link can redirect to another site.
        """
        try:
            user = await self._wait_for_user()
        except PortalAway as error:
            self.log.warning("No login: %s", error)
            self.set_status(503)
            self.set_header("Retry-After", "2")
            self.set_header("Refresh", "2")
            self.finish(PORTAL_UNREACHABLE)
            return
        if user is not None:
            self._jupyterhub_user = user
            self.redirect(self.get_next_url(user))
            return
        query = urlencode({"next": self._next_path()})
        begin = self.authenticator.content_login_url or f"{self.authenticator.public_url}/login"
        self.redirect(f"{begin}?{query}")

    async def _wait_for_user(self) -> Any:
        """Return the user, retrying while the portal is away, as it may be restarting.

        Raises PortalAway.
        """
        pauses, deadline = retry_pauses(), time.monotonic() + LOGIN_WAIT_S
        while True:
            pause = next(pauses)
            try:
                return await self.login_user()
            except PortalAway:
                if time.monotonic() + pause > deadline:
                    raise
            await asyncio.sleep(pause)

    def _next_path(self) -> str:
        url = urlsplit(str(self.get_next_url()))
        return url.path + (f"?{url.query}" if url.query else "")


class PortalLogoutHandler(LogoutHandler):  # type: ignore[misc]
    """Logout of the hub, to which the portal's logout leads; ends at the portal's login page."""

    async def render_logout_page(self) -> None:
        self.redirect(f"{self.authenticator.public_url}/login")


class PortalRedirectHandler(BaseHandler):  # type: ignore[misc]
    """Redirect from a hub page to the portal, which replaces it."""

    def get(self) -> None:
        self.redirect(f"{self.authenticator.public_url}/")
