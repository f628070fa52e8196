"""Every route enforces its access: tried without a login, as a stranger, and as a non-admin."""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts

from portal.app import bare_app
from portal.web import dependencies
from portal.web.dependencies import GUARDS, admin, anyone, identity, loopback_only
from tests.portal.conftest import Browser, Portal

# Routes without a login, each for a reason given in its docstring.
OPEN = {
    ("POST", "/api/v1/login"),
    ("POST", "/api/v1/login/device"),
    ("POST", "/api/v1/login/device/token"),
    ("POST", "/api/v1/logout"),
    ("GET", "/api/v1/announcements/public"),
    ("GET", "/api/v1/site"),
    ("GET", "/api/v1/site/logo"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
}


def routes() -> list[RouteContext]:
    every = iter_route_contexts(bare_app().routes)
    found = [route for route in every if isinstance(route.original_route, APIRoute)]
    assert len(found) > 10
    return found


def path_of(route: RouteContext) -> str:
    assert route.path
    return route.path


def calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for inner in dependant.dependencies:
        yield from calls(inner)


def guards(route: RouteContext) -> set[Any]:
    return set(calls(route.dependant)) & GUARDS


def methods(route: RouteContext) -> set[str]:
    assert route.methods
    return route.methods


def name(route: RouteContext) -> str:
    return f"{','.join(sorted(methods(route)))} {path_of(route)}"


def test_there_are_no_other_kinds_of_route() -> None:
    """Mounts or websockets would need a test of their own."""
    every = iter_route_contexts(bare_app().routes)
    others = {route.path for route in every if not isinstance(route.original_route, APIRoute)}
    assert others == {"/api/v1/openapi.json"}


@pytest.mark.parametrize("route", routes(), ids=name)
def test_each_route_names_who_may_call_it(route: RouteContext) -> None:
    assert guards(route), f"{name(route)} names no guard of portal.web.dependencies"


@pytest.mark.parametrize("route", routes(), ids=name)
def test_no_dependency_of_a_route_runs_in_a_thread(route: RouteContext) -> None:
    for call in list(calls(route.dependant))[1:]:
        assert isinstance(call, type) or inspect.iscoroutinefunction(call), call


@pytest.mark.parametrize("route", routes(), ids=name)
def test_open_routes_of_the_api_are_few_and_known(route: RouteContext) -> None:
    if not path_of(route).startswith("/api/"):
        return
    for method in methods(route):
        is_open = guards(route) == {anyone}
        assert is_open == ((method, path_of(route)) in OPEN)


@pytest.mark.parametrize("route", routes(), ids=name)
def test_admin_routes_ask_for_an_admin_and_changes_for_a_fresh_password(
    route: RouteContext,
) -> None:
    if "/admin/" not in path_of(route):
        return
    asked = set(calls(route.dependant))
    if methods(route) - {"GET", "HEAD"}:
        assert {admin, dependencies.recent_password_admin} <= asked
    else:
        assert dependencies.reader in asked


@cache
def asked_paths(guard: Any) -> list[tuple[str, str]]:
    """Cached, because it takes seconds on a busy machine. It blocks the portal of a test in the
    same process, so that open connections could time out."""
    found = []
    for route in routes():
        if guard in guards(route) and anyone not in guards(route):
            path = re.sub(r"\{[^}]+\}", "00000000-0000-4000-8000-000000000000", path_of(route))
            found += [(method, path) for method in sorted(methods(route))]
    return found


NEEDS_LOGIN = [
    place
    for guard in (
        identity,
        dependencies.enrolling_session,
        dependencies.half_login,
        dependencies.changing_login,
    )
    for place in asked_paths(guard)
]
LOOPBACK = asked_paths(loopback_only)


@pytest.mark.anyio
class TestWalk:
    async def test_anonymous_requests_are_refused(self, browser: Browser) -> None:
        for method, path in NEEDS_LOGIN:
            answer = await browser.send(method, path, json={} if method != "GET" else None)
            assert answer.status == 401, (method, path, answer)
            assert answer.slug == "login-required"

    async def test_a_made_up_cookie_does_not_help(self, portal: Portal) -> None:
        cookie = {"Cookie": f"{portal.settings.cookie_name}={'A' * 43}"}
        async with portal.browser() as browser:
            for method, path in NEEDS_LOGIN:
                answer = await browser.send(method, path, headers=cookie)
                assert answer.status == 401, (method, path, answer)

    async def test_a_user_is_no_admin(self, browser: Browser) -> None:
        await browser.login("alice")
        for method, path in asked_paths(identity):
            if "/admin/" in path:
                answer = await browser.send(method, path, json={} if method != "GET" else None)
                assert (answer.status, answer.slug) == (403, "forbidden"), (method, path)

    async def test_internal_routes_are_not_there_for_the_outside(self, browser: Browser) -> None:
        await browser.login("carol")
        outside = {"X-Forwarded-For": "192.0.2.7"}
        for method, path in LOOPBACK:
            answer = await browser.send(method, path, headers=outside)
            assert answer.status == 404, (method, path, answer)

    async def test_a_login_opens_neither_internal_nor_node_routes(self, browser: Browser) -> None:
        await browser.login("carol")
        for route in routes():
            if path_of(route).startswith("/node/") or dependencies.internal_secret in calls(
                route.dependant
            ):
                path = re.sub(r"\{[^}]+\}", "00000000-0000-4000-8000-000000000000", path_of(route))
                for method in methods(route):
                    answer = await browser.send(method, path, json={})
                    seen = (answer.status, answer.slug)
                    assert seen == (401, "login-required"), (method, path, answer)
