"""The documentation's pictures, taken of a running cluster.

    python -m tests.browser.pictures --cluster DIR [--out docs/pictures]

DIR is the state folder of a running cluster, such as the demo's. The program creates and ends the
content of `scenes`, as the screenshots do, and a notebook in carol's home directory.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser import jupyterlab as jl
from tests.browser import scenes
from tests.browser.chromium import launch
from tests.browser.places import PLACES, READY_MS, Place, settle
from tests.browser.screenshots import FULL, Look, Wanted, opened, with_scene
from tests.live import Live

OUT = Path(__file__).resolve().parent.parent.parent / "docs/pictures"
LOOK = Look("docs", size=(1200, 760))
KERNEL = "Python 3.11"
CELL = (
    "import os, socket\n"
    'print("on", socket.gethostname(), "as Slurm job", os.environ["SLURM_JOB_ID"])\n'
    'print("GPUs:", os.environ.get("CUDA_VISIBLE_DEVICES", "none"))'
)
SHOWN = (
    "home",
    "start",
    "session",
    "job-template",
    "job-failed",
    "files",
    "cluster",
    "admin-users",
    "admin-status",
)
# content that loads after the page and must be in its picture
SHOWS = {"session": (".uplot",), "job-failed": ("text=ModuleNotFoundError",)}


def places() -> list[Place]:
    """Return the pages in the documentation, in its order."""
    known = {place.name: place for place in PLACES}
    return [known[name] for name in SHOWN]


def take(live: Live, browser: Browser, out: Path, things: Mapping[str, str]) -> None:
    """Take one picture of each page's visible part, and one of JupyterLab."""
    context = opened(browser, LOOK)
    page = context.new_page()
    api = scenes.log_in(context, live.base_url, FULL, live.users[FULL])
    for place in places():
        page.goto(live.base_url + place.address(things))
        settle(page)
        for there in SHOWS.get(place.name, ()):
            page.locator(there).first.wait_for(timeout=READY_MS)
        page.screenshot(path=out / f"{place.name}.png")
    url = api.ask("GET", f"/sessions/{things['session']}")["url"]
    jupyterlab(context, url, out / "jupyterlab.png")
    context.close()


def jupyterlab(context: BrowserContext, url: str, file: Path) -> None:
    """Take a picture of a notebook with one executed cell."""
    lab = context.new_page()
    jl.open_launcher(lab, url)
    jl.open_notebook(lab, KERNEL)
    jl.run_cell(lab, CELL)
    jl.output(lab, "as Slurm job")
    jl.idle(lab, KERNEL)
    lab.get_by_role("button", name=re.compile("left$")).wait_for(timeout=READY_MS)
    lab.screenshot(path=file)
    lab.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.pictures")
    parser.add_argument("--cluster", type=Path, required=True, help="a running cluster's folder")
    parser.add_argument("--out", type=Path, default=OUT, help="where the pictures go")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    live = Live.of(asked.cluster)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        wanted = Wanted(live, asked.out, (), (LOOK,))
        try:
            with_scene(wanted, browser, lambda things: take(live, browser, asked.out, things))
        finally:
            live.exec_as(FULL, ["/bin/sh", "-c", "rm -f Untitled*.ipynb"])
        browser.close()


if __name__ == "__main__":
    main()
