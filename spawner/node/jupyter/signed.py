"""Base class of handlers for requests of the portal, which need its signature and no login."""

from __future__ import annotations

import json
import time
from typing import Any

from tornado.web import HTTPError, RequestHandler

from spawner import signing

SECRET_SETTING = "portal_secret"  # noqa: S105 - the setting's name


class SignedHandler(RequestHandler):
    """A request that is signed with the session's secret, body included.

    The answer has a proof that this is the session's server.
    """

    def check_xsrf_cookie(self) -> None:
        """Do nothing: the signature is what admits a request."""

    def prepare(self) -> None:
        """Refuse a request that the portal did not sign."""
        key: str = self.settings[SECRET_SETTING]
        signature = self.request.headers.get(signing.SIGNATURE_HEADER, "")
        target = signing.with_body(self.request.uri or "", self.request.body)
        if not signing.is_signed(key, self.request.method or "", target, signature, time.time()):
            raise HTTPError(403)
        self.set_header(signing.PROOF_HEADER, signing.prove(key, signature))

    def send_json(self, value: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))
