"""Hostile pages in a real browser: a TensorBoard's and a notebook server's.

The pages try every attack of hostile_page.js on the portal, on the viewer's notebooks, and on the
TensorBoards of the viewer and of other users. Here the TensorBoard attacks a user with shared
access; in tests/more/browser/test_hostile_owner.py, its owner.
"""

from __future__ import annotations

import json
import operator
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.browser.hostile_scene import (
    HostileScene,
    Viewer,
    attack_from_tensorboard,
    hostile_scene,
    log_in,
    victims,
)
from tests.browser.hostile_site import (
    TESTS,
    arrive,
    attack,
    blank,
    open_tensorboard,
    portal_target,
    site_target,
    wait_for_log,
)
from tests.live import Live
from tests.polling import PATIENCE_S, wait_until

# nginx refuses these cookies, or they are gone before the page is requested
SOMETIMES = {"a page for large cookies"}
# the ways in which a TensorBoard's page may read content below its own address
ALLOWED = {
    "fetch",
    "fetch without CORS",
    "fetch of a redirect",
    "XMLHttpRequest",
    "event stream",
    "worker",
    "shared worker",
    "iframe",
    "frame without an address",
    "srcdoc frame",
    "javascript frame",
    "frame of its own",
    "frame with a policy of its own",
    "frame of an error",
    "SVG frame",
    "XML frame",
    "script",
    "module",
    "style sheet",
    "image",
}


@pytest.fixture
def bare() -> Iterator[str]:
    """The hostile program alone, at an address without a portal in front of it."""
    argv = [sys.executable, str(TESTS / "cluster/hostile_server.py"), "300"]
    port = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    yield f"http://127.0.0.1:{port}"
    ask(f"http://127.0.0.1:{port}/quit")


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:  # noqa: S310
        return json.load(answer)


def test_every_trick_works_where_nothing_confines_the_page(
    bare: str, context: BrowserContext
) -> None:
    """Otherwise the tests below could not fail."""
    page = context.new_page()
    target = site_target(f"{bare}/victim/", "the-secret", "word")
    came = attack(page, f"{bare}/own/folder/", target)
    assert came.learned.keys() == came.read.keys(), came.read

    def missing() -> set[str]:
        page.wait_for_timeout(100)  # in which the page goes on
        return set(came.sent) - tricks_seen(bare)

    wait_until(missing, "all requests arrive", done=operator.not_)


def tricks_seen(bare: str) -> set[str]:
    queries = [parse_qs(urlsplit(seen["path"]).query) for seen in ask(f"{bare}/seen")]
    return {query["trick"][0] for query in queries if "trick" in query}


@pytest.fixture(scope="module")
def scene(portal: Live, chromium: Browser) -> Iterator[HostileScene]:
    with hostile_scene(portal, chromium) as scene:
        yield scene


def test_a_tensorboard_reaches_its_own_address_in_the_allowed_ways(scene: HostileScene) -> None:
    """Failures elsewhere are thus caused by the address alone."""
    own = open_tensorboard(scene.alice.api, scene.hostile)
    target = site_target(own, "its-own", "word")
    learned = attack(scene.alice.page(), own, target).learned.keys()
    assert learned - SOMETIMES == ALLOWED


def test_a_hostile_tensorboard_reads_and_changes_nothing(scene: HostileScene) -> None:
    """Opened by a user with shared access."""
    attack_from_tensorboard(scene, scene.bob)


def test_a_hostile_notebook_server_reads_and_changes_nothing(scene: HostileScene) -> None:
    """The user's own, which no other user opens. Its page may frame or link to anything."""
    word = f"word{token_hex(4)}"
    targets = {"portal": portal_target(scene.portal.base_url, "alice", word)}
    targets |= victims(scene, scene.alice, word)
    del targets["notebook"]  # one user's own sessions can access each other
    page = scene.alice.page()
    arrive(page, scene.hostile.url)
    attacks = {title: attack(page, scene.hostile.url, target) for title, target in targets.items()}
    assert {name: came.learned for name, came in attacks.items() if came.learned} == {}
    for site in (scene.alices, scene.bobs):
        acts = [trick for method, trick in site.tensorboard.requests(word) if method != "GET"]
        assert acts == []
    logged = wait_for_log(scene.portal, page, word)
    assert {line["status"] for line in logged if line["method"] != "GET"} <= {"403"}
    assert scene.alice.api.ask("GET", "/me")["username"] == "alice"


# everything a page can find of others on its origin, and cookies readable by scripts
SHARED = """async ([user, ...kinds]) => {
  const answers = [];
  for (const name of [`portal-events 2 ${user}`, 'portal-login']) {
    const channel = new BroadcastChannel(name);
    channel.onmessage = (event) => answers.push(event.data);
    for (const kind of kinds) channel.postMessage({kind});
  }
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const {held, pending} = await navigator.locks.query();
  return {
    answers,
    locks: [...held, ...pending].map((lock) => lock.name),
    stored: [...Object.keys(localStorage), ...Object.keys(sessionStorage)],
    databases: (await indexedDB.databases()).map((one) => one.name),
    caches: await caches.keys(),
    cookies: document.cookie.split('; ').filter((cookie) => cookie.startsWith('portal')),
    opener: window.opener === null ? [] : ['opener'],
  };
}"""
FILL_JAR = """count => {
  for (let i = 0; i < count; i += 1) document.cookie = `filler${i}=1; path=/`;
}"""
COOKIES = 600  # Chromium keeps 180 per host, for all ports
LEFT = "localStorage.setItem('portal-mark', '1'); document.cookie = 'portal-mark=1; path=/mark'"


@pytest.mark.parametrize("kind", ["TensorBoard", "notebook"])
def test_a_hostile_page_shares_nothing_with_the_portals(scene: HostileScene, kind: str) -> None:
    """Opened by a page of the portal, as by a link without rel=noopener."""
    alice = scene.alice
    alice.home.evaluate(LEFT)
    own = scene.hostile.url
    if kind == "TensorBoard":
        own = open_tensorboard(alice.api, scene.hostile)
    arrive(alice.page(), own)
    with alice.context.expect_page() as opened:
        alice.home.evaluate("(url) => { window.open(url) }", blank(own))
    page = opened.value
    page.locator("p", has_text="page").wait_for()
    found = page.evaluate(SHARED, ["alice", "hello", "logged-out"])
    assert {name: value for name, value in found.items() if value} == {}
    page.close()
    # its messages there did not log any user out either
    alice.home.reload()
    alice.home.get_by_role("heading", name="Your sessions").wait_for()
    beside = alice.page()
    beside.goto(scene.portal.base_url)
    beside.get_by_role("heading", name="Your sessions").wait_for()
    assert "portal-mark" in beside.evaluate(SHARED, ["alice", "hello"])["stored"]
    beside.close()


@pytest.fixture
def evicted(scene: HostileScene, chromium: Browser) -> Iterator[Viewer]:
    """bob in a browser where a shared TensorBoard's page has evicted the portal's cookies."""
    viewer = log_in(scene.portal, chromium, "bob")
    try:
        page = viewer.page()
        arrive(page, open_tensorboard(viewer.api, scene.hostile))
        assert portal_cookies(scene, viewer) != []

        def left() -> list[Any]:  # a request in between renews one
            page.evaluate(FILL_JAR, COOKIES)
            return portal_cookies(scene, viewer)

        wait_until(left, "the cookies are evicted", done=operator.not_)
        yield viewer
    finally:
        viewer.context.close()


def portal_cookies(scene: HostileScene, viewer: Viewer) -> list[Any]:
    names = {"portal_session", "__Host-portal"}
    cookies = viewer.context.cookies(scene.portal.base_url)
    return [one for one in cookies if one["name"] in names]


def test_evicting_the_portals_cookie_shows_the_login_again(
    scene: HostileScene, evicted: Viewer
) -> None:
    home = evicted.home
    home.reload()
    home.get_by_label("User name").fill("bob")
    assert home.get_by_role("heading", name="Your sessions").count() == 0
    home.get_by_label("Password", exact=True).fill(scene.portal.users["bob"])
    home.keyboard.press("Enter")
    home.get_by_role("heading", name="Your sessions").wait_for()
    assert evicted.api.ask("GET", "/me")["username"] == "bob"


def test_a_login_planted_after_an_eviction_is_ended_with_a_warning(
    scene: HostileScene, evicted: Viewer, chromium: Browser
) -> None:
    attacker = log_in(scene.portal, chromium, "alice")
    try:
        (theirs,) = portal_cookies(scene, attacker)
        planted = f"{theirs['name']}={theirs['value']}; path=/"
        # the last page of this browser is the TensorBoard's
        evicted.context.pages[-1].evaluate("(cookie) => { document.cookie = cookie }", planted)
        home = evicted.home
        home.reload()
        home.get_by_text("didn't come from the portal's own login page").wait_for()
        assert home.get_by_text(scene.hostile.session["name"]).count() == 0
        me = home.evaluate("() => fetch('/api/v1/me').then((answer) => answer.status)")
        assert me == 401
    finally:
        attacker.context.close()


def test_a_planted_cookie_does_not_change_who_has_logged_in(scene: HostileScene) -> None:
    """Cookies ignore ports: a TensorBoard's page plants its owner's login in bob's browser."""
    portal = scene.portal
    names = {"portal_session", "__Host-portal"}
    (ours,) = [one for one in scene.alice.context.cookies(portal.base_url) if one["name"] in names]
    page = scene.bob.page()
    arrive(page, open_tensorboard(scene.bob.api, scene.hostile))
    for path in (
        "/",
        "/api",
        "/api/v1",
        "/api/v1/me",
        "/login",
        "/hub",
        "/user/bob",
        "/tensorboard",
    ):
        planted = f"{ours['name']}={ours['value']}; path={path}"
        page.evaluate("(cookie) => { document.cookie = cookie }", planted)
    try:
        shown = scene.bob.page()
        shown.goto(portal.base_url)
        shown.get_by_role("heading", name="Your sessions").wait_for()
        me = shown.evaluate("() => fetch('/api/v1/me').then((answer) => answer.json())")
        assert me["username"] == "bob"
        assert shown.get_by_text("victim-").count() > 0
        assert shown.get_by_text(scene.hostile.session["name"]).count() == 0
    finally:
        scene.bob.context.clear_cookies(path="/api")


def test_a_planted_cookie_of_the_notebooks_is_replaced_by_logging_in_again(
    scene: HostileScene,
) -> None:
    """A TensorBoard's page plants its owner's cookie in bob's browser, which has none yet."""
    scene.bob.context.clear_cookies(name="portal_content")
    arrive(scene.alice.page(), scene.alices.url)
    (ours,) = [
        one
        for one in scene.alice.context.cookies(scene.alices.url)
        if one["name"] == "portal_content"
    ]
    page = scene.bob.page()
    arrive(page, open_tensorboard(scene.bob.api, scene.hostile))
    for path in ("/", "/user", "/user/bob", "/content"):
        planted = f"{ours['name']}={ours['value']}; path={path}"
        page.evaluate("(cookie) => { document.cookie = cookie }", planted)
    try:
        shown = scene.bob.page()
        shown.goto(scene.bobs.url)
        shown.get_by_role("heading", name="This session belongs to another user").wait_for()
        with shown.expect_response(lambda answer: answer.url.startswith(scene.bobs.url)) as opened:
            shown.get_by_role("link", name="Log in again").click()
        assert opened.value.status == 200
    finally:
        scene.bob.context.clear_cookies(name="portal_content")
