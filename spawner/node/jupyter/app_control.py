"""The portal's requests about the session's apps: `…/portal/apps` and `…/portal/apps/NAME`.

They are signed with the session's secret, body included; no login opens them.
"""

from __future__ import annotations

import json
import time
from typing import Any

from tornado.web import HTTPError, RequestHandler

from spawner import guard
from spawner.node.apps.declared import AppInput, AppRefusal
from spawner.node.apps.session_apps import SessionApps

SETTING = "portal_apps"
SECRET = "portal_apps_secret"  # noqa: S105 - the setting's name
ALL = r"/portal/apps"
ONE = r"/portal/apps/([a-z0-9-]{1,20})"


class SignedHandler(RequestHandler):
    """Base class: checks the signature; answers have a proof that this is the session's server."""

    @property
    def apps(self) -> SessionApps:
        """Return the session's apps, stored in the settings by server.py."""
        apps: SessionApps = self.settings[SETTING]
        return apps

    def check_xsrf_cookie(self) -> None:
        """Do nothing: the signature is what admits a request."""

    def prepare(self) -> None:
        """Refuse a request that the portal did not sign."""
        key: str = self.settings[SECRET]
        signature = self.request.headers.get(guard.SIGNATURE_HEADER, "")
        target = guard.with_body(self.request.uri or "", self.request.body)
        if not guard.is_signed(key, self.request.method or "", target, signature, time.time()):
            raise HTTPError(403)
        self.set_header(guard.PROOF_HEADER, guard.prove(key, signature))

    def send_json(self, value: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))

    def send_refusal(self, refusal: AppRefusal) -> None:
        self.set_status(refusal.status)
        self.send_json({"detail": str(refusal), "field": refusal.field})


class AllApps(SignedHandler):
    """GET: all apps that the session offers."""

    def get(self) -> None:
        self.send_json({"apps": self.apps.list_all()})


class OneApp(SignedHandler):
    """PUT with an AppInput: start. DELETE: stop. POST: restart. The answer is the app."""

    def put(self, name: str) -> None:
        """Start it; the answer doesn't wait until it is ready."""
        try:
            self.apps.start(name, AppInput.parse(json.loads(self.request.body)))
        except AppRefusal as refusal:
            self.send_refusal(refusal)
            return
        self.send_json(self.apps.describe(name))

    async def delete(self, name: str) -> None:
        """Stop it."""
        try:
            await self.apps.stop(name)
        except AppRefusal as refusal:
            self.send_refusal(refusal)
            return
        self.send_json(self.apps.describe(name))

    async def post(self, name: str) -> None:
        """Stop it, and start it again."""
        try:
            await self.apps.restart(name)
        except AppRefusal as refusal:
            self.send_refusal(refusal)
            return
        self.send_json(self.apps.describe(name))


HANDLERS = [(ALL, AllApps), (ONE, OneApp)]
