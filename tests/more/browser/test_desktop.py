"""The remote desktop: its image is built, and it is started and used in Chromium.

Another user gets neither its page nor any of its sockets. The build takes two minutes once; later
runs find the built image.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from cluster.config.paths import Paths
from tests.browser.chromium import window
from tests.browser.scenes import SMALL, Api
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
NAME = f"desktop-{token_hex(2)}"
FILE = f"desktop-{token_hex(2)}"
CLIPBOARD = "αβγ 中文 from the browser's clipboard"
BACKDROP = [40, 64, 92]
BLACK = [0, 0, 0]
# size and number of colors of noVNC's canvas, and the color at a point
LOOK = """([x, y]) => {
  const canvas = document.querySelector('#noVNC_container canvas');
  if (!canvas || !canvas.width) return null;
  const {width, height} = canvas;
  const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
  const pixels = new Uint32Array(data.buffer);
  const at = 4 * (width * y + x);
  return {colors: new Set(pixels).size, color: [...data.slice(at, at + 3)], size: [width, height]};
}"""
# each listening socket on the node, as its kind and its address
LISTENERS = "ss --no-header --listening --tcp --unix --numeric | awk '{print $1, $5}'"
# tries to connect to addresses, and prints the result of each
KNOCK = r"""
import json, socket, sys
for address in json.load(sys.stdin):
    try:
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(address.replace("@", "\0", 1) if address[0] == "@" else address)
        print("open")
    except OSError as error:
        print(type(error).__name__)
"""


@dataclass
class OpenedDesktop:
    """A desktop, its page, and what listened on its node before it was started."""

    shown: Any
    page: Page
    node: str
    listeners_before: set[str]


@pytest.fixture(scope="module")
def image(portal: Live) -> None:
    """Build the image, after which the portal offers its environment."""
    out = Paths(portal.state).images
    build = ["/usr/bin/python3", "-m", "deploy.images", "build", "desktop", f"--out={out}"]
    subprocess.run(build, check=True)


@pytest.fixture
def session(
    portal: Live, context: BrowserContext, log_in: LogIn, image: None
) -> Iterator[dict[str, Any]]:
    """A session of alice's, who is logged in in this browser."""
    log_in(context.new_page(), "alice")
    api = Api(context.request, portal.base_url)
    wanted = {"environment": "desktop", "name": NAME, "resources": {**SMALL, "memory_gb": 3}}
    made = api.ask("POST", "/sessions", wanted)
    yield api.until(f"/sessions/{made['id']}", "running")
    api.end(made["id"])
    portal.exec_as("alice", ["/bin/sh", "-c", f"rm -f ~/{FILE}*"])


def test_a_desktop_is_used_in_the_browser_and_no_other_user_reaches_it(
    portal: Live,
    chromium: Browser,
    context: BrowserContext,
    asked: set[str],
    log_in: LogIn,
    session: dict[str, Any],
) -> None:
    desktop = start(portal, context, session)
    the_desktop_is_drawn(desktop.page, (1280, 900))
    a_terminal_writes_a_file(portal, desktop.page)
    it_follows_the_size_of_the_window(portal, desktop.page)
    keep_picture(desktop.page)
    the_clipboard_reaches_it(portal, desktop.page)
    assert asked == {urlsplit(desktop.page.url).hostname}
    refuse_other_users(portal, chromium, log_in, desktop)
    no_other_user_reaches_a_socket(portal, desktop)
    it_ends_without_a_trace(portal, desktop)


def start(portal: Live, context: BrowserContext, session: dict[str, Any]) -> OpenedDesktop:
    """Start the desktop on the session's page, and open it."""
    before = list_listeners(portal, session["node"])
    page = context.pages[0]
    page.goto(f"{portal.base_url}/sessions/{session['id']}")
    page.get_by_text("Apps", exact=True).click()
    shown = page.get_by_role("article", name="Desktop")
    shown.get_by_role("button", name="Start").click()
    with context.expect_page() as opening:
        shown.get_by_role("link", name="Open").click()
    opening.value.wait_for_url("**/app/desktop/vnc.html#*")
    return OpenedDesktop(shown, opening.value, session["node"], before)


def the_desktop_is_drawn(page: Page, size: tuple[int, int]) -> None:
    """Wait for the backdrop in the last corner, and for the panel and the icon on it."""

    def is_drawn(seen: Any) -> bool:
        drawn = seen and seen["color"] == BACKDROP and seen["colors"] > 50
        return bool(drawn and seen["size"] == list(size))

    wait_for_canvas(page, (size[0] - 10, size[1] - 10), is_drawn)


def wait_for_canvas(page: Page, point: tuple[int, int], done: Callable[[Any], bool]) -> None:
    """Wait until the canvas looks like this, with the color at a point."""
    wait_until(lambda: page.evaluate(LOOK, point), "the desktop is drawn", done=done, pause_s=0.2)


def run(portal: Live, page: Page, command: str, name: str) -> str:
    """Type a command in the terminal that is in front; return what it has written to the file."""
    page.keyboard.type(f"{command} > ~/{name}.new; mv ~/{name}.new ~/{name}\n", delay=5)
    read = ["/bin/sh", "-c", f"cat ~/{name} 2>/dev/null; true"]
    return wait_until(lambda: portal.exec_as("alice", read), f"{name} is written", pause_s=0.5)


def a_terminal_writes_a_file(portal: Live, page: Page) -> None:
    page.keyboard.press("Control+Alt+t")
    wait_for_canvas(page, (400, 300), lambda seen: seen and seen["color"] == BLACK)
    command = 'echo "$PORTAL_ENVIRONMENT $(xprop -root _NET_SUPPORTING_WM_CHECK | wc -l)"'
    assert run(portal, page, command, f"{FILE}-1").split() == ["desktop", "1"]


def it_follows_the_size_of_the_window(portal: Live, page: Page) -> None:
    page.set_viewport_size({"width": 1000, "height": 700})
    the_desktop_is_drawn(page, (1000, 700))
    found = run(portal, page, "xdpyinfo | grep dimensions", f"{FILE}-2")
    assert "1000x700 pixels" in found


def the_clipboard_reaches_it(portal: Live, page: Page) -> None:
    """As noVNC offers it: a text field beside the desktop."""
    toggle_controls(page)
    page.locator("#noVNC_clipboard_button").click()
    page.locator("#noVNC_clipboard_text").fill(CLIPBOARD)
    page.locator("#noVNC_clipboard_text").blur()
    page.locator("#noVNC_clipboard_button").click()
    toggle_controls(page)
    page.locator("#noVNC_container canvas").click(position={"x": 500, "y": 400})
    # without the line mode of the terminal, which would wait for the line's end
    page.keyboard.type(f"stty -icanon; cat > ~/{FILE}-3\n", delay=5)
    find = ["/bin/sh", "-c", f"ls ~/{FILE}-3 2>/dev/null; true"]
    wait_until(lambda: portal.exec_as("alice", find), "it waits for input", pause_s=0.5)
    page.keyboard.press("Control+Shift+v")
    read = ["/bin/sh", "-c", f"cat ~/{FILE}-3"]
    wait_until(
        lambda: portal.exec_as("alice", read), "it is pasted",
        done=lambda text: text == CLIPBOARD, pause_s=0.5,
    )  # fmt: skip
    page.keyboard.press("Control+c")


def toggle_controls(page: Page) -> None:
    """Click the tab at the page's border; the element also extends below the controls."""
    box = page.locator("#noVNC_control_bar_handle").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - 5, box["y"] + box["height"] / 2)


def keep_picture(page: Page) -> None:
    if folder := os.environ.get("PORTAL_TEST_PICTURES"):
        page.screenshot(path=Path(folder) / "desktop.png")


def refuse_other_users(
    portal: Live, chromium: Browser, log_in: LogIn, desktop: OpenedDesktop
) -> None:
    with closing(window(chromium)) as his:
        page = his.new_page()
        log_in(page, "bob")
        url = desktop.page.url.partition("#")[0]
        for path in ("vnc.html", "websockify", ""):
            answer = page.goto(url.replace("vnc.html", path))
            assert answer is not None
            assert answer.status == 403
    with closing(window(chromium)) as strangers:
        assert strangers.request.get(url, headers={"Accept": "*/*"}).status == 401


def list_listeners(portal: Live, node: str) -> set[str]:
    return set(portal.exec_as("bob", ["/bin/sh", "-c", LISTENERS], node).splitlines())


def no_other_user_reaches_a_socket(portal: Live, desktop: OpenedDesktop) -> None:
    """No port and no socket is new in the node's network, and every path is closed to him."""
    find = ["/bin/sh", "-c", "pgrep -u alice -x Xvnc -a"]
    command = portal.exec_as("bob", find, desktop.node)  # anyone reads it
    display = re.search(r" :(\d+) ", command)
    assert display
    assert list_listeners(portal, desktop.node) - desktop.listeners_before == set()
    inside = "find /tmp/portal-*/apps/desktop -type s"
    paths = portal.exec_as("alice", ["/bin/sh", "-c", inside], desktop.node).split()
    assert {Path(path).name for path in paths} >= {"socket", "vnc", "bus"}
    own = f"/tmp/.X11-unix/X{display[1]}"
    addresses = json.dumps([*paths, own, f"@{own}"])
    knock = ["/bin/sh", "-c", f"echo '{addresses}' | /usr/bin/python3 -c '{KNOCK}'"]
    tried = portal.exec_as("bob", knock, desktop.node).split()
    assert set(tried[:-2]) == {"PermissionError"}
    assert tried[-2:] == ["FileNotFoundError", "ConnectionRefusedError"]


def it_ends_without_a_trace(portal: Live, desktop: OpenedDesktop) -> None:
    desktop.page.close()
    desktop.shown.get_by_role("button", name="Stop").click()
    desktop.shown.page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    expect(desktop.shown.get_by_text("Not started")).to_be_visible()
    left = (
        "pgrep -u alice -l 'Xvnc|dbus|xf|xfce|websockify|Thunar'; ls -A /tmp | grep -i '^.x'; true"
    )
    assert portal.exec_as("alice", ["/bin/sh", "-c", left], desktop.node) == ""
