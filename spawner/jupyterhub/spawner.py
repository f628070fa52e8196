"""JupyterHub's spawner for servers that the portal starts.

The portal owns every session; the hub only adopts them. So the spawner is thin: it calls the portal
over loopback, and a portal that doesn't answer never counts as "gone".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from jupyterhub.spawner import Spawner, SpawnException
from traitlets import List, Unicode

from spawner.jupyterhub.internal_client import (
    ASK_TIMEOUT_S,
    InternalClient,
    InternalResponse,
    PortalAway,
    adopt_request_id,
    retry_pauses,
)

START_TIMEOUT_S = 70.0
"""The portal holds a start request until the node's port accepts connections, up to 60 s."""
STARTING_S = 30.0
"""By then a portal that starts together with the hub is up."""
STARTING_PAUSE_S = 0.3


class PortalSpawner(Spawner):  # type: ignore[misc]
    """Server that the portal starts, watches and stops.

    The portal involves the hub only once the session's node program has called back, so `start`
    takes seconds at most. The data needed to adopt it again after a kill -9 is saved before any
    waiting.
    """

    portal_urls = List(Unicode(), config=True, help="The portals' addresses on loopback.")
    internal_secret = Unicode(config=True, help="The secret of the portal's /internal routes.")

    node_url = ""
    """Address at which the hub checks the server, once the portal has supplied it."""

    @property
    def _portal(self) -> InternalClient:
        return InternalClient(self.portal_urls, self.internal_secret)

    @property
    def _path(self) -> str:
        return f"/internal/servers/{quote(self.user.name, safe='')}/{quote(self.name, safe='')}"

    def get_state(self) -> dict[str, Any]:
        """Return the state to save. The hub calls this after `start`, this class also before it."""
        state: dict[str, Any] = super().get_state()
        if self.api_token:
            state |= {"api_token": self.api_token, "node_url": self.node_url}
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        super().load_state(state)
        self.api_token = state.get("api_token", "")
        self.node_url = state.get("node_url", "")

    def clear_state(self) -> None:
        super().clear_state()
        self.node_url = ""

    async def start(self) -> str:
        """Pass the server's environment variables to the portal and return the server's URL.

        Raises SpawnException when the portal refuses. While the portal is away, retry until the
        hub's start_timeout cancels the call.
        """
        adopt_request_id(self.handler)
        self._save()
        self.node_url = await self._hand_over()
        self._save()
        return self.node_url

    async def poll(self) -> int | None:
        """Return None if the server runs or its state is unknown, else 0.

        Never raises, because the hub would take that as stopped. After a start the hub first polls
        each known server, and serves nothing else until it is done; for a server that has ended it
        tries to connect for a long time. So in that phase, wait: the portal may be starting at the
        same time.
        """
        try:
            response = await self._ask_until(STARTING_S if self._is_first_check else 0.0)
        except PortalAway as error:
            self.log.warning("Cannot check whether %s runs: %s", self._log_name, error)
            return None
        if response.status == 404 or (
            response.status == 200 and response.body.get("alive") is False
        ):
            return 0
        return None

    @property
    def _is_first_check(self) -> bool:
        """Return whether the hub has just started and is checking the known servers.

        JupyterHub 6.1 has no public attribute for this; if the private one is missing, nothing
        waits.
        """
        return bool(getattr(self, "_check_pending", False))

    async def _ask_until(self, patience_s: float) -> InternalResponse:
        """Return the portal's answer about this server; raise PortalAway after `patience_s`."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                return await self._portal.request("GET", self._path, timeout_s=ASK_TIMEOUT_S)
            except PortalAway:
                if time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(STARTING_PAUSE_S)

    async def get_url(self) -> str:
        """Return the server's URL; called only after a restart of the hub.

        If the hub died before the portal confirmed the start, pass on the variables now, with the
        same token.
        """
        if not self.node_url:
            try:
                async with asyncio.timeout(self.start_timeout):
                    self.node_url = await self._hand_over()
                self._save()
            except (SpawnException, TimeoutError) as error:
                self.log.warning("%s could not be adopted: %s", self._log_name, error)
                return str(self.server.url)
        return self.node_url + str(self.server.base_url)

    async def stop(self, now: bool = False) -> None:
        """Notify the portal that the hub no longer uses the server.

        The portal owns the job and ends it even if this request never arrives, so a failure is only
        logged.
        """
        try:
            response = await self._portal.request("DELETE", self._path, timeout_s=ASK_TIMEOUT_S)
        except PortalAway as error:
            self.log.warning(
                "Could not report to the portal that %s stops: %s", self._log_name, error
            )
            return
        if response.status >= 400 and response.status != 404:
            self.log.warning("The portal did not stop %s: %s", self._log_name, response.detail)

    async def _hand_over(self) -> str:
        """Repeat the idempotent PUT until the portal returns the server's address."""
        body = {
            "env": self.get_env(),
            "args": self.get_args(),
            "base_url": self.server.base_url,
        }
        pauses = retry_pauses()
        while True:
            try:
                response = await self._portal.request(
                    "PUT", self._path, json=body, timeout_s=START_TIMEOUT_S
                )
            except PortalAway as error:
                self.log.warning("Waiting for the portal to start %s: %s", self._log_name, error)
                await asyncio.sleep(next(pauses))
            else:
                url = build_server_url(response, str(self.hub.url))
                # It already runs, with another token (this hub had given it up, or lost its
                # database): adopt that token, and the hub registers it after `start`.
                self.api_token = str(response.body.get("api_token") or self.api_token)
                return url

    def _save(self) -> None:
        """Save the state now; by itself the hub would do so only after `start` has returned."""
        self.orm_spawner.state = self.get_state()
        self.user.db.commit()


def build_server_url(response: InternalResponse, hub_url: str) -> str:
    """Return the URL at which the hub checks the server.

    With TLS this is the hub's own address, because only the portal can verify the server's
    certificate. Raises SpawnException if the portal refused.
    """
    url = response.body.get("url")
    if response.status != 200 or not isinstance(url, str):
        raise SpawnException(response.detail, reason="refused")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not parts.port:
        raise SpawnException("the portal returned no usable address", reason="address")
    parts = urlsplit(hub_url) if parts.scheme == "https" else parts
    return f"{parts.scheme}://{parts.netloc}"
