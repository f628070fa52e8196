"""Notebooks on a separate host per user, in a real browser.

Entry, work there, attempts of a page there, and logout.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from cluster.config.paths import Paths
from tests.browser import jupyterlab as jl
from tests.browser.chromium import window
from tests.browser.scenes import SMALL, Api
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
NAME = f"apart-{token_hex(2)}"
FRONT = ("portal", "hub", "nginx")

# attempts of a content page at the portal, which is another origin: the result of each
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
    """Configure the running cluster with a host per user; a browser resolves them to 127.0.0.1.

    Yields a function that returns a user's origin.
    """
    port = urlsplit(portal.base_url).port
    paths = Paths(portal.state)
    kept = {
        paths.etc / name: (paths.etc / name).read_text() for name in ("portal.toml", "hub.toml")
    }
    urls = {
        "notebook_url": f"http://{{user}}.jupyter.localhost:{port}",
        "tensorboard_url": f"http://{{user}}.tensorboard.localhost:{port}",
    }
    for file, before in kept.items():
        file.write_text(_with_urls(before, urls))
    renew_front(portal, paths)
    try:
        yield lambda user: f"http://{user}.jupyter.localhost:{port}"
    finally:
        for file, before in kept.items():
            file.write_text(before)
        renew_front(portal, paths)


def _with_urls(text: str, urls: dict[str, str]) -> str:
    """Return the text with these settings replaced."""
    lines = []
    for line in text.splitlines():
        name = line.partition(" = ")[0]
        lines.append(f'{name} = "{urls[name]}"' if name in urls else line)
    return "\n".join(lines) + "\n"


def renew_front(portal: Live, paths: Paths) -> None:
    """Apply settings as the operator does: render nginx's configuration again, restart the
    services."""
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
    """A session of alice's, who is logged in in this browser."""
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
    jl.run_cell(lab, "print(6 * 7)")  # its websocket works, too
    jl.output(lab, "42")
    lab.keyboard.press("Control+s")

    each_cookie_at_its_own_host(context, portal)
    a_page_there_can_do_nothing_at_the_portal(portal, context, lab)
    lab.goto(f"{portal.base_url}/user/alice/{NAME}/lab")  # an old bookmark
    lab.wait_for_url(f"{alices}/user/alice/{NAME}/lab*")
    refuse_other_users(portal, chromium, log_in, session["url"])

    the_end_of_the_login_is_its_end_there(portal, context, f"{session['url']}api/status")


def each_cookie_at_its_own_host(context: BrowserContext, portal: Live) -> None:
    found = {(one["domain"], one["name"]) for one in context.cookies()}
    ours = {(host, name) for host, name in found if name.startswith("portal_")}
    own = urlsplit(portal.base_url).hostname
    there = "alice.jupyter.localhost"
    at_portal = {(own, "portal_session"), (own, "portal_device")}
    assert ours == {*at_portal, (there, "portal_content"), (there, "portal_entry")}
    assert not [host for host, _ in found if host.startswith(".")]


def a_page_there_can_do_nothing_at_the_portal(
    portal: Live, context: BrowserContext, lab: Page
) -> None:
    came = lab.evaluate(ATTACK, portal.base_url)
    assert came["read"] == "TypeError"  # refused by the browser
    assert "portal_" not in came["cookies"]
    me = context.request.get(f"{portal.base_url}/api/v1/me")
    assert me.json()["username"] == "alice"  # still logged in


def refuse_other_users(portal: Live, chromium: Browser, log_in: LogIn, url: str) -> None:
    with closing(window(chromium)) as his:
        page = his.new_page()
        log_in(page, "bob")
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == 403
        expect(page.get_by_role("heading")).to_have_text("This belongs to another user")
        assert page.url.startswith(f"{portal.base_url}/content/open?")


def the_end_of_the_login_is_its_end_there(portal: Live, context: BrowserContext, url: str) -> None:
    """Within a few requests, because nginx caches the gate's responses for three seconds.

    A user who logs in again returns to the same page.
    """
    origin = {"Origin": portal.base_url}
    assert context.request.post(f"{portal.base_url}/api/v1/logout", headers=origin).status == 204
    page = context.new_page()

    def opened() -> str:
        page.goto(url)
        return page.url

    wait_until(
        opened, "the login page", done=lambda url: url.startswith(f"{portal.base_url}/login?")
    )
    page.get_by_label("User name").fill("alice")
    page.get_by_label("Password", exact=True).fill(portal.users["alice"])
    page.keyboard.press("Enter")
    page.wait_for_url(url)
    expect(page.locator("body")).to_contain_text("started")
