"""What the page of JupyterLab asks its own server about the session: `…/portal/session`.

The server asks the portal in its turn, with the session's secret, which stays here: so the page
needs no login at the portal, and JupyterLab may be on another host than the portal's pages. The
page's requests for news don't count as work in the session.
"""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

from spawner.node.desk import NO_PORTAL, Desk, refusal
from spawner.node.home import HomeError

SETTING = "portal_desk"
FACTS = r"/portal/session"
KEEP = r"/portal/session/keep"
EXTEND = r"/portal/session/extend"
TENSORBOARD = r"/portal/session/tensorboard"


class PortalHandler(APIHandler):  # type: ignore[misc]
    """Shared by them all: who may ask, and what goes wrong."""

    @property
    def desk(self) -> Desk:
        """What session.py has put into the server's settings."""
        desk: Desk = self.settings[SETTING]
        return desk

    def tell(self, value: dict[str, Any], status: int = 200) -> None:
        """Answer, and have nothing of it kept."""
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(value))

    async def pass_on(self, method: str, act: str, body: dict[str, Any] | None = None) -> None:
        """Ask the portal, and answer with what it says."""
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
    """GET: `{"facts": what the portal says | null, "problem": why not | null, "use": what the node
    says, "kept": whether its owner keeps it though nothing runs}`."""

    @authenticated
    async def get(self) -> None:
        """Tell what is known now; the portal's silence is no failure of this."""
        facts, problem = await self._facts()
        use = await self.desk.meter.use()
        told = {"facts": facts, "problem": problem, "use": use.as_json()}
        self.tell({**told, "kept": self.desk.rest.kept})

    async def _facts(self) -> tuple[dict[str, Any] | None, str | None]:
        try:
            answer = await self.desk.ask("GET", "facts")
        except HomeError:
            return None, NO_PORTAL
        return (answer.body, None) if answer.status == 200 else (None, refusal(answer)[1])

    def update_api_activity(self) -> None:
        """A page that only looks keeps no idle session alive."""


class SessionExtend(PortalHandler):
    """POST `{"minutes": n}`: the facts, with the new end."""

    @authenticated
    async def post(self) -> None:
        """Ask for more time; the portal decides, and judges what was sent."""
        sent = self.get_json_body()
        minutes = sent.get("minutes") if isinstance(sent, dict) else None
        await self.pass_on("POST", "extend", {"minutes": minutes})


class SessionKeep(PortalHandler):
    """PUT: let nobody be asked again whether it is still needed, until it was busy again."""

    @authenticated
    async def put(self) -> None:
        """Kept here, for every tab and browser that has this JupyterLab open."""
        self.desk.rest.kept = True
        self.tell({"kept": True})


class SessionTensorboard(PortalHandler):
    """PUT: the session's TensorBoard, started if it doesn't run."""

    @authenticated
    async def put(self) -> None:
        """Have it started; the page of the portal waits for it."""
        await self.pass_on("PUT", "tensorboard")


HANDLERS = [
    (FACTS, SessionFacts),
    (KEEP, SessionKeep),
    (EXTEND, SessionExtend),
    (TENSORBOARD, SessionTensorboard),
]
