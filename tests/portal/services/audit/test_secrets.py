"""No secret that a route receives or creates is in the audit log or in the log."""

import logging
import time
from typing import Any

import pytest

from portal.app import bare_app
from portal.services.auth.web_sessions import LOGIN_COUNTS_FOR
from tests.portal.audit_log import events
from tests.portal.conftest import Answer, Browser, RunPortal
from tests.servers.slapd import PASSWORD

pytestmark = pytest.mark.anyio


GIVEN = {"name": "nobody", "group": "nothing", "username": "nobody", "file": "none.sif"}


# --- no secrets -----------------------------------------------------------------------------------

LOGIN_AGE_S = LOGIN_COUNTS_FOR.total_seconds() / 2
"""The longest age of a login: some routes require one that is fresh."""
SECRET_FIELDS = {"password", "current_password", "new_password", "code"}


class Secrets:
    """Builds bodies from the API's schema, with a distinct secret in each secret field."""

    def __init__(self) -> None:
        self.schema = bare_app().openapi()
        self.given: list[str] = []

    def new(self) -> str:
        self.given.append(f"Zq7secret{len(self.given):04d}vX")
        return self.given[-1]

    def bodies(self) -> list[tuple[str, str, Any]]:
        """Return (method, path, body) of every route that takes a body or changes something."""
        return [
            (method.upper(), path, self._body(operation))
            for path, operations in self.schema["paths"].items()
            for method, operation in operations.items()
            if method != "get"
        ]

    def _body(self, operation: Any) -> Any:
        content = operation.get("requestBody", {}).get("content", {})
        found = content.get("application/json")
        return self._fill("", found["schema"]) if found else None

    def _fill(self, name: str, schema: Any) -> Any:
        if "$ref" in schema:
            return self._fill(name, self.schema["components"]["schemas"][schema["$ref"][21:]])
        if "anyOf" in schema:
            return self._fill(name, schema["anyOf"][0])
        if "enum" in schema or "const" in schema:
            return schema.get("const") or schema["enum"][0]
        if schema.get("type") == "object":
            properties = schema.get("properties", {})
            return {key: self._fill(key, inner) for key, inner in properties.items()}
        if schema.get("type") == "string":
            return self.new() if name in SECRET_FIELDS else GIVEN.get(name, "nobody")
        number = schema.get("minimum", 1)
        return {"array": [], "boolean": False}.get(schema.get("type", ""), number)


async def test_no_secret_given_to_any_route_is_in_the_audit_or_in_the_log(
    run_portal: RunPortal, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)  # as in portal/logging.py
    secrets = Secrets()
    bodies = secrets.bodies()
    assert len(secrets.given) > 8
    async with run_portal(login_attempts=1000, login_attempts_per_address=10_000) as portal:
        async with portal.browser() as browser:
            logged_in = float("-inf")
            for method, path, body in bodies:
                ended = (await browser.get("/api/v1/me")).status == 401  # by one of the routes
                if ended or time.monotonic() - logged_in > LOGIN_AGE_S:
                    await browser.login("carol")
                    logged_in = time.monotonic()
                where = path.replace("{", "").replace("}", "")
                answer = await browser.send(method, where, json=body)
                assert answer.status != 500, (method, path, answer)
                shown = {"Authorization": f"Bearer dsp_{secrets.new()}", "Origin": ""}
                await browser.send(method, where, json=body, headers=shown)
            await browser.login("carol")
            await browser.confirm()
            made = await _own_secrets(browser)
        kept = str([vars(event) for event in await events(portal)])
    out, err = capsys.readouterr()
    for secret in (*secrets.given, *made, PASSWORD):
        assert secret not in kept
        assert secret not in out + err + caplog.text


async def _own_secrets(browser: Browser) -> list[str]:
    """Return secrets created by the portal: a cookie, a token, the secret of a second factor."""
    payload = {"name": "mine", "scopes": ["read"], "expires_in_days": 1}
    token: Answer = await browser.post("/api/v1/tokens", payload)
    enrolment = await browser.post("/api/v1/second-factor/enrolment")
    cookies = [morsel.value for morsel in browser.http.cookie_jar]
    assert (token.status, enrolment.status) == (201, 201)
    return [token.body["token"], enrolment.body["secret"], *cookies]
