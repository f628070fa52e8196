"""The portal's requests about the session's apps: `…/portal/apps` and `…/portal/apps/NAME`."""

from __future__ import annotations

import json

from spawner.node.apps.declared import AppInput, AppRefusal
from spawner.node.apps.session_apps import SessionApps
from spawner.node.jupyter.signed import SignedHandler

APPS_SETTING = "portal_apps"
ALL = r"/portal/apps"
ONE = r"/portal/apps/([a-z0-9-]{1,20})"


class AppHandler(SignedHandler):
    """Base class: access to the session's apps, and answers with the reason of a refusal."""

    @property
    def apps(self) -> SessionApps:
        """Return the session's apps, stored in the settings by server.py."""
        apps: SessionApps = self.settings[APPS_SETTING]
        return apps

    def send_app(self, name: str, *, changed: bool) -> None:
        """Send the app, with whether the request changed something."""
        self.send_json({**self.apps.describe(name), "changed": changed})

    def send_refusal(self, refusal: AppRefusal) -> None:
        self.set_status(refusal.status)
        self.send_json({"detail": str(refusal), "field": refusal.field})


class AllApps(AppHandler):
    """GET: all apps that the session offers."""

    def get(self) -> None:
        self.send_json({"apps": self.apps.list_all()})


class OneApp(AppHandler):
    """PUT with an AppInput: start. DELETE: stop. POST: restart. The answer is the app.

    The answer doesn't wait until a started app is ready, nor until one whose place it takes has
    ended.
    """

    def put(self, name: str) -> None:
        """Start it, with `replace` also in the place of one that runs with another input."""
        body = json.loads(self.request.body)
        try:
            changed = self.apps.start(
                name, AppInput.parse(body), replace=body.get("replace") is True
            )
        except AppRefusal as refusal:
            self.send_refusal(refusal)
            return
        self.send_app(name, changed=changed)

    async def delete(self, name: str) -> None:
        """Stop it."""
        try:
            changed = await self.apps.stop(name)
        except AppRefusal as refusal:
            self.send_refusal(refusal)
            return
        self.send_app(name, changed=changed)

    def post(self, name: str) -> None:
        """Stop it, and start it again."""
        try:
            self.apps.restart(name)
        except AppRefusal as refusal:
            self.send_refusal(refusal)
            return
        self.send_app(name, changed=True)


HANDLERS = [(ALL, AllApps), (ONE, OneApp)]
