"""Screenshots of every page: every size, scheme and language, empty, failing, and without Slurm.

    python -m tests.browser.screenshots --cluster DIR --out DIR [--only NAME]… [--look LOOK]…

DIR is the state folder of a running cluster, such as the demo's. The program starts two sessions
and a few jobs as carol, and ends them afterwards; bob has none. `index.html` in OUT shows all
pictures.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from tests.browser import scenes
from tests.browser.chromium import launch
from tests.browser.places import PLACES, READY_MS, Place, settle
from tests.live import Live

DESKTOP, TABLET, PHONE = (1440, 900), (768, 1024), (390, 844)
SIZES = {"": DESKTOP, "tablet": TABLET, "phone": PHONE}
LANGUAGES = {"": "en-GB", "chinese": "zh-CN"}
FULL, EMPTY = "carol", "bob"
LOGIN = "login"  # the only page without a login
SILENT = re.compile("^Slurm has not responded since")
FAILING_MS = 4_000  # with a failing portal, nothing arrives on the event stream
PROBLEM = (
    '{"type":"urn:portal:internal","title":"Trouble","status":500,'
    '"detail":"Something went wrong here. It has been written down."}'
)


@dataclass(frozen=True)
class Look:
    """The conditions of a series of screenshots.

    `failing`: all requests except /me return a problem; `silent`: Slurm does not answer.
    """

    name: str
    who: str = FULL
    size: tuple[int, int] = DESKTOP
    dark: bool = False
    failing: bool = False
    silent: bool = False
    language: str = "en-GB"


def _ordinary() -> Iterator[Look]:
    """Yield every size in both schemes and both languages, such as `chinese-phone-dark`."""
    for first, language in LANGUAGES.items():
        for second, size in SIZES.items():
            for third in ("", "dark"):
                name = "-".join(word for word in (first, second, third) if word)
                yield Look(name or "light", size=size, dark=bool(third), language=language)


LOOKS = (
    *_ordinary(),
    Look("empty", who=EMPTY),
    Look("failing", failing=True),
    Look("silent", silent=True),
)


@dataclass(frozen=True)
class Wanted:
    """The arguments of the command line."""

    live: Live
    out: Path
    only: tuple[str, ...]
    looks: tuple[Look, ...]

    def places(self, things: Mapping[str, str]) -> Iterator[Place]:
        """Yield the pages whose required content exists."""
        for place in PLACES:
            if place.needs <= set(things) and (not self.only or place.name in self.only):
                yield place


def look(wanted: Wanted, browser: Browser, how: Look, things: Mapping[str, str]) -> None:
    """Take all pictures of one series; a page that cannot be shown is reported, and the others
    continue."""
    folder = wanted.out / how.name
    folder.mkdir(parents=True, exist_ok=True)
    context = opened(browser, how)
    page = context.new_page()
    if not wanted.only or LOGIN in wanted.only:
        page.goto(wanted.live.base_url + "/login")
        picture(page, how, folder / f"{LOGIN}.png")
    scenes.log_in(context, wanted.live.base_url, how.who, wanted.live.users[how.who])
    if how.failing:
        page.route("**/api/v1/**", fail)
    with slurm_silent(wanted.live, page) if how.silent else nullcontext():
        for place in wanted.places(things):
            page.goto(wanted.live.base_url + place.address(things))
            picture(page, how, folder / f"{place.name}.png")
    context.close()


@contextmanager
def slurm_silent(live: Live, page: Page) -> Iterator[None]:
    """Stop Slurm and wait until the pages report it; restart it afterwards."""
    live.stop("slurmctld")
    try:
        page.goto(live.base_url)
        expect(page.get_by_text(SILENT)).to_be_visible(timeout=READY_MS)
        yield
    finally:
        live.start("slurmctld")


def opened(browser: Browser, how: Look) -> BrowserContext:
    width, height = how.size
    return browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if how.dark else "light",
        reduced_motion="reduce",
        locale=how.language,
        is_mobile=how.size != DESKTOP,
        has_touch=how.size != DESKTOP,
    )


def fail(route: Route) -> None:
    """Respond as a failing portal that still knows the user."""
    if route.request.url.endswith("/api/v1/me"):
        route.continue_()
    else:
        route.fulfill(status=500, content_type="application/problem+json", body=PROBLEM)


def picture(page: Page, how: Look, file: Path) -> None:
    """Take a picture of the complete page; report it if it is still loading."""
    try:
        settle(page, FAILING_MS if how.failing else READY_MS)
    except AssertionError:
        sys.stderr.write(f"{file}: still waits for something\n")
    page.screenshot(path=file, full_page=True)
    # a phone widens its viewport to the page's width
    wide = page.evaluate("document.documentElement.scrollWidth") - how.size[0]
    if wide > 0:
        sys.stderr.write(f"{file}: {wide} pixels wider than the screen\n")


def sheet(out: Path) -> None:
    """Write a page with all pictures: a row per page, a column per series."""
    looks = [how.name for how in LOOKS if (out / how.name).is_dir()]
    rows = []
    for name in (LOGIN, *(place.name for place in PLACES)):
        cells = [
            f'<td><a href="{how}/{name}.png"><img src="{how}/{name}.png"></a></td>'
            if (out / how / f"{name}.png").exists()
            else "<td></td>"
            for how in looks
        ]
        rows.append(f"<tr><th>{html.escape(name)}</th>{''.join(cells)}</tr>")
    image = "img{width:20rem;max-height:30rem;object-fit:cover;object-position:top}"
    style = f"td{{vertical-align:top}}{image}"
    heads = "".join(f"<th>{how}</th>" for how in looks)
    (out / "index.html").write_text(
        f"<!doctype html><meta charset=utf-8><title>Pages</title><style>{style}</style>"
        f"<table><tr><th></th>{heads}</tr>{''.join(rows)}</table>\n"
    )


def with_scene(wanted: Wanted, browser: Browser, show: Callable[[Mapping[str, str]], None]) -> None:
    """Create the pages' content, run `show`, and end the content again."""
    context = browser.new_context()
    api = scenes.log_in(context, wanted.live.base_url, FULL, wanted.live.users[FULL])
    scenes.lead(api, FULL)
    things = scenes.begin(api)
    try:
        scenes.finish(api, things)
        show(things)
    finally:
        scenes.end(api, things, FULL)
        context.close()


def take(wanted: Wanted) -> None:
    with sync_playwright() as playwright:
        browser = launch(playwright)

        def full(things: Mapping[str, str]) -> None:
            for how in wanted.looks:
                if how.who == FULL:
                    look(wanted, browser, how, things)

        if any(how.who == FULL for how in wanted.looks):
            with_scene(wanted, browser, full)
        for how in wanted.looks:
            if how.who == EMPTY:
                look(wanted, browser, how, {})
        browser.close()
    sheet(wanted.out)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots")
    parser.add_argument("--cluster", type=Path, required=True, help="a running cluster's folder")
    parser.add_argument("--out", type=Path, required=True, help="where the pictures go")
    names = [LOGIN, *(place.name for place in PLACES)]
    parser.add_argument("--only", action="append", choices=names, default=[], metavar="PAGE")
    looks = {how.name: how for how in LOOKS}
    parser.add_argument("--look", action="append", choices=[*looks], default=[])
    asked = parser.parse_args()
    chosen = tuple(looks[name] for name in asked.look) or LOOKS
    take(Wanted(Live.of(asked.cluster), asked.out, tuple(asked.only), chosen))


if __name__ == "__main__":
    main()
