"""Example content: sessions and jobs in several states, created through the API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from playwright.sync_api import APIRequestContext, BrowserContext

from tests.polling import wait_until

SLOW_S = 180
SMALL = {"cpus": 1, "memory_gb": 0.25, "time_limit_minutes": 10}
FAILING = "#!/bin/bash\necho begins\npython3 -c 'import nothing_like_that'\nexit 3\n"
GROUP = "portal-users"


@dataclass
class Api:
    """The portal's API as one user, with a browser's cookie jar."""

    request: APIRequestContext
    base_url: str

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the response's JSON, None without a body. Raises AssertionError for a refusal."""
        answer = self.request.fetch(
            f"{self.base_url}/api/v1{path}",
            method=method,
            data=body,
            headers={"Origin": self.base_url},
        )
        assert answer.ok, f"{method} {path}: {answer.status} {answer.text()[:500]}"
        return answer.json() if answer.body() else None

    def until(self, path: str, state: str) -> Any:
        """Return the object at `path`, once it is in this state."""

        def load() -> Any:
            now = self.ask("GET", path)
            assert now["state"] != "ended" or state == "ended", f"{path}: {now['reason']}"
            return now

        what = f"{path} is {state}"
        return wait_until(load, what, SLOW_S, done=lambda now: now["state"] == state, pause_s=0.2)

    def end(self, session_id: str) -> None:
        """Stop a session and its TensorBoard, unless it has been removed, and wait for its end.

        Until then it keeps its name and its resources.
        """
        path = f"/sessions/{session_id}"
        if self.request.get(f"{self.base_url}/api/v1{path}").status == 404:
            return
        for what in (f"{path}/tensorboard", f"{path}?remove=false"):
            self.ask("DELETE", what)
        self.until(path, "ended")


# once per login, otherwise a later login on the page would be treated as foreign
REMEMBER_LOGIN = """(origin, id) => {
  if (location.origin !== origin) return;
  const known = JSON.parse(localStorage.getItem('test-logins') ?? '[]');
  if (known.includes(id)) return;
  localStorage.setItem('test-logins', JSON.stringify([...known, id]));
  localStorage.setItem('portal-login-id', id);
}"""


def remember_login(context: BrowserContext, base_url: str, login_id: str) -> None:
    """Register the login as the login page does: the portal's pages end unregistered logins."""
    known = json.dumps([base_url, login_id])
    context.add_init_script(f"({REMEMBER_LOGIN})(...{known})")


def log_in(context: BrowserContext, base_url: str, username: str, password: str) -> Api:
    """Log in as this user and return the API; the context's pages belong to this login.

    The password has been confirmed, unless it must be changed first.
    """
    api = Api(context.request, base_url)
    found = api.ask("POST", "/login", {"username": username, "password": password})
    remember_login(context, base_url, found["login_id"])
    if not found["password_change_required"]:
        api.ask("POST", "/reauth", {"password": password})
    return api


def begin(api: Api) -> dict[str, str]:
    """Create the content of the pages, for which `finish` waits. Return ids by name."""
    resources = {"gpus": 1, "cpus": 1, "memory_gb": 1, "time_limit_minutes": 30}
    session = {"environment": "python3", "resources": resources}
    job = {"resources": SMALL}
    # a name is available again only when its last session has ended
    over, exploring = (f"{name}-{token_hex(2)}" for name in ("over", "exploring"))
    array = {"learning_rate": [0.1, 0.5], "hidden": [4, 8], "epochs": 2}
    python = {"template": "python-training", "parameters": {"epochs": 5}, "resources": SMALL}
    return {
        "ended-name": over,
        "user": "alice",
        "group": GROUP,
        "ended": _id(api, "/sessions", session | {"name": over}),
        "session": _id(api, "/sessions", session | {"name": exploring}),
        "job": _id(api, "/jobs", python | {"name": "baseline"}),
        "failed": _id(api, "/jobs", job | {"script": FAILING, "name": "broken import"}),
        "array": _id(
            api,
            "/jobs",
            {"template": "hyperparameter-array", "parameters": array, "resources": SMALL},
        ),
        "waiting": _id(
            api, "/jobs", job | {"script": "#!/bin/bash\nsleep 600\n", "name": "still running"}
        ),
    }


def finish(api: Api, things: Mapping[str, str]) -> None:
    """Wait until each object is in the state of its name."""
    api.until(f"/sessions/{things['ended']}", "running")
    api.ask("DELETE", f"/sessions/{things['ended']}")
    for job in ("job", "failed", "array"):
        api.until(f"/jobs/{things[job]}", "ended")
    api.until(f"/sessions/{things['ended']}", "ended")
    api.until(f"/sessions/{things['session']}", "running")


def lead(api: Api, username: str) -> None:
    """Make an administrator a group manager, too."""
    api.ask("PUT", f"/admin/groups/{GROUP}/managers/{username}")


def end(api: Api, things: Mapping[str, str], manager: str) -> None:
    """End everything that runs, and remove the group manager."""
    api.ask("DELETE", f"/sessions/{things['session']}")
    api.ask("POST", f"/jobs/{things['waiting']}/cancel")
    api.ask("DELETE", f"/admin/groups/{GROUP}/managers/{manager}")


def _id(api: Api, path: str, body: object) -> str:
    return str(api.ask("POST", path, body)["id"])
