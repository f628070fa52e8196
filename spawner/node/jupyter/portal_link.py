"""API for JupyterLab's page about its session:

`…/portal/session`.

The server forwards requests to the portal with the session's secret, which stays here: so the page
needs no login at the portal, and JupyterLab may be on another host than the portal's pages. Polling
by the page does not count as activity in the session.
"""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

from spawner.node.jupyter.handlers import NO_PORTAL, SessionSources, refusal
from spawner.node.portal_client import HomeError

SETTING = "portal_desk"
FACTS = r"/portal/session"
KEEP = r"/portal/session/keep"
EXTEND = r"/portal/session/extend"
TENSORBOARD = r"/portal/session/tensorboard"


class PortalHandler(APIHandler):  # type: ignore[misc]
    """Base class: access to the session's data, and error handling."""

    @property
    def desk(self) -> SessionSources:
        """Return the data sources from the server's settings, stored there by server.py."""
        desk: SessionSources = self.settings[SETTING]
        return desk

    def tell(self, value: dict[str, Any], status: int = 200) -> None:
        """Send an answer that must not be cached."""
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(value))

    async def pass_on(self, method: str, act: str, body: dict[str, Any] | None = None) -> None:
        """Forward a request to the portal, and send its answer."""
        try:
            answer = await self.desk.ask(method, act, body)
        except HomeError as error:
            self.log.warning("%s", error)
            self.tell({"message": NO_PORTAL}, 502)
            return
        if answer.status == 200:
            self.tell(answer.body)
            return
        status, message = refusal(answer)
        self.tell({"message": message}, status)


class SessionFacts(PortalHandler):
    """GET: the portal's facts and the node's measurements.

    The answer is `{"facts": the portal's answer | null, "problem": reason for null | null, "use":
    the node's measurements, "kept": whether the owner keeps it although it is idle}`.
    """

    @authenticated
    async def get(self) -> None:
        """Send the current data; an unreachable portal is not an error here."""
        facts, problem = await self._fetch_facts()
        use = await self.desk.meter.use()
        data = {"facts": facts, "problem": problem, "use": use.as_json()}
        self.tell({**data, "kept": self.desk.rest.kept})

    async def _fetch_facts(self) -> tuple[dict[str, Any] | None, str | None]:
        try:
            answer = await self.desk.ask("GET", "facts")
        except HomeError:
            return None, NO_PORTAL
        return (answer.body, None) if answer.status == 200 else (None, refusal(answer)[1])

    def update_api_activity(self) -> None:
        """Do nothing, so that an open page does not keep an idle session alive."""


class SessionExtend(PortalHandler):
    """POST `{"minutes": n}`: the facts, with the new end."""

    @authenticated
    async def post(self) -> None:
        """Request more time; the portal validates the request and decides."""
        sent = self.get_json_body()
        minutes = sent.get("minutes") if isinstance(sent, dict) else None
        await self.pass_on("POST", "extend", {"minutes": minutes})


class SessionKeep(PortalHandler):
    """PUT: suppress the question whether the session is still needed, until it was busy again."""

    @authenticated
    async def put(self) -> None:
        """Store this in the server, for every tab and browser with this JupyterLab."""
        self.desk.rest.kept = True
        self.tell({"kept": True})


class SessionTensorboard(PortalHandler):
    """PUT: the session's TensorBoard, started if it does not run.

    The output of `%tensorboard`, a magic of kernel_startup.py, sends `{"logdir": folder | null,
    "asked": when the cell ran}`.
    """

    @authenticated
    async def put(self) -> None:
        """Start it; the portal's page, or the frame in the notebook, waits for it."""
        logdir = self._accept_logdir(self.get_json_body())
        await self.pass_on("PUT", "tensorboard", {"logdir": logdir} if logdir else None)

    def _accept_logdir(self, sent: Any) -> str | None:
        logdir, asked_at = (
            (sent.get("logdir"), sent.get("asked")) if isinstance(sent, dict) else (None, None)
        )
        if not isinstance(logdir, str) or not isinstance(asked_at, int | float):
            return None
        return logdir if self.desk.accept_logdir(asked_at) else None


HANDLERS = [
    (FACTS, SessionFacts),
    (KEEP, SessionKeep),
    (EXTEND, SessionExtend),
    (TENSORBOARD, SessionTensorboard),
]
