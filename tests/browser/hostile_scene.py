"""A hostile site of alice's, its targets, and the browsers of the users who open it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex

from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.chromium import window
from tests.browser.hostile_site import (
    Attack,
    Site,
    Target,
    arrive,
    attack,
    open_tensorboard,
    portal_target,
    raise_site,
    site_target,
    wait_for_log,
)
from tests.browser.scenes import Api
from tests.live import Live


@dataclass(frozen=True)
class Viewer:
    """A user's browser, logged in at the portal."""

    name: str
    context: BrowserContext
    home: Page
    api: Api

    def page(self) -> Page:
        return self.context.new_page()


@dataclass(frozen=True)
class HostileScene:
    """alice's hostile site, and the targets: another site of hers and one of bob's.

    Both of alice's TensorBoards are shared with bob, and his with her.
    """

    portal: Live
    alice: Viewer
    bob: Viewer
    hostile: Site
    alices: Site
    bobs: Site


def log_in(portal: Live, chromium: Browser, name: str) -> Viewer:
    context = window(chromium)
    home = context.new_page()
    home.goto(f"{portal.base_url}/login")
    home.get_by_label("User name").fill(name)
    home.get_by_label("Password", exact=True).fill(portal.users[name])
    home.keyboard.press("Enter")
    home.get_by_role("heading", name="Your sessions").wait_for()
    return Viewer(name, context, home, Api(context.request, portal.base_url))


@contextmanager
def hostile_scene(portal: Live, chromium: Browser) -> Iterator[HostileScene]:
    """Start the sites and share them; end them afterwards."""
    alice, bob = (log_in(portal, chromium, name) for name in ("alice", "bob"))
    word = token_hex(2)
    sites = []
    try:
        for viewer, name in ((alice, "hostile"), (alice, "victim"), (bob, "victim")):
            sites.append(raise_site(portal, viewer.api, viewer.name, f"{name}-{word}"))
        made = HostileScene(portal, alice, bob, *sites)
        for viewer, site, other in (
            (alice, made.hostile, "bob"),
            (alice, made.alices, "bob"),
            (bob, made.bobs, "alice"),
        ):
            viewer.api.ask("PUT", f"/sessions/{site.session['id']}/shares/{other}")
        yield made
    finally:
        for site in sites:
            site.notebook.quit()
            site.tensorboard.quit()
            owner, other = (alice, "bob") if site.owner == "alice" else (bob, "alice")
            session = f"/sessions/{site.session['id']}"
            owner.api.ask("DELETE", f"{session}/shares/{other}")
            owner.api.ask("DELETE", session)
        alice.context.close()
        bob.context.close()


def victims(scene: HostileScene, viewer: Viewer, word: str) -> dict[str, Target]:
    """Return the targets this viewer may open, at the addresses for that viewer.

    A hostile page that could learn an address must still get nothing.
    """
    own = scene.alices if viewer is scene.alice else scene.bobs
    found = {"notebook": site_target(own.url, f"notebook-of-{own.owner}", word)}
    for site in (scene.alices, scene.bobs):
        url = open_tensorboard(viewer.api, site)
        secret = f"tensorboard-of-{site.owner}"
        found[f"TensorBoard of {site.owner}"] = site_target(url, secret, word)
    arrive(viewer.page(), own.url)  # the viewer's cookies exist there
    return found


def nothing_came(
    scene: HostileScene, viewer: Viewer, page: Page, word: str, attacks: dict[str, Attack]
) -> None:
    """Check that nothing was read, and that no request was even sent."""
    learned = {name: came.learned for name, came in attacks.items() if came.learned}
    assert learned == {}, learned
    for site in (scene.alices, scene.bobs):
        for server in (site.notebook, site.tensorboard):
            requests = server.requests(word)
            assert requests == [], f"{site.session['name']} of {site.owner}: {requests}"
    logged = wait_for_log(scene.portal, page, word)
    assert logged == [], logged
    username = viewer.api.ask("GET", "/me")["username"]
    assert username == viewer.name, username


def attack_from_tensorboard(scene: HostileScene, viewer: Viewer) -> None:
    """Open alice's hostile TensorBoard as this viewer, and check that its attacks get nothing."""
    word = f"word{token_hex(4)}"
    targets = {"portal": portal_target(scene.portal.base_url, viewer.name, word)}
    targets |= victims(scene, viewer, word)
    page = viewer.page()
    own = open_tensorboard(viewer.api, scene.hostile)
    attacks = {title: attack(page, own, target) for title, target in targets.items()}
    nothing_came(scene, viewer, page, word, attacks)
