"""Notebooks on hosts of their own, one for each person, in a real browser: the way in, the work
there, what a page there can't do, and the end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from cluster.paths import Paths
from tests.browser import jupyterlab as jl
from tests.browser.chromium import window
from tests.browser.scenes import SMALL, Api
from tests.live import Live
from tests.patience import PATIENCE_S

LogIn = Callable[[Page, str], None]
NAME = f"apart-{token_hex(2)}"
FRONT = ("portal", "hub", "nginx")

# What a page of content tries at the portal, which is another origin to it: what came of each.
ATTACK = """async (portal) => {
  const tried = async (path, init) => {
    try { return (await fetch(portal + path, {credentials: 'include', ...init})).type; }
    catch (error) { return error.name; }
  };
  return {
    read: await tried('/api/v1/me', {}),
    act: await tried('/api/v1/logout', {method: 'POST', mode: 'no-cors'}),
    cookies: document.cookie,
  };
}"""


@pytest.fixture
def apart(portal: Live) -> Iterator[Callable[[str], str]]:
    """The running cluster, with a host for each person; they are 127.0.0.1 to a browser. Answers
    the origin of somebody's."""
    port = urlsplit(portal.base_url).port
    paths = Paths(portal.state)
    kept = {
        paths.etc / name: (paths.etc / name).read_text() for name in ("portal.toml", "hub.toml")
    }
    line = f'content_url = "http://{{user}}.jupyter.localhost:{port}"\n'
    for file, before in kept.items():
        file.write_text(line + before)
    renew_front(portal, paths)
    try:
        yield lambda user: f"http://{user}.jupyter.localhost:{port}"
    finally:
        for file, before in kept.items():
            file.write_text(before)
        renew_front(portal, paths)


def renew_front(portal: Live, paths: Paths) -> None:
    """As the operator does: nginx's configuration rendered again, what reads settings restarted."""
    account = ["--reuid", "www-data", "--regid", "www-data", "--init-groups"]
    render = [str(paths.venv / "bin/python"), "-I", "-m", "deploy.nginx"]
    settings = ["--settings", str(paths.etc / "portal.toml"), "--out", str(paths.nginx)]
    subprocess.run(["setpriv", *account, *render, *settings], check=True, capture_output=True)
    for service in FRONT:
        portal.stop(service)
    for service in reversed(FRONT):
        portal.start(service)


@pytest.fixture
def session(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[dict[str, Any]]:
    """One of alice's, who is logged in in this browser."""
    log_in(context.new_page(), "alice")
    api = Api(context.request, portal.base_url)
    wanted = {"environment": "python3", "name": NAME, "resources": {**SMALL, "memory_gb": 4}}
    made = api.ask("POST", "/sessions", wanted)
    yield api.until(f"/sessions/{made['id']}", "running")
    portal.exec_as("alice", ["/bin/sh", "-c", "scancel --user=alice; rm -f Untitled*.ipynb"])


def test_notebooks_on_a_host_of_their_owners(
    portal: Live,
    apart: Callable[[str], str],
    chromium: Browser,
    context: BrowserContext,
    log_in: LogIn,
    session: dict[str, Any],
) -> None:
    alices = apart("alice")
    assert session["url"] == f"{alices}/user/alice/{NAME}/"
    lab = context.new_page()
    jl.open_launcher(lab, session["url"])
    kernel = jl.kernels(lab)[0]
    jl.open_notebook(lab, kernel)
    jl.run_cell(lab, "print(6 * 7)")  # its websocket passes, too
    jl.output(lab, "42")
    lab.keyboard.press("Control+s")

    each_cookie_at_its_own_host(context, portal)
    a_page_there_can_do_nothing_at_the_portal(portal, context, lab)
    lab.goto(f"{portal.base_url}/user/alice/{NAME}/lab")  # an old bookmark
    lab.wait_for_url(f"{alices}/user/alice/{NAME}/lab*")
    nobody_else_enters(portal, chromium, log_in, session["url"])

    the_end_of_the_login_is_its_end_there(portal, context, f"{session['url']}api/status")


def each_cookie_at_its_own_host(context: BrowserContext, portal: Live) -> None:
    found = {(one["domain"], one["name"]) for one in context.cookies()}
    ours = {(host, name) for host, name in found if name.startswith("portal_")}
    own = urlsplit(portal.base_url).hostname
    there = "alice.jupyter.localhost"
    assert ours == {(own, "portal_session"), (there, "portal_content"), (there, "portal_entry")}
    assert not [host for host, _ in found if host.startswith(".")]


def a_page_there_can_do_nothing_at_the_portal(
    portal: Live, context: BrowserContext, lab: Page
) -> None:
    came = lab.evaluate(ATTACK, portal.base_url)
    assert came["read"] == "TypeError"  # refused by the browser
    assert "portal_" not in came["cookies"]
    me = context.request.get(f"{portal.base_url}/api/v1/me")
    assert me.json()["username"] == "alice"  # still logged in


def nobody_else_enters(portal: Live, chromium: Browser, log_in: LogIn, url: str) -> None:
    with closing(window(chromium)) as his:
        page = his.new_page()
        log_in(page, "bob")
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == 403
        expect(page.get_by_role("heading")).to_have_text("This belongs to somebody else")
        assert page.url.startswith(f"{portal.base_url}/content/open?")


def the_end_of_the_login_is_its_end_there(portal: Live, context: BrowserContext, url: str) -> None:
    """From one of the next requests on: nginx keeps the gate's answers for three seconds. Who logs
    in again comes back to where they were."""
    origin = {"Origin": portal.base_url}
    assert context.request.post(f"{portal.base_url}/api/v1/logout", headers=origin).status == 204
    page = context.new_page()
    deadline = time.monotonic() + PATIENCE_S
    while not page.url.startswith(f"{portal.base_url}/login?"):
        assert time.monotonic() < deadline
        page.goto(url)
    page.get_by_label("User name").fill("alice")
    page.get_by_label("Password", exact=True).fill(portal.users["alice"])
    page.keyboard.press("Enter")
    page.wait_for_url(url)
    expect(page.locator("body")).to_contain_text("started")
