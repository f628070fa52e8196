"""A visit to every page, with sessions and jobs to show."""

from __future__ import annotations

from collections.abc import Generator

from playwright.sync_api import Page

from tests.browser import scenes
from tests.browser.places import PLACES, settle
from tests.live import Live


def visit_every_place(portal: Live, page: Page, username: str) -> Generator[str]:
    """Log in, open every page in turn and yield its name; create the content that pages require,
    and remove it when the generator is closed.
    """
    api = scenes.log_in(page.context, portal.base_url, username, portal.users[username])
    scenes.lead(api, username)
    things = scenes.begin(api)
    ready = False
    try:
        # first the pages without required content, which is created in the meantime
        for place in sorted(PLACES, key=lambda place: bool(place.needs)):
            if place.needs and not ready:
                scenes.finish(api, things)
                ready = True
            page.goto(portal.base_url + place.address(things))
            settle(page)
            yield place.name
    finally:
        scenes.end(api, things, username)
